/* What the commands share: the table of commands, their options, and what the options said. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/transaction.h"
#include "util/strv.h"

struct rd_app;
struct rd_diagnosis;
struct rd_fact;
struct rd_knowledge;
struct rd_sysroot;

/* Exit statuses, as the contract has them. */
enum {
	RD_EXIT_OK = 0,
	RD_EXIT_FOUND = 1,
	RD_EXIT_USAGE = 2,
	RD_EXIT_BROKEN = 3,
	RD_EXIT_DECLINED = 4,
	RD_EXIT_CHANGES = 5, /* --detailed-exitcode: the plan is not empty */
	RD_EXIT_LEFT = 6,    /* rolling back is incomplete */
	RD_EXIT_LATER = 10,  /* a reboot or login finishes it */
};

/* Whether a command that is printed for a person to run next has an option as well, so that it is about the same. */
enum rd_again {
	RD_AGAIN_NOT,
	RD_AGAIN_ANY, /* of any command that examines something */
	RD_AGAIN_FIX, /* of fix alone */
};

/* One option: its row is all that parsing, help and completion need. */
struct rd_option {
	const char *name; /* without dashes */
	char letter;      /* 0: none */
	const char *arg;  /* NULL: takes none */
	const char *help;
	/* Returns 0, or -EINVAL after saying why. */
	int (*set)(struct rd_app *app, const char *value);
	enum rd_again again;
};

struct rd_command {
	const char *name;
	const char *args; /* what stands behind the options, "" for nothing */
	const char *summary;
	const char *details;             /* a paragraph for its help; may be NULL */
	bool probes;                     /* takes the options that every probing command takes */
	const struct rd_option *options; /* ends with a zeroed row; may be NULL */
	const char *formats;             /* of --format, separated by blanks; the first is the default */
	int (*run)(struct rd_app *app, int argc, char *argv[]);
};

enum rd_fail_on { RD_FAIL_ON_ERROR, RD_FAIL_ON_WARNING, RD_FAIL_ON_UNKNOWN, RD_FAIL_ON_NEVER };
enum rd_color { RD_COLOR_AUTO, RD_COLOR_ALWAYS, RD_COLOR_NEVER };

struct rd_app {
	const struct rd_command *command;
	/* probing */
	const char *root, *user, *container;
	unsigned pid;
	struct rd_strv pythons, rule_dirs;
	struct rd_strv again[RD_AGAIN_FIX + 1]; /* by enum rd_again: options as they were given, as a shell takes them */
	bool network;
	bool strict;       /* built-in rules are judged too */
	bool faulty_rules; /* they were read and are wrong */
	/* output */
	const char *format, *output;
	enum rd_color color;
	int verbosity;
	bool help;
	/* check */
	struct rd_strv layers, only, skip, requires;
	const char *profile;
	enum rd_fail_on fail_on;
	bool if_gpu, list;
	unsigned timeout_s;
	/* fix, undo */
	bool dry_run, yes, force, detailed_exitcode, no_network;
	int until; /* enum rd_layer; -1: all */
	/* targets */
	struct rd_strv gfx;
	/* made by the functions below */
	struct rd_knowledge *knowledge;
	struct rd_sysroot *sysroot;
	struct rd_fact *facts;
	uint64_t begin_us;
};

extern const struct rd_command rd_commands[];
extern const size_t rd_commands_n;
const struct rd_command *rd_command_find(const char *name);

/* One line on standard output, with what could drive a terminal escaped. */
void rd_app_say(const char *format, ...) RD_PRINTF(1, 2);

/* Say what is wrong, with the command's name before it. Returns @status. */
int rd_app_fail(const struct rd_app *app, int status, const char *format, ...) RD_PRINTF(3, 4);

/* Built-in rules and those of the usual folders and --rules. 0 or an exit status. */
int rd_app_load_knowledge(struct rd_app *app);
/* The root alone. 0 or an exit status. */
int rd_app_open_root(struct rd_app *app);
/* The root, and all facts of it. 0 or an exit status. */
int rd_app_probe(struct rd_app *app);
void rd_app_release(struct rd_app *app);

/* "; did you mean kernel/nomodeset?" for a name that no finding has, "" where nothing is near. Caller frees. */
char *rd_app_near(const struct rd_app *app, const char *name);
/* The same for one of a list of words; @before stands before each. */
char *rd_near_word(const char *word, size_t length, const char *before, const struct rd_strv *names);
/* Complains of a command that there is not. Returns the exit status. */
int rd_app_no_command(const struct rd_app *app, const char *name);
/* A pattern that fits no rule is a typing error. 0 or an exit status. */
int rd_app_check_patterns(const struct rd_app *app, const char *option, const struct rd_strv *globs);
/* Ask, unless --yes. 0, or RD_EXIT_DECLINED where the answer is no or nobody can be asked. */
int rd_app_confirm(const struct rd_app *app, const char *question);
/* What the listener shows of a program while it runs ends here. */
void rd_app_end_brief(void);
/* A text of the host as it may be printed: nothing that drives a terminal, no passwords and tokens. Caller frees. */
char *rd_app_shown(const char *text) RD_MUST_CHECK;
struct rd_tx_listener rd_app_listener(const struct rd_app *app);

/* Columns, colour and characters of standard output. */
struct rd_text_options rd_app_text_options(const struct rd_app *app);
bool rd_app_wants(const struct rd_app *app, const char *format);

/* Words in lines of at most 79 columns, from @indent on, where the cursor stands. */
void rd_help_wrap(const char *text, size_t indent, FILE *out);
void rd_help_show(FILE *out);
void rd_help_show_command(const struct rd_command *command, FILE *out);

int cmd_check(struct rd_app *app, int argc, char *argv[]);
int cmd_facts(struct rd_app *app, int argc, char *argv[]);
int cmd_rules(struct rd_app *app, int argc, char *argv[]);
int cmd_why_library(struct rd_app *app, int argc, char *argv[]);
int cmd_targets(struct rd_app *app, int argc, char *argv[]);
int cmd_fix(struct rd_app *app, int argc, char *argv[]);
int cmd_undo(struct rd_app *app, int argc, char *argv[]);
int cmd_history(struct rd_app *app, int argc, char *argv[]);
int cmd_help(struct rd_app *app, int argc, char *argv[]);

extern const struct rd_option rd_common_options[], rd_probing_options[], rd_check_options[], rd_facts_options[],
	rd_rules_options[], rd_fix_options[], rd_undo_options[], rd_targets_options[];
