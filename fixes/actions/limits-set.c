/* Change what a login may use: a line of limits.d for all users, and one for root, whom "*" leaves out. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

/* Of several files that set it the last by name counts. */
#define CONF "/etc/security/limits.d/zz-rocm-doctor.conf"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *item = rd_step_arg(step, "item"), *value = rd_step_arg(step, "value");
	rd_auto_free char *lines = NULL;
	int r = fix_check_word(item, err);

	if (r == 0)
		r = fix_check_value(value, err);
	if (r < 0)
		return r;
	lines = rd_xasprintf("* - %s %s\nroot - %s %s", item, value, item, value);
	rd_step_describe(step, "let logins have %s %s", item, value);
	return fix_add_line(step, sr, CONF, "", lines, err);
}

const struct rd_action rd_action_limits_set = {
	.name = "limits.set",
	.summary = "change a limit of logins",
	.args = (const char *const[]){ "item", "value", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_LOGIN,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
