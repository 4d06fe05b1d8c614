/* Causes and what follows from them, on small rule sets of their own: the table and the coverage rule of the design. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char *const layers[] = { "host", "hardware", "kernel", "device", "runtime", "framework", "engine" };

static void write_file(const char *dir, const char *name, const char *text)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A folder whose files mask the built-in rules, and whose own rules are @rules; what follows a form feed is in a later file. */
static int load(const char *rules, struct rd_knowledge **ret, struct rd_error *err)
{
	char dir[] = "/tmp/rd-test-XXXXXX";
	rd_auto_free char *folder = NULL, *text = NULL;
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	int r;

	assert_non_null(mkdtemp(dir));
	folder = rd_xasprintf("%s/rules", dir);
	assert_int_equal(mkdir(folder, 0755), 0);
	for (size_t i = 0; i < RD_ARRAY_SIZE(layers); i++) {
		rd_auto_free char *name = rd_xasprintf("%s.json", layers[i]);

		write_file(folder, name, "");
	}
	text = rd_xasprintf("{\"schema\": \"rocm-doctor/rules/1\", \"rules\": [%.*s]}", (int)strcspn(rules, "\f"), rules);
	write_file(folder, "zz-test.json", text);
	if (strchr(rules, '\f')) {
		text = (free(text),
		        rd_xasprintf("{\"schema\": \"rocm-doctor/rules/1\", \"rules\": [%s]}", strchr(rules, '\f') + 1));
		write_file(folder, "zz-test2.json", text);
	}
	rd_strv_push(&dirs, dir);
	r = rd_knowledge_load(&dirs, ret, err);
	text = (free(text), rd_xasprintf("rm -r %s", dir));
	assert_int_equal(system(text), 0);
	return r;
}

#define RULE(id, severity, when, more) \
	"{\"id\": \"" id "\", \"severity\": \"" severity "\", \"when\": \"" when "\", \"title\": \"t\", " \
	"\"detail\": \"d\", \"references\": [\"r\"]" more "}"
#define EXPLAINS(ids) ", \"explains\": [" ids "]"
#define PER_GPU ", \"for_each\": \"gpus\", \"subject\": \"${.pci.address}\", \"subject_kind\": \"gpu\""
#define PER_ENVIRONMENT ", \"for_each\": \"python\", \"subject\": \"${.prefix}\", \"subject_kind\": \"environment\""

/*
 * "id[@subject]=role<cause,cause?unchecked" for each finding, then "~id" for each masked and "?id" for each undetermined
 * rule, joined by blanks.
 */
static char *verdict(const char *rules, const char *facts_text)
{
	struct rd_knowledge *k = NULL;
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fact *facts = rd_facts_new();
	struct rd_strbuf sb = RD_STRBUF_INIT;
	struct rd_diagnosis *d;
	cJSON *json = cJSON_Parse(facts_text);

	if (load(rules, &k, &err) < 0)
		fail_msg("%s", err.message);
	if (rd_facts_from_json(facts, json, rd_knowledge_schema(k), &err) < 0)
		fail_msg("%s", err.message);
	d = rd_diagnose(k, facts, NULL);
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));) {
		rd_strbuf_addf(&sb, "%s%s", sb.len ? " " : "", strchr(f->rule->id, '/') + 1);
		if (f->subject)
			rd_strbuf_addf(&sb, "@%s", f->subject);
		rd_strbuf_addf(&sb, "=%s", rd_role_name(f->role));
		for (size_t i = 0; i < f->caused_by_n; i++)
			rd_strbuf_addf(&sb, "%c%s", i ? ',' : '<', strchr(f->caused_by[i], '/') + 1);
		for (size_t i = 0; i < f->unchecked_causes_n; i++)
			rd_strbuf_addf(&sb, "?%s", strchr(f->unchecked_causes[i], '/') + 1);
	}
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(d, f));)
		rd_strbuf_addf(&sb, "%s%c%s", sb.len ? " " : "", f->masked ? '~' : '?', strchr(f->rule->id, '/') + 1);
	rd_diagnosis_free(d);
	rd_fact_free(facts);
	rd_knowledge_free(k);
	cJSON_Delete(json);
	return rd_strbuf_detach(&sb);
}

