/*
 * Which services and running processes serve models, and with which environment? From unit files and /proc alone; of all
 * variables only those that GPU programs read are kept.
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
#include "util/xalloc.h"

#define UNITS_MAX 128
#define DROPINS_MAX 64
#define PROCESSES_MAX 8192
#define SERVERS_MAX 64
/* Clock ticks a second in /proc/PID/stat: USER_HZ, 100 wherever ROCm runs. */
#define TICKS 100

/* In systemd's order: a unit in an earlier folder hides one of the same name in a later one. */
static const char *const unit_dirs[] = {
	"/etc/systemd/system",     "/run/systemd/system", "/usr/local/lib/systemd/system",
	"/usr/lib/systemd/system", "/lib/systemd/system",
};

static const struct {
	const char *word, *engine;
} engines[] = {
	{ "ollama", "ollama" },
	{ "vllm", "vllm" },
	{ "sglang", "sglang" },
	{ "llama-server", "llama_cpp" },
	{ "text-generation-launcher", "text_generation_inference" },
	{ "ray", "ray" },
};

/* ------------------------------------------------------------ variables */

static bool is_secret(const char *name)
{
	static const char *const words[] = { "TOKEN", "KEY", "SECRET", "PASS", "AUTH" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static bool is_of_interest(const char *name)
{
	static const char *const prefixes[] = {
		"HSA_",
		"ROCR_",
		"HIP_",
		"CUDA_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL",
		"AMD_",
		"ROCM_",
		"OLLAMA_",
		"VLLM_",
		"RAY_EXPERIMENTAL_NOSET_",
		"PYTORCH_",
		"TORCH_",
		"LD_LIBRARY_PATH",
		"PYTHONPATH",
		"VIRTUAL_ENV",
		"NCCL_",
		"RCCL_",
		"MIOPEN_",
		"FLASH_ATTENTION_",
	};

	if (is_secret(name))
		return false;
	for (size_t i = 0; i < RD_ARRAY_SIZE(prefixes); i++)
		if (rd_str_has_prefix(name, prefixes[i]))
			return true;
	return false;
}

/* One "NAME=value"; changes the text. */
static void set_variable(struct rd_fact *item, char *text, const char *source)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return;
	*equals = '\0';
	if (is_of_interest(text))
		rd_fact_set_entry(item, "environment", text, equals + 1, source);
}

/* ------------------------------------------------------------ unit files */

struct unit {
	char *name, *path;
	struct rd_strv environment; /* NAME=value */
	struct rd_strv sources;     /* beside it: PATH:LINE */
	struct rd_strv files;       /* EnvironmentFile= */
	char *exec, *user;
	bool ordered;
};

/* Words as systemd splits them: white space, '...' and "..." kept together. */
static void split_words(struct rd_strv *ret, const char *text)
{
	while (*text) {
		struct rd_strbuf word = RD_STRBUF_INIT;
		char quote = '\0';

		text += strspn(text, " \t");
		if (!*text)
			return;
		for (; *text && (quote || (*text != ' ' && *text != '\t')); text++) {
			if (quote ? *text == quote : *text == '"' || *text == '\'')
				quote = quote ? '\0' : *text;
			else if (*text == '\\' && text[1])
				rd_strbuf_addc(&word, *++text);
			else
				rd_strbuf_addc(&word, *text);
		}
		rd_strv_push_take(ret, rd_strbuf_detach(&word));
	}
}

/* What starting after any of these means: the driver's device nodes are there, or were waited for. */
static bool waits_for_driver(const char *value)
{
	static const char *const words[] = { "dev-kfd",     "dev-dri",        "systemd-modules-load",
		                             "udev-settle", "udevadm settle", "/dev/kfd",
		                             "/dev/dri",    "amdgpu" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++)
		if (strstr(value, words[i]))
			return true;
	return false;
}

static void unit_environment(struct unit *u, const char *value, const char *path, unsigned line)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	if (!*value) {
		rd_strv_clear(&u->environment);
		rd_strv_clear(&u->sources);
		return;
	}
	split_words(&words, value);
	for (size_t i = 0; i < words.n; i++) {
		rd_strv_push(&u->environment, words.v[i]);
		rd_strv_pushf(&u->sources, "%s:%u", path, line);
	}
}

