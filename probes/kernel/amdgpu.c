/* Is amdgpu loaded, built in, on disk or nowhere; whose is it, and is what runs the file that modprobe would load? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-firmware.h"
#include "common.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/kmod.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MODULE "/sys/module/amdgpu"
#define FOLDER "/lib/modules/RELEASE"
#define AMDGPU(fact) "kernel.amdgpu." fact

RD_DEFINE_CLEANUP(kmod, struct rd_kmod, rd_kmod_close)
#define rd_auto_kmod rd_auto(rd_cleanup_kmod)

/* What the kernel says of its modules. */
enum presence { NOWHERE, LIVE, BUILT_IN, HALF_WAY, NOT_TOLD };

static enum presence look_at_kernel(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *state = NULL;
	int r = rd_sysroot_exists(ctx->sysroot, MODULE);

	if (r > 0) {
		r = rd_sysroot_read_line(ctx->sysroot, &state, MODULE "/initstate");
		if (r < 0)
			/* What is compiled in has parameters, but never a state. */
			return r == -ENOENT ? BUILT_IN : LIVE;
		rd_fact_set_str(ctx->facts, AMDGPU("initstate"), state, MODULE "/initstate");
		return rd_streq(state, "live") ? LIVE : HALF_WAY;
	}
	if (kernel_drives_a_gpu(ctx))
		return LIVE;
	/* A tree without /sys/module, or a container without /sys, tells nothing. */
	return r == 0 && rd_sysroot_exists(ctx->sysroot, "/sys/module") > 0 ? NOWHERE : NOT_TOLD;
}

static void read_parameters(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(ctx->sysroot, &names, MODULE "/parameters");

	if (r < 0 && r != -ENOENT) {
		rd_fact_set_unknown(ctx->facts, AMDGPU("parameters"), r, MODULE "/parameters");
		return;
	}
	rd_fact_set_map(ctx->facts, AMDGPU("parameters"), MODULE "/parameters");
	for (size_t i = 0; i < names.n; i++) {
		rd_auto_free char *path = rd_xasprintf(MODULE "/parameters/%s", names.v[i]);
		rd_auto_free char *value = NULL;

		/* Some are for root alone, some cannot be read at all: they are left out. */
		if (rd_sysroot_read_line(ctx->sysroot, &value, path) >= 0)
			rd_fact_set_entry(ctx->facts, AMDGPU("parameters"), names.v[i], value, path);
	}
}

/* The running module. Only builds outside the kernel's tree have a version; they also taint. */
static void describe_running(struct rd_probe_ctx *ctx)
{
	rd_auto_free char *taint = NULL;
	bool versioned;
	int r;

	rd_probe_str(ctx, ctx->facts, AMDGPU("version"), MODULE "/version");
	rd_probe_str(ctx, ctx->facts, AMDGPU("srcversion"), MODULE "/srcversion");
	read_parameters(ctx);
	r = rd_probe_str(ctx, ctx->facts, AMDGPU("taint"), MODULE "/taint");
	taint = rd_xstrdup(rd_fact_get_str(ctx->facts, AMDGPU("taint")));
	versioned = rd_fact_get_str(ctx->facts, AMDGPU("version"))[0] != '\0';
	if (!versioned && (r < 0 || rd_fact_is_unknown(ctx->facts, AMDGPU("version"))))
		rd_fact_set_unknown(ctx->facts, AMDGPU("origin"), r < 0 ? r : -ENODATA, MODULE "/taint");
	else if (rd_sysroot_exists(ctx->sysroot, MODULE) > 0)
		rd_fact_set_str(ctx->facts, AMDGPU("origin"), versioned || strchr(taint, 'O') ? "dkms" : "in-tree",
		                versioned ? MODULE "/version" : MODULE "/taint");
	else
		rd_fact_set_unknown(ctx->facts, AMDGPU("origin"), -ENODATA, MODULE);
}

