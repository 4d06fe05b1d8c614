/* The joins of this layer with the tables: systems and drivers of a release, overrides of a gfx, memory of an APU, and who
 * brings a user space at all. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"
#include "util/xalloc.h"

#define RELEASES "table releases"
#define OVERRIDES "table overrides"

static const cJSON *find_row(const cJSON *rows, const char *key, const char *value)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rows) {
		if (rd_streq(rd_json_str(row, key), value))
			return row;
	}
	return NULL;
}

/* The release as the table spells it: 10.0 and 6.4 are 10.0.0 and 6.4.0. */
static const cJSON *find_release(const struct rd_probe_ctx *ctx, const char *version)
{
	const cJSON *rows = rd_knowledge_rows(ctx->knowledge, "releases", "releases"),
		    *row = find_row(rows, "version", version);
	rd_auto_free char *longer = row ? NULL : rd_xasprintf("%s.0", version);

	return row ? row : find_row(rows, "version", longer);
}

static bool lists(const cJSON *list, const char *version)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *listed = cJSON_GetStringValue(item);

		if (listed && (rd_streq(listed, version) || rd_version_has_prefix(version, listed)))
			return true;
	}
	return false;
}

/* The origin of the release that stands for the host: a distribution supports its own. */
static const char *origin_of_release(const struct rd_fact *facts)
{
	const struct rd_fact *roots = rd_fact_get(facts, "runtime.rocm");

	for (size_t i = 0; i < rd_fact_count(roots); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(roots, i), "version"), rd_fact_get_str(facts, "runtime.release")))
			return rd_fact_get_str(rd_fact_at(roots, i), "origin");
	return "";
}

static void judge_system(struct rd_probe_ctx *ctx, const cJSON *release)
{
	const cJSON *systems = cJSON_GetObjectItemCaseSensitive(release, "systems"), *listed;
	const char *id = rd_fact_get_str(ctx->facts, "host.os.id"),
		   *version = rd_fact_get_str(ctx->facts, "host.os.version_id");

	if (!release || !cJSON_GetArraySize(systems) || rd_streq(rd_json_str(release, "confidence"), "low")) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.os_support", "no list of systems for this release", RELEASES);
		return;
	}
	if (!*id) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.os_support", "the system is not known", "host.os.id");
		return;
	}
	listed = cJSON_GetObjectItemCaseSensitive(systems, id);
	rd_fact_set_str(ctx->facts, "runtime.os_support", lists(listed, version) ? "listed" : "unlisted", RELEASES);
}

/* The release of AMD's driver: "30.30.0" of the package amdgpu-dkms; "" where it is not installed. */
static const char *driver_release(const struct rd_fact *facts)
{
	const struct rd_fact *packages = rd_fact_get(facts, "runtime.packages");

	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);

		if (rd_streq(rd_fact_get_str(p, "name"), "amdgpu-dkms") && rd_streq(rd_fact_get_str(p, "state"), "installed"))
			return rd_fact_get_str(p, "release");
	}
	return "";
}

static const char *newest_of(const cJSON *drivers)
{
	const char *newest = NULL;
	const cJSON *item;

	cJSON_ArrayForEach (item, drivers) {
		const char *series = cJSON_GetStringValue(item);

		if (series && (!newest || rd_version_compare(series, newest, RD_VERSION_DOTTED) > 0))
			newest = series;
	}
	return newest;
}

/* A driver newer than the newest that AMD lists beside this release; nothing is said of the kernel's own. */
static void judge_driver(struct rd_probe_ctx *ctx, const cJSON *release)
{
	const struct rd_fact *origin = rd_fact_get(ctx->facts, "kernel.amdgpu.origin");
	const char *driver = driver_release(ctx->facts);
	const char *newest = newest_of(cJSON_GetObjectItemCaseSensitive(release, "drivers"));
	bool newer;

	if (!*driver || !release)
		return;
	if (rd_fact_state(origin) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.too_old_for_driver", rd_fact_reason(origin),
		                        rd_fact_source(origin));
		return;
	}
	/* Installed, but the kernel's own module is in use. */
	if (!rd_streq(rd_fact_str(origin), "dkms"))
		return;
	rd_fact_set_str(ctx->facts, "runtime.driver", driver, "runtime.packages");
	newer = newest && rd_version_compare(driver, newest, RD_VERSION_DOTTED) > 0 && !rd_version_has_prefix(driver, newest);
	if (!newest || (newer && !rd_streq(rd_json_str(release, "confidence"), "high"))) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.too_old_for_driver", "no sure list of drivers for this release",
		                        RELEASES);
		return;
	}
	rd_fact_set_str(ctx->facts, "runtime.newest_driver", newest, RELEASES);
	rd_fact_set_bool(ctx->facts, "runtime.too_old_for_driver", newer, RELEASES);
}

