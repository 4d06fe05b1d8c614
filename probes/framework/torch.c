/*
 * Which PyTorch does each environment import, how was it built, and do the packages that go with it fit? From version.py and
 * the dist-info folders; device code and the libraries that would be loaded are another probe's.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/wheel.h"
#include "util/xalloc.h"

/* Where the search ends for the WSL build's mark in a bundled HSA runtime; real ones have 2 to 20 MiB. */
#define HSA_BYTES_MAX ((uint64_t)64 << 20)

struct torch {
	struct rd_probe_ctx *ctx;
	struct rd_fact *item; /* of python[] */
	char *site, *file;    /* folder it is in, version.py */
	char *info;           /* dist-info; NULL without */
	char *hip, *rocm, *cuda, *version;
	const char *build;
	bool hip_declared;
};

/* ------------------------------------------------------------ packages of an environment */

static const struct rd_fact *package(const struct rd_fact *item, const char *name)
{
	return rd_fact_child(rd_fact_get(item, "packages"), name);
}

/* The folder that a package's files are in: its dist-info's. Caller frees. */
static char *site_of(const struct rd_fact *entry)
{
	const char *source = rd_fact_source(entry), *slash = strrchr(source, '/');

	return slash ? rd_xstrndup(source, (size_t)(slash - source)) : rd_xstrdup("");
}

/* ------------------------------------------------------------ version.py */

/* Read the first torch/version.py on the path; 0 without one. Every further one is a copy that loses. */
static int find_torch(struct torch *t)
{
	const struct rd_fact *paths = rd_fact_get(t->item, "paths");
	size_t found = 0;

	for (size_t i = 0; i < rd_fact_count(paths); i++) {
		const char *site = rd_fact_str(rd_fact_at(paths, i));
		rd_auto_free char *file = rd_xasprintf("%s/torch/version.py", site), *text = NULL, *version = NULL;
		struct rd_fact *copy;
		int r = rd_sysroot_read(t->ctx->sysroot, &text, file);

		if (r == -ENOENT || r == -ENOTDIR || r == -EINVAL)
			continue;
		if (r < 0 && !found)
			return r;
		if (r < 0)
			continue;
		version = rd_wheel_assignment(text, "__version__", NULL);
		copy = rd_fact_append(t->item, "torch.copies", file);
		rd_fact_set_str(copy, "path", site, file);
		rd_fact_set_str(copy, "version", version ? version : "", file);
		if (found++)
			continue;
		t->site = rd_xstrdup(site);
		t->file = rd_steal(file);
		t->version = rd_steal(version);
		t->hip = rd_wheel_assignment(text, "hip", &t->hip_declared);
		t->cuda = rd_wheel_assignment(text, "cuda", NULL);
		t->rocm = rd_wheel_assignment(text, "rocm", NULL);
	}
	return 0;
}

/* The dist-info beside it, whose version counts where version.py has none. */
static void find_info(struct torch *t)
{
	const struct rd_fact *entry = package(t->item, "torch");
	rd_auto_free char *site = entry ? site_of(entry) : NULL;

	if (!entry || !rd_streq(site, t->site))
		return;
	t->info = rd_xstrdup(rd_fact_source(entry));
	if (!t->version)
		t->version = rd_xstrdup(rd_fact_str(entry));
}

static const char *build_of(const struct torch *t)
{
	if (t->hip)
		return "rocm";
	if (t->cuda)
		return "cuda";
	/* Without the "hip" line it is no version.py of PyTorch's own build: the version may still tell. */
	return t->hip_declared ? "cpu" : rd_wheel_build(t->version);
}

static void set_release(struct torch *t)
{
	char *tag = rd_wheel_rocm(t->version);

	if (t->rocm && tag && rd_str_has_prefix(t->rocm, tag)) {
		free(tag);
	} else if (!t->rocm) {
		t->rocm = tag;
	} else {
		free(tag);
	}
	if (t->rocm)
		rd_fact_set_str(t->item, "torch.rocm", t->rocm, t->file);
}

