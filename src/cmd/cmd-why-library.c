/* Which copy of each library a program or an environment's PyTorch gets, and by which rule of the loader. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "examined.h"
#include "rocm-doctor/elf.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/loader.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

struct why {
	struct rd_app *app;
	struct rd_loader *loader;
	char *path;
	const char *soname;     /* NULL: all */
	struct rd_strv missing; /* what torch's start-up wants of the rocm_sdk wheels */
	bool json;
};

static const char *verdict_name(enum rd_load_verdict verdict)
{
	static const char *const names[] = {
		[RD_LOAD_MISS] = "not there",
		[RD_LOAD_TAKEN] = "taken",
		[RD_LOAD_RUNNER_UP] = "would be next",
		[RD_LOAD_SKIPPED] = "for another machine",
		[RD_LOAD_DAMAGED] = "damaged: the loader gives up here",
		[RD_LOAD_UNREADABLE] = "cannot be read",
	};

	return names[verdict];
}

static char *place_name(const struct why *w, const struct rd_load_step *step)
{
	if (step->via == RD_LOADER_NONE)
		return rd_xstrdup(rd_load_by_name(step->by));
	return rd_xasprintf("%s of %s", rd_load_by_name(step->by), rd_loader_object(w->loader, step->via)->path);
}

/* ------------------------------------------------------------ JSON */

static void add_step(void *data, const struct rd_load_step *step)
{
	void *const *both = data;
	cJSON *object = cJSON_CreateObject();
	rd_auto_free char *place = place_name(both[1], step);

	cJSON_AddStringToObject(object, "rule", place);
	cJSON_AddStringToObject(object, "path", step->path);
	cJSON_AddStringToObject(object, "verdict",
	                        step->verdict == RD_LOAD_RUNNER_UP && step->same ? "the same file"
	                                                                         : verdict_name(step->verdict));
	cJSON_AddItemToArray(both[0], object);
}

static cJSON *need_json(struct why *w, size_t index, bool search)
{
	const struct rd_load_need *need = rd_loader_need(w->loader, index);
	const struct rd_load_object *object = rd_loader_object(w->loader, need->object);
	rd_auto_free char *by = rd_loader_chosen_by(w->loader, need);
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "name", need->name);
	cJSON_AddStringToObject(json, "needed_by", rd_loader_object(w->loader, need->from)->path);
	if (object)
		cJSON_AddStringToObject(json, "path", object->path);
	else
		cJSON_AddNullToObject(json, "path");
	cJSON_AddStringToObject(json, "chosen_by", by);
	cJSON_AddBoolToObject(json, "dlopen", need->dlopen);
	cJSON_AddBoolToObject(json, "optional", need->optional);
	if (need->damage)
		cJSON_AddStringToObject(json, "damage", need->damage);
	if (need->unknown)
		cJSON_AddStringToObject(json, "unknown", rd_strerror(need->unknown));
	if (search) {
		cJSON *steps = cJSON_AddArrayToObject(json, "search");

		rd_loader_explain(w->loader, index, add_step, (void *[]){ steps, w });
	}
	return json;
}

static void add_versions(struct why *w, cJSON *root)
{
	cJSON *array = cJSON_AddArrayToObject(root, "missing_versions");
	struct rd_load_version *v;
	size_t n = rd_loader_check_versions(w->loader, &v);

	for (size_t i = 0; i < n; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "needed_by", rd_loader_object(w->loader, v[i].object)->path);
		cJSON_AddStringToObject(object, "file", rd_loader_object(w->loader, v[i].provider)->path);
		cJSON_AddStringToObject(object, "version", v[i].version);
		cJSON_AddItemToArray(array, object);
	}
	rd_load_versions_free(v, n);
}

static bool selected(const struct why *w, const struct rd_load_need *need)
{
	const struct rd_load_object *object = rd_loader_object(w->loader, need->object);

	return !w->soname || rd_streq(need->name, w->soname) ||
	       (object && object->elf->soname && rd_streq(object->elf->soname, w->soname));
}

