/* A tree as text, to be compared. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static inline void picture_add_bytes(struct rd_strbuf *sb, const char *path)
{
	FILE *f = fopen(path, "re");
	char buf[4096], note[32];
	ssize_t len = getxattr(path, "user.note", note, sizeof(note));

	for (size_t n; f && (n = fread(buf, 1, sizeof(buf), f)) > 0;)
		rd_strbuf_addn(sb, buf, n);
	for (ssize_t i = 0; i < len; i++)
		rd_strbuf_addf(sb, " %02x", (unsigned)note[i]);
	if (f)
		fclose(f);
}

static inline void picture_add_one(struct rd_strbuf *sb, const char *path, const struct stat *st, bool times)
{
	char target[4096];
	ssize_t len;

	rd_strbuf_addf(sb, "%s %o %u %u ", path, st->st_mode, st->st_uid, st->st_gid);
	if (S_ISLNK(st->st_mode) && (len = readlink(path, target, sizeof(target))) > 0)
		rd_strbuf_addn(sb, target, (size_t)len);
	if (S_ISREG(st->st_mode)) {
		if (times && !strstr(path, "/sys/"))
			rd_strbuf_addf(sb, "%ld.%ld ", (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
		picture_add_bytes(sb, path);
	}
	rd_strbuf_addc(sb, '\n');
}

static inline void picture_add(struct rd_strbuf *sb, const char *path, bool times)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0)
		abort();
	for (int i = 0; i < n; i++) {
		rd_auto_free char *below = rd_xasprintf("%s/%s", path, names[i]->d_name);
		struct stat st;

		if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0 && lstat(below, &st) == 0) {
			picture_add_one(sb, below, &st, times);
			if (S_ISDIR(st.st_mode))
				picture_add(sb, below, times);
		}
		free(names[i]);
	}
	free(names);
}

/* Names, types, modes, owners, contents, attributes; times of files where @times. Caller frees. */
static inline char *tree_picture(const char *dir, bool times)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	char *back = getcwd(NULL, 0);

	if (!back || chdir(dir) < 0)
		abort();
	picture_add(&sb, ".", times);
	if (chdir(back) < 0)
		abort();
	free(back);
	return rd_strbuf_detach(&sb);
}
