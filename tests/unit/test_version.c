#include <cmocka.h>
#include <stdio.h>

#include "rocm-doctor/macros.h"
#include "util/version.h"

struct row {
	const char *a, *b;
	int expect;
};

/* Each row both ways round, and each version against itself. */
static void check(enum rd_version_scheme scheme, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		int there = rd_version_compare(row->a, row->b, scheme), back = rd_version_compare(row->b, row->a, scheme);

		if ((there > 0) - (there < 0) != row->expect || (back > 0) - (back < 0) != -row->expect)
			fail_msg("'%s' against '%s': %d and %d, not %d", row->a, row->b, there, back, row->expect);
		assert_int_equal(rd_version_compare(row->a, row->a, scheme), 0);
		assert_int_equal(rd_version_compare(row->b, row->b, scheme), 0);
	}
}

static void rocm_previews_sort_between_7_2_and_7_14(void **state)
{
	static const struct row rows[] = {
		{ "7.2.4", "7.9.0", -1 },
		{ "7.9", "7.13", -1 },
		{ "7.13.0", "7.14", -1 },
		{ "7.14", "10.0.0", -1 },
		{ "7.2", "10.0", -1 },
		{ "7.13.0a20260430", "7.13.0", -1 },
		{ "7.13.0a20260430", "7.12.9", 1 },
		{ "7.13.0a20260430", "7.13.0a20260501", -1 },
	};

	(void)state;
	check(RD_VERSION_ROCM, rows, RD_ARRAY_SIZE(rows));
}

static void rocm_is_no_decimal_number(void **state)
{
	static const struct row rows[] = {
		{ "6.9", "6.10", -1 },
		{ "6.4", "6.4.0", 0 },
		{ "6.4", "6.4.1", -1 },
		{ "6.4.1-83", "6.4.1", 1 },
		{ "6.4.1-83", "6.4.1-139", -1 },
		{ "6.4.1-83", "6.4.2", -1 },
		{ "6.2.0~rc1", "6.2.0", -1 },
		{ "6.4.1+git", "6.4.1", 1 },
		{ "rocm-6.4.0", "6.4", 0 },
		{ "rocm6.10", "6.9", 1 },
		{ "5.7.1", "6.0", -1 },
		{ "", "", 0 },
		{ "", "0.1", -1 },
		{ "6.4.0-rc2", "6.4.0", -1 },
		{ "06.04", "6.4", 0 },
		{ "99999999999999999999.1", "99999999999999999998.2", 1 },
	};

	(void)state;
	check(RD_VERSION_ROCM, rows, RD_ARRAY_SIZE(rows));
}

static void kernel_candidates_come_before_the_release_and_abis_after_it(void **state)
{
	static const struct row rows[] = {
		{ "6.12-rc3", "6.12", -1 },
		{ "6.12-rc3", "6.12-rc10", -1 },
		{ "6.12-rc3", "6.11.9", 1 },
		{ "6.12.0-0.rc3.20241016.29.fc42.x86_64", "6.12.0", -1 },
		{ "6.8.0-45-generic", "6.8.0-100-generic", -1 },
		{ "6.8.0-45-generic", "6.8.0-45-lowlatency", 0 },
		{ "6.8.0-45-generic", "6.8", 1 },
		{ "6.8.0-45-generic", "6.10", -1 },
		{ "6.6.87.2-microsoft-standard-WSL2", "6.6.87.2", 0 },
		{ "5.14.0-427.13.1.el9_4.x86_64", "5.14.0-503.11.1.el9_5.x86_64", -1 },
		{ "6.1.0-18-amd64", "6.1.0", 1 },
	};

	(void)state;
	check(RD_VERSION_KERNEL, rows, RD_ARRAY_SIZE(rows));
}

