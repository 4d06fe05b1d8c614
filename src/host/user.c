/* Whose permissions are judged, and to which groups he belongs. */

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manifest.h"
#include "rocm-doctor/error.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define NSS_BUFFER 65536
#define GROUPS_MAX 65536

/* Splits one line of passwd or group at ":" in place; returns the number of fields. */
static size_t fields(char *line, char *ret[], size_t max)
{
	size_t n = 0;

	while (n < max) {
		ret[n++] = line;
		line = strchr(line, ':');
		if (!line)
			break;
		*line++ = '\0';
	}
	return n;
}

static bool id_of(const char *text, uint32_t *ret)
{
	uint64_t id;

	if (rd_str_to_u64(text, 10, &id) < 0 || id > UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	return true;
}

static void add_group(struct rd_user *user, uint32_t gid, const char *name)
{
	for (size_t i = 0; i < user->groups_n; i++) {
		if (user->groups[i].gid != gid)
			continue;
		if (!user->groups[i].name && name)
			user->groups[i].name = rd_xstrdup(name);
		return;
	}
	user->groups = rd_xreallocarray(user->groups, user->groups_n + 1, sizeof(*user->groups));
	user->groups[user->groups_n++] = (struct rd_user_group){ gid, name ? rd_xstrdup(name) : NULL };
}

/* The line of passwd for a name, or for a uid where @name is NULL. */
static int find_passwd(struct rd_sysroot *sr, const char *name, uint32_t uid, struct rd_user *ret)
{
	rd_auto_free char *text = NULL;
	char *line, *rest, *f[7];
	uint32_t line_uid, line_gid;
	int r;

	r = rd_sysroot_read(sr, &text, "/etc/passwd");
	if (r < 0)
		return r;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		if (fields(line, f, RD_ARRAY_SIZE(f)) < 4 || !id_of(f[2], &line_uid) || !id_of(f[3], &line_gid))
			continue;
		if (name ? !rd_streq(f[0], name) : line_uid != uid)
			continue;
		free(ret->name);
		ret->name = rd_xstrdup(f[0]);
		ret->uid = line_uid;
		ret->gid = line_gid;
		return 0;
	}
	return -ENOENT;
}

static bool is_member(const char *members, const char *name)
{
	rd_auto_strv struct rd_strv list = RD_STRV_INIT;

	rd_strv_split(&list, members, ",", false);
	for (size_t i = 0; i < list.n; i++)
		if (rd_streq(rd_str_strip(list.v[i]), name))
			return true;
	return false;
}

/* Names for the groups that are there, and with @members the groups that list the user. */
static int read_groups(struct rd_sysroot *sr, struct rd_user *user, bool members)
{
	rd_auto_free char *text = NULL;
	char *line, *rest, *f[4];
	uint32_t gid;
	int r;

	r = rd_sysroot_read(sr, &text, "/etc/group");
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		size_t n = fields(line, f, RD_ARRAY_SIZE(f));

		if (n < 3 || !id_of(f[2], &gid))
			continue;
		for (size_t i = 0; i < user->groups_n; i++)
			if (user->groups[i].gid == gid)
				add_group(user, gid, f[0]);
		if (members && n == 4 && is_member(f[3], user->name))
			add_group(user, gid, f[0]);
	}
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	uint32_t x = ((const struct rd_user_group *)a)->gid, y = ((const struct rd_user_group *)b)->gid;

	return (x > y) - (x < y);
}

static void sort_groups(struct rd_user *user)
{
	if (user->groups_n > 1)
		qsort(user->groups, user->groups_n, sizeof(*user->groups), compare_groups);
}

