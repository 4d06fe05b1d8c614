/* Take a folder out of a variable that is a list of folders, or is that folder. */

#include <string.h>

#include "common-environment.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* A folder with or without slashes at its end is one. "/opt/rocm*" is all that begins so. */
static bool is_folder(const char *item, size_t len, const char *folder)
{
	size_t wanted = strlen(folder);

	if (folder[wanted - 1] == '*')
		return len >= wanted - 1 && memcmp(item, folder, wanted - 1) == 0;
	while (len > 1 && item[len - 1] == '/')
		len--;
	while (wanted > 1 && folder[wanted - 1] == '/')
		wanted--;
	return len == wanted && memcmp(item, folder, len) == 0;
}

/* "$NAME", "${NAME}", "${NAME:+...}": what the variable held before. */
static bool is_itself(const char *item, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	if (len < 2 || *item != '$')
		return false;
	if (item[1] != '{')
		return len == name_len + 1 && memcmp(item + 1, name, name_len) == 0;
	return len > name_len + 2 && memcmp(item + 2, name, name_len) == 0 && strchr("}:", item[name_len + 2]);
}

/* Colons inside "${...}" separate nothing. */
static size_t item_len(const char *at)
{
	size_t len = 0;
	unsigned braces = 0;

	for (; at[len] && (braces || at[len] != ':'); len++) {
		if (at[len] == '$' && at[len + 1] == '{')
			braces++;
		else if (at[len] == '}' && braces)
			braces--;
	}
	return len;
}

static enum environment_verdict judge(const char *name, const char *value, void *data, char **ret)
{
	rd_auto_free char *list = environment_unquoted(value);
	rd_auto_strbuf struct rd_strbuf left = RD_STRBUF_INIT;
	const char *quote = rd_streq(list, value) ? "" : *value == '"' ? "\"" : "'";
	bool found = false, others = false;

	for (const char *at = list; *at;) {
		size_t len = item_len(at), plain = strcspn(at, "$");

		if (is_folder(at, len, data)) {
			found = true;
		} else if (plain < len && is_folder(at, plain, data) && is_itself(at + plain, len - plain, name)) {
			/* "/folder${NAME:+:$NAME}" */
			found = true;
			rd_strbuf_addf(&left, "%s$%s", left.len ? ":" : "", name);
		} else {
			others = others || (len && !is_itself(at, len, name));
			rd_strbuf_addf(&left, "%s%.*s", left.len ? ":" : "", (int)len, at);
		}
		at += len + (at[len] == ':');
	}
	if (!found)
		return ENVIRONMENT_KEEP;
	if (!others)
		return ENVIRONMENT_DROP;
	*ret = rd_xasprintf("%s%s%s", quote, left.buf, quote);
	return ENVIRONMENT_REPLACE;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *path = rd_step_arg(step, "path");
	rd_auto_free char *folder = rd_xstrdup(path);
	size_t seen;
	int r = fix_check_variable(name, err);

	if (r == 0)
		r = rd_arg_check_path(path, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "take %s out of %s", path, name);
	rd_step_needs(step, RD_ACTION_LOGIN);
	r = environment_change(step, sr, name, judge, folder, &seen, err);
	return r == 0 && !seen ? environment_not_ours(step, sr, name, err) : r;
}

const struct rd_action rd_action_environment_remove_path = {
	.name = "environment.remove-path",
	.summary = "take a folder out of a variable",
	.args = (const char *const[]){ "name", "path", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_ENVIRONMENT,
	.lower = lower,
};
