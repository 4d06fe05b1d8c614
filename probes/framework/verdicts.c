/*
 * What the rules of this layer cannot ask themselves: which environments are judged, and joins of packages, GPUs, driver and
 * ROCm with each other and with the table of wheels. Sets derived facts, judges nothing.
 */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common-wheels.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/wheel.h"
#include "util/xalloc.h"

static const char table_source[] = WHEELS_SOURCE;

/* ------------------------------------------------------------ helpers */

static const char *package_version(const struct rd_fact *env, const char *name)
{
	return rd_fact_str(wheels_package(env, name));
}

static bool is_rocm(const struct rd_fact *env)
{
	return rd_streq(rd_fact_get_str(env, "torch.build"), "rocm");
}

/* Set a fact that hangs on others: unknown, with the reason, where the first unknown of them is; true where it did so. */
static bool unknown_with(struct rd_fact *at, const char *path, const struct rd_fact *base, const char *const needs[])
{
	for (size_t i = 0; needs[i]; i++) {
		const struct rd_fact *f = rd_fact_get(base, needs[i]);

		if (rd_fact_state(f) != RD_FACT_UNKNOWN)
			continue;
		rd_fact_set_unknown_why(at, path, rd_fact_reason(f), rd_fact_source(f));
		return true;
	}
	return false;
}

/* ------------------------------------------------------------ which environments are judged */

static bool holds_framework(const struct rd_fact *env)
{
	static const char *const names[] = {
		"torch", "jax",    "jaxlib",      "tensorflow",       "tensorflow-rocm",     "tensorflow-cpu",
		"vllm",  "sglang", "onnxruntime", "onnxruntime-rocm", "onnxruntime-migraphx"
	};

	if (*rd_fact_get_str(env, "torch.version"))
		return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		if (wheels_package(env, names[i]))
			return true;
	return false;
}

static bool is_chosen(const struct rd_fact *env)
{
	return rd_fact_get_bool(env, "active") || rd_fact_get_bool(env, "asked") || rd_fact_get_bool(env, "service");
}

static void set_judged(struct rd_fact *list)
{
	static const char *const needs[] = { "torch.version", "packages", NULL };
	bool chosen = false, unsure = false;
	const struct rd_fact *cause = NULL;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *env = rd_fact_at_mutable(list, i);
		bool holds = holds_framework(env);

		if (holds || !unknown_with(env, "framework", env, needs))
			rd_fact_set_bool(env, "framework", holds, "packages");
		else if (is_chosen(env) && !unsure) {
			unsure = true;
			cause = rd_fact_get(env, "framework");
		}
		chosen = chosen || (holds && is_chosen(env));
	}
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *env = rd_fact_at_mutable(list, i);

		if (!is_chosen(env) && !chosen && unsure)
			rd_fact_set_unknown_why(env, "judged", rd_fact_reason(cause), rd_fact_source(cause));
		else
			rd_fact_set_bool(env, "judged", is_chosen(env) || !chosen, "active, --python, services");
	}
}

/*
 * One environment speaks for "no PyTorch": the active one, those asked for; where none is either, the first. The others
 * were not meant to have it.
 */
static void set_expected(struct rd_fact *list)
{
	bool any = false;

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const struct rd_fact *env = rd_fact_at(list, i);

		any = any || rd_fact_get_bool(env, "active") || rd_fact_get_bool(env, "asked");
	}
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *env = rd_fact_at_mutable(list, i);

		rd_fact_set_bool(env, "expected",
		                 rd_fact_get_bool(env, "active") || rd_fact_get_bool(env, "asked") || (!any && i == 0),
		                 "active, --python");
	}
}

/* ------------------------------------------------------------ PyTorch and what goes with it */

/*
 * Whether a companion whose metadata pins no PyTorch is that of another minor release: torchaudio has PyTorch's own numbers,
 * torchvision's minor is 15 ahead. Only up to 2.8; later torchaudio goes by PyTorch's stable interface.
 */
static bool of_another_minor(const char *name, const char *version, const char *torch)
{
	unsigned major, minor, torch_major, torch_minor;

	if (sscanf(version, "%3u.%3u", &major, &minor) != 2 || sscanf(torch, "%3u.%3u", &torch_major, &torch_minor) != 2 ||
	    torch_major != 2 || torch_minor > 8)
		return false;
	if (rd_streq(name, "torchaudio"))
		return major == 2 && minor <= 8 && minor != torch_minor;
	return rd_streq(name, "torchvision") && major == 0 && minor >= 15 && minor <= 23 && minor != torch_minor + 15;
}

