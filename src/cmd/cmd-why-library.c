/* Which copy of each library a program, an environment's PyTorch or a process gets, and by which rule of the loader. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "examined.h"
#include "rocm-doctor/elf.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/loader.h"
#include "rocm-doctor/procload.h"
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
	const char *soname;          /* NULL: all */
	struct rd_strv missing;      /* what torch's start-up wants of the rocm_sdk wheels */
	struct rd_procload *process; /* NULL: no running process is asked about */
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

/* ------------------------------------------------------------ a running process */

/* What the process has for an object of the simulation; NULL where nothing is known. */
static const struct rd_proc_library *library_of(const struct why *w, size_t object)
{
	for (size_t i = 0; w->process && object != RD_LOADER_NONE && i < w->process->n; i++)
		if (w->process->v[i].object == object)
			return &w->process->v[i];
	return NULL;
}

static const char *mapped_path(const struct why *w, const struct rd_proc_library *l)
{
	return l->mapped == RD_PROCLOAD_NONE ? NULL : w->process->mapped.v[l->mapped].path;
}

/* In the process, and in no simulation. */
static bool is_extra(const struct why *w, const struct rd_proc_library *l)
{
	return l->object == RD_PROCLOAD_NONE && (!w->soname || rd_streq(l->name, w->soname));
}

static size_t count_outdated(const struct why *w)
{
	size_t n = 0;

	for (size_t i = 0; w->process && i < w->process->n; i++) {
		const struct rd_proc_library *l = &w->process->v[i];

		n += l->verdict == RD_PROC_OLD_COPY || (l->verdict == RD_PROC_OTHER && l->certain);
	}
	return n;
}

/* ------------------------------------------------------------ JSON */

static void add_mapped(const struct why *w, cJSON *json, const struct rd_proc_library *l)
{
	const char *path = mapped_path(w, l);

	if (path)
		cJSON_AddStringToObject(json, "mapped", path);
	else
		cJSON_AddNullToObject(json, "mapped");
	cJSON_AddStringToObject(json, "verdict", rd_proc_verdict_name(l->verdict));
}

