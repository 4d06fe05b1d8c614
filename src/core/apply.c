/*
 * The applier: the only code that changes the host. Every effect is told to the log before and after; what fails is rolled
 * back; what was killed half-way is settled from the log and from what stands there now.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocm-doctor/edit.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/run.h"
#include "rocm-doctor/sysroot.h"
#include "transaction-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static void tell_step(const struct rd_transaction *tx, size_t step)
{
	const struct rd_step *s = tx->plan->steps[step];

	if (tx->listener && tx->listener->step)
		tx->listener->step(tx->listener, step, tx->steps_n, s->description ? s->description : s->action->summary);
}

/* A program of one effect, while it runs. */
struct running {
	struct rd_transaction *tx;
	size_t n;
	bool back; /* it takes something back */
};

static void tell_line(const char *line, void *data)
{
	const struct running *running = data;
	struct rd_tx_listener *listener = running->tx->listener;

	if (listener && listener->output)
		listener->output(listener, line);
}

/*
 * If we are killed the program goes on, and what it still changes nobody would take back: the log names its process, so that
 * nothing is begun or brought back before it has ended. Taking back matters more than the record of it.
 */
static int note_process(pid_t pid, void *data)
{
	const struct running *running = data;
	rd_auto_free char *mark = rd_run_mark(pid);
	int r = rd_tx_log(running->tx, NULL, "running %zu %s", running->n, mark);

	return running->back ? 0 : r;
}

/* Without a file the output is only shown. */
static int open_output(struct rd_transaction *tx)
{
	rd_auto_free char *path = rd_xasprintf("%s/output", tx->path);

	if (tx->output < 0)
		tx->output = rd_tx_open_file(path, O_RDWR | O_CREAT | O_APPEND);
	return tx->output < 0 ? 0 : tx->output;
}

static char *command_line(char *const argv[])
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; argv[i]; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? " " : "", argv[i]);
	return rd_strbuf_detach(&sb);
}

int rd_tx_run(struct rd_transaction *tx, size_t n, char *const argv[], bool back, struct rd_error *err)
{
	const struct rd_effect *e = tx->effects[n].effect;
	rd_auto_free char *command = command_line(argv), *line = rd_xasprintf("$ %s", command);
	struct running running = { tx, n, back };
	struct rd_run_options options = {
		.output = open_output(tx), .line = tell_line, .started = note_process, .data = &running
	};
	int r;

	if (options.output &&
	    (rd_write_whole(options.output, line, strlen(line)) < 0 || rd_write_whole(options.output, "\n", 1) < 0))
		options.output = 0;
	tell_line(line, &running);
	/* A tree is no running system: its programs are never run, only noted. */
	if (!rd_sysroot_is_live(tx->sysroot))
		return 0;
	if (e->as_owner_of) {
		r = rd_edit_owner(tx->sysroot, e->as_owner_of, &options.uid, &options.gid, err);
		if (r < 0)
			return r;
		options.as_user = true;
	}
	return rd_run(argv, &options, err);
}

/* The image that an effect leaves: its content with the attributes of what is there, or those of a new file. */
static int image_after(const struct rd_transaction *tx, const struct rd_effect *e, struct rd_image *ret, struct rd_error *err)
{
	int r = rd_edit_capture(tx->sysroot, e->path, ret, err);

	if (r < 0)
		return r;
	if (ret->kind == RD_IMAGE_NONE || e->kind == RD_EFFECT_LINK) {
		rd_image_release(ret);
		*ret = (struct rd_image){ .kind = RD_IMAGE_FILE, .mode = e->mode, .uid = geteuid(), .gid = getegid() };
	}
	if (e->kind == RD_EFFECT_LINK)
		ret->kind = RD_IMAGE_LINK;
	if (!e->after)
		ret->kind = RD_IMAGE_NONE;
	free(ret->content);
	ret->content = e->after ? rd_xstrdup(e->after) : NULL;
	ret->len = e->after ? strlen(e->after) : 0;
	ret->mtime = (struct timespec){ 0 };
	return 0;
}

