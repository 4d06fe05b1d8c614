/*
 * What DKMS has built for which kernel, and why it failed. Read from its tree, as "dkms status" does:
 *
 *   /var/lib/dkms/NAME/VERSION/source              added
 *   /var/lib/dkms/NAME/VERSION/KERNEL/ARCH/module  built
 *   /var/lib/dkms/NAME/kernel-KERNEL-ARCH          installed; a link to VERSION/KERNEL/ARCH
 *   /var/lib/dkms/NAME/VERSION/build/make.log      what a failed build leaves
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

#define TREE "/var/lib/dkms"
#define LIST "kernel.dkms"
#define STALE "kernel.dkms_stale"

/* What comes out of a make.log. */
struct build_log {
	char *kernel, *error;
	int exit_code;
	bool failed;
};

static void build_log_clear(struct build_log *log)
{
	free(log->kernel);
	free(log->error);
}

/* The word behind a marker, up to the next blank. */
static char *word_after(const char *line, const char *marker)
{
	const char *s = strstr(line, marker);

	return s ? rd_xstrndup(s + strlen(marker), strcspn(s + strlen(marker), " \t(")) : NULL;
}

/* The first line that says what went wrong, in rising order of how little it says. */
static int weight(const char *line)
{
	static const struct {
		const char *text;
		int weight;
	} marks[] = { { "Error! ", 4 }, { " error: ", 3 }, { "is missing., exit", 3 }, { "*** [", 1 } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(marks); i++) {
		if (strstr(line, marks[i].text) || rd_str_has_prefix(line, marks[i].text))
			return marks[i].weight;
	}
	return 0;
}

static void parse_log(char *text, struct build_log *ret)
{
	char *rest = text, *line;
	int best = 0;

	while ((line = rd_str_next_line(&rest))) {
		int own = weight(line);

		if (!ret->kernel && rd_str_has_prefix(line, "DKMS make.log for "))
			ret->kernel = word_after(line, " for kernel ");
		if (rd_str_has_prefix(line, "# exit code: "))
			ret->exit_code = atoi(line + strlen("# exit code: "));
		if (own > best) {
			free(ret->error);
			ret->error = rd_xstrdup(line);
			best = own;
		}
	}
	ret->failed = ret->exit_code != 0 || best > 0;
}

/* A module of DKMS as the folders below TREE show it. */
struct tree {
	int stale_error;
	struct rd_probe_ctx *ctx;
	const char *name;     /* NAME */
	const char *version;  /* VERSION */
	const char *running;  /* the running kernel, "" where it is not known */
	struct rd_strv links; /* "kernel-K-ARCH" -> "VERSION/K/ARCH", the second alone */
	int entries;
	int error; /* what could not be looked into; 0: nothing */
};

static struct rd_fact *append(struct tree *t, const char *kernel, const char *state, const char *source)
{
	struct rd_fact *item = rd_fact_append(t->ctx->facts, LIST, source);

	rd_fact_set_str(item, "name", t->name, source);
	rd_fact_set_str(item, "version", t->version, source);
	rd_fact_set_str(item, "kernel", kernel, source);
	rd_fact_set_str(item, "state", state, source);
	rd_fact_set_bool(item, "running", kernel[0] && rd_streq(kernel, t->running), source);
	t->entries++;
	return item;
}

static bool is_linked(const struct tree *t, const char *kernel)
{
	rd_auto_free char *start = rd_xasprintf("%s/%s/", t->version, kernel);

	for (size_t i = 0; i < t->links.n; i++) {
		if (rd_str_has_prefix(t->links.v[i], start))
			return true;
	}
	return false;
}

/* True where one of the architectures below a kernel's folder has modules, and where that cannot be seen. */
static bool is_built(struct tree *t, const char *kernel)
{
	int r;

	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *pattern = rd_xasprintf(TREE "/%s/%s/%s/*/module", t->name, t->version, kernel);

	r = rd_sysroot_glob(t->ctx->sysroot, &found, pattern);
	if (r < 0)
		t->error = r;
	return r < 0 || found.n > 0;
}

static void add_log(struct rd_fact *item, const struct build_log *log, const char *path)
{
	rd_fact_set_str(item, "log", path, path);
	rd_fact_set_int(item, "exit_code", log->exit_code, path);
	if (log->error) {
		rd_auto_free char *text = rd_str_printable(log->error);

		rd_fact_set_str(item, "error", text, path);
	}
}

/* A failed build: its log names the kernel, for which no module came out. */
static void take_failure(struct tree *t)
{
	rd_auto_free char *path = rd_xasprintf(TREE "/%s/%s/build/make.log", t->name, t->version);
	rd_auto(build_log_clear) struct build_log log = { 0 };
	rd_auto_free char *text = NULL;

	int r = rd_sysroot_read(t->ctx->sysroot, &text, path);

	if (r < 0 && r != -ENOENT)
		t->error = r;
	if (r < 0)
		return;
	parse_log(text, &log);
	if (log.failed && log.kernel && !is_built(t, log.kernel))
		add_log(append(t, log.kernel, "failed", path), &log, path);
}

