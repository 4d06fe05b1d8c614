/* Facts: three states, paths, and what a probe leaves out. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/strv.h"

static void a_path_makes_the_objects_above_it(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	rd_fact_set_str(facts, "a.b.c", "x", "/file");
	assert_string_equal(rd_fact_get_str(facts, "a.b.c"), "x");
	assert_string_equal(rd_fact_source(rd_fact_get(facts, "a.b.c")), "/file");
	assert_null(rd_fact_get(facts, "a.b.d"));
	assert_null(rd_fact_get(facts, "a.b.c.d"));
	rd_fact_free(facts);
}

static void items_of_a_list_are_reached_by_index_and_tell_their_path(void **state)
{
	struct rd_fact *facts = rd_facts_new();
	rd_auto_free char *path = NULL;

	(void)state;
	rd_fact_set_str(rd_fact_append(facts, "gpus", NULL), "pci.address", "b", NULL);
	rd_fact_set_str(rd_fact_append(facts, "gpus", NULL), "pci.address", "a", NULL);
	rd_fact_sort(rd_fact_get_mutable(facts, "gpus"), "pci.address");
	assert_string_equal(rd_fact_get_str(facts, "gpus[0].pci.address"), "a");
	assert_string_equal(rd_fact_get_str(facts, "gpus[1].pci.address"), "b");
	assert_null(rd_fact_get(facts, "gpus[2]"));
	path = rd_fact_path(rd_fact_get(facts, "gpus[1].pci.address"));
	assert_string_equal(path, "gpus[1].pci.address");
	rd_fact_free(facts);
}

static void names_of_a_map_may_hold_anything(void **state)
{
	struct rd_fact *facts = rd_facts_new();
	rd_auto_free char *path = NULL;

	(void)state;
	rd_fact_set_entry(facts, "packages", "zope.interface", "1", NULL);
	assert_string_equal(rd_fact_str(rd_fact_child(rd_fact_get(facts, "packages"), "zope.interface")), "1");
	path = rd_fact_path(rd_fact_at(rd_fact_get(facts, "packages"), 0));
	assert_string_equal(path, "packages[\"zope.interface\"]");
	rd_fact_free(facts);
}

static void unknown_keeps_its_reason_and_is_not_absent(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	rd_fact_set_unknown(facts, "x", -EACCES, "/sys/x");
	rd_fact_set_absent(facts, "y", "/sys/y");
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "x")), RD_FACT_UNKNOWN);
	assert_string_equal(rd_fact_reason(rd_fact_get(facts, "x")), "permission denied");
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "y")), RD_FACT_ABSENT);
	assert_false(rd_fact_is_known(facts, "x"));
	rd_fact_free(facts);
}

static void bytes_that_are_no_utf8_become_text(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	rd_fact_set_str(facts, "x", "a\xff\xc3\xa9z\xc3", NULL);
	assert_string_equal(rd_fact_get_str(facts, "x"), "a\\xff\xc3\xa9z\\xc3");
	rd_fact_free(facts);
}

static int probe_result;

static int run(struct rd_probe_ctx *ctx)
{
	rd_fact_set_str(ctx->facts, "p.said", "yes", "/p");
	rd_fact_set_str(rd_fact_append(ctx->facts, "items", "/i"), "name", "one", "/i");
	return probe_result;
}

static const struct rd_probe probe = {
	.name = "host/test",
	.facts = (const struct rd_fact_decl[]){ { "p.said", RD_STR, "said", "/p", 0 },
	                                        { "p.left", RD_STR, "left out", "/p", 0 },
	                                        { "p.list[]", RD_STRS, "a list left out", "/p", 0 },
	                                        { "items[]", RD_LIST, "items", "/i", 0 },
	                                        { "items[].name", RD_STR, "name", "/i", 0 },
	                                        { "items[].left", RD_INT, "left out", "/i", 0 },
	                                        { 0 } },
	.run = run,
};

static void what_a_finished_probe_left_out_is_absent(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	probe_result = 0;
	assert_int_equal(rd_probe_run(&probe, NULL, facts), 0);
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "p.left")), RD_FACT_ABSENT);
	assert_int_equal(rd_fact_state(rd_fact_get(facts, "items[0].left")), RD_FACT_ABSENT);
	assert_int_equal(rd_fact_kind(rd_fact_get(facts, "p.list")), RD_LIST);
	assert_int_equal(rd_fact_count(rd_fact_get(facts, "p.list")), 0);
	rd_fact_free(facts);
}

static void what_a_failed_probe_left_out_is_unknown(void **state)
{
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	probe_result = -EIO;
	assert_int_equal(rd_probe_run(&probe, NULL, facts), -EIO);
	assert_string_equal(rd_fact_get_str(facts, "p.said"), "yes");
	assert_string_equal(rd_fact_reason(rd_fact_get(facts, "p.left")), "input/output error");
	assert_string_equal(rd_fact_reason(rd_fact_get(facts, "items[0].left")), "input/output error");
	assert_string_equal(rd_fact_get_str(facts, "items[0].name"), "one");
	rd_fact_free(facts);
}

static void a_mistake_of_a_probe_is_found_out(void **state)
{
	static const struct rd_probe *const probes[] = { &probe };
	struct rd_fact *facts = rd_facts_new();
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;
	struct rd_schema *schema = NULL;

	(void)state;
	assert_int_equal(rd_schema_new(probes, 1, &schema, NULL), 0);
	probe_result = 0;
	rd_probe_run(&probe, NULL, facts);
	rd_facts_undeclared(facts, schema, &paths);
	assert_int_equal(paths.n, 0);
	rd_fact_set_int(facts, "p.said", 1, NULL);
	rd_fact_set_int(rd_fact_at_mutable(rd_fact_get_mutable(facts, "items"), 0), "more", 1, NULL);
	rd_facts_undeclared(facts, schema, &paths);
	assert_int_equal(paths.n, 2);
	assert_string_equal(paths.v[0], "p.said");
	assert_string_equal(paths.v[1], "items[0].more");
	rd_schema_free(schema);
	rd_fact_free(facts);
}

static const struct rd_probe other = {
	.name = "host/other",
	.facts = (const struct rd_fact_decl[]){ { "p.said", RD_INT, "said", "/p", 0 }, { 0 } },
};

static void two_probes_may_not_declare_one_fact_with_unlike_kinds(void **state)
{
	static const struct rd_probe *const probes[] = { &probe, &other };
	struct rd_error err = RD_ERROR_INIT;
	struct rd_schema *schema = NULL;

	(void)state;
	assert_int_equal(rd_schema_new(probes, 2, &schema, &err), -EEXIST);
	assert_non_null(err.message);
	rd_error_clear(&err);
}

static int facts_of(const char *text, struct rd_fact *facts, struct rd_error *err)
{
	static const struct rd_probe *const probes[] = { &probe };
	struct rd_schema *schema = NULL;
	cJSON *json = cJSON_Parse(text);
	int r;

	assert_int_equal(rd_schema_new(probes, 1, &schema, NULL), 0);
	r = rd_facts_from_json(facts, json, schema, err);
	cJSON_Delete(json);
	rd_schema_free(schema);
	return r;
}

static void null_in_a_test_is_unknown_and_other_kinds_are_refused(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fact *facts = rd_facts_new();

	(void)state;
	assert_int_equal(facts_of("{\"p\": {\"said\": null}, \"items\": [{\"name\": \"n\"}]}", facts, &err), 0);
	assert_true(rd_fact_is_unknown(facts, "p.said"));
	assert_string_equal(rd_fact_get_str(facts, "items[0].name"), "n");
	assert_int_equal(facts_of("{\"p\": {\"said\": 1}}", facts, &err), -EINVAL);
	rd_error_clear(&err);
	assert_int_equal(facts_of("{\"p\": {\"sad\": 1}}", facts, &err), -EINVAL);
	assert_string_equal(err.message, "no fact 'p.sad'");
	rd_error_clear(&err);
	rd_fact_free(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_makes_the_objects_above_it),
		cmocka_unit_test(items_of_a_list_are_reached_by_index_and_tell_their_path),
		cmocka_unit_test(names_of_a_map_may_hold_anything),
		cmocka_unit_test(unknown_keeps_its_reason_and_is_not_absent),
		cmocka_unit_test(bytes_that_are_no_utf8_become_text),
		cmocka_unit_test(what_a_finished_probe_left_out_is_absent),
		cmocka_unit_test(what_a_failed_probe_left_out_is_unknown),
		cmocka_unit_test(a_mistake_of_a_probe_is_found_out),
		cmocka_unit_test(two_probes_may_not_declare_one_fact_with_unlike_kinds),
		cmocka_unit_test(null_in_a_test_is_unknown_and_other_kinds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
