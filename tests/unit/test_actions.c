/*
 * Every action there is, over the samples of tests/fixtures/actions: lowered it has the effects that are written there; applied,
 * the tree is what they say and nothing else; lowered again there is nothing left to do; undone, the tree is as it was.
 *
 * A sample's "programs" are what its programs leave behind, path by path (null: removed), since on a tree none is run. Odd values
 * must not come into any effect, but for arguments that are "free" or "paths", which take what is harmless everywhere, and what "takes" names.
 */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "picture.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define FIXTURES RD_SOURCE_DIR "/tests/fixtures/"
#define MANIFEST \
	"{ \"schema\": \"rocm-doctor/snapshot/1\", \"uname\": { \"release\": \"6.8.0-60-generic\", \"version\": \"#1\", " \
	"\"machine\": \"x86_64\" }, \"environment\": {}, \"nodes\": {} }"

struct sample {
	const struct rd_action *action;
	const cJSON *json;
	size_t number;
};

struct world {
	struct rd_tx_listener listener; /* the first, so that it is found from what applying tells */
	const struct sample *sample;
	struct tree tree, state;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static cJSON *read_json(const char *path)
{
	FILE *f = fopen(path, "re");
	rd_auto_free char *text = NULL;
	size_t allocated = 0;
	cJSON *json;

	if (!f || getdelim(&text, &allocated, '\0', f) < 0)
		fail_msg("cannot read %s", path);
	fclose(f);
	json = cJSON_Parse(text);
	if (!json)
		fail_msg("%s is no JSON: %.40s", path, cJSON_GetErrorPtr());
	return json;
}

static const cJSON *get(const cJSON *json, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(json, key);
}

/* Trees */

/* A program that takes a file away takes its empty folders with it. */
static void take_away(const struct tree *tree, const char *path)
{
	rd_auto_free char *full = rd_xasprintf("%s/%s", tree->dir, path);

	unlink(full);
	for (char *slash; (slash = strrchr(full, '/')) && (size_t)(slash - full) > strlen(tree->dir);) {
		*slash = '\0';
		if (rmdir(full) < 0)
			return;
	}
}

static void copy_fixture(const struct tree *tree, const char *path, const char *name)
{
	rd_auto_free char *from = rd_xasprintf(FIXTURES "%s", name);
	FILE *f = fopen(from, "re");
	char buf[65536];

	assert_non_null(f);
	tree_bytes(tree, path, buf, fread(buf, 1, sizeof(buf), f));
	fclose(f);
}

static void plant_file(const struct tree *tree, const char *path, const char *text)
{
	rd_auto_free char *full = rd_xasprintf("%s/%s", tree->dir, path);

	if (rd_str_has_prefix(text, "->")) {
		unlink(full);
		tree_link(tree, path, text + 2);
	} else {
		tree_file(tree, path, text);
	}
}

static void plant_one(const struct tree *tree, const cJSON *file)
{
	if (cJSON_IsNull(file))
		take_away(tree, file->string);
	else if (cJSON_IsObject(file))
		copy_fixture(tree, file->string, cJSON_GetStringValue(get(file, "copy")));
	else
		plant_file(tree, file->string, cJSON_GetStringValue(file));
}

static void plant(const struct tree *tree, const cJSON *files)
{
	const cJSON *file;

	cJSON_ArrayForEach (file, files) {
		plant_one(tree, file);
	}
}

static bool is_of_a_program(const struct sample *s, const char *path)
{
	const cJSON *program;

	cJSON_ArrayForEach (program, get(s->json, "programs")) {
		if (get(program, path))
			return true;
	}
	return false;
}

/* What an action edits has a mode that no new file has, so that keeping it shows. */
static void plant_sample(const struct tree *tree, const struct sample *s)
{
	const cJSON *file;

	tree_file(tree, "rocm-doctor-snapshot.json", MANIFEST);
	tree_file(tree, "sys/module/drm/refcnt", "1\n");
	tree_file(tree, "proc/version", "Linux\n");
	plant(tree, get(s->json, "tree"));
	cJSON_ArrayForEach (file, get(s->json, "tree")) {
		rd_auto_free char *full = rd_xasprintf("%s/%s", tree->dir, file->string);
		struct stat st;

		if (!is_of_a_program(s, file->string) && lstat(full, &st) == 0 && S_ISREG(st.st_mode))
			assert_int_equal(chmod(full, 0640), 0);
	}
}

static char *picture(const struct tree *tree)
{
	return tree_picture(tree->dir, false);
}

/* "$ COMMAND", which on a tree is only told of. */
static void play(struct rd_tx_listener *self, const char *line)
{
	struct world *w = (struct world *)self;

	if (rd_str_has_prefix(line, "$ "))
		plant(&w->tree, get(get(w->sample->json, "programs"), line + 2));
}

static void open_world(struct world *w, const struct sample *s)
{
	const cJSON *fact;

	*w = (struct world){ .listener = { .output = play }, .sample = s };
	tree_make_fast(&w->tree);
	tree_make_fast(&w->state);
	plant_sample(&w->tree, s);
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	cJSON_ArrayForEach (fact, get(s->json, "facts")) {
		rd_fact_set_str(w->facts, fact->string, cJSON_GetStringValue(fact), "test");
	}
}

static void close_world(struct world *w)
{
	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	tree_remove(&w->tree);
	tree_remove(&w->state);
}

/* Steps */

static struct rd_step *step_of(const struct world *w, const char *odd_name, const char *odd)
{
	const char *words[32] = { NULL };
	const cJSON *arg;
	size_t n = 0;