static bool is_kernel_folder(const char *name)
{
	return !rd_streq(name, "build") && !rd_streq(name, "source") && !rd_str_has_prefix(name, ".") &&
	       isdigit((unsigned char)name[0]);
}

static void take_kernels(struct tree *t, const struct rd_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		const char *kernel = names->v[i];
		rd_auto_free char *path = rd_xasprintf(TREE "/%s/%s/%s", t->name, t->version, kernel);

		if (!is_kernel_folder(kernel))
			continue;
		if (is_built(t, kernel))
			append(t, kernel, is_linked(t, kernel) ? "installed" : "built", path);
	}
}

/* A folder without the module's source makes dkms give up, for each kernel: "Could not locate dkms.conf file". */
static void take_stale(struct tree *t, const char *folder)
{
	int r = rd_sysroot_existsf(t->ctx->sysroot, "%s/source/dkms.conf", folder);
	struct rd_fact *item;

	if (r < 0 && r != -ENOENT)
		t->stale_error = r;
	if (r != 0 || !rd_streq(t->name, "amdgpu"))
		return;
	item = rd_fact_append(t->ctx->facts, STALE, folder);
	rd_fact_set_str(item, "folder", folder, folder);
	rd_fact_set_str(item, "version", t->version, folder);
}

static void take_version(struct tree *t)
{
	rd_auto_free char *folder = rd_xasprintf(TREE "/%s/%s", t->name, t->version);
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	int r = rd_sysroot_list(t->ctx->sysroot, &names, folder);

	t->entries = 0;
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		t->error = r;
	if (r < 0)
		return;
	take_stale(t, folder);
	take_kernels(t, &names);
	take_failure(t);
	if (t->entries == 0 && rd_strv_has(&names, "source"))
		append(t, "", "added", folder);
}

static int take_module(struct rd_probe_ctx *ctx, const char *name, const char *running)
{
	struct tree t = { .ctx = ctx, .name = name, .running = running, .links = RD_STRV_INIT };
	rd_auto_free char *folder = rd_xasprintf(TREE "/%s", name);
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &names, folder);

	if (r == -ENOTDIR)
		return 0;
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		rd_auto_free char *target = NULL;
		int link;

		if (!rd_str_has_prefix(names.v[i], "kernel-"))
			continue;
		link = rd_sysroot_readlinkf(ctx->sysroot, &target, "%s/%s", folder, names.v[i]);
		if (link >= 0)
			rd_strv_push(&t.links, target);
		else if (link != -EINVAL)
			t.error = link;
	}
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		t.version = names.v[i];
		if (!rd_str_has_prefix(t.version, "kernel-") && !rd_streq(t.version, "original_module"))
			take_version(&t);
	}
	rd_strv_clear(&t.links);
	if (t.stale_error)
		rd_fact_set_unknown(ctx->facts, STALE, t.stale_error, folder);
	return r < 0 ? r : t.error;
}

static void set_all_unknown(struct rd_fact *facts, int r)
{
	static const char *const paths[] = { LIST,
		                             STALE,
		                             "kernel.amdgpu.dkms.version",
		                             "kernel.amdgpu.dkms.state",
		                             "kernel.amdgpu.dkms.log",
		                             "kernel.amdgpu.dkms.error" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++) {
		if (r == 0)
			rd_fact_set_unknown_why(facts, paths[i], KERNEL_NOT_THE_HOST, TREE);
		else
			rd_fact_set_unknown(facts, paths[i], r, TREE);
	}
}

/* Sources whose package is installed but that DKMS was never told of: half of an installation. Without the folder
 * of DKMS nothing says what it was told. */
static void take_sources(struct rd_probe_ctx *ctx, bool tree)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	if (rd_sysroot_glob(ctx->sysroot, &found, "/usr/src/amdgpu-*/dkms.conf") < 0)
		return;
	if (found.n && !tree) {
		set_all_unknown(ctx->facts, -ENOENT);
		return;
	}
	for (size_t i = 0; i < found.n; i++) {
		const char *version = found.v[i] + strlen("/usr/src/amdgpu-");
		rd_auto_free char *text = rd_xstrndup(version, strcspn(version, "/"));
		struct tree t = { .ctx = ctx, .name = "amdgpu", .version = text, .running = "" };
		const struct rd_fact *list = rd_fact_get(ctx->facts, LIST);
		bool known = false;

		for (size_t j = 0; j < rd_fact_count(list); j++) {
			const struct rd_fact *item = rd_fact_at(list, j);

			known |= rd_streq(rd_fact_get_str(item, "name"), "amdgpu") &&
			         rd_streq(rd_fact_get_str(item, "version"), text);
		}
		if (!known)
			append(&t, "", "source", found.v[i]);
	}
}