/* Words for one companion that does not fit; false where it fits, or does not say. */
static bool companion_problem(const struct rd_fact *env, const struct rd_fact *one, struct rd_strbuf *ret)
{
	const char *build = rd_fact_get_str(one, "build"), *torch_build = rd_fact_get_str(env, "torch.build");
	const char *rocm = rd_fact_get_str(one, "rocm"), *torch_rocm = rd_fact_get_str(env, "torch.rocm");
	const char *requires = rd_fact_get_str(one, "requires_torch"), *public = rd_fact_get_str(env, "torch.public_version");
	const char *name = rd_fact_get_str(one, "name"), *version = rd_fact_get_str(one, "version");

	if (*build && *torch_build && !rd_streq(build, torch_build))
		rd_strbuf_addf(ret, "%s %s is a %s build, torch a %s build", name, version, build, torch_build);
	else if (*rocm && *torch_rocm && atoi(rocm) != atoi(torch_rocm))
		rd_strbuf_addf(ret, "%s is built for ROCm %s, torch for ROCm %s", name, rocm, torch_rocm);
	else if (*requires && *public && !rd_wheel_same_release(requires, public))
		rd_strbuf_addf(ret, "%s %s wants torch %s, installed is %s", name, version, requires, public);
	else if (!*requires && of_another_minor(name, version, public))
		rd_strbuf_addf(ret, "%s %s is of another release than torch %s", name, version, public);
	else
		return false;
	return true;
}

static void set_companions(struct rd_fact *env)
{
	static const char *const needs[] = { "torch.build", "torch.version", "packages", NULL };
	const struct rd_fact *list = rd_fact_get(env, "companions");
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;

	if (unknown_with(env, "companion_mismatch", env, needs))
		return;
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		rd_auto_strbuf struct rd_strbuf one = RD_STRBUF_INIT;

		if (companion_problem(env, rd_fact_at(list, i), &one))
			rd_strbuf_addf(&text, "%s%s", text.len ? "; " : "", one.buf);
	}
	if (text.len)
		rd_fact_set_str(env, "companion_mismatch", text.buf, rd_fact_source(list));
}

/* A plain Triton of the default index over the one that this PyTorch requires: both are the folder "triton". */
static void set_triton(struct rd_fact *env)
{
	static const char *const needs[] = { "torch.build", "torch.triton.name", "packages", NULL };
	const char *required = rd_fact_get_str(env, "torch.triton.name");
	const char *pin = rd_fact_get_str(env, "torch.triton.version"), *plain = package_version(env, "triton");
	bool own_name = strstr(required, "rocm") != NULL;

	if (unknown_with(env, "plain_triton", env, needs))
		return;
	if (!is_rocm(env) || !*plain || *rd_wheel_local(plain))
		return;
	/* Where torch wants "triton" itself, only its pin tells that another build was meant. */
	if (own_name || rd_streq(rd_wheel_build(pin), "rocm"))
		rd_fact_set_str(env, "plain_triton", plain, rd_fact_source(wheels_package(env, "triton")));
}

static void set_python_match(struct rd_fact *env)
{
	static const char *const needs[] = { "torch.python_series", "series", NULL };
	const char *wheel = rd_fact_get_str(env, "torch.python_series"), *own = rd_fact_get_str(env, "series");

	if (unknown_with(env, "torch.other_python", env, needs))
		return;
	if (*wheel && *own)
		rd_fact_set_bool(env, "torch.other_python",
		                 rd_version_compare(wheel, own, RD_VERSION_PEP440) != 0 ||
		                         rd_fact_get_bool(env, "torch.free_threaded") != rd_fact_get_bool(env, "free_threaded"),
		                 rd_fact_source(rd_fact_get(env, "torch.python_series")));
}

