/*
 * Does rocminfo of each root find its libraries? It stands for every program that was built against that root and brings no
 * search path of its own. And does LD_LIBRARY_PATH mix a runtime of one release with a HIP of another?
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define rd_auto_elf rd_auto(rd_cleanup_elf)

/* "$ORIGIN/../lib:/opt/rocm/lib" as folders; $ORIGIN is the folder of the program itself. */
static void add_search_path(struct rd_strv *dirs, const char *path, const char *origin)
{
	rd_auto_strv struct rd_strv parts = RD_STRV_INIT;

	rd_strv_split(&parts, path ? path : "", ":", false);
	for (size_t i = 0; i < parts.n; i++) {
		const char *part = parts.v[i];

		if (rd_str_has_prefix(part, "$ORIGIN"))
			rd_strv_pushf(dirs, "%s%s", origin, part + strlen("$ORIGIN"));
		else if (rd_str_has_prefix(part, "${ORIGIN}"))
			rd_strv_pushf(dirs, "%s%s", origin, part + strlen("${ORIGIN}"));
		else if (*part == '/')
			rd_strv_push(dirs, part);
	}
}

/* 1, 0, or why one of the folders does not tell. */
static int is_in(struct rd_probe_ctx *ctx, const struct rd_strv *dirs, const char *name)
{
	int error = 0;

	for (size_t i = 0; i < dirs->n; i++) {
		int r = rd_sysroot_existsf(ctx->sysroot, "%s/%s", dirs->v[i], name);

		if (r == 1)
			return 1;
		if (r < 0)
			error = r;
	}
	return error;
}

/* As is_in(), of what a program without a search path finds; *ret_in_root is where a copy lies that it does not find. */
static int is_found(const struct rd_fact *facts, const char *name, const char *root, const char **ret_in_root)
{
	const struct rd_fact *libraries = rd_fact_get(facts, "runtime.libraries");

	for (size_t i = 0; i < rd_fact_count(libraries); i++) {
		const struct rd_fact *lib = rd_fact_at(libraries, i);

		if (!rd_streq(rd_fact_get_str(lib, "soname"), name))
			continue;
		if (rd_fact_get_bool(lib, "chosen"))
			return 1;
		if (rd_streq(rd_fact_get_str(lib, "root"), root))
			*ret_in_root = rd_fact_get_str(lib, "path");
	}
	return rd_fact_get_bool(facts, "runtime.loader.all_read") ? 0 : -ENODATA;
}

static void judge_needs(struct rd_probe_ctx *ctx, const char *program, const char *root, const struct rd_elf *elf)
{
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.programs", program);
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	rd_auto_free char *origin = rd_xstrndup(program, (size_t)(strrchr(program, '/') - program));
	bool needs_hsa = false;
	int finds_hsa = 1, unread = 0;

	/* A RUNPATH comes after LD_LIBRARY_PATH and an RPATH before it; for what is found at all the order is the same. */
	add_search_path(&dirs, elf->rpath, origin);
	add_search_path(&dirs, elf->runpath, origin);
	rd_fact_set_str(item, "program", program, program);
	rd_fact_set_str(item, "unreached_root", "", program);
	for (size_t i = 0; i < elf->needed->n; i++) {
		const char *name = elf->needed->v[i], *in_root = NULL;
		int found;

		if (!rd_library_is_rocm(name))
			continue;
		found = is_in(ctx, &dirs, name);
		if (found != 1) {
			int r = is_found(ctx->facts, name, root, &in_root);

			found = r == 1 || found == 0 ? r : found;
		}
		if (rd_streq(name, "libhsa-runtime64.so.1")) {
			needs_hsa = true;
			finds_hsa = found;
		}
		if (found == 1)
			continue;
		/* It may well be found: then no root is out of reach. */
		if (found < 0) {
			unread = found;
			continue;
		}
		rd_fact_append_str(item, "missing", name, program);
		if (in_root) {
			rd_auto_free char *folder = rd_xstrndup(in_root, (size_t)(strrchr(in_root, '/') - in_root));

			rd_fact_set_str(item, "unreached_root", root, in_root);
			rd_fact_set_str(item, "library_folder", folder, in_root);
		}
	}
	rd_fact_set_bool(item, "needs_hsa", needs_hsa, program);
	if (finds_hsa < 0)
		rd_fact_set_unknown(item, "finds_hsa", finds_hsa, program);
	else
		rd_fact_set_bool(item, "finds_hsa", finds_hsa, program);
	if (unread && !rd_fact_count(rd_fact_get(item, "missing"))) {
		rd_fact_set_unknown(item, "missing", unread, program);
		rd_fact_set_unknown(item, "unreached_root", unread, program);
		rd_fact_set_unknown(item, "library_folder", unread, program);
	}
}

