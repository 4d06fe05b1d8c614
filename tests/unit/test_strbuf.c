#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* The same by the C library. */
#define SAME(...) \
	do { \
		char expect[4096]; \
		char *got = rd_xasprintf(__VA_ARGS__); \
		struct rd_strbuf sb = RD_STRBUF_INIT; \
\
		snprintf(expect, sizeof(expect), __VA_ARGS__); \
		assert_string_equal(got, expect); \
		rd_strbuf_add(&sb, "before "); \
		rd_strbuf_addf(&sb, __VA_ARGS__); \
		assert_string_equal(sb.buf + strlen("before "), expect); \
		assert_int_equal(sb.len, strlen(sb.buf)); \
		rd_strbuf_release(&sb); \
		free(got); \
	} while (0)

static void formats_are_those_of_the_c_library(void **state)
{
	char longest[3000];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	SAME("text");
	SAME("%s", "");
	SAME("%s", longest);
	SAME("%s/%s", "/sys", "class");
	SAME("a%sb%sc", "1", longest);
	SAME("%s: %d of %zu, %s", "x", -5, (size_t)7, "end");
	SAME("%d%s%d", 1, "2", 3);
	SAME("100%% of %s", "it");
	SAME("%s%%", "50");
	SAME("%.*s|%s", 2, "abcdef", "z");
	SAME("%-8s|%8s|%c", "left", "right", 'c');
	SAME("%s %" PRIu64 " 0x%04x %.6g", longest, UINT64_MAX, 0xabu, 0.25);
}

static void a_distance_counts_letters_that_are_added_dropped_changed_or_swapped(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} pairs[] = {
		{ "", "", 0 },
		{ "check", "check", 0 },
		{ "check", "", 5 },
		{ "", "fix", 3 },
		{ "chek", "check", 1 },
		{ "chekc", "check", 1 },
		{ "checkk", "check", 1 },
		{ "chock", "check", 1 },
		{ "kitten", "sitting", 3 },
		{ "ca", "abc", 3 },
		{ "undo", "history", 6 },
	};
	char longer[200];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		assert_int_equal(rd_str_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
		assert_int_equal(rd_str_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(rd_str_distance(longer, "x") == SIZE_MAX);
	assert_true(rd_str_distance("x", longer) == SIZE_MAX);
	assert_int_equal(rd_str_distance(longer + sizeof(longer) - 1 - 96, longer + sizeof(longer) - 1 - 96), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_those_of_the_c_library),
		cmocka_unit_test(a_distance_counts_letters_that_are_added_dropped_changed_or_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
