#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
/* Bytes of files that are kept in all. */
#define TEXTS_MAX ((size_t)4 << 20)

struct rd_memo {
	struct rd_place *root;
	struct rd_pool pool; /* of all other places */
	struct rd_place *buckets[BUCKETS];
	size_t places_n;
	int fd;
	struct rd_listing *listings;
	size_t texts_len;
	/* Folders that are open, a ring: the one opened first is closed first. */
	struct rd_place *open[FOLDERS_MAX];
	size_t open_n, open_max, hand;
	bool no_openat2;
	/* The folder of the path that was resolved last: the next one is often in it, too. */
	struct {
		char path[RD_WALK_PATH_MAX];
		size_t len;
		unsigned links;
		struct rd_place *place; /* NULL: none */
	} last;
	/* That path itself: what is looked at is opened next. */
	struct {
		char path[RD_WALK_PATH_MAX];
		unsigned flags;
		struct rd_place *place; /* NULL: none */
	} same;
};

/* The root is a place as any other, but stays open. */
static void plant(struct rd_memo *m)
{
	m->root = rd_pool_alloc(&m->pool, sizeof(*m->root) + 1);
	m->root->st = rd_pool_alloc(&m->pool, sizeof(*m->root->st));
	m->root->fd = m->fd;
	m->root->type = fstat(m->fd, m->root->st) < 0 ? -errno : RD_WALK_DIR;
}

struct rd_memo *rd_memo_new(int fd)
{
	struct rd_memo *m = rd_xcalloc(1, sizeof(*m));
	struct rlimit limit;

	m->pool = (struct rd_pool)RD_POOL_INIT(65536);
	m->open_max = FOLDERS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < FOLDERS_MAX)
		m->open_max = limit.rlim_cur / 4 < 2 ? 2 : limit.rlim_cur / 4;
	m->fd = fd;
	plant(m);
	return m;
}

static void close_row(int first, size_t n)
{
#ifdef SYS_close_range
	if (n > 1 && syscall(SYS_close_range, first, first + (int)n - 1, 0) == 0)
		return;
#endif
	while (n)
		close(first + (int)--n);
}

/* Most have numbers that follow each other. */
static void close_folders(struct rd_memo *m)
{
	for (size_t i = 0, n; i < m->open_n; i += n) {
		int first = m->open[i]->fd;

		for (n = 1; i + n < m->open_n && m->open[i + n]->fd == first + (int)n;)
			n++;
		close_row(first, n);
	}
}

static void forget(struct rd_memo *m)
{
	close_folders(m);
	for (struct rd_listing *l = m->listings; l; l = l->next)
		rd_strv_clear(&l->names);
	m->listings = NULL;
	m->last.place = m->same.place = NULL;
	rd_pool_clear(&m->pool);
	memset(m->buckets, 0, sizeof(m->buckets));
	m->places_n = m->texts_len = m->open_n = m->hand = 0;
}

struct rd_memo *rd_memo_free(struct rd_memo *m)
{
	if (!m)
		return NULL;
	forget(m);
	free(m);
	return NULL;
}

/* How far a name reaches, and what it hashes to. */
static size_t measure(const char *name, size_t *ret_hash)
{
	size_t n = 0, hash = 0;

	for (; name[n] && name[n] != '/'; n++)
		hash = hash * 31 + (unsigned char)name[n];
	*ret_hash = hash;
	return n;
}

static struct rd_place *child(struct rd_memo *m, struct rd_place *parent, const char *name, size_t n, size_t hash)
{
	struct rd_place *p;
	size_t len;

