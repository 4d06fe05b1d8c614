/* Python packages: what the actions make of environments in a small root. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define VENV "/home/u/venv"
#define SITE "home/u/venv/lib/python3.12/site-packages/"
#define INDEX "https://download.pytorch.org/whl/rocm6.4"
#define NEXT "https://stable.repo.amd.com/rocm/whl-next/"
#define UV "/home/u/.local/bin/uv pip "
#define PIP VENV "/bin/python3 -m pip --disable-pip-version-check --no-input "
#define BACK PIP "install --force-reinstall --no-deps --index-url "

struct world {
	struct tree tree;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	tree_make(&w->tree);
	tree_file(&w->tree, "home/u/venv/bin/python3", "");
	tree_file(&w->tree, SITE "pip-24.0.dist-info/METADATA", "");
	tree_file(&w->tree, SITE "torch-2.9.1+cu128.dist-info/METADATA", "");
	tree_file(&w->tree, SITE "numpy-2.1.0.dist-info/METADATA", "");
	tree_file(&w->tree, SITE "triton-3.5.0.dist-info/METADATA", "");
	tree_file(&w->tree, SITE "pytorch_triton_rocm-3.5.1.dist-info/METADATA", "");
	tree_file(&w->tree, "opt/uv/bin/python3", "");
	tree_file(&w->tree, "opt/uv/lib/python3.12/site-packages/", "");
	tree_file(&w->tree, "usr/bin/python3", "");
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
	free(w);
	return 0;
}

static void add_words(struct rd_strbuf *sb, const char *before, char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		rd_strbuf_addf(sb, "%s%s", i ? " " : before, words[i]);
}

/* The effects as text; what is refused as "ERRNO: reason". Caller frees. */
static char *lowered(const struct world *w, const char *action, const char *const *args)
{
	struct rd_step *step = rd_step_new(rd_action_find(action), args, w->facts);
	struct rd_strbuf sb = RD_STRBUF_INIT;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_step_lower(step, w->sr, &err);

	if (r < 0)
		rd_strbuf_addf(&sb, "%s: %s", r == -EINVAL ? "EINVAL" : r == -EOPNOTSUPP ? "EOPNOTSUPP" : "?", err.message);
	for (size_t i = 0; r == 0 && i < step->effects_n; i++) {
		assert_string_equal(step->effects[i].as_owner_of, VENV);
		add_words(&sb, "", step->effects[i].argv);
		add_words(&sb, "\nundo: ", step->effects[i].undo);
		rd_strbuf_addc(&sb, '\n');
	}
	rd_error_clear(&err);
	rd_step_free(step);
	return rd_strbuf_detach(&sb);
}

static void tree_gone(const struct world *w, const char *path)
{
	rd_auto_free char *command = rd_xasprintf("rm -r %s/%s", w->tree.dir, path);

	assert_int_equal(system(command), 0);
}

