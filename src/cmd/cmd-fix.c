/* fix: from findings to a plan, and from the plan to a mended host that can be put back. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/layer.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/utf8.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(sysroot, struct rd_sysroot, rd_sysroot_free)

static const struct {
	const char *format;
	int (*render)(const struct rd_plan *plan, FILE *out);
} renderers[] = {
	{ "json", rd_render_plan_json },
	{ "sh", rd_render_plan_sh },
	{ "ansible", rd_render_plan_ansible },
	{ "cloud-init", rd_render_plan_cloud_init },
	{ "dockerfile", rd_render_plan_dockerfile },
};

static int print_plan(const struct rd_app *app, const struct rd_plan *plan)
{
	struct rd_text_options text = rd_app_text_options(app);
	struct rd_plan_view view = { text.columns, text.color, text.utf8, app->dry_run, app->verbosity, text.again };

	for (size_t i = 0; i < RD_ARRAY_SIZE(renderers); i++)
		if (rd_app_wants(app, renderers[i].format))
			return renderers[i].render(plan, stdout);
	return rd_render_plan_text(plan, &view, stdout);
}

/* Somebody will run it, and not read what is said beside it. */
static bool is_script(const struct rd_app *app)
{
	return !rd_app_wants(app, "text") && !rd_app_wants(app, "json");
}

/* A script would have to hold what the files hold. Text and JSON hide it. */
static int check_secrets(const struct rd_app *app, const struct rd_plan *plan)
{
	const char *secret = rd_plan_secret(plan);

	if (!secret)
		return 0;
	return rd_app_fail(app, RD_EXIT_BROKEN,
	                   "'%s' has a password or token in it, which --format %s would show; rocm-doctor fix changes it "
	                   "without showing it, --skip leaves it out",
	                   secret, app->format);
}

/* Whether a plan may download is known before it is applied, so a dry run comes to the same answer. */
static int check_network(const struct rd_app *app, const struct rd_plan *plan)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	if (!plan->needs_network || !app->no_network)
		return 0;
	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->steps[i]->findings_n && plan->steps[i]->flags & RD_ACTION_NETWORK; j++)
			rd_strv_push_unique(&ids, plan->steps[i]->findings[j]);
	for (size_t i = 0; i < ids.n; i++)
		rd_strbuf_addf(&sb, " --skip %s", ids.v[i]);
	return rd_app_fail(app, RD_EXIT_BROKEN, "this plan may download, and --no-network forbids it; without what does:%s",
	                   sb.buf);
}

static int make_plan(struct rd_app *app, struct rd_diagnosis **ret_d, struct rd_plan **ret)
{
	struct rd_plan_options options = { &app->only, &app->skip, app->until };
	struct rd_error err = RD_ERROR_INIT;
	int r;

	*ret_d = rd_diagnose(app->knowledge, app->facts, app->profile);
	r = rd_plan_build(app->knowledge, *ret_d, app->facts, app->sysroot, &options, ret, &err);
	if (r < 0) {
		rd_app_fail(app, 0, "%s", err.message ? err.message : rd_strerror(r));
		rd_error_clear(&err);
		return RD_EXIT_BROKEN;
	}
	return 0;
}

/* A question that only a person at a terminal can answer. */
int rd_app_confirm(const struct rd_app *app, const char *question)
{
	char answer[16];

	if (app->yes)
		return 0;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return rd_app_fail(app, RD_EXIT_DECLINED, "there is no terminal to ask at; --yes applies without asking");
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y'))
		return 0;
	return rd_app_fail(app, RD_EXIT_DECLINED, "declined; nothing has been changed");
}

char *rd_app_shown(const char *text)
{
	char *clean = rd_str_printable(text);

	rd_redact(clean);
	return clean;
}

/* On a terminal the last line of a program stands below its step while it runs, to be seen at work. */
#define BRIEF_CHARACTERS 70

static bool brief_shown;

void rd_app_end_brief(void)
{
	if (brief_shown)
		fputs("\r\033[K", stdout);
	brief_shown = false;
}

static void tell_brief(struct rd_tx_listener *self, const char *line)
{
	rd_auto_free char *clean = rd_app_shown(line);
	size_t at = 0;

	(void)self;
	for (size_t i = 0, n; i < BRIEF_CHARACTERS && (n = rd_utf8_length(clean + at)); i++)
		at += n;
	clean[at] = '\0';
	printf("\r\033[K      %s", clean);
	fflush(stdout);
	brief_shown = true;
}

