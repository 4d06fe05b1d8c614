#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr-internal.h"
#include "rocm-doctor/error.h"
#include "util/cleanup.h"
#include "util/pool.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

struct parser {
	const char *text, *at;
	const struct rd_schema *schema, *item;
	const char *item_path; /* how the item's facts are declared, "gpus[]" */
	unsigned depth;
	struct rd_pool *pool;      /* for all that becomes part of the tree */
	struct rd_strbuf declared; /* the path that is being read, as it is declared */
	struct rd_error *err;
};

static struct rd_expr *parse_or(struct parser *p);

static struct rd_expr *fail_at(struct parser *p, const char *where, const char *format, ...) RD_PRINTF(3, 4);

static struct rd_expr *fail_at(struct parser *p, const char *where, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_error_set(p->err, -EINVAL, "column %zu: %s", (size_t)(where - p->text) + 1, sb.buf);
	return NULL;
}

struct rd_expr *rd_expr_free(struct rd_expr *e)
{
	struct rd_pool pool;

	if (!e || !e->pool)
		return NULL;
	/* It lies in itself. */
	pool = *e->pool;
	rd_pool_clear(&pool);
	return NULL;
}

static struct rd_expr *new_node(struct parser *p, enum rd_node node, enum rd_type type)
{
	struct rd_expr *e = rd_pool_alloc(p->pool, sizeof(*e));

	e->node = node;
	e->type = type;
	return e;
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
		p->at++;
}

static bool accept(struct parser *p, const char *token)
{
	skip_space(p);
	if (!rd_str_has_prefix(p->at, token))
		return false;
	p->at += strlen(token);
	return true;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_letter(char c)
{
	return is_word(c) && !(c >= '0' && c <= '9');
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (is_word(s[n]))
		n++;
	return n;
}

static enum rd_type type_of_kind(enum rd_kind kind)
{
	switch (kind) {
	case RD_BOOL:
		return RD_TYPE_BOOL;
	case RD_INT:
	case RD_REAL:
		return RD_TYPE_NUMBER;
	case RD_STR:
		return RD_TYPE_STRING;
	case RD_STRS:
	case RD_LIST:
	case RD_MAP:
		return RD_TYPE_LIST;
	default:
		return RD_TYPE_OTHER;
	}
}

static char *quoted(struct parser *p)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	const char *begin = p->at;
	char quote = *p->at++;

	while (*p->at && *p->at != quote) {
		if (*p->at == '\\' && p->at[1])
			p->at++;
		rd_strbuf_addc(&sb, *p->at++);
	}
	if (!*p->at) {
		fail_at(p, begin, "the string that begins here has no end");
		return NULL;
	}
	p->at++;
	return rd_pool_strndup(p->pool, sb.buf, sb.len);
}

static void add_step(struct parser *p, struct rd_expr *e, char *name, size_t index)
{
	if (e->steps_n == e->steps_allocated) {
		struct rd_path_step *steps;

		e->steps_allocated = e->steps_allocated ? 2 * e->steps_allocated : 4;
		steps = rd_pool_alloc(p->pool, e->steps_allocated * sizeof(*steps));
		if (e->steps_n)
			memcpy(steps, e->steps, e->steps_n * sizeof(*steps));
		e->steps = steps;
	}
	e->steps[e->steps_n++] = (struct rd_path_step){ name, index };
}

/* Where a path stands in the schema while it is read. */
struct position {
	const struct rd_schema *schema;
	enum rd_kind kind; /* of the thing itself: an item of a list has lost its list */
};

