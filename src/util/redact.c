#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "rocm-doctor/macros.h"
#include "util/redact.h"

/* A part of a text gives way to at most three stars. */
static char *hide(char *begin, char *end)
{
	size_t stars = (size_t)(end - begin) < 3 ? (size_t)(end - begin) : 3;

	memset(begin, '*', stars);
	memmove(begin + stars, end, strlen(end) + 1);
	return begin + stars;
}

/* https://user:password@host: all before the last '@' of the authority. */
static void hide_users(char *text)
{
	for (char *at = text; (at = strstr(at, "://"));) {
		char *end, *mark;

		at += 3;
		end = at + strcspn(at, "/?# \t\n\"'");
		mark = memrchr(at, '@', (size_t)(end - at));
		if (mark)
			at = hide(at, mark);
	}
}

/* Whether what ends before @end names a secret. */
static bool names_secret(const char *text, const char *end)
{
	static const char *const ends[] = {
		"token", "secret", "password", "passwd", "passphrase", "_pass", "rootpass", "_key", "apikey", ".key",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(ends); i++) {
		size_t n = strlen(ends[i]);

		if ((size_t)(end - text) >= n && strncasecmp(end - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

static void hide_values(char *text)
{
	for (char *at = text; (at = strchr(at, '='));) {
		char *begin = ++at;
		const char *stop = " \t\n;&\"'";

		if (!names_secret(text, begin - 1))
			continue;
		if (*begin == '"' || *begin == '\'')
			stop = *begin++ == '"' ? "\"" : "'";
		at = hide(begin, begin + strcspn(begin, stop));
	}
}

void rd_redact(char *text)
{
	hide_users(text);
	hide_values(text);
}
