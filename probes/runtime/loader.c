/*
 * Which libraries of ROCm does a program find that brings no search path of its own: by LD_LIBRARY_PATH, by ld.so.cache, in
 * the default folders? And which lie in a root without being found that way?
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/ldcache.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char *const default_dirs[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

/* One file, by the first way that leads to it. */
struct library {
	char *name, *path, *real;
	const char *found_by; /* "" for not at all */
};

#define LOADER "LD_LIBRARY_PATH, /etc/ld.so.cache, default folders"

struct libraries {
	struct library *v;
	size_t n, allocated;
	int unread; /* why one on the way could not be looked at; 0: all were */
};

static void libraries_clear(struct libraries *libs)
{
	for (size_t i = 0; i < libs->n; i++) {
		free(libs->v[i].name);
		free(libs->v[i].path);
		free(libs->v[i].real);
	}
	free(libs->v);
}

/* "libamdhip64.so.6" is a SONAME; "libamdhip64.so" is for linking, "libamdhip64.so.6.4.60400" is the file itself. */
static bool is_soname(const char *file)
{
	const char *so = strstr(file, ".so");

	if (!rd_library_is_rocm(file))
		return false;
	/* libamdocl64.so and the like of old releases have no number at all. */
	return rd_streq(so, ".so") ? rd_str_has_prefix(file, "libamdocl64") : !strchr(so + 4, '.');
}

static void note_unread(struct libraries *libs, int r)
{
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		libs->unread = r;
}

static void add(struct rd_probe_ctx *ctx, struct libraries *libs, const char *name, const char *path, const char *found_by)
{
	rd_auto_free char *real = NULL;

	int r = rd_sysroot_realpath(ctx->sysroot, &real, path);

	/* A cache that names what is gone is passed over by the loader as well. */
	if (r < 0) {
		note_unread(libs, r);
		return;
	}
	for (size_t i = 0; i < libs->n; i++)
		if (rd_streq(libs->v[i].real, real) && rd_streq(libs->v[i].name, name))
			return;
	RD_GROW(libs->v, libs->n, libs->allocated);
	libs->v[libs->n++] = (struct library){ rd_xstrdup(name), rd_xstrdup(path), rd_steal(real), found_by };
}

static void add_dir(struct rd_probe_ctx *ctx, struct libraries *libs, const char *dir, const char *found_by)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &files, dir);

	if (r < 0) {
		note_unread(libs, r);
		return;
	}
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *path = NULL;

		if (!is_soname(files.v[i]))
			continue;
		path = rd_xasprintf("%s/%s", dir, files.v[i]);
		add(ctx, libs, files.v[i], path, found_by);
	}
}

static void add_library_path(struct rd_probe_ctx *ctx, struct libraries *libs)
{
	const struct rd_fact *dirs = rd_fact_get(ctx->facts, "runtime.environment.LD_LIBRARY_PATH");

	for (size_t i = 0; i < rd_fact_count(dirs); i++) {
		const char *dir = rd_fact_str(rd_fact_at(dirs, i));

		if (*dir == '/')
			add_dir(ctx, libs, dir, "LD_LIBRARY_PATH");
	}
}

static int add_cache(struct rd_probe_ctx *ctx, struct libraries *libs)
{
	struct rd_ldcache *cache = NULL;
	int r;

	r = rd_ldcache_read(ctx->sysroot, &cache, NULL);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cache->n; i++) {
		const struct rd_ldcache_entry *e = &cache->entries[i];

		if (e->flags == RD_LDCACHE_X86_64 && is_soname(e->name))
			add(ctx, libs, e->name, e->path, "ld.so.cache");
	}
	rd_ldcache_free(cache);
	return 0;
}

static void add_roots(struct rd_probe_ctx *ctx, struct libraries *libs)
{
	static const char *const dirs[] = { "lib", "lib64", "hsa/lib", "hip/lib" };
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const char *root = rd_fact_get_str(rd_fact_at(roots, i), "root");

		for (size_t k = 0; k < RD_ARRAY_SIZE(dirs) && !rd_streq(root, "/usr"); k++) {
			rd_auto_free char *dir = rd_xasprintf("%s/%s", root, dirs[k]);

			add_dir(ctx, libs, dir, "");
		}
	}
}

