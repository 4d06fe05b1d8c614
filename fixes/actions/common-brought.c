#include "common-brought.h"

#include <string.h>

#include "common-packages.h"
#include "common-pip.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/xalloc.h"

static int list(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret)
{
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	int r = pkg_set_read(sr, NULL, &set, NULL);

	(void)step;
	for (size_t i = 0; i < set.n && r == 0; i++)
		if (set.v[i].installed && set.v[i].name && rd_arg_check_name(set.v[i].name, NULL) == 0)
			rd_strv_push_unique(ret, set.v[i].name);
	return r;
}

/* "hip-dev | rocm-hip (>= 6.0), libc6": does any way to meet it lead to this package? */
static bool mentions(const char *depends, const struct pkg *p)
{
	rd_auto_strv struct rd_strv ways = RD_STRV_INIT, provided = RD_STRV_INIT;

	rd_strv_split(&ways, depends, ",|", false);
	rd_strv_split(&provided, p->provides ? p->provides : "", ",", false);
	for (size_t i = 0; i < provided.n; i++)
		provided.v[i][strcspn(provided.v[i] + strspn(provided.v[i], " "), " (") + strspn(provided.v[i], " ")] = '\0';
	for (size_t i = 0; i < ways.n; i++) {
		char *name = ways.v[i] + strspn(ways.v[i], " ");

		name[strcspn(name, " (:")] = '\0';
		if (rd_streq(name, p->name))
			return true;
		for (size_t j = 0; j < provided.n; j++)
			if (rd_streq(name, provided.v[j] + strspn(provided.v[j], " ")))
				return true;
	}
	return false;
}

/* Held, or named by what stays. */
static bool is_needed(const struct pkg_set *set, const char *name, const struct rd_strv *going)
{
	const struct pkg *p = pkg_find(set, name);

	if (!p || p->held)
		return true;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].installed && set->v[i].depends && !rd_strv_has(going, set->v[i].name) &&
		    mentions(set->v[i].depends, p))
			return true;
	return false;
}

static void keep_needed(const struct pkg_set *set, struct rd_strv *names, struct rd_strv *stay)
{
	/* What stays needs its own. */
	for (size_t i = 0; i < names->n;) {
		if (!is_needed(set, names->v[i], names)) {
			i++;
			continue;
		}
		rd_strv_push(stay, names->v[i]);
		rd_strv_remove(names, i);
		i = 0;
	}
}

/* What rpm's packages need is not read here: rpm itself refuses then, and nothing goes. */
static int take_off(struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *names, struct rd_strv *ret_stay,
                    struct rd_error *err)
{
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	auto_argv struct argv argv = ARGV_INIT;
	int r = pkg_set_read(sr, NULL, &set, err);

	if (r < 0)
		return r;
	keep_needed(&set, names, ret_stay);
	if (!names->n)
		return 0;
	if (set.manager == PKG_APT)
		argv_remove(&argv, set.manager);
	else
		argv_add(&argv, (const char *const[]){ "rpm", "--erase", NULL });
	for (size_t i = 0; i < names->n; i++)
		argv_addf(&argv, "%s", names->v[i]);
	rd_step_run(step, argv_done(&argv), NULL);
	return 0;
}

const struct rd_brings pkg_brings = { .list = list, .take_off = take_off };

/* Python */

static int pip_folders(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret)
{
	rd_auto_free char *glob = rd_xasprintf("%s/lib/python3*/site-packages/*.dist-info", rd_step_arg(step, "prefix"));

	return rd_sysroot_glob(sr, ret, glob);
}

static int pip_list(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv folders = RD_STRV_INIT;
	int r = pip_folders(step, sr, &folders);

	for (size_t i = 0; i < folders.n && r == 0; i++) {
		rd_auto_free char *name = pip_name_of(folders.v[i]);

		if (name && rd_arg_check_name(name, NULL) == 0)
			rd_strv_push_unique(ret, name);
	}
	return r;
}

/* "Requires-Dist: filelock>=3; extra == 'x'" names filelock, whatever the rest says. */
static void add_needs(struct rd_sysroot *sr, const char *folder, struct rd_strv *ret)
{
	static const char field[] = "Requires-Dist:";
	rd_auto_free char *text = NULL;
	char *rest, *line;

	if (rd_sysroot_readf(sr, &text, "%s/METADATA", folder) < 0)
		return;
	for (rest = text; (line = rd_str_next_line(&rest)) && *line;) {
		const char *name = line + strlen(field);

		if (!rd_str_has_prefix(line, field))
			continue;
		name += strspn(name, " ");
		rd_strv_push_take(ret, pip_normal(name, strcspn(name, " ;<>=!~([")));
	}
}

/* What stays needs its own, and so on. */
static void pip_keep_needed(struct rd_sysroot *sr, const struct rd_strv *folders, struct rd_strv *names, struct rd_strv *stay)
{
	for (bool again = true; again;) {
		rd_auto_strv struct rd_strv needed = RD_STRV_INIT;

		again = false;
		for (size_t i = 0; i < folders->n; i++) {
			rd_auto_free char *name = pip_name_of(folders->v[i]);

			if (!name || !rd_strv_has(names, name))
				add_needs(sr, folders->v[i], &needed);
		}
		for (size_t i = names->n; i-- > 0;) {
			if (!rd_strv_has(&needed, names->v[i]))
				continue;
			rd_strv_push(stay, names->v[i]);
			rd_strv_remove(names, i);
			again = true;
		}
	}
}

static int pip_take_off(struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *names, struct rd_strv *ret_stay,
                        struct rd_error *err)
{
	const char *prefix = rd_step_arg(step, "prefix");
	rd_auto_strv struct rd_strv folders = RD_STRV_INIT;
	pip_auto_tool struct pip_tool tool = { NULL, NULL };
	auto_argv struct argv argv = ARGV_INIT;
	int r = pip_folders(step, sr, &folders);

	if (r == 0)
		r = pip_tool_find(sr, prefix, &tool, err);
	if (r < 0)
		return r;
	pip_keep_needed(sr, &folders, names, ret_stay);
	if (!names->n)
		return 0;
	pip_begin(&argv, &tool, "uninstall");
	for (size_t i = 0; i < names->n; i++)
		argv_addf(&argv, "%s", names->v[i]);
	rd_step_run_as_owner(step, argv_done(&argv), NULL, prefix);
	return 0;
}

const struct rd_brings pip_brings = { .list = pip_list, .take_off = pip_take_off };