/* Folders are told to the log before they are made: one that is not told of would stay for ever. */
static int tell_folders(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	rd_auto_strv struct rd_strv missing = RD_STRV_INIT;
	int r = rd_edit_missing(tx->sysroot, tx->effects[n].effect->path, &missing, err);

	for (size_t i = 0; i < missing.n && r == 0; i++) {
		rd_strv_push_unique(&tx->made, missing.v[i]);
		r = rd_tx_log(tx, err, "made %zu %s", n, missing.v[i]);
	}
	return r;
}

static int put_file(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_effect *e = tx->effects[n].effect;
	struct rd_image image = { .kind = RD_IMAGE_NONE };
	int r = image_after(tx, e, &image, err);

	if (r == 0 && e->after)
		r = tell_folders(tx, n, err);
	if (r == 0)
		r = rd_edit_put(tx->sysroot, e->path, &image, tx->id, true, err);
	rd_image_release(&image);
	return r;
}

/* What it brought counts where it fails as well. */
static int run_effect(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_tx_effect *e = &tx->effects[n];
	int r = rd_tx_run(tx, n, e->effect->argv, false, err), noted;

	if (e->effect->kind != RD_EFFECT_RUN || !e->step->action->brings)
		return r;
	noted = rd_tx_after_bringing(tx, n, r < 0 ? NULL : err);
	return r < 0 ? r : noted;
}

static int make_effect(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_effect *e = tx->effects[n].effect;

	switch (e->kind) {
	case RD_EFFECT_WRITE:
	case RD_EFFECT_LINK:
		return put_file(tx, n, err);
	case RD_EFFECT_VALUE:
		return rd_edit_value(tx->sysroot, e->path, e->after, err);
	default:
		return run_effect(tx, n, err);
	}
}

static int apply_effect(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	int r = rd_tx_log(tx, err, "begun %zu", n);

	if (r < 0)
		return r;
	tx->effects[n].progress = RD_BEGUN;
	r = make_effect(tx, n, err);
	if (r < 0) {
		struct rd_error of_log = RD_ERROR_INIT;

		tx->effects[n].failed = true;

		/* That the log cannot tell of it either is not the error that counts. */
		if (rd_tx_log(tx, &of_log, "failed %zu %s", n, err && err->message ? err->message : rd_strerror(r)) < 0)
			rd_error_clear(&of_log);
		return r;
	}
	tx->effects[n].progress = RD_DONE;
	tx->effects[n].ended = true;
	return rd_tx_log(tx, err, "done %zu", n);
}

/* Lowered again, a step that worked has nothing left to do. Programs are only noted on a tree, so nothing can be said there. */
static int verify_step(struct rd_transaction *tx, const struct rd_step *step, struct rd_error *err)
{
	struct rd_error below = RD_ERROR_INIT;
	struct rd_step *again = rd_step_again(step);
	const char *left = NULL;
	int r;

	r = rd_step_lower(again, tx->sysroot, &below);
	for (size_t i = 0; r == 0 && i < again->effects_n && !left; i++) {
		const struct rd_effect *e = &again->effects[i];

		if (e->kind != RD_EFFECT_REFRESH && (e->kind != RD_EFFECT_RUN || rd_sysroot_is_live(tx->sysroot)))
			left = e->path ? e->path : e->argv[0];
	}
	if (r == 0 && left)
		r = rd_error_set(err, -EIO, "%s: done, and yet '%s' is not as it should be", step->action->name, left);
	else if (r < 0)
		rd_error_set(err, r, "%s: %s", step->action->name, below.message ? below.message : rd_strerror(r));
	rd_error_clear(&below);
	rd_step_free(again);
	return r;
}

/*
 * Asked to end, applying stops after the effect at hand and rolls back. A reader of our output that goes away is no reason to
 * stop half-way.
 */
static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
	stop_signal = number;
}

static const int heeded[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

struct signals {
	struct sigaction v[RD_ARRAY_SIZE(heeded)];
};

static void heed_signals(struct signals *old)
{
	stop_signal = 0;
	for (size_t i = 0; i < RD_ARRAY_SIZE(heeded); i++) {
		struct sigaction action = { .sa_handler = heeded[i] == SIGPIPE ? SIG_IGN : note_signal,
			                    .sa_flags = SA_RESTART };

		sigaction(heeded[i], NULL, &old->v[i]);
		/* nohup's wish stands. */
		if (old->v[i].sa_handler != SIG_IGN)
			sigaction(heeded[i], &action, NULL);
	}
}

static void restore_signals(const struct signals *old)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(heeded); i++)
		sigaction(heeded[i], &old->v[i], NULL);
}