/* The package that lists the file, of the few that could. */
static const char *owner(struct rd_probe_ctx *ctx, const struct library *lib)
{
	static const struct {
		const char *library, *package;
	} owners[] = {
		{ "libhsa-runtime64.", "hsa-rocr*" },
		{ "libhsa-runtime64.", "libhsa-runtime64-1" },
		{ "libhsa-runtime64.", "hsa-runtime-rocr4wsl*" },
		{ "libhsa-runtime64.", "amdrocm-runtime*" },
		{ "libamdhip64.", "hip-runtime-amd*" },
		{ "libamdhip64.", "libamdhip64-*" },
		{ "libamdhip64.", "hip-rocclr*" },
		{ "libamdhip64.", "amdrocm-runtime*" },
		{ "libamd_comgr.", "comgr*" },
		{ "libamd_comgr.", "libamd-comgr*" },
		{ "librocblas.", "rocblas*" },
		{ "librocblas.", "librocblas*" },
		{ "libhipblaslt.", "hipblaslt*" },
		{ "librccl.", "rccl*" },
		{ "libMIOpen.", "miopen-hip*" },
		{ "libhsakmt.", "libhsakmt1" },
		{ "librocm_smi64.", "rocm-smi-lib*" },
		{ "librocm_smi64.", "librocm-smi64-1" },
		{ "libamd_smi.", "amd-smi-lib*" },
	};
	const struct rd_fact *packages = rd_fact_get(ctx->facts, "runtime.packages");

	for (size_t i = 0; i < RD_ARRAY_SIZE(owners); i++) {
		if (!rd_str_has_prefix(lib->name, owners[i].library))
			continue;
		for (size_t k = 0; k < rd_fact_count(packages); k++) {
			const char *name = rd_fact_get_str(rd_fact_at(packages, k), "name");
			rd_auto_lines struct rd_lines lines = { 0 };
			rd_auto_free char *list = NULL;
			char *line;

			if (!rd_str_glob(owners[i].package, name))
				continue;
			list = rd_xasprintf("/var/lib/dpkg/info/%s.list", name);
			if (rd_sysroot_exists(ctx->sysroot, list) != 1) {
				free(list);
				list = rd_xasprintf("/var/lib/dpkg/info/%s:amd64.list", name);
			}
			if (rd_lines_open(&lines, ctx->sysroot, list) < 0)
				continue;
			while ((line = rd_lines_next(&lines)))
				if (rd_streq(line, lib->real) || rd_streq(line, lib->path))
					return name;
		}
	}
	return "";
}

/* rpm keeps names and folders apart; the name of the file with its release is enough, a link of the alternatives is not it. */
static const char *rpm_owner(struct rd_probe_ctx *ctx, const struct library *lib)
{
	const struct rd_fact *packages = rd_fact_get(ctx->facts, "runtime.packages");
	const char *name = strrchr(lib->real, '/');

	for (size_t i = 0; name && i < rd_fact_count(packages); i++) {
		const struct rd_fact *files = rd_fact_get(rd_fact_at(packages, i), "libraries");

		for (size_t k = 0; k < rd_fact_count(files); k++)
			if (rd_streq(rd_fact_str(rd_fact_at(files, k)), name + 1))
				return rd_fact_get_str(rd_fact_at(packages, i), "name");
	}
	return "";
}

static const char *root_of(struct rd_probe_ctx *ctx, const char *path)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	const char *best = "";

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const char *root = rd_fact_get_str(rd_fact_at(roots, i), "root");

		if (rd_path_inside(path, root) && strlen(root) > strlen(best))
			best = root;
	}
	return best;
}

/* "1.15.60400" of libhsa-runtime64.so.1.15.60400; a library without a longer name has none. */
static const char *file_version(const char *real)
{
	const char *so = strstr(strrchr(real, '/') ? strrchr(real, '/') : real, ".so.");

	return so ? so + 4 : "";
}

static void set_library(struct rd_probe_ctx *ctx, const struct libraries *libs, size_t index)
{
	const struct library *lib = &libs->v[index];
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.libraries", lib->path);
	rd_auto_free char *release = rd_library_release(lib->real);
	bool chosen = *lib->found_by != '\0';

	for (size_t i = 0; i < index; i++)
		chosen = chosen && !rd_streq(libs->v[i].name, lib->name);
	rd_fact_set_str(item, "soname", lib->name, lib->path);
	rd_fact_set_str(item, "path", lib->path, lib->path);
	rd_fact_set_str(item, "version", file_version(lib->real), lib->real);
	rd_fact_set_str(item, "release", release ? release : "", lib->real);
	rd_fact_set_str(item, "root", root_of(ctx, lib->real), lib->real);
	rd_fact_set_str(item, "found_by", lib->found_by, *lib->found_by ? lib->found_by : lib->path);
	rd_fact_set_bool(item, "chosen", chosen, *lib->found_by ? lib->found_by : lib->path);
	if (rd_fact_is_unknown(ctx->facts, "runtime.packages"))
		rd_fact_set_unknown_why(item, "package", rd_fact_reason(rd_fact_get(ctx->facts, "runtime.packages")), NULL);
	else if (rd_streq(rd_fact_get_str(ctx->facts, "runtime.package_manager"), "rpm"))
		rd_fact_set_str(item, "package", rpm_owner(ctx, lib),
		                rd_fact_source(rd_fact_get(ctx->facts, "runtime.package_manager")));
	else
		rd_fact_set_str(item, "package", owner(ctx, lib), "/var/lib/dpkg/info");
}

