/* What a package manager brings along: taken off on undo, but for what something else needs by then. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define STATUS "var/lib/dpkg/status"
#define PACKAGE(name, rest) "Package: " name "\nStatus: install ok installed\nVersion: 1\n" rest "\n"
#define LIBC PACKAGE("libc6", "")
#define ROCMINFO PACKAGE("rocminfo", "Depends: libelf1, libdrm-amdgpu1 | libdrm\n")
#define LIBELF PACKAGE("libelf1", "Depends: zlib1g (>= 1)\n")
#define ZLIB PACKAGE("zlib1g", "")
#define LIBDRM PACKAGE("libdrm-amdgpu1", "Provides: libdrm (= 1), drm-abi\n")

/* Since then. */
#define NEEDS_LIBELF PACKAGE("gdb", "Depends: libc6, libelf1 (>= 0.1)\n")
#define NEEDS_PROVIDED PACKAGE("mesa", "Pre-Depends: x | drm-abi\n")
#define CAME_LATER PACKAGE("vim", "")

struct world {
	struct rd_tx_listener listener; /* the first, so that it is found from what applying tells */
	struct tree tree, state;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
	struct rd_strbuf said; /* commands and notes, a line each */
	char *id;
};

/* apt, as far as the states of its packages go. */
static void play(struct rd_tx_listener *self, const char *line)
{
	struct world *w = (struct world *)self;
	const char *last = strrchr(line, ' ');

	if (*line != '$')
		return;
	rd_strbuf_addf(&w->said, "%s\n", strstr(line, " remove ") ? strstr(line, "force-confold") + 14 : "install");
	if (strstr(line, " install "))
		tree_file(&w->tree, STATUS, LIBC ROCMINFO LIBELF ZLIB LIBDRM);
	else if (rd_streq(last, " rocminfo"))
		tree_file(&w->tree, STATUS, LIBC LIBELF ZLIB LIBDRM);
}

static void note(struct rd_tx_listener *self, const char *words)
{
	rd_strbuf_addf(&((struct world *)self)->said, "note: %s\n", words);
}

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct rd_transaction *tx = NULL;
	static const char *const args[] = { "packages", "rocminfo", "version", "1", NULL };

	*w = (struct world){ .listener = { .output = play, .note = note }, .said = RD_STRBUF_INIT };
	tree_make_fast(&w->tree);
	tree_make_fast(&w->state);
	tree_file(&w->tree, STATUS, LIBC);
	tree_file(&w->tree, "proc/version", "Linux\n");
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = rd_step_new(rd_action_find("package.install"), args, w->facts);
	plan->n = plan->allocated = plan->reboot_at = 1;
	assert_int_equal(rd_step_lower(plan->steps[0], w->sr, NULL), 0);
	assert_int_equal(rd_transaction_begin(w->state.dir, plan, w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, &w->listener, NULL), 0);
	w->id = rd_xstrdup(rd_transaction_id(tx));
	rd_transaction_close(tx);
	assert_string_equal(w->said.buf, "install\n");
	rd_strbuf_truncate(&w->said, 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	rd_strbuf_release(&w->said);
	tree_remove(&w->tree);
	tree_remove(&w->state);
	free(w->id);
	free(w);
	return 0;
}

static void expect_undo(struct world *w, const char *said)
{
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	assert_int_equal(rd_transaction_open(w->state.dir, w->id, &tx, &err), 0);
	if (rd_transaction_undo(tx, w->sr, false, &w->listener, &err) < 0)
		fail_msg("%s", err.message);
	rd_transaction_close(tx);
	assert_string_equal(w->said.buf, said);
}

static void what_came_with_it_goes_with_it(void **state)
{
	expect_undo(*state, "rocminfo\nlibelf1 zlib1g libdrm-amdgpu1\n");
}

static void play_with_more(struct rd_tx_listener *self, const char *line)
{
	struct world *w = (struct world *)self;

	play(self, line);
	if (rd_str_has_suffix(line, " rocminfo"))
		tree_file(&w->tree, STATUS, LIBC LIBELF ZLIB LIBDRM NEEDS_LIBELF CAME_LATER);
}

static void what_something_else_needs_stays_with_what_that_needs(void **state)
{
	struct world *w = *state;

	w->listener.output = play_with_more;
	expect_undo(w, "rocminfo\nlibdrm-amdgpu1\n"
	               "note: libelf1, zlib1g came with it and stay: something else needs them by now\n");
}

static void play_with_provided(struct rd_tx_listener *self, const char *line)
{
	struct world *w = (struct world *)self;

	play(self, line);
	if (rd_str_has_suffix(line, " rocminfo"))
		tree_file(&w->tree, STATUS, LIBC LIBDRM NEEDS_PROVIDED);
}

static void a_name_that_it_provides_is_a_need_and_what_is_gone_is_not_asked_for(void **state)
{
	struct world *w = *state;

	w->listener.output = play_with_provided;
	expect_undo(w, "rocminfo\nnote: libdrm-amdgpu1 came with it and stays: something else needs it by now\n");
}

/* Killed before it could take note, the list from before tells. */
static void what_a_killed_run_brought_is_found(void **state)
{
	struct world *w = *state;
	rd_auto_free char *log = rd_xasprintf("%s/log", w->id);

	tree_file(&w->state, log, "begun 0\n");
	expect_undo(w, "rocminfo\nlibelf1 zlib1g libdrm-amdgpu1\n");
}

static void without_a_list_from_before_nothing_more_is_taken(void **state)
{
	struct world *w = *state;
	rd_auto_free char *log = rd_xasprintf("%s/log", w->id), *had = rd_xasprintf("%s/%s/had-0", w->state.dir, w->id);

	tree_file(&w->state, log, "begun 0\n");
	assert_int_equal(unlink(had), 0);
	expect_undo(w, "rocminfo\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_came_with_it_goes_with_it),
		TEST(what_something_else_needs_stays_with_what_that_needs),
		TEST(a_name_that_it_provides_is_a_need_and_what_is_gone_is_not_asked_for),
		TEST(what_a_killed_run_brought_is_found),
		TEST(without_a_list_from_before_nothing_more_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