int rd_plan_apply(struct rd_transaction *tx, struct rd_sysroot *sr, struct rd_tx_listener *listener, struct rd_error *err)
{
	struct rd_error back = RD_ERROR_INIT;
	struct signals old;
	size_t step = SIZE_MAX;
	int r = 0;

	tx->sysroot = sr;
	tx->listener = listener;
	heed_signals(&old);
	for (size_t i = 0; i < tx->n && r == 0; i++) {
		if (tx->effects[i].step_index != step) {
			step = tx->effects[i].step_index;
			tell_step(tx, step);
		}
		r = apply_effect(tx, i, err);
		if (r == 0 && stop_signal)
			r = rd_error_set(err, -EINTR, "stopped by signal %d", (int)stop_signal);
	}
	/* A step that takes effect at the next boot or login is judged then. */
	for (size_t i = 0; i < tx->steps_n && r == 0; i++)
		if (!(tx->plan->steps[i]->flags & (RD_ACTION_REBOOT | RD_ACTION_LOGIN)))
			r = verify_step(tx, tx->plan->steps[i], err);
	if (r == 0)
		r = rd_tx_log(tx, err, "finished");
	if (r == 0) {
		tx->finished = true;
		restore_signals(&old);
		return 0;
	}
	if (rd_tx_roll_back(tx, &back) < 0) {
		rd_auto_free char *first = err && err->message ? rd_xstrdup(err->message) : rd_xstrdup(rd_strerror(r));

		if (err)
			rd_error_clear(err);
		r = rd_error_set(err, -ENOTRECOVERABLE, "%s; rolling back is incomplete: %s", first, back.message);
	}
	rd_error_clear(&back);
	restore_signals(&old);
	return r;
}

/* Undoing */

static bool is_content(const struct rd_image *image, enum rd_image_kind kind, const char *content)
{
	if (!content)
		return image->kind == RD_IMAGE_NONE;
	return image->kind == kind && image->len == strlen(content) && memcmp(image->content, content, image->len) == 0;
}

static bool same_image(const struct rd_image *a, const struct rd_image *b)
{
	return a->kind == b->kind && a->len == b->len && (!a->len || memcmp(a->content, b->content, a->len) == 0);
}

/* What a path holds is ours to take back where any effect on it, or nothing at all, left it so. */
static bool is_ours(const struct rd_transaction *tx, const char *path, const struct rd_image *now)
{
	for (size_t i = 0; i < tx->n; i++) {
		const struct rd_tx_effect *e = &tx->effects[i];
		enum rd_image_kind kind = e->effect->kind == RD_EFFECT_LINK ? RD_IMAGE_LINK : RD_IMAGE_FILE;

		if (!rd_effect_is_file(e->effect) || !rd_streq(e->effect->path, path))
			continue;
		if (is_content(now, kind, e->effect->after) || (e->is_first && same_image(now, &e->before)))
			return true;
	}
	return false;
}

/* Applying keeps owner and mode, so what differs now is somebody else's wish. Labels are the system's to renew. */
static bool has_owner_and_mode(const struct rd_image *now, const struct rd_image *before)
{
	return now->kind != RD_IMAGE_FILE || before->kind != RD_IMAGE_FILE ||
	       (now->mode == before->mode && now->uid == before->uid && now->gid == before->gid);
}

/* A value that can be read is neither what it was made nor what it was. */
static bool is_another_value(struct rd_transaction *tx, const struct rd_effect *e)
{
	rd_auto_free char *now = NULL;

	return e->kind == RD_EFFECT_VALUE && e->before && rd_sysroot_read_line(tx->sysroot, &now, e->path) >= 0 &&
	       !rd_streq(now, e->before) && !rd_streq(now, e->after);
}

