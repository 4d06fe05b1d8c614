#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int open_root(const struct rd_sysroot *sr)
{
	int fd = open(rd_sysroot_dir(sr), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* One folder further down. A link is no folder here: O_NOFOLLOW makes it -ENOTDIR or -ELOOP. */
static int step_down(int at, const char *name, bool make, bool *made)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*made = false;
	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR)
		return -ELOOP;
	if (errno != ENOENT || !make)
		return -errno;
	if (mkdirat(at, name, 0755) < 0)
		return -errno;
	*made = true;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The folder of a path, opened without following a link; *name is the last component. */
static int open_parent(const struct rd_sysroot *sr, const char *path, struct rd_strv *ret_made, const char **name)
{
	const char *last = strrchr(path, '/'), *at = path;
	int fd = open_root(sr);

	if (*path != '/' || !last[1])
		return -EINVAL;
	*name = last + 1;
	while (fd >= 0 && at < last) {
		rd_auto_free char *component = NULL;
		bool made = false;
		size_t n;
		int next;

		at += strspn(at, "/");
		n = strcspn(at, "/");
		if (at >= last || !n)
			break;
		component = rd_xstrndup(at, n);
		next = rd_streq(component, "..") ? -EINVAL : step_down(fd, component, ret_made, &made);
		close(fd);
		fd = next;
		at += n;
		if (made)
			rd_strv_push_take(ret_made, rd_xstrndup(path, (size_t)(at - path)));
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

static void add_xattr(struct rd_image *image, int fd, const char *name)
{
	struct rd_image_xattr *x;
	ssize_t len = fgetxattr(fd, name, NULL, 0);
	char *value;

	if (len < 0)
		return;
	value = rd_xmalloc((size_t)len + 1);
	len = fgetxattr(fd, name, value, (size_t)len);
	if (len < 0) {
		free(value);
		return;
	}
	image->xattrs = rd_xreallocarray(image->xattrs, image->xattrs_n + 1, sizeof(*image->xattrs));
	x = &image->xattrs[image->xattrs_n++];
	*x = (struct rd_image_xattr){ rd_xstrdup(name), value, (size_t)len };
}

static void read_xattrs(struct rd_image *image, int fd)
{
	ssize_t len = flistxattr(fd, NULL, 0);
	rd_auto_free char *names = len > 0 ? rd_xmalloc((size_t)len + 1) : NULL;

	if (!names)
		return;
	len = flistxattr(fd, names, (size_t)len);
	if (len < 0)
		return;
	names[len] = '\0';
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		add_xattr(image, fd, name);
}

static int capture_file(int dir, const char *name, const struct stat *st, struct rd_image *image)
{
	rd_auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (st->st_size > CONTENT_MAX)
		return -EFBIG;
	image->kind = RD_IMAGE_FILE;
	image->mode = st->st_mode & 07777;
	image->uid = st->st_uid;
	image->gid = st->st_gid;
	image->mtime = st->st_mtim;
	read_xattrs(image, fd);
	return read_whole(fd, st->st_size, image);
}

static int capture_link(int dir, const char *name, struct rd_image *image)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	image->kind = RD_IMAGE_LINK;
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

	dir = open_parent(sr, path, NULL, &name);
	if (dir == -ENOENT) {
		*ret = image;
		return 0;
	}
	if (dir < 0)
		return fail(err, dir, "cannot look at", path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = errno == ENOENT ? 0 : -errno;
	else if (S_ISREG(st.st_mode))
		r = capture_file(dir, name, &st, &image);
	else if (S_ISLNK(st.st_mode))
		r = capture_link(dir, name, &image);
	else
		r = -EINVAL;
	if (r < 0) {
		rd_image_release(&image);
		return fail(err, r, "cannot read", path);
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

static int write_whole(int fd, const char *content, size_t len)
{
	while (len) {
		ssize_t n = write(fd, content, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
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

static int fill_file(int fd, const struct rd_image *image)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, image->mtime };
	struct stat st;
	int r = write_whole(fd, image->content, image->len);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != image->uid || st.st_gid != image->gid) && fchown(fd, image->uid, image->gid) < 0)
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
	int r = 0;

	if (symlinkat(image->content, dir, temporary) < 0)
		return -errno;
	if (renameat(dir, temporary, dir, name) < 0) {
		r = -errno;
		unlinkat(dir, temporary, 0);
	}
	return r;
}

static int remove_name(int dir, const char *name)
{
	return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int sync_folder(int dir)
{
	rd_auto_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* Some file systems have no sync of folders. */
	return fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int rd_edit_put(struct rd_sysroot *sr, const char *path, const struct rd_image *image, const char *tag,
                struct rd_strv *ret_made, struct rd_error *err)
{
	rd_auto_free char *temporary = NULL;
	rd_auto_close int dir = -1;
	const char *name;
	int r;

	dir = open_parent(sr, path, image->kind == RD_IMAGE_NONE ? NULL : ret_made, &name);
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

int rd_edit_value(struct rd_sysroot *sr, const char *path, const char *value, struct rd_error *err)
{
	rd_auto_close int dir = -1, fd = -1;
	const char *name;
	int r;

	dir = open_parent(sr, path, NULL, &name);
	if (dir < 0)
		return fail(err, dir, "cannot write", path);
	/* On a tree the value is a plain file, and what was longer there must not stay behind. */
	fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (rd_sysroot_is_live(sr) ? 0 : O_TRUNC));
	if (fd < 0)
		return fail(err, -errno, "cannot write", path);
	r = write_whole(fd, value, strlen(value));
	if (r == 0 && !rd_sysroot_is_live(sr))
		r = write_whole(fd, "\n", 1);
	return r < 0 ? fail(err, r, "cannot write", path) : 0;
}

void rd_edit_sweep(struct rd_sysroot *sr, const char *path, const char *tag)
{
	rd_auto_free char *temporary = NULL;
	rd_auto_close int dir = -1;
	const char *name;

	dir = open_parent(sr, path, NULL, &name);
	if (dir < 0)
		return;
	temporary = temporary_name(name, tag);
	unlinkat(dir, temporary, 0);
}

int rd_edit_rmdir(struct rd_sysroot *sr, const char *path)
{
	rd_auto_close int dir = -1;
	const char *name;

	dir = open_parent(sr, path, NULL, &name);
	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int rd_edit_owner(struct rd_sysroot *sr, const char *path, uid_t *ret_uid, gid_t *ret_gid, struct rd_error *err)
{
	rd_auto_close int dir = -1;
	const char *name;
	struct stat st;

	dir = open_parent(sr, path, NULL, &name);
	if (dir < 0)
		return fail(err, dir, "cannot look at", path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, -errno, "cannot look at", path);
	*ret_uid = st.st_uid;
	*ret_gid = st.st_gid;
	return 0;
}
