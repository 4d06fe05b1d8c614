/* Apply, verify, undo: over a tree whose files are real and whose programs are only noted. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

struct world {
	char dir[64], *root, *state;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static void RD_PRINTF(1, 2) shell(const char *format, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

static void write_file(const struct world *w, const char *path, const char *text)
{
	rd_auto_free char *full = rd_xasprintf("%s%s", w->root, path);
	FILE *f;

	shell("mkdir -p $(dirname '%s')", full);
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	strcpy(w->dir, "/tmp/rd-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->root = rd_xasprintf("%s/root", w->dir);
	w->state = rd_xasprintf("%s/state", w->dir);
	mkdir(w->root, 0755);
	write_file(w, "/etc/modprobe.d/gpu.conf", "# ours\nblacklist amdgpu\nblacklist nouveau\n");
	write_file(w, "/sys/module/drm/refcnt", "1\n");
	assert_int_equal(rd_sysroot_open(w->root, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	shell("rm -rf %s", w->dir);
	free(w->root);
	free(w->state);
	free(w);
	return 0;
}

/* What a tree is, byte for byte: names, types, modes, owners, times of files, contents. */
static char *picture(const struct world *w)
{
	rd_auto_free char *command =
		rd_xasprintf("cd %s && find . -type f -printf '%%p %%m %%u %%g %%T@\\n' -exec cat {} \\; -o "
	                     "-printf '%%p %%y %%m %%l\\n' | sort",
	                     w->root);
	FILE *p = popen(command, "re");
	char *text = NULL;
	size_t allocated = 0;

	assert_non_null(p);
	if (getdelim(&text, &allocated, '\0', p) < 0)
		text = rd_xstrdup("");
	pclose(p);
	return text;
}

static struct rd_plan *plan_of(struct world *w, const char *action, const char *const *args)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = rd_step_new(rd_action_find(action), args, w->facts);
	plan->n = plan->allocated = plan->reboot_at = 1;
	assert_int_equal(rd_step_lower(plan->steps[0], w->sr, NULL), 0);
	return plan;
}

static const char *const unblacklist[] = { "file", "/etc/modprobe.d/gpu.conf", "module", "amdgpu", NULL };

static void applying_and_undoing_restores_the_tree(void **state)
{
	struct world *w = *state;
	rd_auto_free char *before = picture(w), *after = NULL, *text = NULL;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, &err), 0);
	assert_int_equal(rd_transaction_state(tx), RD_TX_FINISHED);
	assert_int_equal(rd_sysroot_read(w->sr, &text, "/etc/modprobe.d/gpu.conf"), 0);
	assert_string_equal(text, "# ours\n# rocm-doctor: blacklist amdgpu\nblacklist nouveau\n");
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, &err), 0);
	after = picture(w);
	assert_string_equal(before, after);
	rd_transaction_close(tx);
}

static void a_transaction_read_back_undoes_the_same(void **state)
{
	struct world *w = *state;
	rd_auto_free char *before = picture(w), *after = NULL, *id = NULL;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, &err), 0);
	id = rd_xstrdup(rd_transaction_id(tx));
	rd_transaction_close(tx);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, &err), 0);
	assert_int_equal(rd_transaction_state(tx), RD_TX_FINISHED);
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, &err), 0);
	after = picture(w);
	assert_string_equal(before, after);
	rd_transaction_close(tx);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, &err), 0);
	assert_int_equal(rd_transaction_state(tx), RD_TX_UNDONE);
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, &err), -EALREADY);
	rd_error_clear(&err);
	rd_transaction_close(tx);
}

static void a_file_that_is_not_as_planned_is_refused_before_anything_changes(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;

	write_file(w, "/etc/modprobe.d/gpu.conf", "blacklist amdgpu # edited\n");
	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), -ESTALE);
	assert_non_null(strstr(err.message, "/etc/modprobe.d/gpu.conf"));
	assert_int_equal(rd_transaction_list(w->state, &ids), 0);
	assert_int_equal(ids.n, 0);
	rd_error_clear(&err);
	rd_plan_free(plan);
}

