/* Engines and extensions that are Python packages: where they are, which build, and what they were built for. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/wheel.h"
#include "util/xalloc.h"

struct engine {
	struct rd_probe_ctx *ctx;
	const struct rd_fact *env; /* of python[] */
	struct rd_fact *item;      /* of engines.NAME[] */
	char *site;                /* folder that the package is in */
	const char *version, *source;
};

/* ------------------------------------------------------------ helpers */

static void set_list_unknown(struct engine *e, const char *path, int r, const char *source)
{
	if (r != -ENOENT && r != -ENOTDIR)
		rd_fact_set_unknown(e->item, path, r, source);
}

static int list_module(struct engine *e, struct rd_strv *names, const char *module, char **ret_dir)
{
	*ret_dir = rd_xasprintf("%s/%s", e->site, module);
	return rd_sysroot_list(e->ctx->sysroot, names, *ret_dir);
}

static bool has_prefix(const struct rd_strv *names, const char *prefix)
{
	for (size_t i = 0; i < names->n; i++)
		if (rd_str_has_prefix(names->v[i], prefix))
			return true;
	return false;
}

static void set_build(struct engine *e, const char *build, const char *source)
{
	if (*build)
		rd_fact_set_str(e->item, "build", build, source);
}

static void set_release(struct engine *e)
{
	rd_auto_free char *rocm = rd_wheel_rocm(e->version);

	if (rocm)
		rd_fact_set_str(e->item, "rocm", rocm, e->source);
}

/* A module that needs no dist-info to be imported: a folder on the path. */
static int module_exists(struct engine *e, const char *module)
{
	const struct rd_fact *paths = rd_fact_get(e->env, "paths");
	int r = 0;

	for (size_t i = 0; i < rd_fact_count(paths) && !r; i++)
		r = rd_sysroot_existsf(e->ctx->sysroot, "%s/%s", rd_fact_str(rd_fact_at(paths, i)), module);
	return r;
}

/* ------------------------------------------------------------ vLLM */

static void vllm_requirements(struct engine *e)
{
	rd_auto_free char *path = rd_xasprintf("%s/METADATA", e->source), *text = NULL;
	const char *rest;
	char *name, *pin;
	int r = rd_sysroot_read(e->ctx->sysroot, &text, path);

	if (r < 0) {
		set_list_unknown(e, "requires_torch", r, path);
		return;
	}
	for (rest = text; rd_wheel_requires(&rest, &name, &pin);) {
		if (rd_streq(name, "torch") && *pin && !strchr(pin, '*'))
			rd_fact_set_str(e->item, "requires_torch", pin, path);
		free(name);
		free(pin);
	}
}

static void look_at_vllm(struct engine *e)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = NULL;
	const char *local = rd_wheel_local(e->version), *build = rd_wheel_build(e->version);
	int r = list_module(e, &names, "vllm", &dir), amdsmi = module_exists(e, "amdsmi");

	set_release(e);
	if (r < 0)
		rd_fact_set_unknown(e->item, "build", r, dir);
	else if (has_prefix(&names, "_rocm_C"))
		set_build(e, "rocm", dir);
	else if (*build)
		set_build(e, build, e->source);
	else if (has_prefix(&names, "_C.") && !*local)
		set_build(e, "cuda", dir); /* the default index has no other build */
	if (amdsmi < 0)
		rd_fact_set_unknown(e->item, "amdsmi", amdsmi, "amdsmi");
	else
		rd_fact_set_bool(e->item, "amdsmi", amdsmi > 0, "amdsmi");
	vllm_requirements(e);
}

/* ------------------------------------------------------------ flash-attention */

/* Which GPUs' libraries an extension module is linked with: "cuda", "rocm", or "" where it does not tell. */
static const char *linked_build(struct rd_sysroot *sr, const char *path)
{
	static const struct {
		const char *library, *build;
	} known[] = { { "libcudart.", "cuda" },
		      { "libc10_cuda.", "cuda" },
		      { "libtorch_cuda.", "cuda" },
		      { "libamdhip64.", "rocm" },
		      { "libc10_hip.", "rocm" } };
	rd_auto(rd_cleanup_elf) struct rd_elf *elf = NULL;
	const char *build = "";
	struct rd_file *file;
	struct rd_reader reader;

	if (rd_file_open(sr, &file, path) < 0)
		return build;
	reader = rd_reader_of_file(file);
	if (rd_elf_open(&reader, &elf, NULL) >= 0 && rd_elf_read_dynamic(elf, NULL) >= 0)
		for (size_t i = 0; i < elf->needed->n; i++)
			for (size_t k = 0; k < RD_ARRAY_SIZE(known); k++)
				if (rd_str_has_prefix(elf->needed->v[i], known[k].library))
					build = known[k].build;
	rd_file_close(file);
	return build;
}

