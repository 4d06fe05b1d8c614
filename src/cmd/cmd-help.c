#include <string.h>

#include "app.h"
#include "util/str.h"
#include "util/strbuf.h"

void rd_help_wrap(const char *text, size_t indent, FILE *out)
{
	size_t at = indent;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > indent && at + 1 + n > 79) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", (int)n, text);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

void rd_help_show(FILE *out)
{
	fputs("rocm-doctor: which link of the ROCm chain is broken, why, and what to do\n\n"
	      "usage: rocm-doctor COMMAND [OPTIONS]\n\n",
	      out);
	for (size_t i = 0; i < rd_commands_n; i++) {
		fprintf(out, "  %-12s ", rd_commands[i].name);
		rd_help_wrap(rd_commands[i].summary, 15, out);
	}
	fputs("\nrocm-doctor help COMMAND tells what it takes; --version tells the version.\n", out);
}

static void show_rows(const struct rd_option *rows, FILE *out)
{
	for (; rows && rows->name; rows++) {
		rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

		if (rows->letter)
			rd_strbuf_addf(&sb, "-%c, ", rows->letter);
		rd_strbuf_addf(&sb, "--%s%s%s", rows->name, rows->arg ? " " : "", rows->arg ? rows->arg : "");
		fprintf(out, "  %-20s ", sb.buf);
		rd_help_wrap(rows->help, 23, out);
	}
}

void rd_help_show_command(const struct rd_command *command, FILE *out)
{
	fprintf(out, "rocm-doctor %s: %s\n\n", command->name, command->summary);
	fprintf(out, "usage: rocm-doctor %s [OPTIONS]%s%s\n\n", command->name, *command->args ? " " : "", command->args);
	if (command->details) {
		rd_help_wrap(command->details, 0, out);
		putc('\n', out);
	}
	show_rows(command->options, out);
	if (command->probes)
		show_rows(rd_probing_options, out);
	show_rows(rd_common_options, out);
	if (strchr(command->formats, ' '))
		fprintf(out, "\nformats: %s\n", command->formats);
}

int cmd_help(struct rd_app *app, int argc, char *argv[])
{
	const struct rd_command *command;

	if (argc < 1) {
		rd_help_show(stdout);
		return RD_EXIT_OK;
	}
	command = rd_command_find(argv[0]);
	if (!command)
		return rd_app_no_command(app, argv[0]);
	rd_help_show_command(command, stdout);
	return RD_EXIT_OK;
}