static bool step_name(struct parser *p, struct rd_expr *e, struct position *pos, const char *name, size_t len,
                      const char *where)
{
	char *copy = rd_pool_strndup(p->pool, name, len);
	const struct rd_schema *child =
		pos->kind == RD_OBJECT || pos->kind == RD_MAP ? rd_schema_child(pos->schema, copy) : NULL;

	if (child) {
		pos->schema = child;
		pos->kind = rd_schema_kind(child);
		rd_strbuf_add(&p->declared, p->declared.len ? "." : "");
		rd_strbuf_addn(&p->declared, copy, len);
		if (pos->kind == RD_LIST || pos->kind == RD_STRS)
			rd_strbuf_add(&p->declared, "[]");
		else if (pos->kind == RD_MAP)
			rd_strbuf_add(&p->declared, "{}");
	} else if (pos->kind == RD_MAP) {
		pos->kind = RD_STR;
	} else if (pos->kind == RD_LIST) {
		fail_at(p, where, "'%s' is asked of a list; any(), all() or an index reach its items", copy);
		return false;
	} else {
		fail_at(p, where, "no probe provides '%s%s%s'", p->declared.buf, p->declared.len ? "." : "", copy);
		return false;
	}
	add_step(p, e, copy, 0);
	return true;
}

static bool step_bracket(struct parser *p, struct rd_expr *e, struct position *pos)
{
	const char *where = p->at++;

	if (*p->at == '"' || *p->at == '\'') {
		char *key = quoted(p);

		if (!key || !step_name(p, e, pos, key, strlen(key), where))
			return false;
	} else {
		char *end;
		unsigned long index = strtoul(p->at, &end, 10);

		if (end == p->at || !(*p->at >= '0' && *p->at <= '9')) {
			fail_at(p, p->at, "an index or a quoted key is wanted here");
			return false;
		}
		if (pos->kind != RD_LIST && pos->kind != RD_STRS) {
			fail_at(p, where, "'%s' is no list", p->declared.buf);
			return false;
		}
		p->at = end;
		pos->kind = pos->kind == RD_LIST ? RD_OBJECT : RD_STR;
		add_step(p, e, NULL, index);
	}
	if (*p->at != ']') {
		fail_at(p, p->at, "']' is missing");
		return false;
	}
	p->at++;
	return true;
}

static bool parse_steps(struct parser *p, struct rd_expr *e, struct position *pos)
{
	size_t n = word_length(p->at);
	const char *where = p->at;

	if (n) {
		p->at += n;
		if (!step_name(p, e, pos, where, n, where))
			return false;
	}
	for (;;) {
		if (*p->at == '[') {
			if (!step_bracket(p, e, pos))
				return false;
		} else if (*p->at == '.' && word_length(p->at + 1)) {
			where = ++p->at;
			n = word_length(where);
			p->at += n;
			if (!step_name(p, e, pos, where, n, where))
				return false;
		} else {
			return true;
		}
	}
}

static struct rd_expr *parse_path(struct parser *p)
{
	struct rd_expr *e = new_node(p, RD_NODE_PATH, RD_TYPE_OTHER);
	struct position pos = { p->schema, RD_OBJECT };
	const char *begin = p->at;
	bool good = true;

	rd_strbuf_truncate(&p->declared, 0);
	if (*p->at == '.') {
		p->at++;
		e->from_item = true;
		if (!p->item) {
			fail_at(p, begin, "'.' stands for the item of a list, and there is none here");
			good = false;
		} else {
			pos.schema = p->item;
			/* "." itself: an object of a list, or one string. */
			pos.kind = rd_schema_kind(p->item) == RD_LIST ? RD_OBJECT : RD_STR;
			rd_strbuf_add(&p->declared, p->item_path);
		}
	}
	good = good && parse_steps(p, e, &pos);
	e->text = rd_pool_strndup(p->pool, begin, (size_t)(p->at - begin));
	e->schema = pos.schema;
	e->type = type_of_kind(pos.kind);
	if (pos.kind == RD_STR)
		e->scheme = pos.schema ? rd_schema_scheme(pos.schema) : RD_VERSION_NONE;
	e->declared = rd_pool_strndup(p->pool, p->declared.buf, p->declared.len);
	return good ? e : NULL;
}