/* Most wheels of it carry no tag in their version. */
static void set_flash_build(struct engine *e, const struct rd_strv *names, const char *tagged)
{
	if (*tagged) {
		set_build(e, tagged, e->source);
		return;
	}
	for (size_t i = 0; i < names->n; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", e->site, names->v[i]);

		if (rd_str_has_prefix(names->v[i], "flash_attn_2_cuda"))
			set_build(e, linked_build(e->ctx->sysroot, path), path);
	}
}

static void look_at_flash_attn(struct engine *e)
{
	static const char variable[] = "FLASH_ATTENTION_TRITON_AMD_ENABLE";
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	const char *build = rd_wheel_build(e->version), *value = NULL;
	int r = rd_sysroot_getenv(e->ctx->sysroot, &value, variable);

	if (r < 0)
		rd_fact_set_unknown(e->item, "triton_enabled", r, variable);
	else
		rd_fact_set_bool(e->item, "triton_enabled", r == 1 && rd_streq(value, "TRUE"), variable);
	r = rd_sysroot_existsf(e->ctx->sysroot, "%s/direct_url.json", e->source);
	if (r < 0)
		rd_fact_set_unknown(e->item, "from_source", r, e->source);
	else
		rd_fact_set_bool(e->item, "from_source", r > 0, e->source);
	r = rd_sysroot_list(e->ctx->sysroot, &names, e->site);
	set_release(e);
	set_flash_build(e, &names, build);
	/* The module is named "cuda" on ROCm as well; a Triton-only build has none. */
	if (r < 0)
		rd_fact_set_unknown(e->item, "compiled", r, e->site);
	else
		rd_fact_set_bool(e->item, "compiled", has_prefix(&names, "flash_attn_2_cuda"), e->site);
}

/* ------------------------------------------------------------ bitsandbytes */

/* "libbitsandbytes_rocm64.so" -> "64"; the digits are what its loader compares. */
static void look_at_bitsandbytes(struct engine *e)
{
	static const char stem[] = "libbitsandbytes_rocm";
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = NULL;
	bool cuda = false;
	int r = list_module(e, &names, "bitsandbytes", &dir);

	if (r < 0) {
		rd_fact_set_unknown(e->item, "rocm_libraries", r, dir);
		rd_fact_set_unknown(e->item, "build", r, dir);
		return;
	}
	rd_fact_set_list(e->item, "rocm_libraries", dir);
	for (size_t i = 0; i < names.n; i++) {
		const char *digits = names.v[i] + strlen(stem);

		cuda = cuda || rd_str_has_prefix(names.v[i], "libbitsandbytes_cuda");
		if (rd_str_has_prefix(names.v[i], stem) && rd_str_has_suffix(names.v[i], ".so") &&
		    strspn(digits, "0123456789")) {
			rd_auto_free char *one = rd_xstrndup(digits, strspn(digits, "0123456789"));

			rd_fact_append_str(e->item, "rocm_libraries", one, dir);
		}
	}
	if (rd_fact_count(rd_fact_get(e->item, "rocm_libraries")))
		set_build(e, "rocm", dir);
	else if (cuda)
		set_build(e, "cuda", dir);
}

/* ------------------------------------------------------------ extensions */

static void look_at_triton(struct engine *e)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = NULL;
	const char *build = rd_wheel_build(e->version);
	int r = list_module(e, &names, "triton/backends", &dir);

	set_release(e);
	if (r < 0)
		set_list_unknown(e, "backends", r, dir);
	rd_fact_set_list(e->item, "backends", dir);
	for (size_t i = 0; r >= 0 && i < names.n; i++)
		if (rd_streq(names.v[i], "amd") || rd_streq(names.v[i], "nvidia"))
			rd_fact_append_str(e->item, "backends", names.v[i], dir);
	set_build(e, build, e->source);
}

/* Its own record of the build: "version": {"cuda": 1206, "hip": null, ...}. */
static void look_at_xformers(struct engine *e)
{
	rd_auto_free char *path = rd_xasprintf("%s/xformers/cpp_lib.json", e->site), *text = NULL;
	const char *hip, *cuda;

	set_release(e);
	if (*rd_wheel_build(e->version) || rd_sysroot_read(e->ctx->sysroot, &text, path) < 0) {
		set_build(e, rd_wheel_build(e->version), e->source);
		return;
	}
	hip = strstr(text, "\"hip\":");
	cuda = strstr(text, "\"cuda\":");
	if (hip && strncmp(hip + 6 + strspn(hip + 6, " "), "null", 4) != 0)
		set_build(e, "rocm", path);
	else if (cuda && strncmp(cuda + 7 + strspn(cuda + 7, " "), "null", 4) != 0)
		set_build(e, "cuda", path);
}

