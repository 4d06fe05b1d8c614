#include "common-modprobe.h"

#include <stdlib.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

bool modprobe_same_module(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return !*a && !*b;
}

/* The words of a logical line: a backslash at the end of a line joins it with the next. Returns the line's end. */
static const char *take_words(const char *line, struct rd_strv *words)
{
	rd_auto_strbuf struct rd_strbuf logical = RD_STRBUF_INIT;
	const char *end;

	for (;;) {
		end = strchrnul(line, '\n');
		rd_strbuf_addn(&logical, line, (size_t)(end - line));
		if (!*end || !logical.len || logical.buf[logical.len - 1] != '\\')
			break;
		logical.buf[logical.len - 1] = ' ';
		line = end + 1;
	}
	rd_strv_split(words, logical.buf, " \t", false);
	return end;
}

static char *switched_off(const char *text, const char *module,
                          bool (*is_wanted)(const struct rd_strv *words, const char *module))
{
	struct rd_strbuf after = RD_STRBUF_INIT;

	while (*text) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;
		const char *end = take_words(text, &words);

		/* Of a continued line the first part is enough: a comment is continued as well. */
		if (words.n >= 2 && is_wanted(&words, module))
			rd_strbuf_add(&after, FIX_OFF);
		rd_strbuf_addn(&after, text, (size_t)(end - text) + (*end == '\n'));
		text = end + (*end == '\n');
	}
	return rd_strbuf_detach(&after);
}

int modprobe_switch_off(struct rd_step *step, struct rd_sysroot *sr, const char *file, const char *module,
                        bool (*is_wanted)(const struct rd_strv *words, const char *module), struct rd_error *err)
{
	rd_auto_free char *ours = NULL, *before = NULL, *after = NULL;
	int r = rd_arg_check_path(file, err);

	if (r == 0)
		r = fix_check_word(module, err);
	if (r < 0)
		return r;
	ours = rd_str_has_prefix(file, "/etc/") ? rd_xstrdup(file) : rd_xasprintf("/etc/modprobe.d/%s", strrchr(file, '/') + 1);
	r = fix_read(sr, &before, ours, err);
	if (r == 0 && !before && !rd_streq(ours, file)) {
		if (rd_sysroot_read(sr, &before, file) < 0)
			return fix_unable(err, "cannot read '%s'", file);
	}
	if (r < 0 || !before)
		return r;
	after = switched_off(before, module, is_wanted);
	/* A copy that would change nothing is not made. */
	if (!rd_streq(before, after))
		rd_step_write(step, ours, after, 0644);
	return 0;
}
