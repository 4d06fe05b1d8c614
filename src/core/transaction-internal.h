/* What saving, applying and undoing share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/edit.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/transaction.h"
#include "util/strv.h"

struct cJSON;

enum rd_progress { RD_NOT_BEGUN, RD_BEGUN, RD_DONE, RD_UNDOING, RD_UNDONE };

/* One effect of the plan, numbered through all steps. */
struct rd_tx_effect {
	const struct rd_step *step;
	const struct rd_effect *effect;
	size_t step_index;
	enum rd_progress progress;
	/* The first effect on a path keeps what was there before; later ones do not. */
	bool is_first;
	struct rd_image before;
};

struct rd_transaction {
	char *dir; /* of all transactions */
	char *id, *path;
	char *root;    /* the tree that it is of; NULL in a transaction that does not say */
	int lock, log, output; /* -1: not open */
	long log_len;  /* bytes of the log that are whole lines */
	struct rd_plan *plan;
	struct cJSON *json; /* of a plan that was read back, whose strings it borrows */
	size_t steps_n;     /* those to be taken before a reboot */
	struct rd_tx_effect *effects;
	size_t n;
	struct rd_strv made; /* folders made on the way, in order */
	bool finished, undone, partly, broken;
	char *running; /* the mark of a program that was begun and not seen to end; NULL: none */
	struct rd_sysroot *sysroot;
	struct rd_tx_listener *listener;
};

bool rd_effect_is_file(const struct rd_effect *e); /* WRITE or LINK */

/* Take the lock, where it is not held yet. -EBUSY while another holds it. */
int rd_tx_lock(struct rd_transaction *tx, struct rd_error *err) RD_MUST_CHECK;

/* Append an event to the log and sync it. */
int rd_tx_log(struct rd_transaction *tx, struct rd_error *err, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/* Roll back everything that was begun, backwards. 0, or -ENOTRECOVERABLE with what is left in @err. */
int rd_tx_roll_back(struct rd_transaction *tx, struct rd_error *err) RD_MUST_CHECK;
