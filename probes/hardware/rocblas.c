/* Kernels for a GPU that AMD's packages have dropped: people put them back by hand, and files on disk win over any list. */

#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/json.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

static const char *const folders[] = {
	"/opt/rocm/lib/rocblas/library", "/opt/rocm-*/lib/rocblas/library", "/opt/rocm/*/lib/rocblas/library",
	"/usr/lib/rocblas/*/library",    "/usr/lib/*/rocblas/*/library",    "/usr/lib64/rocblas/library",
};

/* "Kernels.so-000-gfx906.hsaco", "TensileLibrary_Type_..._gfx906.co": the name ends there, or goes on with "-" or ".". */
static bool is_for(const char *file, const char *gfx)
{
	const char *at = strstr(file, gfx);

	return at && !strchr("0123456789abcdef", at[strlen(gfx)] ? at[strlen(gfx)] : '.');
}

/* 1 where a file is there, 0 where none is, or why a folder could not be read. */
static int look(struct rd_probe_ctx *ctx, const char *gfx, char **ret_source)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	int result = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		int r = rd_sysroot_glob(ctx->sysroot, &dirs, folders[i]);

		if (r < 0 && r != -ENOENT)
			result = r;
	}
	for (size_t i = 0; i < dirs.n; i++) {
		rd_auto_strv struct rd_strv files = RD_STRV_INIT;
		int r = rd_sysroot_list(ctx->sysroot, &files, dirs.v[i]);

		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			result = r;
		for (size_t k = 0; k < files.n; k++) {
			if (!is_for(files.v[k], gfx))
				continue;
			*ret_source = rd_xasprintf("%s/%s", dirs.v[i], files.v[k]);
			return 1;
		}
	}
	return result;
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		const char *gfx = rd_fact_get_str(gpu, "gfx");
		rd_auto_free char *source = NULL;
		int r;

		/* For all others nobody needs to know. */
		if (!*rd_json_str(gpu_table_gfx(ctx->knowledge, gfx), "last_rocm"))
			continue;
		r = look(ctx, gfx, &source);
		if (r < 0)
			rd_fact_set_unknown(gpu, "support.rocblas_files", r, folders[0]);
		else
			rd_fact_set_bool(gpu, "support.rocblas_files", r == 1, source ? source : folders[0]);
	}
	return 0;
}

const struct rd_probe rd_probe_hardware_rocblas = {
	.name = "hardware/rocblas",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/kfd",
	.summary = "rocBLAS kernels for GPUs that AMD's packages have dropped",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].support.rocblas_files", RD_BOOL,
	                  "the host's rocBLAS has files for this gfx; looked for only where AMD's packages have dropped it",
	                  "/opt/rocm*/lib/rocblas/library" },
			{ 0 },
		},
	.run = run,
};
