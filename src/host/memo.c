#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memo.h"
#include "util/cleanup.h"
#include "util/pool.h"
#include "util/str.h"
#include "util/xalloc.h"
#include "walk.h"

/* More than any check asks for; a hostile tree cannot make it grow without end. */
#define PLACES_MAX ((size_t)1 << 16)
#define BUCKETS 4096
#define FOLDERS_MAX 256
#define NOT_ASKED INT_MAX

struct rd_memo {
	struct rd_place root;
	struct rd_pool pool; /* of all other places */
	struct rd_place *buckets[BUCKETS];
	size_t places_n;
	struct rd_place *listed;
	/* Folders that are open, a ring: the one opened first is closed first. */
	struct rd_place *open[FOLDERS_MAX];
	size_t open_n, open_max, hand;
};

struct rd_memo *rd_memo_new(int fd)
{
	struct rd_memo *m = rd_xcalloc(1, sizeof(*m));
	struct rlimit limit;

	m->pool = (struct rd_pool)RD_POOL_INIT(65536);
	m->root = (struct rd_place){ .path = "", .type = RD_WALK_DIR, .fd = fd, .names = RD_STRV_INIT };
	m->open_max = FOLDERS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < FOLDERS_MAX)
		m->open_max = limit.rlim_cur / 4 < 2 ? 2 : limit.rlim_cur / 4;
	if (fstat(fd, &m->root.st) < 0)
		m->root.type = -errno;
	return m;
}

static void forget(struct rd_memo *m)
{
	for (size_t i = 0; i < m->open_n; i++)
		close(m->open[i]->fd);
	for (struct rd_place *p = m->listed; p; p = p->next_listed)
		rd_strv_clear(&p->names);
	m->listed = NULL;
	rd_pool_clear(&m->pool);
	memset(m->buckets, 0, sizeof(m->buckets));
	m->places_n = m->open_n = m->hand = 0;
}

struct rd_memo *rd_memo_free(struct rd_memo *m)
{
	if (!m)
		return NULL;
	forget(m);
	free(m);
	return NULL;
}

static struct rd_place *child(struct rd_memo *m, struct rd_place *parent, const char *name, size_t n)
{
	size_t hash = (uintptr_t)parent >> 4, len;
	struct rd_place *p;
	char *path;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x01000193;
	hash = (hash ^ hash >> 16) % BUCKETS;
	for (p = m->buckets[hash]; p; p = p->next)
		if (p->parent == parent && p->name_len == n && memcmp(p->path + p->name_at, name, n) == 0)
			return p;
	len = parent->name_at + parent->name_len;
	p = rd_pool_alloc(&m->pool, sizeof(*p));
	path = rd_pool_alloc(&m->pool, len + n + 2);
	*p = (struct rd_place){
		.parent = parent, .next = m->buckets[hash], .type = NOT_ASKED, .fd = -1, .names = RD_STRV_INIT
	};
	p->name_at = len + 1;
	p->name_len = n;
	memcpy(path, parent->path, len);
	path[len] = '/';
	memcpy(path + len + 1, name, n);
	p->path = path;
	m->buckets[hash] = p;
	m->places_n++;
	return p;
}

/* The folder that was opened first makes room for the new one. */
static void keep_open(struct rd_memo *m, struct rd_place *p)
{
	if (m->open_n < m->open_max) {
		m->open[m->open_n++] = p;
		return;
	}
	close(m->open[m->hand]->fd);
	m->open[m->hand]->fd = -1;
	m->open[m->hand] = p;
	m->hand = (m->hand + 1) % m->open_max;
}

