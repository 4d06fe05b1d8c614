/* The probes of probes/hardware over small trees. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#include "tree.h"

extern const struct rd_probe rd_probe_hardware_gpus, rd_probe_hardware_kfd, rd_probe_hardware_drm, rd_probe_hardware_pcie,
	rd_probe_hardware_health, rd_probe_hardware_log, rd_probe_hardware_rocblas, rd_probe_hardware_groups,
	rd_probe_hardware_iommu, rd_probe_hardware_support, rd_probe_host_kernel;

static struct rd_knowledge *knowledge;

struct bed {
	struct tree tree;
	struct rd_fact *facts;
};

static void setup(struct bed *bed)
{
	tree_make(&bed->tree);
	bed->facts = rd_facts_new();
	tree_file(&bed->tree, "sys/bus/", "");
}

static void done(struct bed *bed)
{
	rd_fact_free(bed->facts);
	tree_remove(&bed->tree);
}

static void probe(struct bed *bed)
{
	static const struct rd_probe *const probes[] = {
		&rd_probe_host_kernel,      &rd_probe_hardware_gpus,   &rd_probe_hardware_iommu,   &rd_probe_hardware_kfd,
		&rd_probe_hardware_drm,     &rd_probe_hardware_pcie,   &rd_probe_hardware_health,  &rd_probe_hardware_log,
		&rd_probe_hardware_rocblas, &rd_probe_hardware_groups, &rd_probe_hardware_support,
	};
	static const struct rd_probe_options options;
	struct rd_probe_ctx ctx = { .facts = bed->facts, .knowledge = knowledge, .options = &options };

	assert_int_equal(rd_sysroot_open(bed->tree.dir, &ctx.sysroot, NULL), 0);
	for (size_t i = 0; i < RD_ARRAY_SIZE(probes); i++)
		rd_probe_run_ctx(probes[i], &ctx);
	rd_sysroot_free(ctx.sysroot);
}

static RD_PRINTF(3, 4) void file(struct bed *bed, const char *text, const char *format, ...)
{
	char path[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	tree_file(&bed->tree, path, text);
}

/* One PCI function right below the bus; @home is where it lies in sys/devices. */
static void function(struct bed *bed, const char *home, const char *vendor, const char *device, const char *class_code)
{
	const char *address = strrchr(home, '/') + 1;
	rd_auto_free char *link = rd_xasprintf("sys/bus/pci/devices/%s", address);
	rd_auto_free char *target = rd_xasprintf("../../../devices/%s", home);

	file(bed, vendor, "sys/devices/%s/vendor", home);
	file(bed, device, "sys/devices/%s/device", home);
	file(bed, class_code, "sys/devices/%s/class", home);
	file(bed, "0xc8", "sys/devices/%s/revision", home);
	tree_link(&bed->tree, link, target);
}

static void driver(struct bed *bed, const char *home, const char *name)
{
	rd_auto_free char *link = rd_xasprintf("sys/devices/%s/driver", home);
	rd_auto_free char *target = rd_xasprintf("../../../bus/pci/drivers/%s", name);

	tree_link(&bed->tree, link, target);
}

static void node(struct bed *bed, unsigned number, const char *gpu_id, const char *properties)
{
	file(bed, gpu_id, "sys/class/kfd/kfd/topology/nodes/%u/gpu_id", number);
	file(bed, properties, "sys/class/kfd/kfd/topology/nodes/%u/properties", number);
}

static void render(struct bed *bed, unsigned minor, const char *home)
{
	rd_auto_free char *link = rd_xasprintf("sys/class/drm/renderD%u/device", minor);
	rd_auto_free char *target = rd_xasprintf("../../../devices/%s", home);

	tree_link(&bed->tree, link, target);
}

static const char *str(struct bed *bed, const char *path)
{
	return rd_fact_get_str(bed->facts, path);
}

static int64_t number(struct bed *bed, const char *path)
{
	return rd_fact_get_int(bed->facts, path);
}

static bool yes(struct bed *bed, const char *path)
{
	return rd_fact_get_bool(bed->facts, path);
}

static bool unknown(struct bed *bed, const char *path)
{
	return rd_fact_is_unknown(bed->facts, path);
}

static size_t count(struct bed *bed, const char *path)
{
	return rd_fact_count(rd_fact_get(bed->facts, path));
}

/* ---------------------------------------------------------------- which GPUs */

static void finds_an_instinct_that_is_no_display_and_has_no_driver(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:05:00.0", "0x1002", "0x74a1", "0x120000");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "gpus[0].gfx"), "gfx942");
	assert_string_equal(str(&bed, "gpus[0].gfx_source"), "table");
	assert_string_equal(str(&bed, "gpus[0].kind"), "dgpu");
	assert_string_equal(str(&bed, "gpus[0].driver"), "");
	assert_false(yes(&bed, "gpus[0].kfd.present"));
	assert_true(unknown(&bed, "gpus[0].vram_bytes"));
	done(&bed);
}

static void finds_a_gpu_that_vfio_holds(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:03:00.0", "0x1002", "0x744c", "0x030000");
	driver(&bed, "pci0000:00/0000:03:00.0", "vfio-pci");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].driver"), "vfio-pci");
	assert_string_equal(str(&bed, "gpus[0].name"), "AMD Radeon RX 7900 XTX");
	done(&bed);
}

static void a_card_of_another_model_beside_one_that_computes_is_kept_for_guests(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:03:00.0", "0x1002", "0x744c", "0x030000");
	driver(&bed, "pci0000:00/0000:03:00.0", "amdgpu");
	node(&bed, 1, "4711", "simd_count 192\ndomain 0\nlocation_id 768\ngfx_target_version 110000\n");
	function(&bed, "pci0000:00/0000:0b:00.0", "0x1002", "0x73bf", "0x030000");
	driver(&bed, "pci0000:00/0000:0b:00.0", "vfio-pci");
	function(&bed, "pci0000:00/0000:0f:00.0", "0x1002", "0x744c", "0x030000");
	driver(&bed, "pci0000:00/0000:0f:00.0", "vfio-pci");
	probe(&bed);
	assert_false(yes(&bed, "gpus[0].kept_for_guests"));
	assert_true(yes(&bed, "gpus[1].kept_for_guests"));
	/* One of two alike may have been left there. */
	assert_false(yes(&bed, "gpus[2].kept_for_guests"));
	done(&bed);
}