static void unit_setting(struct unit *u, const char *key, const char *value, const char *path, unsigned line)
{
	if (rd_streq(key, "Environment")) {
		unit_environment(u, value, path, line);
	} else if (rd_streq(key, "EnvironmentFile")) {
		rd_strv_push(&u->files, value + (*value == '-'));
	} else if (rd_streq(key, "ExecStart")) {
		free(u->exec);
		u->exec = *value ? rd_xstrdup(value + strspn(value, "-+!@:")) : NULL;
	} else if (rd_streq(key, "User")) {
		free(u->user);
		u->user = rd_xstrdup(value);
	} else if (rd_streq(key, "After") || rd_streq(key, "ExecStartPre") || rd_streq(key, "ConditionPathExists")) {
		u->ordered = u->ordered || waits_for_driver(value);
	}
}

static void unit_parse(struct unit *u, char *text, const char *path)
{
	rd_auto_strbuf struct rd_strbuf logical = RD_STRBUF_INIT;
	unsigned number = 0, first = 0;
	char *rest = text, *line;

	while ((line = rd_str_next_line(&rest))) {
		char *equals;
		size_t len;

		number++;
		line = rd_str_strip(line);
		if (!logical.len) {
			first = number;
			if (!*line || *line == '#' || *line == ';' || *line == '[')
				continue;
		}
		len = strlen(line);
		rd_strbuf_addn(&logical, line, len && line[len - 1] == '\\' ? len - 1 : len);
		if (len && line[len - 1] == '\\') {
			rd_strbuf_addc(&logical, ' ');
			continue;
		}
		equals = strchr(logical.buf, '=');
		if (equals) {
			*equals = '\0';
			unit_setting(u, rd_str_strip(logical.buf), rd_str_strip(equals + 1), path, first);
		}
		rd_strbuf_truncate(&logical, 0);
	}
}

static void unit_drop_ins(struct unit *u, struct rd_sysroot *sr)
{
	rd_auto_strv struct rd_strv all = RD_STRV_INIT, seen = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(unit_dirs); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;

		if (rd_sysroot_listf(sr, &names, "%s/%s.d", unit_dirs[i], u->name) < 0)
			continue;
		for (size_t j = 0; j < names.n && all.n < DROPINS_MAX; j++)
			if (rd_str_has_suffix(names.v[j], ".conf") && !rd_strv_has(&seen, names.v[j])) {
				rd_strv_push(&seen, names.v[j]);
				/* Sorted by name, whichever folder: the name goes first. */
				rd_strv_pushf(&all, "%s\n%s/%s.d/%s", names.v[j], unit_dirs[i], u->name, names.v[j]);
			}
	}
	rd_strv_sort(&all);
	for (size_t i = 0; i < all.n; i++) {
		const char *path = strchr(all.v[i], '\n') + 1;
		rd_auto_free char *text = NULL;

		if (rd_sysroot_read(sr, &text, path) == 0)
			unit_parse(u, text, path);
	}
}

static void unit_clear(struct unit *u)
{
	free(u->name);
	free(u->path);
	free(u->exec);
	free(u->user);
	rd_strv_clear(&u->environment);
	rd_strv_clear(&u->sources);
	rd_strv_clear(&u->files);
}

/* ------------------------------------------------------------ what a unit runs */

/* "ollama" as a word of a path or an argument: "/usr/bin/ollama", "vllm.entrypoints", not "myollamas". */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p++)
		if ((p == text || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[len]))
			return true;
	return false;
}

static const char *engine_of(const char *command)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(engines); i++)
		if (has_word(command, engines[i].word))
			return engines[i].engine;
	return "";
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return rd_xstrndup(path, slash && slash != path ? (size_t)(slash - path) : 1);
}

/* The interpreter in the first line of a script; NULL where it is none of Python's. */
static char *script_interpreter(struct rd_sysroot *sr, const char *program)
{
	struct rd_file *f = NULL;
	char head[256] = "";
	size_t len;

	if (rd_file_open(sr, &f, program) < 0)
		return NULL;
	len = rd_file_size(f) < sizeof(head) - 1 ? (size_t)rd_file_size(f) : sizeof(head) - 1;
	if (rd_file_pread(f, head, len, 0) < 0)
		head[0] = '\0';
	rd_file_close(f);
	head[strcspn(head, "\r\n")] = '\0';
	if (head[0] != '#' || head[1] != '!' || !strstr(head, "python"))
		return NULL;
	return rd_xstrndup(head + 2 + strspn(head + 2, " "), strcspn(head + 2 + strspn(head + 2, " "), " \t"));
}

