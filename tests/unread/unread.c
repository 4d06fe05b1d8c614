/*
 * unread [--facts] [--at-most N] TREE ERRNO...: examines TREE once as it is, then once for each path that was read, with that path giving
 * ERRNO. Whatever cannot be read is unknown, and what is unknown is no finding: a warning or error that is new is a false
 * alarm, printed, and makes the exit status 1. --facts also prints the facts that got another value instead of none;
 * --at-most N takes N paths, evenly spread over all.
 *
 * Wraps the directory back end (-Wl,--wrap), so that the error comes from where the kernel's would.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "host/sysroot-internal.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/sysroot.h"
#include "util/strbuf.h"
#include "util/strv.h"

static const char *denied; /* the path that cannot be read; NULL: none */
static int denied_errno;

static bool is_denied(const char *path)
{
	return denied && strcmp(path, denied) == 0;
}

#define WRAP(name, parameters, arguments) \
	int __real_##name parameters; \
	int __wrap_##name parameters; \
	int __wrap_##name parameters \
	{ \
		return is_denied(path) ? -denied_errno : __real_##name arguments; \
	}

WRAP(rd_tree_stat, (struct rd_sysroot * sr, const char *path, bool nofollow, struct stat *st), (sr, path, nofollow, st))
WRAP(rd_tree_open_file, (struct rd_sysroot * sr, const char *path, struct stat *st), (sr, path, st))
WRAP(rd_tree_list, (struct rd_sysroot * sr, const char *path, struct rd_strv *ret), (sr, path, ret))
WRAP(rd_tree_readlink, (struct rd_sysroot * sr, const char *path, char **ret), (sr, path, ret))

struct paths {
	struct rd_recorder recorder;
	struct rd_strv paths;
};

static void record(struct rd_recorder *self, char what, const char *path, int result)
{
	(void)what;
	if (result >= 0)
		rd_strv_push(&((struct paths *)self)->paths, path);
}

struct outcome {
	cJSON *facts;
	struct rd_strv findings; /* "error ID SUBJECT" */
};

static void release(struct outcome *o)
{
	cJSON_Delete(o->facts);
	rd_strv_clear(&o->findings);
}

static void collect(const struct rd_diagnosis *d, struct rd_strv *ret)
{
	const struct rd_finding *f = NULL;

	while ((f = rd_diagnosis_next(d, f)))
		if (f->severity != RD_INFO)
			rd_strv_pushf(ret, "%s %s %s", f->severity == RD_ERROR ? "error" : "warning", f->rule->id,
			              f->subject ? f->subject : "");
}

