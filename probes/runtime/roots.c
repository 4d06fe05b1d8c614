/*
 * Where is ROCm installed? A root is recognised by what lies in it (.info/version, libhsa-runtime64, libamdhip64), whatever
 * it is called: /opt/rocm-6.4.1, /opt/rocm/core-10.0, a distribution's /usr, a folder that ROCM_PATH names.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MANIFEST_MAX ((size_t)4096)

static const char *const library_dirs[] = { "lib", "lib64", "hsa/lib", "hip/lib", "lib/x86_64-linux-gnu" };

static bool exists(struct rd_probe_ctx *ctx, const char *dir, const char *name)
{
	return rd_sysroot_existsf(ctx->sysroot, "%s/%s", rd_streq(dir, "/") ? "" : dir, name) == 1;
}

/* A link in a circle, or to a file, or to nothing: nothing is there. Anything else could not be looked at. */
static void keep_error(int *error, int r)
{
	if (r < 0 && r != -ENOENT && r != -ELOOP && r != -ENOTDIR && *error == 0)
		*error = r;
}

/* The library with the lowest name that begins so: "libamdhip64.so.6". */
static char *find_library(struct rd_probe_ctx *ctx, const char *root, const char *prefix, int *error)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(library_dirs); i++) {
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;
		rd_auto_free char *pattern = rd_xasprintf("%s/%s/%s*", root, library_dirs[i], prefix);

		keep_error(error, rd_sysroot_glob(ctx->sysroot, &found, pattern));
		for (size_t k = 0; k < found.n; k++) {
			int r = rd_sysroot_exists(ctx->sysroot, found.v[k]);

			if (r == 1)
				return rd_xstrdup(found.v[k]);
			keep_error(error, r);
		}
	}
	return NULL;
}

/* "6.4.1-83" or "7.14.0": the number before the build. */
static char *version_of_file(struct rd_probe_ctx *ctx, const char *root, char **ret_source)
{
	static const char *const files[] = { ".info/version", ".info/version-rocm", ".info/version-dev" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++) {
		rd_auto_free char *text = NULL;

		if (rd_sysroot_readf_line(ctx->sysroot, &text, "%s/%s", root, files[i]) < 0 || !*text)
			continue;
		text[strcspn(text, "-\n\r \t")] = '\0';
		*ret_source = rd_xasprintf("%s/%s", root, files[i]);
		return rd_xstrdup(text);
	}
	return NULL;
}

static bool define_value(const char *text, const char *name, unsigned long *ret)
{
	const char *p = text;
	size_t len = strlen(name);

	while ((p = strstr(p, name))) {
		char *end;

		if (p[len] == ' ' || p[len] == '\t') {
			*ret = strtoul(p + len, &end, 10);
			return end != p + len;
		}
		p += len;
	}
	return false;
}

static char *version_of_header(struct rd_probe_ctx *ctx, const char *root, char **ret_source)
{
	static const char *const files[] = { "include/rocm-core/rocm_version.h", "include/rocm_version.h" };
	unsigned long major, minor, patch;

	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++) {
		rd_auto_free char *text = NULL;

		if (rd_sysroot_readf(ctx->sysroot, &text, "%s/%s", root, files[i]) < 0)
			continue;
		if (!define_value(text, "ROCM_VERSION_MAJOR", &major) || !define_value(text, "ROCM_VERSION_MINOR", &minor) ||
		    !define_value(text, "ROCM_VERSION_PATCH", &patch))
			continue;
		*ret_source = rd_xasprintf("%s/%s", root, files[i]);
		return rd_xasprintf("%lu.%lu.%lu", major, minor, patch);
	}
	return NULL;
}

/* libhsa-runtime64.so.1.15.60400 behind its links is of ROCm 6.4.0. */
static char *version_of_library(struct rd_probe_ctx *ctx, const char *library, char **ret_source)
{
	rd_auto_free char *real = NULL;
	char *version;

	if (!library || rd_sysroot_realpath(ctx->sysroot, &real, library) < 0)
		return NULL;
	version = rd_library_release(real);
	if (version)
		*ret_source = rd_xstrdup(real);
	return version;
}

