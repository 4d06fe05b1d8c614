#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/embedded.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* A rule or table file larger than this is no rule or table file. */
#define FILE_MAX ((size_t)8 << 20)

static const char *const kinds[] = { "fixes", "profiles", "rules", "tables" };

static struct rd_knowledge_file *find_file(const struct rd_knowledge *k, const char *name)
{
	for (size_t i = 0; i < k->files_n; i++)
		if (rd_streq(k->files[i].name, name))
			return &k->files[i];
	return NULL;
}

static void forget_json(struct rd_knowledge_file *file)
{
	if (file->is_slow)
		cJSON_Delete(file->json);
	file->json = NULL;
}

static void forget_text(struct rd_knowledge_file *file)
{
	forget_json(file);
	if (file->origin)
		free((char *)file->text);
	free(file->origin);
}

/* Takes @text unless it was built in, without an origin. The same name again replaces what was there; empty text masks it. */
static void put_file(struct rd_knowledge *k, size_t turn, const char *name, const char *origin, const char *text)
{
	struct rd_knowledge_file *file = find_file(k, name);

	if (!file) {
		RD_GROW(k->files, k->files_n, k->files_allocated);
		file = &k->files[k->files_n++];
		*file = (struct rd_knowledge_file){ .name = rd_xstrdup(name) };
	} else {
		forget_text(file);
	}
	file->origin = origin ? rd_xstrdup(origin) : NULL;
	file->turn = turn;
	file->text = text;
}

/* Built-in text is read quickly. Its strings are in @texts, and all else in @values. */
static bool read_quickly(struct rd_knowledge_file *file, struct rd_pool *texts, struct rd_pool *values)
{
	file->json = rd_json_read_quickly(rd_pool_strdup(texts, file->text), values);
	return file->json;
}

static bool is_trusted(const struct rd_knowledge *k, const struct rd_knowledge_file *file)
{
	return !file->origin && !k->strict;
}

static int by_name(const void *a, const void *b)
{
	const struct rd_knowledge_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* As root, a file or folder that another user could write would be that user's say in a root process. */
static int check_owner(int fd, const char *path, struct rd_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return rd_error_set(err, -errno, "cannot look at '%s': %s", path, rd_strerror(errno));
	if (geteuid() == 0 && (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH) && !S_ISCHR(st.st_mode))))
		return rd_error_set(err, -EPERM, "'%s' can be written by others than root; not read as root", path);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode) && !S_ISDIR(st.st_mode))
		return rd_error_set(err, -EINVAL, "'%s' is no regular file", path);
	return 0;
}

static int read_file(const char *path, char **ret, struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char buf[65536];
	ssize_t n;
	int r;

	if (fd < 0)
		return rd_error_set(err, -errno, "cannot open '%s': %s", path, rd_strerror(errno));
	r = check_owner(fd, path, err);
	if (r < 0)
		return r;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		rd_strbuf_addn(&sb, buf, (size_t)n);
		if (sb.len > FILE_MAX)
			return rd_error_set(err, -EFBIG, "'%s' is larger than is read", path);
	}
	if (n < 0)
		return rd_error_set(err, -errno, "cannot read '%s': %s", path, rd_strerror(errno));
	if (strlen(sb.buf) != sb.len)
		return rd_error_set(err, -EINVAL, "'%s' has a NUL byte", path);
	*ret = rd_strbuf_detach(&sb);
	return 0;
}

