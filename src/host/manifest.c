#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "manifest.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/json.h"
#include "util/cleanup.h"
#include "util/pool.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"
#include "walk.h"

/* Where we are in the document, for messages: a chain on the stack that becomes a JSON pointer only when it is needed. */
struct at {
	const struct at *up;
	const char *key; /* NULL: index */
	int index;
};

struct parse {
	const char *name;
	struct rd_error *err;
};

static void pointer_add(struct rd_strbuf *sb, const struct at *at)
{
	rd_auto_free char *key = NULL;

	if (!at)
		return;
	pointer_add(sb, at->up);
	rd_strbuf_addc(sb, '/');
	if (!at->key) {
		rd_strbuf_addf(sb, "%d", at->index);
		return;
	}
	key = rd_str_printable(at->key);
	for (const char *c = key; *c; c++) {
		if (*c == '~' || *c == '/')
			rd_strbuf_add(sb, *c == '~' ? "~0" : "~1");
		else
			rd_strbuf_addc(sb, *c);
	}
}

static int refuse(struct parse *p, const struct at *at, const char *reason)
{
	rd_auto_strbuf struct rd_strbuf pointer = RD_STRBUF_INIT;

	pointer_add(&pointer, at);
	return rd_error_set(p->err, -EINVAL, "bad '%s': at '%s': %s", p->name, pointer.len ? pointer.buf : "/", reason);
}

/*
 * One pass before cJSON allocates anything. cJSON cuts a string at \u0000 and takes 64 bytes for a value of two, so both are
 * judged here.
 */
static const char *judge_text(const char *text, size_t len)
{
	unsigned depth = 0, values = 1;
	bool string = false;

	if (len > RD_MANIFEST_BYTES_MAX)
		return "too large";
	if (memchr(text, '\0', len))
		return "a NUL byte";
	for (const char *c = text; *c; c++) {
		if (string) {
			if (*c == '\\' && strncmp(c + 1, "u0000", 5) == 0)
				return "a NUL in a string";
			if (*c == '\\' && c[1])
				c++;
			else if (*c == '"')
				string = false;
			continue;
		}
		if (*c == '"')
			string = true;
		else if (*c == '{' || *c == '[')
			depth++;
		else if ((*c == '}' || *c == ']') && depth)
			depth--;
		values += *c == ',' || *c == '{' || *c == '[';
		if (depth > RD_MANIFEST_DEPTH_MAX)
			return "nested too deeply";
		if (values > RD_MANIFEST_VALUES_MAX)
			return "too many values";
	}
	return NULL;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* cJSON keeps the first of two equal keys, other readers the last: neither is right. */
static int refuse_duplicates(struct parse *p, const struct at *at, const cJSON *value)
{
	rd_auto_free const char **keys = NULL;
	size_t n = 0, allocated = 0;
	const cJSON *item;
	int index = 0;

	cJSON_ArrayForEach (item, value) {
		struct at here = { at, item->string, index++ };
		int r = refuse_duplicates(p, &here, item);

		if (r < 0)
			return r;
		if (!cJSON_IsObject(value))
			continue;
		RD_GROW(keys, n, allocated);
		keys[n++] = item->string;
	}
	if (n > 1)
		qsort(keys, n, sizeof(*keys), compare_strings);
	for (size_t i = 1; i < n; i++)
		if (rd_streq(keys[i - 1], keys[i]))
			return refuse(p, &(struct at){ at, keys[i], 0 }, "the key stands there twice");
	return 0;
}

static int take_uint(struct parse *p, const struct at *at, const cJSON *value, uint32_t *ret)
{
	double d = cJSON_IsNumber(value) ? value->valuedouble : -1;

	if (!(d >= 0 && d <= UINT32_MAX) || floor(d) != d)
		return refuse(p, at, "wants a whole number from 0 to 4294967295");
	*ret = (uint32_t)d;
	return 0;
}

static int take_string(struct parse *p, const struct at *at, const cJSON *value, char **ret)
{
	if (!cJSON_IsString(value))
		return refuse(p, at, "wants a string");
	*ret = rd_xstrdup(value->valuestring);
	return 0;
}

static int take_path(struct parse *p, const struct at *at, const char *path, char **ret)
{
	if (rd_path_normalize(path, ret) < 0)
		return refuse(p, at, "wants an absolute path");
	return 0;
}

static int take_errno(struct parse *p, const struct at *at, const cJSON *value, int *ret)
{
	int error = cJSON_IsString(value) ? rd_errno_value(value->valuestring) : 0;

	if (!error)
		return refuse(p, at, "wants the name of an errno, such as \"EACCES\"");
	*ret = -error;
	return 0;
}

static int want_object(struct parse *p, const struct at *at, const cJSON *value)
{
	return cJSON_IsObject(value) ? 0 : refuse(p, at, "wants an object");
}

static int want_array(struct parse *p, const struct at *at, const cJSON *value)
{
	return cJSON_IsArray(value) ? 0 : refuse(p, at, "wants an array");
}

static int take_missing(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const cJSON *item;
	int index = 0, r = want_array(p, at, value);

	if (r < 0)
		return r;
	m->has_missing = true;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, NULL, index++ };
		char *path;

		if (!cJSON_IsString(item))
			return refuse(p, &here, "wants a string");
		r = take_path(p, &here, item->valuestring, &path);
		if (r < 0)
			return r;
		rd_strv_push_take(&m->missing, path);
	}
	return 0;
}