static void set_version(struct torch *t)
{
	rd_auto_free char *folder = rd_xasprintf("%s/torch", t->site);
	rd_auto_free char *public = rd_wheel_public(t->version);

	t->build = build_of(t);
	rd_fact_set_str(t->item, "torch.version", t->version, t->file);
	rd_fact_set_str(t->item, "torch.public_version", public, t->file);
	rd_fact_set_str(t->item, "torch.path", folder, t->file);
	if (*t->build)
		rd_fact_set_str(t->item, "torch.build", t->build, t->file);
	else
		rd_fact_set_unknown_why(t->item, "torch.build", "version.py does not say", t->file);
	if (t->hip)
		rd_fact_set_str(t->item, "torch.hip", t->hip, t->file);
	if (t->cuda)
		rd_fact_set_str(t->item, "torch.cuda", t->cuda, t->file);
	if (rd_streq(t->build, "rocm"))
		set_release(t);
}

/* ------------------------------------------------------------ dist-info */

/* "cp312-cp312-manylinux_2_28_x86_64" -> "3.12"; NULL where any Python 3 may be. Caller frees. */
static char *tag_series(const char *tag)
{
	const char *p = tag + 2;

	if (!rd_str_has_prefix(tag, "cp3") || strstr(tag, "-abi3-") || strstr(tag, "-none-"))
		return NULL;
	return rd_xasprintf("3.%.*s", (int)strspn(p + 1, "0123456789"), p + 1);
}

/* "cp313-cp313t-...": the ABI part ends in "t". */
static bool tag_is_free_threaded(const char *tag)
{
	const char *abi = strchr(tag, '-'), *end = abi ? strchr(abi + 1, '-') : NULL;

	return end && end[-1] == 't';
}

static void set_tags(struct torch *t)
{
	rd_auto_free char *path = rd_xasprintf("%s/WHEEL", t->info), *text = NULL, *series = NULL;
	char *rest, *line;
	int r = rd_sysroot_read(t->ctx->sysroot, &text, path);

	if (r < 0) {
		if (r != -ENOENT)
			rd_fact_set_unknown(t->item, "torch.python_series", r, path);
		return;
	}
	rd_fact_set_list(t->item, "torch.tags", path);
	for (rest = text; (line = rd_str_next_line(&rest));) {
		if (!rd_str_has_prefix(line, "Tag:"))
			continue;
		line = rd_str_strip(line + strlen("Tag:"));
		line += strspn(line, " \t");
		rd_fact_append_str(t->item, "torch.tags", line, path);
		if (!series && (series = tag_series(line))) {
			rd_fact_set_str(t->item, "torch.python_series", series, path);
			rd_fact_set_bool(t->item, "torch.free_threaded", tag_is_free_threaded(line), path);
		}
	}
}

static void set_requirements(struct torch *t)
{
	rd_auto_free char *path = rd_xasprintf("%s/METADATA", t->info), *text = NULL;
	const char *rest;
	char *name, *pin;
	int r = rd_sysroot_read(t->ctx->sysroot, &text, path);

	if (r < 0) {
		if (r != -ENOENT)
			rd_fact_set_unknown(t->item, "torch.triton", r, path);
		return;
	}
	for (rest = text; rd_wheel_requires(&rest, &name, &pin);) {
		if (strstr(name, "triton")) {
			rd_fact_set_str(t->item, "torch.triton.name", name, path);
			rd_fact_set_str(t->item, "torch.triton.version", pin, path);
		} else if (rd_streq(name, "rocm")) {
			rd_fact_set_str(t->item, "torch.requires_rocm", *pin ? pin : "any", path);
		}
		free(name);
		free(pin);
	}
}

/* ------------------------------------------------------------ what is inside */

/* AMD's WSL build of the HSA runtime needs libdxcore.so, which is how it reaches the GPU; no other build names it. */
static int mentions_dxcore(struct rd_sysroot *sr, const char *path)
{
	static const char mark[] = "libdxcore.so";
	rd_auto_free char *buf = rd_xmalloc((1 << 20) + sizeof(mark));
	struct rd_file *f = NULL;
	uint64_t size, at = 0;
	int r = rd_file_open(sr, &f, path), found = 0;

	if (r < 0)
		return r;
	size = rd_file_size(f) < HSA_BYTES_MAX ? rd_file_size(f) : HSA_BYTES_MAX;
	while (at < size && !found && r >= 0) {
		size_t len = size - at < (1 << 20) ? (size_t)(size - at) : 1 << 20;

		r = rd_file_pread(f, buf, len, at);
		found = r >= 0 && memmem(buf, len, mark, strlen(mark));
		/* The mark may lie across two pieces. */
		at += len > sizeof(mark) && at + len < size ? len - sizeof(mark) : len;
	}
	rd_file_close(f);
	return r < 0 ? r : found;
}

