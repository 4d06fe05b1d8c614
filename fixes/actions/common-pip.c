/* Environments of Python, read from their folders. */

#include "common-pip.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

char *pip_normal(const char *name, size_t n)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		bool mark = strchr("-_.", name[i]);

		if (!mark || (sb.len && sb.buf[sb.len - 1] != '-'))
			rd_strbuf_addc(&sb, mark ? '-' : (char)tolower((unsigned char)name[i]));
	}
	return rd_strbuf_detach(&sb);
}

static bool only(const char *text, size_t n, const char *extra)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(extra, text[i]))
			return false;
	return n > 0 && isalnum((unsigned char)*text);
}

/* "name[extra,extra]" */
static int parse_name(const char *text, size_t len, struct pip_requirement *ret)
{
	const char *open = memchr(text, '[', len);
	size_t n = open ? (size_t)(open - text) : len;

	if (!only(text, n, "-_."))
		return -EINVAL;
	if (open) {
		rd_auto_free char *list = rd_xstrndup(open + 1, len - n - 2);

		if (text[len - 1] != ']' || len < n + 3)
			return -EINVAL;
		rd_strv_split(&ret->extras, list, ",", true);
		for (size_t i = 0; i < ret->extras.n; i++)
			if (!only(ret->extras.v[i], strlen(ret->extras.v[i]), "-_."))
				return -EINVAL;
	}
	ret->name = pip_normal(text, n);
	return 0;
}

int pip_parse(const char *text, struct pip_requirements *ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, text, " ", false);
	ret->v = rd_xcalloc(words.n + 1, sizeof(*ret->v));
	for (size_t i = 0; i < words.n; i++) {
		const char *pin = strstr(words.v[i], "=="), *version = pin ? pin + 2 : NULL;
		size_t n = pin ? (size_t)(pin - words.v[i]) : strlen(words.v[i]);
		struct pip_requirement *q = &ret->v[ret->n++];

		*q = (struct pip_requirement){ .extras = RD_STRV_INIT };
		if (strlen(words.v[i]) > 255 || parse_name(words.v[i], n, q) < 0 ||
		    (version && !only(version, strlen(version), ".+!_-")))
			return rd_error_set(err, -EINVAL, "'%.80s' is not a requirement with an exact version", words.v[i]);
		q->version = version ? rd_xstrdup(version) : NULL;
		q->text = rd_xasprintf("%s%.*s%s%s", q->name, (int)(n - strcspn(words.v[i], "[=")),
		                       words.v[i] + strcspn(words.v[i], "[="), version ? "==" : "", version ? version : "");
	}
	return ret->n ? 0 : rd_error_set(err, -EINVAL, "no package is named");
}

void pip_clear(struct pip_requirements *requirements)
{
	for (size_t i = 0; i < requirements->n; i++) {
		free(requirements->v[i].name);
		free(requirements->v[i].version);
		free(requirements->v[i].text);
		rd_strv_clear(&requirements->v[i].extras);
	}
	free(requirements->v);
	*requirements = (struct pip_requirements){ NULL, 0 };
}

/* Source: the extras of AMD's wheels, TheRock docs/packaging/python_packaging.md. */
char *pip_package_of_extra(const char *name, const char *extra)
{
	if (rd_streq(name, "rocm"))
		return rd_xasprintf("rocm-sdk-%s", extra);
	if ((rd_streq(name, "torch") || rd_streq(name, "torchvision")) && rd_str_has_prefix(extra, "device-gfx"))
		return rd_xasprintf("amd-%s-%s", name, extra);
	return NULL;
}

static bool any_match(struct rd_sysroot *sr, const char *prefix, const char *pattern)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *glob = rd_xasprintf("%s/lib/python3*/%s", prefix, pattern);

	return rd_sysroot_glob(sr, &found, glob) == 0 && found.n > 0;
}

/*
 * A uv that may be run as the owner of the environment: the system's, the environment's, or that in the same home. A program
 * of somebody else's would be run in the owner's name, who may be root.
 */
