#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "util/cleanup.h"
#include "util/pool.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/utf8.h"
#include "util/xalloc.h"

struct rd_fact {
	struct rd_fact *parent;
	struct rd_pool *pool; /* of the whole tree: what a fact gave up stays there until the tree goes */
	unsigned name_len;
	unsigned n, allocated; /* children */
	enum rd_kind kind;
	enum rd_fact_state state;
	bool not_asked;
	union {
		bool boolean;
		int64_t integer;
		double real;
		char *str;
	};
	struct rd_fact **children;
	uint8_t *keys; /* of the children's names: to pass over nearly all of them without a look at them */
	char *source, *reason;
	char name[]; /* in its object or map, "" for an item of a list */
};

static struct rd_fact *new_fact(struct rd_pool *pool, struct rd_fact *parent, const char *name, size_t len)
{
	struct rd_fact *f = rd_pool_alloc(pool, sizeof(*f) + len + 1);

	f->pool = pool;
	f->parent = parent;
	f->name_len = (unsigned)len;
	memcpy(f->name, name, len);
	return f;
}

struct rd_fact *rd_facts_new(void)
{
	struct rd_pool *pool = rd_xmalloc(sizeof(*pool));
	struct rd_fact *root;

	*pool = (struct rd_pool)RD_POOL_INIT(65536);
	root = new_fact(pool, NULL, "", 0);
	root->kind = RD_OBJECT;
	return root;
}

/* Back to a leaf without value, at the same place in the tree. */
static void reset(struct rd_fact *f)
{
	*f = (struct rd_fact){ .parent = f->parent, .pool = f->pool, .name_len = f->name_len };
}

struct rd_fact *rd_fact_free(struct rd_fact *root)
{
	struct rd_pool *pool = root ? root->pool : NULL;

	if (pool)
		rd_pool_clear(pool);
	free(pool);
	return NULL;
}

static uint8_t key_of(const char *name, size_t len)
{
	return len ? (uint8_t)(len * 31 + (unsigned char)name[0] * 7 + (unsigned char)name[len / 2] * 3 +
	                       (unsigned char)name[len - 1])
	           : 0;
}

static struct rd_fact *add_child(struct rd_fact *at, const char *name, size_t len)
{
	struct rd_fact *child = new_fact(at->pool, at, name, len);

	if (at->n == at->allocated) {
		struct rd_fact **children;
		uint8_t *keys;

		at->allocated = at->allocated ? 2 * at->allocated : 8;
		children = rd_pool_alloc(at->pool, at->allocated * sizeof(struct rd_fact *));
		keys = rd_pool_alloc(at->pool, at->allocated * sizeof(*keys));
		if (at->n) {
			memcpy(children, at->children, at->n * sizeof(struct rd_fact *));
			memcpy(keys, at->keys, at->n * sizeof(*keys));
		}
		at->children = children;
		at->keys = keys;
	}
	at->keys[at->n] = key_of(name, len);
	at->children[at->n++] = child;
	return child;
}

static struct rd_fact *find_child(const struct rd_fact *at, const char *name, size_t len)
{
	uint8_t key = key_of(name, len), *found = at->keys, *end;

	if ((at->kind != RD_OBJECT && at->kind != RD_MAP) || !at->n)
		return NULL;
	for (end = found + at->n; (found = memchr(found, key, (size_t)(end - found))); found++) {
		struct rd_fact *child = at->children[found - at->keys];

		if (child->name_len == len && memcmp(child->name, name, len) == 0)
			return child;
	}
	return NULL;
}

/* A node that is none yet, or was given up as absent or unknown, becomes a container. */
static void make_container(struct rd_fact *f, enum rd_kind kind)
{
	bool is_container = f->kind == RD_OBJECT || f->kind == RD_LIST || f->kind == RD_MAP || f->kind == RD_STRS;

	if (is_container && f->state == RD_FACT_KNOWN)
		return;
	reset(f);
	f->kind = kind;
}

