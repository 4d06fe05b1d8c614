/*
 * apply-action STATE [FACT=VALUE]... ACTION [NAME VALUE]... [-- ACTION [NAME VALUE]...]...: take actions on the running system, as
 * one plan of fix would, and print the transaction.
 * apply-action look ...: print what they would do: paths, "$ COMMAND", "* COMMAND" for what makes writes take effect.
 * apply-action STATE undo ID: bring it back. For beds, which run it where nothing can be broken.
 */

#include <stdio.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/xalloc.h"

static int fail(const struct rd_error *err, int r)
{
	fprintf(stderr, "apply-action: %s\n", err->message ? err->message : rd_strerror(r));
	return 1;
}

/* One plan of all actions; the words of each end with "--" or the last of all. NULL: no such action. */
static struct rd_plan *read_plan(const char **words, const struct rd_fact *facts)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	const char **end = words;

	while (*end) {
		const struct rd_action *action = rd_action_find(*words);
		bool more;

		while (*end && strcmp(*end, "--") != 0)
			end++;
		more = *end;
		*end = NULL;
		if (!action)
			return NULL;
		plan->steps = rd_xreallocarray(plan->steps, plan->n + 1, sizeof(struct rd_step *));
		plan->steps[plan->n++] = rd_step_new(action, words + 1, facts);
		words = end += more;
	}
	plan->allocated = plan->reboot_at = plan->n;
	return plan;
}

static void print_effects(const struct rd_step *step)
{
	for (size_t i = 0; i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];

		fputs(e->path ? e->path : e->kind == RD_EFFECT_RUN ? "$" : "*", stdout);
		for (char **word = e->argv; word && *word; word++)
			printf(" %s", *word);
		putchar('\n');
	}
}

static int apply(const char *state, struct rd_sysroot *sr, struct rd_plan *plan)
{
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	bool look = strcmp(state, "look") == 0;
	int r = 0;

	for (size_t i = 0; i < plan->n && r == 0; i++) {
		r = rd_step_lower(plan->steps[i], sr, &err);
		if (look)
			print_effects(plan->steps[i]);
	}
	if (r == 0 && look)
		return 0;
	if (r == 0)
		r = rd_transaction_begin(state, plan, sr, &tx, &err);
	if (r == 0)
		r = rd_plan_apply(tx, sr, NULL, &err);
	if (r < 0)
		return fail(&err, r);
	puts(rd_transaction_id(tx));
	rd_transaction_close(tx);
	return 0;
}

static int undo(const char *state, struct rd_sysroot *sr, const char *id)
{
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_open(state, id, &tx, &err);

	if (r == 0)
		r = rd_transaction_undo(tx, sr, false, NULL, &err);
	rd_transaction_close(tx);
	return r < 0 ? fail(&err, r) : 0;
}

int main(int argc, char *argv[])
{
	const char **words = (const char **)argv + 2;
	struct rd_fact *facts = rd_facts_new();
	struct rd_sysroot *sr;
	struct rd_plan *plan;

	if (argc < 3 || rd_sysroot_open("/", &sr, NULL) < 0)
		return 2;
	if (strcmp(argv[2], "undo") == 0)
		return argc == 4 ? undo(argv[1], sr, argv[3]) : 2;
	for (char *value; *words && (value = strchr(*words, '=')); words++) {
		*value = '\0';
		rd_fact_set_str(facts, *words, value + 1, "command line");
	}
	plan = *words ? read_plan(words, facts) : NULL;
	if (!plan) {
		fprintf(stderr, "apply-action: no such action\n");
		return 2;
	}
	return apply(argv[1], sr, plan);
}
