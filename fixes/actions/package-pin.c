/* Let the packages of AMD's repository win over the distribution's of the same name, as AMD's guide says. */

#include <errno.h>

#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	enum pkg_manager manager;
	int r = pkg_manager_of(sr, &manager, err);

	if (r < 0)
		return r;
	if (manager != PKG_APT)
		return rd_error_set(err, -EOPNOTSUPP, "dnf and zypper rank repositories by the priority in their .repo files");
	rd_step_describe(step, "let AMD's packages win over the distribution's");
	rd_step_origin(step, "AMD's installation guide: origin repo.radeon.com at priority 600");
	rd_step_write(step, "/etc/apt/preferences.d/rocm-pin-600",
	              "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n", 0644);
	return 0;
}

const struct rd_action rd_action_package_pin = {
	.name = "package.pin",
	.summary = "let AMD's packages win over the distribution's",
	.args = (const char *const[]){ NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
