/* A check for a person: the answer first, one line a layer, then causes with evidence and the next command. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* What is shown of a finding without -v. */
#define EVIDENCE_SHOWN 4
#define VALUE_COLUMNS 60
/* Where text stands behind a label ("    seen   ") and behind a layer's name. */
#define LABEL_COLUMNS 11
#define LAYER_COLUMNS 19

enum style { PLAIN, BOLD, DIM, RED, YELLOW, GREEN };

struct screen {
	const struct rd_text_options *options;
	FILE *out;
};

static void begin_style(const struct screen *s, enum style style)
{
	static const char *const codes[] = {
		[PLAIN] = "",         [BOLD] = "\033[1m",    [DIM] = "\033[2m",
		[RED] = "\033[1;31m", [YELLOW] = "\033[33m", [GREEN] = "\033[32m",
	};

	if (s->options->color)
		fputs(codes[style], s->out);
}

static void end_style(const struct screen *s, enum style style)
{
	if (s->options->color && style != PLAIN)
		fputs("\033[0m", s->out);
}

/* Text of a host is shown without anything that could drive a terminal, and in ASCII where that is wanted. */
static char *safe(const struct screen *s, const char *text)
{
	rd_auto_free char *printable = rd_str_printable(text);
	struct rd_strbuf sb = RD_STRBUF_INIT;

	if (s->options->utf8)
		return rd_steal(printable);
	for (const char *c = printable; *c;) {
		size_t n = rd_utf8_length(c);

		rd_strbuf_addc(&sb, (char)(n > 1 ? '?' : *c));
		c += n ? n : 1;
	}
	return rd_strbuf_detach(&sb);
}

static void put(const struct screen *s, enum style style, const char *text)
{
	rd_auto_free char *clean = safe(s, text);

	begin_style(s, style);
	fputs(clean, s->out);
	end_style(s, style);
}

static void spaces(const struct screen *s, size_t n)
{
	fprintf(s->out, "%*s", (int)n, "");
}

/* Words wrapped between @indent and the last column; the cursor stands at @indent. A word too long for a line is not cut. */
static void wrap(const struct screen *s, enum style style, const char *text, size_t indent)
{
	rd_auto_free char *clean = safe(s, text);
	const char *word = clean + strspn(clean, " ");
	size_t at = indent;

	begin_style(s, style);
	while (*word) {
		size_t n = strcspn(word, " ");
		rd_auto_free char *piece = rd_xstrndup(word, n);
		size_t columns = rd_utf8_columns(piece);

		if (at > indent && at + 1 + columns > s->options->columns) {
			putc('\n', s->out);
			spaces(s, indent);
			at = indent;
		} else if (at > indent) {
			putc(' ', s->out);
			at++;
		}
		fputs(piece, s->out);
		at += columns;
		word += n;
		word += strspn(word, " ");
	}
	end_style(s, style);
	putc('\n', s->out);
}

static const struct {
	const char *word;
	enum style style;
} marks[] = {
	[RD_STATUS_OK] = { " ok ", GREEN },    [RD_STATUS_WARNING] = { "warn", YELLOW },
	[RD_STATUS_ERROR] = { "FAIL", RED },   [RD_STATUS_UNKNOWN] = { " ?  ", YELLOW },
	[RD_STATUS_SKIPPED] = { " -  ", DIM }, [RD_STATUS_BLOCKED] = { " .  ", DIM },
};

static void show_layers(const struct screen *s, const struct rd_report *report)
{
	for (unsigned i = 0; i < RD_LAYER_COUNT; i++) {
		enum rd_status status = report->layers[i].status;
		bool is_dim = status == RD_STATUS_SKIPPED || status == RD_STATUS_BLOCKED;

		putc(' ', s->out);
		put(s, marks[status].style, marks[status].word);
		fprintf(s->out, "  %-10s  ", rd_layer_name((enum rd_layer)i));
		wrap(s, is_dim ? DIM : PLAIN, report->layers[i].summary, LAYER_COLUMNS);
	}
}