static void set_driver(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "kernel.amdgpu.origin", "kernel.amdgpu.version", NULL };
	static const char *const own[] = { "torch.build", "torch.rocm", NULL };
	const char *rocm = rd_fact_get_str(env, "torch.rocm"), *module;
	const cJSON *row;

	if (unknown_with(env, "torch.driver_needed", env, own) || !*rocm ||
	    unknown_with(env, "torch.driver_needed", ctx->facts, needs))
		return;
	module = wheels_driver(ctx);
	if (!*module || wheels_driver_is_enough(ctx, rocm, module))
		return;
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "driver_windows"))
		if (rd_version_has_prefix(rocm, rd_json_str(row, "rocm")))
			rd_fact_set_str(env, "torch.driver_needed", rd_json_str(row, "driver"), table_source);
}

/* Does the host have a ROCm whose libraries a wheel without its own could load? The line of 7 goes on with 10. */
static bool same_line(const char *a, const char *b)
{
	int x = atoi(a), y = atoi(b);

	return (x >= 7 ? 7 : x) == (y >= 7 ? 7 : y);
}

static void set_host_rocm(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "runtime.rocm", NULL };
	static const char *const own[] = { "torch.build", "torch.rocm", "torch.rocm_bundled", "packages", NULL };
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	const char *rocm = rd_fact_get_str(env, "torch.rocm");
	bool found = wheels_package(env, "rocm-sdk-core") != NULL;

	if (unknown_with(env, "torch.rocm_missing", env, own) || !is_rocm(env) || !*rocm)
		return;
	if (!found && !rd_fact_get_bool(env, "torch.rocm_bundled") &&
	    unknown_with(env, "torch.rocm_missing", ctx->facts, needs))
		return;
	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const struct rd_fact *version = rd_fact_get(rd_fact_at(roots, i), "version");

		/* A root of an unknown release may be the right one. */
		found = found || rd_fact_state(version) != RD_FACT_KNOWN || same_line(rd_fact_str(version), rocm);
	}
	rd_fact_set_bool(env, "torch.rocm_missing", !found && !rd_fact_get_bool(env, "torch.rocm_bundled"), "runtime.rocm");
}

static void set_hipblaslt(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "torch.build", "torch.version", "torch.hipblaslt_gfx", "torch.blas_preference",
		                             NULL };
	const struct rd_fact *own = rd_fact_get(env, "torch.hipblaslt_gfx");
	rd_auto_free char *public = rd_wheel_public(rd_fact_get_str(env, "torch.version"));
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	bool forced = false;
	const cJSON *row;

	if (unknown_with(env, "torch.hipblaslt_missing", env, needs))
		return;
	rd_fact_set_list(env, "torch.hipblaslt_missing", table_source);
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "hipblaslt_forced"))
		forced = forced || (strstr(public, "dev") &&
		                    rd_version_compare(public, rd_json_str(row, "from"), RD_VERSION_PEP440) >= 0 &&
		                    rd_version_compare(public, rd_json_str(row, "to"), RD_VERSION_PEP440) <= 0);
	if (!forced || !rd_fact_count(own) || rd_streq(rd_fact_get_str(env, "torch.blas_preference"), "0"))
		return;
	wheels_gfx(ctx, &gfx);
	for (size_t i = 0; i < gfx.n; i++) {
		bool there = false;

		for (size_t j = 0; j < rd_fact_count(own); j++)
			there = there || rd_streq(rd_fact_str(rd_fact_at(own, j)), gfx.v[i]);
		if (!there)
			rd_fact_append_str(env, "torch.hipblaslt_missing", gfx.v[i], rd_fact_source(own));
	}
}

/* ------------------------------------------------------------ TheRock's wheels */