/* Names that are in no file of a running system may be in a directory service. */
static void name_from_nss(struct rd_user *user)
{
	rd_auto_free char *buffer = rd_xmalloc(NSS_BUFFER);
	struct passwd pw, *found_pw;
	struct group gr, *found_gr;

	if (!user->name && getpwuid_r(user->uid, &pw, buffer, NSS_BUFFER, &found_pw) == 0 && found_pw)
		user->name = rd_xstrdup(pw.pw_name);
	for (size_t i = 0; i < user->groups_n; i++) {
		struct rd_user_group *g = &user->groups[i];

		if (!g->name && getgrgid_r(g->gid, &gr, buffer, NSS_BUFFER, &found_gr) == 0 && found_gr)
			g->name = rd_xstrdup(gr.gr_name);
	}
}

static int groups_from_nss(struct rd_user *user)
{
	rd_auto_free gid_t *gids = rd_xcalloc(GROUPS_MAX, sizeof(*gids));
	int n = GROUPS_MAX;

	if (getgrouplist(user->name, user->gid, gids, &n) < 0)
		return -E2BIG;
	for (int i = 0; i < n; i++)
		add_group(user, gids[i], NULL);
	return 0;
}

static int passwd_from_nss(const char *name, struct rd_user *ret)
{
	rd_auto_free char *buffer = rd_xmalloc(NSS_BUFFER);
	struct passwd pw, *found = NULL;
	uint32_t uid;

	if (getpwnam_r(name, &pw, buffer, NSS_BUFFER, &found) != 0 || !found)
		if (id_of(name, &uid))
			(void)getpwuid_r(uid, &pw, buffer, NSS_BUFFER, &found);
	if (!found)
		return -ENOENT;
	free(ret->name);
	*ret = (struct rd_user){ .name = rd_xstrdup(pw.pw_name), .uid = pw.pw_uid, .gid = pw.pw_gid };
	return 0;
}

static int find_user(struct rd_sysroot *sr, const char *name, struct rd_user *ret)
{
	uint32_t uid;
	int r;

	r = find_passwd(sr, name, 0, ret);
	if (r < 0 && id_of(name, &uid))
		r = find_passwd(sr, NULL, uid, ret);
	if (r < 0 && rd_sysroot_is_live(sr) && passwd_from_nss(name, ret) == 0)
		r = 0;
	return r;
}

int rd_user_by_name(struct rd_sysroot *sr, const char *name, struct rd_user *ret)
{
	struct rd_user user = { 0 };
	int r;

	r = find_user(sr, name, &user);
	if (r == 0) {
		add_group(&user, user.gid, NULL);
		r = read_groups(sr, &user, true);
	}
	if (r == 0 && rd_sysroot_is_live(sr)) {
		r = groups_from_nss(&user);
		name_from_nss(&user);
	}
	if (r < 0) {
		rd_user_clear(&user);
		return r;
	}
	sort_groups(&user);
	*ret = user;
	return 0;
}

/* Who calls: the kernel knows his groups, which a login long ago may have fixed, so no file is asked. */
static int caller(struct rd_sysroot *sr, struct rd_user *ret)
{
	struct rd_user user = { .uid = geteuid(), .gid = getegid() };
	rd_auto_free gid_t *gids = rd_xcalloc(GROUPS_MAX, sizeof(*gids));
	struct rd_user named = { 0 };
	int n = getgroups(GROUPS_MAX, gids);

	if (n < 0)
		return -errno;
	add_group(&user, user.gid, NULL);
	for (int i = 0; i < n; i++)
		add_group(&user, gids[i], NULL);
	if (find_passwd(sr, NULL, user.uid, &named) == 0)
		user.name = rd_steal(named.name);
	(void)!read_groups(sr, &user, false);
	name_from_nss(&user);
	sort_groups(&user);
	*ret = user;
	return 0;
}

int rd_user_live(struct rd_sysroot *sr, struct rd_user *ret)
{
	const char *name = getenv("SUDO_USER");
	const char *id = getenv("SUDO_UID");
	uint32_t uid;

	/* Under sudo the question is whether the person's programs reach the GPU; root's do. */
	if (geteuid() != 0 || !name || !id || !id_of(id, &uid) || uid == 0)
		return caller(sr, ret);
	return rd_user_by_name(sr, name, ret);
}