/* What is not found, or found and of no use, of all that was asked about. */
static size_t count_missing(const struct why *w)
{
	size_t n = w->soname ? 0 : w->missing.n;

	for (size_t i = 0; i < rd_loader_needs(w->loader); i++) {
		const struct rd_load_need *need = rd_loader_need(w->loader, i);

		/* A name that a person asks for is not optional to him. */
		n += selected(w, need) && need->object == RD_LOADER_NONE && !need->unknown && (w->soname || !need->optional);
	}
	return n;
}

static void print_json(struct why *w)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "schema", "rocm-doctor/why-library/1");
	cJSON_AddStringToObject(root, "program", rd_loader_object(w->loader, 0)->path);
	array = cJSON_AddArrayToObject(root, "libraries");
	for (size_t i = 0; i < rd_loader_needs(w->loader); i++)
		if (selected(w, rd_loader_need(w->loader, i)))
			cJSON_AddItemToArray(array, need_json(w, i, w->soname != NULL));
	array = cJSON_AddArrayToObject(root, "missing_from_rocm_sdk");
	for (size_t i = 0; i < w->missing.n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(w->missing.v[i]));
	add_versions(w, root);
	rd_json_print(root, stdout);
}

/* ------------------------------------------------------------ text */

static void print_step(void *data, const struct rd_load_step *step)
{
	struct why *w = data;
	rd_auto_free char *place = place_name(w, step);

	rd_app_say("      %-22s %s",
	           step->verdict == RD_LOAD_RUNNER_UP && step->same ? "the same file" : verdict_name(step->verdict),
	           step->path);
	rd_app_say("      %-22s   %s", "", place);
}

