/* Which GPUs the device code of files runs on. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "examined.h"
#include "rocm-doctor/agents.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/process.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

enum { DEPTH_MAX = 24, FILES_MAX = 200000 };

/* A GPU that is asked about. */
struct asked {
	char *label; /* "gfx942", "gfx90a:xnack+" */
	struct rd_agent agent;
};

struct result {
	enum rd_runs runs, least;
	size_t without;
};

/*
 * One line of the answer: a file that a process loads, or a folder of code objects of which the library takes the one that
 * fits, so that the folder as a whole covers a GPU or does not.
 */
struct entry {
	char *path;
	bool folder, unknown;
	size_t files, bundles, bundles_read;
	struct rd_strv targets, problems;
	struct result *results; /* one for each GPU */
};

struct targets {
	struct rd_app *app;
	struct asked *asked;
	size_t asked_n;
	struct entry *entries;
	size_t entries_n, entries_allocated;
	size_t seen;
	bool single;
	bool cut; /* not all of a folder was looked at */
};

/* ------------------------------------------------------------ what is asked */

static int ask(struct targets *t, const char *label, const struct rd_agent *agent)
{
	for (size_t i = 0; i < t->asked_n; i++)
		if (rd_streq(t->asked[i].label, label))
			return 0;
	t->asked = rd_xreallocarray(t->asked, t->asked_n + 1, sizeof(*t->asked));
	t->asked[t->asked_n++] = (struct asked){ rd_xstrdup(label), *agent };
	return 0;
}

static int ask_for_gfx(struct targets *t)
{
	for (size_t i = 0; i < t->app->gfx.n; i++) {
		const char *text = t->app->gfx.v[i];
		struct rd_target_id id;
		struct rd_agent agent;

		if (rd_target_parse(text, &id) < 0 || rd_target_is_generic(&id) || rd_target_is_spirv(&id))
			return rd_app_fail(t->app, RD_EXIT_USAGE, "--gfx wants a GPU such as gfx942 or gfx90a:xnack+, not '%s'",
			                   text);
		rd_agent_init(&agent, id.processor);
		if (id.xnack != RD_FEATURE_ANY)
			agent.xnack = id.xnack;
		if (id.sramecc != RD_FEATURE_ANY)
			agent.sramecc = id.sramecc;
		ask(t, text, &agent);
	}
	return 0;
}

static int ask_for_host(struct targets *t)
{
	struct rd_gpu_agent *agents;
	int status = rd_app_load_knowledge(t->app);
	size_t n;

	if (!status)
		status = rd_app_probe(t->app);
	if (status)
		return status;
	n = rd_agents_list(t->app->facts, t->app->sysroot, &agents);
	for (size_t i = 0; i < n; i++) {
		rd_auto_free char *label = agents[i].overridden
		                                   ? rd_xasprintf("%s as %s", agents[i].gfx, agents[i].agent.processor)
		                                   : rd_xstrdup(agents[i].gfx);

		ask(t, label, &agents[i].agent);
	}
	free(agents);
	return 0;
}

/* ------------------------------------------------------------ looking */

static struct entry *new_entry(struct targets *t, const char *path, bool folder)
{
	struct entry *e;

	RD_GROW(t->entries, t->entries_n, t->entries_allocated);
	e = &t->entries[t->entries_n++];
	*e = (struct entry){ .path = rd_xstrdup(path), .folder = folder };
	e->results = rd_xcalloc(t->asked_n + 1, sizeof(*e->results));
	return e;
}

static struct entry *folder_entry(struct targets *t, const char *path)
{
	rd_auto_free char *folder = rd_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	for (size_t i = t->entries_n; i-- > 0;)
		if (t->entries[i].folder && rd_streq(t->entries[i].path, folder))
			return &t->entries[i];
	return new_entry(t, folder, true);
}

static void note(struct targets *t, struct entry *e, const struct rd_fatbin *f)
{
	e->files++;
	e->bundles += f->bundles;
	e->bundles_read += f->bundles_read;
	e->unknown |= f->has_code_unknown;
	for (size_t i = 0; i < f->targets_n; i++)
		rd_strv_push_unique(&e->targets, f->targets[i].text);
	for (size_t i = 0; i < f->unknown_ids->n; i++)
		rd_strv_push_unique(&e->targets, f->unknown_ids->v[i]);
	for (size_t i = 0; i < f->problems->n; i++)
		rd_strv_push(&e->problems, f->problems->v[i]);
	for (size_t i = 0; i < f->incomplete_overlays->n; i++)
		rd_strv_pushf(&e->problems, "%s has only a part of the code that the archive for both modes has",
		              f->incomplete_overlays->v[i]);
	for (size_t i = 0; i < t->asked_n; i++) {
		struct rd_coverage c = rd_fatbin_covers(f, &t->asked[i].agent);
		struct result *r = &e->results[i];

		/* Of a folder the file that fits best counts. */
		if (e->files == 1 || c.runs > r->runs)
			*r = (struct result){ c.runs, c.least, c.bundles_without };
	}
}