/* How far a version of amdgpu came for the running kernel. */
static int rank(const struct rd_fact *item)
{
	static const char *const states[] = { "source", "added", "failed", "built", "installed" };
	int own = 1;

	for (size_t i = 0; i < RD_ARRAY_SIZE(states); i++) {
		if (rd_streq(rd_fact_get_str(item, "state"), states[i]))
			own = (int)i;
	}
	/* Built for another kernel alone: for this one it is added. */
	return own >= 2 && !rd_fact_get_bool(item, "running") ? 1 : own;
}

/* The version of amdgpu that matters: the one that came farthest, of two equal ones the newer. */
static void choose(struct rd_fact *facts)
{
	static const char *const states[] = { "source", "added", "failed", "built", "installed" };
	const struct rd_fact *list = rd_fact_get(facts, LIST), *best = NULL;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *item = rd_fact_at(list, i);

		if (!rd_streq(rd_fact_get_str(item, "name"), "amdgpu"))
			continue;
		if (!best || rank(item) > rank(best) ||
		    (rank(item) == rank(best) && rd_version_compare(rd_fact_get_str(item, "version"),
		                                                    rd_fact_get_str(best, "version"), RD_VERSION_DPKG) > 0))
			best = item;
	}
	if (!best)
		return;
	rd_fact_set_str(facts, "kernel.amdgpu.dkms.version", rd_fact_get_str(best, "version"), rd_fact_source(best));
	rd_fact_set_str(facts, "kernel.amdgpu.dkms.state", states[rank(best)], rd_fact_source(best));
	if (rank(best) == 2) {
		rd_fact_set_str(facts, "kernel.amdgpu.dkms.log", rd_fact_get_str(best, "log"), rd_fact_source(best));
		rd_fact_set_str(facts, "kernel.amdgpu.dkms.error", rd_fact_get_str(best, "error"), rd_fact_source(best));
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv modules = RD_STRV_INIT;
	rd_auto_free char *release = NULL;
	bool tree;
	int r;

	if (kernel_in_container(ctx)) {
		set_all_unknown(ctx->facts, 0);
		return 0;
	}
	if (kernel_release(ctx, &release) < 0)
		release = rd_xstrdup("");
	rd_fact_set_list(ctx->facts, LIST, TREE);
	rd_fact_set_list(ctx->facts, STALE, TREE);
	r = rd_sysroot_list(ctx->sysroot, &modules, TREE);
	tree = r != -ENOENT;
	if (!tree)
		r = 0;
	for (size_t i = 0; r >= 0 && i < modules.n; i++)
		r = take_module(ctx, modules.v[i], release);
	if (r < 0) {
		set_all_unknown(ctx->facts, r);
		return 0;
	}
	take_sources(ctx, tree);
	choose(ctx->facts);
	return 0;
}

const struct rd_probe rd_probe_kernel_dkms = {
	.name = "kernel/dkms",
	.layer = RD_LAYER_KERNEL,
	.summary = "modules that DKMS builds",
	.facts =
		(const struct rd_fact_decl[]){
			{ LIST "[]", RD_LIST, "modules of DKMS and kernels, by module, version and kernel", TREE },
			{ LIST "[].name", RD_STR, "name of the module", TREE },
			{ LIST "[].version", RD_STR, "version as dkms status prints it", TREE, RD_VERSION_DPKG },
			{ LIST "[].kernel", RD_STR, "release it was built for; empty where it was built for none", TREE },
			{ LIST "[].state", RD_STR, "source (DKMS was not told of it), added, failed, built or installed",
	                  TREE },
			{ LIST "[].running", RD_BOOL, "the kernel is the one that runs", TREE },
			{ LIST "[].log", RD_STR, "make.log of a failed build", TREE "/NAME/VERSION/build/make.log" },
			{ LIST "[].exit_code", RD_INT, "with which a failed build ended, 0 where its log does not say",
	                  TREE "/NAME/VERSION/build/make.log" },
			{ LIST "[].error", RD_STR, "the line of the log that says what went wrong",
	                  TREE "/NAME/VERSION/build/make.log" },
			{ STALE "[]", RD_LIST, "folders of amdgpu in DKMS whose source is gone",
	                  TREE "/amdgpu/VERSION/source" },
			{ STALE "[].folder", RD_STR, "the folder", TREE "/amdgpu" },
			{ STALE "[].version", RD_STR, "version of the module", TREE "/amdgpu" },
			{ "kernel.amdgpu.dkms.version", RD_STR,
	                  "version of amdgpu in DKMS, of several the one that came farthest", TREE "/amdgpu", RD_VERSION_DPKG },
			{ "kernel.amdgpu.dkms.state", RD_STR,
	                  "how far it came for the running kernel: source, added, failed, "
	                  "built, installed",
	                  TREE "/amdgpu" },
			{ "kernel.amdgpu.dkms.log", RD_STR, "make.log of its failed build",
	                  TREE "/amdgpu/VERSION/build/make.log" },
			{ "kernel.amdgpu.dkms.error", RD_STR, "the line of that log that says what went wrong",
	                  TREE "/amdgpu/VERSION/build/make.log" },
			{ 0 },
		},
	.run = run,
};
