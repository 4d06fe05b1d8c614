/*
 * What pip would have to install for this host's GPUs, each environment's Python and the driver, to the last digit: PyTorch and
 * its companions as one set, AMD's ROCm wheels, vLLM. Where one part of a set has no known version, the set has none.
 */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common-wheels.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/wheel.h"
#include "util/xalloc.h"

struct choice {
	const struct rd_probe_ctx *ctx;
	const struct rd_fact *env;
	struct rd_strv gfx;
	const char *module; /* version of a DKMS driver; "" in-tree or unknown */
	const char *wanted; /* release that is installed; "" none */
	const cJSON *row;   /* of PyTorch's index or, with a device package for each GPU, of AMD's; NULL: none fits */
	bool is_amd;
};

/* ------------------------------------------------------------ a wheel that fits */

static bool fits(const struct choice *c, const cJSON *row)
{
	if (!wheels_field_has(row, "python", rd_fact_get_str(c->env, "series")))
		return false;
	for (size_t i = 0; i < c->gfx.n; i++)
		if (!wheels_field_has(row, "gfx", c->gfx.v[i]))
			return false;
	return c->gfx.n && (!*c->module || wheels_driver_is_enough(c->ctx, rd_json_str(row, "rocm"), c->module));
}

/* The installed release if it exists for ROCm, else the newest; of one release, the newest ROCm. */
static void choose_upstream(struct choice *c)
{
	const cJSON *row;
	bool same = false;

	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "torch")) {
		bool is_same = *c->wanted && rd_version_has_prefix(c->wanted, rd_json_str(row, "torch"));

		/* PyTorch's wheels without ROCm inside want ROCm wheels beside them, and the exact build of these is not on record. */
		if (!fits(c, row) || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "bundled")) ||
		    (!is_same && (same || rd_streq(rd_json_str(row, "confidence"), "low"))))
			continue;
		c->row = row;
		same = is_same;
	}
}

/* AMD's, the newest first; the installed release of PyTorch where it is among them. */
static void choose_amd(struct choice *c)
{
	const cJSON *row, *newest = NULL;

	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "amd")) {
		if (!fits(c, row))
			continue;
		newest = newest ? newest : row;
		if (!c->row && rd_streq(c->wanted, rd_json_str(row, "torch")))
			c->row = row;
	}
	c->row = c->row ? c->row : newest;
	c->is_amd = c->row != NULL;
}

/*
 * PyTorch of AMD's index without the device package for a GPU: it is to be added to what is there. Its wheels have the release of
 * ROCm in full in their version.
 */
static void choose_installed(struct choice *c)
{
	const char *local = rd_wheel_local(rd_fact_get_str(c->env, "torch.version"));
	const cJSON *row;

	if (!rd_fact_get_bool(c->env, "torch.rocm_sdk") || !rd_str_has_prefix(local, "rocm"))
		return;
	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "amd"))
		if (rd_streq(rd_json_str(row, "rocm"), local + 4) && rd_streq(rd_json_str(row, "torch"), c->wanted) &&
		    fits(c, row))
			c->row = row;
	c->is_amd = c->row != NULL;
}

static void choose(struct choice *c)
{
	choose_installed(c);
	if (!c->row)
		choose_upstream(c);
	if (!c->row)
		choose_amd(c);
}

/* ------------------------------------------------------------ PyTorch and its companions */

/* The very version of the chosen wheel; "" where the table does not know one. */
static const char *exact_torch(const struct choice *c)
{
	const cJSON *versions = cJSON_GetObjectItemCaseSensitive(c->row, "versions");

	if (c->is_amd)
		return rd_json_str(c->row, "torch");
	if (*c->wanted && rd_version_has_prefix(c->wanted, rd_json_str(c->row, "torch")))
		return c->wanted;
	return cJSON_GetArraySize(versions) ? cJSON_GetArrayItem(versions, cJSON_GetArraySize(versions) - 1)->valuestring : "";
}

/*
 * The version of a companion that goes with this torch: torchvision 0.(MINOR + 15).PATCH and torchaudio of the same number from
 * 2.1 to 2.9, else by the table. Caller frees; "" for none.
 */
