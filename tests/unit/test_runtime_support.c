/* The joins of the runtime layer with the tables: releases, overrides, memory, who brings a user space. */

#include <errno.h>
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

extern const struct rd_probe rd_probe_runtime_support;

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

static void run(struct rd_fact *facts)
{
	static const struct rd_probe_options options;
	struct rd_probe_ctx ctx = { .facts = facts, .knowledge = knowledge, .options = &options };

	assert_int_equal(rd_probe_run_ctx(&rd_probe_runtime_support, &ctx), 0);
}

static struct rd_fact *with_root(const char *version, const char *origin, const char *id, const char *os)
{
	struct rd_fact *facts = rd_facts_new(), *root = rd_fact_append(facts, "runtime.rocm", "test");

	rd_fact_set_str(root, "version", version, "test");
	rd_fact_set_str(root, "origin", origin, "test");
	rd_fact_set_str(facts, "runtime.release", version, "test");
	rd_fact_set_str(facts, "host.os.id", id, "test");
	rd_fact_set_str(facts, "host.os.version_id", os, "test");
	return facts;
}

static void a_system_is_listed_whatever_its_point_release(void **state)
{
	static const struct {
		const char *version, *id, *os, *support;
	} cases[] = {
		{ "6.4.0", "ubuntu", "24.04", "listed" }, { "6.4.0", "ubuntu", "25.10", "unlisted" },
		{ "6.4.0", "rhel", "9.4", "listed" },     { "6.4.0", "rhel", "9.2", "unlisted" },
		{ "10.0.0", "ol", "9.4", "listed" },      { "7.1.0", "debian", "13", "listed" },
		{ "6.4", "ubuntu", "22.04", "listed" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = with_root(cases[i].version, "amd", cases[i].id, cases[i].os);

		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "runtime.os_support"), cases[i].support);
		rd_fact_free(facts);
	}
}

static void a_release_without_a_list_is_unknown_and_a_distributions_own_is_its_affair(void **state)
{
	struct rd_fact *facts = with_root("7.10.0", "amd", "ubuntu", "24.04");

	(void)state;
	run(facts);
	assert_true(rd_fact_is_unknown(facts, "runtime.os_support"));
	assert_string_equal(rd_fact_get_str(facts, "runtime.stream"), "therock-preview");
	rd_fact_free(facts);
	facts = with_root("5.2.3", "distribution", "debian", "12");
	run(facts);
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "runtime.os_support")), RD_FACT_ABSENT);
	rd_fact_free(facts);
}

static void a_driver_counts_only_where_its_module_is_in_use(void **state)
{
	static const struct {
		const char *version, *driver, *origin;
		bool too_old;
	} cases[] = {
		{ "6.1.0", "30.30.0", "dkms", true },
		{ "6.1.0", "30.30.0", "in-tree", false },
		{ "6.4.0", "30.30.0", "dkms", false },
		{ "6.2.0", "6.2.0", "dkms", false },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = with_root(cases[i].version, "amd", "ubuntu", "22.04");
		struct rd_fact *package = rd_fact_append(facts, "runtime.packages", "test");

		rd_fact_set_str(package, "name", "amdgpu-dkms", "test");
		rd_fact_set_str(package, "state", "installed", "test");
		rd_fact_set_str(package, "release", cases[i].driver, "test");
		rd_fact_set_str(facts, "kernel.amdgpu.origin", cases[i].origin, "test");
		run(facts);
		assert_int_equal(rd_fact_get_bool(facts, "runtime.too_old_for_driver"), cases[i].too_old);
		rd_fact_free(facts);
	}
}