static void a_file_edited_since_is_not_undone_unless_forced(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	rd_auto_free char *text = NULL;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, &err), 0);
	write_file(w, "/etc/modprobe.d/gpu.conf", "edited\n");
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, &err), -ESTALE);
	rd_error_clear(&err);
	assert_int_equal(rd_transaction_undo(tx, w->sr, true, NULL, &err), 0);
	assert_int_equal(rd_sysroot_read(w->sr, &text, "/etc/modprobe.d/gpu.conf"), 0);
	assert_string_equal(text, "# ours\nblacklist amdgpu\nblacklist nouveau\n");
	rd_transaction_close(tx);
}

static void a_value_set_since_is_left_alone(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	rd_auto_free char *text = NULL;

	write_file(w, "/proc/sys/kernel/numa_balancing", "1\n");
	plan = plan_of(w, "sysctl.set", (const char *const[]){ "name", "kernel.numa_balancing", "value", "0", NULL });
	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, &err), 0);
	write_file(w, "/proc/sys/kernel/numa_balancing", "2\n");
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, &err), -ESTALE);
	assert_non_null(strstr(err.message, "'/proc/sys/kernel/numa_balancing' was set since"));
	rd_error_clear(&err);
	assert_int_equal(rd_transaction_undo(tx, w->sr, true, NULL, &err), 0);
	assert_int_equal(rd_sysroot_read(w->sr, &text, "/proc/sys/kernel/numa_balancing"), 0);
	assert_string_equal(text, "1\n");
	rd_transaction_close(tx);
}

static void a_link_in_the_way_is_refused(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	shell("cd %s/etc && mv modprobe.d elsewhere && ln -s elsewhere modprobe.d", w->root);
	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), -ELOOP);
	rd_error_clear(&err);
	rd_plan_free(plan);
}

static void only_one_at_a_time_changes_the_host(void **state)
{
	struct world *w = *state;
	struct rd_plan *first = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_plan *second = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL, *other = NULL;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_begin(w->state, first, w->sr, &tx, &err), 0);
	assert_int_equal(rd_transaction_begin(w->state, second, w->sr, &other, &err), -EBUSY);
	rd_error_clear(&err);
	rd_plan_free(second);
	rd_transaction_close(tx);
}

static void lowered_again_an_applied_step_has_nothing_to_do(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist), *again;
	struct rd_transaction *tx = NULL;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, NULL), 0);
	again = plan_of(w, "modprobe.unblacklist", unblacklist);
	assert_int_equal(again->steps[0]->effects_n, 0);
	rd_plan_free(again);
	rd_transaction_close(tx);
}

static struct rd_plan *plan_by_hand(struct world *w, const char *path, const char *after)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct rd_step *step =
		rd_step_new(rd_action_find("modprobe.load"), (const char *const[]){ "module", "drm", NULL }, w->facts);

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = step;
	plan->n = plan->allocated = plan->reboot_at = 1;
	step->sysroot = w->sr;
	rd_step_write(step, path, after, 0644);
	step->sysroot = NULL;
	return plan;
}

static void what_cannot_be_edited_safely_is_refused_while_planning(void **state)
{
	static const struct {
		const char *path, *why;
	} rows[] = {
		{ "/etc/nul", "is no text" },
		{ "/etc/link", "is a link" },
		{ "/etc/below/gpu.conf", "stands below a link" },
		{ "/etc/fifo", "it is no file" },
		{ "/etc/dangling", "is a link" },
		{ "/etc/modprobe.d", "" },
		{ "/etc/../etc/x", "is not a path" },
		{ "etc/x", "is not a path" },
		{ "/", "is not a path" },
	};
	struct world *w = *state;

	shell("cd %s/etc && printf 'a\\0b' >nul && ln -s modprobe.d/gpu.conf link && ln -s modprobe.d below && mkfifo fifo && "
	      "ln -s nowhere dangling",
	      w->root);
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_plan *plan = plan_by_hand(w, rows[i].path, "x\n");

		if (!plan->steps[0]->refusal || !strstr(plan->steps[0]->refusal, rows[i].why))
			fail_msg("%s: '%s'", rows[i].path, plan->steps[0]->refusal ? plan->steps[0]->refusal : "no refusal");
		rd_plan_free(plan);
	}
}

