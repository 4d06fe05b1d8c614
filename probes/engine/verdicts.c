/*
 * Joins that the rules of this layer need: engines with the PyTorch beside them, with the GPUs and the table of engines,
 * services with the processes and the session. Sets derived facts, judges nothing.
 */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/wheel.h"
#include "util/xalloc.h"

static const char table_source[] = "table engines";

/* ------------------------------------------------------------ helpers */

static const char *field(const cJSON *row, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

static const cJSON *table(const struct rd_probe_ctx *ctx, const char *name)
{
	const cJSON *all = rd_knowledge_table(ctx->knowledge, "engines");

	return cJSON_GetObjectItemCaseSensitive(all, name);
}

static const struct rd_fact *environment_of(const struct rd_probe_ctx *ctx, const struct rd_fact *engine)
{
	const struct rd_fact *list = rd_fact_get(ctx->facts, "python");
	const char *prefix = rd_fact_get_str(engine, "prefix");

	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "prefix"), prefix))
			return rd_fact_at(list, i);
	return NULL;
}

static void copy_unknown(struct rd_fact *at, const char *path, const struct rd_fact *cause)
{
	rd_fact_set_unknown_why(at, path, rd_fact_reason(cause), rd_fact_source(cause));
}

/* True, and @path is unknown, where one of the facts that it hangs on is. */
static bool unknown_with(struct rd_fact *at, const char *path, const struct rd_fact *base, const char *const needs[])
{
	for (size_t i = 0; needs[i]; i++) {
		const struct rd_fact *f = rd_fact_get(base, needs[i]);

		if (rd_fact_state(f) != RD_FACT_UNKNOWN)
			continue;
		copy_unknown(at, path, f);
		return true;
	}
	return false;
}

/* What the rules read of the environment, on the engine itself. */
static void set_environment_facts(struct rd_fact *engine, const struct rd_fact *env)
{
	const struct rd_fact *judged = rd_fact_get(env, "judged"), *build = rd_fact_get(env, "torch.build");

	if (rd_fact_state(judged) == RD_FACT_UNKNOWN)
		copy_unknown(engine, "judged", judged);
	else
		rd_fact_set_bool(engine, "judged", rd_fact_bool(judged), "python[].judged");
	if (rd_fact_state(build) == RD_FACT_UNKNOWN)
		copy_unknown(engine, "torch_build", build);
	else if (*rd_fact_str(build))
		rd_fact_set_str(engine, "torch_build", rd_fact_str(build), rd_fact_source(build));
}

/* ------------------------------------------------------------ vLLM */

static void look_at_vllm(struct rd_probe_ctx *ctx, struct rd_fact *vllm, const struct rd_fact *env)
{
	static const char *const own[] = { "requires_torch", NULL }, *const torch[] = { "torch.version", "torch.rocm", NULL };
	const char *requires = rd_fact_get_str(vllm, "requires_torch"), *rocm = rd_fact_get_str(vllm, "rocm");
	const char *public = rd_fact_get_str(env, "torch.public_version"), *torch_rocm = rd_fact_get_str(env, "torch.rocm");
	rd_auto_free char *text = NULL;

	(void)ctx;
	if (unknown_with(vllm, "torch_mismatch", vllm, own) || unknown_with(vllm, "torch_mismatch", env, torch))
		return;
	if (*requires && *public && !rd_wheel_same_release(requires, public))
		text = rd_xasprintf("vllm wants torch %s, installed is %s", requires, public);
	else if (*rocm && *torch_rocm && atoi(rocm) != atoi(torch_rocm))
		text = rd_xasprintf("vllm is built for ROCm %s, torch for ROCm %s", rocm, torch_rocm);
	if (text)
		rd_fact_set_str(vllm, "torch_mismatch", text, rd_fact_source(rd_fact_get(vllm, "version")));
}

/* ------------------------------------------------------------ flash-attention */

/*
 * The row of the newest release that is not above this one; NULL before the first. A build from its repository carries the
 * number of the last release and may be as new as the table's newest row.
 */
