/* What concerns GPUs together: hives of xGMI, and partition modes. */

#include <string.h>

#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

static bool joined(const struct rd_fact *gpu, const char *to)
{
	const struct rd_fact *links = rd_fact_get(gpu, "links");

	for (size_t i = 0; i < rd_fact_count(links); i++) {
		const struct rd_fact *link = rd_fact_at(links, i);

		if (rd_streq(rd_fact_get_str(link, "type"), "xgmi") && rd_streq(rd_fact_get_str(link, "to"), to))
			return true;
	}
	return false;
}

static struct rd_fact *hive_of(struct rd_probe_ctx *ctx, const char *id, const char *source)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "hives"), *hive;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		hive = rd_fact_at_mutable(list, i);
		if (rd_streq(rd_fact_get_str(hive, "id"), id))
			return hive;
	}
	hive = rd_fact_append(ctx->facts, "hives", source);
	rd_fact_set_str(hive, "id", id, source);
	rd_fact_set_bool(hive, "complete", true, GPU_KFD_NODES "/*/io_links");
	rd_fact_set_list(hive, "missing", GPU_KFD_NODES "/*/io_links");
	return hive;
}

/* Each member's links to the members before it, both ways. */
static void join_hive(struct rd_probe_ctx *ctx, struct rd_fact *hive, const struct rd_fact *gpu)
{
	static const char source[] = GPU_KFD_NODES "/*/io_links";
	const struct rd_fact *members = rd_fact_get(hive, "gpus");

	for (size_t i = 0; i < rd_fact_count(members); i++) {
		const struct rd_fact *other = gpu_find(ctx, rd_fact_str(rd_fact_at(members, i)));
		rd_auto_free char *pair = rd_xasprintf("%s - %s", gpu_address(other), gpu_address(gpu));

		if (joined(gpu, gpu_address(other)) && joined(other, gpu_address(gpu)))
			continue;
		if (rd_fact_is_unknown(gpu, "links") || rd_fact_is_unknown(other, "links")) {
			if (rd_fact_get_bool(hive, "complete"))
				rd_fact_set_unknown_why(hive, "complete", "the links of its GPUs could not be read", source);
			continue;
		}
		rd_fact_set_bool(hive, "complete", false, source);
		rd_fact_append_str(hive, "missing", pair, source);
	}
	rd_fact_append_str(hive, "gpus", gpu_address(gpu), source);
}

static void set_hives(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpu;

	rd_fact_set_list(ctx->facts, "hives", GPU_KFD_NODES);
	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		const char *id = rd_fact_get_str(gpu, "kfd.hive_id");

		if (rd_fact_is_unknown(gpu, "kfd.hive_id")) {
			rd_fact_set_unknown_why(ctx->facts, "hives", "not every GPU's node could be read", GPU_KFD_NODES);
			return;
		}
		if (*id)
			join_hive(ctx, hive_of(ctx, id, rd_fact_source(rd_fact_get(gpu, "kfd.hive_id"))), gpu);
	}
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "hives"), "id");
}

/* ---------------------------------------------------------------- partition modes */

/* Collects the modes there are; false where one could not be read. */
static bool modes(struct rd_probe_ctx *ctx, const char *fact, struct rd_strv *ret)
{
	struct rd_fact *gpu;
	bool known = true;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		const char *mode = rd_fact_get_str(gpu, fact);

		known &= !rd_fact_is_unknown(gpu, fact);
		if (*mode)
			rd_strv_push_unique(ret, mode);
	}
	rd_strv_sort(ret);
	return known;
}

static void set_modes(struct rd_probe_ctx *ctx, const char *path, const struct rd_strv *list)
{
	rd_fact_set_list(ctx->facts, path, "modes of all GPUs");
	for (size_t i = 0; i < list->n; i++)
		rd_fact_append_str(ctx->facts, path, list->v[i], "modes of all GPUs");
}

static void set_partitioning(struct rd_probe_ctx *ctx)
{
	static const char source[] = "modes of all GPUs";
	rd_auto_strv struct rd_strv compute = RD_STRV_INIT, memory = RD_STRV_INIT;
	bool known = modes(ctx, "partition.compute", &compute);
	bool mixed, split;

	known &= modes(ctx, "partition.memory", &memory);
	mixed = compute.n > 1 || memory.n > 1;
	split = (compute.n && !rd_streq(compute.v[0], "SPX")) || compute.n > 1 ||
	        (memory.n && !rd_streq(memory.v[0], "NPS1")) || memory.n > 1;
	set_modes(ctx, "partitioning.compute_modes", &compute);
	set_modes(ctx, "partitioning.memory_modes", &memory);
	if (known || mixed)
		rd_fact_set_bool(ctx->facts, "partitioning.mixed", mixed, source);
	else
		rd_fact_set_unknown_why(ctx->facts, "partitioning.mixed", "not every GPU's mode could be read", source);
	if (known || split)
		rd_fact_set_bool(ctx->facts, "partitioning.split", split, source);
	else
		rd_fact_set_unknown_why(ctx->facts, "partitioning.split", "not every GPU's mode could be read", source);
}