static struct rd_expr *parse_number(struct parser *p)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	struct rd_expr *e = new_node(p, RD_NODE_NUMBER, RD_TYPE_NUMBER);
	const char *begin = p->at;
	size_t n = strspn(p->at, "0123456789");
	double scale = 1;

	if (p->at[n] == '.' && p->at[n + 1] >= '0' && p->at[n + 1] <= '9')
		n += 1 + strspn(p->at + n + 1, "0123456789");
	e->text = rd_pool_strndup(p->pool, begin, n);
	e->number = strtod(e->text, NULL);
	p->at += n;
	for (size_t i = 0; i < RD_ARRAY_SIZE(units); i++) {
		if (rd_str_has_prefix(p->at, units[i].name)) {
			scale = (double)(UINT64_C(1) << units[i].shift);
			p->at += strlen(units[i].name);
			break;
		}
	}
	if (is_word(*p->at)) {
		return fail_at(p, p->at, "a number cannot go on like this; suffixes are KiB, MiB and GiB");
	}
	e->number *= scale;
	if (!strchr(e->text, '.') && scale == 1) {
		uint64_t value;

		e->is_whole = rd_str_to_u64(e->text, 10, &value) == 0 && value <= INT64_MAX;
		e->integer = e->is_whole ? (int64_t)value : 0;
	} else if (e->number == floor(e->number) && e->number < 9e18) {
		e->is_whole = true;
		e->integer = (int64_t)e->number;
	}
	return e;
}

static bool wants(struct parser *p, const char *token)
{
	if (accept(p, token))
		return true;
	fail_at(p, p->at, "'%s' is wanted here", token);
	return false;
}

/* any(list, e), all, min, max: the second argument is about the list's items. */
static bool parse_over_items(struct parser *p, struct rd_expr *e, enum rd_type wanted)
{
	const struct rd_schema *outer = p->item;
	const char *outer_path = p->item_path;
	const char *where;

	if (!wants(p, ","))
		return false;
	skip_space(p);
	where = p->at;
	p->item = e->left->schema;
	p->item_path = e->left->declared;
	e->right = parse_or(p);
	p->item = outer;
	p->item_path = outer_path;
	if (!e->right)
		return false;
	if (e->right->type != wanted) {
		fail_at(p, where, wanted == RD_TYPE_BOOL ? "this is neither true nor false" : "this is no number");
		return false;
	}
	return true;
}

static bool parse_list_argument(struct parser *p, struct rd_expr *e)
{
	const char *where;

	skip_space(p);
	where = p->at;
	if (*p->at != '.' && !is_letter(*p->at)) {
		fail_at(p, where, "a list is wanted here");
		return false;
	}
	e->left = parse_path(p);
	if (!e->left)
		return false;
	if (e->left->type != RD_TYPE_LIST || (e->node != RD_NODE_COUNT && rd_schema_kind(e->left->schema) == RD_MAP)) {
		fail_at(p, where, "'%s' is no list", e->left->text);
		return false;
	}
	return true;
}

static bool parse_version_argument(struct parser *p, struct rd_expr *e)
{
	const char *where;

	skip_space(p);
	where = p->at;
	if (*p->at == '"' || *p->at == '\'') {
		e->left = new_node(p, RD_NODE_STRING, RD_TYPE_STRING);
		e->left->text = quoted(p);
		return e->left->text;
	}
	if (*p->at != '.' && !is_letter(*p->at)) {
		fail_at(p, where, "a string is wanted here");
		return false;
	}
	e->left = parse_path(p);
	if (!e->left)
		return false;
	if (e->left->type != RD_TYPE_STRING || !e->left->scheme) {
		fail_at(p, where, "'%s' is not declared as a version", e->left->text);
		return false;
	}
	e->scheme = e->left->scheme;
	return true;
}

