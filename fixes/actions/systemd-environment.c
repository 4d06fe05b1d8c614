/* Give a service a variable. */

#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *value = rd_step_arg(step, "value");
	rd_auto_free char *unit = NULL, *path = NULL, *line = NULL;
	int r = fix_unit(&unit, rd_step_arg(step, "unit"), err);

	if (r == 0)
		r = fix_check_variable(name, err);
	if (r == 0)
		r = fix_check_value(value, err);
	if (r < 0)
		return r;
	/* There it begins a specifier. */
	if (strchr(value, '%'))
		return fix_unable(err, "'%s' holds a %%", value);
	path = rd_xasprintf("/etc/systemd/system/%s.d/rocm-doctor-environment.conf", unit);
	line = rd_xasprintf("Environment=%s=%s", name, value);
	rd_step_describe(step, "start %s with %s=%s", unit, name, value);
	r = fix_add_line(step, sr, path, "[Service]\n", line, err);
	fix_reload_systemd(step, sr);
	return r;
}

const struct rd_action rd_action_systemd_environment = {
	.name = "systemd.environment",
	.summary = "give a service a variable",
	.args = (const char *const[]){ "unit", "name", "value", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