static int check_unedited(struct rd_transaction *tx, struct rd_error *err)
{
	for (size_t i = 0; i < tx->n; i++) {
		const struct rd_tx_effect *e = &tx->effects[i];
		struct rd_image now = { .kind = RD_IMAGE_NONE };
		bool ours, kept;
		int r;

		if (e->progress == RD_NOT_BEGUN)
			continue;
		/* Cut short in the midst, it may be anything, and ours. */
		if (e->progress == RD_DONE && is_another_value(tx, e->effect))
			return rd_error_set(err, -ESTALE, "'%s' was set since; --force puts the old value back all the same",
			                    e->effect->path);
		if (!rd_effect_is_file(e->effect) || !e->is_first)
			continue;
		r = rd_edit_capture(tx->sysroot, e->effect->path, &now, err);
		if (r < 0)
			return r;
		ours = is_ours(tx, e->effect->path, &now);
		kept = has_owner_and_mode(&now, &e->before);
		rd_image_release(&now);
		if (!ours)
			return rd_error_set(err, -ESTALE, "'%s' was edited since; --force puts the old one back all the same",
			                    e->effect->path);
		if (!kept)
			return rd_error_set(
				err, -ESTALE,
				"owner or mode of '%s' was changed since; --force puts the old one back all the same",
				e->effect->path);
	}
	return 0;
}

/* A program that was begun and not seen to end: its step, lowered again, tells whether its work is there. */
static bool took_effect(struct rd_transaction *tx, const struct rd_tx_effect *e)
{
	struct rd_step *again;
	bool wanted = false;
	int r;

	if (e->progress == RD_DONE)
		return true;
	again = rd_step_again(e->step);
	r = rd_step_lower(again, tx->sysroot, NULL);
	for (size_t i = 0; r == 0 && i < again->effects_n && !wanted; i++) {
		char *const *a = again->effects[i].argv, *const *b = e->effect->argv;

		while (a && *a && *b && rd_streq(*a, *b)) {
			a++;
			b++;
		}
		wanted = a && !*a && !*b;
	}
	rd_step_free(again);
	return !wanted;
}

static bool same_attributes(const struct rd_image *a, const struct rd_image *b)
{
	if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid || a->mtime.tv_sec != b->mtime.tv_sec ||
	    a->mtime.tv_nsec != b->mtime.tv_nsec || a->xattrs_n != b->xattrs_n)
		return false;
	for (size_t i = 0; i < a->xattrs_n; i++)
		if (!rd_streq(a->xattrs[i].name, b->xattrs[i].name) || a->xattrs[i].len != b->xattrs[i].len ||
		    memcmp(a->xattrs[i].value, b->xattrs[i].value, a->xattrs[i].len) != 0)
			return false;
	return true;
}

/* What is as it was needs no writing, which on a full disk would fail. */
static int undo_file(struct rd_transaction *tx, const struct rd_tx_effect *e, struct rd_error *err)
{
	struct rd_image now = { .kind = RD_IMAGE_NONE };
	int r;

	rd_edit_sweep(tx->sysroot, e->effect->path, tx->id);
	if (!e->is_first)
		return 1;
	r = rd_edit_capture(tx->sysroot, e->effect->path, &now, NULL);
	if (r == 0 && same_image(&now, &e->before) && same_attributes(&now, &e->before))
		r = 1;
	rd_image_release(&now);
	return r == 1 ? 1 : rd_edit_put(tx->sysroot, e->effect->path, &e->before, tx->id, false, err);
}

static int undo_run(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_tx_effect *e = &tx->effects[n];
	int r = took_effect(tx, e) ? rd_tx_run(tx, n, e->effect->undo, true, err) : 1;

	return r < 0 || rd_tx_take_off_brought(tx, n, err) < 0 ? -ECHILD : r;
}

/* 0; 1 where there was nothing to take back. */
static int undo_effect(struct rd_transaction *tx, size_t n, struct rd_error *err)
{
	const struct rd_tx_effect *e = &tx->effects[n];
	const struct rd_effect *f = e->effect;

	switch (f->kind) {
	case RD_EFFECT_WRITE:
	case RD_EFFECT_LINK:
		return undo_file(tx, e, err);
	case RD_EFFECT_VALUE:
		return rd_edit_value(tx->sysroot, f->path, f->before, err);
	case RD_EFFECT_RUN:
		return undo_run(tx, n, err);
	default:
		return 1;
	}
}