/* All *.json of one kind's folder. A folder that is not there is fine. */
static int read_folder(struct rd_knowledge *k, size_t turn, const char *dir, const char *kind, struct rd_error *err)
{
	rd_auto_free char *folder = rd_xasprintf("%s/%s", dir, kind);
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	const struct dirent *entry;
	DIR *d = opendir(folder);
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : rd_error_set(err, -errno, "cannot list '%s': %s", folder, rd_strerror(errno));
	r = check_owner(dirfd(d), folder, err);
	while ((entry = readdir(d)))
		if (rd_str_has_suffix(entry->d_name, ".json"))
			rd_strv_push(&names, entry->d_name);
	closedir(d);
	rd_strv_sort(&names);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", folder, names.v[i]);
		rd_auto_free char *name = rd_xasprintf("%s/%s", kind, names.v[i]);
		char *text;

		r = read_file(path, &text, err);
		if (r >= 0)
			put_file(k, turn, name, path, text);
	}
	return r;
}

static int read_files(struct rd_knowledge *k, const struct rd_strv *dirs, struct rd_error *err)
{
	int r = 0;

	for (const struct rd_embedded *e = rd_embedded_files; e->name; e++)
		put_file(k, 0, e->name, NULL, e->text);
	for (size_t i = 0; dirs && i < dirs->n; i++)
		for (size_t j = 0; j < RD_ARRAY_SIZE(kinds) && r >= 0; j++)
			r = read_folder(k, i + 1, dirs->v[i], kinds[j], err);
	k->turns_n = 1 + (dirs ? dirs->n : 0);
	if (k->files_n)
		qsort(k->files, k->files_n, sizeof(*k->files), by_name);
	return r;
}

static bool is_masked(const struct rd_knowledge_file *file)
{
	return !file->text[strspn(file->text, " \t\r\n")];
}

/* Twice in one file is a slip by which one of the two would be lost. */
static int twice(const char *origin, const char *kind, size_t index, const char *id, struct rd_error *err)
{
	return rd_error_set(err, -EEXIST, "%s: /%s/%zu/id: '%s' is the id of an earlier record of this file", origin, kind,
	                    index, id);
}

/* The same id again, in a later file, replaces the rule. */
static int put_rule(struct rd_knowledge *k, struct rd_rule *rule, size_t index, struct rd_error *err)
{
	for (size_t i = 0; i < k->rules_n; i++) {
		int r = 0;

		if (k->rules[i]->layer != rule->layer || !rd_streq(k->rules[i]->id, rule->id))
			continue;
		if (rd_streq(k->rules[i]->origin, rule->origin))
			r = twice(rule->origin, "rules", index, rule->id, err);
		k->rules[i] = rule;
		return r;
	}
	RD_GROW(k->rules, k->rules_n, k->rules_allocated);
	k->rules[k->rules_n++] = rule;
	return 0;
}

bool rd_knowledge_is_builtin(const struct rd_knowledge *k)
{
	for (size_t i = 0; i < k->files_n; i++)
		if (!is_trusted(k, &k->files[i]))
			return false;
	return true;
}

static const char *origin_of(const struct rd_knowledge_file *file)
{
	return file->origin ? file->origin : file->name;
}

static int check_schema(const struct rd_knowledge_file *file, const char *wanted, struct rd_error *err)
{
	const cJSON *schema = cJSON_GetObjectItemCaseSensitive(file->json, "schema");

	if (!cJSON_IsString(schema) || !rd_streq(schema->valuestring, wanted))
		return rd_error_set(err, -EINVAL, "%s: /schema: '%s' is wanted", origin_of(file), wanted);
	return 0;
}

static int put_fix(struct rd_knowledge *k, struct rd_fix *fix, size_t index, struct rd_error *err)
{
	for (size_t i = 0; i < k->fixes_n; i++) {
		int r = 0;

		if (!rd_streq(k->fixes[i]->id, fix->id))
			continue;
		if (rd_streq(k->fixes[i]->origin, fix->origin))
			r = twice(fix->origin, "fixes", index, fix->id, err);
		rd_fix_free(k->fixes[i]);
		k->fixes[i] = fix;
		return r;
	}
	RD_GROW(k->fixes, k->fixes_n, k->fixes_allocated);
	k->fixes[k->fixes_n++] = fix;
	return 0;
}

