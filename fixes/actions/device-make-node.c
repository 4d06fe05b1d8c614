/*
 * Make the node of a GPU device that the kernel has and /dev lacks.
 *
 * Nodes in devtmpfs are the kernel's; udev only sets their owner and mode, so a node that was removed stays away.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

/* The folder in sysfs of one of the two kinds of node that ROCm opens; NULL for any other. */
static char *class_of(const char *path)
{
	static const char render[] = "/dev/dri/renderD";

	if (rd_streq(path, "/dev/kfd"))
		return rd_xstrdup("/sys/class/kfd/kfd");
	if (rd_str_has_prefix(path, render) && path[sizeof(render) - 1] &&
	    !path[sizeof(render) - 1 + strspn(path + sizeof(render) - 1, "0123456789")])
		return rd_xasprintf("/sys/class/drm/%s", path + strlen("/dev/dri/"));
	return NULL;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *path = rd_step_arg(step, "path");
	rd_auto_free char *class = class_of(path), *dev = NULL, *major = NULL, *minor = NULL;
	unsigned numbers[2];
	char rest;
	int r;

	if (!class)
		return rd_error_set(err, -EINVAL, "'%s' is no node of a GPU", path);
	r = rd_sysroot_exists(sr, path);
	if (r < 0)
		return fix_unable(err, "cannot tell whether '%s' is there: %s", path, rd_strerror(r));
	if (r)
		return 0;
	r = rd_sysroot_readf_line(sr, &dev, "%s/dev", class);
	if (r < 0)
		return fix_unable(err, "the kernel has no device for '%s' ('%s/dev': %s)", path, class, rd_strerror(r));
	if (sscanf(dev, "%u:%u%c", &numbers[0], &numbers[1], &rest) != 2)
		return fix_unable(err, "'%s/dev' does not hold two numbers", class);
	major = rd_xasprintf("%u", numbers[0]);
	minor = rd_xasprintf("%u", numbers[1]);
	rd_step_describe(step, "make %s", path);
	rd_step_run(step, (const char *const[]){ "mknod", "-m", "0660", path, "c", major, minor, NULL },
	            (const char *const[]){ "rm", "-f", path, NULL });
	return 0;
}

const struct rd_action rd_action_device_make_node = {
	.name = "device.make-node",
	.summary = "make the missing node of a GPU device",
	.args = (const char *const[]){ "path", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_GROUP,
	.lower = lower,
};
