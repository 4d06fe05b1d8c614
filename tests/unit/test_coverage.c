#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"

extern const struct rd_probe rd_probe_engine_coverage;

static int setup(void **state)
{
	struct rd_knowledge *k;

	if (rd_knowledge_load(NULL, &k, NULL) < 0)
		return -1;
	*state = k;
	return 0;
}

static int teardown(void **state)
{
	rd_knowledge_free(*state);
	return 0;
}

static void run(struct rd_fact *facts, const struct rd_knowledge *k)
{
	struct rd_probe_ctx ctx = { .facts = facts, .knowledge = k };

	assert_int_equal(rd_probe_run_ctx(&rd_probe_engine_coverage, &ctx), 0);
}

static struct rd_fact *add_gpu(struct rd_fact *facts, const char *address, const char *gfx, const char *kind)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(gpu, "pci.address", address, "test");
	rd_fact_set_str(gpu, "gfx", gfx, "test");
	rd_fact_set_str(gpu, "kind", kind, "test");
	return gpu;
}

/* llama.cpp with code for @code, whose rocBLAS in a root of ROCm has kernels for @kernels. */
static struct rd_fact *add_llama(struct rd_fact *facts, const char *code, const char *kernels)
{
	struct rd_fact *root = rd_fact_append(facts, "runtime.rocm", "test"), *e;

	rd_fact_set_str(root, "root", "/opt/rocm-6.4.0", "test");
	e = rd_fact_append(facts, "engines.llama_cpp", "test");
	rd_fact_set_str(e, "folder", "/usr/local/bin", "test");
	rd_fact_set_str(e, "backend", "/usr/local/lib/libggml-hip.so", "test");
	rd_fact_append_str(e, "gfx_targets", code, "test");
	rd_fact_set_str(e, "rocblas.path", "/opt/rocm-6.4.0/lib/librocblas.so.4", "test");
	rd_fact_set_str(e, "rocblas.folder", "/opt/rocm-6.4.0/lib/rocblas/library", "test");
	rd_fact_append_str(e, "rocblas.gfx", kernels, "test");
	return e;
}

static void rocblas_belongs_to_its_root(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e;

	add_gpu(facts, "0000:03:00.0", "gfx1103", "apu");
	e = add_llama(facts, "gfx1103", "gfx1100");
	rd_fact_append_str(e, "rocblas.missing_gpus", "0000:03:00.0", "test");
	run(facts, *state);
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "runtime.math")), 1);
	assert_string_equal(rd_fact_get_str(facts, "runtime.math[0].place"), "/opt/rocm-6.4.0");
	assert_string_equal(rd_fact_str(rd_fact_at(rd_fact_get(facts, "runtime.math[0].missing_gfx"), 0)), "gfx1103");
	rd_fact_free(facts);
}

static void an_override_helps_where_code_and_kernels_of_the_other_are_there(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e;

	add_gpu(facts, "0000:03:00.0", "gfx1031", "dgpu");
	e = add_llama(facts, "gfx1030", "gfx1030");
	rd_fact_append_str(e, "missing_gpus", "0000:03:00.0", "test");
	rd_fact_append_str(e, "rocblas.missing_gpus", "0000:03:00.0", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].override.useful_value"), "10.3.0");
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].override.useful_gfx"), "gfx1030");
	rd_fact_free(facts);
}

static void an_override_does_not_help_where_the_kernels_are_not(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e;

	add_gpu(facts, "0000:03:00.0", "gfx1031", "dgpu");
	e = add_llama(facts, "gfx1030", "gfx1100");
	rd_fact_append_str(e, "missing_gpus", "0000:03:00.0", "test");
	rd_fact_append_str(e, "rocblas.missing_gpus", "0000:03:00.0", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].override.useful_value"), "");
	rd_fact_free(facts);
}

static void the_gpu_beside_a_card_is_not_renamed(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e;

	add_gpu(facts, "0000:03:00.0", "gfx1030", "dgpu");
	add_gpu(facts, "0000:0e:00.0", "gfx1036", "apu");
	e = add_llama(facts, "gfx1030", "gfx1030");
	rd_fact_append_str(e, "missing_gpus", "0000:0e:00.0", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "gpus[1].override.useful_value"), "");
	rd_fact_free(facts);
}

static void set_override(struct rd_fact *gpu)
{
	rd_fact_set_str(gpu, "override.value", "11.0.0", "test");
	rd_fact_set_str(gpu, "override.gfx", "gfx1100", "test");
	rd_fact_set_str(gpu, "override.verdict", "risky", "test");
}

