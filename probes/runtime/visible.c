/*
 * Which GPUs do the visible-devices variables leave, in which order?
 *
 * ROCR_VISIBLE_DEVICES counts GPUs in the order of their KFD nodes, HIP_VISIBLE_DEVICES (else CUDA_VISIBLE_DEVICES) counts
 * what that left. Source: ROCr core/runtime/amd_filter_device.cpp, CLR rocclr/device/rocm/rocdevice.cpp.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* One KFD node: a GPU, or a partition of one. */
struct device {
	int64_t node;
	size_t gpu;       /* index in gpus[] */
	const char *uuid; /* "GPU-0123456789abcdef"; "" where it is not known */
};

struct devices {
	struct device *v;
	size_t n, allocated;
};

/* How a list of tokens ended. */
struct verdict {
	char *bad_token;
	const char *problem; /* "" for none */
	bool unknown;        /* a UUID is named and those of the GPUs are not known */
};

static void add_device(struct devices *devices, int64_t node, size_t gpu, const char *uuid)
{
	RD_GROW(devices->v, devices->n, devices->allocated);
	devices->v[devices->n++] = (struct device){ node, gpu, uuid };
}

static int compare_nodes(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* A GPU whose render node is not in this container, or which its device group forbids, is not counted by the runtime. */
static bool can_be_opened(const struct rd_fact *facts, const char *address)
{
	const struct rd_fact *render = rd_fact_get(facts, "device.render");

	if (rd_fact_state(render) != RD_FACT_KNOWN || !rd_fact_count(render))
		return true;
	for (size_t i = 0; i < rd_fact_count(render); i++) {
		const struct rd_fact *node = rd_fact_at(render, i);
		const char *open = rd_fact_get_str(node, "open");

		if (rd_streq(rd_fact_get_str(node, "gpu"), address))
			return !rd_streq(open, "EPERM") && !rd_streq(open, "ENOENT");
	}
	return false;
}

static void list_devices(const struct rd_fact *facts, struct devices *devices)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i), *partitions = rd_fact_get(gpu, "partitions");
		const char *uuid = rd_fact_get_str(gpu, "kfd.uuid");

		if (!can_be_opened(facts, rd_fact_get_str(gpu, "pci.address")))
			continue;
		for (size_t k = 0; k < rd_fact_count(partitions); k++)
			add_device(devices, rd_fact_get_int(rd_fact_at(partitions, k), "kfd_node"), i, uuid);
		if (!rd_fact_count(partitions) && rd_fact_get_int(gpu, "kfd.node") > 0)
			add_device(devices, rd_fact_get_int(gpu, "kfd.node"), i, uuid);
	}
	if (devices->n)
		qsort(devices->v, devices->n, sizeof(*devices->v), compare_nodes);
}

static bool holds(const struct devices *devices, int64_t node)
{
	for (size_t i = 0; i < devices->n; i++)
		if (devices->v[i].node == node)
			return true;
	return false;
}

