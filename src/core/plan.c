/* From findings to a plan: the fixes of causes, once each, in an order in which each step finds what it needs. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/schema.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

struct builder {
	const struct rd_knowledge *k;
	const struct rd_fact *facts;
	struct rd_plan *plan;
	const struct rd_finding *finding;
	const struct rd_fix *fix;
	const struct rd_fact *item;
	const struct rd_schema *item_schema;
	/*
	 * Each use of a fix record is a chain: where one of its actions cannot be, what the record has behind that is of no use.
	 * Steps that several uses ask for are links of several chains.
	 */
	size_t chain, part; /* part: index of the action in the record */
	struct link {
		const struct rd_step *step;
		size_t chain, part;
	} * links;
	size_t links_n, links_allocated;
	size_t *broken_at; /* by chain: the first part that cannot be, SIZE_MAX for none */
};

static void add_link(struct builder *b, const struct rd_step *step)
{
	RD_GROW(b->links, b->links_n, b->links_allocated);
	b->links[b->links_n++] = (struct link){ step, b->chain, b->part };
}

/* What only renews (an initramfs, a service) may fail, and the rest is of use all the same. */
static void break_chains(struct builder *b, const struct rd_step *step)
{
	for (size_t i = 0; i < b->links_n && !(step->flags & RD_ACTION_RENEWS); i++) {
		const struct link *link = &b->links[i];

		if (link->step == step && link->part < b->broken_at[link->chain])
			b->broken_at[link->chain] = link->part;
	}
}

static bool is_wanted_still(const struct builder *b, const struct rd_step *step)
{
	for (size_t i = 0; i < b->links_n; i++)
		if (b->links[i].step == step && b->links[i].part < b->broken_at[b->links[i].chain])
			return true;
	return false;
}

static void add_id(const char ***ids, size_t *n, const char *id)
{
	for (size_t i = 0; i < *n; i++)
		if (rd_streq((*ids)[i], id))
			return;
	*ids = rd_xreallocarray(*ids, *n + 1, sizeof(**ids));
	(*ids)[(*n)++] = id;
}

/* Advice with the same words is given once, for all its findings. Takes @text. */
static void add_advice(struct builder *b, char *text, const char *reason)
{
	struct rd_plan *plan = b->plan;
	struct rd_advice *a;

	for (size_t i = 0; i < plan->advice_n; i++) {
		if (rd_streq(plan->advice[i].text, text)) {
			add_id(&plan->advice[i].findings, &plan->advice[i].findings_n, b->finding->rule->id);
			free(text);
			return;
		}
	}
	plan->advice = rd_xreallocarray(plan->advice, plan->advice_n + 1, sizeof(*plan->advice));
	a = &plan->advice[plan->advice_n++];
	*a = (struct rd_advice){ .fix = b->fix ? b->fix->id : "", .text = text, .reason = reason ? rd_xstrdup(reason) : NULL };
	add_id(&a->findings, &a->findings_n, b->finding->rule->id);
}

/* A template's text for the item at hand; *complete says whether every fact in it was known. Caller frees. */
static char *render(const struct builder *b, const char *text, bool *complete)
{
	struct rd_template *t = rd_template_parse(text, rd_knowledge_schema(b->k), b->item_schema, NULL);
	struct rd_strbuf sb = RD_STRBUF_INIT;

	*complete = t && rd_template_render(t, b->facts, b->item, &sb);
	rd_template_free(t);
	return rd_strbuf_detach(&sb);
}

static enum rd_tri condition(const struct builder *b, const char *text)
{
	struct rd_expr *e = text ? rd_expr_parse(text, rd_knowledge_schema(b->k), b->item_schema, NULL) : NULL;
	enum rd_tri result = e ? rd_expr_eval(e, b->facts, b->item, NULL) : RD_TRUE;

	rd_expr_free(e);
	return result;
}

/* The arguments of an action, filled in. NULL where a fact in one is not known: the action then is only advice. */
static struct rd_step *make_step(struct builder *b, const struct rd_fix_action *record)
{
	const struct rd_action *action = rd_action_find(record->name);
	struct rd_step *step = rd_step_new(action, NULL, b->facts);
	bool complete = true;

	for (size_t i = 0; i < record->args_n && complete; i++) {
		char *value = render(b, record->args[i].text, &complete);

		step->args = rd_xreallocarray(step->args, step->args_n + 1, sizeof(*step->args));
		step->args[step->args_n++] = (struct rd_step_arg){ rd_xstrdup(record->args[i].name), value };
	}
	step->fix = b->fix->id;
	add_id(&step->findings, &step->findings_n, b->finding->rule->id);
	return complete ? step : rd_step_free(step);
}