static void tell_step(struct rd_tx_listener *self, size_t step, size_t of, const char *words)
{
	rd_auto_free char *clean = rd_app_shown(words);

	(void)self;
	rd_app_end_brief();
	printf("[%zu/%zu] %s\n", step + 1, of, clean);
	fflush(stdout);
}

static void tell_note(struct rd_tx_listener *self, const char *words)
{
	rd_auto_free char *clean = rd_app_shown(words);

	(void)self;
	rd_app_end_brief();
	printf("note: %s\n", clean);
	fflush(stdout);
}

static void tell_back(struct rd_tx_listener *self, const char *words)
{
	rd_auto_free char *clean = rd_app_shown(words);

	(void)self;
	rd_app_end_brief();
	printf("back: %s\n", clean);
	fflush(stdout);
}

static void tell_output(struct rd_tx_listener *self, const char *line)
{
	rd_auto_free char *clean = rd_app_shown(line);

	(void)self;
	printf("        %s\n", clean);
	fflush(stdout);
}

struct rd_tx_listener rd_app_listener(const struct rd_app *app)
{
	return (struct rd_tx_listener){ .step = app->verbosity < 0 ? NULL : tell_step,
		                        .output = app->verbosity > 0                             ? tell_output
		                                  : app->verbosity == 0 && isatty(STDOUT_FILENO) ? tell_brief
		                                                                                 : NULL,
		                        .note = tell_note,
		                        .back = app->verbosity < 0 ? NULL : tell_back };
}

static int bring_back(const struct rd_app *app, const char *dir, const char *id)
{
	rd_auto(rd_cleanup_sysroot) struct rd_sysroot *sysroot = NULL;
	struct rd_tx_listener listener = rd_app_listener(app);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_sysroot_open("/", &sysroot, &err);

	if (r == 0)
		r = rd_transaction_open(dir, id, &tx, &err);
	if (r == 0)
		r = rd_transaction_undo(tx, sysroot, false, &listener, &err);
	rd_app_end_brief();
	rd_transaction_close(tx);
	if (r == 0 || r == -EALREADY) {
		rd_error_clear(&err);
		printf("Transaction %s had been interrupted and was brought back.\n", id);
		return 0;
	}
	rd_app_fail(app, 0, "transaction %s was interrupted, and bringing it back failed: %s", id,
	            err.message ? err.message : rd_strerror(r));
	rd_error_clear(&err);
	return r == -ENOTRECOVERABLE ? RD_EXIT_LEFT : RD_EXIT_BROKEN;
}

/* What could not be brought back is somebody's to settle, and easily forgotten. */
static void tell_left(const char *dir)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;

	if (rd_transaction_list(dir, &ids) < 0)
		return;
	for (size_t i = 0; i < ids.n; i++) {
		struct rd_transaction *tx = NULL;

		if (rd_transaction_open(dir, ids.v[i], &tx, NULL) < 0)
			continue;
		if (rd_transaction_state(tx) == RD_TX_BROKEN)
			fprintf(stderr, "rocm-doctor fix: transaction %s is not rolled back: rocm-doctor undo %s tries again\n",
			        ids.v[i], ids.v[i]);
		rd_transaction_close(tx);
	}
}

/* What an earlier run left half done is brought back before anything is looked at. */
static int recover(const struct rd_app *app, const char *dir)
{
	int status = 0;

	tell_left(dir);
	while (!status) {
		rd_auto_free char *id = rd_transaction_interrupted(dir), *question = NULL;

		if (!id)
			return 0;
		if (app->dry_run) {
			fprintf(stderr,
			        "rocm-doctor fix: transaction %s was interrupted; the next fix or undo brings it back first\n",
			        id);
			return 0;
		}
		question = rd_xasprintf("Transaction %s was interrupted. Bring back what it changed?", id);
		status = rd_app_confirm(app, question);
		if (!status)
			status = bring_back(app, dir, id);
	}
	return status;
}

/* "gone", "remains", or that it cannot be told any more. */
static const char *what_became_of(const struct rd_diagnosis *d, const char *id)
{
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		if (rd_streq(f->rule->id, id))
			return "remains";
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next_unknown(d, f));)
		if (rd_streq(f->rule->id, id))
			return "unknown";
	return "gone";
}

