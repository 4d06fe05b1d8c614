/*
 * What "import torch" would load: which copy of each ROCm library and by which rule, what the loader would not find, and which
 * GPUs the device code is for. Decided from files; nothing is run.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/survey.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

/* Those of which two copies, or one of another release, break a process. */
static const char *const rocm_libraries[] = {
	"libamdhip64", "libhsa-runtime64", "libamd_comgr", "libhiprtc",  "librocblas",    "libhipblaslt",
	"libhipblas",  "libMIOpen",        "librccl",      "libamd_smi", "librocm_smi64", "librocm_kpack",
};

/* Extensions that a server loads into the process of its PyTorch; their own needs may bring in a second runtime. */
static const char *const extensions[] = {
	"torchvision/_C*.so", "vllm/_C*.so", "vllm/_rocm_C*.so", "vllm/_moe_C*.so", "xformers/_C*.so", "flash_attn_2_cuda*.so",
};

struct import {
	struct rd_probe_ctx *ctx;
	struct rd_fact *item; /* of python[] */
	const char *torch;    /* its folder */
	struct rd_loader *loader;
	struct rd_strv missing; /* of the rocm_sdk wheels */
	const struct rd_gpu_agent *agents;
	size_t agents_n;
};

static const char *path_of(const struct import *im, size_t object)
{
	return rd_loader_object(im->loader, object)->path;
}

static bool has_prefix_dir(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return n && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* ------------------------------------------------------------ what is loaded */

/* The file behind the name has the number that tells the release; a wheel's copies have none, and are the wheel's own. */
static char *release_of(const struct import *im, const char *path)
{
	rd_auto_free char *real = NULL;
	char *release = NULL;

	if (rd_sysroot_realpath(im->ctx->sysroot, &real, path) == 0)
		release = rd_survey_release(real);
	if (!release && has_prefix_dir(path, im->torch))
		release = rd_xstrdup(rd_fact_get_str(im->item, "torch.rocm"));
	return release;
}

struct runners_up {
	struct rd_fact *item;
	const char *fact;
};

static void add_runner_up(void *data, const struct rd_load_step *step)
{
	const struct runners_up *r = data;
	const struct rd_fact *list = rd_fact_get(r->item, r->fact);

	if (step->verdict != RD_LOAD_RUNNER_UP || step->same)
		return;
	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_str(rd_fact_at(list, i)), step->path))
			return;
	rd_fact_append_str(r->item, r->fact, step->path, step->path);
}

/* Files of its name that come later in the search: what it would be without this one. */
static void set_runners_up(struct import *im, const char *prefix, size_t object)
{
	rd_auto_free char *fact = rd_xasprintf("%srunners_up", prefix);
	size_t need = rd_loader_need_of(im->loader, object);

	rd_fact_set_list(im->item, fact, path_of(im, object));
	if (need != RD_LOADER_NONE)
		rd_loader_explain(im->loader, need, add_runner_up, &(struct runners_up){ im->item, fact });
}

static void set_library(struct import *im, const char *prefix, size_t object)
{
	const struct rd_load_need *need = rd_loader_need(im->loader, rd_loader_need_of(im->loader, object));
	rd_auto_free char *by = need ? rd_loader_chosen_by(im->loader, need) : rd_xstrdup(rd_load_by_name(RD_LOAD_PROGRAM));
	rd_auto_free char *release = release_of(im, path_of(im, object));
	rd_auto_free char *path = rd_xasprintf("%spath", prefix), *chosen = rd_xasprintf("%schosen_by", prefix),
			  *of = rd_xasprintf("%srelease", prefix);

	rd_fact_set_str(im->item, path, path_of(im, object), path_of(im, object));
	rd_fact_set_str(im->item, chosen, by, path_of(im, object));
	rd_fact_set_str(im->item, of, release ? release : "", path_of(im, object));
	set_runners_up(im, prefix, object);
}

/*
 * The newest version of symbols that a library defines, "hip_6.4" or "ROCR_1": the interface that it has at least, where its
 * name tells no release.
 */
