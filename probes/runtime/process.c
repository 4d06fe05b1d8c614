/* The examined process: its program, and the libraries that it has really mapped. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

#define MAPS "/proc/self/maps"

static bool is_library(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *so = name ? strstr(name, ".so") : NULL;

	return so && (so[3] == '\0' || so[3] == '.');
}

/* "7f2c-7f2d r-xp 00000000 08:01 1234   /usr/lib/libc.so.6": the path is the sixth field and may hold blanks. */
static char *path_of(char *line)
{
	int used = 0;

	if (sscanf(line, "%*x-%*x %*4s %*x %*x:%*x %*u %n", &used) != 0 || !used)
		return NULL;
	return line[used] == '/' ? line + used : NULL;
}

static void collect(char *maps, struct rd_strv *ret)
{
	static const char deleted[] = " (deleted)";
	char *rest = maps, *line;

	while ((line = rd_str_next_line(&rest))) {
		char *path = path_of(line);
		rd_auto_free char *bare = NULL;

		if (!path)
			continue;
		bare = strdup(path);
		if (bare && rd_str_has_suffix(bare, deleted))
			bare[strlen(bare) - strlen(deleted)] = '\0';
		/* One library has several mappings, one behind the other. */
		if (bare && is_library(bare) && !(ret->n && rd_streq(ret->v[ret->n - 1], path)))
			rd_strv_push(ret, path);
	}
	rd_strv_sort(ret);
}

static void add_library(struct rd_fact *facts, const char *path)
{
	static const char deleted[] = " (deleted)";
	bool gone = rd_str_has_suffix(path, deleted);
	rd_auto_free char *bare = strndup(path, strlen(path) - (gone ? strlen(deleted) : 0));
	struct rd_fact *item;

	if (!bare)
		return;
	item = rd_fact_append(facts, "process.libraries", MAPS);
	rd_fact_set_str(item, "path", bare, MAPS);
	rd_fact_set_bool(item, "replaced", gone, MAPS);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;
	rd_auto_free char *exe = NULL, *maps = NULL;
	unsigned pid = rd_sysroot_pid(ctx->sysroot);
	int r;

	if (!pid) {
		rd_fact_set_not_asked(ctx->facts, "process", "--pid");
		return 0;
	}
	rd_fact_set_int(ctx->facts, "process.pid", pid, "/proc");
	r = rd_sysroot_readlink(ctx->sysroot, &exe, "/proc/self/exe");
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "process.exe", r, "/proc/self/exe");
	else
		rd_fact_set_str(ctx->facts, "process.exe", exe, "/proc/self/exe");
	r = rd_sysroot_read(ctx->sysroot, &maps, MAPS);
	if (r < 0)
		return r;
	rd_fact_set_list(ctx->facts, "process.libraries", MAPS);
	collect(maps, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (!i || !rd_streq(paths.v[i], paths.v[i - 1]))
			add_library(ctx->facts, paths.v[i]);
	return 0;
}

const struct rd_probe rd_probe_runtime_process = {
	.name = "runtime/process",
	.layer = RD_LAYER_RUNTIME,
	.summary = "the examined process and what it has mapped",
	.facts =
		(const struct rd_fact_decl[]){
			{ "process.pid", RD_INT, "number of the process that --pid or --container examines", "/proc" },
			{ "process.exe", RD_STR, "its program", "/proc/PID/exe" },
			{ "process.libraries[]", RD_LIST, "libraries that it has really mapped, by path", "/proc/PID/maps" },
			{ "process.libraries[].path", RD_STR, "path in the process's own root", "/proc/PID/maps" },
			{ "process.libraries[].replaced", RD_BOOL, "the file was deleted or replaced since it was mapped",
	                  "/proc/PID/maps" },
			{ 0 },
		},
	.run = run,
};
