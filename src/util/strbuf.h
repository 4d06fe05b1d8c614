/* A string that grows. buf is never NULL and always ends in NUL. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"
#include "util/cleanup.h"

struct rd_strbuf {
	char *buf;
	size_t len, allocated;
};

extern char rd_strbuf_empty[];
#define RD_STRBUF_INIT \
	{ \
		rd_strbuf_empty, 0, 0 \
	}

void rd_strbuf_add(struct rd_strbuf *sb, const char *s);
void rd_strbuf_addn(struct rd_strbuf *sb, const char *s, size_t n);
void rd_strbuf_addc(struct rd_strbuf *sb, char c);
void rd_strbuf_addf(struct rd_strbuf *sb, const char *format, ...) RD_PRINTF(2, 3);
void rd_strbuf_vaddf(struct rd_strbuf *sb, const char *format, va_list ap) RD_PRINTF(2, 0);
/* One argument as a POSIX shell takes it back: bare where that is safe, else in single quotes. */
void rd_strbuf_add_sh(struct rd_strbuf *sb, const char *arg);
void rd_strbuf_truncate(struct rd_strbuf *sb, size_t len);
/* Gives the string away (caller frees) and empties the buffer. */
char *rd_strbuf_detach(struct rd_strbuf *sb) RD_MUST_CHECK;
void rd_strbuf_release(struct rd_strbuf *sb);

#define rd_auto_strbuf rd_auto(rd_strbuf_release)