	cJSON_ArrayForEach (arg, get(w->sample->json, "args")) {
		if (odd_name && rd_streq(arg->string, odd_name))
			continue;
		words[n++] = arg->string;
		words[n++] = cJSON_GetStringValue(arg);
	}
	if (odd_name) {
		words[n++] = odd_name;
		words[n++] = odd;
	}
	return rd_step_new(w->sample->action, words, w->facts);
}

/* Takes the step. */
static struct rd_plan *plan_of(struct rd_step *step)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = step;
	plan->n = plan->allocated = plan->reboot_at = 1;
	return plan;
}

static void add_command(struct rd_strbuf *sb, const char *mark, char *const argv[])
{
	rd_strbuf_add(sb, mark);
	for (size_t i = 0; argv[i]; i++)
		rd_strbuf_addf(sb, " %s", argv[i]);
}

/* The lines that a diff changes. */
static void add_changes(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_free char *diff = rd_diff(e->path, e->before, e->after);
	char *rest = diff, *line;

	rd_strbuf_addf(sb, "%s%s\n", e->path, e->after ? "" : " removed");
	while (e->after && (line = rd_str_next_line(&rest)))
		if ((*line == '+' || *line == '-' || *line == '\\') && !rd_str_has_prefix(line, "---") &&
		    !rd_str_has_prefix(line, "+++"))
			rd_strbuf_addf(sb, "%s\n", line);
}

static void add_effect(struct rd_strbuf *sb, const struct rd_effect *e)
{
	if (e->kind == RD_EFFECT_WRITE) {
		add_changes(sb, e);
		return;
	}
	if (e->path)
		rd_strbuf_addf(sb, "%s %s%s", e->path, e->kind == RD_EFFECT_LINK ? "-> " : "= ", e->after ? e->after : "none");
	else
		add_command(sb, e->kind == RD_EFFECT_RUN ? "$" : "*", e->argv);
	if (e->as_owner_of)
		rd_strbuf_addf(sb, " (as the owner of %s)", e->as_owner_of);
	rd_strbuf_addc(sb, '\n');
	if (e->undo) {
		add_command(sb, "<", e->undo);
		rd_strbuf_addc(sb, '\n');
	}
}

static char *effects_of(const struct rd_step *step)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < step->effects_n; i++)
		add_effect(&sb, &step->effects[i]);
	return rd_strbuf_detach(&sb);
}

static char *wanted_effects(const struct sample *s)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	const cJSON *line;

	cJSON_ArrayForEach (line, get(s->json, "effects")) {
		rd_strbuf_addf(&sb, "%s\n", cJSON_GetStringValue(line));
	}
	return rd_strbuf_detach(&sb);
}

