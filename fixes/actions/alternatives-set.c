/* Lead a name without a release, /opt/rocm, to one release by update-alternatives. */

#include <errno.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

/* What the tool remembers of a name: "auto" or "manual", the link, and all that it may lead to. NULL: nothing. */
static char *remembered(struct rd_sysroot *sr, const char *name)
{
	static const char *const folders[] = { "/var/lib/dpkg/alternatives", "/var/lib/alternatives" };
	char *text;

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++)
		if (rd_sysroot_readf(sr, &text, "%s/%s", folders[i], name) == 0)
			return text;
	return NULL;
}

static int check(const struct rd_step *step, struct rd_error *err)
{
	int r = rd_arg_check_name(rd_step_arg(step, "name"), err);

	if (r == 0)
		r = rd_arg_check_path(rd_step_arg(step, "link"), err);
	if (r == 0)
		r = rd_arg_check_path(rd_step_arg(step, "path"), err);
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	static const char *const tools[] = { "update-alternatives", "alternatives", NULL };
	const char *name = rd_step_arg(step, "name"), *link = rd_step_arg(step, "link"), *path = rd_step_arg(step, "path");
	const char *tool = fix_first_program(sr, tools);
	rd_auto_free char *known = NULL, *now = NULL;
	int r = check(step, err);

	if (r < 0)
		return r;
	rd_step_describe(step, "let %s lead to %s", link, path);
	known = remembered(sr, name);
	if (rd_sysroot_readlinkf(sr, &now, "/etc/alternatives/%s", name) == 0 && rd_streq(now, path))
		return 0;
	if (!tool)
		return fix_unable(err, "there is no update-alternatives here");
	if (!known || !fix_has_line(known, path))
		rd_step_run(step, (const char *const[]){ tool, "--install", link, name, path, "100", NULL },
		            (const char *const[]){ tool, "--remove", name, path, NULL });
	/* What is chosen by hand, or has a priority as high, does not give way by itself. */
	if (known && now)
		rd_step_run(step, (const char *const[]){ tool, "--set", name, path, NULL },
		            rd_str_has_prefix(known, "manual") ? (const char *const[]){ tool, "--set", name, now, NULL }
		                                               : (const char *const[]){ tool, "--auto", name, NULL });
	return 0;
}

const struct rd_action rd_action_alternatives_set = {
	.name = "alternatives.set",
	.summary = "lead a name without a release to one release",
	.args = (const char *const[]){ "name", "link", "path", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
