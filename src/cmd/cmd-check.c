#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/layer.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"

/* It would else pass for a healthy host. */
int rd_app_check_patterns(const struct rd_app *app, const char *option, const struct rd_strv *globs)
{
	for (size_t i = 0; i < globs->n; i++) {
		const struct rd_rule *const *rules;
		size_t n = rd_knowledge_rules(app->knowledge, &rules);
		bool found = false;

		for (size_t j = 0; j < n && !found; j++)
			found = rd_str_glob(globs->v[i], rules[j]->id);
		if (!found) {
			rd_auto_free char *near = rd_app_near(app, globs->v[i]);

			return rd_app_fail(app, RD_EXIT_USAGE, "%s: no finding is called '%s'%s", option, globs->v[i], near);
		}
	}
	return 0;
}

/* The requirements of the profile and of --require, parsed before anything is examined. */
struct requirements {
	struct rd_strv texts;
	struct rd_expr **v;
	size_t n;
};

static void free_requirements(struct requirements *req)
{
	for (size_t i = 0; i < req->n; i++)
		rd_expr_free(req->v[i]);
	free(req->v);
	rd_strv_clear(&req->texts);
}

static int parse_requirements(struct rd_app *app, struct requirements *req)
{
	const cJSON *profile = rd_knowledge_profile(app->knowledge, app->profile ? app->profile : "default");
	const cJSON *wanted;

	cJSON_ArrayForEach (wanted, cJSON_GetObjectItemCaseSensitive(profile, "require")) {
		if (cJSON_IsString(wanted))
			rd_strv_push(&req->texts, wanted->valuestring);
	}
	for (size_t i = 0; i < app->requires.n; i++)
		rd_strv_push(&req->texts, app->requires.v[i]);
	req->v = calloc(req->texts.n + 1, sizeof(struct rd_expr *));
	for (; req->v && req->n < req->texts.n; req->n++) {
		struct rd_error err = RD_ERROR_INIT;

		req->v[req->n] = rd_expr_parse(req->texts.v[req->n], rd_knowledge_schema(app->knowledge), NULL, &err);
		if (req->v[req->n])
			continue;
		rd_app_fail(app, 0, "--require '%s': %s", req->texts.v[req->n], err.message);
		rd_error_clear(&err);
		return RD_EXIT_USAGE;
	}
	return 0;
}

static bool reaches_gate(const struct rd_app *app, const struct rd_report *report)
{
	for (size_t i = 0; i < report->findings_n; i++) {
		enum rd_severity severity = report->findings[i]->severity;

		if (app->fail_on != RD_FAIL_ON_NEVER && severity == RD_ERROR)
			return true;
		if ((app->fail_on == RD_FAIL_ON_WARNING || app->fail_on == RD_FAIL_ON_UNKNOWN) && severity == RD_WARNING)
			return true;
	}
	return app->fail_on == RD_FAIL_ON_UNKNOWN && report->unknown_n;
}

static int exit_status(const struct rd_app *app, const struct rd_report *report)
{
	bool unmet = false, unknown = report->unjudged;

	for (size_t i = 0; i < report->requirements_n; i++) {
		unmet = unmet || report->requirements[i].result == RD_FALSE;
		unknown = unknown || report->requirements[i].result == RD_UNKNOWN;
	}
	if (unmet || reaches_gate(app, report))
		return RD_EXIT_FOUND;
	return unknown ? RD_EXIT_BROKEN : RD_EXIT_OK;
}

static bool has_no_gpu(const struct rd_diagnosis *d)
{
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		if (rd_streq(f->rule->id, "hardware/no-amd-gpu"))
			return true;
	return false;
}

static double elapsed_ms(const struct rd_app *app)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 - app->begin_us) / 1000;
}

static int print(const struct rd_app *app, struct rd_report *report, int status)
{
	struct rd_text_options options = rd_app_text_options(app);

	options.exit_status = status;
	if (rd_app_wants(app, "json"))
		return rd_render_report_json(report, stdout);
	return rd_render_report_text(report, &options, stdout);
}

