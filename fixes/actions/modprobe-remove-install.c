/* Make comments of the lines of one modprobe.d file that run something in place of loading a module, or that alias it away. */

#include "common-modprobe.h"
#include "rocm-doctor/action.h"
#include "util/str.h"
#include "util/strv.h"

static bool replaces(const struct rd_strv *words, const char *module)
{
	if (!modprobe_same_module(words->v[1], module))
		return false;
	return rd_streq(words->v[0], "install") ||
	       (rd_streq(words->v[0], "alias") && words->n >= 3 && rd_streq(words->v[2], "off"));
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *file = rd_step_arg(step, "file"), *module = rd_step_arg(step, "module");

	rd_step_describe(step, "load %s itself again: %s", module, file);
	return modprobe_switch_off(step, sr, file, module, replaces, err);
}

const struct rd_action rd_action_modprobe_remove_install = {
	.name = "modprobe.remove-install",
	.summary = "load a module itself, not a command in its place",
	.args = (const char *const[]){ "file", "module", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
