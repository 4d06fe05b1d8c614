/* What the probes of this folder share: the GPUs found so far, their sysfs attributes, KFD's nodes and the tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_fact;
struct rd_knowledge;
struct rd_probe_ctx;
struct rd_strv;

#define GPU_PCI_DEVICES "/sys/bus/pci/devices"
#define GPU_KFD_NODES "/sys/class/kfd/kfd/topology/nodes"

#define GPU_VENDOR_AMD 0x1002

/* The items of gpus[]; NULL past the end, and at once where the list is not known. */
struct rd_fact *gpu_at(struct rd_probe_ctx *ctx, size_t index);
const char *gpu_address(const struct rd_fact *gpu);
/* The item with this address, or NULL. */
struct rd_fact *gpu_find(struct rd_probe_ctx *ctx, const char *address);

/* The path of an attribute below the GPU's sysfs directory; NULL where it has none. Caller frees. */
char *gpu_path(const struct rd_fact *gpu, const char *attribute) RD_MUST_CHECK;
/* -ENODATA where the GPU has no sysfs directory. */
int gpu_line(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute) RD_MUST_CHECK;
int gpu_u64(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, uint64_t *ret, const char *attribute) RD_MUST_CHECK;
/* The same through the guarded child, for attributes that reach the hardware. */
int gpu_line_guarded(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute) RD_MUST_CHECK;
/* The name at the end of a link below the GPU's directory ("driver"). Caller frees. */
int gpu_link_name(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute) RD_MUST_CHECK;
/* One number of an attribute as a fact: absent where the driver has none, unknown where it cannot be read. */
void gpu_fact_int(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *path, const char *attribute);
void gpu_fact_str(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *path, const char *attribute);
/* Sets absent for errors that mean "the driver has no such value", unknown for others. */
void gpu_fact_error(struct rd_fact *gpu, const char *path, int r, const char *attribute);

/* DDDD:BB:DD.F in parts; false for anything else. */
struct gpu_pci {
	unsigned domain, bus, device, function;
};
bool gpu_parse_address(const char *text, struct gpu_pci *ret);
void gpu_format_address(const struct gpu_pci *pci, char ret[24]);

/*
 * gpu_bridges - the sysfs directories of the PCI bridges above a GPU, nearest first
 * Returns 0, or a negative errno.
 */
int gpu_bridges(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, struct rd_strv *ret) RD_MUST_CHECK;

/* True while the GPU sleeps: reading its registers would wake it. */
bool gpu_sleeps(const struct rd_fact *gpu);

/*
 * gpu_config_read - the first bytes of a function's configuration space
 * @path: the attribute "config"
 * Returns how many of @len there were: 64 without privileges; or a negative errno.
 */
int gpu_config_read(struct rd_probe_ctx *ctx, const char *path, uint8_t *buf, size_t len) RD_MUST_CHECK;

/* One node of KFD's topology that is a GPU. */
struct gpu_node {
	unsigned number;
	bool has_gpu_id, has_gfx_version, has_domain;
	uint64_t gpu_id, gfx_version, simd_count, simd_per_cu, cpu_cores, vendor_id, device_id, location_id, domain;
	uint64_t render_minor, hive_id, num_xcc, fw_version, capability, unique_id, cu_count;
	/* The GPU that it belongs to: an address of gpus[], or a new one; and which partition of it. */
	char address[24];
	unsigned partition;
};

struct gpu_nodes {
	struct gpu_node *v; /* by number */
	size_t n, cpu_nodes, hidden;
	bool present;
	int error; /* why one could not be read: a device cgroup hides it, or worse; 0 */
};

/*
 * gpu_nodes_read - KFD's GPU nodes, each with the GPU of gpus[] that it belongs to
 * Returns 0 (also without KFD: present is false), or a negative errno where the topology could not be listed.
 */
int gpu_nodes_read(struct rd_probe_ctx *ctx, struct gpu_nodes *ret) RD_MUST_CHECK;
void gpu_nodes_clear(struct gpu_nodes *nodes);

/* "key value" lines, as KFD's properties are: the value of @key, false where it is not there. */
bool gpu_property(const char *text, const char *key, uint64_t *ret);

/* "gfx90a" for 90010; false for 0 and for fields that do not fit. */
bool gpu_gfx_name(uint64_t version, char ret[16]);

/* Rows of the tables; NULL where there is none or no table. */
const struct cJSON *gpu_table_device(const struct rd_knowledge *k, unsigned device_id);
const struct cJSON *gpu_table_legacy(const struct rd_knowledge *k, unsigned device_id);
bool gpu_table_before_gcn(const struct rd_knowledge *k, unsigned device_id);
const struct cJSON *gpu_table_gfx(const struct rd_knowledge *k, const char *gfx);
const struct cJSON *gpu_table_gfx_by_gc(const struct rd_knowledge *k, const char *gc);
bool gpu_row_true(const struct cJSON *row, const char *key);
/* "0x74a1" -> 0x74a1, 0 for anything else. */
unsigned gpu_id_of(const char *text);
