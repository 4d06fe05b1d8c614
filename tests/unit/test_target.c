#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/target.h"

static void entry_ids_of_old_and_new_compilers_are_read(void **state)
{
	static const struct {
		const char *id;
		enum rd_bundle_entry kind;
		const char *target;
	} ids[] = {
		{ "host-x86_64-unknown-linux--", RD_ENTRY_HOST, "" },
		{ "host-x86_64-unknown-linux", RD_ENTRY_HOST, "" },
		{ "hipv4-amdgcn-amd-amdhsa--gfx90a", RD_ENTRY_DEVICE, "gfx90a" },
		{ "hip-amdgcn-amd-amdhsa--gfx908:sramecc+", RD_ENTRY_DEVICE, "gfx908:sramecc+" },
		{ "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+", RD_ENTRY_DEVICE, "gfx90a:sramecc+:xnack-" },
		{ "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", RD_ENTRY_DEVICE, "gfx9-4-generic" },
		{ "hipv4-amdgcn-amd-amdhsa-unknown-gfx1100", RD_ENTRY_DEVICE, "gfx1100" },
		{ "hipv4-amdgpu9.42-amd-amdhsa--", RD_ENTRY_DEVICE, "gfx942" },
		{ "hipv4-amdgpu9.4-amd-amdhsa--", RD_ENTRY_DEVICE, "gfx9-4-generic" },
		{ "hipv4-amdgpu11-amd-amdhsa--", RD_ENTRY_DEVICE, "gfx11-generic" },
		{ "hipv4-amdgpu-amd-amdhsa--gfx1201", RD_ENTRY_DEVICE, "gfx1201" },
		{ "hip-spirv64-amd-amdhsa--amdgcnspirv", RD_ENTRY_DEVICE, "amdgcnspirv" },
		{ "hipv4-spirv64-amd-amdhsa-unknown-amdgcnspirv", RD_ENTRY_DEVICE, "amdgcnspirv" },
		{ "hcc-amdgcn-amd-amdhsa--gfx803", RD_ENTRY_DEVICE, "gfx803" },
		{ "hip-amdgcn-amd-amdhsa-gfx906", RD_ENTRY_LEGACY, "gfx906" },
		{ "openmp-amdgcn-amd-amdhsa--gfx90a", RD_ENTRY_OTHER, "" },
		{ "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack", RD_ENTRY_UNKNOWN, "" },
		{ "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+:xnack-", RD_ENTRY_UNKNOWN, "" },
		{ "hipv4-nvptx64-nvidia-cuda--sm_80", RD_ENTRY_UNKNOWN, "" },
		{ "hipv9-amdgcn-amd-amdhsa--gfx90a", RD_ENTRY_UNKNOWN, "" },
		{ "hipv4-amdgcn-amd-amdhsa--", RD_ENTRY_UNKNOWN, "" },
		{ "", RD_ENTRY_UNKNOWN, "" },
		{ "-----", RD_ENTRY_UNKNOWN, "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(ids); i++) {
		struct rd_target_id id = { .sramecc = RD_FEATURE_ANY };
		char text[RD_TARGET_TEXT_MAX] = "";

		assert_int_equal(rd_target_of_entry(ids[i].id, strlen(ids[i].id), &id), ids[i].kind);
		if (*ids[i].target)
			rd_target_format(&id, text);
		assert_string_equal(text, ids[i].target);
	}
	/* Padding at the end is no part of an id. */
	assert_int_equal(rd_target_of_entry("hip-amdgcn-amd-amdhsa--gfx900\0\0", 31, &(struct rd_target_id){ .xnack = 0 }),
	                 RD_ENTRY_DEVICE);
}

static void headers_of_code_objects_name_their_target(void **state)
{
	static const struct {
		unsigned abi;
		uint32_t flags;
		const char *target;
	} headers[] = {
		{ 2, 0x53f, "gfx90a" },
		{ 3, 0xe3f, "gfx90a:sramecc+:xnack-" },
		{ 2, 0x73f, "gfx90a:xnack+" },
		{ 2, 0x93f, "gfx90a:sramecc-" },
		{ 3, 0x54c, "gfx942" },
		{ 2, 0x041, "gfx1100" },
		{ 4, 0x01000151, "gfx9-generic" },
		{ 4, 0x01000054, "gfx11-generic" },
		{ 1, 0x03f, "gfx90a:sramecc-:xnack-" },
		{ 1, 0x036, "gfx1030" },
	};
	struct rd_target_id id;

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(headers); i++) {
		char text[RD_TARGET_TEXT_MAX];

		assert_int_equal(rd_target_of_code_object(headers[i].abi, headers[i].flags, &id), 0);
		rd_target_format(&id, text);
		assert_string_equal(text, headers[i].target);
	}
	assert_int_equal(rd_target_of_code_object(2, 0x0ff, &id), -ENOENT);
	assert_int_equal(rd_target_of_code_object(0, 0x03f, &id), -ENOENT);
}

