/* Steps: arguments in, effects out. */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/utf8.h"
#include "util/xalloc.h"

static char **copy_argv(const char *const argv[])
{
	size_t n = 0;
	char **copy;

	if (!argv)
		return NULL;
	while (argv[n])
		n++;
	copy = rd_xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = rd_xstrdup(argv[i]);
	return copy;
}

static void free_argv(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

static void clear_effects(struct rd_step *step)
{
	for (size_t i = 0; i < step->effects_n; i++) {
		struct rd_effect *e = &step->effects[i];

		free(e->path);
		free(e->before);
		free(e->after);
		free(e->as_owner_of);
		free_argv(e->argv);
		free_argv(e->undo);
	}
	free(step->effects);
	for (size_t i = 0; i < step->origins_n; i++)
		free(step->origins[i]);
	free(step->origins);
	free(step->description);
	free(step->refusal);
	step->effects = NULL;
	step->origins = NULL;
	step->description = NULL;
	step->refusal = NULL;
	step->effects_n = step->origins_n = 0;
	step->flags = step->action->flags;
}

struct rd_step *rd_step_new(const struct rd_action *action, const char *const *args, const struct rd_fact *facts)
{
	struct rd_step *step = rd_xcalloc(1, sizeof(*step));

	step->action = action;
	step->flags = action->flags;
	step->facts = facts;
	for (size_t i = 0; args && args[i]; i += 2) {
		step->args = rd_xreallocarray(step->args, step->args_n + 1, sizeof(*step->args));
		step->args[step->args_n++] = (struct rd_step_arg){ rd_xstrdup(args[i]), rd_xstrdup(args[i + 1]) };
	}
	return step;
}

struct rd_step *rd_step_again(const struct rd_step *step)
{
	struct rd_step *again = rd_step_new(step->action, NULL, step->facts);

	again->args = rd_xcalloc(step->args_n, sizeof(*again->args));
	again->args_n = step->args_n;
	for (size_t i = 0; i < step->args_n; i++)
		again->args[i] = (struct rd_step_arg){ rd_xstrdup(step->args[i].name), rd_xstrdup(step->args[i].value) };
	return again;
}

struct rd_step *rd_step_free(struct rd_step *step)
{
	if (!step)
		return NULL;
	clear_effects(step);
	for (size_t i = 0; i < step->args_n; i++) {
		free(step->args[i].name);
		free(step->args[i].value);
	}
	free(step->args);
	free(step->findings);
	free(step);
	return NULL;
}

const char *rd_step_arg(const struct rd_step *step, const char *name)
{
	for (size_t i = 0; i < step->args_n; i++)
		if (rd_streq(step->args[i].name, name))
			return step->args[i].value;
	return NULL;
}

const struct rd_fact *rd_step_facts(const struct rd_step *step)
{
	return step->facts;
}

static struct rd_effect *add_effect(struct rd_step *step, enum rd_effect_kind kind)
{
	step->effects = rd_xreallocarray(step->effects, step->effects_n + 1, sizeof(*step->effects));
	step->effects[step->effects_n] = (struct rd_effect){ .kind = kind };
	return &step->effects[step->effects_n++];
}

/* The step cannot be: planning turns it into advice with this reason. The first reason counts. */
static void RD_PRINTF(2, 3) refuse(struct rd_step *step, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	if (step->refusal)
		return;
	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	step->refusal = rd_strbuf_detach(&sb);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? rd_streq(a, b) : a == b;
}

/* Where /lib is a link to usr/lib (merged /usr), what is said of /lib is done in /usr/lib. */
static bool is_merged(const char *path, const char *target)
{
	return !strchr(path + 1, '/') && strncmp(target + (*target == '/'), "usr/", 4) == 0 &&
	       rd_streq(target + (*target == '/') + 4, path + 1);
}

/*
 * The path that is changed: one spelling for each, since effects on one file are found by it. Nothing is edited through a
 * link, as whoever owns the link would choose the file. Caller frees.
 */
static char *place(struct rd_step *step, const char *path)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	rd_strv_split(&names, path, "/", false);
	for (size_t i = 0; i < names.n; i++) {
		rd_auto_free char *target = NULL;

		if (rd_streq(names.v[i], "."))
			continue;
		if (rd_streq(names.v[i], ".."))
			refuse(step, "'%s' is not a path that can be used here", path);
		rd_strbuf_addf(&sb, "/%s", names.v[i]);
		if (i + 1 == names.n || rd_sysroot_readlink(step->sysroot, &target, sb.buf) < 0)
			continue;
		if (is_merged(sb.buf, target)) {
			rd_strbuf_truncate(&sb, 0);
			rd_strbuf_addf(&sb, "/usr/%s", names.v[i]);
		} else {
			refuse(step, "'%s' stands below a link, '%s'", path, sb.buf);
		}
	}
	if (*path != '/' || !sb.len)
		refuse(step, "'%s' is not a path that can be used here", path);
	return rd_strbuf_detach(&sb);
}

