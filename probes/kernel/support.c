/*
 * The joins of the kernel layer: GPUs, running kernel, driver, ROCm and firmware against the tables of what goes with what.
 * Where a table has no row, or only one that is not sure, the answer is unknown.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/version.h"
#include "util/xalloc.h"

#define KERNELS "table kernels"
#define DRIVERS "table drivers"
#define FIRMWARE "table firmware"

static double number_of(const cJSON *row, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool has_text(const cJSON *list, const char *text)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		if (cJSON_IsString(item) && rd_streq(item->valuestring, text))
			return true;
	}
	return false;
}

/* A release's series, "6.8" of "6.8.0-60-generic". */
static bool series_of(const char *release, unsigned ret[2])
{
	return sscanf(release, "%u.%u", &ret[0], &ret[1]) == 2;
}

/* <0, 0, >0; both begin with numbers. */
static int compare_series(const char *a, const char *b)
{
	unsigned own[2] = { 0 }, other[2] = { 0 };

	series_of(a, own);
	series_of(b, other);
	if (own[0] != other[0])
		return own[0] < other[0] ? -1 : 1;
	return own[1] < other[1] ? -1 : own[1] > other[1];
}

/* ---- kernels: the first that drives a gfx ---- */

static void judge_age(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *release, bool in_tree_known)
{
	static const char fact[] = "kernel_too_old";
	const cJSON *row, *found = NULL;
	const char *absent, *first;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "kernels", "rows")) {
		if (rd_streq(rd_json_str(row, "gfx"), rd_fact_get_str(gpu, "gfx")))
			found = row;
	}
	if (!found) {
		rd_fact_set_unknown_why(gpu, fact, "no kernel is on record for this GPU", KERNELS);
		return;
	}
	absent = rd_json_str(found, "absent_up_to");
	first = rd_json_str(found, "first");
	rd_fact_set_str(gpu, "kernel_first", first[0] ? first : "", KERNELS);
	if (!absent[0] || (first[0] && compare_series(release, first) >= 0))
		rd_fact_set_bool(gpu, fact, false, KERNELS);
	else if (!in_tree_known)
		rd_fact_set_unknown_why(gpu, fact, "whose amdgpu it is is not known", "kernel.amdgpu.origin");
	else if (compare_series(release, absent) > 0)
		rd_fact_set_unknown_why(gpu, fact, "which kernel first drives this GPU is not known exactly", KERNELS);
	else if (rd_fact_get_bool(ctx->facts, "kernel.backports"))
		rd_fact_set_unknown_why(gpu, fact, "an enterprise kernel's number says nothing of its drivers", KERNELS);
	else
		rd_fact_set_bool(gpu, fact, true, KERNELS);
}

static void judge_kernels(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");
	rd_auto_free char *release = NULL;
	const char *origin = rd_fact_get_str(ctx->facts, "kernel.amdgpu.origin");
	bool told = kernel_release(ctx, &release) >= 0;

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);

		if (!told)
			rd_fact_set_unknown(gpu, "kernel_too_old", -ENODATA, "/proc/sys/kernel/osrelease");
		else if (rd_streq(origin, "dkms"))
			rd_fact_set_bool(gpu, "kernel_too_old", false, "kernel.amdgpu.origin");
		else
			judge_age(ctx, gpu, release, origin[0] || rd_fact_get_str(ctx->facts, "kernel.amdgpu.state")[0]);
	}
}

/* ---- drivers: the newest ROCm and kernel a module goes with ---- */

/* "6.12.12", "6.12.12-2164967.24.04" and "7.1.3.31500000" by the row of 6.12.12 and 7.1.3. */
static const cJSON *driver_row(const struct rd_probe_ctx *ctx, const char *version)
{
	rd_auto_free char *module = rd_xstrndup(version, strcspn(version, "-+~ "));
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "drivers", "drivers")) {
		if (rd_json_str(row, "module")[0] && rd_version_has_prefix(module, rd_json_str(row, "module")))
			return row;
	}
	return NULL;
}

/* The ROCm of the default root, else the only one there is. */
static const char *rocm_version(const struct rd_fact *facts)
{
	const struct rd_fact *list = rd_fact_get(facts, "runtime.rocm");
	const char *root = rd_fact_get_str(facts, "runtime.default_root");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		if (root[0] && rd_streq(rd_fact_get_str(rd_fact_at(list, i), "root"), root))
			return rd_fact_get_str(rd_fact_at(list, i), "version");
	}
	return rd_fact_count(list) == 1 ? rd_fact_get_str(rd_fact_at(list, 0), "version") : "";
}

