#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"
#include "walk.h"

struct walk {
	const struct rd_walk_ops *ops;
	void *ctx;
	unsigned flags;
	unsigned links;
	bool missing;          /* done names something that is not there */
	struct rd_strbuf done; /* resolved so far; "" is the root */
	char *pending;         /* what is still to resolve, owned */
	const char *next;      /* in pending */
};

static void go_up(struct rd_strbuf *done)
{
	const char *slash = strrchr(done->buf, '/');

	rd_strbuf_truncate(done, slash ? (size_t)(slash - done->buf) : 0);
}

/* The link at the end of done is replaced by its target; what came after it stays pending. */
static int follow(struct walk *w)
{
	rd_auto_free char *target = NULL;
	char *pending;
	int r;

	if (++w->links > RD_WALK_LINKS_MAX)
		return -ELOOP;
	r = w->ops->readlink(w->ctx, w->done.buf, &target);
	if (r < 0)
		return r;
	if (!*target)
		return -ENOENT;
	if (strlen(target) >= RD_WALK_PATH_MAX)
		return -ENAMETOOLONG;
	pending = rd_xasprintf("%s%s", target, w->next);
	if (target[0] == '/')
		rd_strbuf_truncate(&w->done, 0);
	else
		go_up(&w->done);
	free(w->pending);
	w->pending = pending;
	w->next = pending;
	return 0;
}

static int enter(struct walk *w, const char *name, size_t n)
{
	const char *rest = w->next + strspn(w->next, "/");
	bool last = !*rest, directory = *w->next != '\0';
	int r;

	rd_strbuf_addc(&w->done, '/');
	rd_strbuf_addn(&w->done, name, n);
	if (w->missing)
		return 0;
	r = w->ops->lookup(w->ctx, w->done.buf);
	if (r == -ENOENT && (w->flags & RD_WALK_MISSING_OK)) {
		w->missing = true;
		return 0;
	}
	if (r == RD_WALK_LINK && !(last && !directory && (w->flags & RD_WALK_NOFOLLOW)))
		return follow(w);
	/* Something stands behind it, be it only "/": it has to be a directory. */
	if (r == RD_WALK_FILE && directory)
		return -ENOTDIR;
	return r < 0 ? r : 0;
}

static int step(struct walk *w)
{
	const char *name = w->next + strspn(w->next, "/");
	size_t n = strcspn(name, "/");

	w->next = name + n;
	if (n == 0 || (n == 1 && name[0] == '.'))
		return 0;
	if (n == 2 && name[0] == '.' && name[1] == '.') {
		go_up(&w->done);
		w->missing = false;
		return 0;
	}
	if (n > RD_WALK_NAME_MAX)
		return -ENAMETOOLONG;
	return enter(w, name, n);
}

int rd_walk(const struct rd_walk_ops *ops, void *ctx, const char *path, unsigned flags, char **ret)
{
	struct walk w = { .ops = ops, .ctx = ctx, .flags = flags, .done = RD_STRBUF_INIT };
	int r = 0;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= RD_WALK_PATH_MAX)
		return -ENAMETOOLONG;
	w.pending = rd_xstrdup(path);
	w.next = w.pending;
	while (r == 0 && *w.next) {
		r = step(&w);
		if (r == 0 && w.done.len >= RD_WALK_PATH_MAX)
			r = -ENAMETOOLONG;
	}
	if (r == 0)
		*ret = w.done.len ? rd_strbuf_detach(&w.done) : rd_xstrdup("/");
	rd_strbuf_release(&w.done);
	free(w.pending);
	return r;
}

/* True for what rd_path_normalize would not change. */
static bool is_normal(const char *path)
{
	if (path[0] == '/' && !path[1])
		return true;
	for (; *path; path++) {
		if (path[0] != '/')
			continue;
		if (!path[1] || path[1] == '/' || (path[1] == '.' && (!path[2] || path[2] == '/')))
			return false;
	}
	return true;
}

int rd_path_normal(const char *path, char **own, const char **ret)
{
	int r = 0;

	if (path[0] == '/' && strlen(path) < RD_WALK_PATH_MAX && is_normal(path))
		*ret = path;
	else
		r = rd_path_normalize(path, own);
	if (r == 0 && *own)
		*ret = *own;
	return r;
}

int rd_path_normalize(const char *path, char **ret)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= RD_WALK_PATH_MAX)
		return -ENAMETOOLONG;
	while (*path) {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n && !(n == 1 && path[0] == '.')) {
			rd_strbuf_addc(&sb, '/');
			rd_strbuf_addn(&sb, path, n);
		}
		path += n;
	}
	if (!sb.len)
		rd_strbuf_addc(&sb, '/');
	*ret = rd_strbuf_detach(&sb);
	return 0;
}
