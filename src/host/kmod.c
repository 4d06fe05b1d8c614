/*
 * Modules of one kernel.
 *
 * The indexes are read as text (modules.dep and its like), through the sysroot: libkmod opens the binary ones itself, below
 * the reach of the sysroot and its recorder, and follows their offsets without looking whether they lie in the file, so that
 * a damaged modules.dep.bin would end this process. libkmod reads what only it can: the module files, compressed or not.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <libkmod.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/kmod.h"
#include "rocm-doctor/sysroot.h"

#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Larger than any module with its debug information. */
#define MODULE_FILE_MAX ((uint64_t)1 << 30)
/* All that this process may map while libkmod unpacks a module, which it does without a limit of its own. */
#define ADDRESS_SPACE_MAX ((rlim_t)2 << 30)

struct index {
	const char *file;
	struct rd_strv lines;
	int loaded; /* 0: not yet, 1: read, negative errno: could not */
};

struct rd_kmod {
	struct rd_sysroot *sysroot;
	char *folder;
	struct index dep, builtin, alias;
	struct kmod_ctx *ctx;
};

char *rd_kmod_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = rd_xstrdup(slash ? slash + 1 : path);
	char *suffix = strstr(name, ".ko");

	if (suffix && (suffix[3] == '\0' || suffix[3] == '.'))
		*suffix = '\0';
	for (char *c = name; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	return name;
}

static bool is_module(const char *path, const char *name)
{
	rd_auto_free char *own = rd_kmod_name(path);
	rd_auto_free char *wanted = rd_kmod_name(name);

	return rd_streq(own, wanted);
}

int rd_kmod_open(struct rd_sysroot *sr, const char *release, struct rd_kmod **ret, struct rd_error *err)
{
	static const char *const places[] = { "/lib/modules", "/usr/lib/modules" };
	rd_auto_free char *folder = NULL;
	struct rd_kmod *k;
	int r = -ENOENT;

	if (release[0] == '\0' || strchr(release, '/') || release[0] == '.')
		return rd_error_set(err, -EINVAL, "'%s' is no kernel release", release);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && r < 0; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", places[i], release);
		int r2 = rd_sysroot_realpath(sr, &folder, path);

		/* The first place says why, unless the second is better: both are one folder on a merged /usr. */
		r = i == 0 || r2 >= 0 ? r2 : r;
	}
	if (r < 0)
		return rd_error_set(err, r, "cannot find the modules of kernel '%s': %s", release, rd_strerror(r));

	k = rd_xcalloc(1, sizeof(*k));
	*k = (struct rd_kmod){
		.sysroot = sr,
		.folder = rd_steal(folder),
		.dep.file = "modules.dep",
		.builtin.file = "modules.builtin",
		.alias.file = "modules.alias",
	};
	*ret = k;
	return 0;
}

struct rd_kmod *rd_kmod_close(struct rd_kmod *k)
{
	if (!k)
		return NULL;
	if (k->ctx)
		kmod_unref(k->ctx);
	rd_strv_clear(&k->dep.lines);
	rd_strv_clear(&k->builtin.lines);
	rd_strv_clear(&k->alias.lines);
	free(k->folder);
	free(k);
	return NULL;
}

const char *rd_kmod_folder(const struct rd_kmod *k)
{
	return k->folder;
}

static int index_load(struct rd_kmod *k, struct index *index)
{
	rd_auto_free char *text = NULL;
	int r;

	if (index->loaded != 0)
		return index->loaded < 0 ? index->loaded : 0;
	r = rd_sysroot_readf(k->sysroot, &text, "%s/%s", k->folder, index->file);
	if (r >= 0)
		rd_strv_split(&index->lines, text, "\n", false);
	index->loaded = r < 0 ? r : 1;
	return r < 0 ? r : 0;
}

/* "kernel/drivers/x.ko" is below the folder; an absolute path (weak-updates) stands for itself. */
static char *absolute(const struct rd_kmod *k, const char *path)
{
	return path[0] == '/' ? rd_xstrdup(path) : rd_xasprintf("%s/%s", k->folder, path);
}

/* The line of modules.dep that begins with the module: "path: dependency ...". */
static int dep_line(struct rd_kmod *k, const char *name, struct rd_strv *ret_words)
{
	int r = index_load(k, &k->dep);

	if (r < 0)
		return r;
	for (size_t i = 0; i < k->dep.lines.n; i++) {
		const char *line = k->dep.lines.v[i];
		const char *colon = strchr(line, ':');
		rd_auto_free char *path = NULL;

		if (!colon)
			continue;
		path = rd_xstrndup(line, (size_t)(colon - line));
		if (!is_module(path, name))
			continue;
		rd_strv_push(ret_words, path);
		rd_strv_split(ret_words, colon + 1, " \t", false);
		return 0;
	}
	return -ENOENT;
}

int rd_kmod_module_path(struct rd_kmod *k, const char *name, char **ret)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	int r = dep_line(k, name, &words);

	if (r < 0)
		return r;
	*ret = absolute(k, words.v[0]);
	return 0;
}

