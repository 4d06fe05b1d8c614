/* Apply, verify, undo: over a tree whose files are real and whose programs are only noted. */

#include <errno.h>
#include <setjmp.h>
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
		cmocka_unit_test_setup_teardown(a_link_in_the_way_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_one_at_a_time_changes_the_host, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lowered_again_an_applied_step_has_nothing_to_do, set_up, tear_down),
		cmocka_unit_test(diffs_read_as_patch_wants_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