static void add_process(struct why *w, cJSON *root)
{
	cJSON *array;

	cJSON_AddNumberToObject(root, "pid", rd_sysroot_pid(w->app->sysroot));
	if (w->process->why)
		cJSON_AddStringToObject(root, "unknown", w->process->why);
	array = cJSON_AddArrayToObject(root, "mapped_besides");
	for (size_t i = 0; i < w->process->n; i++) {
		const struct rd_proc_library *l = &w->process->v[i];
		cJSON *object;

		if (!is_extra(w, l))
			continue;
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", l->name);
		add_mapped(w, object, l);
		cJSON_AddItemToArray(array, object);
	}
}

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
	if (library_of(w, need->object))
		add_mapped(w, json, library_of(w, need->object));
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

	for (size_t i = 0; w->loader && i < rd_loader_needs(w->loader); i++) {
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
	if (w->loader)
		cJSON_AddStringToObject(root, "program", rd_loader_object(w->loader, 0)->path);
	if (w->process)
		add_process(w, root);
	array = cJSON_AddArrayToObject(root, "libraries");
	for (size_t i = 0; w->loader && i < rd_loader_needs(w->loader); i++)
		if (selected(w, rd_loader_need(w->loader, i)))
			cJSON_AddItemToArray(array, need_json(w, i, w->soname != NULL));
	array = cJSON_AddArrayToObject(root, "missing_from_rocm_sdk");
	for (size_t i = 0; i < w->missing.n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(w->missing.v[i]));
	if (w->loader)
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

static void print_mapped(const struct why *w, size_t object, const char *indent)
{
	const struct rd_proc_library *l = library_of(w, object);
	const char *path = l ? mapped_path(w, l) : NULL;

	if (!l)
		return;
	if (l->verdict == RD_PROC_SAME)
		rd_app_say("%sreally mapped: the same file%s%s", indent,
		           rd_streq(path, rd_loader_object(w->loader, object)->path) ? "" : ", ",
		           rd_streq(path, rd_loader_object(w->loader, object)->path) ? "" : path);
	else if (l->verdict == RD_PROC_OLD_COPY)
		rd_app_say("%sreally mapped: an OLD COPY, replaced or removed since: %s", indent, path);
	else if (path)
		rd_app_say("%sreally mapped: %s %s", indent, l->certain ? "ANOTHER FILE," : "another file,", path);
	else
		rd_app_say("%sreally mapped: nothing", indent);
}

static void print_extras(const struct why *w)
{
	for (size_t i = 0; i < w->process->n; i++) {
		const struct rd_proc_library *l = &w->process->v[i];

		if (!is_extra(w, l))
			continue;
		rd_app_say("  %-24s really mapped: %s", l->name, mapped_path(w, l));
		rd_app_say("  %-24s   %s", "",
		           l->verdict == RD_PROC_OLD_COPY  ? "an OLD COPY, replaced or removed since"
		           : l->verdict == RD_PROC_UNKNOWN ? "what a new start would load is not known"
		                                           : "nothing that is known leads to it");
	}
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
	print_mapped(w, need->object, "                             ");
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
	print_mapped(w, need->object, "    ");
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

static void print_head(const struct why *w)
{
	if (!w->process)
		rd_app_say("%s", rd_loader_object(w->loader, 0)->path);
	else
		rd_app_say("process %u: %s", rd_sysroot_pid(w->app->sysroot),
		           w->process->exe ? w->process->exe : "its program is not known");
	if (w->process && w->process->why)
		rd_app_say("what a new start of it would load is not known: %s", w->process->why);
	putchar('\n');
}

static void print_needs(struct why *w)
{
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
}

static void print_text(struct why *w)
{
	print_head(w);
	if (w->loader)
		print_needs(w);
	if (w->process)
		print_extras(w);
	if (!w->loader)
		return;
	for (size_t i = 0; i < w->missing.n; i++)
		rd_app_say("  the rocm_sdk wheels have no library '%s', which this torch loads at its start", w->missing.v[i]);
	print_versions(w);
	if (!w->soname)
		printf("\n%zu files, %zu names not found.\n", rd_loader_objects(w->loader), count_missing(w));
	if (count_outdated(w))
		printf("%zu libraries in the process are not those that a new start would load: restart it.\n",
		       count_outdated(w));
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

static int simulate_process(struct why *w)
{
	int r = rd_procload_read(w->app->sysroot, w->process);

	if (r < 0)
		return rd_app_fail(w->app, RD_EXIT_BROKEN, "cannot tell what process %u has mapped: %s",
		                   rd_sysroot_pid(w->app->sysroot), r == -ESRCH ? "it has ended" : rd_strerror(r));
	w->loader = w->process->loader;
	for (size_t i = 0; i < w->process->missing->n; i++)
		rd_strv_push(&w->missing, w->process->missing->v[i]);
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

/* "PATH [SONAME]", and of a process "[SONAME]" as well. */
static int take_arguments(struct why *w, int argc, char *argv[], struct rd_procload *process)
{
	bool of_process = w->app->pid || w->app->container;

	if (argc > 2 || (argc < 1 && !of_process))
		return rd_app_fail(w->app, RD_EXIT_USAGE, "wants a program, a library or an environment, and perhaps a SONAME");
	if (of_process && (argc < 1 || (argc == 1 && !strchr(argv[0], '/')))) {
		w->process = process;
		w->soname = argc ? argv[0] : NULL;
		return 0;
	}
	w->path = rd_app_path(w->app, argv[0]);
	w->soname = argc > 1 ? argv[1] : NULL;
	return 0;
}

static int judge(const struct why *w)
{
	if (count_missing(w) || count_outdated(w))
		return RD_EXIT_FOUND;
	return w->loader ? RD_EXIT_OK : RD_EXIT_BROKEN;
}

int cmd_why_library(struct rd_app *app, int argc, char *argv[])
{
	struct why w = { .app = app, .json = rd_app_wants(app, "json") };
	struct rd_procload process = { .exe = NULL };
	struct rd_error err = RD_ERROR_INIT;
	int status = take_arguments(&w, argc, argv, &process);

	if (!status)
		status = rd_app_open_root(app);
	if (!status)
		status = w.process ? simulate_process(&w) : simulate(&w, &err);
	if (!status && w.soname && w.loader)
		ask_for_it(&w);
	if (!status) {
		if (w.json)
			print_json(&w);
		else
			print_text(&w);
		status = judge(&w);
	}
	rd_error_clear(&err);
	rd_strv_clear(&w.missing);
	if (w.process)
		rd_procload_release(&process);
	else
		rd_loader_free(w.loader);
	free(w.path);
	return status;
}
