/* Set a variable of logins no more, by making a comment of every place where it is set. */

#include "common-environment.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"

static enum environment_verdict drop(const char *name, const char *value, void *data, char **ret)
{
	(void)name;
	(void)value;
	(void)data;
	(void)ret;
	return ENVIRONMENT_DROP;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name");
	size_t seen;
	int r = fix_check_variable(name, err);

	if (r < 0)
		return r;
	rd_step_describe(step, "set %s no more", name);
	rd_step_needs(step, RD_ACTION_LOGIN);
	r = environment_change(step, sr, name, drop, NULL, &seen, err);
	return r == 0 && !seen ? environment_not_ours(step, sr, name, err) : r;
}

const struct rd_action rd_action_environment_unset = {
	.name = "environment.unset",
	.summary = "set a variable no more",
	.args = (const char *const[]){ "name", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
