#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rocm-doctor/edit.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* A file that is larger is none of those that are edited here. */
#define CONTENT_MAX ((off_t)64 << 20)
#define ACL "system.posix_acl_access"

static int open_root(const struct rd_sysroot *sr)
{
	int fd = open(rd_sysroot_dir(sr), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int sync_folder(int dir)
{
	rd_auto_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* Some file systems have no sync of folders. */
	return fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* One folder further down. A link is no folder here: O_NOFOLLOW makes it -ENOTDIR or -ELOOP. */
static int step_down(int at, const char *name, bool make)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR)
		return -ELOOP;
	if (errno != ENOENT || !make)
		return -errno;
	/* Whatever the caller's umask, what others have to read stands in it. */
	if (mkdirat(at, name, 0755) < 0 || fchmodat(at, name, 0755, 0) < 0)
		return -errno;
	r = sync_folder(at);
	if (r < 0)
		return r;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The folder of a path, opened without following a link; *name is the last component. */
static int open_parent(const struct rd_sysroot *sr, const char *path, bool make, const char **name)
{
	const char *last = strrchr(path, '/'), *at = path;
	int fd;

	if (*path != '/' || !last[1] || rd_streq(last, "/.") || rd_streq(last, "/.."))
		return -EINVAL;
	*name = last + 1;
	fd = open_root(sr);
	while (fd >= 0 && at < last) {
		rd_auto_free char *component = NULL;
		size_t n;
		int next;

		at += strspn(at, "/");
		n = strcspn(at, "/");
		if (at >= last || !n)
			break;
		component = rd_xstrndup(at, n);
		next = rd_streq(component, "..") ? -EINVAL : step_down(fd, component, make);
		close(fd);
		fd = next;
		at += n;
	}
	return fd;
}

static int fail(struct rd_error *err, int code, const char *what, const char *path)
{
	if (code == -ELOOP)
		return rd_error_set(err, code, "%s '%s': it is a link or stands below one", what, path);
	return rd_error_set(err, code, "%s '%s': %s", what, path, rd_strerror(code));
}

static int read_whole(int fd, off_t size, struct rd_image *image)
{
	size_t allocated = (size_t)size + 1;
	ssize_t n;

	image->content = rd_xmalloc(allocated + 1);
	while ((n = read(fd, image->content + image->len, allocated - image->len)) > 0) {
		image->len += (size_t)n;
		if (image->len > (size_t)CONTENT_MAX)
			return -EFBIG;
		if (image->len == allocated) {
			allocated *= 2;
			image->content = rd_xreallocarray(image->content, allocated + 1, 1);
		}
	}
	if (n < 0)
		return -errno;
	image->content[image->len] = '\0';
	return 0;
}

/* The kernel itself measures a file's content into these. */
static bool is_of_kernel(const char *xattr)
{
	return rd_streq(xattr, "security.ima") || rd_streq(xattr, "security.evm");
}

static int add_xattr(struct rd_image *image, int fd, const char *name)
{
	struct rd_image_xattr *x;
	ssize_t len = is_of_kernel(name) ? 0 : fgetxattr(fd, name, NULL, 0);
	char *value;

	if (len < 0 || is_of_kernel(name))
		return len < 0 && errno != ENODATA ? -errno : 0;
	value = rd_xmalloc((size_t)len + 1);
	len = fgetxattr(fd, name, value, (size_t)len);
	if (len < 0) {
		free(value);
		return -errno;
	}
	image->xattrs = rd_xreallocarray(image->xattrs, image->xattrs_n + 1, sizeof(*image->xattrs));
	x = &image->xattrs[image->xattrs_n++];
	*x = (struct rd_image_xattr){ rd_xstrdup(name), value, (size_t)len };
	return 0;
}

/* An attribute that cannot be read could not be put back: a file without it is another file. */
static int read_xattrs(struct rd_image *image, int fd)
{
	ssize_t len = flistxattr(fd, NULL, 0);
	rd_auto_free char *names = len > 0 ? rd_xmalloc((size_t)len + 1) : NULL;
	int r = 0;

	if (!names)
		return len < 0 && errno != EOPNOTSUPP && errno != ENOSYS ? -errno : 0;
	len = flistxattr(fd, names, (size_t)len);
	if (len < 0)
		return -errno;
	names[len] = '\0';
	for (const char *name = names; name < names + len && r == 0; name += strlen(name) + 1)
		r = add_xattr(image, fd, name);
	return r;
}

/* What is opened is what is looked at: the name may have become something else since it was found to be a file. */
static int capture_file(int dir, const char *name, struct rd_image *image)
{
	rd_auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > CONTENT_MAX)
		return -EFBIG;
	image->kind = RD_IMAGE_FILE;
	image->mode = st.st_mode & 07777;
	image->uid = st.st_uid;
	image->gid = st.st_gid;
	image->mtime = st.st_mtim;
	image->links = (unsigned)st.st_nlink;
	r = read_xattrs(image, fd);
	return r < 0 ? r : read_whole(fd, st.st_size, image);
}

static int capture_link(int dir, const char *name, const struct stat *st, struct rd_image *image)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	image->kind = RD_IMAGE_LINK;
	image->uid = st->st_uid;
	image->gid = st->st_gid;
	image->content = rd_xstrndup(target, (size_t)n);
	image->len = (size_t)n;
	return 0;
}

