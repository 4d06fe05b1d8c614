/* Which release of ROCm apt or dnf would install on a host that has none. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"

extern const struct rd_probe rd_probe_runtime_driver, rd_probe_runtime_wanted;

static struct rd_knowledge *knowledge;

static int load(void **state)
{
	struct rd_error err = RD_ERROR_INIT;

	(void)state;
	if (rd_knowledge_load(NULL, &knowledge, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	return 0;
}

static int unload(void **state)
{
	(void)state;
	knowledge = rd_knowledge_free(knowledge);
	return 0;
}

static struct rd_fact *host(const char *os, const char *release, const char *codename, const char *last_rocm,
                            const char *driver)
{
	struct rd_fact *facts = rd_facts_new(), *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(facts, "host.os.id", os, "test");
	rd_fact_set_str(facts, "host.os.version_id", release, "test");
	rd_fact_set_str(facts, "host.os.codename", codename, "test");
	rd_fact_set_str(facts, "host.kernel.machine", "x86_64", "test");
	rd_fact_set_str(facts, "kernel.amdgpu.driver", driver, "test");
	rd_fact_set_bool(gpu, "support.built", true, "test");
	rd_fact_set_str(gpu, "support.first_rocm", "5.2", "test");
	rd_fact_set_str(gpu, "support.last_rocm", last_rocm, "test");
	rd_fact_set_str(facts, "runtime.expected_build",
	                rd_streq(os, "ubuntu") ? release
	                : *release == '8'      ? "el8"
	                                       : "el9",
	                "test");
	rd_fact_set_list(facts, "runtime.apt.sources", "test");
	rd_fact_set_list(facts, "runtime.rpm.sources", "test");
	return facts;
}

static void add_source(struct rd_fact *facts, const char *release)
{
	struct rd_fact *source = rd_fact_append(facts, "runtime.apt.sources", "test");

	rd_fact_set_bool(source, "enabled", true, "test");
	rd_fact_set_str(source, "vendor", "amd", "test");
	rd_fact_set_str(source, "product", "rocm", "test");
	rd_fact_set_str(source, "release", release, "test");
	rd_fact_set_str(source, "key", "ok", "test");
}

static void run(struct rd_fact *facts)
{
	static const struct rd_probe_options options;
	struct rd_probe_ctx ctx = { .facts = facts, .knowledge = knowledge, .options = &options };

	assert_int_equal(rd_probe_run_ctx(&rd_probe_runtime_wanted, &ctx), 0);
}

static void the_newest_release_for_system_driver_and_gpu_is_named_to_the_last_digit(void **state)
{
	static const struct {
		const char *os, *release, *codename, *last_rocm, *driver, *version;
	} rows[] = {
		{ "ubuntu", "24.04", "noble", "", "", "7.2.4.70204-93~24.04" },
		{ "ubuntu", "22.04", "jammy", "", "", "7.2.4.70204-93~22.04" },
		{ "ubuntu", "24.04", "noble", "6.3.3", "", "6.3.3.60303-74~24.04" },
		{ "ubuntu", "24.04", "noble", "", "6.3", "7.0.2.70002-56~24.04" },
		{ "ubuntu", "25.10", "questing", "", "", "" },
		{ "fedora", "43", "", "", "", "" },
		{ "rhel", "9.6", "Plow", "", "", "7.2.4.70204-93.el9" },
		{ "rhel", "8.10", "Ootpa", "", "", "7.2.4.70204-93.el8" },
		{ "rhel", "9.3", "Plow", "", "", "6.2.4.60204-139.el9" },
		{ "rhel", "9.2", "Plow", "", "", "6.1.2.60102-119.el9" },
		{ "rocky", "9.6", "Blue Onyx", "", "", "7.2.4.70204-93.el9" },
		{ "rocky", "8.10", "Green Obsidian", "", "", "" },
		{ "sles", "15.7", "", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_fact *facts = host(rows[i].os, rows[i].release, rows[i].codename, rows[i].last_rocm, rows[i].driver);

		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.version"), rows[i].version);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.suite"),
		                    *rows[i].version && i < 4 ? rows[i].codename : "");
		rd_fact_free(facts);
	}
}

static void the_address_is_that_of_the_release_and_the_system(void **state)
{
	static const struct {
		const char *os, *release, *uri;
	} rows[] = {
		{ "ubuntu", "24.04", "https://repo.radeon.com/rocm/apt/7.2.4" },
		{ "rhel", "9.6", "https://repo.radeon.com/rocm/el9/7.2.4/main" },
		{ "rhel", "9.2", "https://repo.radeon.com/rocm/rhel9/6.1.2/main" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_fact *facts = host(rows[i].os, rows[i].release, "", "", "");

		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.uri"), rows[i].uri);
		rd_fact_free(facts);
	}
}

static void add_repository(struct rd_fact *facts, const char *release, const char *system, bool enabled)
{
	struct rd_fact *source = rd_fact_append(facts, "runtime.rpm.sources", "test");

	rd_fact_set_bool(source, "enabled", enabled, "test");
	rd_fact_set_str(source, "vendor", "amd", "test");
	rd_fact_set_str(source, "product", "rocm", "test");
	rd_fact_set_str(source, "release", release, "test");
	rd_fact_set_str(source, "system", system, "test");
}

static void a_repository_of_rpm_that_is_on_and_for_this_system_is_the_one(void **state)
{
	static const struct {
		const char *release, *system;
		bool enabled;
		const char *wanted, *rocm_release;
	} rows[] = {
		{ "6.4.3", "el9", true, "", "6.4.3" }, { "6.1.2", "rhel9", true, "", "6.1.2" },
		{ "6.4.3", "", true, "", "6.4.3" },    { "6.4.3", "el8", true, "", "" },
		{ "latest", "el9", true, "", "" },     { "6.4.3", "el9", false, "7.2.4.70204-93.el9", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_fact *facts = host("rhel", "9.6", "Plow", "", "");

		add_repository(facts, rows[i].release, rows[i].system, rows[i].enabled);
		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.rpm.rocm_release"), rows[i].rocm_release);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.version"), rows[i].wanted);
		rd_fact_free(facts);
	}
}

/* One package a kind of GPU, of a repository that has several releases. */
static void where_the_older_layout_has_none_the_newer_one_is_named(void **state)
{
	static const struct {
		const char *release, *gfx, *other_gfx, *packages, *uri;
	} rows[] = {
		{ "26.04", "gfx942", "gfx942", "amdrocm10.0-gfx942",
		  "https://stable.repo.amd.com/rocm/core/packages/ubuntu2604/" },
		{ "26.04", "gfx1100", "gfx1201", "amdrocm10.0-gfx1100, amdrocm10.0-gfx1201",
		  "https://stable.repo.amd.com/rocm/core/packages/ubuntu2604/" },
		{ "26.04", "gfx1100", "gfx906", "", "" },
		{ "24.04", "gfx1100", "gfx1201", "rocm", "https://repo.radeon.com/rocm/apt/7.2.4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rd_fact *facts = host("ubuntu", rows[i].release, "resolute", "", ""), *gpu;

		gpu = rd_fact_append(facts, "gpus", "test");
		rd_fact_set_bool(gpu, "support.built", true, "test");
		rd_fact_set_str(gpu, "gfx", rows[i].other_gfx, "test");
		rd_fact_set_str(rd_fact_at_mutable(rd_fact_get_mutable(facts, "gpus"), 0), "gfx", rows[i].gfx, "test");
		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.packages"), rows[i].packages);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.uri"), rows[i].uri);
		if (*rows[i].packages && *rows[i].packages == 'a')
			assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.version"), "10.0.0-4");
		rd_fact_free(facts);
	}
}

