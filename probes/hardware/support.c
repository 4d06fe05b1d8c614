/* What ROCm has for each GPU: the release that would be used, AMD's list of it, and whether anything has code for the GPU. */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/tri.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

#include "common-gpu.h"

/* What could run on a GPU: the ROCm of the host, that inside each PyTorch, and what engines were built with. */
struct stacks {
	struct rd_strv releases; /* one each; "" where it is not known */
	const char *first;       /* that of the first, which is judged against AMD's lists; "" */
	bool host_rocm;          /* the host has a ROCm of its own */
};

static bool newer(const char *release, const char *last)
{
	return rd_version_compare(release, last, RD_VERSION_ROCM) > 0 && !rd_version_has_prefix(release, last);
}

static bool older(const char *release, const char *first)
{
	return rd_version_compare(release, first, RD_VERSION_ROCM) < 0;
}

/* ---------------------------------------------------------------- stacks */

static void add_torch(const struct rd_fact *facts, struct stacks *s)
{
	const struct rd_fact *list = rd_fact_get(facts, "python");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *env = rd_fact_at(list, i);

		if (!rd_fact_get_bool(env, "judged") || !rd_streq(rd_fact_get_str(env, "torch.build"), "rocm"))
			continue;
		rd_strv_push(&s->releases, rd_fact_get_str(env, "torch.rocm"));
	}
}

static void add_host(const struct rd_fact *facts, struct stacks *s)
{
	const struct rd_fact *list = rd_fact_get(facts, "runtime.rocm");
	const char *wanted = rd_fact_get_str(facts, "runtime.default_root");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *rocm = rd_fact_at(list, i);

		if (*wanted && !rd_streq(rd_fact_get_str(rocm, "root"), wanted))
			continue;
		rd_strv_push(&s->releases, rd_fact_get_str(rocm, "version"));
		s->host_rocm = true;
	}
}

static void collect(const struct rd_fact *facts, struct stacks *s)
{
	add_torch(facts, s);
	add_host(facts, s);
	s->first = s->releases.n ? s->releases.v[0] : "";
}

/* True where each stack is known to be beyond @bound. */
static bool all_stacks(const struct stacks *s, bool (*beyond)(const char *, const char *), const char *bound)
{
	for (size_t i = 0; i < s->releases.n; i++) {
		if (!*s->releases.v[i] || !beyond(s->releases.v[i], bound))
			return false;
	}
	return s->releases.n > 0;
}

/* ---------------------------------------------------------------- code */

static bool has_gfx(const struct rd_fact *targets, const char *gfx)
{
	for (size_t i = 0; i < rd_fact_count(targets); i++) {
		const char *target = rd_fact_str(rd_fact_at(targets, i));
		size_t len = strlen(gfx);

		/* "gfx90a:xnack-" is code for gfx90a. */
		if (strncmp(target, gfx, len) == 0 && (!target[len] || target[len] == ':'))
			return true;
	}
	return false;
}

/* Device code that nobody has read may be for this GPU. */
static enum rd_tri in_targets(const struct rd_fact *item, const char *path, const char *gfx)
{
	const struct rd_fact *targets = rd_fact_get(item, path);

	if (!rd_fact_count(targets))
		return RD_UNKNOWN;
	return has_gfx(targets, gfx) ? RD_TRUE : RD_FALSE;
}

static enum rd_tri in_torch(const struct rd_fact *facts, const char *gfx)
{
	const struct rd_fact *list = rd_fact_get(facts, "python");
	enum rd_tri found = RD_FALSE;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *env = rd_fact_at(list, i);

		if (rd_streq(rd_fact_get_str(env, "torch.build"), "rocm"))
			found = rd_tri_or(found, in_targets(env, "torch.gfx_targets", gfx));
	}
	return found;
}

static enum rd_tri in_engines(const struct rd_fact *facts, const char *gfx)
{
	static const char *const compiled[] = { "ollama", "llama_cpp" };
	enum rd_tri found = RD_FALSE;

	for (size_t i = 0; i < RD_ARRAY_SIZE(compiled); i++) {
		rd_auto_free char *path = rd_xasprintf("engines.%s", compiled[i]);
		const struct rd_fact *list = rd_fact_get(facts, path);

		if (rd_fact_is_unknown(facts, path))
			return RD_UNKNOWN;
		for (size_t k = 0; k < rd_fact_count(list); k++) {
			const struct rd_fact *engine = rd_fact_at(list, k);
			const char *build = rd_fact_get_str(engine, "build");

			if (rd_streq(build, "rocm") || rd_streq(build, "hip"))
				found = rd_tri_or(found, in_targets(engine, "gfx_targets", gfx));
		}
	}
	return found;
}

