#include "common-environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char blank[] = " \t";

/* Where a shell's word ends: quotes, "\\x" and "${...}" belong to it. NULL where it does not end on this line. */
static const char *end_of_word(const char *at)
{
	char quote = '\0';
	unsigned braces = 0;

	for (; *at && (quote || braces || !strchr(" \t;&|<>()", *at)); at++) {
		if (quote != '\'' && *at == '\\') {
			if (!*++at)
				return NULL;
		} else if (quote) {
			quote = *at == quote ? '\0' : quote;
		} else if (*at == '"' || *at == '\'') {
			quote = *at;
		} else if (*at == '`' || (at[0] == '$' && at[1] == '(')) {
			return NULL;
		} else if (at[0] == '$' && at[1] == '{') {
			braces++;
		} else if (*at == '}' && braces) {
			braces--;
		}
	}
	return quote || braces ? NULL : at;
}

enum form { OTHER, SIMPLE, TANGLED };

/* Is a line "NAME=value", with "export" before or behind it, and nothing else? */
static enum form look_at(const char *line, const char *name, const char **ret_value, size_t *ret_len)
{
	size_t len = strlen(name);
	const char *at = line + strspn(line, blank), *end;

	if (rd_str_has_prefix(at, "export ") || rd_str_has_prefix(at, "export\t"))
		at += strlen("export ") + strspn(at + strlen("export "), blank);
	if (strncmp(at, name, len) != 0 || at[len] != '=')
		return OTHER;
	*ret_value = at + len + 1;
	end = end_of_word(*ret_value);
	if (!end)
		return TANGLED;
	*ret_len = (size_t)(end - *ret_value);
	end += strspn(end, blank);
	if (*end == ';') {
		rd_auto_free char *again = rd_xasprintf("export %s", name);

		end += 1 + strspn(end + 1, blank);
		if (rd_str_has_prefix(end, again))
			end += strlen(again);
		end += strspn(end, blank);
	}
	return !*end || *end == '#' ? SIMPLE : TANGLED;
}

struct change {
	const char *name;
	environment_judge *judge;
	void *data;
	bool shell; /* a script, where an empty branch would be a mistake */
	size_t seen;
	unsigned line, tangled_at;
};

static bool edit_line(const char *line, struct rd_strbuf *out, void *data)
{
	struct change *c = data;
	const char *off = strstr(line, FIX_OFF), *value;
	rd_auto_free char *text = NULL, *replaced = NULL;
	enum environment_verdict verdict;
	enum form form;
	size_t len;

	c->line++;
	if (off && look_at(off + strlen(FIX_OFF), c->name, &value, &len) == SIMPLE)
		c->seen++;
	form = look_at(line, c->name, &value, &len);
	if (form == TANGLED && !c->tangled_at)
		c->tangled_at = c->line;
	if (form != SIMPLE)
		return false;
	text = rd_xstrndup(value, len);
	verdict = c->judge(c->name, text, c->data, &replaced);
	c->seen += verdict != ENVIRONMENT_KEEP;
	if (verdict == ENVIRONMENT_DROP)
		rd_strbuf_addf(out, "%s" FIX_OFF "%s", c->shell ? ": " : "", line);
	else if (verdict == ENVIRONMENT_REPLACE)
		rd_strbuf_addf(out, FIX_OFF "%s\n%.*s%s%s", line, (int)(value - line), line, replaced, value + len);
	else
		return false;
	return true;
}

int environment_change(struct rd_step *step, struct rd_sysroot *sr, const char *name, environment_judge *judge, void *data,
                       size_t *ret_seen, struct rd_error *err)
{
	static const char *const patterns[] = { "/etc/environment",    "/etc/environment.d/*.conf", "/etc/profile",
		                                "/etc/profile.d/*.sh", "/etc/bash.bashrc",          "/etc/bashrc",
		                                "/etc/zsh/zshenv" };
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	struct change c = { .name = name, .judge = judge, .data = data };
	int r = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns) && r == 0; i++)
		r = rd_sysroot_glob(sr, &files, patterns[i]);
	if (r < 0)
		return fix_unable(err, "cannot look for where %s is set: %s", name, rd_strerror(r));
	for (size_t i = 0; i < files.n && r == 0; i++) {
		c.shell = !rd_str_has_prefix(files.v[i], "/etc/environment");
		c.line = c.tangled_at = 0;
		r = fix_edit(step, sr, files.v[i], edit_line, &c, err);
		if (r == 0 && c.tangled_at)
			r = fix_unable(err, "'%s', line %u, sets %s in a way that is not edited here", files.v[i], c.tangled_at,
			               name);
	}
	*ret_seen = c.seen;
	return r;
}

char *environment_unquoted(const char *value)
{
	size_t len = strlen(value);

	if (len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value)
		return rd_xstrndup(value + 1, len - 2);
	return rd_xstrdup(value);
}

/* The first line of a file that names it as a variable to be set; 0: none. */
static unsigned find_line(const char *text, const char *name)
{
	rd_auto_free char *copy = rd_xstrdup(text);
	char *rest = copy, *line;
	const char *value;
	size_t len;

	for (unsigned number = 1; (line = rd_str_next_line(&rest)); number++)
		if (look_at(line, name, &value, &len) != OTHER)
			return number;
	return 0;
}

int environment_not_ours(const struct rd_step *step, struct rd_sysroot *sr, const char *name, struct rd_error *err)
{
	static const char *const files[] = { ".bashrc", ".bash_profile", ".bash_login",     ".profile",
		                             ".zshrc",  ".zshenv",       ".pam_environment" };
	const char *home = rd_fact_get_str(rd_step_facts(step), "host.disk.home.path");

	for (size_t i = 0; *home == '/' && i < RD_ARRAY_SIZE(files); i++) {
		rd_auto_free char *text = NULL;
		unsigned line;

		if (rd_sysroot_readf(sr, &text, "%s/%s", home, files[i]) < 0)
			continue;
		line = find_line(text, name);
		if (line)
			return fix_unable(err, "'%s/%s', line %u, sets %s, and a user's own files are not edited", home,
			                  files[i], line, name);
	}
	return fix_unable(err, "no file of the system sets %s: the session has it from elsewhere (unset %s)", name, name);
}