static unsigned wanted_flags(const struct sample *s)
{
	unsigned flags = s->action->flags;
	const cJSON *need;

	cJSON_ArrayForEach (need, get(s->json, "needs")) {
		flags |= rd_streq(need->valuestring, "reboot") ? RD_ACTION_REBOOT : RD_ACTION_LOGIN;
	}
	return flags;
}

static void expect_text(const struct sample *s, const char *what, const char *got, const char *wanted)
{
	if (!rd_streq(got, wanted))
		fail_msg("%s, sample %zu, %s:\n%s\n-- wanted:\n%s", s->action->name, s->number, what, got, wanted);
}

/* The tree that the effects of a plan make of the sample's, by hand. */
static char *picture_after(const struct sample *s, const struct rd_step *step)
{
	struct tree tree;
	char *text;

	tree_make_fast(&tree);
	plant_sample(&tree, s);
	for (size_t i = 0; i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];
		rd_auto_strbuf struct rd_strbuf command = RD_STRBUF_INIT;
		rd_auto_free char *link = rd_xasprintf("->%s", e->after ? e->after : "");
		rd_auto_free char *line = rd_xasprintf("%s\n", e->after ? e->after : "");

		if (e->path && !e->after) {
			rd_auto_free char *full = rd_xasprintf("%s%s", tree.dir, e->path);

			assert_int_equal(unlink(full), 0);
		} else if (e->path) {
			plant_file(&tree, e->path + 1,
			           e->kind == RD_EFFECT_LINK    ? link
			           : e->kind == RD_EFFECT_VALUE ? line
			                                        : e->after);
		} else {
			add_command(&command, "$", e->argv);
			plant(&tree, get(get(s->json, "programs"), command.buf + 2));
		}
	}
	text = picture(&tree);
	tree_remove(&tree);
	return text;
}

/* Nothing is left but what makes effective, of which nothing shows whether it ran. */
static void expect_done(struct world *w)
{
	struct rd_step *again = step_of(w, NULL, NULL);
	struct rd_error err = RD_ERROR_INIT;

	if (rd_step_lower(again, w->sr, &err) < 0)
		fail_msg("%s, sample %zu, lowered again: %s", w->sample->action->name, w->sample->number, err.message);
	for (size_t i = 0; i < again->effects_n; i++) {
		rd_auto_free char *left = effects_of(again);

		if (again->effects[i].kind != RD_EFFECT_REFRESH)
			expect_text(w->sample, "lowered again", left, "");
	}
	rd_step_free(again);
}

static void undo(struct world *w, struct rd_transaction *tx, const char *before)
{
	bool for_good = cJSON_IsTrue(get(w->sample->json, "irreversible"));
	rd_auto_free char *now = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_undo(tx, w->sr, false, &w->listener, &err);

	if (r != (for_good ? -ENOTRECOVERABLE : 0))
		fail_msg("%s, sample %zu, undo: %s", w->sample->action->name, w->sample->number, err.message);
	assert_int_equal(rd_transaction_state(tx), for_good ? RD_TX_PARTLY : RD_TX_UNDONE);
	rd_error_clear(&err);
	now = picture(&w->tree);
	if (!for_good)
		expect_text(w->sample, "undone", now, before);
}

static void hold(struct world *w, struct rd_step *step)
{
	const struct sample *s = w->sample;
	rd_auto_free char *before = picture(&w->tree), *effects = effects_of(step), *wanted = wanted_effects(s);
	rd_auto_free char *after = picture_after(s, step), *now = NULL;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	expect_text(s, "effects", effects, wanted);
	assert_int_equal(step->flags, wanted_flags(s));
	assert_int_equal(rd_transaction_begin(w->state.dir, plan_of(step), w->sr, &tx, &err), 0);
	if (rd_plan_apply(tx, w->sr, &w->listener, &err) < 0)
		fail_msg("%s, sample %zu: %s", s->action->name, s->number, err.message);
	now = picture(&w->tree);
	expect_text(s, "applied", now, after);
	expect_done(w);
	undo(w, tx, before);
	rd_transaction_close(tx);
}

