/* The probes of the kernel layer over small trees. */

#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"

#include "ko.h"
#include "scratch.h"

extern const struct rd_probe rd_probe_kernel_amdgpu, rd_probe_kernel_config, rd_probe_kernel_dkms, rd_probe_kernel_kernels,
	rd_probe_kernel_kfd, rd_probe_kernel_log, rd_probe_kernel_modprobe, rd_probe_kernel_packages, rd_probe_kernel_signing,
	rd_probe_kernel_support;

#define RELEASE "6.8.0-60-generic"
#define MODULES "usr/lib/modules/" RELEASE "/"
#define IN_TREE MODULES "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
#define NODES "sys/class/kfd/kfd/topology/nodes/"

struct host {
	char *dir;
	struct rd_sysroot *sysroot;
	struct rd_fact *facts;
	struct rd_knowledge *knowledge;
};

/* A tree with a running kernel, on a merged /usr. */
static int make(void **state)
{
	struct host *host = calloc(1, sizeof(*host));

	host->dir = scratch_new();
	host->facts = rd_facts_new();
	scratch_manifest(host->dir, "'uname': {'release': '" RELEASE "', 'version': '#1', 'machine': 'x86_64'}");
	scratch_dir(host->dir, MODULES);
	scratch_link(host->dir, "lib", "usr/lib");
	scratch_dir(host->dir, "sys/module/");
	scratch_file(host->dir, "proc/cmdline", "root=/dev/sda1 ro quiet\n");
	*state = host;
	return 0;
}

static int drop(void **state)
{
	struct host *host = *state;

	rd_knowledge_free(host->knowledge);
	rd_fact_free(host->facts);
	rd_sysroot_free(host->sysroot);
	scratch_free(host->dir);
	free(host);
	return 0;
}

/* Forget what was found so far, and what the tree held. */
static void forget(struct host *host)
{
	rd_fact_free(host->facts);
	host->facts = rd_facts_new();
	host->sysroot = rd_sysroot_free(host->sysroot);
}

static int run(struct host *host, const struct rd_probe *probe)
{
	static const struct rd_probe_options no_options;
	struct rd_probe_ctx ctx = { .facts = host->facts, .knowledge = host->knowledge, .options = &no_options };

	if (!host->sysroot)
		host->sysroot = scratch_open(host->dir);
	ctx.sysroot = host->sysroot;
	return rd_probe_run_ctx(probe, &ctx);
}

static struct rd_fact *add_gpu(struct host *host, const char *address, const char *gfx, const char *driver)
{
	struct rd_fact *gpu = rd_fact_append(host->facts, "gpus", "test");

	rd_fact_set_str(gpu, "pci.address", address, "test");
	rd_fact_set_str(gpu, "gfx", gfx, "test");
	rd_fact_set_str(gpu, "driver", driver, "test");
	return gpu;
}

static const char *text(const struct host *host, const char *path)
{
	return rd_fact_get_str(host->facts, path);
}

static size_t count(const struct host *host, const char *path)
{
	return rd_fact_count(rd_fact_get(host->facts, path));
}

static bool unknown(const struct host *host, const char *path)
{
	return rd_fact_is_unknown(host->facts, path);
}

static void load_knowledge(struct host *host)
{
	struct rd_error err = RD_ERROR_INIT;

	if (rd_knowledge_load(NULL, &host->knowledge, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- amdgpu ---- */

static void add_module(struct host *host, const char *path, const char *const *fields)
{
	unsigned char bytes[KO_MAX];
	size_t n = ko_make(bytes, fields);

	scratch_bytes(host->dir, path, bytes, n);
}

static void amdgpu_is_loaded_where_its_state_is_live(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "sys/module/amdgpu/initstate", "live\n");
	scratch_file(host->dir, "sys/module/amdgpu/parameters/noretry", "-1\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "loaded");
	assert_string_equal(text(host, "kernel.amdgpu.origin"), "in-tree");
	assert_string_equal(text(host, "kernel.amdgpu.version"), "");
	assert_false(unknown(host, "kernel.amdgpu.version"));
	assert_string_equal(text(host, "kernel.amdgpu.parameters.noretry"), "-1");
}

static void amdgpu_is_builtin_where_it_has_parameters_and_no_state(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "sys/module/amdgpu/parameters/noretry", "-1\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "builtin");
	assert_true(rd_fact_get_bool(host->facts, "kernel.amdgpu.loaded"));
}

static void a_module_that_is_still_starting_is_not_loaded(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "sys/module/amdgpu/initstate", "coming\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.loaded"));
	assert_string_equal(text(host, "kernel.amdgpu.initstate"), "coming");
}

static void amdgpu_is_missing_where_no_file_is_there(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, MODULES "modules.dep", "kernel/drivers/gpu/drm/ttm/ttm.ko:\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "missing");
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.loaded"));
	assert_true(rd_fact_is_known(host->facts, "kernel.amdgpu.loaded"));
}

static void a_file_on_disk_says_what_would_be_loaded(void **state)
{
	static const char *const fields[] = { "version=6.12.12", "srcversion=ABC", "depends=ttm,amd_iommu_v2", NULL };
	struct host *host = *state;
	const struct rd_fact *lost;

	add_module(host, MODULES "updates/dkms/amdgpu.ko", fields);
	scratch_file(host->dir, MODULES "modules.dep",
	             "kernel/ttm.ko:\nupdates/dkms/amdgpu.ko: kernel/ttm.ko kernel/gone.ko\nkernel/gone.ko:\n");
	scratch_file(host->dir, MODULES "modules.builtin", "kernel/drm.ko\n");
	scratch_file(host->dir, MODULES "kernel/ttm.ko", "");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "available");
	assert_string_equal(text(host, "kernel.amdgpu.origin"), "dkms");
	assert_string_equal(text(host, "kernel.amdgpu.version"), "6.12.12");
	assert_string_equal(text(host, "kernel.amdgpu.path"), "/" MODULES "updates/dkms/amdgpu.ko");
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.file.signed"));
	/* One that modules.dep names and that is gone, one that the file needs and that this kernel never had. */
	assert_int_equal(count(host, "kernel.amdgpu.missing_dependencies"), 2);
	lost = rd_fact_at(rd_fact_get(host->facts, "kernel.amdgpu.missing_dependencies"), 0);
	assert_string_equal(rd_fact_get_str(lost, "module"), "gone");
	assert_string_equal(rd_fact_get_str(lost, "file"), "/" MODULES "kernel/gone.ko");
	lost = rd_fact_at(rd_fact_get(host->facts, "kernel.amdgpu.missing_dependencies"), 1);
	assert_string_equal(rd_fact_get_str(lost, "module"), "amd_iommu_v2");
	assert_string_equal(rd_fact_get_str(lost, "file"), "/" MODULES "updates/dkms/amdgpu.ko");
}

