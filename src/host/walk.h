/*
 * Path resolution in user space, for roots that the kernel does not resolve for us: an archive, or a tree where openat2(2)
 * is refused. Links resolve inside the root, ".." stops at it.
 */
#pragma once

#include "rocm-doctor/macros.h"

enum rd_walk_type { RD_WALK_FILE, RD_WALK_DIR, RD_WALK_LINK };

/* Both get a path that begins with "/" and has no link before its last component; "/" itself is never asked for. */
struct rd_walk_ops {
	int (*lookup)(void *ctx, const char *path);               /* enum rd_walk_type or -errno */
	int (*readlink)(void *ctx, const char *path, char **ret); /* 0 or -errno */
};

#define RD_WALK_NOFOLLOW 1u   /* a link as last component is the answer itself */
#define RD_WALK_READLINK 4u   /* beside it: the text of that link is what will be asked for, no more than a hint */
#define RD_WALK_MISSING_OK 2u /* what is not there counts as it is written: the answer is where it would be */

/* As the kernel: MAXSYMLINKS, PATH_MAX, NAME_MAX. */
#define RD_WALK_LINKS_MAX 40
#define RD_WALK_PATH_MAX 4096
#define RD_WALK_NAME_MAX 255

/*
 * rd_walk - resolve @path
 * @ret: the path without links, "." and "..", caller frees
 *
 * Returns 0, -ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EINVAL for a path that is not absolute, or what an operation gave.
 */
int rd_walk(const struct rd_walk_ops *ops, void *ctx, const char *path, unsigned flags, char **ret) RD_MUST_CHECK;

/*
 * rd_path_normalize - drop "." and doubled or trailing "/"; ".." stays, since a link may stand before it
 * Returns 0, -EINVAL for a path that is not absolute, -ENAMETOOLONG.
 */
int rd_path_normalize(const char *path, char **ret) RD_MUST_CHECK;
/* The same without a copy where the path is normal already: *ret is @path, or *own, which the caller frees and was NULL. */
int rd_path_normal(const char *path, char **own, const char **ret) RD_MUST_CHECK;
