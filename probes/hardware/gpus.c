/* Which GPUs there are: PCI functions of AMD, and what only KFD or DRM shows; and the GPUs of other vendors. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/json.h"
#include "rocm-doctor/pci.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

static const struct {
	unsigned id;
	const char *name;
} vendors[] = {
	{ 0x1002, "AMD" },    { 0x10de, "NVIDIA" },    { 0x8086, "Intel" },      { 0x1a03, "ASPEED" },
	{ 0x102b, "Matrox" }, { 0x1234, "QEMU" },      { 0x1b36, "QEMU" },       { 0x1af4, "virtio" },
	{ 0x15ad, "VMware" }, { 0x1414, "Microsoft" }, { 0x80ee, "VirtualBox" }, { 0x1ed5, "Moore Threads" },
};

static void set_hex(struct rd_fact *at, const char *path, unsigned value, unsigned digits, const char *source)
{
	rd_auto_free char *text = rd_xasprintf("0x%0*x", (int)digits, value);

	rd_fact_set_str(at, path, text, source);
}

/* What every function has; also those of other vendors. */
static struct rd_fact *append(struct rd_probe_ctx *ctx, const char *list, const struct rd_pci_function *f)
{
	rd_auto_free char *sysfs = rd_xasprintf(GPU_PCI_DEVICES "/%s", f->address);
	struct rd_fact *item = rd_fact_append(ctx->facts, list, sysfs);
	rd_auto_free char *source = rd_xasprintf("%s/class", sysfs);

	rd_fact_set_str(item, "pci.address", f->address, sysfs);
	rd_fact_set_str(item, "sysfs", sysfs, sysfs);
	set_hex(item, "vendor_id", f->vendor_id, 4, sysfs);
	set_hex(item, "device_id", f->device_id, 4, sysfs);
	set_hex(item, "pci.class", f->class_code, 6, source);
	return item;
}

static void add_amd(struct rd_probe_ctx *ctx, const struct rd_pci_function *f)
{
	struct rd_fact *gpu = append(ctx, "gpus", f);
	const char *sysfs = rd_fact_get_str(gpu, "sysfs");

	set_hex(gpu, "revision", f->revision, 2, sysfs);
	set_hex(gpu, "pci.subsystem_vendor_id", f->subsystem_vendor_id, 4, sysfs);
	set_hex(gpu, "pci.subsystem_device_id", f->subsystem_device_id, 4, sysfs);
	rd_fact_set_str(gpu, "found_by", "pci", sysfs);
}

static void set_driver(struct rd_probe_ctx *ctx, struct rd_fact *item)
{
	rd_auto_free char *name = NULL, *source = gpu_path(item, "driver");
	int r = gpu_link_name(ctx, item, &name, "driver");

	if (r < 0)
		gpu_fact_error(item, "driver", r, "driver");
	else
		rd_fact_set_str(item, "driver", name, source);
}

static void add_other(struct rd_probe_ctx *ctx, const struct rd_pci_function *f)
{
	struct rd_fact *item = append(ctx, "other_gpus", f);

	rd_fact_set_str(item, "vendor", "", "PCI vendor id");
	for (size_t i = 0; i < RD_ARRAY_SIZE(vendors); i++) {
		if (vendors[i].id == f->vendor_id)
			rd_fact_set_str(item, "vendor", vendors[i].name, "PCI vendor id");
	}
	set_driver(ctx, item);
}

static bool is_display(const struct rd_pci_function *f)
{
	return f->class_code >> 16 == 0x03;
}

/* An Instinct is no display but a "processing accelerator", class 12. */
static bool is_amd_gpu(const struct rd_pci_function *f)
{
	return f->vendor_id == GPU_VENDOR_AMD && (is_display(f) || f->class_code >> 16 == 0x12);
}

