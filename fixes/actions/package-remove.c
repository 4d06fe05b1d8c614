/* Take packages off that are installed; nothing else may go with them. */

#include <errno.h>
#include <string.h>

#include "common-candidates.h"
#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/str.h"
#include "util/strbuf.h"

/* A relation that only the one package can meet: "rocm-core (= 6.4.3), hip | hip-dev" needs rocm-core, and either of the rest. */
static bool needs(const char *depends, const struct rd_strv *names)
{
	rd_auto_strv struct rd_strv relations = RD_STRV_INIT;

	rd_strv_split(&relations, depends, ",", false);
	for (size_t i = 0; i < relations.n; i++) {
		char *name = relations.v[i] + strspn(relations.v[i], " ");

		if (strchr(name, '|'))
			continue;
		name[strcspn(name, " (:")] = '\0';
		if (rd_strv_has(names, name))
			return true;
	}
	return false;
}

/* apt would remove these as well, which nobody asked for. */
static int check_dependents(const struct pkg_set *set, const struct rd_strv *names, struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf found = RD_STRBUF_INIT;

	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].installed && set->v[i].depends && !rd_strv_has(names, set->v[i].name) &&
		    needs(set->v[i].depends, names))
			rd_strbuf_addf(&found, "%s%s", found.len ? ", " : "", set->v[i].name);
	return found.len ? rd_error_set(err, -EOPNOTSUPP, "other packages need it and would go too: %s", found.buf) : 0;
}

/* dnf and zypper would take along all that needs it without a word; rpm refuses. */
static void begin(struct argv *argv, enum pkg_manager manager)
{
	if (manager == PKG_APT)
		argv_remove(argv, manager);
	else
		argv_add(argv, (const char *const[]){ "rpm", "--erase", NULL });
}

static int lower_names(struct rd_step *step, struct rd_sysroot *sr, const struct pkg_set *set, const struct rd_strv *names,
                       struct rd_error *err)
{
	pkg_auto_candidates struct pkg_candidates candidates = PKG_CANDIDATES_INIT;
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	rd_auto_strv struct rd_strv present = RD_STRV_INIT;
	bool reversible = true;
	int r = 0;

	for (size_t i = 0; i < names->n; i++)
		if (pkg_installed_version(set, names->v[i]))
			rd_strv_push(&present, names->v[i]);
	if (present.n)
		r = pkg_candidates_read(sr, set->manager, &present, &candidates, err);
	if (r == 0)
		r = check_dependents(set, &present, err);
	if (r < 0 || !present.n)
		return r;
	begin(&apply, set->manager);
	argv_install(&undo, set->manager, true);
	for (size_t i = 0; i < present.n; i++) {
		const struct pkg *p = pkg_find(set, present.v[i]);

		if (p->held)
			return rd_error_set(err, -EOPNOTSUPP, "%s is held; take the hold off first", p->name);
		if (pkg_needs_reboot(p->name))
			rd_step_needs(step, RD_ACTION_REBOOT);
		argv_addf(&apply, "%s", p->name);
		argv_add_package(&undo, set->manager, p->name, p->version);
		rd_step_origin(step, "%s %s is installed", p->name, p->version);
		if (!pkg_has_candidate(&candidates, p->name, p->version)) {
			rd_step_origin(step, "%s %s is not in %s: there is no way back to it", p->name, p->version,
			               pkg_lists_name(set->manager));
			reversible = false;
		}
	}
	if (present.n == 1)
		rd_step_describe(step, "remove %s", present.v[0]);
	else
		rd_step_describe(step, "remove %s and %zu more", present.v[0], present.n - 1);
	rd_step_run(step, argv_done(&apply), reversible ? argv_done(&undo) : NULL);
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = pkg_parse_names(rd_step_arg(step, "packages"), &names, err);

	if (r == 0)
		r = pkg_set_read(sr, &names, &set, err);
	return r < 0 ? r : lower_names(step, sr, &set, &names, err);
}

const struct rd_action rd_action_package_remove = {
	.name = "package.remove",
	.summary = "remove packages",
	.args = (const char *const[]){ "packages", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_PACKAGE,
	.lower = lower,
};
