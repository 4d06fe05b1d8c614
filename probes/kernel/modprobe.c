/*
 * What modprobe.d and the kernel's command line say about modules: blacklist, install and alias lines, options.
 *
 * A parser of our own, since libkmod does not tell in which file and line it found something. As in libkmod: of two files
 * with one name the one in the folder of higher rank counts, all are read in the order of their names, a backslash at the
 * end of a line continues it, and '-' equals '_' in names.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define CMDLINE "/proc/cmdline"
#define CONFIG "/etc/modprobe.d and its like"

/* Higher rank first. */
static const char *const folders[] = { "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
	                               "/lib/modprobe.d" };

/* A logical line and where it stands. */
struct place {
	struct rd_fact *facts;
	const char *file;
	int line;
};

static char *source_of(const struct place *at)
{
	return rd_streq(at->file, CMDLINE) ? rd_xstrdup(CMDLINE) : rd_xasprintf("%s:%d", at->file, at->line);
}

static struct rd_fact *append(const struct place *at, const char *list, const char *module)
{
	rd_auto_free char *source = source_of(at);
	rd_auto_free char *name = kernel_underscores(rd_xstrdup(module));
	struct rd_fact *item = rd_fact_append(at->facts, list, source);

	rd_fact_set_str(item, "module", name, source);
	rd_fact_set_str(item, "file", at->file, source);
	rd_fact_set_int(item, "line", at->line, source);
	return item;
}

static void add_blacklist(const struct place *at, const char *module, const char *form)
{
	rd_auto_free char *source = source_of(at);

	rd_fact_set_str(append(at, "kernel.modprobe.blacklist", module), "form", form, source);
}

/* True for a command that does nothing, so that the module never loads. */
static bool does_nothing(const char *command)
{
	static const char *const words[] = { "/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false", "true", "false",
		                             ":",         "off" };
	rd_auto_strv struct rd_strv parts = RD_STRV_INIT;

	rd_strv_split(&parts, command, " \t;", false);
	if (parts.n == 0)
		return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++) {
		if (rd_streq(parts.v[0], words[i]))
			return true;
	}
	/* "exit 1", which the shell that modprobe starts obeys. */
	return rd_streq(parts.v[0], "exit");
}

static void add_install(const struct place *at, const char *module, const char *command, const char *form)
{
	rd_auto_free char *source = source_of(at);
	struct rd_fact *item = append(at, "kernel.modprobe.install", module);

	rd_fact_set_str(item, "command", command, source);
	rd_fact_set_str(item, "form", form, source);
	rd_fact_set_bool(item, "disables", does_nothing(command), source);
}

static void add_option(const struct place *at, const char *module, const char *option)
{
	rd_auto_free char *source = source_of(at);
	const char *equals = strchr(option, '=');
	rd_auto_free char *name =
		kernel_underscores(equals ? rd_xstrndup(option, (size_t)(equals - option)) : rd_xstrdup(option));
	struct rd_fact *item = append(at, "kernel.modprobe.options", module);

	rd_fact_set_str(item, "parameter", name, source);
	rd_fact_set_str(item, "value", equals ? equals + 1 : "", source);
}

/* One logical line of a file. */
static void take_line(const struct place *at, char *line)
{
	char *text = rd_str_strip(line);
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	if (text[0] == '#' || text[0] == '\0')
		return;
	rd_strv_split(&words, text, " \t", false);
	if (words.n < 2)
		return;
	if (rd_streq(words.v[0], "blacklist")) {
		add_blacklist(at, words.v[1], "blacklist");
	} else if (rd_streq(words.v[0], "install")) {
		const char *rest = strstr(text + strlen("install"), words.v[1]) + strlen(words.v[1]);

		add_install(at, words.v[1], rest + strspn(rest, " \t"), "install");
	} else if (rd_streq(words.v[0], "alias") && words.n >= 3 && rd_streq(words.v[2], "off")) {
		add_install(at, words.v[1], "off", "alias");
	} else if (rd_streq(words.v[0], "options")) {
		for (size_t i = 2; i < words.n; i++)
			add_option(at, words.v[1], words.v[i]);
	}
}

static void take_file(struct rd_fact *facts, const char *path, char *text)
{
	rd_auto_strbuf struct rd_strbuf logical = RD_STRBUF_INIT;
	struct place at = { facts, path, 1 };
	char *rest = text, *line;
	int number = 0;

	while ((line = rd_str_next_line(&rest))) {
		size_t n = strlen(line);
		bool goes_on = n > 0 && line[n - 1] == '\\';

		number++;
		if (logical.len == 0)
			at.line = number;
		rd_strbuf_addn(&logical, line, goes_on ? n - 1 : n);
		if (goes_on) {
			rd_strbuf_addc(&logical, ' ');
			continue;
		}
		take_line(&at, logical.buf);
		rd_strbuf_truncate(&logical, 0);
	}
	if (logical.len)
		take_line(&at, logical.buf);
}

