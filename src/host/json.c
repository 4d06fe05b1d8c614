#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/json.h"
#include "util/pool.h"

#define BLOCK_VALUES 64
#define DEPTH_MAX 32

struct reader {
	struct rd_pool *pool;
	cJSON *values;
	size_t left; /* of them */
	char *at;
	char *backslash; /* the next one, or the end of the text */
	unsigned depth;
};

static cJSON *new_value(struct reader *r, int type)
{
	cJSON *value;

	if (!r->left) {
		r->values = rd_pool_alloc(r->pool, BLOCK_VALUES * sizeof(*r->values));
		r->left = BLOCK_VALUES;
	}
	value = &r->values[--r->left];
	value->type = type;
	return value;
}

static char next_token(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
		r->at++;
	return *r->at;
}

static char unescaped(char c)
{
	static const char from[] = "\"\\/nt", to[] = "\"\\/\n\t";
	const char *found = c ? strchr(from, c) : NULL;

	return found ? to[found - from] : '\0';
}

/* The text behind a quotation mark, ended and unescaped in its place; NULL where that cannot be done. */
static char *read_string(struct reader *r)
{
	char *begin = ++r->at, *end = strchr(begin, '"'), *to;

	if (!end)
		return NULL;
	if (r->backslash < begin)
		r->backslash = strchrnul(begin, '\\');
	if (r->backslash > end) {
		*end = '\0';
		r->at = end + 1;
		return begin;
	}
	to = r->backslash;
	for (r->at = to; *r->at != '"'; r->at++) {
		if (!*r->at)
			return NULL;
		*to = *r->at != '\\' ? *r->at : unescaped(*++r->at);
		if (!*to++)
			return NULL;
	}
	r->at++;
	*to = '\0';
	return begin;
}

static cJSON *read_value(struct reader *r);

static cJSON *read_members(struct reader *r, int type, char close)
{
	cJSON *value = new_value(r, type), **to = &value->child;

	r->at++;
	if (next_token(r) == close) {
		r->at++;
		return value;
	}
	for (;;) {
		char *key = NULL;

		if (type == cJSON_Object) {
			key = next_token(r) == '"' ? read_string(r) : NULL;
			if (!key || next_token(r) != ':')
				return NULL;
			r->at++;
		}
		*to = read_value(r);
		if (!*to)
			return NULL;
		(*to)->string = key;
		to = &(*to)->next;
		if (next_token(r) == close)
			break;
		if (*r->at++ != ',')
			return NULL;
	}
	r->at++;
	return value;
}

static cJSON *read_word(struct reader *r)
{
	static const struct {
		const char *word;
		size_t len;
		int type;
	} words[] = { { "true", 4, cJSON_True }, { "false", 5, cJSON_False }, { "null", 4, cJSON_NULL } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++) {
		if (strncmp(r->at, words[i].word, words[i].len) == 0) {
			cJSON *value = new_value(r, words[i].type);

			r->at += words[i].len;
			value->valueint = words[i].type == cJSON_True;
			return value;
		}
	}
	return NULL;
}

static cJSON *read_number(struct reader *r)
{
	char *end;
	double number = strtod(r->at, &end);
	cJSON *value;

	/* strtod knows more than JSON has: "0x1f", "-inf". */
	if (end == r->at || end != r->at + strspn(r->at, "0123456789+-.eE") || !(number > -1e18 && number < 1e18))
		return NULL;
	r->at = end;
	value = new_value(r, cJSON_Number);
	value->valuedouble = number;
	value->valueint = number >= INT_MAX ? INT_MAX : number <= INT_MIN ? INT_MIN : (int)number;
	return value;
}

static cJSON *read_value(struct reader *r)
{
	cJSON *value = NULL;

	if (++r->depth > DEPTH_MAX)
		return NULL;
	switch (next_token(r)) {
	case '{':
		value = read_members(r, cJSON_Object, '}');
		break;
	case '[':
		value = read_members(r, cJSON_Array, ']');
		break;
	case '"':
		value = new_value(r, cJSON_String);
		value->valuestring = read_string(r);
		if (!value->valuestring)
			return NULL;
		break;
	default:
		value = *r->at == '-' || (*r->at >= '0' && *r->at <= '9') ? read_number(r) : read_word(r);
		break;
	}
	r->depth--;
	return value;
}

cJSON *rd_json_read_quickly(char *text, struct rd_pool *pool)
{
	struct reader r = { .pool = pool, .at = text, .backslash = strchrnul(text, '\\') };
	cJSON *root = read_value(&r);

	return root && !next_token(&r) ? root : NULL;
}

const char *rd_json_str(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}