static void on_a_merged_usr_the_real_path_is_planned(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan;

	shell("mkdir -p %s/usr/lib && ln -s usr/lib %s/lib", w->root, w->root);
	plan = plan_by_hand(w, "//lib/./udev//x.rules", "x\n");
	assert_null(plan->steps[0]->refusal);
	assert_string_equal(plan->steps[0]->effects[0].path, "/usr/lib/udev/x.rules");
	rd_plan_free(plan);
}

static void a_file_with_two_names_is_not_parted(void **state)
{
	struct world *w = *state;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	shell("ln %s/etc/modprobe.d/gpu.conf %s/etc/other", w->root, w->root);
	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, &err), -EMLINK);
	rd_error_clear(&err);
	rd_plan_free(plan);
}

static void folders_are_made_readable_whatever_the_umask_and_removed_by_undo(void **state)
{
	struct world *w = *state;
	rd_auto_free char *before = picture(w), *after = NULL, *path = rd_xasprintf("%s/etc/a/b", w->root);
	struct rd_plan *plan = plan_by_hand(w, "/etc/a/b/c", "x\n");
	struct rd_transaction *tx = NULL;
	mode_t mask = umask(077);
	struct stat st;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, NULL), 0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, NULL), 0);
	after = picture(w);
	assert_string_equal(before, after);
	rd_transaction_close(tx);
}

static char *apply_for_id(struct world *w)
{
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_transaction *tx = NULL;
	char *id;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, NULL), 0);
	id = rd_xstrdup(rd_transaction_id(tx));
	rd_transaction_close(tx);
	return id;
}

static void a_transaction_of_another_root_is_not_undone_here(void **state)
{
	struct world *w = *state;
	rd_auto_free char *id = apply_for_id(w);
	struct rd_transaction *tx = NULL;
	struct rd_sysroot *other;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), 0);
	assert_int_equal(rd_sysroot_open(w->dir, &other, NULL), 0);
	assert_int_equal(rd_transaction_undo(tx, other, true, NULL, &err), -EXDEV);
	rd_error_clear(&err);
	rd_sysroot_free(other);
	rd_transaction_close(tx);
}

static void a_damaged_transaction_is_an_error_and_no_crash(void **state)
{
	static const char *const edits[] = {
		"s/\"kind\"/\"kin\"/",
		"s/\"path\"/\"pat\"/",
		"s,/etc/modprobe.d/gpu.conf,/etc/../x,",
		"s,/etc/modprobe.d/gpu.conf,gpu.conf,",
		"s/modprobe.unblacklist/no.such/",
		"s,rocm-doctor/plan/1,rocm-doctor/plan/9,",
		"s/}$//",
		"s/\"write\"/\"run\"/",
		"d",
	};
	struct world *w = *state;
	rd_auto_free char *id = apply_for_id(w);

	shell("cd %s/%s && cp plan.json good", w->state, id);
	for (size_t i = 0; i < RD_ARRAY_SIZE(edits); i++) {
		struct rd_transaction *tx = NULL;
		struct rd_error err = RD_ERROR_INIT;

		shell("cd %s/%s && sed '%s' good >plan.json", w->state, id, edits[i]);
		if (rd_transaction_open(w->state, id, &tx, &err) == 0)
			fail_msg("%s: was read", edits[i]);
		assert_non_null(err.message);
		rd_error_clear(&err);
	}
	shell("cd %s/%s && cp good plan.json && truncate -s 3 before/0", w->state, id);
	{
		struct rd_transaction *tx = NULL;

		assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), -EBADMSG);
	}
}

