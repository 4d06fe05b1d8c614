/*
 * Packages at exact versions. The version is the one that is asked for, or the newest that the lists on disk offer from the
 * wanted origin and release; a name that carries the kernel's release is a pin of its own.
 */

#include "common-install.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-candidates.h"
#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

struct request {
	const struct pkg_request *asked;
	char *code;           /* of the release in AMD's versions */
	char *kernel_version; /* of the kernel's package; several versions may be installed */
	struct pkg_set set;
	struct pkg_candidates candidates;
};

static void request_clear(struct request *q)
{
	free(q->code);
	free(q->kernel_version);
	pkg_set_clear(&q->set);
	pkg_candidates_clear(&q->candidates);
}

/* What there is of the package now; of one that there may be several of, only the very version counts. */
static const char *version_now(const struct request *q, const char *name)
{
	if (!q->kernel_version)
		return pkg_installed_version(&q->set, name);
	for (size_t i = 0; i < q->set.n; i++)
		if (rd_streq(q->set.v[i].name, name) && rd_streq(q->set.v[i].version, q->kernel_version))
			return q->kernel_version;
	return NULL;
}

static bool fits(const struct request *q, const struct pkg_candidate *c)
{
	rd_auto_free char *mark = q->code ? rd_xasprintf(".%s-", q->code) : NULL;

	if (q->asked->from && c->amd != rd_streq(q->asked->from, "amd"))
		return false;
	return (!mark || strstr(c->version, mark)) && (!q->asked->build || rd_str_has_suffix(c->version, q->asked->build));
}

static const struct pkg_candidate *choose(const struct request *q, const char *name)
{
	const struct pkg_candidate *best = NULL;

	for (size_t i = 0; i < q->candidates.n; i++) {
		const struct pkg_candidate *c = &q->candidates.v[i];

		if (rd_streq(c->name, name) && fits(q, c) &&
		    (!best || pkg_version_compare(q->set.manager, c->version, best->version) > 0))
			best = c;
	}
	return best;
}

static int no_version(const struct request *q, const char *name, struct rd_error *err)
{
	const char *lists = pkg_lists_name(q->set.manager), *refresh = pkg_refresh_command(q->set.manager);
	const char *release = q->asked->release;

	if (q->candidates.unreadable && !q->candidates.n)
		return rd_error_set(err, -EOPNOTSUPP, "%s cannot be read here, so no version of %s can be pinned", lists, name);
	return rd_error_set(err, -EOPNOTSUPP, "%s on disk %s no %s%s%s%s; refresh (%s), or add the repository first", lists,
	                    q->set.manager == PKG_APT ? "have" : "has", name,
	                    q->asked->from && rd_streq(q->asked->from, "amd") ? " from AMD" : "", release ? " of release " : "",
	                    release ? release : "", refresh);
}

/* The version to install: NULL with 0 where the package is as it should be, "" where the name alone is the pin. */
static int decide(struct rd_step *step, const struct request *q, const char *name, const char **ret, struct rd_error *err)
{
	const char *version = q->kernel_version ? q->kernel_version : q->asked->version, *now = version_now(q, name);
	const struct pkg_candidate *c;
	bool exact = version || q->asked->release || q->asked->build;

	*ret = NULL;
	if (version && now && rd_streq(now, version))
		return 0;
	if (q->asked->named && now)
		return 0;
	if (version) {
		*ret = version;
		if (!q->kernel_version)
			rd_step_origin(step, "%s: %s", version, q->asked->origin ? q->asked->origin : "the version asked for");
		return 0;
	}
	c = choose(q, name);
	if (!c && q->asked->named) {
		*ret = "";
		rd_step_origin(step, "%s: the name carries the release of the running kernel", name);
		return 0;
	}
	if (!c)
		return no_version(q, name, err);
	if (q->asked->avoid && *q->asked->avoid && strstr(c->version, q->asked->avoid))
		return rd_error_set(err, -EOPNOTSUPP, "%s %s, the newest in %s, is one that is known to fail", name, c->version,
		                    pkg_lists_name(q->set.manager));
	if (now && (rd_streq(now, c->version) || (!exact && pkg_version_compare(q->set.manager, now, c->version) > 0)))
		return 0;
	*ret = c->version;
	rd_step_origin(step, "%s %s: the newest in %s, from %s", name, c->version, pkg_lists_name(q->set.manager), c->where);
	return 0;
}

/* What takes a package back to how it is now; false where that version is not to be had any more. */
static bool add_undo(struct rd_step *step, const struct request *q, const char *name, struct argv *install, struct argv *remove)
{
	const char *now = version_now(q, name);

	if (!now) {
		argv_add_package(remove, q->set.manager, name, q->kernel_version ? q->kernel_version : "");
		return true;
	}
	if (!pkg_has_candidate(&q->candidates, name, now)) {
		rd_step_origin(step, "%s %s, which is installed, is not in %s: there is no way back to it", name, now,
		               pkg_lists_name(q->set.manager));
		return false;
	}
	argv_add_package(install, q->set.manager, name, now);
	return true;
}

