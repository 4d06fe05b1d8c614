/* Repositories of dnf and zypper, as their files say. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-repository.h"
#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* A section of an ini file. */
struct section {
	char *id, *url;
	unsigned line;
	bool enabled, checked;
};

static void end_section(struct rd_probe_ctx *ctx, const char *file, struct section *s)
{
	if (s->id && s->url) {
		rd_auto_free char *source = rd_xasprintf("%s:%u", file, s->line);
		struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.repositories", source);
		struct rd_repository repo;

		rd_repository_parse(s->url, &repo);
		rd_fact_set_str(item, "file", file, source);
		rd_fact_set_str(item, "id", s->id, source);
		rd_fact_set_str(item, "url", s->url, source);
		rd_fact_set_bool(item, "enabled", s->enabled, source);
		rd_fact_set_bool(item, "signed", s->checked, source);
		rd_fact_set_str(item, "vendor", repo.vendor, source);
		rd_fact_set_str(item, "product", repo.product, source);
		rd_fact_set_str(item, "release", repo.release, source);
		rd_repository_clear(&repo);
	}
	free(s->id);
	free(s->url);
	*s = (struct section){ .enabled = true, .checked = true };
}

static bool is_off(const char *value)
{
	return rd_streq(value, "0") || rd_streq(value, "no") || rd_streq(value, "false");
}

static void take_pair(struct section *s, char *line)
{
	char *equals = strchr(line, '='), *value;

	if (!equals)
		return;
	*equals = '\0';
	value = rd_str_strip(equals + 1);
	line = rd_str_strip(line);
	if (rd_streq(line, "baseurl") && !s->url)
		s->url = rd_xstrdup(value);
	else if (rd_streq(line, "enabled"))
		s->enabled = !is_off(value);
	else if (rd_streq(line, "gpgcheck"))
		s->checked = !is_off(value);
}

static void look_at_file(struct rd_probe_ctx *ctx, const char *file)
{
	rd_auto_lines struct rd_lines lines = { 0 };
	struct section s = { .enabled = true, .checked = true };
	char *line;

	if (rd_lines_open(&lines, ctx->sysroot, file) < 0)
		return;
	while ((line = rd_lines_next(&lines))) {
		line = rd_str_strip(line);
		if (*line == '[') {
			end_section(ctx, file, &s);
			line[strcspn(line, "]")] = '\0';
			s.id = rd_xstrdup(line + 1);
			s.line = lines.number;
		} else if (*line != '#' && *line != ';') {
			take_pair(&s, line);
		}
	}
	end_section(ctx, file, &s);
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char *const patterns[] = { "/etc/yum.repos.d/*.repo", "/etc/zypp/repos.d/*.repo" };
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++) {
		int r = rd_sysroot_glob(ctx->sysroot, &files, patterns[i]);

		if (r < 0 && r != -ENOENT)
			return r;
	}
	rd_fact_set_list(ctx->facts, "runtime.repositories", "/etc/yum.repos.d, /etc/zypp/repos.d");
	for (size_t i = 0; i < files.n; i++)
		look_at_file(ctx, files.v[i]);
	return 0;
}

#define REPOSITORIES "/etc/yum.repos.d, /etc/zypp/repos.d"

const struct rd_probe rd_probe_runtime_repositories = {
	.name = "runtime/repositories",
	.layer = RD_LAYER_RUNTIME,
	.summary = "repositories of dnf and zypper",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.repositories[]", RD_LIST, "repositories of dnf and zypper, in the order of the files",
	                  REPOSITORIES },
			{ "runtime.repositories[].file", RD_STR, "file", REPOSITORIES },
			{ "runtime.repositories[].id", RD_STR, "name in brackets", REPOSITORIES },
			{ "runtime.repositories[].url", RD_STR, "first address", REPOSITORIES },
			{ "runtime.repositories[].enabled", RD_BOOL, "it is switched on", REPOSITORIES },
			{ "runtime.repositories[].signed", RD_BOOL, "signatures of its packages are checked", REPOSITORIES },
			{ "runtime.repositories[].vendor", RD_STR, "\"amd\" or \"other\"", "the address" },
			{ "runtime.repositories[].product", RD_STR,
	                  "what a repository of AMD holds: \"rocm\", \"amdgpu\", \"graphics\" or "
	                  "\"amdrocm\"",
	                  "the address" },
			{ "runtime.repositories[].release", RD_STR, "release in a repository of AMD", "the address",
	                  RD_VERSION_ROCM },
			{ 0 },
		},
	.run = run,
};