static void an_alias_tells_whether_udev_would_load_it(void **state)
{
	static const char *const fields[] = { "srcversion=ABC", NULL };
	struct host *host = *state;

	add_module(host, IN_TREE, fields);
	scratch_file(host->dir, MODULES "modules.alias", "alias pci:v00001002d*sv*sd*bc03sc00i00* amdgpu\n");
	scratch_file(host->dir, "sys/bus/pci/devices/0000:03:00.0/modalias",
	             "pci:v00001002d0000744Csv00001002sd00000E3Bbc03sc00i00\n");
	/* An accelerator, for which modules of Linux 6.1 have no alias. */
	scratch_file(host->dir, "sys/bus/pci/devices/0000:05:00.0/modalias",
	             "pci:v00001002d000074A1sv00001002sd000074A1bc12sc00i00\n");
	add_gpu(host, "0000:03:00.0", "gfx1100", "");
	add_gpu(host, "0000:05:00.0", "gfx942", "");
	add_gpu(host, "0000:83:00.0", "gfx1100", "");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_true(rd_fact_get_bool(host->facts, "gpus[0].module_alias"));
	assert_true(rd_fact_is_known(host->facts, "gpus[1].module_alias"));
	assert_false(rd_fact_get_bool(host->facts, "gpus[1].module_alias"));
	assert_true(unknown(host, "gpus[2].module_alias"));
}

static void a_file_is_found_where_depmod_never_ran(void **state)
{
	static const char *const fields[] = { "srcversion=ABC", NULL };
	struct host *host = *state;

	add_module(host, IN_TREE, fields);
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "available");
	assert_string_equal(text(host, "kernel.amdgpu.origin"), "in-tree");
}

static void another_build_on_disk_is_noticed(void **state)
{
	static const char *const fields[] = { "version=6.14.14", "srcversion=NEW", NULL };
	struct host *host = *state;

	add_module(host, MODULES "updates/dkms/amdgpu.ko", fields);
	scratch_file(host->dir, "sys/module/amdgpu/initstate", "live\n");
	scratch_file(host->dir, "sys/module/amdgpu/version", "6.12.12\n");
	scratch_file(host->dir, "sys/module/amdgpu/srcversion", "OLD\n");
	add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.version"), "6.12.12");
	assert_string_equal(text(host, "kernel.amdgpu.file.version"), "6.14.14");
	assert_true(rd_fact_get_bool(host->facts, "kernel.amdgpu.replaced"));
}

static void a_damaged_module_leaves_its_fields_unknown(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, MODULES "updates/dkms/amdgpu.ko.zst", "not a module");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "available");
	assert_true(unknown(host, "kernel.amdgpu.file.signed"));
	assert_true(unknown(host, "kernel.amdgpu.version"));
	assert_string_equal(text(host, "kernel.amdgpu.origin"), "dkms");
}

static void a_container_knows_what_runs_and_not_what_is_on_disk(void **state)
{
	struct host *host = *state;

	rd_fact_set_str(host->facts, "host.container", "docker", "test");
	scratch_file(host->dir, "sys/module/amdgpu/initstate", "live\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_string_equal(text(host, "kernel.amdgpu.state"), "loaded");
	assert_true(unknown(host, "kernel.amdgpu.path"));
	assert_true(unknown(host, "kernel.amdgpu.missing_dependencies"));
}

static void a_container_does_not_call_the_driver_missing(void **state)
{
	struct host *host = *state;

	rd_fact_set_str(host->facts, "host.container", "docker", "test");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_true(unknown(host, "kernel.amdgpu.state"));
	assert_true(rd_fact_is_known(host->facts, "kernel.amdgpu.loaded"));
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.loaded"));
}

static void a_tree_without_sys_tells_nothing_unless_a_gpu_is_driven(void **state)
{
	struct host *host = *state;
	rd_auto_free char *sys = NULL;

	assert_true(asprintf(&sys, "%s/sys/module", host->dir) > 0);
	assert_int_equal(rmdir(sys), 0);
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), -ENODATA);
	assert_true(unknown(host, "kernel.amdgpu.loaded"));
	assert_true(unknown(host, "kernel.amdgpu.state"));

	add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.amdgpu.loaded"));
}

/* ---- firmware ---- */

static const struct rd_fact *firmware_of(struct host *host, const char *driver)
{
	static const char *const fields[] = { "firmware=amdgpu/gc_11_0_0_mec.bin", "firmware=amdgpu/navi10_mec.bin", NULL };
	struct rd_fact *gpu = add_gpu(host, "0000:03:00.0", "gfx1100", driver);

	load_knowledge(host);
	add_module(host, IN_TREE, fields);
	scratch_file(host->dir, "sys/module/amdgpu/initstate", "live\n");
	assert_int_equal(run(host, &rd_probe_kernel_amdgpu), 0);
	return rd_fact_get(gpu, "firmware.missing");
}

static void firmware_that_is_not_on_disk_is_missing_for_a_gpu_without_driver(void **state)
{
	const struct rd_fact *missing = firmware_of(*state, "");

	assert_int_equal(rd_fact_count(missing), 1);
	assert_string_equal(rd_fact_str(rd_fact_at(missing, 0)), "gc_11_0_0_mec.bin");
}

