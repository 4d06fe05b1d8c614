/* Sums over gpus[] that more than one rule of a host compares with. */

#include <string.h>

#include "rocm-doctor/probe.h"
#include "util/str.h"

/* Chips that AMD sells as Instinct. gfx906 is also the Radeon VII, so the name has to say it. */
static bool is_instinct(const struct rd_fact *gpu)
{
	static const char *const chips[] = { "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950" };
	const char *gfx = rd_fact_get_str(gpu, "gfx");

	for (size_t i = 0; i < RD_ARRAY_SIZE(chips); i++)
		if (rd_streq(gfx, chips[i]))
			return true;
	return strstr(rd_fact_get_str(gpu, "name"), "Instinct") != NULL;
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char source[] = "gpus";
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	int64_t discrete = 0, instinct = 0, usable = 0, largest = 0;
	bool usable_known = true, largest_known = true;

	if (rd_fact_state(gpus) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "host.gpu_counts", "the GPUs are not known", source);
		return 0;
	}
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i);
		bool driven = rd_streq(rd_fact_get_str(gpu, "driver"), "amdgpu");

		instinct += is_instinct(gpu);
		if (rd_streq(rd_fact_get_str(gpu, "kind"), "apu"))
			continue;
		discrete++;
		usable_known &= !driven || !rd_fact_is_unknown(gpu, "render_node.accessible");
		usable += driven && rd_fact_get_bool(gpu, "render_node.accessible");
		largest_known &= !rd_fact_is_unknown(gpu, "vram_bytes");
		if (rd_fact_get_int(gpu, "vram_bytes") > largest)
			largest = rd_fact_get_int(gpu, "vram_bytes");
	}
	rd_fact_set_int(ctx->facts, "host.gpu_counts.discrete", discrete, source);
	rd_fact_set_int(ctx->facts, "host.gpu_counts.instinct", instinct, source);
	if (usable_known)
		rd_fact_set_int(ctx->facts, "host.gpu_counts.usable", usable, source);
	else
		rd_fact_set_unknown_why(ctx->facts, "host.gpu_counts.usable", "who may open the nodes is not known", source);
	if (largest_known)
		rd_fact_set_int(ctx->facts, "host.gpu_counts.largest_vram_bytes", largest, source);
	else
		rd_fact_set_unknown_why(ctx->facts, "host.gpu_counts.largest_vram_bytes", "a GPU's memory is not known",
		                        source);
	return 0;
}

const struct rd_probe rd_probe_host_counts = {
	.name = "host/counts",
	.layer = RD_LAYER_HOST,
	.flags = RD_PROBE_PURE,
	.summary = "sums over the GPUs",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.gpu_counts.discrete", RD_INT, "AMD GPUs that are no part of a processor", "gpus" },
			{ "host.gpu_counts.instinct", RD_INT, "those that AMD sells as Instinct", "gpus" },
			{ "host.gpu_counts.usable", RD_INT, "discrete ones that amdgpu drives and the user may open", "gpus" },
			{ "host.gpu_counts.largest_vram_bytes", RD_INT, "memory of the largest discrete one", "gpus" },
			{ 0 },
		},
	.run = run,
};
