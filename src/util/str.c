#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"
#include "util/strbuf.h"
#include "util/utf8.h"

bool rd_str_has_prefix(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

bool rd_str_has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && rd_streq(s + n - m, suffix);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char *rd_str_strip(char *s)
{
	size_t n = strlen(s);

	while (n && is_space(s[n - 1]))
		s[--n] = '\0';
	while (is_space(*s))
		s++;
	return s;
}

bool rd_str_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Names are shorter than this. */
#define NAME_COLUMNS 96

size_t rd_str_distance(const char *a, const char *b)
{
	/* The row of the letter of @a that is looked at, and those of the two before it. */
	size_t rows[3][NAME_COLUMNS + 1], n = strlen(b), m = strlen(a);

	if (m > NAME_COLUMNS || n > NAME_COLUMNS)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			best = above[j] + 1 < best ? above[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_above[j - 2] + 1 < best)
				best = two_above[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[m % 3][n];
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Nearly all numbers are digits that fit by far, and no more: none of strtoull's locales and limits is wanted for them. */
static bool is_plain_number(const char *s, int base, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	if (base == 16 && s[0] == '0' && s[1] == 'x')
		s += 2;
	for (; n < 15 && digit_of(s[n]) < base; n++)
		value = value * (uint64_t)base + (uint64_t)digit_of(s[n]);
	if (!n || s[n] || (base != 10 && base != 16))
		return false;
	*ret = value;
	return true;
}

int rd_str_to_u64(const char *s, int base, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (is_plain_number(s, base, ret))
		return 0;
	while (is_space(*s))
		s++;
	/* strtoull takes "-1" and would wrap it. */
	if (!isalnum((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	value = strtoull(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == s)
		return -EINVAL;
	while (is_space(*end))
		end++;
	if (*end)
		return -EINVAL;
	*ret = value;
	return 0;
}

int rd_str_to_i64(const char *s, int base, int64_t *ret)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == s)
		return -EINVAL;
	while (is_space(*end))
		end++;
	if (*end)
		return -EINVAL;
	*ret = value;
	return 0;
}

char *rd_str_printable(const char *s)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	while (*s) {
		size_t n = rd_utf8_length(s);
		unsigned char c = (unsigned char)*s;

		if (c == '\n')
			rd_strbuf_add(&sb, "\\n");
		else if (c == '\t')
			rd_strbuf_add(&sb, "\\t");
		else if (!n || c < 0x20 || c == 0x7f || rd_utf8_is_c1(s))
			rd_strbuf_addf(&sb, "\\x%02x", c);
		else
			rd_strbuf_addn(&sb, s, n);
		s += n ? n : 1;
	}
	return rd_strbuf_detach(&sb);
}

char *rd_str_next_line(char **rest)
{
	char *line;

	if (!*rest || !**rest)
		return NULL;
	line = strsep(rest, "\n");
	return line;
}
