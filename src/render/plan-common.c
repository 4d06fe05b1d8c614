#include <string.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/utf8.h"

const char *rd_step_words(const struct rd_step *step)
{
	return step->description ? step->description : step->action->summary;
}

void rd_quote_sh(struct rd_strbuf *sb, const char *text)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,^";

	if (*text && !text[strspn(text, bare)]) {
		rd_strbuf_add(sb, text);
		return;
	}
	rd_strbuf_addc(sb, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			rd_strbuf_add(sb, "'\\''");
		else
			rd_strbuf_addc(sb, *text);
	}
	rd_strbuf_addc(sb, '\'');
}

void rd_quote_command(struct rd_strbuf *sb, char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		rd_strbuf_add(sb, i ? " " : "");
		rd_quote_sh(sb, argv[i]);
	}
}

void rd_quote_yaml(struct rd_strbuf *sb, const char *text)
{
	rd_strbuf_addc(sb, '"');
	for (; *text;) {
		size_t n = rd_utf8_length(text);
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			rd_strbuf_addf(sb, "\\%c", c);
		else if (c == '\n')
			rd_strbuf_add(sb, "\\n");
		else if (c == '\t')
			rd_strbuf_add(sb, "\\t");
		else if (c < 0x20 || c == 0x7f || !n)
			rd_strbuf_addf(sb, "\\x%02x", c);
		else
			rd_strbuf_addn(sb, text, n);
		text += n ? n : 1;
	}
	rd_strbuf_addc(sb, '"');
}

void rd_comment(struct rd_strbuf *sb, const char *text)
{
	rd_auto_free char *printable = rd_str_printable(text);

	rd_strbuf_add(sb, printable);
}