static void sorts_by_address_and_keeps_other_vendors_apart(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:83:00.0", "0x1002", "0x740f", "0x038000");
	function(&bed, "pci0000:00/0000:03:00.0", "0x1002", "0x740f", "0x038000");
	function(&bed, "pci0000:00/0000:05:00.0", "0x10de", "0x2330", "0x030200");
	function(&bed, "pci0000:00/0000:06:00.0", "0x1a03", "0x2000", "0x030000");
	function(&bed, "pci0000:00/0000:07:00.0", "0x10ee", "0x5000", "0x120000");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 2);
	assert_string_equal(str(&bed, "gpus[0].pci.address"), "0000:03:00.0");
	assert_int_equal(number(&bed, "gpus[1].index"), 1);
	assert_int_equal(count(&bed, "other_gpus"), 2);
	assert_string_equal(str(&bed, "other_gpus[0].vendor"), "NVIDIA");
	assert_int_equal(count(&bed, "other_gpu_vendors"), 1);
	done(&bed);
}

static void leaves_an_old_console_chip_out_beside_a_gpu(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:01:00.0", "0x1002", "0x515e", "0x030000");
	function(&bed, "pci0000:00/0000:05:00.0", "0x1002", "0x74a1", "0x120000");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "other_gpus[0].device_id"), "0x515e");
	done(&bed);
}

static void names_an_old_console_chip_where_it_is_all_there_is(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:01:00.0", "0x1002", "0x515e", "0x030000");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "never");
	assert_false(unknown(&bed, "gpus[0].gfx"));
	done(&bed);
}

static void does_not_know_what_is_newer_than_the_tables(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:05:00.0", "0x1002", "0x7fff", "0x120000");
	probe(&bed);
	assert_true(unknown(&bed, "gpus[0].gfx"));
	assert_true(unknown(&bed, "gpus[0].kind"));
	assert_true(unknown(&bed, "gpus[0].support.verdict"));
	assert_string_equal(str(&bed, "gpus[0].name"), "AMD GPU (1002:7fff)");
	done(&bed);
}

static void does_not_take_a_missing_sys_for_no_gpu(void **state)
{
	struct bed bed;

	(void)state;
	tree_make(&bed.tree);
	bed.facts = rd_facts_new();
	probe(&bed);
	assert_true(unknown(&bed, "gpus"));
	assert_true(unknown(&bed, "other_gpus"));
	done(&bed);
}

static void a_machine_without_pci_has_no_gpu(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	probe(&bed);
	assert_false(unknown(&bed, "gpus"));
	assert_int_equal(count(&bed, "gpus"), 0);
	done(&bed);
}

static void finds_a_gpu_that_only_kfd_knows(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	node(&bed, 0, "0\n", "cpu_cores_count 8\nsimd_count 0\n");
	node(&bed, 1, "4711\n",
	     "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
	     "location_id 1280\ndomain 2\ndrm_render_minor 128\nnum_xcc 8\n");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "gpus[0].pci.address"), "0002:05:00.0");
	assert_string_equal(str(&bed, "gpus[0].found_by"), "kfd");
	assert_string_equal(str(&bed, "gpus[0].driver"), "amdgpu");
	assert_string_equal(str(&bed, "gpus[0].gfx"), "gfx942");
	assert_int_equal(number(&bed, "gpus[0].kfd.cu_count"), 304);
	done(&bed);
}

static void finds_a_gpu_that_only_drm_knows(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	file(&bed, "0x1002", "sys/devices/pci0000:00/0000:03:00.0/vendor");
	file(&bed, "0x744c", "sys/devices/pci0000:00/0000:03:00.0/device");
	file(&bed, "25753026560\n", "sys/devices/pci0000:00/0000:03:00.0/mem_info_vram_total");
	tree_link(&bed.tree, "sys/class/drm/card0/device", "../../../devices/pci0000:00/0000:03:00.0");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "gpus[0].found_by"), "drm");
	assert_string_equal(str(&bed, "gpus[0].gfx"), "gfx1100");
	assert_int_equal(number(&bed, "gpus[0].vram_bytes"), 25753026560);
	done(&bed);
}

static void a_virtual_function_on_its_host_is_one(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:05:00.0", "0x1002", "0x7460", "0x038000");
	function(&bed, "pci0000:00/0000:05:02.0", "0x1002", "0x7461", "0x038000");
	tree_link(&bed.tree, "sys/devices/pci0000:00/0000:05:02.0/physfn", "../0000:05:00.0");
	file(&bed, "1\n", "sys/devices/pci0000:00/0000:05:00.0/sriov_numvfs");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].kind"), "dgpu");
	assert_int_equal(number(&bed, "gpus[0].pci.virtual_functions"), 1);
	assert_string_equal(str(&bed, "gpus[1].kind"), "vf");
	assert_string_equal(str(&bed, "gpus[1].pci.physical_function"), "0000:05:00.0");
	done(&bed);
}

/* ---------------------------------------------------------------- KFD */

#define CPX "simd_count 152\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\ndomain 1\nnum_xcc 1\n"