/* The prefix of the Python that a command runs in; NULL where it runs in none. */
static char *python_prefix(struct rd_sysroot *sr, const char *program)
{
	const char *base = strrchr(program, '/');
	rd_auto_free char *bin = NULL, *prefix = NULL, *interpreter = NULL;

	if (*program != '/' || !base)
		return NULL;
	bin = parent_of(program);
	prefix = parent_of(bin);
	if (rd_str_has_prefix(base + 1, "python") || rd_sysroot_existsf(sr, "%s/pyvenv.cfg", prefix) == 1)
		return rd_steal(prefix);
	interpreter = script_interpreter(sr, program);
	if (!interpreter || *interpreter != '/' || rd_str_has_suffix(interpreter, "/env"))
		return NULL;
	free(bin);
	bin = parent_of(interpreter);
	return parent_of(bin);
}

static void set_environment(struct rd_sysroot *sr, struct rd_fact *item, const struct unit *u)
{
	rd_fact_set_map(item, "environment", u->path);
	for (size_t i = 0; i < u->environment.n; i++) {
		rd_auto_free char *text = rd_xstrdup(u->environment.v[i]);

		set_variable(item, text, u->sources.v[i]);
	}
	for (size_t i = 0; i < u->files.n; i++) {
		rd_auto_free char *text = NULL;
		char *rest, *line;

		if (*u->files.v[i] != '/' || rd_sysroot_read(sr, &text, u->files.v[i]) < 0)
			continue;
		for (rest = text; (line = rd_str_next_line(&rest));) {
			size_t len;

			line = rd_str_strip(line);
			len = strlen(line);
			if (len > 1 && (line[len - 1] == '"' || line[len - 1] == '\'')) {
				char *quote = strchr(line, line[len - 1]);

				line[len - 1] = '\0';
				if (quote != line + len - 1)
					memmove(quote, quote + 1, strlen(quote));
			}
			set_variable(item, line, u->files.v[i]);
		}
	}
}

static void publish_unit(struct rd_probe_ctx *ctx, const struct unit *u)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	rd_auto_free char *prefix = NULL;
	const char *engine;
	struct rd_fact *item;

	if (!u->exec)
		return;
	split_words(&words, u->exec);
	if (!words.n)
		return;
	engine = engine_of(u->exec);
	prefix = python_prefix(ctx->sysroot, words.v[0]);
	if (!*engine && !prefix)
		return;
	item = rd_fact_append(ctx->facts, "services", u->path);
	rd_fact_set_str(item, "name", u->name, u->path);
	rd_fact_set_str(item, "file", u->path, u->path);
	rd_fact_set_str(item, "program", words.v[0], u->path);
	if (*engine)
		rd_fact_set_str(item, "engine", engine, u->path);
	if (u->user)
		rd_fact_set_str(item, "user", u->user, u->path);
	if (prefix)
		rd_fact_set_str(item, "python_prefix", prefix, words.v[0]);
	rd_fact_set_bool(item, "ordered_after_driver", u->ordered, u->path);
	set_environment(ctx->sysroot, item, u);
}

/* A unit that is refused: its name alone tells what it serves. */
static void publish_refused(struct rd_probe_ctx *ctx, const struct unit *u, int error)
{
	static const char *const unread[] = { "program", "user", "python_prefix", "environment", "ordered_after_driver" };
	struct rd_fact *item;

	for (size_t i = 0; i < RD_ARRAY_SIZE(engines); i++) {
		if (!has_word(u->name, engines[i].word))
			continue;
		item = rd_fact_append(ctx->facts, "services", u->path);
		rd_fact_set_str(item, "name", u->name, u->path);
		rd_fact_set_str(item, "file", u->path, u->path);
		rd_fact_set_str(item, "engine", engines[i].engine, u->path);
		for (size_t j = 0; j < RD_ARRAY_SIZE(unread); j++)
			rd_fact_set_unknown(item, unread[j], error, u->path);
		return;
	}
}

/* The folder of the administrator is read whole; of the distribution's hundreds only those with a fitting name. */
static bool is_wanted(size_t dir, const char *name)
{
	if (!rd_str_has_suffix(name, ".service"))
		return false;
	for (size_t i = 0; dir && i < RD_ARRAY_SIZE(engines); i++)
		if (has_word(name, engines[i].word))
			return true;
	return dir == 0 || strstr(name, "llama") || strstr(name, "comfyui");
}