/* "gfx94x-dcgpu" covers gfx942, "gfx950-dcgpu" and "gfx950" gfx950: x stands for any digit. */
static bool family_covers(const char *family, const char *gfx)
{
	size_t len = strcspn(family, "-");

	if (strlen(gfx) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (family[i] != gfx[i] && !(family[i] == 'x' && i > 2))
			return false;
	return true;
}

/* Of the packages that begin with @prefix and name a family: how many there are, and whether one covers every GPU. */
static size_t families(const struct rd_fact *env, const char *prefix, const struct rd_strv *gfx, const char **ret_missing)
{
	const struct rd_fact *packages = rd_fact_get(env, "packages");
	size_t n = 0;

	*ret_missing = NULL;
	for (size_t i = 0; i < rd_fact_count(packages); i++)
		n += rd_str_has_prefix(rd_fact_name(rd_fact_at(packages, i)), prefix);
	for (size_t g = 0; g < gfx->n && n; g++) {
		bool covered = false;

		for (size_t i = 0; i < rd_fact_count(packages); i++) {
			const char *name = rd_fact_name(rd_fact_at(packages, i));

			covered = covered || (rd_str_has_prefix(name, prefix) &&
			                      family_covers(name + strlen(prefix) - strlen("gfx"), gfx->v[g]));
		}
		if (!covered)
			*ret_missing = gfx->v[g];
	}
	return n;
}

static void sdk_releases(const struct rd_fact *env, struct rd_strbuf *ret)
{
	const struct rd_fact *packages = rd_fact_get(env, "packages");
	const char *core = package_version(env, "rocm-sdk-core"), *rocm = rd_fact_get_str(env, "torch.rocm");

	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *one = rd_fact_at(packages, i);

		if ((rd_str_has_prefix(rd_fact_name(one), "rocm-sdk-libraries") ||
		     rd_str_has_prefix(rd_fact_name(one), "rocm-sdk-device-")) &&
		    !rd_streq(rd_fact_str(one), core)) {
			rd_strbuf_addf(ret, "%s is %s, rocm-sdk-core is %s", rd_fact_name(one), rd_fact_str(one), core);
			return;
		}
	}
	/* Nightlies spell one release in two ways (10.1.0a20261001 and 10.1.0): the numbers are what must agree. */
	if (is_rocm(env) && !rd_fact_get_bool(env, "torch.rocm_bundled") && *rocm && !rd_version_has_prefix(core, rocm) &&
	    strncmp(core, rocm, strlen(rocm)) != 0)
		rd_strbuf_addf(ret, "torch is built for ROCm %s, rocm-sdk-core is %s", rocm, core);
}

static void set_sdk(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "packages", "torch.rocm", "torch.rocm_bundled", NULL };
	static const char *const prefixes[] = { "rocm-sdk-libraries-gfx", "rocm-sdk-device-gfx", "amd-torch-device-gfx" };
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	const char *missing;

	if (unknown_with(env, "rocm_sdk_mismatch", env, needs) || !wheels_package(env, "rocm-sdk-core"))
		return;
	sdk_releases(env, &text);
	wheels_gfx(ctx, &gfx);
	for (size_t i = 0; i < RD_ARRAY_SIZE(prefixes) && !text.len; i++)
		if (families(env, prefixes[i], &gfx, &missing) && missing)
			rd_strbuf_addf(&text, "no %.*s wheel is for %s", (int)(strlen(prefixes[i]) - strlen("-gfx")),
			               prefixes[i], missing);
	if (text.len)
		rd_fact_set_str(env, "rocm_sdk_mismatch", text.buf, rd_fact_source(wheels_package(env, "rocm-sdk-core")));
}

/* ------------------------------------------------------------ other packages */

/* Whether a package's modules, or its own record of the build, tell of CUDA, where its version does not. */
static bool is_linked_with_cuda(const struct rd_probe_ctx *ctx, const struct rd_fact *env, const char *package)
{
	const char *list = rd_streq(package, "xformers") ? "engines.xformers" : "engines.extension";
	const struct rd_fact *items = rd_fact_get(ctx->facts, list);

	for (size_t i = 0; i < rd_fact_count(items); i++) {
		const struct rd_fact *one = rd_fact_at(items, i);

		if (rd_streq(rd_fact_get_str(one, "prefix"), rd_fact_get_str(env, "prefix")) &&
		    rd_streq(rd_fact_get_str(one, "build"), "cuda") &&
		    (rd_streq(package, "xformers") || rd_streq(rd_fact_get_str(one, "package"), package)))
			return true;
	}
	return false;
}

/* Packages with extension modules that are built for one kind of GPU; what is an engine has a rule of its own. */
static void set_cuda_extensions(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const names[] = {
		"xformers",     "torchcodec",    "torchtext",         "torchrec",          "torch-scatter",
		"torch-sparse", "torch-cluster", "torch-spline-conv", "pyg-lib",           "fbgemm-gpu",
		"torchao",      "auto-gptq",     "gptqmodel",         "autoawq",           "autoawq-kernels",
		"exllamav2",    "mamba-ssm",     "causal-conv1d",     "sgl-kernel",        "apex",
		"nunchaku",     "sageattention", "deepspeed",         "flashinfer-python",
	};
	static const char *const needs[] = { "torch.build", "packages", NULL };

	if (unknown_with(env, "cuda_extensions", env, needs))
		return;
	rd_fact_set_list(env, "cuda_extensions", "packages");
	for (size_t i = 0; i < RD_ARRAY_SIZE(names) && is_rocm(env); i++) {
		const char *version = package_version(env, names[i]);

		if (*version && (rd_streq(rd_wheel_build(version), "cuda") || is_linked_with_cuda(ctx, env, names[i]))) {
			rd_auto_free char *text = rd_xasprintf("%s %s", names[i], version);

			rd_fact_append_str(env, "cuda_extensions", text, rd_fact_source(wheels_package(env, names[i])));
		}
	}
}