/* The host's own libraries: what was dropped may have been put back as files; what is too new cannot be there. */
static enum rd_tri in_host(const struct rd_fact *gpu, const struct stacks *s, bool dropped)
{
	if (!s->host_rocm || !dropped)
		return RD_FALSE;
	if (rd_fact_is_unknown(gpu, "support.rocblas_files"))
		return RD_UNKNOWN;
	return rd_fact_get_bool(gpu, "support.rocblas_files") ? RD_TRUE : RD_FALSE;
}

static void set_code_found(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct stacks *s, bool dropped)
{
	static const char source[] = "gfx_targets of PyTorch and engines; rocBLAS files";
	const char *gfx = rd_fact_get_str(gpu, "gfx");
	enum rd_tri found = in_host(gpu, s, dropped);

	found = rd_tri_or(found, in_torch(ctx->facts, gfx));
	found = rd_tri_or(found, in_engines(ctx->facts, gfx));
	if (found == RD_UNKNOWN)
		rd_fact_set_unknown_why(gpu, "support.code_found", "the device code of what is installed has not been read",
		                        source);
	else
		rd_fact_set_bool(gpu, "support.code_found", found == RD_TRUE, source);
}

/* ---------------------------------------------------------------- AMD's lists */

/* The row of a release, or of the newest of a series ("6.4"). */
static const struct cJSON *release_row(const struct rd_knowledge *k, const char *release)
{
	const struct cJSON *row, *best = NULL;

	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(rd_knowledge_table(k, "support"), "releases")) {
		if (rd_version_has_prefix(rd_json_str(row, "rocm"), release))
			best = row;
	}
	return best;
}

static bool names(const struct cJSON *row, const char *list, const char *gfx)
{
	const struct cJSON *item;

	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(row, list)) {
		if (cJSON_IsString(item) && rd_streq(item->valuestring, gfx))
			return true;
	}
	return false;
}

/* The products of Ryzen stand in lists of their own, not in that of the gfx. */
static bool product_listed(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const char *release)
{
	const struct cJSON *device = gpu_table_device(ctx->knowledge, gpu_id_of(rd_fact_get_str(gpu, "device_id")));
	unsigned revision = gpu_id_of(rd_fact_get_str(gpu, "revision"));
	const struct cJSON *sku;

	cJSON_ArrayForEach (sku, cJSON_GetObjectItemCaseSensitive(device, "skus")) {
		const char *since = rd_json_str(sku, "listed_since"), *until = rd_json_str(sku, "listed_until");
		const char *wanted = rd_json_str(sku, "revision");

		if (*wanted && gpu_id_of(wanted) != revision)
			continue;
		if (*since && !older(release, since) && (!*until || !newer(release, until)))
			return true;
	}
	return false;
}

/* "" where the lists of this release are not known here. */
static const char *listed(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const char *release)
{
	const struct cJSON *row = *release ? release_row(ctx->knowledge, release) : NULL;
	const char *gfx = rd_fact_get_str(gpu, "gfx");

	if (!row)
		return "";
	if (names(row, "official", gfx) || names(row, "deprecated", gfx) || product_listed(ctx, gpu, release))
		return "official";
	return "unofficial";
}

/* ---------------------------------------------------------------- verdict */

static bool never(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const struct cJSON *row)
{
	unsigned id = gpu_id_of(rd_fact_get_str(gpu, "device_id"));

	/* Where KFD has it, no list counts. */
	if (rd_fact_get_bool(gpu, "kfd.present"))
		return false;
	return gpu_table_before_gcn(ctx->knowledge, id) || gpu_row_true(row, "kfd_refuses") ||
	       gpu_row_true(gpu_table_legacy(ctx->knowledge, id), "kfd_refuses");
}

static void judge(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct stacks *s)
{
	const struct cJSON *row = gpu_table_gfx(ctx->knowledge, rd_fact_get_str(gpu, "gfx"));
	const char *first = rd_json_str(row, "first_rocm"), *last = rd_json_str(row, "last_rocm");
	/* Another name has been given to the GPU: then code for that name counts, and this is no place to judge it. */
	bool renamed = rd_fact_get_bool(ctx->facts, "runtime.override.set");
	bool dropped = *last && all_stacks(s, newer, last), too_new = *first && all_stacks(s, older, first);
	const char *verdict;

	rd_fact_set_str(gpu, "support.rocm", s->first, "runtime.rocm, python[].torch.rocm");
	rd_fact_set_str(gpu, "support.first_rocm", first, "table gfx");
	rd_fact_set_str(gpu, "support.last_rocm", last, "table gfx");
	rd_fact_set_bool(gpu, "support.built", gpu_row_true(row, "built"), "table gfx");
	if (!row && rd_fact_is_unknown(gpu, "gfx") && !never(ctx, gpu, row)) {
		rd_fact_set_unknown_why(gpu, "support.verdict", "the GPU is not known here", "table gfx");
		return;
	}
	if (never(ctx, gpu, row))
		verdict = "never";
	else if (dropped && !renamed)
		verdict = "dropped";
	else if (too_new && !renamed)
		verdict = "too-new";
	else
		verdict = listed(ctx, gpu, s->first);
	rd_fact_set_str(gpu, "support.verdict", verdict, "tables gfx and support");
	if (rd_streq(verdict, "dropped") || rd_streq(verdict, "too-new"))
		set_code_found(ctx, gpu, s, dropped);
}

