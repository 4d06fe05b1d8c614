/*
 * Device code and kernels of the engines that bring a ggml back end for HIP: which GPUs they are for, which libraries the back
 * end would not find, and which rocBLAS it gets.
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

/* Where the back end lies: below the engine's folder, or below its prefix. */
static const char *const in_folder[] = { "%s/libggml-hip*.so*", "%s/rocm*/libggml-hip*.so*",
	                                 "%s/runners/rocm*/libggml*hip*.so*", "%s/runners/rocm*/libggml_rocm*.so*", NULL };
static const char *const in_prefix[] = { "%s/bin/libggml-hip*.so*",
	                                 "%s/lib/libggml-hip*.so*",
	                                 "%s/lib64/libggml-hip*.so*",
	                                 "%s/lib/x86_64-linux-gnu/libggml-hip*.so*",
	                                 "%s/lib/x86_64-linux-gnu/ggml/*/libggml-hip*.so*",
	                                 NULL };

struct engine {
	struct rd_probe_ctx *ctx;
	struct rd_fact *item;
	const struct rd_gpu_agent *agents;
	size_t agents_n;
};

/* The first that the patterns give; NULL for none. Caller frees. */
static char *find_backend(struct rd_sysroot *sr, const char *const *patterns, const char *dir)
{
	for (; *dir && *patterns; patterns++) {
		rd_auto_free char *pattern = rd_xasprintf("%s%s", dir, *patterns + 2);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		if (rd_sysroot_glob(sr, &found, pattern) >= 0 && found.n)
			return rd_xstrdup(found.v[0]);
	}
	return NULL;
}

static void set_unresolved(struct engine *e, const struct rd_loader *l, const char *backend)
{
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;
	int unknown = rd_loader_find(l, "libc") == RD_LOADER_NONE ? -ENODATA : 0;

	for (size_t i = 0; i < rd_loader_needs(l) && !unknown; i++)
		if (!rd_loader_need(l, i)->optional)
			unknown = rd_loader_need(l, i)->unknown;
	if (unknown) {
		rd_fact_set_unknown(e->item, "unresolved", unknown, backend);
		return;
	}
	rd_fact_set_list(e->item, "unresolved", backend);
	for (size_t i = 0; i < rd_loader_needs(l); i++) {
		const struct rd_load_need *need = rd_loader_need(l, i);

		if (need->object != RD_LOADER_NONE || need->optional || rd_strv_has(&seen, need->name))
			continue;
		rd_strv_push(&seen, need->name);
		rd_fact_append_str(e->item, "unresolved", need->name, rd_loader_object(l, need->from)->path);
	}
}

static void set_libraries(struct engine *e, const char *backend, const char *library_path)
{
	struct rd_loader_env env;
	struct rd_loader *l;
	struct rd_error err = RD_ERROR_INIT;
	size_t object;

	rd_loader_env_read(e->ctx->sysroot, &env);
	if (library_path)
		env.library_path = library_path;
	if (rd_loader_start(e->ctx->sysroot, &env, backend, &l, &err) < 0) {
		rd_fact_set_unknown_why(e->item, "unresolved", err.message, backend);
		rd_fact_set_unknown_why(e->item, "rocblas.missing_gpus", err.message, backend);
		rd_error_clear(&err);
		return;
	}
	rd_loader_dlopen_stubs(l);
	set_unresolved(e, l, backend);
	object = rd_loader_find(l, "librocblas");
	if (object != RD_LOADER_NONE)
		rd_survey_set_data(e->ctx->sysroot, e->item, "rocblas.", RD_LIBDATA_ROCBLAS, rd_loader_object(l, object)->path,
		                   e->agents, e->agents_n);
	object = rd_loader_find(l, "libhipblaslt");
	if (object != RD_LOADER_NONE)
		rd_survey_set_data(e->ctx->sysroot, e->item, "hipblaslt.", RD_LIBDATA_HIPBLASLT,
		                   rd_loader_object(l, object)->path, e->agents, e->agents_n);
	rd_loader_free(l);
}

