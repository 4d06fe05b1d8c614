#include <errno.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"

#include "scratch.h"

extern const struct rd_probe rd_probe_device_container, rd_probe_device_nodes, rd_probe_device_services, rd_probe_host_user;

#define KFD(more) "'/dev/kfd': {'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 992, 'major': 235, 'minor': 0" more "}"
#define RENDER(number, more) \
	"'/dev/dri/renderD" number \
	"': {'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 992, 'major': 226, 'minor': " number more "}"
#define OPENS ", 'open': 'ok'"
#define ME "'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': [{'gid': 1000}, {'gid': 44}]}"

static char *dir;
static struct rd_sysroot *sr;
static struct rd_fact *facts;

static int setup(void **state)
{
	(void)state;
	dir = scratch_new();
	facts = rd_facts_new();
	scratch_file(dir, "/etc/passwd",
	             "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\nollama:x:999:999::/:/bin/false\n");
	scratch_file(dir, "/etc/group", "root:x:0:\nvideo:x:44:me\nrender:x:992:\nme:x:1000:\n");
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

static struct rd_fact *add_gpu(const char *address, const char *render)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test"), *partition;

	rd_fact_set_str(gpu, "pci.address", address, "test");
	rd_fact_set_str(gpu, "driver", "amdgpu", "test");
	rd_fact_set_str(gpu, "drm.render", render, "test");
	partition = rd_fact_append(gpu, "partitions", "test");
	rd_fact_set_str(partition, "render", render, "test");
	return gpu;
}

static void add_drm(const char *render, const char *device)
{
	char path[128], target[128];

	snprintf(path, sizeof(path), "/sys/devices/%s/drm/%s/dev", device, render);
	scratch_file(dir, path, "226:128\n");
	snprintf(path, sizeof(path), "/sys/class/drm/%s", render);
	snprintf(target, sizeof(target), "../../devices/%s/drm/%s", device, render);
	scratch_link(dir, path, target);
	snprintf(path, sizeof(path), "/sys/devices/%s/drm/%s/device", device, render);
	scratch_link(dir, path, "../..");
}

static void add_topology(const char *node, const char *gpu_id)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%s/gpu_id", node);
	scratch_file(dir, path, gpu_id);
}

static void look(void)
{
	sr = scratch_open(dir);
	rd_probe_run(&rd_probe_host_user, sr, facts);
	rd_probe_run(&rd_probe_device_nodes, sr, facts);
}

static const char *str(const char *path)
{
	return rd_fact_get_str(facts, path);
}

static bool is_true(const char *path)
{
	return rd_fact_get_bool(facts, path);
}

static size_t count(const char *path)
{
	return rd_fact_count(rd_fact_get(facts, path));
}

static void a_member_of_the_group_opens_both_nodes(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': [{'gid': 992}]}, "
	                      "'nodes': {" KFD(OPENS) ", " RENDER("128", OPENS) "}");
	add_gpu("0000:03:00.0", "renderD128");
	add_drm("renderD128", "pci0000:00/0000:03:00.0");
	look();
	assert_true(is_true("device.kfd.exists"));
	assert_true(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.kfd.open"), "ok");
	assert_string_equal(str("device.kfd.mode"), "0660");
	assert_string_equal(str("device.kfd.group"), "render");
	assert_string_equal(str("device.kfd.owner"), "root");
	assert_string_equal(str("device.render[0].gpu"), "0000:03:00.0");
	assert_int_equal(count("device.nodes"), 2);
	assert_string_equal(str("gpus[0].render_node.path"), "/dev/dri/renderD128");
	assert_true(is_true("gpus[0].render_node.accessible"));
	assert_int_equal(rd_fact_get_int(facts, "device.render_usable"), 1);
	assert_string_equal(str("device.join_groups"), "");
}

static void who_is_not_in_the_group_is_told_which(void **state)
{
	(void)state;
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") ", " RENDER("128", "") "}");
	add_gpu("0000:03:00.0", "renderD128");
	look();
	assert_false(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.nodes[0].denied_by"), "group");
	assert_string_equal(str("device.join_groups"), "render");
	assert_int_equal(count("device.groups"), 1);
	assert_true(is_true("device.groups[0].needed"));
	assert_false(is_true("device.groups[0].listed"));
}

