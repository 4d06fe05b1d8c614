/* Let the package manager finish what it left half done. */

#include <errno.h>
#include <string.h>

#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/str.h"

static bool is_provided(const struct pkg_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++) {
		rd_auto_strv struct rd_strv provided = RD_STRV_INIT;

		if (!set->v[i].installed)
			continue;
		if (rd_streq(set->v[i].name, name))
			return true;
		rd_strv_split(&provided, set->v[i].provides ? set->v[i].provides : "", ", ", false);
		if (rd_strv_has(&provided, name))
			return true;
	}
	return false;
}

/* "rocminfo (>= 1.0), libc6 | libc6-any": is each there by name? */
static bool is_met(const struct pkg_set *set, const char *depends)
{
	rd_auto_strv struct rd_strv relations = RD_STRV_INIT;

	rd_strv_split(&relations, depends, ",", false);
	for (size_t i = 0; i < relations.n; i++) {
		rd_auto_strv struct rd_strv ways = RD_STRV_INIT;
		bool met = false;

		rd_strv_split(&ways, relations.v[i], "|", false);
		for (size_t k = 0; k < ways.n && !met; k++) {
			char *name = ways.v[k] + strspn(ways.v[k], " ");

			name[strcspn(name, " (:")] = '\0';
			met = is_provided(set, name);
		}
		if (!met)
			return false;
	}
	return true;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	bool half = false, unmet = false;
	enum pkg_manager manager;
	int r = pkg_manager_of(sr, &manager, err);

	if (r == 0 && manager != PKG_APT)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "rpm installs a package wholly or not at all: see what dnf check, or zypper verify, says");
	if (r == 0)
		r = pkg_set_read(sr, NULL, &set, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set.n; i++) {
		const struct pkg *p = &set.v[i];

		if (p->installed && !p->whole) {
			half = true;
			rd_step_origin(step, "dpkg has %s %s only in part", p->name, p->version ? p->version : "");
		} else if (p->installed && p->depends && !is_met(&set, p->depends)) {
			unmet = true;
			rd_step_origin(step, "what %s needs is not installed", p->name);
		}
	}
	rd_step_describe(step, "let dpkg and apt finish what is half installed");
	if (half)
		rd_step_run(step, (const char *const[]){ "dpkg", "--configure", "-a", NULL }, NULL);
	if (half || unmet)
		rd_step_run(step,
		            (const char *const[]){ "apt-get", "install", "-y", "--fix-broken", "--no-install-recommends",
		                                   "--no-remove", "-o", "DPkg::Lock::Timeout=300", "-o",
		                                   "Dpkg::Options::=--force-confold", NULL },
		            NULL);
	return 0;
}

const struct rd_action rd_action_package_repair = {
	.name = "package.repair",
	.summary = "let the package manager finish what is half installed",
	.args = (const char *const[]){ NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_REPAIR,
	.lower = lower,
};
