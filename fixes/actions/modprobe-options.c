/* Give a module a parameter whenever it is loaded. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

/* Of several lines for one parameter the last counts, and files are read by name. */
#define FILE_OF_OURS "/etc/modprobe.d/zz-rocm-doctor.conf"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *module = rd_step_arg(step, "module"), *parameter = rd_step_arg(step, "parameter");
	const char *value = rd_step_arg(step, "value");
	rd_auto_free char *line = NULL;
	int r = fix_check_word(module, err);

	if (r == 0)
		r = fix_check_word(parameter, err);
	if (r == 0)
		r = fix_check_value(value, err);
	if (r < 0)
		return r;
	line = rd_xasprintf("options %s %s=%s", module, parameter, value);
	rd_step_describe(step, "load %s with %s=%s", module, parameter, value);
	return fix_add_line(step, sr, FILE_OF_OURS, "", line, err);
}

const struct rd_action rd_action_modprobe_options = {
	.name = "modprobe.options",
	.summary = "load a kernel module with a parameter",
	.args = (const char *const[]){ "module", "parameter", "value", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_REBOOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
