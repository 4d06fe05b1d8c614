#include "common.h"

#include <string.h>

#include "rocm-doctor/sysroot.h"

enum { READ_WRITE = 6, NOBODY = 65534 };

bool rd_credentials_has_group(const struct rd_credentials *who, uint32_t gid)
{
	for (size_t i = 0; i < who->gids_n; i++)
		if (who->gids[i] == gid)
			return true;
	return false;
}

static bool owner_unmapped(const struct rd_stat *st, const struct rd_credentials *who)
{
	return who->user_namespace && st->uid == who->overflow_uid;
}

static bool group_unmapped(uint32_t gid, const struct rd_credentials *who)
{
	return who->user_namespace && gid == who->overflow_gid;
}

static unsigned acl_perms(const struct rd_acl_entry *acl, size_t n, int tag, unsigned otherwise)
{
	for (size_t i = 0; i < n; i++)
		if ((int)acl[i].tag == tag)
			return acl[i].perms;
	return otherwise;
}

/* Bits that come from group entries: those of the first that gives all, else of any that matched. -1: he is in none of them. */
static int group_perms(const struct rd_stat *st, const struct rd_acl_entry *acl, size_t n, const struct rd_credentials *who)
{
	unsigned mask = acl_perms(acl, n, RD_ACL_MASK, 7);
	unsigned own = acl_perms(acl, n, RD_ACL_GROUP_OBJ, st->mode >> 3 & 7) & mask;
	int found = -1;

	if (rd_credentials_has_group(who, st->gid))
		found = (int)own;
	for (size_t i = 0; i < n; i++) {
		if (acl[i].tag != RD_ACL_GROUP || !rd_credentials_has_group(who, acl[i].id))
			continue;
		if (found < 0 || (acl[i].perms & mask & READ_WRITE) == READ_WRITE)
			found = (int)(acl[i].perms & mask);
	}
	return found;
}

/* What a named user's entry gives him; -1: there is none. */
static int user_perms(const struct rd_acl_entry *acl, size_t n, uint32_t uid)
{
	unsigned mask = acl_perms(acl, n, RD_ACL_MASK, 7);

	for (size_t i = 0; i < n; i++)
		if (acl[i].tag == RD_ACL_USER && acl[i].id == uid)
			return (int)(acl[i].perms & mask);
	return -1;
}

static enum rd_denial granted_or_mode(int perms)
{
	return (perms & READ_WRITE) == READ_WRITE ? RD_ACCESS_GRANTED : RD_ACCESS_DENIED_MODE;
}

/* He is neither the owner nor in a group that counts, and the others may not. */
static enum rd_denial why_not(const struct rd_stat *st, const struct rd_acl_entry *acl, size_t n,
                              const struct rd_credentials *who)
{
	unsigned own = acl_perms(acl, n, RD_ACL_GROUP_OBJ, st->mode >> 3 & 7) & acl_perms(acl, n, RD_ACL_MASK, 7);

	if (owner_unmapped(st, who) || group_unmapped(st->gid, who) || who->group_outside)
		return RD_ACCESS_DENIED_NAMESPACE;
	/* Nobody should join group root for this: such a node has the wrong group. */
	return (own & READ_WRITE) == READ_WRITE && st->gid != 0 ? RD_ACCESS_DENIED_GROUP : RD_ACCESS_DENIED_MODE;
}

enum rd_denial rd_device_access(const struct rd_stat *st, const struct rd_acl_entry *acl, size_t acl_n,
                                const struct rd_credentials *who)
{
	int perms;

	/* The capability counts only over owners and groups that have a number in the namespace (capable_wrt_inode_uidgid). */
	if (who->overrides_modes && !owner_unmapped(st, who) && !group_unmapped(st->gid, who) && !who->owner_outside &&
	    !who->group_outside)
		return RD_ACCESS_GRANTED;
	if (who->uid == st->uid && !owner_unmapped(st, who))
		return granted_or_mode((int)(st->mode >> 6 & 7));
	perms = user_perms(acl, acl_n, who->uid);
	if (perms >= 0)
		return granted_or_mode(perms);
	/*
	 * Every number from outside shows as the same one: that he has such a group and the node too does not say that it is
	 * one group (podman's keep-groups), nor that it is not.
	 */
	if (group_unmapped(st->gid, who) && rd_credentials_has_group(who, st->gid))
		return (st->mode & READ_WRITE) == READ_WRITE ? RD_ACCESS_GRANTED : RD_ACCESS_UNDECIDED;
	perms = group_perms(st, acl, acl_n, who);
	if (perms >= 0)
		return granted_or_mode(perms);
	if ((st->mode & READ_WRITE) == READ_WRITE)
		return RD_ACCESS_GRANTED;
	return why_not(st, acl, acl_n, who);
}

const char *rd_denial_name(enum rd_denial denial)
{
	switch (denial) {
	case RD_ACCESS_DENIED_GROUP:
		return "group";
	case RD_ACCESS_DENIED_MODE:
		return "mode";
	case RD_ACCESS_DENIED_NAMESPACE:
		return "namespace";
	case RD_ACCESS_GRANTED:
	case RD_ACCESS_UNDECIDED:
		break;
	}
	return "";
}

static uint32_t overflow(struct rd_sysroot *sr, const char *path)
{
	uint64_t value;

	return rd_sysroot_read_u64(sr, &value, path) >= 0 && value <= UINT32_MAX ? (uint32_t)value : NOBODY;
}

void rd_device_overflow_ids(struct rd_sysroot *sr, uint32_t *ret_uid, uint32_t *ret_gid)
{
	*ret_uid = overflow(sr, "/proc/sys/kernel/overflowuid");
	*ret_gid = overflow(sr, "/proc/sys/kernel/overflowgid");
}