static void an_override_that_rocblas_needs_is_needed(void **state)
{
	static const struct {
		const char *kernels;
		bool unneeded;
	} cases[] = { { "gfx1103", true }, { "gfx1100", false } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *e;

		set_override(add_gpu(facts, "0000:03:00.0", "gfx1103", "apu"));
		e = add_llama(facts, "gfx1103", cases[i].kernels);
		rd_fact_append_str(e, "unneeded_override_gpus", "0000:03:00.0", "test");
		run(facts, *state);
		assert_int_equal(rd_fact_get_bool(facts, "gpus[0].override.unneeded"), cases[i].unneeded);
		rd_fact_free(facts);
	}
}

static void code_for_the_other_mode_is_listed_and_unknown_stays_unknown(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e;

	add_gpu(facts, "0000:03:00.0", "gfx90a", "dgpu");
	e = add_llama(facts, "gfx90a:xnack+", "gfx90a");
	rd_fact_set_unknown_why(e, "mode_gpus", "the GPU's mode is not known", "/usr/local/lib/libggml-hip.so");
	rd_fact_set_unknown_why(e, "rocblas.missing_gpus", "not read", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "runtime.mode_mismatch[0].place"), "/usr/local/bin");
	assert_true(rd_fact_is_unknown(facts, "runtime.mode_mismatch[0].gpus"));
	assert_true(rd_fact_is_unknown(facts, "runtime.math[0].missing_gpus"));
	rd_fact_free(facts);
}

