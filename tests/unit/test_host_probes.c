#include <errno.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"

#include "scratch.h"

extern const struct rd_probe rd_probe_host_container, rd_probe_host_counts, rd_probe_host_docker, rd_probe_host_kernel,
	rd_probe_host_os, rd_probe_host_profile, rd_probe_host_rdma, rd_probe_host_resources, rd_probe_host_security,
	rd_probe_host_user, rd_probe_host_virtualization;

static char *dir;
static struct rd_sysroot *sr;
static struct rd_fact *facts;

static int setup(void **state)
{
	(void)state;
	dir = scratch_new();
	facts = rd_facts_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sr = rd_sysroot_free(sr);
	facts = rd_fact_free(facts);
	scratch_free(dir);
	return 0;
}

static void look(const struct rd_probe *probe)
{
	if (!sr)
		sr = scratch_open(dir);
	rd_probe_run(probe, sr, facts);
}

static const char *str(const char *path)
{
	return rd_fact_get_str(facts, path);
}

static int64_t number(const char *path)
{
	return rd_fact_get_int(facts, path);
}

static bool is_true(const char *path)
{
	return rd_fact_get_bool(facts, path);
}

static bool unknown(const char *path)
{
	return rd_fact_is_unknown(facts, path);
}

/* ---- os, kernel ---- */

static void os_release_is_read_as_a_shell_would(void **state)
{
	(void)state;
	scratch_file(dir, "/usr/lib/os-release",
	             "# ID=no\nID=ubuntu\nVERSION_ID='24.04'\nPRETTY_NAME=\"A \\\"quoted\\\" \\$name\"\nID_LIKE=\"rhel "
	             "fedora\"\nnonsense\n");
	scratch_link(dir, "/etc/os-release", "../usr/lib/os-release");
	look(&rd_probe_host_os);
	assert_string_equal(str("host.os.id"), "ubuntu");
	assert_string_equal(str("host.os.version_id"), "24.04");
	assert_string_equal(str("host.os.pretty_name"), "A \"quoted\" $name");
	assert_string_equal(str("host.os.id_like[1]"), "fedora");
}

static void a_system_without_os_release_has_no_name(void **state)
{
	(void)state;
	scratch_dir(dir, "/etc");
	look(&rd_probe_host_os);
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "host.os.id")), RD_FACT_ABSENT);
}

static void the_command_line_is_cut_at_blanks_outside_of_quotes(void **state)
{
	(void)state;
	scratch_file(dir, "/proc/cmdline", "ro  amdgpu.x=\"a b\" iommu=pt\n");
	look(&rd_probe_host_kernel);
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "host.kernel.cmdline")), 3);
	assert_string_equal(str("host.kernel.cmdline[1]"), "amdgpu.x=\"a b\"");
	assert_string_equal(str("host.kernel.cmdline[2]"), "iommu=pt");
}

static void a_tree_that_does_not_tell_its_kernel_is_not_given_ours(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/hostname", "x\n");
	look(&rd_probe_host_kernel);
	assert_true(unknown("host.kernel.release"));
	assert_true(unknown("host.kernel.machine"));
	assert_true(unknown("host.kernel.cmdline"));
}

/* ---- container ---- */

static void a_dockerenv_alone_proves_nothing(void **state)
{
	(void)state;
	scratch_file(dir, "/.dockerenv", "");
	scratch_file(dir, "/proc/1/cgroup", "1:cpu:/\n0::/\n");
	scratch_file(dir, "/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/root rw\n");
	look(&rd_probe_host_container);
	assert_string_equal(str("host.container"), "");
	assert_true(rd_fact_is_known(facts, "host.container_signs"));
}

static void a_dockerenv_on_a_layered_root_is_docker(void **state)
{
	(void)state;
	scratch_file(dir, "/.dockerenv", "");
	scratch_file(dir, "/proc/self/mountinfo", "5 4 0:9 / / rw,relatime - overlay overlay rw,lowerdir=/x\n");
	look(&rd_probe_host_container);
	assert_string_equal(str("host.container"), "docker");
}