static void odd_numbers_in_a_plan_are_none(void **state)
{
	struct world *w = *state;
	rd_auto_free char *id = apply_for_id(w);
	struct rd_transaction *tx = NULL;

	shell("cd %s/%s && sed -i 's/\"mode\":.*,/\"mode\": 1e300,/; s/\"flags\":.*,/\"flags\": \"x\",/; "
	      "s/\"findings\":.*,/\"findings\": [3, null],/' plan.json",
	      w->state, id);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), 0);
	rd_transaction_close(tx);
	/* Members without names. */
	shell("cd %s/%s && sed -i -z 's/\"args\":[^}]*}/\"args\": [\"x\", 1]/' plan.json && sed -i -z "
	      "'s/\"xattrs\":[^}]*}/\"xattrs\": [\"x\", 1]/' before/0.json && grep -q 'args\": .\"x' plan.json",
	      w->state, id);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), 0);
	rd_transaction_close(tx);
	/* None of the steps that the log tells of. */
	shell("cd %s/%s && sed -i 's/\"reboot_at\":.*,/\"reboot_at\": -7,/' plan.json", w->state, id);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), -EBADMSG);
}

/* "begun 12" cut to "begun 1" would be another event. */
static void a_cut_line_of_the_log_says_nothing_and_looking_does_not_mend_it(void **state)
{
	struct world *w = *state;
	rd_auto_free char *id = apply_for_id(w);
	struct rd_transaction *tx = NULL;

	shell("cd %s/%s && printf 'begun 0\\ndone 0\\nundoing 0\\nundone 0' >log && cp log was", w->state, id);
	assert_int_equal(rd_transaction_open(w->state, id, &tx, NULL), 0);
	assert_int_equal(rd_transaction_state(tx), RD_TX_INTERRUPTED);
	shell("cd %s/%s && cmp log was", w->state, id);
	assert_int_equal(rd_transaction_undo(tx, w->sr, false, NULL, NULL), 0);
	shell("cd %s/%s && ! grep -q 'undone 0.' log && tail -n 1 log | grep -qx rolled-back", w->state, id);
	rd_transaction_close(tx);
}

static void ids_lead_nowhere_else(void **state)
{
	static const char *const ids[] = { "", ".", "..", "../state", "/etc", "x", "20261201T000000Z-1/..", "%s", "1\n" };
	struct world *w = *state;

	free(apply_for_id(w));
	for (size_t i = 0; i < RD_ARRAY_SIZE(ids); i++) {
		struct rd_transaction *tx = NULL;

		assert_int_equal(rd_transaction_open(w->state, ids[i], &tx, NULL), -ENOENT);
	}
}

static void what_another_did_before_the_lock_was_had_counts(void **state)
{
	struct world *w = *state;
	rd_auto_free char *id = apply_for_id(w);
	struct rd_transaction *first = NULL, *second = NULL;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_open(w->state, id, &first, NULL), 0);
	assert_int_equal(rd_transaction_open(w->state, id, &second, NULL), 0);
	assert_int_equal(rd_transaction_undo(first, w->sr, false, NULL, NULL), 0);
	assert_int_equal(rd_transaction_undo(second, w->sr, false, NULL, &err), -EBUSY);
	rd_error_clear(&err);
	rd_transaction_close(first);
	assert_int_equal(rd_transaction_undo(second, w->sr, false, NULL, &err), -EALREADY);
	rd_error_clear(&err);
	rd_transaction_close(second);
}

static void end_it(struct rd_tx_listener *self, size_t step, size_t of, const char *words)
{
	(void)self;
	(void)step;
	(void)of;
	(void)words;
	raise(SIGTERM);
}