/* The makers of GPUs beside AMD; what draws the console of a server or a guest is no GPU to compute with. */
static void set_other_vendors(struct rd_probe_ctx *ctx)
{
	static const char *const makers[] = { "Intel", "NVIDIA", "Moore Threads" };
	const struct rd_fact *list = rd_fact_get(ctx->facts, "other_gpus");

	if (rd_fact_is_unknown(ctx->facts, "other_gpus")) {
		rd_fact_set_unknown_why(ctx->facts, "other_gpu_vendors", rd_fact_reason(list), GPU_PCI_DEVICES);
		return;
	}
	rd_fact_set_list(ctx->facts, "other_gpu_vendors", GPU_PCI_DEVICES);
	for (size_t i = 0; i < RD_ARRAY_SIZE(makers); i++) {
		for (size_t k = 0; k < rd_fact_count(list); k++) {
			if (!rd_streq(rd_fact_get_str(rd_fact_at(list, k), "vendor"), makers[i]))
				continue;
			rd_fact_append_str(ctx->facts, "other_gpu_vendors", makers[i], GPU_PCI_DEVICES);
			break;
		}
	}
}

/* ---------------------------------------------------------------- guests */

static bool is_card_that_computes(const struct rd_fact *gpu)
{
	return rd_streq(rd_fact_get_str(gpu, "kind"), "dgpu") && rd_streq(rd_fact_get_str(gpu, "driver"), "amdgpu") &&
	       rd_fact_get_bool(gpu, "kfd.present");
}

/* One of several alike may have been left there; another model beside a card that computes was chosen by its id. */
static bool is_kept_for_guests(struct rd_probe_ctx *ctx, const struct rd_fact *gpu)
{
	const char *device = rd_fact_get_str(gpu, "device_id"), *driver = rd_fact_get_str(gpu, "driver");
	bool computing = false;
	struct rd_fact *other;

	if (!rd_streq(driver, "vfio-pci") && !rd_streq(driver, "pci-stub"))
		return false;
	for (size_t i = 0; (other = gpu_at(ctx, i)); i++) {
		if (!is_card_that_computes(other))
			continue;
		if (rd_streq(rd_fact_get_str(other, "device_id"), device))
			return false;
		computing = true;
	}
	return computing;
}

static void set_kept_for_guests(struct rd_probe_ctx *ctx)
{
	static const char source[] = "gpus[].driver";
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++)
		if (rd_fact_is_unknown(gpu, "driver"))
			rd_fact_set_unknown_why(gpu, "kept_for_guests", "its driver is not known", source);
		else
			rd_fact_set_bool(gpu, "kept_for_guests", is_kept_for_guests(ctx, gpu), source);
}

static int run(struct rd_probe_ctx *ctx)
{
	set_other_vendors(ctx);
	set_kept_for_guests(ctx);
	if (rd_fact_is_unknown(ctx->facts, "gpus"))
		return 0;
	set_hives(ctx);
	set_partitioning(ctx);
	return 0;
}

const struct rd_probe rd_probe_hardware_groups = {
	.name = "hardware/groups",
	.layer = RD_LAYER_HARDWARE,
	.flags = RD_PROBE_PURE,
	.needs = (const char *const[]){ "gpus", NULL },
	.summary = "hives of GPUs and partition modes",
	.facts =
		(const struct rd_fact_decl[]){
			{ "other_gpu_vendors[]", RD_STRS, "makers of GPUs for computing beside AMD", "other_gpus[].vendor_id" },
			{ "gpus[].kept_for_guests", RD_BOOL,
	                  "vfio-pci or pci-stub holds it, and a card of another model computes on this host", "gpus[].driver" },
			{ "hives[]", RD_LIST, "GPUs joined by xGMI, by id", GPU_KFD_NODES "/*/properties" },
			{ "hives[].id", RD_STR, "KFD's id of the hive", GPU_KFD_NODES "/*/properties" },
			{ "hives[].gpus[]", RD_STRS, "PCI addresses of its GPUs", GPU_KFD_NODES "/*/properties" },
			{ "hives[].complete", RD_BOOL, "each of its GPUs has an xGMI link to each other",
	                  GPU_KFD_NODES "/*/io_links" },
			{ "hives[].missing[]", RD_STRS, "pairs without a link", GPU_KFD_NODES "/*/io_links" },
			{ "partitioning.compute_modes[]", RD_STRS, "compute modes of all GPUs, each once",
	                  "gpus[].partition.compute" },
			{ "partitioning.memory_modes[]", RD_STRS, "memory modes of all GPUs, each once",
	                  "gpus[].partition.memory" },
			{ "partitioning.mixed", RD_BOOL, "GPUs are in unlike modes", "gpus[].partition" },
			{ "partitioning.split", RD_BOOL, "a GPU is in another mode than SPX and NPS1", "gpus[].partition" },
			{ 0 },
		},
	.run = run,
};
