/* Files as the steps of a plan would leave them: text over the tree, in memory only. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/sysroot.h"
#include "sysroot-internal.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

void rd_sysroot_overlay(struct rd_sysroot *sr, const char *path, const char *text)
{
	struct rd_overlay *o = NULL;

	for (size_t i = 0; i < sr->overlay_n && !o; i++)
		if (rd_streq(sr->overlay[i].path, path))
			o = &sr->overlay[i];
	if (!o) {
		sr->overlay = rd_xreallocarray(sr->overlay, sr->overlay_n + 1, sizeof(*sr->overlay));
		o = &sr->overlay[sr->overlay_n++];
		*o = (struct rd_overlay){ .path = rd_xstrdup(path) };
	}
	free(o->text);
	o->text = text ? rd_xstrdup(text) : NULL;
}

void rd_sysroot_overlay_clear(struct rd_sysroot *sr)
{
	for (size_t i = 0; i < sr->overlay_n; i++) {
		free(sr->overlay[i].path);
		free(sr->overlay[i].text);
	}
	free(sr->overlay);
	sr->overlay = NULL;
	sr->overlay_n = 0;
}

int rd_overlay_find(const struct rd_sysroot *sr, const char *path, const char **ret)
{
	for (size_t i = 0; i < sr->overlay_n; i++) {
		if (rd_streq(sr->overlay[i].path, path)) {
			*ret = sr->overlay[i].text;
			return 1;
		}
	}
	return 0;
}

/* The name that @path has in @dir, NULL where it is not right below it. */
static const char *name_in(const char *dir, const char *path)
{
	size_t n = rd_streq(dir, "/") ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0 || path[n] != '/' || !path[n + 1] || strchr(path + n + 1, '/'))
		return NULL;
	return path + n + 1;
}

static void drop(struct rd_strv *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (rd_streq(names->v[i], name)) {
			rd_strv_remove(names, i);
			return;
		}
	}
}

bool rd_overlay_names(const struct rd_sysroot *sr, const char *dir, struct rd_strv *names)
{
	bool any = false;

	for (size_t i = 0; i < sr->overlay_n; i++) {
		const char *name = name_in(dir, sr->overlay[i].path);

		if (!name)
			continue;
		if (sr->overlay[i].text)
			rd_strv_push_unique(names, name);
		else
			drop(names, name);
		any = any || sr->overlay[i].text;
	}
	return any;
}
