/* Which repositories do dnf and zypper ask, and which of them are AMD's? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-repository.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define SOURCES "/etc/yum.repos.d, /etc/zypp/repos.d"

/* The value of "key = value"; NULL for another line. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) != 0)
		return NULL;
	line += len + strspn(line + len, " \t");
	return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static void set_uri(struct rd_fact *item, const char *uri, const char *source)
{
	struct rd_repository repo;

	rd_repository_parse(uri, &repo);
	rd_fact_set_str(item, "uri", uri, source);
	rd_fact_set_str(item, "vendor", repo.vendor, source);
	rd_fact_set_str(item, "product", repo.product, source);
	rd_fact_set_str(item, "release", repo.release, source);
	rd_fact_set_str(item, "system", repo.system, source);
	rd_repository_clear(&repo);
}

static void read_file(struct rd_probe_ctx *ctx, const char *path, char *text)
{
	struct rd_fact *item = NULL;
	rd_auto_free char *source = NULL;
	unsigned number = 0;
	const char *value;
	char *line;

	while ((line = rd_str_next_line(&text))) {
		number++;
		line = rd_str_strip(line);
		if (*line == '[') {
			free(source);
			source = rd_xasprintf("%s:%u", path, number);
			line[strcspn(line, "]")] = '\0';
			item = rd_fact_append(ctx->facts, "runtime.rpm.sources", source);
			rd_fact_set_str(item, "id", line + 1, source);
			rd_fact_set_str(item, "file", path, source);
			rd_fact_set_bool(item, "enabled", true, source);
			set_uri(item, "", source);
		} else if (item && (value = value_of(line, "enabled"))) {
			rd_fact_set_bool(item, "enabled",
			                 !rd_streq(value, "0") && !rd_streq(value, "no") && !rd_streq(value, "false") &&
			                         !rd_streq(value, "False"),
			                 source);
		} else if (item && (value = value_of(line, "baseurl"))) {
			set_uri(item, value, source);
		}
	}
}

/* Repositories of one folder; -ENOENT where it is not there. */
static int look_into(struct rd_probe_ctx *ctx, const char *folder)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &files, folder);

	if (r < 0)
		return r;
	rd_fact_set_list(ctx->facts, "runtime.rpm.sources", folder);
	for (size_t i = 0; i < files.n && r == 0; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", folder, files.v[i]), *text = NULL;

		if (!rd_str_has_suffix(path, ".repo"))
			continue;
		r = rd_sysroot_read(ctx->sysroot, &text, path);
		if (r == 0)
			read_file(ctx, path, text);
	}
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.rpm.sources", r, folder);
	return 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	int yum = look_into(ctx, "/etc/yum.repos.d"), zypp = look_into(ctx, "/etc/zypp/repos.d");

	if (yum < 0 && zypp < 0)
		return yum == -ENOENT && zypp == -ENOENT ? 0 : yum == -ENOENT ? zypp : yum;
	rd_fact_set_bool(ctx->facts, "runtime.rpm.can_check_keys",
	                 rd_sysroot_exists(ctx->sysroot, "/usr/bin/gpg") == 1 &&
	                         rd_sysroot_exists(ctx->sysroot, "/usr/bin/curl") == 1,
	                 "/usr/bin/gpg, /usr/bin/curl");
	return 0;
}

const struct rd_probe rd_probe_runtime_rpm_sources = {
	.name = "runtime/rpm-sources",
	.layer = RD_LAYER_RUNTIME,
	.summary = "repositories of dnf and zypper",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.rpm.sources[]", RD_LIST, "repositories, in the order of the files", SOURCES },
			{ "runtime.rpm.sources[].file", RD_STR, "file", SOURCES },
			{ "runtime.rpm.sources[].id", RD_STR, "name of its section", SOURCES },
			{ "runtime.rpm.sources[].uri", RD_STR, "address; \"\" where it has only a list of mirrors", SOURCES },
			{ "runtime.rpm.sources[].enabled", RD_BOOL, "it is switched on", SOURCES },
			{ "runtime.rpm.sources[].vendor", RD_STR, "\"amd\" or \"other\"", "the address" },
			{ "runtime.rpm.sources[].product", RD_STR,
	                  "what a repository of AMD holds: \"rocm\", \"amdrocm\" (7.14 and later), \"amdgpu\" (the driver), "
	                  "\"graphics\"",
	                  "the address" },
			{ "runtime.rpm.sources[].release", RD_STR, "release in a repository of AMD", "the address",
	                  RD_VERSION_ROCM },
			{ "runtime.rpm.sources[].system", RD_STR, "system that a repository of AMD is for (\"el9\")",
	                  "the address" },
			{ "runtime.rpm.can_check_keys", RD_BOOL,
	                  "gpg and curl are there to fetch a key and check its fingerprint", "/usr/bin/gpg, /usr/bin/curl" },
			{ 0 },
		},
	.run = run,
};
