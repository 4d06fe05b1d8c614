/* What somebody meant who named a finding, a command or an option that there is not. */

#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "rocm-doctor/knowledge.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* More than this is no slip of the finger. */
#define DISTANCE_MAX 3

static const char *slug_of(const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? slash + 1 : id;
}

/* A slip in the whole id; the right name in another layer or without one; or a part of the name. */
static bool is_near(const char *id, const char *name)
{
	const char *slug = slug_of(name);

	return rd_str_distance(id, name) <= DISTANCE_MAX || rd_streq(slug_of(id), slug) ||
	       rd_str_distance(slug_of(id), slug) <= DISTANCE_MAX - 1 || (strlen(slug) > 3 && strstr(slug_of(id), slug));
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

char *rd_near_word(const char *word, size_t length, const char *before, const struct rd_strv *names)
{
	rd_auto_free char *given = rd_xstrndup(word, length);
	size_t best = length > 3 ? DISTANCE_MAX - 1 : 1, found = 0;
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < names->n; i++) {
		size_t d = length && rd_str_has_prefix(names->v[i], given) ? 0 : rd_str_distance(given, names->v[i]);

		if (d > best)
			continue;
		if (d < best) {
			rd_strbuf_truncate(&sb, 0);
			found = 0;
		}
		best = d;
		rd_strbuf_addf(&sb, "%s%s%s", found++ ? ", " : "; did you mean ", before, names->v[i]);
	}
	if (found)
		rd_strbuf_addc(&sb, '?');
	return rd_strbuf_detach(&sb);
}
