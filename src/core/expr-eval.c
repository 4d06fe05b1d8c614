#include <stdlib.h>
#include <string.h>

#include "expr-internal.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/version.h"
#include "util/xalloc.h"

/* What evaluation carries: the facts, the item, and the leaves read so far. */
struct scope {
	const struct rd_fact *facts, *item;
	struct rd_trace *trace;
};

struct value {
	bool known;
	bool is_whole;
	enum rd_tri truth;
	int64_t integer;
	double number;
	const char *text;
};

static enum rd_tri eval(const struct rd_expr *e, struct scope *s);

void rd_trace_clear(struct rd_trace *trace)
{
	free(trace->facts);
	for (size_t i = 0; i < trace->absent_n; i++)
		free(trace->absent[i].path);
	free(trace->absent);
	*trace = (struct rd_trace){ 0 };
}

static void note(struct scope *s, const struct rd_fact *f, const struct rd_expr *path)
{
	struct rd_trace *t = s->trace;

	if (!t)
		return;
	if (f) {
		t->facts = rd_xreallocarray(t->facts, t->n + 1, sizeof(*t->facts));
		t->facts[t->n++] = f;
		return;
	}
	t->absent = rd_xreallocarray(t->absent, t->absent_n + 1, sizeof(*t->absent));
	t->absent[t->absent_n++].path = rd_xstrdup(path->declared);
}

/* A place in the trace, so that the leaves of one operand can be dropped again. */
struct mark {
	size_t n, absent_n;
};

static struct mark mark(const struct scope *s)
{
	return s->trace ? (struct mark){ s->trace->n, s->trace->absent_n } : (struct mark){ 0, 0 };
}

/* Drop what was noted between two marks. */
static void drop(struct scope *s, struct mark from, struct mark to)
{
	struct rd_trace *t = s->trace;

	if (!t)
		return;
	if (t->n > to.n)
		memmove(t->facts + from.n, t->facts + to.n, (t->n - to.n) * sizeof(*t->facts));
	t->n -= to.n - from.n;
	for (size_t i = from.absent_n; i < to.absent_n; i++)
		free(t->absent[i].path);
	if (t->absent_n > to.absent_n)
		memmove(t->absent + from.absent_n, t->absent + to.absent_n, (t->absent_n - to.absent_n) * sizeof(*t->absent));
	t->absent_n -= to.absent_n - from.absent_n;
}

/*
 * The fact that a path leads to. Above an unknown fact everything is unknown: *ret is then that fact. NULL: absent.
 */
static const struct rd_fact *follow(const struct rd_expr *path, const struct scope *s)
{
	const struct rd_fact *f = path->from_item ? s->item : s->facts;

	for (size_t i = 0; f && i < path->steps_n; i++) {
		if (rd_fact_state(f) == RD_FACT_UNKNOWN)
			return f;
		f = path->steps[i].name ? rd_fact_child(f, path->steps[i].name) : rd_fact_at(f, path->steps[i].index);
	}
	return f;
}

const struct rd_fact *rd_expr_path_get(const struct rd_expr *path, const struct rd_fact *facts, const struct rd_fact *item)
{
	struct scope s = { facts, item, NULL };

	return follow(path, &s);
}

static struct value path_value(const struct rd_expr *e, struct scope *s)
{
	const struct rd_fact *f = follow(e, s);
	struct value v = { .known = rd_fact_state(f) != RD_FACT_UNKNOWN, .text = "" };

	note(s, f, e);
	if (!v.known)
		return v;
	v.truth = rd_fact_bool(f) ? RD_TRUE : RD_FALSE;
	v.text = rd_fact_str(f);
	v.is_whole = rd_fact_kind(f) != RD_REAL;
	v.integer = rd_fact_int(f);
	v.number = rd_fact_real(f);
	return v;
}

static int compare_numbers(const struct value *a, const struct value *b)
{
	if (a->is_whole && b->is_whole)
		return (a->integer > b->integer) - (a->integer < b->integer);
	return (a->number > b->number) - (a->number < b->number);
}

