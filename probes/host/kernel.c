/* Which kernel runs, and with which command line? */

#include <errno.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"

static void set_release(struct rd_probe_ctx *ctx)
{
	static const char osrelease[] = "/proc/sys/kernel/osrelease";
	const struct rd_uname *name;
	rd_auto_free char *release = NULL;
	int r;

	r = rd_sysroot_uname(ctx->sysroot, &name);
	if (r >= 0) {
		rd_fact_set_str(ctx->facts, "host.kernel.release", name->release ? name->release : "", "uname");
		rd_fact_set_str(ctx->facts, "host.kernel.version", name->version ? name->version : "", "uname");
		rd_fact_set_str(ctx->facts, "host.kernel.machine", name->machine ? name->machine : "", "uname");
		return;
	}
	rd_fact_set_unknown(ctx->facts, "host.kernel.version", r, "uname");
	rd_fact_set_unknown(ctx->facts, "host.kernel.machine", r, "uname");
	if (rd_sysroot_read_line(ctx->sysroot, &release, osrelease) < 0)
		rd_fact_set_unknown(ctx->facts, "host.kernel.release", r, "uname");
	else
		rd_fact_set_str(ctx->facts, "host.kernel.release", release, osrelease);
}

/* The kernel splits its command line at blanks outside double quotes and keeps the quotes. */
static void split(struct rd_fact *facts, const char *text, const char *source)
{
	rd_auto_strbuf struct rd_strbuf word = RD_STRBUF_INIT;
	bool quoted = false;

	for (const char *at = text;; at++) {
		bool blank = *at == ' ' || *at == '\t' || *at == '\n';

		if (*at && (quoted || !blank)) {
			quoted ^= *at == '"';
			rd_strbuf_addc(&word, *at);
			continue;
		}
		if (word.len)
			rd_fact_append_str(facts, "host.kernel.cmdline", word.buf, source);
		rd_strbuf_truncate(&word, 0);
		if (!*at)
			break;
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char cmdline[] = "/proc/cmdline";
	rd_auto_free char *text = NULL;
	int r;

	set_release(ctx);
	r = rd_sysroot_read(ctx->sysroot, &text, cmdline);
	/* A kernel that runs always has one: a tree without it does not tell. */
	if (r < 0) {
		rd_fact_set_unknown(ctx->facts, "host.kernel.cmdline", r == -ENOENT ? -ENODATA : r, cmdline);
		return 0;
	}
	rd_fact_set_list(ctx->facts, "host.kernel.cmdline", cmdline);
	split(ctx->facts, text, cmdline);
	return 0;
}

const struct rd_probe rd_probe_host_kernel = {
	.name = "host/kernel",
	.layer = RD_LAYER_HOST,
	.summary = "running kernel",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.kernel.release", RD_STR, "release of the running kernel", "uname -r", RD_VERSION_KERNEL },
			{ "host.kernel.version", RD_STR, "build of the running kernel", "uname -v" },
			{ "host.kernel.machine", RD_STR, "machine type of the running kernel (x86_64)", "uname -m" },
			{ "host.kernel.cmdline[]", RD_STRS, "words of the kernel command line, in their order",
	                  "/proc/cmdline" },
			{ 0 },
		},
	.run = run,
};