static void add_value(const struct rd_evidence *e, struct rd_strbuf *ret)
{
	size_t begin = ret->len;

	if (e->is_count) {
		rd_strbuf_addf(ret, "%zu", rd_fact_count(e->value));
		return;
	}
	rd_fact_format(e->value, ret);
	if (rd_fact_state(e->value) == RD_FACT_UNKNOWN && *rd_fact_reason(e->value))
		rd_strbuf_addf(ret, " (%s)", rd_fact_reason(e->value));
	if (ret->len == begin)
		rd_strbuf_add(ret, "none");
}

/* "fact = value", and the source at the right or below. */
static void show_evidence(const struct screen *s, const struct rd_evidence *e, bool first)
{
	rd_auto_strbuf struct rd_strbuf value = RD_STRBUF_INIT, left = RD_STRBUF_INIT;
	rd_auto_free char *shown = NULL, *source = safe(s, e->source);
	size_t used;

	add_value(e, &value);
	if (s->options->verbosity < 1 && rd_utf8_columns(value.buf) > VALUE_COLUMNS) {
		rd_strbuf_truncate(&value, rd_utf8_fit(value.buf, VALUE_COLUMNS - 3));
		rd_strbuf_add(&value, "...");
	}
	rd_strbuf_addf(&left, "%s = %s", e->fact, value.buf);
	shown = safe(s, left.buf);
	fputs(first ? "    seen   " : "           ", s->out);
	used = LABEL_COLUMNS + rd_utf8_columns(shown);
	if (used > s->options->columns) {
		wrap(s, PLAIN, left.buf, LABEL_COLUMNS);
		if (!*source)
			return;
		spaces(s, LABEL_COLUMNS + 2);
		put(s, DIM, e->source);
		putc('\n', s->out);
		return;
	}
	fputs(shown, s->out);
	if (*source && used + 2 + rd_utf8_columns(source) <= s->options->columns) {
		spaces(s, s->options->columns - used - rd_utf8_columns(source));
	} else if (*source) {
		putc('\n', s->out);
		spaces(s, LABEL_COLUMNS + 2);
	}
	put(s, DIM, e->source);
	putc('\n', s->out);
}

static void show_all_evidence(const struct screen *s, const struct rd_evidence *v, size_t n)
{
	size_t shown = s->options->verbosity < 1 && n > EVIDENCE_SHOWN ? EVIDENCE_SHOWN : n;

	for (size_t i = 0; i < shown; i++)
		show_evidence(s, &v[i], i == 0);
	if (shown < n) {
		spaces(s, LABEL_COLUMNS);
		fprintf(s->out, "and %zu more (-v shows them)\n", n - shown);
	}
}

static void put_words(const struct screen *s, const struct rd_strv *words)
{
	for (size_t i = 0; words && i < words->n; i++) {
		putc(' ', s->out);
		put(s, BOLD, words->v[i]);
	}
}

/* A command stays whole, to be copied: it is never wrapped. */
static void show_step(const struct screen *s, const char *words_and_command)
{
	rd_auto_free char *text = rd_command_about(words_and_command, s->options->again);
	const char *command = rd_command_in(text);
	rd_auto_free char *words = command ? rd_xstrndup(text, (size_t)(command - text)) : NULL;

	if (!command) {
		wrap(s, PLAIN, text, LABEL_COLUMNS);
		return;
	}
	if (LABEL_COLUMNS + rd_utf8_columns(text) <= s->options->columns) {
		put(s, PLAIN, words);
	} else if (*words) {
		wrap(s, PLAIN, words, LABEL_COLUMNS);
		spaces(s, LABEL_COLUMNS + 2);
	}
	put(s, BOLD, command);
	putc('\n', s->out);
}

static void show_next(const struct screen *s, const struct rd_finding *f)
{
	for (size_t i = 0; i < f->next_n; i++) {
		fputs(i ? "           " : "    next   ", s->out);
		show_step(s, f->next[i]);
	}
}

