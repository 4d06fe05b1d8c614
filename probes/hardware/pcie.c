/* Each GPU's way to the processor: its link, the slot, its base addresses, its configuration space and AtomicOps. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

/* ---------------------------------------------------------------- link and slot */

/* "16.0 GT/s PCIe", or "Unknown" for a function without a link of its own. */
static int read_speed(struct rd_probe_ctx *ctx, const char *path, double *ret)
{
	rd_auto_free char *text = NULL;
	unsigned whole, tenth = 0;
	int r = rd_sysroot_read_line(ctx->sysroot, &text, path);

	if (r < 0)
		return r;
	if (sscanf(text, "%3u.%1u GT/s", &whole, &tenth) < 1 || !whole)
		return -ENODEV;
	*ret = whole + tenth / 10.0;
	return 0;
}

static int read_width(struct rd_probe_ctx *ctx, const char *path, int64_t *ret)
{
	uint64_t value;
	int r = rd_sysroot_read_u64(ctx->sysroot, &value, path);

	if (r < 0)
		return r;
	/* 0: no link, 255: no capability. */
	if (value == 0 || value > 32)
		return -ENODEV;
	*ret = (int64_t)value;
	return 0;
}

static void set_speed(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *fact, const char *dir, const char *attribute)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", dir, attribute);
	double value;
	int r = read_speed(ctx, path, &value);

	if (r < 0)
		gpu_fact_error(gpu, fact, r, attribute);
	else
		rd_fact_set_real(gpu, fact, value, path);
}

static void set_width(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *fact, const char *dir, const char *attribute)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", dir, attribute);
	int64_t value;
	int r = read_width(ctx, path, &value);

	if (r < 0)
		gpu_fact_error(gpu, fact, r, attribute);
	else
		rd_fact_set_int(gpu, fact, value, path);
}

/* The switch on a consumer card: the link that can be slow is above it, not the one at the GPU. */
static bool is_on_card(struct rd_probe_ctx *ctx, const char *bridge)
{
	uint64_t vendor, device;

	if (rd_sysroot_readf_u64(ctx->sysroot, &vendor, "%s/vendor", bridge) < 0 || vendor != GPU_VENDOR_AMD)
		return false;
	return rd_sysroot_readf_u64(ctx->sysroot, &device, "%s/device", bridge) == 0 && (device == 0x1478 || device == 0x1479);
}

static void set_link(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *card)
{
	set_speed(ctx, gpu, "pci.link_speed_gts", card, "current_link_speed");
	set_width(ctx, gpu, "pci.link_width", card, "current_link_width");
	set_speed(ctx, gpu, "pci.max_link_speed_gts", card, "max_link_speed");
	set_width(ctx, gpu, "pci.max_link_width", card, "max_link_width");
}

static void set_slot(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *slot)
{
	rd_fact_set_str(gpu, "pci.slot.address", strrchr(slot, '/') + 1, slot);
	set_speed(ctx, gpu, "pci.slot.max_link_speed_gts", slot, "max_link_speed");
	set_width(ctx, gpu, "pci.slot.max_link_width", slot, "max_link_width");
}

/* What both ends of the link can do; the card's word alone where there is no slot to see. */
static void set_best(struct rd_fact *gpu)
{
	static const char source[] = "the lesser of card and slot";
	double card_speed = rd_fact_get_real(gpu, "pci.max_link_speed_gts");
	double slot_speed = rd_fact_get_real(gpu, "pci.slot.max_link_speed_gts");
	int64_t card_width = rd_fact_get_int(gpu, "pci.max_link_width");
	int64_t slot_width = rd_fact_get_int(gpu, "pci.slot.max_link_width");

	if (card_speed > 0)
		rd_fact_set_real(gpu, "pci.best_link_speed_gts",
		                 slot_speed > 0 && slot_speed < card_speed ? slot_speed : card_speed, source);
	if (card_width > 0)
		rd_fact_set_int(gpu, "pci.best_link_width", slot_width > 0 && slot_width < card_width ? slot_width : card_width,
		                source);
}

