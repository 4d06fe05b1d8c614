/* The rows of all options, and what each sets. */

#include <errno.h>
#include <string.h>

#include "app.h"
#include "rocm-doctor/layer.h"
#include "util/log.h"
#include "util/str.h"

static int set_root(struct rd_app *app, const char *value)
{
	app->root = value;
	return 0;
}

static int set_pid(struct rd_app *app, const char *value)
{
	uint64_t pid;

	if (rd_str_to_u64(value, 10, &pid) < 0 || !pid || pid > INT32_MAX)
		return rd_app_fail(app, -EINVAL, "--pid wants the number of a process, not '%s'", value);
	app->pid = (unsigned)pid;
	return 0;
}

static int set_container(struct rd_app *app, const char *value)
{
	app->container = value;
	return 0;
}

static int set_user(struct rd_app *app, const char *value)
{
	app->user = value;
	return 0;
}

static int add_python(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->pythons, value);
	return 0;
}

static int add_rules(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->rule_dirs, value);
	return 0;
}

static int set_network(struct rd_app *app, const char *value)
{
	(void)value;
	app->network = true;
	return 0;
}

static int set_format(struct rd_app *app, const char *value)
{
	app->format = value;
	return 0;
}

static int set_output(struct rd_app *app, const char *value)
{
	app->output = value;
	return 0;
}

static int set_color(struct rd_app *app, const char *value)
{
	static const char *const names[] = {
		[RD_COLOR_AUTO] = "auto", [RD_COLOR_ALWAYS] = "always", [RD_COLOR_NEVER] = "never"
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		if (rd_streq(names[i], value)) {
			app->color = (enum rd_color)i;
			return 0;
		}
	}
	return rd_app_fail(app, -EINVAL, "--color wants auto, always or never, not '%s'", value);
}

static int set_quiet(struct rd_app *app, const char *value)
{
	(void)value;
	app->verbosity = -1;
	return 0;
}

static int set_verbose(struct rd_app *app, const char *value)
{
	(void)value;
	app->verbosity = app->verbosity < 0 ? 1 : app->verbosity + 1;
	rd_log_level = app->verbosity > 1;
	return 0;
}

static int set_help(struct rd_app *app, const char *value)
{
	(void)value;
	app->help = true;
	return 0;
}

static int add_layer(struct rd_app *app, const char *value)
{
	enum rd_layer layer;

	if (rd_layer_parse(value, &layer) < 0)
		return rd_app_fail(app, -EINVAL,
		                   "no layer '%s'; there are: host hardware kernel device runtime framework engine", value);
	rd_strv_push(&app->layers, value);
	return 0;
}

static int add_only(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->only, value);
	return 0;
}

static int add_skip(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->skip, value);
	return 0;
}

static int set_profile(struct rd_app *app, const char *value)
{
	app->profile = value;
	return 0;
}

static int add_require(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->requires, value);
	return 0;
}

static int set_fail_on(struct rd_app *app, const char *value)
{
	static const char *const names[] = {
		[RD_FAIL_ON_ERROR] = "error",
		[RD_FAIL_ON_WARNING] = "warning",
		[RD_FAIL_ON_UNKNOWN] = "unknown",
		[RD_FAIL_ON_NEVER] = "never",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		if (rd_streq(names[i], value)) {
			app->fail_on = (enum rd_fail_on)i;
			return 0;
		}
	}
	return rd_app_fail(app, -EINVAL, "--fail-on wants error, warning, unknown or never, not '%s'", value);
}

static int set_if_gpu(struct rd_app *app, const char *value)
{
	(void)value;
	app->if_gpu = true;
	return 0;
}

static int set_list(struct rd_app *app, const char *value)
{
	(void)value;
	app->list = true;
	return 0;
}

static int set_timeout(struct rd_app *app, const char *value)
{
	uint64_t seconds;

	if (rd_str_to_u64(value, 10, &seconds) < 0 || !seconds || seconds > 86400)
		return rd_app_fail(app, -EINVAL, "--timeout wants seconds from 1 to 86400, not '%s'", value);
	app->timeout_s = (unsigned)seconds;
	return 0;
}

static int set_dry_run(struct rd_app *app, const char *value)
{
	(void)value;
	app->dry_run = true;
	return 0;
}

static int set_yes(struct rd_app *app, const char *value)
{
	(void)value;
	app->yes = true;
	return 0;
}

static int set_force(struct rd_app *app, const char *value)
{
	(void)value;
	app->force = true;
	return 0;
}

static int set_detailed_exitcode(struct rd_app *app, const char *value)
{
	(void)value;
	app->detailed_exitcode = true;
	return 0;
}

static int set_no_network(struct rd_app *app, const char *value)
{
	(void)value;
	app->no_network = true;
	return 0;
}