static const struct rd_function {
	const char *name;
	enum rd_node node;
	enum rd_type type;
} functions[] = {
	{ "any", RD_NODE_ANY, RD_TYPE_BOOL },
	{ "all", RD_NODE_ALL, RD_TYPE_BOOL },
	{ "count", RD_NODE_COUNT, RD_TYPE_NUMBER },
	{ "min", RD_NODE_MIN, RD_TYPE_NUMBER },
	{ "max", RD_NODE_MAX, RD_TYPE_NUMBER },
	{ "known", RD_NODE_KNOWN, RD_TYPE_BOOL },
	{ "version", RD_NODE_VERSION, RD_TYPE_VERSION },
};

static bool parse_arguments(struct parser *p, struct rd_expr *e)
{
	switch (e->node) {
	case RD_NODE_VERSION:
		return parse_version_argument(p, e);
	case RD_NODE_KNOWN:
		skip_space(p);
		if (*p->at != '.' && !is_letter(*p->at)) {
			fail_at(p, p->at, "a fact is wanted here");
			return false;
		}
		e->left = parse_path(p);
		return e->left;
	case RD_NODE_COUNT:
		return parse_list_argument(p, e);
	case RD_NODE_MIN:
	case RD_NODE_MAX:
		return parse_list_argument(p, e) && parse_over_items(p, e, RD_TYPE_NUMBER);
	default:
		return parse_list_argument(p, e) && parse_over_items(p, e, RD_TYPE_BOOL);
	}
}

static struct rd_expr *parse_function(struct parser *p, size_t len)
{
	const char *begin = p->at;

	for (size_t i = 0; i < RD_ARRAY_SIZE(functions); i++) {
		const struct rd_function *f = &functions[i];
		struct rd_expr *e;

		if (strlen(f->name) != len || strncmp(f->name, begin, len) != 0)
			continue;
		p->at += len;
		e = new_node(p, f->node, f->type);
		if (wants(p, "(") && parse_arguments(p, e) && wants(p, ")"))
			return e;
		return NULL;
	}
	return fail_at(p, begin, "there is no function '%.*s'", (int)len, begin);
}

static struct rd_expr *parse_primary(struct parser *p)
{
	struct rd_expr *e;
	size_t len;

	skip_space(p);
	if (accept(p, "(")) {
		e = parse_or(p);
		if (e && !wants(p, ")"))
			return NULL;
		return e;
	}
	if (*p->at == '"' || *p->at == '\'') {
		e = new_node(p, RD_NODE_STRING, RD_TYPE_STRING);
		e->text = quoted(p);
		return e->text ? e : NULL;
	}
	if (*p->at >= '0' && *p->at <= '9')
		return parse_number(p);
	if (*p->at == '.')
		return parse_path(p);
	len = word_length(p->at);
	if (!len)
		return fail_at(p, p->at, *p->at ? "a value is wanted before '%c'" : "a value is wanted here", *p->at);
	if ((len == 4 && strncmp(p->at, "true", 4) == 0) || (len == 5 && strncmp(p->at, "false", 5) == 0)) {
		e = new_node(p, RD_NODE_BOOL, RD_TYPE_BOOL);
		e->boolean = *p->at == 't';
		p->at += len;
		return e;
	}
	if (p->at[len + strspn(p->at + len, " \t")] == '(')
		return parse_function(p, len);
	return parse_path(p);
}

static const char *const op_tokens[] = {
	[RD_OP_EQ] = "==", [RD_OP_NE] = "!=", [RD_OP_LE] = "<=", [RD_OP_GE] = ">=", [RD_OP_LT] = "<", [RD_OP_GT] = ">",
};

static bool accept_op(struct parser *p, enum rd_op *ret)
{
	/* The longer ones first. */
	static const enum rd_op order[] = { RD_OP_EQ, RD_OP_NE, RD_OP_LE, RD_OP_GE, RD_OP_LT, RD_OP_GT };

	skip_space(p);
	for (size_t i = 0; i < RD_ARRAY_SIZE(order) && *p->at && strchr("=!<>", *p->at); i++) {
		if (accept(p, op_tokens[order[i]])) {
			*ret = order[i];
			return true;
		}
	}
	return false;
}