static const char *outcome(const struct rd_load_need *need, const struct rd_load_object *object)
{
	if (object)
		return object->path;
	if (need->damage)
		return need->damage;
	if (need->unknown)
		return "not to be known from here";
	return need->optional ? "not found (it can do without)" : "NOT FOUND";
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One library of many: what it gets, and the rule; who asks for it where nothing was found. */
static void print_briefly(struct why *w, size_t index)
{
	const struct rd_load_need *need = rd_loader_need(w->loader, index);
	const struct rd_load_object *object = rd_loader_object(w->loader, need->object);
	const char *from = last_part(rd_loader_object(w->loader, need->from)->path);

	const char *how = object ? rd_load_by_name(need->by) : "needed";
	const char *of = object && need->via != RD_LOADER_NONE ? last_part(rd_loader_object(w->loader, need->via)->path) : "";

	rd_app_say("  %-24s %s", last_part(need->name), outcome(need, object));
	rd_app_say("  %-24s   %s%s%s%s", "", how, object ? *of ? " of " : "" : " by ", object ? of : from,
	           need->dlopen ? ", opened at run time" : "");
}

/* One library that was asked for: place by place. */
static void print_need(struct why *w, size_t index)
{
	const struct rd_load_need *need = rd_loader_need(w->loader, index);
	rd_auto_free char *by = rd_loader_chosen_by(w->loader, need);

	rd_app_say("  %s   needed by %s%s", need->name, rd_loader_object(w->loader, need->from)->path,
	           need->dlopen ? " at run time" : "");
	rd_app_say("    %s", outcome(need, rd_loader_object(w->loader, need->object)));
	if (need->object != RD_LOADER_NONE)
		rd_app_say("    by %s", by);
	if (need->unknown)
		printf("    an earlier place could not be looked at: %s\n", rd_strerror(need->unknown));
	rd_loader_explain(w->loader, index, print_step, w);
	putchar('\n');
}

static void print_versions(struct why *w)
{
	struct rd_load_version *v;
	size_t n = rd_loader_check_versions(w->loader, &v);

	for (size_t i = 0; i < n; i++) {
		rd_app_say("  version %s is not in %s", v[i].version, rd_loader_object(w->loader, v[i].provider)->path);
		rd_app_say("    needed by %s", rd_loader_object(w->loader, v[i].object)->path);
	}
	rd_load_versions_free(v, n);
}

static void print_text(struct why *w)
{
	rd_app_say("%s", rd_loader_object(w->loader, 0)->path);
	putchar('\n');
	for (size_t i = 0; i < rd_loader_needs(w->loader); i++) {
		const struct rd_load_need *need = rd_loader_need(w->loader, i);

		if (!selected(w, need))
			continue;
		/* A library that many need is told once, with the rule that found it. */
		if (w->soname && need->by == RD_LOAD_LOADED && w->app->verbosity <= 0)
			rd_app_say("  %s   needed by %s: already loaded", need->name,
			           rd_loader_object(w->loader, need->from)->path);
		else if (w->soname)
			print_need(w, i);
		else if (w->app->verbosity > 0 || need->by != RD_LOAD_LOADED)
			print_briefly(w, i);
	}
	for (size_t i = 0; i < w->missing.n; i++)
		rd_app_say("  the rocm_sdk wheels have no library '%s', which this torch loads at its start", w->missing.v[i]);
	print_versions(w);
	if (!w->soname)
		printf("\n%zu files, %zu names not found.\n", rd_loader_objects(w->loader), count_missing(w));
}

/* ------------------------------------------------------------ */

static int simulate_environment(struct why *w, struct rd_error *err)
{
	struct rd_loader_env env;
	const struct rd_fact *python;
	int status;

	python = rd_app_environment(w->app, w->path, &status);
	if (!python)
		return status;
	if (!*rd_fact_get_str(python, "torch.path"))
		return rd_app_fail(w->app, RD_EXIT_BROKEN, "no PyTorch in '%s'", w->path);
	rd_loader_env_read(w->app->sysroot, &env);
	if (rd_pyload_torch(w->app->sysroot, &env, rd_fact_get_str(python, "executable"), rd_fact_get_str(python, "torch.path"),
	                    &w->loader, &w->missing, err) < 0)
		return rd_app_fail(w->app, RD_EXIT_BROKEN, "%s", err->message);
	return 0;
}

static int simulate(struct why *w, struct rd_error *err)
{
	struct rd_loader_env env;
	struct rd_stat st;
	int r = rd_sysroot_stat(w->app->sysroot, &st, w->path);

	if (r < 0)
		return rd_app_fail(w->app, RD_EXIT_BROKEN,
		                   "cannot read '%s': %s (the program or environment comes first, then a SONAME)", w->path,
		                   rd_strerror(r));
	if (st.type == RD_STAT_DIR)
		return simulate_environment(w, err);
	rd_loader_env_read(w->app->sysroot, &env);
	r = rd_loader_start(w->app->sysroot, &env, w->path, &w->loader, err);
	if (r < 0)
		return rd_app_fail(w->app, RD_EXIT_BROKEN, "'%s': %s", w->path, err->message);
	rd_loader_dlopen_stubs(w->loader);
	return 0;
}

/* A name that nothing asks for: what would the program get if it asked itself? */
static void ask_for_it(struct why *w)
{
	for (size_t i = 0; i < rd_loader_needs(w->loader); i++)
		if (selected(w, rd_loader_need(w->loader, i)))
			return;
	rd_loader_dlopen(w->loader, 0, w->soname, false);
}

int cmd_why_library(struct rd_app *app, int argc, char *argv[])
{
	struct why w = { .app = app, .json = rd_app_wants(app, "json") };
	struct rd_error err = RD_ERROR_INIT;
	int status;

	if (argc < 1 || argc > 2)
		return rd_app_fail(app, RD_EXIT_USAGE, "wants a program, a library or an environment, and perhaps a SONAME");
	w.path = rd_app_path(app, argv[0]);
	w.soname = argc > 1 ? argv[1] : NULL;
	status = rd_app_open_root(app);
	if (!status)
		status = simulate(&w, &err);
	if (!status && w.soname)
		ask_for_it(&w);
	if (!status) {
		if (w.json)
			print_json(&w);
		else
			print_text(&w);
		status = count_missing(&w) ? RD_EXIT_FOUND : RD_EXIT_OK;
	}
	rd_error_clear(&err);
	rd_strv_clear(&w.missing);
	rd_loader_free(w.loader);
	free(w.path);
	return status;
}
