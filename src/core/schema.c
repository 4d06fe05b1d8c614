#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/schema.h"
#include "util/pool.h"
#include "util/strbuf.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

struct rd_schema {
	struct rd_pool *pool; /* of the whole tree */
	const char *name;
	size_t name_len;
	enum rd_kind kind;
	const struct rd_fact_decl *decl;
	const struct rd_probe *probe;
	struct rd_schema **children;
	size_t n, allocated;
};

static const struct rd_schema *find(const struct rd_schema *at, const char *name, size_t len)
{
	/* From the end: declarations stand together, and most often the newest is meant. */
	for (size_t i = at->n; i-- > 0;)
		if (at->children[i]->name_len == len && memcmp(at->children[i]->name, name, len) == 0)
			return at->children[i];
	return NULL;
}

/* How far the name reaches with which a path begins. */
static size_t name_length(const char *path)
{
	size_t n = 0;

	while (path[n] && path[n] != '.' && path[n] != '[' && path[n] != '{')
		n++;
	return n;
}

static struct rd_schema *find_or_add(struct rd_schema *at, const char *name, size_t len)
{
	struct rd_schema *child = (struct rd_schema *)find(at, name, len);

	if (child)
		return child;
	child = rd_pool_alloc(at->pool, sizeof(*child));
	child->pool = at->pool;
	child->name = rd_pool_strndup(at->pool, name, len);
	child->name_len = len;
	if (at->n == at->allocated) {
		struct rd_schema **children;

		at->allocated = at->allocated ? 2 * at->allocated : 8;
		children = rd_pool_alloc(at->pool, at->allocated * sizeof(struct rd_schema *));
		if (at->n)
			memcpy(children, at->children, at->n * sizeof(struct rd_schema *));
		at->children = children;
	}
	at->children[at->n++] = child;
	return child;
}

/* What the marks behind a name say of it: the last one is of the declared kind, the others are steps. */
static enum rd_kind step_kind(const char *mark, const struct rd_fact_decl *decl)
{
	if (!strchr(mark, '.'))
		return decl->kind;
	return *mark == '[' ? RD_LIST : *mark == '{' ? RD_MAP : RD_OBJECT;
}

static int declare(struct rd_schema *at, const struct rd_fact_decl *decl, const struct rd_probe *probe, struct rd_error *err)
{
	const char *path = decl->path;

	while (*path) {
		size_t len = name_length(path);
		const char *mark = path + len;
		enum rd_kind kind = step_kind(mark, decl);

		at = find_or_add(at, path, len);
		if (at->kind && at->kind != kind && !(at->kind == RD_MAP && kind == RD_OBJECT))
			return rd_error_set(err, -EEXIST, "probe %s declares '%s' with another kind than %s", probe->name,
			                    decl->path, at->probe ? at->probe->name : "an earlier one");
		if (!at->kind)
			at->kind = kind;
		path = mark + (*mark == '[' || *mark == '{' ? 2 : 0);
		path += *path == '.';
	}
	if (!at->decl) {
		at->decl = decl;
		at->probe = probe;
	}
	return 0;
}

int rd_schema_new(const struct rd_probe *const *probes, size_t n, struct rd_schema **ret, struct rd_error *err)
{
	struct rd_pool *pool = rd_xmalloc(sizeof(*pool));
	struct rd_schema *root;
	int r = 0;

	*pool = (struct rd_pool)RD_POOL_INIT(65536);
	root = rd_pool_alloc(pool, sizeof(*root));
	root->pool = pool;
	root->name = "";
	root->kind = RD_OBJECT;
	for (size_t i = 0; i < n && r >= 0; i++)
		for (const struct rd_fact_decl *d = probes[i]->facts; d && d->path && r >= 0; d++)
			r = declare(root, d, probes[i], err);
	if (r < 0) {
		rd_schema_free(root);
		return r;
	}
	*ret = root;
	return 0;
}

struct rd_schema *rd_schema_free(struct rd_schema *schema)
{
	struct rd_pool *pool = schema ? schema->pool : NULL;

	if (pool)
		rd_pool_clear(pool);
	free(pool);
	return NULL;
}

const struct rd_schema *rd_schema_root(const struct rd_schema *schema)
{
	return schema;
}

const struct rd_schema *rd_schema_child(const struct rd_schema *at, const char *name)
{
	return find(at, name, strlen(name));
}

enum rd_kind rd_schema_kind(const struct rd_schema *at)
{
	return at->kind;
}

enum rd_version_scheme rd_schema_scheme(const struct rd_schema *at)
{
	return at->decl ? at->decl->scheme : RD_VERSION_NONE;
}

const struct rd_fact_decl *rd_schema_decl(const struct rd_schema *at)
{
	return at->decl;
}

const struct rd_probe *rd_schema_probe(const struct rd_schema *at)
{
	return at->probe;
}

size_t rd_schema_count(const struct rd_schema *at)
{
	return at->n;
}

const struct rd_schema *rd_schema_at(const struct rd_schema *at, size_t index)
{
	return index < at->n ? at->children[index] : NULL;
}

const char *rd_schema_name(const struct rd_schema *at)
{
	return at->name;
}

