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

/* PEP 503: lower case, runs of "-", "_" and "." are one "-". */
static char *normal(const char *name, size_t n)
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

int pip_parse(const char *text, struct pip_requirements *ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, text, " ", false);
	ret->v = rd_xcalloc(words.n + 1, sizeof(*ret->v));
	for (size_t i = 0; i < words.n; i++) {
		const char *pin = strstr(words.v[i], "=="), *version = pin ? pin + 2 : NULL;
		size_t n = pin ? (size_t)(pin - words.v[i]) : strlen(words.v[i]);

		if (!only(words.v[i], n, "-_.") || (version && !only(version, strlen(version), ".+!_-")))
			return rd_error_set(err, -EINVAL, "'%s' is not a requirement with an exact version", words.v[i]);
		ret->v[ret->n++] = (struct pip_requirement){ normal(words.v[i], n), version ? rd_xstrdup(version) : NULL };
	}
	return ret->n ? 0 : rd_error_set(err, -EINVAL, "no package is named");
}

void pip_clear(struct pip_requirements *requirements)
{
	for (size_t i = 0; i < requirements->n; i++) {
		free(requirements->v[i].name);
		free(requirements->v[i].version);
	}
	free(requirements->v);
	*requirements = (struct pip_requirements){ NULL, 0 };
}

static bool any_match(struct rd_sysroot *sr, const char *prefix, const char *pattern)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *glob = rd_xasprintf("%s/lib/python3*/%s", prefix, pattern);

	return rd_sysroot_glob(sr, &found, glob) == 0 && found.n > 0;
}

int pip_check_environment(struct rd_sysroot *sr, const char *prefix, struct rd_error *err)
{
	int r = rd_arg_check_path(prefix, err);

	if (r == 0 && strpbrk(prefix, "*?"))
		r = rd_error_set(err, -EINVAL, "'%s' is not a path that can be used here", prefix);
	if (r < 0)
		return r;
	if (rd_sysroot_existsf(sr, "%s/bin/python3", prefix) != 1)
		return rd_error_set(err, -EOPNOTSUPP, "there is no %s/bin/python3", prefix);
	if (rd_streq(prefix, "/usr") || any_match(sr, prefix, "EXTERNALLY-MANAGED"))
		return rd_error_set(
			err, -EOPNOTSUPP,
			"the Python in %s belongs to the distribution: make an environment of your own (python3 -m venv)",
			prefix);
	if (!any_match(sr, prefix, "site-packages/pip-*.dist-info"))
		return rd_error_set(err, -EOPNOTSUPP,
		                    "there is no pip in %s: use the tool that made it (uv pip install --python %s/bin/python3)",
		                    prefix, prefix);
	return 0;
}

char *pip_installed(struct rd_sysroot *sr, const char *prefix, const char *name)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *glob = rd_xasprintf("%s/lib/python3*/site-packages/*.dist-info", prefix);

	if (rd_sysroot_glob(sr, &found, glob) < 0)
		return NULL;
	for (size_t i = 0; i < found.n; i++) {
		const char *base = strrchr(found.v[i], '/') + 1, *dash = strchr(base, '-');
		rd_auto_free char *one = dash ? normal(base, (size_t)(dash - base)) : NULL;

		if (one && rd_streq(one, name))
			return strndup(dash + 1, strlen(dash + 1) - strlen(".dist-info"));
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
