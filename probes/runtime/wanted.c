/*
 * Which release of ROCm apt or dnf would install here: that of AMD's source, where there is one; else the newest of the table
 * whose package versions are known to the last digit. For this system, this driver, and with code for every GPU. How SUSE's
 * packages of AMD end is not known to the last digit, so for zypper it is a source that is there or none.
 */

#include <ctype.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

static const char apt_sources[] = "runtime.apt.sources", rpm_sources[] = "runtime.rpm.sources";

static bool is_of_rocm(const struct rd_fact *source)
{
	return rd_fact_get_bool(source, "enabled") && rd_streq(rd_fact_get_str(source, "vendor"), "amd") &&
	       rd_streq(rd_fact_get_str(source, "product"), "rocm");
}

static bool is_usable_by_apt(const struct rd_fact *facts, const struct rd_fact *source)
{
	const char *key = rd_fact_get_str(source, "key");

	(void)facts;
	return is_of_rocm(source) && !rd_fact_get_bool(source, "wrong_suite") && !rd_fact_get_bool(source, "withdrawn") &&
	       (rd_streq(key, "ok") || rd_streq(key, "trusted"));
}

/* "el9" or, up to 6.1, "rhel9"; the addresses for SUSE name no system. */
static bool is_usable_by_rpm(const struct rd_fact *facts, const struct rd_fact *source)
{
	const char *system = rd_fact_get_str(source, "system"), *build = rd_fact_get_str(facts, "runtime.expected_build");

	return is_of_rocm(source) && (!*system || (*build && rd_str_has_suffix(system, build + strcspn(build, "0123456789"))));
}

/* The release of the one source of ROCm; "" for none, for several releases, and for an address that moves ("latest"). */
static const char *only_release(const struct rd_fact *facts, const struct rd_fact *list,
                                bool (*is_usable)(const struct rd_fact *facts, const struct rd_fact *source))
{
	const char *release = "";

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *one = rd_fact_get_str(rd_fact_at(list, i), "release");

		if (!is_usable(facts, rd_fact_at(list, i)))
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

static bool has(const cJSON *list, const char *text)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (rd_streq(cJSON_GetStringValue(one) ? one->valuestring : "", text))
			return true;
	return false;
}

/* Packages of the newer layout are one a GPU: each has to be among them. */
static bool has_package_for_all(const struct rd_fact *gpus, const cJSON *core)
{
	const cJSON *gfx = cJSON_GetObjectItemCaseSensitive(core, "gfx");

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		if (!has(gfx, rd_fact_get_str(rd_fact_at(gpus, i), "gfx")))
			return false;
	return rd_fact_count(gpus) > 0;
}

/* Rocky's and Oracle's releases are listed by their first number alone. */
static bool is_for_system(const cJSON *systems, const struct rd_fact *facts)
{
	static const char *const ids[] = { "ubuntu", "rhel", "rocky", "ol" };
	const char *id = rd_fact_get_str(facts, "host.os.id"), *version = rd_fact_get_str(facts, "host.os.version_id");
	rd_auto_free char *major = rd_xstrndup(version, strcspn(version, "."));

	for (size_t i = 0; i < RD_ARRAY_SIZE(ids); i++)
		if (rd_streq(ids[i], id))
			return has(cJSON_GetObjectItemCaseSensitive(systems, id), i < 2 ? version : major);
	return false;
}