#define CONF_FILES_MAX 256

/*
 * Folders of ld.so.conf and what it includes, in order; @seen keeps a file that includes itself from being read for ever.
 * Returns why some may be missing; 0: none is.
 */
static int add_conf(struct rd_probe_ctx *ctx, const char *path, struct rd_strv *seen)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	unsigned number = 0;
	int error = 0, r;

	if (rd_strv_has(seen, path))
		return 0;
	if (seen->n >= CONF_FILES_MAX)
		return -E2BIG;
	rd_strv_push(seen, path);
	r = rd_sysroot_read(ctx->sysroot, &text, path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		rd_auto_free char *source = rd_xasprintf("%s:%u", path, ++number);
		struct rd_fact *item;

		line[strcspn(line, "#")] = '\0';
		line = rd_str_strip(line);
		if (rd_str_has_prefix(line, "include")) {
			rd_auto_strv struct rd_strv files = RD_STRV_INIT;
			char *pattern = rd_str_strip(line + strlen("include"));
			rd_auto_free char *full = *pattern == '/' ? rd_xstrdup(pattern) : rd_xasprintf("/etc/%s", pattern);

			r = rd_sysroot_glob(ctx->sysroot, &files, full);
			if (r < 0)
				error = r;
			for (size_t i = 0; i < files.n; i++) {
				r = add_conf(ctx, files.v[i], seen);
				if (r < 0)
					error = r;
			}
			continue;
		}
		if (*line != '/')
			continue;
		line[strcspn(line, " \t=")] = '\0';
		item = rd_fact_append(ctx->facts, "runtime.loader.conf", source);
		rd_fact_set_str(item, "path", line, source);
		rd_fact_set_str(item, "source", source, source);
		r = rd_sysroot_exists(ctx->sysroot, line);
		if (r < 0 && r != -ENOENT)
			rd_fact_set_unknown(item, "exists", r, line);
		else
			rd_fact_set_bool(item, "exists", r == 1, line);
	}
	return error;
}

static void mark_roots(struct rd_probe_ctx *ctx, int cache)
{
	struct rd_fact *roots = rd_fact_get_mutable(ctx->facts, "runtime.rocm");
	const struct rd_fact *libs = rd_fact_get(ctx->facts, "runtime.libraries");

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		struct rd_fact *item = rd_fact_at_mutable(roots, i);
		const char *root = rd_fact_get_str(item, "root"), *by = "";

		for (size_t k = 0; k < rd_fact_count(libs) && !*by; k++)
			if (rd_streq(rd_fact_get_str(rd_fact_at(libs, k), "root"), root))
				by = rd_fact_get_str(rd_fact_at(libs, k), "found_by");
		if (!*by && cache < 0 && cache != -ENOENT)
			rd_fact_set_unknown(item, "reachable", cache, RD_LDCACHE_PATH);
		else
			rd_fact_set_bool(item, "reachable", *by != '\0', *by ? by : RD_LDCACHE_PATH);
	}
}

/* By name; among equal names the order of preference stays, which qsort() would not promise. */
static void sort_by_name(struct libraries *libs)
{
	for (size_t i = 1; i < libs->n; i++) {
		struct library lib = libs->v[i];
		size_t k = i;

		for (; k > 0 && strcmp(libs->v[k - 1].name, lib.name) > 0; k--)
			libs->v[k] = libs->v[k - 1];
		libs->v[k] = lib;
	}
}

static void set_libraries(struct rd_probe_ctx *ctx, const struct libraries *libs, int cache)
{
	if (cache < 0 && cache != -ENOENT && cache != -EINVAL) {
		rd_fact_set_unknown(ctx->facts, "runtime.libraries", cache, RD_LDCACHE_PATH);
		return;
	}
	rd_fact_set_list(ctx->facts, "runtime.libraries", RD_LDCACHE_PATH);
	for (size_t i = 0; i < libs->n; i++)
		set_library(ctx, libs, i);
}