int rd_kmod_dependencies(struct rd_kmod *k, const char *name, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	int r = dep_line(k, name, &words);

	for (size_t i = 1; r >= 0 && i < words.n; i++)
		rd_strv_push_take(ret, absolute(k, words.v[i]));
	return r;
}

bool rd_kmod_is_builtin(struct rd_kmod *k, const char *name)
{
	if (index_load(k, &k->builtin) < 0)
		return false;
	for (size_t i = 0; i < k->builtin.lines.n; i++) {
		if (is_module(k->builtin.lines.v[i], name))
			return true;
	}
	return false;
}

bool rd_kmod_has_alias(struct rd_kmod *k, const char *modalias, const char *module)
{
	if (index_load(k, &k->alias) < 0)
		return false;
	for (size_t i = 0; i < k->alias.lines.n; i++) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;

		if (!rd_str_has_prefix(k->alias.lines.v[i], "alias "))
			continue;
		rd_strv_split(&words, k->alias.lines.v[i], " \t", false);
		if (words.n == 3 && is_module(words.v[2], module) && rd_str_glob(words.v[1], modalias))
			return true;
	}
	return false;
}

RD_PRINTF(6, 0)
static void silent(void *data, int priority, const char *file, int line, const char *function, const char *format, va_list args)
{
	(void)data, (void)priority, (void)file, (void)line, (void)function, (void)format, (void)args;
}

/*
 * A context that reads no modprobe.d. It still reads the /proc/cmdline of the running system, which nothing turns off; that
 * is configuration, and modinfo does not depend on it.
 */
static struct kmod_ctx *context(struct rd_kmod *k)
{
	static const char *const no_config[] = { NULL };

	if (!k->ctx) {
		rd_auto_free char *dir = rd_xasprintf("%s%s", rd_sysroot_dir(k->sysroot), k->folder);

		k->ctx = kmod_new(dir, no_config);
		if (k->ctx)
			kmod_set_log_fn(k->ctx, silent, NULL);
	}
	return k->ctx;
}

static int modinfo_lines(struct kmod_ctx *ctx, const char *path, struct rd_strv *ret)
{
	struct kmod_module *module = NULL;
	struct kmod_list *list = NULL, *entry;
	int r = kmod_module_new_from_path(ctx, path, &module);

	if (r >= 0)
		r = kmod_module_get_info(module, &list);
	kmod_list_foreach(entry, list)
	{
		const char *key = kmod_module_info_get_key(entry);
		const char *value = kmod_module_info_get_value(entry);

		rd_strv_pushf(ret, "%s=%s", key ? key : "", value ? value : "");
	}
	kmod_module_info_free_list(list);
	if (module)
		kmod_module_unref(module);
	return r < 0 ? r : 0;
}

/* AddressSanitizer has mapped terabytes already. */
#if defined(__SANITIZE_ADDRESS__)
#define BOUND_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOUND_MEMORY false
#endif
#endif
#ifndef BOUND_MEMORY
#define BOUND_MEMORY true
#endif

int rd_kmod_modinfo(struct rd_kmod *k, const char *path, struct rd_strv *ret)
{
	rd_auto_free char *inside = NULL, *outside = NULL;
	struct rlimit old, bounded;
	struct rd_stat st;
	bool bound;
	int r;

	/* libkmod follows links as the running system does: it gets a path without any. */
	r = rd_sysroot_realpath(k->sysroot, &inside, path);
	if (r >= 0)
		r = rd_sysroot_stat(k->sysroot, &st, inside);
	if (r < 0)
		return r;
	if (st.type != RD_STAT_FILE)
		return -EINVAL;
	if (st.size_bytes > MODULE_FILE_MAX)
		return -EFBIG;
	if (st.size_bytes == 0)
		return -EBADMSG;
	if (!context(k))
		return -ENOMEM;
	outside = rd_xasprintf("%s%s", rd_streq(rd_sysroot_dir(k->sysroot), "/") ? "" : rd_sysroot_dir(k->sysroot), inside);

	bound = BOUND_MEMORY && getrlimit(RLIMIT_AS, &old) == 0;
	bounded = bound ? old : (struct rlimit){ 0 };
	if (bound && (old.rlim_cur == RLIM_INFINITY || old.rlim_cur > ADDRESS_SPACE_MAX)) {
		bounded.rlim_cur = ADDRESS_SPACE_MAX;
		bound = setrlimit(RLIMIT_AS, &bounded) == 0;
	} else {
		bound = false;
	}
	r = modinfo_lines(k->ctx, outside, ret);
	if (bound)
		(void)setrlimit(RLIMIT_AS, &old);
	/* libkmod says ENOEXEC, EINVAL or, for a damaged archive, whatever errno held. */
	return r == -ENOEXEC || r == -EINVAL || r == -ENOSYS || r == -ENODATA ? -EBADMSG : r;
}
