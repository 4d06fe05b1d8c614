/* From records of fixes to a plan: which parts of a record count, and what becomes of the rest where one part cannot be. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char *const layers[] = { "host", "hardware", "kernel", "device", "runtime", "framework", "engine" };

/* A folder of knowledge whose files mask the built-in ones. */
static int load(const char *rules, const char *fixes, struct rd_knowledge **ret, struct rd_error *err)
{
	rd_auto_free char *rules_text = rd_xasprintf("{\"schema\": \"rocm-doctor/rules/1\", \"rules\": [%s]}", rules);
	rd_auto_free char *fixes_text = rd_xasprintf("{\"schema\": \"rocm-doctor/fixes/1\", \"fixes\": [%s]}", fixes);
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct tree tree;
	int r;

	tree_make(&tree);
	for (size_t i = 0; i < RD_ARRAY_SIZE(layers); i++) {
		rd_auto_free char *name = rd_xasprintf("rules/%s.json", layers[i]);

		tree_file(&tree, name, "");
	}
	tree_file(&tree, "rules/zz.json", rules_text);
	tree_file(&tree, "fixes/zz.json", fixes_text);
	rd_strv_push(&dirs, tree.dir);
	r = rd_knowledge_load(&dirs, ret, err);
	tree_remove(&tree);
	return r;
}

#define RULE(id, fix) \
	"{\"id\": \"" id "\", \"severity\": \"error\", \"when\": \"host.wsl\", \"title\": \"t\", \"detail\": \"d\", " \
	"\"references\": [\"r\"], \"fixes\": [\"" fix "\"]}"
#define FIX(id, rest) "{\"id\": \"" id "\", \"summary\": \"s\", " rest "}"

/* "action" for each step, then "-text" and ":reason" for each piece of advice. On a host that has sysctl.d and nothing else. */
static char *planned(const char *rules, const char *fixes)
{
	static const struct rd_plan_options options = { NULL, NULL, -1 };
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fact *facts = rd_facts_new();
	struct rd_strbuf sb = RD_STRBUF_INIT;
	struct rd_sysroot *sr = NULL;
	struct rd_plan *plan = NULL;
	struct rd_diagnosis *d;
	struct tree tree;

	tree_make(&tree);
	tree_file(&tree, "proc/sys/kernel/numa_balancing", "1\n");
	tree_file(&tree, "proc/sys/vm/max_map_count", "1\n");
	assert_int_equal(rd_sysroot_open(tree.dir, &sr, NULL), 0);
	if (load(rules, fixes, &k, &err) < 0)
		fail_msg("%s", err.message);
	rd_fact_set_bool(facts, "host.wsl", true, "test");
	rd_fact_set_unknown(facts, "host.os.id", -EACCES, "test");
	d = rd_diagnose(k, facts, NULL);
	assert_int_equal(rd_plan_build(k, d, facts, sr, &options, &plan, &err), 0);
	for (size_t i = 0; i < plan->n; i++)
		rd_strbuf_addf(&sb, "%s%s", sb.len ? " " : "", plan->steps[i]->action->name);
	for (size_t i = 0; i < plan->advice_n; i++)
		rd_strbuf_addf(&sb, "%s-%s%s%.5s", sb.len ? " " : "", plan->advice[i].text, plan->advice[i].reason ? ":" : "",
		               plan->advice[i].reason ? plan->advice[i].reason : "");
	rd_plan_free(plan);
	rd_diagnosis_free(d);
	rd_sysroot_free(sr);
	rd_knowledge_free(k);
	rd_fact_free(facts);
	tree_remove(&tree);
	return rd_strbuf_detach(&sb);
}

static void check(const char *rules, const char *fixes, const char *wanted)
{
	rd_auto_free char *got = planned(rules, fixes);

	assert_string_equal(got, wanted);
}

#define SYSCTL(name, more) "{\"do\": \"sysctl.set\", \"name\": \"" name "\", \"value\": \"0\"" more "}"

static void a_part_that_is_for_one_rule_counts_for_that_rule_alone(void **state)
{
	static const char fix[] =
		FIX("f", "\"actions\": [" SYSCTL("kernel.numa_balancing", ", \"for\": \"host/a\"") ", " SYSCTL(
				 "vm.max_map_count",
				 ", \"for\": \"host/*\"") "], \"advice\": [{\"for\": \"kernel/*\", \"text\": \"x\"}, \"y\"]");

	(void)state;
	check(RULE("host/a", "f"), fix, "sysctl.set sysctl.set -y");
	check(RULE("host/b", "f"), fix, "sysctl.set -y");
	check(RULE("kernel/c", "f"), fix, "-x -y");
}

/* Nothing on this host can install packages or rebuild an initramfs. */
static void what_stands_behind_a_part_that_cannot_be_is_not_done(void **state)
{
	static const char install[] = "{\"do\": \"package.install\", \"packages\": \"x\"}";
	static const char unknown[] = "{\"do\": \"package.install\", \"packages\": \"${host.os.id}\"}";
	static const char unsure[] = SYSCTL("vm.max_map_count", ", \"if\": \"host.os.id == 'x'\"");
	rd_auto_free char *refused =
		rd_xasprintf(FIX("f", "\"actions\": [%s, %s], \"advice\": [\"y\"]"), install, SYSCTL("vm.max_map_count", ""));
	rd_auto_free char *before = rd_xasprintf(FIX("f", "\"actions\": [%s, %s]"), SYSCTL("vm.max_map_count", ""), install);
	rd_auto_free char *without = rd_xasprintf(FIX("f", "\"actions\": [%s, %s]"), unknown, SYSCTL("vm.max_map_count", ""));
	rd_auto_free char *perhaps =
		rd_xasprintf(FIX("f", "\"actions\": [%s, %s]"), unsure, SYSCTL("kernel.numa_balancing", ""));
	rd_auto_free char *both = rd_xasprintf(FIX("f", "\"actions\": [%s, %s]") ", " FIX("g", "\"actions\": [%s]"), install,
	                                       SYSCTL("vm.max_map_count", ""), SYSCTL("vm.max_map_count", ""));

	(void)state;
	check(RULE("host/a", "f"), refused, "-s:neith -y");
	check(RULE("host/a", "f"), before, "sysctl.set -s:neith");
	check(RULE("host/a", "f"), without, "-s:somet");
	check(RULE("host/a", "f"), perhaps, "-s:somet");
	/* Another fix asks for the same, and it hangs on nothing there. */
	check(RULE("host/a", "f") ", " RULE("host/b", "g"), both, "sysctl.set -s:neith");
}

static void an_id_that_is_there_twice_in_one_file_is_a_mistake(void **state)
{
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;

	(void)state;
	assert_true(load(RULE("host/a", "f") ", " RULE("host/a", "f"), FIX("f", "\"advice\": [\"y\"]"), &k, &err) < 0);
	assert_non_null(strstr(err.message, "/rules/1/id: 'host/a' is the id of an earlier record"));
	rd_error_clear(&err);
	assert_true(load(RULE("host/a", "f"), FIX("f", "\"advice\": [\"y\"]") ", " FIX("f", "\"advice\": [\"z\"]"), &k, &err) <
	            0);
	assert_non_null(strstr(err.message, "/fixes/1/id: 'f' is the id of an earlier record"));
	rd_error_clear(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_that_is_for_one_rule_counts_for_that_rule_alone),
		cmocka_unit_test(what_stands_behind_a_part_that_cannot_be_is_not_done),
		cmocka_unit_test(an_id_that_is_there_twice_in_one_file_is_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