static int look_at_units(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(unit_dirs); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;
		int r = rd_sysroot_list(ctx->sysroot, &names, unit_dirs[i]);

		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return r;
		for (size_t j = 0; j < names.n && seen.n < UNITS_MAX; j++) {
			struct unit u = { .name = NULL };
			rd_auto_free char *text = NULL;

			if (!is_wanted(i, names.v[j]) || rd_strv_has(&seen, names.v[j]))
				continue;
			rd_strv_push(&seen, names.v[j]);
			u.name = rd_xstrdup(names.v[j]);
			u.path = rd_xasprintf("%s/%s", unit_dirs[i], names.v[j]);
			r = rd_sysroot_read(ctx->sysroot, &text, u.path);
			if (r == -EACCES || r == -EPERM || r == -EIO)
				publish_refused(ctx, &u, r);
			if (r == 0) {
				unit_parse(&u, text, u.path);
				unit_drop_ins(&u, ctx->sysroot);
				publish_unit(ctx, &u);
			}
			unit_clear(&u);
		}
	}
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "services"), "name");
	return 0;
}

/* ------------------------------------------------------------ running servers */

static const char *engine_of_comm(const char *comm)
{
	static const struct {
		const char *prefix, *engine;
	} known[] = {
		{ "ollama", "ollama" },          { "vllm", "vllm" }, { "VLLM::", "vllm" }, { "sglang", "sglang" },
		{ "llama-server", "llama_cpp" }, { "ray::", "ray" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(known); i++)
		if (rd_str_has_prefix(comm, known[i].prefix))
			return known[i].engine;
	return NULL;
}

static void set_process_environment(struct rd_sysroot *sr, struct rd_fact *item, const char *pid)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%s/environ", pid), *bytes = NULL;
	size_t len = 0;
	int r = rd_sysroot_read_bytes(sr, &bytes, &len, path);

	if (r < 0) {
		rd_fact_set_unknown(item, "environment", r, path);
		return;
	}
	rd_fact_set_map(item, "environment", path);
	for (size_t at = 0; at < len; at += strlen(bytes + at) + 1) {
		rd_auto_free char *text = rd_xstrdup(bytes + at);

		set_variable(item, text, path);
	}
}

/* The unit is the last part of the control group's path that is a service of the system. */
static void set_unit(struct rd_sysroot *sr, struct rd_fact *item, const char *pid)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%s/cgroup", pid), *text = NULL;
	char *rest, *line;
	int r = rd_sysroot_read(sr, &text, path);

	if (r < 0) {
		rd_fact_set_unknown(item, "unit", r, path);
		return;
	}
	for (rest = text; (line = rd_str_next_line(&rest));) {
		char *slash = strrchr(line, '/');

		if (slash && strstr(line, "/system.slice/") && rd_str_has_suffix(slash, ".service"))
			rd_fact_set_str(item, "unit", slash + 1, path);
	}
}

/* Field 22 of stat, counted behind the name, which may hold anything. */
static int64_t started_ms(struct rd_sysroot *sr, const char *pid)
{
	rd_auto_strv struct rd_strv fields = RD_STRV_INIT;
	rd_auto_free char *text = NULL;
	uint64_t ticks;
	char *after;

	if (rd_sysroot_readf(sr, &text, "/proc/%s/stat", pid) < 0)
		return -1;
	after = strrchr(text, ')');
	if (!after)
		return -1;
	rd_strv_split(&fields, after + 1, " \n", false);
	if (fields.n < 20 || rd_str_to_u64(fields.v[19], 10, &ticks) < 0 || ticks > INT64_MAX / 1000)
		return -1;
	return (int64_t)(ticks * 1000 / TICKS);
}

/* When KFD took its first GPU in, by the kernel's log: milliseconds after boot, 0 where the log does not say. */
static int driver_ready_ms(struct rd_sysroot *sr, int64_t *ret)
{
	rd_auto_free char *log = NULL;
	const char *line, *start;
	double seconds;
	int r = rd_sysroot_kmsg(sr, &log);

	*ret = 0;
	if (r < 0)
		return r;
	line = strstr(log, "kfd kfd: amdgpu: added device ");
	if (!line)
		return 0;
	for (start = line; start > log && start[-1] != '\n'; start--)
		;
	if (sscanf(start, "[ %lf]", &seconds) == 1 && seconds > 0 && seconds < 1e9)
		*ret = (int64_t)(seconds * 1000);
	return 0;
}

