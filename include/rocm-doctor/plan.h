/* A plan: steps of effects, as data that can be printed, saved, applied and undone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_diagnosis;
struct rd_error;
struct rd_fact;
struct rd_finding;
struct rd_fix;
struct rd_knowledge;
struct rd_strv;
struct rd_sysroot;

enum rd_effect_kind { RD_EFFECT_WRITE, RD_EFFECT_VALUE, RD_EFFECT_LINK, RD_EFFECT_RUN, RD_EFFECT_REFRESH };

struct rd_effect {
	enum rd_effect_kind kind;
	char *path;           /* of WRITE, VALUE and LINK */
	char *before, *after; /* content or target; NULL: not there */
	unsigned mode;        /* of a file: the one it has, or is made with */
	char **argv, **undo;  /* of RUN and REFRESH; NULL-terminated; undo NULL: irreversible */
	char *as_owner_of;    /* path whose owner runs it; NULL: whoever applies */
};

struct rd_step {
	const struct rd_action *action;
	struct rd_step_arg {
		char *name, *value;
	} * args;
	size_t args_n;
	struct rd_effect *effects;
	size_t effects_n;
	char *description; /* NULL: the action's summary */
	char *refusal;     /* why an effect asked for cannot be; NULL: all can */
	char **origins;
	size_t origins_n;
	unsigned flags;        /* of the action and of rd_step_needs() */
	const char **findings; /* ids that it serves */
	size_t findings_n;
	const char *fix; /* id of the fix record that asked for it */
	const struct rd_fact *facts;
	struct rd_sysroot *sysroot; /* as the step sees it, while it is lowered */
};

/* What a plan cannot do itself. */
struct rd_advice {
	const char *fix;
	const char **findings;
	size_t findings_n;
	char *text;
	char *reason; /* why it is no step; NULL: the record says it as advice */
};

struct rd_plan {
	struct rd_step **steps;
	size_t n, allocated;
	struct rd_advice *advice;
	size_t advice_n;
	/* Findings that have no fix at all, and those whose cause could not be judged. */
	const struct rd_finding **unfixed;
	size_t unfixed_n;
	/* Findings that were selected and are not mended. */
	struct rd_plan_left {
		const struct rd_finding *finding;
		char *why;
	} * left;
	size_t left_n;
	/* The first step that can only be taken after a reboot (or login) for the earlier ones; n: none. */
	size_t reboot_at;
	bool needs_root, needs_reboot, needs_login, needs_network, is_irreversible;
};

struct rd_plan_options {
	const struct rd_strv *only, *skip; /* globs of finding ids; only also takes in findings with unchecked causes */
	int until;                         /* enum rd_layer, -1: all */
};

/*
 * rd_plan_build - the fixes of causes, deduplicated, ordered and lowered
 *
 * The sysroot gets an overlay while steps are lowered, and has none afterwards. An empty plan is no error.
 */
int rd_plan_build(const struct rd_knowledge *k, const struct rd_diagnosis *d, const struct rd_fact *facts,
                  struct rd_sysroot *sr, const struct rd_plan_options *options, struct rd_plan **ret,
                  struct rd_error *err) RD_MUST_CHECK;
struct rd_plan *rd_plan_free(struct rd_plan *plan);
/* Whether a fix has an action whose condition holds for a finding: lowering may still find that this host has no way. */
bool rd_fix_has_action_for(const struct rd_knowledge *k, const struct rd_fix *fix, const struct rd_finding *f,
                           const struct rd_fact *facts);

/* One step, outside a plan: for tests of actions and for verification. @args: name and value in turn, NULL-terminated. */
struct rd_step *rd_step_new(const struct rd_action *action, const char *const *args, const struct rd_fact *facts);
/* The same action with the same arguments, not lowered yet. */
struct rd_step *rd_step_again(const struct rd_step *step);
struct rd_step *rd_step_free(struct rd_step *step);
int rd_step_lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err) RD_MUST_CHECK;

/* The plan as saved in a transaction, and back; what is read back borrows strings of @json, which must outlive it. */
struct cJSON *rd_plan_to_json(const struct rd_plan *plan);
int rd_plan_from_json(const struct cJSON *json, struct rd_plan **ret, struct rd_error *err) RD_MUST_CHECK;

struct rd_plan_view {
	unsigned columns;
	bool color, utf8, dry_run;
	int verbosity;               /* -1: steps alone, 1: also why, whole diffs, and what is left alone */
	const struct rd_strv *again; /* as in struct rd_text_options */
};

int rd_render_plan_text(const struct rd_plan *plan, const struct rd_plan_view *view, FILE *out) RD_MUST_CHECK;
int rd_render_plan_json(const struct rd_plan *plan, FILE *out) RD_MUST_CHECK;
int rd_render_plan_sh(const struct rd_plan *plan, FILE *out) RD_MUST_CHECK;
int rd_render_plan_ansible(const struct rd_plan *plan, FILE *out) RD_MUST_CHECK;
int rd_render_plan_cloud_init(const struct rd_plan *plan, FILE *out) RD_MUST_CHECK;
int rd_render_plan_dockerfile(const struct rd_plan *plan, FILE *out) RD_MUST_CHECK;

/* The diff of a file's effect as it may be shown: passwords and tokens are hidden. Caller frees. */
char *rd_effect_diff(const struct rd_effect *e) RD_MUST_CHECK;
/* The first path or program that a script could only be written for with a password or token in it; NULL: none. */
const char *rd_plan_secret(const struct rd_plan *plan);

/* A unified diff with three lines of context; "" where both are equal. NULL content: /dev/null. Caller frees. */
char *rd_diff(const char *path, const char *before, const char *after) RD_MUST_CHECK;
