/* Engines that are programs: Ollama and llama.cpp, and which GPU back ends lie beside them. No program is run or read. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define PREFIXES_MAX 32

/* Prefixes whose bin/ may hold a program: the usual ones, those of services, those of PATH, and the home's. */
static void find_prefixes(struct rd_probe_ctx *ctx, struct rd_strv *ret)
{
	static const char *const usual[] = { "/usr/local", "/usr", "/opt/ollama", "/opt/llama.cpp" };
	const struct rd_fact *services = rd_fact_get(ctx->facts, "services");
	rd_auto_strv struct rd_strv path = RD_STRV_INIT;
	const char *value = NULL;

	for (size_t i = 0; i < RD_ARRAY_SIZE(usual); i++)
		rd_strv_push(ret, usual[i]);
	for (size_t i = 0; i < rd_fact_count(services); i++)
		if (*rd_fact_get_str(rd_fact_at(services, i), "engine"))
			rd_strv_push(&path, rd_fact_get_str(rd_fact_at(services, i), "program"));
	for (size_t i = 0; i < path.n; i++) {
		char *slash = strrchr(path.v[i], '/');

		if (slash)
			*slash = '\0';
	}
	if (rd_sysroot_getenv(ctx->sysroot, &value, "PATH") == 1)
		rd_strv_split(&path, value, ":", false);
	if (rd_sysroot_getenv(ctx->sysroot, &value, "HOME") == 1 && *value == '/') {
		rd_strv_pushf(&path, "%s/.local/bin", value);
		rd_strv_pushf(&path, "%s/llama.cpp/build/bin", value);
	}
	for (size_t i = 0; i < path.n && ret->n < PREFIXES_MAX; i++) {
		size_t len = strlen(path.v[i]);

		if (path.v[i][0] != '/' || !rd_str_has_suffix(path.v[i], "/bin") || len == 4)
			continue;
		path.v[i][len - 4] = '\0';
		rd_strv_push_unique(ret, path.v[i]);
	}
}

/* One program of a prefix, once though links lead to it from several; 0 where it is not there. */
static int find_program(struct rd_probe_ctx *ctx, struct rd_strv *seen, const char *prefix, const char *name)
{
	rd_auto_free char *path = rd_xasprintf("%s/bin/%s", prefix, name), *real = NULL;
	int r = rd_sysroot_exists(ctx->sysroot, path);

	if (r <= 0)
		return r;
	if (rd_sysroot_realpath(ctx->sysroot, &real, path) < 0 || rd_strv_has(seen, real))
		return 0;
	rd_strv_push_take(seen, rd_steal(real));
	return 1;
}

static bool any_prefix(const struct rd_strv *names, const char *prefix)
{
	for (size_t i = 0; i < names->n; i++)
		if (rd_str_has_prefix(names->v[i], prefix))
			return true;
	return false;
}

/* ------------------------------------------------------------ Ollama */

/* "rocm", "rocm_v6", "rocm_v7_2", or the back end itself, as distributions that use the host's ROCm place it. */
static const char *ollama_build(const struct rd_strv *names)
{
	static const char *const rocm[] = { "rocm", "libggml-hip.", "librocblas.", "libhipblas." };

	for (size_t i = 0; i < RD_ARRAY_SIZE(rocm); i++)
		if (any_prefix(names, rocm[i]))
			return "rocm";
	if (any_prefix(names, "cuda") || any_prefix(names, "libggml-cuda."))
		return "cuda";
	return any_prefix(names, "vulkan") || any_prefix(names, "libggml-vulkan.") ? "vulkan" : "cpu";
}

static void add_ollama(struct rd_probe_ctx *ctx, const char *prefix)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *program = rd_xasprintf("%s/bin/ollama", prefix), *folder = rd_xasprintf("%s/lib/ollama", prefix);
	struct rd_fact *item = rd_fact_append(ctx->facts, "engines.ollama", program);
	int r = rd_sysroot_list(ctx->sysroot, &names, folder);

	rd_fact_set_str(item, "prefix", prefix, program);
	rd_fact_set_unknown_why(item, "version", "stands in the program's code only", program);
	if (r == -ENOENT || r == -ENOTDIR) {
		/* Releases before 0.4 carried everything inside the program, and distributions have folders of their own. */
		rd_fact_set_str(item, "folder", prefix, program);
		rd_fact_set_unknown_why(item, "build", "no lib/ollama beside the program", folder);
		return;
	}
	rd_fact_set_str(item, "folder", folder, folder);
	if (r < 0) {
		rd_fact_set_unknown(item, "build", r, folder);
		return;
	}
	if (any_prefix(&names, "runners")) {
		rd_auto_strv struct rd_strv runners = RD_STRV_INIT;

		if (rd_sysroot_listf(ctx->sysroot, &runners, "%s/runners", folder) >= 0)
			for (size_t i = 0; i < runners.n; i++)
				rd_strv_push(&names, runners.v[i]);
	}
	rd_fact_set_str(item, "build", ollama_build(&names), folder);
}

/* ------------------------------------------------------------ llama.cpp */

