/*
 * Which package of AMD's driver would go with this kernel, the ROCm in use and the GPUs, to the last digit: of the series that
 * came out with that ROCm or the next one that fits, the newest release. Where none can be named, why.
 */

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"
#include "util/xalloc.h"

#define DRIVERS "table drivers"
#define WANTED "runtime.wanted_driver."

struct search {
	struct rd_probe_ctx *ctx;
	const struct rd_fact *facts;
	const char *rocm;       /* what the driver has to go with; "" nothing is installed */
	const cJSON *release;   /* its row */
	const char *own_series; /* the first series that came with it, "" not known */
	const cJSON *best;
	const struct rd_fact *source; /* AMD's source of drivers that is there */
};

static bool has(const cJSON *list, const char *text, size_t len)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list) {
		const char *item = cJSON_GetStringValue(one);

		if (item && strlen(item) == len && memcmp(item, text, len) == 0)
			return true;
	}
	return false;
}

/* "30.30" of "30.30.4". */
static size_t series_len(const char *version)
{
	size_t major = strcspn(version, ".");

	return version[major] ? major + 1 + strcspn(version + major + 1, ".") : major;
}

/* The newest ROCm that is installed or that a judged PyTorch is built for. */
static const char *newest_rocm(const struct rd_fact *facts)
{
	const struct rd_fact *list = rd_fact_get(facts, "python");
	const char *newest = rd_fact_get_str(facts, "runtime.release");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *env = rd_fact_at(list, i);
		const char *rocm = rd_fact_get_str(env, "torch.rocm");

		if (rd_fact_get_bool(env, "judged") && *rocm &&
		    (!*newest || rd_version_compare(rocm, newest, RD_VERSION_ROCM) > 0))
			newest = rocm;
	}
	return newest;
}

/* The row of a release, or of the newest of a series. */
static const cJSON *release_row(const struct search *s)
{
	const cJSON *row, *found = NULL;

	cJSON_ArrayForEach (row, rd_knowledge_rows(s->ctx->knowledge, "releases", "releases"))
		if (*s->rocm && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "drivers")) &&
		    rd_version_has_prefix(rd_json_str(row, "version"), s->rocm))
			found = row;
	return found;
}

/* By a driver that AMD names together with a release of that series; else the newest that goes with it. */
static const char *own_series(const struct search *s)
{
	const cJSON *row, *drivers = cJSON_GetObjectItemCaseSensitive(s->release, "drivers");
	const char *own = NULL;

	cJSON_ArrayForEach (row, rd_knowledge_rows(s->ctx->knowledge, "drivers", "packages")) {
		const char *driver = rd_json_str(row, "driver"), *with = rd_json_str(row, "pairs_with");

		with = *with ? with : driver;
		if (!own && strncmp(with, s->rocm, series_len(s->rocm)) == 0 && series_len(with) == series_len(s->rocm))
			own = driver;
	}
	if (own)
		return own;
	return drivers ? cJSON_GetStringValue(cJSON_GetArrayItem(drivers, 0)) : "";
}

static bool is_for_kernel(const struct search *s, const cJSON *row)
{
	const char *release = rd_fact_get_str(s->facts, "host.kernel.release"), *limit = rd_json_str(row, "kernel_max");
	rd_auto_free char *series = rd_xstrndup(release, series_len(release));

	return *limit && *series && rd_version_compare(series, limit, RD_VERSION_DOTTED) <= 0;
}

/* Is it for a time after the GPUs came out? */
static bool knows_gpus(const struct search *s, const cJSON *row)
{
	const struct rd_fact *gpus = rd_fact_get(s->facts, "gpus");
	const cJSON *module, *list = rd_knowledge_rows(s->ctx->knowledge, "drivers", "drivers");
	const char *newest = "";

	cJSON_ArrayForEach (module, list)
		if (rd_streq(rd_json_str(module, "module"), rd_json_str(row, "module")))
			newest = rd_json_str(module, "rocm_max");
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const char *first = rd_fact_get_str(rd_fact_at(gpus, i), "support.first_rocm");

		if (*first && (!*newest || (rd_version_compare(first, newest, RD_VERSION_ROCM) > 0 &&
		                            !rd_version_has_prefix(first, newest))))
			return false;
	}
	return true;
}

