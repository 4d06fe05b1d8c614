#include "common-brought.h"

#include <string.h>

#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/str.h"

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