/* Code that a library picks from by name, in contrast to what is in a file that a process loads whole. */
static bool is_data(const struct rd_fatbin *f)
{
	return !(f->kinds & (RD_FATBIN_HOST_ELF | RD_FATBIN_ARCHIVE));
}

/* @name: what it is called in the answer */
static int look_at(struct targets *t, const char *path, const char *name, struct rd_error *err)
{
	struct rd_fatbin *f;
	int r = rd_fatbin_read(t->app->sysroot, path, 0, &f, err);

	if (r < 0)
		return r;
	if (rd_fatbin_has_code(f) || t->single)
		note(t, is_data(f) && !t->single ? folder_entry(t, name) : new_entry(t, name, false), f);
	rd_fatbin_free(f);
	return 0;
}

static int look(struct targets *t, const char *path, struct rd_error *err)
{
	return look_at(t, path, path, err);
}

/* Names under which device code lies; programs have none, so what has no dot in it is looked at, too. */
static bool may_have_code(const char *name)
{
	static const char *const ends[] = { ".so", ".co", ".hsaco", ".kpack", ".a", ".o", ".hipfb" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(ends); i++)
		if (rd_str_has_suffix(name, ends[i]))
			return true;
	return strstr(name, ".so.") || !strchr(name, '.');
}

static void walk(struct targets *t, const char *dir, unsigned depth)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	if (depth > DEPTH_MAX) {
		t->cut = true;
		return;
	}
	r = rd_sysroot_list(t->app->sysroot, &names, dir);
	if (r < 0) {
		rd_strv_pushf(&new_entry(t, dir, true)->problems, "%s", rd_strerror(r));
		return;
	}
	t->cut |= names.n > FILES_MAX - t->seen;
	for (size_t i = 0; i < names.n && t->seen < FILES_MAX; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", dir, names.v[i]), *link = NULL;
		struct rd_stat st;

		/* A link is another name of something; what it leads to is looked at where it lies. */
		if (rd_sysroot_readlink(t->app->sysroot, &link, path) == 0 || rd_sysroot_stat(t->app->sysroot, &st, path) < 0)
			continue;
		t->seen++;
		if (st.type == RD_STAT_DIR) {
			walk(t, path, depth + 1);
		} else if (st.type == RD_STAT_FILE && may_have_code(names.v[i])) {
			struct rd_error err = RD_ERROR_INIT;

			r = look(t, path, &err);
			if (r < 0 && r != -ENOEXEC)
				rd_strv_pushf(&new_entry(t, path, false)->problems, "%s",
				              err.message ? err.message : rd_strerror(r));
			rd_error_clear(&err);
		}
	}
}

/* An environment's packages, not the whole of what its prefix holds (which for the system's Python is /usr). */
static void walk_folder(struct targets *t, const char *path)
{
	rd_auto_strv struct rd_strv sites = RD_STRV_INIT;
	rd_auto_free char *site = rd_xasprintf("%s/lib/python3*/site-packages", path);
	rd_auto_free char *bin = rd_xasprintf("%s/bin/python3", path);

	if (rd_sysroot_exists(t->app->sysroot, bin) > 0 && rd_sysroot_glob(t->app->sysroot, &sites, site) >= 0 && sites.n) {
		for (size_t i = 0; i < sites.n; i++)
			walk(t, sites.v[i], 0);
		return;
	}
	walk(t, path, 0);
}

static int examine(struct targets *t, const char *path)
{
	struct rd_error err = RD_ERROR_INIT;
	rd_auto_free char *real = NULL;
	struct rd_stat st;
	int r = rd_sysroot_realpath(t->app->sysroot, &real, path);

	if (r == 0)
		r = rd_sysroot_stat(t->app->sysroot, &st, real);
	if (r == 0 && st.type == RD_STAT_DIR) {
		walk_folder(t, real);
		return 0;
	}
	t->single = true;
	if (r == 0)
		r = look(t, path, &err);
	if (r < 0)
		rd_app_fail(t->app, 0, "'%s': %s", path, err.message ? err.message : rd_strerror(r));
	rd_error_clear(&err);
	return r < 0 ? RD_EXIT_BROKEN : 0;
}

