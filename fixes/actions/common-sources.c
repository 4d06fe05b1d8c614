/* Sources are edited line by line, so that comments and layout stay. */

#include "common-sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

int source_check_word(const char *value, struct rd_error *err)
{
	/* Stars stand for what was hidden. */
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/%+@=&?*";

	if (*value && *value != '-' && !value[strspn(value, good)] && strlen(value) <= 1024)
		return 0;
	return rd_error_set(err, -EINVAL, "'%.80s' cannot stand in a source of apt", value);
}

int source_check_file(const char *path, struct rd_error *err)
{
	int r = rd_arg_check_path(path, err);

	if (r < 0)
		return r;
	if (rd_streq(path, "/etc/apt/sources.list") || rd_str_has_prefix(path, "/etc/apt/sources.list.d/"))
		return 0;
	return rd_error_set(err, -EINVAL, "'%s' is no file of apt's sources", path);
}

static bool has_part(const char *uri, const char *part)
{
	rd_auto_strv struct rd_strv parts = RD_STRV_INIT;

	rd_strv_split(&parts, uri, "/", false);
	return rd_strv_has(&parts, part);
}

static bool is_meant(const struct source_edit *e, const char *uri)
{
	rd_auto_free char *shown = rd_xstrdup(uri);

	/* What is meant was told without user and password. */
	rd_redact(shown);
	if (e->uri)
		return rd_streq(e->uri, shown);
	return has_part(uri, e->product) && has_part(uri, e->release);
}

static bool any_is_meant(const struct source_edit *e, const char *words)
{
	rd_auto_strv struct rd_strv uris = RD_STRV_INIT;

	rd_strv_split(&uris, words, " \t", false);
	for (size_t i = 0; i < uris.n; i++)
		if (is_meant(e, uris.v[i]))
			return true;
	return false;
}

/* The line with the words that equal @old replaced, from @offset on; blanks stay. */
static void add_replaced(struct rd_strbuf *out, const char *line, size_t offset, const char *old, const char *new)
{
	rd_strbuf_addn(out, line, offset);
	for (line += offset; *line;) {
		size_t blanks = strspn(line, " \t"), word;

		rd_strbuf_addn(out, line, blanks);
		line += blanks;
		word = strcspn(line, " \t");
		if (word == strlen(old) && strncmp(line, old, word) == 0)
			rd_strbuf_add(out, new);
		else
			rd_strbuf_addn(out, line, word);
		line += word;
	}
}

/* ------------------------------------------------------------ one line a source */

/* Where a line of the form "deb [options] URI SUITE ..." has its two words. */
struct words {
	const char *uri, *suite;
	size_t uri_len, suite_len;
};

static bool find_words(const char *line, struct words *ret)
{
	const char *at = line + strspn(line, " \t");

	if (strncmp(at, "deb", 3) != 0)
		return false;
	at += strcspn(at, " \t");
	at += strspn(at, " \t");
	if (*at == '[') {
		at += strcspn(at, "]");
		at += *at ? 1 : 0;
		at += strspn(at, " \t");
	}
	ret->uri = at;
	ret->uri_len = strcspn(at, " \t");
	at += ret->uri_len;
	ret->suite = at + strspn(at, " \t");
	ret->suite_len = strcspn(ret->suite, " \t");
	return true;
}

static void edit_line(const struct source_edit *e, const char *line, struct rd_strbuf *out)
{
	rd_auto_free char *uri = NULL, *suite = NULL;
	struct words w;

	if (find_words(line, &w)) {
		uri = rd_xstrndup(w.uri, w.uri_len);
		suite = rd_xstrndup(w.suite, w.suite_len);
	}
	if (!uri || !is_meant(e, uri) || (e->suite && !rd_streq(e->suite, suite))) {
		rd_strbuf_add(out, line);
	} else if (e->disable) {
		rd_strbuf_addf(out, "# rocm-doctor: %s", line);
	} else {
		rd_strbuf_addn(out, line, (size_t)(w.uri - line));
		rd_strbuf_add(out, e->new_uri ? e->new_uri : uri);
		rd_strbuf_addn(out, w.uri + w.uri_len, (size_t)(w.suite - w.uri) - w.uri_len);
		rd_strbuf_add(out, e->new_suite ? e->new_suite : suite);
		rd_strbuf_add(out, w.suite + w.suite_len);
	}
}

/* ------------------------------------------------------------ deb822 */

enum field { FIELD_OTHER, FIELD_URIS, FIELD_SUITES, FIELD_ENABLED };

/* The field that a line belongs to, and where its value begins. */
static enum field field_of(const char *line, enum field before, size_t *ret_value)
{
	static const struct {
		const char *name;
		enum field field;
	} names[] = { { "URIs:", FIELD_URIS }, { "Suites:", FIELD_SUITES }, { "Enabled:", FIELD_ENABLED } };

