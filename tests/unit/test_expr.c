/* The expression language: types, columns, and three-valued logic. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/schema.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static const struct rd_probe probe = {
	.name = "host/test",
	.facts = (const struct rd_fact_decl[]){ { "b", RD_BOOL, "", "", 0 },
	                                        { "n", RD_INT, "", "", 0 },
	                                        { "r", RD_REAL, "", "", 0 },
	                                        { "s", RD_STR, "", "", 0 },
	                                        { "kernel", RD_STR, "", "", RD_VERSION_KERNEL },
	                                        { "rocm", RD_STR, "", "", RD_VERSION_ROCM },
	                                        { "words[]", RD_STRS, "", "", 0 },
	                                        { "map{}", RD_MAP, "", "", 0 },
	                                        { "gpus[]", RD_LIST, "", "", 0 },
	                                        { "gpus[].gfx", RD_STR, "", "", 0 },
	                                        { "gpus[].vram", RD_INT, "", "", 0 },
	                                        { "gpus[].links[]", RD_LIST, "", "", 0 },
	                                        { "gpus[].links[].to", RD_STR, "", "", 0 },
	                                        { "empty[]", RD_LIST, "", "", 0 },
	                                        { "empty[].x", RD_INT, "", "", 0 },
	                                        { "lost[]", RD_LIST, "", "", 0 },
	                                        { "lost[].x", RD_INT, "", "", 0 },
	                                        { 0 } },
};

static const char facts_text[] =
	"{\"b\": true, \"n\": 7, \"r\": 2.5, \"s\": null, \"kernel\": \"6.10.0-1\", \"rocm\": \"7.13.0\", \"lost\": null,"
	" \"words\": [\"quiet\", \"nomodeset\"], \"map\": {\"flash-attn\": \"2.8\"}, \"empty\": [],"
	" \"gpus\": [{\"gfx\": \"gfx942\", \"vram\": 206141652992, \"links\": [{\"to\": \"a\"}]},"
	"            {\"gfx\": null, \"vram\": 25753026560, \"links\": []}]}";

struct world {
	struct rd_schema *schema;
	struct rd_fact *facts;
};

static int set_up(void **state)
{
	static const struct rd_probe *const probes[] = { &probe };
	struct world *w = rd_xcalloc(1, sizeof(*w));
	cJSON *json = cJSON_Parse(facts_text);
	int r = rd_schema_new(probes, 1, &w->schema, NULL);

	w->facts = rd_facts_new();
	r = r < 0 ? r : rd_facts_from_json(w->facts, json, w->schema, NULL);
	cJSON_Delete(json);
	*state = w;
	return r;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_schema_free(w->schema);
	rd_fact_free(w->facts);
	free(w);
	return 0;
}

static void values_come_out_as_kleene_says(void **state)
{
	static const struct {
		const char *text;
		enum rd_tri result;
	} rows[] = {
		{ "b", RD_TRUE },
		{ "!b", RD_FALSE },
		{ "n == 7 && r < 3", RD_TRUE },
		{ "n == 8 || r >= 2.5", RD_TRUE },
		{ "s == 'x'", RD_UNKNOWN },
		{ "s == 'x' && n == 8", RD_FALSE },
		{ "n == 8 && s == 'x'", RD_FALSE },
		{ "s == 'x' || b", RD_TRUE },
		{ "!(s == 'x')", RD_UNKNOWN },
		{ "known(s)", RD_FALSE },
		{ "known(n)", RD_TRUE },
		{ "known(lost)", RD_FALSE },
		{ "count(gpus) == 2", RD_TRUE },
		{ "count(lost) == 0", RD_UNKNOWN },
		{ "count(empty) == 0", RD_TRUE },
		{ "any(gpus, .gfx == 'gfx942')", RD_TRUE },
		{ "any(gpus, .gfx == 'gfx1100')", RD_UNKNOWN },
		{ "all(gpus, .gfx == 'gfx942')", RD_UNKNOWN },
		{ "all(gpus, .gfx == 'gfx1100')", RD_FALSE },
		{ "any(empty, .x == 1)", RD_FALSE },
		{ "all(empty, .x == 1)", RD_TRUE },
		{ "any(lost, .x == 1)", RD_UNKNOWN },
		{ "any(words, . == 'nomodeset')", RD_TRUE },
		{ "any(gpus, any(.links, .to == 'a'))", RD_TRUE },
		{ "any(gpus, count(.links) == 0)", RD_TRUE },
		{ "min(gpus, .vram) >= 24GiB", RD_FALSE },
		{ "min(gpus, .vram) >= 23GiB", RD_TRUE },
		{ "max(gpus, .vram) == 206141652992", RD_TRUE },
		{ "min(empty, .x) == 0", RD_TRUE },
		{ "gpus[1].vram < gpus[0].vram", RD_TRUE },
		{ "gpus[9].vram == 0", RD_TRUE },
		{ "map['flash-attn'] == \"2.8\"", RD_TRUE },
		{ "map[\"torch\"] == ''", RD_TRUE },
		{ "version(kernel) > version('6.9')", RD_TRUE },
		{ "version(rocm) < version('7.14')", RD_TRUE },
		{ "version(rocm) > version('7.2.4')", RD_TRUE },
		{ "(b || s == 'x') && true", RD_TRUE },
		{ "1024KiB == 1MiB", RD_TRUE },
	};
	struct world *w = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_expr *e;

		e = rd_expr_parse(rows[i].text, w->schema, NULL, &err);
		if (!e)
			fail_msg("%s: %s", rows[i].text, err.message);
		if (rd_expr_eval(e, w->facts, NULL, NULL) != rows[i].result)
			fail_msg("%s: not %d", rows[i].text, rows[i].result);
		rd_expr_free(e);
	}
}

static void mistakes_are_told_with_their_column(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "n ==", "column 5: a value is wanted here" },
		{ "m == 1", "column 1: no probe provides 'm'" },
		{ "gpus[0].name == 'x'", "column 9: no probe provides 'gpus[].name'" },
		{ "gpus.gfx == 'x'", "column 6: 'gfx' is asked of a list; any(), all() or an index reach its items" },
		{ "n == 'x'", "column 3: '==' compares unlike types" },
		{ "s < 'x'", "column 3: '<' has no order to go by; version() compares versions" },
		{ "n", "column 1: the expression is neither true nor false" },
		{ "n && b", "column 1: this is neither true nor false" },
		{ "s == 'x", "column 6: the string that begins here has no end" },
		{ "b b", "column 3: nothing is wanted after the end of the expression" },
		{ "len(gpus) == 1", "column 1: there is no function 'len'" },
		{ "version(s) == version('1')", "column 9: 's' is not declared as a version" },
		{ "version(kernel) == version(rocm)", "column 17: the two versions are of different schemes" },
		{ "version(kernel)", "column 16: version() is there to be compared" },
		{ "any(n, b)", "column 5: 'n' is no list" },
		{ ".gfx == 'x'", "column 1: '.' stands for the item of a list, and there is none here" },
		{ "n == 24GB", "column 8: a number cannot go on like this; suffixes are KiB, MiB and GiB" },
		{ "gpus == gpus", "column 6: '==' compares single values only" },
		{ "", "column 1: a value is wanted here" },
		{ "(b", "column 3: ')' is wanted here" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_expr *e = rd_expr_parse(rows[i].text, w->schema, NULL, &err);

		if (e)
			fail_msg("'%s' was taken", rows[i].text);
		assert_string_equal(err.message, rows[i].message);
		rd_error_clear(&err);
	}
}

static void depth_and_length_have_limits(void **state)
{
	struct rd_strbuf deep = RD_STRBUF_INIT, nots = RD_STRBUF_INIT, text = RD_STRBUF_INIT;
	struct world *w = *state;

	for (int i = 0; i < 1000; i++) {
		rd_strbuf_addc(&deep, '(');
		rd_strbuf_addc(&nots, '!');
	}
	for (int i = 0; i < 5000; i++)
		rd_strbuf_addc(&text, ' ');
	rd_strbuf_add(&text, "b");
	assert_null(rd_expr_parse(deep.buf, w->schema, NULL, NULL));
	assert_null(rd_expr_parse(nots.buf, w->schema, NULL, NULL));
	assert_null(rd_expr_parse(text.buf, w->schema, NULL, NULL));
	rd_strbuf_release(&deep);
	rd_strbuf_release(&nots);
	rd_strbuf_release(&text);
}

/* The paths that decided, joined by blanks. */
static char *deciding(struct world *w, const char *text)
{
	struct rd_expr *e = rd_expr_parse(text, w->schema, NULL, NULL);
	struct rd_trace trace = { 0 };
	struct rd_strbuf sb = RD_STRBUF_INIT;

	assert_non_null(e);
	rd_expr_eval(e, w->facts, NULL, &trace);
	for (size_t i = 0; i < trace.n; i++) {
		char *path = rd_fact_path(trace.facts[i]);

		rd_strbuf_addf(&sb, "%s%s", i ? " " : "", path);
		free(path);
	}
	rd_trace_clear(&trace);
	rd_expr_free(e);
	return rd_strbuf_detach(&sb);
}

