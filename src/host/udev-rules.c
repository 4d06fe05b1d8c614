/*
 * The part of udev's rules that decides group and mode of a device node: conditions on KERNEL, SUBSYSTEM and ACTION are
 * evaluated, GOTO and LABEL followed; a rule with any other condition is known to be there, not whether it holds.
 */

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/udev.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

enum token_key { KEY_KERNEL, KEY_SUBSYSTEM, KEY_ACTION, KEY_GROUP, KEY_MODE, KEY_GOTO, KEY_LABEL, KEY_OTHER };

struct token {
	enum token_key key;
	bool condition, negated, final;
	char *value;
};

struct rule {
	struct token *tokens;
	size_t tokens_n, tokens_allocated;
	size_t file; /* GOTO does not leave it */
	char *source;
};

struct rd_udev_rules {
	struct rule *rules;
	size_t rules_n, rules_allocated;
	bool unreadable;
};

static enum token_key key_of(const char *name, size_t len)
{
	static const char *const names[] = { "KERNEL", "SUBSYSTEM", "ACTION", "GROUP", "MODE", "GOTO", "LABEL" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
			return (enum token_key)i;
	return KEY_OTHER;
}

/* KEY{ATTRIBUTE} OPERATOR "value": false at the end of the line or where it is not understood. */
static bool next_token(const char **at, struct token *ret)
{
	const char *name = *at + strspn(*at, " \t,"), *op, *value, *end;
	size_t len = strcspn(name, " \t={!+-:");

	*ret = (struct token){ .key = key_of(name, len) };
	op = name + len;
	if (*op == '{') {
		op = strchr(op, '}');
		if (!op)
			return false;
		op++;
		ret->key = KEY_OTHER;
	}
	op += strspn(op, " \t");
	ret->negated = *op == '!';
	ret->final = *op == ':';
	ret->condition = op[0] && op[1] == '=' && (*op == '=' || *op == '!');
	op += strspn(op, "=!+-:");
	op += strspn(op, " \t");
	value = *op == 'e' && op[1] == '"' ? op + 1 : op;
	end = *value == '"' ? strchr(value + 1, '"') : NULL;
	if (!len || !end)
		return false;
	ret->value = rd_xstrndup(value + 1, (size_t)(end - value - 1));
	*at = end + 1;
	return true;
}

static void drop_rule(struct rule *rule)
{
	for (size_t i = 0; i < rule->tokens_n; i++)
		free(rule->tokens[i].value);
	free(rule->tokens);
	free(rule->source);
}

/* Only rules that could say something here are kept. */
static bool matters(const struct rule *rule)
{
	for (size_t i = 0; i < rule->tokens_n; i++)
		if (!rule->tokens[i].condition && rule->tokens[i].key >= KEY_GROUP && rule->tokens[i].key <= KEY_LABEL)
			return true;
	return false;
}

static void add_line(struct rd_udev_rules *rules, const char *line, const char *path, size_t number, size_t file)
{
	struct rule rule = { .file = file };
	struct token token;

	while (next_token(&line, &token)) {
		RD_GROW(rule.tokens, rule.tokens_n, rule.tokens_allocated);
		rule.tokens[rule.tokens_n++] = token;
	}
	if (!matters(&rule)) {
		drop_rule(&rule);
		return;
	}
	rule.source = rd_xasprintf("%s:%zu", path, number);
	RD_GROW(rules->rules, rules->rules_n, rules->rules_allocated);
	rules->rules[rules->rules_n++] = rule;
}

static void add_file(struct rd_udev_rules *rules, char *text, const char *path, size_t file)
{
	rd_auto_strbuf struct rd_strbuf line = RD_STRBUF_INIT;
	size_t number = 0, first = 0;
	char *rest = text, *piece;

	while ((piece = rd_str_next_line(&rest))) {
		size_t len = strlen(piece);

		number++;
		if (!line.len)
			first = number;
		/* A backslash joins lines; a comment does not end what it stands in. */
		if (piece[strspn(piece, " \t")] == '#')
			continue;
		if (len && piece[len - 1] == '\\') {
			rd_strbuf_addn(&line, piece, len - 1);
			continue;
		}
		rd_strbuf_add(&line, piece);
		add_line(rules, line.buf, path, first, file);
		rd_strbuf_truncate(&line, 0);
	}
}

static int compare_names(const void *a, const void *b)
{
	const char *x = strrchr(*(char *const *)a, '/'), *y = strrchr(*(char *const *)b, '/');

	return strcmp(x, y);
}

/* Paths of the files that count: of equal names that of the first folder. */
static void find_files(struct rd_sysroot *sr, struct rd_strv *ret, bool *ret_unreadable)
{
	static const char *const folders[] = { "/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
		                               "/usr/lib/udev/rules.d", "/lib/udev/rules.d" };
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;
		int r = rd_sysroot_list(sr, &names, folders[i]);

		*ret_unreadable |= r < 0 && r != -ENOENT && r != -ENODATA;
		for (size_t k = 0; k < names.n; k++) {
			if (!rd_str_has_suffix(names.v[k], ".rules") || rd_strv_has(&seen, names.v[k]))
				continue;
			rd_strv_push(&seen, names.v[k]);
			rd_strv_pushf(ret, "%s/%s", folders[i], names.v[k]);
		}
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_names);
}