static void set_code(struct engine *e, const char *backend)
{
	rd_auto(rd_cleanup_fatbin) struct rd_fatbin *code = NULL;
	struct rd_error err = RD_ERROR_INIT;
	const char *why = "the back end has no device code inside";

	if (rd_fatbin_read(e->ctx->sysroot, backend, RD_SURVEY_BUDGET, &code, &err) < 0)
		why = err.message;
	if (code && !rd_fatbin_has_code(code))
		code = rd_fatbin_free(code);
	rd_survey_set(e->item, "", code, why, e->agents, e->agents_n, backend);
	rd_error_clear(&err);
}

static void look_at(struct engine *e, bool own_libraries)
{
	const char *folder = rd_fact_get_str(e->item, "folder"), *prefix = rd_fact_get_str(e->item, "prefix");
	rd_auto_free char *backend = find_backend(e->ctx->sysroot, in_folder, folder);
	rd_auto_free char *library_path = NULL;

	if (!backend && !own_libraries)
		backend = find_backend(e->ctx->sysroot, in_prefix, prefix);
	if (!backend) {
		/* Without the back end there is no device code: what it was built for is told by nothing, and wanted by nobody. */
		rd_fact_set_list(e->item, "gfx_targets", folder);
		return;
	}
	rd_fact_set_str(e->item, "backend", backend, backend);
	/* Ollama starts its runners with its own folders first. */
	if (own_libraries)
		library_path = rd_xasprintf("%.*s:%s", (int)(strrchr(backend, '/') - backend), backend, folder);
	set_code(e, backend);
	set_libraries(e, backend, library_path);
}

/* The variables of the engine's running server, else of its service; NULL where a person starts it in a session. */
static const struct rd_fact *environment_of(const struct rd_fact *facts, const char *engine)
{
	static const char *const lists[] = { "servers", "services" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++) {
		const struct rd_fact *list = rd_fact_get(facts, lists[i]);

		for (size_t k = 0; k < rd_fact_count(list); k++)
			if (rd_streq(rd_fact_get_str(rd_fact_at(list, k), "engine"), engine))
				return rd_fact_get(rd_fact_at(list, k), "environment");
	}
	return NULL;
}

static int run(struct rd_probe_ctx *ctx)
{
	static const struct {
		const char *list, *engine;
		bool own_libraries;
	} engines[] = { { "engines.ollama", "ollama", true }, { "engines.llama_cpp", "llama_cpp", false } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(engines); i++) {
		struct rd_fact *list = rd_fact_get_mutable(ctx->facts, engines[i].list);
		const struct rd_fact *environment = environment_of(ctx->facts, engines[i].engine);
		struct rd_gpu_agent *agents;
		size_t n = environment ? rd_agents_list_of(ctx->facts, environment, &agents)
		                       : rd_agents_list(ctx->facts, ctx->sysroot, &agents);

		for (size_t k = 0; k < rd_fact_count(list); k++) {
			struct engine e = { ctx, rd_fact_at_mutable(list, k), agents, n };

			look_at(&e, engines[i].own_libraries);
		}
		free(agents);
	}
	return 0;
}

#define BACKEND "libggml-hip.so"
#define ENGINE_FACTS(at) \
	{ at "backend", RD_STR, "its back end for HIP", BACKEND }, \
		{ at "unresolved[]", RD_STRS, "libraries that the loader would not find for the back end", \
		  "the loader's search" }, \
		RD_SURVEY_FACTS(at, "the back end"), RD_SURVEY_DATA_FACTS(at "rocblas.", "rocBLAS"), \
		RD_SURVEY_DATA_FACTS(at "hipblaslt.", "hipBLASLt")

const struct rd_probe rd_probe_engine_code = {
	.name = "engine/code",
	.layer = RD_LAYER_ENGINE,
	.after = "engine/wheels",
	.summary = "which GPUs the engines' own code is for",
	.facts =
		(const struct rd_fact_decl[]){
			ENGINE_FACTS("engines.ollama[]."),
			ENGINE_FACTS("engines.llama_cpp[]."),
			{ 0 },
		},
	.run = run,
};