static void expect_refusal(const struct sample *s, int r, const struct rd_error *err)
{
	const char *wanted = cJSON_GetStringValue(get(s->json, "refused")), *name = cJSON_GetStringValue(get(s->json, "error"));

	if (r != -rd_errno_value(name) || !err->message || !strstr(err->message, wanted))
		fail_msg("%s, sample %zu: %s (%s)", s->action->name, s->number, r ? err->message : "not refused",
		         rd_strerror(r));
}

static void judge(const struct sample *s)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_step *step;
	struct world w;
	int r;

	open_world(&w, s);
	step = step_of(&w, NULL, NULL);
	r = rd_step_lower(step, w.sr, &err);
	if (r < 0 && strstr(err.message, "sqlite")) {
		print_message("%s, sample %zu: not without libsqlite3\n", s->action->name, s->number);
		rd_step_free(step);
	} else if (get(s->json, "refused")) {
		expect_refusal(s, r, &err);
		rd_step_free(step);
	} else {
		if (r < 0)
			fail_msg("%s, sample %zu: %s", s->action->name, s->number, err.message);
		hold(&w, step);
	}
	rd_error_clear(&err);
	close_world(&w);
}

static cJSON *samples_of(const struct rd_action *action)
{
	rd_auto_free char *path = rd_xasprintf(FIXTURES "actions/%s.json", action->name);
	cJSON *json;

	if (access(path, F_OK) < 0)
		fail_msg("%s has no samples: %s", action->name, path);
	json = read_json(path);
	if (!cJSON_GetArraySize(get(json, "samples")))
		fail_msg("%s has no samples", action->name);
	return json;
}

static void every_action_does_what_it_says_once_and_is_undone(void **state)
{
	(void)state;
	for (size_t i = 0; i < rd_actions_n; i++) {
		cJSON *json = samples_of(rd_actions[i]);
		struct sample s = { .action = rd_actions[i] };
		bool any = false;

		cJSON_ArrayForEach (s.json, get(json, "samples")) {
			judge(&s);
			any = any || cJSON_GetArraySize(get(s.json, "effects"));
			s.number++;
		}
		if (!any)
			fail_msg("%s has no sample that changes something", s.action->name);
		cJSON_Delete(json);
	}
}

static void every_sample_is_of_an_action(void **state)
{
	DIR *d = opendir(FIXTURES "actions");
	const struct dirent *entry;

	(void)state;
	assert_non_null(d);
	while ((entry = readdir(d))) {
		rd_auto_free char *name = rd_xstrdup(entry->d_name);

		if (!rd_str_has_suffix(name, ".json"))
			continue;
		name[strlen(name) - strlen(".json")] = '\0';
		if (!rd_action_find(name))
			fail_msg("there is no action '%s'", name);
	}
	closedir(d);
}

/* Values that no honest host has */

#define MARK "zq"

static const char *const odd_values[] = {
	"$(zq)",
	"`zq`",
	"${zq}",
	"zq;zq",
	"zq|zq",
	"zq&&zq",
	"zq>zq",
	"zq zq",
	"zq\nzq",
	"zq\rzq",
	"zq\tzq",
	"'zq",
	"\"zq",
	"zq\\",
	"zq\\0",
	"zq%00",
	"zq\xc0\x80",
	"\xff\xfezq",
	"\xe2\x80\xaezq",
	"\x1b[31mzq",
	"zq\x7f",
	"%zq",
	"%s%nzq",
	"{{ zq }}",
	"#zq",
	"=zq",
	"zq=zq",
	"-zq",
	"--zq=1",
	"~zq",
	"!zq",
	"*zq*",
	"zq?",
	"[zq]",
	"@zq",
	":zq:",
	",zq,",
	"../zq",
	"zq/../../x",
	"/etc/../zq",
	"/zq/..",
	"/zq",
	"//zq",
	"/./zq",
	"",
	/* Ones without the mark: only not to stumble over. */
	"/",
	"//",
	".",
	"..",
	"*",
	"-",
	"\\",
	"%",
};

static bool has_mark(const char *text)
{
	return text && strstr(text, MARK);
}

static bool any_has_mark(char *const argv[])
{
	for (size_t i = 0; argv && argv[i]; i++)
		if (has_mark(argv[i]))
			return true;
	return false;
}

