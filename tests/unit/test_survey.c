#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/agents.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/survey.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

static int setup(void **state)
{
	struct rd_sysroot *sr;

	if (rd_sysroot_open(RD_SOURCE_DIR "/tests/fixtures/fatbin", &sr, NULL) < 0)
		return -1;
	*state = sr;
	return 0;
}

static int teardown(void **state)
{
	rd_sysroot_free(*state);
	return 0;
}

static struct rd_fact *add_gpu(struct rd_fact *facts, const char *address, const char *gfx)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(gpu, "pci.address", address, "test");
	rd_fact_set_str(gpu, "gfx", gfx, "test");
	return gpu;
}

static const char *joined(const struct rd_fact *at, const char *path)
{
	static char text[256];
	const struct rd_fact *list = rd_fact_get(at, path);

	if (rd_fact_state(list) == RD_FACT_UNKNOWN)
		return "unknown";
	*text = '\0';
	for (size_t i = 0; i < rd_fact_count(list); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
		         rd_fact_str(rd_fact_at(list, i)));
	return text;
}

/* The facts of one library for the GPUs of @facts, whose process has the variables of @environment. */
static struct rd_fact *survey(struct rd_sysroot *sr, const char *path, const struct rd_fact *facts,
                              const struct rd_fact *environment)
{
	struct rd_fact *ret = rd_facts_new();
	struct rd_gpu_agent *agents;
	struct rd_fatbin *code;
	size_t n = rd_agents_list_of(facts, environment, &agents);

	assert_int_equal(rd_fatbin_read(sr, path, 0, &code, NULL), 0);
	rd_survey_set(ret, "torch.", code, NULL, agents, n, path);
	rd_fatbin_free(code);
	free(agents);
	return ret;
}

static void gpus_are_sorted_by_what_the_code_does_for_them(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *got;

	rd_fact_set_bool(add_gpu(facts, "0000:01:00.0", "gfx90a"), "kfd.sram_ecc", true, "test");
	add_gpu(facts, "0000:02:00.0", "gfx1100");
	add_gpu(facts, "0000:03:00.0", "gfx1201");
	rd_fact_set_bool(add_gpu(facts, "0000:04:00.0", "gfx1030"), "visible", false, "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.native_gpus"), "0000:01:00.0");
	assert_string_equal(joined(got, "torch.partial_gpus"), "0000:02:00.0");
	assert_string_equal(joined(got, "torch.missing_gpus"), "0000:03:00.0");
	assert_string_equal(joined(got, "torch.missing_gfx"), "gfx1100 gfx1201");
	assert_string_equal(joined(got, "torch.mode_gpus"), "");
	assert_string_equal(joined(got, "torch.partial_targets"),
	                    "gfx90a gfx90a:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx942 gfx1100");
	rd_fact_free(got);
	rd_fact_free(facts);
}

static void the_processors_gpu_counts_only_where_no_card_computes(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *got, *card = add_gpu(facts, "0000:03:00.0", "gfx90a"), *apu;

	rd_fact_set_str(card, "kind", "dgpu", "test");
	rd_fact_set_bool(card, "kfd.present", true, "test");
	rd_fact_set_bool(card, "kfd.sram_ecc", true, "test");
	apu = add_gpu(facts, "0000:0e:00.0", "gfx1036");
	rd_fact_set_str(apu, "kind", "apu", "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.native_gpus"), "0000:03:00.0");
	assert_string_equal(joined(got, "torch.missing_gpus"), "");
	rd_fact_free(got);
	/* Hidden, the card leaves the processor's to the programs; and a card that KFD left out is none for them. */
	rd_fact_set_bool(card, "visible", false, "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.missing_gpus"), "0000:0e:00.0");
	rd_fact_free(got);
	rd_fact_set_bool(card, "visible", true, "test");
	rd_fact_set_bool(card, "kfd.present", false, "test");
	rd_fact_set_bool(apu, "kfd.present", true, "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.missing_gpus"), "0000:0e:00.0");
	rd_fact_free(got);
	rd_fact_set_unknown(card, "kfd.present", -EACCES, "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.missing_gpus"), "");
	rd_fact_free(got);
	/* Where the driver does not run KFD has neither, and the card is still what is meant. */
	rd_fact_set_bool(card, "kfd.present", false, "test");
	rd_fact_set_bool(apu, "kfd.present", false, "test");
	got = survey(*state, "/lib_two_tu.so", facts, NULL);
	assert_string_equal(joined(got, "torch.missing_gpus"), "");
	rd_fact_free(got);
	rd_fact_free(facts);
}