/* Takes the path and what was there before. */
static void add_file_effect(struct rd_step *step, enum rd_effect_kind kind, char *path, char *before, const char *after,
                            unsigned mode)
{
	struct rd_effect *e;

	if (same_text(before, after)) {
		free(before);
		free(path);
		return;
	}
	e = add_effect(step, kind);
	e->path = path;
	e->before = before;
	e->after = after ? rd_xstrdup(after) : NULL;
	e->mode = mode;
}

/* What stands there now; NULL for nothing. What is no text that can be read whole is not edited. */
static char *present(struct rd_step *step, const char *path)
{
	rd_auto_free char *target = NULL;
	char *text = NULL;
	size_t len = 0;
	int r;

	if (rd_sysroot_readlink(step->sysroot, &target, path) == 0) {
		refuse(step, "'%s' is a link", path);
		return NULL;
	}
	r = rd_sysroot_read_bytes(step->sysroot, &text, &len, path);
	if (r < 0 && r != -ENOENT)
		refuse(step, "cannot read '%s': %s", path, r == -EINVAL ? "it is no file" : rd_strerror(r));
	else if (r == 0 && memchr(text, '\0', len))
		refuse(step, "'%s' is no text", path);
	return text;
}

void rd_step_write(struct rd_step *step, const char *path, const char *after, unsigned mode)
{
	char *at = place(step, path), *before = present(step, at);
	struct rd_stat st;

	/* Applying keeps the mode that is there; a form of the plan that writes the file anew has to name it. */
	if (before && rd_sysroot_stat(step->sysroot, &st, at) == 0)
		mode = st.mode;
	add_file_effect(step, RD_EFFECT_WRITE, at, before, after, mode);
}

/* The folders of sysfs are reached by the kernel's own links. */
static char *value_place(struct rd_step *step, const char *path)
{
	char *at = NULL;

	if (!rd_str_has_prefix(path, "/sys/") && !rd_str_has_prefix(path, "/proc/"))
		return place(step, path);
	if (rd_sysroot_realpath(step->sysroot, &at, path) == 0 &&
	    (rd_str_has_prefix(at, "/sys/") || rd_str_has_prefix(at, "/proc/")))
		return at;
	refuse(step, "there is no '%s' here", path);
	free(at);
	return rd_xstrdup(path);
}

void rd_step_write_value(struct rd_step *step, const char *path, const char *after)
{
	char *at = value_place(step, path), *before = NULL;
	int r = rd_sysroot_read_line(step->sysroot, &before, at);

	if (r == -ENOENT)
		refuse(step, "there is no '%s' here", path);
	/* What can only be written has no value to go back to, and the plan says so. */
	add_file_effect(step, RD_EFFECT_VALUE, at, r < 0 ? NULL : before, after, 0);
}

void rd_step_link(struct rd_step *step, const char *path, const char *target)
{
	char *at = place(step, path), *before = NULL;
	int r = rd_sysroot_readlink(step->sysroot, &before, at);

	if (r < 0 && r != -ENOENT)
		refuse(step, "'%s' is no link: %s", path, r == -EINVAL ? "something else is there" : rd_strerror(r));
	add_file_effect(step, RD_EFFECT_LINK, at, r < 0 ? NULL : before, target, 0);
}