static void check(const char *rules, const char *facts, const char *wanted)
{
	rd_auto_free char *got = verdict(rules, facts);

	assert_string_equal(got, wanted);
}

static const char chain[] =
	RULE("kernel/a", "error", "host.os.id == 'a'",
             EXPLAINS("\"kernel/b\"")) "," RULE("kernel/b", "error", "kernel.amdgpu.state == 'b'",
                                                EXPLAINS("\"device/c\"")) "," RULE("device/c", "error", "host.wsl", "");

static void a_true_cause_makes_a_consequence_and_the_nearest_is_named(void **state)
{
	(void)state;
	check(chain, "{\"host\": {\"os\": {\"id\": \"a\"}, \"wsl\": true}, \"kernel\": {\"amdgpu\": {\"state\": \"b\"}}}",
	      "a=root-cause b=consequence<a c=consequence<b");
}

static void causes_reach_on_through_unknown_findings(void **state)
{
	(void)state;
	check(chain, "{\"host\": {\"os\": {\"id\": \"a\"}, \"wsl\": true}, \"kernel\": {\"amdgpu\": {\"state\": null}}}",
	      "a=root-cause c=consequence<a ~b");
}

static void causes_do_not_reach_through_false_findings(void **state)
{
	(void)state;
	check(chain, "{\"host\": {\"os\": {\"id\": \"a\"}, \"wsl\": true}, \"kernel\": {\"amdgpu\": {\"state\": \"\"}}}",
	      "a=root-cause c=root-cause");
}

static void unknown_causes_are_named_beside_a_root(void **state)
{
	(void)state;
	check(chain, "{\"host\": {\"os\": {\"id\": null}, \"wsl\": true}, \"kernel\": {\"amdgpu\": {\"state\": \"\"}}}",
	      "c=root-cause ?a");
	check(chain, "{\"host\": {\"os\": {\"id\": \"\"}, \"wsl\": true}, \"kernel\": {\"amdgpu\": {\"state\": null}}}",
	      "c=root-cause?b ?b");
}

static void a_warning_is_a_root_only_where_an_error_follows(void **state)
{
	static const char rules[] = RULE("kernel/w", "warning", "host.os.id == 'a'", EXPLAINS("\"kernel/i\"")) "," RULE(
		"kernel/i", "info", "true", EXPLAINS("\"device/e\"")) "," RULE("device/e", "error", "host.wsl",
	                                                                       "") "," RULE("host/x", "warning", "true", "");

	(void)state;
	check(rules, "{\"host\": {\"os\": {\"id\": \"a\"}, \"wsl\": true}}",
	      "w=root-cause i=consequence<w e=consequence<i x=independent");
	check(rules, "{\"host\": {\"os\": {\"id\": \"a\"}, \"wsl\": false}}", "i=consequence<w x=independent w=independent");
}

static const char per_gpu[] =
	RULE("kernel/not-bound", "error", ".driver == ''", PER_GPU EXPLAINS("\"kernel/no-gpu\"")) "," RULE(
		"kernel/elsewhere", "error", ".driver == 'vfio-pci'",
		PER_GPU EXPLAINS("\"kernel/no-gpu\"")) "," RULE("kernel/no-gpu", "error", "kernel.kfd.gpu_nodes == 0", "");

static void causes_of_some_gpus_do_not_silence_what_concerns_all(void **state)
{
	(void)state;
	check(per_gpu,
	      "{\"kernel\": {\"kfd\": {\"gpu_nodes\": 0}}, \"gpus\": [{\"pci\": {\"address\": \"a\"}, \"driver\": \"\"},"
	      " {\"pci\": {\"address\": \"b\"}, \"driver\": \"amdgpu\"}]}",
	      "no-gpu=root-cause not-bound@a=root-cause");
}