static const char *interface_of(const struct rd_elf *elf)
{
	const char *newest = "";

	for (size_t i = 0; elf->versions_defined && i < elf->versions_defined->n; i++) {
		const char *version = elf->versions_defined->v[i];
		const char *number = strrchr(version, '_'), *best = strrchr(newest, '_');

		/* The first is the library's own name. */
		if (!number || number[1] < '0' || number[1] > '9' || strstr(version, ".so"))
			continue;
		if (!best || rd_version_compare(number + 1, best + 1, RD_VERSION_DOTTED) > 0)
			newest = version;
	}
	return newest;
}

static void set_libraries(struct import *im)
{
	rd_fact_set_list(im->item, "torch.libraries", im->torch);
	for (size_t i = 0; i < RD_ARRAY_SIZE(rocm_libraries); i++) {
		size_t object = rd_loader_find(im->loader, rocm_libraries[i]);

		for (; object != RD_LOADER_NONE; object = rd_loader_find_next(im->loader, rocm_libraries[i], object)) {
			const struct rd_load_need *need = rd_loader_need(im->loader, rd_loader_need_of(im->loader, object));
			struct rd_fact *item = rd_fact_append(im->item, "torch.libraries", path_of(im, object));
			rd_auto_free char *by = need ? rd_loader_chosen_by(im->loader, need) : rd_xstrdup("");
			rd_auto_free char *release = release_of(im, path_of(im, object));

			rd_fact_set_str(item, "name", rocm_libraries[i], path_of(im, object));
			rd_fact_set_str(item, "path", path_of(im, object), path_of(im, object));
			rd_fact_set_str(item, "chosen_by", by, path_of(im, object));
			rd_fact_set_str(item, "release", release ? release : "", path_of(im, object));
			rd_fact_set_str(item, "interface", interface_of(rd_loader_object(im->loader, object)->elf),
			                path_of(im, object));
		}
	}
}

static void set_runtimes(struct import *im)
{
	size_t hsa = rd_loader_find(im->loader, "libhsa-runtime64"), hip = rd_loader_find(im->loader, "libamdhip64");

	if (hsa != RD_LOADER_NONE)
		set_library(im, "torch.hsa_runtime.", hsa);
	if (hip != RD_LOADER_NONE)
		set_library(im, "torch.hip_runtime.", hip);
	rd_fact_set_list(im->item, "torch.hip_runtimes", im->torch);
	for (; hip != RD_LOADER_NONE; hip = rd_loader_find_next(im->loader, "libamdhip64", hip))
		rd_fact_append_str(im->item, "torch.hip_runtimes", path_of(im, hip), path_of(im, hip));
}

/* Whether ld.so.conf names the folder of librocdxg. */
static bool in_conf(const struct import *im)
{
	const struct rd_fact *conf = rd_fact_get(im->ctx->facts, "runtime.loader.conf");
	const char *folder = rd_fact_get_str(im->ctx->facts, "host.wsl_rocdxg_folder");
	rd_auto_free char *real = NULL;

	if (!*folder || rd_sysroot_realpath(im->ctx->sysroot, &real, folder) < 0)
		return false;
	for (size_t i = 0; i < rd_fact_count(conf); i++) {
		rd_auto_free char *one = NULL;

		if (rd_sysroot_realpath(im->ctx->sysroot, &one, rd_fact_get_str(rd_fact_at(conf, i), "path")) >= 0 &&
		    rd_streq(one, real))
			return true;
	}
	return false;
}

/*
 * In WSL the HSA runtime opens librocdxg itself, by its bare name: what counts is its own path and the loader's. Releases ask
 * with and without the number.
 */