static const cJSON *flash_row(const struct rd_probe_ctx *ctx, const char *version, bool from_source)
{
	const cJSON *row, *best = NULL;
	rd_auto_free char *public = rd_wheel_public(version);
	/* 2.8.3.post1 is 2.8.3 with another wheel. */
	char *post = strstr(public, ".post");

	if (post)
		*post = '\0';
	cJSON_ArrayForEach (row, table(ctx, "flash_attention_ck"))
		if (from_source || rd_version_compare(public, field(row, "from"), RD_VERSION_PEP440) >= 0)
			best = row;
	return best;
}

static bool row_has(const cJSON *row, const char *gfx)
{
	const cJSON *value;

	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, "gfx"))
		if (cJSON_IsString(value) && rd_streq(value->valuestring, gfx))
			return true;
	return false;
}

/* Only where no GPU of the host can use it: beside one that can, the others are rarely meant. */
static void look_at_flash_attn(struct rd_probe_ctx *ctx, struct rd_fact *flash, const struct rd_fact *env)
{
	static const char *const own[] = { "version", "compiled", "triton_enabled", "from_source", NULL };
	const cJSON *row = flash_row(ctx, rd_fact_get_str(flash, "version"), rd_fact_get_bool(flash, "from_source"));
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	bool usable = false, unsure = false;

	(void)env;
	if (unknown_with(flash, "unsupported_gpus", flash, own))
		return;
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gfx = rd_fact_get(rd_fact_at(gpus, i), "gfx");

		unsure = unsure || rd_fact_state(gfx) != RD_FACT_KNOWN;
		usable = usable || row_has(row, rd_fact_str(gfx));
	}
	rd_fact_set_list(flash, "unsupported_gpus", table_source);
	if (!row || usable || unsure || !rd_fact_get_bool(flash, "compiled") || rd_fact_get_bool(flash, "triton_enabled"))
		return;
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_fact_append_str(flash, "unsupported_gpus", rd_fact_get_str(rd_fact_at(gpus, i), "pci.address"),
		                   table_source);
}

/* ------------------------------------------------------------ bitsandbytes */

/* "714" is HIP 7.14, "64" is 6.4: one digit of major, as long as HIP stays below 10. */
static bool has_library(const struct rd_fact *list, long major, long minor, bool exact)
{
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *digits = rd_fact_str(rd_fact_at(list, i));

		if (*digits - '0' == major && (!exact || strtol(digits + 1, NULL, 10) == minor))
			return true;
	}
	return false;
}

/*
 * Releases before the table's want exactly the file of HIP's major * 10 + minor; later ones take any of the same major.
 * Source: bitsandbytes/cextension.py.
 */
static void look_at_bitsandbytes(struct rd_probe_ctx *ctx, struct rd_fact *bnb, const struct rd_fact *env)
{
	static const char *const torch[] = { "torch.hip", "torch.build", NULL }, *const own[] = { "rocm_libraries", NULL };
	const char *hip = rd_fact_get_str(env, "torch.hip"), *fixed = field(table(ctx, "bitsandbytes"), "fixed");
	const struct rd_fact *libraries = rd_fact_get(bnb, "rocm_libraries");
	rd_auto_free char *public = rd_wheel_public(rd_fact_get_str(bnb, "version")), *wanted = NULL;
	long major, minor;
	char *end;
	bool old;

	if (unknown_with(bnb, "library_missing", env, torch) || unknown_with(bnb, "library_missing", bnb, own)) {
		unknown_with(bnb, "misreads_rocm", env, torch);
		return;
	}
	major = strtol(hip, &end, 10);
	if (!*hip || *end != '.' || !*fixed)
		return;
	minor = strtol(end + 1, NULL, 10);
	old = rd_version_compare(public, fixed, RD_VERSION_PEP440) < 0;
	wanted = old ? rd_xasprintf("libbitsandbytes_rocm%ld.so", major * 10 + minor)
	             : rd_xasprintf("libbitsandbytes_rocm%ld%ld.so", major, minor);
	rd_fact_set_str(bnb, "wanted_library", wanted, "torch/version.py");
	rd_fact_set_bool(bnb, "misreads_rocm", old && minor >= 10, table_source);
	rd_fact_set_bool(bnb, "library_missing", !has_library(libraries, major, minor, old), rd_fact_source(libraries));
}

