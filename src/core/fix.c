/* Fix records: what to do, in terms of actions; checked against the rules that name them. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/expr.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

struct place {
	const char *origin, *where;
	struct rd_error *err;
};

static int fail(const struct place *p, const char *key, const char *what)
{
	return rd_error_set(p->err, -EINVAL, "%s: %s/%s: %s", p->origin, p->where, key, what);
}

static bool has_arg(const struct rd_action *action, const char *name)
{
	for (size_t i = 0; action->args[i]; i++) {
		size_t n = strcspn(action->args[i], "?");

		if (strlen(name) == n && strncmp(action->args[i], name, n) == 0)
			return true;
	}
	return false;
}

static void add_arg(struct rd_fix_action *action, const char *name, const char *text)
{
	action->args = rd_xreallocarray(action->args, action->args_n + 1, sizeof(*action->args));
	action->args[action->args_n++] = (struct rd_fix_arg){ rd_xstrdup(name), rd_xstrdup(text) };
}

static int check_required(const struct place *p, const struct rd_action *action, const struct rd_fix_action *record)
{
	for (size_t i = 0; action->args[i]; i++) {
		bool found = rd_str_has_suffix(action->args[i], "?");

		for (size_t j = 0; j < record->args_n && !found; j++)
			found = rd_streq(record->args[j].name, action->args[i]);
		if (!found)
			return fail(p, action->args[i], "the action wants this argument");
	}
	return 0;
}

static int parse_action(const struct place *p, const cJSON *json, struct rd_fix_action *ret)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "do"), *child;
	const struct rd_action *action = cJSON_IsString(name) ? rd_action_find(name->valuestring) : NULL;

	if (!action)
		return fail(p, "do", "there is no such action");
	ret->name = action->name;
	cJSON_ArrayForEach (child, json) {
		if (rd_streq(child->string, "do"))
			continue;
		if (!cJSON_IsString(child))
			return fail(p, child->string, "a string is wanted");
		if (rd_streq(child->string, "if"))
			ret->condition = rd_xstrdup(child->valuestring);
		else if (rd_streq(child->string, "for"))
			ret->rule = rd_xstrdup(child->valuestring);
		else if (has_arg(action, child->string))
			add_arg(ret, child->string, child->valuestring);
		else
			return fail(p, child->string, "the action has no such argument");
	}
	return check_required(p, action, ret);
}

static int parse_actions(const struct place *p, const cJSON *json, struct rd_fix *fix)
{
	const cJSON *child;
	int r = 0;

	if (!cJSON_IsArray(json))
		return fail(p, "actions", "an array is wanted");
	fix->actions = rd_xcalloc((size_t)cJSON_GetArraySize(json), sizeof(*fix->actions));
	cJSON_ArrayForEach (child, json) {
		rd_auto_free char *where = rd_xasprintf("%s/actions/%zu", p->where, fix->actions_n);
		struct place below = { p->origin, where, p->err };

		r = parse_action(&below, child, &fix->actions[fix->actions_n++]);
		if (r < 0)
			return r;
	}
	return 0;
}

static char *copy_text(const cJSON *json, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));

	return text ? rd_xstrdup(text) : NULL;
}

/* A sentence, or { "for": rules, "if": expression, "text": sentence }. */
static int parse_advice_item(const struct place *p, const cJSON *json, struct rd_fix_advice *ret)
{
	const cJSON *child;

	if (cJSON_IsString(json)) {
		ret->text = rd_xstrdup(json->valuestring);
		return 0;
	}
	cJSON_ArrayForEach (child, json)
		if (!cJSON_IsString(child) ||
		    (!rd_streq(child->string, "for") && !rd_streq(child->string, "if") && !rd_streq(child->string, "text")))
			return fail(p, child->string ? child->string : "", "text, if and for are wanted, each a string");
	ret->text = copy_text(json, "text");
	ret->rule = copy_text(json, "for");
	ret->condition = copy_text(json, "if");
	return ret->text ? 0 : fail(p, "text", "a string is wanted");
}

