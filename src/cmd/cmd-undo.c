/* undo and history: the transactions of this host. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "app.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/xalloc.h"

static int cannot_list(const struct rd_app *app, const char *dir, int r)
{
	return rd_app_fail(app, RD_EXIT_BROKEN, "cannot list '%s': %s", dir, rd_strerror(r));
}

/* The newest that is neither undone nor only planned; *ret stays NULL without one. */
static int newest(const char *dir, char **ret)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	int r = rd_transaction_list(dir, &ids);

	if (r < 0)
		return r;
	for (size_t i = ids.n; i-- > 0;) {
		struct rd_transaction *tx = NULL;
		enum rd_tx_state state;

		if (rd_transaction_open(dir, ids.v[i], &tx, NULL) < 0)
			continue;
		state = rd_transaction_state(tx);
		rd_transaction_close(tx);
		if (state == RD_TX_FINISHED || state == RD_TX_INTERRUPTED || state == RD_TX_BROKEN) {
			*ret = rd_xstrdup(ids.v[i]);
			break;
		}
	}
	return 0;
}

static int fail(const struct rd_app *app, int status, struct rd_error *err, int r)
{
	rd_app_fail(app, 0, "%s", err->message ? err->message : rd_strerror(r));
	rd_error_clear(err);
	return status;
}

static void show_command(const char *before, char *const argv[])
{
	printf("     %s", before);
	for (size_t i = 0; argv[i]; i++) {
		rd_auto_free char *clean = rd_app_shown(argv[i]);

		printf(" %s", clean);
	}
	putchar('\n');
}

static void show_diff(const struct rd_effect *e)
{
	const struct rd_effect back = { .kind = e->kind, .path = e->path, .before = e->after, .after = e->before };
	rd_auto_free char *diff = rd_effect_diff(&back);

	for (char *rest = diff, *line; (line = rd_str_next_line(&rest));) {
		rd_auto_free char *clean = rd_str_printable(line);

		printf("     %s\n", clean);
	}
}

static void show_value(const struct rd_effect *e)
{
	rd_auto_free char *path = rd_app_shown(e->path), *now = rd_app_shown(e->after ? e->after : "nothing"),
			  *then = rd_app_shown(e->before ? e->before : "nothing");

	if (e->kind == RD_EFFECT_VALUE && !e->before)
		printf("     %s: cannot be undone\n", path);
	else
		printf("     %s: %s -> %s\n", path, now, then);
}

static void show_effect(const struct rd_effect *e)
{
	if (e->kind == RD_EFFECT_WRITE)
		show_diff(e);
	else if (e->path)
		show_value(e);
	else if (e->undo)
		show_command("$", e->undo);
	else if (e->kind == RD_EFFECT_RUN)
		show_command("cannot be undone: $", e->argv);
}

static const char *words_of(const struct rd_step *step)
{
	return step->description ? step->description : step->action->summary;
}

static void show_what(const struct rd_transaction *tx)
{
	const struct rd_plan *plan = rd_transaction_plan(tx);

	printf("Transaction %s (%s), backwards:\n", rd_transaction_id(tx), rd_tx_state_name(rd_transaction_state(tx)));
	for (size_t i = plan->reboot_at; i-- > 0;) {
		rd_auto_free char *words = rd_app_shown(words_of(plan->steps[i]));

		printf("  %s\n", words);
		for (size_t j = plan->steps[i]->effects_n; j-- > 0;)
			show_effect(&plan->steps[i]->effects[j]);
	}
}

static int tell_undone(const struct rd_transaction *tx)
{
	puts(rd_transaction_state(tx) == RD_TX_PARTLY ? "It is undone already, but for what cannot be undone."
	                                              : "It is undone already.");
	return RD_EXIT_OK;
}

