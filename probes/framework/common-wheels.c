#include "common-wheels.h"

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"

bool wheels_field_has(const cJSON *row, const char *name, const char *wanted)
{
	const cJSON *value;

	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, name))
		if (cJSON_IsString(value) && rd_streq(value->valuestring, wanted))
			return true;
	return false;
}

void wheels_gfx(const struct rd_probe_ctx *ctx, struct rd_strv *ret)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");

	for (int pass = 0; pass < 2 && !ret->n; pass++)
		for (size_t i = 0; i < rd_fact_count(gpus); i++) {
			const struct rd_fact *gpu = rd_fact_at(gpus, i);
			const char *gfx = rd_fact_get_str(gpu, "gfx");

			if (*gfx && (pass || !rd_streq(rd_fact_get_str(gpu, "kind"), "apu")))
				rd_strv_push_unique(ret, gfx);
		}
}

const char *wheels_driver(const struct rd_probe_ctx *ctx)
{
	return rd_streq(rd_fact_get_str(ctx->facts, "kernel.amdgpu.origin"), "dkms")
	               ? rd_fact_get_str(ctx->facts, "kernel.amdgpu.version")
	               : "";
}

bool wheels_driver_is_enough(const struct rd_probe_ctx *ctx, const char *rocm, const char *module)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "driver_windows"))
		if (rd_version_has_prefix(rocm, rd_json_str(row, "rocm")))
			return rd_version_compare(module, rd_json_str(row, "module"), RD_VERSION_DOTTED) >= 0;
	return true;
}

const struct rd_fact *wheels_package(const struct rd_fact *env, const char *name)
{
	return rd_fact_child(rd_fact_get(env, "packages"), name);
}
