/* What somebody meant who named a finding that there is not. */

#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "rocm-doctor/knowledge.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* Ids are shorter than this. */
#define NAME_MAX_LEN 96
/* More than this is no slip of the finger. */
#define DISTANCE_MAX 3

/* Letters to add, drop or change (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], n = strlen(b);

	if (strlen(a) > NAME_MAX_LEN || n > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j], best = corner + (a[i - 1] != b[j - 1]);

			best = above + 1 < best ? above + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			corner = above;
		}
	}
	return row[n];
}

static const char *slug_of(const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? slash + 1 : id;
}

/* A slip in the whole id; the right name in another layer or without one; or a part of the name. */
static bool is_near(const char *id, const char *name)
{
	const char *slug = slug_of(name);

	return distance(id, name) <= DISTANCE_MAX || rd_streq(slug_of(id), slug) ||
	       distance(slug_of(id), slug) <= DISTANCE_MAX - 1 || (strlen(slug) > 3 && strstr(slug_of(id), slug));
}

static bool names_fix(const struct rd_rule *rule, const char *name)
{
	for (size_t i = 0; rule->fixes[i]; i++)
		if (rd_streq(rule->fixes[i], name))
			return true;
	return false;
}

char *rd_app_near(const struct rd_app *app, const char *name)
{
	const struct rd_rule *const *rules;
	size_t n = rd_knowledge_rules(app->knowledge, &rules), found = 0;
	bool is_fix = rd_knowledge_fix(app->knowledge, name);
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < n && found < 5; i++) {
		if (is_fix ? !names_fix(rules[i], name) : !is_near(rules[i]->id, name))
			continue;
		if (!found++)
			rd_strbuf_add(&sb, is_fix ? "; that is a fix, of " : "; did you mean ");
		else
			rd_strbuf_add(&sb, ", ");
		rd_strbuf_add(&sb, rules[i]->id);
	}
	if (found && !is_fix)
		rd_strbuf_addc(&sb, '?');
	return rd_strbuf_detach(&sb);
}
