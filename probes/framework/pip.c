/* Where would pip and uv fetch the next PyTorch from? Their configuration files and variables, with credentials cut out. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define FILES_MAX 80

static const char *const variables[] = {
	"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",   "UV_INDEX_URL", "UV_DEFAULT_INDEX",
	"UV_INDEX",      "UV_EXTRA_INDEX_URL",  "UV_TORCH_BACKEND",
};

/* What stands before "@" in the host part of an address is cut out. Caller frees. */
static char *redact(const char *url)
{
	const char *authority = strstr(url, "://"), *at = NULL;
	size_t len;

	if (!authority)
		return rd_xstrdup(url);
	authority += 3;
	len = strcspn(authority, "/ ");
	for (size_t i = 0; i < len; i++)
		if (authority[i] == '@')
			at = authority + i;
	if (!at)
		return rd_xstrdup(url);
	return rd_xasprintf("%.*s***%s", (int)(authority - url), url, at);
}

/* What an index of download.pytorch.org, or uv's choice of one, brings; "" for any other. */
static const char *brings(const char *value)
{
	const char *whl = strstr(value, "/whl/");
	const char *p = whl ? whl + strlen("/whl/") : strstr(value, "://") ? "" : value;

	if (rd_str_has_prefix(p, "nightly/") || rd_str_has_prefix(p, "test/"))
		p = strchr(p, '/') + 1;
	if (p[0] == 'c' && p[1] == 'u' && isdigit((unsigned char)p[2]))
		return "cuda";
	if (rd_str_has_prefix(p, "cpu"))
		return "cpu";
	return strstr(value, "rocm") ? "rocm" : "";
}

static void add(struct rd_probe_ctx *ctx, const char *file, const char *key, const char *value, const char *source)
{
	rd_auto_strv struct rd_strv urls = RD_STRV_INIT;

	rd_strv_split(&urls, value, " \t\n,", false);
	for (size_t i = 0; i < urls.n; i++) {
		struct rd_fact *one = rd_fact_append(ctx->facts, "pip.indexes", source);
		rd_auto_free char *url = redact(urls.v[i]);

		rd_fact_set_str(one, "file", file, source);
		rd_fact_set_str(one, "key", key, source);
		rd_fact_set_str(one, "url", url, source);
		if (*brings(url))
			rd_fact_set_str(one, "brings", brings(url), source);
	}
}

static bool is_index_key(const char *key)
{
	static const char *const keys[] = { "index-url", "extra-index-url", "find-links", "index", "default-index",
		                            "url",       "torch-backend" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(keys); i++)
		if (rd_streq(key, keys[i]))
			return true;
	return false;
}

/* pip.conf and uv.toml as lines of "key = value"; a value may go on in lines that begin with white space. */
static int read_file(struct rd_probe_ctx *ctx, const char *file)
{
	rd_auto_free char *text = NULL, *key = NULL;
	unsigned number = 0;
	char *rest, *line;
	int r = rd_sysroot_read(ctx->sysroot, &text, file);

	if (r < 0)
		return r;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		rd_auto_free char *source = rd_xasprintf("%s:%u", file, ++number);
		bool goes_on = *line == ' ' || *line == '\t';
		char *equals = strchr(line, '='), *value;

		if (!goes_on) {
			free(key);
			key = NULL;
		}
		if (*line == '#' || *line == ';' || (!goes_on && !equals))
			continue;
		if (!goes_on) {
			*equals = '\0';
			key = rd_xstrdup(rd_str_strip(line));
			for (char *c = key; *c; c++)
				*c = *c == '_' ? '-' : *c;
		}
		value = rd_str_strip(goes_on ? line : equals + 1);
		/* TOML's quotes and brackets. */
		for (char *c = value; *c; c++)
			*c = strchr("\"'[]", *c) ? ' ' : *c;
		if (key && is_index_key(key))
			add(ctx, file, key, value, source);
	}
	return 0;
}

static void add_home_files(struct rd_probe_ctx *ctx, struct rd_strv *files)
{
	const char *home = NULL, *xdg = NULL;
	rd_auto_free char *config = NULL;

	if (rd_sysroot_getenv(ctx->sysroot, &home, "HOME") != 1 || *home != '/')
		return;
	if (rd_sysroot_getenv(ctx->sysroot, &xdg, "XDG_CONFIG_HOME") == 1 && *xdg == '/')
		config = rd_xstrdup(xdg);
	else
		config = rd_xasprintf("%s/.config", home);
	rd_strv_pushf(files, "%s/.pip/pip.conf", home);
	rd_strv_pushf(files, "%s/pip/pip.conf", config);
	rd_strv_pushf(files, "%s/uv/uv.toml", config);
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *python = rd_fact_get(ctx->facts, "python");
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	const char *value = NULL;
	int unread = 0;

	rd_fact_set_list(ctx->facts, "pip.indexes", "/etc/pip.conf");
	rd_strv_push(&files, "/etc/pip.conf");
	rd_strv_push(&files, "/etc/xdg/pip/pip.conf");
	rd_strv_push(&files, "/etc/uv/uv.toml");
	add_home_files(ctx, &files);
	if (rd_sysroot_getenv(ctx->sysroot, &value, "PIP_CONFIG_FILE") == 1 && *value == '/' && !rd_streq(value, "/dev/null"))
		rd_strv_push_unique(&files, value);
	for (size_t i = 0; i < rd_fact_count(python) && files.n < FILES_MAX; i++)
		rd_strv_pushf(&files, "%s/pip.conf", rd_fact_get_str(rd_fact_at(python, i), "prefix"));
	for (size_t i = 0; i < files.n; i++) {
		int r = read_file(ctx, files.v[i]);

		if (r < 0 && r != -ENOENT)
			unread = r;
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(variables); i++)
		if (rd_sysroot_getenv(ctx->sysroot, &value, variables[i]) == 1 && *value)
			add(ctx, variables[i], variables[i], value, "environment");
	if (unread && !rd_fact_count(rd_fact_get(ctx->facts, "pip.indexes")))
		rd_fact_set_unknown(ctx->facts, "pip.indexes", unread, "pip.conf, uv.toml");
	return 0;
}

static const struct rd_fact_decl facts[] = {
	{ "pip.indexes[]", RD_LIST, "where pip and uv fetch packages from, as configured", "pip.conf, uv.toml, environment" },
	{ "pip.indexes[].file", RD_STR, "file, or variable, that names it", "pip.conf, uv.toml, environment" },
	{ "pip.indexes[].key", RD_STR, "setting", "pip.conf, uv.toml, environment" },
	{ "pip.indexes[].url", RD_STR, "address, credentials cut out", "pip.conf, uv.toml, environment" },
	{ "pip.indexes[].brings", RD_STR, "build of PyTorch in it: rocm, cuda, cpu; empty: not told by the address",
	  "pip.conf, uv.toml, environment" },
	{ NULL },
};

const struct rd_probe rd_probe_framework_pip = {
	.name = "framework/pip",
	.layer = RD_LAYER_FRAMEWORK,
	.after = "framework/environments",
	.summary = "indexes that pip and uv are set to",
	.facts = facts,
	.run = run,
};
