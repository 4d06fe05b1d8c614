/* What to answer where a tree does not have a path, or has what stands for something else. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "rocm-doctor/macros.h"
#include "util/cleanup.h"

struct rd_sysroot;
struct rd_manifest;
struct rd_manifest_node;

struct rd_answer {
	const struct rd_manifest_node *node; /* the path is this device node */
	bool folder;                         /* the path is a folder on the way to a device node */
	char *resolved;                      /* where the path leads, or would lead; NULL where it leads nowhere */
};

#define RD_ANSWER_INIT \
	{ \
		NULL, false, NULL \
	}

static inline void rd_answer_release(struct rd_answer *answer)
{
	free(answer->resolved);
}

#define rd_auto_answer rd_auto(rd_answer_release)

/*
 * rd_judge - what the answer of the tree means
 * @r: what the tree said, 0 or -errno
 *
 * Returns @r, or for a path that is not there -ENOENT (it is not), -ENODATA (who knows) or what "unreadable" says. A node or
 * folder in @answer overrules it.
 */
int rd_judge(struct rd_sysroot *sr, const char *path, int r, struct rd_answer *answer) RD_MUST_CHECK;

/* The negative errno that reading gave on the host, though the tree may have something there; 0: none. */
int rd_judge_unreadable(struct rd_sysroot *sr, const char *path) RD_MUST_CHECK;

/* True where the names that the tree has in a folder do not tell which there were: mount points of an image. */
bool rd_judge_is_untold(struct rd_sysroot *sr, const char *resolved, bool empty);

/* "unreadable" holds for a file, whatever path led to it: adds what its keys resolve to. */
void rd_judge_prepare(struct rd_sysroot *sr, struct rd_manifest *m);
