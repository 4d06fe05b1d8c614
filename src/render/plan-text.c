/* A plan for a person: each step, its exact diff or command, and what the whole needs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "plan-common.h"
#include "rocm-doctor/diagnosis.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* Diffs longer than this are shown by their first lines. */
#define DIFF_LINES 60
/* Where the words of advice begin. */
#define ADVICE_COLUMNS 5

struct screen {
	const struct rd_plan_view *view;
	FILE *out;
};

static void put(const struct screen *s, const char *code, const char *text)
{
	rd_auto_free char *clean = rd_str_printable(text);

	rd_redact(clean);
	if (s->view->color && *code)
		fprintf(s->out, "\033[%sm%s\033[0m", code, clean);
	else
		fputs(clean, s->out);
}

static void spaces(const struct screen *s, size_t n)
{
	fprintf(s->out, "%*s", (int)n, "");
}

/* Words up to the end of the line; the next one begins with @begin. */
static void wrap(const struct screen *s, const char *code, const char *text, const char *begin)
{
	size_t indent = strlen(begin), at = indent;

	while (*text) {
		size_t n = strcspn(text, " ");
		rd_auto_free char *word = rd_xstrndup(text, n);
		size_t columns = rd_utf8_columns(word);

		if (at > indent && at + 1 + columns > s->view->columns) {
			fprintf(s->out, "\n%s", begin);
			at = indent;
		} else if (at > indent) {
			putc(' ', s->out);
			at++;
		}
		put(s, code, word);
		at += columns;
		text += n;
		text += strspn(text, " ");
	}
	putc('\n', s->out);
}

/* A command in it stays whole, to be copied. */
static void wrap_advice(const struct screen *s, const char *advice)
{
	rd_auto_free char *text = rd_command_about(advice, s->view->again);
	const char *command = rd_command_in(text);
	rd_auto_free char *words = command ? rd_xstrndup(text, (size_t)(command - text)) : NULL;

	if (!command || ADVICE_COLUMNS + rd_utf8_columns(text) <= s->view->columns) {
		wrap(s, "", text, "     ");
		return;
	}
	if (*words) {
		wrap(s, "", words, "     ");
		spaces(s, ADVICE_COLUMNS + 2);
	}
	put(s, "", command);
	putc('\n', s->out);
}

static const char *diff_color(const char *line)
{
	if (rd_str_has_prefix(line, "---") || rd_str_has_prefix(line, "+++"))
		return "1";
	return *line == '-' ? "31" : *line == '+' ? "32" : *line == '@' ? "36" : "";
}

static void show_diff(const struct screen *s, const struct rd_effect *e)
{
	rd_auto_free char *diff = rd_effect_diff(e);
	char *rest = diff, *line;
	size_t n = 0;

	while ((line = rd_str_next_line(&rest)) && (s->view->verbosity > 0 || n++ < DIFF_LINES)) {
		fputs("     ", s->out);
		put(s, diff_color(line), line);
		putc('\n', s->out);
	}
	if (line)
		fputs("     ... (-v shows all of it)\n", s->out);
}

static void show_command(const struct screen *s, const struct rd_effect *e)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_quote_command(&sb, e->argv);
	fputs("     $ ", s->out);
	put(s, "1", sb.buf);
	if (e->as_owner_of) {
		rd_auto_strbuf struct rd_strbuf owner = RD_STRBUF_INIT;

		rd_strbuf_addf(&owner, "   (as the owner of %s)", e->as_owner_of);
		put(s, "2", owner.buf);
	}
	putc('\n', s->out);
	if (e->kind == RD_EFFECT_RUN && !e->undo)
		fputs("       cannot be undone\n", s->out);
}

static void show_effect(const struct screen *s, const struct rd_effect *e)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	switch (e->kind) {
	case RD_EFFECT_WRITE:
		show_diff(s, e);
		break;
	case RD_EFFECT_VALUE:
	case RD_EFFECT_LINK:
		rd_strbuf_addf(&sb, "%s: %s -> %s", e->path, e->before ? e->before : "nothing",
		               e->after ? e->after : "nothing");
		fputs("     ", s->out);
		put(s, "", sb.buf);
		putc('\n', s->out);
		if (e->kind == RD_EFFECT_VALUE && !e->before)
			fputs("       cannot be undone\n", s->out);
		break;
	default:
		show_command(s, e);
	}
}

static void show_why(const struct screen *s, const struct rd_step *step)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_addf(&sb, "fix %s, for", step->fix);
	for (size_t i = 0; i < step->findings_n; i++)
		rd_strbuf_addf(&sb, "%s %s", i ? "," : "", step->findings[i]);
	fputs("     # ", s->out);
	wrap(s, "2", sb.buf, "     #   ");
}

static void show_step(const struct screen *s, const struct rd_step *step, size_t number)
{
	fprintf(s->out, "%2zu  ", number);
	put(s, "1", rd_step_words(step));
	fprintf(s->out, "   %s\n", step->action->name);
	if (s->view->verbosity < 0)
		return;
	if (s->view->verbosity > 0)
		show_why(s, step);
	for (size_t i = 0; i < step->effects_n; i++)
		show_effect(s, &step->effects[i]);
	for (size_t i = 0; i < step->origins_n; i++) {
		fputs("     # ", s->out);
		wrap(s, "2", step->origins[i], "     #   ");
	}
}