/* Does a release of the table go with this host? A driver of the kernel's own is judged by other rules. */
static bool goes_with(const struct rd_fact *facts, const cJSON *row)
{
	const cJSON *systems = cJSON_GetObjectItemCaseSensitive(row, "systems");
	const cJSON *core = cJSON_GetObjectItemCaseSensitive(row, "core"), *core_systems;
	const char *driver = rd_fact_get_str(facts, "kernel.amdgpu.driver");
	const char *system = rd_fact_get_str(facts, "host.os.version_id");

	core_systems = core ? cJSON_GetObjectItemCaseSensitive(core, "systems") : NULL;
	if (core ? !rd_streq(rd_fact_get_str(facts, "host.os.id"), "ubuntu") || !has(core_systems, system) ||
	                    !has_package_for_all(rd_fact_get(facts, "gpus"), core)
	         : !*rd_json_str(row, "build") || !rd_streq(rd_json_str(row, "stream"), "legacy"))
		return false;
	return is_for_system(systems, facts) && (!*driver || has(cJSON_GetObjectItemCaseSensitive(row, "drivers"), driver)) &&
	       has_code_for_all(rd_fact_get(facts, "gpus"), rd_json_str(row, "version"));
}

/*
 * The newest of the older layout, whose repositories stay as they are, a release each; where none goes with this host, of the
 * newer layout, whose repository moves on.
 */
static bool is_better(const cJSON *row, const cJSON *best)
{
	const cJSON *a = cJSON_GetObjectItemCaseSensitive(row, "core"),
		    *b = best ? cJSON_GetObjectItemCaseSensitive(best, "core") : NULL;

	if (!best || !a != !b)
		return !best || !a;
	return rd_version_compare(rd_json_str(row, "version"), rd_json_str(best, "version"), RD_VERSION_ROCM) > 0;
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

static void set_texts(struct rd_fact *facts, const char *packages, const char *version, const char *uri, const char *suite,
                      const char *keyring)
{
	const char *const texts[][2] = { { "runtime.wanted.packages", packages },
		                         { "runtime.wanted.version", version },
		                         { "runtime.wanted.uri", uri },
		                         { "runtime.wanted.suite", suite },
		                         { "runtime.wanted.keyring", keyring } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(texts); i++)
		rd_fact_set_str(facts, texts[i][0], texts[i][1], "table releases");
}

static void set_classic_apt(struct rd_fact *facts, const cJSON *row)
{
	rd_auto_free char *version =
		rd_xasprintf("%s~%s", rd_json_str(row, "build"), rd_fact_get_str(facts, "host.os.version_id"));
	rd_auto_free char *uri = rd_xasprintf("https://repo.radeon.com/rocm/apt/%s", rd_json_str(row, "folder"));

	set_texts(facts, "rocm", version, uri, rd_fact_get_str(facts, "host.os.codename"), "/etc/apt/keyrings/rocm.gpg");
}

/* The folder for a system changed its name with 6.2. */
static void set_classic_rpm(struct rd_fact *facts, const cJSON *row)
{
	const char *system = rd_fact_get_str(facts, "runtime.expected_build");
	bool old = rd_version_compare(rd_json_str(row, "version"), "6.2", RD_VERSION_ROCM) < 0;
	rd_auto_free char *version = rd_xasprintf("%s.%s", rd_json_str(row, "build"), system);
	rd_auto_free char *uri = rd_xasprintf("https://repo.radeon.com/rocm/%s%s/%s/main", old ? "rhel" : "el",
	                                      system + strcspn(system, "0123456789"), rd_json_str(row, "folder"));

	set_texts(facts, "rocm", version, uri, "", "/etc/pki/rpm-gpg/RPM-GPG-KEY-rocm");
}

/* amdrocm10.0-gfx942 for each kind of GPU. */
static void set_core(struct rd_fact *facts, const cJSON *row, const cJSON *core)
{
	const char *release = rd_json_str(row, "version"), *system = rd_fact_get_str(facts, "host.os.version_id");
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");
	rd_auto_strbuf struct rd_strbuf packages = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	rd_auto_free char *uri = rd_xasprintf("%s%.*s%s/", rd_json_str(core, "uri"), (int)strcspn(system, "."), system,
	                                      system + strcspn(system, ".") + (strchr(system, '.') != NULL));

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_strv_push_unique(&gfx, rd_fact_get_str(rd_fact_at(gpus, i), "gfx"));
	for (size_t i = 0; i < gfx.n; i++)
		rd_strbuf_addf(&packages, "%samdrocm%.*s-%s", i ? ", " : "", (int)(strrchr(release, '.') - release), release,
		               gfx.v[i]);
	set_texts(facts, packages.buf, rd_json_str(core, "build"), uri, "stable", "/etc/apt/keyrings/amdrocm.gpg");
}

static void set_wanted(struct rd_probe_ctx *ctx)
{
	const cJSON *table = rd_knowledge_table(ctx->knowledge, "releases"), *row, *best = NULL;
	const struct rd_fact *facts = ctx->facts;
	const cJSON *core;

	if (!rd_streq(rd_fact_get_str(facts, "host.kernel.machine"), "x86_64") ||
	    has_source_of_amd(rd_fact_get(facts, apt_sources)) || has_source_of_amd(rd_fact_get(facts, rpm_sources)))
		return;
	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(table, "releases"))
		if (goes_with(facts, row) && is_better(row, best))
			best = row;
	if (best) {
		rd_fact_set_str(ctx->facts, "runtime.wanted.release", rd_json_str(best, "version"), "table releases");
		core = cJSON_GetObjectItemCaseSensitive(best, "core");
		if (core)
			set_core(ctx->facts, best, core);
		else if (rd_streq(rd_fact_get_str(facts, "host.os.id"), "ubuntu"))
			set_classic_apt(ctx->facts, best);
		else
			set_classic_rpm(ctx->facts, best);
	}
}