/* A distribution's ROCm: the version of the package that the runtime library comes from. */
static char *version_of_package(struct rd_probe_ctx *ctx, char **ret_source)
{
	static const char *const names[] = { "libhsa-runtime64-1", "rocm-runtime", "rocr-runtime", "hsa-rocr",
		                             "libamdhip64-*" };
	const struct rd_fact *packages = rd_fact_get(ctx->facts, "runtime.packages");

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < rd_fact_count(packages); k++) {
			const struct rd_fact *p = rd_fact_at(packages, k);
			const char *version = rd_fact_get_str(p, "version"), *colon = strchr(version, ':');

			if (!rd_str_glob(names[i], rd_fact_get_str(p, "name")) ||
			    !rd_streq(rd_fact_get_str(p, "origin"), "distribution") ||
			    !rd_streq(rd_fact_get_str(p, "state"), "installed"))
				continue;
			if (colon)
				version = colon + 1;
			*ret_source = rd_xstrdup(rd_fact_source(p));
			return rd_xstrndup(version, strcspn(version, "-+~"));
		}
	return NULL;
}

/* "/opt/rocm-6.4.1", "/opt/rocm/core-10.0": the last resort. */
static char *version_of_name(const char *root)
{
	const char *dash = strrchr(root, '-');

	if (!dash || dash[1] < '0' || dash[1] > '9' || strchr(dash, '/'))
		return NULL;
	return rd_xstrdup(dash + 1);
}

static const char *layout_of(const char *root)
{
	if (rd_streq(root, "/usr"))
		return "distribution";
	if (rd_str_has_prefix(root, "/opt/rocm/core-"))
		return "core";
	if (rd_str_has_prefix(root, "/opt/rocm"))
		return "classic";
	return "other";
}

static bool amd_packages_have(struct rd_probe_ctx *ctx, const char *version)
{
	const struct rd_fact *packages = rd_fact_get(ctx->facts, "runtime.packages");

	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);

		if (rd_streq(rd_fact_get_str(p, "origin"), "amd") && rd_streq(rd_fact_get_str(p, "kind"), "rocm") &&
		    rd_str_has_prefix(version, rd_fact_get_str(p, "release")))
			return true;
	}
	return false;
}

static void set_origin(struct rd_probe_ctx *ctx, struct rd_fact *item, const char *root, const char *version,
                       const char *source)
{
	const char *origin = "unpackaged";

	if (rd_streq(root, "/usr"))
		origin = "distribution";
	else if (rd_fact_is_unknown(ctx->facts, "runtime.packages"))
		origin = NULL;
	else if (amd_packages_have(ctx, version))
		origin = "amd";
	if (origin)
		rd_fact_set_str(item, "origin", origin, source);
	else
		rd_fact_set_unknown_why(item, "origin", rd_fact_reason(rd_fact_get(ctx->facts, "runtime.packages")), source);
}

static bool has_file_of(struct rd_probe_ctx *ctx, const char *root, const char *const *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (exists(ctx, root, files[i]))
			return true;
	return false;
}

/* hipcc calls the clang beside it, or a distribution's own. */
static bool has_clang(struct rd_probe_ctx *ctx, const char *root)
{
	static const char *const inside[] = { "llvm/bin/clang", "lib/llvm/bin/clang", "bin/amdclang", "llvm/bin/amdclang",
		                              "bin/clang" };
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	if (has_file_of(ctx, root, inside, RD_ARRAY_SIZE(inside)))
		return true;
	if (!rd_streq(root, "/usr"))
		return false;
	if (rd_sysroot_glob(ctx->sysroot, &found, "/usr/bin/clang-*") < 0 ||
	    rd_sysroot_glob(ctx->sysroot, &found, "/usr/lib/llvm-*/bin/clang") < 0 ||
	    rd_sysroot_glob(ctx->sysroot, &found, "/usr/lib64/rocm/llvm/bin/clang") < 0 ||
	    rd_sysroot_glob(ctx->sysroot, &found, "/usr/lib64/llvm*/bin/clang") < 0)
		return false;
	return found.n > 0;
}

