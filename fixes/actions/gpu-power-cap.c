/* Give a GPU its own power limit back, until the next boot. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *address = rd_step_arg(step, "address");
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *pattern = NULL, *value = NULL, *path = NULL;
	uint64_t microwatts;
	int r = fix_check_address(address, err);

	if (r < 0)
		return r;
	pattern = rd_xasprintf("/sys/bus/pci/devices/%s/hwmon/hwmon*/power1_cap_default", address);
	r = rd_sysroot_glob(sr, &found, pattern);
	if (r == 0 && found.n)
		r = rd_sysroot_read_u64(sr, &microwatts, found.v[0]);
	if (r < 0 || !found.n)
		return fix_unable(err, "the driver of GPU %s does not tell its own power limit", address);
	path = rd_xstrndup(found.v[0], strlen(found.v[0]) - strlen("_default"));
	value = rd_xasprintf("%" PRIu64, microwatts);
	rd_step_describe(step, "set the power limit of GPU %s to its own, %" PRIu64 " W", address, microwatts / 1000000);
	rd_step_write_value(step, path, value);
	return 0;
}

const struct rd_action rd_action_gpu_power_cap = {
	.name = "gpu.power-cap",
	.summary = "give a GPU its own power limit back",
	.args = (const char *const[]){ "address", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_MODULE,
	.lower = lower,
};
