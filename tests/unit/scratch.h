/* Small trees in a temporary directory, for tests. */
#pragma once

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"

static inline char *scratch_new(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = NULL, etc[4096];

	if (asprintf(&dir, "%s/rocm-doctor-test-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0 || !mkdtemp(dir))
		abort();
	/* A tree with nothing of a system in it would tell nothing. */
	snprintf(etc, sizeof(etc), "%s/etc", dir);
	if (mkdir(etc, 0755) < 0)
		abort();
	return dir;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void scratch_free(char *dir)
{
	nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

/* "DIR/PATH" with the folders above it made; static storage, good until the next call. */
static inline const char *scratch_path(const char *dir, const char *path)
{
	static char full[8192];

	snprintf(full, sizeof(full), "%s/%s", dir, path + strspn(path, "/"));
	for (char *c = full + strlen(dir) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(full, 0755);
		*c = '/';
	}
	return full;
}

static inline void scratch_bytes(const char *dir, const char *path, const void *data, size_t len)
{
	FILE *f = fopen(scratch_path(dir, path), "w");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		abort();
}

static inline void scratch_file(const char *dir, const char *path, const char *text)
{
	scratch_bytes(dir, path, text, strlen(text));
}

static inline void scratch_dir(const char *dir, const char *path)
{
	mkdir(scratch_path(dir, path), 0755);
}

static inline void scratch_link(const char *dir, const char *path, const char *target)
{
	if (symlink(target, scratch_path(dir, path)) < 0)
		abort();
}

/* rocm-doctor-snapshot.json; @members are what follows the schema, with single quotes for double ones. */
static inline void scratch_manifest(const char *dir, const char *members)
{
	char *text;

	if (asprintf(&text, "{'schema': 'rocm-doctor/snapshot/1'%s%s}", *members ? ", " : "", members) < 0)
		abort();
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	scratch_file(dir, "rocm-doctor-snapshot.json", text);
	free(text);
}

static inline struct rd_sysroot *scratch_open(const char *dir)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_sysroot *sr = NULL;

	if (rd_sysroot_open(dir, &sr, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
	return sr;
}
