#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

int kernel_release(struct rd_probe_ctx *ctx, char **ret)
{
	const struct rd_uname *uts;
	int r = rd_sysroot_uname(ctx->sysroot, &uts);

	if (r >= 0 && uts->release && uts->release[0]) {
		*ret = rd_xstrdup(uts->release);
		return 0;
	}
	r = rd_sysroot_read_line(ctx->sysroot, ret, "/proc/sys/kernel/osrelease");
	return r == -ENOENT ? -ENODATA : r;
}

char *kernel_flavour(const char *release)
{
	static const char numbers[] = "0123456789.";
	const char *s = release + strspn(release, numbers);
	const char *dot;

	if (rd_str_has_prefix(s, "-rc"))
		s += 3 + strspn(s + 3, numbers);
	while (s[0] == '-' && isdigit((unsigned char)s[1]))
		s += 1 + strspn(s + 1, numbers);
	if (s[0] == '-')
		return rd_xstrdup(s + 1);
	/* "5.14.0-427.13.1.el9_4.x86_64", "6.17.9-300.fc43.x86_64+debug": the tag changes with each release. */
	dot = strrchr(s, '.');
	return rd_xstrdup(dot ? dot + 1 : s);
}

bool kernel_in_container(const struct rd_probe_ctx *ctx)
{
	return rd_fact_get_str(ctx->facts, "host.container")[0] != '\0';
}

char *kernel_underscores(char *name)
{
	for (char *c = name; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	return name;
}

static void split_words(const char *line, struct rd_strv *ret)
{
	rd_auto_strbuf struct rd_strbuf word = RD_STRBUF_INIT;
	bool quoted = false, any = false;

	for (const char *c = line;; c++) {
		if (*c == '"') {
			quoted = !quoted;
			any = true;
		} else if (*c == '\0' || (!quoted && isspace((unsigned char)*c))) {
			if (any && rd_streq(word.buf, "--"))
				return;
			if (any)
				rd_strv_push(ret, word.buf);
			rd_strbuf_truncate(&word, 0);
			any = false;
			if (*c == '\0')
				return;
		} else {
			rd_strbuf_addc(&word, *c);
			any = true;
		}
	}
}

int kernel_words(struct rd_probe_ctx *ctx, struct rd_strv *ret)
{
	rd_auto_free char *line = NULL;
	int r = rd_sysroot_read_line(ctx->sysroot, &line, "/proc/cmdline");

	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	split_words(line, ret);
	return 0;
}

struct rd_fact *kernel_gpu(struct rd_probe_ctx *ctx, const char *address)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);

		if (rd_streq(rd_fact_get_str(gpu, "pci.address"), address))
			return gpu;
	}
	return NULL;
}

bool kernel_drives_a_gpu(const struct rd_probe_ctx *ctx)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "driver"), "amdgpu"))
			return true;
	}
	return false;
}

bool kernel_has_word(const char *list, const char *word)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, list, " ,\t", false);
	return rd_strv_has(&words, word);
}