static int set_until(struct rd_app *app, const char *value)
{
	enum rd_layer layer;

	if (rd_layer_parse(value, &layer) < 0)
		return rd_app_fail(app, -EINVAL, "--until wants a layer, not '%s'", value);
	app->until = (int)layer;
	return 0;
}

const struct rd_option rd_common_options[] = {
	{ "rules", 0, "DIR", "further rules and tables; repeatable, later wins", add_rules, RD_AGAIN_ANY },
	{ "format", 0, "FORMAT", "how to print", set_format },
	{ "color", 0, "WHEN", "auto, always or never", set_color },
	{ "quiet", 'q', NULL, "say less: one line a finding or step, nothing where all is well", set_quiet },
	{ "verbose", 'v', NULL, "say more: what was unknown or clear; of a plan the reasons and whole diffs", set_verbose },
	{ "help", 'h', NULL, "this text", set_help },
	{ 0 },
};

const struct rd_option rd_probing_options[] = {
	{ "root", 0, "DIR", "read this tree instead of /", set_root, RD_AGAIN_ANY },
	{ "pid", 0, "PID", "examine a running process: its root, environment and credentials", set_pid, RD_AGAIN_ANY },
	{ "container", 0, "NAME", "the same for the main process of a container (a name, or an id)", set_container,
	  RD_AGAIN_ANY },
	{ "user", 0, "NAME", "judge permissions for this user", set_user, RD_AGAIN_ANY },
	{ "python", 0, "PATH", "an interpreter or environment to examine; repeatable, replaces discovery", add_python,
	  RD_AGAIN_ANY },
	{ "network", 0, NULL, "allow network look-ups (off by default; no probe makes one yet)", set_network },
	{ 0 },
};

const struct rd_option rd_check_options[] = {
	{ "layer", 0, "LAYER", "report this layer only; repeatable", add_layer },
	{ "only", 0, "ID", "report this finding only; a glob, repeatable", add_only },
	{ "skip", 0, "ID", "do not report this finding; a glob, repeatable", add_skip },
	{ "profile", 0, "NAME", "thresholds and wishes of a use: llm-7b, pytorch, vllm, training-multi-gpu", set_profile,
	  RD_AGAIN_FIX },
	{ "require", 0, "EXPR", "fail unless this holds; repeatable", add_require },
	{ "fail-on", 0, "LEVEL", "error (default), warning, unknown or never", set_fail_on },
	{ "if-gpu", 0, NULL, "a host without an AMD GPU is no failure", set_if_gpu },
	{ "list", 0, NULL, "what would be checked, without looking", set_list },
	{ "timeout", 0, "SECONDS", "what was not read by then is unknown", set_timeout },
	{ 0 },
};

const struct rd_option rd_facts_options[] = {
	{ "profile", 0, "NAME", "the profile whose thresholds are shown", set_profile },
	{ "output", 'o', "FILE", "write there instead of standard output", set_output },
	{ "timeout", 0, "SECONDS", "what was not read by then is unknown", set_timeout },
	{ 0 },
};

const struct rd_option rd_rules_options[] = {
	{ "layer", 0, "LAYER", "this layer only; repeatable", add_layer },
	{ 0 },
};

static int add_gfx(struct rd_app *app, const char *value)
{
	rd_strv_push(&app->gfx, value);
	return 0;
}

const struct rd_option rd_targets_options[] = {
	{ "gfx", 0, "GFX", "ask for this GPU (gfx942, gfx90a:xnack+) instead of those of the host; repeatable", add_gfx },
	{ 0 },
};

const struct rd_option rd_fix_options[] = {
	{ "dry-run", 'n', NULL, "print exactly what would be done, and change nothing", set_dry_run },
	{ "yes", 'y', NULL, "apply without asking", set_yes },
	{ "only", 0, "ID", "mend this finding only; a glob, repeatable", add_only, RD_AGAIN_FIX },
	{ "skip", 0, "ID", "do not mend this finding; a glob, repeatable", add_skip, RD_AGAIN_FIX },
	{ "until", 0, "LAYER", "mend this layer and those before it", set_until, RD_AGAIN_FIX },
	{ "detailed-exitcode", 0, NULL, "with --dry-run: 5 where the plan is not empty", set_detailed_exitcode },
	{ "no-network", 0, NULL, "refuse a plan that may download", set_no_network, RD_AGAIN_FIX },
	{ "profile", 0, "NAME", "thresholds and wishes of a use", set_profile, RD_AGAIN_FIX },
	{ 0 },
};

const struct rd_option rd_undo_options[] = {
	{ "dry-run", 'n', NULL, "print what would be put back, and change nothing", set_dry_run },
	{ "yes", 'y', NULL, "undo without asking", set_yes },
	{ "force", 0, NULL, "put files back that were edited since", set_force },
	{ 0 },
};
