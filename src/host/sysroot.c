#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "acl.h"
#include "guard.h"
#include "judge.h"
#include "manifest.h"
#include "memo.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/process.h"
#include "rocm-doctor/sysroot.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"
#include "walk.h"

extern char **environ;

/* What is read at once of a file whose beginning is kept: ELF has most of its small tables there. */
#define HEAD_BYTES 2048

struct rd_file {
	struct rd_sysroot *sr;
	int fd;
	uint64_t size;
	bool keeps_head;
	unsigned char *head; /* the first head_len bytes, once one of them was asked for */
	size_t head_len;
};

/* ---- opening ---- */

static int read_all(int fd, size_t expect, size_t max, char **ret, size_t *ret_len)
{
	size_t allocated = expect && expect < max ? expect + 1 : 4096, len = 0;
	char *buf = rd_xmalloc(allocated + 1);

	for (;;) {
		ssize_t n = read(fd, buf + len, allocated - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			free(buf);
			return (int)n;
		}
		len += (size_t)n;
		/* A file as long as it said is at its end; those of /proc and /sys say something else. */
		if (n == 0 || (expect && len == expect))
			break;
		if (len > max) {
			free(buf);
			return -EFBIG;
		}
		if (len == allocated) {
			allocated *= 2;
			buf = rd_xreallocarray(buf, allocated + 1, 1);
		}
	}
	buf[len] = '\0';
	*ret = buf;
	*ret_len = len;
	return 0;
}

static int load_manifest(struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *name = rd_xasprintf("%s/%s", sr->dir, RD_MANIFEST_NAME);
	rd_auto_free char *text = NULL;
	rd_auto_close int fd = -1;
	struct stat st;
	size_t len;
	int r;

	r = rd_tree_stat(sr, "/" RD_MANIFEST_NAME, true, &st);
	if (r == -ENOENT)
		return 0;
	if (r == 0 && !S_ISREG(st.st_mode))
		return rd_error_set(err, -EINVAL, "bad '%s': not a regular file", name);
	if (r == 0)
		r = fd = rd_tree_open_file(sr, "/" RD_MANIFEST_NAME, &st);
	if (r >= 0 && (uint64_t)st.st_size > RD_MANIFEST_BYTES_MAX)
		r = -EFBIG;
	if (r >= 0)
		r = read_all(fd, (size_t)st.st_size, RD_MANIFEST_BYTES_MAX, &text, &len);
	if (r < 0)
		return rd_error_set(err, r, "cannot read '%s': %s", name, rd_strerror(r));
	r = rd_manifest_parse(text, len, name, &sr->manifest, err);
	if (r == 0)
		rd_judge_prepare(sr, sr->manifest);
	return r;
}

struct rd_sysroot *rd_sysroot_new(void)
{
	struct rd_sysroot *sr = rd_xcalloc(1, sizeof(*sr));

	sr->fd = sr->process = -1;
	for (size_t i = 0; i < RD_ARRAY_SIZE(sr->told); i++)
		sr->told[i] = -1;
	return sr;
}

int rd_sysroot_open(const char *path, struct rd_sysroot **ret, struct rd_error *err)
{
	struct rd_sysroot *sr = rd_sysroot_new();
	int r = 0;

	sr->dir = rd_xstrdup(path);
	sr->live = *path && strspn(path, "/") == strlen(path);
	if (!sr->live) {
		sr->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = sr->fd < 0 ? -errno : 0;
		if (r < 0)
			rd_error_set(err, r, "cannot examine '%s': %s", path, rd_strerror(r));
		else
			r = load_manifest(sr, err);
	}
	if (r < 0)
		rd_sysroot_free(sr);
	else
		*ret = sr;
	return r;
}

struct rd_sysroot *rd_sysroot_free(struct rd_sysroot *sr)
{
	if (!sr)
		return NULL;
	rd_guard_free(sr->guard);
	rd_memo_free(sr->memo);
	rd_elfs_forget(sr);
	rd_sysroot_overlay_clear(sr);
	rd_manifest_free(sr->manifest);
	rd_user_clear(&sr->user);
	free(sr->uname.release);
	free(sr->uname.version);
	free(sr->uname.machine);
	if (sr->fd >= 0)
		close(sr->fd);
	if (sr->process >= 0)
		close(sr->process);
	free(sr->prefix);
	free(sr->uids.v);
	free(sr->gids.v);
	free(sr->dir);
	free(sr);
	return NULL;
}