static bool same_step(const struct rd_step *a, const struct rd_step *b)
{
	if (a->action != b->action || a->args_n != b->args_n)
		return false;
	for (size_t i = 0; i < a->args_n; i++)
		if (!rd_streq(a->args[i].name, b->args[i].name) || !rd_streq(a->args[i].value, b->args[i].value))
			return false;
	return true;
}

static void add_step(struct builder *b, struct rd_step *step)
{
	struct rd_plan *plan = b->plan;

	for (size_t i = 0; i < plan->n; i++) {
		if (same_step(plan->steps[i], step)) {
			add_id(&plan->steps[i]->findings, &plan->steps[i]->findings_n, b->finding->rule->id);
			add_link(b, plan->steps[i]);
			rd_step_free(step);
			return;
		}
	}
	RD_GROW(plan->steps, plan->n, plan->allocated);
	plan->steps[plan->n++] = step;
	add_link(b, step);
}

static void add_action(struct builder *b, const struct rd_fix_action *record)
{
	enum rd_tri wanted = condition(b, record->condition);
	struct rd_step *step;

	if (wanted == RD_FALSE || b->broken_at[b->chain] < b->part)
		return;
	step = wanted == RD_TRUE ? make_step(b, record) : NULL;
	if (step) {
		add_step(b, step);
	} else {
		add_advice(b, rd_xstrdup(b->fix->summary), "something that the fix must know could not be read here");
		b->broken_at[b->chain] = b->part;
	}
}

static void add_fix_for_item(struct builder *b)
{
	const struct rd_rule *rule = b->finding->rule;

	b->chain++;
	b->broken_at = rd_xreallocarray(b->broken_at, b->chain + 1, sizeof(*b->broken_at));
	b->broken_at[b->chain] = SIZE_MAX;
	for (b->part = 0; b->part < b->fix->actions_n; b->part++)
		if (rd_fix_part_is_for(b->fix->actions[b->part].rule, rule))
			add_action(b, &b->fix->actions[b->part]);
	for (size_t i = 0; i < b->fix->advice_n; i++) {
		const struct rd_fix_advice *advice = &b->fix->advice[i];
		bool complete;

		/* Where it cannot be told whether it is needed, it does no harm. */
		if (rd_fix_part_is_for(advice->rule, rule) && condition(b, advice->condition) != RD_FALSE)
			add_advice(b, render(b, advice->text, &complete), NULL);
	}
}

static bool has_action(struct builder *b)
{
	for (size_t i = 0; i < b->fix->actions_n; i++) {
		const struct rd_fix_action *action = &b->fix->actions[i];

		if (rd_fix_part_is_for(action->rule, b->finding->rule) && condition(b, action->condition) == RD_TRUE)
			return true;
	}
	return false;
}

bool rd_fix_has_action_for(const struct rd_knowledge *k, const struct rd_fix *fix, const struct rd_finding *f,
                           const struct rd_fact *facts)
{
	struct builder b = { .k = k, .facts = facts, .finding = f, .fix = fix };

	b.item_schema = f->rule->for_each ? rd_expr_item_schema(f->rule->for_each) : NULL;
	if (!f->items_n)
		return has_action(&b);
	for (size_t i = 0; i < f->items_n; i++) {
		b.item = f->items[i];
		if (has_action(&b))
			return true;
	}
	return false;
}

static void add_finding(struct builder *b, const struct rd_finding *f)
{
	const struct rd_rule *rule = f->rule;

	b->finding = f;
	b->item_schema = rule->for_each ? rd_expr_item_schema(rule->for_each) : NULL;
	if (!rule->fixes[0]) {
		b->plan->unfixed = rd_xreallocarray(b->plan->unfixed, b->plan->unfixed_n + 1, sizeof(*b->plan->unfixed));
		b->plan->unfixed[b->plan->unfixed_n++] = f;
	}
	for (size_t i = 0; rule->fixes[i]; i++) {
		b->fix = rd_knowledge_fix(b->k, rule->fixes[i]);
		b->item = NULL;
		if (!b->fix)
			continue;
		if (!f->items_n)
			add_fix_for_item(b);
		for (size_t j = 0; j < f->items_n; j++) {
			b->item = f->items[j];
			add_fix_for_item(b);
		}
	}
}

