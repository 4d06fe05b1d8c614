/* What KFD says of each GPU: its node, processor, partitions and links. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

static char *properties_of(const struct gpu_node *node)
{
	return rd_xasprintf(GPU_KFD_NODES "/%u/properties", node->number);
}

/* ---------------------------------------------------------------- the processor's name */

static bool gfx_from_kfd(struct rd_fact *gpu, const struct gpu_node *node)
{
	rd_auto_free char *source = NULL;
	char name[16];

	if (!node || !node->has_gfx_version)
		return false;
	source = properties_of(node);
	rd_fact_set_int(gpu, "gfx_target_version", (int64_t)node->gfx_version, source);
	if (!gpu_gfx_name(node->gfx_version, name))
		return false;
	rd_fact_set_str(gpu, "gfx", name, source);
	rd_fact_set_str(gpu, "gfx_source", "kfd", source);
	return true;
}

/* The version of the graphics core, which amdgpu read from the card itself. */
static bool gfx_from_discovery(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	static const char dir[] = "ip_discovery/die/0/GC/0";
	static const char *const parts[] = { "major", "minor", "revision" };
	rd_auto_free char *source = gpu_path(gpu, dir);
	rd_auto_free char *version = NULL;
	const struct cJSON *row;
	uint64_t v[3];

	for (size_t i = 0; i < RD_ARRAY_SIZE(parts); i++) {
		rd_auto_free char *attribute = rd_xasprintf("%s/%s", dir, parts[i]);

		if (gpu_u64(ctx, gpu, &v[i], attribute) < 0 || v[i] > 255)
			return false;
	}
	version = rd_xasprintf("%u.%u.%u", (unsigned)v[0], (unsigned)v[1], (unsigned)v[2]);
	rd_fact_set_str(gpu, "gc_version", version, source);
	row = gpu_table_gfx_by_gc(ctx->knowledge, version);
	if (!row || rd_fact_get(gpu, "gfx"))
		return false;
	rd_fact_set_str(gpu, "gfx", rd_json_str(row, "gfx"), source);
	rd_fact_set_str(gpu, "gfx_source", "ip_discovery", source);
	return true;
}

static bool gfx_from_table(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	unsigned id = gpu_id_of(rd_fact_get_str(gpu, "device_id"));
	const struct cJSON *row = gpu_table_device(ctx->knowledge, id);

	if (!row)
		row = gpu_table_legacy(ctx->knowledge, id);
	if (!row)
		return false;
	rd_fact_set_str(gpu, "gfx", rd_json_str(row, "gfx"), "table gpus");
	rd_fact_set_str(gpu, "gfx_source", "table", "table gpus");
	return true;
}

static void set_gfx(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct gpu_node *node)
{
	bool known = gfx_from_kfd(gpu, node);
	const char *family;

	known |= gfx_from_discovery(ctx, gpu);
	if (!known && !gfx_from_table(ctx, gpu)) {
		/* A chip from before GCN has no such name; one that is newer than the tables has one that we cannot tell. */
		if (gpu_table_before_gcn(ctx->knowledge, gpu_id_of(rd_fact_get_str(gpu, "device_id"))))
			return;
		rd_fact_set_unknown_why(gpu, "gfx", "neither KFD nor the driver says, and the device id is in no table",
		                        "table gpus");
		rd_fact_set_unknown_why(gpu, "family", "the processor's name is not known", "table gfx");
		return;
	}
	family = rd_json_str(gpu_table_gfx(ctx->knowledge, rd_fact_get_str(gpu, "gfx")), "architecture");
	if (*family)
		rd_fact_set_str(gpu, "family", family, "table gfx");
}

/* ---------------------------------------------------------------- nodes and partitions */

static uint64_t bank_bytes(struct rd_probe_ctx *ctx, const struct gpu_node *node)
{
	rd_auto_strv struct rd_strv banks = RD_STRV_INIT;
	uint64_t sum = 0;

	if (rd_sysroot_listf(ctx->sysroot, &banks, GPU_KFD_NODES "/%u/mem_banks", node->number) < 0)
		return 0;
	for (size_t i = 0; i < banks.n; i++) {
		rd_auto_free char *text = NULL;
		uint64_t heap = 0, size = 0;

		if (rd_sysroot_readf(ctx->sysroot, &text, GPU_KFD_NODES "/%u/mem_banks/%s/properties", node->number,
		                     banks.v[i]) < 0)
			continue;
		/* 1: frame buffer that the CPU sees, 2: that it does not see. */
		if (gpu_property(text, "heap_type", &heap) && (heap == 1 || heap == 2) &&
		    gpu_property(text, "size_in_bytes", &size) && size < (uint64_t)1 << 50)
			sum += size;
	}
	return sum;
}