	*ret_value = 0;
	if (*line == ' ' || *line == '\t' || *line == '#')
		return *line == '#' ? FIELD_OTHER : before;
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		if (strncasecmp(line, names[i].name, strlen(names[i].name)) == 0) {
			*ret_value = strlen(names[i].name);
			return names[i].field;
		}
	return FIELD_OTHER;
}

struct paragraph {
	bool meant, suite, enabled_line;
	size_t uris;
};

static struct paragraph look(const struct source_edit *e, const struct rd_strv *lines, size_t from, size_t to)
{
	struct paragraph p = { .suite = !e->suite };
	enum field field = FIELD_OTHER;

	for (size_t i = from; i < to; i++) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;
		size_t value;

		field = field_of(lines->v[i], field, &value);
		rd_strv_split(&words, lines->v[i] + value, " \t", false);
		if (field == FIELD_URIS) {
			p.meant = p.meant || any_is_meant(e, lines->v[i] + value);
			p.uris += words.n;
		}
		p.suite = p.suite || (field == FIELD_SUITES && rd_strv_has(&words, e->suite));
		p.enabled_line = p.enabled_line || field == FIELD_ENABLED;
	}
	return p;
}

static void edit_paragraph(const struct source_edit *e, const struct rd_strv *lines, size_t from, size_t to,
                           const struct paragraph *p, struct rd_strbuf *out)
{
	enum field field = FIELD_OTHER;
	bool told = p->enabled_line;

	for (size_t i = from; i < to; i++) {
		const char *line = lines->v[i];
		size_t value;

		field = field_of(line, field, &value);
		if (e->disable && field == FIELD_ENABLED)
			rd_strbuf_add(out, "Enabled: no");
		else if (e->new_uri && field == FIELD_URIS)
			add_replaced(out, line, value, e->uri, e->new_uri);
		else if (e->new_suite && field == FIELD_SUITES)
			add_replaced(out, line, value, e->suite, e->new_suite);
		else
			rd_strbuf_add(out, line);
		rd_strbuf_add(out, i + 1 < lines->n ? "\n" : "");
		if (e->disable && !told && *line != '#') {
			rd_strbuf_add(out, "Enabled: no\n");
			told = true;
		}
	}
}

static int edit_paragraphs(const struct source_edit *e, const struct rd_strv *lines, struct rd_strbuf *out,
                           struct rd_error *err)
{
	for (size_t from = 0, to; from < lines->n; from = to) {
		struct paragraph p;
		struct source_edit nothing = { .file = e->file };

		for (to = from; to < lines->n && *lines->v[to]; to++)
			;
		p = look(e, lines, from, to);
		p.meant = p.meant && p.suite;
		if (p.meant && p.uris > 1)
			return rd_error_set(err, -EOPNOTSUPP, "%s has several addresses in one entry", e->file);
		edit_paragraph(p.meant ? e : &nothing, lines, from, to, &p, out);
		for (; to < lines->n && !*lines->v[to]; to++)
			rd_strbuf_add(out, to + 1 < lines->n ? "\n" : "");
	}
	return 0;
}

void source_fetch_lists(struct rd_step *step, const char *file)
{
	rd_auto_free char *list = rd_xasprintf("Dir::Etc::sourcelist=%s", file);

	rd_step_run(step,
	            (const char *const[]){ "apt-get", "update", "-o", list, "-o", "Dir::Etc::sourceparts=-", "-o",
	                                   "APT::Get::List-Cleanup=0", "-o", "DPkg::Lock::Timeout=300", NULL },
	            (const char *const[]){ "true", NULL });
}

int source_edit(struct rd_step *step, struct rd_sysroot *sr, const struct source_edit *edit, struct rd_error *err)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf out = RD_STRBUF_INIT;
	rd_auto_free char *text = NULL;
	int r = source_check_file(edit->file, err);

	if (r < 0)
		return r;
	r = rd_sysroot_read(sr, &text, edit->file);
	if (r < 0)
		return rd_error_set(err, -EOPNOTSUPP, "cannot read '%s': %s", edit->file, rd_strerror(r));
	/* With a line end at the end the last piece is empty. */
	rd_strv_split(&lines, text, "\n", true);
	if (rd_str_has_suffix(edit->file, ".sources"))
		r = edit_paragraphs(edit, &lines, &out, err);
	for (size_t i = 0; i < lines.n && !rd_str_has_suffix(edit->file, ".sources"); i++) {
		edit_line(edit, lines.v[i], &out);
		rd_strbuf_add(&out, i + 1 < lines.n ? "\n" : "");
	}
	if (r < 0)
		return r;
	rd_step_write(step, edit->file, out.buf, 0644);
	if (!edit->disable && !rd_streq(text, out.buf))
		source_fetch_lists(step, edit->file);
	return 0;
}
