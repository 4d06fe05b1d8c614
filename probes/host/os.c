/* Which distribution is it? */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

/* The value of one assignment as a shell would read it, in place: quotes off, backslashes resolved where they count. */
static char *unquote(char *value)
{
	char quote = *value == '"' || *value == '\'' ? *value : 0;
	char *from = value + (quote != 0), *to = value;

	while (*from && *from != quote) {
		if (*from == '\\' && quote != '\'' && from[1])
			from++;
		*to++ = *from++;
	}
	*to = 0;
	return value;
}

static void set_value(struct rd_fact *facts, const char *key, const char *value, const char *source)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{ "ID", "host.os.id" },
		{ "VERSION_ID", "host.os.version_id" },
		{ "PRETTY_NAME", "host.os.pretty_name" },
		{ "VERSION_CODENAME", "host.os.codename" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(known); i++)
		if (rd_streq(key, known[i].key))
			rd_fact_set_str(facts, known[i].fact, value, source);
	if (rd_streq(key, "ID_LIKE")) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;

		rd_strv_split(&words, value, " \t", false);
		rd_fact_set_list(facts, "host.os.id_like", source);
		for (size_t i = 0; i < words.n; i++)
			rd_fact_append_str(facts, "host.os.id_like", words.v[i], source);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	const char *source = "/etc/os-release";
	rd_auto_free char *text = NULL;
	char *rest, *line, *equals;
	int r;

	r = rd_sysroot_read(ctx->sysroot, &text, source);
	if (r == -ENOENT) {
		source = "/usr/lib/os-release";
		r = rd_sysroot_read(ctx->sysroot, &text, source);
	}
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		line = rd_str_strip(line);
		equals = strchr(line, '=');
		if (*line == '#' || !equals)
			continue;
		*equals = 0;
		set_value(ctx->facts, line, unquote(equals + 1), source);
	}
	return 0;
}

const struct rd_probe rd_probe_host_os = {
	.name = "host/os",
	.layer = RD_LAYER_HOST,
	.summary = "distribution and release",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.os.id", RD_STR, "the distribution, as os-release names it (ubuntu, rhel)", "/etc/os-release" },
			{ "host.os.version_id", RD_STR, "its release", "/etc/os-release", RD_VERSION_DOTTED },
			{ "host.os.pretty_name", RD_STR, "name and release for people", "/etc/os-release" },
			{ "host.os.codename", RD_STR, "the release's code name (noble)", "/etc/os-release" },
			{ "host.os.id_like[]", RD_STRS, "distributions that it derives from, nearest first",
	                  "/etc/os-release" },
			{ 0 },
		},
	.run = run,
};