static char *companion(const struct choice *c, const char *name, const char *torch)
{
	unsigned minor, patch;
	const cJSON *row;
	char end;

	if (c->is_amd)
		return rd_xstrdup(rd_json_str(c->row, name));
	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "companions"))
		if (rd_streq(rd_json_str(row, "torch"), torch))
			return rd_xstrdup(rd_json_str(row, name));
	if (sscanf(torch, "2.%2u.%2u%c", &minor, &patch, &end) != 2 || minor < 1 || minor > 9)
		return rd_xstrdup("");
	return rd_streq(name, "torchvision") ? rd_xasprintf("0.%u.%u", minor + 15, patch) : rd_xstrdup(torch);
}

/* " torch[device-gfx942]==2.14.0+rocm10.1.0"; torchaudio has no code for GPUs. */
static void add_requirement(const struct choice *c, struct rd_strbuf *words, const char *name, const char *version)
{
	bool devices = c->is_amd && !rd_streq(name, "torchaudio");

	rd_strbuf_addf(words, "%s%s", words->len ? " " : "", name);
	for (size_t i = 0; i < c->gfx.n && devices; i++)
		rd_strbuf_addf(words, "%sdevice-%s%s", i ? "," : "[", c->gfx.v[i], i + 1 < c->gfx.n ? "" : "]");
	rd_strbuf_addf(words, "==%s+rocm%s", version, rd_json_str(c->row, "rocm"));
}

static void add_torch(const struct choice *c, struct rd_strbuf *words)
{
	const struct rd_fact *companions = rd_fact_get(c->env, "companions");
	const char *torch = c->row ? exact_torch(c) : "";

	if (*torch)
		add_requirement(c, words, "torch", torch);
	for (size_t i = 0; i < rd_fact_count(companions) && words->len; i++) {
		const char *name = rd_fact_get_str(rd_fact_at(companions, i), "name");
		rd_auto_free char *version = companion(c, name, torch);

		if (*version)
			add_requirement(c, words, name, version);
		else
			rd_strbuf_truncate(words, 0);
	}
}

/* A shell would take brackets for a pattern. */
static void add_quoted(struct rd_strbuf *command, const char *requirements)
{
	rd_auto_strv struct rd_strv list = RD_STRV_INIT;

	rd_strv_split(&list, requirements, " ", false);
	for (size_t i = 0; i < list.n; i++)
		rd_strbuf_addf(command, strchr(list.v[i], '[') ? " '%s'" : " %s", list.v[i]);
}

/* By pip, where it is there, else by uv: it makes environments without. */
static void add_command(const struct choice *c, struct rd_strbuf *command, const char *requirements)
{
	const char *prefix = rd_fact_get_str(c->env, "prefix");

	if (rd_fact_get_bool(c->env, "externally_managed"))
		rd_strbuf_addf(command, "%s/bin/python3 -m venv ~/venv && ~/venv/bin/python3 -m pip install", prefix);
	else if (wheels_package(c->env, "pip") || rd_fact_is_unknown(c->env, "packages"))
		rd_strbuf_addf(command, "%s/bin/python3 -m pip install --force-reinstall", prefix);
	else
		rd_strbuf_addf(command, "uv pip install --python %s/bin/python3 --reinstall", prefix);
	rd_strbuf_addf(command, " --index-url %s", rd_json_str(c->row, "url"));
	add_quoted(command, requirements);
}

static bool is_in(const struct choice *c, const char *list, const char *gfx)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", list))
		if (wheels_field_has(row, "gfx", gfx))
			return true;
	return false;
}

/* Nothing fits: for want of a wheel for this Python or driver, or because nobody has one for the GPU. */
static void add_search(const struct choice *c, struct rd_strbuf *command)
{
	const char *gfx = c->gfx.n ? c->gfx.v[0] : "this GPU";

	if (!c->gfx.n || is_in(c, "torch", gfx) || is_in(c, "amd", gfx))
		rd_strbuf_addf(command,
		               "find a ROCm build for %s and Python %s: https://pytorch.org/get-started/previous-versions/",
		               gfx, rd_fact_get_str(c->env, "series"));
	else
		rd_strbuf_addf(command,
		               "no index of wheels, PyTorch's or AMD's, is known to have %s: build PyTorch with "
		               "PYTORCH_ROCM_ARCH=%s, or use Vulkan (llama.cpp, Ollama)",
		               gfx, gfx);
}