static void set_render(struct rd_fact *at, const char *path, const struct gpu_node *node, const char *source)
{
	rd_auto_free char *name = NULL;

	if (node->render_minor < 128 || node->render_minor > 0xfffff)
		return;
	name = rd_xasprintf("renderD%u", (unsigned)node->render_minor);
	rd_fact_set_str(at, path, name, source);
}

static void add_partition(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct gpu_node *node)
{
	rd_auto_free char *source = properties_of(node);
	rd_auto_free char *banks = rd_xasprintf(GPU_KFD_NODES "/%u/mem_banks", node->number);
	struct rd_fact *item = rd_fact_append(gpu, "partitions", source);
	uint64_t bytes = bank_bytes(ctx, node);

	rd_fact_set_int(item, "kfd_node", node->number, source);
	rd_fact_set_int(item, "number", node->partition, source);
	rd_fact_set_int(item, "cu_count", (int64_t)node->cu_count, source);
	rd_fact_set_int(item, "num_xcc", (int64_t)node->num_xcc, source);
	if (node->has_gpu_id)
		rd_fact_set_int(item, "gpu_id", (int64_t)node->gpu_id, source);
	set_render(item, "render", node, source);
	/* An integrated GPU's bank is as large as its GTT, not its memory of its own. */
	if (bytes)
		rd_fact_set_int(item, "vram_bytes", (int64_t)bytes, banks);
}

static void set_node(struct rd_fact *gpu, const struct gpu_node *node)
{
	rd_auto_free char *source = properties_of(node);
	rd_auto_free char *hive = rd_xasprintf("0x%016llx", (unsigned long long)node->hive_id);

	rd_fact_set_bool(gpu, "kfd.present", true, source);
	rd_fact_set_int(gpu, "kfd.node", node->number, source);
	if (node->has_gpu_id)
		rd_fact_set_int(gpu, "kfd.gpu_id", (int64_t)node->gpu_id, source);
	rd_fact_set_int(gpu, "kfd.cu_count", (int64_t)node->cu_count, source);
	rd_fact_set_int(gpu, "kfd.num_xcc", (int64_t)node->num_xcc, source);
	rd_fact_set_int(gpu, "kfd.simd_count", (int64_t)node->simd_count, source);
	rd_fact_set_int(gpu, "kfd.mec_firmware", (int64_t)node->fw_version, source);
	rd_fact_set_bool(gpu, "kfd.sram_ecc", node->capability >> 26 & 1, source);
	rd_fact_set_bool(gpu, "kfd.svm", node->capability >> 27 & 1, source);
	if (node->hive_id)
		rd_fact_set_str(gpu, "kfd.hive_id", hive, source);
	if (node->unique_id) {
		rd_auto_free char *uuid = rd_xasprintf("GPU-%016llx", (unsigned long long)node->unique_id);

		rd_fact_set_str(gpu, "kfd.uuid", uuid, source);
	}
	set_render(gpu, "drm.render", node, source);
	/* One node for processor and GPU: how KFD shows the oldest APUs. */
	if (node->cpu_cores && rd_fact_is_unknown(gpu, "kind"))
		rd_fact_set_str(gpu, "kind", "apu", source);
}

/* ---------------------------------------------------------------- links */

static const char *link_type(uint64_t type)
{
	switch (type) {
	case 1:
		return "hypertransport";
	case 2:
		return "pcie";
	case 5:
		return "qpi";
	case 9:
		return "infiniband";
	case 11:
		return "xgmi";
	}
	return "other";
}

static struct rd_fact *find_link(struct rd_fact *gpu, const char *to, const char *type)
{
	struct rd_fact *list = rd_fact_get_mutable(gpu, "links");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *link = rd_fact_at_mutable(list, i);

