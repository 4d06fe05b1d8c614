/* Rules over facts give findings; edges between rules say which of them follow from which. */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* A set of indexes. */
struct set {
	size_t *v, n, allocated;
};

/* A finding with what is needed to settle its role. */
struct instance {
	struct rd_finding finding; /* first: a finding is its instance */
	struct instance *next;     /* in the order of the report */
	size_t rule;               /* index in the knowledge's rules */
	bool holds;                /* counts as a node: true or unknown */
	bool only_not_asked;       /* unknown, for nothing but facts that were not asked for */
	struct set causes;         /* true instances that it follows from, reached through unknown ones as well */
	struct set unchecked;      /* rules with an unknown instance that could be its cause */
	bool has_direct_cause;
	bool leads_to_error;
};

struct rd_diagnosis {
	const struct rd_knowledge *k;
	const struct rd_fact *facts;
	struct instance **v;
	size_t n, allocated;
	struct instance **found;   /* true, in the order of the report */
	struct instance **unknown; /* undetermined or masked, by layer and id */
	size_t found_n, unknown_n;
	size_t *first;            /* by rule: its instances are those before the next rule's first */
	bool *clear;              /* by rule: no instance is true or unknown */
	struct rd_strv addresses; /* of all GPUs */
};

/* Sets are sorted: a host can have thousands of items that a rule judges one by one. */
static void set_add(struct set *s, size_t index)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->v[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < s->n && s->v[low] == index)
		return;
	RD_GROW(s->v, s->n, s->allocated);
	memmove(s->v + low + 1, s->v + low, (s->n - low) * sizeof(*s->v));
	s->v[low] = index;
	s->n++;
}

/* Judging one rule */

static void add_evidence(struct rd_finding *f, char *fact, const struct rd_fact *value)
{
	for (size_t i = 0; i < f->evidence_n; i++) {
		if (rd_streq(f->evidence[i].fact, fact)) {
			free(fact);
			return;
		}
	}
	f->evidence = rd_xreallocarray(f->evidence, f->evidence_n + 1, sizeof(*f->evidence));
	f->evidence[f->evidence_n++] = (struct rd_evidence){
		.fact = fact,
		.value = value,
		.source = rd_xstrdup(rd_fact_source(value)),
	};
}

/* A list that is not empty says little by itself: its items are the evidence. */
static bool is_guard(const struct rd_fact *f)
{
	return rd_fact_kind(f) == RD_LIST && rd_fact_count(f);
}

static void evidence_of_trace(struct rd_finding *f, const struct rd_trace *trace)
{
	for (size_t i = 0; i < trace->n; i++)
		if (!is_guard(trace->facts[i]))
			add_evidence(f, rd_fact_path(trace->facts[i]), trace->facts[i]);
	for (size_t i = 0; i < trace->absent_n; i++)
		add_evidence(f, rd_xstrdup(trace->absent[i].path), NULL);
}

static void evidence_of_rule(struct rd_finding *f, const struct rd_fact *facts, const struct rd_fact *item)
{
	for (size_t i = 0; i < f->rule->evidence_n; i++) {
		const struct rd_fact *value = rd_expr_path_get(rd_rule_evidence(f->rule, i), facts, item);

		if (rd_fact_state(value) == RD_FACT_KNOWN)
			add_evidence(f, rd_fact_path(value), value);
	}
}

static void add_item(struct rd_finding *f, const struct rd_fact *item)
{
	f->items = rd_xreallocarray(f->items, f->items_n + 1, sizeof(*f->items));
	f->items[f->items_n++] = item;
}

static char *render(const struct rd_template *t, const struct rd_fact *facts, const struct rd_fact *item)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_template_render(t, facts, item, &sb);
	return rd_strbuf_detach(&sb);
}

