/* Which package brought the driver, is it still there; are the kernel's own packages complete, and may they move on? */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define PACKAGES "runtime.packages"

static const char *const facts_of_packages[] = {
	"kernel.driver_package.name",    "kernel.driver_package.version",
	"kernel.driver_package.state",   "kernel.driver_package.installed",
	"kernel.driver_package.removed", "kernel.legacy_packages",
	"kernel.modules_extra_missing",  "kernel.pinned",
	"kernel.upgrade_packages",
};

static bool is_removed(const char *state)
{
	return rd_streq(state, "config-files") || rd_streq(state, "not-installed");
}

static const struct rd_fact *find(const struct rd_fact *list, const char *name)
{
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "name"), name))
			return rd_fact_at(list, i);
	}
	return NULL;
}

static bool is_there(const struct rd_fact *list, const char *name)
{
	const struct rd_fact *package = find(list, name);

	return package && !is_removed(rd_fact_get_str(package, "state"));
}

/* The package of the driver: one that is installed before one that was removed. */
static void describe_driver(struct rd_fact *facts, const struct rd_fact *list)
{
	static const char *const names[] = { "amdgpu-dkms", "rock-dkms", "rocm-dkms" };
	const struct rd_fact *best = NULL;

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		const struct rd_fact *package = find(list, names[i]);

		if (package &&
		    (!best || (is_removed(rd_fact_get_str(best, "state")) && !is_removed(rd_fact_get_str(package, "state")))))
			best = package;
		if (i > 0 && is_there(list, names[i]))
			rd_fact_append_str(facts, "kernel.legacy_packages", names[i], PACKAGES);
	}
	rd_fact_set_bool(facts, "kernel.driver_package.installed", best && !is_removed(rd_fact_get_str(best, "state")),
	                 PACKAGES);
	rd_fact_set_bool(facts, "kernel.driver_package.removed", best && is_removed(rd_fact_get_str(best, "state")), PACKAGES);
	if (!best)
		return;
	rd_fact_set_str(facts, "kernel.driver_package.name", rd_fact_get_str(best, "name"), PACKAGES);
	rd_fact_set_str(facts, "kernel.driver_package.version", rd_fact_get_str(best, "version"), PACKAGES);
	rd_fact_set_str(facts, "kernel.driver_package.state", rd_fact_get_str(best, "state"), PACKAGES);
}

/* What DKMS has without any package: either built by hand, or all that is left of one. */
static void describe_leftover(struct rd_fact *facts)
{
	bool tree = rd_fact_get_str(facts, "kernel.amdgpu.dkms.version")[0] != '\0';
	bool installed = rd_fact_get_bool(facts, "kernel.driver_package.installed");

	if (tree && !installed && !rd_streq(rd_fact_get_str(facts, "kernel.amdgpu.dkms.state"), "installed"))
		rd_fact_set_bool(facts, "kernel.driver_package.removed", true, "kernel.amdgpu.dkms.version");
}

/* Ubuntu splits amdgpu and what it needs from the modules that every machine needs. */
static void describe_extra(struct rd_fact *facts, const struct rd_fact *list, const char *release)
{
	rd_auto_free char *base = rd_xasprintf("linux-modules-%s", release);
	rd_auto_free char *extra = rd_xasprintf("linux-modules-extra-%s", release);
	bool lacks = rd_streq(rd_fact_get_str(facts, "kernel.amdgpu.state"), "missing") ||
	             rd_fact_count(rd_fact_get(facts, "kernel.amdgpu.missing_dependencies")) > 0;

	rd_fact_set_bool(facts, "kernel.modules_extra_missing", lacks && is_there(list, base) && !is_there(list, extra),
	                 PACKAGES);
}