static void judge_release(struct rd_probe_ctx *ctx)
{
	static const char *const paths[] = { "runtime.stream", "runtime.os_support", "runtime.too_old_for_driver" };
	const struct rd_fact *release = rd_fact_get(ctx->facts, "runtime.release");
	const cJSON *row;

	if (rd_fact_state(release) == RD_FACT_UNKNOWN) {
		for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
			rd_fact_set_unknown_why(ctx->facts, paths[i], rd_fact_reason(release), NULL);
		return;
	}
	if (!*rd_fact_str(release) || rd_streq(origin_of_release(ctx->facts), "distribution"))
		return;
	row = find_release(ctx, rd_fact_str(release));
	if (row)
		rd_fact_set_str(ctx->facts, "runtime.stream", rd_json_str(row, "stream"), RELEASES);
	judge_system(ctx, row);
	judge_driver(ctx, row);
}

/* The value that counts for one GPU: that of its own node before the general one. */
static const char *override_of(const struct rd_fact *facts, const struct rd_fact *gpu)
{
	const struct rd_fact *environment = rd_fact_get(facts, "runtime.environment"), *value;
	rd_auto_free char *name = rd_xasprintf("HSA_OVERRIDE_GFX_VERSION_%lld", (long long)rd_fact_get_int(gpu, "kfd.node"));

	value = rd_fact_child(environment, name);
	if (!value)
		value = rd_fact_child(environment, "HSA_OVERRIDE_GFX_VERSION");
	return rd_fact_str(value);
}

/* "11.0.0" is gfx1100, "9.0.10" is gfx90a. */
static bool gfx_of(const char *value, char ret[32])
{
	unsigned major, minor, stepping;
	char rest;

	if (sscanf(value, "%u.%u.%u%c", &major, &minor, &stepping, &rest) != 3 || major > 63 || minor > 255 || stepping > 255)
		return false;
	snprintf(ret, 32, "gfx%u%x%x", major, minor, stepping);
	return true;
}

static bool share_family(const struct rd_probe_ctx *ctx, const char *a, const char *b)
{
	const cJSON *family;

	cJSON_ArrayForEach (family, rd_knowledge_rows(ctx->knowledge, "overrides", "families")) {
		const cJSON *members = cJSON_GetObjectItemCaseSensitive(family, "members"), *member;
		unsigned hits = 0;

		cJSON_ArrayForEach (member, members) {
			const char *gfx = cJSON_GetStringValue(member);

			hits += gfx && (rd_streq(gfx, a) || rd_streq(gfx, b));
		}
		if (hits == 2)
			return true;
	}
	return false;
}

/* "same", what the table says of the pair ("usually", "risky", "no"), or by the family that both are of. */
static const char *verdict_on(const struct rd_probe_ctx *ctx, const char *gfx, const char *value, const char *other)
{
	const cJSON *row, *entry;

	if (rd_streq(gfx, other))
		return "same";
	row = find_row(rd_knowledge_rows(ctx->knowledge, "overrides", "overrides"), "gfx", gfx);
	entry = find_row(cJSON_GetObjectItemCaseSensitive(row, "values"), "value", value);
	if (entry)
		return rd_json_str(entry, "safe");
	return share_family(ctx, gfx, other) ? "risky" : "no";
}

static void judge_override(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const char *gfx = rd_fact_get_str(gpu, "gfx"), *value;
	char other[32];

	if (rd_fact_is_unknown(ctx->facts, "runtime.environment")) {
		rd_fact_set_unknown_why(gpu, "override.verdict", rd_fact_reason(rd_fact_get(ctx->facts, "runtime.environment")),
		                        NULL);
		return;
	}
	value = override_of(ctx->facts, gpu);
	rd_fact_set_str(gpu, "override.value", value, "HSA_OVERRIDE_GFX_VERSION");
	if (!gfx_of(value, other))
		return;
	rd_fact_set_str(gpu, "override.gfx", other, "HSA_OVERRIDE_GFX_VERSION");
	if (*gfx)
		rd_fact_set_str(gpu, "override.verdict", verdict_on(ctx, gfx, value, other), OVERRIDES);
	else
		rd_fact_set_unknown_why(gpu, "override.verdict", "the gfx of the GPU is not known", "gpus");
}