static void probe_link(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct rd_strv *bridges)
{
	/* The bridges of a virtual machine are made up: their links say nothing. */
	bool guest = *rd_fact_get_str(ctx->facts, "host.virtualization");
	const char *card = rd_fact_get_str(gpu, "sysfs");
	size_t i = 0;

	if (!*card)
		return;
	while (!guest && i < bridges->n && is_on_card(ctx, bridges->v[i]))
		card = bridges->v[i++];
	set_link(ctx, gpu, card);
	if (!guest && i < bridges->n)
		set_slot(ctx, gpu, bridges->v[i]);
	set_best(gpu);
}

/* ---------------------------------------------------------------- base addresses */

#define UNSET 0x20000000ull /* IORESOURCE_UNSET: wanted, and not given */
#define PORTS 0x100ull      /* IORESOURCE_IO: amdgpu does without, and a full port space is common */

/* A base address that is not in use is a line of zeros, and so is one that found no place: only number 0 is sure to exist. */
static bool add_bar(struct rd_fact *gpu, unsigned number, const char *line, const char *source)
{
	unsigned long long start, end, flags, numbers[3];
	struct rd_fact *bar;
	bool assigned;
	char *rest;

	for (size_t i = 0; i < RD_ARRAY_SIZE(numbers); i++) {
		numbers[i] = strtoull(line, &rest, 16);
		if (rest == line)
			return true;
		line = rest;
	}
	start = numbers[0];
	end = numbers[1];
	flags = numbers[2];
	if (!start && !end && !flags && number != 0)
		return true;
	assigned = start && end > start && !(flags & UNSET);
	bar = rd_fact_append(gpu, "pci.bars", source);
	rd_fact_set_int(bar, "number", number, source);
	rd_fact_set_int(bar, "size_bytes", end > start ? (int64_t)((end - start + 1) & INT64_MAX) : 0, source);
	rd_fact_set_bool(bar, "assigned", assigned, source);
	return assigned || flags & PORTS;
}

static void probe_bars(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	rd_auto_free char *source = gpu_path(gpu, "resource");
	rd_auto_free char *text = NULL;
	char *rest, *line;
	bool all = true, large;
	int r = source ? rd_sysroot_read(ctx->sysroot, &text, source) : -ENODATA;

	if (r < 0) {
		/* The PCI core always has this file. */
		r = r == -ENOENT ? -ENODATA : r;
		rd_fact_set_unknown(gpu, "pci.bars", r, source);
		rd_fact_set_unknown(gpu, "pci.bar_unassigned", r, source);
	} else {
		rd_fact_set_list(gpu, "pci.bars", source);
		rest = text;
		for (unsigned number = 0; number < 6 && (line = rd_str_next_line(&rest)); number++)
			all &= add_bar(gpu, number, line, source);
		rd_fact_set_bool(gpu, "pci.bar_unassigned", !all, source);
	}
	if (!rd_fact_is_known(gpu, "visible_vram_bytes") || !rd_fact_is_known(gpu, "vram_bytes")) {
		rd_fact_set_unknown_why(gpu, "pci.large_bar", "no driver states how much memory the processor sees",
		                        "visible_vram_bytes");
		return;
	}
	large = rd_fact_get_int(gpu, "visible_vram_bytes") >= rd_fact_get_int(gpu, "vram_bytes");
	rd_fact_set_bool(gpu, "pci.large_bar", large, "visible_vram_bytes, vram_bytes");
}

/* ---------------------------------------------------------------- configuration space */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* Not by the vendor alone: that of a virtual function reads all ones by the standard. */
static bool all_ones(const uint8_t *config, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (config[i] != 0xff)
			return false;
	}
	return true;
}