static void packed_firmware_in_updates_is_enough(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "usr/lib/firmware/updates/amdgpu/gc_11_0_0_mec.bin.zst", "x");
	assert_int_equal(rd_fact_count(firmware_of(host, "")), 0);
}

static void nothing_is_said_of_firmware_for_a_gpu_that_is_driven(void **state)
{
	assert_int_equal(rd_fact_count(firmware_of(*state, "amdgpu")), 0);
}

/* ---- modprobe ---- */

static void configuration_is_found_by_file_and_line(void **state)
{
	struct host *host = *state;
	const struct rd_fact *item;

	scratch_file(host->dir, "etc/modprobe.d/gpu.conf",
	             "# blacklist nothing\n\n  blacklist  amd-gpu\nblacklist \\\namdgpu\ninstall amdgpu /bin/false now\n"
	             "options amdgpu noretry=0 mode-set=1\nblacklistx amdgpu\nblacklist\nalias amdgpu off");
	scratch_file(host->dir, "etc/modprobe.d/no-suffix", "blacklist radeon\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);

	assert_int_equal(count(host, "kernel.modprobe.blacklist"), 2);
	item = rd_fact_get(host->facts, "kernel.modprobe.blacklist[0]");
	assert_string_equal(rd_fact_get_str(item, "module"), "amd_gpu");
	assert_int_equal(rd_fact_get_int(item, "line"), 3);
	item = rd_fact_get(host->facts, "kernel.modprobe.blacklist[1]");
	assert_string_equal(rd_fact_get_str(item, "module"), "amdgpu");
	assert_int_equal(rd_fact_get_int(item, "line"), 4);
	assert_string_equal(rd_fact_get_str(item, "file"), "/etc/modprobe.d/gpu.conf");
	assert_string_equal(rd_fact_source(item), "/etc/modprobe.d/gpu.conf:4");

	assert_int_equal(count(host, "kernel.modprobe.install"), 2);
	item = rd_fact_get(host->facts, "kernel.modprobe.install[0]");
	assert_string_equal(rd_fact_get_str(item, "command"), "/bin/false now");
	assert_true(rd_fact_get_bool(item, "disables"));
	assert_string_equal(text(host, "kernel.modprobe.install[1].form"), "alias");
	assert_int_equal(rd_fact_get_int(host->facts, "kernel.modprobe.install[1].line"), 10);

	assert_int_equal(count(host, "kernel.modprobe.options"), 2);
	assert_string_equal(text(host, "kernel.modprobe.options[1].parameter"), "mode_set");
}

static void of_two_files_with_one_name_the_higher_counts(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "usr/lib/modprobe.d/a.conf", "blacklist amdgpu\n");
	scratch_file(host->dir, "etc/modprobe.d/a.conf", "# nothing\n");
	scratch_file(host->dir, "usr/lib/modprobe.d/b.conf", "blacklist radeon\n");
	scratch_link(host->dir, "run/modprobe.d/b.conf", "/dev/null");
	scratch_file(host->dir, "usr/lib/modprobe.d/c.conf", "blacklist nouveau\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_int_equal(count(host, "kernel.modprobe.blacklist"), 1);
	/* Once, though /lib leads to /usr/lib. */
	assert_string_equal(text(host, "kernel.modprobe.blacklist[0].module"), "nouveau");
}

static void an_install_line_that_loads_the_module_disables_nothing(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "etc/modprobe.d/a.conf", "install amdgpu /sbin/modprobe --ignore-install amdgpu\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.modprobe.install[0].disables"));
	assert_true(rd_fact_is_known(host->facts, "kernel.modprobe.install[0].disables"));
}

static void the_command_line_has_forms_of_its_own(void **state)
{
	static const char *const forms[] = { "modprobe.blacklist", "module_blacklist", "rd.driver.blacklist",
		                             "initcall_blacklist" };
	struct host *host = *state;

	scratch_file(
		host->dir, "proc/cmdline",
		"modprobe.blacklist=nouveau,amdgpu module-blacklist=amdgpu rd.driver.blacklist=amdgpu "
		"initcall_blacklist=amdgpu_init name=\"no nomodeset\" nomodeset amdgpu.modeset=0 -- module_blacklist=ttm\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_int_equal(count(host, "kernel.modprobe.blacklist"), 5);
	for (size_t i = 0; i < 4; i++) {
		const struct rd_fact *item = rd_fact_at(rd_fact_get(host->facts, "kernel.modprobe.blacklist"), i + 1);

		assert_string_equal(rd_fact_get_str(item, "module"), "amdgpu");
		assert_string_equal(rd_fact_get_str(item, "form"), forms[i]);
		assert_string_equal(rd_fact_get_str(item, "file"), "/proc/cmdline");
	}
	assert_true(rd_fact_get_bool(host->facts, "kernel.nomodeset"));
	assert_true(rd_fact_get_bool(host->facts, "kernel.modeset_disabled"));
}

static void a_word_inside_quotes_is_no_nomodeset(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "proc/cmdline", "name=\"a nomodeset b\" ro\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.nomodeset"));
	assert_false(unknown(host, "kernel.nomodeset"));
}

static void a_file_that_cannot_be_read_leaves_the_lists_unknown(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "etc/modprobe.d/a.conf", "");
	scratch_manifest(host->dir, "'unreadable': {'/etc/modprobe.d/a.conf': 'EACCES'}");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_true(unknown(host, "kernel.modprobe.blacklist"));
	assert_true(unknown(host, "kernel.modprobe.install"));
}

static void what_was_found_stands_beside_a_file_that_cannot_be_read(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "etc/modprobe.d/a.conf", "");
	scratch_file(host->dir, "etc/modprobe.d/b.conf", "blacklist amdgpu\n");
	scratch_manifest(host->dir, "'unreadable': {'/etc/modprobe.d/a.conf': 'EACCES'}");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_int_equal(count(host, "kernel.modprobe.blacklist"), 1);
	assert_true(unknown(host, "kernel.modprobe.install"));
}