static void add_gpu(struct rd_finding *f, const char *address)
{
	for (size_t i = 0; i < f->gpus_n; i++)
		if (rd_streq(f->gpus[i], address))
			return;
	f->gpus = rd_xreallocarray(f->gpus, f->gpus_n + 1, sizeof(*f->gpus));
	f->gpus[f->gpus_n++] = rd_xstrdup(address);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_gpus(struct rd_finding *f, const struct rd_fact *facts, const struct rd_fact *item)
{
	for (size_t i = 0; i < f->rule->gpus_n; i++) {
		const struct rd_expr *path = rd_template_path(f->rule->gpus[i]);
		const struct rd_fact *value = path ? rd_expr_path_get(path, facts, item) : NULL;
		rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

		if (rd_fact_kind(value) == RD_STRS || rd_fact_kind(value) == RD_LIST) {
			for (size_t j = 0; j < rd_fact_count(value); j++)
				add_gpu(f, rd_fact_str(rd_fact_at(value, j)));
		} else if (rd_template_render(f->rule->gpus[i], facts, item, &sb)) {
			add_gpu(f, sb.buf);
		}
	}
	if (f->rule->subject_kind == RD_SUBJECT_GPU && !f->rule->gpus_n && f->subject)
		add_gpu(f, f->subject);
	if (f->gpus_n > 1)
		qsort(f->gpus, f->gpus_n, sizeof(*f->gpus), by_text);
}

/*
 * A step that is one fact alone is left out where the fact is empty: there is nothing of that kind to do. So is one whose
 * condition does not hold, or is not known to.
 */
static char *step(const struct rd_rule *rule, size_t index, const struct rd_fact *facts, const struct rd_fact *item)
{
	const struct rd_template *t = rule->next[index];
	const struct rd_expr *path = rd_template_path(t), *condition = rd_rule_step_condition(rule, index);
	const struct rd_fact *f = path ? rd_expr_path_get(path, facts, item) : NULL;

	if (condition && rd_expr_eval(condition, facts, item, NULL) != RD_TRUE)
		return NULL;
	if (path && (!f || (rd_fact_state(f) == RD_FACT_KNOWN && !*rd_fact_str(f))))
		return NULL;
	return render(t, facts, item);
}

static void word(struct rd_finding *f, const struct rd_fact *facts, const struct rd_fact *item)
{
	const struct rd_rule *rule = f->rule;

	if (rule->subject) {
		struct rd_strbuf sb = RD_STRBUF_INIT;

		if (rd_template_render(rule->subject, facts, item, &sb) || f->state == RD_TRUE)
			f->subject = rd_strbuf_detach(&sb);
		else
			rd_strbuf_release(&sb);
	}
	f->title = render(rule->title, facts, item);
	f->detail = render(rule->detail, facts, item);
	f->next = rd_xcalloc(rule->next_n, sizeof(*f->next));
	for (size_t i = 0; i < rule->next_n; i++) {
		char *text = step(rule, i, facts, item);

		if (text)
			f->next[f->next_n++] = text;
	}
	add_gpus(f, facts, item);
}

/* All conditions of a rule over one item; the trace keeps what decided, as in an AND. */
static enum rd_tri judge(const struct rd_rule *rule, const struct rd_fact *facts, const struct rd_fact *item,
                         struct rd_trace *ret)
{
	enum rd_tri result = RD_TRUE;

	for (size_t i = 0; i < rule->when_n && result != RD_FALSE; i++) {
		enum rd_tri next = rd_expr_eval(rd_rule_condition(rule, i), facts, item, NULL);

		result = rd_tri_and(result, next);
	}
	for (size_t i = 0; i < rule->when_n && result != RD_FALSE; i++)
		if (rd_expr_eval(rd_rule_condition(rule, i), facts, item, NULL) == result)
			rd_expr_eval(rd_rule_condition(rule, i), facts, item, ret);
	return result;
}

static struct instance *new_instance(struct rd_diagnosis *d, size_t rule, enum rd_tri state)
{
	struct instance *in = rd_xcalloc(1, sizeof(*in));

	in->rule = rule;
	in->holds = true;
	in->finding.rule = d->k->rules[rule];
	in->finding.severity = in->finding.rule->severity;
	in->finding.state = state;
	RD_GROW(d->v, d->n, d->allocated);
	d->v[d->n++] = in;
	return in;
}

static bool all_not_asked(const struct rd_finding *f)
{
	for (size_t i = 0; i < f->evidence_n; i++)
		if (!rd_fact_not_asked(f->evidence[i].value))
			return false;
	return f->evidence_n;
}

static void free_finding(struct rd_finding *f)
{
	for (size_t i = 0; i < f->gpus_n; i++)
		free(f->gpus[i]);
	for (size_t i = 0; i < f->next_n; i++)
		free(f->next[i]);
	for (size_t i = 0; i < f->evidence_n; i++) {
		free(f->evidence[i].fact);
		free(f->evidence[i].source);
	}
	free(f->gpus);
	free(f->items);
	free(f->next);
	free(f->evidence);
	free(f->subject);
	free(f->title);
	free(f->detail);
	free(f->caused_by);
	free(f->unchecked_causes);
}

static void free_instance(struct instance *in)
{
	free_finding(&in->finding);
	free(in->causes.v);
	free(in->unchecked.v);
	free(in);
}

static bool same_subject(const struct rd_finding *a, const struct rd_finding *b)
{
	return a->rule == b->rule && (a->subject ? b->subject && rd_streq(a->subject, b->subject) : !b->subject);
}

/* Items that give one subject are one finding with all their evidence. */
static bool merge_into_earlier(struct rd_diagnosis *d, struct instance *in, size_t first)
{
	for (size_t i = first; i + 1 < d->n; i++) {
		struct rd_finding *earlier = &d->v[i]->finding;

		if (earlier->state != in->finding.state || !same_subject(earlier, &in->finding))
			continue;
		for (size_t j = 0; j < in->finding.evidence_n; j++)
			add_evidence(earlier, rd_xstrdup(in->finding.evidence[j].fact), in->finding.evidence[j].value);
		for (size_t j = 0; j < in->finding.gpus_n; j++)
			add_gpu(earlier, in->finding.gpus[j]);
		for (size_t j = 0; j < in->finding.items_n; j++)
			add_item(earlier, in->finding.items[j]);
		if (earlier->gpus_n > 1)
			qsort(earlier->gpus, earlier->gpus_n, sizeof(*earlier->gpus), by_text);
		return true;
	}
	return false;
}

static void apply(struct rd_diagnosis *d, size_t rule_index, const struct rd_fact *item, size_t first)
{
	const struct rd_rule *rule = d->k->rules[rule_index];
	struct rd_trace trace = { 0 };
	enum rd_tri state = judge(rule, d->facts, item, &trace);
	struct instance *in;

	if (state != RD_FALSE) {
		in = new_instance(d, rule_index, state);
		if (state == RD_TRUE)
			evidence_of_rule(&in->finding, d->facts, item);
		if (!in->finding.evidence_n)
			evidence_of_trace(&in->finding, &trace);
		word(&in->finding, d->facts, item);
		if (item)
			add_item(&in->finding, item);
		if (merge_into_earlier(d, in, first)) {
			d->n--;
			free_instance(in);
		}
	}
	rd_trace_clear(&trace);
}

static void apply_to_items(struct rd_diagnosis *d, size_t rule_index, size_t first)
{
	const struct rd_rule *rule = d->k->rules[rule_index];
	const struct rd_fact *list = rd_expr_path_get(rule->for_each, d->facts, NULL);

	if (rd_fact_state(list) == RD_FACT_UNKNOWN) {
		struct instance *in;

		/* All of an item that nobody has seen is unknown; what the rule says of the host may still be false. */
		if (judge(rule, d->facts, list, NULL) == RD_FALSE)
			return;
		in = new_instance(d, rule_index, RD_UNKNOWN);
		add_evidence(&in->finding, rd_fact_path(list), list);
		in->finding.title = rd_xstrdup("");
		in->finding.detail = rd_xstrdup("");
		return;
	}
	for (size_t i = 0; i < rd_fact_count(list); i++)
		apply(d, rule_index, rd_fact_at(list, i), first);
}

static void apply_rule(struct rd_diagnosis *d, size_t rule_index)
{
	size_t first = d->n;

	if (d->k->rules[rule_index]->for_each)
		apply_to_items(d, rule_index, first);
	else
		apply(d, rule_index, NULL, first);
	for (size_t i = first; i < d->n; i++)
		d->v[i]->only_not_asked = d->v[i]->finding.state == RD_UNKNOWN && all_not_asked(&d->v[i]->finding);
}

/* Settling causes */

static bool is_host_wide(const struct rd_finding *f)
{
	enum rd_subject_kind kind = f->rule->subject_kind;

	return kind != RD_SUBJECT_ENVIRONMENT && kind != RD_SUBJECT_ENGINE;
}

/* An environment's or engine's cause reaches what is about the same place; any other reaches everything. */
static bool subjects_join(const struct rd_finding *cause, const struct rd_finding *effect)
{
	if (is_host_wide(cause))
		return true;
	return cause->subject && effect->subject && rd_streq(cause->subject, effect->subject);
}

static bool has_gpu(const struct rd_finding *f, const char *address)
{
	return f->gpus_n && bsearch(&address, f->gpus, f->gpus_n, sizeof(*f->gpus), by_text);
}

/*
 * Whether causes together reach all GPUs of an effect (all of the host where it names none). A cause without GPUs reaches
 * every one; *ret gets those that count.
 */
static bool accept_causes(const struct rd_diagnosis *d, const struct instance *effect, const struct set *candidates,
                          struct set *ret)
{
	char *const *wanted = effect->finding.gpus_n ? effect->finding.gpus : d->addresses.v;
	size_t wanted_n = effect->finding.gpus_n ? effect->finding.gpus_n : d->addresses.n;
	struct set partial = { 0 };
	size_t covered = 0;

	for (size_t i = 0; i < candidates->n; i++)
		if (!d->v[candidates->v[i]]->finding.gpus_n)
			set_add(ret, candidates->v[i]);
	for (size_t i = 0; i < wanted_n; i++) {
		bool found = false;

		for (size_t j = 0; j < candidates->n; j++) {
			if (has_gpu(&d->v[candidates->v[j]]->finding, wanted[i])) {
				set_add(&partial, candidates->v[j]);
				found = true;
			}
		}
		covered += found;
	}
	if (covered == wanted_n)
		for (size_t i = 0; i < partial.n; i++)
			set_add(ret, partial.v[i]);
	free(partial.v);
	return ret->n;
}

static void gather_from(const struct rd_diagnosis *d, size_t cause, struct instance *b, struct set *all, struct set *direct)
{
	struct instance *a = d->v[cause];

	if (!a->holds || !subjects_join(&a->finding, &b->finding))
		return;
	if (a->finding.state == RD_TRUE) {
		set_add(all, cause);
		set_add(direct, cause);
		return;
	}
	if (!a->only_not_asked)
		set_add(&b->unchecked, a->rule);
	for (size_t j = 0; j < a->causes.n; j++)
		set_add(all, a->causes.v[j]);
	for (size_t j = 0; j < a->unchecked.n; j++)
		set_add(&b->unchecked, a->unchecked.v[j]);
}

static void gather(const struct rd_diagnosis *d, size_t effect, struct set *all, struct set *direct)
{
	struct instance *b = d->v[effect];
	size_t n = d->k->rules_n;

	for (size_t rule = 0; rule < n; rule++)
		for (size_t i = d->first[rule]; i < d->first[rule + 1] && d->k->explains[rule * n + b->rule]; i++)
			gather_from(d, i, b, all, direct);
}

static void settle_instance(struct rd_diagnosis *d, size_t index)
{
	struct instance *in = d->v[index];
	struct set all = { 0 }, direct = { 0 }, accepted = { 0 };

	gather(d, index, &all, &direct);
	in->has_direct_cause = accept_causes(d, in, &direct, &accepted);
	accept_causes(d, in, &all, &in->causes);
	if (in->finding.rule->summary && !in->has_direct_cause)
		in->holds = false;
	free(all.v);
	free(direct.v);
	free(accepted.v);
}

/* A rule of which nothing holds; nor does a summary that sums up nothing. */
static void note_clear(struct rd_diagnosis *d)
{
	for (size_t i = 0; i < d->k->rules_n; i++) {
		bool holds = false;

		for (size_t j = d->first[i]; j < d->first[i + 1]; j++)
			holds |= d->v[j]->holds;
		d->clear[i] = d->k->rules[i]->enabled && !holds;
	}
}

/* Causes are settled before what follows from them. */
static void settle(struct rd_diagnosis *d)
{
	for (size_t i = 0; i < d->k->rules_n; i++)
		for (size_t j = d->first[d->k->order[i]]; j < d->first[d->k->order[i] + 1]; j++)
			settle_instance(d, j);
	/* Backwards, what an error follows from, near or far. */
	for (size_t i = d->k->rules_n; i-- > 0;) {
		for (size_t j = d->first[d->k->order[i]]; j < d->first[d->k->order[i] + 1]; j++) {
			struct instance *in = d->v[j];
			bool is_error = in->finding.severity == RD_ERROR || in->leads_to_error;

			if (!in->holds || in->finding.state != RD_TRUE || !is_error)
				continue;
			for (size_t c = 0; c < in->causes.n; c++)
				d->v[in->causes.v[c]]->leads_to_error = true;
		}
	}
}

/* The ids of a set of rules, sorted. */
static const char **names_of(const struct rd_diagnosis *d, const struct set *rules, size_t *ret_n)
{
	const char **names = rd_xcalloc(rules->n, sizeof(*names));

	for (size_t i = 0; i < rules->n; i++)
		names[i] = d->k->rules[rules->v[i]]->id;
	qsort(names, rules->n, sizeof(*names), by_text);
	*ret_n = rules->n;
	return names;
}

static const char **causes_of(const struct rd_diagnosis *d, const struct instance *in, size_t *ret_n)
{
	struct set rules = { 0 };
	const char **names;

	for (size_t i = 0; i < in->causes.n; i++)
		set_add(&rules, d->v[in->causes.v[i]]->rule);
	names = names_of(d, &rules, ret_n);
	free(rules.v);
	return names;
}

static void name_role(struct rd_diagnosis *d, struct instance *in)
{
	struct rd_finding *f = &in->finding;

	if (f->state == RD_UNKNOWN) {
		f->masked = in->causes.n;
		f->caused_by = causes_of(d, in, &f->caused_by_n);
	} else if (in->causes.n) {
		f->role = RD_CONSEQUENCE;
		f->caused_by = causes_of(d, in, &f->caused_by_n);
	} else {
		f->role = f->severity == RD_ERROR || in->leads_to_error ? RD_ROOT_CAUSE : RD_INDEPENDENT;
		f->unchecked_causes = names_of(d, &in->unchecked, &f->unchecked_causes_n);
	}
}

static int by_report_order(const void *a, const void *b)
{
	const struct rd_finding *x = &(*(struct instance *const *)a)->finding;
	const struct rd_finding *y = &(*(struct instance *const *)b)->finding;
	int r = (int)x->role - (int)y->role;

	r = r ? r : (int)x->rule->layer - (int)y->rule->layer;
	r = r ? r : (int)y->severity - (int)x->severity;
	r = r ? r : strcmp(x->rule->id, y->rule->id);
	return r ? r : strcmp(x->subject ? x->subject : "", y->subject ? y->subject : "");
}

static void sort_and_link(struct instance **v, size_t n)
{
	qsort(v, n, sizeof(*v), by_report_order);
	for (size_t i = 0; i + 1 < n; i++)
		v[i]->next = v[i + 1];
}

static void put_in_order(struct rd_diagnosis *d)
{
	d->found = rd_xcalloc(d->n, sizeof(struct instance *));
	d->unknown = rd_xcalloc(d->n, sizeof(struct instance *));
	for (size_t i = 0; i < d->n; i++) {
		struct instance *in = d->v[i];

		if (!in->holds || in->only_not_asked)
			continue;
		name_role(d, in);
		if (in->finding.state == RD_TRUE)
			d->found[d->found_n++] = in;
		else
			d->unknown[d->unknown_n++] = in;
	}
	sort_and_link(d->found, d->found_n);
	sort_and_link(d->unknown, d->unknown_n);
}

static void raise_severities(struct rd_diagnosis *d, const char *profile)
{
	const cJSON *json = rd_knowledge_profile(d->k, profile ? profile : "default");
	const cJSON *levels = cJSON_GetObjectItemCaseSensitive(json, "severity");

	for (size_t i = 0; i < d->n; i++) {
		struct rd_finding *f = &d->v[i]->finding;
		const cJSON *level = cJSON_GetObjectItemCaseSensitive(levels, f->rule->id);

		for (int s = RD_INFO; cJSON_IsString(level) && s <= RD_ERROR; s++)
			if (rd_streq(level->valuestring, rd_severity_name((enum rd_severity)s)))
				f->severity = (enum rd_severity)s;
	}
}

struct rd_diagnosis *rd_diagnose(const struct rd_knowledge *k, const struct rd_fact *facts, const char *profile)
{
	struct rd_diagnosis *d = rd_xcalloc(1, sizeof(*d));
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	rd_knowledge_prepare(k);
	d->k = k;
	d->facts = facts;
	d->first = rd_xcalloc(k->rules_n + 1, sizeof(*d->first));
	d->clear = rd_xcalloc(k->rules_n, sizeof(*d->clear));
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_strv_push(&d->addresses, rd_fact_get_str(rd_fact_at(gpus, i), "pci.address"));
	for (size_t i = 0; i < k->rules_n; i++) {
		d->first[i] = d->n;
		if (k->rules[i]->enabled)
			apply_rule(d, i);
	}
	d->first[k->rules_n] = d->n;
	raise_severities(d, profile);
	settle(d);
	note_clear(d);
	put_in_order(d);
	return d;
}

struct rd_diagnosis *rd_diagnosis_free(struct rd_diagnosis *d)
{
	if (!d)
		return NULL;
	for (size_t i = 0; i < d->n; i++)
		free_instance(d->v[i]);
	free(d->v);
	free(d->found);
	free(d->unknown);
	free(d->first);
	free(d->clear);
	rd_strv_clear(&d->addresses);
	free(d);
	return NULL;
}

static const struct rd_finding *after(struct instance *const *v, size_t n, const struct rd_finding *prev)
{
	const struct instance *next = prev ? ((const struct instance *)prev)->next : n ? v[0] : NULL;

	return next ? &next->finding : NULL;
}

const struct rd_finding *rd_diagnosis_next(const struct rd_diagnosis *d, const struct rd_finding *prev)
{
	return after(d->found, d->found_n, prev);
}

const struct rd_finding *rd_diagnosis_next_unknown(const struct rd_diagnosis *d, const struct rd_finding *prev)
{
	return after(d->unknown, d->unknown_n, prev);
}

bool rd_diagnosis_clear(const struct rd_diagnosis *d, const struct rd_rule *rule)
{
	for (size_t i = 0; i < d->k->rules_n; i++)
		if (d->k->rules[i] == rule)
			return d->clear[i];
	return false;
}

const char *rd_role_name(enum rd_role role)
{
	static const char *const names[] = {
		[RD_ROOT_CAUSE] = "root-cause",
		[RD_CONSEQUENCE] = "consequence",
		[RD_INDEPENDENT] = "independent",
	};

	return names[role];
}
