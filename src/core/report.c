/* From a diagnosis to what is reported: the selection, layers, what could not be decided, and the words. */

#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

static bool has_match(const struct rd_strv *globs, const char *id)
{
	for (size_t i = 0; i < globs->n; i++)
		if (rd_str_glob(globs->v[i], id))
			return true;
	return false;
}

bool rd_selection_has(const struct rd_selection *s, const struct rd_rule *rule)
{
	if (!s)
		return true;
	if (s->layers && s->layers->n && !rd_strv_has(s->layers, rd_layer_name(rule->layer)))
		return false;
	if (s->only && s->only->n && !has_match(s->only, rule->id))
		return false;
	return !s->skip || !has_match(s->skip, rule->id);
}

const char *rd_status_name(enum rd_status status)
{
	static const char *const names[] = {
		[RD_STATUS_OK] = "ok",           [RD_STATUS_WARNING] = "warning", [RD_STATUS_ERROR] = "error",
		[RD_STATUS_UNKNOWN] = "unknown", [RD_STATUS_SKIPPED] = "skipped", [RD_STATUS_BLOCKED] = "blocked",
	};

	return names[status];
}

static enum rd_status status_of(enum rd_severity severity)
{
	return severity == RD_ERROR ? RD_STATUS_ERROR : severity == RD_WARNING ? RD_STATUS_WARNING : RD_STATUS_OK;
}

static void add_unknown(struct rd_report *report, const struct rd_evidence *e)
{
	const char *reason = rd_fact_reason(e->value);

	if (rd_fact_not_asked(e->value))
		return;
	report->unknown = rd_xreallocarray(report->unknown, report->unknown_n + 1, sizeof(*report->unknown));
	report->unknown[report->unknown_n++] = (struct rd_unknown){
		.fact = rd_xstrdup(e->fact),
		.reason = rd_xstrdup(*reason ? reason : "no version there"),
		.source = rd_xstrdup(e->source),
	};
}

static int by_fact(const void *a, const void *b)
{
	return strcmp(((const struct rd_unknown *)a)->fact, ((const struct rd_unknown *)b)->fact);
}

static void free_unknown(struct rd_unknown *u)
{
	free(u->fact);
	free(u->reason);
	free(u->source);
}

/* Many checks wait for one fact. */
static void sort_unknown(struct rd_report *report)
{
	size_t n = 0;

	if (report->unknown_n)
		qsort(report->unknown, report->unknown_n, sizeof(*report->unknown), by_fact);
	for (size_t i = 0; i < report->unknown_n; i++) {
		if (n && rd_streq(report->unknown[n - 1].fact, report->unknown[i].fact))
			free_unknown(&report->unknown[i]);
		else
			report->unknown[n++] = report->unknown[i];
	}
	report->unknown_n = n;
}

/* What is known of one layer while it is summed up. */
struct tally {
	bool selected, has_consequence, has_masked;
	bool unjudged; /* something here waits for a cause that the report does not tell of */
	size_t decided, undecided;
	const struct rd_finding *worst; /* no consequence */
	size_t more;                    /* further findings of that severity that are no consequence */
	const struct rd_finding *consequence;
	const struct rd_finding *awaited; /* a cause elsewhere, without whose end nothing here can show */
};

static void take_finding(struct rd_report *report, struct tally *t, const struct rd_finding *f)
{
	report->findings = rd_xreallocarray(report->findings, report->findings_n + 1, sizeof(*report->findings));
	report->findings[report->findings_n++] = f;
	t->decided++;
	if (f->role == RD_CONSEQUENCE) {
		t->has_consequence = true;
		if (!t->consequence)
			t->consequence = f;
	} else if (!t->worst || f->severity > t->worst->severity) {
		t->worst = f;
		t->more = 0;
	} else if (f->severity == t->worst->severity) {
		t->more++;
	}
}

static bool tells_of(const struct rd_report *report, const char *id)
{
	for (size_t i = 0; i < report->findings_n; i++)
		if (rd_streq(report->findings[i]->rule->id, id))
			return true;
	return false;
}

static bool tells_of_a_cause(const struct rd_report *report, const struct rd_finding *f)
{
	for (size_t i = 0; i < f->caused_by_n; i++)
		if (tells_of(report, f->caused_by[i]))
			return true;
	return false;
}

static void take_unknown(struct rd_report *report, struct tally *t, const struct rd_finding *f)
{
	if (f->masked) {
		t->has_masked = true;
		t->unjudged |= !tells_of_a_cause(report, f);
		report->waiting++;
		return;
	}
	t->undecided++;
	for (size_t i = 0; i < f->evidence_n; i++)
		add_unknown(report, &f->evidence[i]);
}

