/*
 * Changing files: used by the applier (core/apply.c and core/transaction.c) and by nothing else.
 *
 * No link is followed, neither on the way to a file nor at its end: a path that leads through one is refused with -ELOOP.
 * Contents are put in place by rename, never edited in place; owner, mode, extended attributes and with them the security
 * label of what is there are kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_strv;
struct rd_sysroot;

enum rd_image_kind { RD_IMAGE_NONE, RD_IMAGE_FILE, RD_IMAGE_LINK };

/* All that is needed to put a path back as it was. */
struct rd_image {
	enum rd_image_kind kind;
	char *content; /* of a file, len bytes and a NUL; of a link its target */
	size_t len;
	unsigned mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	unsigned links; /* names that the file has; 0: not known */
	struct rd_image_xattr {
		char *name;
		char *value;
		size_t len;
	} * xattrs;
	size_t xattrs_n;
};

/* What a path is now. -EINVAL for anything but a regular file, a link or nothing; errors also where an attribute is unreadable. */
int rd_edit_capture(struct rd_sysroot *sr, const char *path, struct rd_image *ret, struct rd_error *err) RD_MUST_CHECK;
void rd_image_release(struct rd_image *image);

/*
 * rd_edit_put - make a path what an image says: content and attributes
 * @tag: part of the temporary file's name, so that a later run can remove what a killed one left
 * @make: also the folders above it
 */
int rd_edit_put(struct rd_sysroot *sr, const char *path, const struct rd_image *image, const char *tag, bool make,
                struct rd_error *err) RD_MUST_CHECK;

/*
 * rd_edit_check - could a path be changed?
 * @value: in place, as a value of sysfs is, and not by rename
 *
 * Everything that can be seen without trying: -EROFS, -EACCES, -EPERM for what is immutable or only grows, -EBUSY for a file that
 * is mounted by itself. 0 does not promise that changing it succeeds.
 */
int rd_edit_check(struct rd_sysroot *sr, const char *path, bool value, struct rd_error *err) RD_MUST_CHECK;

/* All of it, whatever signals come and however little is taken at a time. 0 or a negative errno. */
int rd_write_whole(int fd, const char *content, size_t len) RD_MUST_CHECK;

/* The folders above a path that are not there, outermost first. */
int rd_edit_missing(struct rd_sysroot *sr, const char *path, struct rd_strv *ret, struct rd_error *err) RD_MUST_CHECK;

/* A value of sysfs or procfs, in place. */
int rd_edit_value(struct rd_sysroot *sr, const char *path, const char *value, struct rd_error *err) RD_MUST_CHECK;

/* Remove what a killed rd_edit_put() of this path and tag left behind. */
void rd_edit_sweep(struct rd_sysroot *sr, const char *path, const char *tag);

/* Remove a folder that was made, where it is empty. */
int rd_edit_rmdir(struct rd_sysroot *sr, const char *path) RD_MUST_CHECK;

/* Owner of a path, for running something in its name. */
int rd_edit_owner(struct rd_sysroot *sr, const char *path, uid_t *ret_uid, gid_t *ret_gid, struct rd_error *err) RD_MUST_CHECK;
