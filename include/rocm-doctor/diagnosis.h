/* Findings and what follows from what. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/layer.h"
#include "rocm-doctor/macros.h"
#include "rocm-doctor/tri.h"

struct rd_diagnosis;
struct rd_error;
struct rd_fact;
struct rd_strv;

enum rd_role { RD_ROOT_CAUSE, RD_CONSEQUENCE, RD_INDEPENDENT };

struct rd_evidence {
	char *fact;                  /* path with indexes */
	const struct rd_fact *value; /* NULL: absent */
	bool is_count;               /* of a list: how many items it has */
	char *source;
};

struct rd_finding {
	const struct rd_rule *rule;
	enum rd_severity severity; /* the rule's, or what the profile makes of it */
	enum rd_role role;
	enum rd_tri state;            /* TRUE: a finding; UNKNOWN: undetermined or masked */
	bool masked;                  /* unknown, and a true cause stands above it */
	char *subject;                /* NULL: the host */
	const struct rd_fact **items; /* of for_each that it is about; none for a rule of the host */
	size_t items_n;
	char *title, *detail;
	char **gpus; /* sorted addresses */
	size_t gpus_n;
	char **next;
	size_t next_n;
	struct rd_evidence *evidence; /* of an unknown one: the facts that keep it undecided */
	size_t evidence_n;
	const char **caused_by; /* ids of the nearest true causes, sorted */
	size_t caused_by_n;
	const char **unchecked_causes; /* ids of causes that could not be judged, sorted */
	size_t unchecked_causes_n;
};

/* What is reported and gated; roles are settled over all findings before. */
struct rd_selection {
	const struct rd_strv *layers; /* names; empty or NULL: all */
	const struct rd_strv *only;   /* globs of ids */
	const struct rd_strv *skip;
};

/*
 * rd_diagnose - judge the facts by the rules
 * @profile: a profile's JSON (its severities count), NULL: none
 */
struct rd_diagnosis *rd_diagnose(const struct rd_knowledge *k, const struct rd_fact *facts, const char *profile);
struct rd_diagnosis *rd_diagnosis_free(struct rd_diagnosis *d);

/* Findings that are true, in the order of the report; @prev NULL gives the first, NULL comes after the last. */
const struct rd_finding *rd_diagnosis_next(const struct rd_diagnosis *d, const struct rd_finding *prev);
/* Rules that stayed unknown, masked ones included, by layer and id. */
const struct rd_finding *rd_diagnosis_next_unknown(const struct rd_diagnosis *d, const struct rd_finding *prev);

/* A rule whose every instance was false. */
bool rd_diagnosis_clear(const struct rd_diagnosis *d, const struct rd_rule *rule);

const char *rd_role_name(enum rd_role role); /* "root-cause" ... */
