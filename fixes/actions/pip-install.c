/*
 * Packages of Python at exact versions from one index, into an environment, as its owner. PyTorch and its companions are one
 * command, so that pip takes builds that go together.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-brought.h"
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

/* What is asked for at one environment, and what is there now. */
struct job {
	const char *prefix;
	struct pip_tool tool;
	struct pip_requirements wanted;
	struct rd_strv now; /* versions, "" for none */
};

static void job_clear(struct job *job)
{
	pip_tool_clear(&job->tool);
	pip_clear(&job->wanted);
	rd_strv_clear(&job->now);
}

static bool has_extras(struct rd_sysroot *sr, const struct job *job, const struct pip_requirement *q)
{
	for (size_t i = 0; i < q->extras.n; i++) {
		rd_auto_free char *package = pip_package_of_extra(q->name, q->extras.v[i]);
		rd_auto_free char *version = package ? pip_installed(sr, job->prefix, package) : NULL;

		if (package && !(version && rd_streq(version, q->version)))
			return false;
	}
	return true;
}

/* Also notes what is there. */
static bool is_done(struct rd_sysroot *sr, struct job *job)
{
	bool done = true;

	for (size_t i = 0; i < job->wanted.n; i++) {
		const struct pip_requirement *q = &job->wanted.v[i];
		char *version = pip_installed(sr, job->prefix, q->name);

		done = done && version && rd_streq(version, q->version) && has_extras(sr, job, q);
		rd_strv_push_take(&job->now, version ? version : rd_xstrdup(""));
	}
	return done;
}

/*
 * What was there, in one command: back to the old versions of those that change, or away with those that are new. NULL where an
 * old version is of an index that is not known.
 */
static bool make_undo(struct rd_step *step, const struct job *job, struct argv *undo)
{
	const char *old_index = rd_step_arg(step, "old-index");
	rd_auto_free char *index = old_index ? rd_xstrdup(old_index) : NULL;
	size_t old = 0;

	for (size_t i = 0; i < job->now.n; i++) {
		old += *job->now.v[i] != '\0';
		index = index || !*job->now.v[i] ? index : pip_index_of(job->now.v[i]);
	}
	pip_begin(undo, &job->tool, old ? "install" : "uninstall");
	if (old)
		argv_add(undo, (const char *const[]){ "--force-reinstall", "--no-deps", "--index-url", NULL });
	if (old)
		argv_addf(undo, "%s", index ? index : "");
	for (size_t i = 0; i < job->wanted.n; i++) {
		if (!old)
			argv_addf(undo, "%s", job->wanted.v[i].name);
		else if (*job->now.v[i])
			argv_addf(undo, "%s==%s", job->wanted.v[i].name, job->now.v[i]);
	}
	if (old && !index)
		rd_step_origin(step, "which index the installed build came from is not known: there is no way back to it");
	else if (old)
		rd_step_origin(step, "undo takes these back to what is recorded here and what comes new with them off, not "
		                     "what pip changes beside them");
	return !old || index;
}

static void make(struct rd_step *step, const struct job *job)
{
	const char *extra = rd_step_arg(step, "extra-index"), *force = rd_step_arg(step, "force");
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;
	bool reversible = make_undo(step, job, &undo);

	pip_begin(&apply, &job->tool, "install");
	if (force && rd_streq(force, "yes"))
		argv_addf(&apply, "--force-reinstall");
	argv_addf(&apply, "--index-url");
	argv_addf(&apply, "%s", rd_step_arg(step, "index"));
	if (extra) {
		argv_addf(&apply, "--extra-index-url");
		argv_addf(&apply, "%s", extra);
	}
	/* Else uv would take each package from the first index that has its name, in whatever version. */
	if (extra && job->tool.uv)
		argv_add(&apply, (const char *const[]){ "--index-strategy", "unsafe-best-match", NULL });
	for (size_t i = 0; i < job->wanted.n; i++) {
		const struct pip_requirement *q = &job->wanted.v[i];

		argv_addf(&apply, "%s", q->text);
		rd_strbuf_addf(&words, "%s%s %s", i ? ", " : "", q->name, q->version);
	}
	rd_step_describe(step, "install %s in %s", words.buf, job->prefix);
	rd_step_run_as_owner(step, argv_done(&apply), reversible ? argv_done(&undo) : NULL, job->prefix);
}

