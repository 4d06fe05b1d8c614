/*
 * apply-action STATE ACTION [NAME VALUE]...: take one action on the running system, as fix would, and print the transaction.
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

static int apply(const char *state, struct rd_sysroot *sr, const struct rd_action *action, const char *const *args)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct rd_fact *facts = rd_facts_new();
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r;

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = rd_step_new(action, args, facts);
	plan->n = plan->allocated = plan->reboot_at = 1;
	r = rd_step_lower(plan->steps[0], sr, &err);
	if (r == 0)
		r = rd_transaction_begin(state, plan, sr, &tx, &err);
	if (r == 0)
		r = rd_plan_apply(tx, sr, NULL, &err);
	if (r < 0)
		return fail(&err, r);
	puts(rd_transaction_id(tx));
	rd_transaction_close(tx);
	rd_fact_free(facts);
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
	const struct rd_action *action = argc > 2 ? rd_action_find(argv[2]) : NULL;
	struct rd_sysroot *sr;

	if (argc < 3 || (!action && strcmp(argv[2], "undo") != 0) || rd_sysroot_open("/", &sr, NULL) < 0)
		return 2;
	return action ? apply(argv[1], sr, action, (const char *const *)argv + 3) : undo(argv[1], sr, argv[3]);
}