/* The display chip of an old server board is no GPU for anyone, unless there is no other. */
static void add_functions(struct rd_probe_ctx *ctx, const struct rd_pci_function *list, int n)
{
	bool newer = false;

	for (int i = 0; i < n; i++)
		newer |= is_amd_gpu(&list[i]) && !gpu_table_before_gcn(ctx->knowledge, list[i].device_id);
	for (int i = 0; i < n; i++) {
		if (is_amd_gpu(&list[i]) && !(newer && gpu_table_before_gcn(ctx->knowledge, list[i].device_id)))
			add_amd(ctx, &list[i]);
		else if (is_display(&list[i]))
			add_other(ctx, &list[i]);
	}
}

/* ---------------------------------------------------------------- GPUs without a PCI function that we see */

static struct rd_fact *add_hidden(struct rd_probe_ctx *ctx, const char *address, const char *by, const char *source)
{
	struct rd_fact *gpu = rd_fact_append(ctx->facts, "gpus", source);

	rd_fact_set_str(gpu, "pci.address", address, source);
	rd_fact_set_str(gpu, "found_by", by, source);
	set_hex(gpu, "vendor_id", GPU_VENDOR_AMD, 4, source);
	return gpu;
}

static int add_from_kfd(struct rd_probe_ctx *ctx)
{
	struct gpu_nodes nodes;
	int r = gpu_nodes_read(ctx, &nodes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < nodes.n; i++) {
		const struct gpu_node *node = &nodes.v[i];
		rd_auto_free char *source = rd_xasprintf(GPU_KFD_NODES "/%u/properties", node->number);
		rd_auto_free char *sysfs = rd_xasprintf("/sys/class/drm/renderD%u/device", (unsigned)node->render_minor);
		struct rd_fact *gpu;

		if (node->vendor_id != GPU_VENDOR_AMD || gpu_find(ctx, node->address))
			continue;
		gpu = add_hidden(ctx, node->address, "kfd", source);
		set_hex(gpu, "device_id", (unsigned)node->device_id & 0xffff, 4, source);
		/* KFD is part of amdgpu. */
		rd_fact_set_str(gpu, "driver", "amdgpu", source);
		if (rd_sysroot_exists(ctx->sysroot, sysfs) == 1)
			rd_fact_set_str(gpu, "sysfs", sysfs, sysfs);
	}
	gpu_nodes_clear(&nodes);
	return 0;
}

static void add_card(struct rd_probe_ctx *ctx, const char *card)
{
	rd_auto_free char *device = rd_xasprintf("%s/device", card);
	rd_auto_free char *target = NULL;
	struct gpu_pci pci;
	const char *address;
	struct rd_fact *gpu;
	uint64_t vendor, id;

	if (rd_sysroot_realpath(ctx->sysroot, &target, device) < 0)
		return;
	address = strrchr(target, '/') + 1;
	if (!gpu_parse_address(address, &pci) || gpu_find(ctx, address))
		return;
	if (rd_sysroot_readf_u64(ctx->sysroot, &vendor, "%s/vendor", target) < 0 || vendor != GPU_VENDOR_AMD)
		return;
	gpu = add_hidden(ctx, address, "drm", device);
	rd_fact_set_str(gpu, "sysfs", device, device);
	if (rd_sysroot_readf_u64(ctx->sysroot, &id, "%s/device", target) == 0)
		set_hex(gpu, "device_id", (unsigned)id & 0xffff, 4, device);
}

static int add_from_drm(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv cards = RD_STRV_INIT;
	int r = rd_sysroot_glob(ctx->sysroot, &cards, "/sys/class/drm/card*");

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < cards.n; i++)
		add_card(ctx, cards.v[i]);
	return 0;
}

/* ---------------------------------------------------------------- what each one is */

static const struct cJSON *sku_of(const struct cJSON *device, const char *revision)
{
	const struct cJSON *sku, *any = NULL;

	cJSON_ArrayForEach (sku, cJSON_GetObjectItemCaseSensitive(device, "skus")) {
		const char *wanted = rd_json_str(sku, "revision");

		if (!*wanted)
			any = sku;
		else if (*revision && gpu_id_of(wanted) == gpu_id_of(revision))
			return sku;
	}
	return any;
}