static void look_at_program(struct rd_probe_ctx *ctx, const char *root)
{
	rd_auto_free char *path = rd_xasprintf("%s/bin/rocminfo", root), *real = NULL;
	rd_auto_elf struct rd_elf *elf = NULL;
	struct rd_file *file = NULL;
	struct rd_reader reader;

	/* A link of the alternatives in /usr/bin leads into another root. */
	if (rd_sysroot_realpath(ctx->sysroot, &real, path) < 0 || !rd_path_inside(real, root) ||
	    rd_file_open(ctx->sysroot, &file, real) < 0)
		return;
	reader = rd_reader_of_file(file);
	/* A script, or a file that is damaged, says nothing about libraries. */
	if (rd_elf_open(&reader, &elf, NULL) >= 0 && elf->complete && rd_elf_read_dynamic(elf, NULL) >= 0 && elf->is_dynamic)
		judge_needs(ctx, real, root, elf);
	rd_file_close(file);
}

static const struct rd_fact *chosen_library(const struct rd_fact *libraries, const char *prefix)
{
	for (size_t i = 0; i < rd_fact_count(libraries); i++) {
		const struct rd_fact *lib = rd_fact_at(libraries, i);

		if (rd_fact_get_bool(lib, "chosen") && rd_str_has_prefix(rd_fact_get_str(lib, "soname"), prefix))
			return lib;
	}
	return NULL;
}

static const char *version_of_root(const struct rd_fact *facts, const char *root, const char *what)
{
	const struct rd_fact *roots = rd_fact_get(facts, "runtime.rocm");

	for (size_t i = 0; i < rd_fact_count(roots); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(roots, i), "root"), root))
			return rd_fact_get_str(rd_fact_at(roots, i), what);
	return "";
}

/* The item of LD_LIBRARY_PATH through which a library is found; its folder may be a link. */
static void name_folder(struct rd_probe_ctx *ctx, const char *path)
{
	const struct rd_fact *items = rd_fact_get(ctx->facts, "runtime.environment.LD_LIBRARY_PATH");
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name && i < rd_fact_count(items); i++) {
		const char *item = rd_fact_str(rd_fact_at(items, i));

		if (*item == '/' && rd_sysroot_existsf(ctx->sysroot, "%s%s", item, name) == 1) {
			rd_fact_set_str(ctx->facts, "runtime.shadow.folder", item, "LD_LIBRARY_PATH");
			return;
		}
	}
}

/*
 * LD_LIBRARY_PATH with a runtime but no HIP beside it: it goes before the RUNPATH of the HIP that the cache leads to. The
 * libraries of the layout from 7.14 on have an RPATH, which goes before LD_LIBRARY_PATH.
 */