static void set_release(struct rd_probe_ctx *ctx, const char *path, const char *sources,
                        bool (*is_usable)(const struct rd_fact *facts, const struct rd_fact *source))
{
	const struct rd_fact *list = rd_fact_get(ctx->facts, sources);
	const char *release;

	if (rd_fact_state(list) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, path, rd_fact_reason(list), sources);
		return;
	}
	release = only_release(ctx->facts, list, is_usable);
	if (*release && !has_code_for_all(rd_fact_get(ctx->facts, "gpus"), release))
		release = "";
	rd_fact_set_str(ctx->facts, path, release, sources);
}

static int run(struct rd_probe_ctx *ctx)
{
	set_release(ctx, "runtime.apt.rocm_release", apt_sources, is_usable_by_apt);
	set_release(ctx, "runtime.rpm.rocm_release", rpm_sources, is_usable_by_rpm);
	if (!rd_fact_is_unknown(ctx->facts, apt_sources) && !rd_fact_is_unknown(ctx->facts, rpm_sources))
		set_wanted(ctx);
	return 0;
}

const struct rd_probe rd_probe_runtime_wanted = {
	.name = "runtime/wanted",
	.layer = RD_LAYER_RUNTIME,
	.flags = RD_PROBE_PURE,
	.needs = (const char *const[]){ "host.os.id", NULL },
	.summary = "which release of ROCm apt or dnf would install here",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.apt.rocm_release", RD_STR,
	                  "release of AMD's only usable source of ROCm, where it has code for every GPU", "runtime.apt.sources",
	                  RD_VERSION_ROCM },
			{ "runtime.rpm.rocm_release", RD_STR, "the same for dnf and zypper", "runtime.rpm.sources",
	                  RD_VERSION_ROCM },
			{ "runtime.wanted.release", RD_STR,
	                  "ROCm release to install where AMD's repository is not set up; empty: none can be named",
	                  "table releases", RD_VERSION_ROCM },
			{ "runtime.wanted.packages", RD_STR, "its packages for these GPUs", "table releases" },
			{ "runtime.wanted.version", RD_STR, "their version", "table releases" },
			{ "runtime.wanted.uri", RD_STR, "repository that has it", "table releases" },
			{ "runtime.wanted.suite", RD_STR, "suite for this system", "/etc/os-release" },
			{ "runtime.wanted.keyring", RD_STR, "keyring for its source", "table releases" },
			{ 0 },
		},
	.run = run,
};
