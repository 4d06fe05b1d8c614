/*
 * Which release of ROCm apt would install here: that of AMD's source, where there is one; else the newest of the table whose
 * package versions are known to the last digit. For this system, this driver, and with code for every GPU.
 */

#include <ctype.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"
#include "util/xalloc.h"

static const char sources[] = "runtime.apt.sources";

static bool is_usable(const struct rd_fact *source)
{
	const char *key = rd_fact_get_str(source, "key");

	return rd_fact_get_bool(source, "enabled") && rd_streq(rd_fact_get_str(source, "vendor"), "amd") &&
	       rd_streq(rd_fact_get_str(source, "product"), "rocm") && !rd_fact_get_bool(source, "wrong_suite") &&
	       !rd_fact_get_bool(source, "withdrawn") && (rd_streq(key, "ok") || rd_streq(key, "trusted"));
}

/* The release of the one source of ROCm; "" for none, for several releases, and for an address that moves ("latest"). */
static const char *only_release(const struct rd_fact *list)
{
	const char *release = "";

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *one = rd_fact_get_str(rd_fact_at(list, i), "release");

		if (!is_usable(rd_fact_at(list, i)))
			continue;
		if (!isdigit((unsigned char)*one) || (*release && !rd_streq(release, one)))
			return "";
		release = one;
	}
	return release;
}

static bool has_code_for_all(const struct rd_fact *gpus, const char *release)
{
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const char *first = rd_fact_get_str(rd_fact_at(gpus, i), "support.first_rocm");
		const char *last = rd_fact_get_str(rd_fact_at(gpus, i), "support.last_rocm");

		if (!rd_fact_get_bool(rd_fact_at(gpus, i), "support.built") ||
		    (*first && rd_version_compare(release, first, RD_VERSION_ROCM) < 0) ||
		    (*last && rd_version_compare(release, last, RD_VERSION_ROCM) > 0 && !rd_version_has_prefix(release, last)))
			return false;
	}
	return rd_fact_count(gpus) > 0;
}

static const char *text_of(const cJSON *row, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name));

	return text ? text : "";
}

static bool has(const cJSON *list, const char *text)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (rd_streq(cJSON_GetStringValue(one) ? one->valuestring : "", text))
			return true;
	return false;
}

/* Does a release of the table go with this host? A driver of the kernel's own is judged by other rules. */
static bool goes_with(const struct rd_fact *facts, const cJSON *row)
{
	const cJSON *systems = cJSON_GetObjectItemCaseSensitive(row, "systems");
	const char *driver = rd_fact_get_str(facts, "kernel.amdgpu.driver");

	return *text_of(row, "build") && rd_streq(text_of(row, "stream"), "legacy") &&
	       has(cJSON_GetObjectItemCaseSensitive(systems, "ubuntu"), rd_fact_get_str(facts, "host.os.version_id")) &&
	       (!*driver || has(cJSON_GetObjectItemCaseSensitive(row, "drivers"), driver)) &&
	       has_code_for_all(rd_fact_get(facts, "gpus"), text_of(row, "version"));
}

static bool has_source_of_amd(const struct rd_fact *list)
{
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *one = rd_fact_at(list, i);

		if (rd_fact_get_bool(one, "enabled") && rd_streq(rd_fact_get_str(one, "vendor"), "amd") &&
		    !rd_streq(rd_fact_get_str(one, "product"), "amdgpu"))
			return true;
	}
	return false;
}

static void set_wanted(struct rd_probe_ctx *ctx)
{
	const cJSON *table = ctx->knowledge ? rd_knowledge_table(ctx->knowledge, "releases") : NULL, *row, *best = NULL;
	const struct rd_fact *facts = ctx->facts;
	rd_auto_free char *version = NULL, *uri = NULL;

	if (!rd_streq(rd_fact_get_str(facts, "host.os.id"), "ubuntu") ||
	    !rd_streq(rd_fact_get_str(facts, "host.kernel.machine"), "x86_64") ||
	    has_source_of_amd(rd_fact_get(facts, sources)))
		return;
	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(table, "releases"))
		if (goes_with(facts, row) &&
		    (!best || rd_version_compare(text_of(row, "version"), text_of(best, "version"), RD_VERSION_ROCM) > 0))
			best = row;
	if (!best)
		return;
	version = rd_xasprintf("%s~%s", text_of(best, "build"), rd_fact_get_str(facts, "host.os.version_id"));
	uri = rd_xasprintf("https://repo.radeon.com/rocm/apt/%s", text_of(best, "folder"));
	rd_fact_set_str(ctx->facts, "runtime.wanted.release", text_of(best, "version"), "table releases");
	rd_fact_set_str(ctx->facts, "runtime.wanted.version", version, "table releases");
	rd_fact_set_str(ctx->facts, "runtime.wanted.uri", uri, "table releases");
	rd_fact_set_str(ctx->facts, "runtime.wanted.suite", rd_fact_get_str(facts, "host.os.codename"), "/etc/os-release");
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *list = rd_fact_get(ctx->facts, sources);
	const char *release = only_release(list);

	if (rd_fact_state(list) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.apt.rocm_release", rd_fact_reason(list), sources);
		return 0;
	}
	if (*release && !has_code_for_all(rd_fact_get(ctx->facts, "gpus"), release))
		release = "";
	rd_fact_set_str(ctx->facts, "runtime.apt.rocm_release", release, sources);
	set_wanted(ctx);
	return 0;
}

const struct rd_probe rd_probe_runtime_wanted = {
	.name = "runtime/wanted",
	.layer = RD_LAYER_RUNTIME,
	.flags = RD_PROBE_PURE,
	.summary = "which release of ROCm apt would install here",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.apt.rocm_release", RD_STR,
	                  "release of AMD's only usable source of ROCm, where it has code for every GPU", sources,
	                  RD_VERSION_ROCM },
			{ "runtime.wanted.release", RD_STR,
	                  "ROCm release to install where AMD's repository is not set up; empty: none can be named",
	                  "table releases", RD_VERSION_ROCM },
			{ "runtime.wanted.version", RD_STR, "version of its package rocm", "table releases" },
			{ "runtime.wanted.uri", RD_STR, "repository that has it", "table releases" },
			{ "runtime.wanted.suite", RD_STR, "suite for this system", "/etc/os-release" },
			{ 0 },
		},
	.run = run,
};