static void causes_of_different_kinds_cover_together(void **state)
{
	(void)state;
	check(per_gpu,
	      "{\"kernel\": {\"kfd\": {\"gpu_nodes\": 0}}, \"gpus\": [{\"pci\": {\"address\": \"a\"}, \"driver\": \"\"},"
	      " {\"pci\": {\"address\": \"b\"}, \"driver\": \"vfio-pci\"}]}",
	      "elsewhere@b=root-cause not-bound@a=root-cause no-gpu=consequence<elsewhere,not-bound");
}

static void an_environment_explains_only_itself(void **state)
{
	static const char rules[] =
		RULE("framework/cuda", "error", ".torch.build == 'cuda'",
	             PER_ENVIRONMENT EXPLAINS(
			     "\"framework/blind\"")) "," RULE("kernel/off", "error", "host.wsl",
	                                                      EXPLAINS("\"framework/blind\"")) "," RULE("framework/blind",
	                                                                                                "error", "true",
	                                                                                                PER_ENVIRONMENT
	                                                                                                ", \"summary\": true");
	static const char two[] = "\"python\": [{\"prefix\": \"/a\", \"torch\": {\"build\": \"cuda\"}},"
				  " {\"prefix\": \"/b\", \"torch\": {\"build\": \"rocm\"}}]";
	rd_auto_free char *alone = rd_xasprintf("{%s}", two), *both = rd_xasprintf("{%s, \"host\": {\"wsl\": true}}", two);

	(void)state;
	/* A summary holds only where something true explains it. */
	check(rules, alone, "cuda@/a=root-cause blind@/a=consequence<cuda");
	check(rules, both, "off=root-cause cuda@/a=root-cause blind@/a=consequence<cuda,off blind@/b=consequence<off");
}

static void items_with_one_subject_are_one_finding(void **state)
{
	static const char rules[] =
		"{\"id\": \"kernel/dup\", \"severity\": \"error\", \"for_each\": \"kernel.modprobe.blacklist\","
		" \"subject\": \"${.file}\", \"subject_kind\": \"file\", \"when\": \".module == 'amdgpu'\","
		" \"title\": \"t\", \"detail\": \"d\", \"references\": [\"r\"]}";

	(void)state;
	check(rules,
	      "{\"kernel\": {\"modprobe\": {\"blacklist\": [{\"module\": \"amdgpu\", \"file\": \"/x\"},"
	      " {\"module\": \"amdgpu\", \"file\": \"/x\"}, {\"module\": \"nouveau\", \"file\": \"/y\"}]}}}",
	      "dup@/x=root-cause");
}

static void a_list_that_is_unknown_leaves_the_rule_undetermined(void **state)
{
	(void)state;
	check(per_gpu, "{\"kernel\": {\"kfd\": {\"gpu_nodes\": 1}}, \"gpus\": null}", "?elsewhere ?not-bound");
}

