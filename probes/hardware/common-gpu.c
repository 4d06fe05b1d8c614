#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

struct rd_fact *gpu_at(struct rd_probe_ctx *ctx, size_t index)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "gpus");

	if (rd_fact_kind(list) != RD_LIST || index >= rd_fact_count(list))
		return NULL;
	return rd_fact_at_mutable(list, index);
}

const char *gpu_address(const struct rd_fact *gpu)
{
	return rd_fact_get_str(gpu, "pci.address");
}

struct rd_fact *gpu_find(struct rd_probe_ctx *ctx, const char *address)
{
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		if (rd_streq(gpu_address(gpu), address))
			return gpu;
	}
	return NULL;
}

char *gpu_path(const struct rd_fact *gpu, const char *attribute)
{
	const char *dir = rd_fact_get_str(gpu, "sysfs");

	return *dir ? rd_xasprintf("%s/%s", dir, attribute) : NULL;
}

int gpu_line(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute)
{
	rd_auto_free char *path = gpu_path(gpu, attribute);

	return path ? rd_sysroot_read_line(ctx->sysroot, ret, path) : -ENODATA;
}

int gpu_line_guarded(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute)
{
	rd_auto_free char *path = gpu_path(gpu, attribute);

	return path ? rd_sysroot_guarded_readf_line(ctx->sysroot, ret, "%s", path) : -ENODATA;
}

int gpu_u64(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, uint64_t *ret, const char *attribute)
{
	rd_auto_free char *text = NULL;
	int r = gpu_line(ctx, gpu, &text, attribute);

	return r < 0 ? r : rd_str_to_u64(text, 0, ret);
}

int gpu_link_name(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret, const char *attribute)
{
	rd_auto_free char *path = gpu_path(gpu, attribute);
	rd_auto_free char *target = NULL;
	const char *slash;
	int r;

	if (!path)
		return -ENODATA;
	r = rd_sysroot_readlink(ctx->sysroot, &target, path);
	if (r < 0)
		return r;
	slash = strrchr(target, '/');
	*ret = rd_xstrdup(slash ? slash + 1 : target);
	return 0;
}

void gpu_fact_error(struct rd_fact *gpu, const char *path, int r, const char *attribute)
{
	rd_auto_free char *source = gpu_path(gpu, attribute);

	if (r == -ENOENT || r == -EINVAL || r == -ENODEV || r == -EOPNOTSUPP || r == -ENXIO)
		rd_fact_set_absent(gpu, path, source ? source : attribute);
	else
		rd_fact_set_unknown(gpu, path, r, source ? source : attribute);
}

void gpu_fact_int(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *path, const char *attribute)
{
	rd_auto_free char *source = gpu_path(gpu, attribute);
	rd_auto_free char *text = NULL;
	int64_t value;
	int r = gpu_line(ctx, gpu, &text, attribute);

	if (r < 0)
		gpu_fact_error(gpu, path, r, attribute);
	else if (rd_str_to_i64(text, 0, &value) < 0)
		rd_fact_set_unknown_why(gpu, path, "not a number", source);
	else
		rd_fact_set_int(gpu, path, value, source);
}

void gpu_fact_str(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *path, const char *attribute)
{
	rd_auto_free char *source = gpu_path(gpu, attribute);
	rd_auto_free char *text = NULL;
	int r = gpu_line(ctx, gpu, &text, attribute);

	if (r < 0)
		gpu_fact_error(gpu, path, r, attribute);
	else
		rd_fact_set_str(gpu, path, text, source);
}

bool gpu_parse_address(const char *text, struct gpu_pci *ret)
{
	int end = 0;

	return sscanf(text, "%8x:%2x:%2x.%1x%n", &ret->domain, &ret->bus, &ret->device, &ret->function, &end) == 4 &&
	       !text[end];
}

void gpu_format_address(const struct gpu_pci *pci, char ret[24])
{
	snprintf(ret, 24, "%04x:%02x:%02x.%u", pci->domain, pci->bus & 0xff, pci->device & 0x1f, pci->function & 7);
}

bool gpu_property(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line; line = strchrnul(line, '\n'), line += *line == '\n') {
		char *end;

		if (*line != *key || strncmp(line, key, len) != 0 || line[len] != ' ')
			continue;
		errno = 0;
		*ret = strtoull(line + len + 1, &end, 10);
		return errno == 0 && end != line + len + 1;
	}
	return false;
}

/* Minor and stepping are hexadecimal digits of the name: 90010 is gfx90a. */
bool gpu_gfx_name(uint64_t version, char ret[16])
{
	unsigned major = (unsigned)(version / 10000 % 1000), minor = version / 100 % 100, stepping = version % 100;

	if (version < 60000 || version >= 10000000 || minor > 15 || stepping > 15)
		return false;
	snprintf(ret, 16, "gfx%u%x%x", major, minor, stepping);
	return true;
}

