#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "judge.h"
#include "manifest.h"
#include "sysroot-internal.h"
#include "util/strv.h"
#include "util/xalloc.h"
#include "walk.h"

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool has_device(struct rd_sysroot *sr, const char *dir, const struct rd_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", dir, names->v[i]);
		struct stat st;

		if (rd_tree_stat(sr, path, true, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
			return true;
	}
	return false;
}

/*
 * Places of which a tree without a manifest may tell nothing. /dev, /sys and /proc are mount points: in the image of a disk they
 * are empty, and no archive or git tree brings device nodes along. /etc, /usr and /var every system has, so that a tree
 * without one is a part of a host. All else is told by a tree that has any of them.
 */
enum { DEV, SYS, PROC, REST, PLACES };
static const char *const places[REST] = { "/dev", "/sys", "/proc" };
_Static_assert(RD_ARRAY_SIZE(((struct rd_sysroot *)0)->told) == PLACES, "one answer for each place");

static int place_of(const char *path)
{
	for (int i = 0; i < REST; i++)
		if (is_below(path, places[i]))
			return i;
	return REST;
}

static bool has_system_folder(struct rd_sysroot *sr)
{
	static const char *const names[] = { "etc", "usr", "var", "opt", "lib", "bin", "home", "root", "srv" };
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	(void)!rd_tree_list(sr, "/", &found);
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		if (rd_strv_has(&found, names[i]))
			return true;
	return false;
}

static bool look_into(struct rd_sysroot *sr, int place)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	if (place == REST)
		return has_system_folder(sr);
	(void)!rd_tree_list(sr, places[place], &names);
	return place == DEV ? has_device(sr, places[place], &names) : names.n > 0;
}

static bool is_told(struct rd_sysroot *sr, const char *path)
{
	int place = place_of(path);

	/* Who wrote a manifest meant to describe the host; of nodes only "nodes" tells. */
	if (sr->manifest && (place != DEV || sr->manifest->has_nodes))
		return true;
	if (sr->told[place] < 0)
		sr->told[place] = look_into(sr, place);
	return sr->told[place];
}

bool rd_judge_is_untold(struct rd_sysroot *sr, const char *resolved, bool empty)
{
	/* A folder of /dev that holds only links or "shm" may have had nodes; one of /sys that holds something is as it was. */
	return resolved && !is_told(sr, resolved) && (empty || is_below(resolved, places[DEV]));
}

/* The verdict over one spelling of a path that the tree does not have; 0: this spelling says nothing. */
static int verdict(const struct rd_sysroot *sr, const char *path)
{
	int r = rd_manifest_unreadable(sr->manifest, path, true);

	if (r < 0)
		return r;
	return rd_manifest_is_missing(sr->manifest, path) ? -ENOENT : 0;
}

static int judge_absent(struct rd_sysroot *sr, const char *path, const char *resolved)
{
	int r = verdict(sr, path);

	if (r == 0 && resolved)
		r = verdict(sr, resolved);
	if (r < 0)
		return r;
	if (sr->manifest && sr->manifest->has_missing)
		return -ENODATA;
	return is_told(sr, resolved ? resolved : path) ? -ENOENT : -ENODATA;
}

int rd_judge(struct rd_sysroot *sr, const char *path, int r, struct rd_answer *answer)
{
	/* Something above it is no folder: so it is not there. */
	if (r == -ENOTDIR)
		r = -ENOENT;
	if (sr->live || (r < 0 && r != -ENOENT))
		return r;
	if (rd_tree_walk(sr, path, RD_WALK_MISSING_OK, &answer->resolved) < 0)
		answer->resolved = NULL;
	if (sr->manifest && sr->manifest->nodes_n) {
		answer->node = rd_manifest_node(sr->manifest, path);
		if (!answer->node && answer->resolved)
			answer->node = rd_manifest_node(sr->manifest, answer->resolved);
		answer->folder = answer->resolved && rd_manifest_has_nodes_in(sr->manifest, answer->resolved);
	}
	return r < 0 ? judge_absent(sr, path, answer->resolved) : r;
}

int rd_judge_unreadable(struct rd_sysroot *sr, const char *path)
{
	rd_auto_free char *resolved = NULL;
	int r;

	if (!sr->manifest || !sr->manifest->unreadable_n)
		return 0;
	r = rd_manifest_unreadable(sr->manifest, path, false);
	if (r < 0)
		return r;
	if (rd_tree_walk(sr, path, RD_WALK_MISSING_OK, &resolved) < 0)
		return 0;
	return rd_manifest_unreadable(sr->manifest, resolved, false);
}

void rd_judge_prepare(struct rd_sysroot *sr, struct rd_manifest *m)
{
	size_t n = m->unreadable_n;

	for (size_t i = 0; i < n; i++) {
		rd_auto_free char *resolved = NULL;

		if (rd_tree_walk(sr, m->unreadable[i].path, RD_WALK_MISSING_OK, &resolved) == 0)
			rd_manifest_add_unreadable(m, resolved, m->unreadable[i].error);
	}
	rd_manifest_sort(m);
}
