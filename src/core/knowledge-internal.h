/* What the loader, the rules and the diagnosis share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/knowledge.h"
#include "util/pool.h"

struct cJSON;
struct rd_error;
struct rd_schema;

/* One JSON file that counts: not replaced and not masked. */
struct rd_knowledge_file {
	char *name;         /* "rules/kernel.json" */
	char *origin;       /* a path; NULL: built in */
	size_t turn;        /* 0: built in; else of which folder of the site: later ones win, whatever their names */
	const char *text;   /* owned where there is an origin */
	struct cJSON *json; /* parsed at first use; in the pool of its kind, or */
	bool is_slow;       /* by cJSON, which has to delete it */
};

struct rd_knowledge {
	struct rd_schema *schema; /* NULL until it is wanted */
	struct rd_pool pool;      /* of the rules */
	struct rd_pool tables;    /* of tables and profiles that are built in */
	bool strict;              /* what was built in is judged as what was not */
	struct rd_knowledge_file *files;
	size_t files_n, files_allocated;
	size_t turns_n;
	struct rd_rule **rules; /* by layer, then id */
	size_t rules_n, rules_allocated;
	struct rd_fix **fixes; /* by id */
	size_t fixes_n, fixes_allocated;
	bool has_rules, has_fixes; /* they are parsed, or could not be */
	/* explains[cause * rules_n + effect]: the edges, both spellings merged and globs resolved. */
	bool *explains;
	/* Indexes of rules, causes before effects. */
	size_t *order;
	char *version;
};

/*
 * Parse one rule, into @pool; @index is its place in the file, for messages. NULL with the reason in @err.
 * @trusted: its texts were judged when the program was built; they are parsed once they are wanted
 */
struct rd_rule *rd_rule_parse(struct rd_pool *pool, const struct cJSON *json, const char *origin, size_t index,
                              const struct rd_schema *schema, bool trusted, struct rd_error *err);

/* Parse one fix record; @where is the JSON pointer for messages. NULL with the reason in @err. */
struct rd_fix *rd_fix_parse(const struct cJSON *json, const char *origin, const char *where, struct rd_error *err);
struct rd_fix *rd_fix_free(struct rd_fix *fix);
/* A fix's texts as each rule that names it would see them: paths, types and actions exist. */
int rd_fix_check(const struct rd_knowledge *k, const struct rd_rule *rule, const struct rd_fix *fix, struct rd_error *err);

/* Where a rule is; the number of rules where there is none of that id. Once they are in order. */
size_t rd_knowledge_rule_index(const struct rd_knowledge *k, const char *id);

/* Merge the edges and put the rules in order. -ELOOP for a cycle, -ENOENT for an id that no rule has. */
int rd_knowledge_connect(struct rd_knowledge *k, struct rd_error *err);

/*
 * Parse strictly: errors name @origin, line and column; duplicate keys are errors, with their JSON pointer.
 */
struct cJSON *rd_json_parse(const char *text, const char *origin, struct rd_error *err);