static void set_rocdxg(struct import *im)
{
	static const char *const names[] = { "librocdxg.so", "librocdxg.so.1" };
	size_t hsa = rd_loader_find(im->loader, "libhsa-runtime64");
	bool found = in_conf(im);
	int unknown = 0;

	if (!rd_streq(rd_fact_get_str(im->ctx->facts, "host.wsl_runtime"), "rocdxg") || hsa == RD_LOADER_NONE)
		return;
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		const struct rd_load_need *need = rd_loader_need(im->loader, rd_loader_dlopen(im->loader, hsa, names[i], true));

		found |= need->object != RD_LOADER_NONE;
		unknown = unknown ? unknown : need->unknown;
	}
	if (unknown && !found)
		rd_fact_set_unknown(im->item, "torch.rocdxg_missing", unknown, path_of(im, hsa));
	else
		rd_fact_set_bool(im->item, "torch.rocdxg_missing", !found, path_of(im, hsa));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "6.4.1" and "6.4" are of one release, "7.0" and "6.4" are not; what is not known differs from nothing. */
static bool another_release(const char *a, const char *b)
{
	unsigned a1, a2, b1, b2;

	return a && b && sscanf(a, "%u.%u", &a1, &a2) == 2 && sscanf(b, "%u.%u", &b1, &b2) == 2 && (a1 != b1 || a2 != b2);
}

/* Why a place that comes before what was found could not be looked at; 0: all could. */
static int first_unread(const struct import *im)
{
	for (size_t i = 0; i < rd_loader_needs(im->loader); i++)
		if (rd_loader_need(im->loader, i)->unknown && !rd_loader_need(im->loader, i)->optional)
			return rd_loader_need(im->loader, i)->unknown;
	return 0;
}

static void set_foreign(struct import *im)
{
	int unread = first_unread(im);
	const char *of = rd_fact_get_str(im->item, "torch.rocm");
	const char *hsa = rd_fact_get_str(im->item, "torch.hsa_runtime.release");
	const char *hip = rd_fact_get_str(im->item, "torch.hip_runtime.release");

	if (unread) {
		rd_fact_set_unknown(im->item, "torch.foreign_runtime", unread, im->torch);
		rd_fact_set_unknown(im->item, "torch.replaced_libraries", unread, im->torch);
		/* Two that were found are two. */
		if (rd_fact_count(rd_fact_get(im->item, "torch.hip_runtimes")) < 2)
			rd_fact_set_unknown(im->item, "torch.hip_runtimes", unread, im->torch);
		return;
	}
	rd_fact_set_bool(im->item, "torch.foreign_runtime", another_release(hsa, of) || another_release(hip, of),
	                 "torch.rocm, the releases of the runtimes");
}

/* Libraries of another release that LD_LIBRARY_PATH gives in place of the copy that the wheel has. */
static void set_overridden(struct import *im)
{
	rd_fact_set_list(im->item, "torch.replaced_libraries", "LD_LIBRARY_PATH");
	for (size_t i = 0; i < rd_loader_needs(im->loader); i++) {
		const struct rd_load_need *need = rd_loader_need(im->loader, i);
		rd_auto_free char *release = NULL;

		if (need->by != RD_LOAD_LIBRARY_PATH || need->object == RD_LOADER_NONE ||
		    has_prefix_dir(path_of(im, need->object), im->torch) ||
		    rd_sysroot_existsf(im->ctx->sysroot, "%s/lib/%s", im->torch, last_part(need->name)) <= 0)
			continue;
		release = release_of(im, path_of(im, need->object));
		if (!another_release(release, rd_fact_get_str(im->item, "torch.rocm")))
			continue;
		rd_fact_append_str(im->item, "torch.replaced_libraries", path_of(im, need->object), "LD_LIBRARY_PATH");
	}
}

/* ------------------------------------------------------------ what is not found */

/* A tree without a C library is a part of a host: what else it lacks says nothing. */
static bool root_is_whole(const struct import *im)
{
	return rd_loader_find(im->loader, "libc") != RD_LOADER_NONE;
}

static int first_unknown(const struct import *im)
{
	int unread = first_unread(im);

	return unread || root_is_whole(im) ? unread : -ENODATA;
}

static void append_once(struct import *im, struct rd_strv *seen, const char *path, const char *text, const char *source)
{
	if (rd_strv_has(seen, text))
		return;
	rd_strv_push(seen, text);
	rd_fact_append_str(im->item, path, text, source);
}