/* ------------------------------------------------------------ the driver */

static struct rd_fact *host_with_driver(const char *system, const char *kernel, const char *rocm, const char *package)
{
	struct rd_fact *facts = host("ubuntu", system, "noble", "", "");

	rd_fact_set_str(facts, "host.kernel.release", kernel, "test");
	rd_fact_set_str(facts, "runtime.release", rocm, "test");
	rd_fact_set_bool(facts, "kernel.driver_package.installed", *package, "test");
	rd_fact_set_str(facts, "kernel.driver_package.version", package, "test");
	return facts;
}

static void run_driver(struct rd_fact *facts)
{
	static const struct rd_probe_options options;
	struct rd_probe_ctx ctx = { .facts = facts, .knowledge = knowledge, .options = &options };

	assert_int_equal(rd_probe_run_ctx(&rd_probe_runtime_driver, &ctx), 0);
}

/* Of the series that came with the ROCm in use; of a later one only where the kernel wants it. */
static void a_driver_is_for_the_kernel_and_the_rocm_in_use(void **state)
{
	static const char old[] = "1:6.8.5.60200-2009582.24.04";
	static const struct {
		const char *system, *kernel, *rocm, *package, *version;
	} rows[] = {
		{ "24.04", "6.8.0-60-generic", "6.4.1", old, "1:6.12.12.60404-2202139.24.04" },
		{ "22.04", "6.8.0-60-generic", "6.4.1", "1:6.8.5.60200-2009582.22.04", "1:6.12.12.60404-2202139.22.04" },
		{ "24.04", "6.14.0-24-generic", "6.4.1", "1:6.12.12.60401-2164967.24.04", "1:6.14.14.30100200-2226257.24.04" },
		{ "24.04", "6.17.0-8-generic", "6.4.1", "1:6.12.12.60401-2164967.24.04", "1:6.16.6.30200100-2255209.24.04" },
		{ "24.04", "6.8.0-60-generic", "7.2.4", old, "1:6.16.13.30300400-2341068.24.04" },
		{ "24.04", "6.8.0-60-generic", "10.0.0", old, "1:7.1.3.31500000-2390945.24.04" },
		/* Without ROCm the newest there is. */
		{ "24.04", "6.8.0-60-generic", "", old, "1:7.1.3.31500000-2390945.24.04" },
		/* It is there already, nothing newer goes with this ROCm, the kernel is too new, the system is not on record. */
		{ "24.04", "6.8.0-60-generic", "6.2.0", "1:6.14.14.30100200-2226257.24.04", "" },
		{ "24.04", "7.2.0-1-generic", "7.2.4", old, "" },
		{ "26.04", "7.0.0-10-generic", "10.0.0", old, "" },
		{ "24.04", "6.8.0-60-generic", "9.9.9", old, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rd_fact *facts = host_with_driver(rows[i].system, rows[i].kernel, rows[i].rocm, rows[i].package);

		run_driver(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.version"), rows[i].version);
		assert_int_equal(!*rd_fact_get_str(facts, "runtime.wanted_driver.refusal"), *rows[i].version != '\0');
		rd_fact_free(facts);
	}
}

static void a_source_of_another_driver_is_to_be_replaced_and_two_are_left_to_a_person(void **state)
{
	struct rd_fact *facts = host_with_driver("24.04", "6.8.0-60-generic", "7.2.4", ""), *source;

	(void)state;
	run_driver(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.source"), "none");
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.keyring"), "/etc/apt/keyrings/rocm.gpg");
	source = rd_fact_append(facts, "runtime.apt.sources", "test");
	rd_fact_set_bool(source, "enabled", true, "test");
	rd_fact_set_str(source, "vendor", "amd", "test");
	rd_fact_set_str(source, "product", "amdgpu", "test");
	rd_fact_set_str(source, "uri", "https://repo.radeon.com/amdgpu/30.10/ubuntu", "test");
	rd_fact_set_str(source, "file", "/etc/apt/sources.list.d/amdgpu.list", "test");
	rd_fact_set_str(source, "signed_by", "/usr/share/keyrings/amd.gpg", "test");
	run_driver(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.source"), "other");
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.keyring"), "/usr/share/keyrings/amd.gpg");
	rd_fact_set_str(source, "uri", "https://repo.radeon.com/amdgpu/30.30.4/ubuntu", "test");
	run_driver(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.source"), "there");
	source = rd_fact_append(facts, "runtime.apt.sources", "test");
	rd_fact_set_bool(source, "enabled", true, "test");
	rd_fact_set_str(source, "vendor", "amd", "test");
	rd_fact_set_str(source, "product", "amdgpu", "test");
	run_driver(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted_driver.refusal"),
	                    "several sources of AMD's driver are switched on: keep one of them");
	rd_fact_free(facts);
}

static void a_new_driver_of_dkms_is_no_step_under_secure_boot(void **state)
{
	struct rd_fact *without = host_with_driver("24.04", "6.8.0-60-generic", "7.2.4", "");
	struct rd_fact *with = host_with_driver("24.04", "6.8.0-60-generic", "7.2.4", "1:6.8.5.60200-2009582.24.04");

	(void)state;
	rd_fact_set_bool(without, "host.secure_boot", true, "test");
	rd_fact_set_bool(with, "host.secure_boot", true, "test");
	run_driver(without);
	run_driver(with);
	assert_string_equal(rd_fact_get_str(without, "runtime.wanted_driver.version"), "");
	assert_string_equal(rd_fact_get_str(with, "runtime.wanted_driver.version"), "1:6.16.13.30300400-2341068.24.04");
	rd_fact_free(without);
	rd_fact_free(with);
}

static void a_source_that_is_there_is_the_one_to_install_from(void **state)
{
	struct rd_fact *facts = host("ubuntu", "24.04", "noble", "", "");

	(void)state;
	add_source(facts, "6.4.3");
	run(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.apt.rocm_release"), "6.4.3");
	assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.version"), "");
	rd_fact_free(facts);
}

static void two_releases_and_one_without_code_for_the_gpu_name_none(void **state)
{
	struct rd_fact *two = host("ubuntu", "24.04", "noble", "", ""), *old = host("ubuntu", "24.04", "noble", "6.3.3", "");

	(void)state;
	add_source(two, "6.4.3");
	add_source(two, "7.0.2");
	add_source(old, "6.4.3");
	run(two);
	run(old);
	assert_string_equal(rd_fact_get_str(two, "runtime.apt.rocm_release"), "");
	assert_string_equal(rd_fact_get_str(old, "runtime.apt.rocm_release"), "");
	rd_fact_free(two);
	rd_fact_free(old);
}

static void sources_that_cannot_be_read_leave_it_open(void **state)
{
	struct rd_fact *facts = host("ubuntu", "24.04", "noble", "", "");

	(void)state;
	rd_fact_set_unknown(facts, "runtime.apt.sources", -13, "test");
	run(facts);
	assert_true(rd_fact_is_unknown(facts, "runtime.apt.rocm_release"));
	rd_fact_free(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_release_for_system_driver_and_gpu_is_named_to_the_last_digit),
		cmocka_unit_test(where_the_older_layout_has_none_the_newer_one_is_named),
		cmocka_unit_test(a_driver_is_for_the_kernel_and_the_rocm_in_use),
		cmocka_unit_test(a_source_of_another_driver_is_to_be_replaced_and_two_are_left_to_a_person),
		cmocka_unit_test(a_new_driver_of_dkms_is_no_step_under_secure_boot),
		cmocka_unit_test(the_address_is_that_of_the_release_and_the_system),
		cmocka_unit_test(a_repository_of_rpm_that_is_on_and_for_this_system_is_the_one),
		cmocka_unit_test(a_source_that_is_there_is_the_one_to_install_from),
		cmocka_unit_test(two_releases_and_one_without_code_for_the_gpu_name_none),
		cmocka_unit_test(sources_that_cannot_be_read_leave_it_open),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