		if (rd_streq(rd_fact_get_str(link, "to"), to) && rd_streq(rd_fact_get_str(link, "type"), type))
			return link;
	}
	return NULL;
}

/* To the partitions of one GPU there are many links: the nearest counts. */
static void add_link(struct rd_fact *gpu, const struct gpu_nodes *nodes, const char *text, const char *source)
{
	uint64_t type = 0, to = 0, weight = 0;
	rd_auto_free char *cpu = NULL;
	const char *end = NULL;
	struct rd_fact *link;

	if (!gpu_property(text, "type", &type) || !gpu_property(text, "node_to", &to))
		return;
	gpu_property(text, "weight", &weight);
	for (size_t i = 0; i < nodes->n; i++) {
		if (nodes->v[i].number == to)
			end = nodes->v[i].address;
	}
	if (!end)
		end = cpu = rd_xasprintf("node%u", (unsigned)(to & 0xffff));
	if (rd_streq(end, gpu_address(gpu)))
		return;
	link = find_link(gpu, end, link_type(type));
	if (link && rd_fact_get_int(link, "weight") <= (int64_t)weight)
		return;
	if (!link) {
		link = rd_fact_append(gpu, "links", source);
		rd_fact_set_str(link, "to", end, source);
		rd_fact_set_str(link, "type", link_type(type), source);
	}
	rd_fact_set_int(link, "weight", (int64_t)(weight & 0xffffffff), source);
}

static int read_links(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct gpu_nodes *nodes, unsigned number,
                      const char *kind, size_t *seen)
{
	rd_auto_free char *dir = rd_xasprintf(GPU_KFD_NODES "/%u/%s", number, kind);
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &names, dir);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < names.n; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s/properties", dir, names.v[i]);
		rd_auto_free char *text = NULL;

		r = rd_sysroot_read(ctx->sysroot, &text, path);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		++*seen;
		add_link(gpu, nodes, text, path);
	}
	return 0;
}

/* Those of the first partition: the others have the same. */
static void set_links(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct gpu_nodes *nodes, const struct gpu_node *node)
{
	rd_auto_free char *source = rd_xasprintf(GPU_KFD_NODES "/%u/io_links", node->number);
	size_t seen = 0;
	int r;

	rd_fact_set_list(gpu, "links", source);
	r = read_links(ctx, gpu, nodes, node->number, "io_links", &seen);
	if (r == 0)
		r = read_links(ctx, gpu, nodes, node->number, "p2p_links", &seen);
	if (r < 0)
		rd_fact_set_unknown(gpu, "links", r, source);
	else if (!seen) /* every GPU has at least one, to a processor */
		rd_fact_set_unknown_why(gpu, "links", "sysfs does not show the links", source);
	else
		rd_fact_sort(rd_fact_get_mutable(gpu, "links"), "to");
}

/* ---------------------------------------------------------------- */

/* A GPU without a node: KFD left it out, or a device cgroup hides the node. */
static void set_without_node(struct rd_fact *gpu, const struct gpu_nodes *nodes)
{
	static const char *const facts[] = { "kfd.present", "kfd.node",          "kfd.gpu_id",       "kfd.cu_count",
		                             "kfd.num_xcc", "kfd.simd_count",    "kfd.mec_firmware", "kfd.sram_ecc",
		                             "kfd.svm",     "kfd.hive_id",       "kfd.uuid",         "links",
		                             "partitions",  "gfx_target_version" };

	if (!nodes->hidden) {
		rd_fact_set_bool(gpu, "kfd.present", false, GPU_KFD_NODES);
		return;
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(facts); i++)
		rd_fact_set_unknown(gpu, facts[i], nodes->error, GPU_KFD_NODES);
}

static void set_gpu(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct gpu_nodes *nodes)
{
	const struct gpu_node *first = NULL;

	for (size_t i = 0; i < nodes->n; i++) {
		if (!rd_streq(nodes->v[i].address, gpu_address(gpu)))
			continue;
		if (!first)
			first = &nodes->v[i];
		add_partition(ctx, gpu, &nodes->v[i]);
	}
	if (first) {
		set_node(gpu, first);
		set_links(ctx, gpu, nodes, first);
	} else {
		set_without_node(gpu, nodes);
	}
	set_gfx(ctx, gpu, first);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct gpu_nodes nodes = { 0 };
	struct rd_fact *gpu;
	int r = gpu_nodes_read(ctx, &nodes);

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		if (r < 0)
			set_gfx(ctx, gpu, NULL);
		else
			set_gpu(ctx, gpu, &nodes);
	}
	gpu_nodes_clear(&nodes);
	return r;
}

