/*
 * The thresholds and wishes of --profile as facts, for rules to compare with.
 *
 * What a profile leaves out is as in default.json, so a profile says only what it wants otherwise.
 */

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static const struct rd_fact_decl declared[] = {
	{ "profile.name", RD_STR, "the profile in use", "--profile" },
	{ "profile.min_gpus", RD_INT, "GPUs wanted", "--profile" },
	{ "profile.min_vram_bytes", RD_INT, "memory wanted on a GPU; 0: any", "--profile" },
	{ "profile.hot_c", RD_INT, "temperature from which a GPU counts as hot", "--profile" },
	{ "profile.ecc_correctable_max", RD_INT, "correctable memory errors that are still fine", "--profile" },
	{ "profile.min_shm_bytes", RD_INT, "shared memory wanted where a framework is installed", "--profile" },
	{ "profile.min_shm_multi_gpu_bytes", RD_INT, "the same with several GPUs", "--profile" },
	{ "profile.min_memlock_bytes", RD_INT, "locked memory wanted with several GPUs or RDMA", "--profile" },
	{ "profile.min_disk_bytes", RD_INT, "room wanted for what is not installed yet; 0: any", "--profile" },
	{ "profile.torch", RD_BOOL, "PyTorch is wanted", "--profile" },
	{ "profile.vllm", RD_BOOL, "vLLM is wanted", "--profile" },
	{ "profile.multi_gpu", RD_BOOL, "several GPUs are to work together", "--profile" },
	{ 0 },
};

/* Only what is declared: a site's profile must not make up facts. */
static enum rd_kind kind_of(const char *fact)
{
	for (const struct rd_fact_decl *d = declared; d->path; d++)
		if (rd_streq(d->path, fact))
			return d->kind;
	return RD_NONE;
}

static int set_member(struct rd_fact *facts, const cJSON *member, const char *source)
{
	rd_auto_free char *fact = rd_xasprintf("profile.%s", member->string);
	double number = cJSON_GetNumberValue(member);

	switch (kind_of(fact)) {
	case RD_INT:
		/* The largest double below 2^63 still fits. */
		if (!cJSON_IsNumber(member) || number != trunc(number) || number < 0 || number >= 9223372036854775807.0)
			return -EINVAL;
		rd_fact_set_int(facts, fact, (int64_t)number, source);
		return 0;
	case RD_BOOL:
		if (!cJSON_IsBool(member))
			return -EINVAL;
		rd_fact_set_bool(facts, fact, cJSON_IsTrue(member), source);
		return 0;
	default:
		return -EINVAL;
	}
}

static int set_members(struct rd_fact *facts, const cJSON *profile, const char *key, const char *source)
{
	const cJSON *member;
	int r = 0;

	cJSON_ArrayForEach (member, cJSON_GetObjectItemCaseSensitive(profile, key)) {
		int failed = set_member(facts, member, source);

		if (failed < 0)
			r = failed;
	}
	return r;
}

static int set_profile(struct rd_fact *facts, const cJSON *profile, const char *name)
{
	rd_auto_free char *source = rd_xasprintf("profile %s", name);
	int thresholds = set_members(facts, profile, "thresholds", source);
	int wants = set_members(facts, profile, "wants", source);

	rd_fact_set_str(facts, "profile.name", name, source);
	return thresholds < 0 ? thresholds : wants;
}

static int run(struct rd_probe_ctx *ctx)
{
	const char *name = ctx->options && ctx->options->profile ? ctx->options->profile : "default";
	const cJSON *profile;
	int r;

	if (!ctx->knowledge)
		return -ENODATA;
	profile = rd_knowledge_profile(ctx->knowledge, "default");
	if (profile) {
		r = set_profile(ctx->facts, profile, "default");
		if (r < 0)
			return r;
	}
	if (rd_streq(name, "default"))
		return profile ? 0 : -ENOENT;
	profile = rd_knowledge_profile(ctx->knowledge, name);
	return profile ? set_profile(ctx->facts, profile, name) : -ENOENT;
}

const struct rd_probe rd_probe_host_profile = {
	.name = "host/profile",
	.layer = RD_LAYER_HOST,
	.flags = RD_PROBE_PURE,
	.summary = "thresholds and wishes",
	.facts = declared,
	.run = run,
};
