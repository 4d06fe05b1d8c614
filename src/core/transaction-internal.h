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
	bool ended;  /* its program came to an end, of which the log tells */
	bool failed; /* so did it, and without success */
	struct rd_image before;
	struct rd_strv brought; /* by its program, beside what it was told to */
};

struct rd_transaction {
	char *dir; /* of all transactions */
	char *id, *path;
	char *root;            /* the tree that it is of; NULL in a transaction that does not say */
	int lock, log, output; /* -1: not open */
	long log_len;          /* bytes of the log that are whole lines */
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

/* A file of the transaction, new and synced; and back. */
int rd_tx_write_file(const char *path, const char *content, size_t len, struct rd_error *err) RD_MUST_CHECK;
/* One that is there or, by @flags, made; -ENXIO for what is no file. Else as open(). */
int rd_tx_open_file(const char *path, int flags) RD_MUST_CHECK;
int rd_tx_read_file(const char *path, char **ret, size_t *ret_len, struct rd_error *err) RD_MUST_CHECK;

/* Run a program of effect @n, where the root is the running system; on a tree it is only noted. */
int rd_tx_run(struct rd_transaction *tx, size_t n, char *const argv[], bool back, struct rd_error *err) RD_MUST_CHECK;

/* What a program brings: before it runs, when it has ended, and to take it off. Trouble with the list is no reason to fail. */
void rd_tx_before_bringing(struct rd_transaction *tx, size_t n);
int rd_tx_after_bringing(struct rd_transaction *tx, size_t n, struct rd_error *err) RD_MUST_CHECK;
int rd_tx_take_off_brought(struct rd_transaction *tx, size_t n, struct rd_error *err) RD_MUST_CHECK;

/* Append an event to the log and sync it. */
int rd_tx_log(struct rd_transaction *tx, struct rd_error *err, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/* Roll back everything that was begun, backwards. 0, or -ENOTRECOVERABLE with what is left in @err. */
int rd_tx_roll_back(struct rd_transaction *tx, struct rd_error *err) RD_MUST_CHECK;
