#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "rocm-doctor/knowledge.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

const struct rd_command rd_commands[] = {
	{
		.name = "check",
		.args = "",
		.summary = "probe, diagnose, print; the exit status gates a pipeline",
		.details = "Examines this host, or the tree of one (--root), and names the root cause of what does not work. "
			   "Exit status: 0 nothing at or above the gate, 1 a finding at or above it or an unmet --require, "
			   "2 wrong usage, 3 could not examine.",
		.probes = true,
		.options = rd_check_options,
		.formats = "text json",
		.run = cmd_check,
	},
	{
		.name = "facts",
		.args = "",
		.summary = "everything the probes saw, as JSON, without judgement",
		.probes = true,
		.options = rd_facts_options,
		.formats = "json",
		.run = cmd_facts,
	},
	{
		.name = "fix",
		.args = "",
		.summary = "plan and apply the fixes of the current findings (--dry-run first)",
		.details =
			"Each change is shown before it is made, recorded before it is made, verified after, and can be "
			"undone. "
			"Exit status: 0 nothing to do or all applied and verified, 1 an action failed and all was rolled back, "
			"2 wrong usage, 3 could not examine or not permitted, 4 declined, 5 (--detailed-exitcode) the plan is "
			"not "
			"empty, 6 rolling back is incomplete, 10 a reboot or new login finishes it.",
		.probes = true,
		.options = rd_fix_options,
		.formats = "text json sh ansible cloud-init dockerfile",
		.run = cmd_fix,
	},
	{
		.name = "undo",
		.args = "[ID]",
		.summary = "roll back a transaction (the last, or ID)",
		.options = rd_undo_options,
		.formats = "text",
		.run = cmd_undo,
	},
	{
		.name = "history",
		.args = "",
		.summary = "the transactions applied on this host",
		.formats = "text json",
		.run = cmd_history,
	},
	{
		.name = "rules",
		.args = "list | show ID | facts | lint [DIR] | test DIR",
		.summary = "the rule catalogue",
		.options = rd_rules_options,
		.formats = "text json",
		.run = cmd_rules,
	},
	{
		.name = "why-library",
		.args = "[PATH|ENV] [SONAME]",
		.summary = "which copy of a library a program gets, and by which rule of the loader",
		.details =
			"Walks the search of glibc's loader for a program, a library or the PyTorch of a Python environment, "
			"with the libraries that ROCm opens at run time, and runs nothing. With a SONAME every place of the "
			"search is told. With --pid or --container and no PATH: the process, what it has really mapped, and "
			"what a new start of it would load.",
		.probes = true,
		.formats = "text json",
		.run = cmd_why_library,
	},
	{
		.name = "targets",
		.args = "[FILE|DIR|ENV]",
		.summary = "which GPUs the device code in a file, folder or environment runs on",
		.details =
			"Lists the targets of libraries, code objects, bundles, kpack archives and static libraries, and says "
			"for each GPU of this host, or each --gfx, whether it can run them. With --pid or --container and no "
			"FILE: of what the process has really mapped. Exit status: 1 where one cannot, or where there is no "
			"device code at all; 3 where something could not be read.",
		.probes = true,
		.options = rd_targets_options,
		.formats = "text json",
		.run = cmd_targets,
	},
	{
		.name = "help",
		.args = "[COMMAND]",
		.summary = "what a command does and takes",
		.formats = "text",
		.run = cmd_help,
	},
};
const size_t rd_commands_n = RD_ARRAY_SIZE(rd_commands);

const struct rd_command *rd_command_find(const char *name)
{
	for (size_t i = 0; i < rd_commands_n; i++)
		if (rd_streq(rd_commands[i].name, name))
			return &rd_commands[i];
	return NULL;
}

int rd_app_no_command(const struct rd_app *app, const char *name)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *near = NULL;

	for (size_t i = 0; i < rd_commands_n; i++)
		rd_strv_push(&names, rd_commands[i].name);
	near = rd_near_word(name, strlen(name), "", &names);
	return rd_app_fail(app, RD_EXIT_USAGE, "no command '%s'%s; see 'rocm-doctor help'", name, near);
}

int rd_app_fail(const struct rd_app *app, int status, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_free char *clean = NULL;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_redact(sb.buf);
	clean = rd_str_printable(sb.buf);
	if (app->command)
		fprintf(stderr, "rocm-doctor %s: %s\n", app->command->name, clean);
	else
		fprintf(stderr, "rocm-doctor: %s\n", clean);
	return status;
}

void rd_app_say(const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_free char *clean = NULL;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	clean = rd_str_printable(sb.buf);
	puts(clean);
}

/* The rows of a command as getopt wants them; each long option's value is its place in the list. */
struct option_table {
	const struct rd_option **rows;
	struct option *longs;
	struct rd_strbuf shorts;
	size_t n, rows_allocated;
};

static void add_rows(struct option_table *t, const struct rd_option *rows)
{
	for (; rows && rows->name; rows++) {
		RD_GROW(t->rows, t->n, t->rows_allocated);
		t->rows[t->n++] = rows;
		if (rows->letter)
			rd_strbuf_addf(&t->shorts, "%c%s", rows->letter, rows->arg ? ":" : "");
	}
}

static void build_table(struct option_table *t, const struct rd_command *command)
{
	rd_strbuf_add(&t->shorts, ":");
	add_rows(t, command->options);
	if (command->probes)
		add_rows(t, rd_probing_options);
	add_rows(t, rd_common_options);
	t->longs = rd_xcalloc(t->n + 1, sizeof(*t->longs));
	for (size_t i = 0; i < t->n; i++)
		t->longs[i] = (struct option){ t->rows[i]->name, t->rows[i]->arg ? required_argument : no_argument, NULL,
			                       (int)(1000 + i) };
}

