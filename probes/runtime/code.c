/*
 * The installations of ROCm themselves: libraries that one of them needs and the loader does not find, and the GPUs that their
 * libraries have code and data for.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/loader.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/survey.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* What programs begin with; all others are needed by these. */
static const char *const beginnings[] = { "libamdhip64.so.*", "librocblas.so.*", "libhipblaslt.so.*",
	                                  "libMIOpen.so.*",   "librccl.so.*",    "libhipblas.so.*" };
static const char *const folders[] = { "lib", "lib64", "lib/x86_64-linux-gnu" };

struct root {
	struct rd_probe_ctx *ctx;
	const char *path;
	struct rd_loader *loader;
};

/* The name with one number behind .so: the SONAME, whatever the link is called beside it. Caller frees; NULL for none. */
static char *find_library(struct root *root, const char *name)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_free char *pattern = rd_xasprintf("%s/%s/%s", root->path, folders[i], name);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		if (rd_sysroot_glob(root->ctx->sysroot, &found, pattern) < 0)
			continue;
		for (size_t k = 0; k < found.n; k++)
			if (!strchr(strstr(found.v[k], ".so.") + 4, '.'))
				return rd_xstrdup(found.v[k]);
	}
	return NULL;
}

/* All of them in one process, as PyTorch or llama.cpp have them. */
static void load(struct root *root)
{
	struct rd_loader_env env;

	rd_loader_env_read(root->ctx->sysroot, &env);
	for (size_t i = 0; i < RD_ARRAY_SIZE(beginnings); i++) {
		rd_auto_free char *path = find_library(root, beginnings[i]);

		if (path && !root->loader && rd_loader_start(root->ctx->sysroot, &env, path, &root->loader, NULL) < 0)
			root->loader = NULL;
		else if (path && root->loader)
			rd_loader_dlopen(root->loader, 0, path, true);
	}
	if (root->loader)
		rd_loader_dlopen_stubs(root->loader);
}

static struct rd_fact *item_of(struct root *root, const char *file)
{
	struct rd_fact *list = rd_fact_get_mutable(root->ctx->facts, "runtime.unresolved"), *item;

	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "file"), file))
			return rd_fact_at_mutable(list, i);
	item = rd_fact_append(root->ctx->facts, "runtime.unresolved", file);
	rd_fact_set_str(item, "file", file, file);
	rd_fact_set_str(item, "root", root->path, file);
	rd_fact_set_list(item, "names", file);
	return item;
}

static bool has_name(const struct rd_fact *item, const char *name)
{
	const struct rd_fact *names = rd_fact_get(item, "names");

	for (size_t i = 0; i < rd_fact_count(names); i++)
		if (rd_streq(rd_fact_str(rd_fact_at(names, i)), name))
			return true;
	return false;
}

/* Only files of the root count: a library of the system that lacks something is no matter of ROCm. */
static void note_unresolved(struct root *root)
{
	const struct rd_loader *l = root->loader;

	for (size_t i = 0; i < rd_loader_needs(l); i++) {
		const struct rd_load_need *need = rd_loader_need(l, i);
		rd_auto_free char *real = NULL;
		const char *file = rd_loader_object(l, need->from)->path;
		struct rd_fact *item;

		if (need->object != RD_LOADER_NONE || need->optional || need->unknown ||
		    rd_sysroot_realpath(root->ctx->sysroot, &real, file) < 0)
			continue;
		if (!rd_str_has_prefix(real, root->path) || rd_streq(root->path, "/usr"))
			continue;
		item = item_of(root, real);
		if (!has_name(item, need->name))
			rd_fact_append_str(item, "names", need->name, real);
	}
}

static void look_at(struct root *root, struct rd_fact *item, const struct rd_gpu_agent *agents, size_t n)
{
	static const struct {
		const char *stem, *prefix;
		enum rd_libdata_kind kind;
	} data[] = {
		{ "librocblas", "rocblas.", RD_LIBDATA_ROCBLAS },
		{ "libhipblaslt", "hipblaslt.", RD_LIBDATA_HIPBLASLT },
		{ "libMIOpen", "miopen.", RD_LIBDATA_MIOPEN },
	};
	size_t rccl;

	load(root);
	if (!root->loader)
		return;
	/* A tree without a C library is a part of a host. */
	if (rd_loader_find(root->loader, "libc") != RD_LOADER_NONE)
		note_unresolved(root);
	for (size_t i = 0; i < RD_ARRAY_SIZE(data); i++) {
		size_t object = rd_loader_find(root->loader, data[i].stem);

		if (object != RD_LOADER_NONE)
			rd_survey_set_data(root->ctx->sysroot, item, data[i].prefix, data[i].kind,
			                   rd_loader_object(root->loader, object)->path, agents, n);
	}
	rccl = rd_loader_find(root->loader, "librccl");
	if (rccl != RD_LOADER_NONE)
		rd_survey_set_code(root->ctx->sysroot, item, "rccl.", rd_loader_object(root->loader, rccl)->path, agents, n);
	root->loader = rd_loader_free(root->loader);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "runtime.rocm");
	struct rd_gpu_agent *agents;
	size_t n = rd_agents_list(ctx->facts, ctx->sysroot, &agents);

	if (!rd_fact_is_unknown(ctx->facts, "runtime.rocm"))
		rd_fact_set_list(ctx->facts, "runtime.unresolved", "ROCm's libraries");
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);
		struct root root = { .ctx = ctx, .path = rd_fact_get_str(item, "root") };

		if (*root.path == '/')
			look_at(&root, item, agents, n);
	}
	if (rd_fact_get(ctx->facts, "runtime.unresolved"))
		rd_fact_sort(rd_fact_get_mutable(ctx->facts, "runtime.unresolved"), "file");
	free(agents);
	return 0;
}

const struct rd_probe rd_probe_runtime_code = {
	.name = "runtime/code",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/visible",
	.needs = (const char *const[]){ "runtime.rocm", NULL },
	.summary = "libraries that ROCm itself would not find, and the GPUs its libraries are for",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.unresolved[]", RD_LIST,
	                  "ROCm's libraries that need one that the loader would not find, by file", "the loader's search" },
			{ "runtime.unresolved[].file", RD_STR, "file, every link resolved", "the loader's search" },
			{ "runtime.unresolved[].root", RD_STR, "root that it belongs to", "the loader's search" },
			{ "runtime.unresolved[].names[]", RD_STRS, "what it needs and would not find", "the loader's search" },
			RD_SURVEY_DATA_FACTS("runtime.rocm[].rocblas.", "rocBLAS"),
			RD_SURVEY_DATA_FACTS("runtime.rocm[].hipblaslt.", "hipBLASLt"),
			RD_SURVEY_MIOPEN_FACTS("runtime.rocm[].miopen."),
			RD_SURVEY_CODE_FACTS("runtime.rocm[].rccl.", "RCCL"),
			{ 0 },
		},
	.run = run,
};
