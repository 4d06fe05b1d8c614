/* What JAX's plugin for ROCm, ONNX Runtime's providers and TensorFlow would not find: they bring no ROCm and open that of the host. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/loader.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* What opens ROCm without a PyTorch: packages whose names begin so, the module, and where the fact goes. */
static const struct framework {
	const char *package, *module, *fact;
} frameworks[] = {
	{ "jax-rocm", "jax_plugins/xla_rocm*/xla_rocm_plugin.so", "jax.unresolved" },
	{ "onnxruntime-rocm", "onnxruntime/capi/libonnxruntime_providers_rocm.so", "onnxruntime.unresolved" },
	{ "onnxruntime-migraphx", "onnxruntime/capi/libonnxruntime_providers_migraphx.so", "onnxruntime.unresolved" },
	/* Up to 2.8 it is linked with HIP; later ones open it. */
	{ "tensorflow-rocm", "tensorflow/python/_pywrap_tensorflow_internal.so", "tensorflow.unresolved" },
};

static bool has_package(const struct rd_fact *env, const char *prefix)
{
	const struct rd_fact *packages = rd_fact_get(env, "packages");

	for (size_t i = 0; i < rd_fact_count(packages); i++)
		if (rd_str_has_prefix(rd_fact_name(rd_fact_at(packages, i)), prefix))
			return true;
	return false;
}

/* The first match on the environment's path. Caller frees; NULL for none. */
static char *find_on_path(struct rd_probe_ctx *ctx, const struct rd_fact *env, const char *what)
{
	const struct rd_fact *paths = rd_fact_get(env, "paths");

	for (size_t i = 0; i < rd_fact_count(paths); i++) {
		rd_auto_free char *pattern = rd_xasprintf("%s/%s", rd_fact_str(rd_fact_at(paths, i)), what);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		if (rd_sysroot_glob(ctx->sysroot, &found, pattern) >= 0 && found.n)
			return rd_xstrdup(found.v[0]);
	}
	return NULL;
}

/* AMD's SDK wheels are opened by rocm_sdk before the plugin, by their full paths. */
static bool in_sdk(struct rd_probe_ctx *ctx, const struct rd_fact *env, const char *name)
{
	rd_auto_free char *plain = rd_xasprintf("_rocm_sdk_*/lib/%s", name);
	rd_auto_free char *system = rd_xasprintf("_rocm_sdk_*/lib/rocm_sysdeps/lib/%s", name);
	rd_auto_free char *first = NULL, *second = NULL;

	if (strchr(name, '/') || !has_package(env, "rocm-sdk-core"))
		return false;
	first = find_on_path(ctx, env, plain);
	second = find_on_path(ctx, env, system);
	return first || second;
}

/* The root of ROCm that a file lies in; NULL for none. */
static const char *root_of(struct rd_probe_ctx *ctx, const char *file)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const char *root = rd_fact_get_str(rd_fact_at(roots, i), "root");
		size_t n = strlen(root);

		if (n && !rd_streq(root, "/usr") && strncmp(file, root, n) == 0 && file[n] == '/')
			return root;
	}
	return NULL;
}

/* A library of the host's ROCm that lacks one of the system's is a fault of the host, whoever loads it. */
static void note_host(struct rd_probe_ctx *ctx, const char *file, const char *root, const char *name)
{
	struct rd_fact *item, *list = rd_fact_get_mutable(ctx->facts, "runtime.unresolved");

	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "file"), file))
			return;
	item = rd_fact_append(ctx->facts, "runtime.unresolved", file);
	rd_fact_set_str(item, "file", file, file);
	rd_fact_set_str(item, "root", root, file);
	rd_fact_append_str(item, "names", name, file);
}

static void note(struct rd_probe_ctx *ctx, struct rd_fact *env, const char *fact, const struct rd_loader *l,
                 const struct rd_load_need *need)
{
	rd_auto_free char *real = NULL;
	const char *root;

	if (rd_sysroot_realpath(ctx->sysroot, &real, rd_loader_object(l, need->from)->path) < 0)
		return;
	root = root_of(ctx, real);
	if (root)
		note_host(ctx, real, root, need->name);
	else if (!in_sdk(ctx, env, need->name))
		rd_fact_append_str(env, fact, need->name, real);
}

static void look_at(struct rd_probe_ctx *ctx, struct rd_fact *env, const char *fact, const char *plugin)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_loader_env variables;
	struct rd_loader *l;
	int unknown = 0;

	rd_loader_env_read(ctx->sysroot, &variables);
	if (rd_loader_start(ctx->sysroot, &variables, plugin, &l, &err) < 0) {
		rd_fact_set_unknown_why(env, fact, err.message, plugin);
		rd_error_clear(&err);
		return;
	}
	/* A tree without a C library is a part of a host. */
	if (rd_loader_find(l, "libc") == RD_LOADER_NONE)
		unknown = -ENODATA;
	for (size_t i = 0; i < rd_loader_needs(l) && !unknown; i++)
		unknown = rd_loader_need(l, i)->unknown;
	if (unknown)
		rd_fact_set_unknown(env, fact, unknown, plugin);
	else
		rd_fact_set_list(env, fact, plugin);
	for (size_t i = 0; i < rd_loader_needs(l) && !unknown; i++)
		if (rd_loader_need(l, i)->object == RD_LOADER_NONE && !rd_loader_need(l, i)->optional)
			note(ctx, env, fact, l, rd_loader_need(l, i));
	rd_loader_free(l);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "python");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *env = rd_fact_at_mutable(list, i);
		bool used =
			rd_fact_get_bool(env, "active") || rd_fact_get_bool(env, "asked") || rd_fact_get_bool(env, "service");

		for (size_t k = 0; k < RD_ARRAY_SIZE(frameworks) && used; k++) {
			rd_auto_free char *module = NULL;

			if (has_package(env, frameworks[k].package))
				module = find_on_path(ctx, env, frameworks[k].module);
			if (module)
				look_at(ctx, env, frameworks[k].fact, module);
		}
	}
	if (rd_fact_count(rd_fact_get(ctx->facts, "runtime.unresolved")))
		rd_fact_sort(rd_fact_get_mutable(ctx->facts, "runtime.unresolved"), "file");
	return 0;
}

const struct rd_probe rd_probe_framework_host_rocm = {
	.name = "framework/host-rocm",
	.layer = RD_LAYER_FRAMEWORK,
	.after = "framework/torch",
	.summary = "what JAX, ONNX Runtime and TensorFlow would not find of the host's ROCm",
	.facts =
		(const struct rd_fact_decl[]){
			{ "python[].jax.unresolved[]", RD_STRS, "libraries that the plugin for ROCm needs and would not find",
	                  "jax_plugins/xla_rocm*/xla_rocm_plugin.so" },
			{ "python[].tensorflow.unresolved[]", RD_STRS,
	                  "libraries that TensorFlow for ROCm needs and would not find",
	                  "tensorflow/python/_pywrap_tensorflow_internal.so" },
			{ "python[].onnxruntime.unresolved[]", RD_STRS,
	                  "libraries that its provider for ROCm needs and would not find",
	                  "onnxruntime/capi/libonnxruntime_providers_{rocm,migraphx}.so" },
			{ 0 },
		},
	.run = run,
};
