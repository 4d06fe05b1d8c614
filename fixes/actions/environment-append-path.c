/* Put a folder at the end of a variable that is a list of folders, for shells of logins. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *path = rd_step_arg(step, "path");
	rd_auto_free char *line = NULL;
	int r = fix_check_variable(name, err);

	if (r == 0)
		r = rd_arg_check_path(path, err);
	if (r == 0)
		r = fix_check_value(path, err);
	if (r < 0)
		return r;
	line = rd_xasprintf("export %s=\"$%s:%s\"", name, name, path);
	rd_step_describe(step, "put %s at the end of %s", path, name);
	rd_step_needs(step, RD_ACTION_LOGIN);
	return fix_add_line(step, sr, "/etc/profile.d/zz-rocm-doctor.sh", "", line, err);
}

const struct rd_action rd_action_environment_append_path = {
	.name = "environment.append-path",
	.summary = "put a folder at the end of a variable",
	.args = (const char *const[]){ "name", "path", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
