#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common-firmware.h"
#include "common.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MISSING "firmware.missing"

static bool module_names(const struct rd_strv *modinfo, const char *file)
{
	rd_auto_free char *line = rd_xasprintf("firmware=amdgpu/%s", file);

	return rd_strv_has(modinfo, line);
}

/* The folders in which the kernel looks, each file as it is or packed. */
static int is_on_disk(struct rd_sysroot *sr, const char *release, const char *file)
{
	static const char *const suffixes[] = { "", ".zst", ".xz" };
	rd_auto_strv struct rd_strv folders = RD_STRV_INIT;
	rd_auto_free char *own = NULL;

	if (rd_sysroot_read_line(sr, &own, "/sys/module/firmware_class/parameters/path") >= 0 && own[0] == '/')
		rd_strv_push(&folders, own);
	rd_strv_pushf(&folders, "/lib/firmware/updates/%s", release);
	rd_strv_push(&folders, "/lib/firmware/updates");
	rd_strv_pushf(&folders, "/lib/firmware/%s", release);
	rd_strv_push(&folders, "/lib/firmware");
	for (size_t i = 0; i < folders.n; i++) {
		for (size_t j = 0; j < RD_ARRAY_SIZE(suffixes); j++) {
			int r = rd_sysroot_existsf(sr, "%s/amdgpu/%s%s", folders.v[i], file, suffixes[j]);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

/* The row of the table for a gfx: any one of its files is enough. */
static const cJSON *row_of(const struct rd_knowledge *knowledge, const char *gfx)
{
	const cJSON *table = rd_knowledge_table(knowledge, "firmware");
	const cJSON *row;

	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(table, "files")) {
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "gfx"));

		if (name && rd_streq(name, gfx))
			return row;
	}
	return NULL;
}

static void judge_gpu(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct rd_strv *modinfo, const char *release)
{
	const cJSON *row = row_of(ctx->knowledge, rd_fact_get_str(gpu, "gfx"));
	rd_auto_strv struct rd_strv named = RD_STRV_INIT;
	const cJSON *file;

	cJSON_ArrayForEach (file, cJSON_GetObjectItemCaseSensitive(row, "any_of")) {
		const char *name = cJSON_GetStringValue(file);
		int r;

		/* What this module does not ask for belongs to a newer one. */
		if (!name || !module_names(modinfo, name))
			continue;
		r = is_on_disk(ctx->sysroot, release, name);
		if (r < 0) {
			rd_fact_set_unknown(gpu, MISSING, r, "/lib/firmware/amdgpu");
			return;
		}
		if (r > 0)
			return;
		rd_strv_push(&named, name);
	}
	for (size_t i = 0; i < named.n; i++)
		rd_fact_append_str(gpu, MISSING, named.v[i], "/lib/firmware/amdgpu");
}

void kernel_firmware_judge(struct rd_probe_ctx *ctx, const struct rd_strv *modinfo)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");
	rd_auto_free char *release = NULL;

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);

		/* A driver that took the GPU found its firmware, be it in the initramfs; a virtual function's comes from its host. */
		rd_fact_set_list(gpu, MISSING, "/lib/firmware/amdgpu");
		if (rd_fact_get_str(gpu, "driver")[0] || rd_streq(rd_fact_get_str(gpu, "kind"), "vf"))
			continue;
		if (kernel_in_container(ctx))
			rd_fact_set_unknown_why(gpu, MISSING, KERNEL_NOT_THE_HOST, "/lib/firmware/amdgpu");
		else if (modinfo && (release || kernel_release(ctx, &release) >= 0))
			judge_gpu(ctx, gpu, modinfo, release);
	}
}
