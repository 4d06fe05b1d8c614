/* Which release of ROCm apt would install on a host that has none. */

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

extern const struct rd_probe rd_probe_runtime_wanted;

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
	rd_fact_set_list(facts, "runtime.apt.sources", "test");
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
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_fact *facts = host(rows[i].os, rows[i].release, rows[i].codename, rows[i].last_rocm, rows[i].driver);

		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.version"), rows[i].version);
		assert_string_equal(rd_fact_get_str(facts, "runtime.wanted.suite"), *rows[i].version ? rows[i].codename : "");
		rd_fact_free(facts);
	}
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
		cmocka_unit_test(a_source_that_is_there_is_the_one_to_install_from),
		cmocka_unit_test(two_releases_and_one_without_code_for_the_gpu_name_none),
		cmocka_unit_test(sources_that_cannot_be_read_leave_it_open),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