static void set_too_old(struct rd_fact *facts, const char *rocm, const char *limit, const char *effect)
{
	rd_fact_set_bool(facts, "kernel.amdgpu.too_old", true, DRIVERS);
	rd_fact_set_str(facts, "kernel.amdgpu.too_old_for", rocm, "runtime.rocm");
	if (limit)
		rd_fact_set_str(facts, "kernel.amdgpu.rocm_max", limit, DRIVERS);
	if (effect)
		rd_fact_set_str(facts, "kernel.amdgpu.too_old_effect", effect, DRIVERS);
}

static void judge_dkms_window(struct rd_probe_ctx *ctx, const char *rocm)
{
	const cJSON *row = driver_row(ctx, rd_fact_get_str(ctx->facts, "kernel.amdgpu.version"));
	const cJSON *table = rd_knowledge_table(ctx->knowledge, "drivers");
	const char *limit = rd_json_str(row, "rocm_max"), *newest = rd_json_str(table, "rocm_newest");

	rd_fact_set_str(ctx->facts, "kernel.amdgpu.driver", rd_json_str(row, "driver"), DRIVERS);
	rd_fact_set_str(ctx->facts, "kernel.amdgpu.rocm_max", limit, DRIVERS);
	if (!limit[0])
		rd_fact_set_unknown_why(ctx->facts, "kernel.amdgpu.too_old", "no ROCm is on record for this driver", DRIVERS);
	else if (rd_version_has_prefix(rocm, limit) || rd_version_compare(rocm, limit, RD_VERSION_ROCM) < 0)
		rd_fact_set_bool(ctx->facts, "kernel.amdgpu.too_old", false, DRIVERS);
	else if (!rd_version_has_prefix(rocm, newest) && rd_version_compare(rocm, newest, RD_VERSION_ROCM) > 0)
		rd_fact_set_unknown_why(ctx->facts, "kernel.amdgpu.too_old", "this ROCm is newer than the table", DRIVERS);
	else
		set_too_old(ctx->facts, rocm, limit, NULL);
}

static bool drives_gfx_of(const struct rd_fact *facts, const cJSON *row)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i);

		if (has_text(cJSON_GetObjectItemCaseSensitive(row, "gfx"), rd_fact_get_str(gpu, "gfx")) &&
		    rd_streq(rd_fact_get_str(gpu, "driver"), "amdgpu"))
			return true;
	}
	return false;
}

/* A gfx whose in-tree driver the runtime refuses in a range of kernels. */
static void judge_in_tree(struct rd_probe_ctx *ctx, const char *rocm)
{
	rd_auto_free char *release = NULL;
	const cJSON *row;

	rd_fact_set_bool(ctx->facts, "kernel.amdgpu.too_old", false, DRIVERS);
	if (rd_fact_get_bool(ctx->facts, "kernel.backports") || kernel_release(ctx, &release) < 0)
		return;
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "drivers", "in_tree")) {
		const char *from = rd_json_str(row, "rocm_from"), *before = rd_json_str(row, "kernel_before");

		if (!from[0] || !before[0] || rd_version_compare(rocm, from, RD_VERSION_ROCM) < 0 ||
		    compare_series(release, before) >= 0 || !drives_gfx_of(ctx->facts, row))
			continue;
		if (compare_series(release, rd_json_str(row, "kernel_from")) < 0)
			rd_fact_set_unknown_why(ctx->facts, "kernel.amdgpu.too_old",
			                        "this kernel is not on record with this ROCm", DRIVERS);
		else
			set_too_old(ctx->facts, rocm, NULL, rd_json_str(row, "effect"));
	}
}

static void judge_window(struct rd_probe_ctx *ctx)
{
	const char *origin = rd_fact_get_str(ctx->facts, "kernel.amdgpu.origin");
	const char *rocm = rocm_version(ctx->facts);

	if (rd_fact_is_unknown(ctx->facts, "runtime.rocm") || rd_fact_is_unknown(ctx->facts, "kernel.amdgpu.origin"))
		rd_fact_set_unknown_why(ctx->facts, "kernel.amdgpu.too_old", "driver or ROCm is not known", DRIVERS);
	else if (!rocm[0] || !origin[0])
		rd_fact_set_bool(ctx->facts, "kernel.amdgpu.too_old", false, "runtime.rocm");
	else if (rd_streq(origin, "dkms"))
		judge_dkms_window(ctx, rocm);
	else
		judge_in_tree(ctx, rocm);
}