/* The revision decides: 744c is six cards. Without it, the card's own name (an Instinct states it), else the ids. */
static void set_name(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct cJSON *device)
{
	const char *name = rd_json_str(sku_of(device, rd_fact_get_str(gpu, "revision")), "name");
	rd_auto_free char *own = NULL, *made = NULL;
	const char *codename;

	if (*name) {
		rd_fact_set_str(gpu, "name", name, "table gpus");
		return;
	}
	if (gpu_line(ctx, gpu, &own, "product_name") == 0 && *own) {
		rd_auto_free char *source = gpu_path(gpu, "product_name");

		rd_fact_set_str(gpu, "name", own, source);
		return;
	}
	codename = rd_json_str(device, "codename");
	made = rd_xasprintf("AMD %s (1002:%04x)", *codename ? codename : "GPU", gpu_id_of(rd_fact_get_str(gpu, "device_id")));
	rd_fact_set_str(gpu, "name", made, "PCI device id");
}

static void set_kind(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const struct cJSON *device)
{
	rd_auto_free char *physical = NULL, *source = gpu_path(gpu, "physfn");
	const char *kind = rd_json_str(device, "kind");

	if (gpu_link_name(ctx, gpu, &physical, "physfn") == 0) {
		rd_fact_set_str(gpu, "kind", "vf", source);
		rd_fact_set_str(gpu, "pci.physical_function", physical, source);
	} else if (*kind) {
		rd_fact_set_str(gpu, "kind", kind, "table gpus");
	} else {
		rd_fact_set_unknown_why(gpu, "kind", "the device id is in no table of this program", "table gpus");
	}
}

/* Chips of the legacy list are cards, but for the APUs among them. */
static const struct cJSON *device_row(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	unsigned id = gpu_id_of(rd_fact_get_str(gpu, "device_id"));
	const struct cJSON *row = gpu_table_device(ctx->knowledge, id);

	return row ? row : gpu_table_legacy(ctx->knowledge, id);
}

static void describe(struct rd_probe_ctx *ctx, struct rd_fact *gpu, size_t index)
{
	const struct cJSON *device = device_row(ctx, gpu);

	rd_fact_set_int(gpu, "index", (int64_t)index, "order of PCI addresses");
	set_name(ctx, gpu, device);
	set_kind(ctx, gpu, device);
	if (!rd_fact_get(gpu, "driver"))
		set_driver(ctx, gpu);
	gpu_fact_int(ctx, gpu, "numa_node", "numa_node");
	gpu_fact_str(ctx, gpu, "runtime_status", "power/runtime_status");
	gpu_fact_int(ctx, gpu, "pci.virtual_functions", "sriov_numvfs");
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_free struct rd_pci_function *list = NULL;
	struct rd_fact *gpu;
	int n, r;

	n = rd_pci_list(ctx->sysroot, &list, NULL);
	if (n == -ENOENT && rd_sysroot_exists(ctx->sysroot, "/sys/bus") != 1) {
		rd_fact_set_unknown_why(ctx->facts, "gpus", "/sys is not there", GPU_PCI_DEVICES);
		rd_fact_set_unknown_why(ctx->facts, "other_gpus", "/sys is not there", GPU_PCI_DEVICES);
		return 0;
	}
	if (n < 0 && n != -ENOENT)
		return n;
	rd_fact_set_list(ctx->facts, "gpus", GPU_PCI_DEVICES);
	rd_fact_set_list(ctx->facts, "other_gpus", GPU_PCI_DEVICES);
	add_functions(ctx, list, n);
	r = n < 0 ? add_from_drm(ctx) : 0;
	if (r == 0)
		r = add_from_kfd(ctx);
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "gpus"), "pci.address");
	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++)
		describe(ctx, gpu, i);
	/* Without KFD's word the list may lack one that PCI does not show; what PCI shows stands. */
	(void)r;
	return 0;
}

