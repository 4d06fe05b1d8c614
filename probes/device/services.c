/*
 * Services that serve models, and whether the user they run as may open the nodes.
 *
 * Unit files are read as systemd reads them as far as User=, Group= and SupplementaryGroups= go: the file in the first folder
 * counts, drop-ins follow by name, an empty list clears it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/accounts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

static const char *const folders[] = { "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
	                               "/usr/lib/systemd/system", "/lib/systemd/system" };

/* What units that serve models are called, or call. */
static const char *const servers[] = { "ollama",  "vllm",     "llama-server", "llama.cpp", "llama-swap", "sglang",
	                               "localai", "lemonade", "koboldcpp",    "tabbyapi",  "comfyui",    "text-generation" };

struct unit {
	char *path; /* of the unit file itself */
	char *user, *group;
	struct rd_strv supplementary;
	bool dynamic, container; /* container: it only starts one, which has nodes and groups of its own */
	bool server;
};

static void unit_release(struct unit *u)
{
	free(u->path);
	free(u->user);
	free(u->group);
	rd_strv_clear(&u->supplementary);
}

static bool names_server(const char *text)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(servers); i++)
		if (strcasestr(text, servers[i]))
			return true;
	return false;
}

/* Whether a command line names one: the words, not a path's folders, since /opt/ollama-tools is none. */
static bool runs_server(const char *command)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, command, " \t", false);
	for (size_t i = 0; i < words.n && i < 4; i++) {
		const char *slash = strrchr(words.v[i], '/');

		if (names_server(slash ? slash + 1 : words.v[i]))
			return true;
	}
	return false;
}

static bool runs_container(const char *command)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	const char *base;

	rd_strv_split(&words, command, " \t", false);
	if (!words.n)
		return false;
	base = strrchr(words.v[0], '/');
	base = base ? base + 1 : words.v[0] + strspn(words.v[0], "-@+!:");
	return rd_streq(base, "docker") || rd_streq(base, "podman") || rd_streq(base, "nerdctl") || rd_streq(base, "apptainer");
}

static void replace(char **text, const char *value)
{
	free(*text);
	*text = rd_xstrdup(value);
}

static void take(struct unit *u, const char *key, const char *value)
{
	if (rd_streq(key, "User")) {
		replace(&u->user, value);
	} else if (rd_streq(key, "Group")) {
		replace(&u->group, value);
	} else if (rd_streq(key, "DynamicUser")) {
		u->dynamic = rd_streq(value, "yes") || rd_streq(value, "true") || rd_streq(value, "1") || rd_streq(value, "on");
	} else if (rd_streq(key, "SupplementaryGroups")) {
		if (!*value)
			rd_strv_clear(&u->supplementary);
		rd_strv_split(&u->supplementary, value, " \t", false);
	} else if (rd_streq(key, "ExecStart") && *value) {
		u->server |= runs_server(value);
		u->container = runs_container(value);
	}
}

static int read_unit(struct rd_sysroot *sr, struct unit *u, const char *path)
{
	rd_auto_free char *text = NULL;
	bool service = false;
	char *rest, *line, *equals;
	int r;

	r = rd_sysroot_read(sr, &text, path);
	if (r < 0)
		return r;
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		line = rd_str_strip(line);
		equals = strchr(line, '=');
		if (*line == '[')
			service = rd_streq(line, "[Service]");
		if (!service || *line == '#' || *line == ';' || !equals)
			continue;
		*equals = 0;
		take(u, rd_str_strip(line), rd_str_strip(equals + 1));
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(strrchr(*(char *const *)a, '/'), strrchr(*(char *const *)b, '/'));
}

