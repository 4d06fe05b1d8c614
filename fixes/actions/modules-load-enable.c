/* Have a kernel module loaded early at every boot, whatever its hardware aliases say. */

#include <errno.h>
#include <string.h>

#include "common-modprobe.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

static bool lists(char *text, const char *module)
{
	char *line;

	while ((line = rd_str_next_line(&text)))
		if (modprobe_same_module(rd_str_strip(line), module))
			return true;
	return false;
}

static bool is_enabled(struct rd_sysroot *sr, const char *module)
{
	static const char *const patterns[] = { "/etc/modules-load.d/*.conf", "/run/modules-load.d/*.conf",
		                                "/usr/lib/modules-load.d/*.conf" };
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	/* What cannot be listed is not enabled as far as we know: naming a module twice does no harm. */
	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++)
		if (rd_sysroot_glob(sr, &files, patterns[i]) < 0)
			continue;
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *text = NULL;

		if (rd_sysroot_read(sr, &text, files.v[i]) == 0 && lists(text, module))
			return true;
	}
	return false;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *module = rd_step_arg(step, "module");
	rd_auto_free char *path = NULL;
	int r = fix_check_word(module, err);

	if (r < 0)
		return r;
	if (is_enabled(sr, module))
		return 0;
	path = rd_xasprintf("/etc/modules-load.d/rocm-doctor-%s.conf", module);
	rd_step_describe(step, "load %s early at every boot", module);
	return fix_add_line(step, sr, path, "", module, err);
}

const struct rd_action rd_action_modules_load_enable = {
	.name = "modules-load.enable",
	.summary = "load a kernel module early at every boot",
	.args = (const char *const[]){ "module", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