static void examine(const char *dir, const struct rd_knowledge *k, struct paths *paths, struct outcome *ret)
{
	struct rd_probe_options options = { 0 };
	struct rd_probe_ctx ctx = { .facts = rd_facts_new(), .knowledge = k, .options = &options };
	struct rd_error err = RD_ERROR_INIT;
	struct rd_diagnosis *d;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (rd_sysroot_open(dir, &ctx.sysroot, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		exit(3);
	}
	if (paths)
		rd_sysroot_record(ctx.sysroot, &paths->recorder);
	rd_probes_run(&ctx);
	out = open_memstream(&text, &len);
	if (rd_render_facts_json(k, ctx.facts, out) < 0)
		exit(3);
	fclose(out);
	ret->facts = cJSON_Parse(text);
	d = rd_diagnose(k, ctx.facts, NULL);
	collect(d, &ret->findings);
	rd_diagnosis_free(d);
	rd_fact_free(ctx.facts);
	rd_sysroot_free(ctx.sysroot);
	free(text);
}

static void print_change(const char *path, const cJSON *before, const cJSON *after)
{
	char *a = cJSON_PrintUnformatted(before), *b = after ? cJSON_PrintUnformatted(after) : NULL;

	if (cJSON_IsArray(before) && cJSON_IsArray(after))
		printf("  %s: %d items, not %d\n", path, cJSON_GetArraySize(after), cJSON_GetArraySize(before));
	else
		printf("  %s: %.60s, not %.60s\n", path, b ? b : "nothing", a);
	free(a);
	free(b);
}

static void compare(const char *path, const cJSON *before, const cJSON *after)
{
	bool objects = cJSON_IsObject(before) && cJSON_IsObject(after);
	bool arrays = cJSON_IsArray(before) && cJSON_GetArraySize(before) == cJSON_GetArraySize(after);
	const cJSON *item;
	int i = 0;

	if (cJSON_IsNull(before) || cJSON_IsNull(after) || (after && cJSON_Compare(before, after, true)))
		return;
	if (!objects && !(arrays && cJSON_IsArray(after))) {
		print_change(path, before, after);
		return;
	}
	cJSON_ArrayForEach (item, before) {
		rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

		rd_strbuf_addf(&sb, "%s%s%s", path, objects ? "." : "[]", objects ? item->string : "");
		compare(sb.buf, item,
		        objects ? cJSON_GetObjectItemCaseSensitive(after, item->string) : cJSON_GetArrayItem(after, i++));
	}
}

static unsigned judge(const struct outcome *before, const struct outcome *after, bool facts)
{
	unsigned alarms = 0;

	for (size_t i = 0; i < after->findings.n; i++) {
		if (rd_strv_has(&before->findings, after->findings.v[i]))
			continue;
		printf("%s: %s: new %s\n", denied, rd_errno_name(denied_errno), after->findings.v[i]);
		alarms++;
	}
	if (facts) {
		printf("%s:\n", denied);
		compare("", cJSON_GetObjectItemCaseSensitive(before->facts, "facts"),
		        cJSON_GetObjectItemCaseSensitive(after->facts, "facts"));
	}
	return alarms;
}

static void sort_once(struct rd_strv *paths)
{
	struct rd_strv once = RD_STRV_INIT;

	rd_strv_sort(paths);
	for (size_t i = 0; i < paths->n; i++)
		if (i == 0 || strcmp(paths->v[i], paths->v[i - 1]) != 0)
			rd_strv_push(&once, paths->v[i]);
	rd_strv_clear(paths);
	*paths = once;
}

static unsigned deny_each(const char *dir, const struct rd_knowledge *k, const char *name, bool facts, size_t at_most)
{
	struct paths paths = { { record }, RD_STRV_INIT };
	struct outcome before = { NULL, RD_STRV_INIT };
	unsigned alarms = 0, n = 0;

	denied_errno = rd_errno_value(name);
	examine(dir, k, &paths, &before);
	sort_once(&paths.paths);
	for (size_t i = 0; i < paths.paths.n; i++) {
		struct outcome after = { NULL, RD_STRV_INIT };

		/* Where the share of those seen so far is a whole one more. */
		if (at_most && at_most < paths.paths.n && i * at_most / paths.paths.n == (i + 1) * at_most / paths.paths.n)
			continue;
		denied = paths.paths.v[i];
		examine(dir, k, NULL, &after);
		alarms += judge(&before, &after, facts);
		release(&after);
		n++;
	}
	denied = NULL;
	printf("%s: %s for each of %u paths: %u false alarms\n", dir, name, n, alarms);
	rd_strv_clear(&paths.paths);
	release(&before);
	return alarms;
}

int main(int argc, char *argv[])
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_knowledge *k = NULL;
	unsigned alarms = 0;
	bool facts = false;
	size_t at_most = 0;

	for (argv++; *argv && argv[0][0] == '-'; argv++) {
		if (strcmp(*argv, "--facts") == 0)
			facts = true;
		else if (strcmp(*argv, "--at-most") == 0 && argv[1])
			at_most = strtoul(*++argv, NULL, 10);
	}
	if (argc < 3 || !argv[0] || !argv[1] || !rd_errno_value(argv[1])) {
		fprintf(stderr, "usage: unread [--facts] [--at-most N] TREE ERRNO...\n");
		return 2;
	}
	if (rd_knowledge_load(NULL, &k, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 3;
	}
	for (char **name = argv + 1; *name; name++)
		alarms += deny_each(argv[0], k, *name, facts, at_most);
	rd_knowledge_free(k);
	return alarms > 0;
}