/* Is the running kernel beyond those that the version in DKMS is made for? A build that came out settles it. */
static void judge_dkms_kernel(struct rd_probe_ctx *ctx)
{
	static const char fact[] = "kernel.amdgpu.dkms.kernel_too_new";
	const char *version = rd_fact_get_str(ctx->facts, "kernel.amdgpu.dkms.version");
	const char *limit = rd_json_str(driver_row(ctx, version), "kernel_max");
	rd_auto_free char *release = NULL;

	if (rd_fact_is_unknown(ctx->facts, "kernel.amdgpu.dkms.version"))
		rd_fact_set_unknown_why(ctx->facts, fact, "what DKMS has is not known", "kernel.amdgpu.dkms.version");
	else if (!version[0] || rd_streq(rd_fact_get_str(ctx->facts, "kernel.amdgpu.dkms.state"), "installed"))
		rd_fact_set_bool(ctx->facts, fact, false, "kernel.amdgpu.dkms.state");
	else if (!limit[0] || kernel_release(ctx, &release) < 0 || rd_fact_get_bool(ctx->facts, "kernel.backports"))
		rd_fact_set_unknown_why(ctx->facts, fact, "no newest kernel is on record for this driver", DRIVERS);
	else
		rd_fact_set_bool(ctx->facts, fact, compare_series(release, limit) > 0, DRIVERS);
	if (limit[0])
		rd_fact_set_str(ctx->facts, "kernel.amdgpu.dkms.kernel_max", limit, DRIVERS);
}

/* The driver's own number in a package's version: 60201 of "1:6.8.5.60201-2041575.24.04"; 0 where there is none. */
static double package_code(const struct rd_fact *facts)
{
	const char *version = rd_fact_get_str(facts, "kernel.driver_package.version");
	const char *colon = strchr(version, ':');
	unsigned long code = 0;

	return sscanf(colon ? colon + 1 : version, "%*u.%*u.%*u.%lu", &code) == 1 ? (double)code : 0;
}

/* 1: on the list, 0: not, -1: cannot be told */
static int is_known_bad(const struct rd_fact *facts, const struct rd_fact *gpu, const cJSON *row)
{
	const char *version = rd_fact_get_str(facts, "kernel.amdgpu.version"), *module = rd_json_str(row, "module");
	double code = package_code(facts);

	if (!has_text(cJSON_GetObjectItemCaseSensitive(row, "device_ids"), rd_fact_get_str(gpu, "device_id")))
		return 0;
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "vf_only")) && !rd_streq(rd_fact_get_str(gpu, "kind"), "vf"))
		return 0;
	if (!rd_version_has_prefix(version, module))
		return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "and_older")) &&
		       rd_version_compare(version, module, RD_VERSION_DOTTED) < 0;
	return code == 0 ? -1 : code < number_of(row, "code_before");
}

static void judge_known_bad_driver(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	bool dkms = rd_streq(rd_fact_get_str(ctx->facts, "kernel.amdgpu.origin"), "dkms");
	const cJSON *row;

	rd_fact_set_bool(gpu, "driver_known_bad", false, DRIVERS);
	if (rd_fact_is_unknown(ctx->facts, "kernel.amdgpu.origin")) {
		rd_fact_set_unknown_why(gpu, "driver_known_bad", "the driver is not known", "kernel.amdgpu.origin");
		return;
	}
	if (!dkms || !rd_fact_get_str(ctx->facts, "kernel.amdgpu.version")[0])
		return;
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "drivers", "known_bad")) {
		int bad = is_known_bad(ctx->facts, gpu, row);

		if (bad == 0)
			continue;
		if (bad < 0) {
			rd_fact_set_unknown_why(gpu, "driver_known_bad", "which build of the driver it is is not known",
			                        DRIVERS);
			continue;
		}
		rd_fact_set_bool(gpu, "driver_known_bad", true, DRIVERS);
		rd_fact_set_str(gpu, "driver_known_bad_effect", rd_json_str(row, "effect"), DRIVERS);
		rd_fact_set_str(gpu, "driver_fixed", rd_json_str(row, "fixed"), DRIVERS);
		return;
	}
}

/* ---- firmware ---- */

/* True where an installed package is the one that carries the bad firmware; its name goes to *ret. */
static bool has_bad_package(const struct rd_fact *facts, const cJSON *row, const char **ret)
{
	const struct rd_fact *list = rd_fact_get(facts, "runtime.packages");
	const cJSON *package;

	cJSON_ArrayForEach (package, cJSON_GetObjectItemCaseSensitive(row, "packages")) {
		for (size_t i = 0; i < rd_fact_count(list); i++) {
			const struct rd_fact *item = rd_fact_at(list, i);

			if (rd_streq(rd_fact_get_str(item, "name"), rd_json_str(package, "name")) &&
			    rd_streq(rd_fact_get_str(item, "state"), "installed") && rd_json_str(package, "version")[0] &&
			    rd_str_has_prefix(rd_fact_get_str(item, "version"), rd_json_str(package, "version"))) {
				*ret = rd_fact_get_str(item, "name");
				return true;
			}
		}
	}
	return false;
}

