/* Secure Boot, lockdown and what the process that asks is forbidden. */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"

/* An EFI variable is four bytes of attributes and its value; *ret is the first byte of that. */
static int efi_byte(struct rd_sysroot *sr, const char *path, unsigned char *ret)
{
	rd_auto_free char *bytes = NULL;
	size_t len;
	int r;

	r = rd_sysroot_read_bytes(sr, &bytes, &len, path);
	if (r < 0)
		return r;
	if (len < 5)
		return -EIO;
	*ret = (unsigned char)bytes[4];
	return 0;
}

/* Container managers hide /sys/firmware and securityfs: what is not there then says nothing about the machine. */
static bool hidden(struct rd_probe_ctx *ctx, int r)
{
	return r == -ENOENT && *rd_fact_get_str(ctx->facts, "host.container");
}

static void set_unknown(struct rd_probe_ctx *ctx, const char *fact, int r, const char *source)
{
	if (hidden(ctx, r))
		rd_fact_set_unknown_why(ctx->facts, fact, "hidden in a container", source);
	else
		rd_fact_set_unknown(ctx->facts, fact, r, source);
}

static void set_efi_flag(struct rd_probe_ctx *ctx, const char *fact, const char *variable)
{
	unsigned char value = 0;
	int r = efi_byte(ctx->sysroot, variable, &value);

	/*
	 * Not there: a machine that a BIOS booted has no Secure Boot. But EFI's variables may just not be mounted, and a tree
	 * without any /sys/firmware does not tell.
	 */
	if (r == -ENOENT && !hidden(ctx, r)) {
		bool booted = rd_sysroot_exists(ctx->sysroot, "/sys/firmware/efi") == 1;
		bool mounted = rd_sysroot_exists(ctx->sysroot, "/sys/firmware/efi/efivars") == 1;

		if (booted ? mounted : rd_sysroot_exists(ctx->sysroot, "/sys/firmware") == 1) {
			rd_fact_set_absent(ctx->facts, fact, variable);
			return;
		}
		r = -ENODATA;
	}
	if (r < 0)
		set_unknown(ctx, fact, r, variable);
	else
		rd_fact_set_bool(ctx->facts, fact, value == 1, variable);
}

static void set_secure_boot(struct rd_probe_ctx *ctx)
{
	set_efi_flag(ctx, "host.secure_boot", "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	set_efi_flag(ctx, "host.shim_validation_off",
	             "/sys/firmware/efi/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23");
}

/* "none [integrity] confidentiality": the word in brackets is in force. */
static void set_lockdown(struct rd_probe_ctx *ctx)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	rd_auto_free char *text = NULL;
	char *word, *end;
	int r;

	r = rd_sysroot_read_line(ctx->sysroot, &text, path);
	if (r == -ENOENT && !hidden(ctx, r)) {
		rd_fact_set_absent(ctx->facts, "host.lockdown", path);
		return;
	}
	word = r >= 0 ? strchr(text, '[') : NULL;
	end = word ? strchr(word, ']') : NULL;
	if (!end) {
		set_unknown(ctx, "host.lockdown", r < 0 ? r : -EINVAL, path);
		return;
	}
	*end = 0;
	rd_fact_set_str(ctx->facts, "host.lockdown", word + 1, path);
}

static void set_number(struct rd_fact *facts, const char *line, const char *key, const char *fact, bool flag)
{
	uint64_t value;

	if (!rd_str_has_prefix(line, key) || rd_str_to_u64(line + strlen(key), 10, &value) < 0 || value > INT32_MAX)
		return;
	if (flag)
		rd_fact_set_bool(facts, fact, value != 0, "/proc/self/status");
	else
		rd_fact_set_int(facts, fact, (int64_t)value, "/proc/self/status");
}

static void set_process(struct rd_probe_ctx *ctx)
{
	static const char path[] = "/proc/self/status";
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(ctx->sysroot, &text, path);
	if (r < 0) {
		rd_fact_set_unknown(ctx->facts, "host.seccomp_mode", r == -ENOENT ? -ENODATA : r, path);
		rd_fact_set_unknown(ctx->facts, "host.no_new_privileges", r == -ENOENT ? -ENODATA : r, path);
		return;
	}
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		set_number(ctx->facts, line, "Seccomp:", "host.seccomp_mode", false);
		set_number(ctx->facts, line, "NoNewPrivs:", "host.no_new_privileges", true);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	set_secure_boot(ctx);
	set_lockdown(ctx);
	set_process(ctx);
	return 0;
}

const struct rd_probe rd_probe_host_security = {
	.name = "host/security",
	.layer = RD_LAYER_HOST,
	.after = "host/container",
	.summary = "Secure Boot, lockdown, seccomp",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.secure_boot", RD_BOOL, "the firmware enforces Secure Boot",
	                  "/sys/firmware/efi/efivars/SecureBoot-*" },
			{ "host.shim_validation_off", RD_BOOL, "shim does not enforce it (mokutil --disable-validation)",
	                  "/sys/firmware/efi/efivars/MokSBStateRT-*" },
			{ "host.lockdown", RD_STR, "kernel lockdown in force: none, integrity or confidentiality",
	                  "/sys/kernel/security/lockdown" },
			{ "host.seccomp_mode", RD_INT, "of the examined process: 0 none, 1 strict, 2 filter",
	                  "/proc/self/status" },
			{ "host.no_new_privileges", RD_BOOL, "the examined process cannot gain rights by executing a program",
	                  "/proc/self/status" },
			{ 0 },
		},
	.run = run,
};