static int take_unreadable(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const cJSON *item;
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, item->string, 0 };
		rd_auto_free char *path = NULL;
		int error = 0;

		r = take_errno(p, &here, item, &error);
		if (r == 0)
			r = take_path(p, &here, item->string, &path);
		if (r < 0)
			return r;
		rd_manifest_add_unreadable(m, path, error);
	}
	return 0;
}

static int take_mode(struct parse *p, const struct at *at, const cJSON *value, unsigned *ret)
{
	const char *digits = cJSON_IsString(value) ? value->valuestring : "";
	uint64_t mode;

	if (!*digits || strspn(digits, "01234567") != strlen(digits) || rd_str_to_u64(digits, 8, &mode) < 0 || mode > 07777)
		return refuse(p, at, "wants permission bits in octal, such as \"0660\"");
	*ret = (unsigned)mode;
	return 0;
}

static int take_perms(struct parse *p, const struct at *at, const cJSON *value, unsigned *ret)
{
	const char *perms = cJSON_IsString(value) ? value->valuestring : "";
	unsigned bits = 0;

	for (int i = 0; i < 3; i++) {
		if (perms[i] == "rwx"[i])
			bits |= 4u >> i;
		else if (perms[i] != '-')
			return refuse(p, at, "wants permissions such as \"rw-\"");
	}
	if (perms[3])
		return refuse(p, at, "wants permissions such as \"rw-\"");
	*ret = bits;
	return 0;
}

static int take_acl_entry(struct parse *p, const struct at *at, const cJSON *value, struct rd_acl_entry *e)
{
	static const struct {
		const char *tag;
		int owner, named; /* without and with an id */
	} tags[] = {
		{ "user", RD_ACL_USER_OBJ, RD_ACL_USER },
		{ "group", RD_ACL_GROUP_OBJ, RD_ACL_GROUP },
		{ "mask", RD_ACL_MASK, RD_ACL_MASK },
		{ "other", RD_ACL_OTHER, RD_ACL_OTHER },
	};
	const cJSON *tag = cJSON_GetObjectItemCaseSensitive(value, "tag");
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(value, "id");
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	if (id) {
		r = take_uint(p, &(struct at){ at, "id", 0 }, id, &e->id);
		if (r < 0)
			return r;
	}
	r = take_perms(p, &(struct at){ at, "perms", 0 }, cJSON_GetObjectItemCaseSensitive(value, "perms"), &e->perms);
	if (r < 0)
		return r;
	for (size_t i = 0; i < RD_ARRAY_SIZE(tags); i++) {
		if (cJSON_IsString(tag) && rd_streq(tag->valuestring, tags[i].tag)) {
			e->tag = id ? tags[i].named : tags[i].owner;
			return 0;
		}
	}
	return refuse(p, &(struct at){ at, "tag", 0 }, "wants \"user\", \"group\", \"mask\" or \"other\"");
}

