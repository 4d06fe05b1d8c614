/* What the files of the sysroot share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/sysroot.h"
#include "util/strv.h"

struct rd_guard;
struct rd_memo;
struct rd_manifest;

struct rd_overlay {
	char *path, *text; /* text NULL: the file is gone */
};

/* Lines of /proc/PID/uid_map: numbers inside, as we see them, how many. None: they are the same. */
struct rd_id_map {
	struct rd_id_range {
		uint32_t inside, outside, count;
	} * v;
	size_t n;
};

struct rd_sysroot {
	char *dir;
	bool live;
	int fd;       /* of the root, O_PATH; -1 when live */
	unsigned pid; /* of the process whose root it is; 0: none */
	int process;  /* its folder in /proc, O_PATH; -1: none */
	char *prefix; /* its root as we see it; NULL: as "/" */
	struct rd_id_map uids, gids;
	bool walk_only;       /* openat2 is refused here */
	struct rd_memo *memo; /* NULL: every question is asked anew */
	void *elfs;           /* of tsearch(3): those that were read while there is a memo */
	struct rd_manifest *manifest;
	struct rd_guard *guard;
	struct rd_recorder *recorder;
	uint64_t bytes_read;
	struct rd_overlay *overlay;
	size_t overlay_n;
	/* Does the tree know of the places of judge.c what is in them? -1 not looked yet. */
	int told[4];
	/* Filled when first asked for. */
	struct rd_uname uname;
	struct rd_user user;
	bool has_uname, has_user;
};

/* tree.c: the directory back end. Paths are absolute; links resolve inside the root. */

/* open(2) inside the root; @flags may hold O_NOFOLLOW, for the last component. Returns a descriptor or -errno. */
int rd_tree_open(struct rd_sysroot *sr, const char *path, int flags) RD_MUST_CHECK;
/* A regular file for reading; -EINVAL for anything else, which is never opened. */
int rd_tree_open_file(struct rd_sysroot *sr, const char *path, struct stat *st) RD_MUST_CHECK;
/* A small file as it was read before in this examination; false: it was not. */
bool rd_tree_recall_text(struct rd_sysroot *sr, const char *path, char **ret, size_t *ret_len);
void rd_tree_keep_text(struct rd_sysroot *sr, const char *path, const char *text, size_t len);
int rd_tree_stat(struct rd_sysroot *sr, const char *path, bool nofollow, struct stat *st) RD_MUST_CHECK;
/* @ret is empty before, and after an error. */
int rd_tree_list(struct rd_sysroot *sr, const char *path, struct rd_strv *ret) RD_MUST_CHECK;
int rd_tree_readlink(struct rd_sysroot *sr, const char *path, char **ret) RD_MUST_CHECK;
/* rd_walk over the tree. */
int rd_tree_walk(struct rd_sysroot *sr, const char *path, unsigned flags, char **ret) RD_MUST_CHECK;

/* live.c: what only a running system tells */
int rd_live_uname(struct rd_uname *ret) RD_MUST_CHECK;
int rd_live_memlock(int64_t *ret) RD_MUST_CHECK;
int rd_live_kmsg(char **ret) RD_MUST_CHECK;
/* Both of guard.h: 'r' reads an attribute, 'o' opens a node. */
int rd_live_serve(char op, const char *path, char *data);

/* user.c */
int rd_user_live(struct rd_sysroot *sr, struct rd_user *ret) RD_MUST_CHECK;
int rd_user_by_name(struct rd_sysroot *sr, const char *name, struct rd_user *ret) RD_MUST_CHECK;

/* overlay.c */
/* 1 and the text (NULL: gone) where the overlay has the path, else 0. */
int rd_overlay_find(const struct rd_sysroot *sr, const char *path, const char **ret);
/* Add and drop the names that the overlay has right below a folder; true where it adds any. */
bool rd_overlay_names(const struct rd_sysroot *sr, const char *dir, struct rd_strv *names);

/* process.c */
/* What "/proc/self/..." is for the process; -EXDEV for any other path, or without a process. */
int rd_process_open(const struct rd_sysroot *sr, const char *path, int flags) RD_MUST_CHECK;
/* /sys and /proc as we see them, for what a process's own do not have; -ENOENT for any other path, or without a process. */
int rd_process_open_ours(const struct rd_sysroot *sr, const char *path, int flags) RD_MUST_CHECK;

/* elf-kept.c */
void rd_elfs_forget(struct rd_sysroot *sr);

/* sysroot.c: with nothing open */
struct rd_sysroot *rd_sysroot_new(void);

/* process.c: numbers of its user namespace, as files of the root have them, to those that we see; false: one has none. */
bool rd_process_outer_ids(const struct rd_sysroot *sr, struct rd_user *user);

/* user.c: groups by number, and names from the files of the root */
void rd_user_set_groups(struct rd_user *user, const uint32_t *gids, size_t n);
void rd_user_name(struct rd_sysroot *sr, struct rd_user *user);