/* Where the module may lie when modules.dep does not name it, or names a file that is gone. */
static int search_disk(struct rd_sysroot *sr, const char *folder, char **ret)
{
	static const char *const places[] = { "updates/dkms", "updates",      "extra",
		                              "extra/amdgpu", "weak-updates", "kernel/drivers/gpu/drm/amd/amdgpu" };
	static const char *const suffixes[] = { "", ".zst", ".xz", ".gz" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(places); i++) {
		for (size_t j = 0; j < RD_ARRAY_SIZE(suffixes); j++) {
			rd_auto_free char *path = rd_xasprintf("%s/%s/amdgpu.ko%s", folder, places[i], suffixes[j]);
			int r = rd_sysroot_exists(sr, path);

			if (r < 0)
				return r;
			if (r > 0) {
				*ret = rd_steal(path);
				return 0;
			}
		}
	}
	return -ENOENT;
}

static int find_module(struct rd_probe_ctx *ctx, struct rd_kmod *kmod, char **ret)
{
	rd_auto_free char *path = NULL;
	int r = rd_kmod_module_path(kmod, "amdgpu", &path);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0) {
		r = rd_sysroot_exists(ctx->sysroot, path);
		if (r < 0)
			return r;
		if (r > 0) {
			*ret = rd_steal(path);
			return 0;
		}
	}
	return search_disk(ctx->sysroot, rd_kmod_folder(kmod), ret);
}

static const char *field(const struct rd_strv *modinfo, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < modinfo->n; i++) {
		if (strncmp(modinfo->v[i], name, n) == 0 && modinfo->v[i][n] == '=')
			return modinfo->v[i] + n + 1;
	}
	return NULL;
}

static void set_field(struct rd_fact *facts, const char *path, const char *value, const char *source)
{
	if (value)
		rd_fact_set_str(facts, path, value, source);
	else
		rd_fact_set_absent(facts, path, source);
}

static const char *const file_facts[] = { AMDGPU("file.version"), AMDGPU("file.srcversion"), AMDGPU("file.vermagic"),
	                                  AMDGPU("file.signed"), AMDGPU("file.signer") };

static void describe_file(struct rd_fact *facts, const struct rd_strv *modinfo, const char *path)
{
	set_field(facts, AMDGPU("file.version"), field(modinfo, "version"), path);
	set_field(facts, AMDGPU("file.srcversion"), field(modinfo, "srcversion"), path);
	set_field(facts, AMDGPU("file.vermagic"), field(modinfo, "vermagic"), path);
	set_field(facts, AMDGPU("file.signer"), field(modinfo, "signer"), path);
	rd_fact_set_bool(facts, AMDGPU("file.signed"), field(modinfo, "sig_id") || field(modinfo, "signer"), path);
}

static void add_missing(struct rd_fact *facts, const char *module, const char *path, const char *source)
{
	rd_auto_free char *name = rd_kmod_name(module);
	const struct rd_fact *list = rd_fact_get(facts, AMDGPU("missing_dependencies"));
	struct rd_fact *item;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "module"), name))
			return;
	}
	item = rd_fact_append(facts, AMDGPU("missing_dependencies"), source);
	rd_fact_set_str(item, "module", name, source);
	rd_fact_set_str(item, "file", path, source);
}

/* Files that modules.dep names and that are gone. */
static void check_dependency_files(struct rd_probe_ctx *ctx, struct rd_kmod *kmod)
{
	rd_auto_free char *source = rd_xasprintf("%s/modules.dep", rd_kmod_folder(kmod));
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;

	if (rd_kmod_dependencies(kmod, "amdgpu", &paths) < 0)
		return;
	for (size_t i = 0; i < paths.n; i++) {
		if (rd_sysroot_exists(ctx->sysroot, paths.v[i]) == 0)
			add_missing(ctx->facts, paths.v[i], paths.v[i], source);
	}
}

/* Modules that the file itself needs and that this kernel has neither as a file nor built in. */
static void check_depends(struct rd_probe_ctx *ctx, struct rd_kmod *kmod, const struct rd_strv *modinfo, const char *path)
{
	const char *depends = field(modinfo, "depends");
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *unused = NULL;

	/* Without the two indexes a name that is not found means nothing. */
	if (!depends || rd_sysroot_existsf(ctx->sysroot, "%s/modules.builtin", rd_kmod_folder(kmod)) <= 0 ||
	    rd_kmod_module_path(kmod, "amdgpu", &unused) < 0)
		return;
	rd_strv_split(&names, depends, ",", false);
	for (size_t i = 0; i < names.n; i++) {
		rd_auto_free char *found = NULL;

		if (rd_kmod_module_path(kmod, names.v[i], &found) == -ENOENT && !rd_kmod_is_builtin(kmod, names.v[i]))
			add_missing(ctx->facts, names.v[i], path, path);
	}
}