static int take_acl(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest_node *node)
{
	const cJSON *item;
	int r = want_array(p, at, value);
	size_t allocated = 0;

	if (r < 0)
		return r;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, NULL, (int)node->acl_n };
		struct rd_acl_entry entry = { 0 };

		r = take_acl_entry(p, &here, item, &entry);
		if (r < 0)
			return r;
		RD_GROW(node->acl, node->acl_n, allocated);
		node->acl[node->acl_n++] = entry;
	}
	return 0;
}

static int take_open(struct parse *p, const struct at *at, const cJSON *value, int *ret)
{
	if (cJSON_IsString(value) && rd_streq(value->valuestring, "ok")) {
		*ret = 0;
		return 0;
	}
	return take_errno(p, at, value, ret);
}

static int take_node_type(struct parse *p, const struct at *at, const cJSON *value, enum rd_stat_type *ret)
{
	const char *type = cJSON_IsString(value) ? value->valuestring : "";

	if (rd_streq(type, "char"))
		*ret = RD_STAT_CHAR;
	else if (rd_streq(type, "block"))
		*ret = RD_STAT_BLOCK;
	else
		return refuse(p, at, "wants \"char\" or \"block\"");
	return 0;
}

static int take_node_field(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest_node *node)
{
	const struct {
		const char *key;
		uint32_t *ret;
	} numbers[] = {
		{ "uid", &node->stat.uid },
		{ "gid", &node->stat.gid },
		{ "major", &node->stat.major },
		{ "minor", &node->stat.minor },
	};

	if (rd_streq(at->key, "type"))
		return take_node_type(p, at, value, &node->stat.type);
	if (rd_streq(at->key, "mode"))
		return take_mode(p, at, value, &node->stat.mode);
	if (rd_streq(at->key, "open"))
		return take_open(p, at, value, &node->open);
	if (rd_streq(at->key, "acl"))
		return take_acl(p, at, value, node);
	for (size_t i = 0; i < RD_ARRAY_SIZE(numbers); i++)
		if (rd_streq(at->key, numbers[i].key))
			return take_uint(p, at, value, numbers[i].ret);
	return 0;
}

static int take_node(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest_node *node)
{
	static const char *const wanted[] = { "type", "mode", "uid", "gid" };
	const cJSON *item;
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	for (size_t i = 0; i < RD_ARRAY_SIZE(wanted); i++)
		if (!cJSON_HasObjectItem(value, wanted[i]) || !cJSON_GetObjectItemCaseSensitive(value, wanted[i]))
			return refuse(p, &(struct at){ at, wanted[i], 0 }, "is not there");
	cJSON_ArrayForEach (item, value) {
		r = take_node_field(p, &(struct at){ at, item->string, 0 }, item, node);
		if (r < 0)
			return r;
	}
	return take_path(p, at, at->key, &node->path);
}

static int take_nodes(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	size_t allocated = 0;
	const cJSON *item;
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	m->has_nodes = true;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, item->string, 0 };
		struct rd_manifest_node *node;

		RD_GROW(m->nodes, m->nodes_n, allocated);
		node = &m->nodes[m->nodes_n++];
		/* No file of a real file system has this identity. */
		*node = (struct rd_manifest_node){ .open = -ENODATA, .stat = { .dev = UINT64_MAX, .ino = m->nodes_n } };
		r = take_node(p, &here, item, node);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_environment(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const cJSON *item;
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	m->has_environment = true;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, item->string, 0 };

		if (!*item->string || strchr(item->string, '='))
			return refuse(p, &here, "no name of a variable");
		if (!cJSON_IsString(item))
			return refuse(p, &here, "wants a string");
		rd_strv_pushf(&m->environment, "%s=%s", item->string, item->valuestring);
	}
	rd_strv_sort(&m->environment);
	return 0;
}