/* {"id": ..., "enabled": false} and no more: a rule that was loaded before is switched off as it is. */
static bool is_switch(const cJSON *json)
{
	return cJSON_IsObject(json) && cJSON_GetArraySize(json) == 2 &&
	       cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "id")) &&
	       cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(json, "enabled"));
}

static int switch_off(struct rd_knowledge *k, const cJSON *json, const char *origin, size_t index, struct rd_error *err)
{
	const char *id = cJSON_GetObjectItemCaseSensitive(json, "id")->valuestring;

	for (size_t i = 0; i < k->rules_n; i++) {
		if (!rd_streq(k->rules[i]->id, id))
			continue;
		k->rules[i]->enabled = false;
		return 0;
	}
	return rd_error_set(err, -ENOENT, "%s: /rules/%zu: no rule before it is called '%s'", origin, index, id);
}

static int put_record(struct rd_knowledge *k, const cJSON *json, const char *kind, const struct rd_knowledge_file *file,
                      size_t index, struct rd_error *err)
{
	rd_auto_free char *where = NULL;
	struct rd_rule *rule;
	struct rd_fix *fix;

	if (rd_streq(kind, "rules")) {
		if (!is_trusted(k, file) && is_switch(json))
			return switch_off(k, json, origin_of(file), index, err);
		rule = rd_rule_parse(&k->pool, json, origin_of(file), index, k->schema, is_trusted(k, file), err);
		return rule ? put_rule(k, rule, index, err) : -EINVAL;
	}
	where = rd_xasprintf("/fixes/%zu", index);
	fix = rd_fix_parse(json, origin_of(file), where, err);
	return fix ? put_fix(k, fix, index, err) : -EINVAL;
}

/* A file of rules or of fixes: {"schema": "rocm-doctor/KIND/1", KIND: [...]}. @values: for what is not kept of it */
static int load_file(struct rd_knowledge *k, struct rd_knowledge_file *file, const char *kind, struct rd_pool *values,
                     struct rd_error *err)
{
	const char *origin = origin_of(file);
	rd_auto_free char *schema = rd_xasprintf("rocm-doctor/%s/1", kind);
	const cJSON *records, *child;
	size_t index = 0;

	file->is_slow = !is_trusted(k, file) || !read_quickly(file, &k->pool, values);
	if (file->is_slow)
		file->json = rd_json_parse(file->text, origin, err);
	if (!file->json || check_schema(file, schema, err) < 0)
		return -EINVAL;
	records = cJSON_GetObjectItemCaseSensitive(file->json, kind);
	if (!cJSON_IsArray(records))
		return rd_error_set(err, -EINVAL, "%s: /%s: an array is wanted", origin, kind);
	cJSON_ArrayForEach (child, file->json) {
		if (!rd_streq(child->string, "schema") && !rd_streq(child->string, kind))
			return rd_error_set(err, -EINVAL, "%s: /%s: no such key in a file of %s", origin, child->string, kind);
	}
	cJSON_ArrayForEach (child, records) {
		if (put_record(k, child, kind, file, index++, err) < 0)
			return -EINVAL;
	}
	/* Records of a trusted file keep their texts there, the others have copies. */
	if (!is_trusted(k, file) || !file->is_slow)
		forget_json(file);
	return 0;
}

static int by_layer_and_id(const void *a, const void *b)
{
	const struct rd_rule *x = *(struct rd_rule *const *)a, *y = *(struct rd_rule *const *)b;

	return x->layer != y->layer ? (int)x->layer - (int)y->layer : strcmp(x->id, y->id);
}

static int by_fix_id(const void *a, const void *b)
{
	return strcmp((*(struct rd_fix *const *)a)->id, (*(struct rd_fix *const *)b)->id);
}

static bool is_of_kind(const struct rd_knowledge_file *file, const char *kind)
{
	return rd_str_has_prefix(file->name, kind) && file->name[strlen(kind)] == '/' && !is_masked(file);
}

