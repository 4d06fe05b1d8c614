/* Is this a virtual machine, whose, and is it the Windows Subsystem for Linux? */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char dmi[] = "/sys/class/dmi/id";

/* Firmware strings by which a hypervisor names itself. */
static const struct maker {
	const char *field, *pattern, *product, *virtualization;
} makers[] = {
	{ "sys_vendor", "QEMU*", "*", "kvm" },
	{ "sys_vendor", "KVM*", "*", "kvm" },
	{ "product_name", "KVM*", "*", "kvm" },
	{ "sys_vendor", "OpenStack*", "*", "kvm" },
	{ "sys_vendor", "Amazon EC2", "*", "amazon" },
	{ "sys_vendor", "Google*", "Google Compute Engine", "kvm" },
	{ "sys_vendor", "Microsoft Corporation", "Virtual Machine", "microsoft" },
	{ "sys_vendor", "VMware*", "*", "vmware" },
	{ "product_name", "VirtualBox*", "*", "oracle" },
	{ "sys_vendor", "innotek GmbH*", "*", "oracle" },
	{ "sys_vendor", "Xen*", "*", "xen" },
	{ "bios_vendor", "Xen*", "*", "xen" },
	{ "sys_vendor", "Parallels*", "*", "parallels" },
	{ "bios_vendor", "BHYVE*", "*", "bhyve" },
	{ "bios_vendor", "Bochs*", "*", "bochs" },
	{ "sys_vendor", "Apple Inc.", "Apple Virtualization*", "apple" },
	{ "sys_vendor", "DigitalOcean*", "Droplet*", "kvm" },
	{ "sys_vendor", "Hetzner*", "vServer*", "kvm" },
	{ "sys_vendor", "Alibaba Cloud", "Alibaba Cloud ECS", "kvm" },
};

static const struct cloud {
	const char *field, *pattern, *vendor;
} clouds[] = {
	{ "sys_vendor", "Amazon EC2", "aws" },
	{ "sys_vendor", "Google*", "google" },
	/* Azure's tag; a Hyper-V guest elsewhere has the same vendor and product. */
	{ "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure" },
	{ "chassis_asset_tag", "OracleCloud.com*", "oracle" },
	{ "sys_vendor", "DigitalOcean*", "digitalocean" },
	{ "sys_vendor", "Hetzner*", "hetzner" },
	{ "sys_vendor", "Vultr*", "vultr" },
	{ "sys_vendor", "Alibaba Cloud*", "alibaba" },
	{ "sys_vendor", "Scaleway*", "scaleway" },
	{ "sys_vendor", "OpenStack*", "openstack" },
	{ "sys_vendor", "CRUSOE*", "crusoe" },
	{ "sys_vendor", "Crusoe*", "crusoe" },
	{ "product_name", "TensorWave*", "tensorwave" },
};

/* The strings that were read so far: the tables ask for the same few over and over. */
struct strings {
	struct rd_sysroot *sr;
	struct {
		const char *field;
		char *line;
	} v[8];
	size_t n;
};

static void strings_clear(struct strings *strings)
{
	for (size_t i = 0; i < strings->n; i++)
		free(strings->v[i].line);
}

static const char *dmi_line(struct strings *strings, const char *field)
{
	char *line = NULL;

	for (size_t i = 0; i < strings->n; i++)
		if (rd_streq(strings->v[i].field, field))
			return strings->v[i].line;
	assert(strings->n < RD_ARRAY_SIZE(strings->v));
	if (rd_sysroot_readf_line(strings->sr, &line, "%s/%s", dmi, field) < 0)
		line = rd_xstrdup("");
	strings->v[strings->n].field = field;
	strings->v[strings->n].line = line;
	return strings->v[strings->n++].line;
}

static bool dmi_is(struct strings *strings, const char *field, const char *pattern)
{
	const char *line = dmi_line(strings, field);

	return *line && rd_str_glob(pattern, line);
}

static void set_cloud(struct rd_probe_ctx *ctx, struct strings *strings)
{
	rd_auto_free char *source = NULL;
	int r;

	for (size_t i = 0; i < RD_ARRAY_SIZE(clouds); i++) {
		if (!dmi_is(strings, clouds[i].field, clouds[i].pattern))
			continue;
		source = rd_xasprintf("%s/%s", dmi, clouds[i].field);
		rd_fact_set_str(ctx->facts, "host.cloud.vendor", clouds[i].vendor, source);
		rd_fact_set_str(ctx->facts, "host.cloud.product", dmi_line(strings, "product_name"),
		                "/sys/class/dmi/id/product_name");
		return;
	}
	r = rd_sysroot_exists(ctx->sysroot, dmi);
	if (r < 0) {
		rd_fact_set_unknown(ctx->facts, "host.cloud.vendor", r, dmi);
		rd_fact_set_unknown(ctx->facts, "host.cloud.product", r, dmi);
	}
}

