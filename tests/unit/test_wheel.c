#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "util/wheel.h"
#include "util/xalloc.h"

static void names_are_normalised_as_pep_503_says(void **state)
{
	static const char *const same[] = { "flash-attn", "flash_attn", "Flash.Attn", "flash-_.attn" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *name = rd_wheel_name(same[i], strlen(same[i]));

		assert_string_equal(name, "flash-attn");
		free(name);
	}
}

static void a_folder_is_split_into_name_and_version(void **state)
{
	static const char *const none[] = {
		"torch",
		"torch.dist-info",
		"-1.0.dist-info",
		"~orch-2.8.0.dist-info",
		"torch-.dist-info",
		".dist-info",
		"",
		"distutils-precedence.pth",
	};
	char *name, *version;

	(void)state;
	assert_true(rd_wheel_split("pytorch_triton_rocm-3.4.0.dist-info", &name, &version));
	assert_string_equal(name, "pytorch-triton-rocm");
	assert_string_equal(version, "3.4.0");
	free(name);
	free(version);
	assert_true(rd_wheel_split("PyYAML-6.0.1-py3.12.egg-info", &name, &version));
	assert_string_equal(name, "pyyaml");
	assert_string_equal(version, "6.0.1");
	free(name);
	free(version);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(rd_wheel_split(none[i], &name, &version));
}

static void the_local_version_tells_build_and_release(void **state)
{
	static const struct {
		const char *version, *build, *rocm;
	} cases[] = {
		{ "2.8.0+rocm6.4", "rocm", "6.4" },
		{ "2.6.0+rocm6.2.4", "rocm", "6.2.4" },
		{ "2.9.1+rocm7.2.1.lw.gitff65f5bc", "rocm", "7.2.1" },
		{ "2.9.0+rocm7.13.0a20260430", "rocm", "7.13.0" },
		{ "2.13.0+rocm10.0.0", "rocm", "10.0.0" },
		{ "0.10.2+rocm64", "rocm", "6.4" },
		{ "0.18.0+rocm700", "rocm", "7.0.0" },
		{ "0.29.0+rocm100", "rocm", "10.0" },
		{ "0.9.2.dev364+gb432b7a28.rocm641", "rocm", "6.4.1" },
		{ "2.7.4.post1+cu12torch2.7cxx11abiTRUE", "cuda", NULL },
		{ "2.7.1+cu126", "cuda", NULL },
		{ "2.7.1+cpu", "cpu", NULL },
		{ "2.7.1", "", NULL },
		{ "2.9.0a0+git1234567", "", NULL },
		{ "1.0+rocm", "", NULL },
		{ "1.0+customcu", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *rocm = rd_wheel_rocm(cases[i].version);

		assert_string_equal(rd_wheel_build(cases[i].version), cases[i].build);
		if (cases[i].rocm)
			assert_string_equal(rocm, cases[i].rocm);
		else
			assert_null(rocm);
		free(rocm);
	}
}

static void builds_of_their_own_sources_are_compared_by_series(void **state)
{
	(void)state;
	assert_true(rd_wheel_same_release("2.8.0", "2.8.0+rocm6.4"));
	assert_true(rd_wheel_same_release("2.8", "2.8.0"));
	assert_false(rd_wheel_same_release("2.8.0", "2.8.1"));
	assert_true(rd_wheel_same_release("2.9.1", "2.9.0a0+git1234567"));
	assert_false(rd_wheel_same_release("2.9.1", "2.10.0a0+git1234567"));
	assert_true(rd_wheel_same_release("2.10.0.dev20250929", "2.10.0.dev20251001+rocm7.0"));
	assert_false(rd_wheel_same_release("", "2.10.0"));
}

static void assignments_are_read_with_and_without_annotation(void **state)
{
	static const char text[] = "from typing import Optional\n"
				   "__version__ = '2.10.0+rocm7.1'\n"
				   "cuda: Optional[str] = None\n"
				   "hip: Optional[str] = \"7.1.25424\"\n"
				   "rocm : str = '7.1.0'\n"
				   "broken = 'no end\n"
				   "hipster = 'x'\n";
	bool there;
	char *value;

	(void)state;
	value = rd_wheel_assignment(text, "__version__", &there);
	assert_true(there);
	assert_string_equal(value, "2.10.0+rocm7.1");
	free(value);
	assert_null(rd_wheel_assignment(text, "cuda", &there));
	assert_true(there);
	value = rd_wheel_assignment(text, "hip", NULL);
	assert_string_equal(value, "7.1.25424");
	free(value);
	value = rd_wheel_assignment(text, "rocm", NULL);
	assert_string_equal(value, "7.1.0");
	free(value);
	assert_null(rd_wheel_assignment(text, "broken", &there));
	assert_null(rd_wheel_assignment(text, "xpu", &there));
	assert_false(there);
}

static void requirements_of_extras_and_the_description_are_left_out(void **state)
{
	static const char text[] = "Metadata-Version: 2.1\nName: torch\n"
				   "Requires-Dist: filelock\n"
				   "Requires-Dist: pytorch-triton-rocm==3.4.0; platform_system == \"Linux\"\n"
				   "Requires-Dist: rocm[libraries] (==7.14.*)\n"
				   "Requires-Dist: optree>=0.9.1; extra == 'optree'\n"
				   "\n"
				   "Requires-Dist: not-a-header==1\n";
	static const char *const wanted[][2] = { { "filelock", "" }, { "pytorch-triton-rocm", "3.4.0" }, { "rocm", "7.14.*" } };
	const char *rest = text;
	char *name, *pin;
	size_t n = 0;

	(void)state;
	while (rd_wheel_requires(&rest, &name, &pin)) {
		assert_true(n < 3);
		assert_string_equal(name, wanted[n][0]);
		assert_string_equal(pin, wanted[n++][1]);
		free(name);
		free(pin);
	}
	assert_int_equal(n, 3);
}

static void lines_that_name_no_project_are_no_requirements(void **state)
{
	static const char *const lines[] = { "",         "# torch==1", "-r other.txt", "--index-url https://x/whl/cpu",
		                             "\xff\xfe", "==1" };
	char *name, *pin;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(rd_wheel_requirement(lines[i], strlen(lines[i]), &name, &pin));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_normalised_as_pep_503_says),
		cmocka_unit_test(a_folder_is_split_into_name_and_version),
		cmocka_unit_test(the_local_version_tells_build_and_release),
		cmocka_unit_test(builds_of_their_own_sources_are_compared_by_series),
		cmocka_unit_test(assignments_are_read_with_and_without_annotation),
		cmocka_unit_test(requirements_of_extras_and_the_description_are_left_out),
		cmocka_unit_test(lines_that_name_no_project_are_no_requirements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
