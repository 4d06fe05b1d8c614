#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/pool.h"
#include "util/str.h"
#include "util/xalloc.h"

struct parse {
	struct rd_rule *rule;
	const char *origin;
	size_t index; /* in its file */
	const struct rd_schema *schema, *item;
	bool trusted;
	struct rd_error *err;
};

/* A built-in text stays where it is. */
static const char *keep(const struct parse *p, const char *text)
{
	return p->trusted ? text : rd_pool_strdup(p->rule->pool, text);
}

static void *new_array(const struct parse *p, size_t n, size_t size)
{
	return rd_pool_alloc(p->rule->pool, n * size);
}

static int fail(const struct parse *p, const char *key, const char *what)
{
	return rd_error_set(p->err, -EINVAL, "%s: /rules/%zu/%s: %s", p->origin, p->index, key, what);
}

const char *rd_severity_name(enum rd_severity severity)
{
	static const char *const names[] = { [RD_INFO] = "info", [RD_WARNING] = "warning", [RD_ERROR] = "error" };

	return names[severity];
}

static const char *const subject_kinds[] = {
	[RD_SUBJECT_HOST] = "host",           [RD_SUBJECT_GPU] = "gpu",   [RD_SUBJECT_ENVIRONMENT] = "environment",
	[RD_SUBJECT_ENGINE] = "engine",       [RD_SUBJECT_FILE] = "file", [RD_SUBJECT_PACKAGE] = "package",
	[RD_SUBJECT_ROCM_ROOT] = "rocm-root",
};

const char *rd_subject_kind_name(enum rd_subject_kind kind)
{
	return subject_kinds[kind];
}

/* An id is "layer/slug" of lower-case letters, digits and "-". */
static int parse_id(struct parse *p, const char *key, const cJSON *json)
{
	const char *slash;
	rd_auto_free char *layer = NULL;

	if (!cJSON_IsString(json))
		return fail(p, key, "a string is wanted");
	slash = strchr(json->valuestring, '/');
	if (!slash || !slash[1])
		return fail(p, key, "an id is 'layer/name'");
	layer = rd_xstrndup(json->valuestring, (size_t)(slash - json->valuestring));
	if (rd_layer_parse(layer, &p->rule->layer) < 0)
		return fail(p, key, "the id names no layer");
	for (const char *c = slash + 1; *c; c++)
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
			return fail(p, key, "an id has lower-case letters, digits and '-' only");
	p->rule->id = keep(p, json->valuestring);
	return 0;
}

static int parse_severity(struct parse *p, const char *key, const cJSON *json)
{
	for (int i = RD_INFO; i <= RD_ERROR; i++) {
		if (cJSON_IsString(json) && rd_streq(json->valuestring, rd_severity_name((enum rd_severity)i))) {
			p->rule->severity = (enum rd_severity)i;
			return 0;
		}
	}
	return fail(p, key, "'error', 'warning' or 'info' is wanted");
}

static int parse_flag(const struct parse *p, const char *key, const cJSON *json, bool *ret)
{
	if (!cJSON_IsBool(json))
		return fail(p, key, "true or false is wanted");
	*ret = cJSON_IsTrue(json);
	return 0;
}

static int parse_enabled(struct parse *p, const char *key, const cJSON *json)
{
	return parse_flag(p, key, json, &p->rule->enabled);
}

static int parse_summary(struct parse *p, const char *key, const cJSON *json)
{
	return parse_flag(p, key, json, &p->rule->summary);
}

/* Words the error of an expression or a template with the place it stands in. */
static int fail_below(const struct parse *p, const char *key, size_t index, bool is_array, struct rd_error *below)
{
	if (is_array)
		rd_error_set(p->err, -EINVAL, "%s: /rules/%zu/%s/%zu: %s", p->origin, p->index, key, index, below->message);
	else
		rd_error_set(p->err, -EINVAL, "%s: /rules/%zu/%s: %s", p->origin, p->index, key, below->message);
	rd_error_clear(below);
	return -EINVAL;
}

