/* Which options of the kernel's configuration decide whether KFD exists and what modules it accepts? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/compress.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define CONFIG_MAX ((size_t)4 << 20)

/* Every configuration says whether these are set: "CONFIG_X=y", "CONFIG_X=m", "# CONFIG_X is not set", or no line at all. */
static const struct {
	const char *option, *fact;
} options[] = {
	{ "CONFIG_HSA_AMD", "kernel.config.hsa_amd" },
	{ "CONFIG_HSA_AMD_P2P", "kernel.config.hsa_amd_p2p" },
	{ "CONFIG_HSA_AMD_SVM", "kernel.config.hsa_amd_svm" },
	{ "CONFIG_DRM_AMDGPU", "kernel.config.drm_amdgpu" },
	{ "CONFIG_MODULE_SIG_FORCE", "kernel.config.module_sig_force" },
};

static int read_gzip(struct rd_sysroot *sr, const char *path, char **ret)
{
	rd_auto_free char *packed = NULL;
	size_t n = 0;
	int r = rd_sysroot_read_bytes(sr, &packed, &n, path);

	return r < 0 ? r : rd_gunzip(packed, n, CONFIG_MAX, ret, NULL);
}

/* The running kernel's own copy first, then those that its packages left. */
static int read_config(struct rd_probe_ctx *ctx, char **ret, char **ret_path)
{
	static const char *const places[] = { "/boot/config-%s", "/lib/modules/%s/config", "/usr/lib/modules/%s/config",
		                              "/lib/modules/%s/build/.config", "/usr/src/linux-headers-%s/.config" };
	rd_auto_free char *release = NULL;
	int first = read_gzip(ctx->sysroot, "/proc/config.gz", ret);
	int r;

	*ret_path = rd_xstrdup("/proc/config.gz");
	if (first >= 0)
		return 0;
	r = kernel_release(ctx, &release);
	if (r < 0)
		return r;
	for (size_t i = 0; i < RD_ARRAY_SIZE(places); i++) {
		const char *mark = strstr(places[i], "%s");

		free(*ret_path);
		*ret_path = rd_xasprintf("%.*s%s%s", (int)(mark - places[i]), places[i], release, mark + 2);
		r = rd_sysroot_read(ctx->sysroot, ret, *ret_path);
		if (r >= 0)
			return 0;
		if (first == -ENOENT)
			first = r;
	}
	return first;
}

/* True for y and m. */
static bool is_set(const char *text, const char *option)
{
	size_t n = strlen(option);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, option, n) == 0 && line[n] == '=')
			return line[n + 1] == 'y' || line[n + 1] == 'm';
	}
	return false;
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *text = NULL, *path = NULL;
	int r = read_config(ctx, &text, &path);

	if (r >= 0 && !strstr(text, "CONFIG_"))
		r = -EBADMSG;
	for (size_t i = 0; i < RD_ARRAY_SIZE(options); i++) {
		if (r == -ENOENT)
			rd_fact_set_unknown_why(ctx->facts, options[i].fact, "no copy of the kernel's configuration is here",
			                        path);
		else if (r < 0)
			rd_fact_set_unknown(ctx->facts, options[i].fact, r, path);
		else
			rd_fact_set_bool(ctx->facts, options[i].fact, is_set(text, options[i].option), path);
	}
	return 0;
}

#define SOURCE "/proc/config.gz, /boot/config-RELEASE or /lib/modules/RELEASE/config"

const struct rd_probe rd_probe_kernel_config = {
	.name = "kernel/config",
	.layer = RD_LAYER_KERNEL,
	.summary = "configuration of the running kernel",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.config.hsa_amd", RD_BOOL, "CONFIG_HSA_AMD: amdgpu is built with KFD", SOURCE },
			{ "kernel.config.hsa_amd_p2p", RD_BOOL, "CONFIG_HSA_AMD_P2P: peer-to-peer between GPUs by PCIe",
	                  SOURCE },
			{ "kernel.config.hsa_amd_svm", RD_BOOL, "CONFIG_HSA_AMD_SVM: shared virtual memory", SOURCE },
			{ "kernel.config.drm_amdgpu", RD_BOOL, "CONFIG_DRM_AMDGPU: the kernel has an amdgpu of its own",
	                  SOURCE },
			{ "kernel.config.module_sig_force", RD_BOOL, "CONFIG_MODULE_SIG_FORCE: unsigned modules are refused",
	                  SOURCE },
			{ 0 },
		},
	.run = run,
};
