/* Which files a running process has mapped, and whether they are still what the disk has under their names. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "rocm-doctor/process.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define MAPS "/proc/self/maps"
#define EXE "/proc/self/exe"
#define AUXV "/proc/self/auxv"
/* More files than any process maps; a hostile one may map a great many. */
enum { FILES_MAX = 8192 };
static const char deleted[] = " (deleted)";

/* ------------------------------------------------------------ the text */

static bool has_file(const struct rd_mappings *m, const struct rd_mapped *file)
{
	for (size_t i = m->n; i-- > 0;)
		if (m->v[i].ino == file->ino && m->v[i].major == file->major && m->v[i].minor == file->minor &&
		    rd_streq(m->v[i].path, file->path))
			return true;
	return false;
}

/* Takes the root off; true where there is none of it. */
static bool is_outside(const char *path, const char *root, const char **ret)
{
	size_t n = rd_streq(root, "/") ? 0 : strlen(root);

	*ret = path;
	if (strncmp(path, root, n) != 0 || path[n] != '/')
		return true;
	*ret = path + n;
	return false;
}

/* "7f2c-7f2d r-xp 00000000 08:01 1234   /usr/lib/libc.so.6": the path is the sixth field and may hold blanks. */
static void add_line(struct rd_mappings *m, const char *line, const char *root)
{
	uint64_t start, end, ino;
	unsigned major, minor;
	struct rd_mapped file;
	const char *path;
	int used = 0;
	size_t n;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64 " %n", &start, &end, &major, &minor, &ino, &used) !=
	            5 ||
	    !used || line[used] != '/' || !ino)
		return;
	path = line + used;
	/* Memory with a name, and no file: memfd_create(2), shmget(2). */
	if (rd_str_has_prefix(path, "/memfd:") || rd_str_has_prefix(path, "/SYSV"))
		return;
	file = (struct rd_mapped){ .ino = ino, .major = major, .minor = minor, .replaced = -ENODATA };
	file.outside = is_outside(path, root, &path);
	n = strlen(path);
	file.marked = rd_str_has_suffix(path, deleted);
	file.path = rd_xstrndup(path, file.marked ? n - strlen(deleted) : n);
	if (has_file(m, &file)) {
		free(file.path);
		return;
	}
	file.itself = rd_xasprintf("/proc/self/map_files/%" PRIx64 "-%" PRIx64, start, end);
	RD_GROW(m->v, m->n, m->allocated);
	m->v[m->n++] = file;
}

void rd_mappings_parse(char *text, const char *root, struct rd_mappings *ret)
{
	char *rest = text, *line;

	while (ret->n <= FILES_MAX && (line = rd_str_next_line(&rest)))
		add_line(ret, line, root);
}

void rd_mappings_release(struct rd_mappings *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].path);
		free(m->v[i].itself);
	}
	free(m->v);
	*m = (struct rd_mappings){ 0 };
}

/* ------------------------------------------------------------ the disk */

/* The name that it has if "\012" stands for a newline. Caller frees; NULL where there is none in it. */
static char *with_newlines(const char *path)
{
	static const char escape[] = "\\012";
	char *text, *to;

	if (!strstr(path, escape))
		return NULL;
	text = to = rd_xstrdup(path);
	while (*path) {
		bool newline = rd_str_has_prefix(path, escape);

		*to++ = newline ? '\n' : *path;
		path += newline ? strlen(escape) : 1;
	}
	*to = '\0';
	return text;
}

static bool is_mapped_file(struct rd_sysroot *sr, const struct rd_mapped *file, const char *path)
{
	struct stat st;

	return rd_tree_stat(sr, path, true, &st) == 0 && st.st_ino == file->ino;
}

/* Names that hold what the kernel writes for something else are told by the file that is there. */
static void settle_name(struct rd_sysroot *sr, struct rd_mapped *file)
{
	rd_auto_free char *spelled = with_newlines(file->path), *whole = NULL;

	if (spelled && is_mapped_file(sr, file, spelled)) {
		free(file->path);
		file->path = rd_steal(spelled);
	}
	if (!file->marked)
		return;
	whole = rd_xasprintf("%s%s", file->path, deleted);
	if (!is_mapped_file(sr, file, whole))
		return;
	free(file->path);
	file->path = rd_steal(whole);
	file->marked = false;
}

/*
 * Numbers of the device differ between maps and stat() on btrfs and, before Linux 6.8, on overlayfs, so that they prove
 * something only where they are equal. The link in map_files leads to the file itself, but is root's alone.
 */
static int is_replaced(struct rd_sysroot *sr, const struct rd_mapped *file)
{
	struct stat now, mapped;
	int r;

	if (file->marked)
		return 1;
	if (file->outside)
		return -EXDEV;
	r = rd_tree_stat(sr, file->path, false, &now);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return r;
	if (r < 0)
		return 1;
	r = rd_tree_stat(sr, file->itself, false, &mapped);
	if (r == 0)
		return now.st_dev != mapped.st_dev || now.st_ino != mapped.st_ino;
	if (now.st_ino == file->ino)
		return 0;
	return major(now.st_dev) == file->major && minor(now.st_dev) == file->minor ? 1 : r;
}

static int read_maps(struct rd_sysroot *sr, char **ret)
{
	int r = rd_sysroot_read(sr, ret, MAPS);

	/* A process that ends has no memory any more before it has no files in /proc. */
	if (r == 0 && !**ret) {
		free(*ret);
		*ret = NULL;
		return -ESRCH;
	}
	return r;
}

int rd_process_mapped(struct rd_sysroot *sr, struct rd_mappings *ret)
{
	rd_auto_free char *text = NULL;
	int r = sr->pid ? read_maps(sr, &text) : -ENODATA;

	if (r < 0)
		return r;
	rd_mappings_parse(text, sr->prefix ? sr->prefix : "/", ret);
	if (ret->n > FILES_MAX) {
		rd_mappings_release(ret);
		return -E2BIG;
	}
	for (size_t i = 0; i < ret->n; i++) {
		if (!ret->v[i].outside)
			settle_name(sr, &ret->v[i]);
		ret->v[i].replaced = is_replaced(sr, &ret->v[i]);
	}
	return 0;
}

int rd_process_exe(struct rd_sysroot *sr, char **ret, bool *ret_outside)
{
	rd_auto_free char *text = NULL;
	const char *path;
	bool outside;
	size_t n;
	int r = sr->pid ? rd_sysroot_readlink(sr, &text, EXE) : -ENODATA;

	/* That of a process that ends leads nowhere. */
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	outside = is_outside(text, sr->prefix ? sr->prefix : "/", &path);
	n = strlen(path);
	if (rd_str_has_suffix(path, deleted) && (outside || rd_sysroot_exists(sr, path) != 1))
		n -= strlen(deleted);
	*ret = rd_xstrndup(path, n);
	if (ret_outside)
		*ret_outside = outside;
	return 0;
}

int rd_process_is_secure(struct rd_sysroot *sr)
{
	enum { AT_SECURE_TYPE = 23 };
	rd_auto_free char *bytes = NULL;
	uint64_t entry[2];
	size_t len = 0;
	int r = sr->pid ? rd_sysroot_read_bytes(sr, &bytes, &len, AUXV) : -ENODATA;

	if (r < 0)
		return r;
	for (size_t at = 0; at + sizeof(entry) <= len; at += sizeof(entry)) {
		memcpy(entry, bytes + at, sizeof(entry));
		if (entry[0] == AT_SECURE_TYPE)
			return entry[1] != 0;
	}
	return -ENODATA;
}