/* One "[N]" after a name; *path is moved past it. */
static struct rd_fact *step_index(const struct rd_fact *at, const char **path)
{
	char *end;
	unsigned long index = strtoul(*path + 1, &end, 10);

	if (end == *path + 1 || *end != ']')
		return NULL;
	*path = end + 1;
	if ((at->kind != RD_LIST && at->kind != RD_STRS) || index >= at->n)
		return NULL;
	return at->children[index];
}

/* How far a name of a path reaches; in a declaration a brace ends it, too. */
static size_t name_length(const char *path, bool declared)
{
	size_t n = 0;

	while (path[n] && path[n] != '.' && path[n] != '[' && !(declared && path[n] == '{'))
		n++;
	return n;
}

static struct rd_fact *walk(const struct rd_fact *at, const char *path)
{
	struct rd_fact *f = (struct rd_fact *)at;

	while (f && *path) {
		size_t len = name_length(path, false);

		if (len) {
			f = find_child(f, path, len);
			path += len;
		}
		while (f && *path == '[')
			f = step_index(f, &path);
		if (*path == '.')
			path++;
	}
	return f;
}

const struct rd_fact *rd_fact_get(const struct rd_fact *at, const char *path)
{
	return at ? walk(at, path) : NULL;
}

struct rd_fact *rd_fact_get_mutable(struct rd_fact *at, const char *path)
{
	return at ? walk(at, path) : NULL;
}

struct rd_fact *rd_fact_follow(struct rd_fact *at, const char *path, const char **ret_left)
{
	while (*path && *path != '[' && *path != '{') {
		size_t len = name_length(path, true);
		struct rd_fact *child = find_child(at, path, len);

		if (!child)
			break;
		at = child;
		path += len + (path[len] == '.');
	}
	*ret_left = path;
	return at;
}

const struct rd_fact *rd_fact_child(const struct rd_fact *f, const char *name)
{
	return f ? find_child(f, name, strlen(name)) : NULL;
}

/* The node at a path, made with the objects above it. "[]" and "{}" at the end, as declarations write, are passed over. */
static struct rd_fact *make(struct rd_fact *at, const char *path)
{
	while (*path) {
		size_t len = name_length(path, true);
		struct rd_fact *child;

		make_container(at, RD_OBJECT);
		child = find_child(at, path, len);
		if (!child)
			child = add_child(at, path, len);
		at = child;
		path += len;
		while (*path == '[' && path[1] != ']') {
			child = step_index(at, &path);
			if (!child)
				return at;
			at = child;
		}
		if (*path == '[' || *path == '{')
			path += 2;
		if (*path == '.')
			path++;
	}
	return at;
}

/* Text from a host may be anything; JSON and terminals want UTF-8. */
static char *utf8_copy(struct rd_pool *pool, const char *s)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	size_t len = strlen(s);

	if (rd_utf8_is_ascii(s, len))
		return rd_pool_strndup(pool, s, len);
	while (*s) {
		size_t n = rd_utf8_length(s);

		if (n)
			rd_strbuf_addn(&sb, s, n);
		else
			rd_strbuf_addf(&sb, "\\x%02x", (unsigned char)*s);
		s += n ? n : 1;
	}
	return rd_pool_strndup(pool, sb.buf, sb.len);
}

static struct rd_fact *leaf(struct rd_fact *at, const char *path, enum rd_kind kind, const char *source)
{
	struct rd_fact *f = make(at, path);

	reset(f);
	f->kind = kind;
	f->source = source ? utf8_copy(f->pool, source) : NULL;
	return f;
}

void rd_fact_set_bool(struct rd_fact *at, const char *path, bool value, const char *source)
{
	leaf(at, path, RD_BOOL, source)->boolean = value;
}

void rd_fact_set_int(struct rd_fact *at, const char *path, int64_t value, const char *source)
{
	leaf(at, path, RD_INT, source)->integer = value;
}