static void set_bundled_hsa(struct torch *t)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	rd_auto_free char *pattern = rd_xasprintf("%s/torch/lib/libhsa-runtime64.so*", t->site);
	int r;

	if (!rd_fact_get_bool(t->ctx->facts, "host.wsl"))
		return;
	r = rd_sysroot_glob(t->ctx->sysroot, &found, pattern);
	if (r >= 0 && !found.n)
		return;
	rd_fact_set_str(t->item, "torch.hsa_bundled", found.n ? found.v[0] : pattern, found.n ? found.v[0] : pattern);
	if (r >= 0)
		r = mentions_dxcore(t->ctx->sysroot, found.v[0]);
	if (r < 0)
		rd_fact_set_unknown(t->item, "torch.hsa_for_wsl", r, pattern);
	else
		rd_fact_set_bool(t->item, "torch.hsa_for_wsl", r > 0, found.v[0]);
}

static void set_exists(struct torch *t, const char *fact, const char *path)
{
	int r = rd_sysroot_exists(t->ctx->sysroot, path);

	if (r < 0)
		rd_fact_set_unknown(t->item, fact, r, path);
	else
		rd_fact_set_bool(t->item, fact, r > 0, path);
}

/* MIOpen compiles kernels that include rocRAND's headers, which no wheel of pytorch.org carries. */
static void set_jit_headers(struct torch *t)
{
	static const char *const patterns[] = {
		"/opt/rocm/include/rocrand/rocrand_xorwow.h",
		"/opt/rocm-*/include/rocrand/rocrand_xorwow.h",
		"/opt/rocm/core-*/include/rocrand/rocrand_xorwow.h",
		"/usr/include/rocrand/rocrand_xorwow.h",
	};
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	const char *prefix = rd_fact_get_str(t->item, "prefix");
	rd_auto_free char *own = rd_xasprintf("%s/include/rocrand/rocrand_xorwow.h", prefix);
	rd_auto_free char *sdk = rd_xasprintf("%s/_rocm_sdk_core/include/rocrand/rocrand_xorwow.h", t->site);
	rd_auto_free char *devel = rd_xasprintf("%s/_rocm_sdk_devel/include/rocrand/rocrand_xorwow.h", t->site);
	const char *const beside[] = { own, sdk, devel };
	int r = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns) && !found.n && r >= 0; i++)
		r = rd_sysroot_glob(t->ctx->sysroot, &found, patterns[i]);
	for (size_t i = 0; i < RD_ARRAY_SIZE(beside) && !found.n && r >= 0; i++)
		if ((r = rd_sysroot_exists(t->ctx->sysroot, beside[i])) > 0)
			rd_strv_push(&found, beside[i]);
	if (r < 0)
		rd_fact_set_unknown(t->item, "torch.rocrand_headers", r, patterns[0]);
	else
		rd_fact_set_bool(t->item, "torch.rocrand_headers", found.n > 0, found.n ? found.v[0] : patterns[0]);
}

/* gfx names in the file names of the wheel's hipBLASLt data. */
static void set_hipblaslt(struct torch *t)
{
	rd_auto_free char *dir = rd_xasprintf("%s/torch/lib/hipblaslt/library", t->site);
	rd_auto_strv struct rd_strv names = RD_STRV_INIT, gfx = RD_STRV_INIT;
	int r = rd_sysroot_list(t->ctx->sysroot, &names, dir);

	if (r < 0) {
		if (r != -ENOENT)
			rd_fact_set_unknown(t->item, "torch.hipblaslt_gfx", r, dir);
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		const char *p = strstr(names.v[i], "gfx");
		rd_auto_free char *one = p ? rd_xstrndup(p, 3 + strspn(p + 3, "0123456789abcdef")) : NULL;

		if (one && one[3])
			rd_strv_push_unique(&gfx, one);
	}
	rd_strv_sort(&gfx);
	rd_fact_set_list(t->item, "torch.hipblaslt_gfx", dir);
	for (size_t i = 0; i < gfx.n; i++)
		rd_fact_append_str(t->item, "torch.hipblaslt_gfx", gfx.v[i], dir);
}