/* Where it was not looked up. */
static void leave_aliases(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);

		if (!rd_fact_get(gpu, "module_alias"))
			rd_fact_set_unknown_why(gpu, "module_alias", "not looked up", FOLDER "/modules.alias");
	}
}

/* Would udev load this module for each GPU: has it an alias for the function? Asked where nothing is driven yet. */
static void check_aliases(struct rd_probe_ctx *ctx, struct rd_kmod *kmod)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");
	rd_auto_free char *source = rd_xasprintf("%s/modules.alias", rd_kmod_folder(kmod));
	int indexed = rd_sysroot_exists(ctx->sysroot, source);

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);
		rd_auto_free char *alias = NULL;
		int r = indexed > 0 ? 0 : indexed < 0 ? indexed : -ENODATA;

		if (r >= 0)
			r = rd_sysroot_readf_line(ctx->sysroot, &alias, "/sys/bus/pci/devices/%s/modalias",
			                          rd_fact_get_str(gpu, "pci.address"));
		if (r < 0)
			rd_fact_set_unknown(gpu, "module_alias", r == -ENOENT ? -ENODATA : r, source);
		else
			rd_fact_set_bool(gpu, "module_alias", rd_kmod_has_alias(kmod, alias, "amdgpu"), source);
	}
}

/*
 * modinfo means unpacking some 25 MiB, so it is read only where it can tell something: of a build outside the kernel's tree,
 * which may have been replaced under the running one, and where amdgpu drives nothing.
 */
static void read_file(struct rd_probe_ctx *ctx, struct rd_kmod *kmod, const char *path, const char *origin)
{
	rd_auto_strv struct rd_strv modinfo = RD_STRV_INIT;
	bool drives = kernel_drives_a_gpu(ctx);
	int r;

	if (drives && rd_streq(origin, "in-tree")) {
		for (size_t i = 0; i < RD_ARRAY_SIZE(file_facts); i++)
			rd_fact_set_unknown_why(ctx->facts, file_facts[i], "not read: the kernel's own amdgpu drives its GPUs",
			                        path);
		kernel_firmware_judge(ctx, NULL);
		return;
	}
	r = rd_kmod_modinfo(kmod, path, &modinfo);
	for (size_t i = 0; r < 0 && i < RD_ARRAY_SIZE(file_facts); i++)
		rd_fact_set_unknown(ctx->facts, file_facts[i], r, path);
	if (r >= 0)
		describe_file(ctx->facts, &modinfo, path);
	if (!drives) {
		check_aliases(ctx, kmod);
		check_dependency_files(ctx, kmod);
		if (r >= 0)
			check_depends(ctx, kmod, &modinfo, path);
	}
	kernel_firmware_judge(ctx, r >= 0 ? &modinfo : NULL);
}

/* Is the running module another build than the file? */
static void compare(struct rd_fact *facts, bool running)
{
	const char *own = rd_fact_get_str(facts, AMDGPU("srcversion"));
	const char *file = rd_fact_get_str(facts, AMDGPU("file.srcversion"));
	const char *origin = rd_fact_get_str(facts, AMDGPU("origin"));
	const char *file_origin = rd_fact_get_str(facts, AMDGPU("file.origin"));

	if (!running)
		return;
	if (origin[0] && file_origin[0] && !rd_streq(origin, file_origin))
		rd_fact_set_bool(facts, AMDGPU("replaced"), true, AMDGPU("file.origin"));
	else if (own[0] && file[0])
		rd_fact_set_bool(facts, AMDGPU("replaced"), !rd_streq(own, file), MODULE "/srcversion");
	else if (rd_fact_is_unknown(facts, AMDGPU("file.srcversion")))
		rd_fact_set_unknown_why(facts, AMDGPU("replaced"), "the file was not compared with what runs",
		                        rd_fact_get_str(facts, AMDGPU("path")));
}

