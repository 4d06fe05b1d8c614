/* Build and install a DKMS module for a kernel. */

#include <errno.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* DKMS marks what it has installed by a link in the module's folder, kernel-RELEASE-MACHINE. */
static int is_installed(struct rd_sysroot *sr, const char *module, const char *version, const char *kernel)
{
	rd_auto_strv struct rd_strv marks = RD_STRV_INIT;
	rd_auto_free char *pattern = rd_xasprintf("/var/lib/dkms/%s/kernel-%s-*", module, kernel);
	int r = rd_sysroot_glob(sr, &marks, pattern);

	for (size_t i = 0; i < marks.n; i++) {
		rd_auto_free char *target = NULL, *start = rd_xasprintf("%s/", version);

		if (rd_sysroot_readlink(sr, &target, marks.v[i]) == 0 && rd_str_has_prefix(target, start))
			return 1;
	}
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *module = rd_step_arg(step, "module"), *version = rd_step_arg(step, "version");
	const char *kernel = rd_step_arg(step, "kernel");
	rd_auto_free char *what = rd_xasprintf("%s/%s", module, version);
	int r = fix_check_word(module, err);

	if (r == 0)
		r = rd_arg_check_name(version, err);
	if (r == 0)
		r = rd_arg_check_name(kernel, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "build %s %s for kernel %s", module, version, kernel);
	r = is_installed(sr, module, version, kernel);
	if (r < 0)
		return fix_unable(err, "cannot look into '/var/lib/dkms/%s': %s", module, rd_strerror(r));
	if (r)
		return 0;
	if (!fix_has_program(sr, "dkms"))
		return fix_unable(err, "there is no dkms here");
	rd_step_run(step, (const char *const[]){ "dkms", "install", what, "-k", kernel, NULL },
	            (const char *const[]){ "dkms", "uninstall", what, "-k", kernel, NULL });
	/* A module in use stays in use until then. */
	if (rd_sysroot_existsf(sr, "/sys/module/%s", module) == 1)
		rd_step_needs(step, RD_ACTION_REBOOT);
	return 0;
}

const struct rd_action rd_action_dkms_rebuild = {
	.name = "dkms.rebuild",
	.summary = "build a DKMS module for a kernel",
	.args = (const char *const[]){ "module", "version", "kernel", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_INITRAMFS,
	.lower = lower,
};
