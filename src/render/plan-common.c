#include <string.h>

#include "plan-common.h"
#include "rocm-doctor/diagnosis.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/utf8.h"
#include "util/xalloc.h"

const char *rd_step_words(const struct rd_step *step)
{
	return step->description ? step->description : step->action->summary;
}

void rd_quote_command(struct rd_strbuf *sb, char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		rd_strbuf_add(sb, i ? " " : "");
		rd_strbuf_add_sh(sb, argv[i]);
	}
}

static unsigned decode(const char *text, size_t n)
{
	unsigned c = (unsigned char)*text & (0xffu >> (n > 1 ? n + 1 : 0));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

/* Controls, and what YAML takes for the end of a line or for the mark of a byte order. */
static bool wants_escape(unsigned c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

void rd_quote_json(struct rd_strbuf *sb, const char *text)
{
	rd_strbuf_addc(sb, '"');
	for (; *text;) {
		size_t n = rd_utf8_length(text);
		unsigned c = n ? decode(text, n) : (unsigned char)*text;

		if (c == '"' || c == '\\')
			rd_strbuf_addf(sb, "\\%c", (char)c);
		else if (c == '\n')
			rd_strbuf_add(sb, "\\n");
		else if (c == '\t')
			rd_strbuf_add(sb, "\\t");
		else if (!n || wants_escape(c))
			rd_strbuf_addf(sb, "\\u%04x", c);
		else
			rd_strbuf_addn(sb, text, n);
		text += n ? n : 1;
	}
	rd_strbuf_addc(sb, '"');
}

void rd_quote_list(struct rd_strbuf *sb, const char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		rd_strbuf_add(sb, i ? ", " : "[");
		rd_quote_json(sb, argv[i]);
	}
	rd_strbuf_addc(sb, ']');
}

bool rd_is_utf8(const char *text)
{
	for (size_t n; *text; text += n) {
		n = rd_utf8_length(text);
		if (!n)
			return false;
	}
	return true;
}

char *rd_base64(const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t left = strlen(text); left; text += 3, left -= left < 3 ? left : 3) {
		unsigned bits = (unsigned char)text[0] << 16;

		bits |= left > 1 ? (unsigned)(unsigned char)text[1] << 8 : 0;
		bits |= left > 2 ? (unsigned char)text[2] : 0;
		for (size_t i = 0; i < 4; i++)
			rd_strbuf_addc(&sb, i <= left ? digits[bits >> (18 - 6 * i) & 63] : '=');
		if (left < 3)
			break;
	}
	return rd_strbuf_detach(&sb);
}

char *rd_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash > path ? rd_xstrndup(path, (size_t)(slash - path)) : rd_xstrdup("/");
}

#define MAKE "mkdir -p -- \"$(dirname -- \"$2\")\" && { [ -e \"$2\" ] || install -m \"$3\" /dev/null \"$2\"; } && "

/* So that it can be passed on as an argv. */
static void end_argv(struct rd_strv *argv)
{
	rd_strv_push_take(argv, NULL);
	argv->n--;
}

void rd_content_argv(struct rd_strv *ret, const struct rd_effect *e)
{
	bool plain = rd_is_utf8(e->after);

	rd_strv_push(ret, "/bin/sh");
	rd_strv_push(ret, "-c");
	rd_strv_push(ret, plain ? MAKE "printf %s \"$1\" >\"$2\"" : MAKE "printf %s \"$1\" | base64 -d >\"$2\"");
	rd_strv_push(ret, "sh");
	rd_strv_push_take(ret, plain ? rd_xstrdup(e->after) : rd_base64(e->after));
	rd_strv_push(ret, e->path);
	rd_strv_pushf(ret, "%04o", e->mode ? e->mode : 0644);
	end_argv(ret);
}

void rd_owner_argv(struct rd_strv *ret, const struct rd_effect *e)
{
	if (e->as_owner_of) {
		rd_strv_push(ret, "sh");
		rd_strv_push(ret, "-c");
		rd_strv_push(ret,
		             "u=$(stat -c %u -- \"$1\") && g=$(stat -c %g -- \"$1\") && shift && exec setpriv --reuid \"$u\" "
		             "--regid \"$g\" --clear-groups -- env HOME=\"$(getent passwd \"$u\" | cut -d: -f6)\" \"$@\"");
		rd_strv_push(ret, "sh");
		rd_strv_push(ret, e->as_owner_of);
	}
	for (size_t i = 0; e->argv[i]; i++)
		rd_strv_push(ret, e->argv[i]);
	end_argv(ret);
}

void rd_comment(struct rd_strbuf *sb, const char *text)
{
	rd_auto_free char *printable = rd_str_printable(text);

	rd_strbuf_add(sb, printable);
}

static void comment_line(struct rd_strbuf *sb, const char *begin, const char *text)
{
	rd_strbuf_add(sb, begin);
	rd_comment(sb, text);
	rd_strbuf_addc(sb, '\n');
}

void rd_comment_origins(struct rd_strbuf *sb, const struct rd_step *step, const char *indent)
{
	rd_auto_free char *begin = rd_xasprintf("%s# ", indent);

	for (size_t i = 0; i < step->origins_n; i++)
		comment_line(sb, begin, step->origins[i]);
}

void rd_comment_advice(struct rd_strbuf *sb, const struct rd_plan *plan)
{
	size_t n = plan->advice_n;

	for (size_t i = 0; i < plan->unfixed_n; i++)
		n += plan->unfixed[i]->next_n;
	if (n)
		rd_strbuf_add(sb, "\n# To be done by hand:\n");
	for (size_t i = 0; i < plan->advice_n; i++) {
		comment_line(sb, "# - ", plan->advice[i].text);
		if (plan->advice[i].reason)
			comment_line(sb, "#   ", plan->advice[i].reason);
	}
	for (size_t i = 0; i < plan->unfixed_n; i++)
		for (size_t j = 0; j < plan->unfixed[i]->next_n; j++)
			comment_line(sb, "# - ", plan->unfixed[i]->next[j]);
}

bool rd_step_runs(const struct rd_step *step, const char *program, const char *verb)
{
	for (size_t i = 0; i < step->effects_n; i++) {
		char **argv = step->effects[i].argv;

		if (argv && argv[0] && argv[1] && rd_streq(argv[0], program) && rd_streq(argv[1], verb))
			return true;
	}
	return false;
}
