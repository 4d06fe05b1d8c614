/* Put a user into groups. */

#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* The fields of a name's line in passwd or group; false: it has none. */
static bool find_line(const char *text, const char *name, struct rd_strv *fields)
{
	rd_auto_free char *copy = rd_xstrdup(text);
	size_t len = strlen(name);
	char *rest = copy, *line;

	while ((line = rd_str_next_line(&rest)))
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			rd_strv_split(fields, line, ":", true);
			return true;
		}
	return false;
}

static bool is_member(const struct rd_strv *group, const char *user, const char *primary_gid)
{
	rd_auto_strv struct rd_strv members = RD_STRV_INIT;

	if (primary_gid && group->n > 2 && rd_streq(group->v[2], primary_gid))
		return true;
	if (group->n > 3)
		rd_strv_split(&members, group->v[3], ", \t", false);
	return rd_strv_has(&members, user);
}

/* A colon ends the name where accounts stand. */
static int check_account(const char *name, struct rd_error *err)
{
	int r = rd_arg_check_name(name, err);

	return r == 0 && strchr(name, ':') ? rd_error_set(err, -EINVAL, "'%s' is not an account", name) : r;
}

static int join(struct rd_step *step, const char *group_text, const char *user, const char *primary_gid, const char *group,
                struct rd_error *err)
{
	rd_auto_strv struct rd_strv fields = RD_STRV_INIT;
	int r = check_account(group, err);

	if (r < 0)
		return r;
	if (!find_line(group_text, group, &fields))
		return fix_unable(err, "group '%s' is not in /etc/group: it comes from elsewhere, or has to be made first",
		                  group);
	if (is_member(&fields, user, primary_gid))
		return 0;
	rd_step_run(step, (const char *const[]){ "gpasswd", "-a", user, group, NULL },
	            (const char *const[]){ "gpasswd", "-d", user, group, NULL });
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *user = rd_step_arg(step, "user"), *service = rd_step_arg(step, "service");
	rd_auto_free char *passwd = NULL, *groups = NULL;
	rd_auto_strv struct rd_strv names = RD_STRV_INIT, account = RD_STRV_INIT;
	int r = check_account(user, err);

	if (r == 0)
		r = fix_read(sr, &passwd, "/etc/passwd", err);
	if (r == 0)
		r = fix_read(sr, &groups, "/etc/group", err);
	if (r < 0)
		return r;
	if (passwd)
		find_line(passwd, user, &account);
	rd_strv_split(&names, rd_step_arg(step, "groups"), ", ", false);
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = join(step, groups ? groups : "", user, account.n > 3 ? account.v[3] : NULL, names.v[i], err);
	rd_step_describe(step, "put %s into %s", user, rd_step_arg(step, "groups"));
	/* A service gets its groups whenever it is started. */
	if (!service)
		rd_step_needs(step, RD_ACTION_LOGIN);
	return r;
}

const struct rd_action rd_action_group_add_member = {
	.name = "group.add-member",
	.summary = "put a user into groups",
	.args = (const char *const[]){ "user", "groups", "service?", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_GROUP,
	.lower = lower,
};