struct config_file {
	char *name, *path;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct config_file *)a)->name, ((const struct config_file *)b)->name);
}

struct config_files {
	struct config_file *v;
	size_t n, allocated;
};

static void config_files_clear(struct config_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].name);
		free(files->v[i].path);
	}
	free(files->v);
}

static bool has_name(const struct config_files *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++) {
		if (rd_streq(files->v[i].name, name))
			return true;
	}
	return false;
}

/* The files that count, in the order in which they are read. A folder that cannot be listed makes all unknown. */
static int find_files(struct rd_sysroot *sr, struct config_files *ret)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;
		int r = rd_sysroot_list(sr, &names, folders[i]);

		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return r;
		for (size_t j = 0; j < names.n; j++) {
			if (!rd_str_has_suffix(names.v[j], ".conf") || has_name(ret, names.v[j]))
				continue;
			RD_GROW(ret->v, ret->n, ret->allocated);
			ret->v[ret->n].name = rd_xstrdup(names.v[j]);
			ret->v[ret->n++].path = rd_xasprintf("%s/%s", folders[i], names.v[j]);
		}
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return 0;
}

/*
 * All files of modprobe.d. A file that cannot be read could hold anything: *ret_path then names it.
 * One that leads to /dev/null, or nowhere, is how an administrator masks one of lower rank.
 */
static int take_files(struct rd_probe_ctx *ctx, char **ret_path)
{
	rd_auto(config_files_clear) struct config_files files = { 0 };
	int r = find_files(ctx->sysroot, &files);

	if (r < 0) {
		*ret_path = rd_xstrdup(folders[0]);
		return r;
	}
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *text = NULL, *target = NULL;
		int r2 = rd_sysroot_read(ctx->sysroot, &text, files.v[i].path);

		if (r2 >= 0) {
			take_file(ctx->facts, files.v[i].path, text);
			continue;
		}
		if (r2 == -ENOENT ||
		    (rd_sysroot_readlink(ctx->sysroot, &target, files.v[i].path) >= 0 && rd_streq(target, "/dev/null")))
			continue;
		if (r >= 0) {
			*ret_path = rd_xstrdup(files.v[i].path);
			r = r2;
		}
	}
	return r;
}

/* Parameters whose value is a list of modules that must not load. */
static const char *const blacklists[] = { "modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "rdblacklist" };

static void take_word(struct rd_fact *facts, const char *word)
{
	const struct place at = { facts, CMDLINE, 1 };
	const char *equals = strchr(word, '=');
	rd_auto_free char *name = kernel_underscores(equals ? rd_xstrndup(word, (size_t)(equals - word)) : rd_xstrdup(word));
	const char *value = equals ? equals + 1 : "";
	rd_auto_strv struct rd_strv modules = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(blacklists); i++) {
		if (!rd_streq(name, blacklists[i]))
			continue;
		rd_strv_split(&modules, value, ",", false);
		for (size_t j = 0; j < modules.n; j++)
			add_blacklist(&at, modules.v[j], blacklists[i]);
	}
	if (rd_streq(name, "initcall_blacklist")) {
		rd_strv_split(&modules, value, ",", false);
		if (rd_strv_has(&modules, "amdgpu_init"))
			add_blacklist(&at, "amdgpu", "initcall_blacklist");
	} else if (rd_str_has_prefix(name, "amdgpu.")) {
		add_option(&at, "amdgpu", word + strlen("amdgpu."));
	} else if (rd_streq(name, "nomodeset")) {
		rd_fact_set_bool(facts, "kernel.nomodeset", true, CMDLINE);
	}
}

static int take_command_line(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	int r = kernel_words(ctx, &words);

	for (size_t i = 0; r >= 0 && i < words.n; i++)
		take_word(ctx->facts, words.v[i]);
	return r;
}

/* amdgpu.modeset=0, wherever it was said last. */
static void judge_modeset(struct rd_fact *facts)
{
	const struct rd_fact *options = rd_fact_get(facts, "kernel.modprobe.options");

	for (size_t i = 0; i < rd_fact_count(options); i++) {
		const struct rd_fact *item = rd_fact_at(options, i);

		if (rd_streq(rd_fact_get_str(item, "module"), "amdgpu") &&
		    rd_streq(rd_fact_get_str(item, "parameter"), "modeset"))
			rd_fact_set_bool(facts, "kernel.modeset_disabled", rd_streq(rd_fact_get_str(item, "value"), "0"),
			                 rd_fact_source(item));
	}
}