static char *find_uv(struct rd_sysroot *sr, const char *prefix)
{
	rd_auto_strv struct rd_strv places = RD_STRV_INIT;
	const char *home = rd_str_has_prefix(prefix, "/home/") ? prefix + strlen("/home/") : "";
	size_t name = strcspn(home, "/");
	struct rd_stat owner, uv;

	rd_strv_push(&places, "/usr/bin/uv");
	rd_strv_push(&places, "/usr/local/bin/uv");
	rd_strv_pushf(&places, "%s/bin/uv", prefix);
	if (name) {
		rd_strv_pushf(&places, "/home/%.*s/.local/bin/uv", (int)name, home);
		rd_strv_pushf(&places, "/home/%.*s/.cargo/bin/uv", (int)name, home);
	}
	if (rd_sysroot_stat(sr, &owner, prefix) < 0)
		return NULL;
	for (size_t i = 0; i < places.n; i++)
		if (rd_sysroot_stat(sr, &uv, places.v[i]) == 0 && uv.type == RD_STAT_FILE && uv.mode & 0111 &&
		    (uv.uid == 0 || uv.uid == owner.uid))
			return rd_xstrdup(places.v[i]);
	return NULL;
}

int pip_tool_find(struct rd_sysroot *sr, const char *prefix, struct pip_tool *ret, struct rd_error *err)
{
	int r = rd_arg_check_path(prefix, err);

	if (r == 0 && strpbrk(prefix, "*?"))
		r = rd_error_set(err, -EINVAL, "'%s' is not a path that can be used here", prefix);
	if (r < 0)
		return r;
	ret->python = rd_xasprintf("%s/bin/python3", prefix);
	if (rd_sysroot_exists(sr, ret->python) != 1)
		return rd_error_set(err, -EOPNOTSUPP, "there is no %s", ret->python);
	if (rd_streq(prefix, "/usr") || any_match(sr, prefix, "EXTERNALLY-MANAGED"))
		return rd_error_set(
			err, -EOPNOTSUPP,
			"the Python in %s belongs to the distribution: make an environment of your own (python3 -m venv)",
			prefix);
	if (any_match(sr, prefix, "site-packages/pip-*.dist-info"))
		return 0;
	ret->uv = find_uv(sr, prefix);
	return ret->uv ? 0
	               : rd_error_set(err, -EOPNOTSUPP,
	                              "there is no pip in %s and no uv that may be run for it: use the tool that made it",
	                              prefix);
}

void pip_tool_clear(struct pip_tool *tool)
{
	free(tool->python);
	free(tool->uv);
}

void pip_begin(struct argv *argv, const struct pip_tool *tool, const char *verb)
{
	if (tool->uv)
		argv_add(argv, (const char *const[]){ tool->uv, "pip", verb, "--python", tool->python, NULL });
	else
		argv_add(argv, (const char *const[]){ tool->python, "-m", "pip", "--disable-pip-version-check", "--no-input",
		                                      verb, rd_streq(verb, "uninstall") ? "-y" : NULL, NULL });
}

char *pip_name_of(const char *folder)
{
	const char *base = strrchr(folder, '/') + 1, *dash = strchr(base, '-');

	return dash ? pip_normal(base, (size_t)(dash - base)) : NULL;
}

char *pip_installed(struct rd_sysroot *sr, const char *prefix, const char *name)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *glob = rd_xasprintf("%s/lib/python3*/site-packages/*.dist-info", prefix);

	if (rd_sysroot_glob(sr, &found, glob) < 0)
		return NULL;
	for (size_t i = 0; i < found.n; i++) {
		rd_auto_free char *one = pip_name_of(found.v[i]);
		const char *version = strchr(strrchr(found.v[i], '/'), '-') + 1;

		if (one && rd_streq(one, name))
			return strndup(version, strlen(version) - strlen(".dist-info"));
	}
	return NULL;
}

/* Builds of PyTorch's own indexes name theirs in the local version; what has none came from PyPI. */
char *pip_index_of(const char *version)
{
	const char *local = strchr(version, '+');

	if (!local)
		return rd_xstrdup("https://pypi.org/simple");
	local++;
	if (rd_streq(local, "cpu") || (rd_str_has_prefix(local, "cu") && only(local, strlen(local), "")) ||
	    (rd_str_has_prefix(local, "rocm") && strspn(local + 4, "0123456789.") == strlen(local + 4)))
		return rd_xasprintf("https://download.pytorch.org/whl/%s", local);
	return NULL;
}
