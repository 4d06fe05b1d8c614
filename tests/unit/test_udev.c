#include <errno.h>

#include <cmocka.h>

#include "rocm-doctor/udev.h"
#include "util/strv.h"

#include "scratch.h"

#define DEFAULTS "/usr/lib/udev/rules.d/50-udev-default.rules"

static char *dir;
static struct rd_sysroot *sr;
static struct rd_udev_rules *rules;

static int setup(void **state)
{
	(void)state;
	dir = scratch_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rules = rd_udev_rules_free(rules);
	sr = rd_sysroot_free(sr);
	scratch_free(dir);
	return 0;
}

static struct rd_udev_node node(const char *subsystem, const char *kernel)
{
	struct rd_udev_node ret;

	sr = scratch_open(dir);
	assert_int_equal(rd_udev_rules_read(sr, &rules), 0);
	rd_udev_rules_node(rules, subsystem, kernel, &ret);
	return ret;
}

static void the_last_rule_that_matches_gives_group_and_mode(void **state)
{
	struct rd_udev_node n;

	(void)state;
	scratch_file(dir, DEFAULTS,
	             "ACTION==\"remove\", GOTO=\"end\"\n"
	             "SUBSYSTEM==\"drm\", KERNEL!=\"renderD*\", GROUP=\"video\"\n"
	             "SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", GROUP=\"render\", MODE=\"0660\"\n"
	             "SUBSYSTEM==\"kfd\", GROUP=\"render\", MODE=\"0660\"\nLABEL=\"end\"\n");
	scratch_file(dir, "/etc/udev/rules.d/70-amdgpu.rules", "# AMD's\nKERNEL==\"kfd\", MODE=\"0666\"\n");
	n = node("kfd", "kfd");
	assert_string_equal(n.group, "render");
	assert_string_equal(n.group_source, DEFAULTS ":4");
	assert_int_equal(n.mode, 0666);
	assert_string_equal(n.mode_source, "/etc/udev/rules.d/70-amdgpu.rules:2");
	assert_false(n.undecided);
	rd_udev_rules_node(rules, "drm", "renderD128", &n);
	assert_string_equal(n.group, "render");
	assert_int_equal(n.mode, 0660);
	rd_udev_rules_node(rules, "drm", "card0", &n);
	assert_string_equal(n.group, "video");
	assert_int_equal(n.mode, 0);
}

static void a_file_of_the_same_name_in_etc_takes_the_place_of_the_others(void **state)
{
	(void)state;
	scratch_file(dir, DEFAULTS, "SUBSYSTEM==\"kfd\", GROUP=\"render\"\n");
	scratch_link(dir, "/etc/udev/rules.d/50-udev-default.rules", "/dev/null");
	assert_null(node("kfd", "kfd").group);
}

static void final_values_stay(void **state)
{
	struct rd_udev_node n;

	(void)state;
	scratch_file(dir, "/etc/udev/rules.d/10-a.rules", "KERNEL==\"kfd\", GROUP:=\"gpu\", MODE=\"0640\"\n");
	scratch_file(dir, "/etc/udev/rules.d/20-b.rules", "KERNEL==\"k[ef]d|x\", GROUP=\"render\", MODE=\"0660\"\n");
	n = node("kfd", "kfd");
	assert_string_equal(n.group, "gpu");
	assert_int_equal(n.mode, 0660);
}

static void a_condition_that_files_do_not_decide_leaves_it_open(void **state)
{
	struct rd_udev_node n;

	(void)state;
	scratch_file(dir, DEFAULTS, "SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", \\\n GROUP=\"render\"\n");
	scratch_file(dir, "/etc/udev/rules.d/99-site.rules",
	             "SUBSYSTEM==\"drm\", ATTRS{vendor}==\"0x1002\", GROUP=\"gpu\"\nATTR{x}==\"1\", TAG+=\"uaccess\"\n");
	n = node("drm", "renderD128");
	assert_true(n.undecided);
	assert_string_equal(n.group, "render");
	assert_string_equal(n.group_source, DEFAULTS ":1");
	rd_udev_rules_node(rules, "kfd", "kfd", &n);
	assert_false(n.undecided);
}

static void goto_skips_what_stands_between(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/udev/rules.d/10-a.rules",
	             "SUBSYSTEM!=\"drm\", GOTO=\"out\"\nGROUP=\"video\"\nLABEL=\"out\"\nKERNEL==\"kfd\", MODE=\"0600\"\n");
	assert_null(node("kfd", "kfd").group);
}

static void broken_lines_say_nothing(void **state)
{
	(void)state;
	scratch_file(dir, "/etc/udev/rules.d/10-a.rules",
	             "GROUP=\"open\nKERNEL{=\"x\"\n===\n\"\"\nKERNEL==\"kfd\" GROUP=render\nMODE=\"9999\"\n,,,\\\n");
	assert_null(node("kfd", "kfd").group);
}

static void the_database_of_a_tree_is_read_from_its_files(void **state)
{
	rd_auto_strv struct rd_strv tags = RD_STRV_INIT, properties = RD_STRV_INIT;

	(void)state;
	scratch_file(dir, "/run/udev/data/c226:128", "I:123\nE:ID_PATH=pci-0000:03:00.0\nG:uaccess\nG:seat\nQ:uaccess\nV:1\n");
	sr = scratch_open(dir);
	assert_int_equal(rd_udev_tags(sr, 226, 128, &tags, &properties), 0);
	assert_int_equal(tags.n, 2);
	assert_string_equal(tags.v[0], "seat");
	assert_string_equal(tags.v[1], "uaccess");
	assert_string_equal(properties.v[0], "ID_PATH=pci-0000:03:00.0");
	assert_int_equal(rd_udev_tags(sr, 226, 129, &tags, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_last_rule_that_matches_gives_group_and_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_of_the_same_name_in_etc_takes_the_place_of_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(final_values_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(a_condition_that_files_do_not_decide_leaves_it_open, setup, teardown),
		cmocka_unit_test_setup_teardown(goto_skips_what_stands_between, setup, teardown),
		cmocka_unit_test_setup_teardown(broken_lines_say_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(the_database_of_a_tree_is_read_from_its_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
