/* Take a Python package out of one environment, as its owner. */

#include <errno.h>
#include <stdlib.h>

#include "common-packages.h"
#include "common-pip.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *prefix = rd_step_arg(step, "prefix");
	pip_auto_requirements struct pip_requirements gone = { NULL, 0 };
	pip_auto_tool struct pip_tool tool = { NULL, NULL };
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	rd_auto_free char *now = NULL, *index = NULL;
	int r = pip_parse(rd_step_arg(step, "package"), &gone, err);

	if (r == 0 && (gone.n != 1 || gone.v[0].version || gone.v[0].extras.n))
		r = rd_error_set(err, -EINVAL, "one name of a package is wanted");
	if (r == 0)
		r = pip_tool_find(sr, prefix, &tool, err);
	if (r < 0)
		return r;
	now = pip_installed(sr, prefix, gone.v[0].name);
	if (!now)
		return 0;
	index = pip_index_of(now);
	pip_begin(&apply, &tool, "uninstall");
	argv_addf(&apply, "%s", gone.v[0].name);
	pip_begin(&undo, &tool, "install");
	argv_add(&undo, (const char *const[]){ "--no-deps", "--index-url", NULL });
	argv_addf(&undo, "%s", index ? index : "");
	argv_addf(&undo, "%s==%s", gone.v[0].name, now);
	rd_step_describe(step, "take %s %s out of %s", gone.v[0].name, now, prefix);
	rd_step_run_as_owner(step, argv_done(&apply), index ? argv_done(&undo) : NULL, prefix);
	return 0;
}

const struct rd_action rd_action_pip_uninstall = {
	.name = "pip.uninstall",
	.summary = "take a Python package out of one environment",
	.args = (const char *const[]){ "prefix", "package", NULL },
	.flags = RD_ACTION_OWNER | RD_ACTION_NETWORK,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