static void show_heading(const struct screen *s, const struct rd_plan *plan)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->steps[i]->findings_n; j++)
			rd_strv_push_unique(&ids, plan->steps[i]->findings[j]);
	rd_strbuf_add(&sb, "Plan for");
	for (size_t i = 0; i < ids.n; i++)
		rd_strbuf_addf(&sb, "%s %s", i ? "," : "", ids.v[i]);
	wrap(s, "1", sb.buf, "");
	putc('\n', s->out);
}

/* The findings that the next lines are for, unless the lines before were for the same. */
static void show_whose(const struct screen *s, const char *ids, struct rd_strbuf *before)
{
	if (rd_streq(ids, before->buf))
		return;
	rd_strbuf_truncate(before, 0);
	rd_strbuf_add(before, ids);
	fputs("  ", s->out);
	wrap(s, "1", ids, "  ");
}

static void show_advice(const struct screen *s, const struct rd_plan *plan)
{
	rd_auto_strbuf struct rd_strbuf whose = RD_STRBUF_INIT;

	if (plan->advice_n || plan->unfixed_n)
		fputs(plan->n ? "\nTo be done by hand\n" : "To be done by hand\n", s->out);
	for (size_t i = 0; i < plan->advice_n; i++) {
		const struct rd_advice *a = &plan->advice[i];
		rd_auto_strbuf struct rd_strbuf ids = RD_STRBUF_INIT;

		for (size_t j = 0; j < a->findings_n; j++)
			rd_strbuf_addf(&ids, "%s%s", j ? ", " : "", a->findings[j]);
		show_whose(s, ids.buf, &whose);
		fputs("  -  ", s->out);
		wrap_advice(s, a->text);
		if (a->reason) {
			spaces(s, ADVICE_COLUMNS);
			wrap(s, "2", a->reason, "     ");
		}
	}
	for (size_t i = 0; i < plan->unfixed_n; i++) {
		const struct rd_finding *f = plan->unfixed[i];

		for (size_t j = 0; j < f->next_n; j++) {
			show_whose(s, f->rule->id, &whose);
			fputs("  -  ", s->out);
			wrap_advice(s, f->next[j]);
		}
	}
}

static void show_left(const struct screen *s, const struct rd_plan *plan)
{
	if (plan->left_n)
		fputs(plan->n || plan->advice_n || plan->unfixed_n ? "\nLeft alone\n" : "Left alone\n", s->out);
	for (size_t i = 0; i < plan->left_n; i++) {
		rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

		rd_strbuf_addf(&sb, "%s: %s", plan->left[i].finding->rule->id, plan->left[i].why);
		fputs("  ", s->out);
		wrap(s, "2", sb.buf, "    ");
	}
}

/* -q: what is done in one line each, and who has something to do by hand. */
static void show_quietly(const struct screen *s, const struct rd_plan *plan)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;

	for (size_t i = 0; i < plan->n; i++)
		show_step(s, plan->steps[i], i + 1);
	for (size_t i = 0; i < plan->advice_n; i++)
		for (size_t j = 0; j < plan->advice[i].findings_n; j++)
			rd_strv_push_unique(&ids, plan->advice[i].findings[j]);
	for (size_t i = 0; i < plan->unfixed_n; i++)
		rd_strv_push_unique(&ids, plan->unfixed[i]->rule->id);
	for (size_t i = 0; i < ids.n; i++) {
		fputs(" -  by hand: ", s->out);
		put(s, "", ids.v[i]);
		putc('\n', s->out);
	}
}

/* What is looked for by scripts is not broken over two lines. */
static void show_needs(const struct screen *s, const struct rd_plan *plan)
{
	static const char unchanged[] = "Nothing has been changed.";
	rd_auto_free char *text =
		rd_xasprintf("%s%s%s%s", plan->needs_root ? "Needs root. " : "Needs no root. ",
	                     plan->needs_network ? "May download. " : "",
	                     plan->needs_reboot  ? "Takes effect after a reboot. "
	                     : plan->needs_login ? "Takes effect at the next login. "
	                                         : "No reboot. ",
	                     plan->is_irreversible ? "Not all of it can be undone." : "Can be undone: rocm-doctor undo.");

	fprintf(s->out, "\n%s", text);
	if (s->view->dry_run)
		fprintf(s->out, "%s%s", strlen(text) + sizeof(unchanged) > s->view->columns ? "\n" : " ", unchanged);
	putc('\n', s->out);
}

int rd_render_plan_text(const struct rd_plan *plan, const struct rd_plan_view *view, FILE *out)
{
	struct screen s = { view, out };

	if (view->verbosity < 0) {
		show_quietly(&s, plan);
		return ferror(out) ? -EIO : 0;
	}
	if (plan->n)
		show_heading(&s, plan);
	for (size_t i = 0; i < plan->n; i++) {
		if (i == plan->reboot_at)
			fputs("\nAfter the reboot, by running this again:\n", out);
		show_step(&s, plan->steps[i], i + 1);
	}
	show_advice(&s, plan);
	if (view->verbosity > 0)
		show_left(&s, plan);
	if (plan->n)
		show_needs(&s, plan);
	else if (plan->advice_n || plan->unfixed_n)
		fputs("\nAll of this is for a person to do. Nothing has been changed.\n", out);
	else
		fputs(plan->left_n && view->verbosity > 0 ? "\nNothing to do.\n" : "Nothing to do.\n", out);
	return ferror(out) ? -EIO : 0;
}