bool rd_sysroot_is_live(const struct rd_sysroot *sr)
{
	return sr->live;
}

const char *rd_sysroot_dir(const struct rd_sysroot *sr)
{
	return sr->live ? "/" : sr->dir;
}

/* ---- asking: each function normalises, asks and records ---- */

static int record(const struct rd_sysroot *sr, char what, const char *path, int r)
{
	if (sr->recorder)
		sr->recorder->access(sr->recorder, what, path, r);
	return r;
}

void rd_sysroot_record(struct rd_sysroot *sr, struct rd_recorder *rec)
{
	sr->recorder = rec;
}

void rd_sysroot_remember(struct rd_sysroot *sr, bool on)
{
	sr->memo = rd_memo_free(sr->memo);
	rd_elfs_forget(sr);
	if (on && !sr->live)
		sr->memo = rd_memo_new(sr->fd);
}

uint64_t rd_sysroot_bytes_read(const struct rd_sysroot *sr)
{
	return sr->bytes_read;
}

static void convert_stat(const struct stat *st, struct rd_stat *ret)
{
	*ret = (struct rd_stat){
		.type = S_ISREG(st->st_mode)   ? RD_STAT_FILE
		        : S_ISDIR(st->st_mode) ? RD_STAT_DIR
		        : S_ISCHR(st->st_mode) ? RD_STAT_CHAR
		        : S_ISBLK(st->st_mode) ? RD_STAT_BLOCK
		                               : RD_STAT_OTHER,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.major = major(st->st_rdev),
		.minor = minor(st->st_rdev),
		.size_bytes = (uint64_t)st->st_size,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};
}

static int do_stat(struct rd_sysroot *sr, const char *path, struct rd_stat *ret)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	const char *text;
	struct stat st;
	int r;

	if (rd_overlay_find(sr, path, &text)) {
		if (!text)
			return -ENOENT;
		*ret = (struct rd_stat){ .type = RD_STAT_FILE, .mode = 0644, .size_bytes = strlen(text), .dev = UINT64_MAX };
		return 0;
	}
	r = rd_tree_stat(sr, path, false, &st);
	if (r == 0)
		convert_stat(&st, ret);
	/* An archive may leave an empty file where a node was. */
	if (r == 0 && (sr->live || ret->type != RD_STAT_FILE || ret->size_bytes))
		return 0;
	r = rd_judge(sr, path, r, &answer);
	if (answer.node)
		*ret = answer.node->stat;
	else if (answer.folder)
		*ret = (struct rd_stat){ .type = RD_STAT_DIR, .mode = 0755, .dev = UINT64_MAX };
	return answer.node || answer.folder ? 0 : r;
}

int rd_sysroot_stat(struct rd_sysroot *sr, struct rd_stat *ret, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	struct rd_stat st;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	r = do_stat(sr, p, &st);
	if (r == 0)
		*ret = st;
	return record(sr, 's', p, r);
}

int rd_sysroot_exists(struct rd_sysroot *sr, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	struct rd_stat st;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	r = do_stat(sr, p, &st);
	record(sr, 'x', p, r);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : 1;
}

static int open_told(struct rd_sysroot *sr, const char *path, struct stat *st)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	int r = rd_tree_open_file(sr, path, st);

	if (r >= 0)
		return r;
	r = rd_judge(sr, path, r, &answer);
	if (answer.folder)
		return -EISDIR;
	return answer.node ? -EINVAL : r;
}

static int do_read(struct rd_sysroot *sr, const char *path, char **ret, size_t *ret_len)
{
	rd_auto_close int fd = -1;
	const char *text;
	struct stat st;
	int r;

	if (rd_overlay_find(sr, path, &text)) {
		if (!text)
			return -ENOENT;
		*ret = rd_xstrdup(text);
		*ret_len = strlen(text);
		return 0;
	}
	r = rd_judge_unreadable(sr, path);
	if (r < 0 || rd_tree_recall_text(sr, path, ret, ret_len))
		return r;
	fd = open_told(sr, path, &st);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > RD_SYSROOT_READ_MAX)
		return -EFBIG;
	r = read_all(fd, (size_t)st.st_size, RD_SYSROOT_READ_MAX, ret, ret_len);
	if (r < 0)
		return r;
	sr->bytes_read += *ret_len;
	rd_tree_keep_text(sr, path, *ret, *ret_len);
	return 0;
}

