/*
 * The commands that put AMD's key into a keyring, with gpg itself: a key made here stands in for AMD's, a copy for the
 * download. What comes is let in where its fingerprint is the one that is expected, and never else.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define KEYRINGS "/etc/apt/keyrings"

struct world {
	struct tree tree;
	struct rd_sysroot *sr;
	char fingerprint[64]; /* of the key that is to be had */
};

/* A shell, for the test alone. */
static int shell(const char *format, ...) RD_PRINTF(1, 2);

static int shell(const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	return system(sb.buf);
}

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));
	rd_auto_free char *list = NULL;
	FILE *p;

	tree_make(&w->tree);
	tree_file(&w->tree, "usr/bin/gpg", "");
	tree_file(&w->tree, "home/", "");
	*state = w;
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	if (shell("command -v gpg > /dev/null && chmod 700 %s/home && gpg --homedir %s/home --batch --no-autostart --version "
	          "> /dev/null && gpg --homedir %s/home --batch --quiet --passphrase '' --quick-generate-key "
	          "'A B <a@example>' ed25519 sign never 2> /dev/null && gpg --homedir %s/home --batch --armor --export > "
	          "%s/key",
	          w->tree.dir, w->tree.dir, w->tree.dir, w->tree.dir, w->tree.dir) != 0)
		return 0;
	list = rd_xasprintf("gpg --homedir %s/home --batch --with-colons --list-keys | grep -m1 ^fpr | cut -d: -f10",
	                    w->tree.dir);
	p = popen(list, "re");
	if (fscanf(p, "%63s", w->fingerprint) != 1)
		w->fingerprint[0] = '\0';
	pclose(p);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	shell("gpgconf --homedir %s/home --kill all > /dev/null 2>&1", w->tree.dir);
	rd_sysroot_free(w->sr);
	tree_remove(&w->tree);
	free(w);
	return 0;
}

/* Below the tree, with the expected fingerprint, and without the network. */
static char *moved(const struct world *w, const char *word, const char *fingerprint)
{
	if (rd_str_has_prefix(word, KEYRINGS))
		return rd_xasprintf("%s%s", w->tree.dir, word);
	return rd_xstrdup(strlen(word) == 40 ? fingerprint : word);
}

/* Every command in turn, up to the first that fails. Returns how it ended. */
static int run_all(const struct world *w, const struct rd_step *step, const char *fingerprint)
{
	int status = 0;

	for (size_t i = 0; i < step->effects_n && status == 0; i++) {
		rd_auto_strbuf struct rd_strbuf line = RD_STRBUF_INIT;
		char **argv = step->effects[i].argv;

		if (rd_str_has_suffix(argv[0], "/apt-helper")) {
			rd_strbuf_addf(&line, "cp %s/key %s%s", w->tree.dir, w->tree.dir, argv[3]);
		} else {
			for (size_t k = 0; argv[k]; k++) {
				rd_auto_free char *word = moved(w, argv[k], fingerprint);

				rd_strbuf_addf(&line, "%s'%s'", k ? " " : "", word);
			}
		}
		rd_strbuf_add(&line, " 2> /dev/null");
		status = system(line.buf);
	}
	return status;
}

static void check(const struct world *w, const char *fingerprint, bool wanted)
{
	static const char *const args[] = { "keyring", KEYRINGS "/rocm.gpg", "uri", "https://repo.radeon.com/rocm/apt/6.4.3",
		                            NULL };
	rd_auto_free char *keyring = rd_xasprintf("%s" KEYRINGS "/rocm.gpg", w->tree.dir);
	struct rd_fact *facts = rd_facts_new();
	struct rd_step *step = rd_step_new(rd_action_find("package.key"), args, facts);
	struct stat st;
	int status;

	shell("mkdir -p %s/etc/apt", w->tree.dir);
	assert_int_equal(rd_step_lower(step, w->sr, NULL), 0);
	assert_true(step->effects_n > 4);
	status = run_all(w, step, fingerprint);
	assert_int_equal(status == 0, wanted);
	assert_int_equal(stat(keyring, &st) == 0 && st.st_size > 0, wanted);
	if (wanted) {
		assert_int_equal(st.st_mode & 0777, 0644);
		assert_int_equal(shell("gpg --homedir %s/home --batch --show-keys --with-colons %s 2> /dev/null | grep -q %s",
		                       w->tree.dir, keyring, fingerprint),
		                 0);
		assert_int_not_equal(shell("test -e %s" KEYRINGS "/.rocm-doctor", w->tree.dir), 0);
	}
	rd_step_free(step);
	rd_fact_free(facts);
}

static void the_key_with_the_expected_fingerprint_is_let_in(void **state)
{
	const struct world *w = *state;

	if (!*w->fingerprint)
		skip();
	check(w, w->fingerprint, true);
}

static void another_key_is_not(void **state)
{
	const struct world *w = *state;

	if (!*w->fingerprint)
		skip();
	check(w, "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C", false);
}

static void each_host_of_amd_has_its_key_and_others_have_none(void **state)
{
	static const struct {
		const char *uri, *url, *fingerprint;
	} rows[] = {
		{ "https://repo.radeon.com/rocm/apt/7.2.4", "https://repo.radeon.com/rocm/rocm.gpg.key",
		  "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C" },
		{ "https://stable.repo.amd.com/rocm/core/packages/ubuntu2604/",
		  "https://stable.repo.amd.com/rocm/gpg/packages.gpg", "D0F004A0025A1145C7807FCD0701EAC4D5E02107" },
		{ "https://repo.amd.com/rocm/packages-multi-arch/ubuntu2404",
		  "https://repo.amd.com/rocm/packages-multi-arch/gpg/rocm.gpg", "D0F004A0025A1145C7807FCD0701EAC4D5E02107" },
		{ "https://repo.radeon.com.example/rocm", NULL, NULL },
		{ "http://repo.radeon.com/rocm", NULL, NULL },
	};
	const struct world *w = *state;

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		const char *const args[] = { "keyring", KEYRINGS "/rocm.gpg", "uri", rows[i].uri, NULL };
		struct rd_fact *facts = rd_facts_new();
		struct rd_step *step = rd_step_new(rd_action_find("package.key"), args, facts);
		rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;

		assert_int_equal(rd_step_lower(step, w->sr, NULL), rows[i].url ? 0 : -EOPNOTSUPP);
		for (size_t k = 0; rows[i].url && k < step->effects_n; k++)
			for (size_t n = 0; step->effects[k].argv[n]; n++)
				rd_strbuf_addf(&words, " %s", step->effects[k].argv[n]);
		if (rows[i].url) {
			assert_non_null(strstr(words.buf, rows[i].url));
			assert_non_null(strstr(words.buf, rows[i].fingerprint));
		}
		rd_step_free(step);
		rd_fact_free(facts);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_key_with_the_expected_fingerprint_is_let_in),
		TEST(another_key_is_not),
		TEST(each_host_of_amd_has_its_key_and_others_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