static void managers_are_known_by_their_own_marks(void **state)
{
	static const struct {
		const char *path, *text, *kind;
	} marks[] = {
		{ "/run/.containerenv", "engine=\"podman-4.9.3\"\n", "podman" },
		{ "/run/systemd/container", "lxc\n", "lxc" },
		{ "/proc/1/cgroup", "5:devices:/kubepods/burstable/pod1/abc\n", "k8s" },
		{ "/proc/self/cgroup", "0::/system.slice/docker-0123.scope\n", "docker" },
		{ "/proc/1/environ", "A=1", "" },
		{ "/proc/self/cgroup", "0::/system.slice/docker.service\n", "" },
		{ "/var/run/secrets/kubernetes.io/token", "", "k8s" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(marks); i++) {
		struct rd_fact *one = rd_facts_new();
		struct rd_sysroot *root;
		char *tree = scratch_new();

		scratch_file(tree, marks[i].path, marks[i].text);
		scratch_file(tree, "/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/root rw\n");
		root = scratch_open(tree);
		rd_probe_run(&rd_probe_host_container, root, one);
		assert_string_equal(rd_fact_get_str(one, "host.container"), marks[i].kind);
		rd_sysroot_free(root);
		rd_fact_free(one);
		scratch_free(tree);
	}
}

static void apptainer_inside_of_a_layered_root_is_apptainer(void **state)
{
	(void)state;
	scratch_manifest(dir, "'environment': {'APPTAINER_CONTAINER': '/x.sif'}");
	scratch_file(dir, "/proc/self/mounts", "overlay / overlay rw,lowerdir=/var/lib/docker/overlay2/l/A 0 0\n");
	look(&rd_probe_host_container);
	assert_string_equal(str("host.container"), "apptainer");
}

static void mounts_that_may_not_be_read_leave_it_open(void **state)
{
	(void)state;
	scratch_file(dir, "/proc/self/mountinfo", "");
	scratch_manifest(dir, "'unreadable': {'/proc/self/mountinfo': 'EACCES', '/proc/self/mounts': 'EACCES', "
	                      "'/proc/mounts': 'EACCES'}");
	look(&rd_probe_host_container);
	assert_true(unknown("host.container"));
}

/* ---- virtualization ---- */

static void cpu(const char *flags)
{
	char text[256];

	snprintf(text, sizeof(text), "processor\t: 0\nflags\t\t: %s\n", flags);
	scratch_file(dir, "/proc/cpuinfo", text);
}

static void bare_metal_is_told_by_the_flag_that_is_not_there(void **state)
{
	(void)state;
	cpu("fpu sse avx512f");
	scratch_file(dir, "/sys/class/dmi/id/sys_vendor", "Supermicro\n");
	look(&rd_probe_host_virtualization);
	assert_true(rd_fact_state(rd_fact_get(facts, "host.virtualization")) == RD_FACT_ABSENT);
	assert_string_equal(str("host.cloud.vendor"), "");
}

static void an_azure_guest_is_microsofts_and_a_cloud(void **state)
{
	(void)state;
	cpu("fpu hypervisor");
	scratch_file(dir, "/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
	scratch_file(dir, "/sys/class/dmi/id/product_name", "Virtual Machine\n");
	scratch_file(dir, "/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
	look(&rd_probe_host_virtualization);
	assert_string_equal(str("host.virtualization"), "microsoft");
	assert_string_equal(str("host.cloud.vendor"), "azure");
	assert_string_equal(str("host.cloud.product"), "Virtual Machine");
}

static void a_whole_machine_of_ec2_is_no_guest(void **state)
{
	(void)state;
	cpu("fpu sse");
	scratch_file(dir, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	scratch_file(dir, "/sys/class/dmi/id/product_name", "m7a.metal-48xl\n");
	look(&rd_probe_host_virtualization);
	assert_string_equal(str("host.virtualization"), "");
	assert_string_equal(str("host.cloud.vendor"), "aws");
}

static void a_guest_without_firmware_tables_is_told_by_its_clock(void **state)
{
	(void)state;
	cpu("fpu hypervisor sse");
	scratch_file(dir, "/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc\n");
	look(&rd_probe_host_virtualization);
	assert_string_equal(str("host.virtualization"), "kvm");
}

static void wsl_and_its_version_are_told_by_the_kernel(void **state)
{
	(void)state;
	cpu("fpu hypervisor");
	scratch_file(dir, "/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
	scratch_file(dir, "/opt/rocm/lib/librocdxg.so.1", "");
	scratch_manifest(dir, "'nodes': {'/dev/dxg': {'type': 'char', 'mode': '0666', 'uid': 0, 'gid': 0}}");
	look(&rd_probe_host_virtualization);
	assert_true(is_true("host.wsl"));
	assert_int_equal(number("host.wsl_version"), 2);
	assert_true(is_true("host.dxg"));
	assert_string_equal(str("host.wsl_runtime"), "rocdxg");
	assert_string_equal(str("host.virtualization"), "microsoft");
}

static void without_a_list_of_packages_the_runtime_of_wsl_is_not_known(void **state)
{
	(void)state;
	cpu("fpu hypervisor");
	scratch_file(dir, "/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
	look(&rd_probe_host_virtualization);
	assert_true(unknown("host.wsl_runtime"));
}

static void a_list_of_packages_tells_that_wsl_has_no_runtime(void **state)
{
	(void)state;
	cpu("fpu hypervisor");
	scratch_file(dir, "/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
	scratch_file(dir, "/var/lib/dpkg/status", "");
	look(&rd_probe_host_virtualization);
	assert_false(unknown("host.wsl_runtime"));
	assert_string_equal(str("host.wsl_runtime"), "");
}

static void the_first_wsl_has_no_kernel_of_its_own(void **state)
{
	(void)state;
	cpu("fpu");
	scratch_file(dir, "/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
	look(&rd_probe_host_virtualization);
	assert_int_equal(number("host.wsl_version"), 1);
}

static void a_tree_without_proc_does_not_know(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/hostname", "x\n");
	look(&rd_probe_host_virtualization);
	assert_true(unknown("host.virtualization"));
	assert_true(unknown("host.wsl"));
	assert_true(unknown("host.dxg"));
}

/* ---- security ---- */

#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static void secure_boot_is_the_fifth_byte(void **state)
{
	(void)state;
	scratch_bytes(dir, SECURE_BOOT, "\6\0\0\0\1", 5);
	scratch_file(dir, "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	scratch_file(dir, "/proc/self/status", "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	look(&rd_probe_host_security);
	assert_true(is_true("host.secure_boot"));
	assert_false(is_true("host.shim_validation_off"));
	assert_string_equal(str("host.lockdown"), "integrity");
	assert_int_equal(number("host.seccomp_mode"), 2);
	assert_true(is_true("host.no_new_privileges"));
}

static void a_short_variable_is_no_answer(void **state)
{
	(void)state;
	scratch_bytes(dir, SECURE_BOOT, "\6\0\0\0", 4);
	look(&rd_probe_host_security);
	assert_true(unknown("host.secure_boot"));
}

static void a_machine_that_a_bios_booted_has_no_secure_boot(void **state)
{
	(void)state;
	scratch_file(dir, "/sys/firmware/acpi/interrupts/sci", "1\n");
	look(&rd_probe_host_security);
	assert_true(rd_fact_state(rd_fact_get(facts, "host.secure_boot")) == RD_FACT_ABSENT);
}

static void what_a_container_hides_is_not_known(void **state)
{
	(void)state;
	scratch_file(dir, "/sys/firmware/acpi/interrupts/sci", "1\n");
	rd_fact_set_str(facts, "host.container", "docker", "test");
	look(&rd_probe_host_security);
	assert_true(unknown("host.secure_boot"));
	assert_true(unknown("host.lockdown"));
	assert_string_equal(rd_fact_reason(rd_fact_get(facts, "host.secure_boot")), "hidden in a container");
}

/* ---- resources ---- */

static void resources(const char *mount)
{
	scratch_file(dir, "/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
	scratch_file(dir, "/proc/self/mounts", mount);
	scratch_file(dir, "/sys/devices/system/cpu/online", "0-3,8\n");
	scratch_file(dir, "/sys/devices/system/node/online", "0-1\n");
	scratch_file(dir, "/proc/self/limits",
	             "Limit  Soft Limit  Hard Limit  Units\n"
	             "Max open files            1024                 4096                 files     \n"
	             "Max locked memory         unlimited            unlimited            bytes     \n");
	look(&rd_probe_host_resources);
}

static void sizes_and_counts_have_the_units_of_their_names(void **state)
{
	(void)state;
	resources("shm /dev/shm tmpfs rw,nosuid,size=65536k,inode64 0 0\n");
	assert_int_equal(number("host.memory_bytes"), 16384 * 1024);
	assert_int_equal(number("host.shm_bytes"), 64 << 20);
	assert_int_equal(number("host.cpu_count"), 5);
	assert_int_equal(number("host.numa_nodes"), 2);
	assert_true(number("host.limits.memlock_bytes") == INT64_MAX);
	assert_int_equal(number("host.limits.open_files"), 1024);
}

static void tmpfs_without_a_size_takes_half_of_the_memory(void **state)
{
	(void)state;
	resources("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n");
	assert_int_equal(number("host.shm_bytes"), 8192 * 1024);
}

static void the_last_mount_and_its_percents_count(void **state)
{
	(void)state;
	resources("tmpfs /dev/shm tmpfs rw,size=1g 0 0\ntmpfs /dev/shm tmpfs rw,size=25% 0 0\n");
	assert_int_equal(number("host.shm_bytes"), 4096 * 1024);
}

static void nonsense_gives_unknown_and_no_number(void **state)
{
	(void)state;
	scratch_file(dir, "/proc/meminfo", "MemTotal: 99999999999999999999999 kB\n");
	scratch_file(dir, "/proc/self/mounts", "tmpfs /dev/shm tmpfs rw,size=18446744073709551615g 0 0\n");
	scratch_file(dir, "/sys/devices/system/cpu/online", "3-1\n");
	look(&rd_probe_host_resources);
	assert_true(unknown("host.memory_bytes"));
	assert_true(unknown("host.shm_bytes"));
	assert_true(unknown("host.cpu_count"));
	assert_true(unknown("host.limits.memlock_bytes"));
	assert_int_equal(number("host.numa_nodes"), 0);
}

/* ---- user ---- */

static void groups_of_the_session_and_of_the_files_are_told_apart(void **state)
{
	(void)state;
	scratch_manifest(
		dir,
		"'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': [{'gid': 992}, {'gid': 44, 'name': 'video'}]}");
	scratch_file(dir, "/etc/passwd", "me:x:1000:1000::/home/me:/bin/sh\n");
	scratch_file(dir, "/etc/group", "video:x:44:me\nrender:x:109:me\n");
	look(&rd_probe_host_user);
	assert_string_equal(str("host.user.groups[0].name"), "video");
	/* A group by number alone. */
	assert_int_equal(number("host.user.groups[1].gid"), 992);
	assert_string_equal(str("host.user.groups[1].name"), "");
	assert_int_equal(number("host.user.member_of[1].gid"), 109);
	assert_false(is_true("host.user.overrides_modes"));
	assert_false(is_true("host.user_namespace.active"));
}

static void root_without_a_name_is_still_root(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'uid': 0, 'gid': 0, 'groups': [{'gid': 0}]}, 'environment': {}");
	scratch_file(dir, "/proc/self/uid_map", "         0          0 4294967295\n");
	look(&rd_probe_host_user);
	assert_int_equal(number("host.user.uid"), 0);
	assert_string_equal(str("host.user.name"), "");
	assert_true(is_true("host.user.overrides_modes"));
	assert_false(is_true("host.user_namespace.active"));
}

static void capabilities_count_for_the_user_of_the_process_alone(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'name': 'root', 'uid': 0, 'gid': 0, 'groups': []}");
	scratch_file(dir, "/proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n");
	scratch_file(dir, "/proc/self/uid_map", "0 1000 1\n");
	look(&rd_probe_host_user);
	assert_false(is_true("host.user.overrides_modes"));
	assert_true(is_true("host.user_namespace.active"));
	assert_int_equal(number("host.process_uid"), 0);
}

static void under_sudo_the_process_says_nothing_of_the_user(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': []}");
	scratch_file(dir, "/proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n");
	look(&rd_probe_host_user);
	assert_false(is_true("host.user.overrides_modes"));
}

static void a_tree_without_a_user_has_none_of_ours(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
	look(&rd_probe_host_user);
	assert_true(unknown("host.user.uid"));
	assert_true(unknown("host.user.groups"));
	assert_true(unknown("host.user.overrides_modes"));
}

/* ---- docker, rdma ---- */

static void dockers_context_leads_to_a_virtual_machine(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': []}, 'environment': {}");
	scratch_file(dir, "/etc/passwd", "me:x:1000:1000::/home/me:/bin/sh\n");
	scratch_file(dir, "/home/me/.docker/config.json", "{\"currentContext\": \"mine\"}");
	scratch_file(
		dir, "/home/me/.docker/contexts/meta/0a/meta.json",
		"{\"Name\":\"mine\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///home/me/.docker/desktop/docker.sock\"}}}");
	scratch_file(dir, "/home/me/.docker/contexts/meta/0b/meta.json", "[broken");
	look(&rd_probe_host_docker);
	assert_string_equal(str("host.docker.context"), "mine");
	assert_true(is_true("host.docker.in_vm"));
}

static void dockers_default_is_the_engine_of_the_host(void **state)
{
	(void)state;
	scratch_manifest(dir, "'environment': {'HOME': '/root'}");
	scratch_file(dir, "/root/.docker/config.json", "{\"auths\": {}}");
	look(&rd_probe_host_docker);
	assert_false(is_true("host.docker.in_vm"));
	assert_string_equal(str("host.docker.context"), "");
}

static void rdma_devices_stand_by_name_with_their_state(void **state)
{
	(void)state;
	scratch_file(dir, "/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
	scratch_file(dir, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	scratch_file(dir, "/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
	look(&rd_probe_host_rdma);
	assert_string_equal(str("host.rdma[0].name"), "mlx5_0");
	assert_string_equal(str("host.rdma[0].state"), "ACTIVE");
	assert_string_equal(str("host.rdma[0].link_layer"), "InfiniBand");
	assert_string_equal(str("host.rdma[1].state"), "DOWN");
}

/* ---- derived ---- */

static void add_gpu(const char *kind, const char *gfx, int64_t vram, const char *driver, bool accessible)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(gpu, "kind", kind, "test");
	rd_fact_set_str(gpu, "gfx", gfx, "test");
	rd_fact_set_str(gpu, "driver", driver, "test");
	rd_fact_set_int(gpu, "vram_bytes", vram, "test");
	rd_fact_set_bool(gpu, "render_node.accessible", accessible, "test");
}

static void an_apu_counts_neither_as_discrete_nor_by_its_memory(void **state)
{
	(void)state;
	add_gpu("apu", "gfx1151", 96LL << 30, "amdgpu", true);
	add_gpu("dgpu", "gfx1100", 24LL << 30, "amdgpu", true);
	add_gpu("dgpu", "gfx942", 192LL << 30, "vfio-pci", false);
	look(&rd_probe_host_counts);
	assert_int_equal(number("host.gpu_counts.discrete"), 2);
	assert_int_equal(number("host.gpu_counts.instinct"), 1);
	assert_int_equal(number("host.gpu_counts.usable"), 1);
	assert_true(number("host.gpu_counts.largest_vram_bytes") == 192LL << 30);
}

static void a_profile_changes_only_what_it_names(void **state)
{
	struct rd_probe_options options = { .profile = "llm-7b" };
	struct rd_error err = RD_ERROR_INIT;
	struct rd_knowledge *k = NULL;
	struct rd_probe_ctx ctx;

	(void)state;
	assert_int_equal(rd_knowledge_load(NULL, &k, &err), 0);
	ctx = (struct rd_probe_ctx){ .facts = facts, .knowledge = k, .options = &options };
	assert_int_equal(rd_probe_run_ctx(&rd_probe_host_profile, &ctx), 0);
	assert_string_equal(str("profile.name"), "llm-7b");
	assert_true(number("profile.min_vram_bytes") == 23LL << 30);
	assert_int_equal(number("profile.hot_c"), 85);
	assert_true(number("profile.min_shm_bytes") == 1LL << 30);
	options.profile = "no-such";
	assert_true(rd_probe_run_ctx(&rd_probe_host_profile, &ctx) < 0);
	rd_knowledge_free(k);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(os_release_is_read_as_a_shell_would),
		T(a_system_without_os_release_has_no_name),
		T(the_command_line_is_cut_at_blanks_outside_of_quotes),
		T(a_tree_that_does_not_tell_its_kernel_is_not_given_ours),
		T(a_dockerenv_alone_proves_nothing),
		T(a_dockerenv_on_a_layered_root_is_docker),
		T(managers_are_known_by_their_own_marks),
		T(apptainer_inside_of_a_layered_root_is_apptainer),
		T(mounts_that_may_not_be_read_leave_it_open),
		T(bare_metal_is_told_by_the_flag_that_is_not_there),
		T(an_azure_guest_is_microsofts_and_a_cloud),
		T(a_whole_machine_of_ec2_is_no_guest),
		T(a_guest_without_firmware_tables_is_told_by_its_clock),
		T(wsl_and_its_version_are_told_by_the_kernel),
		T(without_a_list_of_packages_the_runtime_of_wsl_is_not_known),
		T(a_list_of_packages_tells_that_wsl_has_no_runtime),
		T(the_first_wsl_has_no_kernel_of_its_own),
		T(a_tree_without_proc_does_not_know),
		T(secure_boot_is_the_fifth_byte),
		T(a_short_variable_is_no_answer),
		T(a_machine_that_a_bios_booted_has_no_secure_boot),
		T(what_a_container_hides_is_not_known),
		T(sizes_and_counts_have_the_units_of_their_names),
		T(tmpfs_without_a_size_takes_half_of_the_memory),
		T(the_last_mount_and_its_percents_count),
		T(nonsense_gives_unknown_and_no_number),
		T(groups_of_the_session_and_of_the_files_are_told_apart),
		T(root_without_a_name_is_still_root),
		T(capabilities_count_for_the_user_of_the_process_alone),
		T(under_sudo_the_process_says_nothing_of_the_user),
		T(a_tree_without_a_user_has_none_of_ours),
		T(dockers_context_leads_to_a_virtual_machine),
		T(dockers_default_is_the_engine_of_the_host),
		T(rdma_devices_stand_by_name_with_their_state),
		T(an_apu_counts_neither_as_discrete_nor_by_its_memory),
		T(a_profile_changes_only_what_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