static void code_for_the_other_mode_is_told_apart_from_none(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *got;

	rd_fact_set_bool(add_gpu(facts, "0000:01:00.0", "gfx90a"), "kfd.sram_ecc", true, "test");
	rd_fact_set_entry(facts, "environment", "HSA_XNACK", "1", "test");
	got = survey(*state, "/code_gfx90a_sramecc+_xnack-.hsaco", facts, rd_fact_get(facts, "environment"));
	assert_string_equal(joined(got, "torch.mode_gpus"), "0000:01:00.0");
	assert_string_equal(joined(got, "torch.missing_gpus"), "");
	rd_fact_free(got);
	got = survey(*state, "/code_gfx90a_sramecc+_xnack-.hsaco", facts, NULL);
	assert_string_equal(joined(got, "torch.native_gpus"), "0000:01:00.0");
	rd_fact_free(got);
	rd_fact_free(facts);
}

static void an_override_renames_the_gpu(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *got;

	rd_fact_set_int(add_gpu(facts, "0000:01:00.0", "gfx1201"), "kfd.node", 1, "test");
	rd_fact_set_int(add_gpu(facts, "0000:02:00.0", "gfx1036"), "kfd.node", 2, "test");
	rd_fact_set_entry(facts, "environment", "HSA_OVERRIDE_GFX_VERSION", "10.3.0", "test");
	rd_fact_set_entry(facts, "environment", "HSA_OVERRIDE_GFX_VERSION_2", "9.4.2", "test");
	got = survey(*state, "/lib_mixed.so", facts, rd_fact_get(facts, "environment"));
	/* The first is hidden from code that there is in a part, the second finds what it is named after. */
	assert_string_equal(joined(got, "torch.missing_gpus"), "0000:01:00.0");
	assert_string_equal(joined(got, "torch.missing_gfx"), "gfx1030");
	assert_string_equal(joined(got, "torch.native_gpus"), "0000:02:00.0");
	assert_string_equal(joined(got, "torch.unneeded_override_gpus"), "");
	rd_fact_free(got);
	got = survey(*state, "/bundle_2arch.hipfb", facts, rd_fact_get(facts, "environment"));
	assert_string_equal(joined(got, "torch.missing_gpus"), "0000:01:00.0");
	rd_fact_free(got);
	rd_fact_free(facts);
}

static void damage_makes_the_answers_unknown(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *got;

	add_gpu(facts, "0000:02:00.0", "gfx1100");
	got = survey(*state, "/bad_ccob_corrupt_payload.hipfb", facts, NULL);
	assert_string_equal(joined(got, "torch.missing_gpus"), "unknown");
	assert_string_equal(joined(got, "torch.gfx_targets"), "unknown");
	rd_fact_free(got);
	rd_fact_free(facts);
}

static void the_release_is_in_the_file_name(void **state)
{
	static const struct {
		const char *path, *release;
	} names[] = {
		{ "/opt/rocm/lib/libamdhip64.so.6.4.60401", "6.4.1" },
		{ "/opt/rocm/lib/libhsa-runtime64.so.1.18.70100", "7.1.0" },
		{ "/opt/x/libamdhip64.so.7.15.100000", "10.0.0" },
		{ "/opt/x/torch/lib/libamdhip64.so", "" },
		{ "/usr/lib/libamdhip64.so.5", "" },
		{ "/usr/lib/libamdhip64.so.5.7.1", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		rd_auto_free char *release = rd_survey_release(names[i].path);

		assert_string_equal(release ? release : "", names[i].release);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_are_sorted_by_what_the_code_does_for_them),
		cmocka_unit_test(the_processors_gpu_counts_only_where_no_card_computes),
		cmocka_unit_test(code_for_the_other_mode_is_told_apart_from_none),
		cmocka_unit_test(an_override_renames_the_gpu),
		cmocka_unit_test(damage_makes_the_answers_unknown),
		cmocka_unit_test(the_release_is_in_the_file_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