static int take_kmsg(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	const cJSON *item;
	int index = 0, r = want_array(p, at, value);

	if (r < 0)
		return r;
	cJSON_ArrayForEach (item, value) {
		struct at here = { at, NULL, index++ };

		if (!cJSON_IsString(item)) {
			rd_strbuf_release(&sb);
			return refuse(p, &here, "wants a string");
		}
		rd_strbuf_addf(&sb, "%s\n", item->valuestring);
	}
	m->kmsg = rd_strbuf_detach(&sb);
	return 0;
}

static int take_uname(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const struct {
		const char *key;
		char **ret;
	} fields[] = {
		{ "release", &m->uname.release },
		{ "version", &m->uname.version },
		{ "machine", &m->uname.machine },
	};
	int r = want_object(p, at, value);

	if (r < 0)
		return r;
	m->has_uname = true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(fields); i++) {
		const cJSON *field = cJSON_GetObjectItemCaseSensitive(value, fields[i].key);

		if (!field)
			*fields[i].ret = rd_xstrdup("");
		else
			r = take_string(p, &(struct at){ at, fields[i].key, 0 }, field, fields[i].ret);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A number of a user or group, and the name that may stand beside it. */
static int take_identity(struct parse *p, const struct at *at, const cJSON *value, const char *key, uint32_t *ret_id,
                         char **ret_name)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(value, key);
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(value, "name");
	int r = want_object(p, at, value);

	if (r == 0)
		r = take_uint(p, &(struct at){ at, key, 0 }, id, ret_id);
	if (r == 0 && name && !cJSON_IsNull(name))
		r = take_string(p, &(struct at){ at, "name", 0 }, name, ret_name);
	return r;
}

static int take_user(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const cJSON *groups = cJSON_GetObjectItemCaseSensitive(value, "groups"), *item;
	struct at at_groups = { at, "groups", 0 };
	struct rd_user *user = &m->user;
	int r = take_identity(p, at, value, "uid", &user->uid, &user->name);

	m->has_user = true;
	if (r == 0)
		r = take_uint(p, &(struct at){ at, "gid", 0 }, cJSON_GetObjectItemCaseSensitive(value, "gid"), &user->gid);
	if (r == 0 && groups)
		r = want_array(p, &at_groups, groups);
	if (r < 0)
		return r;
	user->groups = rd_xcalloc((size_t)cJSON_GetArraySize(groups) + 1, sizeof(*user->groups));
	cJSON_ArrayForEach (item, groups) {
		struct rd_user_group *g = &user->groups[user->groups_n];
		struct at here = { &at_groups, NULL, (int)user->groups_n };

		user->groups_n++;
		r = take_identity(p, &here, item, "gid", &g->gid, &g->name);
		if (r < 0)
			return r;
	}
	/* The primary group counts, whether listed or not. */
	for (size_t i = 0; i < user->groups_n; i++)
		if (user->groups[i].gid == user->gid)
			return 0;
	user->groups[user->groups_n++] = (struct rd_user_group){ .gid = user->gid };
	return 0;
}

static int take_rlimits(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	const cJSON *memlock = cJSON_GetObjectItemCaseSensitive(value, "memlock");
	int r = want_object(p, at, value);
	double d;

	if (r < 0 || !memlock)
		return r;
	d = cJSON_IsNumber(memlock) ? memlock->valuedouble : -2;
	if (!(d >= -1 && d <= 0x1p64) || floor(d) != d)
		return refuse(p, &(struct at){ at, "memlock", 0 }, "wants bytes, or -1 for no limit");
	m->has_memlock = true;
	m->memlock = d == -1 || d >= 0x1p63 ? INT64_MAX : (int64_t)d;
	return 0;
}

static int take_schema(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	(void)m;
	if (!cJSON_IsString(value) || !rd_streq(value->valuestring, RD_MANIFEST_SCHEMA))
		return refuse(p, at, "this program reads \"" RD_MANIFEST_SCHEMA "\"");
	return 0;
}