int rd_sysroot_read_bytes(struct rd_sysroot *sr, char **ret, size_t *ret_len, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	return record(sr, 'r', p, do_read(sr, p, ret, ret_len));
}

int rd_sysroot_read(struct rd_sysroot *sr, char **ret, const char *path)
{
	size_t len;

	return rd_sysroot_read_bytes(sr, ret, &len, path);
}

static char *cut_end(char *s)
{
	size_t n = strlen(s);

	while (n && strchr(" \t\r\n\v\f", s[n - 1]))
		s[--n] = '\0';
	return s;
}

int rd_sysroot_read_line(struct rd_sysroot *sr, char **ret, const char *path)
{
	int r = rd_sysroot_read(sr, ret, path);

	if (r == 0)
		cut_end(*ret);
	return r;
}

int rd_sysroot_read_u64(struct rd_sysroot *sr, uint64_t *ret, const char *path)
{
	rd_auto_free char *text = NULL;
	const char *number;
	int r;

	r = rd_sysroot_read(sr, &text, path);
	if (r < 0)
		return r;
	number = rd_str_strip(text);
	/* Not base 0: a leading zero is no sign of octal here. */
	return rd_str_to_u64(number, number[0] == '0' && (number[1] | 0x20) == 'x' ? 16 : 10, ret);
}

static int do_list(struct rd_sysroot *sr, const char *dir, struct rd_strv *ret)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	int r = rd_judge_unreadable(sr, dir), there;
	struct stat st;

	if (r < 0)
		return r;
	r = rd_tree_list(sr, dir, ret);
	/* The folder itself is none, or one above it: only then it is not there. */
	if (r == -ENOTDIR && rd_tree_stat(sr, dir, true, &st) == -ENOTDIR)
		r = -ENOENT;
	if (sr->live || (r < 0 && r != -ENOENT))
		return r;
	there = rd_judge(sr, dir, r, &answer);
	if (r == 0 && rd_judge_is_untold(sr, answer.resolved, ret->n == 0)) {
		rd_strv_clear(ret);
		there = -ENODATA;
	}
	if (answer.folder)
		rd_manifest_node_names(sr->manifest, answer.resolved, ret);
	return answer.folder ? 0 : answer.node ? -ENOTDIR : there;
}

int rd_sysroot_list(struct rd_sysroot *sr, struct rd_strv *ret, const char *dir)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(dir, &own, &p);
	if (r < 0)
		return r;
	r = do_list(sr, p, &names);
	if (rd_overlay_names(sr, p, &names) && r == -ENOENT)
		r = 0;
	if (r == 0) {
		rd_strv_sort(&names);
		for (size_t i = 0; i < names.n; i++) {
			rd_strv_push_take(ret, names.v[i]);
			names.v[i] = NULL;
		}
	}
	return record(sr, 'l', p, r);
}

int rd_sysroot_readlink(struct rd_sysroot *sr, char **ret, const char *path)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	r = rd_tree_readlink(sr, p, ret);
	if (r < 0)
		r = rd_judge(sr, p, r, &answer);
	if (answer.node || answer.folder)
		r = -EINVAL;
	return record(sr, 'k', p, r);
}

static int do_realpath(struct rd_sysroot *sr, const char *path, char **ret)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	rd_auto_free char *resolved = NULL;
	int r = 0;

	if (sr->live) {
		resolved = realpath(path, NULL);
		r = resolved ? 0 : -errno;
	} else {
		r = rd_tree_walk(sr, path, 0, &resolved);
	}
	if (r < 0)
		r = rd_judge(sr, path, r, &answer);
	if (answer.node || answer.folder)
		resolved = rd_steal(answer.resolved);
	if (!resolved)
		return r;
	*ret = rd_steal(resolved);
	return 0;
}

int rd_sysroot_realpath(struct rd_sysroot *sr, char **ret, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	return record(sr, 'k', p, do_realpath(sr, p, ret));
}

/* ---- patterns ---- */