/* Where the program itself has a step for it on this host, how to see that. */
static void show_fix(const struct screen *s, const struct rd_report *report, const struct rd_finding *f)
{
	for (size_t i = 0; f->rule->fixes[i]; i++) {
		const struct rd_fix *fix = rd_knowledge_fix(report->knowledge, f->rule->fixes[i]);

		if (!fix || !rd_fix_has_action_for(report->knowledge, fix, f, report->facts))
			continue;
		fputs("    fix    ", s->out);
		put(s, BOLD, "rocm-doctor fix --dry-run");
		put_words(s, s->options->again);
		put_words(s, s->options->again_fix);
		if (report->findings_n > 1) {
			put(s, BOLD, " --only ");
			put(s, BOLD, f->rule->id);
		}
		putc('\n', s->out);
		return;
	}
}

/* Whether a person would read the same of both, but for what they are about. */
static bool is_like(const struct rd_finding *a, const struct rd_finding *b)
{
	if (a->rule != b->rule || a->role != b->role || !a->subject || !b->subject || a->next_n != b->next_n)
		return false;
	for (size_t i = 0; i < a->next_n; i++)
		if (!rd_streq(a->next[i], b->next[i]))
			return false;
	return rd_streq(a->title, b->title) && rd_streq(a->detail, b->detail);
}

/* A finding that is like an earlier one is told of there. */
static bool is_told(const struct rd_report *report, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_like(report->findings[i], report->findings[index]))
			return true;
	return false;
}

/* The id, and the subject where there is one; with those of findings that are like it. */
static void show_name(const struct screen *s, const struct rd_report *report, const struct rd_finding *f, enum style style,
                      size_t indent)
{
	rd_auto_strbuf struct rd_strbuf subjects = RD_STRBUF_INIT;
	size_t more = 0;

	spaces(s, indent);
	put(s, style, f->rule->id);
	if (!f->subject) {
		putc('\n', s->out);
		return;
	}
	rd_strbuf_add(&subjects, f->subject);
	for (size_t i = 0; i < report->findings_n; i++) {
		if (report->findings[i] == f || !is_like(f, report->findings[i]))
			continue;
		if (s->options->verbosity > 0)
			rd_strbuf_addf(&subjects, " %s", report->findings[i]->subject);
		more++;
	}
	if (more && s->options->verbosity < 1)
		rd_strbuf_addf(&subjects, " and %zu more", more);
	spaces(s, 3);
	wrap(s, PLAIN, subjects.buf, indent + rd_utf8_columns(f->rule->id) + 3);
}

static void show_list(const struct screen *s, const char *label, const char *const *ids, size_t n)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? ", " : "", ids[i]);
	fprintf(s->out, "    %-6s ", label);
	wrap(s, DIM, sb.buf, LABEL_COLUMNS);
}

/* Whether a root is among a finding's causes, its causes' causes and so on. */
static bool stems_from(const struct rd_report *report, const struct rd_finding *f, const char *root)
{
	for (size_t i = 0; i < f->caused_by_n; i++) {
		if (rd_streq(f->caused_by[i], root))
			return true;
		/* Rules have no cycles, so this ends. */
		for (size_t j = 0; j < report->findings_n; j++) {
			const struct rd_finding *cause = report->findings[j];

			if (cause->role == RD_CONSEQUENCE && rd_streq(cause->rule->id, f->caused_by[i]) &&
			    stems_from(report, cause, root))
				return true;
		}
	}
	return false;
}

static void show_consequences(const struct screen *s, const struct rd_report *report, const struct rd_finding *root)
{
	const char **ids = rd_xcalloc(report->findings_n, sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < report->findings_n; i++) {
		const struct rd_finding *f = report->findings[i];
		bool seen = false;

		if (f->role != RD_CONSEQUENCE || !stems_from(report, f, root->rule->id))
			continue;
		for (size_t j = 0; j < n && !seen; j++)
			seen = rd_streq(ids[j], f->rule->id);
		if (!seen)
			ids[n++] = f->rule->id;
	}
	if (n)
		show_list(s, "so", ids, n);
	free(ids);
}

