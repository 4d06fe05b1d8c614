/* How many topology nodes does KFD publish, how many of them are GPUs, and did it register its device at all? */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"

/* "235 kfd" among the character devices of /proc/devices. */
static int is_registered(struct rd_sysroot *sr)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r = rd_sysroot_read(sr, &text, "/proc/devices");

	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		char *name = strrchr(line, ' ');

		if (name && rd_streq(name + 1, "kfd"))
			return 1;
	}
	return 0;
}

/* The number of GPU nodes, or what kept a node from being read: then no count can be given. */
/* Some recorded topologies lack gpu_id: a CPU node has no SIMDs. */
static bool has_simds(struct rd_sysroot *sr, const char *node)
{
	rd_auto_free char *text = NULL;
	const char *at;

	if (rd_sysroot_readf(sr, &text, NODES "/%s/properties", node) < 0)
		return false;
	at = strstr(text, "simd_count ");
	return at && strtoul(at + strlen("simd_count "), NULL, 10) > 0;
}

static int count_gpus(struct rd_sysroot *sr, const struct rd_strv *names, int64_t *ret)
{
	int64_t gpus = 0;

	for (size_t i = 0; i < names->n; i++) {
		uint64_t id;
		int r = rd_sysroot_readf_u64(sr, &id, NODES "/%s/gpu_id", names->v[i]);

		/* EPERM: a device cgroup hides this GPU, so the count is not known. ENODEV: it goes away meanwhile. */
		if (r == -ENODEV)
			continue;
		if (r == -ENOENT) {
			gpus += has_simds(sr, names->v[i]);
			continue;
		}
		if (r < 0)
			return r;
		/* A CPU node has gpu_id 0. */
		gpus += id != 0;
	}
	*ret = gpus;
	return 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	struct rd_fact *facts = ctx->facts;
	int64_t gpus = 0;
	int registered, r;

	registered = is_registered(ctx->sysroot);
	if (registered < 0)
		rd_fact_set_unknown(facts, "kernel.kfd.registered", registered, "/proc/devices");
	else
		rd_fact_set_bool(facts, "kernel.kfd.registered", registered, "/proc/devices");

	/* The class without a topology: a driver whose KFD did not come up. */
	r = rd_sysroot_exists(ctx->sysroot, "/sys/class/kfd");
	if (r < 0)
		return r;
	rd_fact_set_bool(facts, "kernel.kfd.present", r, "/sys/class/kfd");
	r = rd_sysroot_list(ctx->sysroot, &names, NODES);
	if (r < 0 && r != -ENOENT)
		return r;
	rd_fact_set_int(facts, "kernel.kfd.topology_nodes", (int64_t)names.n, NODES);
	r = count_gpus(ctx->sysroot, &names, &gpus);
	if (r < 0)
		return r;
	rd_fact_set_int(facts, "kernel.kfd.gpu_nodes", gpus, NODES);
	return 0;
}

const struct rd_probe rd_probe_kernel_kfd = {
	.name = "kernel/kfd",
	.layer = RD_LAYER_KERNEL,
	.summary = "KFD topology",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.kfd.present", RD_BOOL, "the KFD class exists in sysfs", "/sys/class/kfd" },
			{ "kernel.kfd.registered", RD_BOOL, "the kernel has a character device named kfd", "/proc/devices" },
			{ "kernel.kfd.topology_nodes", RD_INT, "topology nodes, CPUs included", NODES },
			{ "kernel.kfd.gpu_nodes", RD_INT, "topology nodes that are GPUs", NODES "/*/gpu_id" },
			{ 0 },
		},
	.run = run,
};