static void a_partition_number_in_the_function_bits_is_no_other_device(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0001:00/0001:02:00.0", "0x1002", "0x74a1", "0x120000");
	render(&bed, 128, "pci0001:00/0001:02:00.0");
	file(&bed, "", "sys/devices/platform/amdgpu_xcp.0/uevent");
	render(&bed, 129, "platform/amdgpu_xcp.0");
	node(&bed, 0, "0\n", "simd_count 0\n");
	node(&bed, 1, "100\n", CPX "location_id 512\ndrm_render_minor 128\n");
	node(&bed, 2, "101\n", CPX "location_id 513\ndrm_render_minor 129\n");
	/* DRM ran out of numbers: no render node. */
	node(&bed, 3, "102\n", CPX "location_id 514\ndrm_render_minor 0\n");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_int_equal(count(&bed, "gpus[0].partitions"), 3);
	assert_int_equal(number(&bed, "gpus[0].partitions[2].number"), 2);
	assert_string_equal(str(&bed, "gpus[0].partitions[1].render"), "renderD129");
	assert_string_equal(str(&bed, "gpus[0].partitions[2].render"), "");
	assert_int_equal(number(&bed, "gpus[0].kfd.node"), 1);
	assert_int_equal(number(&bed, "gpus[0].kfd.cu_count"), 38);
	assert_string_equal(str(&bed, "gpus[0].partition.compute"), "CPX");
	assert_true(yes(&bed, "partitioning.split"));
	done(&bed);
}

static void a_node_that_a_cgroup_hides_is_unknown_not_absent(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:05:00.0", "0x1002", "0x74a1", "0x120000");
	function(&bed, "pci0000:00/0000:26:00.0", "0x1002", "0x74a1", "0x120000");
	node(&bed, 0, "0\n", "simd_count 0\n");
	node(&bed, 1, "100\n", "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\nlocation_id 1280\n");
	node(&bed, 2, "", "");
	file(&bed,
	     "{\"schema\": \"rocm-doctor/snapshot/1\", \"unreadable\": {"
	     "\"/sys/class/kfd/kfd/topology/nodes/2/gpu_id\": \"EPERM\"}}",
	     "rocm-doctor-snapshot.json");
	probe(&bed);
	assert_true(yes(&bed, "gpus[0].kfd.present"));
	assert_true(unknown(&bed, "gpus[1].kfd.present"));
	assert_true(unknown(&bed, "gpus[1].partitions"));
	assert_string_equal(str(&bed, "gpus[1].gfx"), "gfx942");
	done(&bed);
}

static void a_kernel_without_gfx_target_version_and_domain_still_maps(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0003:00/0003:19:00.0", "0x1002", "0x6860", "0x030000");
	node(&bed, 1, "100\n", "simd_count 256\nsimd_per_cu 4\nvendor_id 4098\ndevice_id 26720\nlocation_id 6400\n");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_true(yes(&bed, "gpus[0].kfd.present"));
	assert_string_equal(str(&bed, "gpus[0].gfx"), "gfx900");
	assert_string_equal(str(&bed, "gpus[0].gfx_source"), "table");
	done(&bed);
}

static void the_graphics_core_tells_where_kfd_does_not(void **state)
{
	static const char home[] = "pci0000:00/0000:03:00.0";
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, home, "0x1002", "0x7fff", "0x030000");
	file(&bed, "12\n", "sys/devices/%s/ip_discovery/die/0/GC/0/major", home);
	file(&bed, "0\n", "sys/devices/%s/ip_discovery/die/0/GC/0/minor", home);
	file(&bed, "1\n", "sys/devices/%s/ip_discovery/die/0/GC/0/revision", home);
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].gfx"), "gfx1201");
	assert_string_equal(str(&bed, "gpus[0].gfx_source"), "ip_discovery");
	assert_string_equal(str(&bed, "gpus[0].family"), "RDNA4");
	done(&bed);
}

static void survives_nonsense_in_the_topology(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	node(&bed, 1, "99999999999999999999999\n", "simd_count 1\n");
	node(&bed, 2, "5\n",
	     "simd_count 18446744073709551615\nsimd_per_cu 0\nlocation_id 18446744073709551615\nvendor_id 4098\n"
	     "domain 18446744073709551615\ndrm_render_minor 18446744073709551615\ngfx_target_version 4294967295\n");
	node(&bed, 3, "6\n", "simd_count\nsimd_count x\n\n\n");
	file(&bed, "1\n", "sys/class/kfd/kfd/topology/nodes/junk/gpu_id");
	probe(&bed);
	assert_int_equal(count(&bed, "gpus"), 1);
	assert_string_equal(str(&bed, "gpus[0].drm.render"), "");
	assert_true(unknown(&bed, "gpus[0].gfx"));
	done(&bed);
}

static void a_hive_with_a_missing_link_is_not_complete(void **state)
{
#define HIVE "simd_count 416\nsimd_per_cu 4\ngfx_target_version 90010\nvendor_id 4098\nhive_id 77\n"
	struct bed bed;

	(void)state;
	setup(&bed);
	for (unsigned bus = 1; bus <= 3; bus++) {
		char home[64], properties[256];

		snprintf(home, sizeof(home), "pci0000:00/0000:0%u:00.0", bus);
		function(&bed, home, "0x1002", "0x740f", "0x038000");
		snprintf(properties, sizeof(properties), HIVE "location_id %u\n", bus << 8);
		node(&bed, bus, "100\n", properties);
		for (unsigned to = 1; to <= 3; to++) {
			char link[64];

			snprintf(link, sizeof(link), "type %d\nnode_to %u\nweight 15\n", bus + to == 5 ? 2 : 11, to);
			file(&bed, link, "sys/class/kfd/kfd/topology/nodes/%u/io_links/%u/properties", bus, to);
		}
	}
	probe(&bed);
	assert_int_equal(count(&bed, "hives"), 1);
	assert_int_equal(count(&bed, "hives[0].gpus"), 3);
	assert_false(yes(&bed, "hives[0].complete"));
	assert_false(unknown(&bed, "hives[0].complete"));
	assert_int_equal(count(&bed, "hives[0].missing"), 1);
	assert_string_equal(rd_fact_str(rd_fact_at(rd_fact_get(bed.facts, "hives[0].missing"), 0)),
	                    "0000:02:00.0 - 0000:03:00.0");
	done(&bed);
}

/* ---------------------------------------------------------------- PCIe */