static bool names_amdgpu(const struct rd_fact *facts, const char *path)
{
	const struct rd_fact *list = rd_fact_get(facts, path);

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "module"), "amdgpu"))
			return true;
	}
	return false;
}

/* What was found stands; where amdgpu was not found, a part that could not be read may still name it. */
static void mark_unknown(struct rd_fact *facts, int r, const char *reason, const char *source)
{
	static const char *const lists[] = { "kernel.modprobe.blacklist", "kernel.modprobe.install",
		                             "kernel.modprobe.options" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++) {
		if (names_amdgpu(facts, lists[i]))
			continue;
		if (reason)
			rd_fact_set_unknown_why(facts, lists[i], reason, source);
		else
			rd_fact_set_unknown(facts, lists[i], r, source);
	}
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *facts = ctx->facts;
	rd_auto_free char *unread = NULL;
	bool container = kernel_in_container(ctx);
	int files = 0, cmdline;

	rd_fact_set_list(facts, "kernel.modprobe.blacklist", CONFIG);
	rd_fact_set_list(facts, "kernel.modprobe.install", CONFIG);
	rd_fact_set_list(facts, "kernel.modprobe.options", CONFIG);
	if (!container)
		files = take_files(ctx, &unread);
	cmdline = take_command_line(ctx);
	if (cmdline < 0)
		rd_fact_set_unknown(facts, "kernel.nomodeset", cmdline, CMDLINE);
	judge_modeset(facts);

	if (container)
		mark_unknown(facts, 0, KERNEL_NOT_THE_HOST, folders[0]);
	else if (files < 0)
		mark_unknown(facts, files, NULL, unread);
	else if (cmdline < 0)
		mark_unknown(facts, cmdline, NULL, CMDLINE);
	if (rd_fact_is_unknown(facts, "kernel.modprobe.options") && !rd_fact_get(facts, "kernel.modeset_disabled"))
		rd_fact_set_unknown_why(facts, "kernel.modeset_disabled", "the options of amdgpu are not all known", CONFIG);
	return 0;
}

#define FORM "/etc/modprobe.d/*.conf and its like, /proc/cmdline"

const struct rd_probe rd_probe_kernel_modprobe = {
	.name = "kernel/modprobe",
	.layer = RD_LAYER_KERNEL,
	.summary = "configuration of modprobe and the command line's forms of it",
	.facts =
		(const struct rd_fact_decl[]){
			{ "kernel.modprobe.blacklist[]", RD_LIST, "modules that are not loaded for their hardware, as read",
	                  FORM },
			{ "kernel.modprobe.blacklist[].module", RD_STR, "name, with '_' for '-'", FORM },
			{ "kernel.modprobe.blacklist[].file", RD_STR, "where it stands", FORM },
			{ "kernel.modprobe.blacklist[].line", RD_INT, "line in that file, from 1", FORM },
			{ "kernel.modprobe.blacklist[].form", RD_STR, "the word that does it: blacklist, module_blacklist, ...",
	                  FORM },
			{ "kernel.modprobe.install[]", RD_LIST, "commands run in place of loading a module, as read", FORM },
			{ "kernel.modprobe.install[].module", RD_STR, "name, with '_' for '-'", FORM },
			{ "kernel.modprobe.install[].command", RD_STR, "the command; \"off\" for \"alias MODULE off\"", FORM },
			{ "kernel.modprobe.install[].disables", RD_BOOL, "the command does nothing, so the module never loads",
	                  FORM },
			{ "kernel.modprobe.install[].file", RD_STR, "where it stands", FORM },
			{ "kernel.modprobe.install[].line", RD_INT, "line in that file, from 1", FORM },
			{ "kernel.modprobe.install[].form", RD_STR, "install or alias", FORM },
			{ "kernel.modprobe.options[]", RD_LIST, "module parameters that are configured, the last one wins",
	                  FORM },
			{ "kernel.modprobe.options[].module", RD_STR, "name, with '_' for '-'", FORM },
			{ "kernel.modprobe.options[].parameter", RD_STR, "name of the parameter", FORM },
			{ "kernel.modprobe.options[].value", RD_STR, "its value as text", FORM },
			{ "kernel.modprobe.options[].file", RD_STR, "where it stands", FORM },
			{ "kernel.modprobe.options[].line", RD_INT, "line in that file, from 1", FORM },
			{ "kernel.nomodeset", RD_BOOL, "nomodeset is on the command line", CMDLINE },
			{ "kernel.modeset_disabled", RD_BOOL, "amdgpu's parameter modeset is configured as 0", FORM },
			{ 0 },
		},
	.run = run,
};
