/*
 * Packages of Python at exact versions from one index, into an environment, as its owner. PyTorch and its companions are one
 * command, so that pip takes builds that go together.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-packages.h"
#include "common-pip.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static int check_index(const char *index, struct rd_error *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/%+";

	if (!index[strspn(index, good)] && (rd_str_has_prefix(index, "https://") || rd_str_has_prefix(index, "file:///")))
		return 0;
	return rd_error_set(err, -EINVAL, "'%s' is not an index of Python packages", index);
}

/* A companion without a version of its own is right where it is of the build of the first one. */
static bool is_done(const struct pip_requirements *wanted, size_t i, const char *now)
{
	const char *build = wanted->v[0].version ? strchr(wanted->v[0].version, '+') : NULL,
		   *have = now ? strchr(now, '+') : NULL;

	if (!now)
		return false;
	if (wanted->v[i].version)
		return rd_streq(now, wanted->v[i].version);
	return !build || !have || rd_streq(build, have);
}

static void begin(struct argv *argv, const char *prefix, const char *verb)
{
	argv_addf(argv, "%s/bin/python3", prefix);
	argv_add(argv, (const char *const[]){ "-m", "pip", "--disable-pip-version-check", "--no-input", verb, NULL });
}

/*
 * What was there, in one command: back to the old versions of those that change, or away with those that are new. NULL where an
 * old version is of an index that is not known.
 */
static bool make_undo(struct rd_step *step, const struct pip_requirements *wanted, char **now, const char *prefix,
                      struct argv *undo)
{
	rd_auto_free char *index = NULL;
	size_t old = 0;

	for (size_t i = 0; i < wanted->n; i++)
		old += now[i] != NULL;
	if (!old) {
		begin(undo, prefix, "uninstall");
		argv_addf(undo, "-y");
		for (size_t i = 0; i < wanted->n; i++)
			argv_addf(undo, "%s", wanted->v[i].name);
		return true;
	}
	begin(undo, prefix, "install");
	argv_add(undo, (const char *const[]){ "--force-reinstall", "--no-deps", "--index-url", NULL });
	for (size_t i = 0; i < wanted->n && !index; i++)
		index = !now[i]                          ? NULL
		        : rd_step_arg(step, "old-index") ? rd_xstrdup(rd_step_arg(step, "old-index"))
		                                         : pip_index_of(now[i]);
	if (!index) {
		rd_step_origin(step, "which index the installed build came from is not known: there is no way back to it");
		return false;
	}
	argv_addf(undo, "%s", index);
	for (size_t i = 0; i < wanted->n; i++)
		if (now[i])
			argv_addf(undo, "%s==%s", wanted->v[i].name, now[i]);
	rd_step_origin(step, "undo takes these back to what is recorded here, not what pip brings along with them");
	return true;
}

static void make(struct rd_step *step, const struct pip_requirements *wanted, char **now, const char *prefix)
{
	const char *index = rd_step_arg(step, "index"), *force = rd_step_arg(step, "force");
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;
	bool reversible = make_undo(step, wanted, now, prefix, &undo);

	begin(&apply, prefix, "install");
	if (force && rd_streq(force, "yes"))
		argv_addf(&apply, "--force-reinstall");
	argv_addf(&apply, "--index-url");
	argv_addf(&apply, "%s", index);
	for (size_t i = 0; i < wanted->n; i++) {
		const struct pip_requirement *q = &wanted->v[i];

		argv_addf(&apply, "%s%s%s", q->name, q->version ? "==" : "", q->version ? q->version : "");
		rd_strbuf_addf(&words, "%s%s%s%s", i ? ", " : "", q->name, q->version ? " " : "", q->version ? q->version : "");
	}
	rd_step_describe(step, "install %s in %s", words.buf, prefix);
	rd_step_run_as_owner(step, argv_done(&apply), reversible ? argv_done(&undo) : NULL, prefix);
}

/* A package whose files lie over those of the wanted one goes first; then the wanted one is put in whole again. */
static int replace(struct rd_step *step, struct rd_sysroot *sr, const char *prefix, const char *name, bool *ret,
                   struct rd_error *err)
{
	pip_auto_requirements struct pip_requirements gone = { NULL, 0 };
	rd_auto_free char *now = NULL, *index = NULL;
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	int r = pip_parse(name, &gone, err);

	if (r < 0)
		return r;
	now = pip_installed(sr, prefix, gone.v[0].name);
	*ret = now != NULL;
	if (!now)
		return 0;
	index = pip_index_of(now);
	begin(&apply, prefix, "uninstall");
	argv_addf(&apply, "-y");
	argv_addf(&apply, "%s", gone.v[0].name);
	begin(&undo, prefix, "install");
	argv_add(&undo, (const char *const[]){ "--no-deps", "--index-url", NULL });
	argv_addf(&undo, "%s", index ? index : "");
	argv_addf(&undo, "%s==%s", gone.v[0].name, now);
	rd_step_run_as_owner(step, argv_done(&apply), index ? argv_done(&undo) : NULL, prefix);
	return 0;
}

/* Where pip cannot do it, the person still wants to know what to install. */
static int check_environment(const struct rd_step *step, struct rd_sysroot *sr, const char *prefix, struct rd_error *err)
{
	struct rd_error below = RD_ERROR_INIT;
	int r = pip_check_environment(sr, prefix, &below);

	if (r < 0)
		rd_error_set(err, r, "%s. What to install: --index-url %s %s", below.message, rd_step_arg(step, "index"),
		             rd_step_arg(step, "requirements"));
	rd_error_clear(&below);
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *prefix = rd_step_arg(step, "prefix"), *origin = rd_step_arg(step, "origin");
	const char *replaced = rd_step_arg(step, "replaces"), *old_index = rd_step_arg(step, "old-index");
	pip_auto_requirements struct pip_requirements wanted = { NULL, 0 };
	rd_auto_strv struct rd_strv texts = RD_STRV_INIT;
	rd_auto_free char **now = NULL;
	bool done = true, again = false;
	int r = pip_parse(rd_step_arg(step, "requirements"), &wanted, err);

	if (r == 0)
		r = check_index(rd_step_arg(step, "index"), err);
	if (r == 0 && old_index)
		r = check_index(old_index, err);
	if (r == 0)
		r = check_environment(step, sr, prefix, err);
	if (r == 0 && replaced)
		r = replace(step, sr, prefix, replaced, &again, err);
	if (r < 0)
		return r;
	now = rd_xcalloc(wanted.n, sizeof(*now));
	for (size_t i = 0; i < wanted.n; i++) {
		char *version = pip_installed(sr, prefix, wanted.v[i].name);

		done = is_done(&wanted, i, version) && done;
		now[i] = version;
		if (version)
			rd_strv_push_take(&texts, version);
	}
	if (done && !again)
		return 0;
	if (origin)
		rd_step_origin(step, "%s", origin);
	make(step, &wanted, now, prefix);
	return 0;
}

const struct rd_action rd_action_pip_install = {
	.name = "pip.install",
	.summary = "install Python packages at exact versions in one environment",
	.args = (const char *const[]){ "prefix", "requirements", "index", "force?", "replaces?", "old-index?", "origin?",
	                               NULL },
	.flags = RD_ACTION_OWNER | RD_ACTION_NETWORK,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