static void asked_to_end_it_rolls_back(void **state)
{
	struct world *w = *state;
	rd_auto_free char *before = picture(w), *after = NULL;
	struct rd_plan *plan = plan_of(w, "modprobe.unblacklist", unblacklist);
	struct rd_tx_listener listener = { .step = end_it };
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	struct sigaction now;

	assert_int_equal(rd_transaction_begin(w->state, plan, w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, &listener, &err), -EINTR);
	assert_int_equal(rd_transaction_state(tx), RD_TX_UNDONE);
	after = picture(w);
	assert_string_equal(before, after);
	sigaction(SIGTERM, NULL, &now);
	assert_true(now.sa_handler == SIG_DFL);
	rd_error_clear(&err);
	rd_transaction_close(tx);
}

static char *rendered(const struct rd_plan *plan, bool json)
{
	const struct rd_plan_view view = { .columns = 100 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(json ? rd_render_plan_json(plan, out) : rd_render_plan_text(plan, &view, out), 0);
	fclose(out);
	return text;
}

static void passwords_and_tokens_are_not_shown(void **state)
{
	static const char secret[] =
		"# deb https://ann:hunter2@repo.example/x noble main\nexport HF_TOKEN=hunter2\nPATH=/bin\n";
	struct world *w = *state;
	struct rd_plan *plain = plan_by_hand(w, "/etc/plain", "deb https://repo.example/x noble main\n");
	struct rd_plan *plan = plan_by_hand(w, "/etc/with-secret", secret);
	rd_auto_free char *text = rendered(plan, false), *json = rendered(plan, true),
			  *diff = rd_effect_diff(&plan->steps[0]->effects[0]);

	assert_null(strstr(text, "hunter2"));
	assert_null(strstr(json, "hunter2"));
	assert_null(strstr(diff, "hunter2"));
	assert_non_null(strstr(text, "https://***@repo.example/x"));
	assert_non_null(strstr(json, "HF_TOKEN=***"));
	assert_non_null(strstr(diff, "+PATH=/bin"));
	assert_string_equal(rd_plan_secret(plan), "/etc/with-secret");
	assert_null(rd_plan_secret(plain));
	/* What is written has all of it. */
	assert_string_equal(plan->steps[0]->effects[0].after, secret);
	rd_plan_free(plan);
	rd_plan_free(plain);
}

static void diffs_read_as_patch_wants_them(void **state)
{
	static const struct {
		const char *before, *after, *diff;
	} rows[] = {
		{ "a\n", "a\n", "" },
		{ "blacklist amdgpu\n", "# x\n", "--- /f\n+++ /f\n@@ -1 +1 @@\n-blacklist amdgpu\n+# x\n" },
		{ NULL, "a\nb\n", "--- /dev/null\n+++ /f\n@@ -0,0 +1,2 @@\n+a\n+b\n" },
		{ "a\nb\n", NULL, "--- /f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\n6\n7\n8\n",
		  "--- /f\n+++ /f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
		{ "a", "a\n", "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		rd_auto_free char *diff = rd_diff("/f", rows[i].before, rows[i].after);

		assert_string_equal(diff, rows[i].diff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(applying_and_undoing_restores_the_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_transaction_read_back_undoes_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_not_as_planned_is_refused_before_anything_changes, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_file_edited_since_is_not_undone_unless_forced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_value_set_since_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_in_the_way_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_one_at_a_time_changes_the_host, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lowered_again_an_applied_step_has_nothing_to_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_edited_safely_is_refused_while_planning, set_up, tear_down),
		cmocka_unit_test_setup_teardown(on_a_merged_usr_the_real_path_is_planned, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_with_two_names_is_not_parted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folders_are_made_readable_whatever_the_umask_and_removed_by_undo, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_transaction_of_another_root_is_not_undone_here, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_transaction_is_an_error_and_no_crash, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_numbers_in_a_plan_are_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cut_line_of_the_log_says_nothing_and_looking_does_not_mend_it, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(ids_lead_nowhere_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_another_did_before_the_lock_was_had_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(asked_to_end_it_rolls_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(passwords_and_tokens_are_not_shown, set_up, tear_down),
		cmocka_unit_test(diffs_read_as_patch_wants_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