/* Newer than the package that is installed. */
static bool is_newer(const struct search *s, const cJSON *row)
{
	const char *now = rd_fact_get_str(s->facts, "kernel.driver_package.version");

	return !rd_fact_get_bool(s->facts, "kernel.driver_package.installed") || !*now ||
	       rd_version_compare(rd_json_str(row, "version"), now, RD_VERSION_DPKG) > 0;
}

static bool fits(const struct search *s, const cJSON *row)
{
	const char *driver = rd_json_str(row, "driver"), *system = rd_fact_get_str(s->facts, "host.os.version_id");

	if (!has(cJSON_GetObjectItemCaseSensitive(row, "systems"), system, strlen(system)) || !is_for_kernel(s, row) ||
	    !is_newer(s, row) || !knows_gpus(s, row))
		return false;
	return !s->release || (has(cJSON_GetObjectItemCaseSensitive(s->release, "drivers"), driver, series_len(driver)) &&
	                       rd_version_compare(driver, s->own_series, RD_VERSION_DOTTED) >= 0);
}

/* Rows are in ascending order: the first series that fits, and of it the last release. With no ROCm, the last of all. */
static void choose(struct search *s)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(s->ctx->knowledge, "drivers", "packages")) {
		const char *driver = rd_json_str(row, "driver"), *best = s->best ? rd_json_str(s->best, "driver") : "";

		if (fits(s, row) &&
		    (!s->best || !*s->rocm ||
		     (series_len(best) == series_len(driver) && strncmp(best, driver, series_len(driver)) == 0)))
			s->best = row;
	}
}

/* AMD's sources of drivers: several of them a person has to sort out first. */
static size_t find_source(struct search *s)
{
	const struct rd_fact *list = rd_fact_get(s->facts, "runtime.apt.sources");
	size_t n = 0;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *one = rd_fact_at(list, i);

		if (!rd_fact_get_bool(one, "enabled") || !rd_streq(rd_fact_get_str(one, "vendor"), "amd") ||
		    !rd_streq(rd_fact_get_str(one, "product"), "amdgpu"))
			continue;
		n++;
		s->source = one;
	}
	return n;
}

static char *cannot(struct search *s)
{
	const char *system = rd_fact_get_str(s->facts, "host.os.id"),
		   *release = rd_fact_get_str(s->facts, "host.os.version_id");

	if (!rd_streq(system, "ubuntu") || !rd_streq(rd_fact_get_str(s->facts, "host.kernel.machine"), "x86_64"))
		return rd_xasprintf("versions of AMD's driver packages are on record for Ubuntu on x86-64 alone, not for %s %s",
		                    system, release);
	if (rd_fact_get_bool(s->facts, "host.secure_boot") && !rd_fact_get_bool(s->facts, "kernel.driver_package.installed"))
		return rd_xstrdup("Secure Boot is on: a driver of DKMS has to be signed with a key that you enrol first");
	if (*s->rocm && !s->release)
		return rd_xasprintf("which drivers go with ROCm %s is not on record", s->rocm);
	if (!s->best)
		return rd_xasprintf(
			"no newer driver whose package version is on record is for Ubuntu %s, kernel %s%s%s and these GPUs",
			release, rd_fact_get_str(s->facts, "host.kernel.release"), *s->rocm ? ", ROCm " : "", s->rocm);
	if (rd_fact_state(rd_fact_get(s->facts, "runtime.apt.sources")) == RD_FACT_UNKNOWN)
		return rd_xstrdup("the sources of apt could not be read");
	if (find_source(s) > 1)
		return rd_xstrdup("several sources of AMD's driver are switched on: keep one of them");
	return NULL;
}

/* That which the source names already, where it is one file. */
static const char *keyring_of(const struct rd_fact *source)
{
	const char *keyring = rd_fact_get_str(source, "signed_by");

	return *keyring == '/' && !strpbrk(keyring, " \t") ? keyring : "/etc/apt/keyrings/rocm.gpg";
}

