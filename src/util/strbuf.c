#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/strbuf.h"
#include "util/xalloc.h"

char rd_strbuf_empty[1] = "";

static void reserve(struct rd_strbuf *sb, size_t more)
{
	size_t want = sb->len + more + 1;

	if (want <= sb->allocated)
		return;
	if (want < sb->allocated * 2)
		want = sb->allocated * 2;
	if (want < 64)
		want = 64;
	sb->buf = rd_xreallocarray(sb->allocated ? sb->buf : NULL, want, 1);
	sb->allocated = want;
}

void rd_strbuf_addn(struct rd_strbuf *sb, const char *s, size_t n)
{
	if (!n)
		return;
	reserve(sb, n);
	memcpy(sb->buf + sb->len, s, n);
	sb->len += n;
	sb->buf[sb->len] = '\0';
}

void rd_strbuf_add(struct rd_strbuf *sb, const char *s)
{
	rd_strbuf_addn(sb, s, strlen(s));
}

void rd_strbuf_addc(struct rd_strbuf *sb, char c)
{
	rd_strbuf_addn(sb, &c, 1);
}

static const char *add_simple(struct rd_strbuf *sb, const char *format, va_list *ap) __attribute__((format_arg(2)));
static void add_formatted(struct rd_strbuf *sb, const char *format, va_list ap) RD_PRINTF(2, 0);

/* What is simple of a format, which most are: text and %s. Returns what is left of it. */
static const char *add_simple(struct rd_strbuf *sb, const char *format, va_list *ap)
{
	while (*format) {
		size_t n = 0;

		while (format[n] && format[n] != '%')
			n++;
		rd_strbuf_addn(sb, format, n);
		format += n;
		if (!*format || format[1] != 's')
			break;
		rd_strbuf_add(sb, va_arg(*ap, const char *));
		format += 2;
	}
	return format;
}

static void add_formatted(struct rd_strbuf *sb, const char *format, va_list ap)
{
	size_t room;
	va_list again;
	int n;

	reserve(sb, 32);
	room = sb->allocated - sb->len;
	va_copy(again, ap);
	n = vsnprintf(sb->buf + sb->len, room, format, again);
	va_end(again);
	if (n > 0 && (size_t)n >= room) {
		reserve(sb, (size_t)n);
		n = vsnprintf(sb->buf + sb->len, (size_t)n + 1, format, ap);
	}
	if (n > 0)
		sb->len += (size_t)n;
	sb->buf[sb->len] = '\0';
}

void rd_strbuf_vaddf(struct rd_strbuf *sb, const char *format, va_list ap)
{
	va_list rest;

	va_copy(rest, ap);
	format = add_simple(sb, format, &rest);
	if (*format)
		add_formatted(sb, format, rest);
	va_end(rest);
}

void rd_strbuf_addf(struct rd_strbuf *sb, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(sb, format, ap);
	va_end(ap);
}

void rd_strbuf_add_sh(struct rd_strbuf *sb, const char *arg)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,^";

	if (*arg && !arg[strspn(arg, bare)]) {
		rd_strbuf_add(sb, arg);
		return;
	}
	rd_strbuf_addc(sb, '\'');
	for (; *arg; arg++) {
		if (*arg == '\'')
			rd_strbuf_add(sb, "'\\''");
		else
			rd_strbuf_addc(sb, *arg);
	}
	rd_strbuf_addc(sb, '\'');
}

void rd_strbuf_truncate(struct rd_strbuf *sb, size_t len)
{
	if (len >= sb->len)
		return;
	sb->len = len;
	sb->buf[len] = '\0';
}

char *rd_strbuf_detach(struct rd_strbuf *sb)
{
	char *ret = sb->allocated ? sb->buf : rd_xstrdup("");

	*sb = (struct rd_strbuf)RD_STRBUF_INIT;
	return ret;
}

void rd_strbuf_release(struct rd_strbuf *sb)
{
	if (sb->allocated)
		free(sb->buf);
	*sb = (struct rd_strbuf)RD_STRBUF_INIT;
}