#define ROOT "pci0000:00/0000:00:01.1"
#define UP ROOT "/0000:01:00.0"
#define DOWN UP "/0000:02:00.0"
#define CARD DOWN "/0000:03:00.0"

static void link_files(struct bed *bed, const char *home, const char *speed, const char *width, const char *max_speed,
                       const char *max_width)
{
	file(bed, speed, "sys/devices/%s/current_link_speed", home);
	file(bed, width, "sys/devices/%s/current_link_width", home);
	file(bed, max_speed, "sys/devices/%s/max_link_speed", home);
	file(bed, max_width, "sys/devices/%s/max_link_width", home);
}

static void consumer_card(struct bed *bed)
{
	function(bed, ROOT, "0x1022", "0x1483", "0x060400");
	function(bed, UP, "0x1002", "0x1478", "0x060400");
	function(bed, DOWN, "0x1002", "0x1479", "0x060400");
	function(bed, CARD, "0x1002", "0x73bf", "0x030000");
}

static void the_link_of_a_consumer_card_is_above_its_own_switch(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	consumer_card(&bed);
	link_files(&bed, ROOT, "8.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4");
	link_files(&bed, UP, "8.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "16");
	link_files(&bed, DOWN, "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16");
	link_files(&bed, CARD, "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16");
	probe(&bed);
	assert_int_equal(number(&bed, "gpus[0].pci.link_width"), 4);
	assert_int_equal(number(&bed, "gpus[0].pci.max_link_width"), 16);
	assert_string_equal(str(&bed, "gpus[0].pci.slot.address"), "0000:00:01.1");
	assert_int_equal(number(&bed, "gpus[0].pci.best_link_width"), 4);
	assert_true(rd_fact_get_real(bed.facts, "gpus[0].pci.best_link_speed_gts") == 8.0);
	done(&bed);
}

static void the_bridges_of_a_guest_say_nothing_of_links(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	rd_fact_set_str(bed.facts, "host.virtualization", "kvm", "test");
	function(&bed, ROOT, "0x1b36", "0x000c", "0x060400");
	function(&bed, UP, "0x1002", "0x74a1", "0x120000");
	link_files(&bed, ROOT, "2.5 GT/s PCIe", "1", "2.5 GT/s PCIe", "1");
	link_files(&bed, UP, "32.0 GT/s PCIe", "16", "32.0 GT/s PCIe", "16");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].pci.slot.address"), "");
	assert_int_equal(number(&bed, "gpus[0].pci.best_link_width"), 16);
	done(&bed);
}

static void an_unknown_link_is_absent(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0002:00/0002:00:00.0", "0x1002", "0x74b5", "0x120000");
	link_files(&bed, "pci0002:00/0002:00:00.0", "Unknown", "0", "Unknown", "255");
	probe(&bed);
	assert_false(rd_fact_is_known(bed.facts, "gpus[0].pci.link_width"));
	assert_false(unknown(&bed, "gpus[0].pci.link_width"));
	assert_int_equal(number(&bed, "gpus[0].pci.max_link_width"), 0);
	done(&bed);
}

#define BAR_NONE "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
#define BAR_GOOD "0x000000f800000000 0x000000fbffffffff 0x000000000014220c\n"
#define BAR_PORT "0x0000000000000000 0x00000000000000ff 0x0000000020040101\n"
#define BAR_UNSET "0x0000000000000000 0x00000000000fffff 0x0000000020040200\n"

static bool bars_unassigned(const char *resource)
{
	struct bed bed;
	bool result;

	setup(&bed);
	function(&bed, "pci0000:00/0000:83:00.0", "0x1002", "0x740f", "0x038000");
	file(&bed, resource, "sys/devices/pci0000:00/0000:83:00.0/resource");
	probe(&bed);
	assert_false(unknown(&bed, "gpus[0].pci.bar_unassigned"));
	result = yes(&bed, "gpus[0].pci.bar_unassigned");
	done(&bed);
	return result;
}

static void sees_base_addresses_without_a_place(void **state)
{
	(void)state;
	assert_false(bars_unassigned(BAR_GOOD BAR_NONE BAR_GOOD BAR_NONE BAR_NONE BAR_GOOD BAR_NONE));
	assert_true(bars_unassigned(BAR_NONE BAR_NONE BAR_GOOD BAR_NONE BAR_NONE BAR_GOOD BAR_NONE));
	assert_true(bars_unassigned(BAR_GOOD BAR_NONE BAR_GOOD BAR_NONE BAR_NONE BAR_UNSET BAR_NONE));
	/* Ports, and the ROM behind the six, do not matter. */
	assert_false(bars_unassigned(BAR_GOOD BAR_NONE BAR_GOOD BAR_NONE BAR_PORT BAR_GOOD BAR_UNSET));
	assert_false(bars_unassigned("junk\n"));
}

static void a_card_that_reads_all_ones_does_not_answer(void **state)
{
	static const char home[] = "pci0000:00/0000:03:00.0";
	uint8_t config[64];
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, home, "0x1002", "0x744c", "0x030000");
	memset(config, 0xff, sizeof(config));
	tree_bytes(&bed.tree, "sys/devices/pci0000:00/0000:03:00.0/config", config, sizeof(config));
	probe(&bed);
	assert_true(yes(&bed, "gpus[0].pci.reads_all_ones"));
	done(&bed);
}

static void the_ids_of_a_virtual_function_read_all_ones_and_it_answers(void **state)
{
	uint8_t config[64] = { 0xff, 0xff, 0xff, 0xff, 0x06, 0x04, 0x10 };
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:03:02.0", "0x1002", "0x74b5", "0x120000");
	tree_bytes(&bed.tree, "sys/devices/pci0000:00/0000:03:02.0/config", config, sizeof(config));
	probe(&bed);
	assert_false(yes(&bed, "gpus[0].pci.reads_all_ones"));
	assert_false(unknown(&bed, "gpus[0].pci.reads_all_ones"));
	done(&bed);
}