static void the_trace_keeps_what_decided(void **state)
{
	static const struct {
		const char *text, *facts;
	} rows[] = {
		{ "b && n == 7", "b n" },
		{ "b && n == 8", "n" },
		{ "n == 8 || b", "b" },
		{ "n == 8 || s == 'x'", "s" },
		{ "b && s == 'x' && n == 7", "s" },
		{ "any(gpus, .vram > 30GiB)", "gpus[0].vram" },
		{ "any(gpus, .vram > 1GiB)", "gpus[0].vram gpus[1].vram" },
		{ "any(gpus, .gfx == 'gfx1')", "gpus[1].gfx" },
		{ "any(gpus, .vram == 1)", "gpus" },
		{ "min(gpus, .vram) < 30GiB", "gpus[1].vram" },
		{ "b && b", "b" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		char *facts = deciding(*state, rows[i].text);

		assert_string_equal(facts, rows[i].facts);
		free(facts);
	}
}

static void all_over_a_list_that_may_be_empty_is_found(void **state)
{
	static const struct {
		const char *text;
		bool is_unguarded;
	} rows[] = {
		{ "all(gpus, .vram > 1)", true },
		{ "count(gpus) > 0 && all(gpus, .vram > 1)", false },
		{ "count(empty) > 0 && all(gpus, .vram > 1)", true },
	};
	struct world *w = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_expr *e = rd_expr_parse(rows[i].text, w->schema, NULL, NULL);
		const char *list = NULL;

		assert_int_equal(rd_expr_has_unguarded_all(e, &list), rows[i].is_unguarded);
		rd_expr_free(e);
	}
}