/* What HSA_XNACK switches it switches for everything: code of another engine that wants the other mode speaks against it. */
static void xnack_is_named_where_it_suits_everything(void **state)
{
	static const struct {
		const char *gfx, *targets, *others, *wanted;
		bool ecc;
	} cases[] = {
		{ "gfx90a", "gfx90a:xnack+", NULL, "1", true },
		{ "gfx942", "gfx942:xnack-", NULL, "0", true },
		{ "gfx90a", "gfx90a:xnack+", "gfx90a", "1", true },
		{ "gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "", true },
		{ "gfx90a", "gfx90a:xnack+", "gfx1100", "1", true },
		/* Its other feature is what does not fit. */
		{ "gfx90a", "gfx90a:sramecc-:xnack+", NULL, "", true },
		{ "gfx90a", "gfx90a:sramecc-:xnack+", NULL, "1", false },
		/* There it is the driver's matter. */
		{ "gfx906", "gfx906:xnack+", NULL, "", true },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *e;

		rd_fact_set_bool(add_gpu(facts, "0000:03:00.0", cases[i].gfx, "dgpu"), "kfd.sram_ecc", cases[i].ecc, "test");
		e = add_llama(facts, cases[i].targets, cases[i].gfx);
		rd_fact_append_str(e, "mode_gpus", "0000:03:00.0", "/usr/local/lib/libggml-hip.so");
		if (cases[i].others)
			add_llama(facts, cases[i].others, cases[i].gfx);
		run(facts, *state);
		assert_string_equal(rd_fact_get_str(facts, "runtime.mode_mismatch[0].xnack"), cases[i].wanted);
		rd_fact_free(facts);
	}
}

/* Each program by what it has itself: the value of the table, one variable for all GPUs or one for each, and how it goes. */
static void an_override_is_offered_where_a_program_can_do_with_it(void **state)
{
	static const struct {
		const char *gfx, *code, *kernels, *remedy;
	} cases[] = {
		{ "gfx1031", "gfx1030", "gfx1030",
		  "with HSA_OVERRIDE_GFX_VERSION=10.3.0 it runs what it has for gfx1030: this works "
		  "for most, and AMD does not support it" },
		{ "gfx1151", "gfx1100", "gfx1100",
		  "with HSA_OVERRIDE_GFX_VERSION=11.0.0 it runs what it has for gfx1100: this hangs or faults on some of these "
		  "GPUs, "
		  "and AMD does not support it" },
		{ "gfx1031", "gfx1030", "gfx1100", "" },
		{ "gfx1031", "gfx1100", "gfx1030", "" },
		{ "gfx1012", "gfx1030", "gfx1030", "" },
		{ "gfx90a", "gfx942", "gfx942", "" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *e;

		add_gpu(facts, "0000:03:00.0", cases[i].gfx, "dgpu");
		e = add_llama(facts, cases[i].code, cases[i].kernels);
		rd_fact_append_str(e, "missing_gpus", "0000:03:00.0", "test");
		rd_fact_append_str(e, "rocblas.missing_gpus", "0000:03:00.0", "test");
		run(facts, *state);
		assert_string_equal(rd_fact_get_str(facts, "engines.llama_cpp[0].override_remedy"), cases[i].remedy);
		rd_fact_free(facts);
	}
}

static void one_of_two_gpus_is_renamed_by_its_node(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *e, *gpu;

	add_gpu(facts, "0000:03:00.0", "gfx1030", "dgpu");
	gpu = add_gpu(facts, "0000:0c:00.0", "gfx1032", "dgpu");
	rd_fact_set_int(gpu, "kfd.node", 2, "test");
	e = add_llama(facts, "gfx1030", "gfx1030");
	rd_fact_append_str(e, "missing_gpus", "0000:0c:00.0", "test");
	rd_fact_append_str(e, "rocblas.missing_gpus", "0000:0c:00.0", "test");
	run(facts, *state);
	assert_non_null(strstr(rd_fact_get_str(facts, "engines.llama_cpp[0].override_remedy"),
	                       "with HSA_OVERRIDE_GFX_VERSION_2=10.3.0 it runs"));
	rd_fact_free(facts);
}

/* Where rocBLAS has no kernels for what it would be built for, it is built for what an override names. */
static void llama_cpp_is_built_for_what_rocblas_has(void **state)
{
	static const struct {
		const char *gfx, *kernels, *build;
		bool has_kernels;
	} cases[] = {
		{ "gfx1201", "gfx1201", "cmake -B build -DGGML_HIP=ON -DGPU_TARGETS='gfx1201' && cmake --build build", true },
		{ "gfx1031", "gfx1030",
		  "cmake -B build -DGGML_HIP=ON -DGPU_TARGETS='gfx1030' && cmake --build build   (and start it with "
		  "HSA_OVERRIDE_GFX_VERSION=10.3.0: rocBLAS has no kernels for gfx1031)",
		  false },
		/* A risky name is nothing to build for. */
		{ "gfx1151", "gfx1100", "cmake -B build -DGGML_HIP=ON -DGPU_TARGETS='gfx1151' && cmake --build build", false },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *e;

		add_gpu(facts, "0000:03:00.0", cases[i].gfx, "dgpu");
		e = add_llama(facts, "gfx942", cases[i].kernels);
		rd_fact_append_str(e, "missing_gpus", "0000:03:00.0", "test");
		rd_fact_append_str(e, "missing_gfx", cases[i].gfx, "test");
		if (!cases[i].has_kernels)
			rd_fact_append_str(e, "rocblas.missing_gpus", "0000:03:00.0", "test");
		run(facts, *state);
		assert_string_equal(rd_fact_get_str(facts, "engines.llama_cpp[0].build_remedy"), cases[i].build);
		rd_fact_free(facts);
	}
}

static void rccl_lacks_what_pytorch_has(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *env = rd_fact_append(facts, "python", "test");

	add_gpu(facts, "0000:03:00.0", "gfx1201", "dgpu");
	add_gpu(facts, "0000:43:00.0", "gfx1201", "dgpu");
	add_gpu(facts, "0000:0e:00.0", "gfx1036", "apu");
	rd_fact_append_str(env, "torch.native_gpus", "0000:03:00.0", "test");
	rd_fact_append_str(env, "torch.native_gpus", "0000:43:00.0", "test");
	/* The processor's own is nothing that PyTorch would use. */
	rd_fact_append_str(env, "torch.rccl.missing_gpus", "0000:0e:00.0", "test");
	rd_fact_append_str(env, "torch.rccl.missing_gpus", "0000:43:00.0", "test");
	env = rd_fact_append(facts, "python", "test");
	rd_fact_set_unknown_why(env, "torch.rccl.missing_gpus", "not read", "test");
	run(facts, *state);
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "python[0].torch.rccl.lacking_gpus")), 1);
	assert_string_equal(rd_fact_get_str(facts, "python[0].torch.rccl.lacking_gpus[0]"), "0000:43:00.0");
	assert_true(rd_fact_is_unknown(facts, "python[1].torch.rccl.lacking_gpus"));
	rd_fact_free(facts);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rocblas_belongs_to_its_root),
		cmocka_unit_test(an_override_helps_where_code_and_kernels_of_the_other_are_there),
		cmocka_unit_test(an_override_does_not_help_where_the_kernels_are_not),
		cmocka_unit_test(the_gpu_beside_a_card_is_not_renamed),
		cmocka_unit_test(an_override_that_rocblas_needs_is_needed),
		cmocka_unit_test(code_for_the_other_mode_is_listed_and_unknown_stays_unknown),
		cmocka_unit_test(xnack_is_named_where_it_suits_everything),
		cmocka_unit_test(an_override_is_offered_where_a_program_can_do_with_it),
		cmocka_unit_test(one_of_two_gpus_is_renamed_by_its_node),
		cmocka_unit_test(llama_cpp_is_built_for_what_rocblas_has),
		cmocka_unit_test(rccl_lacks_what_pytorch_has),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