static void take_rules(struct rd_report *report, const struct rd_diagnosis *d, const struct rd_selection *selection,
                       struct tally tallies[RD_LAYER_COUNT])
{
	const struct rd_rule *const *rules;
	size_t n = rd_knowledge_rules(report->knowledge, &rules);

	report->clear = rd_xcalloc(n, sizeof(*report->clear));
	for (size_t i = 0; i < n; i++) {
		if (!rules[i]->enabled || !rd_selection_has(selection, rules[i]))
			continue;
		tallies[rules[i]->layer].selected = true;
		if (rd_diagnosis_clear(d, rules[i])) {
			tallies[rules[i]->layer].decided++;
			report->clear[report->clear_n++] = rules[i];
		}
	}
}

/*
 * A check that is clear only since something before it is broken says nothing yet: with amdgpu not loaded, no node can be
 * missing. What a summary sums up is no such check, nor is one of an environment or an engine, which is there or not on its own.
 */
static bool may_wait(const struct rd_rule *rule)
{
	return !rule->summary && rule->subject_kind != RD_SUBJECT_ENVIRONMENT && rule->subject_kind != RD_SUBJECT_ENGINE;
}

/* Findings that were not selected count as well: what waits for them is not healthy. */
static const struct rd_finding *awaited_by(const struct rd_report *report, const struct rd_rule *rule)
{
	for (const struct rd_finding *f = NULL; may_wait(rule) && (f = rd_diagnosis_next(report->diagnosis, f));)
		if (!f->gpus_n && f->severity == RD_ERROR && rule->layer > f->rule->layer &&
		    rd_knowledge_explains(report->knowledge, f->rule, rule))
			return f;
	return NULL;
}

/* Of what is clear those that wait are no verdict. Returns how many. */
static size_t part_waiting(struct rd_report *report, struct tally tallies[RD_LAYER_COUNT])
{
	size_t n = 0;

	for (size_t i = 0; i < report->clear_n; i++) {
		struct tally *t = &tallies[report->clear[i]->layer];
		const struct rd_finding *cause = awaited_by(report, report->clear[i]);

		if (!cause) {
			report->clear[n++] = report->clear[i];
			continue;
		}
		if (!t->awaited)
			t->awaited = cause;
		t->unjudged |= !tells_of(report, cause->rule->id);
		t->decided--;
		report->waiting++;
	}
	n = report->clear_n - n;
	report->clear_n -= n;
	return n;
}

static int by_address(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return (x > y) - (x < y);
}

/* How many there are, a rule of many findings counted once. Sorts them. */
static size_t count_distinct(const struct rd_rule **rules, size_t n)
{
	size_t distinct = 0;

	if (n)
		qsort(rules, n, sizeof(*rules), by_address);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || rules[i] != rules[i - 1];
	return distinct;
}

/* A rule that is true of one GPU and unknown of another has come to a verdict. */
static void count_rules(struct rd_report *report, const struct rd_selection *selection, size_t waiting)
{
	const struct rd_rule **rules;
	size_t n = 0, found;

	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(report->diagnosis, f));)
		n++;
	rules = rd_xcalloc(report->findings_n + n + 1, sizeof(*rules));
	for (n = 0; n < report->findings_n; n++)
		rules[n] = report->findings[n]->rule;
	found = count_distinct(rules, n);
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(report->diagnosis, f));)
		if (rd_selection_has(selection, f->rule))
			rules[n++] = f->rule;
	report->checked = report->clear_n + found;
	report->undecided = count_distinct(rules, n) - found + waiting;
	free(rules);
}

/* Without this fact a layer has not been examined, whatever was decided beside it. */
static const char *const core_facts[RD_LAYER_COUNT] = {
	[RD_LAYER_HOST] = "host.os.id",          [RD_LAYER_HARDWARE] = "gpus",        [RD_LAYER_KERNEL] = "kernel.amdgpu.state",
	[RD_LAYER_DEVICE] = "device.kfd.exists", [RD_LAYER_RUNTIME] = "runtime.rocm", [RD_LAYER_FRAMEWORK] = "python",
};

static bool is_unexamined(enum rd_layer layer, const struct tally *t, const struct rd_fact *facts)
{
	return !t->decided || (t->undecided && core_facts[layer] && rd_fact_is_unknown(facts, core_facts[layer]));
}