static void read_drop_ins(struct rd_sysroot *sr, struct unit *u, const char *name)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT, seen = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;

		if (rd_sysroot_listf(sr, &names, "%s/%s.d", folders[i], name) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++) {
			if (!rd_str_has_suffix(names.v[k], ".conf") || rd_strv_has(&seen, names.v[k]))
				continue;
			rd_strv_push(&seen, names.v[k]);
			rd_strv_pushf(&files, "%s/%s.d/%s", folders[i], name, names.v[k]);
		}
	}
	if (files.n > 1)
		qsort(files.v, files.n, sizeof(*files.v), compare_names);
	for (size_t i = 0; i < files.n; i++)
		(void)!read_unit(sr, u, files.v[i]);
}

/* ---- who a unit runs as ---- */

struct identity {
	uint32_t uid, *gids;
	size_t gids_n;
};

static int group_id(const struct rd_accounts *accounts, const char *text, uint32_t *ret)
{
	uint64_t value;

	if (rd_str_to_u64(text, 10, &value) >= 0 && value <= UINT32_MAX) {
		*ret = (uint32_t)value;
		return 0;
	}
	return rd_accounts_gid(accounts, text, ret);
}

/* initgroups(), then what the unit adds. -ENOENT: a name that no file of this root has. */
static int identify(const struct unit *u, const struct rd_accounts *accounts, struct identity *ret)
{
	const struct rd_account *account = NULL;
	uint64_t number;
	uint32_t *listed = NULL;
	size_t n = 0;

	*ret = (struct identity){ .uid = UINT32_MAX };
	if (u->user && *u->user) {
		account = rd_accounts_by_name(accounts, u->user);
		if (!account && rd_str_to_u64(u->user, 10, &number) >= 0 && number <= UINT32_MAX) {
			account = rd_accounts_by_uid(accounts, (uint32_t)number);
			ret->uid = (uint32_t)number;
		} else if (!account && !u->dynamic) {
			return -ENOENT;
		}
		if (account) {
			ret->uid = account->uid;
			n = rd_accounts_groups(accounts, account->name, &listed);
		}
	} else if (!u->dynamic) {
		ret->uid = 0;
	}
	ret->gids = rd_xreallocarray(listed, n + u->supplementary.n + 1, sizeof(*ret->gids));
	/* Group= takes the place of the primary group, which stands first. */
	if (u->group && *u->group && group_id(accounts, u->group, &ret->gids[account ? 0 : n]) >= 0)
		n += !account;
	for (size_t i = 0; i < u->supplementary.n; i++)
		if (group_id(accounts, u->supplementary.v[i], &ret->gids[n]) >= 0)
			n++;
	ret->gids_n = n;
	return 0;
}

/* ---- what it may open ---- */

static enum rd_denial may_open(struct rd_sysroot *sr, const char *path, const struct rd_credentials *who)
{
	rd_auto_free struct rd_acl_entry *acl = NULL;
	struct rd_stat st;
	int n;

	if (rd_sysroot_stat(sr, &st, path) < 0)
		return RD_ACCESS_UNDECIDED;
	n = rd_sysroot_acl(sr, &acl, path);
	return rd_device_access(&st, acl, n > 0 ? (size_t)n : 0, who);
}

static void set_nodes(struct rd_probe_ctx *ctx, struct rd_fact *item, const struct identity *id)
{
	struct rd_credentials who = { .uid = id->uid, .gids = id->gids, .gids_n = id->gids_n, .overrides_modes = id->uid == 0 };
	const struct rd_fact *nodes = rd_fact_get(ctx->facts, "device.nodes");
	rd_auto_strv struct rd_strv groups = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf joined = RD_STRBUF_INIT;
	bool undecided = rd_fact_state(nodes) == RD_FACT_UNKNOWN;

	who.user_namespace = rd_fact_get_bool(ctx->facts, "host.user_namespace.active");
	rd_device_overflow_ids(ctx->sysroot, &who.overflow_uid, &who.overflow_gid);
	rd_fact_set_list(item, "denied", "/dev");
	for (size_t i = 0; i < rd_fact_count(nodes); i++) {
		const struct rd_fact *node = rd_fact_at(nodes, i);
		const char *path = rd_fact_get_str(node, "path"), *group = rd_fact_get_str(node, "group");
		enum rd_denial denial = may_open(ctx->sysroot, path, &who);

		undecided |= denial == RD_ACCESS_UNDECIDED;
		if (denial == RD_ACCESS_GRANTED || denial == RD_ACCESS_UNDECIDED)
			continue;
		rd_fact_append_str(item, "denied", path, path);
		if (denial == RD_ACCESS_DENIED_GROUP && *group)
			rd_strv_push_unique(&groups, group);
	}
	for (size_t i = 0; i < groups.n; i++)
		rd_strbuf_addf(&joined, "%s%s", i ? "," : "", groups.v[i]);
	rd_fact_set_str(item, "join_groups", joined.buf, "/etc/group");
	if (undecided)
		rd_fact_set_unknown(item, "denied", -ENODATA, "/dev");
}

