/* Users and groups as /etc/passwd and /etc/group of a sysroot have them; names from a directory service are not in them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_accounts;
struct rd_strv;
struct rd_sysroot;

struct rd_account {
	char *name, *home;
	uint32_t uid, gid;
};

/*
 * rd_accounts_read - read both files
 * A file that is not there counts as empty. Returns 0, or the errno of a file that could not be read.
 */
int rd_accounts_read(struct rd_sysroot *sr, struct rd_accounts **ret) RD_MUST_CHECK;
struct rd_accounts *rd_accounts_free(struct rd_accounts *a);

/* NULL where there is none; the first line of a name or number counts. */
const struct rd_account *rd_accounts_by_name(const struct rd_accounts *a, const char *name);
const struct rd_account *rd_accounts_by_uid(const struct rd_accounts *a, uint32_t uid);
const char *rd_accounts_group_name(const struct rd_accounts *a, uint32_t gid);
/* Returns 0, or -ENOENT. */
int rd_accounts_gid(const struct rd_accounts *a, const char *group, uint32_t *ret) RD_MUST_CHECK;

/*
 * rd_accounts_groups - numbers of the groups that a new session of a user would have
 * The primary group of /etc/passwd and every line of /etc/group that lists the name. Returns the number; caller frees *ret.
 */
unsigned rd_accounts_groups(const struct rd_accounts *a, const char *user, uint32_t **ret);
