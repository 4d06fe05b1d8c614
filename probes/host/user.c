/* Whose access is judged: user, groups, and what a user namespace makes of them. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/accounts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

static int compare_gids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void append_group(struct rd_fact *facts, const char *list, uint32_t gid, const char *name, const char *source)
{
	struct rd_fact *item = rd_fact_append(facts, list, source);

	rd_fact_set_int(item, "gid", gid, source);
	if (name)
		rd_fact_set_str(item, "name", name, source);
	else
		rd_fact_set_absent(item, "name", "/etc/group");
}

/* The same as one line for people: "video (44)". */
static void set_texts(struct rd_fact *facts, const char *list, const char *texts, const char *source)
{
	const struct rd_fact *groups = rd_fact_get(facts, list);

	rd_fact_set_list(facts, texts, source);
	for (size_t i = 0; i < rd_fact_count(groups); i++) {
		const struct rd_fact *item = rd_fact_at(groups, i);
		const char *name = rd_fact_get_str(item, "name");
		rd_auto_free char *text = rd_xasprintf("%s%s%lld%s", name, *name ? " (" : "",
		                                       (long long)rd_fact_get_int(item, "gid"), *name ? ")" : "");

		rd_fact_append_str(facts, texts, text, source);
	}
}

/* By number; of one number, the entry that has a name first. */
static int compare_groups(const void *a, const void *b)
{
	const struct rd_user_group *x = *(const struct rd_user_group *const *)a, *y = *(const struct rd_user_group *const *)b;

	if (x->gid != y->gid)
		return (x->gid > y->gid) - (x->gid < y->gid);
	return !x->name - !y->name;
}

static void set_groups(const struct rd_sysroot *sr, struct rd_fact *facts, const struct rd_user *user,
                       const struct rd_accounts *accounts)
{
	rd_auto_free const struct rd_user_group **groups = rd_xcalloc(user->groups_n + 1, sizeof(*groups));

	for (size_t i = 0; i < user->groups_n; i++)
		groups[i] = &user->groups[i];
	qsort(groups, user->groups_n, sizeof(*groups), compare_groups);
	rd_fact_set_list(facts, "host.user.groups", "getgroups");
	for (size_t i = 0; i < user->groups_n; i++) {
		const char *name = groups[i]->name;
		uint32_t inner;

		if (i > 0 && groups[i]->gid == groups[i - 1]->gid)
			continue;
		if (!name && accounts && rd_sysroot_inner_gid(sr, groups[i]->gid, &inner))
			name = rd_accounts_group_name(accounts, inner);
		append_group(facts, "host.user.groups", groups[i]->gid, name, "getgroups");
	}
	set_texts(facts, "host.user.groups", "host.user.session_groups", "getgroups");
}

/* The groups that the files give him at his next login. */
static void set_membership(struct rd_fact *facts, const char *name, const struct rd_accounts *accounts)
{
	rd_auto_free uint32_t *gids = NULL;
	unsigned n = rd_accounts_groups(accounts, name, &gids);

	qsort(gids, n, sizeof(*gids), compare_gids);
	rd_fact_set_list(facts, "host.user.member_of", "/etc/group");
	for (unsigned i = 0; i < n; i++)
		if (i == 0 || gids[i] != gids[i - 1])
			append_group(facts, "host.user.member_of", gids[i], rd_accounts_group_name(accounts, gids[i]),
			             "/etc/group");
	set_texts(facts, "host.user.member_of", "host.user.file_groups", "/etc/group");
}

static void unknown_membership(struct rd_fact *facts, int r)
{
	rd_fact_set_unknown(facts, "host.user.member_of", r, "/etc/group");
	rd_fact_set_unknown(facts, "host.user.file_groups", r, "/etc/group");
}

static int set_user(struct rd_probe_ctx *ctx)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	const struct rd_user *user;
	const char *name;
	uint32_t inner;
	int r, a;

	r = rd_sysroot_user(ctx->sysroot, &user);
	if (r < 0)
		return r;
	a = rd_accounts_read(ctx->sysroot, &accounts);
	name = user->name;
	if (!name && accounts && rd_sysroot_inner_uid(ctx->sysroot, user->uid, &inner) && rd_accounts_by_uid(accounts, inner))
		name = rd_accounts_by_uid(accounts, inner)->name;
	if (name)
		rd_fact_set_str(ctx->facts, "host.user.name", name, "/etc/passwd");
	else
		rd_fact_set_absent(ctx->facts, "host.user.name", "/etc/passwd");
	rd_fact_set_int(ctx->facts, "host.user.uid", user->uid, "geteuid");
	rd_fact_set_int(ctx->facts, "host.user.gid", user->gid, "getegid");
	set_groups(ctx->sysroot, ctx->facts, user, accounts);
	/* Files of the namespace have its numbers, and all else here has ours. */
	if (a >= 0 && rd_sysroot_has_inner_ids(ctx->sysroot))
		a = -ENODATA;
	if (a < 0)
		unknown_membership(ctx->facts, a);
	else if (name)
		set_membership(ctx->facts, name, accounts);
	return 0;
}