/* Each as dpkg 1.21 --compare-versions says. */
static void dpkg_versions_compare_as_dpkg_does(void **state)
{
	static const struct row rows[] = {
		{ "6.4.1.60401-83~22.04", "6.4.1.60401-83", -1 },
		{ "6.4.1.60401-83~22.04", "6.4.1.60401-83~24.04", -1 },
		{ "6.4.0.60400-47~22.04", "6.4.1.60401-83~22.04", -1 },
		{ "1:6.4", "7.0", 1 },
		{ "0:1.0", "1.0", 0 },
		{ "1.0", "1.0-0", 0 },
		{ "1.0", "1.0-1", -1 },
		{ "1.0~", "1.0", -1 },
		{ "1.0~~", "1.0~", -1 },
		{ "1.0~~a", "1.0~", -1 },
		{ "1.0a", "1.0+", -1 },
		{ "1.0a", "1.0", 1 },
		{ "1.0-1ubuntu1", "1.0-1", 1 },
		{ "1.0-1-1", "1.0-1", 1 },
		{ "1.09", "1.9", 0 },
		{ "2:13.4.0-1~bpo12+1", "2:13.4.0-1", -1 },
		{ "1.2.3", "1.2.3.1", -1 },
		{ "1.2.10", "1.2.9", 1 },
		{ "6.10.5.60200-2041575.22.04", "6.12.12.60402-2120656.22.04", -1 },
	};

	(void)state;
	check(RD_VERSION_DPKG, rows, RD_ARRAY_SIZE(rows));
}

/* Each as rpm 4.18 says, except the missing release: there as rpm judges a dependency. */
static void rpm_versions_compare_as_rpm_does(void **state)
{
	static const struct row rows[] = {
		{ "1.0", "2.0", -1 },
		{ "2.0.1", "2.0", 1 },
		{ "2.0.1a", "2.0.1", 1 },
		{ "5.5p1", "5.5p10", -1 },
		{ "10xyz", "10.1xyz", -1 },
		{ "xyz10", "xyz10.1", -1 },
		{ "xyz.4", "8", -1 },
		{ "xyz.4", "2", -1 },
		{ "5.6p3", "5.7p1", -1 },
		{ "1.0", "1_0", 0 },
		{ "1.0~rc1", "1.0", -1 },
		{ "1.0~rc1", "1.0~rc2", -1 },
		{ "1.0~rc1~git1", "1.0~rc1", -1 },
		{ "1.0^", "1.0", 1 },
		{ "1.0^git1", "1.01", -1 },
		{ "1.0^git1", "1.0^git2", -1 },
		{ "1.0~rc1^git1", "1.0~rc1", 1 },
		{ "1.0^git1~pre", "1.0^git1", -1 },
		{ "1:1.0", "2.0", 1 },
		{ "0:1.0", "1.0", 0 },
		{ "6.4.1-83.el9", "6.4.1-9.el9", 1 },
		{ "6.4.1-83.el9", "6.4.1", 0 },
		{ "20101121", "20101122", -1 },
		{ "0010", "10", 0 },
	};

	(void)state;
	check(RD_VERSION_RPM, rows, RD_ARRAY_SIZE(rows));
}

/* Each as packaging.version of PyPA says. */
static void pep440_versions_compare_as_packaging_does(void **state)
{
	static const struct row rows[] = {
		{ "2.9.0+rocm6.4", "2.9.0", 1 },
		{ "2.9.0+rocm6.4", "2.9.1", -1 },
		{ "2.9.0+rocm6.9", "2.9.0+rocm6.10", -1 },
		{ "2.10.0", "2.9.0", 1 },
		{ "2.0", "2.0.0", 0 },
		{ "1.0.dev1", "1.0a1", -1 },
		{ "1.0a1.dev1", "1.0a1", -1 },
		{ "1.0a1", "1.0b1", -1 },
		{ "1.0b2", "1.0rc1", -1 },
		{ "1.0rc1", "1.0", -1 },
		{ "1.0", "1.0.post1", -1 },
		{ "1.0.post1.dev1", "1.0.post1", -1 },
		{ "1!0.1", "2.0", 1 },
		{ "1.0-alpha.1", "1.0a1", 0 },
		{ "1.0c1", "1.0rc1", 0 },
		{ "1.0-1", "1.0.post1", 0 },
		{ "v1.0", "1.0", 0 },
		{ "1.0+1", "1.0+abc", 1 },
		{ "1.0+abc", "1.0+abc.1", -1 },
		{ "1.0+ABC", "1.0+abc", 0 },
		{ "2.9.0a0+gitd990dad", "2.9.0", -1 },
		{ "7.13.0a20260430", "7.13.0", -1 },
		{ "0.9.2.dev12+g1a2b3c", "0.9.2", -1 },
	};

	(void)state;
	check(RD_VERSION_PEP440, rows, RD_ARRAY_SIZE(rows));
}