static void a_sleeping_card_is_not_woken(void **state)
{
	static const char home[] = "pci0000:00/0000:03:00.0";
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, home, "0x1002", "0x744c", "0x030000");
	file(&bed, "suspended\n", "sys/devices/%s/power/runtime_status", home);
	file(&bed, "amdgpu\n", "sys/devices/%s/hwmon/hwmon3/name", home);
	file(&bed, "99000\n", "sys/devices/%s/hwmon/hwmon3/temp1_input", home);
	file(&bed, "low\n", "sys/devices/%s/power_dpm_force_performance_level", home);
	probe(&bed);
	assert_false(yes(&bed, "gpus[0].pci.reads_all_ones"));
	assert_false(unknown(&bed, "gpus[0].pci.reads_all_ones"));
	assert_false(rd_fact_is_known(bed.facts, "gpus[0].health.temperature_c"));
	assert_false(unknown(&bed, "gpus[0].health.temperature_c"));
	assert_string_equal(str(&bed, "gpus[0].health.performance_level"), "");
	done(&bed);
}

/* Configuration space of a bridge with a PCIe capability at 0x64. */
static void bridge_config(struct bed *bed, const char *home, unsigned type, unsigned capable, unsigned control, size_t len)
{
	rd_auto_free char *path = rd_xasprintf("sys/devices/%s/config", home);
	uint8_t config[256] = { 0x22, 0x10 };

	config[0x06] = 0x10;
	config[0x34] = 0x50;
	config[0x50] = 0x01;
	config[0x51] = 0x64;
	config[0x64] = 0x10;
	config[0x66] = (uint8_t)(2 | type << 4);
	config[0x88] = (uint8_t)capable;
	config[0x89] = (uint8_t)(capable >> 8);
	config[0x8c] = (uint8_t)control;
	tree_bytes(&bed->tree, path, config, len);
}

static void routed(struct bed *bed, unsigned root, unsigned up, unsigned control, unsigned down, size_t len)
{
	setup(bed);
	consumer_card(bed);
	file(bed, "0x00000001\n", "sys/devices/" CARD "/fw_version/mec_fw_version");
	bridge_config(bed, ROOT, 4, root, 0, len);
	bridge_config(bed, UP, 5, up, control, len);
	bridge_config(bed, DOWN, 6, down, 0, len);
	probe(bed);
}

static void atomics_need_every_bridge_and_the_root_port(void **state)
{
	struct bed bed;

	(void)state;
	routed(&bed, 0x1c0, 0x40, 0, 0x40, 256);
	assert_true(yes(&bed, "gpus[0].atomics.routed"));
	assert_true(yes(&bed, "gpus[0].atomics.needed"));
	done(&bed);
	routed(&bed, 0x080, 0x40, 0, 0x40, 256); /* 32 bits alone */
	assert_false(yes(&bed, "gpus[0].atomics.routed"));
	assert_string_equal(str(&bed, "gpus[0].atomics.blocked_at"), "0000:00:01.1");
	done(&bed);
	routed(&bed, 0x1c0, 0x40, 0x80, 0x40, 256); /* egress blocked */
	assert_string_equal(str(&bed, "gpus[0].atomics.blocked_at"), "0000:01:00.0");
	done(&bed);
	routed(&bed, 0x1c0, 0x40, 0, 0x00, 256);
	assert_string_equal(str(&bed, "gpus[0].atomics.blocked_at"), "0000:02:00.0");
	done(&bed);
}

static void without_privileges_the_way_of_atomics_is_unknown(void **state)
{
	struct bed bed;

	(void)state;
	routed(&bed, 0x1c0, 0x40, 0, 0x40, 64);
	assert_true(unknown(&bed, "gpus[0].atomics.routed"));
	done(&bed);
}

static void new_firmware_does_without_atomics(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	consumer_card(&bed);
	file(&bed, "0x0000005c\n", "sys/devices/" CARD "/fw_version/mec_fw_version");
	probe(&bed);
	assert_false(yes(&bed, "gpus[0].atomics.needed"));
	assert_false(unknown(&bed, "gpus[0].atomics.needed"));
	done(&bed);
}

/* ---------------------------------------------------------------- IOMMU */

/* A function in an IOMMU group; @linked: it says so itself, too. */
static void grouped(struct bed *bed, const char *address, const char *vendor, const char *group, const char *type, bool linked)
{
	rd_auto_free char *home = rd_xasprintf("pci0000:00/%s", address);
	rd_auto_free char *link = rd_xasprintf("sys/devices/%s/iommu_group", home);
	rd_auto_free char *target = rd_xasprintf("../../../kernel/iommu_groups/%s", group);

	function(bed, home, vendor, "0x74a1", "0x120000");
	file(bed, type, "sys/kernel/iommu_groups/%s/type", group);
	file(bed, "", "sys/kernel/iommu_groups/%s/devices/%s/", group, address);
	if (linked)
		tree_link(&bed->tree, link, target);
}

static void the_groups_of_the_gpus_tell_the_iommu_mode(void **state)
{
	(void)state;
	for (int linked = 0; linked < 2; linked++) {
		struct bed bed;

		setup(&bed);
		grouped(&bed, "0000:00:01.0", "0x10de", "1", "DMA\n", linked);
		grouped(&bed, "0000:00:03.0", "0x1002", "3", "identity\n", linked);
		probe(&bed);
		assert_string_equal(str(&bed, "host.iommu.mode"), "passthrough");
		assert_string_equal(rd_fact_source(rd_fact_get(bed.facts, "host.iommu.mode")),
		                    "/sys/kernel/iommu_groups/3/type");
		assert_int_equal(number(&bed, "host.iommu.groups"), 2);
		done(&bed);
	}
}

static void one_gpu_that_is_translated_decides_also_without_a_link(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	grouped(&bed, "0000:00:03.0", "0x1002", "3", "identity\n", true);
	grouped(&bed, "0000:00:04.0", "0x1002", "14", "DMA-FQ\n", false);
	probe(&bed);
	assert_string_equal(str(&bed, "host.iommu.mode"), "translated");
	assert_string_equal(rd_fact_source(rd_fact_get(bed.facts, "host.iommu.mode")), "/sys/kernel/iommu_groups/14/type");
	done(&bed);
}