static void probe_config(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	rd_auto_free char *source = gpu_path(gpu, "config");
	uint8_t config[64];
	int r;

	/* A read would wake it; and what sleeps has been put to sleep by its driver, so it is there. */
	if (gpu_sleeps(gpu)) {
		rd_fact_set_bool(gpu, "pci.reads_all_ones", false, "power/runtime_status");
		return;
	}
	r = source ? gpu_config_read(ctx, source, config, sizeof(config)) : -ENODATA;
	if (r < 0)
		rd_fact_set_unknown(gpu, "pci.reads_all_ones", r == -ENOENT ? -ENODATA : r, source);
	else
		rd_fact_set_bool(gpu, "pci.reads_all_ones", all_ones(config, sizeof(config)), source);
}

enum { PORT_ROOT = 4, PORT_UPSTREAM = 5, PORT_DOWNSTREAM = 6 };

/* Offset of the PCI Express capability; 0 where there is none, -EACCES where it lies beyond what may be read. */
static int find_pcie(const uint8_t *config, int len)
{
	unsigned at = config[0x34] & 0xfc;

	if (!(config[0x06] & 0x10))
		return 0;
	for (int i = 0; i < 48 && at >= 0x40; i++) {
		if ((int)at + 0x2c > len)
			return len < 256 ? -EACCES : 0;
		if (config[at] == 0x10)
			return (int)at;
		at = config[at + 1] & 0xfc;
	}
	return 0;
}

/* Does this bridge let AtomicOps of 32 and 64 bits pass, or complete them? As the kernel asks before it switches them on. */
static int bridge_takes_atomics(struct rd_probe_ctx *ctx, const char *bridge)
{
	rd_auto_free char *path = rd_xasprintf("%s/config", bridge);
	uint8_t config[256];
	int len = gpu_config_read(ctx, path, config, sizeof(config));
	unsigned type, capable;
	int at;

	if (len < 0)
		return len == -ENOENT ? -ENODATA : len;
	at = find_pcie(config, len);
	if (at <= 0)
		return at;
	type = config[at + 2] >> 4;
	capable = get16(config + at + 0x24);
	if (type == PORT_ROOT)
		return (capable & 0x180) == 0x180;
	if (type == PORT_UPSTREAM && config[at + 0x28] & 0x80) /* egress blocking */
		return 0;
	return type == PORT_UPSTREAM || type == PORT_DOWNSTREAM ? (capable & 0x40) != 0 : 1;
}

static void set_path(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct rd_strv *bridges)
{
	for (size_t i = 0; i < bridges->n; i++) {
		rd_auto_free char *source = rd_xasprintf("%s/config", bridges->v[i]);
		int r = bridge_takes_atomics(ctx, bridges->v[i]);

		if (r == 0) {
			rd_fact_set_bool(gpu, "atomics.routed", false, source);
			rd_fact_set_str(gpu, "atomics.blocked_at", strrchr(bridges->v[i], '/') + 1, source);
			return;
		}
		if (r < 0 && !rd_fact_get(gpu, "atomics.routed"))
			rd_fact_set_unknown(gpu, "atomics.routed", r, source);
	}
	if (!rd_fact_get(gpu, "atomics.routed"))
		rd_fact_set_bool(gpu, "atomics.routed", true, "config of the bridges");
}

/* Which firmware does without: -1 where none needs atomics, 0 where none does without. */
static int64_t mec_without_atomics(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const struct cJSON *row = gpu_table_gfx(ctx->knowledge, rd_fact_get_str(gpu, "gfx"));
	const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(row, "atomics_unless_mec");

	return cJSON_IsNumber(value) ? (int64_t)value->valuedouble : -1;
}

static void set_needed(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	const char *kind = rd_fact_get_str(gpu, "kind");
	rd_auto_free char *source = gpu_path(gpu, "fw_version/mec_fw_version");
	int64_t enough = mec_without_atomics(ctx, gpu);
	uint64_t firmware;
	int r;

	if (!rd_fact_is_known(gpu, "gfx") || !rd_fact_is_known(gpu, "kind")) {
		rd_fact_set_unknown_why(gpu, "atomics.needed", "the GPU is not known here", "table gfx");
		return;
	}
	/* An APU has no bus between; a virtual function's host has dealt with it. */
	if (enough < 0 || rd_streq(kind, "apu") || rd_streq(kind, "vf")) {
		rd_fact_set_bool(gpu, "atomics.needed", false, "table gfx");
		return;
	}
	r = enough ? gpu_u64(ctx, gpu, &firmware, "fw_version/mec_fw_version") : 0;
	if (!enough)
		rd_fact_set_bool(gpu, "atomics.needed", true, "table gfx");
	else if (r < 0)
		rd_fact_set_unknown(gpu, "atomics.needed", r == -ENOENT ? -ENODATA : r, source);
	else
		rd_fact_set_bool(gpu, "atomics.needed", firmware < (uint64_t)enough, source);
}