static bool matches(const struct rd_strv *globs, const char *id)
{
	for (size_t i = 0; globs && i < globs->n; i++)
		if (rd_str_glob(globs->v[i], id))
			return true;
	return false;
}

static bool is_selected(const struct rd_finding *f, const struct rd_plan_options *o)
{
	const char *id = f->rule->id;

	return (!o->only || !o->only->n || matches(o->only, id)) && !matches(o->skip, id) &&
	       (o->until < 0 || (int)f->rule->layer <= o->until);
}

/*
 * Consequences mend themselves. What is only worth knowing is mended when it is asked for by name, and so is a finding
 * whose cause could not be judged.
 */
static bool is_wanted(const struct rd_finding *f, const struct rd_plan_options *o)
{
	if (!is_selected(f, o) || f->role == RD_CONSEQUENCE)
		return false;
	return matches(o->only, f->rule->id) || (f->severity > RD_INFO && !f->unchecked_causes_n);
}

static void note_left(struct rd_plan *plan, const struct rd_finding *f, const struct rd_plan_options *o)
{
	bool of_consequence = f->role == RD_CONSEQUENCE;
	const char *const *causes = of_consequence ? f->caused_by : f->unchecked_causes;
	size_t n = of_consequence ? f->caused_by_n : f->unchecked_causes_n;
	struct rd_strbuf sb = RD_STRBUF_INIT;

	if (!is_selected(f, o))
		return;
	if (of_consequence)
		rd_strbuf_add(&sb, "it goes with ");
	else
		rd_strbuf_add(&sb, n ? "its cause may be what could not be judged: " : "it is worth knowing only");
	for (size_t i = 0; i < n; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? ", " : "", causes[i]);
	if (!of_consequence && f->rule->fixes[0])
		rd_strbuf_add(&sb, n ? " (--only mends it all the same)" : " (--only mends it)");
	plan->left = rd_xreallocarray(plan->left, plan->left_n + 1, sizeof(*plan->left));
	plan->left[plan->left_n++] = (struct rd_plan_left){ f, rd_strbuf_detach(&sb) };
}

/* What to mend for a consequence, where the plan does not do it; causes have no cycles. */
static void advise_roots(struct builder *b, const struct rd_diagnosis *d, const struct rd_plan_options *o,
                         const char *const *causes, size_t n)
{
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		for (size_t i = 0; i < n; i++) {
			if (!rd_streq(f->rule->id, causes[i]))
				continue;
			if (f->role == RD_CONSEQUENCE)
				advise_roots(b, d, o, f->caused_by, f->caused_by_n);
			else if (!is_wanted(f, o))
				add_advice(b, rd_xasprintf("it follows from %s: mend that", f->rule->id), NULL);
		}
}

/* A consequence that was asked for by its name. */
static void point_to_causes(struct builder *b, const struct rd_diagnosis *d, const struct rd_finding *f,
                            const struct rd_plan_options *o)
{
	if (f->role != RD_CONSEQUENCE || !matches(o->only, f->rule->id) || matches(o->skip, f->rule->id))
		return;
	b->finding = f;
	b->fix = NULL;
	advise_roots(b, d, o, f->caused_by, f->caused_by_n);
}

/* Steps of one phase stay in the order in which their findings came. */
static void put_in_order(struct rd_plan *plan)
{
	for (size_t i = 1; i < plan->n; i++)
		for (size_t j = i; j > 0 && plan->steps[j - 1]->action->phase > plan->steps[j]->action->phase; j--) {
			struct rd_step *swap = plan->steps[j];

			plan->steps[j] = plan->steps[j - 1];
			plan->steps[j - 1] = swap;
		}
}

/* What a step writes is what the next one reads. */
static void show_effects(const struct rd_step *step, struct rd_sysroot *sr)
{
	for (size_t i = 0; i < step->effects_n; i++)
		if (step->effects[i].kind == RD_EFFECT_WRITE)
			rd_sysroot_overlay(sr, step->effects[i].path, step->effects[i].after);
}

/* Room before the other advice of a fix: what is to be done comes before what goes with it. */
static struct rd_advice *insert_advice(struct rd_plan *plan, const char *fix)
{
	size_t at = 0;

	while (at < plan->advice_n && !rd_streq(plan->advice[at].fix, fix))
		at++;
	plan->advice = rd_xreallocarray(plan->advice, plan->advice_n + 1, sizeof(*plan->advice));
	memmove(&plan->advice[at + 1], &plan->advice[at], (plan->advice_n - at) * sizeof(*plan->advice));
	plan->advice_n++;
	return &plan->advice[at];
}