/* Does anything that would be done come from the odd value? */
static bool reaches_an_effect(const struct rd_step *step)
{
	for (size_t i = 0; i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];

		if (has_mark(e->path) || has_mark(e->after) || any_has_mark(e->argv) || any_has_mark(e->undo) ||
		    has_mark(e->as_owner_of))
			return true;
	}
	return false;
}

/* An argument of @json's "free" may be any text that means the same wherever it stands, one of "paths" any path. */
static bool may_take(const cJSON *json, const char *arg, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789%,./:=@_+-";
	const cJSON *one;

	cJSON_ArrayForEach (one, get(get(json, "takes"), arg)) {
		if (rd_streq(one->valuestring, value))
			return true;
	}
	cJSON_ArrayForEach (one, get(json, "free")) {
		if (rd_streq(one->valuestring, arg))
			return *value != '-' && strlen(value) < 5000 && !value[strspn(value, plain)];
	}
	cJSON_ArrayForEach (one, get(json, "paths")) {
		if (rd_streq(one->valuestring, arg))
			return *value == '/' && !strstr(value, "..") && strlen(value) < 5000 && !value[strspn(value, plain)];
	}
	return false;
}

/* What is taken has to be harmless: one word where it stands, and undone to the last byte. */
static void apply_and_undo(struct world *w, struct rd_step *step)
{
	rd_auto_free char *before = picture(&w->tree), *now = NULL;
	struct rd_transaction *tx = NULL;

	assert_int_equal(rd_transaction_begin(w->state.dir, plan_of(step), w->sr, &tx, NULL), 0);
	assert_int_equal(rd_plan_apply(tx, w->sr, NULL, NULL), 0);
	/* Programs are only noted, so those that have no undo leave nothing here either. */
	if (rd_transaction_undo(tx, w->sr, false, NULL, NULL) < 0)
		assert_int_equal(rd_transaction_state(tx), RD_TX_PARTLY);
	rd_transaction_close(tx);
	now = picture(&w->tree);
	expect_text(w->sample, "undone with an odd value", now, before);
}

static size_t try_odd(struct world *w, const cJSON *json, const char *arg, const char *value)
{
	struct rd_step *step = step_of(w, arg, value);
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_step_lower(step, w->sr, &err);
	bool taken = r == 0 && reaches_an_effect(step);

	if (r < 0 && !err.message)
		fail_msg("%s, %s '%s': refused without a reason", w->sample->action->name, arg, value);
	if (taken && !may_take(json, arg, value)) {
		rd_auto_free char *effects = effects_of(step);

		fail_msg("%s takes '%s' for %s:\n%s", w->sample->action->name, value, arg, effects);
	}
	rd_error_clear(&err);
	if (taken)
		apply_and_undo(w, step);
	else
		rd_step_free(step);
	return taken;
}

static void try_odd_values(struct world *w, const cJSON *json)
{
	rd_auto_free char *before = picture(&w->tree), *now = NULL, *long_one = rd_xmalloc(20000);
	const char *const *args = w->sample->action->args;

	memset(long_one, 'x', 19999);
	memcpy(long_one, MARK, strlen(MARK));
	long_one[19999] = '\0';
	for (; *args; args++) {
		rd_auto_free char *name = rd_xstrndup(*args, strcspn(*args, "?"));

		for (size_t i = 0; i < RD_ARRAY_SIZE(odd_values); i++)
			try_odd(w, json, name, odd_values[i]);
		try_odd(w, json, name, long_one);
	}
	now = picture(&w->tree);
	expect_text(w->sample, "after odd values", now, before);
}

static void odd_values_are_refused_or_come_nowhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < rd_actions_n; i++) {
		cJSON *json = samples_of(rd_actions[i]);
		struct sample s = { .action = rd_actions[i] };

		cJSON_ArrayForEach (s.json, get(json, "samples")) {
			struct world w;

			if (cJSON_GetArraySize(get(s.json, "effects"))) {
				open_world(&w, &s);
				try_odd_values(&w, json);
				close_world(&w);
			}
			s.number++;
		}
		cJSON_Delete(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_action_does_what_it_says_once_and_is_undone),
		cmocka_unit_test(every_sample_is_of_an_action),
		cmocka_unit_test(odd_values_are_refused_or_come_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
