/*
 * What helps against code or kernels that are missing for a GPU, of this very gfx: releases that have it, and the packages that
 * carry it. From the tables; overrides are another probe's.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

/* From this release on AMD packs device code by GPU, in packages of their own. */
#define BY_GPU "7.14"

static const char *field(const cJSON *row, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

static bool list_has(const cJSON *row, const char *list, const char *gfx)
{
	const cJSON *value;

	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, list))
		if (cJSON_IsString(value) && rd_streq(value->valuestring, gfx))
			return true;
	return false;
}

static bool list_has_all(const cJSON *row, const char *list, const struct rd_strv *gfx)
{
	for (size_t i = 0; i < gfx->n; i++)
		if (!list_has(row, list, gfx->v[i]))
			return false;
	return gfx->n > 0;
}

/* gfx of the GPUs of a list of addresses, as the hardware is. */
static void add_gfx(const struct rd_probe_ctx *ctx, const struct rd_fact *addresses, struct rd_strv *ret)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(addresses); i++)
		for (size_t k = 0; k < rd_fact_count(gpus); k++) {
			const struct rd_fact *gpu = rd_fact_at(gpus, k);

			if (rd_streq(rd_fact_get_str(gpu, "pci.address"), rd_fact_str(rd_fact_at(addresses, i))) &&
			    *rd_fact_get_str(gpu, "gfx"))
				rd_strv_push_unique(ret, rd_fact_get_str(gpu, "gfx"));
		}
}

static char *joined(const struct rd_strv *list)
{
	struct rd_strbuf text = RD_STRBUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		rd_strbuf_addf(&text, "%s%s", i ? ", " : "", list->v[i]);
	return rd_strbuf_detach(&text);
}

/* ------------------------------------------------------------ Ollama */

static void look_at_ollama(struct rd_probe_ctx *ctx, struct rd_fact *ollama)
{
	static const char *const lists[] = { "missing_gpus", "partial_gpus", "rocblas.missing_gpus" };
	const cJSON *row = rd_knowledge_rows(ctx->knowledge, "engines", "ollama");
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	rd_auto_free char *names = NULL, *text = NULL;

	rd_fact_set_list(ollama, "unserved_gfx", "gpus");
	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++)
		add_gfx(ctx, rd_fact_get(ollama, lists[i]), &gfx);
	for (size_t i = 0; i < gfx.n; i++)
		rd_fact_append_str(ollama, "unserved_gfx", gfx.v[i], "gpus");
	names = joined(&gfx);
	if (!gfx.n || !row)
		text = rd_xstrdup("");
	else if (list_has_all(row, "gfx", &gfx))
		text = rd_xasprintf("curl -fsSL https://ollama.com/install.sh | sh   (the current release has code for %s)",
		                    names);
	else
		text = rd_xasprintf("no release of Ollama is known to have code for %s", names);
	rd_fact_set_str(ollama, "release_remedy", text, "table engines");
}

/* ------------------------------------------------------------ rocBLAS */

static const struct rd_fact *item_at(const struct rd_probe_ctx *ctx, const char *list, const char *key, const char *place)
{
	const struct rd_fact *items = rd_fact_get(ctx->facts, list);

	for (size_t i = 0; i < rd_fact_count(items); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(items, i), key), place))
			return rd_fact_at(items, i);
	return NULL;
}

/* The first release after @release that AMD lists for all of them; NULL without. */
static const cJSON *first_listed(const struct rd_probe_ctx *ctx, const char *release, const struct rd_strv *gfx)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "support", "releases"))
		if (list_has_all(row, "official", gfx) &&
		    (!*release || rd_version_compare(field(row, "rocm"), release, RD_VERSION_ROCM) > 0))
			return row;
	return NULL;
}

static bool is_listed(const struct rd_probe_ctx *ctx, const char *release, const struct rd_strv *gfx)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "support", "releases"))
		if (rd_version_has_prefix(release, field(row, "rocm")) && list_has_all(row, "official", gfx))
			return true;
	return false;
}

static bool by_gpu(const char *release)
{
	return *release && rd_version_compare(release, BY_GPU, RD_VERSION_ROCM) >= 0;
}

/* "amdrocm10.0-gfx942": the series is that of the release. */
static void add_packages(struct rd_strbuf *ret, const char *release, const struct rd_strv *gfx)
{
	unsigned major = 0, minor = 0;

	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return;
	for (size_t i = 0; i < gfx->n; i++)
		rd_strbuf_addf(ret, " amdrocm%u.%u-%s", major, minor, gfx->v[i]);
}

