/* Have a service start after another unit. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *unit = NULL, *after = NULL, *path = NULL, *line = NULL;
	int r = fix_unit(&unit, rd_step_arg(step, "unit"), err);

	if (r == 0)
		r = fix_unit(&after, rd_step_arg(step, "after"), err);
	if (r < 0)
		return r;
	path = rd_xasprintf("/etc/systemd/system/%s.d/rocm-doctor-order.conf", unit);
	line = rd_xasprintf("After=%s", after);
	rd_step_describe(step, "start %s after %s", unit, after);
	r = fix_add_line(step, sr, path, "[Unit]\n", line, err);
	fix_reload_systemd(step, sr);
	return r;
}

const struct rd_action rd_action_systemd_order = {
	.name = "systemd.order",
	.summary = "have a service start after another unit",
	.args = (const char *const[]){ "unit", "after", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