static void a_container_has_only_the_command_line_of_its_host(void **state)
{
	struct host *host = *state;

	rd_fact_set_str(host->facts, "host.container", "podman", "test");
	scratch_file(host->dir, "etc/modprobe.d/a.conf", "install amdgpu /bin/false\n");
	scratch_file(host->dir, "proc/cmdline", "module_blacklist=amdgpu\n");
	assert_int_equal(run(host, &rd_probe_kernel_modprobe), 0);
	assert_int_equal(count(host, "kernel.modprobe.blacklist"), 1);
	assert_true(unknown(host, "kernel.modprobe.install"));
}

/* ---- KFD ---- */

static void kfd_counts_gpu_nodes_and_skips_cpus(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, NODES "0/gpu_id", "0\n");
	scratch_file(host->dir, NODES "1/gpu_id", "51771\n");
	scratch_file(host->dir, "proc/devices", "Character devices:\n  1 mem\n235 kfd\n\nBlock devices:\n259 blkext\n");
	assert_int_equal(run(host, &rd_probe_kernel_kfd), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.kfd.present"));
	assert_true(rd_fact_get_bool(host->facts, "kernel.kfd.registered"));
	assert_int_equal(rd_fact_get_int(host->facts, "kernel.kfd.topology_nodes"), 2);
	assert_int_equal(rd_fact_get_int(host->facts, "kernel.kfd.gpu_nodes"), 1);
}

static void a_node_that_a_cgroup_hides_leaves_the_count_unknown(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, NODES "0/gpu_id", "0\n");
	scratch_file(host->dir, NODES "1/gpu_id", "");
	scratch_manifest(host->dir, "'unreadable': {'/" NODES "1/gpu_id': 'EPERM'}");
	assert_int_equal(run(host, &rd_probe_kernel_kfd), -EPERM);
	assert_int_equal(rd_fact_get_int(host->facts, "kernel.kfd.topology_nodes"), 2);
	assert_true(unknown(host, "kernel.kfd.gpu_nodes"));
}

static void without_kfd_the_counts_are_none(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "proc/devices", "Character devices:\n  1 mem\n226 drm\n");
	assert_int_equal(run(host, &rd_probe_kernel_kfd), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.kfd.present"));
	assert_true(rd_fact_is_known(host->facts, "kernel.kfd.registered"));
	assert_false(unknown(host, "kernel.kfd.gpu_nodes"));
}

/* ---- configuration ---- */

static void config_is_read_by_its_lines(void **state)
{
	static const struct {
		const char *config;
		bool expected;
	} cases[] = { { "CONFIG_HSA_AMD=y\n", true },
		      { "CONFIG_HSA_AMD=m\n", true },
		      { "# CONFIG_HSA_AMD is not set\nCONFIG_HSA_AMD_SVM=y\n", false },
		      { "CONFIG_DRM=y\n", false } };
	struct host *host = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		scratch_file(host->dir, "boot/config-" RELEASE, cases[i].config);
		assert_int_equal(run(host, &rd_probe_kernel_config), 0);
		assert_true(rd_fact_is_known(host->facts, "kernel.config.hsa_amd"));
		assert_int_equal(rd_fact_get_bool(host->facts, "kernel.config.hsa_amd"), cases[i].expected);
	}
}

static void without_a_copy_of_the_configuration_nothing_is_known(void **state)
{
	struct host *host = *state;

	assert_int_equal(run(host, &rd_probe_kernel_config), 0);
	assert_true(unknown(host, "kernel.config.hsa_amd"));
	scratch_file(host->dir, "boot/config-" RELEASE, "");
	assert_int_equal(run(host, &rd_probe_kernel_config), 0);
	assert_true(unknown(host, "kernel.config.hsa_amd"));
}

/* ---- DKMS ---- */

#define DKMS "var/lib/dkms/amdgpu/"

static void dkms_folders_without_their_source_are_named(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, DKMS "6.7.0-1787201.22.04/build/.keep", "");
	scratch_link(host->dir, DKMS "6.7.0-1787201.22.04/source", "/usr/src/amdgpu-6.7.0-1787201.22.04");
	scratch_link(host->dir, DKMS "6.8.5-2009582.22.04/source", "/usr/src/amdgpu-6.8.5-2009582.22.04");
	scratch_file(host->dir, "usr/src/amdgpu-6.8.5-2009582.22.04/dkms.conf", "PACKAGE_NAME=amdgpu\n");
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_int_equal(count(host, "kernel.dkms_stale"), 1);
	assert_string_equal(text(host, "kernel.dkms_stale[0].folder"), "/" DKMS "6.7.0-1787201.22.04");
	assert_string_equal(text(host, "kernel.dkms_stale[0].version"), "6.7.0-1787201.22.04");
}

static void dkms_tells_installed_from_built(void **state)
{
	struct host *host = *state;

	scratch_dir(host->dir, DKMS "6.12.12-1.24.04/" RELEASE "/x86_64/module/");
	scratch_link(host->dir, DKMS "6.12.12-1.24.04/source", "/usr/src/amdgpu-6.12.12-1.24.04");
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_int_equal(count(host, "kernel.dkms"), 1);
	assert_string_equal(text(host, "kernel.dkms[0].state"), "built");
	assert_string_equal(text(host, "kernel.amdgpu.dkms.state"), "built");

	scratch_link(host->dir, DKMS "kernel-" RELEASE "-x86_64", "6.12.12-1.24.04/" RELEASE "/x86_64");
	forget(host);
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_string_equal(text(host, "kernel.dkms[0].state"), "installed");
	assert_true(rd_fact_get_bool(host->facts, "kernel.dkms[0].running"));
	assert_string_equal(text(host, "kernel.amdgpu.dkms.version"), "6.12.12-1.24.04");
}