static void mistakes_in_a_file_of_rules_are_told_with_their_place(void **state)
{
	static const struct {
		const char *rules, *message;
	} rows[] = {
		{ RULE("kernel/a", "error", "host.os.id == ", ""), "/rules/0/when: column 15: a value is wanted here" },
		{ RULE("kernel/a", "error", "host.wsl", ", \"next\": [\"x\", {\"if\": \"host.wsl ==\", \"text\": \"x\"}]"),
		  "/rules/0/next/1: column 12: a value is wanted here" },
		{ RULE("kernel/a", "error", "host.wsl", ", \"next\": [{\"if\": \"host.wsl\"}]"),
		  "/rules/0/next: a string is wanted, or an object of 'if' and 'text', both strings" },
		{ RULE("kernel/a", "error", "host.wsl",
		       ", \"next\": [{\"if\": \"host.wsl\", \"text\": \"x\", \"for\": \"y\"}]"),
		  "/rules/0/next: a string is wanted, or an object of 'if' and 'text', both strings" },
		{ RULE("kernel/a", "bad", "true", ""), "/rules/0/severity: 'error', 'warning' or 'info' is wanted" },
		{ RULE("kernel/a", "error", "true", ", \"wen\": 1"), "/rules/0/wen: no such key in a rule" },
		{ RULE("nowhere/a", "error", "true", ""), "/rules/0/id: the id names no layer" },
		{ RULE("kernel/A", "error", "true", ""), "/rules/0/id: an id has lower-case letters, digits and '-' only" },
		{ RULE("kernel/a", "error", "true", EXPLAINS("\"kernel/b\"")), "explains names 'kernel/b', which no rule has" },
		{ RULE("kernel/a", "error", "true", EXPLAINS("\"kernel/b\"")) "," RULE("kernel/b", "error", "true",
		                                                                       EXPLAINS("\"kernel/a\"")),
		  "causes go round in a circle: kernel/a -> kernel/b -> kernel/a" },
		{ RULE("kernel/a", "error", "true", ", \"id\": \"kernel/b\""), "/rules/0/id: the key stands there twice" },
		{ RULE("kernel/a", "error", "true", ", \"subject\": \"x\""), "subject and subject_kind belong together" },
		{ "{\"id\": \"kernel/a\", \"enabled\": false}", "/rules/0: no rule before it is called 'kernel/a'" },
		{ "{\"id\": \"kernel/a\", \"enabled\": true}", "/rules/0/severity: this key is missing" },
		{ "{\"id\": \"kernel/a\"}", "/rules/0/severity: this key is missing" },
		{ "{\"id\": ", "no JSON" },
		{ RULE("kernel/a", "error", "true", ", \"for_each\": \"host.os.id\""),
		  "/rules/0/for_each: this names no list" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_knowledge *k = NULL;

		if (load(rows[i].rules, &k, &err) >= 0)
			fail_msg("taken: %s", rows[i].rules);
		if (!strstr(err.message, rows[i].message))
			fail_msg("wanted '%s', got '%s'", rows[i].message, err.message);
		assert_non_null(strstr(err.message, "zz-test.json"));
		rd_error_clear(&err);
	}
}

static void a_later_record_replaces_and_can_switch_off(void **state)
{
	(void)state;
	check(RULE("kernel/a", "error", "true", "") "\f" RULE("kernel/a", "warning", "true",
	                                                      ", \"enabled\": false") "," RULE("kernel/b", "error", "host.wsl",
	                                                                                       EXPLAINS("\"kernel/a\"")),
	      "{\"host\": {\"wsl\": true}}", "b=root-cause");
}

/* A table that nobody can read would have no rows, and a host be healthy by it. */
static void a_site_s_table_that_cannot_be_read_is_refused(void **state)
{
	static const struct {
		const char *name, *text, *message; /* NULL: taken */
	} rows[] = {
		{ "tables/gpus.json", "{", "gpus.json: line 1, column 2: no JSON" },
		{ "tables/gpus.json", "[]", "gpus.json: /schema: 'rocm-doctor/table/1' is wanted" },
		{ "tables/gpus.json", "{\"schema\": \"rocm-doctor/table/2\"}",
		  "gpus.json: /schema: 'rocm-doctor/table/1' is wanted" },
		{ "tables/gpus.json", "{\"schema\": \"rocm-doctor/table/1\", \"devices\": {}}",
		  "gpus.json: /devices: an array is wanted" },
		{ "tables/engines.json", "{\"schema\": \"rocm-doctor/table/1\", \"vllm\": []}",
		  "engines.json: /vllm: an object is wanted" },
		{ "tables/gpus.json", "{\"schema\": \"rocm-doctor/table/1\", \"devices\": [], \"note\": {}}", NULL },
		{ "tables/ours.json", "{\"schema\": \"rocm-doctor/table/1\", \"devices\": {}}", NULL },
		{ "tables/gpus.json", "", NULL },
		{ "profiles/vllm.json", "{\"schema\": 1}", "vllm.json: /schema: 'rocm-doctor/profile/1' is wanted" },
		{ "profiles/vllm.json", "{\"schema\": \"rocm-doctor/profile/1\", \"wants\": 1}",
		  "vllm.json: /wants: an object is wanted" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		char dir[] = "/tmp/rocm-doctor-test-XXXXXX";
		rd_auto_free char *tables = NULL, *profiles = NULL, *rm = NULL;
		rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
		struct rd_error err = RD_ERROR_INIT;
		struct rd_knowledge *k = NULL;

		assert_non_null(mkdtemp(dir));
		tables = rd_xasprintf("%s/tables", dir);
		profiles = rd_xasprintf("%s/profiles", dir);
		assert_int_equal(mkdir(tables, 0755) + mkdir(profiles, 0755), 0);
		write_file(dir, rows[i].name, rows[i].text);
		rd_strv_push(&dirs, dir);
		if ((rd_knowledge_load(&dirs, &k, &err) >= 0) == (rows[i].message != NULL))
			fail_msg("%s: '%s'", rows[i].text, err.message);
		if (rows[i].message && !strstr(err.message, rows[i].message))
			fail_msg("wanted '%s', got '%s'", rows[i].message, err.message);
		rd_error_clear(&err);
		rd_knowledge_free(k);
		rm = rd_xasprintf("rm -r %s", dir);
		assert_int_equal(system(rm), 0);
	}
}

/* The names of files order what is in one folder, and no more. */
static void later_folders_win_whatever_their_files_are_called(void **state)
{
	static const char one[] = "{\"schema\": \"rocm-doctor/rules/1\", \"rules\": [%s]}";
	char first[] = "/tmp/rocm-doctor-test-XXXXXX", second[] = "/tmp/rocm-doctor-test-XXXXXX";
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct rd_knowledge *k = NULL;
	rd_auto_free char *rules_a = NULL, *rules_b = NULL, *text_a = NULL, *text_b = NULL, *rm = NULL;

	(void)state;
	assert_non_null(mkdtemp(first));
	assert_non_null(mkdtemp(second));
	rules_a = rd_xasprintf("%s/rules", first);
	rules_b = rd_xasprintf("%s/rules", second);
	assert_int_equal(mkdir(rules_a, 0755), 0);
	assert_int_equal(mkdir(rules_b, 0755), 0);
	/* "acme" stands before all that is built in. */
	text_a = rd_xasprintf(one,
	                      RULE("kernel/nomodeset", "info", "host.wsl", "") "," RULE("kernel/a", "info", "host.wsl", ""));
	text_b = rd_xasprintf(one, "{\"id\": \"kernel/headers-missing\", \"enabled\": false}," RULE("kernel/a", "warning",
	                                                                                            "host.wsl", ""));
	write_file(rules_a, "zz-acme.json", text_a);
	write_file(rules_b, "acme.json", text_b);
	rd_strv_push(&dirs, first);
	rd_strv_push(&dirs, second);
	assert_int_equal(rd_knowledge_load(&dirs, &k, NULL), 0);
	assert_int_equal(rd_knowledge_rule(k, "kernel/nomodeset")->severity, RD_INFO);
	assert_int_equal(rd_knowledge_rule(k, "kernel/a")->severity, RD_WARNING);
	assert_false(rd_knowledge_rule(k, "kernel/headers-missing")->enabled);
	rd_knowledge_free(k);
	rm = rd_xasprintf("rm -r %s %s", first, second);
	assert_int_equal(system(rm), 0);
}

static void two_keys_are_enough_to_switch_off(void **state)
{
	(void)state;
	check(RULE("kernel/a", "error", "true", "") "," RULE("kernel/b", "error", "true",
	                                                     "") "\f"
	                                                         "{\"id\": \"kernel/a\", \"enabled\": false}",
	      "{}", "b=root-cause");
}

static void the_selection_hides_but_does_not_change_roles(void **state)
{
	struct rd_knowledge *k = NULL;
	struct rd_fact *facts = rd_facts_new();
	rd_auto_strv struct rd_strv only = RD_STRV_INIT;
	struct rd_selection selection = { .only = &only };
	struct rd_diagnosis *d;
	struct rd_report *report;

	(void)state;
	assert_int_equal(load(chain, &k, NULL), 0);
	rd_fact_set_str(facts, "host.os.id", "a", NULL);
	rd_fact_set_str(facts, "kernel.amdgpu.state", "b", NULL);
	rd_strv_push(&only, "kernel/b");
	d = rd_diagnose(k, facts, NULL);
	report = rd_report_new(k, facts, d, &selection);
	assert_int_equal(report->findings_n, 1);
	assert_int_equal(report->findings[0]->role, RD_CONSEQUENCE);
	assert_int_equal(report->status, RD_STATUS_ERROR);
	assert_int_equal(report->layers[RD_LAYER_KERNEL].status, RD_STATUS_BLOCKED);
	assert_int_equal(report->layers[RD_LAYER_DEVICE].status, RD_STATUS_SKIPPED);
	assert_true(rd_report_lacks_cause(report, report->findings[0]));
	assert_string_equal(report->summary, "kernel/b: t (follows from what was not selected)");
	rd_report_free(report);
	rd_diagnosis_free(d);
	rd_fact_free(facts);
	rd_knowledge_free(k);
}

/* What the steps below come to on a host of this package manager; NULL: not known. */
static void steps_with(const char *manager, size_t n, const char *const wanted[])
{
	static const char rules[] =
		RULE("host/x", "error", "host.wsl",
	             ", \"next\": [\"always\", {\"if\": \"runtime.commands.tool == 'apt'\", \"text\": \"apt ${host.os.id}\"},"
	             " {\"if\": \"runtime.commands.tool == 'dnf'\", \"text\": \"dnf ${host.os.id}\"},"
	             " {\"if\": \"!known(runtime.commands.tool) || runtime.commands.tool == ''\", \"text\": \"else\"}]");
	struct rd_knowledge *k = NULL;
	struct rd_fact *facts = rd_facts_new();
	const struct rd_finding *f;
	struct rd_diagnosis *d;

	assert_int_equal(load(rules, &k, NULL), 0);
	rd_fact_set_bool(facts, "host.wsl", true, NULL);
	rd_fact_set_str(facts, "host.os.id", "x", NULL);
	if (manager)
		rd_fact_set_str(facts, "runtime.commands.tool", manager, NULL);
	else
		rd_fact_set_unknown(facts, "runtime.commands.tool", -EACCES, "/var/lib/dpkg");
	d = rd_diagnose(k, facts, NULL);
	f = rd_diagnosis_next(d, NULL);
	assert_non_null(f);
	assert_int_equal(f->next_n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(f->next[i], wanted[i]);
	rd_diagnosis_free(d);
	rd_fact_free(facts);
	rd_knowledge_free(k);
}

static void a_step_stands_only_where_its_condition_holds(void **state)
{
	(void)state;
	steps_with("apt", 2, (const char *[]){ "always", "apt x" });
	steps_with("dnf", 2, (const char *[]){ "always", "dnf x" });
	steps_with("zypper", 1, (const char *[]){ "always" });
	steps_with("", 2, (const char *[]){ "always", "else" });
	steps_with(NULL, 2, (const char *[]){ "always", "else" });
}

static const char waiting[] =
	RULE("kernel/a", "error", "host.os.id == 'a'",
             EXPLAINS("\"device/masked\", \"device/clear\"")) "," RULE("device/masked", "error", "kernel.amdgpu.state == 'b'",
                                                                       "") "," RULE("device/clear", "error", "host.wsl",
                                                                                    "") "," RULE("device/worth-mending",
                                                                                                 "warning", "host.secure_boot",
                                                                                                 "");

/* What a selection of the rules above comes to on a host on which kernel/a is true. */
static void select_of_waiting(const char *glob, bool known, bool warned, bool unjudged, enum rd_status layer)
{
	struct rd_knowledge *k = NULL;
	struct rd_fact *facts = rd_facts_new();
	rd_auto_strv struct rd_strv only = RD_STRV_INIT;
	struct rd_selection selection = { .only = &only };
	struct rd_diagnosis *d;
	struct rd_report *report;

	assert_int_equal(load(waiting, &k, NULL), 0);
	rd_fact_set_str(facts, "host.os.id", "a", NULL);
	if (known)
		rd_fact_set_str(facts, "kernel.amdgpu.state", "c", NULL);
	else
		rd_fact_set_unknown(facts, "kernel.amdgpu.state", -EACCES, "/sys/module");
	rd_fact_set_bool(facts, "host.secure_boot", warned, NULL);
	rd_strv_push(&only, glob);
	d = rd_diagnose(k, facts, NULL);
	report = rd_report_new(k, facts, d, &selection);
	assert_int_equal(report->unjudged, unjudged);
	assert_int_equal(report->layers[RD_LAYER_DEVICE].status, layer);
	rd_report_free(report);
	rd_diagnosis_free(d);
	rd_fact_free(facts);
	rd_knowledge_free(k);
}

static void what_waits_for_a_cause_that_was_not_selected_is_no_verdict(void **state)
{
	(void)state;
	select_of_waiting("device/clear", true, false, true, RD_STATUS_BLOCKED);
	select_of_waiting("device/masked", true, false, true, RD_STATUS_BLOCKED);
	select_of_waiting("device/masked", false, false, true, RD_STATUS_BLOCKED);
	/* A warning beside it does not make it one. */
	select_of_waiting("device/*", true, true, true, RD_STATUS_WARNING);
	select_of_waiting("*", true, false, false, RD_STATUS_BLOCKED);
	select_of_waiting("*", false, false, false, RD_STATUS_BLOCKED);
}

/* "${.fact}" alone is a step that may not exist; within a sentence it is a gap. */
static void a_step_that_is_an_empty_fact_is_left_out(void **state)
{
	static const char rules[] =
		RULE("host/x", "error", "host.wsl",
	             ", \"next\": [\"${host.os.id}\", \"${kernel.amdgpu.state}\", \"look at ${host.os.id}\"]");
	struct rd_knowledge *k = NULL;
	struct rd_fact *facts = rd_facts_new();
	const struct rd_finding *f;
	struct rd_diagnosis *d;

	(void)state;
	assert_int_equal(load(rules, &k, NULL), 0);
	rd_fact_set_bool(facts, "host.wsl", true, NULL);
	rd_fact_set_str(facts, "host.os.id", "", NULL);
	rd_fact_set_str(facts, "kernel.amdgpu.state", "run this", NULL);
	d = rd_diagnose(k, facts, NULL);
	f = rd_diagnosis_next(d, NULL);
	assert_int_equal(f->next_n, 2);
	assert_string_equal(f->next[0], "run this");
	assert_string_equal(f->next[1], "look at ?");
	rd_diagnosis_free(d);
	rd_fact_free(facts);
	rd_knowledge_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_true_cause_makes_a_consequence_and_the_nearest_is_named),
		cmocka_unit_test(causes_reach_on_through_unknown_findings),
		cmocka_unit_test(causes_do_not_reach_through_false_findings),
		cmocka_unit_test(unknown_causes_are_named_beside_a_root),
		cmocka_unit_test(a_warning_is_a_root_only_where_an_error_follows),
		cmocka_unit_test(causes_of_some_gpus_do_not_silence_what_concerns_all),
		cmocka_unit_test(causes_of_different_kinds_cover_together),
		cmocka_unit_test(an_environment_explains_only_itself),
		cmocka_unit_test(items_with_one_subject_are_one_finding),
		cmocka_unit_test(a_list_that_is_unknown_leaves_the_rule_undetermined),
		cmocka_unit_test(mistakes_in_a_file_of_rules_are_told_with_their_place),
		cmocka_unit_test(a_later_record_replaces_and_can_switch_off),
		cmocka_unit_test(later_folders_win_whatever_their_files_are_called),
		cmocka_unit_test(a_site_s_table_that_cannot_be_read_is_refused),
		cmocka_unit_test(two_keys_are_enough_to_switch_off),
		cmocka_unit_test(the_selection_hides_but_does_not_change_roles),
		cmocka_unit_test(what_waits_for_a_cause_that_was_not_selected_is_no_verdict),
		cmocka_unit_test(a_step_that_is_an_empty_fact_is_left_out),
		cmocka_unit_test(a_step_stands_only_where_its_condition_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
