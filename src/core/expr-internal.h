/* The tree of an expression, shared by the parser and the evaluator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/expr.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/schema.h"

enum rd_node {
	RD_NODE_OR,
	RD_NODE_AND,
	RD_NODE_NOT,
	RD_NODE_COMPARE,
	RD_NODE_PATH,
	RD_NODE_BOOL,
	RD_NODE_NUMBER,
	RD_NODE_STRING,
	RD_NODE_ANY,
	RD_NODE_ALL,
	RD_NODE_COUNT,
	RD_NODE_MIN,
	RD_NODE_MAX,
	RD_NODE_KNOWN,
	RD_NODE_VERSION,
};

enum rd_type { RD_TYPE_BOOL, RD_TYPE_NUMBER, RD_TYPE_STRING, RD_TYPE_VERSION, RD_TYPE_LIST, RD_TYPE_OTHER };

enum rd_op { RD_OP_EQ, RD_OP_NE, RD_OP_LT, RD_OP_LE, RD_OP_GT, RD_OP_GE };

struct rd_pool;

struct rd_path_step {
	char *name; /* NULL: an index */
	size_t index;
};

struct rd_expr {
	struct rd_pool *pool; /* of the whole tree, at its root; NULL at other nodes, and in a pool of others */
	enum rd_node node : 8;
	enum rd_type type : 8;
	enum rd_op op : 8;
	enum rd_version_scheme scheme : 8;
	bool boolean, is_whole; /* the number has no fraction and fits integer */
	bool from_item;
	struct rd_expr *left, *right; /* operands; a list and the expression over its items */
	int64_t integer;
	double number;
	char *text; /* a string, or a path as written */
	struct rd_path_step *steps;
	unsigned steps_n, steps_allocated;
	const struct rd_schema *schema; /* of a path */
	char *declared;                 /* the path as it is declared, "gpus[].name" */
};
