/* Make comments of the "blacklist MODULE" lines of one modprobe.d file. */

#include "common-modprobe.h"
#include "rocm-doctor/action.h"
#include "util/str.h"
#include "util/strv.h"

static bool blacklists(const struct rd_strv *words, const char *module)
{
	return rd_streq(words->v[0], "blacklist") && modprobe_same_module(words->v[1], module);
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *file = rd_step_arg(step, "file"), *module = rd_step_arg(step, "module");

	rd_step_describe(step, "let %s load again: %s", module, file);
	return modprobe_switch_off(step, sr, file, module, blacklists, err);
}

const struct rd_action rd_action_modprobe_unblacklist = {
	.name = "modprobe.unblacklist",
	.summary = "let a blacklisted kernel module load again",
	.args = (const char *const[]){ "file", "module", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
