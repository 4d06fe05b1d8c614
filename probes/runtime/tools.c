/* The tools of ROCm and where PATH leads, the compiler's GCC, OpenCL's drivers, and engines that run containers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

/* Does PATH lead to it? -ENODATA where PATH is not recorded. */
static int is_on_path(struct rd_probe_ctx *ctx, const char *tool)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	const char *path;
	int r = rd_sysroot_getenv(ctx->sysroot, &path, "PATH");

	if (r < 0)
		return r;
	rd_strv_split(&dirs, r ? path : "/usr/local/bin:/usr/bin:/bin", ":", false);
	for (size_t i = 0; i < dirs.n; i++)
		if (dirs.v[i][0] == '/' && rd_sysroot_existsf(ctx->sysroot, "%s/%s", dirs.v[i], tool) == 1)
			return 1;
	return 0;
}

static void look_at_tools(struct rd_probe_ctx *ctx)
{
	static const char *const tools[] = { "amd-smi", "rocm-smi", "rocminfo" };
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");

	if (rd_fact_state(roots) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.tools", rd_fact_reason(roots), "runtime.rocm");
		return;
	}
	rd_fact_set_list(ctx->facts, "runtime.tools", "runtime.rocm");
	for (size_t i = 0; i < RD_ARRAY_SIZE(tools); i++)
		for (size_t k = 0; k < rd_fact_count(roots); k++) {
			const char *root = rd_fact_get_str(rd_fact_at(roots, k), "root");
			rd_auto_free char *path = rd_xasprintf("%s/bin/%s", root, tools[i]), *real = NULL;
			struct rd_fact *item;
			int r;

			/* A link of the alternatives in /usr/bin is no tool of a second installation. */
			if (rd_sysroot_realpath(ctx->sysroot, &real, path) < 0 || !rd_path_inside(real, root))
				continue;
			item = rd_fact_append(ctx->facts, "runtime.tools", path);
			rd_fact_set_str(item, "name", tools[i], path);
			rd_fact_set_str(item, "path", path, path);
			r = is_on_path(ctx, tools[i]);
			if (r < 0)
				rd_fact_set_unknown(item, "on_path", r, "PATH");
			else
				rd_fact_set_bool(item, "on_path", r, "PATH");
			break;
		}
}

/* Clang takes the GCC with the highest number whose folder holds a libgcc, whether or not it can compile C++. */
static void look_at_gcc(struct rd_probe_ctx *ctx)
{
	static const char *const triples[] = { "x86_64-linux-gnu", "x86_64-redhat-linux", "x86_64-suse-linux" };
	rd_auto_free char *best = NULL, *folder = NULL;
	int r, error = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(triples); i++) {
		rd_auto_strv struct rd_strv versions = RD_STRV_INIT;

		r = rd_sysroot_listf(ctx->sysroot, &versions, "/usr/lib/gcc/%s", triples[i]);
		if (r < 0 && r != -ENOENT)
			error = r;
		for (size_t k = 0; k < versions.n; k++) {
			rd_auto_free char *dir = rd_xasprintf("/usr/lib/gcc/%s/%s", triples[i], versions.v[k]);

			if (rd_sysroot_existsf(ctx->sysroot, "%s/libgcc.a", dir) != 1 &&
			    rd_sysroot_existsf(ctx->sysroot, "%s/crtbegin.o", dir) != 1)
				continue;
			if (best && rd_version_compare(versions.v[k], best, RD_VERSION_DOTTED) <= 0)
				continue;
			free(best);
			free(folder);
			best = rd_xstrdup(versions.v[k]);
			folder = rd_steal(dir);
		}
	}
	if (error < 0) {
		rd_fact_set_unknown(ctx->facts, "runtime.gcc", error, "/usr/lib/gcc");
		return;
	}
	if (!best)
		return;
	rd_fact_set_str(ctx->facts, "runtime.gcc.folder", folder, folder);
	rd_fact_set_str(ctx->facts, "runtime.gcc.version", best, folder);
	r = rd_sysroot_existsf(ctx->sysroot, "/usr/include/c++/%s", best);
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.gcc.has_headers", r, "/usr/include/c++");
	else
		rd_fact_set_bool(ctx->facts, "runtime.gcc.has_headers", r, "/usr/include/c++");
}