/* Any RAY_EXPERIMENTAL_NOSET_* of the session. */
static void look_at_ray(struct engine *e)
{
	rd_auto_strv struct rd_strv variables = RD_STRV_INIT;
	bool off = false;
	int r = rd_sysroot_environ(e->ctx->sysroot, &variables);

	for (size_t i = 0; i < variables.n; i++)
		off = off || rd_str_has_prefix(variables.v[i], "RAY_EXPERIMENTAL_NOSET_");
	if (r < 0)
		rd_fact_set_unknown(e->item, "masks_off", r, "environment");
	else
		rd_fact_set_bool(e->item, "masks_off", off, "environment");
}

static void look_at_tag(struct engine *e)
{
	set_release(e);
	set_build(e, rd_wheel_build(e->version), e->source);
}

static void look_at_llama_cpp(struct engine *e)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = NULL;
	int r = list_module(e, &names, "llama_cpp/lib", &dir);

	rd_fact_set_str(e->item, "folder", dir, dir);
	if (r < 0)
		rd_fact_set_unknown(e->item, "build", r, dir);
	else if (has_prefix(&names, "libggml"))
		set_build(e,
		          has_prefix(&names, "libggml-hip.")      ? "hip"
		          : has_prefix(&names, "libggml-cuda.")   ? "cuda"
		          : has_prefix(&names, "libggml-vulkan.") ? "vulkan"
		                                                  : "cpu",
		          dir);
}

/* Modules of extensions whose wheels carry no tag in their version, below the folder of packages. */
static const struct {
	const char *package, *modules;
} extensions[] = {
	{ "sgl-kernel", "sgl_kernel/*common_ops*.so" }, { "sgl-kernel", "sgl_kernel/sm*/common_ops*.so" },
	{ "autoawq-kernels", "awq_ext*.so" },           { "auto-gptq", "autogptq_cuda_64*.so" },
	{ "exllamav2", "exllamav2_ext*.so" },           { "causal-conv1d", "causal_conv1d_cuda*.so" },
	{ "mamba-ssm", "selective_scan_cuda*.so" },
};

static void look_at_extension(struct engine *e)
{
	const char *build = rd_wheel_build(e->version), *package = rd_fact_get_str(e->item, "package");

	for (size_t i = 0; i < RD_ARRAY_SIZE(extensions) && !*build; i++) {
		rd_auto_free char *pattern = rd_xasprintf("%s/%s", e->site, extensions[i].modules);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		if (!rd_streq(extensions[i].package, package) || rd_sysroot_glob(e->ctx->sysroot, &found, pattern) < 0)
			continue;
		if (found.n)
			build = linked_build(e->ctx->sysroot, found.v[0]);
	}
	set_build(e, build, e->source);
}

static const struct {
	const char *package, *engine;
	void (*look)(struct engine *e);
	bool device_code;
} kinds[] = {
	{ "vllm", "vllm", look_at_vllm, true },
	{ "sglang", "sglang", look_at_tag, true },
	{ "flash-attn", "flash_attn", look_at_flash_attn, true },
	{ "bitsandbytes", "bitsandbytes", look_at_bitsandbytes, true },
	{ "triton", "triton", look_at_triton },
	{ "pytorch-triton-rocm", "triton", look_at_triton },
	{ "triton-rocm", "triton", look_at_triton },
	{ "transformers", "transformers", NULL },
	{ "ray", "ray", look_at_ray },
	{ "xformers", "xformers", look_at_xformers, true },
	{ "torchcodec", "torchcodec", look_at_tag },
	{ "llama-cpp-python", "llama_cpp", look_at_llama_cpp, true },
	{ "sgl-kernel", "extension", look_at_extension },
	{ "autoawq-kernels", "extension", look_at_extension },
	{ "auto-gptq", "extension", look_at_extension },
	{ "exllamav2", "extension", look_at_extension },
	{ "causal-conv1d", "extension", look_at_extension },
	{ "mamba-ssm", "extension", look_at_extension },
};