/* The older name is read first, as PyTorch does. */
static void set_blas_preference(struct torch *t)
{
	static const char *const names[] = { "TORCH_BLAS_PREFER_CUBLASLT", "TORCH_BLAS_PREFER_HIPBLASLT" };
	const char *value = NULL;

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		int r = rd_sysroot_getenv(t->ctx->sysroot, &value, names[i]);

		if (r < 0)
			rd_fact_set_unknown(t->item, "torch.blas_preference", r, names[i]);
		else if (r == 1 && !rd_fact_get(t->item, "torch.blas_preference"))
			rd_fact_set_str(t->item, "torch.blas_preference", value, names[i]);
	}
}

static void set_inside(struct torch *t)
{
	rd_auto_free char *hip = rd_xasprintf("%s/torch/lib/libamdhip64.so", t->site);
	rd_auto_free char *init = rd_xasprintf("%s/torch/_rocm_init.py", t->site);
	rd_auto_free char *miopen = rd_xasprintf("%s/torch/lib/libMIOpen.so", t->site);

	if (!rd_streq(t->build, "rocm"))
		return;
	set_blas_preference(t);
	set_exists(t, "torch.rocm_bundled", hip);
	set_exists(t, "torch.rocm_sdk", init);
	set_exists(t, "torch.miopen_bundled", miopen);
	if (rd_fact_get_bool(t->item, "torch.miopen_bundled"))
		set_jit_headers(t);
	/* Only nightlies ever forced hipBLASLt on a GPU without it. */
	if (strstr(t->version, ".dev"))
		set_hipblaslt(t);
	set_bundled_hsa(t);
}

/* ------------------------------------------------------------ companions */

static const struct {
	const char *name, *module;
} companions[] = {
	{ "torchvision", "torchvision" },
	{ "torchaudio", "torchaudio" },
};

/* The index of PyPI has no local versions in the names; the module's own version.py keeps it. */
static char *companion_version(struct torch *t, const char *site, const char *module, const char *fallback)
{
	rd_auto_free char *text = NULL;
	char *version = NULL;

	if (*rd_wheel_local(fallback))
		return rd_xstrdup(fallback);
	if (rd_sysroot_readf(t->ctx->sysroot, &text, "%s/%s/version.py", site, module) == 0)
		version = rd_wheel_assignment(text, "__version__", NULL);
	return version ? version : rd_xstrdup(fallback);
}

static void set_companion(struct torch *t, const char *name, const char *module)
{
	const struct rd_fact *entry = package(t->item, name);
	rd_auto_free char *site = NULL, *version = NULL, *rocm = NULL, *path = NULL, *text = NULL;
	const char *rest;
	char *required, *pin;
	struct rd_fact *one;

	if (!entry)
		return;
	site = site_of(entry);
	version = companion_version(t, site, module, rd_fact_str(entry));
	rocm = rd_wheel_rocm(version);
	one = rd_fact_append(t->item, "companions", rd_fact_source(entry));
	rd_fact_set_str(one, "name", name, rd_fact_source(entry));
	rd_fact_set_str(one, "version", version, rd_fact_source(entry));
	if (*rd_wheel_build(version))
		rd_fact_set_str(one, "build", rd_wheel_build(version), rd_fact_source(entry));
	if (rocm)
		rd_fact_set_str(one, "rocm", rocm, rd_fact_source(entry));
	path = rd_xasprintf("%s/METADATA", rd_fact_source(entry));
	if (rd_sysroot_read(t->ctx->sysroot, &text, path) < 0)
		return;
	for (rest = text; rd_wheel_requires(&rest, &required, &pin);) {
		if (rd_streq(required, "torch") && *pin && !strchr(pin, '*'))
			rd_fact_set_str(one, "requires_torch", pin, path);
		free(required);
		free(pin);
	}
}