static int folder(struct rd_memo *m, struct rd_place *p)
{
	int parent, fd;

	if (p->fd >= 0)
		return p->fd;
	parent = folder(m, p->parent);
	if (parent < 0)
		return parent;
	fd = openat(parent, p->path + p->name_at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* It was a folder when it was asked for: something is changing it now. */
	if (fd < 0)
		return errno == ENOTDIR || errno == ENOENT || errno == ELOOP ? -EXDEV : -errno;
	keep_open(m, p);
	return p->fd = fd;
}

/* What will be answered the same way again; a shortage of descriptors or memory will not. */
static bool is_lasting(int r)
{
	return r == -ENOENT || r == -EACCES || r == -ENOTDIR;
}

static int ask(struct rd_memo *m, struct rd_place *p)
{
	int dir, r = 0;

	if (p->type != NOT_ASKED)
		return p->type;
	/* Below what is not there nothing is. */
	if (p->parent->type == -ENOENT)
		return p->type = -ENOENT;
	dir = folder(m, p->parent);
	if (dir < 0)
		r = dir;
	else if (fstatat(dir, p->path + p->name_at, &p->st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		r = -errno;
	if (r < 0 && !is_lasting(r))
		return r;
	p->type = r < 0 ? r : S_ISLNK(p->st.st_mode) ? RD_WALK_LINK : S_ISDIR(p->st.st_mode) ? RD_WALK_DIR : RD_WALK_FILE;
	return p->type;
}

int rd_memo_link(struct rd_memo *m, struct rd_place *place, const char **ret)
{
	char text[PATH_MAX];
	ssize_t n;
	int dir;

	if (place->type != RD_WALK_LINK)
		return -EINVAL;
	if (!place->link) {
		dir = folder(m, place->parent);
		if (dir < 0)
			return dir;
		n = readlinkat(dir, place->path + place->name_at, text, sizeof(text));
		if (n < 0)
			return -errno;
		if ((size_t)n == sizeof(text))
			return -ENAMETOOLONG;
		place->link = rd_pool_strndup(&m->pool, text, (size_t)n);
	}
	*ret = place->link;
	return 0;
}

void rd_memo_keep_names(struct rd_memo *m, struct rd_place *place, const struct rd_strv *names)
{
	rd_strv_add_all(&place->names, names);
	place->listed = true;
	place->next_listed = m->listed;
	m->listed = place;
}

int rd_memo_open(struct rd_memo *m, struct rd_place *place, int flags)
{
	int dir = folder(m, place->parent ? place->parent : place), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, place->parent ? place->path + place->name_at : ".", flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

struct way {
	struct rd_memo *memo;
	unsigned flags, links;
	struct rd_place *at;
	char *pending;    /* owned, once a link was followed */
	const char *next; /* what is still to resolve */
};

static const char *behind_slashes(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static int follow(struct way *w, struct rd_place *link)
{
	const char *target;
	char *pending;
	int r;

	/* Some links of /proc lead where their text does not say. */
	if (rd_str_has_prefix(link->path, "/proc/"))
		return -EXDEV;
	if (++w->links > RD_WALK_LINKS_MAX)
		return -ELOOP;
	r = rd_memo_link(w->memo, link, &target);
	if (r < 0)
		return r;
	if (!*target)
		return -ENOENT;
	pending = rd_xmalloc(strlen(target) + strlen(w->next) + 1);
	strcpy(stpcpy(pending, target), w->next);
	if (target[0] == '/')
		w->at = &w->memo->root;
	free(w->pending);
	w->next = w->pending = pending;
	return 0;
}

static int enter(struct way *w, const char *name, size_t n)
{
	bool last = !*behind_slashes(w->next), directory = *w->next != '\0';
	struct rd_place *p;
	int type;

	if (n > RD_WALK_NAME_MAX)
		return -ENAMETOOLONG;
	p = child(w->memo, w->at, name, n);
	type = ask(w->memo, p);
	if (type == RD_WALK_LINK && !(last && !directory && (w->flags & RD_WALK_NOFOLLOW)))
		return follow(w, p);
	/* Something stands behind it, be it only "/": it has to be a directory. */
	if (type == RD_WALK_FILE && directory)
		return -ENOTDIR;
	if (type < 0 && !(type == -ENOENT && w->flags & RD_WALK_MISSING_OK))
		return type;
	w->at = p;
	return p->name_at + n >= RD_WALK_PATH_MAX ? -ENAMETOOLONG : 0;
}

static int step(struct way *w)
{
	const char *name = behind_slashes(w->next);
	size_t n = 0;

	while (name[n] && name[n] != '/')
		n++;
	w->next = name + n;
	if (n == 0 || (n == 1 && name[0] == '.'))
		return 0;
	if (n == 2 && name[0] == '.' && name[1] == '.') {
		w->at = w->at->parent ? w->at->parent : w->at;
		return 0;
	}
	return enter(w, name, n);
}

int rd_memo_walk(struct rd_memo *m, const char *path, unsigned flags, struct rd_place **ret)
{
	struct way w = { .memo = m, .flags = flags, .at = &m->root, .next = path };
	int r = m->root.type < 0 ? m->root.type : 0;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= RD_WALK_PATH_MAX)
		return -ENAMETOOLONG;
	if (m->places_n > PLACES_MAX)
		forget(m);
	while (r == 0 && *w.next)
		r = step(&w);
	free(w.pending);
	if (r == 0)
		*ret = w.at;
	return r;
}