static bool check_operands(struct parser *p, const struct rd_expr *e, const char *where)
{
	const struct rd_expr *a = e->left, *b = e->right;

	if (a->type != b->type) {
		fail_at(p, where, "'%s' compares unlike types", op_tokens[e->op]);
		return false;
	}
	if (a->type == RD_TYPE_LIST || a->type == RD_TYPE_OTHER) {
		fail_at(p, where, "'%s' compares single values only", op_tokens[e->op]);
		return false;
	}
	if ((a->type == RD_TYPE_BOOL || a->type == RD_TYPE_STRING) && e->op != RD_OP_EQ && e->op != RD_OP_NE) {
		fail_at(p, where, "'%s' has no order to go by; version() compares versions", op_tokens[e->op]);
		return false;
	}
	if (a->type == RD_TYPE_VERSION && a->scheme && b->scheme && a->scheme != b->scheme) {
		fail_at(p, where, "the two versions are of different schemes");
		return false;
	}
	if (a->type == RD_TYPE_VERSION && !a->scheme && !b->scheme) {
		fail_at(p, where, "neither side says how its version compares");
		return false;
	}
	return true;
}

static struct rd_expr *parse_comparison(struct parser *p)
{
	struct rd_expr *left = parse_primary(p), *e;
	const char *where;
	enum rd_op op;

	if (!left)
		return NULL;
	skip_space(p);
	where = p->at;
	if (!accept_op(p, &op)) {
		if (left->type != RD_TYPE_VERSION)
			return left;
		return fail_at(p, where, "version() is there to be compared");
	}
	e = new_node(p, RD_NODE_COMPARE, RD_TYPE_BOOL);
	e->op = op;
	e->left = left;
	e->right = parse_primary(p);
	if (!e->right || !check_operands(p, e, where))
		return NULL;
	e->scheme = e->left->scheme ? e->left->scheme : e->right->scheme;
	return e;
}

static bool check_truth(struct parser *p, const struct rd_expr *e, const char *where)
{
	if (e->type == RD_TYPE_BOOL)
		return true;
	fail_at(p, where, "this is neither true nor false");
	return false;
}

static struct rd_expr *parse_not(struct parser *p)
{
	const char *where;
	struct rd_expr *e;

	skip_space(p);
	if (*p->at != '!' || p->at[1] == '=')
		return parse_comparison(p);
	if (++p->depth > RD_EXPR_DEPTH_MAX)
		return fail_at(p, p->at, "nested more than %d deep", RD_EXPR_DEPTH_MAX);
	where = p->at++;
	e = new_node(p, RD_NODE_NOT, RD_TYPE_BOOL);
	e->left = parse_not(p);
	p->depth--;
	if (!e->left || !check_truth(p, e->left, where))
		return NULL;
	return e;
}

static struct rd_expr *parse_chain(struct parser *p, const char *token, enum rd_node node,
                                   struct rd_expr *(*next)(struct parser *))
{
	struct rd_expr *left;
	const char *where;

	skip_space(p);
	where = p->at;
	left = next(p);
	while (left && accept(p, token)) {
		struct rd_expr *e = new_node(p, node, RD_TYPE_BOOL);
		bool good = check_truth(p, left, where);

		e->left = left;
		skip_space(p);
		where = p->at;
		e->right = good ? next(p) : NULL;
		if (!e->right || !check_truth(p, e->right, where))
			return NULL;
		left = e;
	}
	return left;
}

static struct rd_expr *parse_and(struct parser *p)
{
	return parse_chain(p, "&&", RD_NODE_AND, parse_not);
}

static struct rd_expr *parse_or(struct parser *p)
{
	struct rd_expr *e;

	if (++p->depth > RD_EXPR_DEPTH_MAX)
		return fail_at(p, p->at, "nested more than %d deep", RD_EXPR_DEPTH_MAX);
	e = parse_chain(p, "||", RD_NODE_OR, parse_and);
	p->depth--;
	return e;
}