static void collect_findings(const struct rd_plan *plan, struct rd_strv *ret)
{
	for (size_t i = 0; i < plan->reboot_at; i++)
		for (size_t j = 0; j < plan->steps[i]->findings_n; j++)
			rd_strv_push_unique(ret, plan->steps[i]->findings[j]);
}

/* A fix counts as done when its finding is gone. Returns how many are not. */
static size_t look_again(struct rd_app *app, const struct rd_plan *plan)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	struct rd_diagnosis *d;
	size_t left = 0;

	collect_findings(plan, &ids);
	app->facts = rd_fact_free(app->facts);
	app->sysroot = rd_sysroot_free(app->sysroot);
	if (rd_app_probe(app))
		return ids.n;
	d = rd_diagnose(app->knowledge, app->facts, app->profile);
	for (size_t i = 0; i < ids.n; i++) {
		const char *now = what_became_of(d, ids.v[i]);

		left += !rd_streq(now, "gone");
		if (app->verbosity >= 0 || !rd_streq(now, "gone"))
			printf("%-9s %s\n", now, ids.v[i]);
	}
	rd_diagnosis_free(d);
	return left;
}

static int verdict(struct rd_app *app, const struct rd_plan *plan, const char *id)
{
	size_t left = look_again(app, plan);

	if (plan->needs_reboot || plan->needs_login) {
		printf("Applied. %s to finish.  Undo: rocm-doctor undo %s\n", plan->needs_reboot ? "Reboot" : "Log in again",
		       id);
		return RD_EXIT_LATER;
	}
	if (left) {
		printf("Applied, and yet %zu finding%s %s. Undo: rocm-doctor undo %s\n", left, left == 1 ? "" : "s",
		       left == 1 ? "remains" : "remain", id);
		return RD_EXIT_FOUND;
	}
	printf("Applied and verified. Undo: rocm-doctor undo %s\n", id);
	return RD_EXIT_OK;
}

/* Takes the plan. */
static int apply(struct rd_app *app, struct rd_plan *plan, const char *dir)
{
	struct rd_tx_listener listener = rd_app_listener(app);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_begin(dir, plan, app->sysroot, &tx, &err), status;

	if (r < 0) {
		rd_app_fail(app, 0, "%s; nothing has been changed", err.message ? err.message : rd_strerror(r));
		rd_error_clear(&err);
		rd_plan_free(plan);
		return RD_EXIT_BROKEN;
	}
	r = rd_plan_apply(tx, app->sysroot, &listener, &err);
	rd_app_end_brief();
	if (r == 0) {
		status = verdict(app, rd_transaction_plan(tx), rd_transaction_id(tx));
	} else {
		status = r == -ENOTRECOVERABLE ? RD_EXIT_LEFT : RD_EXIT_FOUND;
		rd_app_fail(app, 0, "%s%s; what programs said is in %s/output", err.message ? err.message : rd_strerror(r),
		            status == RD_EXIT_LEFT ? "" : "; all was rolled back", rd_transaction_path(tx));
	}
	rd_error_clear(&err);
	rd_transaction_close(tx);
	return status;
}

static void add_words(struct rd_strbuf *sb, const struct rd_strv *words)
{
	for (size_t i = 0; i < words->n; i++)
		rd_strbuf_addf(sb, " %s", words->v[i]);
}

/* What a finding wants without root is worth knowing where root is not to be had. */
static int tell_root(const struct rd_app *app, const struct rd_plan *plan)
{
	rd_auto_strv struct rd_strv with = RD_STRV_INIT, without = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->steps[i]->findings_n; j++)
			rd_strv_push_unique(plan->steps[i]->flags & RD_ACTION_ROOT ? &with : &without,
			                    plan->steps[i]->findings[j]);
	add_words(&sb, &app->again[RD_AGAIN_ANY]);
	add_words(&sb, &app->again[RD_AGAIN_FIX]);
	for (size_t i = 0; i < without.n; i++) {
		if (rd_strv_has(&with, without.v[i]))
			continue;
		if (!told++) {
			rd_strbuf_add(&sb, "; without root: rocm-doctor fix");
			add_words(&sb, &app->again[RD_AGAIN_ANY]);
		}
		rd_strbuf_addf(&sb, " --only %s", without.v[i]);
	}
	return rd_app_fail(app, RD_EXIT_BROKEN, "this plan needs root: sudo rocm-doctor fix%s", sb.buf);
}