static struct value list_extreme(const struct rd_expr *e, struct scope *s);
static struct value list_count(const struct rd_expr *e, struct scope *s);

static struct value value_of(const struct rd_expr *e, struct scope *s)
{
	struct value v = { .known = true, .text = "" };

	switch (e->node) {
	case RD_NODE_PATH:
		return path_value(e, s);
	case RD_NODE_NUMBER:
		v.is_whole = e->is_whole;
		v.integer = e->integer;
		v.number = e->number;
		return v;
	case RD_NODE_STRING:
		v.text = e->text;
		return v;
	case RD_NODE_VERSION:
		v = value_of(e->left, s);
		v.known = v.known && *v.text;
		return v;
	case RD_NODE_COUNT:
		return list_count(e, s);
	case RD_NODE_MIN:
	case RD_NODE_MAX:
		return list_extreme(e, s);
	default:
		v.truth = eval(e, s);
		v.known = v.truth != RD_UNKNOWN;
		return v;
	}
}

static struct value list_count(const struct rd_expr *e, struct scope *s)
{
	const struct rd_fact *list = follow(e->left, s);
	struct value v = { .known = rd_fact_state(list) != RD_FACT_UNKNOWN, .is_whole = true, .text = "" };

	note(s, list, e->left);
	v.integer = v.known ? (int64_t)rd_fact_count(list) : 0;
	v.number = (double)v.integer;
	return v;
}

static struct value list_extreme(const struct rd_expr *e, struct scope *s)
{
	const struct rd_fact *list = follow(e->left, s), *outer = s->item;
	struct value best = { .known = rd_fact_state(list) != RD_FACT_UNKNOWN, .is_whole = true, .text = "" };
	struct mark begin = mark(s);

	if (!best.known || !rd_fact_count(list)) {
		note(s, list, e->left);
		return best;
	}
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct mark before = mark(s);
		struct value v;
		int order;

		s->item = rd_fact_at(list, i);
		v = value_of(e->right, s);
		s->item = outer;
		if (!v.known) {
			drop(s, begin, before);
			return v;
		}
		order = i ? compare_numbers(&v, &best) : 0;
		if (i && !(e->node == RD_NODE_MIN ? order < 0 : order > 0)) {
			drop(s, before, mark(s));
			continue;
		}
		drop(s, begin, before);
		best = v;
	}
	return best;
}

static enum rd_tri test_order(enum rd_op op, int order)
{
	switch (op) {
	case RD_OP_EQ:
		return order == 0 ? RD_TRUE : RD_FALSE;
	case RD_OP_NE:
		return order != 0 ? RD_TRUE : RD_FALSE;
	case RD_OP_LT:
		return order < 0 ? RD_TRUE : RD_FALSE;
	case RD_OP_LE:
		return order <= 0 ? RD_TRUE : RD_FALSE;
	case RD_OP_GT:
		return order > 0 ? RD_TRUE : RD_FALSE;
	default:
		return order >= 0 ? RD_TRUE : RD_FALSE;
	}
}

static enum rd_tri eval_compare(const struct rd_expr *e, struct scope *s)
{
	struct mark begin = mark(s), middle;
	struct value a = value_of(e->left, s), b;
	int order;

	middle = mark(s);
	b = value_of(e->right, s);
	if (!a.known || !b.known) {
		/* Only what keeps it undecided is of interest. */
		if (b.known)
			drop(s, middle, mark(s));
		if (a.known)
			drop(s, begin, middle);
		return RD_UNKNOWN;
	}
	switch (e->left->type) {
	case RD_TYPE_NUMBER:
		order = compare_numbers(&a, &b);
		break;
	case RD_TYPE_VERSION:
		order = rd_version_compare(a.text, b.text, e->scheme);
		break;
	case RD_TYPE_STRING:
		order = strcmp(a.text, b.text);
		break;
	default:
		order = (int)a.truth - (int)b.truth;
	}
	return test_order(e->op, order);
}