static void set(const struct search *s)
{
	rd_auto_free char *version =
		rd_xasprintf("%s.%s", rd_json_str(s->best, "version"), rd_fact_get_str(s->facts, "host.os.version_id"));
	rd_auto_free char *uri = rd_xasprintf("https://repo.radeon.com/amdgpu/%s/ubuntu", rd_json_str(s->best, "folder"));
	rd_auto_free char *origin = rd_xasprintf("driver %s, for kernels up to %s%s%s (table drivers: %s)",
	                                         rd_json_str(s->best, "driver"), rd_json_str(s->best, "kernel_max"),
	                                         *s->rocm ? " and ROCm " : "", s->rocm, rd_json_str(s->best, "source"));
	struct rd_fact *facts = s->ctx->facts;

	rd_fact_set_str(facts, WANTED "release", rd_json_str(s->best, "driver"), DRIVERS);
	rd_fact_set_str(facts, WANTED "version", version, DRIVERS);
	rd_fact_set_str(facts, WANTED "origin", origin, DRIVERS);
	rd_fact_set_str(facts, WANTED "uri", uri, DRIVERS);
	rd_fact_set_str(facts, WANTED "suite", rd_fact_get_str(facts, "host.os.codename"), "/etc/os-release");
	rd_fact_set_str(facts, WANTED "keyring", keyring_of(s->source), "runtime.apt.sources");
	rd_fact_set_str(facts, WANTED "source",
	                !s->source                                         ? "none"
	                : rd_streq(rd_fact_get_str(s->source, "uri"), uri) ? "there"
	                                                                   : "other",
	                "runtime.apt.sources");
	rd_fact_set_str(facts, WANTED "source_file", rd_fact_get_str(s->source, "file"), "runtime.apt.sources");
	rd_fact_set_str(facts, WANTED "source_uri", rd_fact_get_str(s->source, "uri"), "runtime.apt.sources");
}

static int run(struct rd_probe_ctx *ctx)
{
	struct search s = { .ctx = ctx, .facts = ctx->facts, .rocm = newest_rocm(ctx->facts) };
	rd_auto_free char *refusal = NULL;

	if (rd_fact_is_unknown(ctx->facts, "host.os.id"))
		return 0;
	s.release = release_row(&s);
	s.own_series = s.release ? own_series(&s) : "";
	choose(&s);
	refusal = cannot(&s);
	if (refusal)
		rd_fact_set_str(ctx->facts, WANTED "refusal", refusal, DRIVERS);
	else
		set(&s);
	return 0;
}

const struct rd_probe rd_probe_runtime_driver = {
	.name = "runtime/driver",
	.layer = RD_LAYER_RUNTIME,
	.flags = RD_PROBE_PURE,
	.after = "runtime/support",
	.needs = (const char *const[]){ "host.os.id", NULL },
	.summary = "which driver of AMD would go with this host",
	.facts =
		(const struct rd_fact_decl[]){
			{ WANTED "release", RD_STR, "driver of AMD to install here; empty: none can be named", DRIVERS,
	                  RD_VERSION_DOTTED },
			{ WANTED "version", RD_STR, "version of its package amdgpu-dkms", DRIVERS, RD_VERSION_DPKG },
			{ WANTED "origin", RD_STR, "where that version is from", DRIVERS },
			{ WANTED "uri", RD_STR, "repository that has it", DRIVERS },
			{ WANTED "suite", RD_STR, "suite for this system", "/etc/os-release" },
			{ WANTED "keyring", RD_STR, "keyring of its source", "runtime.apt.sources" },
			{ WANTED "source", RD_STR,
	                  "\"there\": that repository is a source of apt; \"other\": another of AMD's; \"none\"",
	                  "runtime.apt.sources" },
			{ WANTED "source_file", RD_STR, "file of AMD's source of drivers; empty: there is none",
	                  "runtime.apt.sources" },
			{ WANTED "source_uri", RD_STR, "its address", "runtime.apt.sources" },
			{ WANTED "refusal", RD_STR, "why none can be named", DRIVERS },
			{ 0 },
		},
	.run = run,
};
