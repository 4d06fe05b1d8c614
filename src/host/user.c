/* Whose permissions are judged, and to which groups he belongs. */

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manifest.h"
#include "rocm-doctor/accounts.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

#define NSS_BUFFER 65536
#define GROUPS_MAX 65536

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

static void name_groups(struct rd_user *user, const struct rd_accounts *accounts)
{
	for (size_t i = 0; i < user->groups_n; i++)
		add_group(user, user->groups[i].gid, rd_accounts_group_name(accounts, user->groups[i].gid));
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
	*ret = (struct rd_user){ .name = rd_xstrdup(pw.pw_name), .uid = pw.pw_uid, .gid = pw.pw_gid };
	return 0;
}

static int find_user(struct rd_sysroot *sr, const struct rd_accounts *accounts, const char *name, struct rd_user *ret)
{
	const struct rd_account *account = rd_accounts_by_name(accounts, name);
	uint32_t uid;

	if (!account && id_of(name, &uid))
		account = rd_accounts_by_uid(accounts, uid);
	if (!account)
		return rd_sysroot_is_live(sr) ? passwd_from_nss(name, ret) : -ENOENT;
	*ret = (struct rd_user){ .name = rd_xstrdup(account->name), .uid = account->uid, .gid = account->gid };
	return 0;
}

int rd_user_by_name(struct rd_sysroot *sr, const char *name, struct rd_user *ret)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	rd_auto_free uint32_t *gids = NULL;
	struct rd_user user;
	unsigned n;
	int r;

	r = rd_accounts_read(sr, &accounts);
	if (r == 0)
		r = find_user(sr, accounts, name, &user);
	if (r < 0)
		return r;
	add_group(&user, user.gid, NULL);
	n = rd_accounts_groups(accounts, user.name, &gids);
	for (unsigned i = 0; i < n; i++)
		add_group(&user, gids[i], NULL);
	if (rd_sysroot_is_live(sr))
		r = groups_from_nss(&user);
	if (r < 0) {
		rd_user_clear(&user);
		return r;
	}
	name_groups(&user, accounts);
	if (rd_sysroot_is_live(sr))
		name_from_nss(&user);
	sort_groups(&user);
	*ret = user;
	return 0;
}

/* Who calls: the kernel knows his groups, which a login long ago may have fixed, so files only give the names. */
static int caller(struct rd_sysroot *sr, struct rd_user *ret)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	rd_auto_free gid_t *gids = rd_xcalloc(GROUPS_MAX, sizeof(*gids));
	struct rd_user user = { .uid = geteuid(), .gid = getegid() };
	const struct rd_account *account;
	int n = getgroups(GROUPS_MAX, gids);

	if (n < 0)
		return -errno;
	add_group(&user, user.gid, NULL);
	for (int i = 0; i < n; i++)
		add_group(&user, gids[i], NULL);
	if (rd_accounts_read(sr, &accounts) == 0) {
		account = rd_accounts_by_uid(accounts, user.uid);
		user.name = account ? rd_xstrdup(account->name) : NULL;
		name_groups(&user, accounts);
	}
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

void rd_user_set_groups(struct rd_user *user, const uint32_t *gids, size_t n)
{
	add_group(user, user->gid, NULL);
	for (size_t i = 0; i < n; i++)
		add_group(user, gids[i], NULL);
	sort_groups(user);
}

void rd_user_name(struct rd_sysroot *sr, struct rd_user *user)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	const struct rd_account *account;
	uint32_t id;

	if (rd_accounts_read(sr, &accounts) < 0)
		return;
	account = rd_sysroot_inner_uid(sr, user->uid, &id) ? rd_accounts_by_uid(accounts, id) : NULL;
	if (account && !user->name)
		user->name = rd_xstrdup(account->name);
	for (size_t i = 0; i < user->groups_n; i++)
		if (rd_sysroot_inner_gid(sr, user->groups[i].gid, &id))
			add_group(user, user->groups[i].gid, rd_accounts_group_name(accounts, id));
}