static int load_kind(struct rd_knowledge *k, const char *kind, struct rd_error *err)
{
	struct rd_pool values = RD_POOL_INIT(65536);
	int r = 0;

	for (size_t turn = 0; turn < k->turns_n; turn++)
		for (size_t i = 0; i < k->files_n && r >= 0; i++)
			if (k->files[i].turn == turn && is_of_kind(&k->files[i], kind))
				r = load_file(k, &k->files[i], kind, &values, err);
	rd_pool_clear(&values);
	return r;
}

static int load_schema(struct rd_knowledge *k, struct rd_error *err)
{
	return k->schema ? 0 : rd_schema_new(rd_probes, rd_probes_n, &k->schema, err);
}

/* At the load, or once they are wanted where all is built in. */
static int load_rules(struct rd_knowledge *k, struct rd_error *err)
{
	int r = load_schema(k, err);

	if (k->has_rules || r < 0)
		return r;
	k->has_rules = true;
	r = load_kind(k, "rules", err);
	if (k->rules_n)
		qsort(k->rules, k->rules_n, sizeof(*k->rules), by_layer_and_id);
	return r < 0 ? r : rd_knowledge_connect(k, err);
}

/* Likewise. */
static int load_fixes(struct rd_knowledge *k, struct rd_error *err)
{
	int r = k->has_fixes ? 0 : load_kind(k, "fixes", err);

	if (!k->has_fixes && k->fixes_n)
		qsort(k->fixes, k->fixes_n, sizeof(*k->fixes), by_fix_id);
	k->has_fixes = true;
	return r;
}

/* What is built in was judged by the tests: if it is wrong, so is the program, and it must not pass a host as healthy. */
static const struct rd_knowledge *loaded(const struct rd_knowledge *k, int (*load)(struct rd_knowledge *, struct rd_error *))
{
	struct rd_error err = RD_ERROR_INIT;

	if (load((struct rd_knowledge *)k, &err) < 0) {
		fprintf(stderr, "rocm-doctor: %s\n", err.message);
		abort();
	}
	return k;
}

void rd_knowledge_prepare(const struct rd_knowledge *k)
{
	loaded(k, load_rules);
}

/* A fix must fit every rule that names it. One that is not there yet is lint's business. */
static int check_fixes(const struct rd_knowledge *k, struct rd_error *err)
{
	int r = 0;

	for (size_t i = 0; i < k->rules_n; i++) {
		const struct rd_rule *rule = k->rules[i];

		for (size_t j = 0; rule->fixes[j] && r >= 0; j++) {
			const struct rd_fix *fix = rd_knowledge_fix(k, rule->fixes[j]);

			r = fix ? rd_fix_check(k, rule, fix, err) : 0;
		}
	}
	return r;
}

/* The newest date that a table carries; the tables need not be parsed for it. */
static void find_version(struct rd_knowledge *k)
{
	k->version = rd_xstrdup("");
	for (size_t i = 0; i < k->files_n; i++) {
		const char *at = rd_str_has_prefix(k->files[i].name, "tables/") ? strstr(k->files[i].text, "\"as_of\"") : NULL;
		char date[11];

		if (at && sscanf(at, "\"as_of\" : \"%10[0-9-]\"", date) == 1 && strcmp(date, k->version) > 0) {
			free(k->version);
			k->version = rd_xstrdup(date);
		}
	}
}

static int load_records(struct rd_knowledge *k, struct rd_error *err)
{
	int r = load_rules(k, err);

	if (r >= 0)
		r = load_fixes(k, err);
	return r < 0 ? r : check_fixes(k, err);
}

static const char *embedded_text(const char *name)
{
	for (const struct rd_embedded *e = rd_embedded_files; e->name; e++)
		if (rd_streq(e->name, name))
			return e->text;
	return NULL;
}