static const struct rd_option *find_row(const struct option_table *t, int c)
{
	if (c >= 1000)
		return t->rows[c - 1000];
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i]->letter == c)
			return t->rows[i];
	return NULL;
}

/* Also where it begins several. */
static char *near_option(const struct option_table *t, const char *given)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	for (size_t i = 0; i < t->n; i++)
		rd_strv_push(&names, t->rows[i]->name);
	given += strspn(given, "-");
	return rd_near_word(given, strcspn(given, "="), "--", &names);
}

static int complain(const struct rd_app *app, const struct option_table *t, int c, char *const argv[])
{
	rd_auto_free char *near = NULL;

	if (c == ':' && optopt >= 1000)
		return rd_app_fail(app, -EINVAL, "option '--%s' wants %s", t->rows[optopt - 1000]->name,
		                   t->rows[optopt - 1000]->arg);
	if (c == ':')
		return rd_app_fail(app, -EINVAL, "option '-%c' wants a value", optopt);
	if (optopt >= 1000)
		return rd_app_fail(app, -EINVAL, "option '--%s' takes no value", t->rows[optopt - 1000]->name);
	if (optopt)
		return rd_app_fail(app, -EINVAL, "no option '-%c'; see 'rocm-doctor help %s'", optopt, app->command->name);
	near = near_option(t, argv[optind - 1]);
	return rd_app_fail(app, -EINVAL, "no option '%s'%s; see 'rocm-doctor help %s'", argv[optind - 1], near,
	                   app->command->name);
}

/* To be repeated in commands that are printed. */
static void remember(struct rd_app *app, const struct rd_option *row, const char *value)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_addf(&sb, "--%s", row->name);
	if (row->arg) {
		rd_strbuf_addc(&sb, ' ');
		rd_strbuf_add_sh(&sb, value);
	}
	rd_strv_push_unique(&app->again[row->again], sb.buf);
}

static int parse_options(struct rd_app *app, int argc, char *argv[])
{
	struct option_table t = { .shorts = RD_STRBUF_INIT };
	int c, r = 0;

	build_table(&t, app->command);
	opterr = 0;
	while (r >= 0 && (c = getopt_long(argc, argv, t.shorts.buf, t.longs, NULL)) != -1) {
		const struct rd_option *row = c == ':' || c == '?' ? NULL : find_row(&t, c);

		r = row ? row->set(app, optarg) : complain(app, &t, c, argv);
		if (r >= 0)
			remember(app, row, optarg);
	}
	free(t.rows);
	free(t.longs);
	rd_strbuf_release(&t.shorts);
	return r;
}

bool rd_app_wants(const struct rd_app *app, const char *format)
{
	const char *formats = app->command->formats;

	if (app->format)
		return rd_streq(app->format, format);
	return strncmp(formats, format, strcspn(formats, " ")) == 0 && strlen(format) == strcspn(formats, " ");
}

static int check_format(const struct rd_app *app)
{
	rd_auto_strv struct rd_strv formats = RD_STRV_INIT;

	rd_strv_split(&formats, app->command->formats, " ", false);
	if (!app->format || rd_strv_has(&formats, app->format))
		return 0;
	return rd_app_fail(app, -EINVAL, "no format '%s'; there are: %s", app->format, app->command->formats);
}

static int run(struct rd_app *app, int argc, char *argv[])
{
	int status = RD_EXIT_OK;

	if (parse_options(app, argc, argv) < 0 || check_format(app) < 0)
		status = RD_EXIT_USAGE;
	else if (app->help)
		rd_help_show_command(app->command, stdout);
	else
		status = app->command->run(app, argc - optind, argv + optind);
	rd_app_release(app);
	return status;
}

static int show_version(struct rd_app *app)
{
	int status = rd_app_load_knowledge(app);

	if (!status)
		printf("rocm-doctor %s (knowledge of %s)\n", RD_VERSION, rd_knowledge_version(app->knowledge));
	rd_app_release(app);
	return status;
}

static int dispatch(struct rd_app *app, int argc, char *argv[])
{
	if (argc < 2) {
		rd_help_show(stderr);
		return RD_EXIT_USAGE;
	}
	if (rd_streq(argv[1], "--version"))
		return show_version(app);
	if (rd_streq(argv[1], "--help") || rd_streq(argv[1], "-h")) {
		rd_help_show(stdout);
		return RD_EXIT_OK;
	}
	app->command = rd_command_find(argv[1]);
	if (!app->command)
		return rd_app_no_command(app, argv[1]);
	return run(app, argc - 1, argv + 1);
}

/*
 * Where a standard stream is closed, the next file that is opened takes its number, and what is printed would go into the journal
 * of a fix. What holds the place here can be neither read nor written, so that the stream is as good as closed.
 */
static void hold_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/", O_PATH);
}

int main(int argc, char *argv[])
{
	struct timespec now;
	struct rd_app app = { .until = -1 };
	int status;

	hold_closed_streams();
#ifdef M_TRIM_THRESHOLD
	/* What one probe gives back the next one wants. */
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	app.begin_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	status = dispatch(&app, argc, argv);
	/* A report that was not written whole must not look like a healthy host. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		/* Said already where a command looked for itself. */
		if (status != RD_EXIT_BROKEN)
			rd_app_fail(&app, 0, "cannot write to standard output: %s", rd_strerror(errno));
		return RD_EXIT_BROKEN;
	}
	return status;
}