/* Matches of the component that begins at @rest, and of what follows it, below @dir ("" is the root). */
static int glob_below(struct rd_sysroot *sr, const char *dir, const char *rest, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *name = NULL;
	int r, first = 0;

	rest += strspn(rest, "/");
	name = rd_xstrndup(rest, strcspn(rest, "/"));
	rest += strlen(name);
	if (strpbrk(name, "*?")) {
		r = rd_sysroot_list(sr, &names, *dir ? dir : "/");
		if (r < 0)
			return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	} else {
		rd_strv_push(&names, name);
	}
	for (size_t i = 0; i < names.n; i++) {
		rd_auto_free char *path = NULL;

		/* As in a shell, a pattern does not match what is hidden unless it says so. */
		if (!rd_str_glob(name, names.v[i]) || (names.v[i][0] == '.' && name[0] != '.'))
			continue;
		path = rd_xasprintf("%s/%s", dir, names.v[i]);
		if (strspn(rest, "/") != strlen(rest)) {
			r = glob_below(sr, path, rest, ret);
		} else {
			r = strpbrk(name, "*?") ? 1 : rd_sysroot_exists(sr, path);
			if (r > 0)
				rd_strv_push(ret, path);
		}
		if (r < 0 && first == 0)
			first = r;
	}
	return first;
}

int rd_sysroot_glob(struct rd_sysroot *sr, struct rd_strv *ret, const char *pattern)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	int r;

	if (pattern[0] != '/')
		return -EINVAL;
	r = glob_below(sr, "", pattern, &found);
	rd_strv_sort(&found);
	for (size_t i = 0; i < found.n; i++) {
		rd_strv_push_take(ret, found.v[i]);
		found.v[i] = NULL;
	}
	return r;
}

/* ---- permissions and nodes ---- */

static int acl_of_file(struct rd_sysroot *sr, const char *path, struct rd_acl_entry **ret)
{
	rd_auto_close int fd = -1;
	unsigned char data[RD_ACL_BYTES_MAX];
	char link[32];
	ssize_t n;

	fd = rd_tree_open(sr, path, O_PATH);
	if (fd < 0)
		return fd;
	/* fgetxattr refuses O_PATH; the name of the descriptor is as good. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = getxattr(link, "system.posix_acl_access", data, sizeof(data));
	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return 0;
	if (n < 0)
		/* The path is there: it is /proc that is not. */
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	return rd_acl_parse(data, (size_t)n, ret);
}

static int do_acl(struct rd_sysroot *sr, const char *path, struct rd_acl_entry **ret)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	struct rd_acl_entry *acl = NULL;
	struct stat st;
	int r;

	r = rd_tree_stat(sr, path, false, &st);
	if (r < 0 || (S_ISREG(st.st_mode) && !st.st_size))
		r = rd_judge(sr, path, r, &answer);
	if (answer.node) {
		acl = rd_xcalloc(answer.node->acl_n + 1, sizeof(*acl));
		if (answer.node->acl_n)
			memcpy(acl, answer.node->acl, answer.node->acl_n * sizeof(*acl));
		r = (int)answer.node->acl_n;
	} else if (r == 0) {
		r = acl_of_file(sr, path, &acl);
	}
	if (answer.folder)
		r = 0;
	if (r >= 0)
		*ret = acl;
	return r;
}

int rd_sysroot_acl(struct rd_sysroot *sr, struct rd_acl_entry **ret, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	return record(sr, 's', p, do_acl(sr, p, ret));
}

static int guarded(struct rd_sysroot *sr, char op, const char *path, char data[RD_GUARD_DATA_MAX])
{
	if (!sr->guard)
		sr->guard = rd_guard_new(rd_live_serve, RD_GUARD_CALL_MS, RD_GUARD_TOTAL_MS);
	return rd_guard_call(sr->guard, op, path, data);
}

static int do_open_node(struct rd_sysroot *sr, const char *path)
{
	rd_auto_answer struct rd_answer answer = RD_ANSWER_INIT;
	char data[RD_GUARD_DATA_MAX];
	struct stat st;
	int r;

	if (sr->live)
		return guarded(sr, 'o', path, data);
	r = rd_judge(sr, path, rd_tree_stat(sr, path, false, &st), &answer);
	if (answer.node)
		return answer.node->open;
	/* Opening is the process's business, not ours; but what its device cgroup refuses can be told. */
	if (r == 0 && sr->pid && S_ISCHR(st.st_mode) &&
	    rd_process_device_allowed(sr, major(st.st_rdev), minor(st.st_rdev)) == 0)
		return -EPERM;
	return r == 0 || answer.folder ? -ENODATA : r;
}

int rd_sysroot_open_node(struct rd_sysroot *sr, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	int r;

	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	return record(sr, 'o', p, do_open_node(sr, p));
}

/* ---- big files ---- */