/* The file that modprobe would load: 1 where there is one, 0 where there is none, or why it cannot be told. */
static int describe_disk(struct rd_probe_ctx *ctx, bool *ret_builtin)
{
	rd_auto_free char *release = NULL, *path = NULL;
	rd_auto_kmod struct rd_kmod *kmod = NULL;
	const char *relative, *origin;
	int r = kernel_release(ctx, &release);

	*ret_builtin = false;
	if (r >= 0)
		r = rd_kmod_open(ctx->sysroot, release, &kmod, NULL);
	if (r >= 0) {
		*ret_builtin = rd_kmod_is_builtin(kmod, "amdgpu");
		r = find_module(ctx, kmod, &path);
	}
	if (r < 0) {
		kernel_firmware_judge(ctx, NULL);
		return r == -ENOENT ? 0 : r;
	}
	relative = path + (rd_str_has_prefix(path, rd_kmod_folder(kmod)) ? strlen(rd_kmod_folder(kmod)) : 0);
	origin = rd_str_has_prefix(relative, "/kernel/") ? "in-tree" : "dkms";
	rd_fact_set_str(ctx->facts, AMDGPU("path"), path, path);
	rd_fact_set_str(ctx->facts, AMDGPU("file.origin"), origin, path);
	read_file(ctx, kmod, path, origin);
	return 1;
}

/* Facts of the disk: unknown in a container, and where the disk could not be read. */
static void disk_is_unknown(struct rd_fact *facts, int r, bool container)
{
	static const char *const other[] = { AMDGPU("path"), AMDGPU("file.origin"), AMDGPU("replaced"),
		                             AMDGPU("missing_dependencies") };
	const char *paths[RD_ARRAY_SIZE(other) + RD_ARRAY_SIZE(file_facts)];

	memcpy(paths, other, sizeof(other));
	memcpy(paths + RD_ARRAY_SIZE(other), file_facts, sizeof(file_facts));
	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++) {
		if (container)
			rd_fact_set_unknown_why(facts, paths[i], KERNEL_NOT_THE_HOST, FOLDER);
		else
			rd_fact_set_unknown(facts, paths[i], r, FOLDER);
	}
}

/* What would be loaded stands for what is not running. */
static void describe_available(struct rd_fact *facts)
{
	static const struct {
		const char *own, *file;
	} pairs[] = { { AMDGPU("version"), AMDGPU("file.version") }, { AMDGPU("origin"), AMDGPU("file.origin") } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(pairs); i++) {
		const struct rd_fact *file = rd_fact_get(facts, pairs[i].file);

		if (rd_fact_is_unknown(facts, pairs[i].file))
			rd_fact_set_unknown_why(facts, pairs[i].own, rd_fact_reason(file), rd_fact_source(file));
		else if (rd_fact_is_known(facts, pairs[i].file))
			rd_fact_set_str(facts, pairs[i].own, rd_fact_str(file), rd_fact_source(file));
	}
}

static void set_state(struct rd_probe_ctx *ctx, enum presence presence, int disk, bool builtin)
{
	struct rd_fact *facts = ctx->facts;
	bool running = presence == LIVE || presence == BUILT_IN || builtin;

	if (presence == NOT_TOLD && !builtin)
		rd_fact_set_unknown(facts, AMDGPU("loaded"), -ENODATA, "/sys/module");
	else
		rd_fact_set_bool(facts, AMDGPU("loaded"), running, MODULE);

	if (running)
		rd_fact_set_str(facts, AMDGPU("state"), presence == LIVE ? "loaded" : "builtin", MODULE);
	else if (presence == NOT_TOLD)
		rd_fact_set_unknown(facts, AMDGPU("state"), -ENODATA, "/sys/module");
	else if (kernel_in_container(ctx))
		rd_fact_set_unknown_why(facts, AMDGPU("state"), KERNEL_NOT_THE_HOST, FOLDER);
	else if (disk < 0)
		rd_fact_set_unknown(facts, AMDGPU("state"), disk, FOLDER);
	else
		rd_fact_set_str(facts, AMDGPU("state"), disk > 0 ? "available" : "missing", FOLDER);
}