/* Lines "INSIDE OUTSIDE COUNT"; the initial namespace maps every number to itself. */
static void set_map(struct rd_probe_ctx *ctx, const char *fact, const char *path, bool *ret_active)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(ctx->sysroot, &text, path);
	if (r < 0) {
		if (r == -ENOENT)
			rd_fact_set_absent(ctx->facts, fact, path);
		else
			rd_fact_set_unknown(ctx->facts, fact, r, path);
		return;
	}
	rd_fact_set_list(ctx->facts, fact, path);
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		unsigned inside, outside, count;
		char words[48];

		if (sscanf(line, " %u %u %u", &inside, &outside, &count) != 3)
			continue;
		snprintf(words, sizeof(words), "%u %u %u", inside, outside, count);
		rd_fact_append_str(ctx->facts, fact, words, path);
		*ret_active |= inside != outside || count != UINT32_MAX;
	}
}

static void set_namespace(struct rd_probe_ctx *ctx)
{
	bool active = false;

	set_map(ctx, "host.user_namespace.uid_map", "/proc/self/uid_map", &active);
	set_map(ctx, "host.user_namespace.gid_map", "/proc/self/gid_map", &active);
	if (!active && rd_fact_is_unknown(ctx->facts, "host.user_namespace.uid_map"))
		rd_fact_set_unknown(ctx->facts, "host.user_namespace.active", -ENODATA, "/proc/self/uid_map");
	else
		rd_fact_set_bool(ctx->facts, "host.user_namespace.active", active, "/proc/self/uid_map");
}

/*
 * CAP_DAC_OVERRIDE opens a node whatever its mode says. The process has it or not, but it tells of the user who is judged only
 * where the process runs as that user: under sudo it does not.
 */
static void set_override(struct rd_probe_ctx *ctx)
{
	static const char path[] = "/proc/self/status";
	int64_t uid = rd_fact_get_int(ctx->facts, "host.user.uid"), process = -1;
	rd_auto_free char *text = NULL;
	uint64_t capabilities = 0;
	bool told = false;
	char *rest, *line;

	if (rd_sysroot_read(ctx->sysroot, &text, path) >= 0) {
		rest = text;
		while ((line = rd_str_next_line(&rest))) {
			long long effective;

			if (rd_str_has_prefix(line, "CapEff:"))
				told = rd_str_to_u64(line + strlen("CapEff:"), 16, &capabilities) >= 0;
			else if (sscanf(line, "Uid: %*d %lld", &effective) == 1)
				process = effective;
		}
	}
	if (process >= 0)
		rd_fact_set_int(ctx->facts, "host.process_uid", process, path);
	else
		rd_fact_set_unknown(ctx->facts, "host.process_uid", -ENODATA, path);
	if (rd_fact_is_unknown(ctx->facts, "host.user.uid"))
		return;
	if (told && process == uid)
		rd_fact_set_bool(ctx->facts, "host.user.overrides_modes", capabilities >> 1 & 1, path);
	else
		rd_fact_set_bool(ctx->facts, "host.user.overrides_modes", uid == 0, "geteuid");
}

static int run(struct rd_probe_ctx *ctx)
{
	int r = set_user(ctx);

	if (r < 0) {
		rd_fact_set_unknown(ctx->facts, "host.user.uid", r, "user");
		rd_fact_set_unknown(ctx->facts, "host.user.overrides_modes", r, "user");
	}
	set_namespace(ctx);
	set_override(ctx);
	return r;
}

const struct rd_probe rd_probe_host_user = {
	.name = "host/user",
	.layer = RD_LAYER_HOST,
	.summary = "the user whose access is judged",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.user.name", RD_STR,
	                  "name of the user whose access is judged; empty where none belongs to the number", "/etc/passwd" },
			{ "host.user.uid", RD_INT, "his number", "geteuid, SUDO_USER, --user" },
			{ "host.user.gid", RD_INT, "his primary group", "getegid" },
			{ "host.user.groups[]", RD_LIST, "groups in force, by number", "getgroups" },
			{ "host.user.groups[].gid", RD_INT, "the group's number", "getgroups" },
			{ "host.user.groups[].name", RD_STR, "its name here; empty where it has none", "/etc/group" },
			{ "host.user.member_of[]", RD_LIST, "groups that a new login would have, by number",
	                  "/etc/passwd, /etc/group" },
			{ "host.user.member_of[].gid", RD_INT, "the group's number", "/etc/group" },
			{ "host.user.member_of[].name", RD_STR, "its name", "/etc/group" },
			{ "host.user.session_groups[]", RD_STRS, "the same in words: name (number)", "getgroups" },
			{ "host.user.file_groups[]", RD_STRS, "groups of a new login in words: name (number)", "/etc/group" },
			{ "host.user.overrides_modes", RD_BOOL, "he opens files whatever their mode (root, CAP_DAC_OVERRIDE)",
	                  "/proc/self/status" },
			{ "host.process_uid", RD_INT, "the user as whom the examined process runs", "/proc/self/status" },
			{ "host.user_namespace.active", RD_BOOL, "numbers of users and groups are those of a user namespace",
	                  "/proc/self/uid_map" },
			{ "host.user_namespace.uid_map[]", RD_STRS, "\"inside outside count\" of users", "/proc/self/uid_map" },
			{ "host.user_namespace.gid_map[]", RD_STRS, "\"inside outside count\" of groups",
	                  "/proc/self/gid_map" },
			{ 0 },
		},
	.run = run,
};