/* All of it in one list, for a title. */
static void set_unloadable(struct import *im, const struct rd_strv *seen)
{
	rd_fact_set_list(im->item, "torch.unloadable", im->torch);
	for (size_t i = 0; i < seen->n; i++)
		rd_fact_append_str(im->item, "torch.unloadable", seen->v[i], im->torch);
}

static void set_unresolved(struct import *im)
{
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;
	int unknown = first_unknown(im);

	if (unknown) {
		rd_fact_set_unknown(im->item, "torch.unresolved", unknown, im->torch);
		rd_fact_set_unknown(im->item, "torch.damaged", unknown, im->torch);
		rd_fact_set_unknown(im->item, "torch.unloadable", unknown, im->torch);
		return;
	}
	rd_fact_set_list(im->item, "torch.unresolved", im->torch);
	rd_fact_set_list(im->item, "torch.damaged", im->torch);
	for (size_t i = 0; i < rd_loader_needs(im->loader); i++) {
		const struct rd_load_need *need = rd_loader_need(im->loader, i);

		if (need->object != RD_LOADER_NONE || need->optional)
			continue;
		if (need->damage)
			append_once(im, &seen, "torch.damaged", need->damage, path_of(im, need->from));
		else
			append_once(im, &seen, "torch.unresolved", need->name, path_of(im, need->from));
	}
	for (size_t i = 0; i < im->missing.n; i++) {
		rd_auto_free char *name = rd_xasprintf("lib%s.so", im->missing.v[i]);

		append_once(im, &seen, "torch.unresolved", name, "rocm_sdk/_dist_info.py");
	}
	set_unloadable(im, &seen);
}

static void set_versions(struct import *im)
{
	struct rd_load_version *v;
	size_t n = rd_loader_check_versions(im->loader, &v);
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;

	rd_fact_set_list(im->item, "torch.missing_versions", im->torch);
	for (size_t i = 0; i < n; i++) {
		rd_auto_free char *text = rd_xasprintf("%s in %s", v[i].version, path_of(im, v[i].provider));

		append_once(im, &seen, "torch.missing_versions", text, path_of(im, v[i].object));
	}
	rd_load_versions_free(v, n);
}

/* ------------------------------------------------------------ device code and data */

/* GPUs that a loader which stops at the first archive that fits leaves with a part of the code. */
static void set_overlay_gpus(struct import *im, const struct rd_fatbin *code)
{
	rd_auto_strv struct rd_strv hit = RD_STRV_INIT;
	bool unknown = false;

	for (size_t i = 0; i < code->overlay_targets->n; i++)
		for (size_t k = 0; k < im->agents_n; k++) {
			struct rd_target_id id;
			enum rd_runs runs = RD_RUNS_NO;

			if (!im->agents[k].hidden && rd_target_parse(code->overlay_targets->v[i], &id) == 0)
				runs = rd_target_runs(&id, &im->agents[k].agent);
			if (runs == RD_RUNS_UNKNOWN)
				unknown = true;
			else if (runs != RD_RUNS_NO)
				rd_strv_push_unique(&hit, im->agents[k].address);
		}
	if (unknown) {
		rd_fact_set_unknown_why(im->item, "torch.kpack.overlay_gpus", "the GPU's mode (xnack, sramecc) is not known",
		                        im->torch);
		return;
	}
	rd_fact_set_list(im->item, "torch.kpack.overlay_gpus", im->torch);
	for (size_t i = 0; i < hit.n; i++)
		rd_fact_append_str(im->item, "torch.kpack.overlay_gpus", hit.v[i], im->torch);
}