/* ------------------------------------------------------------ what is wanted */

/* "torch==2.5.1" in the requirements file of the environment's folder, or of the project that it lies in. */
static void set_wanted(struct rd_probe_ctx *ctx, struct rd_fact *item)
{
	const char *prefix = rd_fact_get_str(item, "prefix"), *kind = rd_fact_get_str(item, "kind");
	const char *slash = strrchr(prefix, '/');
	rd_auto_free char *inside = rd_xasprintf("%s/requirements.txt", prefix);
	rd_auto_free char *beside = rd_xasprintf("%.*s/requirements.txt", slash ? (int)(slash - prefix) : 0, prefix);
	rd_auto_free char *text = NULL;
	const char *file = inside;
	char *rest, *line, *name, *pin;

	if (!rd_streq(kind, "venv"))
		return;
	if (rd_sysroot_read(ctx->sysroot, &text, inside) < 0) {
		file = beside;
		if (rd_sysroot_read(ctx->sysroot, &text, beside) < 0)
			return;
	}
	for (rest = text; (line = rd_str_next_line(&rest));) {
		struct rd_fact *one;

		if (!rd_wheel_requirement(line, strlen(line), &name, &pin))
			continue;
		if (rd_streq(name, "torch") || rd_str_has_prefix(name, "tensorflow")) {
			one = rd_fact_append(item, "wanted", file);
			rd_fact_set_str(one, "name", name, file);
			rd_fact_set_str(one, "version", pin, file);
			rd_fact_set_str(one, "file", file, file);
		}
		free(name);
		free(pin);
	}
}

/* ------------------------------------------------------------ facts */

static void torch_clear(struct torch *t)
{
	free(t->site);
	free(t->file);
	free(t->info);
	free(t->hip);
	free(t->rocm);
	free(t->cuda);
	free(t->version);
}

/* Everything below torch{} but what is set already stays unknown. */
static void give_up(struct rd_fact *item, int r)
{
	static const char *const names[] = { "version", "build", "hip", "rocm", "cuda", "rocm_bundled" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		rd_auto_free char *path = rd_xasprintf("torch.%s", names[i]);

		rd_fact_set_unknown(item, path, r, "torch/version.py");
	}
}

static void look_at(struct rd_probe_ctx *ctx, struct rd_fact *item)
{
	struct torch t = { .ctx = ctx, .item = item };
	int r = find_torch(&t);

	if (r < 0) {
		give_up(item, r);
	} else if (t.site) {
		find_info(&t);
		if (t.version) {
			set_version(&t);
			set_inside(&t);
		} else {
			give_up(item, -EINVAL);
		}
		if (t.info) {
			set_tags(&t);
			set_requirements(&t);
		}
		for (size_t i = 0; i < RD_ARRAY_SIZE(companions); i++)
			set_companion(&t, companions[i].name, companions[i].module);
	}
	set_wanted(ctx, item);
	torch_clear(&t);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "python");

	for (size_t i = 0; i < rd_fact_count(list); i++)
		look_at(ctx, rd_fact_at_mutable(list, i));
	return 0;
}

