/* Have the loader look into a folder. */

#include <string.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/ldcache.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

#define CONF "/etc/ld.so.conf.d/rocm-doctor.conf"

RD_DEFINE_CLEANUP(cache, struct rd_ldcache, rd_ldcache_free)

static bool is_listed(struct rd_sysroot *sr, const char *folder)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	if (rd_sysroot_glob(sr, &files, "/etc/ld.so.conf.d/*.conf") < 0)
		return false;
	rd_strv_push(&files, "/etc/ld.so.conf");
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *text = NULL;

		if (rd_sysroot_read(sr, &text, files.v[i]) == 0 && fix_has_line(text, folder))
			return true;
	}
	return false;
}

/* A cache that can be read and holds nothing of the folder was made before the folder was filled or listed. */
static bool is_stale(struct rd_sysroot *sr, const char *folder)
{
	rd_auto(rd_cleanup_cache) struct rd_ldcache *cache = NULL;
	size_t len = strlen(folder);

	if (rd_ldcache_read(sr, &cache, NULL) < 0)
		return false;
	for (size_t i = 0; i < cache->n; i++)
		if (strncmp(cache->entries[i].path, folder, len) == 0 && cache->entries[i].path[len] == '/')
			return false;
	return true;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	static const char *const ldconfig[] = { "ldconfig", NULL };
	const char *folder = rd_step_arg(step, "folder");
	int r = rd_arg_check_path(folder, err);

	if (r == 0)
		r = fix_check_value(folder, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "have the loader look into %s", folder);
	if (is_listed(sr, folder)) {
		if (is_stale(sr, folder))
			rd_step_renew(step, ldconfig);
		return 0;
	}
	r = fix_add_line(step, sr, CONF, "", folder, err);
	rd_step_refresh(step, ldconfig);
	return r;
}

const struct rd_action rd_action_ldconfig_add = {
	.name = "ldconfig.add",
	.summary = "have the loader look into a folder",
	.args = (const char *const[]){ "folder", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