static int confirm_and_apply(struct rd_app *app, struct rd_plan *plan, const char *dir)
{
	rd_auto_free char *question = NULL;
	int status;

	if (plan->needs_root && geteuid() != 0) {
		status = tell_root(app, plan);
		rd_plan_free(plan);
		return status;
	}
	question = rd_xasprintf("Apply %zu step%s?", plan->reboot_at, plan->reboot_at == 1 ? "" : "s");
	status = rd_app_confirm(app, question);
	if (status) {
		rd_plan_free(plan);
		return status;
	}
	return apply(app, plan, dir);
}

/* "Nothing to do" of a host of which a whole layer could not be seen would be a guess. */
static int check_examined(const struct rd_app *app, const struct rd_diagnosis *d, const struct rd_plan *plan)
{
	struct rd_selection selection = { NULL, &app->only, &app->skip };
	struct rd_report *report;
	int status = 0;

	if (plan->n || plan->advice_n || plan->unfixed_n)
		return 0;
	report = rd_report_new(app->knowledge, app->facts, d, &selection);
	for (int i = 0; i < RD_LAYER_COUNT && !status && (app->until < 0 || i <= app->until); i++)
		if (report->layers[i].status == RD_STATUS_UNKNOWN)
			status = rd_app_fail(app, RD_EXIT_BROKEN,
			                     "not every layer could be examined (%s): rocm-doctor check -v tells why",
			                     rd_layer_name((enum rd_layer)i));
	rd_report_free(report);
	return status;
}

static int plan_and_apply(struct rd_app *app, const char *dir)
{
	struct rd_diagnosis *d = NULL;
	struct rd_plan *plan = NULL;
	int status = make_plan(app, &d, &plan);

	if (!status)
		status = check_examined(app, d, plan);
	if (!status && is_script(app)) {
		status = check_secrets(app, plan);
		status = status ? status : check_network(app, plan);
	}
	/* Nothing is changed for one who could not read what. */
	if (!status && (print_plan(app, plan) < 0 || fflush(stdout) != 0))
		status = rd_app_fail(app, RD_EXIT_BROKEN, "cannot write to standard output");
	if (!status)
		status = check_network(app, plan);
	if (!status && app->dry_run)
		status = app->detailed_exitcode && plan->n ? RD_EXIT_CHANGES : RD_EXIT_OK;
	else if (!status && plan->n) {
		struct rd_plan *taken = rd_steal(plan);

		status = confirm_and_apply(app, taken, dir);
	}
	rd_plan_free(plan);
	rd_diagnosis_free(d);
	return status;
}

/* Findings are named by --only; and perhaps another one is meant. */
static int refuse_argument(struct rd_app *app, const char *name)
{
	int status = rd_app_load_knowledge(app);
	rd_auto_free char *near = status ? NULL : rd_app_near(app, name);

	if (status)
		return status;
	if (rd_knowledge_rule(app->knowledge, name))
		return rd_app_fail(app, RD_EXIT_USAGE, "a finding is named by an option: rocm-doctor fix --only %s", name);
	return rd_app_fail(app, RD_EXIT_USAGE, "'%s' is not wanted here; --only names what to mend%s", name, near);
}

int cmd_fix(struct rd_app *app, int argc, char *argv[])
{
	rd_auto_free char *dir = rd_transaction_dir();
	int status;

	if (argc > 0)
		return refuse_argument(app, argv[0]);
	if (!app->dry_run && ((app->root && !rd_streq(app->root, "/")) || app->pid || app->container))
		return rd_app_fail(app, RD_EXIT_USAGE,
		                   "only the running system is changed; with --root, --pid and --container give --dry-run");
	if (!app->dry_run && !rd_app_wants(app, "text"))
		return rd_app_fail(app, RD_EXIT_USAGE, "--format %s is for --dry-run", app->format);
	status = rd_app_load_knowledge(app);
	if (!status)
		status = rd_app_check_patterns(app, "--only", &app->only);
	if (!status)
		status = rd_app_check_patterns(app, "--skip", &app->skip);
	/* A tree or a snapshot has no transactions here. */
	if (!status && (!app->root || rd_streq(app->root, "/")) && !app->pid && !app->container)
		status = recover(app, dir);
	if (!status)
		status = rd_app_probe(app);
	return status ? status : plan_and_apply(app, dir);
}
