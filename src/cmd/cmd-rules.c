/* The catalogue: list, show, the facts that rules may read, lint, and the rules' own tests. */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static bool in_layers(const struct rd_app *app, const struct rd_rule *rule)
{
	struct rd_selection selection = { .layers = &app->layers };

	return rd_selection_has(&selection, rule);
}

static cJSON *strings(const char *const *v)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; v && v[i]; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(v[i]));
	return array;
}

static cJSON *step_json(const struct rd_rule *rule, size_t index)
{
	const char *text = rd_template_text(rule->next[index]);
	cJSON *object;

	if (!rule->next_if_text[index])
		return cJSON_CreateString(text);
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "if", rule->next_if_text[index]);
	cJSON_AddStringToObject(object, "text", text);
	return object;
}

/* A rule's texts as they stand in its file. */
static cJSON *rule_json(const struct rd_rule *rule)
{
	cJSON *object = cJSON_CreateObject(), *array;
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;

	cJSON_AddStringToObject(object, "id", rule->id);
	cJSON_AddStringToObject(object, "layer", rd_layer_name(rule->layer));
	cJSON_AddStringToObject(object, "severity", rd_severity_name(rule->severity));
	cJSON_AddStringToObject(object, "subject_kind", rd_subject_kind_name(rule->subject_kind));
	cJSON_AddBoolToObject(object, "enabled", rule->enabled);
	cJSON_AddBoolToObject(object, "summary", rule->summary);
	if (rule->for_each_text)
		cJSON_AddStringToObject(object, "for_each", rule->for_each_text);
	array = cJSON_AddArrayToObject(object, "when");
	for (size_t i = 0; i < rule->when_n; i++) {
		cJSON_AddItemToArray(array, cJSON_CreateString(rule->when_text[i]));
		rd_expr_paths(rd_rule_condition(rule, i), &paths);
	}
	cJSON_AddStringToObject(object, "title", rd_template_text(rule->title));
	cJSON_AddStringToObject(object, "detail", rd_template_text(rule->detail));
	array = cJSON_AddArrayToObject(object, "next");
	for (size_t i = 0; i < rule->next_n; i++)
		cJSON_AddItemToArray(array, step_json(rule, i));
	array = cJSON_AddArrayToObject(object, "facts");
	for (size_t i = 0; i < paths.n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(paths.v[i]));
	cJSON_AddItemToObject(object, "explains", strings(rule->explains));
	cJSON_AddItemToObject(object, "caused_by", strings(rule->caused_by));
	cJSON_AddItemToObject(object, "fixes", strings(rule->fixes));
	cJSON_AddItemToObject(object, "references", strings(rule->references));
	cJSON_AddStringToObject(object, "origin", rule->origin);
	return object;
}

/* One line, to be searched by other programs; on a terminal that is too narrow for it, the title below. */
static void list_line(const struct rd_rule *rule, size_t columns)
{
	const char *title = rule->enabled ? rd_template_text(rule->title) : "(switched off)";

	if (!columns || 50 + strlen(title) <= columns) {
		rd_app_say("%-8s %-40s %s", rd_severity_name(rule->severity), rule->id, title);
		return;
	}
	rd_app_say("%-8s %s", rd_severity_name(rule->severity), rule->id);
	printf("         ");
	rd_help_wrap(title, 9, stdout);
}

static int list(struct rd_app *app)
{
	size_t columns = isatty(STDOUT_FILENO) ? rd_app_text_options(app).columns : 0;

	const struct rd_rule *const *rules;
	size_t n = rd_knowledge_rules(app->knowledge, &rules);
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "rules");

	for (size_t i = 0; i < n; i++) {
		if (!in_layers(app, rules[i]))
			continue;
		if (rd_app_wants(app, "json"))
			cJSON_AddItemToArray(array, rule_json(rules[i]));
		else
			list_line(rules[i], columns);
	}
	if (rd_app_wants(app, "json"))
		rd_json_print(root, stdout);
	else
		cJSON_Delete(root);
	return RD_EXIT_OK;
}

static void say_wrapped(const char *text)
{
	rd_auto_free char *clean = rd_str_printable(text);

	printf("  ");
	rd_help_wrap(clean, 2, stdout);
}

