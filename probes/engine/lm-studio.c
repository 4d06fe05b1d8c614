/*
 * LM Studio: its runtimes for AMD bring ROCm's libraries in a folder of their own below the home, and which GPUs they serve is
 * in the kernels of the rocBLAS there.
 *
 *   ~/.lmstudio/extensions/backends/vendor/linux-llama-rocm-vendor-vN/{librocblas.so*, rocblas/library/}
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/survey.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

#define LIST "engines.lm_studio"

static const char *const homes[] = { ".lmstudio", ".cache/lm-studio" };
static const char vendor[] = "extensions/backends/vendor/linux-llama-rocm-vendor-v*/librocblas.so*";

/* The folder of the newest: "...-v10" comes after "...-v9". Caller frees; NULL for none. */
static char *newest(const struct rd_strv *found)
{
	rd_auto_free char *best = NULL;

	for (size_t i = 0; i < found->n; i++) {
		rd_auto_free char *folder = rd_xstrndup(found->v[i], (size_t)(strrchr(found->v[i], '/') - found->v[i]));

		if (best && rd_version_compare(strrchr(folder, '-') + 2, strrchr(best, '-') + 2, RD_VERSION_DOTTED) <= 0)
			continue;
		free(best);
		best = rd_steal(folder);
	}
	return rd_steal(best);
}

/* The gfx of the GPUs that it has no kernels for. */
static void set_missing(struct rd_probe_ctx *ctx, struct rd_fact *item)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus"), *missing = rd_fact_get(item, "rocblas.missing_gpus");
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;

	if (rd_fact_state(missing) != RD_FACT_KNOWN)
		return;
	for (size_t i = 0; i < rd_fact_count(missing); i++)
		for (size_t k = 0; k < rd_fact_count(gpus); k++) {
			const char *gfx = rd_fact_get_str(rd_fact_at(gpus, k), "gfx");

			if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, k), "pci.address"),
			             rd_fact_str(rd_fact_at(missing, i))) &&
			    *gfx && !rd_strv_has(&seen, gfx)) {
				rd_strv_push(&seen, gfx);
				rd_fact_append_str(item, "missing_gfx", gfx, rd_fact_source(missing));
			}
		}
}

/* Whether it leaves out all GPUs that programs would use. */
static void set_serves_none(struct rd_fact *item, const struct rd_gpu_agent *agents, size_t n)
{
	const struct rd_fact *missing = rd_fact_get(item, "rocblas.missing_gpus");
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += !agents[i].hidden && !agents[i].spare;
	if (rd_fact_state(missing) == RD_FACT_KNOWN)
		rd_fact_set_bool(item, "serves_none", rd_fact_count(missing) && rd_fact_count(missing) >= used,
		                 rd_fact_source(missing));
	else
		rd_fact_set_unknown_why(item, "serves_none", "its kernels are not known", rd_fact_source(missing));
}

static int take(struct rd_probe_ctx *ctx, const char *home)
{
	rd_auto_free char *pattern = rd_xasprintf("%s/%s", home, vendor), *folder = NULL, *library = NULL;
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	struct rd_gpu_agent *agents;
	struct rd_fact *item;
	int r = rd_sysroot_glob(ctx->sysroot, &found, pattern);
	size_t n;

	folder = newest(&found);
	if (!folder)
		return r == -ENOENT ? 0 : r;
	item = rd_fact_append(ctx->facts, LIST, folder);
	rd_fact_set_str(item, "folder", folder, folder);
	library = rd_xasprintf("%s/librocblas.so", folder);
	n = rd_agents_list(ctx->facts, ctx->sysroot, &agents);
	rd_survey_set_data(ctx->sysroot, item, "rocblas.", RD_LIBDATA_ROCBLAS, library, agents, n);
	set_missing(ctx, item);
	set_serves_none(item, agents, n);
	free(agents);
	return 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	const char *home = NULL;
	int error = 0;
	int r = rd_sysroot_getenv(ctx->sysroot, &home, "HOME");

	if (r < 0)
		return r;
	for (size_t i = 0; i < RD_ARRAY_SIZE(homes) && r == 1 && *home == '/'; i++) {
		rd_auto_free char *place = rd_xasprintf("%s/%s", home, homes[i]);
		int one = rd_sysroot_exists(ctx->sysroot, place);

		if (one > 0)
			one = take(ctx, place);
		if (one < 0 && !error)
			error = one;
	}
	/* Another user's, where the session is root's or a service's. */
	if (!rd_fact_count(rd_fact_get(ctx->facts, LIST)) && !error)
		error = take(ctx, "/home/*/.lmstudio");
	return error;
}

const struct rd_probe rd_probe_engine_lm_studio = {
	.name = "engine/lm-studio",
	.layer = RD_LAYER_ENGINE,
	.summary = "LM Studio's runtime for AMD GPUs",
	.facts =
		(const struct rd_fact_decl[]){
			{ LIST "[]", RD_LIST, "LM Studio's runtimes for AMD GPUs", vendor },
			{ LIST "[].folder", RD_STR, "folder of its ROCm libraries", vendor },
			{ LIST "[].serves_none", RD_BOOL, "it has kernels for none of the GPUs", "rocblas/library" },
			{ LIST "[].missing_gfx[]", RD_STRS, "gfx of this host that it has no kernels for", "rocblas/library" },
			RD_SURVEY_DATA_FACTS(LIST "[].rocblas.", "rocBLAS"),
			{ 0 },
		},
	.run = run,
};
