/* Set a kernel parameter, now and at every boot. */

#include <errno.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

/* Of several files that set it the last by name counts. */
#define CONF "/etc/sysctl.d/zz-rocm-doctor.conf"

/* "kernel.numa_balancing" as a path below /proc/sys. */
static int proc_path(char **ret, const char *name, struct rd_error *err)
{
	rd_auto_free char *path = NULL;

	if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.")] || *name == '.' || strstr(name, "..") ||
	    strlen(name) > 255)
		return rd_error_set(err, -EINVAL, "'%s' is not a kernel parameter", name);
	path = rd_xasprintf("/proc/sys/%s", name);
	for (char *c = path + strlen("/proc/sys/"); *c; c++)
		if (*c == '.')
			*c = '/';
	*ret = rd_steal(path);
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *value = rd_step_arg(step, "value");
	rd_auto_free char *path = NULL, *line = NULL;
	int r = proc_path(&path, name, err);

	if (r == 0)
		r = fix_check_value(value, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "set %s = %s", name, value);
	line = rd_xasprintf("%s = %s", name, value);
	r = fix_add_line(step, sr, CONF, "", line, err);
	if (r == 0 && rd_sysroot_exists(sr, path) == 1)
		rd_step_write_value(step, path, value);
	return r;
}

const struct rd_action rd_action_sysctl_set = {
	.name = "sysctl.set",
	.summary = "set a kernel parameter, now and at every boot",
	.args = (const char *const[]){ "name", "value", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
