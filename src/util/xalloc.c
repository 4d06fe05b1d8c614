#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/strbuf.h"
#include "util/xalloc.h"

static void *checked(void *p)
{
	if (!p) {
		fputs("rocm-doctor: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *rd_xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *rd_xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *rd_xreallocarray(void *old, size_t n, size_t size)
{
	return checked(reallocarray(old, n ? n : 1, size ? size : 1));
}

char *rd_xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *rd_xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *rd_xasprintf(const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	return rd_strbuf_detach(&sb);
}