static void look_for_shadow(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *libraries = rd_fact_get(ctx->facts, "runtime.libraries");
	const struct rd_fact *hsa = chosen_library(libraries, "libhsa-runtime64."),
			     *hip = chosen_library(libraries, "libamdhip64.");
	const char *hsa_root = rd_fact_get_str(hsa, "root"), *hip_root = rd_fact_get_str(hip, "root");
	const char *hsa_release = version_of_root(ctx->facts, hsa_root, "version");
	const char *hip_release = version_of_root(ctx->facts, hip_root, "version");

	if (!rd_streq(rd_fact_get_str(hsa, "found_by"), "LD_LIBRARY_PATH") ||
	    rd_streq(rd_fact_get_str(hip, "found_by"), "LD_LIBRARY_PATH") || !*hsa_release || !*hip_release ||
	    rd_streq(hsa_release, hip_release) || !rd_streq(version_of_root(ctx->facts, hip_root, "layout"), "classic"))
		return;
	rd_fact_set_bool(ctx->facts, "runtime.shadow.found", true, "LD_LIBRARY_PATH");
	rd_fact_set_str(ctx->facts, "runtime.shadow.hsa_path", rd_fact_get_str(hsa, "path"), "LD_LIBRARY_PATH");
	name_folder(ctx, rd_fact_get_str(hsa, "path"));
	rd_fact_set_str(ctx->facts, "runtime.shadow.hsa_release", hsa_release, hsa_root);
	rd_fact_set_str(ctx->facts, "runtime.shadow.hip_path", rd_fact_get_str(hip, "path"), rd_fact_get_str(hip, "found_by"));
	rd_fact_set_str(ctx->facts, "runtime.shadow.hip_release", hip_release, hip_root);
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	const struct rd_fact *libraries = rd_fact_get(ctx->facts, "runtime.libraries");

	if (rd_fact_state(libraries) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(ctx->facts, "runtime.programs", rd_fact_reason(libraries), rd_fact_source(libraries));
		rd_fact_set_unknown_why(ctx->facts, "runtime.shadow.found", rd_fact_reason(libraries),
		                        rd_fact_source(libraries));
		return 0;
	}
	rd_fact_set_list(ctx->facts, "runtime.programs", "ROOT/bin");
	for (size_t i = 0; i < rd_fact_count(roots); i++)
		look_at_program(ctx, rd_fact_get_str(rd_fact_at(roots, i), "root"));
	look_for_shadow(ctx);
	return 0;
}

#define NEEDS "DT_NEEDED, DT_RUNPATH, runtime.libraries"

const struct rd_probe rd_probe_runtime_programs = {
	.name = "runtime/programs",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/loader",
	.needs = (const char *const[]){ "runtime.libraries", NULL },
	.summary = "whether programs of ROCm find its libraries",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.programs[]", RD_LIST, "rocminfo of each root, and whether it finds its libraries",
	                  "ROOT/bin/rocminfo" },
			{ "runtime.programs[].program", RD_STR, "file, every link resolved", "ROOT/bin/rocminfo" },
			{ "runtime.programs[].needs_hsa", RD_BOOL, "it needs libhsa-runtime64.so.1", "DT_NEEDED" },
			{ "runtime.programs[].finds_hsa", RD_BOOL, "it finds that, or does not need it", NEEDS },
			{ "runtime.programs[].missing[]", RD_STRS, "libraries of ROCm that it does not find", NEEDS },
			{ "runtime.programs[].unreached_root", RD_STR,
	                  "root in which such a library lies all the same; \"\" for none", NEEDS },
			{ "runtime.programs[].library_folder", RD_STR, "folder of that library", NEEDS },
			{ "runtime.shadow.found", RD_BOOL,
	                  "LD_LIBRARY_PATH puts the HSA runtime of one release below the HIP of another", "runtime.libraries" },
			{ "runtime.shadow.hsa_path", RD_STR, "that HSA runtime", "runtime.libraries" },
			{ "runtime.shadow.folder", RD_STR, "item of LD_LIBRARY_PATH that leads to it", "LD_LIBRARY_PATH" },
			{ "runtime.shadow.hsa_release", RD_STR, "its release", "runtime.rocm", RD_VERSION_ROCM },
			{ "runtime.shadow.hip_path", RD_STR, "that HIP", "runtime.libraries" },
			{ "runtime.shadow.hip_release", RD_STR, "its release", "runtime.rocm", RD_VERSION_ROCM },
			{ 0 },
		},
	.run = run,
};