/*
 * New packages and those that change are two commands where both are there: each has an undo of its own kind. They must be
 * given together to be solvable, so then the undo is only that of the changed ones; the new ones go with what was brought.
 */
static int lower_names(struct rd_step *step, const struct request *q, const struct rd_strv *names, struct rd_error *err)
{
	auto_argv struct argv apply = ARGV_INIT, install = ARGV_INIT, remove = ARGV_INIT;
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;
	enum pkg_manager manager = q->set.manager;
	bool reversible = true, changes = false, down = false;
	rd_auto_strv struct rd_strv wanted = RD_STRV_INIT, versions = RD_STRV_INIT;

	for (size_t i = 0; i < names->n; i++) {
		const struct pkg *p = pkg_find(&q->set, names->v[i]);
		const char *version;
		int r = decide(step, q, names->v[i], &version, err);

		if (r < 0)
			return r;
		if (!version)
			continue;
		if (p && p->held)
			return rd_error_set(err, -EOPNOTSUPP, "%s is held at %s; take the hold off first", p->name, p->version);
		rd_strv_push(&wanted, names->v[i]);
		rd_strv_push(&versions, version);
		down = down || (p && p->installed && *version && !q->kernel_version &&
		                pkg_version_compare(manager, p->version, version) > 0);
	}
	if (!wanted.n)
		return 0;
	argv_install(&apply, manager, down);
	argv_install(&install, manager, true);
	argv_remove(&remove, manager);
	for (size_t i = 0; i < wanted.n; i++) {
		bool is_new = !version_now(q, wanted.v[i]);

		if (pkg_needs_reboot(wanted.v[i]))
			rd_step_needs(step, RD_ACTION_REBOOT);
		argv_add_package(&apply, manager, wanted.v[i], versions.v[i]);
		reversible = add_undo(step, q, wanted.v[i], &install, &remove) && reversible;
		changes = changes || !is_new;
		rd_strbuf_addf(&words, "%s%s%s%s", i ? ", " : "", wanted.v[i], *versions.v[i] ? " " : "", versions.v[i]);
	}
	rd_step_describe(step, "install %s", words.buf);
	rd_step_run(step, argv_done(&apply), !reversible ? NULL : changes ? argv_done(&install) : argv_done(&remove));
	return 0;
}

static int check(const struct request *q, struct rd_error *err)
{
	const char *const values[] = { q->asked->version, q->asked->build };

	for (size_t i = 0; i < RD_ARRAY_SIZE(values); i++)
		if (values[i] && pkg_check_version(values[i], err) < 0)
			return -EINVAL;
	if (q->asked->release && !q->code)
		return rd_error_set(err, -EOPNOTSUPP, "'%s' is not a release of ROCm", q->asked->release);
	if (q->asked->from && !rd_streq(q->asked->from, "amd") && !rd_streq(q->asked->from, "distribution"))
		return rd_error_set(err, -EINVAL, "'%s' is not an origin of packages", q->asked->from);
	return 0;
}

/*
 * SUSE's packages beside the kernel have its version and a number of their own build behind it: 6.4.0-150600.23.25-default is
 * of kernel-default 6.4.0-150600.23.25.1, which is installed.
 */
static int pin_to_kernel(struct rd_step *step, struct rd_sysroot *sr, struct request *q, struct rd_error *err)
{
	const char *kernel = q->asked->kernel, *flavour = strrchr(kernel, '-');
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	size_t len = flavour ? (size_t)(flavour - kernel) : 0;
	int r;

	rd_strv_pushf(&names, "kernel-%s", flavour ? flavour + 1 : "");
	r = pkg_set_read(sr, &names, &set, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set.n && !q->kernel_version; i++) {
		const char *version = set.v[i].version;

		if (len && strncmp(version, kernel, len) == 0 && (!version[len] || version[len] == '.'))
			q->kernel_version = rd_xstrdup(version);
	}
	if (!q->kernel_version)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "no package of the running kernel %s is installed, so its version is not known", kernel);
	rd_step_origin(step, "%s %s is the kernel that runs", names.v[0], q->kernel_version);
	return pkg_check_version(q->kernel_version, err);
}

int pkg_install(struct rd_step *step, struct rd_sysroot *sr, const struct pkg_request *asked, struct rd_error *err)
{
	rd_auto(request_clear) struct request q = { .asked = asked, .set = PKG_SET_INIT, .candidates = PKG_CANDIDATES_INIT };
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	q.code = asked->release ? pkg_release_code(asked->release) : NULL;
	r = check(&q, err);
	if (r == 0)
		r = pkg_parse_names(asked->packages, &names, err);
	if (r == 0 && asked->kernel)
		r = pin_to_kernel(step, sr, &q, err);
	if (r == 0)
		r = pkg_set_read(sr, &names, &q.set, err);
	if (r == 0)
		r = pkg_candidates_read(sr, q.set.manager, &names, &q.candidates, err);
	return r < 0 ? r : lower_names(step, &q, &names, err);
}
