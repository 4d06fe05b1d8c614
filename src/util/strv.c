#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

void rd_strv_push_take(struct rd_strv *sv, char *s)
{
	RD_GROW(sv->v, sv->n, sv->allocated);
	sv->v[sv->n++] = s;
}

void rd_strv_push(struct rd_strv *sv, const char *s)
{
	rd_strv_push_take(sv, rd_xstrdup(s));
}

void rd_strv_pushf(struct rd_strv *sv, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_strv_push_take(sv, rd_strbuf_detach(&sb));
}

void rd_strv_push_unique(struct rd_strv *sv, const char *s)
{
	if (!rd_strv_has(sv, s))
		rd_strv_push(sv, s);
}

void rd_strv_remove(struct rd_strv *sv, size_t i)
{
	free(sv->v[i]);
	memmove(&sv->v[i], &sv->v[i + 1], (sv->n - i - 1) * sizeof(*sv->v));
	sv->n--;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void rd_strv_add_all(struct rd_strv *sv, const struct rd_strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		rd_strv_push(sv, from->v[i]);
}

void rd_strv_sort(struct rd_strv *sv)
{
	if (sv->n > 1)
		qsort(sv->v, sv->n, sizeof(*sv->v), compare);
}

bool rd_strv_has(const struct rd_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

void rd_strv_split(struct rd_strv *sv, const char *text, const char *separators, bool keep_empty)
{
	for (;;) {
		size_t n = strcspn(text, separators);

		if (n || keep_empty)
			rd_strv_push_take(sv, rd_xstrndup(text, n));
		if (!text[n])
			return;
		text += n + 1;
	}
}

void rd_strv_clear(struct rd_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct rd_strv)RD_STRV_INIT;
}
