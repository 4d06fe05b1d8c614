/* Remove a file of configuration, or a link. */

#include <errno.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *path = rd_step_arg(step, "path");
	rd_auto_free char *text = NULL, *target = NULL;
	int r = rd_arg_check_path(path, err);

	if (r < 0)
		return r;
	if (!rd_str_has_prefix(path, "/etc/"))
		return rd_error_set(err, -EINVAL, "'%s' is no file of the configuration in /etc", path);
	rd_step_describe(step, "remove %s", path);
	if (rd_sysroot_readlink(sr, &target, path) == 0) {
		rd_step_link(step, path, NULL);
		return 0;
	}
	r = fix_read(sr, &text, path, err);
	if (r == 0 && text)
		rd_step_write(step, path, NULL, 0);
	return r;
}

const struct rd_action rd_action_file_remove = {
	.name = "file.remove",
	.summary = "remove a file of configuration",
	.args = (const char *const[]){ "path", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