static int show(struct rd_app *app, const char *id)
{
	const struct rd_rule *rule = rd_knowledge_rule(app->knowledge, id);

	if (!rule) {
		rd_auto_free char *near = rd_app_near(app, id);

		return rd_app_fail(app, RD_EXIT_USAGE, "no finding is called '%s'%s", id, near);
	}
	if (rd_app_wants(app, "json")) {
		rd_json_print(rule_json(rule), stdout);
		return RD_EXIT_OK;
	}
	rd_app_say("%s   (%s%s, from %s)", rule->id, rd_severity_name(rule->severity), rule->enabled ? "" : ", switched off",
	           rule->origin);
	putchar('\n');
	say_wrapped(rd_template_text(rule->title));
	say_wrapped(rd_template_text(rule->detail));
	putchar('\n');
	if (rule->for_each_text)
		rd_app_say("  for each   %s", rule->for_each_text);
	for (size_t i = 0; i < rule->when_n; i++)
		rd_app_say("  %-10s %s", i ? "" : "when", rule->when_text[i]);
	for (size_t i = 0; i < rule->next_n; i++)
		rd_app_say("  %-10s %s%s%s%s", i ? "" : "next", rd_template_text(rule->next[i]),
		           rule->next_if_text[i] ? "   (where " : "", rule->next_if_text[i] ? rule->next_if_text[i] : "",
		           rule->next_if_text[i] ? ")" : "");
	for (size_t i = 0; rule->fixes[i]; i++)
		rd_app_say("  %-10s %s", i ? "" : "fix", rule->fixes[i]);
	for (size_t i = 0; rule->explains[i]; i++)
		rd_app_say("  %-10s %s", i ? "" : "explains", rule->explains[i]);
	for (size_t i = 0; rule->caused_by[i]; i++)
		rd_app_say("  %-10s %s", i ? "" : "caused by", rule->caused_by[i]);
	for (size_t i = 0; rule->references[i]; i++)
		rd_app_say("  %-10s %s", i ? "" : "see", rule->references[i]);
	return RD_EXIT_OK;
}

static const char *kind_name(enum rd_kind kind)
{
	static const char *const names[] = {
		[RD_NONE] = "none",    [RD_BOOL] = "bool", [RD_INT] = "int",   [RD_REAL] = "number",   [RD_STR] = "string",
		[RD_STRS] = "strings", [RD_MAP] = "map",   [RD_LIST] = "list", [RD_OBJECT] = "object",
	};

	return names[kind];
}

static const char *scheme_name(enum rd_version_scheme scheme)
{
	static const char *const names[] = {
		[RD_VERSION_NONE] = "",         [RD_VERSION_ROCM] = "rocm", [RD_VERSION_KERNEL] = "kernel",
		[RD_VERSION_DPKG] = "dpkg",     [RD_VERSION_RPM] = "rpm",   [RD_VERSION_PEP440] = "pep440",
		[RD_VERSION_DOTTED] = "dotted",
	};

	return names[scheme];
}

static void add_fact(const struct rd_schema *at, void *data)
{
	const struct rd_fact_decl *decl = rd_schema_decl(at);
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "path", decl->path);
	cJSON_AddStringToObject(object, "kind", kind_name(decl->kind));
	cJSON_AddStringToObject(object, "scheme", scheme_name(decl->scheme));
	cJSON_AddStringToObject(object, "summary", decl->summary);
	cJSON_AddStringToObject(object, "source", decl->source ? decl->source : "");
	cJSON_AddStringToObject(object, "probe", rd_schema_probe(at)->name);
	cJSON_AddStringToObject(object, "layer", rd_layer_name(rd_schema_probe(at)->layer));
	cJSON_AddItemToArray(data, object);
}

static void print_fact(const struct rd_schema *at, void *data)
{
	(void)data;
	rd_app_say("%-48s %-8s %s", rd_schema_decl(at)->path, kind_name(rd_schema_decl(at)->kind), rd_schema_decl(at)->summary);
}