/* A hold on any package that would bring the next kernel. */
static void describe_pin(struct rd_fact *facts, const struct rd_fact *list)
{
	static const char *const prefixes[] = { "linux-image", "linux-generic", "linux-modules", "kernel" };
	bool held = false;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *package = rd_fact_at(list, i);

		for (size_t j = 0; j < RD_ARRAY_SIZE(prefixes); j++)
			held |= rd_str_has_prefix(rd_fact_get_str(package, "name"), prefixes[j]) &&
			        rd_fact_get_bool(package, "held");
	}
	rd_fact_set_bool(facts, "kernel.pinned", held, PACKAGES);
}

/* Debian's names of those are without a release ("linux-image-generic-hwe-24.04"), those of rpm are the kernel's own. */
static bool brings_kernels(const char *name)
{
	static const char *const prefixes[] = { "linux-image-", "linux-headers-", "linux-generic", "linux-virtual" };
	static const char *const rpms[] = { "kernel", "kernel-core", "kernel-default", "kernel-uek" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(rpms); i++)
		if (rd_streq(name, rpms[i]))
			return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(prefixes); i++)
		if (rd_str_has_prefix(name, prefixes[i]))
			return !isdigit((unsigned char)name[strlen(prefixes[i])]);
	return false;
}

/* What there is to hold, as words of a command. */
static void name_upgraders(struct rd_fact *facts, const struct rd_fact *list)
{
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *name = rd_fact_get_str(rd_fact_at(list, i), "name");

		if (brings_kernels(name) && is_there(list, name))
			rd_strbuf_addf(&words, "%s%s", words.len ? " " : "", name);
	}
	rd_fact_set_str(facts, "kernel.upgrade_packages", words.len ? words.buf : "", PACKAGES);
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *list = rd_fact_get(ctx->facts, PACKAGES);
	rd_auto_free char *release = NULL;

	if (kernel_in_container(ctx) || rd_fact_is_unknown(ctx->facts, PACKAGES)) {
		for (size_t i = 0; i < RD_ARRAY_SIZE(facts_of_packages); i++)
			rd_fact_set_unknown_why(ctx->facts, facts_of_packages[i],
			                        kernel_in_container(ctx) ? KERNEL_NOT_THE_HOST : "the packages are not known",
			                        PACKAGES);
		return 0;
	}
	describe_driver(ctx->facts, list);
	describe_leftover(ctx->facts);
	if (kernel_release(ctx, &release) >= 0)
		describe_extra(ctx->facts, list, release);
	describe_pin(ctx->facts, list);
	name_upgraders(ctx->facts, list);
	return 0;
}

const struct rd_probe rd_probe_kernel_packages = {
	.name = "kernel/packages",
	.layer = RD_LAYER_KERNEL,
	.flags = RD_PROBE_PURE,
	.summary = "packages of the driver and the running kernel",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.driver_package.name", RD_STR, "package of the DKMS driver: amdgpu-dkms, rock-dkms, rocm-dkms",
	                  PACKAGES },
			{ "kernel.driver_package.version", RD_STR, "its version", PACKAGES, RD_VERSION_DPKG },
			{ "kernel.driver_package.state", RD_STR, "its state, as in runtime.packages", PACKAGES },
			{ "kernel.driver_package.installed", RD_BOOL, "it is there, be it half configured", PACKAGES },
			{ "kernel.driver_package.removed", RD_BOOL, "it was there: its configuration or its DKMS tree is left",
	                  PACKAGES ", kernel.amdgpu.dkms" },
			{ "kernel.legacy_packages[]", RD_STRS, "driver packages that AMD has given up and that are installed",
	                  PACKAGES },
			{ "kernel.modules_extra_missing", RD_BOOL,
	                  "Ubuntu's kernel lacks amdgpu or what it needs, and linux-modules-extra for it is not installed",
	                  PACKAGES },
			{ "kernel.pinned", RD_BOOL, "a package that brings kernels is held", PACKAGES },
			{ "kernel.upgrade_packages", RD_STR, "packages by which an upgrade brings the next kernel, as words",
	                  PACKAGES },
			{ 0 },
		},
	.run = run,
};