static int run(struct rd_probe_ctx *ctx)
{
	enum presence presence = look_at_kernel(ctx);
	bool builtin = false, container = kernel_in_container(ctx);
	int disk = 0;

	if (container)
		kernel_firmware_judge(ctx, NULL);
	else
		disk = describe_disk(ctx, &builtin);
	if (container || disk < 0)
		disk_is_unknown(ctx->facts, disk, container);
	set_state(ctx, presence, disk, builtin);
	if (presence == LIVE || presence == BUILT_IN)
		describe_running(ctx);
	else if (presence == NOT_TOLD)
		rd_fact_set_unknown(ctx->facts, AMDGPU("origin"), -ENODATA, "/sys/module");
	else if (!builtin)
		describe_available(ctx->facts);
	compare(ctx->facts, presence == LIVE);
	leave_aliases(ctx);
	return presence == NOT_TOLD ? -ENODATA : 0;
}

#define MODINFO "modinfo of the file"

const struct rd_probe rd_probe_kernel_amdgpu = {
	.name = "kernel/amdgpu",
	.layer = RD_LAYER_KERNEL,
	.summary = "the amdgpu module, running and on disk",
	.facts =
		(const struct rd_fact_decl[]){
			{ AMDGPU("loaded"), RD_BOOL, "amdgpu runs, as a module or compiled in", MODULE },
			{ AMDGPU("state"), RD_STR, "loaded, builtin, available or missing", MODULE ", " FOLDER },
			{ AMDGPU("initstate"), RD_STR, "live; coming or going while it starts or ends", MODULE "/initstate" },
			{ AMDGPU("version"), RD_STR, "version of the module that runs, else of the file; in-tree has none",
	                  MODULE "/version", RD_VERSION_DOTTED },
			{ AMDGPU("origin"), RD_STR, "in-tree or dkms: of what runs, else of the file",
	                  MODULE "/{version,taint}" },
			{ AMDGPU("srcversion"), RD_STR, "hash of the sources of what runs", MODULE "/srcversion" },
			{ AMDGPU("taint"), RD_STR, "letters with which the module taints the kernel", MODULE "/taint" },
			{ AMDGPU("parameters{}"), RD_MAP, "parameters of what runs", MODULE "/parameters/*" },
			{ AMDGPU("path"), RD_STR, "the file that modprobe would load", FOLDER "/modules.dep" },
			{ AMDGPU("replaced"), RD_BOOL, "what runs is another build than the file",
	                  MODULE "/srcversion, " MODINFO },
			{ AMDGPU("file.origin"), RD_STR, "in-tree or dkms, by the folder of the file", FOLDER "/modules.dep" },
			{ AMDGPU("file.version"), RD_STR, "version of the file", MODINFO, RD_VERSION_DOTTED },
			{ AMDGPU("file.srcversion"), RD_STR, "hash of the file's sources", MODINFO },
			{ AMDGPU("file.vermagic"), RD_STR, "the kernel it was built for", MODINFO },
			{ AMDGPU("file.signed"), RD_BOOL, "the file has a signature", MODINFO },
			{ AMDGPU("file.signer"), RD_STR, "who signed it", MODINFO },
			{ AMDGPU("missing_dependencies[]"), RD_LIST, "modules it needs and this kernel does not have",
	                  FOLDER "/modules.dep, " MODINFO },
			{ AMDGPU("missing_dependencies[].module"), RD_STR, "name of the module", FOLDER "/modules.dep" },
			{ AMDGPU("missing_dependencies[].file"), RD_STR, "its file that is gone, else amdgpu's own",
	                  FOLDER "/modules.dep" },
			{ "gpus[].module_alias", RD_BOOL, "udev would load amdgpu for it; looked up where amdgpu drives no GPU",
	                  FOLDER "/modules.alias" },
			{ "gpus[].firmware.missing[]", RD_STRS,
	                  "firmware that the module names for this GPU, which has no driver, and that is not on disk",
	                  "/lib/firmware/amdgpu" },
			{ 0 },
		},
	.run = run,
};