static bool check_length(struct parser *p)
{
	if (strnlen(p->text, RD_EXPR_LENGTH_MAX + 1) <= RD_EXPR_LENGTH_MAX)
		return true;
	fail_at(p, p->text + RD_EXPR_LENGTH_MAX, "longer than %d bytes", RD_EXPR_LENGTH_MAX);
	return false;
}

static struct rd_expr *finish(struct parser *p, struct rd_expr *e)
{
	if (!e)
		return NULL;
	skip_space(p);
	if (*p->at)
		return fail_at(p, p->at, "nothing is wanted after the end of the expression");
	return e;
}

static struct rd_expr *parse_whole(struct parser *p, struct rd_expr *(*parse)(struct parser *))
{
	struct rd_expr *e = check_length(p) ? finish(p, parse(p)) : NULL;

	rd_strbuf_release(&p->declared);
	return e;
}

static struct rd_expr *parse_condition(struct parser *p)
{
	struct rd_expr *e = parse_or(p);

	if (e && e->type != RD_TYPE_BOOL)
		return fail_at(p, p->text, "the expression is neither true nor false");
	return e;
}

static struct rd_expr *parse_only_path(struct parser *p)
{
	skip_space(p);
	if (*p->at != '.' && !is_letter(*p->at))
		return fail_at(p, p->at, "a fact is wanted here");
	return parse_path(p);
}

static struct parser new_parser(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                const struct rd_schema *item, struct rd_error *err)
{
	return (struct parser){
		.text = text,
		.at = text,
		.schema = schema,
		.item = item,
		.item_path = "",
		.pool = pool,
		.declared = RD_STRBUF_INIT,
		.err = err,
	};
}

struct rd_expr *rd_expr_parse_in(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                 const struct rd_schema *item, struct rd_error *err)
{
	struct parser p = new_parser(pool, text, schema, item, err);

	return parse_whole(&p, parse_condition);
}

struct rd_expr *rd_expr_parse_path(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                   const struct rd_schema *item, struct rd_error *err)
{
	struct parser p = new_parser(pool, text, schema, item, err);

	return parse_whole(&p, parse_only_path);
}

struct rd_expr *rd_expr_parse(const char *text, const struct rd_schema *schema, const struct rd_schema *item,
                              struct rd_error *err)
{
	struct rd_pool pool = RD_POOL_INIT(480);
	struct rd_expr *e = rd_expr_parse_in(&pool, text, schema, item, err);

	if (!e) {
		rd_pool_clear(&pool);
		return NULL;
	}
	e->pool = rd_pool_alloc(&pool, sizeof(pool));
	*e->pool = pool;
	return e;
}

const struct rd_schema *rd_expr_item_schema(const struct rd_expr *path)
{
	enum rd_kind kind = path->schema ? rd_schema_kind(path->schema) : RD_NONE;

	return path->type == RD_TYPE_LIST && (kind == RD_LIST || kind == RD_STRS) ? path->schema : NULL;
}

void rd_expr_paths(const struct rd_expr *e, struct rd_strv *ret)
{
	if (!e)
		return;
	if (e->node == RD_NODE_PATH)
		rd_strv_push_unique(ret, e->declared);
	rd_expr_paths(e->left, ret);
	rd_expr_paths(e->right, ret);
}

static bool counts(const struct rd_expr *e, const char *list)
{
	if (!e)
		return false;
	if (e->node == RD_NODE_COUNT && rd_streq(e->left->text, list))
		return true;
	return counts(e->left, list) || counts(e->right, list);
}

static const char *unguarded(const struct rd_expr *root, const struct rd_expr *e)
{
	const char *found;

	if (!e)
		return NULL;
	if (e->node == RD_NODE_ALL && !counts(root, e->left->text))
		return e->left->text;
	found = unguarded(root, e->left);
	return found ? found : unguarded(root, e->right);
}

bool rd_expr_has_unguarded_all(const struct rd_expr *expr, const char **ret_list)
{
	const char *list = unguarded(expr, expr);

	if (list)
		*ret_list = list;
	return list;
}
