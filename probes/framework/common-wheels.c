#include "common-wheels.h"

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"

const char *wheels_field(const cJSON *row, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

bool wheels_field_has(const cJSON *row, const char *name, const char *wanted)
{
	const cJSON *value;

	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, name))
		if (cJSON_IsString(value) && rd_streq(value->valuestring, wanted))
			return true;
	return false;
}

const cJSON *wheels_rows(const struct rd_probe_ctx *ctx, const char *list)
{
	const cJSON *table = ctx->knowledge ? rd_knowledge_table(ctx->knowledge, "wheels") : NULL;

	return cJSON_GetObjectItemCaseSensitive(table, list);
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

	cJSON_ArrayForEach (row, wheels_rows(ctx, "driver_windows"))
		if (rd_version_has_prefix(rocm, wheels_field(row, "rocm")))
			return rd_version_compare(module, wheels_field(row, "module"), RD_VERSION_DOTTED) >= 0;
	return true;
}

const struct rd_fact *wheels_package(const struct rd_fact *env, const char *name)
{
	return rd_fact_child(rd_fact_get(env, "packages"), name);
}