/*
 * One more operand of an AND (deciding: FALSE) or an OR (deciding: TRUE) was evaluated between two marks. Keeps in the trace
 * what decides: the first deciding operand, else the unknown ones, else all. Returns the result so far.
 */
static enum rd_tri combine(struct scope *s, enum rd_tri so_far, enum rd_tri next, enum rd_tri deciding, struct mark begin,
                           struct mark before)
{
	if (next == deciding || (next == RD_UNKNOWN && so_far != RD_UNKNOWN)) {
		drop(s, begin, before);
		return next;
	}
	if (next != RD_UNKNOWN && so_far == RD_UNKNOWN)
		drop(s, before, mark(s));
	return so_far;
}

static enum rd_tri eval_chain(const struct rd_expr *e, struct scope *s, enum rd_tri deciding)
{
	struct mark begin = mark(s), before;
	enum rd_tri so_far = eval(e->left, s);

	if (so_far == deciding)
		return so_far;
	before = mark(s);
	return combine(s, so_far, eval(e->right, s), deciding, begin, before);
}

/* any() and all() are chains over the items. What does not decide is summed up by the list itself. */
static enum rd_tri eval_items(const struct rd_expr *e, struct scope *s, enum rd_tri deciding)
{
	const struct rd_fact *list = follow(e->left, s), *outer = s->item;
	enum rd_tri so_far = rd_tri_not(deciding);
	struct mark begin = mark(s);
	bool decided = false;

	if (rd_fact_state(list) == RD_FACT_UNKNOWN) {
		note(s, list, e->left);
		return RD_UNKNOWN;
	}
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct mark before = mark(s);
		enum rd_tri next;

		s->item = rd_fact_at(list, i);
		next = eval(e->right, s);
		s->item = outer;
		if (decided) {
			/* Each item that decides is evidence; the others are not. */
			if (next != deciding)
				drop(s, before, mark(s));
			continue;
		}
		so_far = combine(s, so_far, next, deciding, begin, before);
		decided = so_far == deciding && next == deciding;
	}
	if (so_far == rd_tri_not(deciding) && !(s->trace && s->trace->items && rd_fact_count(list))) {
		drop(s, begin, mark(s));
		note(s, list, e->left);
	}
	return so_far;
}

static enum rd_tri eval(const struct rd_expr *e, struct scope *s)
{
	struct value v;

	switch (e->node) {
	case RD_NODE_OR:
		return eval_chain(e, s, RD_TRUE);
	case RD_NODE_AND:
		return eval_chain(e, s, RD_FALSE);
	case RD_NODE_NOT:
		return rd_tri_not(eval(e->left, s));
	case RD_NODE_COMPARE:
		return eval_compare(e, s);
	case RD_NODE_BOOL:
		return e->boolean ? RD_TRUE : RD_FALSE;
	case RD_NODE_ANY:
		return eval_items(e, s, RD_TRUE);
	case RD_NODE_ALL:
		return eval_items(e, s, RD_FALSE);
	case RD_NODE_KNOWN: {
		const struct rd_fact *f = follow(e->left, s);

		note(s, f, e->left);
		return rd_fact_state(f) == RD_FACT_UNKNOWN ? RD_FALSE : RD_TRUE;
	}
	default:
		v = value_of(e, s);
		return v.known ? v.truth : RD_UNKNOWN;
	}
}

static void drop_repeated(struct rd_trace *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		bool seen = false;

		for (size_t j = 0; j < kept && !seen; j++)
			seen = t->facts[j] == t->facts[i];
		if (!seen)
			t->facts[kept++] = t->facts[i];
	}
	t->n = kept;
}

enum rd_tri rd_expr_eval(const struct rd_expr *expr, const struct rd_fact *facts, const struct rd_fact *item,
                         struct rd_trace *trace)
{
	struct scope s = { facts, item, trace };
	enum rd_tri result = eval(expr, &s);

	if (trace)
		drop_repeated(trace);
	return result;
}