/* A step that this host has no way to take becomes advice. */
static void give_up(struct builder *b, const struct rd_step *step, const char *reason)
{
	struct rd_advice *a;

	b->fix = rd_knowledge_fix(b->k, step->fix);
	for (size_t i = 0; i < b->plan->advice_n; i++)
		if (rd_streq(b->plan->advice[i].text, b->fix->summary))
			return;
	a = insert_advice(b->plan, step->fix);
	*a = (struct rd_advice){ .fix = step->fix, .text = rd_xstrdup(b->fix->summary), .reason = rd_xstrdup(reason) };
	for (size_t i = 0; i < step->findings_n; i++)
		add_id(&a->findings, &a->findings_n, step->findings[i]);
}

static void lower_all(struct builder *b, struct rd_sysroot *sr)
{
	struct rd_plan *plan = b->plan;
	size_t kept = 0;

	for (size_t i = 0; i < plan->n; i++) {
		struct rd_step *step = plan->steps[i];
		struct rd_error below = RD_ERROR_INIT;
		int r = is_wanted_still(b, step) ? rd_step_lower(step, sr, &below) : 0;

		if (r < 0) {
			give_up(b, step, below.message ? below.message : rd_strerror(r));
			break_chains(b, step);
			plan->steps[i] = rd_step_free(step);
		} else if (!step->effects_n) {
			plan->steps[i] = rd_step_free(step);
		} else {
			show_effects(step, sr);
			plan->steps[kept++] = step;
		}
		rd_error_clear(&below);
	}
	plan->n = kept;
}

static bool is_reversible(const struct rd_step *step)
{
	for (size_t i = 0; i < step->effects_n; i++)
		if ((step->effects[i].kind == RD_EFFECT_RUN && !step->effects[i].undo) ||
		    (step->effects[i].kind == RD_EFFECT_VALUE && !step->effects[i].before))
			return false;
	return true;
}

/* Loading a module or restarting a service is of no use before the reboot that the steps before it need. */
static void find_reboot(struct rd_plan *plan)
{
	plan->reboot_at = plan->n;
	for (size_t i = 0; i < plan->n; i++) {
		const struct rd_step *step = plan->steps[i];

		plan->needs_root = plan->needs_root || step->flags & RD_ACTION_ROOT;
		plan->needs_network = plan->needs_network || step->flags & RD_ACTION_NETWORK;
		plan->needs_login = plan->needs_login || step->flags & RD_ACTION_LOGIN;
		plan->is_irreversible = plan->is_irreversible || !is_reversible(step);
		if (plan->needs_reboot && plan->reboot_at == plan->n &&
		    (step->action->phase == RD_PHASE_MODULE || step->action->phase == RD_PHASE_SERVICE))
			plan->reboot_at = i;
		plan->needs_reboot = plan->needs_reboot || step->flags & RD_ACTION_REBOOT;
	}
}

int rd_plan_build(const struct rd_knowledge *k, const struct rd_diagnosis *d, const struct rd_fact *facts,
                  struct rd_sysroot *sr, const struct rd_plan_options *options, struct rd_plan **ret, struct rd_error *err)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct builder b = { .k = k, .facts = facts, .plan = plan };

	/* Whatever cannot be planned is advice. */
	(void)err;
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		if (is_wanted(f, options)) {
			add_finding(&b, f);
		} else {
			note_left(plan, f, options);
			point_to_causes(&b, d, f, options);
		}
	put_in_order(plan);
	lower_all(&b, sr);
	rd_sysroot_overlay_clear(sr);
	find_reboot(plan);
	free(b.links);
	free(b.broken_at);
	*ret = plan;
	return 0;
}

struct rd_plan *rd_plan_free(struct rd_plan *plan)
{
	if (!plan)
		return NULL;
	for (size_t i = 0; i < plan->n; i++)
		rd_step_free(plan->steps[i]);
	for (size_t i = 0; i < plan->advice_n; i++) {
		free(plan->advice[i].findings);
		free(plan->advice[i].text);
		free(plan->advice[i].reason);
	}
	for (size_t i = 0; i < plan->left_n; i++)
		free(plan->left[i].why);
	free(plan->left);
	free(plan->steps);
	free(plan->advice);
	free(plan->unfixed);
	free(plan);
	return NULL;
}
