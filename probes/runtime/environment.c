/* Which variables steer ROCm and what stands on it, with which values, and where are they set? */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Most that is read of one file of variables. */
#define FILES_MAX 512

static const char process[] = "environment of the process";

static bool is_secret(const char *name)
{
	static const char *const words[] = { "TOKEN", "KEY", "SECRET", "PASS", "AUTH" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static bool is_of_interest(const char *name)
{
	static const char *const patterns[] = {
		"LD_LIBRARY_PATH",
		"LD_PRELOAD",
		"ROCR_VISIBLE_DEVICES",
		"CUDA_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL",
		"HSA_*",
		"HSAKMT_*",
		"HIP_*",
		"HIPRTC_*",
		"HIPBLASLT_*",
		"ROCM_*",
		"ROCBLAS_*",
		"ROC_*",
		"AMD_*",
		"GPU_*",
		"PYTORCH_*",
		"TORCH_*",
		"NCCL_*",
		"RCCL_*",
		"MIOPEN_*",
		"TRITON_*",
		"VLLM_*",
		"OLLAMA_*",
		"RAY_EXPERIMENTAL_*",
		"SGLANG_*",
		"FLASH_ATTENTION_*",
		"BNB_*",
		"DEVICE_LIB_PATH",
		"LLAMA_*",
		"GGML_*",
		"VIRTUAL_ENV",
		"CONDA_PREFIX",
		"PYTHONPATH",
		"PYTHONNOUSERSITE",
		"CMAKE_PREFIX_PATH",
		"XLA_*",
		"TF_ROCM_*",
		"JAX_*",
		"OCL_ICD_*",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++)
		if (rd_str_glob(patterns[i], name))
			return !is_secret(name);
	return false;
}

static void add_variable(struct rd_probe_ctx *ctx, const char *name, const char *value, const char *scope, const char *file,
                         unsigned line)
{
	rd_auto_free char *source = line ? rd_xasprintf("%s:%u", file, line) : rd_xstrdup(file);
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.variables", source);

	rd_fact_set_str(item, "name", name, source);
	rd_fact_set_str(item, "value", value, source);
	rd_fact_set_str(item, "scope", scope, source);
	rd_fact_set_str(item, "file", line ? file : "", source);
	rd_fact_set_int(item, "line", line, source);
}

static int look_at_process(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv variables = RD_STRV_INIT;
	int r;

	r = rd_sysroot_environ(ctx->sysroot, &variables);
	if (r < 0)
		return r;
	rd_fact_set_map(ctx->facts, "runtime.environment", process);
	for (size_t i = 0; i < variables.n; i++) {
		char *name = variables.v[i], *equals = strchr(name, '=');

		if (!equals)
			continue;
		*equals = '\0';
		if (!is_of_interest(name))
			continue;
		/* A list of folders is a list. */
		if (!rd_streq(name, "LD_LIBRARY_PATH"))
			rd_fact_set_entry(ctx->facts, "runtime.environment", name, equals + 1, process);
		add_variable(ctx, name, equals + 1, "process", process, 0);
	}
	return 0;
}

/* Takes quotes and a comment behind the value away. */
static char *unquote(char *value)
{
	char *end;

	value = rd_str_strip(value);
	if (*value == '"' || *value == '\'') {
		end = strchr(value + 1, *value);
		if (end)
			*end = '\0';
		return value + 1;
	}
	for (end = value; *end; end++)
		if (*end == '#' && end > value && isspace((unsigned char)end[-1])) {
			*end = '\0';
			break;
		}
	return rd_str_strip(value);
}

static bool is_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static void take_assignment(struct rd_probe_ctx *ctx, char *text, const char *scope, const char *file, unsigned line)
{
	char *equals = strchr(text, '=');

	if (!equals)
		return;
	*equals = '\0';
	if (is_name(text) && is_of_interest(text))
		add_variable(ctx, text, unquote(equals + 1), scope, file, line);
}

/* "NAME=value" or "export NAME=value"; what a shell would compute stays as it is written. */
static void take_shell_line(struct rd_probe_ctx *ctx, char *line, const char *file, unsigned number)
{
	line = rd_str_strip(line);
	if (rd_str_has_prefix(line, "export ") || rd_str_has_prefix(line, "export\t"))
		line = rd_str_strip(line + 7);
	if (*line != '#')
		take_assignment(ctx, line, "login", file, number);
}

/* One word of Environment=, with its quotes taken away; *rest moves behind it. NULL after the last. */
static char *next_word(char **rest)
{
	char *in = *rest + strspn(*rest, " \t"), *out = in, *word = in, quote = '\0';

	if (!*in)
		return NULL;
	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (!quote && (*in == '"' || *in == '\''))
			quote = *in;
		else if (quote && *in == quote)
			quote = '\0';
		else
			*out++ = *in;
	}
	*rest = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

static void take_unit_line(struct rd_probe_ctx *ctx, char *line, const char *file, unsigned number)
{
	char *rest, *word;

	line = rd_str_strip(line);
	if (rd_str_has_prefix(line, "Environment="))
		rest = line + strlen("Environment=");
	else if (rd_str_has_prefix(line, "DefaultEnvironment="))
		rest = line + strlen("DefaultEnvironment=");
	else
		return;
	while ((word = next_word(&rest))) {
		char *equals = strchr(word, '=');

		if (!equals)
			continue;
		*equals = '\0';
		if (is_name(word) && is_of_interest(word))
			add_variable(ctx, word, equals + 1, "service", file, number);
	}
}

typedef void take_line(struct rd_probe_ctx *ctx, char *line, const char *file, unsigned number);

static void look_at_files(struct rd_probe_ctx *ctx, const char *pattern, take_line *take)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	if (rd_sysroot_glob(ctx->sysroot, &files, pattern) < 0)
		return;
	for (size_t i = 0; i < files.n && i < FILES_MAX; i++) {
		rd_auto_lines struct rd_lines lines = { 0 };
		char *line;

		if (rd_lines_open(&lines, ctx->sysroot, files.v[i]) < 0)
			continue;
		while ((line = rd_lines_next(&lines)))
			take(ctx, line, files.v[i], lines.number);
	}
}

/*
 * A folder of ROCm that was removed. Not so: folders of others (images for several vendors name them all), and a lib64 that
 * a root which is there never had.
 */
static void set_stale(struct rd_probe_ctx *ctx, struct rd_fact *item, const char *path, bool is_library_path)
{
	const char *rocm = strstr(path, "rocm");
	rd_auto_free char *root = NULL;

	if (rd_fact_is_unknown(item, "exists")) {
		rd_fact_set_unknown_why(item, "stale", rd_fact_reason(rd_fact_get(item, "exists")), path);
		return;
	}
	if (rd_fact_get_bool(item, "exists") || (is_library_path && !rocm))
		return;
	if (rocm)
		root = rd_xstrndup(path, (size_t)(rocm - path) + strcspn(rocm, "/"));
	rd_fact_set_bool(item, "stale", !is_library_path || rd_sysroot_exists(ctx->sysroot, root) != 1, path);
}

/* A list of folders; LD_LIBRARY_PATH takes ";" as well, and an empty item is the folder that the program starts in. */
static void add_path(struct rd_probe_ctx *ctx, const char *variable, const char *path)
{
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.paths", process);
	struct rd_stat st;
	int r;

	rd_fact_set_str(item, "variable", variable, process);
	rd_fact_set_str(item, "path", path, process);
	r = rd_sysroot_stat(ctx->sysroot, &st, path);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
		rd_fact_set_unknown(item, "exists", r, path);
	else
		rd_fact_set_bool(item, "exists", r >= 0 && st.type == RD_STAT_DIR, path);
	set_stale(ctx, item, path, rd_streq(variable, "LD_LIBRARY_PATH"));
}

static void look_at_paths(struct rd_probe_ctx *ctx)
{
	static const char *const variables[] = { "ROCM_PATH", "ROCM_HOME", "HIP_PATH" };
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	const char *value;

	rd_fact_set_list(ctx->facts, "runtime.paths", process);
	if (rd_sysroot_getenv(ctx->sysroot, &value, "LD_LIBRARY_PATH") == 1)
		rd_strv_split(&dirs, value, ":;", false);
	for (size_t i = 0; i < dirs.n; i++) {
		rd_fact_append_str(ctx->facts, "runtime.environment.LD_LIBRARY_PATH", dirs.v[i], process);
		if (dirs.v[i][0] == '/')
			add_path(ctx, "LD_LIBRARY_PATH", dirs.v[i]);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(variables); i++)
		if (rd_sysroot_getenv(ctx->sysroot, &value, variables[i]) == 1 && *value == '/')
			add_path(ctx, variables[i], value);
}

/*
 * What an override was meant to be: "gfx1030", "1030", " 10.3.0", "'10.3.0'", "10.3" and "v10.3.0" are all 10.3.0. Of a name
 * the last two digits are minor and stepping, in hexadecimal. Caller frees; NULL where nothing can be read from it.
 */
static char *override_meant(const char *value)
{
	static const char around[] = " \t\r\n\"'";
	rd_auto_free char *text = rd_xstrdup(value + strspn(value, around));
	unsigned v[3] = { 0 };
	char *at = text;
	int end = 0;

	for (size_t n = strlen(text); n && strchr(around, text[n - 1]); n--)
		text[n - 1] = '\0';
	at += rd_str_has_prefix(at, "gfx") ? 3 : *at == 'v' || *at == 'V';
	if (strchr(at, '.')) {
		if (sscanf(at, "%2u.%2u%n.%2u%n", &v[0], &v[1], &end, &v[2], &end) < 2 || at[end])
			return NULL;
	} else {
		size_t n = strspn(at, "0123456789abcdef");

		if (n < 3 || n > 4 || at[n] ||
		    sscanf(at, n == 4 ? "%2u%1x%1x%n" : "%1u%1x%1x%n", &v[0], &v[1], &v[2], &end) != 3 || at[end])
			return NULL;
	}
	return v[0] >= 8 && v[0] < 16 && v[1] < 16 && v[2] < 16 ? rd_xasprintf("%u.%u.%u", v[0], v[1], v[2]) : NULL;
}

/* The thunk reads three numbers with "%u.%u.%u" and refuses anything behind them; nothing is printed then. */
static void look_at_override(struct rd_probe_ctx *ctx)
{
	static const char name[] = "HSA_OVERRIDE_GFX_VERSION";
	unsigned major, minor, stepping;
	rd_auto_free char *meant = NULL;
	const char *value;
	char gfx[32], rest;

	if (rd_sysroot_getenv(ctx->sysroot, &value, name) != 1)
		return;
	rd_fact_set_bool(ctx->facts, "runtime.override.set", true, name);
	rd_fact_set_str(ctx->facts, "runtime.override.value", value, name);
	meant = override_meant(value);
	if (meant)
		rd_fact_set_str(ctx->facts, "runtime.override.meant", meant, name);
	if (sscanf(value, "%u.%u.%u%c", &major, &minor, &stepping, &rest) != 3 || major > 63 || minor > 255 || stepping > 255)
		return;
	rd_fact_set_bool(ctx->facts, "runtime.override.valid", true, name);
	snprintf(gfx, sizeof(gfx), "gfx%u%x%x", major, minor, stepping);
	rd_fact_set_str(ctx->facts, "runtime.override.gfx", gfx, name);
}

static int run(struct rd_probe_ctx *ctx)
{
	static const struct {
		const char *pattern;
		take_line *take;
	} files[] = {
		{ "/etc/environment", take_shell_line },
		{ "/etc/environment.d/*.conf", take_shell_line },
		{ "/etc/profile", take_shell_line },
		{ "/etc/profile.d/*.sh", take_shell_line },
		{ "/etc/systemd/system.conf", take_unit_line },
		{ "/etc/systemd/system.conf.d/*.conf", take_unit_line },
		{ "/etc/systemd/system/*.service", take_unit_line },
		{ "/etc/systemd/system/*.service.d/*.conf", take_unit_line },
	};
	int r;

	rd_fact_set_list(ctx->facts, "runtime.variables", process);
	r = look_at_process(ctx);
	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++)
		look_at_files(ctx, files[i].pattern, files[i].take);
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "runtime.variables"), "name");
	if (r < 0) {
		if (!rd_fact_count(rd_fact_get(ctx->facts, "runtime.variables")))
			rd_fact_set_unknown(ctx->facts, "runtime.variables", r, process);
		return r;
	}
	look_at_paths(ctx);
	look_at_override(ctx);
	return 0;
}

