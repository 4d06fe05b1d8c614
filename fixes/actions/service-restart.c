/* Restart a service, where it runs: it has its groups, variables and view of the GPUs from its start. */

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *unit = NULL;
	int r = fix_unit(&unit, rd_step_arg(step, "unit"), err);

	if (r < 0)
		return r;
	if (!fix_runs_systemd(sr))
		return fix_unable(err, "systemd does not run here; restart %s where it runs", unit);
	rd_step_describe(step, "restart %s", unit);
	rd_step_renew(step, (const char *const[]){ "systemctl", "try-restart", unit, NULL });
	return 0;
}

const struct rd_action rd_action_service_restart = {
	.name = "service.restart",
	.summary = "restart a service",
	.args = (const char *const[]){ "unit", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_RENEWS,
	.phase = RD_PHASE_SERVICE,
	.lower = lower,
};
