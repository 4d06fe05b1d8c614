/*
 * The examined process: its program, its control groups, the libraries that it has really mapped, and what a new start of it
 * would load in their place.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/process.h"
#include "rocm-doctor/procload.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MAPS "/proc/self/maps"

static int compare_paths(const void *a, const void *b)
{
	return strcmp((*(const struct rd_mapped *const *)a)->path, (*(const struct rd_mapped *const *)b)->path);
}

static void set_replaced(struct rd_fact *item, const struct rd_mapped *m)
{
	if (m->replaced >= 0)
		rd_fact_set_bool(item, "replaced", m->replaced, MAPS);
	else if (m->outside)
		rd_fact_set_unknown_why(item, "replaced", "it is not below the process's root", MAPS);
	else
		rd_fact_set_unknown(item, "replaced", m->replaced, "/proc/self/map_files");
}

static void set_libraries(struct rd_fact *facts, const struct rd_mappings *mapped)
{
	rd_auto_free const struct rd_mapped **sorted = rd_xcalloc(mapped->n + 1, sizeof(*sorted));

	for (size_t i = 0; i < mapped->n; i++)
		sorted[i] = &mapped->v[i];
	qsort(sorted, mapped->n, sizeof(*sorted), compare_paths);
	rd_fact_set_list(facts, "process.libraries", MAPS);
	for (size_t i = 0; i < mapped->n; i++) {
		struct rd_fact *item;

		if (!rd_proc_is_library(sorted[i]->path))
			continue;
		item = rd_fact_append(facts, "process.libraries", MAPS);
		rd_fact_set_str(item, "path", sorted[i]->path, MAPS);
		set_replaced(item, sorted[i]);
	}
}

/* ------------------------------------------------------------ ROCm's, beside the simulation */

static const char *path_now(const struct rd_procload *p, const struct rd_proc_library *l)
{
	return l->object == RD_PROCLOAD_NONE ? "" : rd_loader_object(p->loader, l->object)->path;
}

static const char *path_mapped(const struct rd_procload *p, const struct rd_proc_library *l)
{
	return l->mapped == RD_PROCLOAD_NONE ? "" : p->mapped.v[l->mapped].path;
}

static char *chosen_by(const struct rd_procload *p, const struct rd_proc_library *l)
{
	const struct rd_load_need *need =
		l->object == RD_PROCLOAD_NONE ? NULL : rd_loader_need(p->loader, rd_loader_need_of(p->loader, l->object));

	return need && !l->run_time ? rd_loader_chosen_by(p->loader, need) : rd_xstrdup("");
}

static void add_rocm(struct rd_fact *facts, const struct rd_procload *p, const struct rd_proc_library *l)
{
	rd_auto_free char *by = chosen_by(p, l), *release = NULL;
	struct rd_fact *item = rd_fact_append(facts, "process.rocm", MAPS);
	const char *mapped = path_mapped(p, l);

	rd_fact_set_str(item, "name", l->name, MAPS);
	rd_fact_set_str(item, "mapped", mapped, MAPS);
	release = *mapped ? rd_library_release(mapped) : NULL;
	rd_fact_set_str(item, "release", release ? release : "", MAPS);
	rd_fact_set_bool(item, "run_time", l->run_time, MAPS);
	if (l->verdict == RD_PROC_UNKNOWN) {
		rd_fact_set_unknown_why(item, "expected", p->why ? p->why : "", "/proc/self/exe");
		rd_fact_set_unknown_why(item, "chosen_by", p->why ? p->why : "", "/proc/self/exe");
		rd_fact_set_unknown_why(item, "verdict", p->why ? p->why : "", "/proc/self/exe");
		return;
	}
	rd_fact_set_str(item, "expected", path_now(p, l), "the loader's search");
	rd_fact_set_str(item, "chosen_by", by, "the loader's search");
	rd_fact_set_str(item, "verdict", rd_proc_verdict_name(l->verdict), MAPS);
}

/* What only a restart mends. Which of several copies is the first of a name can hang on the order of opening. */
static bool is_outdated(const struct rd_proc_library *l)
{
	return l->verdict == RD_PROC_OLD_COPY || (l->verdict == RD_PROC_OTHER && l->certain);
}

static void set_rocm(struct rd_fact *facts, const struct rd_procload *p)
{
	rd_fact_set_list(facts, "process.rocm", MAPS);
	rd_fact_set_list(facts, "process.outdated", MAPS);
	for (size_t i = 0; i < p->n; i++) {
		const struct rd_proc_library *l = &p->v[i];

		if (!rd_library_is_rocm(l->name))
			continue;
		add_rocm(facts, p, l);
		if (is_outdated(l))
			rd_fact_append_str(facts, "process.outdated", path_mapped(p, l), MAPS);
	}
}

static bool is_copy_of(const struct rd_mapped *m, const char *stem)
{
	const char *base = strrchr(m->path, '/');

	return base && rd_str_has_prefix(base + 1, stem) && base[1 + strlen(stem)] == '.' && rd_proc_is_library(base);
}