/* 1: the processor says that a hypervisor stands above it; 0: it does not; negative: not to be read. */
static int has_hypervisor_flag(struct rd_sysroot *sr)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(sr, &text, "/proc/cpuinfo");
	if (r < 0)
		return r;
	rest = text;
	while ((line = rd_str_next_line(&rest)))
		if (rd_str_has_prefix(line, "flags"))
			return rd_str_glob("* hypervisor *", line) || rd_str_has_suffix(line, " hypervisor");
	return 0;
}

/* A hypervisor that has no firmware tables may still offer its clock. */
static const char *by_clock(struct rd_sysroot *sr)
{
	rd_auto_free char *clocks = NULL;

	if (rd_sysroot_read_line(sr, &clocks, "/sys/devices/system/clocksource/clocksource0/available_clocksource") < 0)
		return "other";
	if (strstr(clocks, "kvm-clock"))
		return "kvm";
	if (strstr(clocks, "hyperv_clocksource"))
		return "microsoft";
	return strstr(clocks, "xen") ? "xen" : "other";
}

static void set_virtualization(struct rd_probe_ctx *ctx, struct strings *strings, bool wsl2)
{
	static const char cpuinfo[] = "/proc/cpuinfo";
	int flag = has_hypervisor_flag(ctx->sysroot);

	if (wsl2) {
		rd_fact_set_str(ctx->facts, "host.virtualization", "microsoft", "/proc/sys/kernel/osrelease");
		return;
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(makers); i++) {
		rd_auto_free char *source = NULL;

		if (!dmi_is(strings, makers[i].field, makers[i].pattern) || !dmi_is(strings, "product_name", makers[i].product))
			continue;
		/* EC2 and Google rent whole machines under the same vendor string. */
		if (flag == 0 &&
		    (rd_streq(makers[i].virtualization, "amazon") || rd_str_has_prefix(makers[i].pattern, "Google")))
			break;
		source = rd_xasprintf("%s/%s", dmi, makers[i].field);
		rd_fact_set_str(ctx->facts, "host.virtualization", makers[i].virtualization, source);
		return;
	}
	if (flag < 0)
		rd_fact_set_unknown(ctx->facts, "host.virtualization", flag == -ENOENT ? -ENODATA : flag, cpuinfo);
	else if (flag)
		rd_fact_set_str(ctx->facts, "host.virtualization", by_clock(ctx->sysroot), cpuinfo);
	else
		rd_fact_set_absent(ctx->facts, "host.virtualization", cpuinfo);
}

/* 0: no WSL. Version 1 has no kernel of its own and therefore no device that could reach a GPU. */
static int wsl_version(const char *release, bool interop, bool dxg)
{
	if (!strcasestr(release, "microsoft") && !interop)
		return 0;
	if (!dxg && rd_str_has_prefix(release, "4.4.0-") && rd_str_has_suffix(release, "-Microsoft"))
		return 1;
	return 2;
}

/* Without any manager's list a package may be there all the same. */
static bool lists_packages(struct rd_sysroot *sr)
{
	static const char *const lists[] = { "/var/lib/dpkg/status", "/var/lib/rpm", "/usr/lib/sysimage/rpm",
		                             "/var/lib/pacman" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++)
		if (rd_sysroot_exists(sr, lists[i]) == 1)
			return true;
	return false;
}

static void set_wsl_runtime_unknown(struct rd_probe_ctx *ctx, int r, const char *source)
{
	rd_fact_set_unknown(ctx->facts, "host.wsl_runtime", r, source);
	rd_fact_set_unknown(ctx->facts, "host.wsl_rocdxg_folder", r, source);
}

/*
 * What lets HSA reach the GPU through /dev/dxg: AMD's build of the runtime for WSL (a package of its own up to ROCm 7.1), or
 * librocdxg beside the plain one.
 */
