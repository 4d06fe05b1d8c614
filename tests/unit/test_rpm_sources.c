/* Repositories of dnf and zypper, as their files name them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "scratch.h"

extern const struct rd_probe rd_probe_runtime_rpm_sources;

static struct rd_fact *look(const char *dir)
{
	struct rd_sysroot *sr = scratch_open(dir);
	struct rd_fact *facts = rd_facts_new();

	assert_int_equal(rd_probe_run(&rd_probe_runtime_rpm_sources, sr, facts), 0);
	rd_sysroot_free(sr);
	return facts;
}

static void each_section_is_a_repository(void **state)
{
	char *dir = scratch_new();
	const struct rd_fact *list, *one;
	struct rd_fact *facts;

	(void)state;
	scratch_file(dir, "/etc/yum.repos.d/rocm.repo",
	             "baseurl=https://nobody.example/\n# [no]\n[ROCm-6.4.3]\nname=ROCm\n"
	             "baseurl = https://repo.radeon.com/rocm/el9/6.4.3/main\nenabled=1\n\n"
	             "[amdgpu]\nbaseurl=https://repo.radeon.com/amdgpu/6.4.3/el/9.6/main/x86_64/\nenabled = 0\n[last");
	scratch_file(dir, "/etc/yum.repos.d/notes.txt", "[none]\n");
	scratch_file(dir, "/etc/yum.repos.d/base.repo",
	             "[baseos]\nmirrorlist=https://mirrors.example/?repo=repo.radeon.com/rocm/el9/6\n");
	scratch_file(dir, "/usr/bin/gpg", "");
	facts = look(dir);
	list = rd_fact_get(facts, "runtime.rpm.sources");
	assert_int_equal(rd_fact_count(list), 4);
	one = rd_fact_at(list, 0);
	assert_string_equal(rd_fact_get_str(one, "id"), "baseos");
	assert_string_equal(rd_fact_get_str(one, "vendor"), "other");
	one = rd_fact_at(list, 1);
	assert_string_equal(rd_fact_get_str(one, "id"), "ROCm-6.4.3");
	assert_string_equal(rd_fact_get_str(one, "vendor"), "amd");
	assert_string_equal(rd_fact_get_str(one, "product"), "rocm");
	assert_string_equal(rd_fact_get_str(one, "release"), "6.4.3");
	assert_string_equal(rd_fact_get_str(one, "system"), "el9");
	assert_true(rd_fact_get_bool(one, "enabled"));
	one = rd_fact_at(list, 2);
	assert_string_equal(rd_fact_get_str(one, "product"), "amdgpu");
	assert_false(rd_fact_get_bool(one, "enabled"));
	assert_string_equal(rd_fact_get_str(rd_fact_at(list, 3), "id"), "last");
	/* curl is not there. */
	assert_false(rd_fact_get_bool(facts, "runtime.rpm.can_check_keys"));
	rd_fact_free(facts);
	scratch_file(dir, "/usr/bin/curl", "");
	facts = look(dir);
	assert_true(rd_fact_get_bool(facts, "runtime.rpm.can_check_keys"));
	rd_fact_free(facts);
	scratch_free(dir);
}

static void a_host_of_apt_has_none(void **state)
{
	char *dir = scratch_new();
	struct rd_fact *facts = look(dir);

	(void)state;
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "runtime.rpm.sources")), 0);
	assert_false(rd_fact_is_unknown(facts, "runtime.rpm.sources"));
	rd_fact_free(facts);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_section_is_a_repository),
		cmocka_unit_test(a_host_of_apt_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
