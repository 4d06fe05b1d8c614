/*
 * The control groups of a running process. Their files lie in our own /sys/fs/cgroup: a container sees its part of it at
 * most.
 *
 * Source: Documentation/admin-guide/cgroup-v1/{memory,devices}.rst, cgroup-v2.rst.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocm-doctor/process.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MOUNTS "/sys/fs/cgroup"
/* Larger than any limit that is meant so: version 1 writes the highest multiple of a page for "none". */
#define NO_LIMIT (UINT64_C(1) << 62)
enum { TEXT_MAX = 1 << 20 };

static int read_fd(int fd, char **ret)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0 && sb.len < TEXT_MAX)
		rd_strbuf_addn(&sb, buf, (size_t)n);
	if (n < 0)
		return -errno;
	*ret = rd_strbuf_detach(&sb);
	return 0;
}

static int read_file(char **ret, const char *path)
{
	rd_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return read_fd(fd, ret);
}

/* The group of one controller of version 1, or with "" that of version 2. -ENODATA: it has none, or one that we do not see. */
static int group_of(const struct rd_sysroot *sr, const char *controller, char **ret)
{
	rd_auto_close int fd = sr->process < 0 ? -1 : openat(sr->process, "cgroup", O_RDONLY | O_CLOEXEC);
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r = sr->process < 0 ? -ENODATA : read_fd(fd, &text);

	if (r < 0)
		return r;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		rd_strv_split(&names, list + 1, ",", true);
		if (!rd_strv_has(&names, controller) && (*controller || list[1]))
			continue;
		/* "/../x" is outside of our own cgroup namespace. */
		if (*path != '/' || rd_str_has_prefix(path, "/.."))
			return -ENODATA;
		*ret = rd_xstrdup(rd_streq(path, "/") ? "" : path);
		return 0;
	}
	return -ENODATA;
}

int rd_process_cgroup(const struct rd_sysroot *sr, char **ret)
{
	rd_auto_free char *unified = NULL, *devices = NULL;
	int r = group_of(sr, "", &unified);

	/* Beside version 1, version 2 is often there and has nothing in it. */
	if ((r < 0 || !*unified) && group_of(sr, "devices", &devices) == 0 && *devices) {
		*ret = rd_steal(devices);
		return 0;
	}
	if (r < 0)
		return r;
	*ret = *unified ? rd_steal(unified) : rd_xstrdup("/");
	return 0;
}

/* ------------------------------------------------------------ memory */

static void lower(int64_t *limit, const char *text)
{
	uint64_t value;

	if (rd_str_to_u64(text, 10, &value) == 0 && value < NO_LIMIT && (int64_t)value < *limit)
		*limit = (int64_t)value;
}

/* The file of version 1 has the least of all groups above as well. */
static int limit_of_v1(const struct rd_sysroot *sr, int64_t *ret)
{
	static const char key[] = "hierarchical_memory_limit ";
	rd_auto_free char *group = NULL, *path = NULL, *text = NULL;
	const char *at;
	int r = group_of(sr, "memory", &group);

	if (r < 0)
		return r;
	path = rd_xasprintf(MOUNTS "/memory%s/memory.stat", group);
	r = read_file(&text, path);
	at = r < 0 ? NULL : strstr(text, key);
	if (!at)
		return -ENODATA;
	text[(size_t)(at - text) + strlen(key) + strspn(at + strlen(key), "0123456789")] = '\0';
	lower(ret, at + strlen(key));
	return 0;
}

static int limit_of_v2(const struct rd_sysroot *sr, int64_t *ret)
{
	static const char *const mounts[] = { MOUNTS, MOUNTS "/unified" };
	rd_auto_free char *group = NULL;
	bool found = false;
	char *slash;
	int r = group_of(sr, "", &group);

	if (r < 0)
		return r;
	for (; *group; *slash = '\0') {
		for (size_t i = 0; i < RD_ARRAY_SIZE(mounts); i++) {
			rd_auto_free char *path = rd_xasprintf("%s%s/memory.max", mounts[i], group), *text = NULL;

			if (read_file(&text, path) < 0)
				continue;
			found = true;
			lower(ret, text);
		}
		slash = strrchr(group, '/');
	}
	return found ? 0 : -ENODATA;
}

int rd_process_memory_limit(const struct rd_sysroot *sr, int64_t *ret)
{
	int64_t limit = INT64_MAX;
	int v1 = limit_of_v1(sr, &limit), v2 = limit_of_v2(sr, &limit);

	if (v1 < 0 && v2 < 0)
		return -ENODATA;
	*ret = limit;
	return 0;
}

/* ------------------------------------------------------------ devices */

static bool number_fits(const char *text, unsigned number)
{
	uint64_t value;

	return rd_streq(text, "*") || (rd_str_to_u64(text, 10, &value) == 0 && value == number);
}

/* "c 226:128 rwm", "c 235:* rw", "a *:* rwm" */
static bool line_allows(const char *line, unsigned major, unsigned minor)
{
	char type, first[16], second[16], access[8];

	return sscanf(line, "%c %15[^:]:%15s %7s", &type, first, second, access) == 4 && (type == 'a' || type == 'c') &&
	       number_fits(first, major) && number_fits(second, minor) && strchr(access, 'r') && strchr(access, 'w');
}

int rd_process_device_allowed(const struct rd_sysroot *sr, unsigned major, unsigned minor)
{
	rd_auto_free char *group = NULL, *path = NULL, *text = NULL;
	char *rest, *line;

	if (group_of(sr, "devices", &group) < 0)
		return -ENODATA;
	path = rd_xasprintf(MOUNTS "/devices%s/devices.list", group);
	if (read_file(&text, path) < 0)
		return -ENODATA;
	for (rest = text; (line = rd_str_next_line(&rest));)
		if (line_allows(line, major, minor))
			return 1;
	return 0;
}