/* The last release whose packages had it; "" where none dropped it. */
static const char *last_release(const struct rd_probe_ctx *ctx, const struct rd_strv *gfx)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "gfx", "gfx"))
		if (gfx->n == 1 && rd_streq(field(row, "gfx"), gfx->v[0]))
			return field(row, "last_rocm");
	return "";
}

/* @name: "torch[": the package, and the extras before those of the GPUs. */
static void add_wheels(const struct rd_probe_ctx *ctx, struct rd_strbuf *ret, const struct rd_strv *gfx, const char *name)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "amd")) {
		if (!list_has_all(row, "gfx", gfx))
			continue;
		rd_strbuf_addf(ret, "pip install --index-url %s '%s", field(row, "url"), name);
		for (size_t i = 0; i < gfx->n; i++)
			rd_strbuf_addf(ret, "%sdevice-%s", i ? "," : "", gfx->v[i]);
		if (rd_str_has_prefix(name, "torch"))
			rd_strbuf_addf(ret, "]==%s+rocm%s'", field(row, "torch"), field(row, "rocm"));
		else
			rd_strbuf_addf(ret, "]==%s'", field(row, "rocm"));
		rd_strbuf_add(ret, "   (in a virtual environment)");
		return;
	}
}

static bool has_text(const struct rd_fact *list, const char *text)
{
	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_str(rd_fact_at(list, i)), text))
			return true;
	return false;
}

/* What to install in the environment that is judged and lacks the GPU; "" without one. */
static const char *install_of_environment(const struct rd_probe_ctx *ctx, const char *address)
{
	const struct rd_fact *list = rd_fact_get(ctx->facts, "python");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *env = rd_fact_at(list, i);

		if (rd_fact_get_bool(env, "judged") && has_text(rd_fact_get(env, "torch.missing_gpus"), address))
			return rd_fact_get_str(env, "install_torch");
	}
	return "";
}

/* The GPU itself, where the release in use has nothing for it. */
static void look_at_gpu(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const char *verdict = rd_fact_get_str(gpu, "support.verdict");
	const char *install = install_of_environment(ctx, rd_fact_get_str(gpu, "pci.address"));
	rd_auto_strbuf struct rd_strbuf wheels = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;

	rd_strv_push(&gfx, rd_fact_get_str(gpu, "gfx"));
	if ((rd_streq(verdict, "dropped") || rd_streq(verdict, "too-new")) && *install)
		rd_strbuf_add(&wheels, install);
	else if (rd_streq(verdict, "dropped") || rd_streq(verdict, "too-new"))
		add_wheels(ctx, &wheels, &gfx, "torch[");
	rd_fact_set_str(gpu, "support.wheel_remedy", wheels.buf, "table wheels");
}

/* What can be done to a ROCm in a folder of the host. */
static void add_root_remedy(const struct rd_probe_ctx *ctx, struct rd_strbuf *ret, const struct rd_fact *root,
                            const struct rd_strv *gfx)
{
	const char *release = rd_fact_get_str(root, "version"),
		   *install = rd_fact_get_str(ctx->facts, "runtime.commands.install");
	bool of_amd = rd_streq(rd_fact_get_str(root, "origin"), "amd");
	const cJSON *next = first_listed(ctx, release, gfx);
	rd_auto_free char *names = joined(gfx);

	if (of_amd && *install && by_gpu(release) && is_listed(ctx, release, gfx)) {
		rd_strbuf_add(ret, install);
		add_packages(ret, release, gfx);
	} else if (of_amd && is_listed(ctx, release, gfx)) {
		rd_strbuf_addf(ret, "install rocblas of ROCm %s anew: AMD's package has %s", release, names);
	} else if (next) {
		rd_strbuf_addf(ret, "ROCm %s is the first after %s that AMD lists for %s", field(next, "rocm"),
		               *release ? release : "this one", names);
		if (by_gpu(field(next, "rocm"))) {
			rd_strbuf_add(ret, "; the packages are");
			add_packages(ret, field(next, "rocm"), gfx);
		}
	} else if (*last_release(ctx, gfx)) {
		rd_strbuf_addf(ret, "AMD's packages had %s up to ROCm %s", names, last_release(ctx, gfx));
	}
}