/* Distributions name their packages of linux-firmware by its day, which is one for all of them. */
static const char *bad_version(const cJSON *row)
{
	return rd_json_str(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(row, "packages"), 0), "version");
}

/* What runs decides; where the driver does not say, the package from which it would come. */
static void judge_firmware(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const cJSON *row;

	rd_fact_set_bool(gpu, "firmware.known_bad", false, FIRMWARE);
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "firmware", "known_bad")) {
		rd_auto_free char *fact = rd_xasprintf("firmware.%s", rd_json_str(row, "firmware"));
		bool running = rd_fact_is_known(gpu, fact);
		const char *package = "";

		if (!has_text(cJSON_GetObjectItemCaseSensitive(row, "gfx"), rd_fact_get_str(gpu, "gfx")))
			continue;
		/* The upper bits are the interface's version. */
		if (running ? (double)(rd_fact_get_int(gpu, fact) & 0xfff) != number_of(row, "version")
		            : !has_bad_package(ctx->facts, row, &package))
			continue;
		rd_fact_set_bool(gpu, "firmware.known_bad", true, FIRMWARE);
		rd_fact_set_str(gpu, "firmware.known_bad_name", rd_json_str(row, "firmware"), FIRMWARE);
		rd_fact_set_str(gpu, "firmware.known_bad_effect", rd_json_str(row, "effect"), FIRMWARE);
		rd_fact_set_str(gpu, "firmware.good", rd_json_str(row, "good"), FIRMWARE);
		rd_fact_set_str(gpu, "firmware.bad_package_version", bad_version(row), FIRMWARE);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	judge_kernels(ctx);
	judge_window(ctx);
	judge_dkms_kernel(ctx);
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		judge_known_bad_driver(ctx, rd_fact_at_mutable(gpus, i));
		judge_firmware(ctx, rd_fact_at_mutable(gpus, i));
	}
	return 0;
}

const struct rd_probe rd_probe_kernel_support = {
	.name = "kernel/support",
	.layer = RD_LAYER_KERNEL,
	.flags = RD_PROBE_PURE,
	.after = "kernel/packages",
	.needs = (const char *const[]){ "kernel.amdgpu.origin", NULL },
	.summary = "kernel, driver and firmware against what is on record",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].kernel_first", RD_STR, "first kernel of kernel.org whose own amdgpu drives this GPU", KERNELS,
	                  RD_VERSION_KERNEL },
			{ "gpus[].kernel_too_old", RD_BOOL, "the running kernel's own amdgpu does not know this GPU yet",
	                  KERNELS },
			{ "gpus[].driver_known_bad", RD_BOOL, "this build of amdgpu is known to fail with this GPU", DRIVERS },
			{ "gpus[].driver_known_bad_effect", RD_STR, "how it fails", DRIVERS },
			{ "gpus[].driver_fixed", RD_STR, "the driver that mends it", DRIVERS },
			{ "gpus[].firmware.known_bad", RD_BOOL, "its firmware is known to fail", FIRMWARE },
			{ "gpus[].firmware.known_bad_name", RD_STR, "which firmware", FIRMWARE },
			{ "gpus[].firmware.known_bad_effect", RD_STR, "how it fails", FIRMWARE },
			{ "gpus[].firmware.bad_package_version", RD_STR, "version of linux-firmware that carries it",
	                  FIRMWARE },
			{ "gpus[].firmware.good", RD_STR, "what to install in its place", FIRMWARE },
			{ "kernel.amdgpu.driver", RD_STR, "series of AMD's driver to which the module belongs, 30.30", DRIVERS,
	                  RD_VERSION_DOTTED },
			{ "kernel.amdgpu.rocm_max", RD_STR, "newest ROCm that AMD pairs with the module", DRIVERS,
	                  RD_VERSION_ROCM },
			{ "kernel.amdgpu.too_old", RD_BOOL, "ROCm of this host is newer than any that goes with the driver",
	                  DRIVERS },
			{ "kernel.amdgpu.too_old_for", RD_STR, "that ROCm", "runtime.rocm", RD_VERSION_ROCM },
			{ "kernel.amdgpu.too_old_effect", RD_STR, "what comes of it, where that is on record", DRIVERS },
			{ "kernel.amdgpu.dkms.kernel_max", RD_STR, "newest kernel for which the version in DKMS is made",
	                  DRIVERS, RD_VERSION_KERNEL },
			{ "kernel.amdgpu.dkms.kernel_too_new", RD_BOOL,
	                  "the running kernel is newer, and the version in DKMS is not built for it", DRIVERS },
			{ 0 },
		},
	.run = run,
};