/* What has the name of something in the built-in file is of its type: else it would not be found there. */
static int check_types(const struct rd_knowledge_file *file, const cJSON *builtin, struct rd_error *err)
{
	const cJSON *child, *twin;

	cJSON_ArrayForEach (child, file->json) {
		twin = cJSON_GetObjectItemCaseSensitive(builtin, child->string);
		if (twin && (cJSON_IsArray(child) != cJSON_IsArray(twin) || cJSON_IsObject(child) != cJSON_IsObject(twin)))
			return rd_error_set(err, -EINVAL, "%s: /%s: %s is wanted", file->origin, child->string,
			                    cJSON_IsArray(twin)    ? "an array"
			                    : cJSON_IsObject(twin) ? "an object"
			                                           : "one value");
	}
	return 0;
}

/*
 * A table or profile of a site. One that cannot be read would be a table without rows, by which every host is healthy. All else
 * that may be wrong in one is left to who reads it.
 */
static int check_data(struct rd_knowledge_file *file, const char *schema, struct rd_error *err)
{
	const char *text = embedded_text(file->name);
	struct rd_pool pool = RD_POOL_INIT(65536);
	int r;

	file->json = rd_json_parse(file->text, file->origin, err);
	file->is_slow = true;
	r = file->json ? check_schema(file, schema, err) : -EINVAL;
	if (r >= 0 && text)
		r = check_types(file, rd_json_read_quickly(rd_pool_strdup(&pool, text), &pool), err);
	rd_pool_clear(&pool);
	return r;
}

static int check_all_data(struct rd_knowledge *k, struct rd_error *err)
{
	int r = 0;

	for (size_t i = 0; i < k->files_n && r >= 0; i++) {
		struct rd_knowledge_file *file = &k->files[i];

		if (file->origin && is_of_kind(file, "tables"))
			r = check_data(file, "rocm-doctor/table/1", err);
		else if (file->origin && is_of_kind(file, "profiles"))
			r = check_data(file, "rocm-doctor/profile/1", err);
	}
	return r;
}

static int load(const struct rd_strv *dirs, bool strict, struct rd_knowledge **ret, struct rd_error *err)
{
	struct rd_knowledge *k = rd_xcalloc(1, sizeof(*k));
	int r;

	k->pool = (struct rd_pool)RD_POOL_INIT(65536);
	k->tables = (struct rd_pool)RD_POOL_INIT(65536);
	k->strict = strict;
	r = read_files(k, dirs, err);
	if (r >= 0)
		r = check_all_data(k, err);
	if (r >= 0 && !rd_knowledge_is_builtin(k))
		r = load_records(k, err);
	if (r < 0) {
		rd_knowledge_free(k);
		return r;
	}
	find_version(k);
	*ret = k;
	return 0;
}

int rd_knowledge_load(const struct rd_strv *dirs, struct rd_knowledge **ret, struct rd_error *err)
{
	return load(dirs, false, ret, err);
}

int rd_knowledge_load_strictly(const struct rd_strv *dirs, struct rd_knowledge **ret, struct rd_error *err)
{
	return load(dirs, true, ret, err);
}

struct rd_knowledge *rd_knowledge_free(struct rd_knowledge *k)
{
	if (!k)
		return NULL;
	for (size_t i = 0; i < k->files_n; i++) {
		forget_text(&k->files[i]);
		free(k->files[i].name);
	}
	rd_pool_clear(&k->pool);
	rd_pool_clear(&k->tables);
	for (size_t i = 0; i < k->fixes_n; i++)
		rd_fix_free(k->fixes[i]);
	free(k->files);
	free(k->rules);
	free(k->fixes);
	free(k->explains);
	free(k->order);
	free(k->version);
	rd_schema_free(k->schema);
	free(k);
	return NULL;
}

const struct rd_schema *rd_knowledge_schema(const struct rd_knowledge *k)
{
	return loaded(k, load_schema)->schema;
}