/* A bare name is looked for by the loader; what the cache has of it is not asked here. */
static void add_icd(struct rd_probe_ctx *ctx, const char *file)
{
	rd_auto_free char *library = NULL;
	struct rd_fact *item;
	int r;

	if (rd_sysroot_read_line(ctx->sysroot, &library, file) < 0)
		return;
	library[strcspn(library, "\r\n")] = '\0';
	item = rd_fact_append(ctx->facts, "runtime.opencl_icds", file);
	rd_fact_set_str(item, "file", file, file);
	rd_fact_set_str(item, "library", rd_str_strip(library), file);
	if (*library != '/')
		return;
	r = rd_sysroot_exists(ctx->sysroot, rd_str_strip(library));
	if (r < 0 && r != -ENOENT)
		rd_fact_set_unknown(item, "missing", r, file);
	else
		rd_fact_set_bool(item, "missing", r != 1, file);
}

static void look_at_opencl(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = rd_sysroot_glob(ctx->sysroot, &files, "/etc/OpenCL/vendors/*.icd");

	rd_fact_set_list(ctx->facts, "runtime.opencl_icds", "/etc/OpenCL/vendors");
	for (size_t i = 0; i < files.n; i++)
		add_icd(ctx, files.v[i]);
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.opencl_icds", r, "/etc/OpenCL/vendors");
}

static void look_for_container_engines(struct rd_probe_ctx *ctx)
{
	static const char *const names[] = { "apptainer", "containerd", "crio",    "docker", "incus",      "k3s",
		                             "kubelet",   "lxc-start",  "nerdctl", "podman", "singularity" };
	static const char *const dirs[] = { "/usr/bin", "/usr/local/bin", "/usr/sbin", "/snap/bin" };
	static const char fact[] = "runtime.container_engines", source[] = "/usr/bin, /usr/local/bin, /usr/sbin, /snap/bin";
	int error = 0;

	rd_fact_set_list(ctx->facts, fact, source);
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < RD_ARRAY_SIZE(dirs); k++) {
			int r = rd_sysroot_existsf(ctx->sysroot, "%s/%s", dirs[k], names[i]);

			if (r < 0)
				error = r;
			if (r != 1)
				continue;
			rd_fact_append_str(ctx->facts, fact, names[i], dirs[k]);
			break;
		}
	if (error < 0 && !rd_fact_count(rd_fact_get(ctx->facts, fact)))
		rd_fact_set_unknown(ctx->facts, fact, error, source);
}

static int run(struct rd_probe_ctx *ctx)
{
	look_at_tools(ctx);
	look_at_gcc(ctx);
	look_at_opencl(ctx);
	look_for_container_engines(ctx);
	return 0;
}

const struct rd_probe rd_probe_runtime_tools = {
	.name = "runtime/tools",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/roots",
	.summary = "tools, compiler, OpenCL drivers and container engines",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.tools[]", RD_LIST, "amd-smi, rocm-smi and rocminfo where a root has them, by name",
	                  "ROOT/bin" },
			{ "runtime.tools[].name", RD_STR, "name", "ROOT/bin" },
			{ "runtime.tools[].path", RD_STR, "file", "ROOT/bin" },
			{ "runtime.tools[].on_path", RD_BOOL, "PATH leads to one of this name", "PATH" },
			{ "runtime.gcc.folder", RD_STR, "folder of the newest GCC, which hipcc's clang takes", "/usr/lib/gcc" },
			{ "runtime.gcc.version", RD_STR, "its version", "/usr/lib/gcc", RD_VERSION_DOTTED },
			{ "runtime.gcc.has_headers", RD_BOOL, "C++ headers of that version are there", "/usr/include/c++" },
			{ "runtime.opencl_icds[]", RD_LIST, "drivers that OpenCL's loader is told of, by file",
	                  "/etc/OpenCL/vendors" },
			{ "runtime.opencl_icds[].file", RD_STR, "file", "/etc/OpenCL/vendors" },
			{ "runtime.opencl_icds[].library", RD_STR, "library that it names", "/etc/OpenCL/vendors" },
			{ "runtime.opencl_icds[].missing", RD_BOOL, "it names a path, and nothing is there",
	                  "/etc/OpenCL/vendors" },
			{ "runtime.container_engines[]", RD_STRS, "programs that run containers, by name",
	                  "/usr/bin and the like" },
			{ 0 },
		},
	.run = run,
};