static void set_copies(struct rd_fact *facts, const struct rd_mappings *mapped, const char *fact, const char *stem)
{
	rd_fact_set_list(facts, fact, MAPS);
	for (size_t i = 0; i < mapped->n; i++) {
		const struct rd_mapped *m = &mapped->v[i];
		bool same = false;

		/* One file by two mounts is one library to the loader. */
		for (size_t k = 0; k < i && !same; k++)
			same = mapped->v[k].ino == m->ino && is_copy_of(&mapped->v[k], stem);
		if (is_copy_of(m, stem) && !same)
			rd_fact_append_str(facts, fact, m->path, MAPS);
	}
}

static int set_mapped(struct rd_probe_ctx *ctx)
{
	struct rd_procload p;
	int r = rd_procload_read(ctx->sysroot, &p);

	if (r < 0)
		return r;
	set_libraries(ctx->facts, &p.mapped);
	set_rocm(ctx->facts, &p);
	set_copies(ctx->facts, &p.mapped, "process.hip_runtimes", "libamdhip64");
	set_copies(ctx->facts, &p.mapped, "process.hsa_runtimes", "libhsa-runtime64");
	rd_procload_release(&p);
	return 0;
}

/* ------------------------------------------------------------ */

static void set_program(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *exe = NULL;
	int r = rd_process_exe(ctx->sysroot, &exe, NULL);

	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "process.exe", r, "/proc/self/exe");
	else
		rd_fact_set_str(ctx->facts, "process.exe", exe, "/proc/self/exe");
}

static void set_groups(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *group = NULL;
	int64_t limit;
	int r = rd_process_cgroup(ctx->sysroot, &group);

	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "process.cgroup", r, "/proc/self/cgroup");
	else
		rd_fact_set_str(ctx->facts, "process.cgroup", group, "/proc/self/cgroup");
	r = rd_process_memory_limit(ctx->sysroot, &limit);
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "process.memory_limit_bytes", r, "/sys/fs/cgroup");
	else
		rd_fact_set_int(ctx->facts, "process.memory_limit_bytes", limit, "/sys/fs/cgroup");
}

static int run(struct rd_probe_ctx *ctx)
{
	unsigned pid = rd_sysroot_pid(ctx->sysroot);

	if (!pid) {
		rd_fact_set_not_asked(ctx->facts, "process", "--pid");
		return 0;
	}
	rd_fact_set_int(ctx->facts, "process.pid", pid, "/proc");
	set_program(ctx);
	set_groups(ctx);
	return set_mapped(ctx);
}

#define NEW_START "the loader's search for the same program and environment"

const struct rd_probe rd_probe_runtime_process = {
	.name = "runtime/process",
	.layer = RD_LAYER_RUNTIME,
	.summary = "the examined process and what it has mapped",
	.facts =
		(const struct rd_fact_decl[]){
			{ "process.pid", RD_INT, "number of the process that --pid or --container examines", "/proc" },
			{ "process.exe", RD_STR, "its program, as a path in its own root", "/proc/PID/exe" },
			{ "process.cgroup", RD_STR, "its control group", "/proc/PID/cgroup" },
			{ "process.memory_limit_bytes", RD_INT,
	                  "memory that its control groups allow; 9223372036854775807: no limit",
	                  "/sys/fs/cgroup, memory.max or memory.stat" },
			{ "process.libraries[]", RD_LIST, "libraries that it has really mapped, by path", "/proc/PID/maps" },
			{ "process.libraries[].path", RD_STR, "path in the process's own root", "/proc/PID/maps" },
			{ "process.libraries[].replaced", RD_BOOL, "the file was deleted or replaced since it was mapped",
	                  "/proc/PID/maps, /proc/PID/map_files" },
			{ "process.rocm[]", RD_LIST,
	                  "libraries of ROCm in it, beside those that a new start would load, by name", "/proc/PID/maps" },
			{ "process.rocm[].name", RD_STR, "SONAME, else the file's name", "/proc/PID/maps" },
			{ "process.rocm[].mapped", RD_STR, "file that is mapped; empty for none", "/proc/PID/maps" },
			{ "process.rocm[].release", RD_STR, "ROCm release in its number", "the file's name", RD_VERSION_ROCM },
			{ "process.rocm[].expected", RD_STR, "file that a new start would load; empty for none", NEW_START },
			{ "process.rocm[].chosen_by", RD_STR, "rule of the loader that chooses it", NEW_START },
			{ "process.rocm[].run_time", RD_BOOL, "no other library needs it: the program opened it by itself",
	                  "/proc/PID/maps" },
			{ "process.rocm[].verdict", RD_STR,
	                  "\"same\", \"old copy\" (replaced or removed since), \"another file\", \"not expected\", "
	                  "\"not mapped\"",
	                  "/proc/PID/maps" },
			{ "process.outdated[]", RD_STRS,
	                  "libraries of ROCm in it that a new start would not load: replaced since, or found elsewhere now",
	                  "/proc/PID/maps" },
			{ "process.hip_runtimes[]", RD_STRS, "copies of libamdhip64 in it", "/proc/PID/maps" },
			{ "process.hsa_runtimes[]", RD_STRS, "copies of libhsa-runtime64 in it", "/proc/PID/maps" },
			{ 0 },
		},
	.run = run,
};