static int parse_for_each(struct parse *p, const char *key, const cJSON *json)
{
	struct rd_error below = RD_ERROR_INIT;

	if (!cJSON_IsString(json))
		return fail(p, key, "a string is wanted");
	p->rule->for_each = rd_expr_parse_path(p->rule->pool, json->valuestring, p->schema, NULL, &below);
	if (!p->rule->for_each)
		return fail_below(p, key, 0, false, &below);
	p->item = rd_expr_item_schema(p->rule->for_each);
	if (!p->item)
		return fail(p, key, "this names no list");
	p->rule->for_each_text = keep(p, json->valuestring);
	p->rule->item = p->item;
	return 0;
}

static int parse_subject_kind(struct parse *p, const char *key, const cJSON *json)
{
	for (size_t i = RD_SUBJECT_GPU; i < RD_ARRAY_SIZE(subject_kinds); i++) {
		if (cJSON_IsString(json) && rd_streq(json->valuestring, subject_kinds[i])) {
			p->rule->subject_kind = (enum rd_subject_kind)i;
			return 0;
		}
	}
	return fail(p, key, "'gpu', 'environment', 'engine', 'file', 'package' or 'rocm-root' is wanted");
}

/* A string, or an array of strings: how many, and each. */
static int count_strings(const struct parse *p, const char *key, const cJSON *json, size_t *ret)
{
	const cJSON *child;

	*ret = 0;
	if (cJSON_IsString(json)) {
		*ret = 1;
		return 0;
	}
	if (!cJSON_IsArray(json))
		return fail(p, key, "a string or an array of strings is wanted");
	cJSON_ArrayForEach (child, json) {
		if (!cJSON_IsString(child))
			return fail(p, key, "the array has something that is no string");
		++*ret;
	}
	return 0;
}

static const char *string_at(const cJSON *json, size_t index)
{
	return cJSON_IsString(json) ? json->valuestring : cJSON_GetArrayItem(json, (int)index)->valuestring;
}

static struct rd_template *template(const struct parse *p, const char *text, struct rd_error *err)
{
	if (p->trusted)
		return rd_template_new(p->rule->pool, text, p->schema, p->item);
	return rd_template_parse_in(p->rule->pool, text, p->schema, p->item, err);
}

static int parse_template(struct parse *p, const char *key, const cJSON *json, struct rd_template **ret)
{
	struct rd_error below = RD_ERROR_INIT;

	if (!cJSON_IsString(json))
		return fail(p, key, "a string is wanted");
	*ret = template(p, json->valuestring, &below);
	return *ret ? 0 : fail_below(p, key, 0, false, &below);
}

static int parse_templates(struct parse *p, const char *key, const cJSON *json, struct rd_template ***ret, size_t *ret_n)
{
	size_t n;
	int r = count_strings(p, key, json, &n);

	if (r < 0)
		return r;
	*ret = new_array(p, n, sizeof(**ret));
	for (; *ret_n < n; ++*ret_n) {
		struct rd_error below = RD_ERROR_INIT;

		(*ret)[*ret_n] = template(p, string_at(json, *ret_n), &below);
		if (!(*ret)[*ret_n])
			return fail_below(p, key, *ret_n, cJSON_IsArray(json), &below);
	}
	return 0;
}

static int parse_subject(struct parse *p, const char *key, const cJSON *json)
{
	return parse_template(p, key, json, &p->rule->subject);
}

static int parse_title(struct parse *p, const char *key, const cJSON *json)
{
	return parse_template(p, key, json, &p->rule->title);
}

static int parse_detail(struct parse *p, const char *key, const cJSON *json)
{
	return parse_template(p, key, json, &p->rule->detail);
}

static int parse_gpus(struct parse *p, const char *key, const cJSON *json)
{
	return parse_templates(p, key, json, &p->rule->gpus, &p->rule->gpus_n);
}