static int parse_advice(const struct place *p, const cJSON *json, struct rd_fix *fix)
{
	const cJSON *child;
	int r = 0;

	if (json && !cJSON_IsArray(json))
		return fail(p, "advice", "an array is wanted");
	fix->advice = rd_xcalloc((size_t)cJSON_GetArraySize(json) + 1, sizeof(*fix->advice));
	cJSON_ArrayForEach (child, json) {
		rd_auto_free char *where = rd_xasprintf("%s/advice/%zu", p->where, fix->advice_n);
		struct place below = { p->origin, where, p->err };

		r = parse_advice_item(&below, child, &fix->advice[fix->advice_n++]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_record(const struct place *p, const cJSON *json, struct rd_fix *fix)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(json, "id");
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(json, "summary");
	const cJSON *actions = cJSON_GetObjectItemCaseSensitive(json, "actions"), *child;
	int r = 0;

	cJSON_ArrayForEach (child, json) {
		if (!rd_streq(child->string, "id") && !rd_streq(child->string, "summary") &&
		    !rd_streq(child->string, "actions") && !rd_streq(child->string, "advice"))
			return fail(p, child->string, "no such key in a fix");
	}
	if (!cJSON_IsString(id) || !*id->valuestring)
		return fail(p, "id", "a string is wanted");
	if (!cJSON_IsString(summary))
		return fail(p, "summary", "a string is wanted");
	fix->id = rd_xstrdup(id->valuestring);
	fix->summary = rd_xstrdup(summary->valuestring);
	if (actions)
		r = parse_actions(p, actions, fix);
	if (r >= 0)
		r = parse_advice(p, cJSON_GetObjectItemCaseSensitive(json, "advice"), fix);
	if (r >= 0 && !fix->actions_n && !fix->advice_n)
		return fail(p, "actions", "actions or advice are wanted");
	return r;
}

struct rd_fix *rd_fix_parse(const cJSON *json, const char *origin, const char *where, struct rd_error *err)
{
	struct rd_fix *fix = rd_xcalloc(1, sizeof(*fix));
	struct place p = { origin, where, err };

	fix->origin = rd_xstrdup(origin);
	if (!cJSON_IsObject(json)) {
		rd_error_set(err, -EINVAL, "%s: %s: an object is wanted", origin, where);
		return rd_fix_free(fix);
	}
	return parse_record(&p, json, fix) < 0 ? rd_fix_free(fix) : fix;
}

static void free_action(struct rd_fix_action *action)
{
	free((char *)action->condition);
	free((char *)action->rule);
	for (size_t i = 0; i < action->args_n; i++) {
		free((char *)action->args[i].name);
		free((char *)action->args[i].text);
	}
	free(action->args);
}

struct rd_fix *rd_fix_free(struct rd_fix *fix)
{
	if (!fix)
		return NULL;
	for (size_t i = 0; i < fix->actions_n; i++)
		free_action(&fix->actions[i]);
	for (size_t i = 0; i < fix->advice_n; i++) {
		free((char *)fix->advice[i].text);
		free((char *)fix->advice[i].rule);
		free((char *)fix->advice[i].condition);
	}
	free(fix->actions);
	free(fix->advice);
	free((char *)fix->id);
	free((char *)fix->summary);
	free((char *)fix->origin);
	free(fix);
	return NULL;
}

static int check_template(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix, const char *text,
                          struct rd_error *err)
{
	const struct rd_schema *item = rule->for_each ? rd_expr_item_schema(rule->for_each) : NULL;
	struct rd_error below = RD_ERROR_INIT;
	struct rd_template *t = rd_template_parse(text, k->schema, item, &below);

	if (!t)
		rd_error_set(err, -EINVAL, "%s: fix %s for rule %s: '%s': %s", fix->origin, fix->id, rule->id, text,
		             below.message);
	rd_error_clear(&below);
	if (!t)
		return -EINVAL;
	rd_template_free(t);
	return 0;
}

static int check_condition(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix, const char *text,
                           struct rd_error *err)
{
	const struct rd_schema *item = rule->for_each ? rd_expr_item_schema(rule->for_each) : NULL;
	struct rd_error below = RD_ERROR_INIT;
	struct rd_expr *e = rd_expr_parse(text, k->schema, item, &below);

	if (!e)
		rd_error_set(err, -EINVAL, "%s: fix %s for rule %s: '%s': %s", fix->origin, fix->id, rule->id, text,
		             below.message);
	rd_error_clear(&below);
	if (!e)
		return -EINVAL;
	rd_expr_free(e);
	return 0;
}

static int check_action(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix,
                        const struct rd_fix_action *action, struct rd_error *err)
{
	int r = action->condition ? check_condition(k, rule, fix, action->condition, err) : 0;

	for (size_t i = 0; i < action->args_n && r >= 0; i++)
		r = check_template(k, rule, fix, action->args[i].text, err);
	return r;
}

static int check_advice(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix,
                        const struct rd_fix_advice *advice, struct rd_error *err)
{
	int r = advice->condition ? check_condition(k, rule, fix, advice->condition, err) : 0;

	return r < 0 ? r : check_template(k, rule, fix, advice->text, err);
}

bool rd_fix_part_is_for(const char *glob, const struct rd_rule *rule)
{
	return !glob || rd_str_glob(glob, rule->id);
}

int rd_fix_check(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix, struct rd_error *err)
{
	int r = 0;

	for (size_t i = 0; i < fix->actions_n && r >= 0; i++)
		if (rd_fix_part_is_for(fix->actions[i].rule, rule))
			r = check_action(k, rule, fix, &fix->actions[i], err);
	for (size_t i = 0; i < fix->advice_n && r >= 0; i++)
		if (rd_fix_part_is_for(fix->advice[i].rule, rule))
			r = check_advice(k, rule, fix, &fix->advice[i], err);
	return r;
}
