/* A plan as a script to be read, kept and run elsewhere. Nothing of the host reaches it unquoted. */

#include <errno.h>
#include <string.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

static const char head[] = "#!/bin/bash\n"
			   "# Written by rocm-doctor fix --format sh. Read it before you run it.\n"
			   "set -euo pipefail\n"
			   "export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\n";

static const char root[] = "[ \"$(id -u)\" = 0 ] || { echo 'this changes the system: run it as root' >&2; exit 3; }\n";

static const char put[] = "\n# put FILE MODE: standard input becomes FILE, by rename; what is there keeps owner and mode.\n"
			  "put() {\n"
			  "\tlocal new=\"$1.rd-new\"\n"
			  "\tif [ -L \"$1\" ]; then echo \"'$1' is a link\" >&2; return 1; fi\n"
			  "\tmkdir -p -- \"$(dirname -- \"$1\")\"\n"
			  "\tif [ -e \"$1\" ]; then cp -a -- \"$1\" \"$new\"; else : >\"$new\"; chmod -- \"$2\" \"$new\"; fi\n"
			  "\tcat >\"$new\"\n"
			  "\tmv -fT -- \"$new\" \"$1\"\n"
			  "}\n";

static const char make_link[] = "\n# link FILE TARGET\n"
				"link() {\n"
				"\tmkdir -p -- \"$(dirname -- \"$1\")\"\n"
				"\tln -sfT -- \"$2\" \"$1\"\n"
				"}\n";

static const char as_owner[] = "\n# as_owner PATH COMMAND...: run it as whoever owns PATH.\n"
			       "as_owner() {\n"
			       "\tlocal uid gid home\n"
			       "\tuid=\"$(stat -c %u -- \"$1\")\"\n"
			       "\tgid=\"$(stat -c %g -- \"$1\")\"\n"
			       "\thome=\"$(getent passwd \"$uid\" | cut -d: -f6)\"\n"
			       "\tshift\n"
			       "\tif [ \"$uid\" = \"$(id -u)\" ]; then\n"
			       "\t\t\"$@\"\n"
			       "\telse\n"
			       "\t\tsetpriv --reuid \"$uid\" --regid \"$gid\" --clear-groups -- env HOME=\"$home\" \"$@\"\n"
			       "\tfi\n"
			       "}\n";

static bool is_put(const struct rd_effect *e)
{
	return e->kind == RD_EFFECT_WRITE && e->after;
}

static bool is_link(const struct rd_effect *e)
{
	return e->kind == RD_EFFECT_LINK && e->after;
}

static bool is_of_owner(const struct rd_effect *e)
{
	return e->as_owner_of != NULL;
}

static bool any(const struct rd_plan *plan, bool (*is)(const struct rd_effect *e))
{
	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++)
			if (is(&plan->steps[i]->effects[j]))
				return true;
	return false;
}

/* Only what the steps use: a script is read before it is run. */
static void put_head(struct rd_strbuf *sb, const struct rd_plan *plan)
{
	rd_strbuf_add(sb, head);
	rd_strbuf_add(sb, plan->needs_root ? root : "");
	rd_strbuf_add(sb, any(plan, is_put) ? put : "");
	rd_strbuf_add(sb, any(plan, is_link) ? make_link : "");
	rd_strbuf_add(sb, any(plan, is_of_owner) ? as_owner : "");
}

/* A word that no line of the text is. */
static char *delimiter(const char *text)
{
	char *word = rd_xstrdup("END");

	while (strstr(text, word)) {
		rd_auto_free char *shorter = word;

		word = rd_xasprintf("%s_", shorter);
	}
	return word;
}

/* A here-document where the text ends in a line end, as most do; else one quoted argument. */
static void put_content(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_free char *end = delimiter(e->after);

	if (*e->after && !rd_str_has_suffix(e->after, "\n")) {
		rd_strbuf_add(sb, "printf %s ");
		rd_strbuf_add_sh(sb, e->after);
		rd_strbuf_add(sb, " | put ");
		rd_strbuf_add_sh(sb, e->path);
		rd_strbuf_addf(sb, " %04o\n", e->mode ? e->mode : 0644);
		return;
	}
	rd_strbuf_add(sb, "put ");
	rd_strbuf_add_sh(sb, e->path);
	rd_strbuf_addf(sb, " %04o <<'%s'\n%s%s\n", e->mode ? e->mode : 0644, end, e->after, end);
}

static void put_effect(struct rd_strbuf *sb, const struct rd_effect *e)
{
	switch (e->kind) {
	case RD_EFFECT_WRITE:
		if (e->after) {
			put_content(sb, e);
		} else {
			rd_strbuf_add(sb, "rm -f -- ");
			rd_strbuf_add_sh(sb, e->path);
			rd_strbuf_addc(sb, '\n');
		}
		break;
	case RD_EFFECT_VALUE:
		rd_strbuf_add(sb, "printf '%s\\n' ");
		rd_strbuf_add_sh(sb, e->after);
		rd_strbuf_add(sb, " >");
		rd_strbuf_add_sh(sb, e->path);
		rd_strbuf_addc(sb, '\n');
		break;
	case RD_EFFECT_LINK:
		rd_strbuf_add(sb, e->after ? "link " : "rm -f -- ");
		rd_strbuf_add_sh(sb, e->path);
		rd_strbuf_add(sb, e->after ? " " : "");
		if (e->after)
			rd_strbuf_add_sh(sb, e->after);
		rd_strbuf_addc(sb, '\n');
		break;
	default:
		if (e->as_owner_of) {
			rd_strbuf_add(sb, "as_owner ");
			rd_strbuf_add_sh(sb, e->as_owner_of);
			rd_strbuf_addc(sb, ' ');
		}
		rd_quote_command(sb, e->argv);
		rd_strbuf_addc(sb, '\n');
	}
}

int rd_render_plan_sh(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	put_head(&sb, plan);
	for (size_t i = 0; i < plan->n; i++) {
		if (i == plan->reboot_at)
			rd_strbuf_add(&sb, "\necho 'reboot now, then run rocm-doctor fix again' >&2\nexit 10\n");
		rd_strbuf_add(&sb, "\n# ");
		rd_comment(&sb, rd_step_words(plan->steps[i]));
		rd_strbuf_addc(&sb, '\n');
		rd_comment_origins(&sb, plan->steps[i], "");
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++)
			put_effect(&sb, &plan->steps[i]->effects[j]);
	}
	if (plan->reboot_at == plan->n && plan->needs_reboot)
		rd_strbuf_add(&sb, "\necho 'done; it takes effect after a reboot' >&2\n");
	else if (plan->reboot_at == plan->n && plan->needs_login)
		rd_strbuf_add(&sb, "\necho 'done; it takes effect at the next login' >&2\n");
	rd_comment_advice(&sb, plan);
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
