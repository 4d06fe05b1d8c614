/*
 * A running process as a root: its mount namespace through /proc/PID/root, its environment, credentials and limits. The kernel
 * is the host's, so what its own /sys and /proc lack ours have; which devices it has its own /dev tells. Files stay readable
 * when it ends meanwhile; what stands in /proc/PID then is unknown.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "manifest.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/process.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* environ, status and limits of a process are far smaller. */
#define TEXT_MAX ((size_t)4 << 20)

static int read_text(int dir, const char *name, char **ret, size_t *ret_len)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char buf[8192];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		rd_strbuf_addn(&sb, buf, (size_t)n);
		if (sb.len > TEXT_MAX)
			return -EFBIG;
	}
	if (n < 0)
		return -errno;
	*ret_len = sb.len;
	*ret = rd_strbuf_detach(&sb);
	return 0;
}

static void read_environment(int dir, struct rd_manifest *m)
{
	rd_auto_free char *text = NULL;
	size_t len, at = 0;

	if (read_text(dir, "environ", &text, &len) < 0)
		return;
	for (; at < len; at += strlen(text + at) + 1)
		if (strchr(text + at, '='))
			rd_strv_push(&m->environment, text + at);
	rd_strv_sort(&m->environment);
	m->has_environment = true;
}

/* The numbers behind a key of /proc/PID/status; at most @max of them. */
static size_t status_numbers(const char *status, const char *key, uint32_t *ret, size_t max)
{
	rd_auto_free char *pattern = rd_xasprintf("\n%s:", key);
	const char *at = strstr(status, pattern);
	size_t n = 0;

	for (at = at ? at + strlen(pattern) : NULL; at && n < max; n++) {
		char *end;

		at += strspn(at, " \t");
		ret[n] = (uint32_t)strtoul(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	return n;
}

static void read_user(int dir, struct rd_manifest *m)
{
	enum { EFFECTIVE = 1, GROUPS_MAX = 4096 };
	uint32_t uid[4], gid[4], *groups = rd_xcalloc(GROUPS_MAX, sizeof(*groups));
	rd_auto_free char *status = NULL;
	size_t len, n;

	if (read_text(dir, "status", &status, &len) >= 0 && status_numbers(status, "Uid", uid, 4) == 4 &&
	    status_numbers(status, "Gid", gid, 4) == 4) {
		n = status_numbers(status, "Groups", groups, GROUPS_MAX);
		m->user = (struct rd_user){ .uid = uid[EFFECTIVE], .gid = gid[EFFECTIVE] };
		rd_user_set_groups(&m->user, groups, n);
		m->has_user = true;
	}
	free(groups);
}

static void read_memlock(int dir, struct rd_manifest *m)
{
	rd_auto_free char *text = NULL;
	const char *line;
	char value[32];
	uint64_t bytes;
	size_t len;

	if (read_text(dir, "limits", &text, &len) < 0)
		return;
	line = strstr(text, "Max locked memory");
	if (!line || sscanf(line, "Max locked memory %31s", value) != 1)
		return;
	m->has_memlock = true;
	if (rd_streq(value, "unlimited"))
		m->memlock = INT64_MAX;
	else if (rd_str_to_u64(value, 10, &bytes) == 0 && bytes <= INT64_MAX)
		m->memlock = (int64_t)bytes;
	else
		m->has_memlock = false;
}

int rd_process_open(const struct rd_sysroot *sr, const char *path, int flags)
{
	static const char self[] = "/proc/self";
	const char *rest = path + strlen(self);
	int fd;

	if (sr->process < 0 || !rd_str_has_prefix(path, self) || (*rest && *rest != '/'))
		return -EXDEV;
	rest += strspn(rest, "/");
	fd = openat(sr->process, *rest ? rest : ".", flags);
	if (fd >= 0)
		return fd;
	/* With the process its files go: they are not known, rather than not there. */
	return errno == ENOENT && faccessat(sr->process, "stat", F_OK, 0) < 0 ? -ESRCH : -errno;
}

/* Kernel's alone: of another process in /proc, or through a link of its, nothing is taken from outside the root. */
static bool is_of_the_kernel(const char *path)
{
	if (rd_str_has_prefix(path, "/sys") && (!path[4] || path[4] == '/'))
		return true;
	if (!rd_str_has_prefix(path, "/proc/") || (path[6] >= '0' && path[6] <= '9'))
		return false;
	/* Links into a process's own folder. */
	return !rd_str_has_prefix(path, "/proc/self") && !rd_str_has_prefix(path, "/proc/thread-self") &&
	       !rd_str_has_prefix(path, "/proc/mounts") && !rd_str_has_prefix(path, "/proc/net");
}

int rd_process_open_ours(const struct rd_sysroot *sr, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	long fd;

	if (sr->process < 0 || !is_of_the_kernel(path))
		return -ENOENT;
	fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	/* Kernels before 5.6, and filters of system calls that do not know it. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
		fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* ---- users ---- */

static void read_id_map(int dir, const char *name, struct rd_id_map *ret)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	size_t len;

	if (read_text(dir, name, &text, &len) < 0)
		return;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		struct rd_id_range range;

		if (sscanf(line, " %u %u %u", &range.inside, &range.outside, &range.count) != 3)
			continue;
		ret->v = rd_xreallocarray(ret->v, ret->n + 1, sizeof(*ret->v));
		ret->v[ret->n++] = range;
	}
}

static bool is_same_namespace(const struct rd_sysroot *sr, const char *kind)
{
	rd_auto_free char *theirs = rd_xasprintf("ns/%s", kind), *ours = rd_xasprintf("/proc/self/ns/%s", kind);
	char a[64], b[64];
	ssize_t n = readlinkat(sr->process, theirs, a, sizeof(a)), m = readlink(ours, b, sizeof(b));

	/* Where one cannot be read, nothing says that they differ. */
	return n < 0 || m < 0 || (n == m && memcmp(a, b, (size_t)n) == 0);
}

static bool inner(const struct rd_id_map *map, uint32_t id, uint32_t *ret)
{
	*ret = id;
	for (size_t i = 0; i < map->n; i++) {
		const struct rd_id_range *r = &map->v[i];

		if (id < r->outside || id - r->outside >= r->count)
			continue;
		*ret = r->inside + (id - r->outside);
		return true;
	}
	return map->n == 0;
}

bool rd_sysroot_inner_uid(const struct rd_sysroot *sr, uint32_t uid, uint32_t *ret)
{
	return inner(&sr->uids, uid, ret);
}

bool rd_sysroot_inner_gid(const struct rd_sysroot *sr, uint32_t gid, uint32_t *ret)
{
	return inner(&sr->gids, gid, ret);
}

static bool outer(const struct rd_id_map *map, uint32_t *id)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct rd_id_range *r = &map->v[i];

		if (*id < r->inside || *id - r->inside >= r->count)
			continue;
		*id = r->outside + (*id - r->inside);
		return true;
	}
	return map->n == 0;
}