static void look_at(struct rd_probe_ctx *ctx, const struct rd_fact *env, size_t kind)
{
	const struct rd_fact *entry = rd_fact_child(rd_fact_get(env, "packages"), kinds[kind].package);
	struct engine e = { .ctx = ctx, .env = env };
	rd_auto_free char *list = NULL, *site = NULL;
	const char *slash;

	if (!entry || rd_fact_state(entry) != RD_FACT_KNOWN)
		return;
	e.source = rd_fact_source(entry);
	e.version = rd_fact_str(entry);
	slash = strrchr(e.source, '/');
	site = rd_xstrndup(e.source, slash ? (size_t)(slash - e.source) : 0);
	e.site = site;
	list = rd_xasprintf("engines.%s", kinds[kind].engine);
	e.item = rd_fact_append(ctx->facts, list, e.source);
	rd_fact_set_str(e.item, "prefix", rd_fact_get_str(env, "prefix"), e.source);
	rd_fact_set_str(e.item, "version", e.version, e.source);
	if (kinds[kind].device_code)
		rd_fact_set_unknown_why(e.item, "gfx_targets", "not analysed yet", e.source);
	if (rd_streq(kinds[kind].engine, "triton") || rd_streq(kinds[kind].engine, "extension"))
		rd_fact_set_str(e.item, "package", kinds[kind].package, e.source);
	if (kinds[kind].look)
		kinds[kind].look(&e);
}

static int run(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *python = rd_fact_get(ctx->facts, "python");

	if (rd_fact_is_unknown(ctx->facts, "python"))
		return -ENODATA;
	for (size_t i = 0; i < rd_fact_count(python); i++)
		for (size_t j = 0; j < RD_ARRAY_SIZE(kinds); j++)
			look_at(ctx, rd_fact_at(python, i), j);
	return 0;
}

#define ENGINE(name, what) \
	{ "engines." name "[]", RD_LIST, what ", one entry per environment", "*.dist-info" }, \
		{ "engines." name "[].prefix", RD_STR, "prefix of its Python environment", "*.dist-info" }, \
		{ "engines." name "[].version", RD_STR, "its version", "*.dist-info", RD_VERSION_PEP440 }, \
		{ "engines." name "[].build", RD_STR, "rocm, cuda, cpu; empty where nothing tells", \
		  "local version, extension modules" }, \
	{ \
		"engines." name "[].gfx_targets[]", RD_STRS, "gfx that its device code is for", "extension modules" \
	}

static const struct rd_fact_decl facts[] = {
	ENGINE("vllm", "vLLM"),
	{ "engines.vllm[].rocm", RD_STR, "ROCm release it was built for", "the local version", RD_VERSION_ROCM },
	{ "engines.vllm[].requires_torch", RD_STR, "PyTorch version that it requires", "vllm-*.dist-info/METADATA",
	  RD_VERSION_PEP440 },
	{ "engines.vllm[].amdsmi", RD_BOOL, "the amdsmi package is on its path", "amdsmi" },
	ENGINE("sglang", "SGLang"),
	ENGINE("flash_attn", "flash-attention"),
	{ "engines.flash_attn[].rocm", RD_STR, "ROCm release it was built for", "the local version", RD_VERSION_ROCM },
	{ "engines.flash_attn[].triton_enabled", RD_BOOL, "the session chooses its Triton back end",
	  "FLASH_ATTENTION_TRITON_AMD_ENABLE" },
	{ "engines.flash_attn[].from_source", RD_BOOL, "it was installed from a repository or a folder",
	  "flash_attn-*.dist-info/direct_url.json" },
	{ "engines.flash_attn[].compiled", RD_BOOL, "it has a compiled back end", "flash_attn_2_cuda*.so" },
	ENGINE("bitsandbytes", "bitsandbytes"),
	{ "engines.bitsandbytes[].rocm_libraries[]", RD_STRS, "HIP versions that it has a library for, digits only",
	  "bitsandbytes/libbitsandbytes_rocm*.so" },
	ENGINE("triton", "Triton"),
	{ "engines.triton[].package", RD_STR, "package that it comes from", "*.dist-info" },
	{ "engines.triton[].rocm", RD_STR, "ROCm release it was built for", "the local version", RD_VERSION_ROCM },
	{ "engines.triton[].backends[]", RD_STRS, "amd, nvidia", "triton/backends" },
	ENGINE("transformers", "Transformers"),
	ENGINE("ray", "Ray"),
	{ "engines.ray[].masks_off", RD_BOOL, "the session tells it not to set visible devices", "RAY_EXPERIMENTAL_NOSET_*" },
	ENGINE("xformers", "xFormers"),
	ENGINE("torchcodec", "TorchCodec"),
	ENGINE("extension", "extensions of PyTorch whose wheels carry no tag"),
	{ "engines.extension[].package", RD_STR, "package that it is", "*.dist-info" },
	ENGINE("llama_cpp", "llama.cpp"),
	{ "engines.llama_cpp[].folder", RD_STR, "folder of its programs or libraries", "llama-server, llama_cpp/lib" },
	{ NULL },
};

const struct rd_probe rd_probe_engine_wheels = {
	.name = "engine/wheels",
	.layer = RD_LAYER_ENGINE,
	.summary = "engines and extensions that are Python packages",
	.facts = facts,
	.run = run,
};