int gpu_bridges(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, struct rd_strv *ret)
{
	rd_auto_free char *path = NULL;
	struct gpu_pci pci;
	char *slash;
	int r;

	r = rd_sysroot_realpath(ctx->sysroot, &path, rd_fact_get_str(gpu, "sysfs"));
	if (r < 0)
		return r;
	while ((slash = strrchr(path, '/'))) {
		const char *name;

		*slash = '\0';
		name = strrchr(path, '/');
		if (!name || !gpu_parse_address(name + 1, &pci))
			break;
		rd_strv_push(ret, path);
	}
	return 0;
}

bool gpu_sleeps(const struct rd_fact *gpu)
{
	const char *status = rd_fact_get_str(gpu, "runtime_status");

	return rd_streq(status, "suspended") || rd_streq(status, "suspending");
}

int gpu_config_read(struct rd_probe_ctx *ctx, const char *path, uint8_t *buf, size_t len)
{
	struct rd_file *file;
	int r = rd_file_open(ctx->sysroot, &file, path);

	if (r < 0)
		return r;
	r = rd_file_pread(file, buf, len, 0);
	/* Who may not see all of it sees the first 64 bytes. */
	if (r < 0 && len > 64) {
		len = 64;
		r = rd_file_pread(file, buf, len, 0);
	}
	rd_file_close(file);
	return r < 0 ? r : (int)len;
}

/* ---------------------------------------------------------------- KFD */

static void node_parse(struct gpu_node *node, const char *text)
{
	const struct {
		const char *key;
		uint64_t *value;
		bool *there;
	} keys[] = {
		{ "gfx_target_version", &node->gfx_version, &node->has_gfx_version },
		{ "simd_count", &node->simd_count, NULL },
		{ "simd_per_cu", &node->simd_per_cu, NULL },
		{ "cpu_cores_count", &node->cpu_cores, NULL },
		{ "vendor_id", &node->vendor_id, NULL },
		{ "device_id", &node->device_id, NULL },
		{ "location_id", &node->location_id, NULL },
		{ "domain", &node->domain, &node->has_domain },
		{ "drm_render_minor", &node->render_minor, NULL },
		{ "hive_id", &node->hive_id, NULL },
		{ "num_xcc", &node->num_xcc, NULL },
		{ "fw_version", &node->fw_version, NULL },
		{ "capability", &node->capability, NULL },
		{ "unique_id", &node->unique_id, NULL },
	};

	node->num_xcc = 1; /* older kernels do not print it */
	for (size_t i = 0; i < RD_ARRAY_SIZE(keys); i++) {
		bool there = gpu_property(text, keys[i].key, keys[i].value);

		if (keys[i].there)
			*keys[i].there = there;
	}
	node->cu_count = node->simd_per_cu ? node->simd_count / node->simd_per_cu : 0;
}

/* The GPU behind a render node; a partition's is a platform device, which does not tell. */
static bool address_by_render(struct rd_probe_ctx *ctx, const struct gpu_node *node, char ret[24])
{
	rd_auto_free char *link = NULL, *target = NULL;
	struct gpu_pci pci;
	const char *name;

	if (node->render_minor < 128 || node->render_minor > 0xfffff)
		return false;
	link = rd_xasprintf("/sys/class/drm/renderD%u/device", (unsigned)node->render_minor);
	if (rd_sysroot_realpath(ctx->sysroot, &target, link) < 0)
		return false;
	name = strrchr(target, '/') + 1;
	if (!gpu_parse_address(name, &pci) || !gpu_find(ctx, name))
		return false;
	snprintf(ret, 24, "%s", name);
	return true;
}

/* Kernels before 5.0 print no domain: the only GPU at this place of any domain. */
static bool address_in_any_domain(struct rd_probe_ctx *ctx, const struct gpu_pci *place, char ret[24])
{
	struct rd_fact *gpu;
	bool found = false;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		struct gpu_pci pci;

		if (!gpu_parse_address(gpu_address(gpu), &pci) || pci.bus != place->bus || pci.device != place->device ||
		    pci.function != place->function)
			continue;
		if (found)
			return false;
		found = true;
		snprintf(ret, 24, "%s", gpu_address(gpu));
	}
	return found;
}

/*
 * location_id is the PCI address, with the number of a partition in the bits of the function: an address with no device
 * belongs to function 0 of its device.
 */