	hash = (hash + ((uintptr_t)parent >> 4)) * 0x9e3779b1;
	hash = (hash >> 16) % BUCKETS;
	for (p = m->buckets[hash]; p; p = p->next)
		if (p->parent == parent && p->name_len == n && memcmp(p->path + p->name_at, name, n) == 0)
			return p;
	len = parent->name_at + parent->name_len;
	p = rd_pool_alloc(&m->pool, sizeof(*p) + len + n + 2);
	p->parent = parent;
	p->next = m->buckets[hash];
	p->type = NOT_ASKED;
	p->fd = -1;
	p->name_at = (unsigned)len + 1;
	p->name_len = (unsigned)n;
	memcpy(p->path, parent->path, len);
	p->path[len] = '/';
	memcpy(p->path + len + 1, name, n);
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

/* Through folders only: a link on the way is an error. */
static int open_below(struct rd_memo *m, int dir, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	long fd;

	if (!strchr(path, '/')) {
		fd = openat(dir, path, (int)how.flags);
		return fd < 0 ? -errno : (int)fd;
	}
	fd = m->no_openat2 ? -1 : syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	if (m->no_openat2 || errno == ENOSYS || errno == EPERM || errno == EINVAL) {
		m->no_openat2 = true;
		return -EOPNOTSUPP;
	}
	return -errno;
}

static int folder(struct rd_memo *m, struct rd_place *p)
{
	struct rd_place *above = p;
	int fd;

	while (above->fd < 0)
		above = above->parent;
	if (above == p)
		return p->fd;
	fd = open_below(m, above->fd, p->path + above->name_at + above->name_len + 1);
	if (fd == -EOPNOTSUPP) {
		fd = folder(m, p->parent);
		if (fd >= 0)
			fd = open_below(m, fd, p->path + p->name_at);
	}
	/* It was a folder when it was asked for: something is changing it now. */
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ENOENT || fd == -ELOOP || fd == -EAGAIN ? -EXDEV : fd;
	keep_open(m, p);
	return p->fd = fd;
}

static int read_link(struct rd_memo *m, struct rd_place *p)
{
	int dir = folder(m, p->parent);
	char text[PATH_MAX];
	ssize_t n;

	if (dir < 0)
		return dir;
	n = readlinkat(dir, p->path + p->name_at, text, sizeof(text));
	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(text))
		return -ENAMETOOLONG;
	p->link = rd_pool_strndup(&m->pool, text, (size_t)n);
	return 0;
}

/* What will be answered the same way again; a shortage of descriptors or memory will not. */
static bool is_lasting(int r)
{
	return r == -ENOENT || r == -EACCES || r == -ENOTDIR;
}