const char *rd_knowledge_version(const struct rd_knowledge *k)
{
	return k->version;
}

size_t rd_knowledge_rules(const struct rd_knowledge *k, const struct rd_rule *const **ret)
{
	*ret = (const struct rd_rule *const *)loaded(k, load_rules)->rules;
	return k->rules_n;
}

const struct rd_rule *rd_knowledge_rule(const struct rd_knowledge *k, const char *id)
{
	size_t i = rd_knowledge_rule_index(loaded(k, load_rules), id);

	return i < k->rules_n ? k->rules[i] : NULL;
}

size_t rd_knowledge_rule_index(const struct rd_knowledge *k, const char *id)
{
	struct rd_rule wanted = { .id = id }, *key = &wanted, **found;
	const char *slash = strchr(id, '/');
	rd_auto_free char *layer = slash ? rd_xstrndup(id, (size_t)(slash - id)) : NULL;

	if (!layer || !k->rules_n || rd_layer_parse(layer, &wanted.layer) < 0)
		return k->rules_n;
	found = bsearch(&key, k->rules, k->rules_n, sizeof(*k->rules), by_layer_and_id);
	return found ? (size_t)(found - k->rules) : k->rules_n;
}

const struct rd_fix *rd_knowledge_fix(const struct rd_knowledge *k, const char *id)
{
	loaded(k, load_fixes);
	for (size_t i = 0; i < k->fixes_n; i++)
		if (rd_streq(k->fixes[i]->id, id))
			return k->fixes[i];
	return NULL;
}

size_t rd_knowledge_fixes(const struct rd_knowledge *k, const struct rd_fix *const **ret)
{
	*ret = (const struct rd_fix *const *)loaded(k, load_fixes)->fixes;
	return k->fixes_n;
}

/* Where "KIND/NAME.json" stands beside the name of a file, without the text of it. */
static int by_kind_and_name(const void *key, const void *b)
{
	const char *const *wanted = key, *name = ((const struct rd_knowledge_file *)b)->name;
	const char *const parts[] = { wanted[0], "/", wanted[1], ".json" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(parts); i++) {
		size_t n = strlen(parts[i]);
		int order = strncmp(parts[i], name, n);

		if (order)
			return order;
		name += n;
	}
	return *name ? -1 : 0;
}

static const cJSON *get_json(const struct rd_knowledge *k, const char *kind, const char *name)
{
	const char *const wanted[] = { kind, name };
	struct rd_knowledge_file *file = bsearch(wanted, k->files, k->files_n, sizeof(*k->files), by_kind_and_name);

	if (!file || is_masked(file))
		return NULL;
	if (file->json)
		return file->json;
	file->is_slow = file->origin || !read_quickly(file, (struct rd_pool *)&k->tables, (struct rd_pool *)&k->tables);
	if (file->is_slow)
		file->json = cJSON_Parse(file->text);
	return file->json;
}

const cJSON *rd_knowledge_table(const struct rd_knowledge *k, const char *name)
{
	return k ? get_json(k, "tables", name) : NULL;
}

const cJSON *rd_knowledge_rows(const struct rd_knowledge *k, const char *table, const char *list)
{
	return cJSON_GetObjectItemCaseSensitive(rd_knowledge_table(k, table), list);
}

const cJSON *rd_knowledge_profile(const struct rd_knowledge *k, const char *name)
{
	return k ? get_json(k, "profiles", name) : NULL;
}

void rd_knowledge_profiles(const struct rd_knowledge *k, struct rd_strv *ret)
{
	for (size_t i = 0; i < k->files_n; i++) {
		const char *name = k->files[i].name;
		size_t prefix = strlen("profiles/");

		if (rd_str_has_prefix(name, "profiles/") && !is_masked(&k->files[i]))
			rd_strv_push_take(ret, rd_xstrndup(name + prefix, strlen(name) - prefix - strlen(".json")));
	}
}
