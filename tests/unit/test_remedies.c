#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"

extern const struct rd_probe rd_probe_engine_remedies;

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

	assert_int_equal(rd_probe_run_ctx(&rd_probe_engine_remedies, &ctx), 0);
}

static struct rd_fact *add_gpu(struct rd_fact *facts, const char *address, const char *gfx)
{
	struct rd_fact *gpu = rd_fact_append(facts, "gpus", "test");

	rd_fact_set_str(gpu, "pci.address", address, "test");
	rd_fact_set_str(gpu, "gfx", gfx, "test");
	return gpu;
}

/* A rocBLAS in a ROCm of AMD's, without kernels for the GPU. */
static struct rd_fact *add_math(struct rd_fact *facts, const char *release, const char *origin)
{
	struct rd_fact *root = rd_fact_append(facts, "runtime.rocm", "test"), *math;

	rd_fact_set_str(root, "root", "/opt/rocm-x", "test");
	rd_fact_set_str(root, "version", release, "test");
	rd_fact_set_str(root, "origin", origin, "test");
	rd_fact_set_str(facts, "runtime.commands.install", "sudo apt install", "test");
	math = rd_fact_append(facts, "runtime.math", "test");
	rd_fact_set_str(math, "place", "/opt/rocm-x", "test");
	rd_fact_append_str(math, "missing_gpus", "0000:03:00.0", "test");
	return math;
}

/* AMD's lists: gfx942 since 6.0, gfx1201 since 6.4.1, gfx1151 since 7.14; gfx1031 never, gfx803 up to 5.7. */
static void a_release_with_kernels_for_this_gfx_is_named(void **state)
{
	static const struct {
		const char *gfx, *release, *remedy, *wheels;
	} cases[] = {
		{ "gfx942", "5.6.0", "ROCm 6.0.0 is the first after 5.6.0 that AMD lists for gfx942", "whl-next/" },
		{ "gfx942", "6.3.0", "install rocblas of ROCm 6.3.0 anew: AMD's package has gfx942", "whl-next/" },
		{ "gfx1201", "6.3.0", "ROCm 6.4.1 is the first after 6.3.0 that AMD lists for gfx1201", "whl-next/" },
		{ "gfx1151", "7.2.0",
		  "ROCm 7.14.0 is the first after 7.2.0 that AMD lists for gfx1151; the packages are amdrocm7.14-gfx1151",
		  "whl-next/ 'rocm[libraries,device-gfx1151]==10.1.0'" },
		{ "gfx1100", "10.0.0", "sudo apt install amdrocm10.0-gfx1100", "whl-next/" },
		{ "gfx1031", "7.2.0", "", "whl-next/ 'rocm[libraries,device-gfx1031]==10.0.0'" },
		{ "gfx803", "6.3.0", "AMD's packages had gfx803 up to ROCm 5.7", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_fact *facts = rd_facts_new();
		const char *wheels;

		add_gpu(facts, "0000:03:00.0", cases[i].gfx);
		add_math(facts, cases[i].release, "amd");
		run(facts, *state);
		assert_string_equal(rd_fact_get_str(facts, "runtime.math[0].release_remedy"), cases[i].remedy);
		wheels = rd_fact_get_str(facts, "runtime.math[0].wheel_remedy");
		assert_true(*cases[i].wheels ? strstr(wheels, cases[i].wheels) != NULL : !*wheels);
		assert_string_equal(rd_fact_get_str(facts, "runtime.math[0].hide_remedy"), "");
		rd_fact_free(facts);
	}
}

static void what_another_gpu_does_not_need_is_hidden(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	add_gpu(facts, "0000:03:00.0", "gfx1036");
	add_gpu(facts, "0000:0c:00.0", "gfx1100");
	add_math(facts, "6.3.0", "amd");
	run(facts, *state);
	assert_non_null(strstr(rd_fact_get_str(facts, "runtime.math[0].hide_remedy"), "ROCR_VISIBLE_DEVICES"));
	rd_fact_free(facts);
}

static void a_wheels_rocblas_comes_with_its_pytorch(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *env = rd_fact_append(facts, "python", "test"), *math;

	add_gpu(facts, "0000:03:00.0", "gfx1151");
	rd_fact_set_str(env, "prefix", "/opt/llm", "test");
	rd_fact_set_str(env, "install_torch", "pip install this", "test");
	math = add_math(facts, "6.3.0", "amd");
	rd_fact_set_str(math, "place", "/opt/llm", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "runtime.math[0].release_remedy"), "pip install this");
	assert_string_equal(rd_fact_get_str(facts, "runtime.math[0].wheel_remedy"), "");
	rd_fact_free(facts);
}

static void a_newer_ollama_is_named_where_it_helps(void **state)
{
	static const struct {
		const char *gfx, *remedy;
	} cases[] = {
		{ "gfx1201", "curl -fsSL https://ollama.com/install.sh | sh   (the current release has code for gfx1201)" },
		{ "gfx1031", "no release of Ollama is known to have code for gfx1031" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_fact *facts = rd_facts_new(), *ollama = rd_fact_append(facts, "engines.ollama", "test");

		add_gpu(facts, "0000:03:00.0", cases[i].gfx);
		rd_fact_append_str(ollama, "rocblas.missing_gpus", "0000:03:00.0", "test");
		run(facts, *state);
		assert_string_equal(rd_fact_get_str(facts, "engines.ollama[0].unserved_gfx[0]"), cases[i].gfx);
		assert_string_equal(rd_fact_get_str(facts, "engines.ollama[0].release_remedy"), cases[i].remedy);
		rd_fact_free(facts);
	}
}

static void a_dropped_gpu_has_wheels_or_not(void **state)
{
	static const struct {
		const char *gfx, *wheels;
	} cases[] = { { "gfx1010", "'torch[device-gfx1010]==2.13.0+rocm10.0.0'" }, { "gfx803", "" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_fact *facts = rd_facts_new();
		const char *got;

		rd_fact_set_str(add_gpu(facts, "0000:03:00.0", cases[i].gfx), "support.verdict", "dropped", "test");
		run(facts, *state);
		got = rd_fact_get_str(facts, "gpus[0].support.wheel_remedy");
		assert_true(*cases[i].wheels ? strstr(got, cases[i].wheels) != NULL : !*got);
		rd_fact_free(facts);
	}
}

/* An environment says it for its own Python and place. */
static void a_gpu_that_is_too_new_is_helped_where_pytorch_is(void **state)
{
	struct rd_fact *facts = rd_facts_new(), *env = rd_fact_append(facts, "python", "test");

	rd_fact_set_str(add_gpu(facts, "0000:03:00.0", "gfx1201"), "support.verdict", "too-new", "test");
	rd_fact_set_bool(env, "judged", true, "test");
	rd_fact_set_str(env, "install_torch", "pip install this", "test");
	rd_fact_append_str(env, "torch.missing_gpus", "0000:03:00.0", "test");
	run(facts, *state);
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].support.wheel_remedy"), "pip install this");
	rd_fact_free(facts);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_release_with_kernels_for_this_gfx_is_named),
		cmocka_unit_test(what_another_gpu_does_not_need_is_hidden),
		cmocka_unit_test(a_wheels_rocblas_comes_with_its_pytorch),
		cmocka_unit_test(a_newer_ollama_is_named_where_it_helps),
		cmocka_unit_test(a_dropped_gpu_has_wheels_or_not),
		cmocka_unit_test(a_gpu_that_is_too_new_is_helped_where_pytorch_is),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