/* ------------------------------------------------------------ Ray */

static bool keeps_masks_off(const struct rd_fact *variables)
{
	static const char prefix[] = "RAY_EXPERIMENTAL_NOSET_";

	for (size_t i = 0; i < rd_fact_count(variables); i++)
		if (rd_str_has_prefix(rd_fact_name(rd_fact_at(variables, i)), prefix))
			return true;
	return false;
}

static void look_at_ray(struct rd_probe_ctx *ctx, struct rd_fact *ray, const struct rd_fact *env)
{
	static const char *const lists[] = { "services", "servers" };
	static const char *const own[] = { "masks_off", NULL };
	const struct rd_fact *vllm = rd_fact_get(ctx->facts, "engines.vllm");
	bool off = rd_fact_get_bool(ray, "masks_off"), with_vllm = false;

	if (unknown_with(ray, "masks_gpus", ray, own))
		return;
	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++) {
		const struct rd_fact *list = rd_fact_get(ctx->facts, lists[i]);

		for (size_t j = 0; j < rd_fact_count(list); j++)
			off = off || keeps_masks_off(rd_fact_get(rd_fact_at(list, j), "environment"));
	}
	for (size_t i = 0; i < rd_fact_count(vllm); i++)
		with_vllm = with_vllm ||
		            (rd_streq(rd_fact_get_str(rd_fact_at(vllm, i), "prefix"), rd_fact_get_str(env, "prefix")) &&
		             rd_streq(rd_fact_get_str(rd_fact_at(vllm, i), "build"), "rocm"));
	rd_fact_set_bool(ray, "masks_gpus", with_vllm && !off, "RAY_EXPERIMENTAL_NOSET_*");
}

/* ------------------------------------------------------------ every engine */

static const struct {
	const char *list;
	void (*look)(struct rd_probe_ctx *ctx, struct rd_fact *engine, const struct rd_fact *env);
} engines[] = {
	{ "engines.vllm", look_at_vllm },
	{ "engines.sglang", NULL },
	{ "engines.flash_attn", look_at_flash_attn },
	{ "engines.bitsandbytes", look_at_bitsandbytes },
	{ "engines.triton", NULL },
	{ "engines.transformers", NULL },
	{ "engines.ray", look_at_ray },
	{ "engines.xformers", NULL },
	{ "engines.torchcodec", NULL },
	{ "engines.llama_cpp", NULL },
};

static void look_at_engines(struct rd_probe_ctx *ctx)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(engines); i++) {
		struct rd_fact *list = rd_fact_get_mutable(ctx->facts, engines[i].list);

		for (size_t j = 0; j < rd_fact_count(list); j++) {
			struct rd_fact *engine = rd_fact_at_mutable(list, j);
			const struct rd_fact *env = environment_of(ctx, engine);

			if (!env) {
				rd_fact_set_bool(engine, "judged", true, rd_fact_get_str(engine, "prefix"));
				continue;
			}
			set_environment_facts(engine, env);
			if (engines[i].look)
				engines[i].look(ctx, engine, env);
		}
	}
}

/* ------------------------------------------------------------ services */

static bool is_compared(const char *name)
{
	static const char *const names[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
		                             "GPU_DEVICE_ORDINAL" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		if (rd_streq(name, names[i]))
			return true;
	return rd_str_has_prefix(name, "HSA_OVERRIDE_GFX_VERSION");
}

/* "10.3.0" -> "gfx1030": minor and stepping are hexadecimal digits of the name. Caller frees; NULL for another form. */
static char *override_gfx(const char *value)
{
	unsigned major, minor, stepping;
	int end = 0;

	if (sscanf(value, "%2u.%3u.%3u%n", &major, &minor, &stepping, &end) != 3 || value[end] || minor > 15 || stepping > 15)
		return NULL;
	return rd_xasprintf("gfx%u%x%x", major, minor, stepping);
}

/* An override is needed where it names another gfx than a GPU of the host has. */
static bool override_matters(const struct rd_probe_ctx *ctx, const char *value)
{
	const struct rd_fact *gpus = rd_fact_get(ctx->facts, "gpus");
	rd_auto_free char *gfx = override_gfx(value);

	for (size_t i = 0; gfx && i < rd_fact_count(gpus); i++) {
		const char *own = rd_fact_get_str(rd_fact_at(gpus, i), "gfx");

		if (*own && !rd_streq(own, gfx) && !rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "kind"), "apu"))
			return true;
	}
	return gfx && rd_fact_count(gpus) == 1 && !rd_streq(rd_fact_get_str(rd_fact_at(gpus, 0), "gfx"), gfx) &&
	       *rd_fact_get_str(rd_fact_at(gpus, 0), "gfx");
}