bool rd_process_outer_ids(const struct rd_sysroot *sr, struct rd_user *user)
{
	bool all = outer(&sr->uids, &user->uid) && outer(&sr->gids, &user->gid);

	for (size_t i = 0; i < user->groups_n; i++)
		all = outer(&sr->gids, &user->groups[i].gid) && all;
	return all;
}

bool rd_sysroot_has_inner_ids(const struct rd_sysroot *sr)
{
	return sr->uids.n || sr->gids.n;
}

bool rd_process_is_contained(const struct rd_sysroot *sr)
{
	return sr->process >= 0 && !is_same_namespace(sr, "pid") && !is_same_namespace(sr, "mnt");
}

/* ---- opening ---- */

/* What there is no use in examining, in words. */
static int check_kind(const struct rd_sysroot *sr, struct rd_error *err)
{
	enum { KERNEL_THREAD = 0x200000 };
	rd_auto_free char *text = NULL;
	const char *at;
	unsigned flags;
	char state;
	size_t len;
	int r = read_text(sr->process, "stat", &text, &len);

	if (r < 0)
		return rd_error_set(err, r == -ENOENT ? -ESRCH : r, "cannot examine process %u: %s", sr->pid,
		                    r == -ENOENT || r == -ESRCH ? "it has just ended" : rd_strerror(r));
	/* The name may hold anything, brackets too. */
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return 0;
	if (flags & KERNEL_THREAD)
		return rd_error_set(err, -EINVAL, "process %u is a thread of the kernel: it has no files of its own", sr->pid);
	if (state == 'Z' || state == 'X')
		return rd_error_set(err, -ESRCH, "process %u has ended; only its number is left (a zombie)", sr->pid);
	return 0;
}

static int open_root(struct rd_sysroot *sr, struct rd_error *err)
{
	char prefix[PATH_MAX];
	ssize_t n;
	int r;

	sr->fd = openat(sr->process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sr->fd < 0) {
		r = errno == ENOENT ? -ESRCH : -errno;
		return rd_error_set(err, r, "cannot examine process %u: %s", sr->pid,
		                    r == -EACCES && geteuid() == 0
		                            ? "permission denied (a security module, or the kernel, forbids it to root as well)"
		                    : r == -EACCES ? "permission denied (root, or its own user, can)"
		                    : r == -ESRCH  ? "it has just ended"
		                                   : rd_strerror(r));
	}
	n = readlinkat(sr->process, "root", prefix, sizeof(prefix));
	if (n > 1 && (size_t)n < sizeof(prefix))
		sr->prefix = rd_xstrndup(prefix, (size_t)n);
	return 0;
}

static int open_process(struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%u", sr->pid);
	int r;

	sr->process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sr->process < 0)
		return rd_error_set(err, -errno, "there is no process %u", sr->pid);
	r = check_kind(sr, err);
	return r < 0 ? r : open_root(sr, err);
}

static void name_user(struct rd_sysroot *sr)
{
	struct rd_user *user = &sr->manifest->user;

	if (!is_same_namespace(sr, "user")) {
		read_id_map(sr->process, "uid_map", &sr->uids);
		read_id_map(sr->process, "gid_map", &sr->gids);
	}
	if (sr->manifest->has_user)
		rd_user_name(sr, user);
}

int rd_sysroot_open_process(unsigned pid, struct rd_sysroot **ret, struct rd_error *err)
{
	struct rd_sysroot *sr = rd_sysroot_new();
	int r;

	sr->dir = rd_xasprintf("/proc/%u/root", pid);
	sr->pid = pid;
	r = open_process(sr, err);
	if (r == 0) {
		sr->manifest = rd_xcalloc(1, sizeof(*sr->manifest));
		sr->manifest->has_uname = rd_live_uname(&sr->manifest->uname) == 0;
		/* What its /dev does not have it has not. */
		sr->manifest->has_nodes = true;
		read_environment(sr->process, sr->manifest);
		read_user(sr->process, sr->manifest);
		read_memlock(sr->process, sr->manifest);
		name_user(sr);
		/* An environment that was read while it ended would be an empty one. */
		r = check_kind(sr, err);
	}
	if (r < 0)
		rd_sysroot_free(sr);
	else
		*ret = sr;
	return r;
}

unsigned rd_sysroot_pid(const struct rd_sysroot *sr)
{
	return sr->pid;
}