const struct rd_probe rd_probe_hardware_gpus = {
	.name = "hardware/gpus",
	.layer = RD_LAYER_HARDWARE,
	.summary = "GPUs by PCI, KFD and DRM",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[]", RD_LIST, "AMD GPUs, one a physical or virtual function, by PCI address", GPU_PCI_DEVICES },
			{ "gpus[].index", RD_INT, "place in this list", "order of PCI addresses" },
			{ "gpus[].name", RD_STR,
	                  "marketing name; where the revision is in no list, what the card says of itself",
	                  "table gpus; product_name" },
			{ "gpus[].vendor_id", RD_STR, "PCI vendor, always \"0x1002\"", GPU_PCI_DEVICES "/*/vendor" },
			{ "gpus[].device_id", RD_STR, "PCI device, as \"0x74a1\"", GPU_PCI_DEVICES "/*/device" },
			{ "gpus[].revision", RD_STR, "PCI revision, as \"0xc8\"", GPU_PCI_DEVICES "/*/revision" },
			{ "gpus[].kind", RD_STR, "dgpu, apu (part of the processor) or vf (a virtual function)",
	                  "table gpus; physfn" },
			{ "gpus[].driver", RD_STR, "kernel driver that holds the function, empty for none",
	                  GPU_PCI_DEVICES "/*/driver" },
			{ "gpus[].numa_node", RD_INT, "NUMA node, -1 where the firmware states none",
	                  GPU_PCI_DEVICES "/*/numa_node" },
			{ "gpus[].runtime_status", RD_STR, "power management's word: active, suspended, ...",
	                  GPU_PCI_DEVICES "/*/power/runtime_status" },
			{ "gpus[].found_by", RD_STR, "what shows this GPU: pci, or only kfd or drm", "the three listings" },
			{ "gpus[].sysfs", RD_STR, "directory of its attributes", GPU_PCI_DEVICES },
			{ "gpus[].pci.address", RD_STR, "PCI address, DDDD:BB:DD.F", GPU_PCI_DEVICES },
			{ "gpus[].pci.class", RD_STR, "class code; an Instinct is 0x120000 or 0x038000, no VGA device",
	                  GPU_PCI_DEVICES "/*/class" },
			{ "gpus[].pci.subsystem_vendor_id", RD_STR, "maker of the card",
	                  GPU_PCI_DEVICES "/*/subsystem_vendor" },
			{ "gpus[].pci.subsystem_device_id", RD_STR, "the maker's number of the card",
	                  GPU_PCI_DEVICES "/*/subsystem_device" },
			{ "gpus[].pci.physical_function", RD_STR,
	                  "of a virtual function on its host: the address of the physical one", GPU_PCI_DEVICES "/*/physfn" },
			{ "gpus[].pci.virtual_functions", RD_INT, "virtual functions that are switched on",
	                  GPU_PCI_DEVICES "/*/sriov_numvfs" },
			{ "other_gpus[]", RD_LIST,
	                  "display functions of other vendors, and AMD's from before GCN beside a newer one", GPU_PCI_DEVICES },
			{ "other_gpus[].vendor", RD_STR, "name of the vendor, empty where the id is not known here",
	                  "PCI vendor id" },
			{ "other_gpus[].vendor_id", RD_STR, "PCI vendor", GPU_PCI_DEVICES "/*/vendor" },
			{ "other_gpus[].device_id", RD_STR, "PCI device", GPU_PCI_DEVICES "/*/device" },
			{ "other_gpus[].driver", RD_STR, "kernel driver that holds the function", GPU_PCI_DEVICES "/*/driver" },
			{ "other_gpus[].sysfs", RD_STR, "directory of its attributes", GPU_PCI_DEVICES },
			{ "other_gpus[].pci.address", RD_STR, "PCI address", GPU_PCI_DEVICES },
			{ "other_gpus[].pci.class", RD_STR, "class code", GPU_PCI_DEVICES "/*/class" },
			{ 0 },
		},
	.run = run,
};