int rd_udev_rules_read(struct rd_sysroot *sr, struct rd_udev_rules **ret)
{
	struct rd_udev_rules *rules = rd_xcalloc(1, sizeof(*rules));
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	find_files(sr, &files, &rules->unreadable);
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *text = NULL;
		int r = rd_sysroot_read(sr, &text, files.v[i]);

		if (r >= 0)
			add_file(rules, text, files.v[i], i);
		else
			/* A link to /dev/null masks the file of that name; a dangling one is as good as none. */
			rules->unreadable |= r != -EINVAL && r != -ENOENT;
	}
	*ret = rules;
	return 0;
}

struct rd_udev_rules *rd_udev_rules_free(struct rd_udev_rules *rules)
{
	if (!rules)
		return NULL;
	for (size_t i = 0; i < rules->rules_n; i++)
		drop_rule(&rules->rules[i]);
	free(rules->rules);
	free(rules);
	return NULL;
}

/* "a*|b": does one of the patterns match? */
static bool matches(const char *patterns, const char *text)
{
	rd_auto_strv struct rd_strv list = RD_STRV_INIT;

	rd_strv_split(&list, patterns, "|", true);
	for (size_t i = 0; i < list.n; i++)
		if (fnmatch(list.v[i], text, 0) == 0)
			return true;
	return false;
}

enum verdict { HOLDS, FAILS, UNDECIDED };

static enum verdict judge(const struct rule *rule, const char *subsystem, const char *kernel)
{
	enum verdict verdict = HOLDS;

	for (size_t i = 0; i < rule->tokens_n; i++) {
		const struct token *t = &rule->tokens[i];
		const char *text = t->key == KEY_KERNEL      ? kernel
		                   : t->key == KEY_SUBSYSTEM ? subsystem
		                   : t->key == KEY_ACTION    ? "add"
		                                             : NULL;

		if (!t->condition)
			continue;
		if (!text)
			verdict = UNDECIDED;
		else if (matches(t->value, text) == t->negated)
			return FAILS;
	}
	return verdict;
}

static const struct token *assignment(const struct rule *rule, enum token_key key)
{
	for (size_t i = rule->tokens_n; i-- > 0;)
		if (rule->tokens[i].key == key && !rule->tokens[i].condition)
			return &rule->tokens[i];
	return NULL;
}

/* The rule behind the label, in the same file and further down; @from where there is none. */
static size_t follow(const struct rd_udev_rules *rules, size_t from, const char *label)
{
	for (size_t i = from + 1; i < rules->rules_n && rules->rules[i].file == rules->rules[from].file; i++) {
		const struct token *t = assignment(&rules->rules[i], KEY_LABEL);

		if (t && rd_streq(t->value, label))
			return i;
	}
	return from;
}

void rd_udev_rules_node(const struct rd_udev_rules *rules, const char *subsystem, const char *kernel, struct rd_udev_node *ret)
{
	bool group_final = false, mode_final = false;

	*ret = (struct rd_udev_node){ .undecided = rules->unreadable };
	for (size_t i = 0; i < rules->rules_n; i++) {
		const struct rule *rule = &rules->rules[i];
		const struct token *group = assignment(rule, KEY_GROUP), *mode = assignment(rule, KEY_MODE);
		const struct token *jump = assignment(rule, KEY_GOTO);
		enum verdict verdict = judge(rule, subsystem, kernel);
		uint64_t bits;

		if (verdict == UNDECIDED)
			ret->undecided |= (group && !group_final) || (mode && !mode_final);
		if (verdict != HOLDS)
			continue;
		if (group && !group_final) {
			ret->group = group->value;
			ret->group_source = rule->source;
			group_final = group->final;
		}
		if (mode && !mode_final && rd_str_to_u64(mode->value, 8, &bits) >= 0 && bits <= 07777) {
			ret->mode = (unsigned)bits;
			ret->mode_source = rule->source;
			mode_final = mode->final;
		}
		if (jump)
			i = follow(rules, i, jump->value);
	}
}
