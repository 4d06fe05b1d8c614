/* Load a module only when the system is up: keep udev from it, and let a service of ours load it. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#define UNITS "/etc/systemd/system"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *module = rd_step_arg(step, "module");
	rd_auto_free char *conf = NULL, *line = NULL, *unit = NULL, *path = NULL, *wants = NULL, *text = NULL;
	int r = fix_check_word(module, err);

	if (r < 0)
		return r;
	if (rd_sysroot_exists(sr, UNITS) != 1)
		return fix_unable(err, "there is no systemd here to load %s later", module);
	conf = rd_xasprintf("/etc/modprobe.d/rocm-doctor-%s-late.conf", module);
	line = rd_xasprintf("blacklist %s", module);
	unit = rd_xasprintf("rocm-doctor-%s-late.service", module);
	path = rd_xasprintf(UNITS "/%s", unit);
	wants = rd_xasprintf(UNITS "/multi-user.target.wants/%s", unit);
	text = rd_xasprintf(FIX_HEADER "[Unit]\n"
	                               "Description=Load %s when the system is up\n"
	                               "After=basic.target\n"
	                               "\n"
	                               "[Service]\n"
	                               "Type=oneshot\n"
	                               "RemainAfterExit=yes\n"
	                               "ExecStart=/sbin/modprobe %s\n"
	                               "\n"
	                               "[Install]\n"
	                               "WantedBy=multi-user.target\n",
	                    module, module);
	rd_step_describe(step, "load %s only when the system is up", module);
	r = fix_add_line(step, sr, conf, "", line, err);
	rd_step_write(step, path, text, 0644);
	rd_step_link(step, wants, path);
	fix_reload_systemd(step, sr);
	return r;
}

const struct rd_action rd_action_modprobe_load_late = {
	.name = "modprobe.load-late",
	.summary = "load a kernel module only when the system is up",
	.args = (const char *const[]){ "module", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_REBOOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
