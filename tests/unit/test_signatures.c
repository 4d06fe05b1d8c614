/* The patterns of a site's table of log signatures: what is refused, and where it stands. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/knowledge.h"
#include "scratch.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

static char *dir;

static int setup(void **state)
{
	(void)state;
	dir = scratch_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_free(dir);
	return 0;
}

/* A table whose second signature has this pattern. */
static void write_table(const char *pattern)
{
	cJSON *table = cJSON_CreateObject(), *rows, *row;
	char *text;

	cJSON_AddStringToObject(table, "schema", "rocm-doctor/table/1");
	cJSON_AddStringToObject(table, "as_of", "2026-12-01");
	rows = cJSON_AddArrayToObject(table, "signatures");
	for (int i = 0; i < 2; i++) {
		row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "id", i ? "mine" : "fine");
		cJSON_AddStringToObject(row, "regex", i ? pattern : "fine");
		cJSON_AddItemToArray(rows, row);
	}
	text = cJSON_Print(table);
	scratch_bytes(dir, "site/tables/log_signatures.json", text, strlen(text));
	cJSON_free(text);
	cJSON_Delete(table);
}

/* NULL: it is taken. */
static void check(const char *pattern, const char *why)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	rd_auto_free char *wanted =
		why ? rd_xasprintf("/site/tables/log_signatures.json: /signatures/1/regex: %s (of 'mine')", why) : NULL;
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r;

	write_table(pattern);
	rd_strv_pushf(&dirs, "%s/site", dir);
	assert_int_equal(rd_knowledge_load(&dirs, &k, &err), 0);
	r = rd_knowledge_check_signatures(k, &err);
	if (!why && r < 0)
		fail_msg("%s: %s", pattern, err.message);
	if (why && (r != -EINVAL || !strstr(err.message, wanted)))
		fail_msg("%s: %s", pattern, err.message ? err.message : "taken");
	rd_error_clear(&err);
	rd_knowledge_free(k);
}

static void patterns_as_people_write_them_are_taken(void **state)
{
	static const char *const patterns[] = {
		"amdgpu 0000:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]: .*ring gfx_[0-9.]+ timeout",
		"a(b|c)?d",
		"(xy{1,3} ){2,20}",
		"[]{]x{200}",
		"[^]{200}{200}]x",
		"[[:alpha:]{200}{200}]+",
		"\\{200\\}\\{200\\}",
		"a)b",
		"^$",
		"^()$",
		"x{0}y{0,5}z{5,}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		check(patterns[i], NULL);
}

static void patterns_that_grow_are_refused_with_their_place(void **state)
{
	static const char long_one[] = "the counts of the pattern, written out, make it too long";
	static const char empty[] = "something that may be empty is repeated";
	static const char anchors[] = "a pattern may have 24 of ^, $ and the like, counts written out";
	char much[1100];

	(void)state;
	check("(((x{255}){255}){255}){255}", long_one);
	check("x{200}{200}", long_one);
	check("(x{100}|y{100}){30}", long_one);
	check(")){200}{200}", long_one);
	check("(xy{,200}){200}", long_one);
	check("x+{200}{200}", long_one);
	check("[]{200}]{200}{200}", long_one);
	/* Multiplied to what no number holds. */
	check("x{255}{255}{255}{255}{255}{255}{255}{255}{255}", long_one);
	check("a{256}", "a count in a pattern may be 255 ({n,m})");
	check("a{3,99999999999999999999999}", "a count in a pattern may be 255 ({n,m})");
	check("^((x*)*){40}y", empty);
	check("^(()*){3,40}", empty);
	check("(a|){9}", empty);
	check("x{0,}{200}{200}", empty);
	check("(^$)+", empty);
	check("\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b\\bx", anchors);
	check("(x(^|a)){20}(y($|b)){5}", anchors);
	check("(x(^|a)){20}(y($|b)){4}", NULL);
	check("(a)\\1", "a pattern may not refer back (\\1)");
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	check(much, "a pattern may have 1024 characters");
}

static void a_pattern_that_does_not_compile_is_told(void **state)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;

	(void)state;
	write_table("x(");
	rd_strv_pushf(&dirs, "%s/site", dir);
	assert_int_equal(rd_knowledge_load(&dirs, &k, &err), 0);
	assert_int_equal(rd_knowledge_check_signatures(k, &err), -EINVAL);
	assert_non_null(strstr(err.message, "/signatures/1/regex: "));
	rd_error_clear(&err);
	rd_knowledge_free(k);
}

static void what_is_built_in_passes(void **state)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;

	(void)state;
	assert_int_equal(rd_knowledge_load_strictly(&dirs, &k, &err), 0);
	assert_int_equal(rd_knowledge_check_signatures(k, &err), 0);
	rd_knowledge_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_as_people_write_them_are_taken),
		cmocka_unit_test(patterns_that_grow_are_refused_with_their_place),
		cmocka_unit_test(a_pattern_that_does_not_compile_is_told),
		cmocka_unit_test(what_is_built_in_passes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
