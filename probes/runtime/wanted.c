/* Which release AMD's source for apt has, where that is the one to install here: for this system, with code for every GPU. */

#include <ctype.h>
#include <string.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"

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
			{ 0 },
		},
	.run = run,
};