/* What KFD lets programs allocate on an APU, against all the memory of the machine, the carve-out included. */
static void judge_memory(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const struct rd_fact *partitions = rd_fact_get(gpu, "partitions");
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	int64_t offered = 0, apus = 0, all;

	if (!rd_streq(rd_fact_get_str(gpu, "kind"), "apu"))
		return;
	/* Several APUs (MI300A) share the memory of the machine. */
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		apus += rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "kind"), "apu");
	all = rd_fact_get_int(ctx->facts, "host.memory_bytes") / apus + rd_fact_get_int(gpu, "vram_bytes");
	for (size_t i = 0; i < rd_fact_count(partitions); i++)
		offered += rd_fact_get_int(rd_fact_at(partitions, i), "vram_bytes");
	if (!offered || !rd_fact_is_known(ctx->facts, "host.memory_bytes")) {
		rd_fact_set_unknown_why(gpu, "memory.limited", "what KFD offers, or the memory of the machine, is not known",
		                        "gpus");
		return;
	}
	rd_fact_set_int(gpu, "memory.offered_bytes", offered, "/sys/class/kfd/kfd/topology/nodes/*/mem_banks");
	rd_fact_set_int(gpu, "memory.machine_bytes", all, "/proc/meminfo, mem_info_vram_total");
	/* Three quarters of what the system has left beside the carve-out; the rest is for everything else. */
	rd_fact_set_int(gpu, "memory.proposed_pages", rd_fact_get_int(ctx->facts, "host.memory_bytes") / 4096 / 4 * 3,
	                "/proc/meminfo");
	rd_fact_set_bool(gpu, "memory.limited", offered < all / 4, "memory.offered_bytes, memory.machine_bytes");
}

static bool wheels_bring_it(const struct rd_fact *facts)
{
	const struct rd_fact *pythons = rd_fact_get(facts, "python");

	for (size_t i = 0; i < rd_fact_count(pythons); i++) {
		const struct rd_fact *python = rd_fact_at(pythons, i), *packages = rd_fact_get(python, "packages");

		if (rd_fact_get_bool(python, "torch.rocm_bundled") || rd_fact_child(packages, "rocm-sdk-core"))
			return true;
	}
	return false;
}

static bool engines_bring_it(const struct rd_fact *facts)
{
	const struct rd_fact *ollama = rd_fact_get(facts, "engines.ollama");

	for (size_t i = 0; i < rd_fact_count(ollama); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(ollama, i), "build"), "rocm"))
			return true;
	return false;
}

/* A fact of some item that is not known, or the list itself; NULL: all is known. */
static const struct rd_fact *unknown_in(const struct rd_fact *facts, const char *list, const char *const paths[], size_t n)
{
	const struct rd_fact *items = rd_fact_get(facts, list);

	if (rd_fact_state(items) == RD_FACT_UNKNOWN)
		return items;
	for (size_t i = 0; i < rd_fact_count(items); i++)
		for (size_t k = 0; k < n; k++)
			if (rd_fact_is_unknown(rd_fact_at(items, i), paths[k]))
				return rd_fact_get(rd_fact_at(items, i), paths[k]);
	return NULL;
}

/* What keeps it open whether a ROCm is somewhere; NULL: nothing. */
static const struct rd_fact *unknown_user_space(const struct rd_fact *facts)
{
	static const char *const of_python[] = { "packages", "torch", "torch.rocm_bundled" }, *const of_ollama[] = { "build" };
	const struct rd_fact *unknown = unknown_in(facts, "runtime.rocm", NULL, 0);

	if (!unknown)
		unknown = unknown_in(facts, "python", of_python, RD_ARRAY_SIZE(of_python));
	if (!unknown)
		unknown = unknown_in(facts, "engines.ollama", of_ollama, RD_ARRAY_SIZE(of_ollama));
	if (!unknown)
		unknown = unknown_in(facts, "runtime.container_engines", NULL, 0);
	/* An environment that is active may lie anywhere. */
	return unknown ? unknown : unknown_in(facts, "runtime.environment", NULL, 0);
}

