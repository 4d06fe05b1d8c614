/*
 * Transactions: what was planned, what the host was before, and how far applying has come, on disk before the first change.
 *
 *   DIR/<id>/plan.json     the plan, and what the record below refers to
 *   DIR/<id>/before/<n>    content, owner, mode and attributes of each file before
 *   DIR/<id>/had-<n>       names of what was there before a program that may bring more than it is told to
 *   DIR/<id>/log           one line an event, synced: begun N, done N, undoing N, undone N, failed N TEXT, running N PROCESS, brought N NAME...,
 *                          made N FOLDER, finished, rolled-back
 *   DIR/<id>/output        what programs printed
 *   DIR/lock               held while anything is applied or undone
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_plan;
struct rd_strv;
struct rd_sysroot;
struct rd_transaction;

enum rd_tx_state {
	RD_TX_PLANNED,     /* nothing begun */
	RD_TX_INTERRUPTED, /* begun and neither finished nor undone */
	RD_TX_FINISHED,
	RD_TX_UNDONE,
	RD_TX_PARTLY, /* undone, but for what cannot be undone */
	RD_TX_BROKEN, /* rolling back could not be completed */
};

/* The folder of transactions: /var/lib/rocm-doctor as root, else below XDG_STATE_HOME; caller frees. */
char *rd_transaction_dir(void) RD_MUST_CHECK;

/* How applying is told of; any may be NULL. */
struct rd_tx_listener {
	void (*step)(struct rd_tx_listener *self, size_t step, size_t of, const char *words);
	void (*output)(struct rd_tx_listener *self, const char *line);
	/* Something that a person has to know of. */
	void (*note)(struct rd_tx_listener *self, const char *words);
	/* A step is taken back. */
	void (*back)(struct rd_tx_listener *self, const char *words);
};

/*
 * rd_transaction_begin - take the lock and put a plan with all that undo needs on disk
 *
 * Returns 0; -EBUSY while another holds the lock; -ESTALE where a file is not as planned any more; another errno where a file
 * cannot be replaced here (it has several names, is immutable, mounted by itself, or on what is read-only), a program could not
 * run as whom it has to, or the folder cannot be written. Nothing of the host has changed then.
 */
int rd_transaction_begin(const char *dir, struct rd_plan *plan, struct rd_sysroot *sr, struct rd_transaction **ret,
                         struct rd_error *err) RD_MUST_CHECK;
int rd_transaction_open(const char *dir, const char *id, struct rd_transaction **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_transaction *rd_transaction_close(struct rd_transaction *tx);

/*
 * rd_plan_apply - make the effects, in order
 *
 * Returns 0; a negative errno when an effect failed and all was rolled back; -ENOTRECOVERABLE when rolling back is
 * incomplete, with what is left and where the originals are in @err.
 */
int rd_plan_apply(struct rd_transaction *tx, struct rd_sysroot *sr, struct rd_tx_listener *listener,
                  struct rd_error *err) RD_MUST_CHECK;

/*
 * rd_transaction_undo - put back what a transaction changed, backwards; also settles an interrupted one
 * @force: also files that were edited since
 *
 * Returns 0, -ESTALE for a file edited since or what a later transaction that stands has changed again, -EALREADY where it is
 * undone, -EXDEV for another root than that it changed, -EBUSY while another is at work or a program that it began still runs,
 * -ENOTRECOVERABLE as above, also where something of it cannot be undone at all.
 */
int rd_transaction_undo(struct rd_transaction *tx, struct rd_sysroot *sr, bool force, struct rd_tx_listener *listener,
                        struct rd_error *err) RD_MUST_CHECK;

const char *rd_transaction_id(const struct rd_transaction *tx); /* "20261201T120000Z-1" */
enum rd_tx_state rd_transaction_state(const struct rd_transaction *tx);
const char *rd_tx_state_name(enum rd_tx_state state);
const struct rd_plan *rd_transaction_plan(const struct rd_transaction *tx);
const char *rd_transaction_path(const struct rd_transaction *tx); /* its folder */

/* Ids, oldest first; 0 with none where there is no folder. */
int rd_transaction_list(const char *dir, struct rd_strv *ret) RD_MUST_CHECK;
/* The newest that was interrupted, also one that is too damaged to be opened; NULL: none. Caller frees. */
char *rd_transaction_interrupted(const char *dir) RD_MUST_CHECK;