static enum rd_runs runs(const char *code, const char *processor, enum rd_feature xnack)
{
	struct rd_target_id id;
	struct rd_agent agent;

	assert_int_equal(rd_target_parse(code, &id), 0);
	rd_agent_init(&agent, processor);
	if (agent.xnack == RD_FEATURE_UNKNOWN)
		agent.xnack = xnack;
	if (agent.sramecc == RD_FEATURE_UNKNOWN)
		agent.sramecc = RD_FEATURE_ON;
	return rd_target_runs(&id, &agent);
}

static void code_runs_as_the_runtime_decides(void **state)
{
	static const struct {
		const char *code, *agent;
		enum rd_feature xnack;
		enum rd_runs runs;
	} pairs[] = {
		{ "gfx942", "gfx942", RD_FEATURE_OFF, RD_RUNS_NATIVE },
		{ "gfx1100", "gfx1101", RD_FEATURE_ANY, RD_RUNS_NO },
		{ "gfx900", "gfx90c", RD_FEATURE_OFF, RD_RUNS_NO },
		{ "gfx90a:xnack+", "gfx90a", RD_FEATURE_OFF, RD_RUNS_NO },
		{ "gfx90a:xnack+", "gfx90a", RD_FEATURE_ON, RD_RUNS_NATIVE },
		{ "gfx90a:xnack+", "gfx90a", RD_FEATURE_UNKNOWN, RD_RUNS_UNKNOWN },
		{ "gfx90a:sramecc-", "gfx90a", RD_FEATURE_OFF, RD_RUNS_NO },
		{ "gfx90a:sramecc+:xnack-", "gfx90a", RD_FEATURE_OFF, RD_RUNS_NATIVE },
		{ "gfx11-generic", "gfx1103", RD_FEATURE_ANY, RD_RUNS_GENERIC },
		{ "gfx11-generic", "gfx1200", RD_FEATURE_ANY, RD_RUNS_NO },
		{ "gfx9-generic", "gfx908", RD_FEATURE_OFF, RD_RUNS_NO },
		{ "gfx9-generic:xnack-", "gfx906", RD_FEATURE_UNKNOWN, RD_RUNS_UNKNOWN },
		{ "gfx9-4-generic", "gfx950", RD_FEATURE_OFF, RD_RUNS_GENERIC },
		{ "amdgcnspirv", "gfx1201", RD_FEATURE_ANY, RD_RUNS_SPIRV },
		/* A suffix for a feature that the processor does not have never matches. */
		{ "gfx1030:xnack-", "gfx1030", RD_FEATURE_ANY, RD_RUNS_NO },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(pairs); i++)
		assert_int_equal(runs(pairs[i].code, pairs[i].agent, pairs[i].xnack), pairs[i].runs);
}

static void an_override_is_read_as_the_runtime_reads_it(void **state)
{
	static const struct {
		const char *text, *gfx;
	} good[] = { { "11.0.0", "gfx1100" }, { "9.0.10", "gfx90a" }, { "10.3.0", "gfx1030" }, { "9.4.2", "gfx942" } };
	static const char *const bad[] = { "",       "gfx1100", "11.0",    "11.0.0 ", "\"11.0.0\"", "11.0.0.0",
		                           "11,0,0", " 11.0.0", "11.0.0a", "-11.0.0", "11.0.16",    "0.0.0" };
	char gfx[RD_PROCESSOR_MAX];

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(good); i++) {
		assert_int_equal(rd_gfx_from_override(good[i].text, gfx), 0);
		assert_string_equal(gfx, good[i].gfx);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(bad); i++)
		assert_int_equal(rd_gfx_from_override(bad[i], gfx), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(entry_ids_of_old_and_new_compilers_are_read),
		cmocka_unit_test(headers_of_code_objects_name_their_target),
		cmocka_unit_test(code_runs_as_the_runtime_decides),
		cmocka_unit_test(an_override_is_read_as_the_runtime_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