#define ENVIRONMENT "the examined process"

const struct rd_probe rd_probe_runtime_environment = {
	.name = "runtime/environment",
	.layer = RD_LAYER_RUNTIME,
	.summary = "variables that steer ROCm",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.environment{}", RD_MAP,
	                  "variables that steer ROCm and what stands on it, as the process has them; none "
	                  "whose name speaks of a secret",
	                  ENVIRONMENT },
			{ "runtime.environment.LD_LIBRARY_PATH[]", RD_STRS, "its folders, in order", ENVIRONMENT },
			{ "runtime.variables[]", RD_LIST,
	                  "the same with where they are set, and those of logins and services, by name",
	                  ENVIRONMENT ", /etc/environment, /etc/profile.d, /etc/systemd/system" },
			{ "runtime.variables[].name", RD_STR, "name", ENVIRONMENT },
			{ "runtime.variables[].value", RD_STR, "value as written there", ENVIRONMENT },
			{ "runtime.variables[].scope", RD_STR, "\"process\", \"login\" or \"service\"", ENVIRONMENT },
			{ "runtime.variables[].file", RD_STR, "file that sets it; \"\" for the process", "/etc" },
			{ "runtime.variables[].line", RD_INT, "line in that file", "/etc" },
			{ "runtime.paths[]", RD_LIST,
	                  "folders that LD_LIBRARY_PATH, ROCM_PATH, ROCM_HOME and HIP_PATH name, in order", ENVIRONMENT },
			{ "runtime.paths[].variable", RD_STR, "variable that names it", ENVIRONMENT },
			{ "runtime.paths[].path", RD_STR, "folder", ENVIRONMENT },
			{ "runtime.paths[].stale", RD_BOOL, "it is a folder of a ROCm that is not there any more",
	                  "the folder" },
			{ "runtime.paths[].exists", RD_BOOL, "it is there", "the folder" },
			{ "runtime.override.set", RD_BOOL, "HSA_OVERRIDE_GFX_VERSION is set", ENVIRONMENT },
			{ "runtime.override.value", RD_STR, "its value", ENVIRONMENT },
			{ "runtime.override.meant", RD_STR, "the same as three numbers; empty where none can be read from it",
	                  ENVIRONMENT },
			{ "runtime.override.valid", RD_BOOL, "the value is three numbers, as the runtime wants it",
	                  ENVIRONMENT },
			{ "runtime.override.gfx", RD_STR, "the gfx that it names", ENVIRONMENT },
			{ 0 },
		},
	.run = run,
};
