/* As much of UTF-8 as printing needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the @n bytes are ASCII, as nearly all texts of a host are. */
bool rd_utf8_is_ascii(const char *s, size_t n);

/* Bytes of the well-formed character at @s (1 to 4), 0 for NUL and for what is not UTF-8 (overlong and surrogates included). */
size_t rd_utf8_length(const char *s);

/* A C1 control, U+0080 to U+009F: some terminals obey it as they obey an escape. */
bool rd_utf8_is_c1(const char *s);

/* Columns that @s takes on a terminal: one a character, none for combining marks, two for wide East Asian ones. */
size_t rd_utf8_columns(const char *s);

/* Bytes of the longest piece of @s that takes at most @columns. */
size_t rd_utf8_fit(const char *s, size_t columns);
