/* A directory as root: every path resolves inside it, by openat2(2) or, where that is refused, step by step. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memo.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"
#include "walk.h"

/* The kernel gives up with EAGAIN when something on the way is renamed meanwhile. */
#define TRIES_MAX 64
/* More names than any folder has that is worth listing. */
#define NAMES_MAX ((size_t)1 << 18)
/* A listing of more names is not kept. */
#define NAMES_KEPT 4096
/* A longer file is read anew each time. */
#define TEXT_KEPT 4096

static int kernel_open(struct rd_sysroot *sr, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd = -1;

	for (int i = 0; i < TRIES_MAX; i++) {
		fd = syscall(SYS_openat2, sr->fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EINTR && errno != EAGAIN)
			break;
	}
	if (errno == ENOSYS)
		sr->walk_only = true;
	return -errno;
}

/* EPERM: a seccomp filter that does not know the call. EINVAL: a kernel without these flags. Or the file's own errors: then
 * the long way gives them again. */
static bool is_refusal(int r)
{
	return r == -ENOSYS || r == -EPERM || r == -EINVAL;
}

/*
 * Opens a path that the walker found to be free of links, component by component, so that a link which is put there
 * meanwhile fails and leads nowhere.
 */
static int open_stepwise(const struct rd_sysroot *sr, const char *path, int flags)
{
	int dir = fcntl(sr->fd, F_DUPFD_CLOEXEC, 0);

	while (dir >= 0) {
		char name[RD_WALK_NAME_MAX + 1];
		size_t n;
		int fd, error;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n > RD_WALK_NAME_MAX) {
			close(dir);
			return -ENAMETOOLONG;
		}
		memcpy(name, n ? path : ".", n ? n : 1);
		name[n ? n : 1] = '\0';
		path += n;
		if (*path)
			fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		else
			fd = openat(dir, name, flags | O_NOFOLLOW);
		error = errno;
		close(dir);
		if (fd < 0 || !*path)
			return fd < 0 ? -error : fd;
		dir = fd;
	}
	return -errno;
}

/* What stands at a path without links before its last component. */
static int open_resolved(struct rd_sysroot *sr, const char *path, int flags)
{
	int r = sr->walk_only ? -ENOSYS : kernel_open(sr, path, flags | O_NOFOLLOW);

	if (is_refusal(r))
		r = open_stepwise(sr, path, flags);
	return r == -ENOENT ? rd_process_open_ours(sr, path, flags | O_NOFOLLOW) : r;
}

static int lookup(void *ctx, const char *path)
{
	rd_auto_close int fd = open_resolved(ctx, path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISLNK(st.st_mode) ? RD_WALK_LINK : S_ISDIR(st.st_mode) ? RD_WALK_DIR : RD_WALK_FILE;
}

static int link_text(int fd, char **ret)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text));

	if (n < 0)
		/* An O_PATH descriptor of something else gives ENOENT. */
		return errno == ENOENT ? -EINVAL : -errno;
	if ((size_t)n == sizeof(text))
		return -ENAMETOOLONG;
	*ret = rd_xstrndup(text, (size_t)n);
	return 0;
}

static int read_link(void *ctx, const char *path, char **ret)
{
	rd_auto_close int fd = open_resolved(ctx, path, O_PATH | O_CLOEXEC);

	return fd < 0 ? fd : link_text(fd, ret);
}

/* What the memo says, or -EXDEV where it has nothing to say: of a process, where its own and ours have to be asked. */
static int recall(struct rd_sysroot *sr, const char *path, unsigned flags, struct rd_place **ret)
{
	bool kernel = sr->process >= 0 && (rd_str_has_prefix(path, "/proc") || rd_str_has_prefix(path, "/sys"));

	return sr->memo && !kernel ? rd_memo_walk(sr->memo, path, flags, ret) : -EXDEV;
}

int rd_tree_walk(struct rd_sysroot *sr, const char *path, unsigned flags, char **ret)
{
	static const struct rd_walk_ops ops = { lookup, read_link };
	struct rd_place *place;
	int r = recall(sr, path, flags, &place);

	if (r == -EXDEV)
		return rd_walk(&ops, sr, path, flags, ret);
	if (r == 0)
		*ret = rd_xstrdup(*place->path ? place->path : "/");
	return r;
}

static int walked_open(struct rd_sysroot *sr, const char *path, int flags)
{
	rd_auto_free char *resolved = NULL;
	int r;

	r = rd_tree_walk(sr, path, flags & O_NOFOLLOW ? RD_WALK_NOFOLLOW : 0, &resolved);
	return r < 0 ? r : open_stepwise(sr, resolved, flags);
}

int rd_tree_open(struct rd_sysroot *sr, const char *path, int flags)
{
	int r;

	flags |= O_CLOEXEC;
	if (sr->live) {
		r = open(path, flags);
		return r < 0 ? -errno : r;
	}
	r = rd_process_open(sr, path, flags);
	if (r != -EXDEV)
		return r;
	r = sr->walk_only ? -ENOSYS : kernel_open(sr, path, flags);
	if (is_refusal(r))
		r = walked_open(sr, path, flags);
	return r == -ENOENT ? rd_process_open_ours(sr, path, flags) : r;
}