/* A link of the alternatives from /usr/bin into another root does not count. */
static bool has_hipcc(struct rd_probe_ctx *ctx, const char *root, int *error)
{
	rd_auto_free char *path = rd_xasprintf("%s/bin/hipcc", root), *real = NULL;
	int r = rd_sysroot_realpath(ctx->sysroot, &real, path);

	keep_error(error, r);
	return r >= 0 && rd_path_inside(real, root);
}

static void set_found(struct rd_fact *item, const char *fact, const char *path, int error, const char *root)
{
	if (!path && error < 0)
		rd_fact_set_unknown(item, fact, error, root);
	else
		rd_fact_set_str(item, fact, path ? path : "", path ? path : root);
}

/* Returns why it is not known whether there is a ROCm in it; 0 where that is known. */
static int add_root(struct rd_probe_ctx *ctx, const char *root)
{
	int error = 0, hipcc_error = 0;
	rd_auto_free char *hsa = find_library(ctx, root, "libhsa-runtime64.so.1", &error);
	rd_auto_free char *hip = find_library(ctx, root, "libamdhip64.so.", &error);
	rd_auto_free char *version = NULL, *source = NULL;
	struct rd_fact *item;
	bool usr = rd_streq(root, "/usr"), hipcc;

	version = usr ? version_of_package(ctx, &source) : version_of_file(ctx, root, &source);
	if (!hsa && !hip && (!version || usr))
		return error;
	if (!version)
		version = version_of_header(ctx, root, &source);
	if (!version)
		version = version_of_library(ctx, hsa, &source);
	if (!version)
		version = version_of_library(ctx, hip, &source);
	if (!version)
		version = version_of_name(root);
	item = rd_fact_append(ctx->facts, "runtime.rocm", root);
	rd_fact_set_str(item, "root", root, root);
	if (version)
		rd_fact_set_str(item, "version", version, source ? source : root);
	else
		rd_fact_set_unknown_why(item, "version", "nothing in it tells its release", root);
	set_origin(ctx, item, root, version ? version : "", root);
	rd_fact_set_str(item, "layout", layout_of(root), root);
	set_found(item, "hsa_runtime", hsa, error, root);
	set_found(item, "hip_runtime", hip, error, root);
	hipcc = has_hipcc(ctx, root, &hipcc_error);
	if (hipcc_error < 0)
		rd_fact_set_unknown(item, "hipcc", hipcc_error, root);
	else
		rd_fact_set_bool(item, "hipcc", hipcc, root);
	rd_fact_set_bool(item, "clang", has_clang(ctx, root), root);
	return 0;
}

/* The same folder by several names is one root. */
static int add_candidate(struct rd_probe_ctx *ctx, struct rd_strv *roots, const char *path)
{
	rd_auto_free char *real = NULL;
	int r = *path == '/' ? rd_sysroot_realpath(ctx->sysroot, &real, path) : -ENOENT;

	if (r >= 0)
		rd_strv_push_unique(roots, real);
	return r;
}

static void add_variable(struct rd_probe_ctx *ctx, struct rd_strv *roots, const char *name)
{
	const char *value;

	if (rd_sysroot_getenv(ctx->sysroot, &value, name) == 1)
		(void)add_candidate(ctx, roots, value);
}

/* Folders of LD_LIBRARY_PATH: what lies above their lib. */
static void add_library_path(struct rd_probe_ctx *ctx, struct rd_strv *roots)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	const char *value;

	if (rd_sysroot_getenv(ctx->sysroot, &value, "LD_LIBRARY_PATH") != 1)
		return;
	rd_strv_split(&dirs, value, ":;", false);
	for (size_t i = 0; i < dirs.n; i++) {
		rd_auto_free char *real = NULL;
		char *slash;

		if (dirs.v[i][0] != '/' || rd_sysroot_realpath(ctx->sysroot, &real, dirs.v[i]) < 0)
			continue;
		slash = strrchr(real, '/');
		if (slash && slash != real && rd_str_has_prefix(slash, "/lib") && strstr(real, "rocm")) {
			*slash = '\0';
			rd_strv_push_unique(roots, real);
		}
	}
}

