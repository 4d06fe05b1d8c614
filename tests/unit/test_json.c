#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/embedded.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "util/pool.h"

static const cJSON *read_copy(const char *text, struct rd_pool *pool)
{
	return rd_json_read_quickly(rd_pool_strdup(pool, text), pool);
}

static void all_that_is_built_in_is_read_as_cjson_reads_it(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct rd_embedded *e = rd_embedded_files; e->name; e++, n++) {
		struct rd_pool pool = RD_POOL_INIT(4096);
		const cJSON *json = read_copy(e->text, &pool);
		cJSON *expect = cJSON_Parse(e->text);

		if (!json)
			fail_msg("'%s' is left to cJSON", e->name);
		if (!cJSON_Compare(json, expect, true))
			fail_msg("'%s' is read otherwise", e->name);
		rd_pool_clear(&pool);
		cJSON_Delete(expect);
	}
	assert_true(n > 10);
}

static void texts_are_read_as_cjson_reads_them_or_left_to_it(void **state)
{
	static const char *const same[] = {
		"{}",
		" [ ] ",
		"null",
		"-12.5e2",
		"[true, false, null, 0, 999999999999, -4294967296, 0.25]",
		"{\"a\": \"\", \"b\": {\"c\": [1, [2, {\"d\": 3}]]}}",
		"\"a \\\"quoted\\\" \\\\ \\/ \\n\\t line\\\\\"",
		"{\"\\\"key\\\"\": \"\\\\\"}",
		"[\"\\\"\"]",
		"[\"a\", \"\\n\", \"b\", \"\\t\\t\", \"c\"]",
	};
	static const char *const left[] = {
		"",        "{",       "[1",   "[1,]",   "{\"a\"}",     "{\"a\":}", "\"open", "\"open\\", "\"\\u00e4\"",
		"\"\\b\"", "[1] [2]", "1e18", "{a: 1}", "tru",         "[1 2]",    "+1",     "0x1f",     "-inf",
		"-0x1",    "1-2",     "nan",  "\"\\\"", "{\"a\": 1,}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct rd_pool pool = RD_POOL_INIT(4096);
		const cJSON *json = read_copy(same[i], &pool);
		cJSON *expect = cJSON_Parse(same[i]);

		if (!json || !cJSON_Compare(json, expect, true))
			fail_msg("'%s'", same[i]);
		rd_pool_clear(&pool);
		cJSON_Delete(expect);
	}
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		struct rd_pool pool = RD_POOL_INIT(4096);

		if (read_copy(left[i], &pool))
			fail_msg("'%s' is not left to cJSON", left[i]);
		rd_pool_clear(&pool);
	}
}

static void a_text_nested_deeply_is_left_to_cjson(void **state)
{
	struct rd_pool pool = RD_POOL_INIT(4096);
	char text[1000];

	(void)state;
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_null(rd_json_read_quickly(text, &pool));
	rd_pool_clear(&pool);
}

static void what_is_built_in_stands_the_strict_reading(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_knowledge *k = NULL;
	int r = rd_knowledge_load_strictly(NULL, &k, &err);

	(void)state;
	if (r < 0)
		fail_msg("%s", err.message);
	rd_knowledge_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_built_in_is_read_as_cjson_reads_it),
		cmocka_unit_test(texts_are_read_as_cjson_reads_them_or_left_to_it),
		cmocka_unit_test(a_text_nested_deeply_is_left_to_cjson),
		cmocka_unit_test(what_is_built_in_stands_the_strict_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