static void set_kpack(struct import *im, const struct rd_fatbin *code)
{
	rd_fact_set_list(im->item, "torch.incomplete_overlays", im->torch);
	for (size_t i = 0; i < code->incomplete_overlays->n; i++)
		rd_fact_append_str(im->item, "torch.incomplete_overlays", code->incomplete_overlays->v[i], im->torch);
	rd_fact_set_list(im->item, "torch.kpack.archives", im->torch);
	for (size_t i = 0; i < code->archives_n; i++)
		rd_fact_append_str(im->item, "torch.kpack.archives", code->archives[i].path, im->torch);
	rd_fact_set_bool(im->item, "torch.kpack.disabled", code->kpack_disabled, "ROCM_KPACK_DISABLE");
	rd_fact_set_bool(im->item, "torch.kpack.replaced", code->kpack_replaced, "ROCM_KPACK_PATH");
	set_overlay_gpus(im, code);
}

/* One sentence for people: what the code is for, or why there is none. */
static void set_code_summary(struct import *im, const struct rd_fatbin *code)
{
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;

	for (size_t i = 0; i < code->targets_n; i++)
		rd_strbuf_addf(&text, "%s%s", i ? ", " : "Its device code is for ", code->targets[i].text);
	if (text.len)
		rd_strbuf_addc(&text, '.');
	else if (code->kpack_disabled || code->kpack_replaced)
		rd_strbuf_addf(&text, "Its device code is in archives beside it, which %s keeps it from.",
		               code->kpack_disabled ? "ROCM_KPACK_DISABLE" : "ROCM_KPACK_PATH");
	else if (code->kinds & RD_FATBIN_KPACK_REF && !code->archives_n)
		rd_strbuf_add(&text, "Its device code is in packages of its own, one for each GPU, and none is installed.");
	rd_fact_set_str(im->item, "torch.code_summary", text.buf, im->torch);
}

static void set_code(struct import *im)
{
	size_t object = rd_loader_find(im->loader, "libtorch_hip");
	rd_auto(rd_cleanup_fatbin) struct rd_fatbin *code = NULL;
	struct rd_error err = RD_ERROR_INIT;
	const char *why = "PyTorch's library of device code, libtorch_hip.so, is not there";

	if (object != RD_LOADER_NONE &&
	    rd_fatbin_read(im->ctx->sysroot, path_of(im, object), RD_SURVEY_BUDGET, &code, &err) < 0)
		why = err.message;
	if (code && !rd_fatbin_has_code(code)) {
		code = rd_fatbin_free(code);
		why = "libtorch_hip.so has no device code inside";
	}
	rd_survey_set(im->item, "torch.", code, why, im->agents, im->agents_n,
	              object == RD_LOADER_NONE ? im->torch : path_of(im, object));
	if (code) {
		set_kpack(im, code);
		set_code_summary(im, code);
	}
	rd_error_clear(&err);
}

static void set_data(struct import *im, enum rd_libdata_kind kind, const char *stem, const char *prefix)
{
	size_t object = rd_loader_find(im->loader, stem);

	if (object != RD_LOADER_NONE)
		rd_survey_set_data(im->ctx->sysroot, im->item, prefix, kind, path_of(im, object), im->agents, im->agents_n);
}

/* ------------------------------------------------------------ */

/* The one library of bitsandbytes that is opened: it goes by PyTorch's HIP. */
static void open_bitsandbytes(struct import *im, const char *site)
{
	rd_auto_free char *path = NULL;
	unsigned major, minor;

	if (sscanf(rd_fact_get_str(im->item, "torch.rocm"), "%u.%u", &major, &minor) != 2)
		return;
	path = rd_xasprintf("%s/bitsandbytes/libbitsandbytes_rocm%u%u.so", site, major, minor);
	if (rd_sysroot_exists(im->ctx->sysroot, path) > 0)
		rd_loader_dlopen(im->loader, 0, path, true);
}

static void open_extensions(struct import *im)
{
	rd_auto_free char *site = rd_xstrndup(im->torch, (size_t)(strrchr(im->torch, '/') - im->torch));

	for (size_t i = 0; i < RD_ARRAY_SIZE(extensions); i++) {
		rd_auto_free char *pattern = rd_xasprintf("%s/%s", site, extensions[i]);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		if (rd_sysroot_glob(im->ctx->sysroot, &found, pattern) < 0)
			continue;
		for (size_t k = 0; k < found.n; k++)
			rd_loader_dlopen(im->loader, 0, found.v[k], true);
	}
	open_bitsandbytes(im, site);
}