static int take_taken(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m)
{
	(void)m;
	return cJSON_IsString(value) ? 0 : refuse(p, at, "wants a string");
}

static const struct {
	const char *key;
	int (*take)(struct parse *p, const struct at *at, const cJSON *value, struct rd_manifest *m);
} sections[] = {
	{ "schema", take_schema },
	{ "taken", take_taken },
	{ "uname", take_uname },
	{ "environment", take_environment },
	{ "user", take_user },
	{ "rlimits", take_rlimits },
	{ "nodes", take_nodes },
	{ "kmsg", take_kmsg },
	{ "unreadable", take_unreadable },
	{ "missing", take_missing },
};

/* Keys that are not in the table are of a later release of the same schema, which only adds. */
static int take_all(struct parse *p, const cJSON *root, struct rd_manifest *m)
{
	int r = want_object(p, NULL, root);

	if (r == 0)
		r = refuse_duplicates(p, NULL, root);
	for (size_t i = 0; r == 0 && i < RD_ARRAY_SIZE(sections); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(root, sections[i].key);

		if (value)
			r = sections[i].take(p, &(struct at){ NULL, sections[i].key, 0 }, value, m);
	}
	return r;
}

/* Line and column of the byte at which cJSON gave up. */
static int refuse_syntax(struct parse *p, const char *text, const char *end)
{
	size_t line = 1, column = 1;

	for (const char *c = text; end && c < end && *c; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	return rd_error_set(p->err, -EINVAL, "bad '%s': not JSON at line %zu, column %zu", p->name, line, column);
}

int rd_manifest_parse(const char *text, size_t len, const char *name, struct rd_manifest **ret, struct rd_error *err)
{
	struct parse p = { .name = name, .err = err };
	const char *reason, *end = NULL;
	struct rd_pool pool = RD_POOL_INIT(65536);
	cJSON *root, *slow = NULL;
	struct rd_manifest *m;
	int r;

	reason = judge_text(text, len);
	if (reason)
		return refuse(&p, NULL, reason);
	root = rd_json_read_quickly(rd_pool_strndup(&pool, text, len), &pool);
	if (!root)
		root = slow = cJSON_ParseWithLengthOpts(text, len + 1, &end, true);
	if (!root) {
		rd_pool_clear(&pool);
		return refuse_syntax(&p, text, end);
	}
	m = rd_xcalloc(1, sizeof(*m));
	r = take_all(&p, root, m);
	cJSON_Delete(slow);
	rd_pool_clear(&pool);
	if (r < 0) {
		rd_manifest_free(m);
		return r;
	}
	rd_manifest_sort(m);
	*ret = m;
	return 0;
}

void rd_user_clear(struct rd_user *user)
{
	for (size_t i = 0; i < user->groups_n; i++)
		free(user->groups[i].name);
	free(user->groups);
	free(user->name);
	*user = (struct rd_user){ 0 };
}

struct rd_manifest *rd_manifest_free(struct rd_manifest *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->nodes_n; i++) {
		free(m->nodes[i].path);
		free(m->nodes[i].acl);
	}
	for (size_t i = 0; i < m->unreadable_n; i++)
		free(m->unreadable[i].path);
	free(m->nodes);
	free(m->unreadable);
	free(m->kmsg);
	free(m->uname.release);
	free(m->uname.version);
	free(m->uname.machine);
	rd_strv_clear(&m->missing);
	rd_strv_clear(&m->environment);
	rd_user_clear(&m->user);
	free(m);
	return NULL;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct rd_manifest_node *)a)->path, ((const struct rd_manifest_node *)b)->path);
}

static int compare_error_paths(const void *a, const void *b)
{
	return strcmp(((const struct rd_manifest_error *)a)->path, ((const struct rd_manifest_error *)b)->path);
}

/* Of several for one path the first one given is first. */
static int compare_errors(const void *a, const void *b)
{
	const struct rd_manifest_error *x = a, *y = b;
	int r = compare_error_paths(a, b);

	return r ? r : (x->order > y->order) - (x->order < y->order);
}

