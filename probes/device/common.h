/* What the probes of this folder share: who may open a device node. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_accounts;
struct rd_fact;
struct rd_sysroot;

/* The credentials by which the kernel would judge. */
struct rd_credentials {
	uint32_t uid;
	const uint32_t *gids; /* primary and supplementary */
	size_t gids_n;
	bool overrides_modes;                /* CAP_DAC_OVERRIDE */
	bool user_namespace;                 /* the numbers above are those of a user namespace */
	uint32_t overflow_uid, overflow_gid; /* what an owner without a number in it shows as */
	/* Of a process that is seen from outside of its namespace, with our numbers: the node's have none in there. */
	bool owner_outside, group_outside;
};

enum rd_denial {
	RD_ACCESS_GRANTED,
	RD_ACCESS_DENIED_GROUP,     /* a group may, and he is not in it */
	RD_ACCESS_DENIED_MODE,      /* owner, mode or ACL: being in the group would not help, or it is root's */
	RD_ACCESS_DENIED_NAMESPACE, /* owner and group have no number in his user namespace */
	RD_ACCESS_UNDECIDED,        /* the numbers of a user namespace do not tell; only opening does */
};

struct rd_acl_entry;
struct rd_stat;

/*
 * rd_device_access - may these credentials open a node for reading and writing?
 * @acl: its entries, @acl_n 0 without ACL
 *
 * As fs/namei.c and fs/posix_acl.c decide: owner, then named users, then all groups at once, then the others.
 */
enum rd_denial rd_device_access(const struct rd_stat *st, const struct rd_acl_entry *acl, size_t acl_n,
                                const struct rd_credentials *who);

/* "group", "mode", "namespace"; "" for the rest. */
const char *rd_denial_name(enum rd_denial denial);

bool rd_credentials_has_group(const struct rd_credentials *who, uint32_t gid);

/* Overflow numbers of this kernel, 65534 where it does not say. */
void rd_device_overflow_ids(struct rd_sysroot *sr, uint32_t *ret_uid, uint32_t *ret_gid);
