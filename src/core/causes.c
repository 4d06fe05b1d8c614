/* The graph of causes: edges of both spellings merged, dangling ids and cycles refused. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge-internal.h"
#include "rocm-doctor/error.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static void connect(struct rd_knowledge *k, size_t rule, size_t other, bool is_cause)
{
	if (is_cause)
		k->explains[other * k->rules_n + rule] = true;
	else
		k->explains[rule * k->rules_n + other] = true;
}

/* Every rule whose id matches; for "explains" the matches are effects of @rule, for "caused_by" its causes. */
static int connect_name(struct rd_knowledge *k, size_t rule, const char *pattern, bool is_cause, struct rd_error *err)
{
	bool is_glob = strpbrk(pattern, "*?");
	size_t one = is_glob ? k->rules_n : rd_knowledge_rule_index(k, pattern);
	bool found = one < k->rules_n;

	if (found)
		connect(k, rule, one, is_cause);
	for (size_t i = 0; i < k->rules_n && is_glob; i++) {
		if (!rd_str_glob(pattern, k->rules[i]->id))
			continue;
		found = true;
		if (i != rule || !strchr(pattern, '*'))
			connect(k, rule, i, is_cause);
	}
	if (found)
		return 0;
	return rd_error_set(err, -ENOENT, "%s: rule %s: %s names '%s', which no rule has", k->rules[rule]->origin,
	                    k->rules[rule]->id, is_cause ? "caused_by" : "explains", pattern);
}

static int connect_rule(struct rd_knowledge *k, size_t rule, struct rd_error *err)
{
	int r = 0;

	for (const char **name = k->rules[rule]->explains; *name && r >= 0; name++)
		r = connect_name(k, rule, *name, false, err);
	for (const char **name = k->rules[rule]->caused_by; *name && r >= 0; name++)
		r = connect_name(k, rule, *name, true, err);
	return r;
}

enum { UNSEEN, OPEN, DONE };

struct visit {
	struct rd_knowledge *k;
	char *state;
	size_t *path, path_n;
	size_t left; /* places of order[] still to be filled, from the end */
};

static int report_cycle(const struct visit *v, size_t rule, struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	size_t i = 0;

	while (v->path[i] != rule)
		i++;
	for (; i < v->path_n; i++)
		rd_strbuf_addf(&sb, "%s -> ", v->k->rules[v->path[i]]->id);
	return rd_error_set(err, -ELOOP, "%s: causes go round in a circle: %s%s", v->k->rules[rule]->origin, sb.buf,
	                    v->k->rules[rule]->id);
}

/* The next effect of a rule, from @at on; NULL: no more. Few of the many places are set. */
static const bool *next_effect(const struct rd_knowledge *k, size_t rule, const bool *at)
{
	const bool *end = k->explains + (rule + 1) * k->rules_n;

	return memchr(at, 1, (size_t)(end - at));
}

static int visit(struct visit *v, size_t rule, struct rd_error *err)
{
	const bool *row = v->k->explains + rule * v->k->rules_n, *effect = row;
	int r = 0;

	if (v->state[rule] == DONE)
		return 0;
	if (v->state[rule] == OPEN)
		return report_cycle(v, rule, err);
	v->state[rule] = OPEN;
	v->path[v->path_n++] = rule;
	for (; r >= 0 && (effect = next_effect(v->k, rule, effect)); effect++)
		r = visit(v, (size_t)(effect - row), err);
	v->path_n--;
	v->state[rule] = DONE;
	v->k->order[--v->left] = rule;
	return r;
}

int rd_knowledge_connect(struct rd_knowledge *k, struct rd_error *err)
{
	struct visit v = { .k = k, .left = k->rules_n };
	int r = 0;

	k->explains = rd_xcalloc(k->rules_n * k->rules_n, sizeof(*k->explains));
	k->order = rd_xcalloc(k->rules_n, sizeof(*k->order));
	for (size_t i = 0; i < k->rules_n && r >= 0; i++)
		r = connect_rule(k, i, err);
	v.state = rd_xcalloc(k->rules_n, sizeof(*v.state));
	v.path = rd_xcalloc(k->rules_n + 1, sizeof(*v.path));
	for (size_t i = 0; i < k->rules_n && r >= 0; i++)
		r = visit(&v, i, err);
	free(v.state);
	free(v.path);
	return r;
}

bool rd_knowledge_explains(const struct rd_knowledge *k, const struct rd_rule *cause, const struct rd_rule *effect)
{
	size_t from = k->rules_n, to = k->rules_n;

	for (size_t i = 0; i < k->rules_n; i++) {
		from = k->rules[i] == cause ? i : from;
		to = k->rules[i] == effect ? i : to;
	}
	return from < k->rules_n && to < k->rules_n && k->explains[from * k->rules_n + to];
}