static void add_unit(struct rd_probe_ctx *ctx, const struct rd_accounts *accounts, const struct unit *u, const char *name)
{
	struct rd_fact *item = rd_fact_append(ctx->facts, "device.services", u->path);
	struct identity id;
	int r;

	rd_fact_set_str(item, "unit", name, u->path);
	rd_fact_set_str(item, "file", u->path, u->path);
	rd_fact_set_str(item, "user", u->user && *u->user ? u->user : u->dynamic ? "" : "root", u->path);
	r = identify(u, accounts, &id);
	if (r < 0)
		rd_fact_set_unknown_why(item, "denied", "the service's user is not in /etc/passwd", "/etc/passwd");
	else
		set_nodes(ctx, item, &id);
	if (r >= 0)
		free(id.gids);
}

static void look_at(struct rd_probe_ctx *ctx, const struct rd_accounts *accounts, const char *folder, const char *name)
{
	struct unit u = { .path = rd_xasprintf("%s/%s", folder, name), .supplementary = RD_STRV_INIT };

	u.server = names_server(name);
	if (read_unit(ctx->sysroot, &u, u.path) >= 0) {
		if (u.server || names_server(name))
			read_drop_ins(ctx->sysroot, &u, name);
		if (u.server && !u.container)
			add_unit(ctx, accounts, &u, name);
	}
	unit_release(&u);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;
	int r;

	r = rd_accounts_read(ctx->sysroot, &accounts);
	if (r < 0)
		return r;
	rd_fact_set_list(ctx->facts, "device.services", folders[0]);
	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;

		if (rd_sysroot_list(ctx->sysroot, &names, folders[i]) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++) {
			/*
			 * The folders of the distribution have hundreds: those that do not say it in their name are not
			 * opened. A name that an earlier folder has is that folder's.
			 */
			if (!rd_str_has_suffix(names.v[k], ".service") ||
			    (i > 0 && (!names_server(names.v[k]) || rd_strv_has(&seen, names.v[k]))))
				continue;
			rd_strv_push(&seen, names.v[k]);
			look_at(ctx, accounts, folders[i], names.v[k]);
		}
	}
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "device.services"), "unit");
	return 0;
}

const struct rd_probe rd_probe_device_services = {
	.name = "device/services",
	.layer = RD_LAYER_DEVICE,
	.after = "device/nodes",
	.summary = "users of services that serve models",
	.facts =
		(const struct rd_fact_decl[]){
			{ "device.services[]", RD_LIST, "systemd services that serve models (ollama, vllm, ...), by name",
	                  "/etc/systemd/system" },
			{ "device.services[].unit", RD_STR, "the service", "/etc/systemd/system" },
			{ "device.services[].file", RD_STR, "its unit file", "/etc/systemd/system" },
			{ "device.services[].user", RD_STR, "the user it runs as; empty for one made at start",
	                  "User= of the unit" },
			{ "device.services[].denied[]", RD_STRS, "nodes that this user may not open", "stat, /etc/group" },
			{ "device.services[].join_groups", RD_STR, "groups that would let him, separated by commas",
	                  "/etc/group" },
			{ 0 },
		},
	.run = run,
};
