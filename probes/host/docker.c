/* Do docker's commands go to an engine on this kernel, or into a virtual machine? */

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "rocm-doctor/accounts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

static cJSON *drop_json(cJSON *json)
{
	cJSON_Delete(json);
	return NULL;
}
RD_DEFINE_CLEANUP(json, cJSON, drop_json)

static char *docker_dir(struct rd_probe_ctx *ctx)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	const struct rd_account *account;
	const struct rd_user *user;
	const char *value;

	if (rd_sysroot_getenv(ctx->sysroot, &value, "DOCKER_CONFIG") == 1 && *value == '/')
		return rd_xstrdup(value);
	if (rd_sysroot_user(ctx->sysroot, &user) >= 0 && rd_accounts_read(ctx->sysroot, &accounts) >= 0) {
		account = rd_accounts_by_uid(accounts, user->uid);
		if (account && *account->home == '/')
			return rd_xasprintf("%s/.docker", account->home);
	}
	if (rd_sysroot_getenv(ctx->sysroot, &value, "HOME") == 1 && *value == '/')
		return rd_xasprintf("%s/.docker", value);
	return NULL;
}

/* 0 also where what is there is no JSON, which docker does not take either. */
static int read_json(struct rd_sysroot *sr, const char *path, cJSON **ret)
{
	rd_auto_free char *text = NULL;
	int r = rd_sysroot_read(sr, &text, path);

	*ret = r < 0 ? NULL : cJSON_Parse(text);
	return r;
}

/* Contexts stand in folders named by a hash, so the one with the name is looked for. */
static char *endpoint_of(struct rd_sysroot *sr, const char *dir, const char *context, char **ret_source)
{
	rd_auto_free char *pattern = rd_xasprintf("%s/contexts/meta/*/meta.json", dir);
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	if (rd_sysroot_glob(sr, &files, pattern) < 0)
		return NULL;
	for (size_t i = 0; i < files.n; i++) {
		rd_auto(rd_cleanup_json) cJSON *meta = NULL;
		const cJSON *endpoints;

		if (read_json(sr, files.v[i], &meta) < 0)
			continue;
		endpoints = cJSON_GetObjectItemCaseSensitive(meta, "Endpoints");
		if (!rd_streq(rd_json_str(meta, "Name"), context))
			continue;
		*ret_source = rd_xstrdup(files.v[i]);
		return rd_xstrdup(rd_json_str(cJSON_GetObjectItemCaseSensitive(endpoints, "docker"), "Host"));
	}
	return NULL;
}

/* Sockets and contexts of tools that run docker inside a virtual machine of their own. */
static bool is_vm(const char *context, const char *endpoint)
{
	static const char *const patterns[] = {
		"*/.docker/desktop/*", "*/.colima/*", "*/.lima/*", "*/.rd/*", "*/.orbstack/*", "*/multipass/*",
	};

	if (rd_streq(context, "desktop-linux") || rd_streq(context, "rancher-desktop") || rd_str_has_prefix(context, "colima"))
		return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++)
		if (rd_str_glob(patterns[i], endpoint))
			return true;
	return false;
}

/* Returns 0, or why docker's configuration is not known. */
static int set_context(struct rd_probe_ctx *ctx)
{
	const char *value;
	rd_auto_free char *dir = docker_dir(ctx);
	rd_auto_free char *config = rd_xasprintf("%s/config.json", dir ? dir : "");
	rd_auto(rd_cleanup_json) cJSON *json = NULL;
	/* Without a home there is no configuration, if that is known. */
	int r = dir                                                   ? read_json(ctx->sysroot, config, &json)
	        : rd_sysroot_getenv(ctx->sysroot, &value, "HOME") < 0 ? -ENODATA
	                                                              : 0;
	rd_auto_free char *endpoint = NULL;
	rd_auto_free char *source = NULL;
	const char *context = "";

	/* DOCKER_HOST goes before every context. */
	if (rd_sysroot_getenv(ctx->sysroot, &value, "DOCKER_HOST") == 1 && *value) {
		endpoint = rd_xstrdup(value);
		source = rd_xstrdup("DOCKER_HOST");
	} else if (rd_sysroot_getenv(ctx->sysroot, &value, "DOCKER_CONTEXT") == 1 && *value) {
		context = value;
		source = rd_xstrdup("DOCKER_CONTEXT");
	} else if (*rd_json_str(json, "currentContext")) {
		context = rd_json_str(json, "currentContext");
		source = rd_xstrdup(config);
	}
	if (!source)
		return r == -ENOENT ? 0 : r;
	rd_fact_set_str(ctx->facts, "host.docker.context", context, source);
	if (!endpoint && dir && !rd_streq(context, "default")) {
		rd_auto_free char *file = NULL;

		endpoint = endpoint_of(ctx->sysroot, dir, context, &file);
		if (file) {
			free(source);
			source = rd_steal(file);
		}
	}
	rd_fact_set_str(ctx->facts, "host.docker.endpoint", endpoint ? endpoint : "", source);
	rd_fact_set_bool(ctx->facts, "host.docker.in_vm", is_vm(context, endpoint ? endpoint : ""), source);
	return 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	int r = set_context(ctx);

	return r < 0 ? r : 0;
}

const struct rd_probe rd_probe_host_docker = {
	.name = "host/docker",
	.layer = RD_LAYER_HOST,
	.summary = "where docker runs its containers",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.docker.context", RD_STR, "docker's context in use; empty for the default",
	                  "~/.docker/config.json" },
			{ "host.docker.endpoint", RD_STR, "where its commands go; empty for the default socket",
	                  "DOCKER_HOST, ~/.docker/contexts/meta" },
			{ "host.docker.in_vm", RD_BOOL, "that is an engine inside a virtual machine (Docker Desktop)",
	                  "~/.docker/contexts/meta" },
			{ 0 },
		},
	.run = run,
};