static void show_finding(const struct screen *s, const struct rd_report *report, const struct rd_finding *f)
{
	show_name(s, report, f, f->severity == RD_ERROR ? RED : YELLOW, 2);
	spaces(s, 4);
	wrap(s, BOLD, f->title, 4);
	if (*f->detail) {
		spaces(s, 4);
		wrap(s, PLAIN, f->detail, 4);
	}
	show_all_evidence(s, f->evidence, f->evidence_n);
	/* Of a consequence only the cause is to be mended. */
	if (f->role == RD_CONSEQUENCE) {
		show_list(s, "cause", f->caused_by, f->caused_by_n);
	} else {
		show_next(s, f);
		show_fix(s, report, f);
	}
	if (f->unchecked_causes_n)
		show_list(s, "maybe", f->unchecked_causes, f->unchecked_causes_n);
	for (size_t i = 0; s->options->verbosity > 0 && f->rule->references[i]; i++)
		show_list(s, i ? "" : "see", &f->rule->references[i], 1);
	if (f->role != RD_INDEPENDENT)
		show_consequences(s, report, f);
}

static const char *ordinal(size_t n)
{
	static const char *const words[] = { "first", "second", "third", "fourth", "fifth", "sixth" };

	return n < RD_ARRAY_SIZE(words) ? words[n] : "next";
}

static size_t count_role(const struct rd_report *report, enum rd_role role, enum rd_severity least)
{
	size_t n = 0;

	for (size_t i = 0; i < report->findings_n; i++)
		n += report->findings[i]->role == role && report->findings[i]->severity >= least && !is_told(report, i);
	return n;
}

static void show_roots(const struct screen *s, const struct rd_report *report)
{
	size_t roots = count_role(report, RD_ROOT_CAUSE, RD_INFO), shown = 0;

	for (size_t i = 0; i < report->findings_n; i++) {
		if (report->findings[i]->role != RD_ROOT_CAUSE || is_told(report, i))
			continue;
		putc('\n', s->out);
		begin_style(s, BOLD);
		fputs("Root cause", s->out);
		if (roots > 1)
			fprintf(s->out, ", %s", ordinal(shown));
		if (roots > 1 && !shown)
			fprintf(s->out, " of %zu", roots);
		end_style(s, BOLD);
		putc('\n', s->out);
		show_finding(s, report, report->findings[i]);
		shown++;
	}
}

static void show_heading(const struct screen *s, const char *text)
{
	put(s, BOLD, text);
	putc('\n', s->out);
}

static void show_warnings(const struct screen *s, const struct rd_report *report)
{
	bool any = false;

	for (size_t i = 0; i < report->findings_n; i++) {
		const struct rd_finding *f = report->findings[i];

		if (f->role != RD_INDEPENDENT || f->severity != RD_WARNING || is_told(report, i))
			continue;
		putc('\n', s->out);
		if (!any)
			show_heading(s, "Also worth mending");
		any = true;
		show_finding(s, report, f);
	}
}

/* Selected, while what they follow from was not. */
static void show_orphans(const struct screen *s, const struct rd_report *report)
{
	bool any = false;

	for (size_t i = 0; i < report->findings_n; i++) {
		const struct rd_finding *f = report->findings[i];

		if (!rd_report_lacks_cause(report, f) || is_told(report, i))
			continue;
		putc('\n', s->out);
		if (!any)
			show_heading(s, "Follows from what was not selected");
		any = true;
		show_finding(s, report, f);
	}
}

static size_t count_orphans(const struct rd_report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->findings_n; i++)
		n += rd_report_lacks_cause(report, report->findings[i]) && !is_told(report, i);
	return n;
}

/* What is worth knowing and is no fault: one line each. */
static void show_notes(const struct screen *s, const struct rd_report *report)
{
	bool any = false;

	for (size_t i = 0; i < report->findings_n; i++) {
		const struct rd_finding *f = report->findings[i];

		if (f->role != RD_INDEPENDENT || f->severity != RD_INFO || is_told(report, i))
			continue;
		if (!any)
			putc('\n', s->out);
		any = true;
		fputs(" note  ", s->out);
		wrap(s, PLAIN, f->title, 7);
		if (s->options->verbosity < 1)
			continue;
		show_name(s, report, f, DIM, 7);
		if (*f->detail) {
			spaces(s, 7);
			wrap(s, PLAIN, f->detail, 7);
		}
		show_all_evidence(s, f->evidence, f->evidence_n);
		show_next(s, f);
	}
}