/* The ROCm release that a tensorflow-rocm was built for: the fourth number (570: 5.7), else the table. Caller frees. */
static char *tensorflow_rocm(const struct rd_probe_ctx *ctx, const char *version, bool *ret_exact)
{
	rd_auto_strv struct rd_strv parts = RD_STRV_INIT;
	const cJSON *row;

	*ret_exact = false;
	rd_strv_split(&parts, version, ".", false);
	if (parts.n == 4 && strlen(parts.v[3]) >= 3 && strspn(parts.v[3], "0123456789") == strlen(parts.v[3]))
		return rd_xasprintf("%c.%c", parts.v[3][0], parts.v[3][1]);
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "tensorflow_rocm"))
		if (rd_version_has_prefix(version, rd_json_str(row, "tensorflow"))) {
			*ret_exact = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "exact"));
			return rd_xstrdup(rd_json_str(row, "rocm"));
		}
	return NULL;
}

/* The ROCm major in the name of JAX's plugin: jax-rocm60-plugin is for 6.x, jax-rocm7-plugin for 7.x. Caller frees. */
static char *jax_rocm(const struct rd_fact *env, const char **ret_name, const char **ret_version)
{
	static const struct {
		const char *digits, *major;
	} known[] = { { "60", "6" }, { "7", "7" }, { "10", "10" } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(known); i++)
		for (int kind = 0; kind < 2; kind++) {
			rd_auto_free char *name = rd_xasprintf("jax-rocm%s-%s", known[i].digits, kind ? "pjrt" : "plugin");
			const struct rd_fact *entry = wheels_package(env, name);

			if (!entry)
				continue;
			*ret_name = rd_fact_name(entry);
			*ret_version = rd_fact_str(entry);
			return rd_xstrdup(known[i].major);
		}
	return NULL;
}

/* True where a ROCm of that release (@exact: X.Y, else X) is on the host, or none is known at all. */
static bool host_has(const struct rd_probe_ctx *ctx, const struct rd_fact *env, const char *rocm, bool exact)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	const char *sdk = package_version(env, "rocm-sdk-core");
	bool found = *sdk && atoi(sdk) == atoi(rocm);

	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		const struct rd_fact *version = rd_fact_get(rd_fact_at(roots, i), "version");

		found = found || rd_fact_state(version) != RD_FACT_KNOWN ||
		        (exact ? rd_version_has_prefix(rd_fact_str(version), rocm) : atoi(rd_fact_str(version)) == atoi(rocm));
	}
	return found || (!rd_fact_count(roots) && !*sdk);
}

/* "libx.so.6" where the host has libx with another number only. */
static bool has_another_number(const struct rd_probe_ctx *ctx, const char *soname)
{
	const struct rd_fact *libraries = rd_fact_get(ctx->facts, "runtime.libraries");
	const char *so = strstr(soname, ".so.");
	bool other = false;

	for (size_t i = 0; so && i < rd_fact_count(libraries); i++) {
		const char *name = rd_fact_get_str(rd_fact_at(libraries, i), "soname");

		if (rd_streq(name, soname))
			return false;
		other |= strncmp(name, soname, (size_t)(so - soname) + 4) == 0;
	}
	return other;
}

/* Within a major release of ROCm some libraries change their numbers too. */
static void set_needs(struct rd_probe_ctx *ctx, struct rd_fact *env, const char *fact, const char *name, const char *version)
{
	const struct rd_fact *unresolved = rd_fact_get(env, fact);

	for (size_t i = 0; i < rd_fact_count(unresolved); i++) {
		const char *soname = rd_fact_str(rd_fact_at(unresolved, i));
		rd_auto_free char *text = rd_xasprintf("%s %s needs %s", name, version, soname);

		if (!has_another_number(ctx, soname))
			continue;
		rd_fact_set_str(env, "rocm_framework_mismatch", text, rd_fact_source(rd_fact_at(unresolved, i)));
		return;
	}
}

