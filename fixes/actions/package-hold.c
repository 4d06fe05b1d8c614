/*
 * Keep packages at the version that is installed. apt is told by apt-mark; of dnf and zypper the files of locks are written, as
 * their own commands would: these fetch metadata first, and do not leave a file as it was when the lock goes again.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"

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

static void hold_by_apt(struct rd_step *step, const struct rd_strv *names)
{
	auto_argv struct argv apply = ARGV_INIT, undo = ARGV_INIT;

	argv_add(&apply, (const char *const[]){ "apt-mark", "hold", NULL });
	argv_add(&undo, (const char *const[]){ "apt-mark", "unhold", NULL });
	for (size_t i = 0; i < names->n; i++) {
		argv_addf(&apply, "%s", names->v[i]);
		argv_addf(&undo, "%s", names->v[i]);
	}
	rd_step_run(step, argv_done(&apply), argv_done(&undo));
}

/* ------------------------------------------------------------ dnf and zypper */

#define PLUGIN_CONF "/etc/dnf/plugins/versionlock.conf"
#define PLUGIN_LIST "/etc/dnf/plugins/versionlock.list"

static const char *epoch_of(const struct pkg *p)
{
	return strchr(p->version, ':') ? "" : "0:";
}

static void lock_in_list(struct rd_strbuf *out, const struct pkg *p)
{
	rd_strbuf_addf(out, "%s-%s%s.*\n", p->name, epoch_of(p), p->version);
}

static void lock_in_toml(struct rd_strbuf *out, const struct pkg *p)
{
	rd_strbuf_addf(out,
	               "%s[[packages]]\nname = \"%s\"\ncomment = \"rocm-doctor\"\n\n"
	               "[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"%s\"\n",
	               out->len ? "\n" : "version = \"1.0\"\n\n", p->name, p->version);
}

/* zypper locks a name, whatever its version. */
static void lock_in_zypp(struct rd_strbuf *out, const struct pkg *p)
{
	rd_strbuf_addf(out, "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: %s\n", p->name);
}

/* A file of locks that has none is as good as none, and dnf 5 leaves "packages = []" behind, which no table may follow. */
static bool has_no_locks(const char *text)
{
	return !strstr(text, "[[packages]]");
}

/* The plugin has to be there, switched on, and with its list where it always is. */
static int check_plugin(struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *conf = NULL;
	char *rest, *line;
	int r = rd_sysroot_read(sr, &conf, PLUGIN_CONF);

	if (r == -ENOENT)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "dnf's versionlock plugin is not installed (python3-dnf-plugin-versionlock)");
	if (r < 0)
		return rd_error_set(err, -EOPNOTSUPP, "cannot read '%s': %s", PLUGIN_CONF, rd_strerror(r));
	for (rest = conf; (line = rd_str_next_line(&rest));) {
		char key[32], value[256];

		if (sscanf(line, " %31[a-z] = %255s", key, value) != 2)
			continue;
		if (rd_streq(key, "enabled") && (rd_streq(value, "0") || rd_streq(value, "False") || rd_streq(value, "false")))
			return rd_error_set(err, -EOPNOTSUPP, "dnf's versionlock plugin is switched off in %s", PLUGIN_CONF);
		if (rd_streq(key, "locklist") && !rd_streq(value, PLUGIN_LIST))
			return rd_error_set(err, -EOPNOTSUPP, "dnf's versionlock plugin keeps its list in %s", value);
	}
	return 0;
}

static int hold_by_file(struct rd_step *step, struct rd_sysroot *sr, const struct pkg_set *set, const struct rd_strv *names,
                        struct rd_error *err)
{
	static const struct {
		const char *path;
		void (*lock)(struct rd_strbuf *out, const struct pkg *p);
	} files[] = {
		[PKG_DNF] = { PLUGIN_LIST, lock_in_list },
		[PKG_DNF5] = { "/etc/dnf/versionlock.toml", lock_in_toml },
		[PKG_ZYPPER] = { "/etc/zypp/locks", lock_in_zypp },
	};
	const char *path = files[set->manager].path;
	rd_auto_strbuf struct rd_strbuf after = RD_STRBUF_INIT;
	rd_auto_free char *before = NULL;
	int r = set->manager == PKG_DNF ? check_plugin(sr, err) : 0;

	if (r < 0)
		return r;
	r = rd_sysroot_read(sr, &before, path);
	if (r < 0 && r != -ENOENT)
		return rd_error_set(err, -EOPNOTSUPP, "cannot read '%s': %s", path, rd_strerror(r));
	if (before && (set->manager != PKG_DNF5 || !has_no_locks(before)))
		rd_strbuf_add(&after, before);
	if (after.len && after.buf[after.len - 1] != '\n')
		rd_strbuf_addc(&after, '\n');
	for (size_t i = 0; i < names->n; i++)
		for (size_t k = 0; k < set->n; k++)
			if (rd_streq(set->v[k].name, names->v[i])) {
				files[set->manager].lock(&after, &set->v[k]);
				if (set->manager == PKG_ZYPPER)
					break;
			}
	rd_step_write(step, path, after.buf, 0644);
	return 0;
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
	for (size_t i = 0; i < names.n && r == 0; i++) {
		const struct pkg *p = pkg_find(&set, names.v[i]);

		if (!p || !p->installed || p->held)
			continue;
		r = rd_arg_check_name(p->name, err);
		if (r == 0)
			r = pkg_check_version(p->version, err);
		rd_strv_push_unique(&free_ones, p->name);
		rd_step_origin(step, "%s %s is installed", p->name, p->version);
	}
	if (r < 0 || !free_ones.n)
		return r;
	rd_step_describe(step, "keep %s%s at its version", free_ones.v[0], free_ones.n > 1 ? " and others" : "");
	if (set.manager != PKG_APT)
		return hold_by_file(step, sr, &set, &free_ones, err);
	hold_by_apt(step, &free_ones);
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