static void a_link_to_a_group_that_is_not_there_says_nothing(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	grouped(&bed, "0000:00:01.0", "0x10de", "1", "DMA\n", true);
	grouped(&bed, "0000:00:03.0", "0x1002", "3", "identity\n", false);
	tree_link(&bed.tree, "sys/devices/pci0000:00/0000:00:03.0/iommu_group", "../../../kernel/iommu_groups/..");
	probe(&bed);
	assert_string_equal(str(&bed, "host.iommu.mode"), "passthrough");
	done(&bed);
}

static void no_gpu_in_a_group_leaves_it_to_all_groups(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	grouped(&bed, "0000:00:01.0", "0x10de", "1", "DMA\n", true);
	function(&bed, "pci0000:00/0000:00:03.0", "0x1002", "0x74a1", "0x120000");
	probe(&bed);
	assert_string_equal(str(&bed, "host.iommu.mode"), "translated");
	done(&bed);
}

static void no_groups_mean_that_the_iommu_is_off(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	file(&bed, "x", "sys/kernel/notes");
	probe(&bed);
	assert_string_equal(str(&bed, "host.iommu.mode"), "off");
	done(&bed);
}

static void a_tree_without_the_kernels_folder_does_not_tell_of_an_iommu(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	probe(&bed);
	assert_true(unknown(&bed, "host.iommu.mode"));
	assert_true(unknown(&bed, "host.iommu.groups"));
	done(&bed);
}

static void an_old_kernel_leaves_the_iommu_mode_to_the_command_line(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	file(&bed, "", "sys/kernel/iommu_groups/0/devices/");
	file(&bed, "ro iommu=pt\n", "proc/cmdline");
	probe(&bed);
	assert_string_equal(str(&bed, "host.iommu.mode"), "passthrough");
	done(&bed);
}

/* ---------------------------------------------------------------- health */

static void reads_junction_limit_power_and_ras(void **state)
{
	static const char home[] = "pci0000:00/0000:05:00.0";
	const struct {
		const char *path, *text;
	} files[] = {
		{ "hwmon/hwmon3/temp1_label", "edge\n" },
		{ "hwmon/hwmon3/temp1_input", "50000\n" },
		{ "hwmon/hwmon3/temp2_label", "junction\n" },
		{ "hwmon/hwmon3/temp2_input", "71500\n" },
		{ "hwmon/hwmon3/temp2_crit", "100000\n" },
		{ "hwmon/hwmon3/temp3_label", "mem\n" },
		{ "hwmon/hwmon3/temp3_input", "60000\n" },
		{ "hwmon/hwmon3/power1_cap", "500000000\n" },
		{ "hwmon/hwmon3/power1_cap_default", "750000000\n" },
		{ "ras/umc_err_count", "ue: 2\nce: 1000\n" },
		{ "ras/gfx_err_count", "ue: 1\nce: 7\n" },
		{ "ras/aca_umc", "ue: 50\nce: 50\nde: 0\n" },
		{ "ras/gpu_vram_bad_pages", "0x1 : 0x1000 : R\n0x2 : 0x1000 : P\n0x3 : 0x1000 : F\n" },
	};
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, home, "0x1002", "0x74a1", "0x120000");
	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++)
		file(&bed, files[i].text, "sys/devices/%s/%s", home, files[i].path);
	probe(&bed);
	assert_true(rd_fact_get_real(bed.facts, "gpus[0].health.temperature_c") == 71.5);
	assert_true(rd_fact_get_real(bed.facts, "gpus[0].health.temperature_critical_c") == 100.0);
	assert_true(rd_fact_get_real(bed.facts, "gpus[0].health.power_cap_w") == 500.0);
	assert_int_equal(number(&bed, "gpus[0].health.ecc_uncorrectable"), 3);
	assert_int_equal(number(&bed, "gpus[0].health.ecc_correctable"), 1007);
	assert_int_equal(number(&bed, "gpus[0].health.retired_pages"), 1);
	assert_int_equal(number(&bed, "gpus[0].health.pending_pages"), 2);
	done(&bed);
}

/* ---------------------------------------------------------------- log */

static void log_of(struct bed *bed, const char *lines)
{
	rd_auto_free char *manifest = rd_xasprintf("{\"schema\": \"rocm-doctor/snapshot/1\", \"kmsg\": [%s]}", lines);

	setup(bed);
	function(bed, "pci0000:00/0000:03:00.0", "0x1002", "0x67df", "0x030000");
	file(bed, manifest, "rocm-doctor-snapshot.json");
	probe(bed);
}

static void a_base_address_that_found_a_place_later_is_assigned(void **state)
{
	struct bed bed;

	(void)state;
	log_of(&bed, "\"pci 0000:03:00.0: BAR 0 [mem size 0x1000000000 64bit pref]: can't assign; no space\"");
	assert_true(yes(&bed, "gpus[0].log.bar_unassigned"));
	done(&bed);
	log_of(&bed, "\"pci 0000:03:00.0: BAR 0: no space for [mem size 0x10000000 64bit pref]\","
	             "\"pci 0000:03:00.0: BAR 0: assigned [mem 0x4000000000-0x400fffffff 64bit pref]\"");
	assert_false(yes(&bed, "gpus[0].log.bar_unassigned"));
	done(&bed);
	/* Ports, virtual functions and the windows of bridges. */
	log_of(&bed, "\"pci 0000:03:00.0: BAR 4 [io size 0x0100]: can't assign; no space\","
	             "\"pci 0000:03:00.0: VF BAR 0 [mem size 0x1000000 64bit]: can't assign; no space\","
	             "\"pci 0000:03:00.0: BAR 7: no space for [mem size 0x1000000 64bit pref]\","
	             "\"pci 0000:03:00.0: BAR 13: no space for [io size 0x1000]\"");
	assert_false(yes(&bed, "gpus[0].log.bar_unassigned"));
	done(&bed);
}