static void an_override_is_judged_by_the_gpu_that_gets_it(void **state)
{
	static const struct {
		const char *gfx, *value, *verdict;
	} cases[] = {
		{ "gfx1150", "11.0.0", "no" },  { "gfx1150", "11.5.0", "same" },  { "gfx1031", "10.3.0", "usually" },
		{ "gfx1010", "10.3.0", "no" },  { "gfx1100", "10.3.0", "no" },    { "gfx1032", "10.3.1", "risky" },
		{ "gfx90a", "9.0.10", "same" }, { "gfx1036", "10.3.0", "risky" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *gpu = rd_fact_append(facts, "gpus", "test");

		rd_fact_set_str(gpu, "gfx", cases[i].gfx, "test");
		rd_fact_set_entry(facts, "runtime.environment", "HSA_OVERRIDE_GFX_VERSION", cases[i].value, "test");
		run(facts);
		assert_string_equal(rd_fact_get_str(facts, "gpus[0].override.verdict"), cases[i].verdict);
		rd_fact_free(facts);
	}
}

static void the_override_of_a_node_goes_before_the_general_one(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *gpu = rd_fact_append(facts, "gpus", "test");

	(void)state;
	rd_fact_set_str(gpu, "gfx", "gfx1031", "test");
	rd_fact_set_int(gpu, "kfd.node", 1, "test");
	rd_fact_set_entry(facts, "runtime.environment", "HSA_OVERRIDE_GFX_VERSION", "11.0.0", "test");
	rd_fact_set_entry(facts, "runtime.environment", "HSA_OVERRIDE_GFX_VERSION_1", "10.3.0", "test");
	run(facts);
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].override.gfx"), "gfx1030");
	rd_fact_free(facts);
}

static void add_apu(struct rd_fact *facts, int64_t vram, int64_t offered)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(gpu, "kind", "apu", "test");
	rd_fact_set_int(gpu, "vram_bytes", vram, "test");
	rd_fact_set_int(rd_fact_append(gpu, "partitions", "test"), "vram_bytes", offered, "test");
}

static void an_apu_is_limited_where_less_than_a_quarter_is_offered(void **state)
{
	const int64_t gib = (int64_t)1 << 30;
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	rd_fact_set_int(facts, "host.memory_bytes", 31 * gib, "test");
	add_apu(facts, 96 * gib, 15 * gib);
	run(facts);
	assert_true(rd_fact_get_bool(facts, "gpus[0].memory.limited"));
	assert_int_equal(rd_fact_get_int(facts, "gpus[0].memory.proposed_pages"),
	                 rd_fact_get_int(facts, "host.memory_bytes") / 4096 / 4 * 3);
	rd_fact_free(facts);

	/* Four MI300A: each has its quarter of the machine. */
	facts = rd_facts_new();
	rd_fact_set_int(facts, "host.memory_bytes", 512 * gib, "test");
	for (unsigned i = 0; i < 4; i++)
		add_apu(facts, 128 * gib, 128 * gib);
	run(facts);
	assert_false(rd_fact_get_bool(facts, "gpus[3].memory.limited"));
	rd_fact_free(facts);
}

static void wheels_bring_a_user_space_and_are_a_root(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *python;

	(void)state;
	rd_fact_set_list(facts, "runtime.rocm", "test");
	run(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.user_space"), "");
	/* Nothing is known of the session: its environment may lie anywhere. */
	rd_fact_set_unknown(facts, "runtime.environment", -ENODATA, "test");
	run(facts);
	assert_true(rd_fact_is_unknown(facts, "runtime.user_space"));
	python = rd_fact_append(facts, "python", "test");
	rd_fact_set_str(python, "prefix", "/opt/venv", "test");
	rd_fact_set_entry(python, "packages", "rocm-sdk-core", "10.0.0", "test");
	run(facts);
	assert_string_equal(rd_fact_get_str(facts, "runtime.user_space"), "wheel");
	assert_string_equal(rd_fact_get_str(facts, "runtime.rocm[0].origin"), "wheel");
	assert_string_equal(rd_fact_get_str(facts, "runtime.rocm[0].root"), "/opt/venv");
	rd_fact_free(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_is_listed_whatever_its_point_release),
		cmocka_unit_test(a_release_without_a_list_is_unknown_and_a_distributions_own_is_its_affair),
		cmocka_unit_test(a_driver_counts_only_where_its_module_is_in_use),
		cmocka_unit_test(an_override_is_judged_by_the_gpu_that_gets_it),
		cmocka_unit_test(the_override_of_a_node_goes_before_the_general_one),
		cmocka_unit_test(an_apu_is_limited_where_less_than_a_quarter_is_offered),
		cmocka_unit_test(wheels_bring_a_user_space_and_are_a_root),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
