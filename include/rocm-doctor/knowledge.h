/*
 * Knowledge: rules, tables and profiles as JSON, built in and overridable. Later wins: built in, /usr/share/rocm-doctor,
 * /etc/rocm-doctor, --rules DIR..., each with rules/ fixes/ tables/ profiles/. A file of the same name replaces the file (empty, or a
 * link to /dev/null: masks it); then a rule of the same id replaces the rule.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/layer.h"
#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_error;
struct rd_expr;
struct rd_knowledge;
struct rd_pool;
struct rd_schema;
struct rd_strv;
struct rd_template;

enum rd_severity { RD_INFO, RD_WARNING, RD_ERROR };

enum rd_subject_kind {
	RD_SUBJECT_HOST, /* no subject */
	RD_SUBJECT_GPU,
	RD_SUBJECT_ENVIRONMENT,
	RD_SUBJECT_ENGINE,
	RD_SUBJECT_FILE,
	RD_SUBJECT_PACKAGE,
	RD_SUBJECT_ROCM_ROOT,
};

struct rd_rule {
	struct rd_pool *pool; /* that it lies in, with all it has */
	const char *id;       /* "kernel/amdgpu-blacklisted" */
	enum rd_layer layer;
	enum rd_severity severity;
	bool enabled;
	bool summary;             /* holds only where a true finding explains it */
	struct rd_expr *for_each; /* NULL: once for the host */
	const char *for_each_text;
	enum rd_subject_kind subject_kind;
	struct rd_template *subject; /* NULL: the host */
	struct rd_template **gpus;   /* addresses it concerns */
	size_t gpus_n;
	struct rd_expr **when; /* all of them. By rd_rule_condition() */
	const char **when_text;
	size_t when_n;
	struct rd_expr **evidence; /* paths to show; none: what decided. By rd_rule_evidence() */
	const char **evidence_text;
	size_t evidence_n;
	const struct rd_schema *schema, *item;
	struct rd_template *title, *detail;
	struct rd_template **next; /* commands or advice */
	struct rd_expr **next_if;  /* where each belongs. By rd_rule_step_condition() */
	const char **next_if_text; /* NULL: everywhere */
	size_t next_n;
	const char **explains, **caused_by, **fixes, **references; /* NULL-terminated */
	const char *origin;                                        /* file it came from */
};

/* A condition, and a path to show: parsed once they are wanted, since most rules end at their first condition. */
const struct rd_expr *rd_rule_condition(const struct rd_rule *rule, size_t index);
const struct rd_expr *rd_rule_evidence(const struct rd_rule *rule, size_t index);
/* The condition of a next step; NULL: none. */
const struct rd_expr *rd_rule_step_condition(const struct rd_rule *rule, size_t index);

/* One named fix: what to do, in terms of actions. Texts are templates over the facts and over the finding's item. */
struct rd_fix {
	const char *id; /* "unblacklist-amdgpu" */
	const char *summary;
	struct rd_fix_action {
		const char *name; /* "modprobe.unblacklist" */
		const char *rule; /* a glob of ids: for the findings of these rules alone; NULL: for all that name the fix */
		const char *condition; /* an expression; NULL: always */
		struct rd_fix_arg {
			const char *name, *text;
		} * args;
		size_t args_n;
	} * actions;
	size_t actions_n;
	/* What no action can do. */
	struct rd_fix_advice {
		const char *text, *rule, *condition;
	} * advice;
	size_t advice_n;
	const char *origin;
};

/*
 * rd_knowledge_load - read the built-in records and those of further directories
 * @dirs: further directories in rising rank, NULL: none
 *
 * Strict: unknown keys, facts and functions, duplicate keys, cycles of causes and ids that no rule has are errors which name
 * file, JSON pointer and column. The texts of built-in records are judged by _load_strictly alone, which the tests do, so that
 * a check need not; where all is built in, rules and fixes are read once they are wanted.
 */
int rd_knowledge_load(const struct rd_strv *dirs, struct rd_knowledge **ret, struct rd_error *err) RD_MUST_CHECK;
int rd_knowledge_load_strictly(const struct rd_strv *dirs, struct rd_knowledge **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_knowledge *rd_knowledge_free(struct rd_knowledge *k);

/* Nothing but what the program brings, taken as it is. */
bool rd_knowledge_is_builtin(const struct rd_knowledge *k);
/*
 * rd_knowledge_prepare - read the rules now
 *
 * May run beside rd_knowledge_table(), _rows(), _profile() and _profiles() in other threads: it reads and fills nothing of theirs.
 * All other functions of this header must wait until it has returned, also those on a rule.
 */
void rd_knowledge_prepare(const struct rd_knowledge *k);

/* The declared facts of all probes. */
const struct rd_schema *rd_knowledge_schema(const struct rd_knowledge *k);
/* The date of the tables, "2026-12-01". */
const char *rd_knowledge_version(const struct rd_knowledge *k);

/* Sorted by layer, then id; switched-off rules are there with enabled false. */
size_t rd_knowledge_rules(const struct rd_knowledge *k, const struct rd_rule *const **ret);
const struct rd_rule *rd_knowledge_rule(const struct rd_knowledge *k, const char *id);

/* Whether an edge says that @effect can follow from @cause. */
bool rd_knowledge_explains(const struct rd_knowledge *k, const struct rd_rule *cause, const struct rd_rule *effect);
const struct rd_fix *rd_knowledge_fix(const struct rd_knowledge *k, const char *id);
/* Whether an action or advice with this "for" belongs to the findings of a rule. */
bool rd_fix_part_is_for(const char *glob, const struct rd_rule *rule);
/* By id. */
size_t rd_knowledge_fixes(const struct rd_knowledge *k, const struct rd_fix *const **ret);

/*
 * rd_knowledge_check_signatures - can the patterns of the log's signatures be compiled, and at a fair price?
 *
 * Those built in are judged where the knowledge was loaded strictly. -EINVAL with file, place and reason in @err.
 */
int rd_knowledge_check_signatures(const struct rd_knowledge *k, struct rd_error *err) RD_MUST_CHECK;

/* tables/<name>.json, NULL where there is none; parsed at first use. Case-sensitive getters only. */
const struct cJSON *rd_knowledge_table(const struct rd_knowledge *k, const char *name);
/* A list of a table; NULL where there is none. */
const struct cJSON *rd_knowledge_rows(const struct rd_knowledge *k, const char *table, const char *list);
/* profiles/<name>.json, NULL where there is none. */
const struct cJSON *rd_knowledge_profile(const struct rd_knowledge *k, const char *name);
/* Names of the profiles, sorted. */
void rd_knowledge_profiles(const struct rd_knowledge *k, struct rd_strv *ret);

const char *rd_severity_name(enum rd_severity severity);     /* "error" ... */
const char *rd_subject_kind_name(enum rd_subject_kind kind); /* "gpu" ...; "host" for none */