static void a_group_by_number_alone_is_compared_by_number(void **state)
{
	(void)state;
	/* The image's group render has another number than the host's node. */
	scratch_file(dir, "/etc/group", "render:x:109:me\n");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	look();
	assert_string_equal(str("device.kfd.group"), "");
	assert_int_equal(rd_fact_get_int(facts, "device.kfd.gid"), 992);
	assert_false(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.join_groups"), "");
}

static void root_in_a_container_without_a_name_opens_everything(void **state)
{
	(void)state;
	scratch_manifest(dir, "'user': {'uid': 0, 'gid': 0, 'groups': []}, 'environment': {}, 'nodes': {" KFD(OPENS) "}");
	look();
	assert_true(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.nodes[0].denied_by"), "");
}

static void a_machine_without_a_gpu_has_no_nodes(void **state)
{
	(void)state;
	scratch_manifest(dir, ME ", 'nodes': {}");
	look();
	assert_true(rd_fact_is_known(facts, "device.kfd.exists"));
	assert_false(is_true("device.kfd.exists"));
	assert_int_equal(count("device.render"), 0);
	assert_int_equal(count("device.nodes"), 0);
	assert_true(rd_fact_is_known(facts, "device.nodes"));
}

static void a_tree_without_dev_does_not_know(void **state)
{
	(void)state;
	add_gpu("0000:03:00.0", "renderD128");
	look();
	assert_true(rd_fact_is_unknown(facts, "device.kfd.exists"));
	assert_true(rd_fact_is_unknown(facts, "device.nodes"));
	assert_true(rd_fact_is_unknown(facts, "gpus[0].render_node.exists"));
}

static void an_image_without_sysfs_does_not_miss_a_node(void **state)
{
	struct rd_fact *gpu;

	(void)state;
	scratch_file(dir, "/etc/hostname", "x\n");
	gpu = rd_fact_append(facts, "gpus", "test");
	rd_fact_set_str(gpu, "pci.address", "0000:03:00.0", "test");
	look();
	assert_true(rd_fact_is_unknown(facts, "gpus[0].render_node.exists"));
}

static void a_node_that_sysfs_has_and_dev_has_not_is_missing(void **state)
{
	(void)state;
	scratch_manifest(dir, ME ", 'nodes': {" KFD(OPENS) "}");
	add_gpu("0000:03:00.0", "renderD128");
	add_drm("renderD128", "pci0000:00/0000:03:00.0");
	look();
	assert_true(rd_fact_is_known(facts, "gpus[0].render_node.exists"));
	assert_false(is_true("gpus[0].render_node.exists"));
	assert_string_equal(str("gpus[0].render_node.path"), "/dev/dri/renderD128");
}

static void a_further_partition_belongs_to_its_gpu_and_an_unused_slot_to_none(void **state)
{
	struct rd_fact *gpu, *partition;

	(void)state;
	scratch_manifest(dir,
	                 ME ", 'nodes': {" KFD("") ", " RENDER("128", "") ", " RENDER("129", "") ", " RENDER("130", "") "}");
	gpu = add_gpu("0000:05:00.0", "renderD128");
	partition = rd_fact_append(gpu, "partitions", "test");
	rd_fact_set_str(partition, "render", "renderD129", "test");
	add_drm("renderD128", "pci0000:00/0000:05:00.0");
	add_drm("renderD129", "platform/amdgpu_xcp.0");
	add_drm("renderD130", "platform/amdgpu_xcp.1");
	look();
	assert_int_equal(count("device.render"), 3);
	assert_string_equal(str("device.render[1].gpu"), "0000:05:00.0");
	assert_string_equal(str("device.render[2].gpu"), "");
	assert_int_equal(count("device.nodes"), 3);
	assert_string_equal(str("gpus[0].render_node.path"), "/dev/dri/renderD128");
}

static void another_makers_node_is_none_of_rocms(void **state)
{
	(void)state;
	scratch_manifest(dir, ME ", 'nodes': {" RENDER("128", "") "}");
	add_drm("renderD128", "pci0000:00/0000:01:00.0");
	look();
	assert_string_equal(str("device.render[0].gpu"), "0000:01:00.0");
	assert_int_equal(count("device.nodes"), 0);
}

static void a_gpu_that_is_not_given_to_the_job_is_withheld(void **state)
{
	(void)state;
	scratch_manifest(dir,
	                 "'user': {'name': 'me', 'uid': 1000, 'gid': 1000, 'groups': [{'gid': 992}]}, "
	                 "'nodes': {" KFD(OPENS) ", " RENDER("128", OPENS) ", " RENDER(
				 "129",
				 ", 'open': 'EPERM'") "}, "
	                                              "'unreadable': {'/sys/class/kfd/kfd/topology/nodes/2/gpu_id': 'EPERM'}");
	add_topology("0", "0\n");
	add_topology("1", "4711\n");
	add_topology("2", "");
	add_gpu("0000:03:00.0", "renderD128");
	rd_fact_set_str(rd_fact_append(facts, "gpus", "test"), "pci.address", "0000:04:00.0", "test");
	add_drm("renderD128", "pci0000:00/0000:03:00.0");
	add_drm("renderD129", "pci0000:00/0000:04:00.0");
	look();
	assert_int_equal(rd_fact_get_int(facts, "device.gpu_nodes_given"), 1);
	assert_int_equal(rd_fact_get_int(facts, "device.gpu_nodes_closed"), 1);
	assert_false(is_true("device.nodes[1].withheld"));
	assert_true(is_true("device.nodes[2].withheld"));
	assert_int_equal(rd_fact_get_int(facts, "device.render_usable"), 1);
}

static void nobodys_node_in_a_user_namespace_is_closed_also_to_root(void **state)
{
	(void)state;
	scratch_manifest(
		dir, "'user': {'name': 'root', 'uid': 0, 'gid': 0, 'groups': [{'gid': 0}, {'gid': 65534}]}, "
		     "'nodes': {'/dev/kfd': {'type': 'char', 'mode': '0660', 'uid': 65534, 'gid': 65534, 'open': 'EACCES'}}");
	scratch_file(dir, "/proc/self/uid_map", "0 1000 1\n1 100000 65536\n");
	look();
	assert_false(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.nodes[0].denied_by"), "namespace");
}

static void kept_groups_open_what_their_numbers_hide(void **state)
{
	(void)state;
	scratch_manifest(dir,
	                 "'user': {'name': 'root', 'uid': 0, 'gid': 0, 'groups': [{'gid': 0}, {'gid': 65534}]}, "
	                 "'nodes': {'/dev/kfd': {'type': 'char', 'mode': '0660', 'uid': 65534, 'gid': 65534, 'open': 'ok'}}");
	scratch_file(dir, "/proc/self/uid_map", "0 1000 1\n1 100000 65536\n");
	look();
	assert_true(is_true("device.kfd.accessible"));
	assert_string_equal(str("device.nodes[0].denied_by"), "");
}

static void an_acl_of_the_seat_opens_a_node(void **state)
{
	(void)state;
	scratch_manifest(dir,
	                 ME ", 'nodes': {" KFD("") ", " RENDER("128", ", 'acl': [{'tag': 'user', 'id': 1000, 'perms': 'rw-'}, "
	                                                              "{'tag': 'mask', 'perms': 'rw-'}, "
	                                                              "{'tag': 'other', 'perms': '---'}]") "}");
	add_gpu("0000:03:00.0", "renderD128");
	look();
	assert_false(is_true("device.kfd.accessible"));
	assert_true(is_true("device.render[0].acl"));
	assert_true(is_true("device.render[0].accessible"));
}

static void opening_as_another_user_says_nothing(void **state)
{
	(void)state;
	scratch_manifest(dir, ME ", 'nodes': {" KFD(OPENS) "}");
	scratch_file(dir, "/proc/self/status", "Uid:\t0\t0\t0\t0\n");
	look();
	assert_false(is_true("device.kfd.accessible"));
	assert_true(rd_fact_is_unknown(facts, "device.kfd.open"));
}

static void a_group_that_the_rules_do_not_name_is_foreign(void **state)
{
	(void)state;
	scratch_file(dir, "/usr/lib/udev/rules.d/50-udev-default.rules",
	             "SUBSYSTEM==\"kfd\", GROUP=\"video\", MODE=\"0660\"\n");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	look();
	assert_true(is_true("device.nodes[0].foreign_group"));
	assert_string_equal(str("device.nodes[0].udev_group"), "video");
	assert_string_equal(str("device.join_groups"), "");
}

static void the_numbers_of_this_host_stand_in_the_container_command(void **state)
{
	(void)state;
	rd_fact_set_str(facts, "host.container", "docker", "test");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	add_gpu("0000:03:00.0", "renderD129");
	look();
	rd_probe_run(&rd_probe_device_container, sr, facts);
	assert_string_equal(str("device.container_command"),
	                    "docker run --device /dev/kfd --device /dev/dri/renderD129 --group-add 992 ...");
}

static void a_service_is_judged_by_its_own_user(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/group", "render:x:992:\nvideo:x:44:\n");
	scratch_file(dir, "/etc/systemd/system/ollama.service",
	             "[Unit]\nUser=no\n[Service]\nExecStart=/usr/bin/ollama serve\nUser=ollama\n");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	look();
	rd_probe_run(&rd_probe_device_services, sr, facts);
	assert_string_equal(str("device.services[0].unit"), "ollama.service");
	assert_string_equal(str("device.services[0].user"), "ollama");
	assert_string_equal(str("device.services[0].denied[0]"), "/dev/kfd");
	assert_string_equal(str("device.services[0].join_groups"), "render");
}

static void a_drop_in_gives_a_service_the_group(void **state)
{
	(void)state;
	scratch_file(dir, "/usr/lib/systemd/system/vllm@.service",
	             "[Service]\nExecStart=/opt/venv/bin/vllm serve x\nDynamicUser=yes\n");
	scratch_file(dir, "/etc/systemd/system/vllm@.service.d/10-gpu.conf", "[Service]\nSupplementaryGroups=render\n");
	scratch_file(dir, "/etc/systemd/system/web.service",
	             "[Service]\nExecStart=/opt/ollama-ui/bin/node server.js\nUser=me\n");
	scratch_file(dir, "/etc/systemd/system/box.service",
	             "[Service]\nExecStart=/usr/bin/podman run ollama/ollama:rocm\nUser=me\n");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	look();
	rd_probe_run(&rd_probe_device_services, sr, facts);
	assert_int_equal(count("device.services"), 1);
	assert_string_equal(str("device.services[0].unit"), "vllm@.service");
	assert_int_equal(count("device.services[0].denied"), 0);
	assert_true(rd_fact_is_known(facts, "device.services[0].denied"));
}

static void a_service_user_whom_no_file_knows_is_not_judged(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/systemd/system/ollama.service", "[Service]\nExecStart=/usr/bin/ollama serve\nUser=ldapuser\n");
	scratch_manifest(dir, ME ", 'nodes': {" KFD("") "}");
	look();
	rd_probe_run(&rd_probe_device_services, sr, facts);
	assert_true(rd_fact_is_unknown(facts, "device.services[0].denied"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_member_of_the_group_opens_both_nodes),
		T(who_is_not_in_the_group_is_told_which),
		T(a_group_by_number_alone_is_compared_by_number),
		T(root_in_a_container_without_a_name_opens_everything),
		T(a_machine_without_a_gpu_has_no_nodes),
		T(a_tree_without_dev_does_not_know),
		T(an_image_without_sysfs_does_not_miss_a_node),
		T(a_node_that_sysfs_has_and_dev_has_not_is_missing),
		T(a_further_partition_belongs_to_its_gpu_and_an_unused_slot_to_none),
		T(another_makers_node_is_none_of_rocms),
		T(a_gpu_that_is_not_given_to_the_job_is_withheld),
		T(nobodys_node_in_a_user_namespace_is_closed_also_to_root),
		T(kept_groups_open_what_their_numbers_hide),
		T(an_acl_of_the_seat_opens_a_node),
		T(opening_as_another_user_says_nothing),
		T(a_group_that_the_rules_do_not_name_is_foreign),
		T(the_numbers_of_this_host_stand_in_the_container_command),
		T(a_service_is_judged_by_its_own_user),
		T(a_drop_in_gives_a_service_the_group),
		T(a_service_user_whom_no_file_knows_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
