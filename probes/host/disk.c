/* How much room is there where ROCm and where environments go? */

#include <errno.h>

#include "rocm-doctor/accounts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)

static void set_space(struct rd_probe_ctx *ctx, const char *place, const char *path)
{
	struct rd_fact *facts = ctx->facts;
	rd_auto_free char *available_fact = rd_xasprintf("host.disk.%s.free_bytes", place);
	rd_auto_free char *size_fact = rd_xasprintf("host.disk.%s.size_bytes", place);
	rd_auto_free char *path_fact = rd_xasprintf("host.disk.%s.path", place);
	uint64_t available, size;
	int r;

	r = rd_sysroot_fs_free(ctx->sysroot, &available, &size, path);
	/* A service's user may name a home that nobody made. */
	if (r == -ENOENT)
		return;
	rd_fact_set_str(facts, path_fact, path, path);
	if (r < 0) {
		rd_fact_set_unknown(facts, available_fact, r, path);
		rd_fact_set_unknown(facts, size_fact, r, path);
		return;
	}
	rd_fact_set_int(facts, available_fact, available > INT64_MAX ? INT64_MAX : (int64_t)available, path);
	rd_fact_set_int(facts, size_fact, size > INT64_MAX ? INT64_MAX : (int64_t)size, path);
}

/* The judged user's home, else that of the environment: 0 with *ret (caller frees; NULL: none), or why it is not known. */
static int find_home(struct rd_probe_ctx *ctx, char **ret)
{
	rd_auto(rd_cleanup_accounts) struct rd_accounts *accounts = NULL;
	const struct rd_account *account;
	const struct rd_user *user;
	const char *value;
	int r, e;

	r = rd_sysroot_user(ctx->sysroot, &user);
	if (r >= 0)
		r = rd_accounts_read(ctx->sysroot, &accounts);
	if (r >= 0) {
		account = rd_accounts_by_uid(accounts, user->uid);
		if (account && *account->home == '/') {
			*ret = rd_xstrdup(account->home);
			return 0;
		}
	}
	e = rd_sysroot_getenv(ctx->sysroot, &value, "HOME");
	if (e == 1 && *value == '/') {
		*ret = rd_xstrdup(value);
		return 0;
	}
	return r < 0 ? r : e < 0 ? e : 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *user_home = NULL;
	int r = find_home(ctx, &user_home);

	set_space(ctx, "system", rd_sysroot_exists(ctx->sysroot, "/opt") == 1 ? "/opt" : "/");
	if (user_home)
		set_space(ctx, "home", user_home);
	return r;
}

const struct rd_probe rd_probe_host_disk = {
	.name = "host/disk",
	.layer = RD_LAYER_HOST,
	.summary = "free space",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.disk.system.path", RD_STR, "where ROCm would be installed", "/opt" },
			{ "host.disk.system.free_bytes", RD_INT, "free for a user there", "statvfs" },
			{ "host.disk.system.size_bytes", RD_INT, "size of that file system", "statvfs" },
			{ "host.disk.home.path", RD_STR, "the user's home; empty without one", "/etc/passwd" },
			{ "host.disk.home.free_bytes", RD_INT, "free for a user there", "statvfs" },
			{ "host.disk.home.size_bytes", RD_INT, "size of that file system", "statvfs" },
			{ 0 },
		},
	.run = run,
};
