/* Packages at exact versions. */

#include "common-brought.h"
#include "common-install.h"
#include "rocm-doctor/action.h"
#include "util/str.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *named = rd_step_arg(step, "named");
	struct pkg_request asked = {
		.packages = rd_step_arg(step, "packages"),
		.version = rd_step_arg(step, "version"),
		.release = rd_step_arg(step, "release"),
		.from = rd_step_arg(step, "from"),
		.build = rd_step_arg(step, "build"),
		.origin = rd_step_arg(step, "origin"),
		.kernel = rd_step_arg(step, "kernel"),
		.named = named && rd_streq(named, "yes"),
	};

	return pkg_install(step, sr, &asked, err);
}

const struct rd_action rd_action_package_install = {
	.name = "package.install",
	.summary = "install packages at exact versions",
	.args = (const char *const[]){ "packages", "version?", "release?", "from?", "build?", "named?", "origin?", "kernel?",
	                               NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_PACKAGE,
	.brings = &pkg_brings,
	.lower = lower,
};