static int judge(struct rd_app *app, const struct requirements *req)
{
	struct rd_selection selection = { &app->layers, &app->only, &app->skip };
	struct rd_diagnosis *d = rd_diagnose(app->knowledge, app->facts, app->profile);
	struct rd_report *report = rd_report_new(app->knowledge, app->facts, d, &selection);
	bool no_gpu = app->if_gpu && has_no_gpu(d);
	int status, r = 0;

	for (size_t i = 0; i < req->n; i++)
		rd_report_add_requirement(report, req->texts.v[i], req->v[i]);
	status = no_gpu ? RD_EXIT_OK : exit_status(app, report);
	report->elapsed_ms = elapsed_ms(app);
	if (no_gpu && rd_app_wants(app, "text"))
		puts("no AMD GPU on this host: nothing to check");
	else
		r = print(app, report, status);
	rd_report_free(report);
	rd_diagnosis_free(d);
	if (r < 0)
		return rd_app_fail(app, RD_EXIT_BROKEN, "cannot write to standard output: %s", rd_strerror(errno));
	return status;
}

/* Checking nothing would pass for a healthy host. */
static int check_selection(const struct rd_app *app)
{
	struct rd_selection selection = { &app->layers, &app->only, &app->skip };
	const struct rd_rule *const *rules;
	size_t n;

	if (!app->layers.n && !app->only.n && !app->skip.n && rd_knowledge_is_builtin(app->knowledge))
		return 0;
	n = rd_knowledge_rules(app->knowledge, &rules);
	for (size_t i = 0; i < n; i++)
		if (rules[i]->enabled && rd_selection_has(&selection, rules[i]))
			return 0;
	return rd_app_fail(app, RD_EXIT_USAGE, "this selection leaves nothing to check");
}

static int list(const struct rd_app *app)
{
	struct rd_selection selection = { &app->layers, &app->only, &app->skip };
	const struct rd_rule *const *rules;
	size_t n = rd_knowledge_rules(app->knowledge, &rules);

	for (size_t i = 0; i < n; i++)
		if (rules[i]->enabled && rd_selection_has(&selection, rules[i]))
			printf("%-8s %s\n", rd_severity_name(rules[i]->severity), rules[i]->id);
	return RD_EXIT_OK;
}

/* What somebody meant who named a layer, a finding or a tree without an option. */
static int refuse_argument(struct rd_app *app, const char *name)
{
	rd_auto_strbuf struct rd_strbuf quoted = RD_STRBUF_INIT;
	enum rd_layer layer;
	struct stat st;
	int status;

	rd_strbuf_add_sh(&quoted, name);
	if (rd_layer_parse(name, &layer) == 0)
		return rd_app_fail(app, RD_EXIT_USAGE, "a layer is named by an option: rocm-doctor check --layer %s", name);
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return rd_app_fail(app, RD_EXIT_USAGE, "a tree is named by an option: rocm-doctor check --root %s", quoted.buf);
	status = rd_app_load_knowledge(app);
	if (status)
		return status;
	if (rd_knowledge_rule(app->knowledge, name))
		return rd_app_fail(app, RD_EXIT_USAGE, "a finding is named by an option: rocm-doctor check --only %s", name);
	return rd_app_fail(app, RD_EXIT_USAGE, "'%s' is not wanted here; --root examines a tree", name);
}

int cmd_check(struct rd_app *app, int argc, char *argv[])
{
	struct requirements req = { .texts = RD_STRV_INIT };
	int status;

	if (argc > 0)
		return refuse_argument(app, argv[0]);
	status = rd_app_load_knowledge(app);
	if (!status)
		status = rd_app_check_patterns(app, "--only", &app->only);
	if (!status)
		status = rd_app_check_patterns(app, "--skip", &app->skip);
	if (!status)
		status = check_selection(app);
	if (!status && app->list)
		return list(app);
	if (!status)
		status = parse_requirements(app, &req);
	if (!status)
		status = rd_app_probe(app);
	if (!status)
		status = judge(app, &req);
	free_requirements(&req);
	return status;
}