const struct rd_schema *rd_schema_lookup(const struct rd_schema *root, const char *path)
{
	const struct rd_schema *at = root;

	while (at && *path) {
		size_t len = name_length(path);

		if (len)
			at = find(at, path, len);
		path += len;
		while (*path == '[' || *path == '{')
			path += strcspn(path, "]}") + (path[strcspn(path, "]}")] != '\0');
		path += *path == '.';
	}
	return at;
}

void rd_schema_walk(const struct rd_schema *root, void (*visit)(const struct rd_schema *at, void *data), void *data)
{
	for (size_t i = 0; i < root->n; i++) {
		if (root->children[i]->decl)
			visit(root->children[i], data);
		rd_schema_walk(root->children[i], visit, data);
	}
}

/* Facts from the JSON of a rule test. */

static int from_json(struct rd_fact *at, const char *path, const cJSON *json, const struct rd_schema *schema,
                     struct rd_error *err);

static int object_from_json(struct rd_fact *at, const char *prefix, const cJSON *json, const struct rd_schema *schema,
                            struct rd_error *err)
{
	const cJSON *child;

	cJSON_ArrayForEach (child, json) {
		const struct rd_schema *below = rd_schema_child(schema, child->string);
		char *path = rd_xasprintf("%s%s%s", prefix, *prefix ? "." : "", child->string);
		int r;

		if (!below && schema->kind == RD_MAP && cJSON_IsString(child)) {
			rd_fact_set_entry(at, prefix, child->string, child->valuestring, "test");
			r = 0;
		} else if (!below) {
			r = rd_error_set(err, -EINVAL, "no fact '%s'", path);
		} else {
			r = from_json(at, path, child, below, err);
		}
		free(path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int list_from_json(struct rd_fact *at, const char *path, const cJSON *json, const struct rd_schema *schema,
                          struct rd_error *err)
{
	const cJSON *child;
	int r = 0;

	rd_fact_set_list(at, path, "test");
	cJSON_ArrayForEach (child, json) {
		if (schema->kind == RD_STRS && cJSON_IsString(child))
			rd_fact_append_str(at, path, child->valuestring, "test");
		else if (schema->kind == RD_LIST && cJSON_IsObject(child))
			r = object_from_json(rd_fact_append(at, path, "test"), "", child, schema, err);
		else
			r = rd_error_set(err, -EINVAL, "'%s' has an item of another kind", path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int from_json(struct rd_fact *at, const char *path, const cJSON *json, const struct rd_schema *schema,
                     struct rd_error *err)
{
	enum rd_kind kind = schema->kind;

	if (cJSON_IsNull(json))
		rd_fact_set_unknown_why(at, path, "unknown in this test", "test");
	else if (kind == RD_BOOL && cJSON_IsBool(json))
		rd_fact_set_bool(at, path, cJSON_IsTrue(json), "test");
	else if (kind == RD_INT && cJSON_IsNumber(json))
		rd_fact_set_int(at, path, json->valuedouble >= 9223372036854775807.0 ? INT64_MAX : (int64_t)json->valuedouble,
		                "test");
	else if (kind == RD_REAL && cJSON_IsNumber(json))
		rd_fact_set_real(at, path, json->valuedouble, "test");
	else if (kind == RD_STR && cJSON_IsString(json))
		rd_fact_set_str(at, path, json->valuestring, "test");
	else if ((kind == RD_STRS || kind == RD_LIST) && cJSON_IsArray(json))
		return list_from_json(at, path, json, schema, err);
	else if ((kind == RD_OBJECT || kind == RD_MAP) && cJSON_IsObject(json)) {
		if (kind == RD_MAP)
			rd_fact_set_map(at, path, "test");
		return object_from_json(at, path, json, schema, err);
	} else
		return rd_error_set(err, -EINVAL, "'%s' is of another kind", path);
	return 0;
}

int rd_facts_from_json(struct rd_fact *root, const cJSON *json, const struct rd_schema *schema, struct rd_error *err)
{
	if (!cJSON_IsObject(json))
		return rd_error_set(err, -EINVAL, "facts are not an object");
	return object_from_json(root, "", json, schema, err);
}

static bool kind_fits(enum rd_kind declared, enum rd_kind set)
{
	return declared == set || (declared == RD_STRS && set == RD_LIST) || (declared == RD_REAL && set == RD_INT);
}

void rd_facts_undeclared(const struct rd_fact *root, const struct rd_schema *schema, struct rd_strv *ret)
{
	for (size_t i = 0; i < rd_fact_count(root); i++) {
		const struct rd_fact *child = rd_fact_at(root, i);
		bool is_item = rd_fact_kind(root) == RD_LIST || rd_fact_kind(root) == RD_STRS;
		const struct rd_schema *below = is_item ? schema : rd_schema_child(schema, rd_fact_name(child));
		bool fits;

		if (is_item)
			fits = rd_fact_kind(child) == (schema->kind == RD_STRS ? RD_STR : RD_OBJECT);
		else if (!below)
			fits = schema->kind == RD_MAP && rd_fact_kind(child) == RD_STR;
		else
			fits = rd_fact_state(child) != RD_FACT_KNOWN || kind_fits(below->kind, rd_fact_kind(child));
		if (!fits)
			rd_strv_push_take(ret, rd_fact_path(child));
		else if (below)
			rd_facts_undeclared(child, below, ret);
	}
}
