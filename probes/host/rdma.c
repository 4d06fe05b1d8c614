/* Which RDMA devices (InfiniBand, RoCE) are there? */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/strv.h"

static const char class[] = "/sys/class/infiniband";

/* "4: ACTIVE" -> "ACTIVE" */
static void set_state(struct rd_probe_ctx *ctx, struct rd_fact *item, const char *name)
{
	rd_auto_free char *text = NULL;
	char *colon;
	int r;

	r = rd_sysroot_readf_line(ctx->sysroot, &text, "%s/%s/ports/1/state", class, name);
	if (r < 0) {
		rd_fact_set_unknown(item, "state", r, class);
		return;
	}
	colon = strstr(text, ": ");
	rd_fact_set_str(item, "state", colon ? colon + 2 : text, class);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	r = rd_sysroot_list(ctx->sysroot, &names, class);
	if (r < 0 && r != -ENOENT)
		return r;
	rd_fact_set_list(ctx->facts, "host.rdma", class);
	for (size_t i = 0; i < names.n; i++) {
		struct rd_fact *item = rd_fact_append(ctx->facts, "host.rdma", class);

		rd_fact_set_str(item, "name", names.v[i], class);
		set_state(ctx, item, names.v[i]);
		rd_probe_str(ctx, item, "link_layer", "%s/%s/ports/1/link_layer", class, names.v[i]);
	}
	return 0;
}

const struct rd_probe rd_probe_host_rdma = {
	.name = "host/rdma",
	.layer = RD_LAYER_HOST,
	.summary = "RDMA devices",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.rdma[]", RD_LIST, "RDMA devices, by name", "/sys/class/infiniband" },
			{ "host.rdma[].name", RD_STR, "the device", "/sys/class/infiniband" },
			{ "host.rdma[].state", RD_STR, "state of its first port (ACTIVE, DOWN)",
	                  "/sys/class/infiniband/*/ports/1/state" },
			{ "host.rdma[].link_layer", RD_STR, "InfiniBand or Ethernet",
	                  "/sys/class/infiniband/*/ports/1/link_layer" },
			{ 0 },
		},
	.run = run,
};