static void show_unknown(const struct screen *s, const struct rd_report *report)
{
	if (report->unknown_n)
		fputs("\nCould not be read\n", s->out);
	for (size_t i = 0; i < report->unknown_n; i++) {
		const struct rd_unknown *u = &report->unknown[i];
		rd_auto_free char *line = rd_xasprintf("%s: %s%s%s", u->fact, u->reason, *u->source ? ", " : "", u->source);

		spaces(s, 2);
		wrap(s, PLAIN, line, 2);
	}
}

static void show_clear(const struct screen *s, const struct rd_report *report)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < report->clear_n; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? " " : "", report->clear[i]->id);
	fprintf(s->out, "\nFound clear (%zu)\n  ", report->clear_n);
	wrap(s, DIM, sb.buf, 2);
}

static enum rd_status requirement_status(enum rd_tri result)
{
	return result == RD_TRUE ? RD_STATUS_OK : result == RD_FALSE ? RD_STATUS_ERROR : RD_STATUS_UNKNOWN;
}

static void show_requirements(const struct screen *s, const struct rd_report *report)
{
	if (report->requirements_n)
		putc('\n', s->out);
	for (size_t i = 0; i < report->requirements_n; i++) {
		enum rd_status status = requirement_status(report->requirements[i].result);

		putc(' ', s->out);
		put(s, marks[status].style, marks[status].word);
		fputs("  require     ", s->out);
		wrap(s, PLAIN, report->requirements[i].expression, LAYER_COLUMNS);
		if (status != RD_STATUS_OK || s->options->verbosity > 0)
			show_all_evidence(s, report->requirements[i].evidence, report->requirements[i].evidence_n);
	}
}

static bool permission_would_help(const struct rd_report *report)
{
	for (size_t i = 0; i < report->unknown_n; i++)
		if (rd_streq(report->unknown[i].reason, "permission denied") ||
		    rd_streq(report->unknown[i].reason, "operation not permitted"))
			return true;
	return false;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void verdict_of_roots(struct rd_strbuf *sb, const struct rd_report *report)
{
	size_t roots = count_role(report, RD_ROOT_CAUSE, RD_INFO), warnings = count_role(report, RD_INDEPENDENT, RD_WARNING);
	size_t follow = count_role(report, RD_CONSEQUENCE, RD_INFO);

	rd_strbuf_addf(sb, "%zu root cause%s", roots, plural(roots));
	if (follow)
		rd_strbuf_addf(sb, ", %zu finding%s follow%s from %s", follow, plural(follow), follow == 1 ? "s" : "",
		               roots == 1 ? "it" : "them");
	if (warnings)
		rd_strbuf_addf(sb, ", %zu warning%s", warnings, plural(warnings));
	if (report->waiting)
		rd_strbuf_addf(sb, ", %zu check%s wait%s", report->waiting, plural(report->waiting),
		               report->waiting == 1 ? "s" : "");
	rd_strbuf_addc(sb, '.');
}

static void verdict_without_roots(struct rd_strbuf *sb, const struct rd_report *report)
{
	size_t warnings = count_role(report, RD_INDEPENDENT, RD_WARNING), orphans = count_orphans(report), all;
	const char *waiting = rd_report_waiting_layer(report);

	if (orphans) {
		rd_strbuf_addf(sb, "%zu finding%s follow%s from what was not selected.", orphans, plural(orphans),
		               orphans == 1 ? "s" : "");
	} else if (warnings) {
		rd_strbuf_addf(sb, "Nothing is broken; %zu warning%s.", warnings, plural(warnings));
	} else if (waiting) {
		rd_strbuf_addf(sb, "Nothing wrong was found, but %s waits for what was not selected.", waiting);
	} else if (report->status == RD_STATUS_UNKNOWN) {
		rd_strbuf_add(sb, "Nothing wrong was found, but not every layer could be examined.");
	} else {
		rd_strbuf_addf(sb, "Nothing is %s.", rd_report_unmet(report) ? "broken" : "wrong");
	}
	all = report->checked + report->undecided;
	rd_strbuf_addf(sb, " Checked %zu", report->checked);
	if (report->undecided)
		rd_strbuf_addf(sb, " of %zu", all);
	rd_strbuf_addf(sb, " thing%s.", plural(all));
}

static void show_verdict(const struct screen *s, const struct rd_report *report)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	size_t notes = count_role(report, RD_INDEPENDENT, RD_INFO) - count_role(report, RD_INDEPENDENT, RD_WARNING);
	size_t unmet = rd_report_unmet(report);

	if (count_role(report, RD_ROOT_CAUSE, RD_INFO))
		verdict_of_roots(&sb, report);
	else
		verdict_without_roots(&sb, report);
	if (unmet)
		rd_strbuf_addf(&sb, " %zu requirement%s not met.", unmet, unmet == 1 ? " is" : "s are");
	if (report->unknown_n && s->options->verbosity < 1)
		rd_strbuf_addf(&sb, " %zu fact%s could not be read%s (-v lists %s).", report->unknown_n,
		               plural(report->unknown_n), permission_would_help(report) ? " without root" : "",
		               report->unknown_n == 1 ? "it" : "them");
	if (notes && s->options->verbosity < 1)
		rd_strbuf_add(&sb, " -v explains the notes.");
	if (s->options->exit_status)
		rd_strbuf_addf(&sb, " Exit status %d.", s->options->exit_status);
	putc('\n', s->out);
	wrap(s, PLAIN, sb.buf, 0);
}