/* What has no way back, and had an effect. */
static bool is_for_good(struct rd_transaction *tx, const struct rd_tx_effect *e)
{
	if (e->effect->kind == RD_EFFECT_VALUE)
		return !e->effect->before;
	return e->effect->kind == RD_EFFECT_RUN && !e->effect->undo && took_effect(tx, e);
}

/* Caller frees. */
static char *name_of(const struct rd_effect *e)
{
	rd_auto_free char *command = e->path ? NULL : command_line(e->argv);

	return rd_xasprintf("'%s'", e->path ? e->path : command);
}

static size_t first_of_step(const struct rd_transaction *tx, size_t n)
{
	while (n > 0 && tx->effects[n - 1].step_index == tx->effects[n].step_index)
		n--;
	return n;
}

static bool same_program(char *const *a, char *const *b)
{
	while (*a && *b && rd_streq(*a, *b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

/* Has an effect after this one the same program? Then once, the last time, is enough. */
static bool comes_again(const struct rd_transaction *tx, size_t n)
{
	for (size_t i = n + 1; i < tx->n; i++)
		if (tx->effects[i].effect->kind == RD_EFFECT_REFRESH &&
		    tx->effects[first_of_step(tx, i)].progress != RD_NOT_BEGUN &&
		    same_program(tx->effects[i].effect->argv, tx->effects[n].effect->argv))
			return true;
	return false;
}

/* How far rolling back has come. */
struct rolling {
	struct rd_strbuf left;  /* what went wrong */
	struct rd_strbuf stays; /* what has no way back */
	struct rd_strbuf back;  /* what is as it was */
	struct rd_strbuf again; /* what never worked, does not now, and is to be run when it does */
};

static void add_to(struct rd_strbuf *list, const char *between, const char *text)
{
	rd_strbuf_addf(list, "%s%s", list->len ? between : "", text);
}

static void note_left(struct rolling *rolling, const struct rd_error *why, int r)
{
	add_to(&rolling->left, "; ", why->message ? why->message : rd_strerror(r));
}

/*
 * Whether a program that makes files effective may have left something of ours: it worked while they were there, or was cut
 * short. One that failed, or was not come to, has not.
 */
static bool may_have_worked(const struct rd_transaction *tx, char *const *argv)
{
	for (size_t i = 0; i < tx->n; i++) {
		const struct rd_tx_effect *e = &tx->effects[i];

		if (e->effect->kind == RD_EFFECT_REFRESH && same_program(e->effect->argv, argv) &&
		    (e->ended || (e->progress != RD_NOT_BEGUN && !e->failed)))
			return true;
	}
	return false;
}

static void note_refresh(const struct rd_transaction *tx, char *const *argv, struct rolling *rolling,
                         const struct rd_error *why, int r)
{
	rd_auto_free char *command = command_line(argv);

	if (may_have_worked(tx, argv))
		note_left(rolling, why, r);
	else
		rd_strbuf_addf(&rolling->again, "%s%s (%s)", rolling->again.len ? "; " : "", command,
		               why->message ? why->message : rd_strerror(r));
}

/*
 * What makes files effective has to run once more when they are back: all of them, since an initramfs or a service reads
 * what other steps wrote. In the order of the plan, as it was applied.
 */
static void refresh_all(struct rd_transaction *tx, struct rolling *rolling)
{
	for (size_t i = 0; i < tx->n; i++) {
		const struct rd_tx_effect *e = &tx->effects[i];
		struct rd_error below = RD_ERROR_INIT;
		int r;

		if (e->effect->kind != RD_EFFECT_REFRESH || tx->effects[first_of_step(tx, i)].progress == RD_NOT_BEGUN ||
		    comes_again(tx, i))
			continue;
		r = rd_tx_run(tx, i, e->effect->argv, true, &below);
		if (r < 0)
			note_refresh(tx, e->effect->argv, rolling, &below, r);
		rd_error_clear(&below);
	}
}

/* Nothing of ours is left, so rolling back is complete; and yet somebody should know. */
static void tell_again(const struct rd_transaction *tx, const struct rolling *rolling)
{
	rd_auto_free char *words =
		rd_xasprintf("what was changed is back as it was; to be run once it works: %s", rolling->again.buf);

	if (rolling->again.len && !rolling->left.len && tx->listener && tx->listener->note)
		tx->listener->note(tx->listener, words);
}

static void tell_back(const struct rd_transaction *tx, size_t n)
{
	const struct rd_step *step = tx->effects[n].step;
	bool is_last = n + 1 == tx->n || tx->effects[n + 1].step != step || tx->effects[n + 1].progress == RD_NOT_BEGUN;

	if (is_last && tx->listener && tx->listener->back)
		tx->listener->back(tx->listener, step->description ? step->description : step->action->summary);
}

/*
 * One effect backwards. What goes wrong is noted, and the rest goes on; also without a log, since on a full disk the host matters
 * more than the record of it.
 */
static void take_back(struct rd_transaction *tx, size_t n, struct rolling *rolling)
{
	struct rd_tx_effect *e = &tx->effects[n];
	rd_auto_free char *name = name_of(e->effect);
	struct rd_error below = RD_ERROR_INIT, of_log = RD_ERROR_INIT;
	int r, logged;

	tell_back(tx, n);
	if (is_for_good(tx, e)) {
		add_to(&rolling->stays, ", ", name);
		return;
	}
	logged = rd_tx_log(tx, &of_log, "undoing %zu", n);
	r = undo_effect(tx, n, &below);
	if (r >= 0) {
		if (r == 0)
			add_to(&rolling->back, ", ", name);
		e->progress = RD_UNDONE;
		if (logged == 0)
			logged = rd_tx_log(tx, &of_log, "undone %zu", n);
	} else {
		note_left(rolling, &below, r);
		if (rd_effect_is_file(e->effect) && e->is_first && e->before.content)
			rd_strbuf_addf(&rolling->left, " (the original is %s/before/%zu)", tx->path, n);
		if (e->effect->undo) {
			rd_auto_free char *command = command_line(e->effect->undo);

			rd_strbuf_addf(&rolling->left, " (what is left to run: %s)", command);
		}
	}
	if (logged < 0)
		note_left(rolling, &of_log, logged);
	rd_error_clear(&below);
	rd_error_clear(&of_log);
}

static void remove_made(struct rd_transaction *tx, struct rolling *rolling)
{
	for (size_t i = tx->made.n; i-- > 0;) {
		int r = rd_edit_rmdir(tx->sysroot, tx->made.v[i]);

		/* A folder that something else has moved into stays. */
		if (r < 0 && r != -ENOTEMPTY && r != -EEXIST && r != -EBUSY)
			rd_strbuf_addf(&rolling->left, "%scannot remove '%s': %s", rolling->left.len ? "; " : "", tx->made.v[i],
			               rd_strerror(r));
	}
}

/* What is left, what stays for good, and what is as it was: somebody has to go on from there. */
static int tell_left(const struct rolling *rolling, struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;

	rd_strbuf_add(&words, rolling->left.buf);
	if (rolling->stays.len)
		rd_strbuf_addf(&words, "%s%s cannot be undone", words.len ? "; " : "", rolling->stays.buf);
	if (rolling->back.len)
		rd_strbuf_addf(&words, "; put back: %s", rolling->back.buf);
	if (rolling->again.len)
		rd_strbuf_addf(&words, "; to be run once it works: %s", rolling->again.buf);
	return rd_error_set(err, -ENOTRECOVERABLE, "%s", words.buf);
}

static void rolling_release(struct rolling *rolling)
{
	rd_strbuf_release(&rolling->left);
	rd_strbuf_release(&rolling->stays);
	rd_strbuf_release(&rolling->back);
	rd_strbuf_release(&rolling->again);
}

int rd_tx_roll_back(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto(rolling_release) struct rolling rolling = { RD_STRBUF_INIT, RD_STRBUF_INIT, RD_STRBUF_INIT, RD_STRBUF_INIT };

	for (size_t i = tx->n; i-- > 0;)
		if (tx->effects[i].progress != RD_NOT_BEGUN && tx->effects[i].progress != RD_UNDONE)
			take_back(tx, i, &rolling);
	refresh_all(tx, &rolling);
	remove_made(tx, &rolling);
	tell_again(tx, &rolling);
	tx->broken = rolling.left.len;
	tx->partly = !rolling.left.len && rolling.stays.len;
	tx->undone = !rolling.left.len && !rolling.stays.len;
	if (rd_tx_log(tx, err, tx->broken ? "not-rolled-back" : tx->partly ? "rolled-back-in-part" : "rolled-back") < 0)
		return -ENOTRECOVERABLE;
	return tx->undone ? 0 : tell_left(&rolling, err);
}

/* Later transactions */

static bool is_verb(const char *word)
{
	static const char *const verbs[] = { "install", "remove",  "uninstall",  "hold",    "unhold",     "add",
		                             "delete",  "mark",    "pip",        "addlock", "removelock", "versionlock",
		                             "update",  "add-apt", "removelock", "100" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(verbs); i++)
		if (rd_streq(word, verbs[i]))
			return true;
	return *word == '-' || strchr(word, ':');
}

/* Two words of commands that name one thing: "rocm=6.4.3" and "rocm". */
static bool same_operand(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !is_verb(a) && n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* The same program on the same thing, or the same path. */
static bool touch_the_same(const struct rd_effect *a, const struct rd_effect *b)
{
	if (a->path && b->path)
		return rd_streq(a->path, b->path);
	if (a->kind != RD_EFFECT_RUN || b->kind != RD_EFFECT_RUN || !rd_streq(a->argv[0], b->argv[0]))
		return false;
	for (size_t i = 1; a->argv[i]; i++)
		for (size_t j = 1; b->argv[j]; j++)
			if (same_operand(a->argv[i], b->argv[j]))
				return true;
	return false;
}

static const struct rd_effect *touched_again(const struct rd_transaction *tx, const struct rd_transaction *later)
{
	for (size_t i = 0; i < tx->n; i++)
		for (size_t j = 0; j < later->n && tx->effects[i].progress != RD_NOT_BEGUN; j++)
			if (later->effects[j].progress != RD_NOT_BEGUN && later->effects[j].progress != RD_UNDONE &&
			    touch_the_same(tx->effects[i].effect, later->effects[j].effect))
				return tx->effects[i].effect;
	return NULL;
}

/* Taken back in the wrong order, two transactions would leave what neither of them found. */
static int check_later(const struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	int r = rd_transaction_list(tx->dir, &ids);

	for (size_t i = ids.n; i-- > 0 && r == 0 && !rd_streq(ids.v[i], tx->id);) {
		struct rd_transaction *later;
		const struct rd_effect *e;

		if (rd_transaction_open(tx->dir, ids.v[i], &later, NULL) < 0)
			continue;
		e = touched_again(tx, later);
		if (e) {
			rd_auto_free char *name = name_of(e);

			r = rd_error_set(err, -ESTALE,
			                 "transaction %s has changed %s again; undo that first (--force goes on all the same)",
			                 later->id, name);
		}
		rd_transaction_close(later);
	}
	return r;
}

int rd_transaction_undo(struct rd_transaction *tx, struct rd_sysroot *sr, bool force, struct rd_tx_listener *listener,
                        struct rd_error *err)
{
	struct signals old;
	int r;

	if (tx->root && !rd_streq(tx->root, rd_sysroot_dir(sr)))
		return rd_error_set(err, -EXDEV, "transaction %s changed '%s', not '%s'", tx->id, tx->root, rd_sysroot_dir(sr));
	tx->sysroot = sr;
	tx->listener = listener;
	r = rd_tx_lock(tx, err);
	if (r == 0 && (tx->undone || tx->partly))
		return rd_error_set(err, -EALREADY, "transaction %s is undone already%s", tx->id,
		                    tx->partly ? ", but for what cannot be undone" : "");
	if (r == 0 && !force)
		r = check_later(tx, err);
	if (r == 0 && !force)
		r = check_unedited(tx, err);
	if (r < 0)
		return r;
	/* Half-way is no place to stop: signals wait until all is back. */
	heed_signals(&old);
	r = rd_tx_roll_back(tx, err);
	restore_signals(&old);
	return r;
}