static void templates_show_values_and_mark_what_is_missing(void **state)
{
	static const struct {
		const char *text, *result;
		bool complete;
	} rows[] = {
		{ "n is ${n}, r ${r}", "n is 7, r 2.5", true },
		{ "words: ${words}", "words: quiet, nomodeset", true },
		{ "$${n}", "${n}", true },
		{ "${s}!", "?!", false },
		{ "${gpus[0].gfx} ${b}", "gfx942 true", true },
	};
	struct world *w = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_template *t = rd_template_parse(rows[i].text, w->schema, NULL, NULL);
		struct rd_strbuf sb = RD_STRBUF_INIT;

		assert_non_null(t);
		assert_int_equal(rd_template_render(t, w->facts, NULL, &sb), rows[i].complete);
		assert_string_equal(sb.buf, rows[i].result);
		rd_strbuf_release(&sb);
		rd_template_free(t);
	}
	assert_null(rd_template_parse("${nothing}", w->schema, NULL, NULL));
	assert_null(rd_template_parse("${n", w->schema, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_out_as_kleene_says),
		cmocka_unit_test(mistakes_are_told_with_their_column),
		cmocka_unit_test(depth_and_length_have_limits),
		cmocka_unit_test(the_trace_keeps_what_decided),
		cmocka_unit_test(all_over_a_list_that_may_be_empty_is_found),
		cmocka_unit_test(templates_show_values_and_mark_what_is_missing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