static int collect(struct rd_probe_ctx *ctx, struct rd_strv *roots)
{
	static const char *const patterns[] = { "/opt/rocm-*", "/opt/rocm/core-*", "/opt/rocm" };
	static const char *const variables[] = { "ROCM_PATH", "ROCM_HOME", "HIP_PATH" };
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	int error = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++)
		keep_error(&error, rd_sysroot_glob(ctx->sysroot, &found, patterns[i]));
	for (size_t i = 0; i < found.n; i++)
		keep_error(&error, add_candidate(ctx, roots, found.v[i]));
	for (size_t i = 0; i < RD_ARRAY_SIZE(variables); i++)
		add_variable(ctx, roots, variables[i]);
	add_library_path(ctx, roots);
	keep_error(&error, add_candidate(ctx, roots, "/usr"));
	rd_strv_sort(roots);
	return error;
}

/*
 * Links that lead to a release. A link is dangling where its own text, followed to the end, names nothing.
 */
static void add_link(struct rd_probe_ctx *ctx, const char *path)
{
	rd_auto_free char *target = NULL, *real = NULL;
	struct rd_fact *item;
	int r;

	if (rd_sysroot_readlink(ctx->sysroot, &target, path) < 0)
		return;
	item = rd_fact_append(ctx->facts, "runtime.links", path);
	rd_fact_set_str(item, "path", path, path);
	rd_fact_set_str(item, "target", target, path);
	r = rd_sysroot_realpath(ctx->sysroot, &real, path);
	if (r < 0 && r != -ENOENT && r != -ELOOP && r != -ENOTDIR) {
		rd_fact_set_unknown(item, "resolved", r, path);
		rd_fact_set_unknown(item, "dangling", r, path);
		return;
	}
	rd_fact_set_str(item, "resolved", r < 0 ? "" : real, path);
	rd_fact_set_bool(item, "dangling", r < 0, path);
}

/* The root that programs reach without knowing a release: /opt/rocm, or /opt/rocm/core, or a distribution's /usr. */
static void set_default_root(struct rd_probe_ctx *ctx)
{
	static const char *const paths[] = { "/opt/rocm/core", "/opt/rocm", "/usr" };
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++) {
		rd_auto_free char *real = NULL;

		if (rd_sysroot_realpath(ctx->sysroot, &real, paths[i]) < 0)
			continue;
		for (size_t k = 0; k < rd_fact_count(roots); k++)
			if (rd_streq(rd_fact_get_str(rd_fact_at(roots, k), "root"), real)) {
				rd_fact_set_str(ctx->facts, "runtime.default_root", real, paths[i]);
				return;
			}
	}
}

/* Is there a name without a release that leads into the root? */
static bool is_linked(struct rd_probe_ctx *ctx, const struct rd_fact *item)
{
	static const char *const paths[] = { "/opt/rocm", "/opt/rocm/core", "/opt/rocm/lib", "/opt/rocm/bin" };
	const char *root = rd_fact_get_str(item, "root");

	if (rd_streq(root, "/usr"))
		return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++) {
		rd_auto_free char *real = NULL;

		if (rd_sysroot_realpath(ctx->sysroot, &real, paths[i]) >= 0 && rd_path_inside(real, root))
			return true;
	}
	return false;
}