#define NODE GPU_KFD_NODES "/*/properties"

const struct rd_probe rd_probe_hardware_kfd = {
	.name = "hardware/kfd",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/gpus",
	.summary = "processor, partitions and links of each GPU",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].gfx", RD_STR, "LLVM's name of the processor, as \"gfx942\"; empty for chips that have none",
	                  NODE "; ip_discovery; table gpus" },
			{ "gpus[].gfx_source", RD_STR, "who says so: kfd, ip_discovery or table", "the three" },
			{ "gpus[].gfx_target_version", RD_INT, "the same in KFD's decimal form, 90402", NODE },
			{ "gpus[].gc_version", RD_STR, "version of the graphics core, as \"9.4.3\"",
	                  GPU_PCI_DEVICES "/*/ip_discovery" },
			{ "gpus[].family", RD_STR, "architecture, as \"CDNA3\"", "table gfx" },
			{ "gpus[].kfd.present", RD_BOOL, "KFD has a node for this GPU", GPU_KFD_NODES },
			{ "gpus[].kfd.node", RD_INT, "number of the (first) node", GPU_KFD_NODES },
			{ "gpus[].kfd.gpu_id", RD_INT, "KFD's id of the (first) node", GPU_KFD_NODES "/*/gpu_id" },
			{ "gpus[].kfd.cu_count", RD_INT, "compute units of the (first) node", NODE },
			{ "gpus[].kfd.num_xcc", RD_INT, "accelerator dies of the (first) node", NODE },
			{ "gpus[].kfd.simd_count", RD_INT, "SIMDs of the (first) node", NODE },
			{ "gpus[].kfd.mec_firmware", RD_INT, "version of the compute firmware", NODE },
			{ "gpus[].kfd.sram_ecc", RD_BOOL, "SRAM ECC is on: the target id has sramecc+", NODE },
			{ "gpus[].kfd.svm", RD_BOOL, "shared virtual memory (HMM)", NODE },
			{ "gpus[].kfd.hive_id", RD_STR, "hive of GPUs joined by xGMI, empty outside one", NODE },
			{ "gpus[].kfd.uuid", RD_STR, "name for ROCR_VISIBLE_DEVICES, empty where the card has no id", NODE },
			{ "gpus[].drm.render", RD_STR, "render node of the (first) partition, as \"renderD128\"", NODE },
			{ "gpus[].links[]", RD_LIST, "ways from this GPU to others and to processors, by target",
	                  GPU_KFD_NODES "/*/io_links" },
			{ "gpus[].links[].to", RD_STR, "PCI address of a GPU, or \"node0\" for a processor",
	                  GPU_KFD_NODES "/*/io_links" },
			{ "gpus[].links[].type", RD_STR, "xgmi, pcie, hypertransport, ...", GPU_KFD_NODES "/*/io_links" },
			{ "gpus[].links[].weight", RD_INT, "KFD's cost of the way; 15 is one xGMI hop",
	                  GPU_KFD_NODES "/*/io_links" },
			{ "gpus[].partitions[]", RD_LIST, "KFD nodes of this GPU: one unless it is partitioned",
	                  GPU_KFD_NODES },
			{ "gpus[].partitions[].kfd_node", RD_INT, "number of the node", GPU_KFD_NODES },
			{ "gpus[].partitions[].number", RD_INT, "number of the partition", NODE },
			{ "gpus[].partitions[].gpu_id", RD_INT, "KFD's id", GPU_KFD_NODES "/*/gpu_id" },
			{ "gpus[].partitions[].render", RD_STR, "its render node", NODE },
			{ "gpus[].partitions[].cu_count", RD_INT, "compute units", NODE },
			{ "gpus[].partitions[].num_xcc", RD_INT, "accelerator dies", NODE },
			{ "gpus[].partitions[].vram_bytes", RD_INT, "memory that KFD gives it", GPU_KFD_NODES "/*/mem_banks" },
			{ 0 },
		},
	.run = run,
};