/* ------------------------------------------------------------ a running process */

/* The file that is mapped, also where another stands under its name by now. */
static void look_at_mapped(struct targets *t, const struct rd_mapped *m)
{
	struct rd_error err = RD_ERROR_INIT;
	rd_auto_free char *name = NULL;
	int r;

	if (m->replaced == 0) {
		r = look(t, m->path, &err);
	} else {
		name = rd_xasprintf("%s%s", m->path, m->replaced == 1 ? " (replaced since)" : "");
		r = look_at(t, m->itself, name, &err);
		/* Only root reads what is mapped; of a file that is surely another, nothing is told. */
		if (r < 0 && m->replaced < 0 && !m->outside) {
			rd_error_clear(&err);
			r = look(t, m->path, &err);
		}
	}
	if (r < 0 && r != -ENOEXEC)
		rd_strv_pushf(&new_entry(t, name ? name : m->path, false)->problems, "%s",
		              err.message ? err.message : rd_strerror(r));
	rd_error_clear(&err);
}

static int compare_mapped(const void *a, const void *b)
{
	return strcmp(((const struct rd_mapped *)a)->path, ((const struct rd_mapped *)b)->path);
}

static int examine_process(struct targets *t)
{
	struct rd_mappings mapped = { .v = NULL };
	int r = rd_process_mapped(t->app->sysroot, &mapped);

	if (r < 0)
		return rd_app_fail(t->app, RD_EXIT_BROKEN, "cannot tell what process %u has mapped: %s",
		                   rd_sysroot_pid(t->app->sysroot), r == -ESRCH ? "it has ended" : rd_strerror(r));
	qsort(mapped.v, mapped.n, sizeof(*mapped.v), compare_mapped);
	for (size_t i = 0; i < mapped.n; i++)
		if (i == 0 || !rd_streq(mapped.v[i].path, mapped.v[i - 1].path))
			look_at_mapped(t, &mapped.v[i]);
	rd_mappings_release(&mapped);
	return 0;
}

/* ------------------------------------------------------------ telling */

static const char *word(const struct result *r)
{
	if (r->runs == RD_RUNS_NO)
		return "no";
	if (r->runs == RD_RUNS_UNKNOWN)
		return "unknown";
	if (r->least == RD_RUNS_NO)
		return "partly";
	return r->runs == RD_RUNS_SPIRV ? "yes, compiled at first use" : r->runs == RD_RUNS_GENERIC ? "yes, generic" : "yes";
}

/* An entry that was only looked at and could not be read has no results to tell. */
static bool has_results(const struct entry *e)
{
	return e->files && (e->targets.n || e->bundles || e->unknown);
}

static cJSON *strings(const struct rd_strv *v)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < v->n; i++) {
		rd_auto_free char *text = rd_str_printable(v->v[i]);

		cJSON_AddItemToArray(array, cJSON_CreateString(text));
	}
	return array;
}

static void print_json(const struct targets *t)
{
	cJSON *root = cJSON_CreateObject(), *files = NULL;

	cJSON_AddStringToObject(root, "schema", "rocm-doctor/targets/1");
	files = cJSON_AddArrayToObject(root, "entries");
	for (size_t i = 0; i < t->entries_n; i++) {
		const struct entry *e = &t->entries[i];
		cJSON *object = cJSON_CreateObject(), *gpus;
		rd_auto_free char *path = rd_str_printable(e->path);

		cJSON_AddStringToObject(object, "path", path);
		cJSON_AddStringToObject(object, "kind", e->folder ? "folder" : "file");
		cJSON_AddNumberToObject(object, "files", (double)e->files);
		cJSON_AddNumberToObject(object, "bundles", (double)e->bundles);
		cJSON_AddNumberToObject(object, "bundles_read", (double)e->bundles_read);
		cJSON_AddItemToObject(object, "targets", strings(&e->targets));
		cJSON_AddItemToObject(object, "problems", strings(&e->problems));
		gpus = cJSON_AddObjectToObject(object, "runs");
		for (size_t k = 0; k < t->asked_n && has_results(e); k++)
			cJSON_AddStringToObject(gpus, t->asked[k].label, word(&e->results[k]));
		cJSON_AddItemToArray(files, object);
	}
	rd_json_print(root, stdout);
}