static void tells_a_failed_probe_from_missing_firmware(void **state)
{
	struct bed bed;

	(void)state;
	log_of(&bed, "\"amdgpu 0000:03:00.0: Direct firmware load for amdgpu/polaris10_mec.bin failed with error -2\"");
	assert_int_equal(number(&bed, "gpus[0].log.probe_error"), 0);
	assert_true(yes(&bed, "gpus[0].log.firmware_failed"));
	done(&bed);
	log_of(&bed, "\"amdgpu: probe of 0000:03:00.0 failed with error -12\"");
	assert_int_equal(number(&bed, "gpus[0].log.probe_error"), 12);
	done(&bed);
	log_of(&bed, "\"amdgpu 0000:04:00.0: probe with driver amdgpu failed with error -12\"");
	assert_int_equal(number(&bed, "gpus[0].log.probe_error"), 0);
	done(&bed);
}

static void only_a_failure_after_vfio_means_that_the_card_did_not_come_back(void **state)
{
	static const char vfio[] = "\"vfio-pci 0000:03:00.0: enabling device (0002 -> 0003)\",";
	static const char fatal[] = "\"amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\"";
	rd_auto_free char *after = rd_xasprintf("%s%s", vfio, fatal);
	rd_auto_free char *before = rd_xasprintf("%s,%s\"\"", fatal, vfio);
	struct bed bed;

	(void)state;
	log_of(&bed, after);
	assert_true(yes(&bed, "gpus[0].log.not_back_from_vfio"));
	done(&bed);
	log_of(&bed, before);
	assert_false(yes(&bed, "gpus[0].log.not_back_from_vfio"));
	assert_true(yes(&bed, "gpus[0].log.init_failed"));
	done(&bed);
}

static void the_log_that_names_a_model_means_the_card_that_kfd_left_out(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:01:00.0", "0x1002", "0x67df", "0x030000");
	function(&bed, "pci0000:00/0000:03:00.0", "0x1002", "0x67df", "0x030000");
	node(&bed, 1, "100\n", "simd_count 144\nsimd_per_cu 4\ngfx_target_version 80003\nvendor_id 4098\nlocation_id 256\n");
	file(&bed,
	     "{\"schema\": \"rocm-doctor/snapshot/1\", \"kmsg\": [\"kfd kfd: added device 1002:67df\","
	     "\"kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0\"]}",
	     "rocm-doctor-snapshot.json");
	probe(&bed);
	assert_false(yes(&bed, "gpus[0].log.atomics_refused"));
	assert_true(yes(&bed, "gpus[1].log.atomics_refused"));
	done(&bed);
}

static void without_a_log_nothing_is_said(void **state)
{
	struct bed bed;

	(void)state;
	setup(&bed);
	function(&bed, "pci0000:00/0000:03:00.0", "0x1002", "0x67df", "0x030000");
	probe(&bed);
	assert_true(unknown(&bed, "gpus[0].log.lost"));
	assert_true(unknown(&bed, "gpus[0].log.probe_error"));
	done(&bed);
}

/* ---------------------------------------------------------------- support */

static void card(struct bed *bed, const char *device)
{
	setup(bed);
	function(bed, "pci0000:00/0000:03:00.0", "0x1002", device, "0x030000");
}

static void host_rocm(struct bed *bed, const char *version)
{
	struct rd_fact *rocm = rd_fact_append(bed->facts, "runtime.rocm", "test");

	rd_fact_set_str(rocm, "root", "/opt/rocm", "test");
	rd_fact_set_str(rocm, "version", version, "test");
	rd_fact_set_str(bed->facts, "runtime.default_root", "/opt/rocm", "test");
}

static struct rd_fact *torch(struct bed *bed, const char *rocm)
{
	struct rd_fact *env = rd_fact_append(bed->facts, "python", "test");

	rd_fact_set_bool(env, "judged", true, "test");
	rd_fact_set_str(env, "torch.build", "rocm", "test");
	rd_fact_set_str(env, "torch.rocm", rocm, "test");
	return env;
}

static void a_gpu_is_dropped_only_above_the_last_release_with_code(void **state)
{
	struct bed bed;

	(void)state;
	card(&bed, "0x66a1");
	host_rocm(&bed, "6.3.3");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "unofficial");
	done(&bed);
	card(&bed, "0x66a1");
	host_rocm(&bed, "6.4.0");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "dropped");
	assert_string_equal(str(&bed, "gpus[0].support.last_rocm"), "6.3");
	assert_true(rd_fact_is_known(bed.facts, "gpus[0].support.code_found"));
	assert_false(yes(&bed, "gpus[0].support.code_found"));
	done(&bed);
}

static void kernels_put_back_by_hand_count(void **state)
{
	struct bed bed;

	(void)state;
	card(&bed, "0x66a1");
	host_rocm(&bed, "7.0.0");
	file(&bed, "", "opt/rocm-7.0.0/lib/rocblas/library/Kernels.so-000-gfx906-xnack-.hsaco");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "dropped");
	assert_true(yes(&bed, "gpus[0].support.code_found"));
	done(&bed);
}

static void device_code_that_nobody_read_keeps_the_verdict_open(void **state)
{
	struct rd_fact *env;
	struct bed bed;

	(void)state;
	card(&bed, "0x66a1");
	env = torch(&bed, "6.4");
	rd_fact_set_unknown_why(env, "torch.gfx_targets", "not read", "test");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "dropped");
	assert_true(unknown(&bed, "gpus[0].support.code_found"));
	done(&bed);
	card(&bed, "0x66a1");
	env = torch(&bed, "6.4");
	rd_fact_append_str(env, "torch.gfx_targets", "gfx906:xnack-", "test");
	probe(&bed);
	assert_true(yes(&bed, "gpus[0].support.code_found"));
	done(&bed);
}

