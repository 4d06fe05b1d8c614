#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/pool.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

struct rd_template {
	struct rd_pool *pool; /* that it lies in */
	bool has_pool;        /* which is its own */
	/* Text and paths in turn; one of the two is set. */
	struct piece {
		const char *text;
		struct rd_expr *path;
	} * pieces;
	size_t n;
	const char *text;
	/* Set until the text is parsed. */
	const struct rd_schema *schema, *item;
};

/* More pieces than this there cannot be. */
static size_t count_pieces(const char *text)
{
	size_t n = 1;

	for (const char *at = text; (at = strstr(at, "${")); at += 2)
		n += 2;
	return n;
}

static void add_text(struct rd_template *t, struct rd_strbuf *literal)
{
	if (literal->len)
		t->pieces[t->n++].text = rd_pool_strndup(t->pool, literal->buf, literal->len);
	rd_strbuf_truncate(literal, 0);
}

static int parse_pieces(struct rd_template *t, const struct rd_schema *schema, const struct rd_schema *item,
                        struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf literal = RD_STRBUF_INIT;
	const char *at = t->text;

	t->pieces = rd_pool_alloc(t->pool, count_pieces(at) * sizeof(*t->pieces));
	while (*at) {
		rd_auto_free char *inner = NULL;
		struct rd_error below = RD_ERROR_INIT;
		struct rd_expr *path;
		const char *end;

		if (rd_str_has_prefix(at, "$${")) {
			rd_strbuf_add(&literal, "${");
			at += 3;
			continue;
		}
		if (!rd_str_has_prefix(at, "${")) {
			rd_strbuf_addc(&literal, *at++);
			continue;
		}
		end = strchr(at, '}');
		if (!end)
			return rd_error_set(err, -EINVAL, "column %zu: '${' without '}'", (size_t)(at - t->text) + 1);
		add_text(t, &literal);
		inner = rd_xstrndup(at + 2, (size_t)(end - at - 2));
		path = rd_expr_parse_path(t->pool, inner, schema, item, &below);
		if (!path) {
			rd_error_set(err, -EINVAL, "column %zu: in '${%s}': %s", (size_t)(at - t->text) + 1, inner,
			             below.message);
			rd_error_clear(&below);
			return -EINVAL;
		}
		t->pieces[t->n++].path = path;
		at = end + 1;
	}
	add_text(t, &literal);
	return 0;
}

struct rd_template *rd_template_new(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                    const struct rd_schema *item)
{
	struct rd_template *t = rd_pool_alloc(pool, sizeof(*t));

	t->pool = pool;
	t->text = text;
	t->schema = schema;
	t->item = item;
	return t;
}

struct rd_template *rd_template_parse_in(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                         const struct rd_schema *item, struct rd_error *err)
{
	struct rd_template *t = rd_template_new(pool, rd_pool_strdup(pool, text), NULL, NULL);

	return parse_pieces(t, schema, item, err) < 0 ? NULL : t;
}

struct rd_template *rd_template_parse(const char *text, const struct rd_schema *schema, const struct rd_schema *item,
                                      struct rd_error *err)
{
	struct rd_pool *pool = rd_xcalloc(1, sizeof(*pool));
	struct rd_template *t;

	*pool = (struct rd_pool)RD_POOL_INIT(480);
	t = rd_template_parse_in(pool, text, schema, item, err);
	if (t) {
		t->has_pool = true;
		return t;
	}
	rd_pool_clear(pool);
	free(pool);
	return NULL;
}

static const struct rd_template *parsed(const struct rd_template *t)
{
	struct rd_template *lazy = (struct rd_template *)t;

	if (t->schema && parse_pieces(lazy, t->schema, t->item, NULL) < 0)
		rd_log_debug("no template: '%s'", t->text);
	lazy->schema = NULL;
	return t;
}

struct rd_template *rd_template_free(struct rd_template *t)
{
	struct rd_pool *pool = t && t->has_pool ? t->pool : NULL;

	if (pool)
		rd_pool_clear(pool);
	free(pool);
	return NULL;
}