/* Releases that the loader could mix; a distribution's own set is one system. */
static void set_reachable_releases(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	rd_auto_strv struct rd_strv releases = RD_STRV_INIT;

	if (rd_fact_state(roots) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.reachable_releases", rd_fact_reason(roots), "runtime.rocm");
		return;
	}
	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const struct rd_fact *item = rd_fact_at(roots, i);

		if (rd_fact_is_unknown(item, "reachable")) {
			rd_fact_set_unknown_why(ctx->facts, "runtime.reachable_releases",
			                        rd_fact_reason(rd_fact_get(item, "reachable")), RD_LDCACHE_PATH);
			return;
		}
		if (rd_fact_get_bool(item, "reachable") && !rd_streq(rd_fact_get_str(item, "origin"), "distribution") &&
		    *rd_fact_get_str(item, "version"))
			rd_strv_push_unique(&releases, rd_fact_get_str(item, "version"));
	}
	rd_strv_sort(&releases);
	rd_fact_set_list(ctx->facts, "runtime.reachable_releases", RD_LDCACHE_PATH);
	for (size_t i = 0; i < releases.n; i++)
		rd_fact_append_str(ctx->facts, "runtime.reachable_releases", releases.v[i], RD_LDCACHE_PATH);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct libraries libs = { 0 };
	rd_auto_strv struct rd_strv conf_files = RD_STRV_INIT;
	int cache, conf;

	add_library_path(ctx, &libs);
	cache = add_cache(ctx, &libs);
	for (size_t i = 0; i < RD_ARRAY_SIZE(default_dirs); i++)
		add_dir(ctx, &libs, default_dirs[i], "default folder");
	add_roots(ctx, &libs);
	if (cache == -EINVAL || cache == -ENOENT || cache >= 0)
		rd_fact_set_bool(ctx->facts, "runtime.loader.cache", cache >= 0, RD_LDCACHE_PATH);
	else
		rd_fact_set_unknown(ctx->facts, "runtime.loader.cache", cache, RD_LDCACHE_PATH);
	if (cache < 0 && cache != -EINVAL)
		note_unread(&libs, cache);
	if (libs.unread)
		rd_fact_set_unknown(ctx->facts, "runtime.loader.all_read", libs.unread, LOADER);
	else
		rd_fact_set_bool(ctx->facts, "runtime.loader.all_read", true, LOADER);
	rd_fact_set_list(ctx->facts, "runtime.loader.conf", "/etc/ld.so.conf");
	conf = add_conf(ctx, "/etc/ld.so.conf", &conf_files);
	if (conf < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.loader.conf", conf, "/etc/ld.so.conf");
	sort_by_name(&libs);
	set_libraries(ctx, &libs, cache);
	libraries_clear(&libs);
	mark_roots(ctx, cache == -EINVAL ? -ENOENT : cache);
	set_reachable_releases(ctx);
	return 0;
}

const struct rd_probe rd_probe_runtime_loader = {
	.name = "runtime/loader",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/roots",
	.summary = "libraries of ROCm that the loader finds",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.loader.cache", RD_BOOL, "the loader's cache is there and can be read", RD_LDCACHE_PATH },
			{ "runtime.loader.all_read", RD_BOOL,
	                  "every folder and link that leads to a library was looked at; unknown where one could not be",
	                  LOADER },
			{ "runtime.loader.conf[]", RD_LIST, "folders that the cache is made from, in order",
	                  "/etc/ld.so.conf" },
			{ "runtime.loader.conf[].path", RD_STR, "folder", "/etc/ld.so.conf, /etc/ld.so.conf.d" },
			{ "runtime.loader.conf[].source", RD_STR, "file and line that name it",
	                  "/etc/ld.so.conf, /etc/ld.so.conf.d" },
			{ "runtime.loader.conf[].exists", RD_BOOL, "it is there", "the folder" },
			{ "runtime.libraries[]", RD_LIST, "libraries of ROCm, by SONAME, the one that the loader prefers first",
	                  LOADER },
			{ "runtime.libraries[].soname", RD_STR, "name that programs ask for", LOADER },
			{ "runtime.libraries[].path", RD_STR, "file by that name", LOADER },
			{ "runtime.libraries[].version", RD_STR, "number behind .so in the name of the file itself",
	                  "the file's name", RD_VERSION_DOTTED },
			{ "runtime.libraries[].release", RD_STR, "ROCm release in that number", "the file's name",
	                  RD_VERSION_ROCM },
			{ "runtime.libraries[].package", RD_STR, "package that brought it",
	                  "/var/lib/dpkg/info, " RD_RPMDB_PATH },
			{ "runtime.libraries[].root", RD_STR, "root of runtime.rocm that it lies in", "the path" },
			{ "runtime.libraries[].found_by", RD_STR,
	                  "\"LD_LIBRARY_PATH\", \"ld.so.cache\", \"default folder\"; \"\" for "
	                  "not without a search path of the program's own",
	                  LOADER },
			{ "runtime.libraries[].chosen", RD_BOOL, "a program without a search path of its own gets this one",
	                  LOADER },
			{ "runtime.reachable_releases[]", RD_STRS, "releases of AMD of which such a program finds libraries",
	                  LOADER },
			{ "runtime.rocm[].reachable", RD_BOOL,
	                  "a program without a search path of its own finds libraries of this root", LOADER },
			{ 0 },
		},
	.run = run,
};