int rd_file_open(struct rd_sysroot *sr, struct rd_file **ret, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	struct rd_file *f;
	struct stat st;
	int fd;

	fd = rd_path_normal(path, &own, &p);
	if (fd < 0)
		return fd;
	fd = rd_judge_unreadable(sr, p);
	if (fd == 0)
		fd = open_told(sr, p, &st);
	record(sr, 'b', p, fd < 0 ? fd : 0);
	if (fd < 0)
		return fd;
	f = rd_xcalloc(1, sizeof(*f));
	*f = (struct rd_file){ .sr = sr, .fd = fd, .size = (uint64_t)st.st_size };
	*ret = f;
	return 0;
}

static int read_at(struct rd_file *f, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += (size_t)n;
		f->sr->bytes_read += (uint64_t)n;
	}
	return 0;
}

static int load_head(struct rd_file *f)
{
	size_t len = f->size < HEAD_BYTES ? (size_t)f->size : HEAD_BYTES;
	int r;

	f->head = rd_xmalloc(len + 1);
	r = read_at(f, f->head, len, 0);
	f->keeps_head = r == 0;
	f->head_len = r == 0 ? len : 0;
	return r;
}

int rd_file_pread(struct rd_file *f, void *buf, size_t len, uint64_t off)
{
	if (off > INT64_MAX || len > INT64_MAX - off)
		return -ENODATA;
	if (f->keeps_head && !f->head && off < HEAD_BYTES)
		(void)!load_head(f);
	if (off >= f->head_len || len > f->head_len - off)
		return read_at(f, buf, len, off);
	memcpy(buf, f->head + off, len);
	return 0;
}

void rd_file_keep_head(struct rd_file *f)
{
	f->keeps_head = true;
}

uint64_t rd_file_size(const struct rd_file *f)
{
	return f->size;
}

struct rd_file *rd_file_close(struct rd_file *f)
{
	if (!f)
		return NULL;
	close(f->fd);
	free(f->head);
	free(f);
	return NULL;
}

/* ---- what no file tells ---- */

int rd_sysroot_uname(struct rd_sysroot *sr, const struct rd_uname **ret)
{
	if (!sr->live) {
		if (!sr->manifest || !sr->manifest->has_uname)
			return -ENODATA;
		*ret = &sr->manifest->uname;
		return 0;
	}
	if (!sr->has_uname) {
		int r = rd_live_uname(&sr->uname);

		if (r < 0)
			return r;
		sr->has_uname = true;
	}
	*ret = &sr->uname;
	return 0;
}

int rd_sysroot_user(struct rd_sysroot *sr, const struct rd_user **ret)
{
	if (!sr->has_user && !sr->live) {
		if (!sr->manifest || !sr->manifest->has_user)
			return -ENODATA;
		*ret = &sr->manifest->user;
		return 0;
	}
	if (!sr->has_user) {
		int r = rd_user_live(sr, &sr->user);

		if (r < 0)
			return r;
		sr->has_user = true;
	}
	*ret = &sr->user;
	return 0;
}

int rd_sysroot_set_user(struct rd_sysroot *sr, const char *name, struct rd_error *err)
{
	struct rd_user user;
	int r;

	r = rd_user_by_name(sr, name, &user);
	if (r < 0) {
		/* Which file it is that could not be read decides nothing for the caller: there is no such user to be had. */
		return rd_error_set(err, -ENOENT, "cannot judge for user '%s': %s", name,
		                    r == -ENOENT ? "not in /etc/passwd" : rd_strerror(r));
	}
	if (!rd_process_outer_ids(sr, &user)) {
		rd_user_clear(&user);
		return rd_error_set(err, -ENOENT, "cannot judge for user '%s': it has no number outside of its user namespace",
		                    name);
	}
	rd_user_clear(&sr->user);
	sr->user = user;
	sr->has_user = true;
	return 0;
}

int rd_sysroot_memlock(struct rd_sysroot *sr, int64_t *ret)
{
	if (sr->live)
		return rd_live_memlock(ret);
	if (!sr->manifest || !sr->manifest->has_memlock)
		return -ENODATA;
	*ret = sr->manifest->memlock;
	return 0;
}

int rd_sysroot_kmsg(struct rd_sysroot *sr, char **ret)
{
	int r;

	/* A process, in a container or not, runs on this kernel. */
	if (sr->live || sr->pid)
		return rd_live_kmsg(ret);
	if (sr->manifest && sr->manifest->kmsg) {
		*ret = rd_xstrdup(sr->manifest->kmsg);
		return 0;
	}
	r = rd_manifest_unreadable(sr->manifest, "/dev/kmsg", false);
	return r < 0 ? r : -ENODATA;
}