/* AMD's ROCm wheels without the package for a GPU: it is to be added at their release. Caller frees; "" where not known. */
static char *sdk_remedy(const struct rd_fact *env)
{
	const char *index = rd_fact_get_str(env, "torch_own_index"), *wanted = rd_fact_get_str(env, "rocm_sdk_requirements");

	if (!rd_fact_get_bool(env, "torch.rocm_sdk") || !*index || !*wanted)
		return rd_xstrdup("");
	return rd_xasprintf("%s/bin/python3 -m pip install --index-url %s '%s'", rd_fact_get_str(env, "prefix"), index, wanted);
}

static void look_at_environment(struct rd_fact *env)
{
	bool lacks = rd_fact_count(rd_fact_get(env, "torch.rccl.missing_gpus"));
	rd_auto_free char *text = lacks ? sdk_remedy(env) : rd_xstrdup("");

	rd_fact_set_str(env, "torch.rccl.remedy", text, "torch.version, gpus");
}

static void look_at_math(struct rd_probe_ctx *ctx, struct rd_fact *math)
{
	const char *place = rd_fact_get_str(math, "place");
	const struct rd_fact *env = item_at(ctx, "python", "prefix", place),
			     *root = item_at(ctx, "runtime.rocm", "root", place);
	rd_auto_strbuf struct rd_strbuf release = RD_STRBUF_INIT, wheels = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	const char *hide = "";

	add_gfx(ctx, rd_fact_get(math, "missing_gpus"), &gfx);
	if (gfx.n && env) {
		rd_auto_free char *sdk = sdk_remedy(env);

		rd_strbuf_add(&release, *sdk ? sdk : rd_fact_get_str(env, "install_torch"));
	}
	if (gfx.n && !env && root)
		add_root_remedy(ctx, &release, root, &gfx);
	if (gfx.n && !env)
		add_wheels(ctx, &wheels, &gfx, "rocm[libraries,");
	if (gfx.n && rd_fact_count(rd_fact_get(ctx->facts, "gpus")) > rd_fact_count(rd_fact_get(math, "missing_gpus")))
		hide = "or hide the GPUs without: export ROCR_VISIBLE_DEVICES with the numbers of the others (rocminfo lists "
		       "them)";
	rd_fact_set_str(math, "hide_remedy", hide, "gpus");
	rd_fact_set_str(math, "release_remedy", release.buf, "tables support, gfx and wheels");
	rd_fact_set_str(math, "wheel_remedy", wheels.buf, "table wheels");
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *ollama = rd_fact_get_mutable(ctx->facts, "engines.ollama");
	struct rd_fact *math = rd_fact_get_mutable(ctx->facts, "runtime.math");
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus"), *python = rd_fact_get_mutable(ctx->facts, "python");

	for (size_t i = 0; i < rd_fact_count(python); i++)
		look_at_environment(rd_fact_at_mutable(python, i));
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		look_at_gpu(ctx, rd_fact_at_mutable(gpus, i));
	for (size_t i = 0; i < rd_fact_count(ollama); i++)
		look_at_ollama(ctx, rd_fact_at_mutable(ollama, i));
	for (size_t i = 0; i < rd_fact_count(math); i++)
		look_at_math(ctx, rd_fact_at_mutable(math, i));
	return 0;
}

const struct rd_probe rd_probe_engine_remedies = {
	.name = "engine/remedies",
	.layer = RD_LAYER_ENGINE,
	.flags = RD_PROBE_PURE,
	.after = "engine/coverage",
	.summary = "where there is code for the GPUs that lack it",
	.facts =
		(const struct rd_fact_decl[]){
			{ "engines.ollama[].unserved_gfx[]", RD_STRS, "gfx that its back end or its rocBLAS has nothing for",
	                  "gpus, missing_gpus" },
			{ "engines.ollama[].release_remedy", RD_STR,
	                  "whether a current release has code for them; empty: none lack", "table engines" },
			{ "runtime.math[].release_remedy", RD_STR,
	                  "package or release that has kernels for the GPUs without; empty: none is known",
	                  "tables support, gfx and wheels" },
			{ "runtime.math[].wheel_remedy", RD_STR, "wheels of ROCm that have them; empty: none are known",
	                  "table wheels" },
			{ "runtime.math[].hide_remedy", RD_STR, "how to leave out the GPUs without, where there are others",
	                  "gpus" },
			{ "python[].torch.rccl.remedy", RD_STR,
	                  "wheels that RCCL lacks code of, where they are AMD's; empty: none are known",
	                  "torch.version, gpus" },
			{ "gpus[].support.wheel_remedy", RD_STR,
	                  "command that installs wheels with code for it, where the release in use has none; empty: none are "
	                  "known",
	                  "table wheels" },
			{ 0 },
		},
	.run = run,
};