static enum rd_status layer_status(enum rd_layer layer, const struct tally *t, const struct rd_fact *facts)
{
	if (!t->selected)
		return RD_STATUS_SKIPPED;
	if (t->worst && t->worst->severity > RD_INFO)
		return status_of(t->worst->severity);
	if (t->has_consequence || t->has_masked || t->awaited)
		return RD_STATUS_BLOCKED;
	if (is_unexamined(layer, t, facts))
		return RD_STATUS_UNKNOWN;
	return RD_STATUS_OK;
}

/* The nearest layer with a cause of what waits here. */
static const char *cause_layer(const struct rd_report *report, enum rd_layer layer, const struct tally *t)
{
	if (t->consequence) {
		const struct rd_rule *rule = rd_knowledge_rule(report->knowledge, t->consequence->caused_by[0]);

		if (rule && rule->layer != layer)
			return rd_layer_name(rule->layer);
	}
	if (t->awaited)
		return rd_layer_name(t->awaited->rule->layer);
	for (size_t i = 0; i < report->findings_n; i++)
		if (report->findings[i]->role == RD_ROOT_CAUSE && report->findings[i]->rule->layer != layer)
			return rd_layer_name(report->findings[i]->rule->layer);
	return NULL;
}

static char *layer_words(const struct rd_report *report, enum rd_layer layer, enum rd_status status, const struct tally *t,
                         const struct rd_fact *facts)
{
	const char *other;

	switch (status) {
	case RD_STATUS_SKIPPED:
		return rd_xstrdup("not selected");
	case RD_STATUS_ERROR:
	case RD_STATUS_WARNING:
		if (t->more)
			return rd_xasprintf("%s (+%zu more)", t->worst->title, t->more);
		return rd_xstrdup(t->worst->title);
	case RD_STATUS_BLOCKED:
		other = cause_layer(report, layer, t);
		if (other)
			return rd_xasprintf("waits for %s", other);
		return rd_xstrdup(t->consequence ? t->consequence->title : "waits for a cause above");
	case RD_STATUS_UNKNOWN:
		return rd_xstrdup("could not be examined");
	default:
		return rd_layer_summary(layer, facts);
	}
}

static void sum_up_layers(struct rd_report *report, const struct tally tallies[RD_LAYER_COUNT], const struct rd_fact *facts)
{
	report->status = RD_STATUS_OK;
	for (size_t i = 0; i < report->findings_n; i++) {
		enum rd_status s = status_of(report->findings[i]->severity);

		if (s > report->status)
			report->status = s;
	}
	for (unsigned i = 0; i < RD_LAYER_COUNT; i++) {
		enum rd_status s = layer_status((enum rd_layer)i, &tallies[i], facts);

		report->layers[i].status = s;
		report->layers[i].summary = layer_words(report, (enum rd_layer)i, s, &tallies[i], facts);
		report->layers[i].unjudged = s == RD_STATUS_UNKNOWN || tallies[i].unjudged;
		report->unjudged |= report->layers[i].unjudged;
	}
	if (report->status == RD_STATUS_OK && report->unjudged)
		report->status = RD_STATUS_UNKNOWN;
}

static size_t count_findings(const struct rd_report *report, enum rd_severity severity)
{
	size_t n = 0;

	for (size_t i = 0; i < report->findings_n; i++)
		n += report->findings[i]->severity == severity && report->findings[i]->role != RD_CONSEQUENCE;
	return n;
}

bool rd_report_lacks_cause(const struct rd_report *report, const struct rd_finding *f)
{
	return f->role == RD_CONSEQUENCE && !tells_of_a_cause(report, f);
}

const char *rd_report_waiting_layer(const struct rd_report *report)
{
	for (unsigned i = 0; i < RD_LAYER_COUNT; i++)
		if (report->layers[i].unjudged && report->layers[i].status != RD_STATUS_UNKNOWN)
			return rd_layer_name((enum rd_layer)i);
	return NULL;
}

size_t rd_report_unmet(const struct rd_report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->requirements_n; i++)
		n += report->requirements[i].result == RD_FALSE;
	return n;
}