/* A library that the host has with another number: PyTorch was built for another release of ROCm. */
static void set_other_number(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	const struct rd_fact *unresolved = rd_fact_get(env, "torch.unresolved");

	for (size_t i = 0; i < rd_fact_count(unresolved); i++) {
		const char *soname = rd_fact_str(rd_fact_at(unresolved, i));

		if (!has_another_number(ctx, soname))
			continue;
		rd_fact_set_str(env, "torch.other_number", soname, rd_fact_source(rd_fact_at(unresolved, i)));
		return;
	}
}

static void set_other_frameworks(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "packages", NULL }, *const host[] = { "runtime.rocm", NULL };
	const char *name = "tensorflow-rocm", *version = package_version(env, name);
	rd_auto_free char *rocm = NULL, *text = NULL;
	bool exact = false;

	if (unknown_with(env, "rocm_framework_mismatch", env, needs))
		return;
	if (*version)
		set_needs(ctx, env, "tensorflow.unresolved", name, version);
	rocm = *version ? tensorflow_rocm(ctx, version, &exact) : jax_rocm(env, &name, &version);
	if (!rocm || unknown_with(env, "rocm_framework_mismatch", ctx->facts, host))
		return;
	if (host_has(ctx, env, rocm, exact)) {
		set_needs(ctx, env, "jax.unresolved", name, version);
		return;
	}
	text = rd_xasprintf("%s %s is built for ROCm %s", name, version, rocm);
	rd_fact_set_str(env, "rocm_framework_mismatch", text, rd_fact_source(wheels_package(env, name)));
}

/* ------------------------------------------------------------ what is wanted and does not exist */

/* The newest Python of a release's wheels; NULL where the table does not know the release. Caller frees. */
static char *newest_python(const struct rd_probe_ctx *ctx, const char *name, const char *version)
{
	const cJSON *row, *python;
	const char *newest = NULL;

	if (rd_streq(name, "tensorflow-rocm")) {
		cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "tensorflow_python"))
			if (rd_version_compare(version, rd_json_str(row, "before"), RD_VERSION_PEP440) < 0)
				return rd_xstrdup(rd_json_str(row, "python"));
		return NULL;
	}
	cJSON_ArrayForEach (row, rd_knowledge_rows(ctx->knowledge, "wheels", "torch")) {
		if (!rd_version_has_prefix(version, rd_json_str(row, "torch")))
			continue;
		cJSON_ArrayForEach (python, cJSON_GetObjectItemCaseSensitive(row, "python"))
			if (cJSON_IsString(python) &&
			    (!newest || rd_version_compare(python->valuestring, newest, RD_VERSION_DOTTED) > 0))
				newest = python->valuestring;
	}
	return newest ? rd_xstrndup(newest, strspn(newest, "0123456789.")) : NULL;
}

static void set_without_wheel(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	static const char *const needs[] = { "series", "packages", NULL };
	const struct rd_fact *wanted = rd_fact_get(env, "wanted");
	const char *series = rd_fact_get_str(env, "series");

	if (unknown_with(env, "without_wheel", env, needs))
		return;
	for (size_t i = 0; i < rd_fact_count(wanted); i++) {
		const struct rd_fact *one = rd_fact_at(wanted, i);
		const char *name = rd_fact_get_str(one, "name"), *version = rd_fact_get_str(one, "version");
		rd_auto_free char *newest = NULL, *public = rd_wheel_public(version), *text = NULL;

		if ((!rd_streq(name, "torch") && !rd_streq(name, "tensorflow-rocm")) || wheels_package(env, name) || !*version)
			continue;
		if (rd_streq(name, "torch") && *rd_wheel_local(version) && !rd_streq(rd_wheel_build(version), "rocm"))
			continue;
		newest = newest_python(ctx, name, public);
		if (!newest || !*series || rd_version_compare(series, newest, RD_VERSION_PEP440) <= 0)
			continue;
		text = rd_xasprintf("%s %s has wheels up to Python %s", name, version, newest);
		rd_fact_set_str(env, "without_wheel", text, rd_fact_get_str(one, "file"));
		rd_fact_set_str(env, "newest_python", newest, table_source);
	}
}

