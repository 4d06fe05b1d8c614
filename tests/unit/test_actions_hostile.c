/* Every action there is, with arguments that no honest host has: refused, or harmless and taken back to the last byte. */

#include <errno.h>
#include <glob.h>
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

static const char *const hostile[] = { "$(id)",
	                               "`id`",
	                               "a b; rm -rf /",
	                               "../../etc/passwd",
	                               "/etc/../../x",
	                               "/etc/x/..",
	                               "-rf",
	                               "--help",
	                               "%n%n%s",
	                               "'",
	                               "\"",
	                               "\\",
	                               "a\nb",
	                               "a\rb",
	                               "\x1b[31m",
	                               "\xff\xfe",
	                               "",
	                               "/",
	                               "//",
	                               ".",
	                               "*",
	                               "a\tb",
	                               "{{ x }}",
	                               "#",
	                               "=",
	                               "a=b",
	                               "~root",
	                               "!",
	                               "\xe2\x80\xae" };
/* What stands in for the other arguments. */
static const char *const plain[] = { "amdgpu", "/etc/modprobe.d/gpu.conf", "1", "/opt/x/bin/python3", "0000:03:00.0" };

struct world {
	struct tree tree, state;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	tree_make(&w->tree);
	tree_make(&w->state);
	tree_file(&w->tree, "etc/modprobe.d/gpu.conf", "blacklist amdgpu\noptions amdgpu x=1\ninstall amdgpu /bin/false\n");
	tree_file(&w->tree, "etc/os-release", "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n");
	tree_file(&w->tree, "etc/passwd", "root:x:0:0::/root:/bin/sh\n-rf:x:1:1::/:/bin/sh\n$(id):x:2:2::/:/bin/sh\n");
	tree_file(&w->tree, "etc/group", "render:x:109:\n-rf:x:1:\n$(id):x:2:\n");
	tree_file(&w->tree, "etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet\"\n");
	tree_file(&w->tree, "usr/bin/apt-get", "");
	tree_file(&w->tree, "usr/bin/dpkg", "");
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: amdgpu\nStatus: install ok installed\nVersion: 1\nArchitecture: amd64\n\n");
	tree_file(&w->tree, "proc/version", "Linux\n");
	tree_file(&w->tree, "etc/profile.d/x.sh", "export A=b\n");
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	tree_remove(&w->tree);
	tree_remove(&w->state);
	free(w);
	return 0;
}

static char *picture(const struct world *w)
{
	rd_auto_free char *command = rd_xasprintf("cd %s && find . -type f -printf '%%p %%m %%T@\\n' -exec cat {} \\; -o "
	                                          "-printf '%%p %%y %%m %%l\\n' | sort",
	                                          w->tree.dir);
	FILE *p = popen(command, "re");
	char *text = NULL;
	size_t allocated = 0;

	assert_non_null(p);
	if (getdelim(&text, &allocated, '\0', p) < 0)
		text = rd_xstrdup("");
	pclose(p);
	return text;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t')
			return true;
	return false;
}

/* An option that nobody meant, a path that leads elsewhere, a line that nobody meant. */
static void look_at(const struct rd_action *action, const struct rd_effect *e, const char *value)
{
	if (e->path && rd_arg_check_path(e->path, NULL) < 0)
		fail_msg("%s: path '%s'", action->name, e->path);
	for (size_t i = 0; e->argv && e->argv[i]; i++) {
		bool option = *value == '-' && rd_streq(e->argv[i], value);

		if (option || strchr(e->argv[i], '\n') || has_control(e->argv[i]) ||
		    (!i && *value && rd_streq(e->argv[i], value)))
			fail_msg("%s: argument '%s' of '%s'", action->name, e->argv[i], e->argv[0]);
	}
	if (e->after && has_control(e->after))
		fail_msg("%s: control characters in '%s'", action->name, e->path);
}

static void apply_and_undo(struct world *w, struct rd_step *step, const char *value)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	rd_auto_free char *before = picture(w), *after = NULL;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = step;
	plan->n = plan->allocated = plan->reboot_at = 1;
	if (rd_transaction_begin(w->state.dir, plan, w->sr, &tx, &err) < 0)
		fail_msg("%s '%s': %s", step->action->name, value, err.message);
	if (rd_plan_apply(tx, w->sr, NULL, &err) < 0)
		fail_msg("%s '%s': %s", step->action->name, value, err.message);
	if (rd_transaction_undo(tx, w->sr, false, NULL, &err) < 0 && !strstr(err.message, "cannot be undone"))
		fail_msg("%s '%s': %s", step->action->name, value, err.message);
	rd_error_clear(&err);
	after = picture(w);
	assert_string_equal(before, after);
	rd_transaction_close(tx);
}

static void try_one(struct world *w, const struct rd_action *action, size_t at, const char *value, const char *other,
                    bool *applied)
{
	struct rd_step *step = rd_step_new(action, NULL, w->facts);
	struct rd_error err = RD_ERROR_INIT;
	bool files = false;
	int r;

	for (size_t i = 0; action->args[i]; i++) {
		step->args = rd_xreallocarray(step->args, step->args_n + 1, sizeof(*step->args));
		step->args[step->args_n++] = (struct rd_step_arg){ rd_xstrndup(action->args[i], strcspn(action->args[i], "?")),
			                                           rd_xstrdup(i == at ? value : other) };
	}
	r = rd_step_lower(step, w->sr, &err);
	if (r < 0 && !err.message)
		fail_msg("%s '%s': refused without a reason", action->name, value);
	rd_error_clear(&err);
	for (size_t i = 0; r == 0 && i < step->effects_n; i++) {
		look_at(action, &step->effects[i], value);
		files = files || step->effects[i].path;
	}
	if (r == 0 && files && !*applied) {
		*applied = true;
		apply_and_undo(w, step, value);
	} else {
		rd_step_free(step);
	}
}

static void hostile_arguments_are_refused_or_harmless(void **state)
{
	for (size_t i = 0; i < rd_actions_n; i++)
		for (size_t at = 0; rd_actions[i]->args[at]; at++)
			for (size_t j = 0; j < RD_ARRAY_SIZE(hostile); j++) {
				bool applied = false;

				for (size_t k = 0; k < RD_ARRAY_SIZE(plain); k++)
					try_one(*state, rd_actions[i], at, hostile[j], plain[k], &applied);
			}
}

/* An action that nobody holds against "lowered, applied, lowered again, undone" in the tests of its area is not done. */
static void every_action_is_held_by_the_tests_of_its_area(void **state)
{
	rd_auto_strbuf struct rd_strbuf all = RD_STRBUF_INIT;
	glob_t found;

	(void)state;
	assert_int_equal(glob(RD_SOURCE_DIR "/tests/unit/test_actions_*.c", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "re");
		char buf[4096];
		size_t n;

		assert_non_null(f);
		while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
			rd_strbuf_addn(&all, buf, n);
		fclose(f);
	}
	globfree(&found);
	for (size_t i = 0; i < rd_actions_n; i++) {
		rd_auto_free char *name = rd_xasprintf("\"%s\"", rd_actions[i]->name);

		if (!strstr(all.buf, name))
			fail_msg("%s has no test", rd_actions[i]->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hostile_arguments_are_refused_or_harmless, set_up, tear_down),
		cmocka_unit_test(every_action_is_held_by_the_tests_of_its_area),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