static void add_run(struct rd_step *step, enum rd_effect_kind kind, const char *const argv[], const char *const undo[],
                    const char *owner_of)
{
	struct rd_effect *e = add_effect(step, kind);

	e->argv = copy_argv(argv);
	e->undo = copy_argv(undo);
	e->as_owner_of = owner_of ? rd_xstrdup(owner_of) : NULL;
}

void rd_step_run(struct rd_step *step, const char *const argv[], const char *const undo[])
{
	add_run(step, RD_EFFECT_RUN, argv, undo, NULL);
}

void rd_step_run_as_owner(struct rd_step *step, const char *const argv[], const char *const undo[], const char *path)
{
	add_run(step, RD_EFFECT_RUN, argv, undo, path);
}

/* Nothing to make effective where nothing is written. */
void rd_step_refresh(struct rd_step *step, const char *const argv[])
{
	for (size_t i = 0; i < step->effects_n; i++) {
		if (step->effects[i].kind != RD_EFFECT_REFRESH) {
			add_run(step, RD_EFFECT_REFRESH, argv, NULL, NULL);
			return;
		}
	}
}

void rd_step_renew(struct rd_step *step, const char *const argv[])
{
	add_run(step, RD_EFFECT_REFRESH, argv, NULL, NULL);
}

void rd_step_describe(struct rd_step *step, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	free(step->description);
	step->description = rd_strbuf_detach(&sb);
}

void rd_step_origin(struct rd_step *step, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	step->origins = rd_xreallocarray(step->origins, step->origins_n + 1, sizeof(*step->origins));
	step->origins[step->origins_n++] = rd_strbuf_detach(&sb);
}

void rd_step_needs(struct rd_step *step, unsigned flags)
{
	step->flags |= flags;
}

/* Also what is not UTF-8, which no printed form of the plan could give back. */
static bool has_control(const char *value)
{
	for (size_t n; *value; value += n) {
		n = rd_utf8_length(value);
		if (!n || (unsigned char)*value < 0x20 || *value == 0x7f)
			return true;
	}
	return false;
}

int rd_arg_check_name(const char *value, struct rd_error *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._:@~";

	if ((isalnum((unsigned char)*value) || *value == '_') && !value[strspn(value, good)] && strlen(value) <= NAME_MAX)
		return 0;
	return rd_error_set(err, -EINVAL, "'%.80s' is not a name that can be used here", value);
}

int rd_arg_check_path(const char *value, struct rd_error *err)
{
	if (*value == '/' && strlen(value) < PATH_MAX && !has_control(value) && !strstr(value, "/../") &&
	    !rd_str_has_suffix(value, "/.."))
		return 0;
	return rd_error_set(err, -EINVAL, "'%.80s' is not a path that can be used here", value);
}

/* The record's names must be the action's; a value of the host must not bring line ends or escapes with it. */
static int check_args(const struct rd_step *step, struct rd_error *err)
{
	const char *const *wanted = step->action->args;

	for (size_t i = 0; wanted[i]; i++) {
		rd_auto_free char *name = rd_xstrdup(wanted[i]);
		bool optional = rd_str_has_suffix(name, "?");

		name[strcspn(name, "?")] = '\0';
		if (!optional && !rd_step_arg(step, name))
			return rd_error_set(err, -EINVAL, "%s: argument '%s' is missing", step->action->name, name);
	}
	for (size_t i = 0; i < step->args_n; i++)
		if (has_control(step->args[i].value))
			return rd_error_set(err, -EINVAL, "%s: argument '%s' has control characters, or is not UTF-8",
			                    step->action->name, step->args[i].name);
	return 0;
}

int rd_step_lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	int r = check_args(step, err);

	if (r < 0)
		return r;
	clear_effects(step);
	step->sysroot = sr;
	r = step->action->lower(step, sr, err);
	step->sysroot = NULL;
	return r == 0 && step->refusal ? rd_error_set(err, -EOPNOTSUPP, "%s", step->refusal) : r;
}

const struct rd_action *rd_action_find(const char *name)
{
	for (size_t i = 0; i < rd_actions_n; i++)
		if (rd_streq(rd_actions[i]->name, name))
			return rd_actions[i];
	return NULL;
}