static void set_torch(const struct choice *c, struct rd_fact *env)
{
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT, command = RD_STRBUF_INIT;
	rd_auto_free char *origin = NULL;

	add_torch(c, &words);
	if (words.len) {
		add_command(c, &command, words.buf);
		origin = rd_xasprintf("table wheels, for %s and Python %s (%s)", c->gfx.v[0], rd_fact_get_str(env, "series"),
		                      rd_json_str(c->row, "source"));
	} else {
		add_search(c, &command);
	}
	rd_fact_set_str(env, "install_torch", command.buf, WHEELS_SOURCE);
	rd_fact_set_str(env, "torch_requirements", words.buf, WHEELS_SOURCE);
	rd_fact_set_str(env, "torch_index", words.len ? rd_json_str(c->row, "url") : "", WHEELS_SOURCE);
	rd_fact_set_str(env, "torch_origin", origin ? origin : "", WHEELS_SOURCE);
}

/* ------------------------------------------------------------ what is installed: its index, and ROCm wheels that go with it */

/* AMD's builds name the release in full: "rocm10.1.0". Nightlies have more behind it. */
static bool is_amd_release(const char *local, unsigned *ret_major, unsigned *ret_minor)
{
	unsigned patch;
	char end;

	return sscanf(local, "rocm%2u.%2u.%2u%c", ret_major, ret_minor, &patch, &end) == 3;
}

/* The previews from 7.9 to 7.13 have an index a family of GPUs. Caller frees; "" for GPUs of several. */
static char *family_index(const struct choice *c)
{
	const char *family = "";
	const cJSON *row;

	for (size_t i = 0; i < c->gfx.n; i++) {
		const char *own = "";

		cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "families"))
			if (rd_streq(rd_json_str(row, "gfx"), c->gfx.v[i]))
				own = rd_json_str(row, "family");
		if (i && !rd_streq(family, own))
			return rd_xstrdup("");
		family = own;
	}
	return *family ? rd_xasprintf("https://repo.amd.com/rocm/whl/%s/", family) : rd_xstrdup("");
}

/* The index that a local version names: PyTorch's by two numbers ("rocm7.2"), AMD's by three. Caller frees; "" for none. */
static char *index_of(const struct choice *c, const char *local)
{
	unsigned major = 0, minor = 0;
	const cJSON *row;

	if (!rd_str_has_prefix(local, "rocm"))
		return rd_xstrdup("");
	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "torch"))
		if (rd_streq(local + 4, rd_json_str(row, "rocm")))
			return rd_xstrdup(rd_json_str(row, "url"));
	if (!is_amd_release(local, &major, &minor))
		return rd_xstrdup("");
	if (major == 7 && minor >= 9 && minor <= 13)
		return family_index(c);
	cJSON_ArrayForEach (row, rd_knowledge_rows(c->ctx->knowledge, "wheels", "amd"))
		if ((unsigned)atoi(rd_json_str(row, "rocm")) == major && (major > 7 || minor >= 14))
			return rd_xstrdup(rd_json_str(row, "url"));
	return rd_xstrdup("");
}

/*
 * PyTorch of AMD's indexes wants the ROCm wheels of exactly its release, with a device package for each GPU. Of PyTorch's own
 * wheels without ROCm only the series is known, so there is nothing to pin.
 */
static void set_sdk(const struct choice *c, struct rd_fact *env, const char *index)
{
	const char *local = rd_wheel_local(rd_fact_get_str(env, "torch.version"));
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;
	unsigned major = 0, minor = 0;

	if (*index && c->gfx.n && is_amd_release(local, &major, &minor)) {
		bool devices = major > 7 || minor >= 14;

		rd_strbuf_add(&words, "rocm[libraries");
		for (size_t i = 0; i < c->gfx.n && devices; i++)
			rd_strbuf_addf(&words, ",device-%s", c->gfx.v[i]);
		rd_strbuf_addf(&words, "]==%s", local + 4);
	}
	rd_fact_set_str(env, "rocm_sdk_requirements", words.buf, "torch.version, gpus");
}

static void set_own(const struct choice *c, struct rd_fact *env)
{
	rd_auto_free char *index = index_of(c, rd_wheel_local(rd_fact_get_str(env, "torch.version")));

	rd_fact_set_str(env, "torch_own_index", index, WHEELS_SOURCE);
	set_sdk(c, env, index);
}

/* ------------------------------------------------------------ vLLM */

static const cJSON *vllm_row(const struct rd_probe_ctx *ctx)
{
	const cJSON *table = rd_knowledge_table(ctx->knowledge, "engines");

	return cJSON_GetObjectItemCaseSensitive(table, "vllm");
}