static void node_place(struct rd_probe_ctx *ctx, struct gpu_node *node)
{
	struct gpu_pci place = {
		.domain = (unsigned)node->domain,
		.bus = node->location_id >> 8 & 0xff,
		.device = node->location_id >> 3 & 0x1f,
		.function = node->location_id & 7,
	};
	struct gpu_pci pci;

	if (address_by_render(ctx, node, node->address)) {
		if (gpu_parse_address(node->address, &pci) && pci.function != place.function)
			node->partition = place.function;
		return;
	}
	gpu_format_address(&place, node->address);
	if (gpu_find(ctx, node->address) || (!node->has_domain && address_in_any_domain(ctx, &place, node->address)))
		return;
	node->partition = place.function;
	place.function = 0;
	gpu_format_address(&place, node->address);
}

/* Returns 1 for a GPU, 0 for a CPU, or why it could not be read. */
static int node_read(struct rd_probe_ctx *ctx, const char *name, struct gpu_node *node)
{
	rd_auto_free char *text = NULL;
	uint64_t number;
	int r;

	if (rd_str_to_u64(name, 10, &number) < 0 || number > 0xffff)
		return 0;
	*node = (struct gpu_node){ .number = (unsigned)number };
	r = rd_sysroot_readf_u64(ctx->sysroot, &node->gpu_id, GPU_KFD_NODES "/%s/gpu_id", name);
	if (r < 0 && r != -ENOENT)
		return r;
	node->has_gpu_id = r == 0;
	if (node->has_gpu_id && !node->gpu_id)
		return 0;
	r = rd_sysroot_readf(ctx->sysroot, &text, GPU_KFD_NODES "/%s/properties", name);
	if (r < 0)
		return r;
	node_parse(node, text);
	if (!node->simd_count)
		return 0;
	node_place(ctx, node);
	return 1;
}

static int by_number(const void *a, const void *b)
{
	const struct gpu_node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int gpu_nodes_read(struct rd_probe_ctx *ctx, struct gpu_nodes *ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	struct gpu_nodes nodes = { 0 };
	size_t allocated = 0;
	int r = rd_sysroot_list(ctx->sysroot, &names, GPU_KFD_NODES);

	if (r < 0 && r != -ENOENT)
		return r;
	nodes.present = r >= 0;
	for (size_t i = 0; i < names.n; i++) {
		struct gpu_node node;

		r = node_read(ctx, names.v[i], &node);
		if (r < 0) {
			nodes.hidden++;
			nodes.error = r;
		} else if (r == 0) {
			nodes.cpu_nodes++;
		} else {
			RD_GROW(nodes.v, nodes.n, allocated);
			nodes.v[nodes.n++] = node;
		}
	}
	if (nodes.n)
		qsort(nodes.v, nodes.n, sizeof(*nodes.v), by_number);
	*ret = nodes;
	return 0;
}

void gpu_nodes_clear(struct gpu_nodes *nodes)
{
	free(nodes->v);
	*nodes = (struct gpu_nodes){ 0 };
}

/* ---------------------------------------------------------------- tables */

unsigned gpu_id_of(const char *text)
{
	uint64_t value;

	return rd_str_to_u64(text, 16, &value) == 0 && value <= 0xffff ? (unsigned)value : 0;
}

bool gpu_row_true(const struct cJSON *row, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, key));
}

static const struct cJSON *row_by_id(const struct cJSON *list, unsigned device_id)
{
	const struct cJSON *row;

	cJSON_ArrayForEach (row, list) {
		if (gpu_id_of(rd_json_str(row, "id")) == device_id)
			return row;
	}
	return NULL;
}

const struct cJSON *gpu_table_device(const struct rd_knowledge *k, unsigned device_id)
{
	return row_by_id(rd_knowledge_rows(k, "gpus", "devices"), device_id);
}

const struct cJSON *gpu_table_legacy(const struct rd_knowledge *k, unsigned device_id)
{
	return row_by_id(rd_knowledge_rows(k, "gpus", "legacy"), device_id);
}

bool gpu_table_before_gcn(const struct rd_knowledge *k, unsigned device_id)
{
	const struct cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(k, "gpus", "before_gcn")) {
		if (device_id >= gpu_id_of(rd_json_str(row, "from")) && device_id <= gpu_id_of(rd_json_str(row, "to")))
			return true;
	}
	return false;
}

const struct cJSON *gpu_table_gfx(const struct rd_knowledge *k, const char *gfx)
{
	const struct cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(k, "gfx", "gfx")) {
		if (rd_streq(rd_json_str(row, "gfx"), gfx))
			return row;
	}
	return NULL;
}

const struct cJSON *gpu_table_gfx_by_gc(const struct rd_knowledge *k, const char *gc)
{
	const struct cJSON *row, *version;

	cJSON_ArrayForEach (row, rd_knowledge_rows(k, "gfx", "gfx")) {
		cJSON_ArrayForEach (version, cJSON_GetObjectItemCaseSensitive(row, "gc")) {
			if (cJSON_IsString(version) && rd_streq(version->valuestring, gc))
				return row;
		}
	}
	return NULL;
}