static void set_all_unknown(struct import *im, const char *why)
{
	static const char *const paths[] = {
		"torch.unresolved",
		"torch.damaged",
		"torch.unloadable",
		"torch.missing_versions",
		"torch.libraries",
		"torch.replaced_libraries",
		"torch.hip_runtimes",
		"torch.hsa_runtime.path",
		"torch.hsa_runtime.chosen_by",
		"torch.hsa_runtime.runners_up",
		"torch.hip_runtime.runners_up",
		"torch.hsa_runtime.release",
		"torch.foreign_runtime",
		"torch.rocblas.missing_gpus",
		"torch.rccl.missing_gpus",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
		rd_fact_set_unknown_why(im->item, paths[i], why, im->torch);
	rd_survey_set(im->item, "torch.", NULL, why, NULL, 0, im->torch);
}

static void look_at(struct import *im)
{
	struct rd_loader_env env;
	struct rd_error err = RD_ERROR_INIT;
	const char *python = rd_fact_get_str(im->item, "executable");
	size_t rccl;

	rd_loader_env_read(im->ctx->sysroot, &env);
	if (rd_pyload_torch(im->ctx->sysroot, &env, *python ? python : NULL, im->torch, &im->loader, &im->missing, &err) < 0) {
		set_all_unknown(im, err.message ? err.message : "not read");
		rd_error_clear(&err);
		return;
	}
	set_unresolved(im);
	set_versions(im);
	set_code(im);
	set_data(im, RD_LIBDATA_ROCBLAS, "librocblas", "torch.rocblas.");
	set_data(im, RD_LIBDATA_HIPBLASLT, "libhipblaslt", "torch.hipblaslt.");
	set_data(im, RD_LIBDATA_AOTRITON, "libaotriton_v2", "torch.aotriton.");
	set_data(im, RD_LIBDATA_MIOPEN, "libMIOpen", "torch.miopen.");
	rccl = rd_loader_find(im->loader, "librccl");
	if (rccl != RD_LOADER_NONE)
		rd_survey_set_code(im->ctx->sysroot, im->item, "torch.rccl.", path_of(im, rccl), im->agents, im->agents_n);
	open_extensions(im);
	set_libraries(im);
	set_runtimes(im);
	set_rocdxg(im);
	set_overridden(im);
	set_foreign(im);
	im->loader = rd_loader_free(im->loader);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "python");
	struct rd_gpu_agent *agents;
	size_t n = rd_agents_list(ctx->facts, ctx->sysroot, &agents);

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct import im = { .ctx = ctx, .item = rd_fact_at_mutable(list, i), .agents = agents, .agents_n = n };

		im.torch = rd_fact_get_str(im.item, "torch.path");
		if (*im.torch == '/' && rd_streq(rd_fact_get_str(im.item, "torch.build"), "rocm"))
			look_at(&im);
		rd_strv_clear(&im.missing);
	}
	free(agents);
	return 0;
}

#define TORCH "python[].torch."
#define SEARCH "the loader's search from the interpreter on"