void rd_fact_set_real(struct rd_fact *at, const char *path, double value, const char *source)
{
	if (!isfinite(value)) {
		rd_fact_set_unknown(at, path, -ERANGE, source);
		return;
	}
	leaf(at, path, RD_REAL, source)->real = value;
}

/* Facts go into reports, and those to strangers. */
static char *value_copy(struct rd_pool *pool, const char *value)
{
	char *copy = utf8_copy(pool, value);

	rd_redact(copy);
	return copy;
}

void rd_fact_set_str(struct rd_fact *at, const char *path, const char *value, const char *source)
{
	char *copy = value_copy(at->pool, value);

	leaf(at, path, RD_STR, source)->str = copy;
}

void rd_fact_set_entry(struct rd_fact *at, const char *map, const char *name, const char *value, const char *source)
{
	const char *key = utf8_copy(at->pool, name);
	char *copy = value_copy(at->pool, value);
	struct rd_fact *f = make(at, map), *entry;

	make_container(f, RD_MAP);
	entry = find_child(f, key, strlen(key));
	if (!entry)
		entry = add_child(f, key, strlen(key));
	reset(entry);
	entry->kind = RD_STR;
	entry->str = copy;
	entry->source = source ? utf8_copy(f->pool, source) : NULL;
}

void rd_fact_set_absent(struct rd_fact *at, const char *path, const char *source)
{
	leaf(at, path, RD_NONE, source)->state = RD_FACT_ABSENT;
}

void rd_fact_set_unknown_why(struct rd_fact *at, const char *path, const char *reason, const char *source)
{
	struct rd_fact *f = leaf(at, path, RD_NONE, source);

	f->state = RD_FACT_UNKNOWN;
	f->reason = utf8_copy(f->pool, reason);
}

void rd_fact_set_unknown(struct rd_fact *at, const char *path, int err, const char *source)
{
	rd_fact_set_unknown_why(at, path, rd_strerror(err), source);
}

void rd_fact_set_not_asked(struct rd_fact *at, const char *path, const char *option)
{
	rd_auto_free char *reason = rd_xasprintf("not asked for (%s)", option);
	struct rd_fact *f;

	rd_fact_set_unknown_why(at, path, reason, NULL);
	f = make(at, path);
	f->not_asked = true;
}

static void set_container(struct rd_fact *at, const char *path, enum rd_kind kind, const char *source)
{
	struct rd_fact *f = make(at, path);

	make_container(f, kind);
	if (!f->source && source)
		f->source = utf8_copy(f->pool, source);
}

void rd_fact_set_list(struct rd_fact *at, const char *path, const char *source)
{
	set_container(at, path, RD_LIST, source);
}

void rd_fact_set_map(struct rd_fact *at, const char *path, const char *source)
{
	set_container(at, path, RD_MAP, source);
}

struct rd_fact *rd_fact_append(struct rd_fact *at, const char *list, const char *source)
{
	struct rd_fact *f = make(at, list), *item;

	make_container(f, RD_LIST);
	if (!f->source && source)
		f->source = utf8_copy(f->pool, source);
	item = add_child(f, "", 0);
	item->kind = RD_OBJECT;
	item->source = source ? utf8_copy(f->pool, source) : NULL;
	return item;
}

void rd_fact_append_str(struct rd_fact *at, const char *list, const char *value, const char *source)
{
	struct rd_fact *f = make(at, list), *item;

	make_container(f, RD_STRS);
	f->kind = RD_STRS;
	if (!f->source && source)
		f->source = utf8_copy(f->pool, source);
	item = add_child(f, "", 0);
	item->kind = RD_STR;
	item->str = value_copy(at->pool, value);
	item->source = source ? utf8_copy(f->pool, source) : NULL;
}

enum rd_kind rd_fact_kind(const struct rd_fact *f)
{
	return f ? f->kind : RD_NONE;
}

