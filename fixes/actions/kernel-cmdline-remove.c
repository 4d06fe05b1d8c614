/* Take a word out of the kernel command line, from the next boot on. */

#include "common-cmdline.h"
#include "rocm-doctor/action.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	return cmdline_change(step, sr, rd_step_arg(step, "word"), false, err);
}

const struct rd_action rd_action_kernel_cmdline_remove = {
	.name = "kernel-cmdline.remove",
	.summary = "take a word out of the kernel command line",
	.args = (const char *const[]){ "word", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_REBOOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
