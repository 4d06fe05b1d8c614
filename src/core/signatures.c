/*
 * The patterns of a site's table of log signatures. What regcomp() makes of a pattern grows with every count in it, and counts
 * within counts multiply: "((x{255}){255}){255}" would take gigabytes. It grows with the fourth power of "\b" and the like that
 * follow each other: 500 of them keep it busy for minutes. With a back reference regexec() may take for ever.
 */

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/json.h"
#include "util/str.h"

/* The longest that is built in has 181 characters, and comes to 200 with its counts. */
#define LENGTH_MAX 1024
#define COUNT_MAX 255
#define SIZE_LIMIT 4096
#define ASSERTIONS_MAX 24

/* Behind a "[...]", in which "]" may come first and "[:alpha:]" stands for itself. */
static const char *behind_bracket(const char *c)
{
	c += 1 + (c[1] == '^');
	c += *c == ']';
	while (*c && *c != ']') {
		const char close[] = { c[1], ']', '\0' };
		const char *end = *c == '[' && c[1] && strchr(":.=", c[1]) ? strstr(c + 2, close) : NULL;

		c = end ? end + 2 : c + 1;
	}
	return *c ? c + 1 : c;
}

struct count {
	unsigned long low, high; /* high: no less than 1 */
};

/* "*", "+", "?", "{n}", "{n,}", "{n,m}" or "{,m}". */
static struct count count_at(const char *c)
{
	struct count count = { *c == '+', 1 };
	char *end = (char *)c + 1;

	if (*c != '{')
		return count;
	count.low = isdigit((unsigned char)*end) ? strtoul(end, &end, 10) : 0;
	count.high = *end == ',' && isdigit((unsigned char)end[1]) ? strtoul(end + 1, NULL, 10) : 0;
	if (count.high < count.low)
		count.high = count.low;
	count.high += !count.high;
	return count;
}

static const char *behind_count(const char *c)
{
	c += *c == '{' ? strcspn(c, "}") : 1;
	return c + (*c == '}');
}

/* A part of a pattern: the places that it comes to once its counts are written out, and whether it matches nothing at all. */
struct part {
	size_t size, assertions; /* those are counted in the size, too */
	bool may_be_empty;
};

struct reading {
	const char *at;
	const char *fault; /* NULL: none so far */
};

static struct part read_branches(struct reading *r, bool in_group);

static bool is_zero_width(const char *c)
{
	return *c == '^' || *c == '$' || (*c == '\\' && c[1] && strchr("bB<>`'", c[1]));
}

static struct part read_atom(struct reading *r)
{
	const char *c = r->at;
	struct part part = { 1, is_zero_width(c), is_zero_width(c) };

	r->at += *c == '\\' && c[1] ? 2 : 1;
	if (*c == '\\' && isdigit((unsigned char)c[1])) {
		r->fault = "a pattern may not refer back (\\1)";
	} else if (*c == '[') {
		r->at = behind_bracket(c);
	} else if (*c == '(') {
		part = read_branches(r, true);
		part.size++;
		r->at += *r->at == ')';
	}
	return part;
}

/*
 * A count behind a part. What may be empty need not be repeated, and nested it keeps regcomp() busy for ever, as
 * "^((x*)*){40}".
 */
static void apply_count(struct reading *r, struct part *part)
{
	struct count count = count_at(r->at);

	if (count.high > COUNT_MAX || count.low > COUNT_MAX)
		r->fault = "a count in a pattern may be 255 ({n,m})";
	else if (part->may_be_empty)
		r->fault = "something that may be empty is repeated";
	part->size = part->size * count.high + 1;
	part->assertions *= count.high;
	part->may_be_empty |= !count.low;
	r->at = behind_count(r->at);
}

/* Up to the end of the pattern, or of a group. A ")" without a "(" means itself, as does a count that counts nothing. */
static struct part read_branches(struct reading *r, bool in_group)
{
	struct part all = { 0 }, branch = { .may_be_empty = true };

	while (*r->at && !(in_group && *r->at == ')') && !r->fault) {
		struct part part;

		if (*r->at == '|') {
			all.may_be_empty |= branch.may_be_empty;
			branch.may_be_empty = true;
			r->at++;
			continue;
		}
		part = read_atom(r);
		while (*r->at && strchr("*+?{", *r->at) && part.size <= SIZE_LIMIT && !r->fault)
			apply_count(r, &part);
		branch.may_be_empty &= part.may_be_empty;
		all.size += part.size;
		all.assertions += part.assertions;
		if (all.size > SIZE_LIMIT)
			r->fault = "the counts of the pattern, written out, make it too long";
		else if (all.assertions > ASSERTIONS_MAX)
			r->fault = "a pattern may have 24 of ^, $ and the like, counts written out";
	}
	all.may_be_empty |= branch.may_be_empty;
	return all;
}

/* NULL, or why a pattern is refused. */
static const char *fault_of(const char *pattern)
{
	struct reading r = { .at = pattern };

	if (strlen(pattern) > LENGTH_MAX)
		return "a pattern may have 1024 characters";
	read_branches(&r, false);
	return r.fault;
}

static int refuse(const struct rd_knowledge_file *file, size_t index, const char *id, const char *why, struct rd_error *err)
{
	return rd_error_set(err, -EINVAL, "%s: /signatures/%zu/regex: %s (of '%s')", file->origin ? file->origin : file->name,
	                    index, why, id);
}

static int check(const struct rd_knowledge_file *file, size_t index, const cJSON *row, struct rd_error *err)
{
	const char *id = rd_json_str(row, "id"), *pattern = rd_json_str(row, "regex"), *fault = fault_of(pattern);
	char words[256];
	regex_t regex;
	int r;

	if (fault)
		return refuse(file, index, id, fault, err);
	r = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (r == 0) {
		regfree(&regex);
		return 0;
	}
	regerror(r, &regex, words, sizeof(words));
	*words = (char)tolower((unsigned char)*words);
	return refuse(file, index, id, words, err);
}

int rd_knowledge_check_signatures(const struct rd_knowledge *k, struct rd_error *err)
{
	const struct rd_knowledge_file *file = NULL;
	const cJSON *row;
	size_t index = 0;
	int r = 0;

	for (size_t i = 0; i < k->files_n && !file; i++)
		if (rd_streq(k->files[i].name, "tables/log_signatures.json"))
			file = &k->files[i];
	/* What is built in was judged when the program was. */
	if (!file || !(file->origin || k->strict))
		return 0;
	cJSON_ArrayForEach (row, rd_knowledge_rows(k, "log_signatures", "signatures")) {
		if (r == 0)
			r = check(file, index++, row, err);
	}
	return r;
}