static void dotted_numbers_compare_number_by_number(void **state)
{
	static const struct row rows[] = {
		{ "1.10", "1.9", 1 },      { "1", "1.0.0", 0 },  { "1.0.1", "1", 1 },
		{ "3.61.0", "3.61.0", 0 }, { "1.2a", "1.2", 1 }, { "12.0a9", "12.0a10", -1 },
	};

	(void)state;
	check(RD_VERSION_DOTTED, rows, RD_ARRAY_SIZE(rows));
}

static void text_that_is_no_version_is_still_put_in_some_order(void **state)
{
	static const char *const texts[] = { "",
		                             ".",
		                             "-",
		                             "~",
		                             "^",
		                             "+",
		                             "!",
		                             ":",
		                             "1!",
		                             "1:",
		                             "a",
		                             "-rc",
		                             "1..2",
		                             "1.-",
		                             "\xff\xfe",
		                             "1+",
		                             "1+.",
		                             "dev",
		                             "1.0.0-",
		                             "::",
		                             "1^~",
		                             "~^",
		                             "99999999999999999999999999" };

	(void)state;
	for (int scheme = RD_VERSION_NONE; scheme <= RD_VERSION_DOTTED; scheme++) {
		for (size_t i = 0; i < RD_ARRAY_SIZE(texts); i++) {
			for (size_t j = 0; j < RD_ARRAY_SIZE(texts); j++) {
				int there = rd_version_compare(texts[i], texts[j], (enum rd_version_scheme)scheme);
				int back = rd_version_compare(texts[j], texts[i], (enum rd_version_scheme)scheme);

				assert_int_equal((there > 0) - (there < 0), (back < 0) - (back > 0));
			}
		}
	}
}

static void a_prefix_ends_where_a_number_ends(void **state)
{
	(void)state;
	assert_true(rd_version_has_prefix("6.4.1", "6.4"));
	assert_true(rd_version_has_prefix("6.4", "6.4"));
	assert_true(rd_version_has_prefix("6.4-83", "6.4"));
	assert_true(rd_version_has_prefix("6.4.1", ""));
	assert_true(rd_version_has_prefix("6.4.1", "6.4."));
	assert_false(rd_version_has_prefix("6.40", "6.4"));
	assert_false(rd_version_has_prefix("6", "6.4"));
	assert_false(rd_version_has_prefix("16.4", "6.4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rocm_previews_sort_between_7_2_and_7_14),
		cmocka_unit_test(rocm_is_no_decimal_number),
		cmocka_unit_test(kernel_candidates_come_before_the_release_and_abis_after_it),
		cmocka_unit_test(dpkg_versions_compare_as_dpkg_does),
		cmocka_unit_test(rpm_versions_compare_as_rpm_does),
		cmocka_unit_test(pep440_versions_compare_as_packaging_does),
		cmocka_unit_test(dotted_numbers_compare_number_by_number),
		cmocka_unit_test(text_that_is_no_version_is_still_put_in_some_order),
		cmocka_unit_test(a_prefix_ends_where_a_number_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
