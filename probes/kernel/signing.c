/* Would the kernel refuse amdgpu for its signature: is the key with which DKMS signs among the machine owner's keys? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define SHIM_GUID "605dab50-e046-4300-abb6-3dd810dd8b23"
#define IMAGE_SECURITY_GUID "d719b2cb-3d3a-4596-a3bc-dadb00e0f67f"
#define MOK_LIST "/sys/firmware/efi/mok-variables/MokListRT"
#define SIG_ENFORCE "/sys/module/module/parameters/sig_enforce"

static void read_enforcement(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *text = NULL;
	int r = rd_sysroot_read_line(ctx->sysroot, &text, SIG_ENFORCE);

	if (r >= 0)
		rd_fact_set_bool(ctx->facts, "kernel.signing.enforced", text[0] == 'Y' || text[0] == '1', SIG_ENFORCE);
	else if (r != -ENOENT)
		rd_fact_set_unknown(ctx->facts, "kernel.signing.enforced", r, SIG_ENFORCE);
}

/* NULL: none, or for *ret_error not known. */
static const char *find_key(struct rd_sysroot *sr, int *ret_error)
{
	static const char *const places[] = { "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub", "/root/MOK.der" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(places); i++) {
		int r = rd_sysroot_exists(sr, places[i]);

		if (r > 0)
			return places[i];
		if (r < 0)
			*ret_error = r;
	}
	return NULL;
}

/* 1 where a list of certificates holds the name, which stands in them as plain bytes; 0 where not. */
static int names(struct rd_sysroot *sr, const char *path, const char *signer)
{
	rd_auto_free char *bytes = NULL;
	size_t n = 0;
	int r = rd_sysroot_read_bytes(sr, &bytes, &n, path);

	return r < 0 ? r : memmem(bytes, n, signer, strlen(signer)) != NULL;
}

/*
 * The owner's keys and the firmware's. Without the first nothing can be said; the kernel's built-in keys cannot be seen, but
 * no build of DKMS is signed with them.
 */
static int is_enrolled(struct rd_sysroot *sr, const char *signer)
{
	static const char *const owner[] = { MOK_LIST, "/sys/firmware/efi/efivars/MokListRT-" SHIM_GUID };
	int r = -ENOENT, db;

	for (size_t i = 0; i < RD_ARRAY_SIZE(owner); i++) {
		int own = names(sr, owner[i], signer);

		if (own > 0)
			return 1;
		if (own == 0 || r == -ENOENT)
			r = own;
	}
	db = names(sr, "/sys/firmware/efi/efivars/db-" IMAGE_SECURITY_GUID, signer);
	return db > 0 ? 1 : r;
}

static int run(struct rd_probe_ctx *ctx)
{
	const char *signer = rd_fact_get_str(ctx->facts, "kernel.amdgpu.file.signer");
	const char *key;
	int r, error = 0;

	read_enforcement(ctx);
	if (kernel_in_container(ctx)) {
		rd_fact_set_unknown_why(ctx->facts, "kernel.signing.key", KERNEL_NOT_THE_HOST, "/var/lib/shim-signed/mok");
		rd_fact_set_unknown_why(ctx->facts, "kernel.signing.enrolled", KERNEL_NOT_THE_HOST, MOK_LIST);
		return 0;
	}
	key = find_key(ctx->sysroot, &error);
	if (key)
		rd_fact_set_str(ctx->facts, "kernel.signing.key", key, key);
	else if (error)
		rd_fact_set_unknown(ctx->facts, "kernel.signing.key", error, "/var/lib/shim-signed/mok");
	if (!signer[0]) {
		rd_fact_set_unknown_why(ctx->facts, "kernel.signing.enrolled", "amdgpu's signer is not known", MOK_LIST);
		return 0;
	}
	r = is_enrolled(ctx->sysroot, signer);
	if (r == -ENOENT)
		rd_fact_set_unknown_why(ctx->facts, "kernel.signing.enrolled", "the list of the owner's keys is not here",
		                        MOK_LIST);
	else if (r < 0)
		rd_fact_set_unknown(ctx->facts, "kernel.signing.enrolled", r, MOK_LIST);
	else
		rd_fact_set_bool(ctx->facts, "kernel.signing.enrolled", r, MOK_LIST);
	return 0;
}

const struct rd_probe rd_probe_kernel_signing = {
	.name = "kernel/signing",
	.layer = RD_LAYER_KERNEL,
	.after = "kernel/amdgpu",
	.summary = "signature checks of modules and the keys for them",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.signing.enforced", RD_BOOL, "modules without a valid signature are refused", SIG_ENFORCE },
			{ "kernel.signing.key", RD_STR, "the key with which DKMS signs on this host",
	                  "/var/lib/shim-signed/mok/MOK.der or /var/lib/dkms/mok.pub" },
			{ "kernel.signing.enrolled", RD_BOOL, "amdgpu's signer is among the keys of owner and firmware",
	                  MOK_LIST ", efivars MokListRT and db" },
			{ 0 },
		},
	.run = run,
};
