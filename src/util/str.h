/* Small string helpers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

static inline bool rd_streq(const char *a, const char *b)
{
	return __builtin_strcmp(a, b) == 0;
}

bool rd_str_has_prefix(const char *s, const char *prefix);
bool rd_str_has_suffix(const char *s, const char *suffix);
/* Cuts white space at the end in place and returns the first character that is none. */
char *rd_str_strip(char *s);
/* Shell-style "*", "?" and nothing else, over the whole of @s; "*" crosses "/". */
bool rd_str_glob(const char *pattern, const char *s);
/* How many letters to add, drop, change or swap with the next one make @b of @a; SIZE_MAX for what is no name's length. */
size_t rd_str_distance(const char *a, const char *b);
/* The whole of @s as a number; base as strtoull, white space around allowed. 0, -EINVAL, -ERANGE. */
int rd_str_to_u64(const char *s, int base, uint64_t *ret) RD_MUST_CHECK;
int rd_str_to_i64(const char *s, int base, int64_t *ret) RD_MUST_CHECK;
/* @s with what is not UTF-8 written as \xNN and control characters as \n, \t, \xNN: safe to show. Caller frees. */
char *rd_str_printable(const char *s) RD_MUST_CHECK;
/* Walks lines: returns the next line of *rest without its end and moves *rest, NULL after the last. Changes the text. */
char *rd_str_next_line(char **rest);
