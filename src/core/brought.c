/*
 * What a package manager brings along with what it was told to install, and takes off again on undo: that, and nothing that
 * came since or that something else needs by now.
 */

#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "transaction-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static char *had_path(const struct rd_transaction *tx, size_t n)
{
	return rd_xasprintf("%s/had-%zu", tx->path, n);
}

static int list(const struct rd_transaction *tx, size_t n, struct rd_strv *ret)
{
	const struct rd_step *step = tx->effects[n].step;

	return step->action->brings->list(step, tx->sysroot, ret);
}

static char *join(const struct rd_strv *names, const char *between)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < names->n; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? between : "", names->v[i]);
	return rd_strbuf_detach(&sb);
}

/* Where it cannot be listed or kept, undo takes back what was asked for and nothing more. */
void rd_tx_before_bringing(struct rd_transaction *tx, size_t n)
{
	rd_auto_free char *path = had_path(tx, n), *text = NULL;
	rd_auto_strv struct rd_strv had = RD_STRV_INIT;

	if (list(tx, n, &had) < 0)
		return;
	text = join(&had, "\n");
	if (rd_tx_write_file(path, text, strlen(text), NULL) < 0)
		return;
}

/* A word of the command that takes back names it: "rocminfo", "rocminfo=1.0". */
static bool is_taken_back(const struct rd_effect *e, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; e->undo && e->undo[i]; i++)
		if (strncmp(e->undo[i], name, n) == 0 && (!e->undo[i][n] || e->undo[i][n] == '='))
			return true;
	return false;
}

/* What is there now and was not before; nothing where it is not known what was. */
static void find_brought(const struct rd_transaction *tx, size_t n, struct rd_strv *ret)
{
	rd_auto_free char *path = had_path(tx, n), *text = NULL;
	rd_auto_strv struct rd_strv had = RD_STRV_INIT, now = RD_STRV_INIT;
	size_t len;

	if (rd_tx_read_file(path, &text, &len, NULL) < 0 || list(tx, n, &now) < 0)
		return;
	rd_strv_split(&had, text, "\n", false);
	for (size_t i = 0; i < now.n; i++)
		if (!rd_strv_has(&had, now.v[i]) && !is_taken_back(tx->effects[n].effect, now.v[i]))
			rd_strv_push(ret, now.v[i]);
}

int rd_tx_after_bringing(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	struct rd_strv *brought = &tx->effects[n].brought;
	rd_auto_free char *text = NULL;

	find_brought(tx, n, brought);
	if (!brought->n)
		return 0;
	text = join(brought, " ");
	return rd_tx_log(tx, err, "brought %zu %s", n, text);
}

static void note(const struct rd_transaction *tx, const struct rd_strv *stay)
{
	rd_auto_free char *names = join(stay, ", "), *words = NULL;

	if (!stay->n || !tx->listener || !tx->listener->note)
		return;
	words = rd_xasprintf("%s came with it and stay%s: something else needs %s by now", names, stay->n == 1 ? "s" : "",
	                     stay->n == 1 ? "it" : "them");
	tx->listener->note(tx->listener, words);
}

/* Those that are there still. */
static void keep_present(const struct rd_transaction *tx, size_t n, const struct rd_strv *brought, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv now = RD_STRV_INIT;

	if (list(tx, n, &now) < 0)
		return;
	for (size_t i = 0; i < brought->n; i++)
		if (rd_strv_has(&now, brought->v[i]))
			rd_strv_push(ret, brought->v[i]);
}

int rd_tx_take_off_brought(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_tx_effect *e = &tx->effects[n];
	rd_auto_strv struct rd_strv names = RD_STRV_INIT, stay = RD_STRV_INIT, found = RD_STRV_INIT;
	struct rd_step *step;
	int r;

	if (!e->step->action->brings)
		return 0;
	/* Cut short, it may have brought what nobody took note of. */
	if (!e->ended && !e->brought.n)
		find_brought(tx, n, &found);
	keep_present(tx, n, found.n ? &found : &e->brought, &names);
	if (!names.n)
		return 0;
	step = rd_step_again(e->step);
	r = e->step->action->brings->take_off(step, tx->sysroot, &names, &stay, err);
	for (size_t i = 0; i < step->effects_n && r == 0; i++)
		r = rd_tx_run(tx, n, step->effects[i].argv, true, err);
	if (r < 0) {
		rd_auto_free char *left = join(&names, " ");

		if (err && err->message) {
			rd_auto_free char *first = rd_xstrdup(err->message);

			rd_error_clear(err);
			rd_error_set(err, r, "%s; what it brought is left: %s", first, left);
		}
	} else {
		note(tx, &stay);
	}
	rd_step_free(step);
	return r;
}