static void format_real(double value, struct rd_strbuf *ret)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6g", value);
	rd_strbuf_add(ret, text);
}

static void format_items(const struct rd_fact *f, struct rd_strbuf *ret)
{
	bool is_map = rd_fact_kind(f) == RD_MAP || rd_fact_kind(f) == RD_OBJECT;

	for (size_t i = 0; i < rd_fact_count(f); i++) {
		const struct rd_fact *item = rd_fact_at(f, i);

		rd_strbuf_add(ret, i ? ", " : "");
		if (is_map)
			rd_strbuf_addf(ret, "%s=", rd_fact_name(item));
		if (rd_fact_kind(item) != RD_OBJECT && rd_fact_kind(item) != RD_LIST)
			rd_fact_format(item, ret);
		else
			rd_strbuf_add(ret, "...");
	}
}

/* 16642998272 says little to a person; 15.5 GiB does. */
static void format_bytes(int64_t bytes, struct rd_strbuf *ret)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes == INT64_MAX) {
		rd_strbuf_add(ret, "no limit");
		return;
	}
	if (bytes < 1024) {
		rd_strbuf_addf(ret, "%" PRId64 " bytes", bytes);
		return;
	}
	for (; value >= 1024 && unit + 1 < RD_ARRAY_SIZE(units); unit++)
		value /= 1024;
	/* One decimal, and none where it would be a zero. */
	format_real((double)(int64_t)(value * 10 + 0.5) / 10, ret);
	rd_strbuf_addf(ret, " %s", units[unit]);
}

void rd_fact_format(const struct rd_fact *f, struct rd_strbuf *ret)
{
	if (rd_fact_state(f) == RD_FACT_UNKNOWN) {
		rd_strbuf_add(ret, "unknown");
		return;
	}
	switch (rd_fact_kind(f)) {
	case RD_BOOL:
		rd_strbuf_add(ret, rd_fact_bool(f) ? "true" : "false");
		break;
	case RD_INT:
		if (rd_str_has_suffix(rd_fact_name(f), "_bytes"))
			format_bytes(rd_fact_int(f), ret);
		else
			rd_strbuf_addf(ret, "%" PRId64, rd_fact_int(f));
		break;
	case RD_REAL:
		format_real(rd_fact_real(f), ret);
		break;
	case RD_STR:
		rd_strbuf_add(ret, rd_fact_str(f));
		break;
	case RD_STRS:
	case RD_MAP:
	case RD_OBJECT:
		format_items(f, ret);
		break;
	case RD_LIST:
		if (rd_fact_count(f))
			rd_strbuf_addf(ret, "%zu item%s", rd_fact_count(f), rd_fact_count(f) == 1 ? "" : "s");
		break;
	case RD_NONE:
		break;
	}
}

bool rd_template_render(const struct rd_template *t, const struct rd_fact *facts, const struct rd_fact *item,
                        struct rd_strbuf *ret)
{
	bool complete = true;

	parsed(t);
	for (size_t i = 0; i < t->n; i++) {
		const struct rd_fact *f;
		size_t before = ret->len;

		if (t->pieces[i].text) {
			rd_strbuf_add(ret, t->pieces[i].text);
			continue;
		}
		f = rd_expr_path_get(t->pieces[i].path, facts, item);
		if (rd_fact_state(f) == RD_FACT_KNOWN)
			rd_fact_format(f, ret);
		if (ret->len == before) {
			rd_strbuf_add(ret, "?");
			complete = false;
		}
	}
	return complete;
}

const char *rd_template_text(const struct rd_template *t)
{
	return t->text;
}

const struct rd_expr *rd_template_path(const struct rd_template *t)
{
	return parsed(t)->n == 1 ? t->pieces[0].path : NULL;
}

void rd_template_paths(const struct rd_template *t, struct rd_strv *ret)
{
	parsed(t);
	for (size_t i = 0; i < t->n; i++)
		if (t->pieces[i].path)
			rd_expr_paths(t->pieces[i].path, ret);
}
