/* A list of strings that it owns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"
#include "util/cleanup.h"

struct rd_strv {
	char **v; /* n strings; no NULL behind them */
	size_t n, allocated;
};

#define RD_STRV_INIT \
	{ \
		NULL, 0, 0 \
	}

void rd_strv_push(struct rd_strv *sv, const char *s);
void rd_strv_push_take(struct rd_strv *sv, char *s);
void rd_strv_pushf(struct rd_strv *sv, const char *format, ...) RD_PRINTF(2, 3);
/* Adds it only where it is not there. */
void rd_strv_push_unique(struct rd_strv *sv, const char *s);
/* Copies of all strings of @from. */
void rd_strv_add_all(struct rd_strv *sv, const struct rd_strv *from);
/* The string at @i goes, those behind it move up. */
void rd_strv_remove(struct rd_strv *sv, size_t i);
void rd_strv_sort(struct rd_strv *sv); /* by bytes */
bool rd_strv_has(const struct rd_strv *sv, const char *s);
/* Pieces of @text between any of @separators; empty pieces only where @keep_empty. */
void rd_strv_split(struct rd_strv *sv, const char *text, const char *separators, bool keep_empty);
void rd_strv_clear(struct rd_strv *sv);

#define rd_auto_strv rd_auto(rd_strv_clear)
