/* Locals that free what they own; initialise them to NULL or -1. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * True where a sanitizer looks for what is read or written beside a block. For valgrind, which cannot be seen here, the build says
 * so.
 */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#ifdef RD_SANITIZED
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define RD_SANITIZED 1
#else
#define RD_SANITIZED 0
#endif

static inline void rd_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void rd_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void rd_cleanup_fclose(FILE *const *f)
{
	if (*f)
		fclose(*f);
}

/* unused: clang wants to be told that a value may be held for its release alone. */
#define rd_auto(release) __attribute__((cleanup(release), unused))
#define rd_auto_free rd_auto(rd_cleanup_free)
#define rd_auto_close rd_auto(rd_cleanup_close)
#define rd_auto_fclose rd_auto(rd_cleanup_fclose)

/* Defines rd_cleanup_NAME for a type whose _free takes and returns a pointer. */
#define RD_DEFINE_CLEANUP(name, type, release) \
	static inline __attribute__((unused)) void rd_cleanup_##name(type **p) \
	{ \
		*p = release(*p); \
	}

/* Moves ownership out of an rd_auto_ local. */
#define rd_steal(pointer) \
	__extension__({ \
		__typeof__(pointer) rd_taken_ = (pointer); \
		(pointer) = NULL; \
		rd_taken_; \
	})
