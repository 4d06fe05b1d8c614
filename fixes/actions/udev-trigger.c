/* Let udev set owner and mode of the GPU nodes once more, as its rules say. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	if (!fix_runs_udev(sr))
		return fix_unable(err, "udevd does not run here; a container's nodes are those of its host");
	rd_step_renew(step,
	              (const char *const[]){ "udevadm", "trigger", "--subsystem-match=kfd", "--subsystem-match=drm", NULL });
	rd_step_renew(step, (const char *const[]){ "udevadm", "settle", NULL });
	return 0;
}

const struct rd_action rd_action_udev_trigger = {
	.name = "udev.trigger",
	.summary = "let udev set up the GPU nodes once more",
	.args = (const char *const[]){ NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_RENEWS,
	.phase = RD_PHASE_MODULE,
	.lower = lower,
};
