/*
 * Build the initramfs anew: it holds copies of modules and of modprobe.d.
 *
 * That of the running kernel, and of the newest where another one is to be booted next. A host that boots without one has
 * nothing to do.
 */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"

/* By any of the names that distributions give it. */
static bool has_image(struct rd_sysroot *sr, const char *kernel)
{
	return rd_sysroot_existsf(sr, "/boot/initrd.img-%s", kernel) != 0 ||
	       rd_sysroot_existsf(sr, "/boot/initramfs-%s.img", kernel) != 0 ||
	       rd_sysroot_existsf(sr, "/boot/initrd-%s", kernel) != 0;
}

static int rebuild(struct rd_step *step, struct rd_sysroot *sr, const char *kernel, struct rd_error *err)
{
	int r = rd_arg_check_name(kernel, err);

	if (r < 0)
		return r;
	if (!has_image(sr, kernel))
		return 0;
	rd_step_describe(step, "rebuild the initramfs");
	if (fix_has_program(sr, "update-initramfs"))
		rd_step_renew(step, (const char *const[]){ "update-initramfs", "-u", "-k", kernel, NULL });
	else if (fix_has_program(sr, "dracut"))
		rd_step_renew(step, (const char *const[]){ "dracut", "--force", "--kver", kernel, NULL });
	else
		return fix_unable(err, "neither update-initramfs nor dracut is here to rebuild the initramfs of %s", kernel);
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const struct rd_fact *facts = rd_step_facts(step);
	const char *newest = rd_fact_get_str(facts, "kernel.newest");
	const struct rd_uname *un;
	int r = rd_sysroot_uname(sr, &un);

	if (r < 0)
		return fix_unable(err, "the release of the running kernel is not known: %s", rd_strerror(r));
	r = rebuild(step, sr, un->release, err);
	if (r == 0 && *newest && !rd_streq(newest, un->release))
		r = rebuild(step, sr, newest, err);
	return r;
}

const struct rd_action rd_action_initramfs_rebuild = {
	.name = "initramfs.rebuild",
	.summary = "rebuild the initramfs",
	.args = (const char *const[]){ NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_INITRAMFS,
	.lower = lower,
};
