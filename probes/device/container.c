/*
 * What would give this container the GPUs: the options of its engine, with the numbers of this host.
 *
 * Derived from facts alone, since a rule's text cannot choose between engines.
 */

#include <string.h>

#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* More than this many nodes, and the whole folder is passed. */
enum { NODES_MAX = 4 };

/* Paths of the render nodes that a program needs here, also of those that are missing. */
static void list_nodes(const struct rd_fact *facts, struct rd_strv *ret)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i), *partitions = rd_fact_get(gpu, "partitions");
		const char *path = rd_fact_get_str(gpu, "render_node.path");

		if (*path)
			rd_strv_push_unique(ret, path);
		for (size_t k = 0; k < rd_fact_count(partitions); k++) {
			const char *render = rd_fact_get_str(rd_fact_at(partitions, k), "render");

			rd_auto_free char *node = rd_xasprintf("/dev/dri/%s", render);

			if (rd_str_has_prefix(render, "renderD"))
				rd_strv_push_unique(ret, node);
		}
	}
	if (!ret->n)
		rd_strv_push(ret, "/dev/dri");
}

/* Numbers of the groups that own the nodes; root's, and what a user namespace makes of a foreign one, help nobody. */
static void list_gids(const struct rd_fact *facts, struct rd_strv *ret)
{
	const struct rd_fact *nodes = rd_fact_get(facts, "device.nodes");

	for (size_t i = 0; i < rd_fact_count(nodes); i++) {
		const struct rd_fact *node = rd_fact_at(nodes, i);
		rd_auto_strv struct rd_strv number = RD_STRV_INIT;
		int64_t gid = rd_fact_get_int(node, "gid");

		if (gid == 0 || rd_streq(rd_fact_get_str(node, "denied_by"), "namespace"))
			continue;
		rd_strv_pushf(&number, "%lld", (long long)gid);
		rd_strv_push_unique(ret, number.v[0]);
	}
}

/* "--device /dev/kfd --device /dev/dri/renderD128 --group-add 992" */
static void add_options(struct rd_strbuf *sb, const struct rd_strv *nodes, const struct rd_strv *gids)
{
	rd_strbuf_add(sb, "--device /dev/kfd");
	if (nodes->n > NODES_MAX)
		rd_strbuf_add(sb, " --device /dev/dri");
	for (size_t i = 0; nodes->n <= NODES_MAX && i < nodes->n; i++)
		rd_strbuf_addf(sb, " --device %s", nodes->v[i]);
	for (size_t i = 0; i < gids->n; i++)
		rd_strbuf_addf(sb, " --group-add %s", gids->v[i]);
	/* The shell of the host asks the node: nothing in here knows its group. */
	if (!gids->n)
		rd_strbuf_add(sb, " --group-add $(stat -c %g /dev/kfd)");
}

static void join(struct rd_strbuf *sb, const struct rd_strv *list, const char *otherwise)
{
	for (size_t i = 0; i < list->n; i++)
		rd_strbuf_addf(sb, "%s%s", i ? ", " : "", list->v[i]);
	if (!list->n)
		rd_strbuf_add(sb, otherwise);
}

static bool has_sign(const struct rd_fact *facts, const char *sign)
{
	const struct rd_fact *signs = rd_fact_get(facts, "host.container_signs");

	for (size_t i = 0; i < rd_fact_count(signs); i++)
		if (rd_streq(rd_fact_str(rd_fact_at(signs, i)), sign))
			return true;
	return false;
}

/* Engines that take docker's options. */
static void describe_docker(const struct rd_fact *facts, const struct rd_strv *nodes, const struct rd_strv *gids,
                            struct rd_strbuf *sb)
{
	struct rd_strv keep = { .v = (char *[]){ (char *)"keep-groups" }, .n = 1 };
	bool podman = rd_streq(rd_fact_get_str(facts, "host.container"), "podman");
	bool rootless = rd_fact_get_bool(facts, "host.user_namespace.active");
	bool distrobox = has_sign(facts, "environment DISTROBOX_ENTER_PATH");

	if (distrobox) {
		rd_strbuf_add(sb, "distrobox create --additional-flags \"");
		add_options(sb, nodes, podman && rootless ? &keep : gids);
		rd_strbuf_add(sb, "\" ...");
		return;
	}
	/* A rootless docker cannot keep the groups of who started it. */
	rd_strbuf_add(sb, podman ? "podman run " : rootless ? "sudo docker run " : "docker run ");
	add_options(sb, nodes, podman && rootless ? &keep : gids);
	rd_strbuf_add(sb, podman || !rootless ? " ..." : " ... (an engine that runs as root)");
}

static void describe(const struct rd_fact *facts, struct rd_strbuf *sb)
{
	const char *kind = rd_fact_get_str(facts, "host.container"), *gid;
	rd_auto_strv struct rd_strv nodes = RD_STRV_INIT, gids = RD_STRV_INIT;

	list_nodes(facts, &nodes);
	list_gids(facts, &gids);
	gid = gids.n ? gids.v[0] : "$(stat -c %g /dev/kfd)";
	if (rd_streq(kind, "docker") || rd_streq(kind, "podman")) {
		describe_docker(facts, &nodes, &gids, sb);
	} else if (rd_streq(kind, "k8s")) {
		rd_strbuf_add(sb, "resources.limits amd.com/gpu (AMD's device plugin), securityContext.supplementalGroups [");
		join(sb, &gids, "gid of /dev/kfd on the node");
		rd_strbuf_add(sb, "]");
	} else if (rd_streq(kind, "lxc")) {
		rd_strbuf_addf(sb,
		               "lxc config device add NAME kfd unix-char source=/dev/kfd gid=%s && "
		               "lxc config device add NAME gpu gpu gid=%s",
		               gid, gid);
	} else if (rd_streq(kind, "apptainer")) {
		rd_strbuf_add(sb, "apptainer exec --rocm --bind /dev/kfd,/dev/dri IMAGE ...");
	} else {
		rd_strbuf_add(sb, "pass /dev/kfd and ");
		join(sb, &nodes, "/dev/dri");
		rd_strbuf_addf(sb, " into the container, with group %s", gid);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	if (!*rd_fact_get_str(ctx->facts, "host.container"))
		return 0;
	describe(ctx->facts, &sb);
	rd_fact_set_str(ctx->facts, "device.container_command", sb.buf, "host.container, device.nodes");
	rd_fact_set_str(ctx->facts, "device.container_place",
	                rd_streq(rd_fact_get_str(ctx->facts, "host.container"), "k8s") ? "in the pod's manifest"
	                                                                               : "on the host",
	                "host.container");
	return 0;
}

const struct rd_probe rd_probe_device_container = {
	.name = "device/container",
	.layer = RD_LAYER_DEVICE,
	.flags = RD_PROBE_PURE,
	.needs = (const char *const[]){ "host.container", NULL },
	.summary = "how this container would get the GPUs",
	.facts =
		(const struct rd_fact_decl[]){
			{ "device.container_command", RD_STR,
	                  "what gives a container of this kind the GPUs; empty outside of one",
	                  "host.container, device.nodes" },
			{ "device.container_place", RD_STR, "where that is said; empty outside of one", "host.container" },
			{ 0 },
		},
	.run = run,
};
