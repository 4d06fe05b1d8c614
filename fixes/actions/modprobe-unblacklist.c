/* Comment out the "blacklist MODULE" lines of one modprobe.d file. */

#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"

/* In module names '-' and '_' are one (modprobe(8)). */
static bool same_module(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return !*a && !*b;
}

static bool blacklists(const char *line, const char *module)
{
	char word[64], end[2];

	return sscanf(line, " blacklist %63s%1s", word, end) == 1 && same_module(word, module);
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *path = rd_step_arg(step, "file"), *module = rd_step_arg(step, "module");
	rd_auto_strbuf struct rd_strbuf after = RD_STRBUF_INIT;
	rd_auto_free char *before = NULL;
	char *line, *rest;
	int r;

	r = rd_arg_check_path(path, err);
	if (r == 0)
		r = rd_arg_check_name(module, err);
	if (r == 0)
		r = rd_sysroot_read(sr, &before, path);
	if (r < 0)
		return rd_error_set(err, r, "cannot read '%s': %s", path, rd_strerror(r));
	for (rest = before; (line = strsep(&rest, "\n")) && (rest || *line);)
		rd_strbuf_addf(&after, "%s%s%s", blacklists(line, module) ? "# rocm-doctor: " : "", line, rest ? "\n" : "");
	rd_step_describe(step, "let %s load again: %s", module, path);
	rd_step_write(step, path, after.buf, 0644);
	return 0;
}

const struct rd_action rd_action_modprobe_unblacklist = {
	.name = "modprobe.unblacklist",
	.summary = "let a blacklisted kernel module load again",
	.args = (const char *const[]){ "file", "module", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