static int facts(struct rd_app *app)
{
	cJSON *root;

	if (!rd_app_wants(app, "json")) {
		rd_schema_walk(rd_knowledge_schema(app->knowledge), print_fact, NULL);
		return RD_EXIT_OK;
	}
	root = cJSON_CreateObject();
	rd_schema_walk(rd_knowledge_schema(app->knowledge), add_fact, cJSON_AddArrayToObject(root, "facts"));
	rd_json_print(root, stdout);
	return RD_EXIT_OK;
}

/* Loading has found every mistake that makes a rule useless; lint tells of those that make it misleading. */
static unsigned lint_rule(const struct rd_app *app, const struct rd_rule *rule)
{
	unsigned n = 0;
	const char *list_name;

	for (size_t i = 0; i < rule->when_n; i++) {
		if (!rd_expr_has_unguarded_all(rd_rule_condition(rule, i), &list_name))
			continue;
		rd_app_say("%s: all(%s, ...) holds for an empty list; count(%s) > 0 belongs beside it", rule->id, list_name,
		           list_name);
		n++;
	}
	if (!rule->references[0]) {
		rd_app_say("%s: no reference", rule->id);
		n++;
	}
	if (!rule->next_n && rule->severity != RD_INFO && !rule->summary) {
		rd_app_say("%s: no next step", rule->id);
		n++;
	}
	for (size_t i = 0; rule->fixes[i]; i++) {
		if (rd_knowledge_fix(app->knowledge, rule->fixes[i]))
			continue;
		rd_app_say("%s: there is no fix '%s'", rule->id, rule->fixes[i]);
		n++;
	}
	if (app->verbosity > 0)
		for (size_t i = 0; rule->explains[i]; i++)
			rd_app_say("%s explains %s", rule->id, rule->explains[i]);
	return n;
}

static int lint(struct rd_app *app)
{
	const struct rd_rule *const *rules;
	size_t n = rd_knowledge_rules(app->knowledge, &rules);
	unsigned wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += lint_rule(app, rules[i]);
	rd_app_say("%zu rules, %u complaint%s", n, wrong, wrong == 1 ? "" : "s");
	return wrong ? RD_EXIT_FOUND : RD_EXIT_OK;
}

/* Rule tests */

/* More than any file of tests has. */
#define TEST_BYTES_MAX (16 << 20)

struct test_run {
	struct rd_app *app;
	unsigned passed, failed;
};

static void fail_test(struct test_run *run, const char *file, const char *name, const char *format, ...) RD_PRINTF(4, 5);

static void fail_test(struct test_run *run, const char *file, const char *name, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_app_say("%s: %s: %s", file, name, sb.buf);
	run->failed++;
}

/* What came of one rule: "fires" (with *ret_subject), "unknown" or "clear". */
static const char *outcome(const struct rd_diagnosis *d, const struct rd_rule *rule, const char *wanted_subject,
                           bool *ret_subject)
{
	const char *result = "clear";

	*ret_subject = !wanted_subject;
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(d, f));)
		if (f->rule == rule)
			result = "unknown";
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));) {
		if (f->rule != rule)
			continue;
		result = "fires";
		*ret_subject = *ret_subject || (f->subject && rd_streq(f->subject, wanted_subject));
	}
	return result;
}

static void run_test(struct test_run *run, const char *file, const struct rd_rule *rule, const cJSON *test)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(test, "name");
	const cJSON *expect = cJSON_GetObjectItemCaseSensitive(test, "expect");
	const cJSON *subject = cJSON_GetObjectItemCaseSensitive(test, "subject");
	const char *words = cJSON_IsString(name) ? name->valuestring : "a test";
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fact *facts_of_test = rd_facts_new();
	struct rd_diagnosis *d = NULL;
	const char *got;
	bool right_subject;

	if (!cJSON_IsString(expect)) {
		fail_test(run, file, words, "no \"expect\"");
	} else if (rd_facts_from_json(facts_of_test, cJSON_GetObjectItemCaseSensitive(test, "facts"),
	                              rd_knowledge_schema(run->app->knowledge), &err) < 0) {
		fail_test(run, file, words, "%s", err.message);
	} else {
		d = rd_diagnose(run->app->knowledge, facts_of_test, NULL);
		got = outcome(d, rule, cJSON_IsString(subject) ? subject->valuestring : NULL, &right_subject);
		if (!rd_streq(got, expect->valuestring))
			fail_test(run, file, words, "%s: wanted '%s', got '%s'", rule->id, expect->valuestring, got);
		else if (rd_streq(got, "fires") && !right_subject)
			fail_test(run, file, words, "%s: fires, but not for '%s'", rule->id, subject->valuestring);
		else
			run->passed++;
	}
	rd_diagnosis_free(d);
	rd_error_clear(&err);
	rd_fact_free(facts_of_test);
}