static bool may_work(const struct rd_fact *gpu)
{
	static const char *const bad[] = { "never", "dropped", "too-new" };
	const char *verdict = rd_fact_get_str(gpu, "support.verdict");

	for (size_t i = 0; i < RD_ARRAY_SIZE(bad); i++) {
		if (rd_streq(verdict, bad[i]))
			return false;
	}
	return rd_fact_get_bool(gpu, "support.built") && !rd_streq(rd_fact_get_str(gpu, "kind"), "apu");
}

static bool is_better(const struct rd_fact *gpu, bool than_unofficial)
{
	return may_work(gpu) && (!than_unofficial || rd_streq(rd_fact_get_str(gpu, "support.verdict"), "official"));
}

/* A card for the screen beside the one that computes is no fault of the host. */
static void set_alternatives(struct rd_probe_ctx *ctx)
{
	size_t n[2] = { 0 };
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++)
		for (size_t k = 0; k < RD_ARRAY_SIZE(n); k++)
			n[k] += is_better(gpu, k);
	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		bool unofficial = rd_streq(rd_fact_get_str(gpu, "support.verdict"), "unofficial");

		rd_fact_set_bool(gpu, "support.alternative", n[unofficial] > is_better(gpu, unofficial), "the other GPUs");
	}
}

/* ---------------------------------------------------------------- guests */

static void set_guest(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const char *how = rd_streq(rd_fact_get_str(gpu, "kind"), "vf") ? "sriov" : "passthrough";
	const char *device = rd_fact_get_str(gpu, "device_id");
	const struct cJSON *row;
	bool found = false;

	if (rd_fact_is_unknown(ctx->facts, "host.virtualization")) {
		rd_fact_set_unknown_why(gpu, "support.in_guest", "it is not known whether this is a guest",
		                        "host.virtualization");
		return;
	}
	if (!*rd_fact_get_str(ctx->facts, "host.virtualization"))
		return;
	cJSON_ArrayForEach (row,
	                    cJSON_GetObjectItemCaseSensitive(rd_knowledge_table(ctx->knowledge, "virtualization"), "pairs")) {
		found |= rd_streq(rd_json_str(row, "technology"), how) && names(row, "devices", device);
	}
	rd_fact_set_str(gpu, "support.in_guest", found ? "listed" : "unlisted", "table virtualization");
}

static int run(struct rd_probe_ctx *ctx)
{
	struct stacks s = { .releases = RD_STRV_INIT };
	struct rd_fact *gpu;

	if (!ctx->knowledge)
		return 0;
	collect(ctx->facts, &s);
	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		judge(ctx, gpu, &s);
		set_guest(ctx, gpu);
	}
	set_alternatives(ctx);
	rd_strv_clear(&s.releases);
	return 0;
}

const struct rd_probe rd_probe_hardware_support = {
	.name = "hardware/support",
	.layer = RD_LAYER_HARDWARE,
	.flags = RD_PROBE_PURE,
	.summary = "what ROCm has for each GPU",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].support.verdict", RD_STR,
	                  "official, unofficial (on AMD's list of the release in use, or not), dropped, too-new, never; empty "
	                  "where no release "
	                  "is in use or its list is not known",
	                  "tables gfx and support" },
			{ "gpus[].support.rocm", RD_STR,
	                  "ROCm release that would be used: PyTorch's own, else that of the host",
	                  "runtime.rocm, python[].torch.rocm", RD_VERSION_ROCM },
			{ "gpus[].support.first_rocm", RD_STR,
	                  "first release with libraries for this gfx; empty where all known ones have them", "table gfx",
	                  RD_VERSION_ROCM },
			{ "gpus[].support.last_rocm", RD_STR,
	                  "last release whose packages have libraries for it; empty where none dropped it", "table gfx",
	                  RD_VERSION_ROCM },
			{ "gpus[].support.built", RD_BOOL, "builds with code for this gfx exist", "table gfx" },
			{ "gpus[].support.code_found", RD_BOOL,
	                  "something installed has code for it; looked at where the release has none",
	                  "gfx_targets of PyTorch and engines; rocBLAS files" },
			{ "gpus[].support.alternative", RD_BOOL, "another, discrete GPU of this host has better prospects",
	                  "gpus[].support.verdict" },
			{ "gpus[].support.in_guest", RD_STR,
	                  "in a guest: whether AMD lists this GPU as passed on (listed, unlisted)", "table virtualization" },
			{ 0 },
		},
	.run = run,
};