/* The command that makes the names without a release: a link, or the alternatives that the layout from 7.14 on uses. */
static void set_link_command(struct rd_fact *item)
{
	const char *root = rd_fact_get_str(item, "root");
	rd_auto_free char *command = NULL;

	if (rd_streq(rd_fact_get_str(item, "layout"), "core"))
		command = rd_xasprintf("sudo update-alternatives --install /opt/rocm/lib rocm-lib %s/lib 100 && "
		                       "sudo update-alternatives --install /opt/rocm/bin rocm-bin %s/bin 100",
		                       root, root);
	else if (rd_streq(rd_fact_get_str(item, "layout"), "classic"))
		command = rd_xasprintf("sudo ln -sfn %s /opt/rocm", root);
	rd_fact_set_str(item, "link_command", command ? command : "", root);
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char *const links[] = { "/opt/rocm/bin", "/opt/rocm/core", "/opt/rocm/include", "/opt/rocm/lib" };
	rd_auto_strv struct rd_strv roots = RD_STRV_INIT;
	struct rd_fact *list;
	int r, error = 0;

	r = collect(ctx, &roots);
	if (r < 0)
		return r;
	rd_fact_set_list(ctx->facts, "runtime.rocm", "/opt, /usr");
	for (size_t i = 0; i < roots.n; i++)
		keep_error(&error, add_root(ctx, roots.v[i]));
	if (error < 0 && !rd_fact_count(rd_fact_get(ctx->facts, "runtime.rocm"))) {
		rd_fact_set_unknown(ctx->facts, "runtime.rocm", error, "/opt, /usr");
		return error;
	}
	rd_fact_set_list(ctx->facts, "runtime.links", "/opt/rocm");
	add_link(ctx, "/opt/rocm");
	add_link(ctx, "/etc/alternatives/rocm");
	/* Behind a link these are a release's own affair: without its compiler, its "llvm" leads nowhere. */
	if (!rd_fact_count(rd_fact_get(ctx->facts, "runtime.links")))
		for (size_t i = 0; i < RD_ARRAY_SIZE(links); i++)
			add_link(ctx, links[i]);
	set_default_root(ctx);
	list = rd_fact_get_mutable(ctx->facts, "runtime.rocm");
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		rd_fact_set_bool(item, "linked", is_linked(ctx, item), "/opt/rocm");
		set_link_command(item);
	}
	return 0;
}

#define IN_ROOT "below the root"

const struct rd_probe rd_probe_runtime_roots = {
	.name = "runtime/roots",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/packages",
	.summary = "where ROCm is installed",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.rocm[]", RD_LIST, "installations of ROCm, by root",
	                  "/opt/rocm*, /usr, ROCM_PATH, LD_LIBRARY_PATH" },
			{ "runtime.rocm[].root", RD_STR, "folder, every link resolved", "/opt/rocm*, /usr" },
			{ "runtime.rocm[].version", RD_STR, "ROCm release",
	                  "ROOT/.info/version, else headers, file names, packages", RD_VERSION_ROCM },
			{ "runtime.rocm[].origin", RD_STR,
	                  "\"amd\", \"distribution\", \"wheel\" or \"unpackaged\" (a tarball, a copy)", "runtime.packages" },
			{ "runtime.rocm[].layout", RD_STR,
	                  "\"classic\" (/opt/rocm-X.Y.Z), \"core\" (/opt/rocm/core-X.Y), \"distribution\", "
	                  "\"wheel\" or \"other\"",
	                  "the path" },
			{ "runtime.rocm[].linked", RD_BOOL, "a name without a release leads there (/opt/rocm, /opt/rocm/lib)",
	                  "/opt/rocm" },
			{ "runtime.rocm[].link_command", RD_STR, "command that makes such a name", "the path" },
			{ "runtime.rocm[].hsa_runtime", RD_STR, "its libhsa-runtime64.so.1", IN_ROOT },
			{ "runtime.rocm[].hip_runtime", RD_STR, "its libamdhip64", IN_ROOT },
			{ "runtime.rocm[].hipcc", RD_BOOL, "bin/hipcc is there", IN_ROOT },
			{ "runtime.rocm[].clang", RD_BOOL, "the clang that hipcc calls is there", IN_ROOT },
			{ "runtime.default_root", RD_STR,
	                  "root that /opt/rocm (or /opt/rocm/core, or a distribution's /usr) stands for", "/opt/rocm" },
			{ "runtime.links[]", RD_LIST, "links that lead to a release", "/opt/rocm*, /etc/alternatives/rocm" },
			{ "runtime.links[].path", RD_STR, "the link", "/opt/rocm" },
			{ "runtime.links[].target", RD_STR, "what is written in it", "/opt/rocm" },
			{ "runtime.links[].resolved", RD_STR, "where it leads in the end; \"\" for nowhere", "/opt/rocm" },
			{ "runtime.links[].dangling", RD_BOOL, "it leads nowhere", "/opt/rocm" },
			{ 0 },
		},
	.run = run,
};
