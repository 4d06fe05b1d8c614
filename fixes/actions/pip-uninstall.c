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
	rd_auto_free char *now = NULL, *index = NULL;
	rd_auto_free char *python = rd_xasprintf("%s/bin/python3", prefix), *pin = NULL;
	int r = pip_parse(rd_step_arg(step, "package"), &gone, err);

	if (r == 0 && (gone.n != 1 || gone.v[0].version))
		r = rd_error_set(err, -EINVAL, "one name of a package is wanted");
	if (r == 0)
		r = pip_check_environment(sr, prefix, err);
	if (r < 0)
		return r;
	now = pip_installed(sr, prefix, gone.v[0].name);
	if (!now)
		return 0;
	index = pip_index_of(now);
	pin = rd_xasprintf("%s==%s", gone.v[0].name, now);
	rd_step_describe(step, "take %s %s out of %s", gone.v[0].name, now, prefix);
	rd_step_run_as_owner(step,
	                     (const char *const[]){ python, "-m", "pip", "--disable-pip-version-check", "--no-input",
	                                            "uninstall", "-y", gone.v[0].name, NULL },
	                     index ? (const char *const[]){ python, "-m", "pip", "--disable-pip-version-check", "--no-input",
	                                                    "install", "--no-deps", "--index-url", index, pin, NULL }
	                           : NULL,
	                     prefix);
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
