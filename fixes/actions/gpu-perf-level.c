/* Set a GPU's performance level, until the next boot. */

#include <errno.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	static const char *const levels[] = { "auto", "low", "high" };
	const char *address = rd_step_arg(step, "address"), *level = rd_step_arg(step, "level");
	rd_auto_free char *path = NULL;
	size_t i = 0;
	int r = fix_check_address(address, err);

	if (r < 0)
		return r;
	while (i < RD_ARRAY_SIZE(levels) && !rd_streq(levels[i], level))
		i++;
	if (i == RD_ARRAY_SIZE(levels))
		return rd_error_set(err, -EINVAL, "'%s' is no performance level that is set here", level);
	path = rd_xasprintf("/sys/bus/pci/devices/%s/power_dpm_force_performance_level", address);
	if (rd_sysroot_exists(sr, path) != 1)
		return fix_unable(err, "the driver of GPU %s has no such setting", address);
	rd_step_describe(step, "set the performance level of GPU %s to %s", address, level);
	rd_step_write_value(step, path, level);
	return 0;
}

const struct rd_action rd_action_gpu_perf_level = {
	.name = "gpu.perf-level",
	.summary = "set a GPU's performance level",
	.args = (const char *const[]){ "address", "level", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_MODULE,
	.lower = lower,
};
