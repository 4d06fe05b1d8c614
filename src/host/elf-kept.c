/* ELF files that were read while the sysroot remembers: simulated processes have most of their libraries in common. */
#include <search.h>
#include <stdlib.h>

#include "judge.h"
#include "rocm-doctor/elf.h"
#include "rocm-doctor/sysroot.h"
#include "sysroot-internal.h"
#include "util/cleanup.h"
#include "util/xalloc.h"
#include "walk.h"

struct kept {
	uint64_t dev, ino;
	struct rd_elf *elf;
};

static int by_identity(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static void forget_one(void *kept)
{
	rd_elf_close(((struct kept *)kept)->elf);
	free(kept);
}

void rd_elfs_forget(struct rd_sysroot *sr)
{
	tdestroy(sr->elfs, forget_one);
	sr->elfs = NULL;
}

struct rd_elf *rd_sysroot_kept_elf(struct rd_sysroot *sr, const struct rd_stat *st, const char *path)
{
	struct kept key = { st->dev, st->ino, NULL }, **found = tfind(&key, &sr->elfs, by_identity);
	rd_auto_free char *own = NULL;
	const char *p;

	/* One of the names of a file may be out of reach. */
	if (!found || rd_path_normal(path, &own, &p) < 0 || rd_judge_unreadable(sr, p) < 0)
		return NULL;
	return rd_elf_share((*found)->elf);
}

void rd_sysroot_keep_elf(struct rd_sysroot *sr, const struct rd_stat *st, struct rd_elf *elf)
{
	struct kept *new, **found;

	/* What has no number of its own is told apart by nothing. */
	if (!sr->memo || !st->ino)
		return;
	new = rd_xmalloc(sizeof(*new));
	*new = (struct kept){ st->dev, st->ino, rd_elf_share(elf) };
	found = tsearch(new, &sr->elfs, by_identity);
	if (!found)
		abort();
	if (*found != new)
		forget_one(new);
}