int rd_sysroot_fs_free(struct rd_sysroot *sr, uint64_t *ret_free, uint64_t *ret_size, const char *path)
{
	rd_auto_close int fd = -1;
	struct statvfs st;

	if (!sr->live && !sr->pid)
		return -ENODATA;
	fd = rd_tree_open(sr, path, O_PATH);
	if (fd < 0)
		return fd;
	if (fstatvfs(fd, &st) < 0)
		return -errno;
	*ret_free = (uint64_t)st.f_bavail * st.f_frsize;
	*ret_size = (uint64_t)st.f_blocks * st.f_frsize;
	return 0;
}

int rd_sysroot_getenv(struct rd_sysroot *sr, const char **ret, const char *name)
{
	size_t n = strlen(name);

	*ret = NULL;
	if (sr->live) {
		*ret = getenv(name);
		return *ret ? 1 : 0;
	}
	if (!sr->manifest || !sr->manifest->has_environment)
		return -ENODATA;
	for (size_t i = 0; i < sr->manifest->environment.n; i++) {
		const char *entry = sr->manifest->environment.v[i];

		if (strncmp(entry, name, n) == 0 && entry[n] == '=') {
			*ret = entry + n + 1;
			return 1;
		}
	}
	return 0;
}

int rd_sysroot_environ(struct rd_sysroot *sr, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv all = RD_STRV_INIT;

	if (!sr->live && (!sr->manifest || !sr->manifest->has_environment))
		return -ENODATA;
	for (char **e = sr->live ? environ : NULL; e && *e; e++)
		rd_strv_push(&all, *e);
	for (size_t i = 0; !sr->live && i < sr->manifest->environment.n; i++)
		rd_strv_push(&all, sr->manifest->environment.v[i]);
	rd_strv_sort(&all);
	for (size_t i = 0; i < all.n; i++) {
		rd_strv_push_take(ret, all.v[i]);
		all.v[i] = NULL;
	}
	return 0;
}

/* ---- the same with a format ---- */

/* Ends in the value of a call with the formatted path. */
#define WITH_PATH(format, call) \
	do { \
		struct rd_strbuf path_ = RD_STRBUF_INIT; \
		va_list ap_; \
		int r_; \
\
		va_start(ap_, format); \
		rd_strbuf_vaddf(&path_, format, ap_); \
		va_end(ap_); \
		r_ = (call); \
		rd_strbuf_release(&path_); \
		return r_; \
	} while (0)

int rd_sysroot_existsf(struct rd_sysroot *sr, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_exists(sr, path_.buf));
}

int rd_sysroot_readf(struct rd_sysroot *sr, char **ret, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_read(sr, ret, path_.buf));
}

int rd_sysroot_readf_u64(struct rd_sysroot *sr, uint64_t *ret, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_read_u64(sr, ret, path_.buf));
}

int rd_sysroot_readf_line(struct rd_sysroot *sr, char **ret, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_read_line(sr, ret, path_.buf));
}

int rd_sysroot_listf(struct rd_sysroot *sr, struct rd_strv *ret, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_list(sr, ret, path_.buf));
}

int rd_sysroot_readlinkf(struct rd_sysroot *sr, char **ret, const char *format, ...)
{
	WITH_PATH(format, rd_sysroot_readlink(sr, ret, path_.buf));
}

static int guarded_read_line(struct rd_sysroot *sr, char **ret, const char *path)
{
	rd_auto_free char *own = NULL;
	const char *p;
	char data[RD_GUARD_DATA_MAX];
	int r;

	if (!sr->live)
		return rd_sysroot_read_line(sr, ret, path);
	r = rd_path_normal(path, &own, &p);
	if (r < 0)
		return r;
	r = guarded(sr, 'r', p, data);
	if (r >= 0) {
		sr->bytes_read += (uint64_t)r;
		*ret = cut_end(rd_xstrndup(data, (size_t)r));
		r = 0;
	}
	return record(sr, 'r', p, r);
}

int rd_sysroot_guarded_readf_line(struct rd_sysroot *sr, char **ret, const char *format, ...)
{
	WITH_PATH(format, guarded_read_line(sr, ret, path_.buf));
}
