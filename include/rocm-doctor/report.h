/* One model of a check, from which text and JSON are both printed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/layer.h"
#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_expr;
struct rd_fact;
struct rd_knowledge;
struct rd_strv;

enum rd_status { RD_STATUS_OK, RD_STATUS_WARNING, RD_STATUS_ERROR, RD_STATUS_UNKNOWN, RD_STATUS_SKIPPED, RD_STATUS_BLOCKED };

struct rd_unknown {
	char *fact, *reason, *source;
};

struct rd_requirement {
	char *expression;
	enum rd_tri result;
	struct rd_evidence *evidence; /* the values that decided, or that keep it unknown */
	size_t evidence_n;
};

struct rd_report {
	const struct rd_knowledge *knowledge;
	const struct rd_diagnosis *diagnosis;
	const struct rd_fact *facts;
	enum rd_status status;
	char *summary;
	char *headline; /* the host in one line: system, kernel, GPUs, user */
	bool unjudged;  /* a layer is: no verdict on what was selected */
	struct rd_report_layer {
		enum rd_status status;
		bool unjudged; /* unknown, or something in it waits for a cause that was not selected */
		char *summary;
	} layers[RD_LAYER_COUNT];
	const struct rd_finding **findings;
	size_t findings_n;
	size_t waiting;               /* checks that wait for a cause */
	size_t checked;               /* rules of the selection that came to a verdict */
	size_t undecided;             /* those that did not: unknown, or they wait */
	const struct rd_rule **clear; /* those of them that are false everywhere */
	size_t clear_n;
	struct rd_unknown *unknown;
	size_t unknown_n;
	struct rd_requirement *requirements;
	size_t requirements_n;
	double elapsed_ms;
};

/*
 * rd_report_new - select and word a diagnosis
 * @facts, @d: must outlive the report
 */
struct rd_report *rd_report_new(const struct rd_knowledge *k, const struct rd_fact *facts, const struct rd_diagnosis *d,
                                const struct rd_selection *selection);
struct rd_report *rd_report_free(struct rd_report *report);
/* @text: the expression as it was written */
void rd_report_add_requirement(struct rd_report *report, const char *text, const struct rd_expr *expression);

/* True for a consequence none of whose causes was selected: nothing else in the report tells of it. */
bool rd_report_lacks_cause(const struct rd_report *report, const struct rd_finding *f);
/* The first layer in which something waits for a cause that was not selected, NULL without one. */
const char *rd_report_waiting_layer(const struct rd_report *report);
/* How many requirements are false. */
size_t rd_report_unmet(const struct rd_report *report);

const char *rd_status_name(enum rd_status status);

struct rd_text_options {
	unsigned columns; /* 40 and more */
	bool color, utf8;
	int verbosity; /* -1 quiet, 0, 1 verbose */
	int exit_status;
	/* Options that commands of our own must have to be about the same: of all, and of fix beside. May be NULL. */
	const struct rd_strv *again, *again_fix;
};

int rd_render_report_text(const struct rd_report *report, const struct rd_text_options *options, FILE *out) RD_MUST_CHECK;
/* Print with two spaces of indent and a line end, as UTF-8 without control characters, and delete. -EIO, -ENOMEM. */
int rd_json_print(struct cJSON *json, FILE *out);
int rd_render_report_json(const struct rd_report *report, FILE *out) RD_MUST_CHECK;
int rd_render_facts_json(const struct rd_knowledge *k, const struct rd_fact *facts, FILE *out) RD_MUST_CHECK;

/* True where a rule is selected by --layer, --only and --skip. */
bool rd_selection_has(const struct rd_selection *selection, const struct rd_rule *rule);

/* What a healthy layer looks like in a few words, from its facts; caller frees. */
char *rd_layer_summary(enum rd_layer layer, const struct rd_fact *facts) RD_MUST_CHECK;
/* The host in one line: system, kernel, GPUs, user; caller frees. */
char *rd_host_headline(const struct rd_fact *facts) RD_MUST_CHECK;
