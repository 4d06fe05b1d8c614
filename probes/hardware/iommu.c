/* Does an IOMMU stand between GPUs and memory, and does it translate? */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"

#include "common-gpu.h"

static const char groups_dir[] = "/sys/kernel/iommu_groups";

static void add_listed(struct rd_probe_ctx *ctx, const struct rd_strv *groups, struct rd_strv *ret)
{
	for (size_t i = 0; i < groups->n; i++) {
		rd_auto_strv struct rd_strv devices = RD_STRV_INIT;

		if (rd_sysroot_listf(ctx->sysroot, &devices, "%s/%s/devices", groups_dir, groups->v[i]) < 0)
			continue;
		for (size_t k = 0; k < devices.n; k++)
			if (gpu_find(ctx, devices.v[k]))
				rd_strv_push_unique(ret, groups->v[i]);
	}
}

/* By each GPU's link to its group; where one has none, by what the groups list. */
static void groups_of_gpus(struct rd_probe_ctx *ctx, const struct rd_strv *groups, struct rd_strv *ret)
{
	struct rd_fact *gpu;
	bool all = true;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		rd_auto_free char *group = NULL;

		if (gpu_link_name(ctx, gpu, &group, "iommu_group") == 0 && rd_strv_has(groups, group))
			rd_strv_push_unique(ret, group);
		else
			all = false;
	}
	if (!all)
		add_listed(ctx, groups, ret);
	rd_strv_sort(ret);
}

/* "identity" is passed through; "DMA" and "DMA-FQ" are translated. Others (blocked) are no domain of the kernel's own. */
static const char *mode_of_type(const char *type)
{
	if (rd_streq(type, "identity"))
		return "passthrough";
	return rd_str_has_prefix(type, "DMA") ? "translated" : NULL;
}

/* Translated where they differ; NULL: not told. */
static const char *mode_of_groups(struct rd_sysroot *sr, const struct rd_strv *groups, struct rd_strbuf *ret_source)
{
	const char *mode = NULL;

	for (size_t i = 0; i < groups->n; i++) {
		rd_auto_free char *type = NULL;
		const char *found;

		/* The attribute is there since Linux 4.17. */
		if (rd_sysroot_readf_line(sr, &type, "%s/%s/type", groups_dir, groups->v[i]) < 0)
			continue;
		found = mode_of_type(type);
		if (!found || (mode && rd_streq(mode, "translated")))
			continue;
		mode = found;
		rd_strbuf_truncate(ret_source, 0);
		rd_strbuf_addf(ret_source, "%s/%s/type", groups_dir, groups->v[i]);
	}
	return mode;
}

/* What the command line asks for: names the mode, or NULL. The last word of a kind wins. */
static const char *mode_of_cmdline(const struct rd_fact *facts)
{
	const struct rd_fact *words = rd_fact_get(facts, "host.kernel.cmdline");
	const char *mode = NULL;

	for (size_t i = 0; i < rd_fact_count(words); i++) {
		const char *word = rd_fact_str(rd_fact_at(words, i));

		if (rd_streq(word, "iommu=pt") || rd_streq(word, "iommu.passthrough=1") || rd_streq(word, "amd_iommu=pt"))
			mode = "passthrough";
		else if (rd_streq(word, "iommu=nopt") || rd_streq(word, "iommu.passthrough=0"))
			mode = "translated";
	}
	return mode;
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_strbuf struct rd_strbuf source = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv groups = RD_STRV_INIT, used = RD_STRV_INIT;
	const char *mode;
	int r;

	r = rd_sysroot_list(ctx->sysroot, &groups, groups_dir);
	if (r < 0 && r != -ENOENT)
		return r;
	/* Every kernel with IOMMU support has the folder; in a tree without any of /sys/kernel nobody looked. */
	if (r == -ENOENT && rd_sysroot_exists(ctx->sysroot, "/sys/kernel") != 1)
		return -ENODATA;
	rd_fact_set_int(ctx->facts, "host.iommu.groups", (int64_t)groups.n, groups_dir);
	if (!groups.n) {
		rd_fact_set_str(ctx->facts, "host.iommu.mode", "off", groups_dir);
		return 0;
	}
	groups_of_gpus(ctx, &groups, &used);
	mode = mode_of_groups(ctx->sysroot, &used, &source);
	if (!mode)
		mode = mode_of_groups(ctx->sysroot, &groups, &source);
	if (!mode) {
		mode = mode_of_cmdline(ctx->facts);
		rd_strbuf_add(&source, "/proc/cmdline");
	}
	if (mode)
		rd_fact_set_str(ctx->facts, "host.iommu.mode", mode, source.buf);
	else
		rd_fact_set_unknown_why(ctx->facts, "host.iommu.mode", "the kernel does not say how its groups map memory",
		                        groups_dir);
	return 0;
}

const struct rd_probe rd_probe_hardware_iommu = {
	.name = "hardware/iommu",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/gpus",
	.summary = "IOMMU mode",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.iommu.mode", RD_STR, "for the GPUs: off, passthrough or translated",
	                  "/sys/kernel/iommu_groups/*/type, /proc/cmdline" },
			{ "host.iommu.groups", RD_INT, "IOMMU groups; 0: no IOMMU in use", "/sys/kernel/iommu_groups" },
			{ 0 },
		},
	.run = run,
};