/* A server started by hand beside the unit, without a variable that the unit sets. */
static void compare_servers(struct rd_probe_ctx *ctx, struct rd_fact *service)
{
	const struct rd_fact *servers = rd_fact_get(ctx->facts, "servers"), *unit = rd_fact_get(service, "environment");
	const char *engine = rd_fact_get_str(service, "engine");

	for (size_t i = 0; i < rd_fact_count(unit); i++) {
		const struct rd_fact *variable = rd_fact_at(unit, i);

		for (size_t j = 0; is_compared(rd_fact_name(variable)) && j < rd_fact_count(servers); j++) {
			const struct rd_fact *server = rd_fact_at(servers, j), *own = rd_fact_get(server, "environment");
			const struct rd_fact *where = rd_fact_get(server, "unit"), *other;
			rd_auto_free char *text = NULL;

			if (!rd_streq(rd_fact_get_str(server, "engine"), engine) || rd_fact_state(where) == RD_FACT_UNKNOWN ||
			    *rd_fact_str(where))
				continue;
			if (rd_fact_state(own) == RD_FACT_UNKNOWN) {
				if (!rd_fact_get(service, "differs"))
					copy_unknown(service, "differs", own);
				continue;
			}
			other = rd_fact_child(own, rd_fact_name(variable));
			if (other && rd_streq(rd_fact_str(other), rd_fact_str(variable)))
				continue;
			text = rd_xasprintf("process %s (%s), started outside the unit, runs without %s=%s",
			                    rd_fact_get_str(server, "pid"), rd_fact_get_str(server, "name"),
			                    rd_fact_name(variable), rd_fact_str(variable));
			rd_fact_set_str(service, "differs", text, rd_fact_source(own));
		}
	}
}

/* The session has an override that its GPU needs, the unit has none. */
static void compare_session(struct rd_probe_ctx *ctx, struct rd_fact *service)
{
	static const char name[] = "HSA_OVERRIDE_GFX_VERSION";
	const struct rd_fact *session = rd_fact_child(rd_fact_get(ctx->facts, "runtime.environment"), name);
	rd_auto_free char *text = NULL;

	if (!session || rd_fact_child(rd_fact_get(service, "environment"), name) ||
	    !override_matters(ctx, rd_fact_str(session)))
		return;
	rd_fact_set_str(service, "lacks_variable", name, rd_fact_source(session));
	rd_fact_set_str(service, "lacks_value", rd_fact_str(session), rd_fact_source(session));
	text = rd_xasprintf("the session has %s=%s, the unit has not", name, rd_fact_str(session));
	rd_fact_set_str(service, "differs", text, rd_fact_source(session));
}

static void set_early(struct rd_probe_ctx *ctx, struct rd_fact *service)
{
	const struct rd_fact *servers = rd_fact_get(ctx->facts, "servers");
	const char *name = rd_fact_get_str(service, "name");

	for (size_t i = 0; i < rd_fact_count(servers); i++) {
		const struct rd_fact *server = rd_fact_at(servers, i), *before = rd_fact_get(server, "before_driver");

		if (!rd_streq(rd_fact_get_str(server, "unit"), name))
			continue;
		if (rd_fact_state(before) == RD_FACT_UNKNOWN)
			copy_unknown(service, "started_before_driver", before);
		else if (rd_fact_bool(before) || !rd_fact_get(service, "started_before_driver"))
			rd_fact_set_bool(service, "started_before_driver", rd_fact_bool(before), rd_fact_source(before));
	}
}