/* Where the back ends of a llama.cpp lie: beside the program, in lib, or in ggml's own folder of a distribution. */
static int list_backends(struct rd_probe_ctx *ctx, struct rd_strv *names, const char *prefix)
{
	static const char *const patterns[] = { "%s/bin/libggml*", "%s/lib/libggml*", "%s/lib64/libggml*", "%s/lib/*/libggml*",
		                                "%s/lib/*/ggml/*/libggml*" };
	int found = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++) {
		rd_auto_free char *pattern = NULL;
		rd_auto_strv struct rd_strv paths = RD_STRV_INIT;
		const char *rest = patterns[i] + 2;
		int r;

		/* Below /usr/lib only the folders of the machine's own architecture. */
		if (rd_str_has_prefix(rest, "/lib/*/"))
			pattern = rd_xasprintf("%s/lib/x86_64-linux-gnu/%s", prefix, rest + strlen("/lib/*/"));
		else
			pattern = rd_xasprintf("%s%s", prefix, rest);
		r = rd_sysroot_glob(ctx->sysroot, &paths, pattern);
		if (r < 0 && r != -ENOENT)
			found = r;
		for (size_t j = 0; j < paths.n; j++)
			rd_strv_push(names, strrchr(paths.v[j], '/') + 1);
	}
	return found;
}

static void add_llama_cpp(struct rd_probe_ctx *ctx, const char *prefix, const char *name)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *program = rd_xasprintf("%s/bin/%s", prefix, name), *folder = rd_xasprintf("%s/bin", prefix);
	struct rd_fact *item = rd_fact_append(ctx->facts, "engines.llama_cpp", program);
	int r = list_backends(ctx, &names, prefix);

	rd_fact_set_str(item, "prefix", prefix, program);
	rd_fact_set_str(item, "folder", folder, program);
	rd_fact_set_unknown_why(item, "version", "stands in the program's code only", program);
	if (any_prefix(&names, "libggml-hip."))
		rd_fact_set_str(item, "build", "hip", program);
	else if (r < 0)
		rd_fact_set_unknown(item, "build", r, program);
	else if (!any_prefix(&names, "libggml"))
		rd_fact_set_unknown_why(item, "build", "its back ends are inside the program", program);
	else
		rd_fact_set_str(item, "build",
		                any_prefix(&names, "libggml-cuda.")     ? "cuda"
		                : any_prefix(&names, "libggml-vulkan.") ? "vulkan"
		                                                        : "cpu",
		                program);
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char *const llama[] = { "llama-server", "llama-cli" };
	rd_auto_strv struct rd_strv prefixes = RD_STRV_INIT, seen = RD_STRV_INIT;
	int error = 0;

	find_prefixes(ctx, &prefixes);
	for (size_t i = 0; i < prefixes.n; i++) {
		int r = find_program(ctx, &seen, prefixes.v[i], "ollama");

		if (r > 0)
			add_ollama(ctx, prefixes.v[i]);
		for (size_t j = 0; j < RD_ARRAY_SIZE(llama) && r >= 0; j++) {
			r = find_program(ctx, &seen, prefixes.v[i], llama[j]);
			if (r > 0) {
				add_llama_cpp(ctx, prefixes.v[i], llama[j]);
				break;
			}
		}
		if (r < 0 && !error)
			error = r;
	}
	if (rd_fact_get(ctx->facts, "engines.ollama"))
		rd_fact_sort(rd_fact_get_mutable(ctx->facts, "engines.ollama"), "prefix");
	if (rd_fact_get(ctx->facts, "engines.llama_cpp"))
		rd_fact_sort(rd_fact_get_mutable(ctx->facts, "engines.llama_cpp"), "prefix");
	return error;
}

static const struct rd_fact_decl facts[] = {
	{ "engines.ollama[]", RD_LIST, "Ollama installations, by prefix", "bin/ollama" },
	{ "engines.ollama[].prefix", RD_STR, "prefix that it is installed below", "bin/ollama" },
	{ "engines.ollama[].folder", RD_STR, "folder of its libraries", "lib/ollama" },
	{ "engines.ollama[].version", RD_STR, "its version", "bin/ollama", RD_VERSION_DOTTED },
	{ "engines.ollama[].build", RD_STR, "rocm where its ROCm libraries are there, else cuda, vulkan or cpu", "lib/ollama" },
	{ "engines.ollama[].gfx_targets[]", RD_STRS, "gfx that its device code is for", "lib/ollama" },
	{ "engines.llama_cpp[]", RD_LIST, "llama.cpp installations", "bin/llama-server, llama_cpp/lib" },
	{ "engines.llama_cpp[].prefix", RD_STR, "prefix that it is installed below", "bin/llama-server, *.dist-info" },
	{ "engines.llama_cpp[].folder", RD_STR, "folder of its programs or libraries", "bin/llama-server, llama_cpp/lib" },
	{ "engines.llama_cpp[].version", RD_STR, "its version", "bin/llama-server, *.dist-info", RD_VERSION_PEP440 },
	{ "engines.llama_cpp[].build", RD_STR, "hip, cuda, vulkan or cpu, by the ggml back ends beside it", "libggml-*.so" },
	{ "engines.llama_cpp[].gfx_targets[]", RD_STRS, "gfx that its device code is for", "libggml-hip.so" },
	{ NULL },
};

const struct rd_probe rd_probe_engine_programs = {
	.name = "engine/programs",
	.layer = RD_LAYER_ENGINE,
	.summary = "engines that are programs",
	.facts = facts,
	.run = run,
};