/*
 * HIP of ROCm 6.0 to 6.3 reads the name of the file that device code lies in from /proc/self/maps, up to the first space.
 * Source: clr, rocclr/os/os_posix.cpp, FindFileNameFromAddress.
 */
static void set_space_in_path(struct rd_fact *env)
{
	const struct rd_fact *path = rd_fact_get(env, "torch.path");

	if (rd_fact_state(path) == RD_FACT_KNOWN && *rd_fact_str(path))
		rd_fact_set_bool(env, "torch.space_in_path", strpbrk(rd_fact_str(path), " \t") != NULL, rd_fact_source(path));
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "python");

	if (rd_fact_state(list) != RD_FACT_KNOWN)
		return 0;
	set_judged(list);
	set_expected(list);
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *env = rd_fact_at_mutable(list, i);

		set_companions(env);
		set_triton(env);
		set_python_match(env);
		set_driver(ctx, env);
		set_host_rocm(ctx, env);
		set_hipblaslt(ctx, env);
		set_sdk(ctx, env);
		set_cuda_extensions(ctx, env);
		set_other_frameworks(ctx, env);
		set_without_wheel(ctx, env);
		set_space_in_path(env);
		set_other_number(ctx, env);
	}
	return 0;
}

static const struct rd_fact_decl facts[] = {
	{ "python[].framework", RD_BOOL, "PyTorch, JAX, TensorFlow, ONNX Runtime, vLLM or SGLang is in it", "packages" },
	{ "python[].judged", RD_BOOL,
	  "rules judge it: active, asked for or run by a service; all, where none of these holds a framework",
	  "python[].active, .asked, .service, .framework" },
	{ "python[].expected", RD_BOOL, "where PyTorch would be looked for: the active one, those asked for, else the first",
	  "python[].active, .asked" },
	{ "python[].companion_mismatch", RD_STR, "which companion of PyTorch is of another build or release; empty: none",
	  "python[].companions" },
	{ "python[].plain_triton", RD_STR, "version of a plain Triton in place of the one PyTorch requires; empty: none",
	  "torch.triton, packages" },
	{ "python[].rocm_sdk_mismatch", RD_STR, "which rocm-sdk wheels do not go together or with the GPU; empty: none",
	  "packages, gpus" },
	{ "python[].cuda_extensions[]", RD_STRS, "CUDA builds of extensions beside a ROCm build of PyTorch", "packages" },
	{ "python[].rocm_framework_mismatch", RD_STR, "JAX plugin or TensorFlow of another ROCm than the host's; empty: none",
	  "packages, runtime.rocm" },
	{ "python[].without_wheel", RD_STR, "wanted framework that has no wheel for this Python; empty: none",
	  "requirements.txt, table wheels" },
	{ "python[].newest_python", RD_STR, "newest Python that the wanted framework has wheels for", table_source,
	  RD_VERSION_PEP440 },
	{ "python[].torch.other_python", RD_BOOL, "its wheel is for another Python than the environment's",
	  "WHEEL, lib/pythonX.Y" },
	{ "python[].torch.driver_needed", RD_STR,
	  "oldest driver for its ROCm, where the DKMS driver is older; empty: new enough",
	  "table wheels, kernel.amdgpu.version" },
	{ "python[].torch.rocm_missing", RD_BOOL, "it has no ROCm inside, and neither wheels nor the host have one for it",
	  "torch/lib, packages, runtime.rocm" },
	{ "python[].torch.other_number", RD_STR,
	  "library that it does not find and the host has with another number; empty: none",
	  "torch.unresolved, runtime.libraries" },
	{ "python[].torch.space_in_path", RD_BOOL, "its path has a space", "torch.path" },
	{ "python[].torch.hipblaslt_missing[]", RD_STRS, "gfx of this host that it would ask hipBLASLt for in vain",
	  "table wheels, torch/lib/hipblaslt/library" },
	{ NULL },
};

const struct rd_probe rd_probe_framework_verdicts = {
	.name = "framework/verdicts",
	.layer = RD_LAYER_FRAMEWORK,
	.flags = RD_PROBE_PURE,
	.summary = "what follows from packages, GPUs, driver and tables together",
	.facts = facts,
	.run = run,
};
