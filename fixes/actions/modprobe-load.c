/* Load a kernel module now. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *module = rd_step_arg(step, "module");
	int r = fix_check_word(module, err);

	if (r < 0)
		return r;
	/* Loaded or built in. */
	r = rd_sysroot_existsf(sr, "/sys/module/%s", module);
	if (r < 0)
		return fix_unable(err, "cannot tell whether %s is loaded: %s", module, rd_strerror(r));
	if (r)
		return 0;
	rd_step_describe(step, "load %s", module);
	rd_step_run(step, (const char *const[]){ "modprobe", module, NULL },
	            (const char *const[]){ "modprobe", "-r", module, NULL });
	return 0;
}

const struct rd_action rd_action_modprobe_load = {
	.name = "modprobe.load",
	.summary = "load a kernel module",
	.args = (const char *const[]){ "module", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_MODULE,
	.lower = lower,
};
