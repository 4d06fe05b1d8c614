/* The expression language of rules and --require: parsed and type-checked once, evaluated in three-valued logic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/tri.h"

struct rd_error;
struct rd_expr;
struct rd_fact;
struct rd_pool;
struct rd_schema;
struct rd_strbuf;
struct rd_strv;
struct rd_template;

/* Longest expression in bytes, deepest nesting: a rule file is input like any other. */
#define RD_EXPR_LENGTH_MAX 4096
#define RD_EXPR_DEPTH_MAX 64

/* The facts that decided an evaluation: the leaves read on the deciding side, without repetition. */
struct rd_trace {
	const struct rd_fact **facts;
	size_t n;
	/* Wanted as well: what any() and all() read of each item where no item decides, instead of the list. */
	bool items;
	/* Paths that were asked for and that nobody set (absent); caller frees with rd_trace_clear(). */
	struct rd_trace_absent {
		char *path;
	} * absent;
	size_t absent_n;
};
void rd_trace_clear(struct rd_trace *trace);

/*
 * rd_expr_parse - text to tree
 * @schema: every path is checked against it; a path that nobody declares is an error
 * @item: the schema that a leading "." starts from; NULL: there is none
 *
 * Returns the tree, or NULL with "column N: ..." in @err. That of _in() ends with the pool.
 */
struct rd_expr *rd_expr_parse(const char *text, const struct rd_schema *schema, const struct rd_schema *item,
                              struct rd_error *err) RD_MUST_CHECK;
struct rd_expr *rd_expr_parse_in(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                 const struct rd_schema *item, struct rd_error *err) RD_MUST_CHECK;
struct rd_expr *rd_expr_free(struct rd_expr *expr);

/*
 * rd_expr_parse_path - a path alone, as "for_each" and "evidence" want it; it ends with the pool
 * rd_expr_item_schema - what "." is inside it: the item of the list that the path names; NULL where it names no list
 */
struct rd_expr *rd_expr_parse_path(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                   const struct rd_schema *item, struct rd_error *err) RD_MUST_CHECK;
const struct rd_schema *rd_expr_item_schema(const struct rd_expr *path);
/* The fact that a path leads to; NULL where nobody set it. */
const struct rd_fact *rd_expr_path_get(const struct rd_expr *path, const struct rd_fact *facts, const struct rd_fact *item);

/*
 * rd_expr_eval - true, false or unknown
 * @item: what "." is, NULL for none
 * @trace: gets the leaves that decided; NULL: not wanted. For an unknown result these are the unknown leaves.
 */
enum rd_tri rd_expr_eval(const struct rd_expr *expr, const struct rd_fact *facts, const struct rd_fact *item,
                         struct rd_trace *trace);

/* True where all(list, ...) stands without a count(list) > 0 beside it; what lint warns of. */
bool rd_expr_has_unguarded_all(const struct rd_expr *expr, const char **ret_list);

/* Every declared path that the expression reads, "gpus[].pci.address", appended once each. */
void rd_expr_paths(const struct rd_expr *expr, struct rd_strv *ret);

/*
 * Templates: text with ${path}; "${.file}" is of the item, "$${" a literal "${". A list of strings is joined by ", ".
 */
struct rd_template *rd_template_parse(const char *text, const struct rd_schema *schema, const struct rd_schema *item,
                                      struct rd_error *err) RD_MUST_CHECK;
struct rd_template *rd_template_free(struct rd_template *t);
/* One of a pool, with which it ends, parsed once it is wanted: for a text that is known to be right, and stays. */
struct rd_template *rd_template_new(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                    const struct rd_schema *item);
/* One that is parsed at once, of a pool. */
struct rd_template *rd_template_parse_in(struct rd_pool *pool, const char *text, const struct rd_schema *schema,
                                         const struct rd_schema *item, struct rd_error *err) RD_MUST_CHECK;
/* Appends the text; false where a path in it is unknown or absent (which then reads "?"). */
bool rd_template_render(const struct rd_template *t, const struct rd_fact *facts, const struct rd_fact *item,
                        struct rd_strbuf *ret);
/* The text as it was written. */
const char *rd_template_text(const struct rd_template *t);
/* The single path that the whole template is, NULL where it is more than that. */
const struct rd_expr *rd_template_path(const struct rd_template *t);
void rd_template_paths(const struct rd_template *t, struct rd_strv *ret);

/* What a value looks like to a person: nothing for an absent one, "15.5 GiB" for what is named _bytes, "unknown". */
void rd_fact_format(const struct rd_fact *f, struct rd_strbuf *ret);