static const struct rd_fact_decl facts[] = {
	{ "python[].torch.version", RD_STR, "PyTorch that the environment imports; empty without", "torch/version.py",
	  RD_VERSION_PEP440 },
	{ "python[].torch.public_version", RD_STR, "its version without the local part", "torch/version.py",
	  RD_VERSION_PEP440 },
	{ "python[].torch.build", RD_STR, "rocm, cuda or cpu", "torch/version.py" },
	{ "python[].torch.hip", RD_STR, "HIP version it was built with (not the ROCm release)", "torch/version.py",
	  RD_VERSION_ROCM },
	{ "python[].torch.rocm", RD_STR, "ROCm release it was built with", "torch/version.py, the local version",
	  RD_VERSION_ROCM },
	{ "python[].torch.cuda", RD_STR, "CUDA version it was built with", "torch/version.py", RD_VERSION_DOTTED },
	{ "python[].torch.path", RD_STR, "its folder", "torch/version.py" },
	{ "python[].torch.copies[]", RD_LIST, "every PyTorch on the path, the one that wins first", "torch/version.py" },
	{ "python[].torch.copies[].path", RD_STR, "folder on the path", "torch/version.py" },
	{ "python[].torch.copies[].version", RD_STR, "its version", "torch/version.py", RD_VERSION_PEP440 },
	{ "python[].torch.tags[]", RD_STRS, "tags of its wheel", "torch-*.dist-info/WHEEL" },
	{ "python[].torch.python_series", RD_STR, "X.Y of the Python that its wheel is for; empty: any",
	  "torch-*.dist-info/WHEEL", RD_VERSION_PEP440 },
	{ "python[].torch.free_threaded", RD_BOOL, "its wheel is for a build without the global lock",
	  "torch-*.dist-info/WHEEL" },
	{ "python[].torch.triton.name", RD_STR, "Triton package that it requires", "torch-*.dist-info/METADATA" },
	{ "python[].torch.triton.version", RD_STR, "version of it that it requires", "torch-*.dist-info/METADATA",
	  RD_VERSION_PEP440 },
	{ "python[].torch.requires_rocm", RD_STR, "version of the rocm package that it requires; empty: none",
	  "torch-*.dist-info/METADATA" },
	{ "python[].torch.rocm_bundled", RD_BOOL, "ROCm's libraries are inside torch/lib", "torch/lib/libamdhip64.so" },
	{ "python[].torch.rocm_sdk", RD_BOOL, "it loads ROCm from the rocm-sdk wheels", "torch/_rocm_init.py" },
	{ "python[].torch.miopen_bundled", RD_BOOL, "MIOpen is inside torch/lib", "torch/lib/libMIOpen.so" },
	{ "python[].torch.rocrand_headers", RD_BOOL, "headers that MIOpen's run-time kernels include are on the host",
	  "include/rocrand/rocrand_xorwow.h" },
	{ "python[].torch.blas_preference", RD_STR, "the session's word on hipBLASLt: 0 or 1",
	  "TORCH_BLAS_PREFER_CUBLASLT, TORCH_BLAS_PREFER_HIPBLASLT" },
	{ "python[].torch.hipblaslt_gfx[]", RD_STRS, "gfx that a nightly's hipBLASLt has kernels for",
	  "torch/lib/hipblaslt/library" },
	{ "python[].torch.hsa_bundled", RD_STR, "on WSL: the HSA runtime inside torch/lib", "torch/lib/libhsa-runtime64.so" },
	{ "python[].torch.hsa_for_wsl", RD_BOOL, "on WSL: it is the build that goes through /dev/dxg",
	  "torch/lib/libhsa-runtime64.so" },
	{ "python[].companions[]", RD_LIST, "packages built for one PyTorch", "torchvision, torchaudio" },
	{ "python[].companions[].name", RD_STR, "package", "*.dist-info" },
	{ "python[].companions[].version", RD_STR, "version with its local part", "*.dist-info, version.py",
	  RD_VERSION_PEP440 },
	{ "python[].companions[].build", RD_STR, "rocm, cuda, cpu; empty where it does not say", "the local version" },
	{ "python[].companions[].rocm", RD_STR, "ROCm release it was built with", "the local version", RD_VERSION_ROCM },
	{ "python[].companions[].requires_torch", RD_STR, "PyTorch version it requires", "*.dist-info/METADATA",
	  RD_VERSION_PEP440 },
	{ "python[].wanted[]", RD_LIST, "frameworks that a requirements file asks for", "requirements.txt" },
	{ "python[].wanted[].name", RD_STR, "package", "requirements.txt" },
	{ "python[].wanted[].version", RD_STR, "version behind ==", "requirements.txt", RD_VERSION_PEP440 },
	{ "python[].wanted[].file", RD_STR, "the file", "requirements.txt" },
	{ NULL },
};

const struct rd_probe rd_probe_framework_torch = {
	.name = "framework/torch",
	.layer = RD_LAYER_FRAMEWORK,
	.after = "framework/environments",
	.summary = "PyTorch of each environment and what goes with it",
	.facts = facts,
	.run = run,
};