/* ---------------------------------------------------------------- */

static void probe_gpu(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	rd_auto_strv struct rd_strv bridges = RD_STRV_INIT;
	int r = gpu_bridges(ctx, gpu, &bridges);

	probe_link(ctx, gpu, &bridges);
	probe_bars(ctx, gpu);
	probe_config(ctx, gpu);
	set_needed(ctx, gpu);
	if (r < 0)
		rd_fact_set_unknown(gpu, "atomics.routed", r, GPU_PCI_DEVICES);
	else
		set_path(ctx, gpu, &bridges);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++)
		probe_gpu(ctx, gpu);
	return 0;
}

#define AT GPU_PCI_DEVICES "/*/"

const struct rd_probe rd_probe_hardware_pcie = {
	.name = "hardware/pcie",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/drm",
	.summary = "link, slot, base addresses and AtomicOps of each GPU",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].pci.link_speed_gts", RD_REAL, "speed of the card's link now, GT/s; an idle card lowers it",
	                  AT "current_link_speed" },
			{ "gpus[].pci.link_width", RD_INT, "lanes of the card's link now", AT "current_link_width" },
			{ "gpus[].pci.max_link_speed_gts", RD_REAL, "most that the card can, GT/s", AT "max_link_speed" },
			{ "gpus[].pci.max_link_width", RD_INT, "most lanes of the card", AT "max_link_width" },
			{ "gpus[].pci.slot.address", RD_STR,
	                  "the port that the card sits in, past the switch on the card; empty in a guest",
	                  "/sys/devices/pci*" },
			{ "gpus[].pci.slot.max_link_speed_gts", RD_REAL, "most that the port can, GT/s",
	                  "max_link_speed of the port" },
			{ "gpus[].pci.slot.max_link_width", RD_INT, "most lanes of the port", "max_link_width of the port" },
			{ "gpus[].pci.best_link_speed_gts", RD_REAL, "most that card and port can together, GT/s", "the two" },
			{ "gpus[].pci.best_link_width", RD_INT, "most lanes that card and port have together", "the two" },
			{ "gpus[].pci.large_bar", RD_BOOL, "the processor sees all of its memory",
	                  AT "mem_info_vis_vram_total" },
			{ "gpus[].pci.bar_unassigned", RD_BOOL, "a base address found no place", AT "resource" },
			{ "gpus[].pci.bars[]", RD_LIST, "base addresses", AT "resource" },
			{ "gpus[].pci.bars[].number", RD_INT, "number of the base address, 0 to 5", AT "resource" },
			{ "gpus[].pci.bars[].size_bytes", RD_INT, "its size; 0 where it has no place", AT "resource" },
			{ "gpus[].pci.bars[].assigned", RD_BOOL, "it has a place", AT "resource" },
			{ "gpus[].pci.reads_all_ones", RD_BOOL, "configuration space reads all ones: the GPU does not answer",
	                  AT "config" },
			{ "gpus[].atomics.needed", RD_BOOL, "KFD refuses this GPU, with this firmware, without PCIe AtomicOps",
	                  "table gfx; fw_version/mec_fw_version" },
			{ "gpus[].atomics.routed", RD_BOOL, "every bridge passes AtomicOps and the root port completes them",
	                  "config of the bridges (all of it needs root)" },
			{ "gpus[].atomics.blocked_at", RD_STR, "the first bridge that does not", "config of the bridges" },
			{ 0 },
		},
	.run = run,
};