static void set_before_driver(struct rd_fact *item, const char *pid, int64_t started, int64_t ready, int log_error)
{
	rd_auto_free char *stat = rd_xasprintf("/proc/%s/stat", pid);

	if (started >= 0)
		rd_fact_set_int(item, "started_ms", started, stat);
	else
		rd_fact_set_unknown_why(item, "started_ms", "not in the process's status", stat);
	if (log_error < 0) {
		rd_fact_set_unknown(item, "driver_ready_ms", log_error, "kernel log");
		rd_fact_set_unknown(item, "before_driver", log_error, "kernel log");
	} else {
		rd_fact_set_int(item, "driver_ready_ms", ready, "kernel log");
		rd_fact_set_bool(item, "before_driver", started >= 0 && started < ready, stat);
	}
}

static int look_at_processes(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv pids = RD_STRV_INIT;
	int64_t ready = 0;
	int r = rd_sysroot_list(ctx->sysroot, &pids, "/proc"), log_error = 0;
	size_t found = 0;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < pids.n && i < PROCESSES_MAX && found < SERVERS_MAX; i++) {
		rd_auto_free char *comm = NULL;
		const char *engine;
		struct rd_fact *item;

		if (!isdigit((unsigned char)*pids.v[i]) ||
		    rd_sysroot_readf_line(ctx->sysroot, &comm, "/proc/%s/comm", pids.v[i]) < 0)
			continue;
		engine = engine_of_comm(comm);
		if (!engine)
			continue;
		if (!found++)
			log_error = driver_ready_ms(ctx->sysroot, &ready);
		item = rd_fact_append(ctx->facts, "servers", "/proc");
		rd_fact_set_str(item, "pid", pids.v[i], "/proc");
		rd_fact_set_str(item, "name", comm, "/proc");
		rd_fact_set_str(item, "engine", engine, "/proc");
		set_unit(ctx->sysroot, item, pids.v[i]);
		set_process_environment(ctx->sysroot, item, pids.v[i]);
		set_before_driver(item, pids.v[i], started_ms(ctx->sysroot, pids.v[i]), ready, log_error);
	}
	return 0;
}

static int run(struct rd_probe_ctx *ctx)
{
	int r = look_at_units(ctx), s = look_at_processes(ctx);

	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "services", r, unit_dirs[0]);
	if (s < 0)
		rd_fact_set_unknown(ctx->facts, "servers", s, "/proc");
	return 0;
}

static const struct rd_fact_decl facts[] = {
	{ "services[]", RD_LIST, "systemd services that serve models or run a Python, by name",
	  "/etc/systemd/system/*.service" },
	{ "services[].name", RD_STR, "name of the unit", "/etc/systemd/system/*.service" },
	{ "services[].file", RD_STR, "unit file", "/etc/systemd/system/*.service" },
	{ "services[].program", RD_STR, "what ExecStart runs", "ExecStart=" },
	{ "services[].engine", RD_STR, "ollama, vllm, sglang, llama_cpp, ...; empty for another program", "ExecStart=" },
	{ "services[].user", RD_STR, "user that it runs as", "User=" },
	{ "services[].python_prefix", RD_STR, "prefix of the Python that it runs", "ExecStart=" },
	{ "services[].environment{}", RD_MAP, "variables of GPU programs that the unit sets",
	  "Environment=, EnvironmentFile=" },
	{ "services[].ordered_after_driver", RD_BOOL, "it starts after the modules or device nodes of the GPU",
	  "After=, ExecStartPre=" },
	{ "servers[]", RD_LIST, "running processes of model servers", "/proc/PID/comm" },
	{ "servers[].pid", RD_STR, "process id", "/proc" },
	{ "servers[].name", RD_STR, "name of the process", "/proc/PID/comm" },
	{ "servers[].engine", RD_STR, "which model server it is", "/proc/PID/comm" },
	{ "servers[].unit", RD_STR, "system service that it belongs to; empty: started by hand", "/proc/PID/cgroup" },
	{ "servers[].environment{}", RD_MAP, "its variables of GPU programs", "/proc/PID/environ" },
	{ "servers[].started_ms", RD_INT, "start, milliseconds after boot", "/proc/PID/stat" },
	{ "servers[].driver_ready_ms", RD_INT, "when KFD had its first GPU, milliseconds after boot", "kernel log" },
	{ "servers[].before_driver", RD_BOOL, "it started before KFD had a GPU", "/proc/PID/stat, kernel log" },
	{ NULL },
};

const struct rd_probe rd_probe_framework_services = {
	.name = "framework/services",
	.layer = RD_LAYER_FRAMEWORK,
	.summary = "services and processes that serve models",
	.facts = facts,
	.run = run,
};