int rd_edit_capture(struct rd_sysroot *sr, const char *path, struct rd_image *ret, struct rd_error *err)
{
	rd_auto_close int dir = -1;
	struct rd_image image = { .kind = RD_IMAGE_NONE };
	const char *name;
	struct stat st;
	int r = 0;

	dir = open_parent(sr, path, false, &name);
	if (dir == -ENOENT) {
		*ret = image;
		return 0;
	}
	if (dir < 0)
		return fail(err, dir, "cannot look at", path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = errno == ENOENT ? 0 : -errno;
	else if (S_ISREG(st.st_mode))
		r = capture_file(dir, name, &image);
	else if (S_ISLNK(st.st_mode))
		r = capture_link(dir, name, &st, &image);
	else
		r = -EINVAL;
	if (r < 0) {
		rd_image_release(&image);
		return r == -EINVAL ? rd_error_set(err, r, "'%s' is neither a file nor a link", path)
		                    : fail(err, r, "cannot read", path);
	}
	*ret = image;
	return 0;
}

void rd_image_release(struct rd_image *image)
{
	for (size_t i = 0; i < image->xattrs_n; i++) {
		free(image->xattrs[i].name);
		free(image->xattrs[i].value);
	}
	free(image->xattrs);
	free(image->content);
	*image = (struct rd_image){ .kind = RD_IMAGE_NONE };
}

static char *temporary_name(const char *name, const char *tag)
{
	return rd_xasprintf(".%s.rd-%s", name, tag);
}

int rd_write_whole(int fd, const char *content, size_t len)
{
	while (len) {
		ssize_t n = write(fd, content, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		content += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A label or attribute that cannot be set would change who may read the file: that is an error, unless it is there already. */
static int set_xattr(int fd, const struct rd_image_xattr *x)
{
	rd_auto_free char *now = rd_xmalloc(x->len + 1);

	if (fsetxattr(fd, x->name, x->value, x->len, 0) == 0)
		return 0;
	if (fgetxattr(fd, x->name, now, x->len) == (ssize_t)x->len && memcmp(now, x->value, x->len) == 0)
		return 0;
	return -errno;
}

static bool has_xattr(const struct rd_image *image, const char *name)
{
	for (size_t i = 0; i < image->xattrs_n; i++)
		if (rd_streq(image->xattrs[i].name, name))
			return true;
	return false;
}

static int fill_file(int fd, const struct rd_image *image)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, image->mtime };
	struct stat st;
	int r = rd_write_whole(fd, image->content, image->len);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != image->uid || st.st_gid != image->gid) && fchown(fd, image->uid, image->gid) < 0)
		return -errno;
	/* A folder's default ACL gives a new file one that this file does not have. */
	if (!has_xattr(image, ACL) && fremovexattr(fd, ACL) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return -errno;
	if (fchmod(fd, image->mode) < 0)
		return -errno;
	for (size_t i = 0; i < image->xattrs_n && r == 0; i++)
		r = set_xattr(fd, &image->xattrs[i]);
	/* No time given: now. */
	if (r == 0 && image->mtime.tv_sec && futimens(fd, times) < 0)
		r = -errno;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

static int put_file(int dir, const char *name, const char *temporary, const struct rd_image *image)
{
	rd_auto_close int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = fill_file(fd, image);
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, temporary, 0);
	return r;
}

static int put_link(int dir, const char *name, const char *temporary, const struct rd_image *image)
{
	struct stat st;
	int r = 0;

	if (symlinkat(image->content, dir, temporary) < 0)
		return -errno;
	if (fstatat(dir, temporary, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if ((st.st_uid != image->uid || st.st_gid != image->gid) &&
	         fchownat(dir, temporary, image->uid, image->gid, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, temporary, 0);
	return r;
}

static int remove_name(int dir, const char *name)
{
	return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int rd_edit_put(struct rd_sysroot *sr, const char *path, const struct rd_image *image, const char *tag, bool make,
                struct rd_error *err)
{
	rd_auto_free char *temporary = NULL;
	rd_auto_close int dir = -1;
	const char *name;
	int r;

	dir = open_parent(sr, path, make && image->kind != RD_IMAGE_NONE, &name);
	if (dir == -ENOENT && image->kind == RD_IMAGE_NONE)
		return 0;
	if (dir < 0)
		return fail(err, dir, "cannot write", path);
	temporary = temporary_name(name, tag);
	if (image->kind == RD_IMAGE_FILE)
		r = put_file(dir, name, temporary, image);
	else if (image->kind == RD_IMAGE_LINK)
		r = put_link(dir, name, temporary, image);
	else
		r = remove_name(dir, name);
	if (r == 0)
		r = sync_folder(dir);
	return r < 0 ? fail(err, r, "cannot write", path) : 0;
}

int rd_edit_missing(struct rd_sysroot *sr, const char *path, struct rd_strv *ret, struct rd_error *err)
{
	rd_auto_close int fd = open_root(sr);

	if (fd < 0 || *path != '/')
		return fail(err, fd < 0 ? fd : -EINVAL, "cannot look at", path);
	for (const char *at = path + 1, *slash; (slash = strchr(at, '/')); at = slash + 1) {
		rd_auto_free char *name = rd_xstrndup(at, (size_t)(slash - at));
		int next;

		if (slash == at)
			continue;
		next = ret->n ? -ENOENT : step_down(fd, name, false);
		if (next == -ENOENT) {
			rd_strv_push_take(ret, rd_xstrndup(path, (size_t)(slash - path)));
			continue;
		}
		if (next < 0)
			return fail(err, next, "cannot look at", path);
		close(fd);
		fd = next;
	}
	return 0;
}

/* From headers that are newer than some that this is built with. */
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif

static int check_attributes(int dir, const char *name, const char *path, struct rd_error *err)
{
	struct statx sx;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &sx) < 0)
		return errno == ENOENT || errno == ENOSYS ? 0 : fail(err, -errno, "cannot look at", path);
	sx.stx_attributes &= sx.stx_attributes_mask;
	if (sx.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return rd_error_set(err, -EPERM, "'%s' is made %s; chattr -%c takes that off", path,
		                    sx.stx_attributes & STATX_ATTR_IMMUTABLE ? "immutable" : "to be appended to only",
		                    sx.stx_attributes & STATX_ATTR_IMMUTABLE ? 'i' : 'a');
	/* A folder that is one holds its files like any other. */
	if (!rd_streq(name, ".") && sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return rd_error_set(err, -EBUSY, "'%s' is mounted by itself, as containers do: change it where it comes from",
		                    path);
	return 0;
}

static int check_folder(int dir, const char *path, struct rd_error *err)
{
	rd_auto_free char *folder = rd_xstrndup(path, (size_t)(strrchr(path, '/') - path));
	struct statvfs vfs;
	int r = check_attributes(dir, ".", *folder ? folder : "/", err);

	if (r == 0 && fstatvfs(dir, &vfs) == 0 && vfs.f_flag & ST_RDONLY)
		r = fail(err, -EROFS, "cannot write", path);
	if (r == 0 && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		r = fail(err, -errno, "cannot write", path);
	return r;
}

int rd_edit_check(struct rd_sysroot *sr, const char *path, bool value, struct rd_error *err)
{
	rd_auto_free char *at = rd_xstrdup(path);
	rd_auto_close int dir = -1;
	const char *name;
	char *slash;
	int r;

	/* Of folders that are to be made, that in which the first one is. */
	while ((dir = open_parent(sr, at, false, &name)) == -ENOENT && (slash = strrchr(at, '/')) > at)
		*slash = '\0';
	if (dir < 0)
		return fail(err, dir, "cannot write", path);
	if (value)
		return faccessat(dir, name, W_OK, AT_EACCESS) < 0 ? fail(err, -errno, "cannot write", path) : 0;
	r = check_folder(dir, at, err);
	return r < 0 ? r : check_attributes(dir, name, at, err);
}

int rd_edit_value(struct rd_sysroot *sr, const char *path, const char *value, struct rd_error *err)
{
	rd_auto_close int dir = -1, fd = -1;
	const char *name;
	int r;

	dir = open_parent(sr, path, false, &name);
	if (dir < 0)
		return fail(err, dir, "cannot write", path);
	/* On a tree the value is a plain file, and what was longer there must not stay behind. */
	fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (rd_sysroot_is_live(sr) ? 0 : O_TRUNC));
	if (fd < 0)
		return fail(err, -errno, "cannot write", path);
	r = rd_write_whole(fd, value, strlen(value));
	if (r == 0 && !rd_sysroot_is_live(sr))
		r = rd_write_whole(fd, "\n", 1);
	return r < 0 ? fail(err, r, "cannot write", path) : 0;
}

void rd_edit_sweep(struct rd_sysroot *sr, const char *path, const char *tag)
{
	rd_auto_free char *temporary = NULL;
	rd_auto_close int dir = -1;
	const char *name;

	dir = open_parent(sr, path, false, &name);
	if (dir < 0)
		return;
	temporary = temporary_name(name, tag);
	unlinkat(dir, temporary, 0);
}

int rd_edit_rmdir(struct rd_sysroot *sr, const char *path)
{
	rd_auto_close int dir = -1;
	const char *name;

	dir = open_parent(sr, path, false, &name);
	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return errno == ENOENT ? 0 : -errno;
	return sync_folder(dir);
}

int rd_edit_owner(struct rd_sysroot *sr, const char *path, uid_t *ret_uid, gid_t *ret_gid, struct rd_error *err)
{
	rd_auto_close int dir = -1;
	const char *name;
	struct stat st;

	dir = open_parent(sr, path, false, &name);
	if (dir < 0)
		return fail(err, dir, "cannot look at", path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, -errno, "cannot look at", path);
	*ret_uid = st.st_uid;
	*ret_gid = st.st_gid;
	return 0;
}
