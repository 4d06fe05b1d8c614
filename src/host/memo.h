/*
 * What the way through a tree was found to be, kept while the tree is examined: each folder is opened once, each name asked for
 * once. One examination is one picture of a host; what changes meanwhile is seen by nobody or by the next one.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "rocm-doctor/macros.h"
#include "util/strv.h"

struct rd_memo;

/* What a folder had in it when it was listed. */
struct rd_listing {
	struct rd_listing *next;
	struct rd_strv names;
};

/* What a small file had in it when it was read. */
struct rd_text {
	size_t len;
	char bytes[]; /* and a NUL */
};

/* One name in the tree, there or not. There are thousands: what few have stands elsewhere. */
struct rd_place {
	struct rd_place *parent, *next; /* NULL: the root; in the bucket */
	struct stat *st;                /* once it was asked for: rd_memo_stat() */
	union {
		const char *link;           /* of a link: rd_memo_link() */
		struct rd_listing *listing; /* of a folder */
		struct rd_text *text;       /* of a file */
	};
	int type;                   /* enum rd_walk_type, -errno, or not asked yet */
	int fd;                     /* of a folder while it is open, else -1 */
	unsigned name_at, name_len; /* where the name is in the path */
	bool has_links;             /* links in the folder, as far as is known */
	char path[];                /* without links; "" is the root */
};

/* @fd: of the root, borrowed. */
struct rd_memo *rd_memo_new(int fd);
struct rd_memo *rd_memo_free(struct rd_memo *m);

/*
 * rd_memo_walk - resolve @path as rd_walk does, with the same @flags
 * @ret: valid until the next walk
 *
 * Returns 0, the errors of rd_walk, or -EXDEV where the kernel has to be asked: a link of /proc is on the way, which only it can
 * follow, or refuse; or a folder was replaced meanwhile.
 */
int rd_memo_walk(struct rd_memo *m, const char *path, unsigned flags, struct rd_place **ret) RD_MUST_CHECK;

int rd_memo_stat(struct rd_memo *m, struct rd_place *place, struct stat *ret) RD_MUST_CHECK;
/* Opens what stands there; never a link. */
int rd_memo_open(struct rd_memo *m, struct rd_place *place, int flags) RD_MUST_CHECK;
/* The text of a link; -EINVAL for anything else. */
int rd_memo_link(struct rd_memo *m, struct rd_place *place, const char **ret) RD_MUST_CHECK;
/* NULL where nothing is kept. */
const struct rd_listing *rd_memo_listing(const struct rd_place *place);
const struct rd_text *rd_memo_text(const struct rd_place *place);
/* A copy, of a file only. */
void rd_memo_keep_text(struct rd_memo *m, struct rd_place *place, const char *text, size_t len);
/* Copies of the names that a folder has, and @fd of it, which is no longer the caller's where this returns true. */
bool rd_memo_keep_listing(struct rd_memo *m, struct rd_place *place, const struct rd_strv *names, int fd);