/* A package whose files lie over those of the wanted one goes first; then the wanted one is put in whole again. */
static int replace(struct rd_step *step, struct rd_sysroot *sr, const struct job *job, const char *name, bool *ret,
                   struct rd_error *err)
{
	pip_auto_requirements struct pip_requirements gone = { NULL, 0 };
	rd_auto_free char *now = NULL, *index = NULL;
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;
	int r = pip_parse(name, &gone, err);

	if (r < 0)
		return r;
	now = pip_installed(sr, job->prefix, gone.v[0].name);
	*ret = now != NULL;
	if (!now)
		return 0;
	index = pip_index_of(now);
	pip_begin(&apply, &job->tool, "uninstall");
	argv_addf(&apply, "%s", gone.v[0].name);
	pip_begin(&undo, &job->tool, "install");
	argv_add(&undo, (const char *const[]){ "--no-deps", "--index-url", NULL });
	argv_addf(&undo, "%s", index ? index : "");
	argv_addf(&undo, "%s==%s", gone.v[0].name, now);
	rd_step_run_as_owner(step, argv_done(&apply), index ? argv_done(&undo) : NULL, job->prefix);
	return 0;
}

/* Where nothing here can do it, the person still wants to know what to install. */
static int find_tool(const struct rd_step *step, struct rd_sysroot *sr, struct job *job, struct rd_error *err)
{
	struct rd_error below = RD_ERROR_INIT;
	int r = pip_tool_find(sr, job->prefix, &job->tool, &below);

	if (r < 0)
		rd_error_set(err, r, "%s. What to install: --index-url %s %s", below.message, rd_step_arg(step, "index"),
		             rd_step_arg(step, "requirements"));
	rd_error_clear(&below);
	return r;
}

static int check(const struct rd_step *step, const struct job *job, struct rd_error *err)
{
	static const char *const indexes[] = { "index", "old-index", "extra-index" };
	int r = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(indexes) && r == 0; i++)
		r = rd_step_arg(step, indexes[i]) ? check_index(rd_step_arg(step, indexes[i]), err) : 0;
	for (size_t i = 0; i < job->wanted.n && r == 0; i++)
		if (!job->wanted.v[i].version)
			r = rd_error_set(err, -EINVAL, "'%s' has no exact version", job->wanted.v[i].text);
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *origin = rd_step_arg(step, "origin"), *replaced = rd_step_arg(step, "replaces");
	rd_auto(job_clear) struct job job = { .prefix = rd_step_arg(step, "prefix"), .now = RD_STRV_INIT };
	bool done, again = false;
	int r = pip_parse(rd_step_arg(step, "requirements"), &job.wanted, err);

	if (r == 0)
		r = check(step, &job, err);
	if (r == 0)
		r = find_tool(step, sr, &job, err);
	if (r == 0 && replaced)
		r = replace(step, sr, &job, replaced, &again, err);
	if (r < 0)
		return r;
	done = is_done(sr, &job);
	if (done && !again)
		return 0;
	if (origin)
		rd_step_origin(step, "%s", origin);
	make(step, &job);
	return 0;
}

const struct rd_action rd_action_pip_install = {
	.name = "pip.install",
	.summary = "install Python packages at exact versions in one environment",
	.args = (const char *const[]){ "prefix", "requirements", "index", "extra-index?", "force?", "replaces?", "old-index?",
	                               "origin?", NULL },
	.flags = RD_ACTION_OWNER | RD_ACTION_NETWORK,
	.phase = RD_PHASE_ENVIRONMENT,
	.brings = &pip_brings,
	.lower = lower,
};