static void set_wsl_runtime(struct rd_probe_ctx *ctx)
{
	static const char *const places[] = {
		"/opt/rocm*/lib/librocdxg.so*", "/opt/rocm/core*/lib/librocdxg.so*",
		"/usr/lib/librocdxg.so*",       "/usr/lib/x86_64-linux-gnu/librocdxg.so*",
		"/usr/local/lib/librocdxg.so*", "/usr/lib64/librocdxg.so*",
	};
	static const char package[] = "/var/lib/dpkg/info/hsa-runtime-rocr4wsl-amdgpu.list";
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	int r;

	for (size_t i = 0; i < RD_ARRAY_SIZE(places) && !found.n; i++) {
		r = rd_sysroot_glob(ctx->sysroot, &found, places[i]);
		if (r < 0 && r != -ENOENT)
			set_wsl_runtime_unknown(ctx, r, places[i]);
	}
	r = rd_sysroot_exists(ctx->sysroot, package);
	if (!r && !lists_packages(ctx->sysroot))
		r = -ENODATA;
	if (found.n) {
		rd_auto_free char *folder = rd_xstrndup(found.v[0], (size_t)(strrchr(found.v[0], '/') - found.v[0]));

		rd_fact_set_str(ctx->facts, "host.wsl_runtime", "rocdxg", found.v[0]);
		rd_fact_set_str(ctx->facts, "host.wsl_rocdxg_folder", folder, found.v[0]);
	} else if (r == 1)
		rd_fact_set_str(ctx->facts, "host.wsl_runtime", "rocr4wsl", package);
	else if (r < 0)
		set_wsl_runtime_unknown(ctx, r, package);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto(strings_clear) struct strings strings = { .sr = ctx->sysroot };
	static const char osrelease[] = "/proc/sys/kernel/osrelease";
	int dxg = rd_sysroot_exists(ctx->sysroot, "/dev/dxg");
	rd_auto_free char *release = NULL;
	int version, r;

	if (dxg < 0)
		rd_fact_set_unknown(ctx->facts, "host.dxg", dxg, "/dev/dxg");
	else
		rd_fact_set_bool(ctx->facts, "host.dxg", dxg, "/dev/dxg");
	set_cloud(ctx, &strings);
	r = rd_sysroot_read_line(ctx->sysroot, &release, osrelease);
	if (r < 0) {
		const struct rd_uname *name;

		r = rd_sysroot_uname(ctx->sysroot, &name);
		release = rd_xstrdup(r >= 0 && name->release ? name->release : "");
	}
	version = wsl_version(release, rd_sysroot_exists(ctx->sysroot, "/proc/sys/fs/binfmt_misc/WSLInterop") == 1, dxg == 1);
	if (r < 0 && !version) {
		rd_fact_set_unknown(ctx->facts, "host.wsl", r, osrelease);
		rd_fact_set_unknown(ctx->facts, "host.wsl_version", r, osrelease);
	} else {
		rd_fact_set_bool(ctx->facts, "host.wsl", version > 0, osrelease);
		rd_fact_set_int(ctx->facts, "host.wsl_version", version, osrelease);
	}
	if (version)
		set_wsl_runtime(ctx);
	else if (r < 0)
		set_wsl_runtime_unknown(ctx, r, osrelease);
	set_virtualization(ctx, &strings, version == 2);
	return 0;
}

const struct rd_probe rd_probe_host_virtualization = {
	.name = "host/virtualization",
	.layer = RD_LAYER_HOST,
	.summary = "virtual machine, cloud, WSL",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.virtualization", RD_STR, "hypervisor above this system (kvm, vmware, ...); empty on bare metal",
	                  "/sys/class/dmi/id, /proc/cpuinfo" },
			{ "host.cloud.vendor", RD_STR, "cloud by the machine's firmware strings (aws, azure, ...)",
	                  "/sys/class/dmi/id" },
			{ "host.cloud.product", RD_STR, "the cloud's name for the machine type",
	                  "/sys/class/dmi/id/product_name" },
			{ "host.wsl", RD_BOOL, "the kernel is that of the Windows Subsystem for Linux",
	                  "/proc/sys/kernel/osrelease" },
			{ "host.wsl_version", RD_INT, "1 or 2; 0 where it is no WSL", "/proc/sys/kernel/osrelease" },
			{ "host.dxg", RD_BOOL, "/dev/dxg exists, the GPU device of WSL 2", "/dev/dxg" },
			{ "host.wsl_rocdxg_folder", RD_STR, "folder of librocdxg", "librocdxg.so*" },
			{ "host.wsl_runtime", RD_STR,
	                  "what lets HSA use /dev/dxg: rocr4wsl (AMD's build for WSL) or rocdxg (librocdxg); empty: nothing "
	                  "found",
	                  "/opt/rocm*/lib/librocdxg.so*, /var/lib/dpkg/info" },
			{ 0 },
		},
	.run = run,
};