static char *summary_line(const struct rd_report *report)
{
	const char *waiting = rd_report_waiting_layer(report);
	size_t unmet = rd_report_unmet(report);
	const struct rd_finding *first = report->findings_n ? report->findings[0] : NULL;
	size_t errors = count_findings(report, RD_ERROR), warnings = count_findings(report, RD_WARNING);

	if (first && first->role == RD_ROOT_CAUSE && errors > 1)
		return rd_xasprintf("%s: %s (and %zu more root cause%s)", first->rule->id, first->title, errors - 1,
		                    errors == 2 ? "" : "s");
	if (first && first->role == RD_ROOT_CAUSE)
		return rd_xasprintf("%s: %s", first->rule->id, first->title);
	for (size_t i = 0; i < report->findings_n; i++)
		if (rd_report_lacks_cause(report, report->findings[i]))
			return rd_xasprintf("%s: %s (follows from what was not selected)", report->findings[i]->rule->id,
			                    report->findings[i]->title);
	if (warnings)
		return rd_xasprintf("nothing is broken; %zu warning%s", warnings, warnings == 1 ? "" : "s");
	if (waiting)
		return rd_xasprintf("nothing wrong was found, but %s waits for what was not selected", waiting);
	if (report->status == RD_STATUS_UNKNOWN)
		return rd_xstrdup("nothing wrong was found, but not every layer could be examined");
	if (unmet)
		return rd_xasprintf("nothing is broken, but %zu requirement%s not met", unmet, unmet == 1 ? " is" : "s are");
	return rd_xasprintf("nothing is wrong in %zu check%s", report->checked, report->checked == 1 ? "" : "s");
}

struct rd_report *rd_report_new(const struct rd_knowledge *k, const struct rd_fact *facts, const struct rd_diagnosis *d,
                                const struct rd_selection *selection)
{
	struct rd_report *report = rd_xcalloc(1, sizeof(*report));
	struct tally tallies[RD_LAYER_COUNT] = { 0 };

	report->knowledge = k;
	report->diagnosis = d;
	report->facts = facts;
	report->headline = rd_host_headline(facts);
	take_rules(report, d, selection, tallies);
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		if (rd_selection_has(selection, f->rule))
			take_finding(report, &tallies[f->rule->layer], f);
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(d, f));)
		if (rd_selection_has(selection, f->rule))
			take_unknown(report, &tallies[f->rule->layer], f);
	sort_unknown(report);
	count_rules(report, selection, part_waiting(report, tallies));
	sum_up_layers(report, tallies, facts);
	report->summary = summary_line(report);
	return report;
}

static void add_value(struct rd_requirement *req, const struct rd_schema *schema, char *path, const struct rd_fact *value)
{
	const struct rd_schema *declared = rd_schema_lookup(schema, path);
	bool is_count, seen = false;

	for (size_t i = 0; i < req->evidence_n && !seen; i++)
		seen = !value && rd_streq(req->evidence[i].fact, path);
	if (seen) {
		free(path);
		return;
	}
	is_count = declared && rd_schema_kind(declared) == RD_LIST && rd_fact_state(value) != RD_FACT_UNKNOWN;

	req->evidence = rd_xreallocarray(req->evidence, req->evidence_n + 1, sizeof(*req->evidence));
	req->evidence[req->evidence_n++] = (struct rd_evidence){
		.fact = is_count ? rd_xasprintf("count(%s)", path) : rd_xstrdup(path),
		.value = value,
		.is_count = is_count,
		.source = rd_xstrdup(rd_fact_source(value)),
	};
	free(path);
}

void rd_report_add_requirement(struct rd_report *report, const char *text, const struct rd_expr *expression)
{
	const struct rd_schema *schema = rd_knowledge_schema(report->knowledge);
	struct rd_trace trace = { .items = true };
	struct rd_requirement *req;

	report->requirements =
		rd_xreallocarray(report->requirements, report->requirements_n + 1, sizeof(*report->requirements));
	req = &report->requirements[report->requirements_n++];
	*req = (struct rd_requirement){ .expression = rd_xstrdup(text) };
	req->result = rd_expr_eval(expression, report->facts, NULL, &trace);
	for (size_t i = 0; i < trace.n; i++)
		add_value(req, schema, rd_fact_path(trace.facts[i]), trace.facts[i]);
	for (size_t i = 0; i < trace.absent_n; i++)
		add_value(req, schema, rd_xstrdup(trace.absent[i].path), NULL);
	rd_trace_clear(&trace);
	free(report->summary);
	report->summary = summary_line(report);
}

static void free_requirement(struct rd_requirement *req)
{
	for (size_t i = 0; i < req->evidence_n; i++) {
		free(req->evidence[i].fact);
		free(req->evidence[i].source);
	}
	free(req->evidence);
	free(req->expression);
}

struct rd_report *rd_report_free(struct rd_report *report)
{
	if (!report)
		return NULL;
	for (size_t i = 0; i < report->unknown_n; i++)
		free_unknown(&report->unknown[i]);
	for (size_t i = 0; i < report->requirements_n; i++)
		free_requirement(&report->requirements[i]);
	for (size_t i = 0; i < RD_LAYER_COUNT; i++)
		free(report->layers[i].summary);
	free(report->unknown);
	free(report->requirements);
	free(report->findings);
	free(report->clear);
	free(report->summary);
	free(report->headline);
	free(report);
	return NULL;
}
