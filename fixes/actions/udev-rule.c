/*
 * A udev rule that gives the GPU nodes to a group.
 *
 * Of several rules that set a group or mode the last one counts, and files are read by name.
 */

#include <errno.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define RULES "/etc/udev/rules.d/99-rocm-doctor-amdgpu.rules"

static int check(const char *group, const char *mode, struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *groups = NULL, *start = rd_xasprintf("\n%s:", group), *all = NULL;
	int r = rd_arg_check_name(group, err);

	if (r < 0)
		return r;
	if (!rd_streq(mode, "0660") && !rd_streq(mode, "0666"))
		return rd_error_set(err, -EINVAL, "'%s' is no mode for a GPU node", mode);
	r = fix_read(sr, &groups, "/etc/group", err);
	all = rd_xasprintf("\n%s", groups ? groups : "");
	/* udevd passes over a rule whose group it does not know. */
	if (r == 0 && !strstr(all, start))
		return fix_unable(err, "there is no group '%s' in /etc/group", group);
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *group = rd_step_arg(step, "group"), *mode = rd_step_arg(step, "mode");
	rd_auto_free char *text = NULL;
	int r = check(group, mode, sr, err);

	if (r < 0)
		return r;
	if (!fix_runs_udev(sr))
		return fix_unable(err, "udevd does not run here; a container's nodes are those of its host");
	text = rd_xasprintf(FIX_HEADER "KERNEL==\"kfd\", GROUP=\"%s\", MODE=\"%s\"\n"
	                               "SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", GROUP=\"%s\", MODE=\"%s\"\n",
	                    group, mode, group, mode);
	rd_step_describe(step, "give the GPU nodes to group %s, mode %s", group, mode);
	rd_step_write(step, RULES, text, 0644);
	rd_step_refresh(step, (const char *const[]){ "udevadm", "control", "--reload", NULL });
	rd_step_refresh(step,
	                (const char *const[]){ "udevadm", "trigger", "--subsystem-match=kfd", "--subsystem-match=drm", NULL });
	rd_step_refresh(step, (const char *const[]){ "udevadm", "settle", NULL });
	return 0;
}

const struct rd_action rd_action_udev_rule = {
	.name = "udev.rule",
	.summary = "give the GPU nodes to a group",
	.args = (const char *const[]){ "group", "mode", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