/* The folder that findings about the engine name: its own where a probe knows it, else that of the program. */
static void set_folder(struct rd_probe_ctx *ctx, struct rd_fact *service)
{
	const char *program = rd_fact_get_str(service, "program"), *slash = strrchr(program, '/');
	rd_auto_free char *list = rd_xasprintf("engines.%s", rd_fact_get_str(service, "engine"));
	const struct rd_fact *known = rd_fact_get(ctx->facts, list);
	rd_auto_free char *folder =
		slash && slash != program ? rd_xstrndup(program, (size_t)(slash - program)) : rd_xstrdup("/");

	for (size_t i = 0; i < rd_fact_count(known); i++) {
		rd_auto_free char *bin = rd_xasprintf("%s/bin", rd_fact_get_str(rd_fact_at(known, i), "prefix"));
		const char *own = rd_fact_get_str(rd_fact_at(known, i), "folder");

		if (rd_streq(bin, folder)) {
			rd_fact_set_str(service, "folder", *own ? own : rd_fact_get_str(rd_fact_at(known, i), "prefix"),
			                program);
			return;
		}
	}
	rd_fact_set_str(service, "folder", folder, program);
}

static void look_at_services(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "services");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *service = rd_fact_at_mutable(list, i);

		set_folder(ctx, service);
		if (!*rd_fact_get_str(service, "engine"))
			continue;
		compare_servers(ctx, service);
		if (!rd_fact_is_known(service, "differs"))
			compare_session(ctx, service);
		set_early(ctx, service);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	look_at_engines(ctx);
	look_at_services(ctx);
	return 0;
}

#define OF_ENVIRONMENT(name) \
	{ "engines." name "[].judged", RD_BOOL, "rules judge its environment", "python[].judged" }, \
	{ \
		"engines." name "[].torch_build", RD_STR, "build of the PyTorch beside it", "python[].torch.build" \
	}

static const struct rd_fact_decl facts[] = {
	OF_ENVIRONMENT("vllm"),
	OF_ENVIRONMENT("sglang"),
	OF_ENVIRONMENT("flash_attn"),
	OF_ENVIRONMENT("bitsandbytes"),
	OF_ENVIRONMENT("triton"),
	OF_ENVIRONMENT("transformers"),
	OF_ENVIRONMENT("ray"),
	OF_ENVIRONMENT("xformers"),
	OF_ENVIRONMENT("torchcodec"),
	OF_ENVIRONMENT("llama_cpp"),
	{ "engines.vllm[].torch_mismatch", RD_STR, "how it and its PyTorch do not go together; empty: they do",
	  "vllm-*.dist-info/METADATA, torch/version.py" },
	{ "engines.flash_attn[].unsupported_gpus[]", RD_STRS, "GPUs without a back end, where no GPU of the host has one",
	  table_source },
	{ "engines.bitsandbytes[].wanted_library", RD_STR, "library that it looks for first", "torch/version.py" },
	{ "engines.bitsandbytes[].library_missing", RD_BOOL, "it has no library that it would load for this PyTorch",
	  "bitsandbytes/libbitsandbytes_rocm*.so, torch/version.py" },
	{ "engines.bitsandbytes[].misreads_rocm", RD_BOOL, "it takes HIP's minor of two digits for another major",
	  table_source },
	{ "engines.ray[].masks_gpus", RD_BOOL, "it would set visible devices for vLLM's workers", "RAY_EXPERIMENTAL_NOSET_*" },
	{ "services[].folder", RD_STR, "folder of the engine that it runs", "ExecStart=" },
	{ "services[].lacks_variable", RD_STR, "variable that the session needs and the unit does not set; empty: none",
	  "runtime.environment" },
	{ "services[].lacks_value", RD_STR, "its value in the session", "runtime.environment" },
	{ "services[].differs", RD_STR, "variable that a server lacks and unit or session have; empty: none",
	  "Environment=, /proc/PID/environ, the session" },
	{ "services[].started_before_driver", RD_BOOL, "its process started before KFD had a GPU", "servers[].before_driver" },
	{ NULL },
};

const struct rd_probe rd_probe_engine_verdicts = {
	.name = "engine/verdicts",
	.layer = RD_LAYER_ENGINE,
	.flags = RD_PROBE_PURE,
	.summary = "what follows from engines, PyTorch, GPUs and services together",
	.facts = facts,
	.run = run,
};
