/* Is this distribution on AMD's list for the ROCm release that is installed? */

#include <cjson/cJSON.h>
#include <string.h>

#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"
#include "util/xalloc.h"

/* Only AMD's own packages are made for certain systems: a distribution's are for itself, wheels for any with that glibc. */
static const struct rd_fact *amd_root(const struct rd_fact *facts)
{
	const struct rd_fact *roots = rd_fact_get(facts, "runtime.rocm"), *only = NULL;
	const char *root = rd_fact_get_str(facts, "runtime.default_root");
	size_t n = 0;

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const struct rd_fact *item = rd_fact_at(roots, i);

		if (!rd_streq(rd_fact_get_str(item, "origin"), "amd"))
			continue;
		if (rd_streq(rd_fact_get_str(item, "root"), root))
			return item;
		only = item;
		n++;
	}
	return n == 1 ? only : NULL;
}

/* The release itself, else the newest known one of its X.Y. */
static const cJSON *find_release(const cJSON *table, const char *version)
{
	const cJSON *release, *near = NULL;
	const char *dot = strchr(version, '.');
	rd_auto_free char *series =
		rd_xstrndup(version, dot ? (size_t)(dot - version) + 1 + strcspn(dot + 1, ".") : strlen(version));

	cJSON_ArrayForEach (release, cJSON_GetObjectItemCaseSensitive(table, "releases")) {
		if (rd_streq(rd_json_str(release, "version"), version))
			return release;
		if (rd_version_has_prefix(rd_json_str(release, "version"), series))
			near = release;
	}
	return near;
}

static bool on_list(const cJSON *systems, const char *id, const char *version_id)
{
	const cJSON *version;

	cJSON_ArrayForEach (version, cJSON_GetObjectItemCaseSensitive(systems, id)) {
		const char *listed = cJSON_GetStringValue(version);

		/* "9" stands for every 9.x. */
		if (listed && rd_version_has_prefix(version_id, listed))
			return true;
	}
	return false;
}

static void set_systems(struct rd_fact *facts, const cJSON *systems)
{
	const cJSON *system, *version;

	rd_fact_set_list(facts, "host.support.systems", "table releases");
	cJSON_ArrayForEach (system, systems) {
		cJSON_ArrayForEach (version, system) {
			const char *listed = cJSON_GetStringValue(version);
			rd_auto_free char *text = rd_xasprintf("%s %s", system->string, listed ? listed : "");

			rd_fact_append_str(facts, "host.support.systems", text, "table releases");
		}
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *root = amd_root(ctx->facts);
	const char *id = rd_fact_get_str(ctx->facts, "host.os.id"), *version;
	const cJSON *release, *systems;

	if (!root || !ctx->knowledge)
		return 0;
	version = rd_fact_get_str(root, "version");
	release = *version ? find_release(rd_knowledge_table(ctx->knowledge, "releases"), version) : NULL;
	systems = cJSON_GetObjectItemCaseSensitive(release, "systems");
	if (!cJSON_GetArraySize(systems) || rd_streq(rd_json_str(release, "confidence"), "low"))
		return 0;
	rd_fact_set_bool(ctx->facts, "host.support.judged", true, "table releases");
	rd_fact_set_str(ctx->facts, "host.support.rocm", version, rd_fact_source(rd_fact_get(root, "version")));
	set_systems(ctx->facts, systems);
	if (rd_fact_is_known(ctx->facts, "host.os.id") && rd_fact_is_known(ctx->facts, "host.os.version_id"))
		rd_fact_set_bool(ctx->facts, "host.support.os_supported",
		                 on_list(systems, id, rd_fact_get_str(ctx->facts, "host.os.version_id")), "table releases");
	else
		rd_fact_set_unknown_why(ctx->facts, "host.support.os_supported", "the distribution or its release is not known",
		                        "/etc/os-release");
	return 0;
}

const struct rd_probe rd_probe_host_support = {
	.name = "host/support",
	.layer = RD_LAYER_HOST,
	.flags = RD_PROBE_PURE,
	.needs = (const char *const[]){ "runtime.rocm", NULL },
	.summary = "AMD's list of systems",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.support.judged", RD_BOOL,
	                  "AMD's packages are installed, and the list for their release is known",
	                  "runtime.rocm, table releases" },
			{ "host.support.rocm", RD_STR, "the ROCm release that is judged", "runtime.rocm", RD_VERSION_ROCM },
			{ "host.support.systems[]", RD_STRS, "systems that AMD made it for", "table releases" },
			{ "host.support.os_supported", RD_BOOL, "this system is one of them", "table releases" },
			{ 0 },
		},
	.run = run,
};