const struct rd_probe rd_probe_framework_loader = {
	.name = "framework/loader",
	.layer = RD_LAYER_FRAMEWORK,
	.after = "framework/torch",
	.summary = "what importing PyTorch would load, and which GPUs its code is for",
	.facts =
		(const struct rd_fact_decl[]){
			{ TORCH "unresolved[]", RD_STRS, "libraries that the loader would not find", SEARCH },
			{ TORCH "damaged[]", RD_STRS, "files that the loader would choose and give up on", SEARCH },
			{ TORCH "missing_versions[]", RD_STRS, "versions of symbols that the chosen files do not define",
	                  SEARCH },
			{ TORCH "libraries[]", RD_LIST, "ROCm's libraries in its process", SEARCH },
			{ TORCH "libraries[].name", RD_STR, "name without number", SEARCH },
			{ TORCH "libraries[].path", RD_STR, "file as the loader opens it", SEARCH },
			{ TORCH "libraries[].chosen_by", RD_STR, "rule of the loader that chooses it", SEARCH },
			{ TORCH "libraries[].release", RD_STR, "ROCm release in its number, or the wheel's", "the file's name",
	                  RD_VERSION_ROCM },
			{ TORCH "libraries[].interface", RD_STR,
	                  "newest version of symbols that it defines, hip_6.4; empty: it has none", "DT_VERDEF" },
			{ TORCH "hsa_runtime.path", RD_STR, "HSA runtime that it would load", SEARCH },
			{ TORCH "hsa_runtime.chosen_by", RD_STR, "rule of the loader that chooses it", SEARCH },
			{ TORCH "hsa_runtime.release", RD_STR, "its ROCm release", "the file's name", RD_VERSION_ROCM },
			{ TORCH "hsa_runtime.runners_up[]", RD_STRS, "files that come later in its search", SEARCH },
			{ TORCH "hip_runtime.path", RD_STR, "HIP runtime that it would load first", SEARCH },
			{ TORCH "hip_runtime.chosen_by", RD_STR, "rule of the loader that chooses it", SEARCH },
			{ TORCH "hip_runtime.release", RD_STR, "its ROCm release", "the file's name", RD_VERSION_ROCM },
			{ TORCH "hip_runtime.runners_up[]", RD_STRS, "files that come later in its search", SEARCH },
			{ TORCH "unloadable[]", RD_STRS, "libraries that are not found, and files that cannot be loaded",
	                  SEARCH },
			{ TORCH "rocdxg_missing", RD_BOOL, "in WSL: its HSA runtime would not find librocdxg.so", SEARCH },
			{ TORCH "hip_runtimes[]", RD_STRS, "all HIP runtimes in its process, extensions of servers included",
	                  SEARCH },
			{ TORCH "foreign_runtime", RD_BOOL,
	                  "the HSA or HIP runtime that it would load is of another release than it was built with", SEARCH },
			{ TORCH "replaced_libraries[]", RD_STRS,
	                  "files of another release that LD_LIBRARY_PATH gives in place of the copy that the wheel has",
	                  SEARCH },
			{ TORCH "gfx_targets[]", RD_STRS, "gfx that its device code is for", "libtorch_hip.so" },
			{ TORCH "code_summary", RD_STR, "the same in a sentence, or why there is none; empty: not known",
	                  "libtorch_hip.so" },
			RD_SURVEY_FACTS(TORCH, "libtorch_hip.so"),
			{ TORCH "incomplete_overlays[]", RD_STRS,
	                  "kpack archives for one mode that hold a part of the code only", "torch/.kpack" },
			{ TORCH "kpack.archives[]", RD_STRS, "kpack archives that its code is taken from",
	                  "libtorch_hip.so, ROCM_KPACK_PATH, ROCM_KPACK_PATH_PREFIX" },
			{ TORCH "kpack.disabled", RD_BOOL, "a variable forbids the runtime to open its kpack archives",
	                  "ROCM_KPACK_DISABLE" },
			{ TORCH "kpack.replaced", RD_BOOL, "a variable gives other kpack archives in place of its own",
	                  "ROCM_KPACK_PATH" },
			{ TORCH "kpack.overlay_gpus[]", RD_STRS,
	                  "GPUs in the mode of such an archive, that a runtime which stops there leaves without the rest",
	                  "torch/.kpack" },
			RD_SURVEY_DATA_FACTS(TORCH "rocblas.", "rocBLAS"),
			RD_SURVEY_DATA_FACTS(TORCH "hipblaslt.", "hipBLASLt"),
			RD_SURVEY_DATA_FACTS(TORCH "aotriton.", "AOTriton"),
			RD_SURVEY_MIOPEN_FACTS(TORCH "miopen."),
			RD_SURVEY_CODE_FACTS(TORCH "rccl.", "RCCL"),
			{ 0 },
		},
	.run = run,
};