static void one_stack_that_knows_the_gpu_is_enough(void **state)
{
	struct bed bed;

	(void)state;
	card(&bed, "0x7550");
	host_rocm(&bed, "6.2.0");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "too-new");
	assert_string_equal(str(&bed, "gpus[0].support.first_rocm"), "6.3");
	done(&bed);
	card(&bed, "0x7550");
	host_rocm(&bed, "6.2.0");
	torch(&bed, "6.4.1");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "official");
	assert_string_equal(str(&bed, "gpus[0].support.rocm"), "6.4.1");
	done(&bed);
}

static void a_card_for_the_screen_beside_a_better_one_is_no_fault(void **state)
{
	struct bed bed;

	(void)state;
	card(&bed, "0x6811");
	function(&bed, "pci0000:00/0000:83:00.0", "0x1002", "0x740f", "0x038000");
	host_rocm(&bed, "6.4.0");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.verdict"), "never");
	assert_true(yes(&bed, "gpus[0].support.alternative"));
	assert_false(yes(&bed, "gpus[1].support.alternative"));
	done(&bed);
}

static void a_guest_with_a_gpu_that_amd_lists_nowhere(void **state)
{
	struct bed bed;

	(void)state;
	card(&bed, "0x73ae");
	rd_fact_set_str(bed.facts, "host.virtualization", "microsoft", "test");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].kind"), "vf");
	assert_string_equal(str(&bed, "gpus[0].support.in_guest"), "unlisted");
	done(&bed);
	card(&bed, "0x74b5");
	rd_fact_set_str(bed.facts, "host.virtualization", "microsoft", "test");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.in_guest"), "listed");
	done(&bed);
	card(&bed, "0x74b5");
	probe(&bed);
	assert_string_equal(str(&bed, "gpus[0].support.in_guest"), "");
	done(&bed);
}

static int load(void **state)
{
	(void)state;
	return rd_knowledge_load(NULL, &knowledge, NULL);
}

static int unload(void **state)
{
	(void)state;
	knowledge = rd_knowledge_free(knowledge);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_an_instinct_that_is_no_display_and_has_no_driver),
		cmocka_unit_test(finds_a_gpu_that_vfio_holds),
		cmocka_unit_test(a_card_of_another_model_beside_one_that_computes_is_kept_for_guests),
		cmocka_unit_test(sorts_by_address_and_keeps_other_vendors_apart),
		cmocka_unit_test(leaves_an_old_console_chip_out_beside_a_gpu),
		cmocka_unit_test(names_an_old_console_chip_where_it_is_all_there_is),
		cmocka_unit_test(does_not_know_what_is_newer_than_the_tables),
		cmocka_unit_test(does_not_take_a_missing_sys_for_no_gpu),
		cmocka_unit_test(a_machine_without_pci_has_no_gpu),
		cmocka_unit_test(finds_a_gpu_that_only_kfd_knows),
		cmocka_unit_test(finds_a_gpu_that_only_drm_knows),
		cmocka_unit_test(a_virtual_function_on_its_host_is_one),
		cmocka_unit_test(a_partition_number_in_the_function_bits_is_no_other_device),
		cmocka_unit_test(a_node_that_a_cgroup_hides_is_unknown_not_absent),
		cmocka_unit_test(a_kernel_without_gfx_target_version_and_domain_still_maps),
		cmocka_unit_test(the_graphics_core_tells_where_kfd_does_not),
		cmocka_unit_test(survives_nonsense_in_the_topology),
		cmocka_unit_test(a_hive_with_a_missing_link_is_not_complete),
		cmocka_unit_test(the_link_of_a_consumer_card_is_above_its_own_switch),
		cmocka_unit_test(the_bridges_of_a_guest_say_nothing_of_links),
		cmocka_unit_test(an_unknown_link_is_absent),
		cmocka_unit_test(sees_base_addresses_without_a_place),
		cmocka_unit_test(a_card_that_reads_all_ones_does_not_answer),
		cmocka_unit_test(the_ids_of_a_virtual_function_read_all_ones_and_it_answers),
		cmocka_unit_test(a_sleeping_card_is_not_woken),
		cmocka_unit_test(atomics_need_every_bridge_and_the_root_port),
		cmocka_unit_test(without_privileges_the_way_of_atomics_is_unknown),
		cmocka_unit_test(new_firmware_does_without_atomics),
		cmocka_unit_test(the_groups_of_the_gpus_tell_the_iommu_mode),
		cmocka_unit_test(one_gpu_that_is_translated_decides_also_without_a_link),
		cmocka_unit_test(a_link_to_a_group_that_is_not_there_says_nothing),
		cmocka_unit_test(no_gpu_in_a_group_leaves_it_to_all_groups),
		cmocka_unit_test(no_groups_mean_that_the_iommu_is_off),
		cmocka_unit_test(a_tree_without_the_kernels_folder_does_not_tell_of_an_iommu),
		cmocka_unit_test(an_old_kernel_leaves_the_iommu_mode_to_the_command_line),
		cmocka_unit_test(reads_junction_limit_power_and_ras),
		cmocka_unit_test(a_base_address_that_found_a_place_later_is_assigned),
		cmocka_unit_test(tells_a_failed_probe_from_missing_firmware),
		cmocka_unit_test(only_a_failure_after_vfio_means_that_the_card_did_not_come_back),
		cmocka_unit_test(the_log_that_names_a_model_means_the_card_that_kfd_left_out),
		cmocka_unit_test(without_a_log_nothing_is_said),
		cmocka_unit_test(a_gpu_is_dropped_only_above_the_last_release_with_code),
		cmocka_unit_test(kernels_put_back_by_hand_count),
		cmocka_unit_test(device_code_that_nobody_read_keeps_the_verdict_open),
		cmocka_unit_test(one_stack_that_knows_the_gpu_is_enough),
		cmocka_unit_test(a_card_for_the_screen_beside_a_better_one_is_no_fault),
		cmocka_unit_test(a_guest_with_a_gpu_that_amd_lists_nowhere),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