static void print_entry(const struct targets *t, const struct entry *e)
{
	rd_auto_free char *path = rd_str_printable(e->path);

	printf("%s%s", path, e->folder ? "/" : "");
	if (e->folder)
		printf("   (%zu files)", e->files);
	else if (e->bundles > 1)
		printf("   (%zu bundles%s)", e->bundles, e->bundles_read < e->bundles ? ", not all readable" : "");
	printf("\n   ");
	for (size_t i = 0; i < e->targets.n; i++) {
		rd_auto_free char *text = rd_str_printable(e->targets.v[i]);

		printf(" %s", text);
	}
	puts(e->targets.n ? "" : !e->files ? " not read" : e->unknown ? " device code that cannot be told" : " no device code");
	for (size_t i = 0; i < t->asked_n && has_results(e); i++) {
		const struct result *r = &e->results[i];

		printf("    %-16s %s", t->asked[i].label, word(r));
		if (r->runs > RD_RUNS_UNKNOWN && r->without)
			printf(": %zu of %zu bundles have nothing for it", r->without, e->bundles);
		putchar('\n');
	}
	for (size_t i = 0; i < e->problems.n; i++) {
		rd_auto_free char *text = rd_str_printable(e->problems.v[i]);

		printf("    ! %s\n", text);
	}
}

/* What one GPU can run of all that was looked at. */
struct sum {
	size_t with, no, partly, unknown;
};

static struct sum sum_up(const struct targets *t, size_t k)
{
	struct sum s = { 0 };

	for (size_t i = 0; i < t->entries_n; i++) {
		const struct entry *e = &t->entries[i];
		const struct result *r = &e->results[k];

		if (!has_results(e)) {
			s.unknown += e->problems.n > 0;
			continue;
		}
		s.with++;
		s.no += r->runs == RD_RUNS_NO;
		s.unknown += r->runs == RD_RUNS_UNKNOWN;
		s.partly += r->runs > RD_RUNS_UNKNOWN && r->least == RD_RUNS_NO;
	}
	return s;
}

/* "No" where a GPU has no code, be it that there is none at all; what could not be read may have held some. */
static int judge(const struct targets *t)
{
	bool unknown = false;

	for (size_t k = 0; k < t->asked_n; k++) {
		struct sum s = sum_up(t, k);

		if (s.no || s.partly || (!s.with && !s.unknown && !t->cut))
			return RD_EXIT_FOUND;
		unknown |= s.unknown || t->cut;
	}
	return unknown ? RD_EXIT_BROKEN : RD_EXIT_OK;
}

static void print_sums(const struct targets *t)
{
	for (size_t k = 0; k < t->asked_n && !t->single; k++) {
		struct sum s = sum_up(t, k);

		if (!s.with)
			continue;
		printf("%s%s: %zu place%s with device code, %zu without any for it, %zu with some only", k ? "" : "\n",
		       t->asked[k].label, s.with, s.with == 1 ? "" : "s", s.no, s.partly);
		if (s.unknown)
			printf(", %zu that cannot be told", s.unknown);
		putchar('\n');
	}
}

static void print_text(const struct targets *t, const char *path)
{
	for (size_t i = 0; i < t->entries_n; i++)
		print_entry(t, &t->entries[i]);
	if (!t->entries_n)
		printf("no device code in %s\n", path ? path : "what the process has mapped");
	print_sums(t);
}

static void release(struct targets *t)
{
	for (size_t i = 0; i < t->entries_n; i++) {
		free(t->entries[i].path);
		free(t->entries[i].results);
		rd_strv_clear(&t->entries[i].targets);
		rd_strv_clear(&t->entries[i].problems);
	}
	for (size_t i = 0; i < t->asked_n; i++)
		free(t->asked[i].label);
	free(t->entries);
	free(t->asked);
}

int cmd_targets(struct rd_app *app, int argc, char *argv[])
{
	struct targets t = { .app = app };
	rd_auto_free char *path = NULL;
	int status;

	if (argc > 1 || (!argc && !app->pid && !app->container))
		return rd_app_fail(app, RD_EXIT_USAGE, "wants one file, folder or environment");
	path = argc ? rd_app_path(app, argv[0]) : NULL;
	status = app->gfx.n ? ask_for_gfx(&t) : ask_for_host(&t);
	if (!status && app->gfx.n)
		status = rd_app_open_root(app);
	if (!status)
		status = path ? examine(&t, path) : examine_process(&t);
	if (!status) {
		if (rd_app_wants(app, "json"))
			print_json(&t);
		else
			print_text(&t, path);
		status = judge(&t);
		if (status == RD_EXIT_BROKEN)
			rd_app_fail(app, 0, "not everything there could be read%s", t.cut ? ": it is too much" : "");
	}
	release(&t);
	return status;
}
