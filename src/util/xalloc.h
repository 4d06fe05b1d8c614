/* Allocation that does not fail: out of memory aborts. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"

void *rd_xmalloc(size_t size) RD_MUST_CHECK;
void *rd_xcalloc(size_t n, size_t size) RD_MUST_CHECK;
void *rd_xreallocarray(void *old, size_t n, size_t size) RD_MUST_CHECK;
char *rd_xstrdup(const char *s) RD_MUST_CHECK;
char *rd_xstrndup(const char *s, size_t n) RD_MUST_CHECK;
char *rd_xasprintf(const char *format, ...) RD_PRINTF(1, 2) RD_MUST_CHECK;

/* Room for one more element: doubles *array when it is full. */
#define RD_GROW(array, n, allocated) \
	do { \
		if ((n) + 1 > (allocated)) { \
			(allocated) = (allocated) ? (allocated)*2 : 8; \
			(array) = rd_xreallocarray((array), (allocated), sizeof(*(array))); \
		} \
	} while (0)