/* -q: one line a cause or warning, nothing on a healthy host. */
static void show_quietly(const struct screen *s, const struct rd_report *report)
{
	for (size_t i = 0; i < report->findings_n; i++) {
		const struct rd_finding *f = report->findings[i];

		if ((f->role == RD_CONSEQUENCE && !rd_report_lacks_cause(report, f)) || f->severity == RD_INFO)
			continue;
		put(s, f->severity == RD_ERROR ? RED : YELLOW, rd_severity_name(f->severity));
		fprintf(s->out, "  %s  ", f->rule->id);
		put(s, PLAIN, f->title);
		putc('\n', s->out);
	}
	for (size_t i = 0; i < RD_LAYER_COUNT; i++) {
		if (report->layers[i].unjudged) {
			fprintf(s->out, "unknown  %s  ", rd_layer_name((enum rd_layer)i));
			put(s, PLAIN, report->layers[i].summary);
			putc('\n', s->out);
		}
	}
	for (size_t i = 0; i < report->requirements_n; i++) {
		if (report->requirements[i].result == RD_TRUE)
			continue;
		fprintf(s->out, "%s  require  ", report->requirements[i].result == RD_FALSE ? "unmet" : "unknown");
		put(s, PLAIN, report->requirements[i].expression);
		for (size_t j = 0; j < report->requirements[i].evidence_n && j < EVIDENCE_SHOWN; j++) {
			const struct rd_evidence *e = &report->requirements[i].evidence[j];
			rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

			rd_strbuf_addf(&sb, "%s%s = ", j ? ", " : "  ", e->fact);
			add_value(e, &sb);
			put(s, PLAIN, sb.buf);
		}
		putc('\n', s->out);
	}
}

static void show_whole(const struct screen *s, const struct rd_report *report)
{
	wrap(s, BOLD, report->headline, 0);
	putc('\n', s->out);
	show_layers(s, report);
	show_roots(s, report);
	show_orphans(s, report);
	show_warnings(s, report);
	show_notes(s, report);
	show_requirements(s, report);
	if (s->options->verbosity > 0) {
		show_unknown(s, report);
		show_clear(s, report);
	}
	show_verdict(s, report);
}

int rd_render_report_text(const struct rd_report *report, const struct rd_text_options *options, FILE *out)
{
	struct screen s = { options, out };

	if (options->verbosity < 0)
		show_quietly(&s, report);
	else
		show_whole(&s, report);
	return ferror(out) ? -EIO : 0;
}
