/* Keep packages at the version that is installed: apt-mark hold, dnf's versionlock, zypper's locks. */

#include <errno.h>
#include <string.h>

#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"

/* Installed packages that a pattern names, those of a list of facts included. */
static int collect(const struct rd_step *step, struct rd_strv *ret, struct rd_error *err)
{
	const char *list = rd_step_arg(step, "list");
	const struct rd_fact *facts = list ? rd_fact_get(rd_step_facts(step), list) : NULL;
	int r = 0;

	for (size_t i = 0; i < rd_fact_count(facts) && r == 0; i++)
		r = pkg_parse_names(rd_fact_str(rd_fact_at(facts, i)), ret, err);
	return r;
}

/* A pattern of the record: a name in which "*" stands for anything. */
static int check_pattern(const char *pattern, struct rd_error *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._*";

	if (*pattern && *pattern != '-' && *pattern != '*' && !pattern[strspn(pattern, good)])
		return 0;
	return rd_error_set(err, -EINVAL, "'%s' is not a pattern of packages", pattern);
}

static int match(const struct pkg_set *set, const char *patterns, struct rd_strv *ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv list = RD_STRV_INIT;

	rd_strv_split(&list, patterns, ", ", false);
	for (size_t i = 0; i < list.n; i++) {
		int r = check_pattern(list.v[i], err);

		if (r < 0)
			return r;
		for (size_t k = 0; k < set->n; k++)
			if (set->v[k].installed && rd_str_glob(list.v[i], set->v[k].name))
				rd_strv_push_unique(ret, set->v[k].name);
	}
	return 0;
}

static int check_plugin(struct rd_sysroot *sr, enum pkg_manager manager, struct rd_error *err)
{
	if (manager != PKG_DNF || rd_sysroot_exists(sr, "/etc/dnf/plugins/versionlock.conf") == 1)
		return 0;
	return rd_error_set(err, -EOPNOTSUPP, "dnf's versionlock plugin is not installed (python3-dnf-plugin-versionlock)");
}

static void run(struct rd_step *step, enum pkg_manager manager, const struct rd_strv *names)
{
	static const char *const begin[][2][4] = {
		[PKG_APT] = { { "apt-mark", "hold", NULL }, { "apt-mark", "unhold", NULL } },
		[PKG_DNF] = { { "dnf", "versionlock", "add", NULL }, { "dnf", "versionlock", "delete", NULL } },
		[PKG_ZYPPER] = { { "zypper", "--non-interactive", "addlock", NULL },
		                 { "zypper", "--non-interactive", "removelock", NULL } },
	};
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;

	argv_add(&apply, begin[manager][0]);
	argv_add(&undo, begin[manager][1]);
	for (size_t i = 0; i < names->n; i++) {
		argv_addf(&apply, "%s", names->v[i]);
		argv_addf(&undo, "%s", names->v[i]);
	}
	rd_step_run(step, argv_done(&apply), argv_done(&undo));
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *patterns = rd_step_arg(step, "packages");
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	rd_auto_strv struct rd_strv names = RD_STRV_INIT, free_ones = RD_STRV_INIT;
	int r = collect(step, &names, err);

	if (r == 0)
		r = pkg_set_read(sr, NULL, &set, err);
	if (r == 0 && patterns)
		r = match(&set, patterns, &names, err);
	if (r == 0)
		r = check_plugin(sr, set.manager, err);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		const struct pkg *p = pkg_find(&set, names.v[i]);

		if (!p || !p->installed || p->held)
			continue;
		rd_strv_push(&free_ones, p->name);
		rd_step_origin(step, "%s %s is installed", p->name, p->version);
	}
	if (r < 0 || !free_ones.n)
		return r;
	rd_step_describe(step, "keep %s%s at its version", free_ones.v[0], free_ones.n > 1 ? " and others" : "");
	run(step, set.manager, &free_ones);
	return 0;
}

const struct rd_action rd_action_package_hold = {
	.name = "package.hold",
	.summary = "keep packages at the version that is installed",
	.args = (const char *const[]){ "packages?", "list?", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_PACKAGE,
	.lower = lower,
};
