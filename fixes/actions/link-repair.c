/* Make a symbolic link lead to a folder that is there. */

#include <errno.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *path = rd_step_arg(step, "path"), *target = rd_step_arg(step, "target");
	rd_auto_free char *now = NULL;
	int r = rd_arg_check_path(path, err);

	if (r == 0)
		r = rd_arg_check_path(target, err);
	if (r < 0)
		return r;
	if (rd_sysroot_exists(sr, target) != 1)
		return fix_unable(err, "'%s' is not there either", target);
	/* Never in place of a folder or a file. */
	r = rd_sysroot_readlink(sr, &now, path);
	if (r < 0 && r != -ENOENT)
		return fix_unable(err, "'%s' is no symbolic link", path);
	rd_step_describe(step, "let %s lead to %s", path, target);
	rd_step_link(step, path, target);
	return 0;
}

const struct rd_action rd_action_link_repair = {
	.name = "link.repair",
	.summary = "make a link lead somewhere again",
	.args = (const char *const[]){ "path", "target", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