void rd_manifest_sort(struct rd_manifest *m)
{
	size_t n = 0;

	rd_strv_sort(&m->missing);
	if (m->nodes_n)
		qsort(m->nodes, m->nodes_n, sizeof(*m->nodes), compare_nodes);
	if (m->unreadable_n)
		qsort(m->unreadable, m->unreadable_n, sizeof(*m->unreadable), compare_errors);
	for (size_t i = 0; i < m->unreadable_n; i++) {
		if (n && rd_streq(m->unreadable[n - 1].path, m->unreadable[i].path))
			free(m->unreadable[i].path);
		else
			m->unreadable[n++] = m->unreadable[i];
	}
	m->unreadable_n = n;
}

void rd_manifest_add_unreadable(struct rd_manifest *m, const char *path, int error)
{
	RD_GROW(m->unreadable, m->unreadable_n, m->unreadable_allocated);
	m->unreadable[m->unreadable_n] = (struct rd_manifest_error){ rd_xstrdup(path), error, m->unreadable_n };
	m->unreadable_n++;
}

const struct rd_manifest_node *rd_manifest_node(const struct rd_manifest *m, const char *path)
{
	struct rd_manifest_node key = { .path = (char *)path };

	if (!m || !m->nodes_n)
		return NULL;
	return bsearch(&key, m->nodes, m->nodes_n, sizeof(*m->nodes), compare_nodes);
}

/* The first node whose path follows "@dir/" in the order of bytes: those in the folder are there, in one row. */
static size_t first_below(const struct rd_manifest *m, const char *dir, size_t len)
{
	size_t low = 0, high = m->nodes_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = strncmp(m->nodes[middle].path, dir, len);

		if (c < 0 || (c == 0 && (unsigned char)m->nodes[middle].path[len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What follows the folder and "/" in the path of a node; NULL where the node is not in it. */
static const char *below(const struct rd_manifest *m, size_t i, const char *dir, size_t len)
{
	const char *path = i < m->nodes_n ? m->nodes[i].path : "";

	return strncmp(path, dir, len) == 0 && path[len] == '/' && path[len + 1] ? path + len + 1 : NULL;
}

static size_t folder_length(const char *dir)
{
	return rd_streq(dir, "/") ? 0 : strlen(dir);
}

bool rd_manifest_has_nodes_in(const struct rd_manifest *m, const char *dir)
{
	size_t len = folder_length(dir);

	return m && below(m, first_below(m, dir, len), dir, len);
}

void rd_manifest_node_names(const struct rd_manifest *m, const char *dir, struct rd_strv *ret)
{
	size_t len = folder_length(dir);
	const char *path;

	for (size_t i = m ? first_below(m, dir, len) : 0; m && (path = below(m, i, dir, len)); i++) {
		rd_auto_free char *name = rd_xstrndup(path, strcspn(path, "/"));

		rd_strv_push_unique(ret, name);
	}
}

/* Shortens @path to the folder above it; false at the root. */
static bool up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == path)
		return false;
	*slash = '\0';
	return true;
}

int rd_manifest_unreadable(const struct rd_manifest *m, const char *path, bool above)
{
	rd_auto_free char *copy = NULL;

	if (!m || !m->unreadable_n)
		return 0;
	copy = rd_xstrdup(path);
	do {
		struct rd_manifest_error key = { .path = copy };
		struct rd_manifest_error *found =
			bsearch(&key, m->unreadable, m->unreadable_n, sizeof(*m->unreadable), compare_error_paths);

		if (found)
			return found->error;
	} while (above && up(copy));
	return 0;
}

bool rd_manifest_is_missing(const struct rd_manifest *m, const char *path)
{
	rd_auto_free char *copy = NULL;

	if (!m || !m->missing.n)
		return false;
	copy = rd_xstrdup(path);
	do {
		if (bsearch(&copy, m->missing.v, m->missing.n, sizeof(*m->missing.v), compare_strings))
			return true;
	} while (up(copy));
	return false;
}
