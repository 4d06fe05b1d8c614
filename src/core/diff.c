/* Unified diffs of small text files. */

#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/plan.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define CONTEXT 3
/* Beyond this many cells the differing part is shown as replaced whole. */
#define CELLS_MAX ((size_t)4 << 20)

struct line {
	const char *text;
	size_t len; /* with its line end, where it has one */
};

struct lines {
	struct line *v;
	size_t n, allocated;
};

static void split(struct lines *lines, const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		len += text[len] == '\n';
		RD_GROW(lines->v, lines->n, lines->allocated);
		lines->v[lines->n++] = (struct line){ text, len };
		text += len;
	}
}

static bool same(const struct line *a, const struct line *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* ' ' kept, '-' only before, '+' only after, in the order of the diff. */
struct script {
	char *v;
	size_t n, allocated;
};

static void add(struct script *s, char op, size_t times)
{
	while (times--) {
		RD_GROW(s->v, s->n, s->allocated);
		s->v[s->n++] = op;
	}
}

/* The longest common subsequence of two parts, by the table of its lengths from each pair of lines to the end. */
static void compare(struct script *s, const struct line *a, size_t n, const struct line *b, size_t m)
{
	unsigned *table;
	size_t i = 0, j = 0, width = m + 1;

	if (!n || !m || n > CELLS_MAX / width) {
		add(s, '-', n);
		add(s, '+', m);
		return;
	}
	table = rd_xcalloc((n + 1) * width, sizeof(*table));
	for (size_t x = n; x-- > 0;)
		for (size_t y = m; y-- > 0;) {
			unsigned down = table[(x + 1) * width + y], right = table[x * width + y + 1];

			table[x * width + y] = same(&a[x], &b[y]) ? table[(x + 1) * width + y + 1] + 1
			                       : down > right     ? down
			                                          : right;
		}
	while (i < n || j < m) {
		if (i < n && j < m && same(&a[i], &b[j])) {
			add(s, ' ', 1);
			i++;
			j++;
		} else if (i < n && (j == m || table[(i + 1) * width + j] >= table[i * width + j + 1])) {
			add(s, '-', 1);
			i++;
		} else {
			add(s, '+', 1);
			j++;
		}
	}
	free(table);
}

static void make_script(struct script *s, const struct lines *a, const struct lines *b)
{
	size_t head = 0, tail = 0;

	while (head < a->n && head < b->n && same(&a->v[head], &b->v[head]))
		head++;
	while (tail < a->n - head && tail < b->n - head && same(&a->v[a->n - 1 - tail], &b->v[b->n - 1 - tail]))
		tail++;
	add(s, ' ', head);
	/* Nothing has no lines to point to. */
	compare(s, a->n ? a->v + head : NULL, a->n - head - tail, b->n ? b->v + head : NULL, b->n - head - tail);
	add(s, ' ', tail);
}

static void put_line(struct rd_strbuf *sb, char op, const struct line *line)
{
	rd_strbuf_addc(sb, op);
	rd_strbuf_addn(sb, line->text, line->len);
	if (line->text[line->len - 1] != '\n')
		rd_strbuf_add(sb, "\n\\ No newline at end of file\n");
}

/* Where a hunk that begins at a change ends: after the last change with no more than twice the context between. */
static size_t hunk_end(const struct script *s, size_t at)
{
	size_t last = at;

	for (size_t i = at; i < s->n && i <= last + 2 * CONTEXT; i++)
		if (s->v[i] != ' ')
			last = i;
	return last + 1;
}

static void put_range(struct rd_strbuf *sb, char sign, size_t begin, size_t n)
{
	/* A range of no lines names the line before it. */
	rd_strbuf_addf(sb, "%c%zu", sign, n ? begin + 1 : begin);
	if (n != 1)
		rd_strbuf_addf(sb, ",%zu", n);
}

static void put_hunk(struct rd_strbuf *sb, const struct script *s, size_t begin, size_t end, size_t x, size_t y,
                     const struct lines *a, const struct lines *b)
{
	size_t n = 0, m = 0;

	for (size_t i = begin; i < end; i++) {
		n += s->v[i] != '+';
		m += s->v[i] != '-';
	}
	rd_strbuf_add(sb, "@@ ");
	put_range(sb, '-', x, n);
	rd_strbuf_addc(sb, ' ');
	put_range(sb, '+', y, m);
	rd_strbuf_add(sb, " @@\n");
	for (size_t i = begin; i < end; i++) {
		put_line(sb, s->v[i], s->v[i] == '+' ? &b->v[y] : &a->v[x]);
		x += s->v[i] != '+';
		y += s->v[i] != '-';
	}
}

char *rd_diff(const char *path, const char *before, const char *after)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	struct lines a = { 0 }, b = { 0 };
	struct script s = { 0 };
	size_t x = 0, y = 0, at = 0;

	split(&a, before);
	split(&b, after);
	make_script(&s, &a, &b);
	while (at < s.n) {
		size_t begin, end;

		if (s.v[at] == ' ') {
			at++;
			x++;
			y++;
			continue;
		}
		begin = at > CONTEXT ? at - CONTEXT : 0;
		end = hunk_end(&s, at);
		end = end + CONTEXT < s.n ? end + CONTEXT : s.n;
		if (!sb.len)
			rd_strbuf_addf(&sb, "--- %s\n+++ %s\n", before ? path : "/dev/null", after ? path : "/dev/null");
		put_hunk(&sb, &s, begin, end, x - (at - begin), y - (at - begin), &a, &b);
		for (; at < end; at++) {
			x += s.v[at] != '+';
			y += s.v[at] != '-';
		}
	}
	/* An empty file that is made or removed has no lines to show. */
	if (!sb.len && !before != !after)
		rd_strbuf_addf(&sb, "--- %s\n+++ %s\n", before ? path : "/dev/null", after ? path : "/dev/null");
	free(a.v);
	free(b.v);
	free(s.v);
	return rd_strbuf_detach(&sb);
}