static void the_requirement_that_was_there_is_the_undo(void **state)
{
	static const struct {
		const char *args[12];
		const char *effects;
	} rows[] = {
		{ { "prefix", VENV, "requirements", "torch==2.9.1+rocm6.4", "index", INDEX, "force", "yes" },
		  PIP "install --force-reinstall --index-url " INDEX " torch==2.9.1+rocm6.4\nundo: " BACK
		      "https://download.pytorch.org/whl/cu128 torch==2.9.1+cu128\n" },
		{ { "prefix", VENV, "requirements", "torch==2.9.1+rocm6.4 torchvision==0.24.1+rocm6.4", "index", INDEX },
		  PIP "install --index-url " INDEX " torch==2.9.1+rocm6.4 torchvision==0.24.1+rocm6.4\nundo: " BACK
		      "https://download.pytorch.org/whl/cu128 torch==2.9.1+cu128\n" },
		{ { "prefix", VENV, "requirements", "torch[device-gfx942]==2.14.0+rocm10.1.0", "index", NEXT },
		  PIP "install --index-url " NEXT " torch[device-gfx942]==2.14.0+rocm10.1.0\nundo: " BACK
		      "https://download.pytorch.org/whl/cu128 torch==2.9.1+cu128\n" },
		{ { "prefix", VENV, "requirements", "vllm==0.31.0+rocm723", "index", "https://pypi.org/simple", "extra-index",
		    "https://wheels.vllm.ai/rocm/0.31.0/rocm723" },
		  PIP
		  "install --index-url https://pypi.org/simple --extra-index-url https://wheels.vllm.ai/rocm/0.31.0/rocm723 "
		  "vllm==0.31.0+rocm723\nundo: " PIP "uninstall -y vllm\n" },
		{ { "prefix", VENV, "requirements", "numpy==1.26.4", "index", "https://pypi.org/simple" },
		  PIP "install --index-url https://pypi.org/simple numpy==1.26.4\nundo: " BACK
		      "https://pypi.org/simple numpy==2.1.0\n" },
		{ { "prefix", VENV, "requirements", "amdsmi==1", "index", "https://pypi.org/simple" },
		  PIP "install --index-url https://pypi.org/simple amdsmi==1\nundo: " PIP "uninstall -y amdsmi\n" },
		{ { "prefix", VENV, "requirements", "Torch==2.9.1+cu128", "index", INDEX }, "" },
		{ { "prefix", VENV, "requirements", "pytorch-triton-rocm==3.5.1", "index", INDEX, "replaces", "triton" },
		  PIP "uninstall -y triton\nundo: " PIP
		      "install --no-deps --index-url https://pypi.org/simple triton==3.5.0\n" PIP "install --index-url " INDEX
		      " pytorch-triton-rocm==3.5.1\nundo: " BACK "https://pypi.org/simple pytorch-triton-rocm==3.5.1\n" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		rd_auto_free char *got = lowered(*state, "pip.install", rows[i].args);

		assert_string_equal(got, rows[i].effects);
	}
}

static void a_build_of_an_unknown_index_has_no_way_back(void **state)
{
	const struct world *w = *state;
	static const char *const args[] = { "prefix", VENV, "requirements", "apex==2", "index", INDEX, NULL };
	rd_auto_free char *got = NULL;

	tree_file(&w->tree, SITE "apex-1.0+rocm6.4.3.gitff65f5bc.dist-info/METADATA", "");
	got = lowered(w, "pip.install", args);
	assert_string_equal(got, PIP "install --index-url " INDEX " apex==2\n");
}

static void environments_that_pip_must_not_change_are_refused(void **state)
{
	static const struct {
		const char *prefix, *reason;
	} rows[] = {
		{ "/usr", "EOPNOTSUPP: the Python in /usr belongs to the distribution" },
		{ "/opt/uv", "EOPNOTSUPP: there is no pip in /opt/uv" },
		{ "/nowhere", "EOPNOTSUPP: there is no /nowhere/bin/python3" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		const char *const args[] = { "prefix", rows[i].prefix, "requirements", "torch==1", "index", INDEX, NULL };
		rd_auto_free char *got = lowered(*state, "pip.install", args);

		assert_true(rd_str_has_prefix(got, rows[i].reason));
		assert_true(rd_str_has_suffix(got, "What to install: --index-url " INDEX " torch==1"));
	}
}

static void words_that_pip_would_take_for_more_are_refused(void **state)
{
	static const char *const requirements[] = {
		"--extra-index-url=x", "-e.",    "torch>=2", "../x",  "torch==$(reboot)", "torch @ file:///x", "torch==1;x",
		"torch==1/../2",       "/x.whl", "",         "torch", "torch[a",          "torch[]==1",        "torch[a b]==1",
		"torch[$(x)]==1",      "[a]==1"
	};
	static const char *const indexes[] = { "http://x",    "ftp://x",        "--trusted-host",
		                               "https://x y", "https://user@x", "file:x" };
	static const char *const prefixes[] = { "venv", "/home/u/../v", "/home/*/venv" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(requirements); i++) {
		const char *const args[] = { "prefix", VENV, "requirements", requirements[i], "index", INDEX, NULL };
		rd_auto_free char *got = lowered(*state, "pip.install", args);

		assert_true(rd_str_has_prefix(got, "EINVAL"));
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(indexes); i++) {
		const char *const args[] = { "prefix", VENV, "requirements", "torch==1", "index", indexes[i], NULL };
		rd_auto_free char *got = lowered(*state, "pip.install", args);

		assert_true(rd_str_has_prefix(got, "EINVAL"));
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(prefixes); i++) {
		const char *const args[] = { "prefix", prefixes[i], "requirements", "torch==1", "index", INDEX, NULL };
		rd_auto_free char *got = lowered(*state, "pip.install", args);

		assert_true(rd_str_has_prefix(got, "EINVAL"));
	}
}

/* A part that is a package of its own is there when that package is. */
static void an_extra_that_is_not_there_is_put_in(void **state)
{
	const struct world *w = *state;
	static const char *const args[] = { "prefix", VENV, "requirements", "rocm[libraries,device-gfx942]==10.1.0", "index",
		                            NEXT,     NULL };
	static const char effects[] = PIP "install --index-url " NEXT " rocm[libraries,device-gfx942]==10.1.0\nundo: ";
	rd_auto_free char *without = NULL, *other = NULL, *done = NULL;

	tree_file(&w->tree, SITE "rocm-10.1.0.dist-info/METADATA", "");
	tree_file(&w->tree, SITE "rocm_sdk_libraries-10.1.0.dist-info/METADATA", "");
	without = lowered(w, "pip.install", args);
	assert_true(rd_str_has_prefix(without, effects));
	tree_file(&w->tree, SITE "rocm_sdk_device_gfx942-10.0.0.dist-info/METADATA", "");
	other = lowered(w, "pip.install", args);
	assert_true(rd_str_has_prefix(other, effects));
	tree_file(&w->tree, SITE "rocm_sdk_device_gfx942-10.1.0.dist-info/METADATA", "");
	tree_gone(w, SITE "rocm_sdk_device_gfx942-10.0.0.dist-info");
	done = lowered(w, "pip.install", args);
	assert_string_equal(done, "");
}

/* Only one that belongs to the environment's owner, or to root: it is run in the owner's name. */
static void an_environment_without_pip_is_changed_by_uv(void **state)
{
	const struct world *w = *state;
	static const char *const args[] = { "prefix", VENV, "requirements", "torch==2.9.1+rocm6.4", "index", INDEX, NULL };
	static const char *const gone[] = { "prefix", VENV, "package", "triton", NULL };
	rd_auto_free char *uv = rd_xasprintf("%s/home/u/.local/bin/uv", w->tree.dir);
	rd_auto_free char *none = NULL, *install = NULL, *uninstall = NULL, *closed = NULL;

	tree_gone(w, SITE "pip-24.0.dist-info");
	tree_file(&w->tree, "home/u/.local/bin/uv", "");
	assert_int_equal(chmod(uv, 0755), 0);
	install = lowered(w, "pip.install", args);
	assert_string_equal(install, UV "install --python " VENV "/bin/python3 --index-url " INDEX
	                                " torch==2.9.1+rocm6.4\nundo: " UV "install --python " VENV "/bin/python3 "
	                                "--force-reinstall --no-deps --index-url https://download.pytorch.org/whl/cu128 "
	                                "torch==2.9.1+cu128\n");
	uninstall = lowered(w, "pip.uninstall", gone);
	assert_true(rd_str_has_prefix(uninstall, UV "uninstall --python " VENV "/bin/python3 triton\nundo: "));
	assert_int_equal(chmod(uv, 0644), 0);
	closed = lowered(w, "pip.install", args);
	assert_true(rd_str_has_prefix(closed, "EOPNOTSUPP: there is no pip in " VENV " and no uv"));
	if (geteuid() != 0)
		return;
	assert_int_equal(chmod(uv, 0755), 0);
	assert_int_equal(chown(uv, 1000, 1000), 0);
	none = lowered(w, "pip.install", args);
	assert_true(rd_str_has_prefix(none, "EOPNOTSUPP: there is no pip in " VENV " and no uv"));
}

static void a_package_is_taken_out_and_comes_back_from_its_index(void **state)
{
	static const char *const args[] = { "prefix", VENV, "package", "torch", NULL };
	static const char *const other[] = { "prefix", VENV, "package", "vllm", NULL };
	static const char *const pinned[] = { "prefix", VENV, "package", "torch==1", NULL };
	rd_auto_free char *got = lowered(*state, "pip.uninstall", args), *none = lowered(*state, "pip.uninstall", other);
	rd_auto_free char *refused = lowered(*state, "pip.uninstall", pinned);

	assert_string_equal(got,
	                    PIP "uninstall -y torch\nundo: " PIP
	                        "install --no-deps --index-url https://download.pytorch.org/whl/cu128 torch==2.9.1+cu128\n");
	assert_string_equal(none, "");
	assert_true(rd_str_has_prefix(refused, "EINVAL"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_requirement_that_was_there_is_the_undo),
		TEST(a_build_of_an_unknown_index_has_no_way_back),
		TEST(environments_that_pip_must_not_change_are_refused),
		TEST(words_that_pip_would_take_for_more_are_refused),
		TEST(an_extra_that_is_not_there_is_put_in),
		TEST(an_environment_without_pip_is_changed_by_uv),
		TEST(a_package_is_taken_out_and_comes_back_from_its_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
