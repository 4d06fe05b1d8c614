/* The DRM nodes of each GPU, its memory and its partition modes, as amdgpu states them. */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

#include "common-gpu.h"

static void set_nodes(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = gpu_path(gpu, "drm");
	int r = dir ? rd_sysroot_list(ctx->sysroot, &names, dir) : -ENODATA;

	if (r < 0) {
		gpu_fact_error(gpu, "drm.card", r, "drm");
		if (!rd_fact_get(gpu, "drm.render"))
			gpu_fact_error(gpu, "drm.render", r, "drm");
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		if (rd_str_has_prefix(names.v[i], "card") && !rd_fact_get(gpu, "drm.card"))
			rd_fact_set_str(gpu, "drm.card", names.v[i], dir);
		else if (rd_str_has_prefix(names.v[i], "renderD") && !rd_fact_is_known(gpu, "drm.render"))
			rd_fact_set_str(gpu, "drm.render", names.v[i], dir);
	}
}

/* What KFD gives to the partitions together, for a kernel that has no mem_info files. An APU's bank is its GTT. */
static bool vram_from_kfd(struct rd_fact *gpu)
{
	const struct rd_fact *list = rd_fact_get(gpu, "partitions");
	int64_t sum = 0;

	if (!rd_fact_is_known(gpu, "kind") || rd_streq(rd_fact_get_str(gpu, "kind"), "apu"))
		return false;
	for (size_t i = 0; i < rd_fact_count(list); i++)
		sum += rd_fact_get_int(rd_fact_at(list, i), "vram_bytes");
	if (sum)
		rd_fact_set_int(gpu, "vram_bytes", sum, GPU_KFD_NODES "/*/mem_banks");
	return sum > 0;
}

static void set_memory(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	gpu_fact_int(ctx, gpu, "vram_bytes", "mem_info_vram_total");
	gpu_fact_int(ctx, gpu, "visible_vram_bytes", "mem_info_vis_vram_total");
	gpu_fact_int(ctx, gpu, "gtt_bytes", "mem_info_gtt_total");
	gpu_fact_int(ctx, gpu, "vram_used_bytes", "mem_info_vram_used");
	/* Every GPU has memory: without the driver's word its size is not nothing, but not known. */
	if (!rd_fact_is_known(gpu, "vram_bytes") && !vram_from_kfd(gpu) && !rd_fact_is_unknown(gpu, "vram_bytes"))
		rd_fact_set_unknown_why(gpu, "vram_bytes", "no driver states it", "mem_info_vram_total");
}

/* Memory that a model can use: an integrated GPU uses that of the host beside its carve-out. */
static void set_usable(struct rd_fact *gpu)
{
	bool apu = rd_streq(rd_fact_get_str(gpu, "kind"), "apu");
	int64_t bytes = rd_fact_get_int(gpu, "vram_bytes") + (apu ? rd_fact_get_int(gpu, "gtt_bytes") : 0);

	if (!rd_fact_is_known(gpu, "vram_bytes") || !rd_fact_is_known(gpu, "kind"))
		rd_fact_set_unknown_why(gpu, "usable_memory_bytes", "the size of its memory is not known", "gpus[].vram_bytes");
	else
		rd_fact_set_int(gpu, "usable_memory_bytes", bytes, "gpus[].vram_bytes, and gtt_bytes of an APU");
}

/* Without the driver's word (older kernels, virtual functions): as many nodes as KFD has for a GPU of several dies. */
static void set_mode_from_kfd(struct rd_fact *gpu)
{
	static const char *const modes[] = { NULL, "SPX", "DPX", "TPX", "QPX" };
	size_t n = rd_fact_count(rd_fact_get(gpu, "partitions"));
	bool whole = rd_fact_get_int(gpu, "kfd.num_xcc") > 1;

	if (rd_fact_state(rd_fact_get(gpu, "partition.compute")) != RD_FACT_ABSENT || (n <= 1 && !whole))
		return;
	rd_fact_set_str(gpu, "partition.compute", whole && n < RD_ARRAY_SIZE(modes) ? modes[n] : "CPX", GPU_KFD_NODES);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		set_nodes(ctx, gpu);
		set_memory(ctx, gpu);
		set_usable(gpu);
		gpu_fact_str(ctx, gpu, "partition.compute", "current_compute_partition");
		gpu_fact_str(ctx, gpu, "partition.memory", "current_memory_partition");
		set_mode_from_kfd(gpu);
	}
	return 0;
}

#define AT GPU_PCI_DEVICES "/*/"

const struct rd_probe rd_probe_hardware_drm = {
	.name = "hardware/drm",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/kfd",
	.summary = "DRM nodes, memory and partition modes of each GPU",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].drm.card", RD_STR, "primary node, as \"card0\"", AT "drm" },
			{ "gpus[].drm.render", RD_STR, "render node of the (first) partition, as \"renderD128\"", AT "drm" },
			{ "gpus[].vram_bytes", RD_INT, "memory of its own; of an APU, the carve-out",
	                  AT "mem_info_vram_total" },
			{ "gpus[].visible_vram_bytes", RD_INT, "the part of it that the processor sees",
	                  AT "mem_info_vis_vram_total" },
			{ "gpus[].vram_used_bytes", RD_INT, "the part of it that is in use", AT "mem_info_vram_used" },
			{ "gpus[].gtt_bytes", RD_INT, "memory of the host that it may map", AT "mem_info_gtt_total" },
			{ "gpus[].usable_memory_bytes", RD_INT, "memory that a model can use: its own, and an APU's GTT",
	                  "vram_bytes, gtt_bytes" },
			{ "gpus[].partition.compute", RD_STR,
	                  "SPX, DPX, TPX, QPX or CPX; empty for GPUs that have no such modes", AT "current_compute_partition" },
			{ "gpus[].partition.memory", RD_STR, "NPS1, NPS2, NPS4 or NPS8; empty for GPUs that have no such modes",
	                  AT "current_memory_partition" },
			{ 0 },
		},
	.run = run,
};
