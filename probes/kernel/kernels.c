/* Which kernels are installed, is the newest of them running, has the running one its headers? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

#define MODULES "/lib/modules"
#define LIST "kernel.installed"

static bool has_any(struct rd_sysroot *sr, const char *const *places, size_t n, const char *release)
{
	for (size_t i = 0; i < n; i++) {
		const char *mark = strchr(places[i], '@');

		if (rd_sysroot_existsf(sr, "%.*s%s%s", (int)(mark - places[i]), places[i], release, mark + 1) > 0)
			return true;
	}
	return false;
}

/* A kernel that could be booted; a folder of modules alone may be what DKMS left of a removed one. */
static bool is_bootable(struct rd_sysroot *sr, const char *release)
{
	static const char *const places[] = { "/boot/vmlinuz-@", "/lib/modules/@/vmlinuz", "/boot/vmlinux-@", "/boot/Image-@" };

	return has_any(sr, places, RD_ARRAY_SIZE(places), release);
}

static bool has_headers(struct rd_sysroot *sr, const char *release)
{
	static const char *const places[] = { "/lib/modules/@/build/Makefile", "/usr/src/linux-headers-@/Makefile",
		                              "/usr/src/kernels/@/Makefile" };

	return has_any(sr, places, RD_ARRAY_SIZE(places), release);
}

static bool same_flavour(const char *a, const char *b)
{
	rd_auto_free char *own = kernel_flavour(a);
	rd_auto_free char *other = kernel_flavour(b);

	return rd_streq(own, other);
}

/* The newest installed kernel of the running one's flavour, where it is newer: a reboot would start it. */
static void judge(struct rd_fact *facts, const char *running)
{
	const struct rd_fact *list = rd_fact_get(facts, LIST);
	const char *newest = running;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *release = rd_fact_get_str(rd_fact_at(list, i), "release");

		if (same_flavour(release, running) && rd_version_compare(release, newest, RD_VERSION_KERNEL) > 0)
			newest = release;
	}
	rd_fact_set_bool(facts, "kernel.newer_installed", newest != running, MODULES);
	rd_fact_set_str(facts, "kernel.newest", newest, MODULES);
}

static int list_kernels(struct rd_probe_ctx *ctx, const char *running, bool *ret_running_there)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &names, MODULES);

	if (r == -ENOENT)
		r = rd_sysroot_list(ctx->sysroot, &names, "/usr" MODULES);
	rd_fact_set_list(ctx->facts, LIST, MODULES);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		struct rd_fact *item;
		bool runs = rd_streq(names.v[i], running);

		*ret_running_there |= runs;
		if (!runs && !is_bootable(ctx->sysroot, names.v[i]))
			continue;
		item = rd_fact_append(ctx->facts, LIST, MODULES);
		rd_fact_set_str(item, "release", names.v[i], MODULES);
		rd_fact_set_bool(item, "running", runs, MODULES);
		rd_fact_set_bool(item, "headers", has_headers(ctx->sysroot, names.v[i]), "/usr/src");
	}
	return r == -ENOENT ? 0 : r;
}

static void set_unknown(struct rd_fact *facts)
{
	static const char *const paths[] = { LIST, "kernel.newer_installed", "kernel.newest", "kernel.removed",
		                             "kernel.headers" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
		rd_fact_set_unknown_why(facts, paths[i], KERNEL_NOT_THE_HOST, MODULES);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *running = NULL, *flavour = NULL;
	bool there = false;
	int r;

	rd_probe_int(ctx, ctx->facts, "kernel.tainted", "/proc/sys/kernel/tainted");
	r = kernel_release(ctx, &running);
	if (r < 0)
		return r;
	flavour = kernel_flavour(running);
	rd_fact_set_str(ctx->facts, "kernel.flavour", flavour, "/proc/sys/kernel/osrelease");
	rd_fact_set_bool(ctx->facts, "kernel.backports",
	                 strstr(running, ".el") || strstr(running, "uek") || strstr(running, ".amzn") ||
	                         rd_streq(flavour, "default"),
	                 "/proc/sys/kernel/osrelease");
	if (kernel_in_container(ctx)) {
		set_unknown(ctx->facts);
		return 0;
	}
	rd_fact_set_bool(ctx->facts, "kernel.headers", has_headers(ctx->sysroot, running), MODULES "/RELEASE/build");
	r = list_kernels(ctx, running, &there);
	if (r < 0)
		return r;
	judge(ctx->facts, running);
	/* An update took the running kernel's modules away: nothing more can be loaded before a reboot. */
	rd_fact_set_bool(ctx->facts, "kernel.removed", !there && rd_fact_count(rd_fact_get(ctx->facts, LIST)) > 0, MODULES);
	return 0;
}

const struct rd_probe rd_probe_kernel_kernels = {
	.name = "kernel/kernels",
	.layer = RD_LAYER_KERNEL,
	.summary = "installed kernels against the running one",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.flavour", RD_STR, "what follows the numbers of the release: generic, cloud-amd64, x86_64",
	                  "/proc/sys/kernel/osrelease" },
			{ "kernel.backports", RD_BOOL, "an enterprise kernel, whose number says nothing of its drivers",
	                  "/proc/sys/kernel/osrelease" },
			{ "kernel.tainted", RD_INT, "taint bits of the kernel", "/proc/sys/kernel/tainted" },
			{ LIST "[]", RD_LIST, "kernels that could be booted, and the running one, by release", MODULES },
			{ LIST "[].release", RD_STR, "release", MODULES, RD_VERSION_KERNEL },
			{ LIST "[].running", RD_BOOL, "it is the one that runs", MODULES },
			{ LIST "[].headers", RD_BOOL, "its headers are there, so that modules can be built for it",
	                  "/usr/src" },
			{ "kernel.newest", RD_STR, "newest installed kernel of the running one's flavour", MODULES,
	                  RD_VERSION_KERNEL },
			{ "kernel.newer_installed", RD_BOOL, "that is newer than the running one", MODULES },
			{ "kernel.removed", RD_BOOL, "the running kernel's modules are gone, those of another are there",
	                  MODULES },
			{ "kernel.headers", RD_BOOL, "headers of the running kernel are there", MODULES "/RELEASE/build" },
			{ 0 },
		},
	.run = run,
};