/* The device that begins with (or, for HIP, is named in) a UUID; -1 for none or several, -2 where UUIDs are not known. */
static int find_uuid(const struct devices *from, const char *token)
{
	int found = -1;

	for (size_t i = 0; i < from->n; i++) {
		if (!*from->v[i].uuid)
			return -2;
		if (strncasecmp(from->v[i].uuid, token, strlen(token)) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static void end_list(struct verdict *verdict, const char *token, const char *problem)
{
	verdict->bad_token = rd_xstrdup(token);
	verdict->problem = problem;
}

static void filter_rocr(const struct devices *from, const char *value, struct devices *to, struct verdict *verdict)
{
	rd_auto_strv struct rd_strv tokens = RD_STRV_INIT;

	rd_strv_split(&tokens, value, ",", true);
	if (!*value)
		return;
	for (size_t i = 0; i < tokens.n && i < from->n; i++) {
		char *token = rd_str_strip(tokens.v[i]), *end;
		long index;

		if (!*token)
			return end_list(verdict, "", "an empty item makes the runtime give up");
		if (toupper((unsigned char)*token) == 'G') {
			index = find_uuid(from, token);
		} else {
			index = strtol(token, &end, 0);
			if (end == token)
				index = -1;
		}
		if (index == -2) {
			verdict->unknown = true;
			return;
		}
		if (index < 0 || (size_t)index >= from->n)
			return end_list(verdict, token, "names no GPU that is there, and the list ends before it");
		if (holds(to, from->v[index].node))
			return end_list(verdict, token, "is named twice, and the list ends before it");
		add_device(to, from->v[index].node, from->v[index].gpu, from->v[index].uuid);
	}
}

static bool is_plain_number(const char *token)
{
	size_t len = strspn(token, "0123456789");

	return len && len < 6 && !token[len] && (*token != '0' || len == 1);
}

static void filter_hip(const struct devices *from, const char *value, struct devices *to, struct verdict *verdict)
{
	rd_auto_strv struct rd_strv tokens = RD_STRV_INIT;

	rd_strv_split(&tokens, value, ",", true);
	for (size_t i = 0; i < tokens.n; i++) {
		const char *token = tokens.v[i], *uuid = strstr(token, "GPU-");
		long index = -1;

		if (uuid)
			index = find_uuid(from, uuid);
		else if (is_plain_number(token))
			index = strtol(token, NULL, 10);
		if (index == -2) {
			verdict->unknown = true;
			return;
		}
		if (index < 0 || (size_t)index >= from->n)
			return end_list(verdict, token, "names no GPU that is left, and the list ends before it");
		if (!holds(to, from->v[index].node))
			add_device(to, from->v[index].node, from->v[index].gpu, from->v[index].uuid);
	}
}

typedef void filter_function(const struct devices *from, const char *value, struct devices *to, struct verdict *verdict);

static bool has_gpu(const struct devices *devices, size_t gpu)
{
	for (size_t i = 0; i < devices->n; i++)
		if (devices->v[i].gpu == gpu)
			return true;
	return false;
}

/* Where some are left, those that are not: programs see a GPU then. */
static void set_hidden(struct rd_probe_ctx *ctx, struct rd_fact *item, const struct devices *before, const struct devices *left)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	const char *variable = rd_fact_get_str(item, "variable");

	rd_fact_set_list(item, "hidden_gpus", variable);
	for (size_t i = 0; i < rd_fact_count(gpus) && left->n; i++)
		if (has_gpu(before, i) && !has_gpu(left, i))
			rd_fact_append_str(item, "hidden_gpus", rd_fact_get_str(rd_fact_at(gpus, i), "pci.address"), variable);
}

/* Returns false where the outcome is not known. */
static bool apply(struct rd_probe_ctx *ctx, struct devices *devices, const char *variable, const char *value,
                  filter_function *filter)
{
	struct verdict verdict = { .problem = "" };
	struct devices left = { 0 };
	struct rd_fact *item;

	filter(devices, value, &left, &verdict);
	item = rd_fact_append(ctx->facts, "runtime.visible.filters", variable);
	rd_fact_set_str(item, "variable", variable, variable);
	rd_fact_set_str(item, "value", value, variable);
	rd_fact_set_int(item, "before_count", (int64_t)devices->n, variable);
	rd_fact_set_int(item, "last_index", devices->n ? (int64_t)devices->n - 1 : 0, variable);
	if (!verdict.unknown) {
		rd_fact_set_int(item, "after_count", (int64_t)left.n, variable);
		rd_fact_set_str(item, "bad_token", verdict.bad_token ? verdict.bad_token : "", variable);
		rd_fact_set_str(item, "problem", verdict.problem, variable);
		set_hidden(ctx, item, devices, &left);
	} else {
		static const char why[] = "the UUIDs of the GPUs are not known";

		rd_fact_set_unknown_why(item, "after_count", why, variable);
		rd_fact_set_unknown_why(item, "bad_token", why, variable);
		rd_fact_set_unknown_why(item, "problem", why, variable);
		rd_fact_set_unknown_why(item, "hidden_gpus", why, variable);
	}
	free(verdict.bad_token);
	free(devices->v);
	*devices = left;
	return !verdict.unknown;
}

static void set_unknown(struct rd_probe_ctx *ctx, const char *why)
{
	static const char *const paths[] = { "runtime.visible.devices", "runtime.visible.count",
		                             "runtime.visible.hidden_count" };
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
		rd_fact_set_unknown_why(ctx->facts, paths[i], why, NULL);
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_fact_set_unknown_why(rd_fact_at_mutable(gpus, i), "visible", why, NULL);
}

static void set_outcome(struct rd_probe_ctx *ctx, const struct devices *all, const struct devices *left, const char *source)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	rd_fact_set_int(ctx->facts, "runtime.visible.count", (int64_t)left->n, source);
	rd_fact_set_int(ctx->facts, "runtime.visible.hidden_count", (int64_t)(all->n - left->n), source);
	rd_fact_set_list(ctx->facts, "runtime.visible.devices", source);
	for (size_t i = 0; i < left->n; i++)
		rd_fact_append_str(ctx->facts, "runtime.visible.devices",
		                   rd_fact_get_str(rd_fact_at(gpus, left->v[i].gpu), "pci.address"), source);
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const char *address = rd_fact_get_str(rd_fact_at(gpus, i), "pci.address");
		/* A GPU that KFD does not have is hidden by no variable, but a container hides what it was not given. */
		bool given = !*rd_fact_get_str(ctx->facts, "host.container") || can_be_opened(ctx->facts, address);
		bool visible = has_gpu(left, i) || (!has_gpu(all, i) && given);

		rd_fact_set_bool(rd_fact_at_mutable(gpus, i), "visible", visible, source);
	}
}