static void a_failed_build_is_known_by_its_log(void **state)
{
	struct host *host = *state;

	scratch_link(host->dir, DKMS "6.12.12-1/source", "/usr/src/amdgpu-6.12.12-1");
	scratch_file(host->dir, DKMS "6.12.12-1/build/make.log",
	             "DKMS make.log for amdgpu-6.12.12-1 for kernel " RELEASE " (x86_64)\n  CC [M] a.o\n"
	             "a.c:1: error: implicit declaration of function\nmake: *** [Makefile:1: a] Error 2\n# exit code: 2\n");
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_string_equal(text(host, "kernel.amdgpu.dkms.state"), "failed");
	assert_int_equal(rd_fact_get_int(host->facts, "kernel.dkms[0].exit_code"), 2);
	assert_string_equal(text(host, "kernel.amdgpu.dkms.error"), "a.c:1: error: implicit declaration of function");
	assert_string_equal(text(host, "kernel.amdgpu.dkms.log"), "/" DKMS "6.12.12-1/build/make.log");
}

static void a_build_for_another_kernel_is_only_added_for_this_one(void **state)
{
	struct host *host = *state;

	scratch_dir(host->dir, DKMS "6.12.12-1/6.8.0-40-generic/x86_64/module/");
	scratch_link(host->dir, DKMS "kernel-6.8.0-40-generic-x86_64", "6.12.12-1/6.8.0-40-generic/x86_64");
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_string_equal(text(host, "kernel.dkms[0].state"), "installed");
	assert_string_equal(text(host, "kernel.amdgpu.dkms.state"), "added");
}

static void sources_that_dkms_was_not_told_of_are_seen(void **state)
{
	struct host *host = *state;

	scratch_file(host->dir, "usr/src/amdgpu-5.11.5.30-59/dkms.conf", "PACKAGE_NAME=amdgpu\n");
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_true(unknown(host, "kernel.amdgpu.dkms.state"));

	scratch_dir(host->dir, "var/lib/dkms/");
	forget(host);
	assert_int_equal(run(host, &rd_probe_kernel_dkms), 0);
	assert_string_equal(text(host, "kernel.amdgpu.dkms.state"), "source");
	assert_string_equal(text(host, "kernel.amdgpu.dkms.version"), "5.11.5.30-59");
}

/* ---- installed kernels ---- */

static void add_kernel(struct host *host, const char *release)
{
	char path[256];

	snprintf(path, sizeof(path), "boot/vmlinuz-%s", release);
	scratch_file(host->dir, path, "kernel");
	snprintf(path, sizeof(path), "usr/lib/modules/%s/modules.order", release);
	scratch_file(host->dir, path, "");
}

static void a_newer_kernel_of_the_same_flavour_waits_for_a_reboot(void **state)
{
	struct host *host = *state;

	add_kernel(host, RELEASE);
	add_kernel(host, "6.11.0-1010-aws");
	scratch_file(host->dir, "usr/lib/modules/6.14.0-1-generic/updates/dkms/amdgpu.ko", "left of a removed kernel");
	assert_int_equal(run(host, &rd_probe_kernel_kernels), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.newer_installed"));
	assert_int_equal(count(host, "kernel.installed"), 2);

	add_kernel(host, "6.8.0-100-generic");
	assert_int_equal(run(host, &rd_probe_kernel_kernels), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.newer_installed"));
	assert_string_equal(text(host, "kernel.newest"), "6.8.0-100-generic");
	assert_false(rd_fact_get_bool(host->facts, "kernel.removed"));
}

static void flavours_are_what_follows_the_numbers(void **state)
{
	static const char *const cases[][2] = {
		{ "6.8.0-60-generic", "generic" },
		{ "6.1.0-28-cloud-amd64", "cloud-amd64" },
		{ "5.13.11-051311-generic", "generic" },
		{ "5.14.0-427.13.1.el9_4.x86_64", "x86_64" },
		{ "6.17.9-300.fc43.x86_64", "x86_64" },
		{ "6.4.0-150700.51-default", "default" },
		{ "6.12.0-rc3", "" },
		{ "5.15.7-gentoo", "gentoo" },
		{ "6.6", "" },
	};
	struct host *host = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		char members[256];

		snprintf(members, sizeof(members), "'uname': {'release': '%s', 'version': '#1', 'machine': 'x86_64'}",
		         cases[i][0]);
		scratch_manifest(host->dir, members);
		host->sysroot = rd_sysroot_free(host->sysroot);
		assert_int_equal(run(host, &rd_probe_kernel_kernels), 0);
		assert_string_equal(text(host, "kernel.flavour"), cases[i][1]);
	}
}

static void headers_are_those_of_the_running_kernel(void **state)
{
	struct host *host = *state;

	scratch_link(host->dir, MODULES "build", "/usr/src/linux-headers-" RELEASE);
	assert_int_equal(run(host, &rd_probe_kernel_kernels), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.headers"));
	assert_true(rd_fact_is_known(host->facts, "kernel.headers"));
	scratch_file(host->dir, "usr/src/linux-headers-" RELEASE "/Makefile", "");
	assert_int_equal(run(host, &rd_probe_kernel_kernels), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.headers"));
}

/* ---- log ---- */

static void read_log(struct host *host, const char *lines)
{
	char members[8192];

	snprintf(members, sizeof(members), "'kmsg': [%s]", lines);
	scratch_manifest(host->dir, members);
	if (!host->knowledge)
		load_knowledge(host);
	assert_int_equal(run(host, &rd_probe_kernel_log), 0);
}

static bool has_signature(const struct rd_fact *at, const char *list, const char *signature)
{
	const struct rd_fact *items = rd_fact_get(at, list);

	for (size_t i = 0; i < rd_fact_count(items); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(items, i), "signature"), signature))
			return true;
	return false;
}

static void lines_belong_to_the_gpu_that_they_name(void **state)
{
	struct host *host = *state;
	struct rd_fact *first = add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	struct rd_fact *second;

	add_gpu(host, "0000:83:00.0", "gfx1100", "amdgpu");
	first = rd_fact_get_mutable(host->facts, "gpus[0]");
	second = rd_fact_get_mutable(host->facts, "gpus[1]");
	read_log(host, "'[    5.5] amdgpu 0000:83:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3',"
	               "'[    6.5] amdgpu 0000:83:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3',"
	               "'[    7.0] amdgpu 0000:83:00.0: amdgpu: GPU reset begin!'");
	assert_false(has_signature(first, "kernel_log", "ring-timeout"));
	assert_true(has_signature(second, "kernel_log", "ring-timeout"));
	assert_true(has_signature(second, "kernel_log", "gpu-reset"));
	assert_int_equal(rd_fact_get_int(second, "kernel_log[0].count"), 2);
	assert_string_equal(text(host, "kernel.log[0].gpu"), "0000:83:00.0");
	assert_true(rd_fact_get_real(second, "kernel_log[0].time_s") == 5.5);
}

static void each_signature_has_a_line(void **state)
{
	static const struct {
		const char *signature, *line;
	} lines[] = {
		{ "fw-missing", "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_11_0_0_mec.bin failed with error -2" },
		{ "fw-missing", "[drm:amdgpu_pci_probe [amdgpu]] *ERROR* amdgpu requires firmware installed" },
		{ "fw-missing", "amdgpu 0000:03:00.0: amdgpu: Failed to load gpu_info firmware amdgpu/arcturus_gpu_info.bin" },
		{ "discovery", "amdgpu 0000:03:00.0: amdgpu: failed to read ip discovery binary from file" },
		{ "discovery", "amdgpu 0000:03:00.0: amdgpu: discovery failed: -2" },
		{ "fatal-init", "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init" },
		{ "page-fault", "amdgpu 0000:03:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24)" },
		{ "ras", "amdgpu 0000:03:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block" },
		{ "ras", "amdgpu 0000:03:00.0: amdgpu: uncorrectable hardware error (ERREVENT_ATHUB_INTERRUPT) detected!" },
		{ "secure-boot", "Loading of module with unavailable key is rejected" },
		{ "secure-boot", "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7" },
		{ "mes-hang", "amdgpu 0000:03:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE" },
		{ "evict-queue", "amdgpu 0000:03:00.0: amdgpu: Failed to evict queue 1" },
		{ "probe-failed", "amdgpu 0000:03:00.0: probe with driver amdgpu failed with error -12" },
		{ "kfd-atomics", "kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0" },
		{ "kfd-not-supported", "kfd kfd: PITCAIRN  not supported in kfd" },
		{ "bar-no-space", "pci 0000:03:00.0: BAR 0 [mem size 0x400000000 64bit pref]: failed to assign" },
		{ "exp-hw", "amdgpu 0000:03:00.0: This hardware requires experimental hardware support." },
		{ "unknown-symbol", "amdgpu: Unknown symbol amd_iommu_bind_pasid (err -2)" },
	};
	struct host *host = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(lines); i++) {
		char quoted[512];

		forget(host);
		add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
		snprintf(quoted, sizeof(quoted), "'[    1.0] %s'", lines[i].line);
		read_log(host, quoted);
		if (!has_signature(host->facts, "kernel.log", lines[i].signature))
			fail_msg("no %s in: %s", lines[i].signature, lines[i].line);
	}
}