/* "vllm 0.31.0+rocm723: Python 3.12; gfx90a, gfx942". Caller frees. */
static char *limits_of(const cJSON *row)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	const char *separator = "; ";
	const cJSON *one;

	rd_strbuf_addf(&sb, "%s: Python", rd_json_str(row, "version"));
	cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(row, "python")) {
		rd_strbuf_addf(&sb, " %s", cJSON_GetStringValue(one));
	}
	cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(row, "gfx")) {
		rd_strbuf_addf(&sb, "%s%s", separator, cJSON_GetStringValue(one));
		separator = ", ";
	}
	return rd_strbuf_detach(&sb);
}

/* Its ROCm wheels bring their own PyTorch, so they have to suit Python, GPUs and driver, and nothing that is installed. */
static void set_vllm(const struct choice *c)
{
	struct rd_fact *list = rd_fact_get_mutable(c->ctx->facts, "engines.vllm");
	const cJSON *row = vllm_row(c->ctx);
	rd_auto_free char *words = NULL, *limits = NULL;
	bool suits;

	if (!rd_fact_count(list))
		return;
	words = rd_xasprintf("vllm==%s", rd_json_str(row, "version"));
	limits = limits_of(row);
	suits = row && fits(c, row);

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *vllm = rd_fact_at_mutable(list, i);

		if (!rd_streq(rd_fact_get_str(vllm, "prefix"), rd_fact_get_str(c->env, "prefix")))
			continue;
		rd_fact_set_str(vllm, "requirements", suits ? words : "", "table engines");
		rd_fact_set_str(vllm, "index", suits ? rd_json_str(row, "url") : "", "table engines");
		rd_fact_set_str(vllm, "wheel_limits", limits, "table engines");
	}
}

static void look_at(struct rd_probe_ctx *ctx, struct rd_fact *env)
{
	struct choice c = { .ctx = ctx,
		            .env = env,
		            .gfx = RD_STRV_INIT,
		            .module = wheels_driver(ctx),
		            .wanted = rd_fact_get_str(env, "torch.public_version") };

	if (strstr(c.wanted, "dev"))
		c.wanted = "";
	wheels_gfx(ctx, &c.gfx);
	choose(&c);
	set_torch(&c, env);
	set_own(&c, env);
	set_vllm(&c);
	rd_strv_clear(&c.gfx);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *list = rd_fact_get_mutable(ctx->facts, "python");

	for (size_t i = 0; rd_fact_state(list) == RD_FACT_KNOWN && i < rd_fact_count(list); i++)
		look_at(ctx, rd_fact_at_mutable(list, i));
	return 0;
}

const struct rd_probe rd_probe_framework_choice = {
	.name = "framework/choice",
	.layer = RD_LAYER_FRAMEWORK,
	.flags = RD_PROBE_PURE,
	.summary = "wheels that this host's GPUs, Pythons and driver could use",
	.facts =
		(const struct rd_fact_decl[]){
			{ "python[].install_torch", RD_STR, "command that puts a ROCm build for this host's GPU and Python in",
	                  WHEELS_SOURCE },
			{ "python[].torch_requirements", RD_STR,
	                  "what pip is to install for that, at exact versions; empty: not all of them are known",
	                  WHEELS_SOURCE },
			{ "python[].torch_index", RD_STR, "index that has it", WHEELS_SOURCE },
			{ "python[].torch_origin", RD_STR, "where these versions are from", WHEELS_SOURCE },
			{ "python[].torch_own_index", RD_STR, "index that the installed PyTorch came from; empty: not known",
	                  WHEELS_SOURCE },
			{ "python[].rocm_sdk_requirements", RD_STR,
	                  "AMD's ROCm wheels that go with the installed PyTorch and the GPUs; empty: not known",
	                  "torch.version, gpus" },
			{ "engines.vllm[].requirements", RD_STR,
	                  "vLLM's ROCm build, where it suits this Python, GPUs and driver; empty: it does not",
	                  "table engines" },
			{ "engines.vllm[].index", RD_STR, "index that has it, beside PyPI", "table engines" },
			{ "engines.vllm[].wheel_limits", RD_STR, "Pythons and GPUs that vLLM's ROCm wheels are for",
	                  "table engines" },
			{ 0 },
		},
	.run = run,
};