/*
 * What ROCR_VISIBLE_DEVICES would have to be to leave the cards and hide the GPUs of processors. By UUID, which stays the
 * same when a device comes or goes, where the card has one; a partitioned card is all its partitions.
 */
static void propose_cards(struct rd_probe_ctx *ctx, const struct devices *all)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < all->n; i++) {
		bool once = (i == 0 || all->v[i - 1].gpu != all->v[i].gpu) &&
		            (i + 1 == all->n || all->v[i + 1].gpu != all->v[i].gpu);

		if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, all->v[i].gpu), "kind"), "apu"))
			continue;
		rd_strbuf_addf(&sb, "%s", sb.len ? "," : "");
		if (*all->v[i].uuid && once)
			rd_strbuf_add(&sb, all->v[i].uuid);
		else
			rd_strbuf_addf(&sb, "%zu", i);
	}
	rd_fact_set_str(ctx->facts, "runtime.visible.cards", sb.buf, "gpus");
}

static int run(struct rd_probe_ctx *ctx)
{
	const char *rocr, *hip = NULL, *cuda = NULL, *source = "no visible-devices variable is set";
	struct devices all = { 0 }, left = { 0 };
	bool known = true;
	int has_rocr;

	has_rocr = rd_sysroot_getenv(ctx->sysroot, &rocr, "ROCR_VISIBLE_DEVICES");
	if (has_rocr < 0 || rd_sysroot_getenv(ctx->sysroot, &hip, "HIP_VISIBLE_DEVICES") < 0 ||
	    rd_sysroot_getenv(ctx->sysroot, &cuda, "CUDA_VISIBLE_DEVICES") < 0) {
		set_unknown(ctx, rd_strerror(ENODATA));
		return has_rocr < 0 ? has_rocr : -ENODATA;
	}
	list_devices(ctx->facts, &all);
	propose_cards(ctx, &all);
	for (size_t i = 0; i < all.n; i++)
		add_device(&left, all.v[i].node, all.v[i].gpu, all.v[i].uuid);
	rd_fact_set_list(ctx->facts, "runtime.visible.filters", "environment of the process");
	if (has_rocr) {
		known = apply(ctx, &left, source = "ROCR_VISIBLE_DEVICES", rocr, filter_rocr);
	}
	if (known && hip && *hip)
		known = apply(ctx, &left, source = "HIP_VISIBLE_DEVICES", hip, filter_hip);
	else if (known && cuda && *cuda)
		known = apply(ctx, &left, source = "CUDA_VISIBLE_DEVICES", cuda, filter_hip);
	if (!known)
		set_unknown(ctx, "the UUIDs of the GPUs are not known");
	else
		set_outcome(ctx, &all, &left, source);
	rd_fact_set_int(ctx->facts, "runtime.visible.total_count", (int64_t)all.n, "kernel.kfd, device.render");
	free(all.v);
	free(left.v);
	return 0;
}

#define FILTERS "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES"

const struct rd_probe rd_probe_runtime_visible = {
	.name = "runtime/visible",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/environment",
	.summary = "GPUs that the visible-devices variables leave",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].visible", RD_BOOL, "no visible-devices variable hides it", FILTERS },
			{ "runtime.visible.devices[]", RD_STRS, "PCI addresses that HIP sees, in its order (a partition each)",
	                  FILTERS },
			{ "runtime.visible.count", RD_INT, "how many devices HIP sees", FILTERS },
			{ "runtime.visible.hidden_count", RD_INT, "how many devices the variables hide", FILTERS },
			{ "runtime.visible.total_count", RD_INT, "how many devices there are before any variable",
	                  "KFD and render nodes" },
			{ "runtime.visible.cards", RD_STR,
	                  "value of ROCR_VISIBLE_DEVICES that leaves only GPUs that are no part of a processor", "gpus" },
			{ "runtime.visible.filters[]", RD_LIST,
	                  "variables that are set, in the order in which they take effect", FILTERS },
			{ "runtime.visible.filters[].variable", RD_STR, "its name", FILTERS },
			{ "runtime.visible.filters[].value", RD_STR, "its value", FILTERS },
			{ "runtime.visible.filters[].before_count", RD_INT, "devices before it", FILTERS },
			{ "runtime.visible.filters[].last_index", RD_INT, "highest index that names a device", FILTERS },
			{ "runtime.visible.filters[].after_count", RD_INT, "devices that it leaves", FILTERS },
			{ "runtime.visible.filters[].hidden_gpus[]", RD_STRS, "GPUs that it hides, where it leaves others",
	                  FILTERS },
			{ "runtime.visible.filters[].bad_token", RD_STR, "item at which the runtime stops reading", FILTERS },
			{ "runtime.visible.filters[].problem", RD_STR, "what is wrong with that item", FILTERS },
			{ 0 },
		},
	.run = run,
};