static void set_user_space(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *unknown = unknown_user_space(ctx->facts);
	const char *from = "";

	if (rd_fact_count(rd_fact_get(ctx->facts, "runtime.rocm")))
		from = "host";
	else if (wheels_bring_it(ctx->facts))
		from = "wheel";
	else if (engines_bring_it(ctx->facts))
		from = "engine";
	else if (rd_fact_count(rd_fact_get(ctx->facts, "runtime.container_engines")))
		from = "container";
	if (!*from && unknown) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.user_space", rd_fact_reason(unknown), rd_fact_source(unknown));
		return;
	}
	rd_fact_set_str(ctx->facts, "runtime.user_space", from, "runtime.rocm, python, engines, runtime.container_engines");
}

/* ROCm as wheels is an installation as well; its root is the environment. */
static void add_wheels(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *pythons = rd_fact_get(ctx->facts, "python");

	if (rd_fact_is_unknown(ctx->facts, "runtime.rocm"))
		return;
	for (size_t i = 0; i < rd_fact_count(pythons); i++) {
		const struct rd_fact *python = rd_fact_at(pythons, i);
		const struct rd_fact *version = rd_fact_child(rd_fact_get(python, "packages"), "rocm-sdk-core");
		const char *prefix = rd_fact_get_str(python, "prefix");
		struct rd_fact *item;

		if (!version)
			continue;
		item = rd_fact_append(ctx->facts, "runtime.rocm", prefix);
		rd_fact_set_str(item, "root", prefix, prefix);
		rd_fact_set_str(item, "version", rd_fact_str(version), rd_fact_source(version));
		rd_fact_set_str(item, "origin", "wheel", rd_fact_source(version));
		rd_fact_set_str(item, "layout", "wheel", rd_fact_source(version));
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	set_user_space(ctx);
	judge_release(ctx);
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		judge_override(ctx, rd_fact_at_mutable(gpus, i));
		judge_memory(ctx, rd_fact_at_mutable(gpus, i));
	}
	add_wheels(ctx);
	return 0;
}

const struct rd_probe rd_probe_runtime_support = {
	.name = "runtime/support",
	.layer = RD_LAYER_RUNTIME,
	.flags = RD_PROBE_PURE,
	.after = "runtime/stack",
	.needs = (const char *const[]){ "runtime.rocm", NULL },
	.summary = "what the tables say of the release, the overrides and the memory",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.user_space", RD_STR,
	                  "where programs get ROCm from: \"host\", \"wheel\", \"engine\" (Ollama's own), \"container\" "
	                  "(an engine that could run one); \"\" for nowhere",
	                  "runtime.rocm, python, engines" },
			{ "runtime.stream", RD_STR, "line of the release: \"legacy\", \"therock-preview\" or \"therock\"",
	                  RELEASES },
			{ "runtime.os_support", RD_STR,
	                  "AMD lists this system for the release: \"listed\", \"unlisted\"; \"\" without a ROCm "
	                  "of AMD",
	                  RELEASES },
			{ "runtime.too_old_for_driver", RD_BOOL, "AMD's driver is newer than any that goes with the release",
	                  RELEASES },
			{ "runtime.driver", RD_STR, "release of AMD's driver, where its module is in use", "runtime.packages",
	                  RD_VERSION_DOTTED },
			{ "runtime.newest_driver", RD_STR, "newest driver that goes with the release", RELEASES,
	                  RD_VERSION_DOTTED },
			{ "gpus[].override.value", RD_STR, "HSA_OVERRIDE_GFX_VERSION as it counts for this GPU",
	                  "the examined process" },
			{ "gpus[].override.gfx", RD_STR, "the gfx that it names", "the examined process" },
			{ "gpus[].override.verdict", RD_STR,
	                  "can the GPU run code for it: \"same\", \"usually\", \"risky\", \"no\"", OVERRIDES },
			{ "gpus[].memory.offered_bytes", RD_INT, "of an APU: memory that KFD lets programs allocate",
	                  "/sys/class/kfd/kfd/topology/nodes/*/mem_banks" },
			{ "gpus[].memory.machine_bytes", RD_INT, "of an APU: memory of the machine, the carve-out included",
	                  "/proc/meminfo" },
			{ "gpus[].memory.proposed_pages", RD_INT,
	                  "of an APU: three quarters of the system's memory in pages of 4 KiB, a limit for TTM",
	                  "/proc/meminfo" },
			{ "gpus[].memory.limited", RD_BOOL, "of an APU: KFD offers less than a quarter of the memory",
	                  "memory.offered_bytes, memory.machine_bytes" },
			{ 0 },
		},
	.run = run,
};