int rd_tree_stat(struct rd_sysroot *sr, const char *path, bool nofollow, struct stat *st)
{
	rd_auto_close int fd = -1;
	struct rd_place *place;
	int r;

	if (sr->live) {
		if ((nofollow ? lstat(path, st) : stat(path, st)) < 0)
			return -errno;
		return 0;
	}
	r = recall(sr, path, nofollow ? RD_WALK_NOFOLLOW : 0, &place);
	if (r == 0)
		r = rd_memo_stat(sr->memo, place, st);
	if (r != -EXDEV)
		return r;
	fd = rd_tree_open(sr, path, O_PATH | (nofollow ? O_NOFOLLOW : 0));
	if (fd < 0)
		return fd;
	return fstat(fd, st) < 0 ? -errno : 0;
}

/* By the memo where it knows the way, and again by the kernel where the way has changed since. */
static int open_known(struct rd_sysroot *sr, const char *path, int flags)
{
	struct rd_place *place;

	if (recall(sr, path, 0, &place) == 0) {
		int fd = rd_memo_open(sr->memo, place, flags);

		if (fd != -ELOOP && fd != -ENOTDIR && fd != -ENOENT && fd != -EXDEV)
			return fd;
	}
	return rd_tree_open(sr, path, flags);
}

/*
 * Can what stands there be another thing by the time it is open? Of a running system yes, but for the files of its kernel. A
 * tree is at rest; where it is not, the read ends all the same: it does not wait, and no reader takes more than it has room for.
 */
static bool may_be_swapped(const struct rd_sysroot *sr, const char *path)
{
	if (sr->live)
		return !rd_str_has_prefix(path, "/sys/") && !rd_str_has_prefix(path, "/proc/");
	return sr->pid != 0;
}

/*
 * Opening a device can do things, opening a FIFO can block: so look first, then open, then look at what was opened.
 */
int rd_tree_open_file(struct rd_sysroot *sr, const char *path, struct stat *st)
{
	int fd, r;

	r = rd_tree_stat(sr, path, false, st);
	if (r < 0)
		return r;
	if (!S_ISREG(st->st_mode))
		return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
	fd = open_known(sr, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || !may_be_swapped(sr, path))
		return fd;
	if (fstat(fd, st) < 0)
		r = -errno;
	else if (!S_ISREG(st->st_mode))
		r = -EINVAL;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

bool rd_tree_recall_text(struct rd_sysroot *sr, const char *path, char **ret, size_t *ret_len)
{
	const struct rd_text *text;
	struct rd_place *place;

	if (recall(sr, path, 0, &place) < 0)
		return false;
	text = rd_memo_text(place);
	if (!text)
		return false;
	*ret = rd_xmalloc(text->len + 1);
	*ret_len = text->len;
	memcpy(*ret, text->bytes, text->len + 1);
	return true;
}

void rd_tree_keep_text(struct rd_sysroot *sr, const char *path, const char *text, size_t len)
{
	struct rd_place *place;

	if (len <= TEXT_KEPT && recall(sr, path, 0, &place) == 0)
		rd_memo_keep_text(sr->memo, place, text, len);
}

static int read_names(int fd, struct rd_strv *ret)
{
	char block[32768] __attribute__((aligned(__alignof__(struct dirent64))));
	ssize_t n;

	while ((n = getdents64(fd, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(block + at);

			at += entry->d_reclen;
			if (rd_streq(entry->d_name, ".") || rd_streq(entry->d_name, ".."))
				continue;
			if (ret->n == NAMES_MAX)
				return -EFBIG;
			rd_strv_push(ret, entry->d_name);
		}
	}
	return n < 0 ? -errno : 0;
}

/* A folder that a container's engine has covered with an empty one. */
static int list_covered(struct rd_sysroot *sr, const char *path, struct rd_strv *ret)
{
	rd_auto_close int fd = rd_process_open_ours(sr, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	return fd < 0 ? 0 : read_names(fd, ret);
}

/* Folders of more names are listed anew each time. */
static void keep_listing(struct rd_sysroot *sr, const char *path, const struct rd_strv *names, int *fd)
{
	struct rd_place *place;

	if (names->n <= NAMES_KEPT && recall(sr, path, 0, &place) == 0 && rd_memo_keep_listing(sr->memo, place, names, *fd))
		*fd = -1;
}

int rd_tree_list(struct rd_sysroot *sr, const char *path, struct rd_strv *ret)
{
	rd_auto_close int fd = -1;
	struct rd_place *place;
	int r = recall(sr, path, 0, &place);

	if (r < 0 && r != -EXDEV)
		return r;
	if (r == 0 && rd_memo_listing(place)) {
		rd_strv_add_all(ret, &rd_memo_listing(place)->names);
		return 0;
	}
	fd = open_known(sr, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	r = read_names(fd, ret);
	if (r == 0 && !ret->n)
		r = list_covered(sr, path, ret);
	if (r < 0)
		rd_strv_clear(ret);
	else
		keep_listing(sr, path, ret, &fd);
	return r;
}

int rd_tree_readlink(struct rd_sysroot *sr, const char *path, char **ret)
{
	rd_auto_close int fd = -1;
	struct rd_place *place;
	const char *text;
	int r = recall(sr, path, RD_WALK_NOFOLLOW | RD_WALK_READLINK, &place);

	if (r == 0)
		r = rd_memo_link(sr->memo, place, &text);
	if (r == 0)
		*ret = rd_xstrdup(text);
	if (r != -EXDEV)
		return r;
	fd = rd_tree_open(sr, path, O_PATH | O_NOFOLLOW);
	return fd < 0 ? fd : link_text(fd, ret);
}