static void a_healthy_boot_leaves_no_error(void **state)
{
	struct host *host = *state;

	add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	read_log(host,
	         "'[    1.0] [drm] amdgpu kernel modesetting enabled.',"
	         "'[    1.1] amdgpu: module verification failed: signature and/or required key missing - tainting kernel',"
	         "'[    1.2] amdgpu 0000:03:00.0: amdgpu: MODE1 reset',"
	         "'[    1.3] amdgpu 0000:03:00.0: amdgpu: RAS: optional ras ta ucode is not available',"
	         "'[    1.4] pci 0000:99:00.0: BAR 0: no space for [mem size 0x1000]',"
	         "'[    1.5] kfd kfd: amdgpu: added device 1002:744c',"
	         "'[    1.6] WARNING: CPU: 1 PID: 2 at drivers/gpu/drm/amd/amdgpu/x.c:1 f+0x1/0x2 [amdgpu]',"
	         "'[    1.7] RIP: 0010:f+0x1/0x2 [amdgpu]'");
	for (size_t i = 0; i < count(host, "kernel.log"); i++)
		assert_string_not_equal(rd_fact_get_str(rd_fact_at(rd_fact_get(host->facts, "kernel.log"), i), "severity"),
		                        "error");
}

static void a_crash_is_amdgpus_where_its_registers_say_so(void **state)
{
	struct host *host = *state;

	read_log(host, "'[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000008',"
	               "'[    1.1] RIP: 0010:kfd_process_evict_queues+0x1/0x2 [amdgpu]'");
	assert_int_equal(count(host, "kernel.log"), 1);
	assert_string_equal(text(host, "kernel.log[0].signature"), "crash-in-amdgpu");
}

static void a_log_that_may_not_be_read_is_unknown(void **state)
{
	struct host *host = *state;

	add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	scratch_manifest(host->dir, "'unreadable': {'/dev/kmsg': 'EPERM'}");
	load_knowledge(host);
	assert_int_equal(run(host, &rd_probe_kernel_log), 0);
	assert_true(unknown(host, "kernel.log"));
	assert_true(unknown(host, "gpus[0].kernel_log"));
}

static void the_log_of_the_boot_stands_in_for_it(void **state)
{
	struct host *host = *state;

	add_gpu(host, "0000:03:00.0", "gfx1100", "amdgpu");
	scratch_file(host->dir, "var/log/dmesg",
	             "[    1.000000] kernel: amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n");
	load_knowledge(host);
	assert_int_equal(run(host, &rd_probe_kernel_log), 0);
	assert_string_equal(text(host, "gpus[0].kernel_log[0].line"),
	                    "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init");
}

/* ---- joins ---- */

static void join(struct host *host, const char *release)
{
	char members[256];

	snprintf(members, sizeof(members), "'uname': {'release': '%s', 'version': '#1', 'machine': 'x86_64'}", release);
	scratch_manifest(host->dir, members);
	if (!host->knowledge)
		load_knowledge(host);
	host->sysroot = rd_sysroot_free(host->sysroot);
	assert_int_equal(run(host, &rd_probe_kernel_support), 0);
}

