/*
 * Build the initramfs anew: it holds copies of modules and of modprobe.d.
 *
 * That of the running kernel, and of the newest where another one is to be booted next. A host that boots without one has
 * nothing to do.
 */

#include "common-boot.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* By any of the names that distributions give it; NULL: there is none. Caller frees. */
static char *image_of(struct rd_sysroot *sr, const char *kernel)
{
	static const char *const parts[][2] = { { "initrd.img-", "" }, { "initramfs-", ".img" }, { "initrd-", "" } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(parts); i++) {
		rd_auto_free char *path = rd_xasprintf("/boot/%s%s%s", parts[i][0], kernel, parts[i][1]);

		if (rd_sysroot_exists(sr, path) != 0)
			return rd_steal(path);
	}
	return NULL;
}

static int rebuild(struct rd_step *step, struct rd_sysroot *sr, const char *kernel, struct rd_error *err)
{
	rd_auto_free char *image = image_of(sr, kernel);

	/* What hangs on it copies the new one to where the firmware reads. */
	if (image && fix_has_program(sr, "update-initramfs"))
		rd_step_renew(step, (const char *const[]){ "update-initramfs", "-u", "-k", kernel, NULL });
	else if (boot_is_copied(sr, kernel))
		return boot_install(step, sr, kernel, rd_step_renew, err);
	/* Left to itself dracut may choose another file than the one that is booted. */
	else if (image && fix_has_program(sr, "dracut"))
		rd_step_renew(step, (const char *const[]){ "dracut", "--force", image, kernel, NULL });
	else if (image)
		return fix_unable(err, "neither update-initramfs nor dracut is here to rebuild '%s'", image);
	return 0;
}

/* Arch names images by package and not by release; its presets know them all. */
static bool has_presets(struct rd_sysroot *sr)
{
	rd_auto_strv struct rd_strv presets = RD_STRV_INIT;

	return fix_has_program(sr, "mkinitcpio") && rd_sysroot_glob(sr, &presets, "/etc/mkinitcpio.d/*.preset") == 0 &&
	       presets.n;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *reboot = rd_step_arg(step, "reboot");
	rd_auto_strv struct rd_strv kernels = RD_STRV_INIT;
	int r = 0;

	rd_step_describe(step, "rebuild the initramfs");
	/* Where what the initramfs holds runs already, only the next boot takes another. */
	if (reboot && rd_streq(reboot, "yes"))
		rd_step_needs(step, RD_ACTION_REBOOT);
	if (has_presets(sr)) {
		rd_step_renew(step, (const char *const[]){ "mkinitcpio", "-P", NULL });
		return 0;
	}
	r = boot_kernels(step, sr, &kernels, err);
	for (size_t i = 0; i < kernels.n && r == 0; i++)
		r = rebuild(step, sr, kernels.v[i], err);
	return r;
}

const struct rd_action rd_action_initramfs_rebuild = {
	.name = "initramfs.rebuild",
	.summary = "rebuild the initramfs",
	.args = (const char *const[]){ "reboot?", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_RENEWS,
	.phase = RD_PHASE_INITRAMFS,
	.lower = lower,
};