static int undo(struct rd_app *app, struct rd_transaction *tx)
{
	struct rd_tx_listener listener = rd_app_listener(app);
	struct rd_error err = RD_ERROR_INIT;
	int r, status;

	if (rd_transaction_state(tx) == RD_TX_UNDONE || rd_transaction_state(tx) == RD_TX_PARTLY)
		return tell_undone(tx);
	show_what(tx);
	if (app->dry_run)
		return RD_EXIT_OK;
	/* Nothing is changed for one who could not read what; main() says so. */
	if (fflush(stdout) != 0)
		return RD_EXIT_BROKEN;
	status = rd_app_confirm(app, "Undo it?");
	if (status)
		return status;
	r = rd_transaction_undo(tx, app->sysroot, app->force, &listener, &err);
	rd_app_end_brief();
	if (r == -EALREADY) {
		rd_error_clear(&err);
		return tell_undone(tx);
	}
	if (r < 0)
		return fail(app, r == -ENOTRECOVERABLE ? RD_EXIT_LEFT : r == -ESTALE ? RD_EXIT_FOUND : RD_EXIT_BROKEN, &err, r);
	puts("Undone: what it changed is as it was.");
	return RD_EXIT_OK;
}

int cmd_undo(struct rd_app *app, int argc, char *argv[])
{
	rd_auto_free char *dir = rd_transaction_dir(), *id = argc > 0 ? rd_xstrdup(argv[0]) : NULL;
	struct rd_error err = RD_ERROR_INIT;
	struct rd_transaction *tx = NULL;
	int r = 0, status;

	if (argc > 1)
		return rd_app_fail(app, RD_EXIT_USAGE, "one transaction at a time");
	if (!id)
		r = newest(dir, &id);
	if (r < 0)
		return cannot_list(app, dir, r);
	if (!id) {
		puts("Nothing to undo.");
		return RD_EXIT_OK;
	}
	r = rd_transaction_open(dir, id, &tx, &err);
	if (r == 0)
		r = rd_sysroot_open("/", &app->sysroot, &err);
	status = r < 0 ? fail(app, r == -ENOENT ? RD_EXIT_USAGE : RD_EXIT_BROKEN, &err, r) : undo(app, tx);
	rd_transaction_close(tx);
	return status;
}

static cJSON *entry_json(const struct rd_transaction *tx)
{
	const struct rd_plan *plan = rd_transaction_plan(tx);
	cJSON *object = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(object, "id", rd_transaction_id(tx));
	cJSON_AddStringToObject(object, "state", rd_tx_state_name(rd_transaction_state(tx)));
	array = cJSON_AddArrayToObject(object, "steps");
	for (size_t i = 0; i < plan->reboot_at; i++) {
		rd_auto_free char *words = rd_xstrdup(words_of(plan->steps[i]));

		rd_redact(words);
		cJSON_AddItemToArray(array, cJSON_CreateString(words));
	}
	return object;
}

static void show_entry(const struct rd_transaction *tx)
{
	const struct rd_plan *plan = rd_transaction_plan(tx);

	printf("%s  %s\n", rd_transaction_id(tx), rd_tx_state_name(rd_transaction_state(tx)));
	for (size_t i = 0; i < plan->reboot_at; i++) {
		rd_auto_free char *words = rd_app_shown(words_of(plan->steps[i]));

		printf("    %s\n", words);
	}
}

int cmd_history(struct rd_app *app, int argc, char *argv[])
{
	rd_auto_free char *dir = rd_transaction_dir();
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "transactions");
	int r = rd_transaction_list(dir, &ids), status = RD_EXIT_OK;

	if (argc > 0)
		status = rd_app_fail(app, RD_EXIT_USAGE, "'%s' is not wanted here", argv[0]);
	else if (r < 0)
		status = cannot_list(app, dir, r);
	for (size_t i = 0; i < ids.n && !status; i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_transaction *tx = NULL;

		r = rd_transaction_open(dir, ids.v[i], &tx, &err);
		if (r < 0)
			fail(app, 0, &err, r);
		else if (rd_app_wants(app, "json"))
			cJSON_AddItemToArray(array, entry_json(tx));
		else
			show_entry(tx);
		rd_transaction_close(tx);
	}
	if (!status && rd_app_wants(app, "json"))
		rd_json_print(rd_steal(root), stdout);
	else if (!status && !ids.n)
		puts("Nothing has been changed on this host yet.");
	cJSON_Delete(root);
	return status;
}