static void kernels_before_a_gpu_are_too_old_for_it(void **state)
{
	struct host *host = *state;

	add_gpu(host, "0000:03:00.0", "gfx1151", "");
	rd_fact_set_str(host->facts, "kernel.amdgpu.origin", "in-tree", "test");
	join(host, "6.8.0-60-generic");
	assert_true(rd_fact_get_bool(host->facts, "gpus[0].kernel_too_old"));
	assert_string_equal(text(host, "gpus[0].kernel_first"), "6.9");
	join(host, "6.11.0-26-generic");
	assert_false(rd_fact_get_bool(host->facts, "gpus[0].kernel_too_old"));
	assert_true(rd_fact_is_known(host->facts, "gpus[0].kernel_too_old"));

	rd_fact_set_bool(host->facts, "kernel.backports", true, "test");
	join(host, "5.14.0-427.el9.x86_64");
	assert_true(unknown(host, "gpus[0].kernel_too_old"));
	rd_fact_set_str(host->facts, "kernel.amdgpu.origin", "dkms", "test");
	join(host, "5.14.0-427.el9.x86_64");
	assert_true(rd_fact_is_known(host->facts, "gpus[0].kernel_too_old"));
}

static void a_gpu_that_is_not_on_record_is_unknown(void **state)
{
	struct host *host = *state;

	add_gpu(host, "0000:03:00.0", "gfx9999", "");
	rd_fact_set_str(host->facts, "kernel.amdgpu.origin", "in-tree", "test");
	join(host, "6.8.0-60-generic");
	assert_true(unknown(host, "gpus[0].kernel_too_old"));
}

static void pair(struct host *host, const char *module, const char *rocm)
{
	struct rd_fact *root;

	forget(host);
	root = rd_fact_append(host->facts, "runtime.rocm", "test");
	rd_fact_set_str(root, "root", "/opt/rocm", "test");
	rd_fact_set_str(root, "version", rocm, "test");
	rd_fact_set_str(host->facts, "runtime.default_root", "/opt/rocm", "test");
	rd_fact_set_str(host->facts, "kernel.amdgpu.origin", "dkms", "test");
	rd_fact_set_str(host->facts, "kernel.amdgpu.version", module, "test");
	join(host, RELEASE);
}

static void drivers_have_a_newest_rocm(void **state)
{
	static const struct {
		const char *module, *rocm;
		int too_old; /* -1: unknown */
	} cases[] = { { "6.2.4", "6.1.0", 0 },           { "6.2.4", "7.2.0", 1 },     { "6.8.5", "6.2.0", 0 },
		      { "6.8.5", "7.2.1", 1 },           { "6.12.12", "7.2.4", 0 },   { "6.12.12", "10.0.0", 1 },
		      { "6.14.14", "10.1.0", 0 },        { "6.12.12", "7.9.0", 1 },   { "7.1.3", "10.0.0", 0 },
		      { "7.1.3.31500000", "10.0.0", 0 }, { "6.14.14", "11.0.0", -1 }, { "9.9.9", "7.2.0", -1 } };
	struct host *host = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		pair(host, cases[i].module, cases[i].rocm);
		if (cases[i].too_old < 0 ? !unknown(host, "kernel.amdgpu.too_old")
		                         : unknown(host, "kernel.amdgpu.too_old") ||
		                                   rd_fact_get_bool(host->facts, "kernel.amdgpu.too_old") != cases[i].too_old)
			fail_msg("%s with ROCm %s", cases[i].module, cases[i].rocm);
	}
}

static void a_build_that_came_out_settles_whether_the_kernel_is_too_new(void **state)
{
	struct host *host = *state;

	rd_fact_set_str(host->facts, "kernel.amdgpu.dkms.version", "6.12.12-2164967.24.04", "test");
	rd_fact_set_str(host->facts, "kernel.amdgpu.dkms.state", "failed", "test");
	join(host, "6.14.0-24-generic");
	assert_true(rd_fact_get_bool(host->facts, "kernel.amdgpu.dkms.kernel_too_new"));
	join(host, "6.11.0-26-generic");
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.dkms.kernel_too_new"));
	rd_fact_set_str(host->facts, "kernel.amdgpu.dkms.state", "installed", "test");
	join(host, "6.14.0-24-generic");
	assert_false(rd_fact_get_bool(host->facts, "kernel.amdgpu.dkms.kernel_too_new"));
}

static void a_known_bad_driver_is_told_by_the_number_of_its_package(void **state)
{
	struct host *host = *state;
	struct rd_fact *gpu = add_gpu(host, "0000:05:00.0", "gfx942", "amdgpu");

	rd_fact_set_str(gpu, "device_id", "0x74a1", "test");
	rd_fact_set_str(host->facts, "kernel.amdgpu.origin", "dkms", "test");
	rd_fact_set_str(host->facts, "kernel.amdgpu.version", "6.8.5", "test");
	join(host, RELEASE);
	assert_true(unknown(host, "gpus[0].driver_known_bad"));
	rd_fact_set_str(host->facts, "kernel.driver_package.version", "1:6.8.5.60201-2041575.24.04", "test");
	join(host, RELEASE);
	assert_true(rd_fact_get_bool(host->facts, "gpus[0].driver_known_bad"));
	rd_fact_set_str(host->facts, "kernel.driver_package.version", "1:6.8.5.60204-2070768.24.04", "test");
	join(host, RELEASE);
	assert_true(rd_fact_is_known(host->facts, "gpus[0].driver_known_bad"));
	assert_false(rd_fact_get_bool(host->facts, "gpus[0].driver_known_bad"));
}

static void known_bad_firmware_is_told_by_what_runs_before_the_package(void **state)
{
	struct host *host = *state;
	struct rd_fact *gpu = add_gpu(host, "0000:c1:00.0", "gfx1151", "amdgpu"), *package;

	package = rd_fact_append(host->facts, "runtime.packages", "test");
	rd_fact_set_str(package, "name", "amd-gpu-firmware", "test");
	rd_fact_set_str(package, "version", "20251125-1.fc43", "test");
	rd_fact_set_str(package, "state", "installed", "test");
	join(host, "6.17.9-300.fc43.x86_64");
	assert_true(rd_fact_get_bool(host->facts, "gpus[0].firmware.known_bad"));

	gpu = rd_fact_get_mutable(host->facts, "gpus[0]");
	rd_fact_set_int(gpu, "firmware.mes", 0x7e, "test");
	join(host, "6.17.9-300.fc43.x86_64");
	assert_false(rd_fact_get_bool(host->facts, "gpus[0].firmware.known_bad"));
	rd_fact_set_int(gpu, "firmware.mes", 0x1083, "test");
	join(host, "6.17.9-300.fc43.x86_64");
	assert_true(rd_fact_get_bool(host->facts, "gpus[0].firmware.known_bad"));
}