static void check_outcomes(struct test_run *run, const char *file, const cJSON *tests)
{
	static const char *const wanted[] = { "fires", "clear", "unknown" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(wanted); i++) {
		bool found = false;
		const cJSON *test;

		cJSON_ArrayForEach (test, tests) {
			const cJSON *expect = cJSON_GetObjectItemCaseSensitive(test, "expect");

			found = found || (cJSON_IsString(expect) && rd_streq(expect->valuestring, wanted[i]));
		}
		if (!found)
			fail_test(run, file, "as a whole", "no test expects '%s'", wanted[i]);
	}
}

static void run_file(struct test_run *run, const char *file)
{
	rd_auto_fclose FILE *in = NULL;
	rd_auto_free char *text = NULL;
	const cJSON *rule_id, *tests, *test;
	const struct rd_rule *rule;
	size_t allocated = 0;
	cJSON *json = NULL;
	struct stat st;

	/* Opening a FIFO would wait for its other end. */
	if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= TEST_BYTES_MAX)
		in = fopen(file, "re");
	if (in && getdelim(&text, &allocated, '\0', in) > 0)
		json = cJSON_Parse(text);
	if (!json) {
		fail_test(run, file, "as a whole", "cannot be read as JSON");
		return;
	}
	rule_id = cJSON_GetObjectItemCaseSensitive(json, "rule");
	tests = cJSON_GetObjectItemCaseSensitive(json, "tests");
	rule = cJSON_IsString(rule_id) ? rd_knowledge_rule(run->app->knowledge, rule_id->valuestring) : NULL;
	if (!rule) {
		fail_test(run, file, "as a whole", "names no rule");
	} else {
		check_outcomes(run, file, tests);
		cJSON_ArrayForEach (test, tests) {
			run_test(run, file, rule, test);
		}
	}
	cJSON_Delete(json);
}

static int run_folder(struct test_run *run, const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", dir, entries[i]->d_name);
		struct stat st;

		/* A link to a folder may lead in a circle. */
		if (entries[i]->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			run_folder(run, path);
		else if (rd_str_has_suffix(path, ".json"))
			run_file(run, path);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static int test_rules(struct rd_app *app, const char *dir)
{
	struct test_run run = { .app = app };
	int r = run_folder(&run, dir);

	if (r < 0)
		return rd_app_fail(app, RD_EXIT_BROKEN, "cannot list '%s': %s", dir, rd_strerror(r));
	rd_app_say("%u passed, %u failed", run.passed, run.failed);
	return run.failed ? RD_EXIT_FOUND : RD_EXIT_OK;
}

int cmd_rules(struct rd_app *app, int argc, char *argv[])
{
	const char *verb = argc > 0 ? argv[0] : "list";
	int status;

	if (rd_streq(verb, "lint") && argc == 2)
		rd_strv_push(&app->rule_dirs, argv[1]);
	app->strict = true;
	status = rd_app_load_knowledge(app);
	if (status)
		return rd_streq(verb, "lint") && app->faulty_rules ? RD_EXIT_FOUND : status;
	if (rd_streq(verb, "list") && argc <= 1)
		return list(app);
	if (rd_streq(verb, "show") && argc == 2)
		return show(app, argv[1]);
	if (rd_streq(verb, "facts") && argc == 1)
		return facts(app);
	if (rd_streq(verb, "lint") && argc <= 2)
		return lint(app);
	if (rd_streq(verb, "test") && argc == 2)
		return test_rules(app, argv[1]);
	return rd_app_fail(app, RD_EXIT_USAGE, "wanted: %s", app->command->args);
}