/* A sentence, or { "if": expression, "text": sentence }. */
static int parse_step(struct parse *p, const char *key, const cJSON *json)
{
	const cJSON *text = cJSON_IsObject(json) ? cJSON_GetObjectItemCaseSensitive(json, "text") : json;
	const cJSON *condition = cJSON_IsObject(json) ? cJSON_GetObjectItemCaseSensitive(json, "if") : NULL;
	struct rd_error below = RD_ERROR_INIT;
	struct rd_rule *rule = p->rule;
	size_t at = rule->next_n;

	if (!cJSON_IsString(text) || (cJSON_IsObject(json) && (!cJSON_IsString(condition) || cJSON_GetArraySize(json) != 2)))
		return fail(p, key, "a string is wanted, or an object of 'if' and 'text', both strings");
	rule->next[at] = template(p, text->valuestring, &below);
	if (rule->next[at] && condition && !p->trusted)
		rule->next_if[at] = rd_expr_parse_in(rule->pool, condition->valuestring, p->schema, p->item, &below);
	if (!rule->next[at] || (condition && !p->trusted && !rule->next_if[at]))
		return fail_below(p, key, at, true, &below);
	rule->next_if_text[at] = condition ? keep(p, condition->valuestring) : NULL;
	rule->next_n++;
	return 0;
}

static int parse_next(struct parse *p, const char *key, const cJSON *json)
{
	size_t n = cJSON_IsArray(json) ? (size_t)cJSON_GetArraySize(json) : 1;
	struct rd_rule *rule = p->rule;
	const cJSON *child;
	int r = 0;

	rule->next = new_array(p, n, sizeof(*rule->next));
	rule->next_if = new_array(p, n, sizeof(*rule->next_if));
	rule->next_if_text = new_array(p, n, sizeof(*rule->next_if_text));
	if (!cJSON_IsArray(json))
		return parse_step(p, key, json);
	cJSON_ArrayForEach (child, json)
		if (r >= 0)
			r = parse_step(p, key, child);
	return r;
}

const struct rd_expr *rd_rule_step_condition(const struct rd_rule *rule, size_t index)
{
	const char *text = rule->next_if_text[index];

	if (!rule->next_if[index] && text)
		rule->next_if[index] = rd_expr_parse_in(rule->pool, text, rule->schema, rule->item, NULL);
	return rule->next_if[index];
}

static int parse_when(struct parse *p, const char *key, const cJSON *json)
{
	struct rd_rule *rule = p->rule;
	size_t n;
	int r = count_strings(p, key, json, &n);

	if (r < 0)
		return r;
	if (!n)
		return fail(p, key, "a condition is wanted");
	rule->when = new_array(p, n, sizeof(*rule->when));
	rule->when_text = new_array(p, n, sizeof(*rule->when_text));
	for (; rule->when_n < n; rule->when_n++) {
		struct rd_error below = RD_ERROR_INIT;
		const char *text = string_at(json, rule->when_n);

		if (!p->trusted) {
			rule->when[rule->when_n] = rd_expr_parse_in(rule->pool, text, p->schema, p->item, &below);
			if (!rule->when[rule->when_n])
				return fail_below(p, key, rule->when_n, cJSON_IsArray(json), &below);
		}
		rule->when_text[rule->when_n] = keep(p, text);
	}
	return 0;
}

const struct rd_expr *rd_rule_condition(const struct rd_rule *rule, size_t index)
{
	if (!rule->when[index])
		rule->when[index] = rd_expr_parse_in(rule->pool, rule->when_text[index], rule->schema, rule->item, NULL);
	return rule->when[index];
}

static int parse_evidence(struct parse *p, const char *key, const cJSON *json)
{
	struct rd_rule *rule = p->rule;
	size_t n;
	int r = count_strings(p, key, json, &n);

	if (r < 0)
		return r;
	rule->evidence = new_array(p, n, sizeof(*rule->evidence));
	rule->evidence_text = new_array(p, n, sizeof(*rule->evidence_text));
	for (; rule->evidence_n < n; rule->evidence_n++) {
		struct rd_error below = RD_ERROR_INIT;

		rule->evidence_text[rule->evidence_n] = keep(p, string_at(json, rule->evidence_n));
		if (p->trusted)
			continue;
		rule->evidence[rule->evidence_n] =
			rd_expr_parse_path(rule->pool, rule->evidence_text[rule->evidence_n], p->schema, p->item, &below);
		if (!rule->evidence[rule->evidence_n])
			return fail_below(p, key, rule->evidence_n, cJSON_IsArray(json), &below);
	}
	return 0;
}