static void a_package_that_left_its_configuration_was_removed(void **state)
{
	struct host *host = *state;
	struct rd_fact *package = rd_fact_append(host->facts, "runtime.packages", "test");

	rd_fact_set_str(package, "name", "rock-dkms", "test");
	rd_fact_set_str(package, "state", "config-files", "test");
	assert_int_equal(run(host, &rd_probe_kernel_packages), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.driver_package.removed"));
	assert_int_equal(count(host, "kernel.legacy_packages"), 0);

	package = rd_fact_append(host->facts, "runtime.packages", "test");
	rd_fact_set_str(package, "name", "rocm-dkms", "test");
	rd_fact_set_str(package, "state", "installed", "test");
	assert_int_equal(run(host, &rd_probe_kernel_packages), 0);
	assert_false(rd_fact_get_bool(host->facts, "kernel.driver_package.removed"));
	assert_string_equal(text(host, "kernel.driver_package.name"), "rocm-dkms");
	assert_int_equal(count(host, "kernel.legacy_packages"), 1);
}

/* ---- signatures ---- */

static void a_signer_is_enrolled_where_the_owners_keys_name_it(void **state)
{
	struct host *host = *state;

	rd_fact_set_str(host->facts, "kernel.amdgpu.file.signer", "gpu-host Module key", "test");
	assert_int_equal(run(host, &rd_probe_kernel_signing), 0);
	assert_true(unknown(host, "kernel.signing.enrolled"));

	scratch_file(host->dir, "sys/firmware/efi/mok-variables/MokListRT", "0\x82 Debian Secure Boot CA 1");
	assert_int_equal(run(host, &rd_probe_kernel_signing), 0);
	assert_true(rd_fact_is_known(host->facts, "kernel.signing.enrolled"));
	assert_false(rd_fact_get_bool(host->facts, "kernel.signing.enrolled"));

	scratch_file(host->dir, "sys/firmware/efi/mok-variables/MokListRT", "0\x82 Debian\x0c\x13gpu-host Module key\x01");
	assert_int_equal(run(host, &rd_probe_kernel_signing), 0);
	assert_true(rd_fact_get_bool(host->facts, "kernel.signing.enrolled"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(amdgpu_is_loaded_where_its_state_is_live),
		TEST(amdgpu_is_builtin_where_it_has_parameters_and_no_state),
		TEST(a_module_that_is_still_starting_is_not_loaded),
		TEST(amdgpu_is_missing_where_no_file_is_there),
		TEST(a_file_on_disk_says_what_would_be_loaded),
		TEST(an_alias_tells_whether_udev_would_load_it),
		TEST(a_file_is_found_where_depmod_never_ran),
		TEST(another_build_on_disk_is_noticed),
		TEST(a_damaged_module_leaves_its_fields_unknown),
		TEST(a_container_knows_what_runs_and_not_what_is_on_disk),
		TEST(a_container_does_not_call_the_driver_missing),
		TEST(a_tree_without_sys_tells_nothing_unless_a_gpu_is_driven),
		TEST(firmware_that_is_not_on_disk_is_missing_for_a_gpu_without_driver),
		TEST(packed_firmware_in_updates_is_enough),
		TEST(nothing_is_said_of_firmware_for_a_gpu_that_is_driven),
		TEST(configuration_is_found_by_file_and_line),
		TEST(of_two_files_with_one_name_the_higher_counts),
		TEST(an_install_line_that_loads_the_module_disables_nothing),
		TEST(the_command_line_has_forms_of_its_own),
		TEST(a_word_inside_quotes_is_no_nomodeset),
		TEST(a_file_that_cannot_be_read_leaves_the_lists_unknown),
		TEST(what_was_found_stands_beside_a_file_that_cannot_be_read),
		TEST(a_container_has_only_the_command_line_of_its_host),
		TEST(kfd_counts_gpu_nodes_and_skips_cpus),
		TEST(a_node_that_a_cgroup_hides_leaves_the_count_unknown),
		TEST(without_kfd_the_counts_are_none),
		TEST(config_is_read_by_its_lines),
		TEST(without_a_copy_of_the_configuration_nothing_is_known),
		TEST(dkms_folders_without_their_source_are_named),
		TEST(dkms_tells_installed_from_built),
		TEST(a_failed_build_is_known_by_its_log),
		TEST(a_build_for_another_kernel_is_only_added_for_this_one),
		TEST(sources_that_dkms_was_not_told_of_are_seen),
		TEST(a_newer_kernel_of_the_same_flavour_waits_for_a_reboot),
		TEST(flavours_are_what_follows_the_numbers),
		TEST(headers_are_those_of_the_running_kernel),
		TEST(lines_belong_to_the_gpu_that_they_name),
		TEST(each_signature_has_a_line),
		TEST(a_healthy_boot_leaves_no_error),
		TEST(a_crash_is_amdgpus_where_its_registers_say_so),
		TEST(a_log_that_may_not_be_read_is_unknown),
		TEST(the_log_of_the_boot_stands_in_for_it),
		TEST(kernels_before_a_gpu_are_too_old_for_it),
		TEST(a_gpu_that_is_not_on_record_is_unknown),
		TEST(drivers_have_a_newest_rocm),
		TEST(a_build_that_came_out_settles_whether_the_kernel_is_too_new),
		TEST(a_known_bad_driver_is_told_by_the_number_of_its_package),
		TEST(known_bad_firmware_is_told_by_what_runs_before_the_package),
		TEST(a_package_that_left_its_configuration_was_removed),
		TEST(a_signer_is_enrolled_where_the_owners_keys_name_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
