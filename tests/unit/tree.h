/* A small root tree in a temporary directory, made file by file. */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char dir[64];
};

static inline void tree_make_in(struct tree *tree, const char *folder)
{
	char etc[sizeof(tree->dir) + 4];

	snprintf(tree->dir, sizeof(tree->dir), "%s/rd-tree-XXXXXX", folder);
	if (!mkdtemp(tree->dir))
		abort();
	/* A tree with nothing of a system in it would tell nothing. */
	snprintf(etc, sizeof(etc), "%s/etc", tree->dir);
	if (mkdir(etc, 0755) < 0)
		abort();
}

static inline void tree_make(struct tree *tree)
{
	tree_make_in(tree, "/tmp");
}

/* In memory, where there is such a file system: a sync costs nothing there. */
static inline void tree_make_fast(struct tree *tree)
{
	tree_make_in(tree, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline void tree_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			abort();
		*slash = '/';
	}
}

/* @path without a leading slash; ends in one: a directory. */
static inline void tree_bytes(const struct tree *tree, const char *path, const void *bytes, size_t len)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", tree->dir, path);
	tree_parents(full);
	if (full[strlen(full) - 1] == '/')
		return;
	f = fopen(full, "w");
	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
		abort();
}

static inline void tree_file(const struct tree *tree, const char *path, const char *text)
{
	tree_bytes(tree, path, text, strlen(text));
}

static inline void tree_link(const struct tree *tree, const char *path, const char *target)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", tree->dir, path);
	tree_parents(full);
	if (symlink(target, full) < 0)
		abort();
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void tree_remove(const struct tree *tree)
{
	nftw(tree->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