enum rd_fact_state rd_fact_state(const struct rd_fact *f)
{
	return f ? f->state : RD_FACT_ABSENT;
}

bool rd_fact_bool(const struct rd_fact *f)
{
	return f && f->kind == RD_BOOL && f->boolean;
}

int64_t rd_fact_int(const struct rd_fact *f)
{
	return f && f->kind == RD_INT ? f->integer : 0;
}

double rd_fact_real(const struct rd_fact *f)
{
	if (f && f->kind == RD_INT)
		return (double)f->integer;
	return f && f->kind == RD_REAL ? f->real : 0;
}

const char *rd_fact_str(const struct rd_fact *f)
{
	return f && f->kind == RD_STR ? f->str : "";
}

bool rd_fact_get_bool(const struct rd_fact *at, const char *path)
{
	return rd_fact_bool(rd_fact_get(at, path));
}

int64_t rd_fact_get_int(const struct rd_fact *at, const char *path)
{
	return rd_fact_int(rd_fact_get(at, path));
}

double rd_fact_get_real(const struct rd_fact *at, const char *path)
{
	return rd_fact_real(rd_fact_get(at, path));
}

const char *rd_fact_get_str(const struct rd_fact *at, const char *path)
{
	return rd_fact_str(rd_fact_get(at, path));
}

bool rd_fact_is_known(const struct rd_fact *at, const char *path)
{
	const struct rd_fact *f = rd_fact_get(at, path);

	return f && f->state == RD_FACT_KNOWN;
}

bool rd_fact_is_unknown(const struct rd_fact *at, const char *path)
{
	const struct rd_fact *f = rd_fact_get(at, path);

	return f && f->state == RD_FACT_UNKNOWN;
}

size_t rd_fact_count(const struct rd_fact *f)
{
	return f ? f->n : 0;
}

const struct rd_fact *rd_fact_at(const struct rd_fact *f, size_t index)
{
	return f && index < f->n ? f->children[index] : NULL;
}

struct rd_fact *rd_fact_at_mutable(struct rd_fact *f, size_t index)
{
	return f && index < f->n ? f->children[index] : NULL;
}

const char *rd_fact_name(const struct rd_fact *f)
{
	return f ? f->name : "";
}

const char *rd_fact_source(const struct rd_fact *f)
{
	return f && f->source ? f->source : "";
}

const char *rd_fact_reason(const struct rd_fact *f)
{
	return f && f->reason ? f->reason : "";
}

bool rd_fact_not_asked(const struct rd_fact *f)
{
	return f && f->not_asked;
}

static bool is_identifier(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!(*s == '_' || (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
			return false;
	return true;
}

static void add_path(const struct rd_fact *f, struct rd_strbuf *sb)
{
	const struct rd_fact *parent = f->parent;

	if (!parent)
		return;
	add_path(parent, sb);
	if (parent->kind == RD_LIST || parent->kind == RD_STRS) {
		for (size_t i = 0; i < parent->n; i++)
			if (parent->children[i] == f)
				rd_strbuf_addf(sb, "[%zu]", i);
	} else if (is_identifier(f->name)) {
		rd_strbuf_addf(sb, "%s%s", sb->len ? "." : "", f->name);
	} else {
		rd_strbuf_addf(sb, "[\"%s\"]", f->name);
	}
}

char *rd_fact_path(const struct rd_fact *f)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	add_path(f, &sb);
	return rd_strbuf_detach(&sb);
}

static int by_key(const void *a, const void *b, void *key)
{
	const struct rd_fact *x = *(struct rd_fact *const *)a, *y = *(struct rd_fact *const *)b;

	return strcmp(rd_fact_get_str(x, key), rd_fact_get_str(y, key));
}

void rd_fact_sort(struct rd_fact *list, const char *key)
{
	if (list && list->n > 1)
		qsort_r(list->children, list->n, sizeof(*list->children), by_key, (void *)key);
}
