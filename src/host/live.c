/* What no file tells: asked of the running kernel, and only of it. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guard.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* Records of the kernel's log are at most CONSOLE_EXT_LOG_MAX bytes. */
#define KMSG_RECORD_MAX 8192

int rd_live_uname(struct rd_uname *ret)
{
	struct utsname u;

	if (uname(&u) < 0)
		return -errno;
	ret->release = rd_xstrdup(u.release);
	ret->version = rd_xstrdup(u.version);
	ret->machine = rd_xstrdup(u.machine);
	return 0;
}

int rd_live_memlock(int64_t *ret)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return -errno;
	*ret = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
	return 0;
}

/* "6,339,5140900,-;text", then lines that begin with a blank: the record's properties. */
static void add_record(struct rd_strbuf *log, char *record)
{
	unsigned long long us;
	char *text = strchr(record, ';');

	if (!text || sscanf(record, "%*u,%*u,%llu", &us) != 1)
		return;
	text++;
	text[strcspn(text, "\n")] = '\0';
	rd_strbuf_addf(log, "[%5llu.%06llu] %s\n", us / 1000000, us % 1000000, text);
}

int rd_live_kmsg(char **ret)
{
	rd_auto_close int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	rd_auto_strbuf struct rd_strbuf log = RD_STRBUF_INIT;
	char record[KMSG_RECORD_MAX + 1];

	if (fd < 0)
		return -errno;
	while (log.len < RD_SYSROOT_READ_MAX) {
		ssize_t n = read(fd, record, KMSG_RECORD_MAX);

		/* EPIPE: records were overwritten before we came to them; the next read goes on behind the gap. */
		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n <= 0)
			break;
		record[n] = '\0';
		add_record(&log, record);
	}
	*ret = rd_strbuf_detach(&log);
	return 0;
}

static int serve_read(const char *path, char *data)
{
	rd_auto_close int fd = -1;
	struct stat st;
	ssize_t n;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, data, RD_GUARD_DATA_MAX);
	return n < 0 ? -errno : (int)n;
}

static int serve_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int rd_live_serve(char op, const char *path, char *data)
{
	return op == 'r' ? serve_read(path, data) : serve_open(path);
}
