/* Set a variable of logins: where it is set already, else by drop-ins. */

#include "common-environment.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static enum environment_verdict replace(const char *name, const char *value, void *data, char **ret)
{
	rd_auto_free char *now = environment_unquoted(value);

	(void)name;
	if (rd_streq(now, data))
		return ENVIRONMENT_RIGHT;
	*ret = rd_xstrdup(data);
	return ENVIRONMENT_REPLACE;
}

/* Shells of logins read the one, sessions that systemd starts the other. */
static int add_drop_ins(struct rd_step *step, struct rd_sysroot *sr, const char *name, const char *value, struct rd_error *err)
{
	rd_auto_free char *plain = rd_xasprintf("%s=%s", name, value), *exported = rd_xasprintf("export %s", plain);
	int r = fix_add_line(step, sr, "/etc/profile.d/zz-rocm-doctor.sh", "", exported, err);

	return r < 0 ? r : fix_add_line(step, sr, "/etc/environment.d/zz-rocm-doctor.conf", "", plain, err);
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *value = rd_step_arg(step, "value");
	rd_auto_free char *wanted = rd_xstrdup(value);
	size_t seen;
	int r = fix_check_variable(name, err);

	if (r == 0)
		r = fix_check_value(value, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "set %s=%s", name, value);
	rd_step_needs(step, RD_ACTION_LOGIN);
	r = environment_change(step, sr, name, replace, wanted, &seen, err);
	return r == 0 && !seen ? add_drop_ins(step, sr, name, value, err) : r;
}

const struct rd_action rd_action_environment_set = {
	.name = "environment.set",
	.summary = "set a variable",
	.args = (const char *const[]){ "name", "value", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
