/*
 * A running process as a root: its mount namespace through /proc/PID/root, its environment, credentials and limits. The kernel
 * and the devices are the host's. Files stay readable when it ends meanwhile; what stands in /proc/PID then is unknown.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest.h"
#include "rocm-doctor/error.h"
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

static int open_process(struct rd_sysroot *sr, unsigned pid, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%u", pid);
	int r;

	sr->process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sr->process < 0)
		return rd_error_set(err, -errno, "there is no process %u", pid);
	sr->fd = openat(sr->process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sr->fd >= 0)
		return 0;
	r = -errno;
	return rd_error_set(err, r, "cannot examine process %u: %s%s", pid, rd_strerror(r),
	                    r == -EACCES ? " (root, or its own user, can)" : "");
}

int rd_sysroot_open_process(unsigned pid, struct rd_sysroot **ret, struct rd_error *err)
{
	struct rd_sysroot *sr = rd_sysroot_new();
	int r;

	sr->dir = rd_xasprintf("/proc/%u/root", pid);
	sr->pid = pid;
	r = open_process(sr, pid, err);
	if (r < 0) {
		rd_sysroot_free(sr);
		return r;
	}
	sr->manifest = rd_xcalloc(1, sizeof(*sr->manifest));
	sr->manifest->has_uname = rd_live_uname(&sr->manifest->uname) == 0;
	read_environment(sr->process, sr->manifest);
	read_user(sr->process, sr->manifest);
	read_memlock(sr->process, sr->manifest);
	rd_user_name(sr, &sr->manifest->user);
	*ret = sr;
	return 0;
}

unsigned rd_sysroot_pid(const struct rd_sysroot *sr)
{
	return sr->pid;
}
