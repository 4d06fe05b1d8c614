/* /etc/passwd and /etc/group, read as text: nobody's NSS modules are asked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/accounts.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

struct group {
	char *name, *members; /* members: separated by commas, as in the file */
	uint32_t gid;
};

struct rd_accounts {
	struct rd_account *users;
	size_t users_n, users_allocated;
	struct group *groups;
	size_t groups_n, groups_allocated;
};

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

/* Cuts @line at its colons; fields that are not there stay NULL. */
static void cut_fields(char *line, char *fields[], size_t n)
{
	memset(fields, 0, n * sizeof(fields[0]));
	for (size_t i = 0; i < n && line; i++)
		fields[i] = strsep(&line, ":");
}

static int parse_id(const char *text, uint32_t *ret)
{
	uint64_t value;

	if (!text || *text < '0' || *text > '9' || rd_str_to_u64(text, 10, &value) < 0 || value > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)value;
	return 0;
}

static void add_user(struct rd_accounts *a, char *line)
{
	struct rd_account user = { 0 };
	char *fields[6];

	cut_fields(line, fields, RD_ARRAY_SIZE(fields));
	if (!*fields[0] || parse_id(fields[2], &user.uid) < 0 || parse_id(fields[3], &user.gid) < 0)
		return;
	user.name = rd_xstrdup(fields[0]);
	user.home = rd_xstrdup(fields[5] ? fields[5] : "");
	RD_GROW(a->users, a->users_n, a->users_allocated);
	a->users[a->users_n++] = user;
}

static void add_group(struct rd_accounts *a, char *line)
{
	struct group group = { 0 };
	char *fields[4];

	cut_fields(line, fields, RD_ARRAY_SIZE(fields));
	if (!*fields[0] || parse_id(fields[2], &group.gid) < 0)
		return;
	group.name = rd_xstrdup(fields[0]);
	group.members = rd_xstrdup(fields[3] ? fields[3] : "");
	RD_GROW(a->groups, a->groups_n, a->groups_allocated);
	a->groups[a->groups_n++] = group;
}

static int read_file(struct rd_sysroot *sr, struct rd_accounts *a, const char *path,
                     void (*add)(struct rd_accounts *a, char *line))
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(sr, &text, path);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	rest = text;
	while ((line = rd_str_next_line(&rest)))
		if (*line && *line != '#' && *line != '+' && *line != '-')
			add(a, line);
	return 0;
}

int rd_accounts_read(struct rd_sysroot *sr, struct rd_accounts **ret)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *a = rd_xcalloc(1, sizeof(*a));
	int r;

	r = read_file(sr, a, "/etc/passwd", add_user);
	if (r < 0)
		return r;
	r = read_file(sr, a, "/etc/group", add_group);
	if (r < 0)
		return r;
	*ret = rd_steal(a);
	return 0;
}

struct rd_accounts *rd_accounts_free(struct rd_accounts *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->users_n; i++) {
		free(a->users[i].name);
		free(a->users[i].home);
	}
	for (size_t i = 0; i < a->groups_n; i++) {
		free(a->groups[i].name);
		free(a->groups[i].members);
	}
	free(a->users);
	free(a->groups);
	free(a);
	return NULL;
}

const struct rd_account *rd_accounts_by_name(const struct rd_accounts *a, const char *name)
{
	for (size_t i = 0; i < a->users_n; i++)
		if (rd_streq(a->users[i].name, name))
			return &a->users[i];
	return NULL;
}

const struct rd_account *rd_accounts_by_uid(const struct rd_accounts *a, uint32_t uid)
{
	for (size_t i = 0; i < a->users_n; i++)
		if (a->users[i].uid == uid)
			return &a->users[i];
	return NULL;
}

const char *rd_accounts_group_name(const struct rd_accounts *a, uint32_t gid)
{
	for (size_t i = 0; i < a->groups_n; i++)
		if (a->groups[i].gid == gid)
			return a->groups[i].name;
	return NULL;
}

int rd_accounts_gid(const struct rd_accounts *a, const char *group, uint32_t *ret)
{
	for (size_t i = 0; i < a->groups_n; i++) {
		if (rd_streq(a->groups[i].name, group)) {
			*ret = a->groups[i].gid;
			return 0;
		}
	}
	return -ENOENT;
}

static bool lists(const char *members, const char *user)
{
	size_t len = strlen(user);

	for (const char *at = members; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && strncmp(at, user, len) == 0)
			return true;
	return false;
}

unsigned rd_accounts_groups(const struct rd_accounts *a, const char *user, uint32_t **ret)
{
	const struct rd_account *account = rd_accounts_by_name(a, user);
	uint32_t *gids = rd_xreallocarray(NULL, a->groups_n + 1, sizeof(*gids));
	unsigned n = 0;

	if (account)
		gids[n++] = account->gid;
	for (size_t i = 0; i < a->groups_n; i++)
		if (lists(a->groups[i].members, user))
			gids[n++] = a->groups[i].gid;
	*ret = gids;
	return n;
}