const struct rd_expr *rd_rule_evidence(const struct rd_rule *rule, size_t index)
{
	if (!rule->evidence[index])
		rule->evidence[index] =
			rd_expr_parse_path(rule->pool, rule->evidence_text[index], rule->schema, rule->item, NULL);
	return rule->evidence[index];
}

static int parse_names(struct parse *p, const char *key, const cJSON *json, const char ***ret)
{
	size_t n;
	int r = count_strings(p, key, json, &n);

	if (r < 0)
		return r;
	*ret = new_array(p, n + 1, sizeof(**ret));
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = keep(p, string_at(json, i));
	return 0;
}

static int parse_explains(struct parse *p, const char *key, const cJSON *json)
{
	return parse_names(p, key, json, &p->rule->explains);
}

static int parse_caused_by(struct parse *p, const char *key, const cJSON *json)
{
	return parse_names(p, key, json, &p->rule->caused_by);
}

static int parse_fixes(struct parse *p, const char *key, const cJSON *json)
{
	return parse_names(p, key, json, &p->rule->fixes);
}

static int parse_references(struct parse *p, const char *key, const cJSON *json)
{
	return parse_names(p, key, json, &p->rule->references);
}

/* In the order in which they are read: what "." means must be known before the templates. */
static const struct rule_key {
	const char *name;
	bool required;
	int (*parse)(struct parse *p, const char *key, const cJSON *json);
} keys[] = {
	{ "id", true, parse_id },
	{ "severity", true, parse_severity },
	{ "for_each", false, parse_for_each },
	{ "subject_kind", false, parse_subject_kind },
	{ "subject", false, parse_subject },
	{ "gpus", false, parse_gpus },
	{ "when", true, parse_when },
	{ "evidence", false, parse_evidence },
	{ "title", true, parse_title },
	{ "detail", true, parse_detail },
	{ "next", false, parse_next },
	{ "explains", false, parse_explains },
	{ "caused_by", false, parse_caused_by },
	{ "fixes", false, parse_fixes },
	{ "references", true, parse_references },
	{ "summary", false, parse_summary },
	{ "enabled", false, parse_enabled },
};

/* The value of each known key; an unknown one is an error. */
static int sort_keys(const struct parse *p, const cJSON *json, const cJSON *values[RD_ARRAY_SIZE(keys)])
{
	const cJSON *child;

	cJSON_ArrayForEach (child, json) {
		size_t i = 0;

		while (i < RD_ARRAY_SIZE(keys) &&
		       (keys[i].name[0] != child->string[0] || !rd_streq(keys[i].name, child->string)))
			i++;
		if (i == RD_ARRAY_SIZE(keys))
			return fail(p, child->string, "no such key in a rule");
		values[i] = child;
	}
	return 0;
}

static int parse_keys(struct parse *p, const cJSON *json)
{
	const cJSON *values[RD_ARRAY_SIZE(keys)] = { NULL };
	int r = sort_keys(p, json, values);

	for (size_t i = 0; i < RD_ARRAY_SIZE(keys) && r >= 0; i++) {
		if (values[i])
			r = keys[i].parse(p, keys[i].name, values[i]);
		else if (keys[i].required)
			r = fail(p, keys[i].name, "this key is missing");
	}
	if (r >= 0 && !p->rule->subject != (p->rule->subject_kind == RD_SUBJECT_HOST))
		r = fail(p, "subject", "subject and subject_kind belong together");
	return r;
}

struct rd_rule *rd_rule_parse(struct rd_pool *pool, const cJSON *json, const char *origin, size_t index,
                              const struct rd_schema *schema, bool trusted, struct rd_error *err)
{
	struct rd_rule *rule = rd_pool_alloc(pool, sizeof(*rule));
	struct parse p = { rule, origin, index, schema, NULL, trusted, err };

	rule->pool = pool;
	rule->enabled = true;
	rule->schema = schema;
	rule->origin = keep(&p, origin);
	rule->explains = rule->caused_by = rule->fixes = rule->references = new_array(&p, 1, sizeof(char *));
	if (!cJSON_IsObject(json)) {
		rd_error_set(err, -EINVAL, "%s: /rules/%zu: an object is wanted", origin, index);
		return NULL;
	}
	return parse_keys(&p, json) < 0 ? NULL : rule;
}
