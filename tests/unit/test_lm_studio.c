/* LM Studio's runtime below the home: which one counts, and which GPUs it serves. */

#include <cmocka.h>

#include "rocm-doctor/probe.h"
#include "scratch.h"

extern const struct rd_probe rd_probe_engine_lm_studio;

#define VENDOR "home/sam/.lmstudio/extensions/backends/vendor/linux-llama-rocm-vendor-"

static struct rd_fact *look(const char *dir, const char *gfx)
{
	struct rd_fact *facts = rd_facts_new(), *gpu = rd_fact_append(facts, "gpus", "x");
	struct rd_sysroot *sr = scratch_open(dir);

	rd_fact_set_str(gpu, "pci.address", "0000:c1:00.0", "x");
	rd_fact_set_str(gpu, "gfx", gfx, "x");
	rd_fact_set_bool(gpu, "kfd.present", true, "x");
	assert_int_equal(rd_probe_run(&rd_probe_engine_lm_studio, sr, facts), 0);
	rd_sysroot_free(sr);
	return facts;
}

static void the_newest_runtime_counts(void **state)
{
	char *dir = scratch_new();
	struct rd_fact *facts;

	(void)state;
	scratch_manifest(dir, "'environment':{'HOME':'/home/sam'}");
	scratch_file(dir, VENDOR "v9/librocblas.so.4", "x");
	scratch_file(dir, VENDOR "v9/rocblas/library/TensileLibrary_lazy_gfx1100.dat", "x");
	scratch_file(dir, VENDOR "v10/librocblas.so.4", "x");
	scratch_file(dir, VENDOR "v10/rocblas/library/TensileLibrary_lazy_gfx1100.dat", "x");
	scratch_file(dir, VENDOR "v10/rocblas/library/TensileLibrary_lazy_gfx1151.dat", "x");
	facts = look(dir, "gfx1151");
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "engines.lm_studio")), 1);
	assert_string_equal(rd_fact_get_str(facts, "engines.lm_studio[0].folder"), "/" VENDOR "v10");
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "engines.lm_studio[0].rocblas.missing_gpus")), 0);
	rd_fact_free(facts);
	facts = look(dir, "gfx1010");
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "engines.lm_studio[0].rocblas.missing_gpus")), 1);
	assert_string_equal(rd_fact_get_str(facts, "engines.lm_studio[0].missing_gfx[0]"), "gfx1010");
	rd_fact_free(facts);
	scratch_free(dir);
}

static void without_it_there_is_none(void **state)
{
	char *dir = scratch_new();
	struct rd_fact *facts;

	(void)state;
	scratch_manifest(dir, "'environment':{'HOME':'/home/sam'}");
	scratch_dir(dir, "home/sam");
	facts = look(dir, "gfx1100");
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "engines.lm_studio")), 0);
	rd_fact_free(facts);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_runtime_counts),
		cmocka_unit_test(without_it_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