static int look(struct rd_memo *m, struct rd_place *p)
{
	int dir = folder(m, p->parent);
	struct stat st;

	if (dir < 0)
		return dir;
	if (fstatat(dir, p->path + p->name_at, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return -errno;
	p->st = rd_pool_alloc(&m->pool, sizeof(st));
	*p->st = st;
	return 0;
}

static int ask(struct rd_memo *m, struct rd_place *p)
{
	int r;

	if (p->type != NOT_ASKED)
		return p->type;
	/* Below what is not there nothing is. */
	if (p->parent->type == -ENOENT)
		return p->type = -ENOENT;
	r = look(m, p);
	if (r < 0 && !is_lasting(r))
		return r;
	p->type = r < 0 ? r : S_ISLNK(p->st->st_mode) ? RD_WALK_LINK : S_ISDIR(p->st->st_mode) ? RD_WALK_DIR : RD_WALK_FILE;
	if (p->type == RD_WALK_LINK)
		p->parent->has_links = true;
	return p->type;
}

/* By who is after a link's text: where it is a link, one question is enough. */
static int ask_for_link(struct rd_memo *m, struct rd_place *p)
{
	int r;

	if (p->type != NOT_ASKED || p->parent->type == -ENOENT)
		return ask(m, p);
	r = read_link(m, p);
	if (r < 0 && !is_lasting(r))
		return ask(m, p);
	if (r == 0)
		p->parent->has_links = true;
	return p->type = r < 0 ? r : RD_WALK_LINK;
}

/* By who goes on into it: what is opened next needs no look before, unless links are to be expected. */
static int ask_for_folder(struct rd_memo *m, struct rd_place *p)
{
	int dir, fd;

	if (p->type != NOT_ASKED || p->parent->type == -ENOENT || p->parent->has_links)
		return ask(m, p);
	dir = folder(m, p->parent);
	fd = dir < 0 ? dir : open_below(m, dir, p->path + p->name_at);
	if (fd == -ENOENT)
		return p->type = -ENOENT;
	if (fd < 0)
		return ask(m, p);
	keep_open(m, p);
	p->fd = fd;
	return p->type = RD_WALK_DIR;
}

int rd_memo_stat(struct rd_memo *m, struct rd_place *place, struct stat *ret)
{
	int r = place->st ? 0 : look(m, place);

	if (r == 0)
		*ret = *place->st;
	/* It was there. */
	return r == -ENOENT ? -EXDEV : r;
}

int rd_memo_link(struct rd_memo *m, struct rd_place *place, const char **ret)
{
	int r;

	if (place->type != RD_WALK_LINK)
		return -EINVAL;
	r = place->link ? 0 : read_link(m, place);
	if (r < 0)
		return r;
	*ret = place->link;
	return 0;
}

const struct rd_text *rd_memo_text(const struct rd_place *place)
{
	return place->type == RD_WALK_FILE ? place->text : NULL;
}

void rd_memo_keep_text(struct rd_memo *m, struct rd_place *place, const char *text, size_t len)
{
	if (place->type != RD_WALK_FILE || place->text || len > TEXTS_MAX - m->texts_len)
		return;
	m->texts_len += len;
	place->text = rd_pool_alloc(&m->pool, sizeof(*place->text) + len + 1);
	place->text->len = len;
	memcpy(place->text->bytes, text, len);
}

const struct rd_listing *rd_memo_listing(const struct rd_place *place)
{
	return place->type == RD_WALK_DIR ? place->listing : NULL;
}

bool rd_memo_keep_listing(struct rd_memo *m, struct rd_place *place, const struct rd_strv *names, int fd)
{
	if (place->type != RD_WALK_DIR || place->listing)
		return false;
	place->listing = rd_pool_alloc(&m->pool, sizeof(*place->listing));
	rd_strv_add_all(&place->listing->names, names);
	place->listing->next = m->listings;
	m->listings = place->listing;
	if (place->fd >= 0)
		return false;
	keep_open(m, place);
	place->fd = fd;
	return true;
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
	const char *path;
	char *pending;    /* owned, once a link was followed */
	const char *next; /* what is still to resolve */
	bool no_jump;
	bool is_beyond;    /* the path itself is used up: it ends with a link */
	bool past_missing; /* over what is not there, as RD_WALK_MISSING_OK allows: no other way leads there */
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
		w->at = w->memo->root;
	free(w->pending);
	w->next = w->pending = pending;
	return 0;
}

/* The next path may be in the same folder. */
static void note_folder(struct way *w)
{
	struct rd_memo *m = w->memo;
	size_t len = (size_t)(strrchr(w->path, '/') - w->path);

	if (w->at->type != RD_WALK_DIR || w->past_missing)
		return;
	m->last.place = w->at;
	m->last.len = len;
	m->last.links = w->links;
	memcpy(m->last.path, w->path, len);
}

static bool is_below_last_folder(const struct rd_memo *m, const char *path)
{
	size_t len = m->last.len;

	if (!m->last.place || strncmp(path, m->last.path, len) != 0 || path[len] != '/')
		return false;
	return path[len + 1] && path[len + 1] != '.';
}

/* The folders of what is still to resolve, all but the last name, where nothing is known of them: at once, if there is no link. */
static void jump(struct way *w, const char *rest)
{
	const char *end = strrchr(rest, '/');
	struct rd_memo *m = w->memo;
	rd_auto_free char *path = NULL;
	int fd;

	if (w->no_jump || m->no_openat2 || w->at->has_links || !end || !memchr(rest, '/', (size_t)(end - rest)))
		return;
	path = rd_xstrndup(rest, (size_t)(end - rest));
	/* Neither "..", nor a name that is doubtful. */
	w->no_jump = path[0] == '.' || strstr(path, "/.") || strstr(path, "//") || rd_str_has_prefix(w->at->path, "/proc");
	if (w->no_jump || m->places_n > PLACES_MAX)
		return;
	fd = folder(m, w->at);
	if (fd >= 0)
		fd = open_below(m, fd, path);
	w->no_jump = fd < 0;
	if (fd < 0)
		return;
	for (const char *name = path; *name; name = behind_slashes(name)) {
		size_t hash, n = measure(name, &hash);

		w->at = child(m, w->at, name, n, hash);
		w->at->type = RD_WALK_DIR;
		name += n;
	}
	if (w->at->fd >= 0) {
		close(fd);
	} else {
		keep_open(m, w->at);
		w->at->fd = fd;
	}
	w->next = end;
}

static int enter(struct way *w, const char *name, size_t n, size_t hash)
{
	bool last = !*behind_slashes(w->next), directory = *w->next != '\0';
	struct rd_place *p;
	int type;

	if (n > RD_WALK_NAME_MAX)
		return -ENAMETOOLONG;
	if (last && !directory && !w->is_beyond)
		note_folder(w);
	p = child(w->memo, w->at, name, n, hash);
	if (p->type == NOT_ASKED && directory) {
		struct rd_place *before = w->at;

		jump(w, name);
		if (w->at != before)
			return 0;
	}
	type = directory                             ? ask_for_folder(w->memo, p)
	       : last && w->flags & RD_WALK_READLINK ? ask_for_link(w->memo, p)
	                                             : ask(w->memo, p);
	if (type == RD_WALK_LINK && !(last && !directory && (w->flags & RD_WALK_NOFOLLOW))) {
		w->is_beyond = w->is_beyond || (last && !directory);
		return follow(w, p);
	}
	/* Something stands behind it, be it only "/": it has to be a directory. */
	if (type == RD_WALK_FILE && directory)
		return -ENOTDIR;
	if (type < 0 && !(type == -ENOENT && w->flags & RD_WALK_MISSING_OK))
		return type;
	w->past_missing |= type < 0;
	w->at = p;
	return p->name_at + n >= RD_WALK_PATH_MAX ? -ENAMETOOLONG : 0;
}

static int step(struct way *w)
{
	const char *name = behind_slashes(w->next);
	size_t hash, n = measure(name, &hash);

	w->next = name + n;
	if (n == 0 || (n == 1 && name[0] == '.'))
		return 0;
	if (n == 2 && name[0] == '.' && name[1] == '.') {
		w->at = w->at->parent ? w->at->parent : w->at;
		return 0;
	}
	return enter(w, name, n, hash);
}

int rd_memo_walk(struct rd_memo *m, const char *path, unsigned flags, struct rd_place **ret)
{
	struct way w = { .memo = m, .flags = flags, .at = m->root, .path = path, .next = path };
	int r = m->root->type < 0 ? m->root->type : 0;
	size_t len = strlen(path);

	if (m->same.place && m->same.flags == flags && rd_streq(m->same.path, path)) {
		*ret = m->same.place;
		return 0;
	}
	if (path[0] != '/')
		return -EINVAL;
	if (len >= RD_WALK_PATH_MAX)
		return -ENAMETOOLONG;
	if (m->places_n > PLACES_MAX) {
		forget(m);
		plant(m);
		r = m->root->type < 0 ? m->root->type : 0;
		w.at = m->root;
	}
	if (is_below_last_folder(m, path)) {
		w.at = m->last.place;
		w.links = m->last.links;
		w.next = path + m->last.len;
	}
	while (r == 0 && *w.next)
		r = step(&w);
	free(w.pending);
	if (r < 0)
		return r;
	memcpy(m->same.path, path, len + 1);
	m->same.flags = flags;
	*ret = m->same.place = w.at;
	return 0;
}
