/* What several actions on the system's own configuration need. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_strbuf;
struct rd_sysroot;

/* The first line of every file that rocm-doctor makes. */
#define FIX_HEADER "# Written by rocm-doctor fix; rocm-doctor undo takes it back.\n"
/* Stands before a line that was switched off. */
#define FIX_OFF "# rocm-doctor: "

/* -EOPNOTSUPP with the reason: what cannot be read or decided here makes a step advice, never a plan that fails. */
int fix_unable(struct rd_error *err, const char *format, ...) RD_PRINTF(2, 3);

/*
 * Does the system have a program of this name in one of its own folders? Of a tree without any programs, its distribution
 * tells.
 */
bool fix_has_program(struct rd_sysroot *sr, const char *name);
/* The first of several, NULL-terminated; NULL: none. */
const char *fix_first_program(struct rd_sysroot *sr, const char *const names[]);

/*
 * Does systemd, or udevd, run here? Their programs fail in a container that has them and is not theirs. Of a tree, does it have
 * the program?
 */
bool fix_runs_systemd(struct rd_sysroot *sr);
bool fix_runs_udev(struct rd_sysroot *sr);

/* Have systemd read its units again, where it runs: else it will, when it starts. */
void fix_reload_systemd(struct rd_step *step, struct rd_sysroot *sr);

/*
 * fix_read - the text of a file that is to be edited; the caller frees
 *
 * Returns 0, with NULL where there is no such file; else -EOPNOTSUPP with the reason: it cannot be read, is no text, or
 * the path leads through a symbolic link, which no edit follows.
 */
int fix_read(struct rd_sysroot *sr, char **ret, const char *path, struct rd_error *err) RD_MUST_CHECK;

/* A value that means the same in a shell, a unit file and a modprobe.d line: no quotes, blanks, "$" or "\\". 0 or -EINVAL. */
int fix_check_value(const char *value, struct rd_error *err) RD_MUST_CHECK;
/* A word of letters, digits, "_" and "-": a module, a parameter, a limit. 0 or -EINVAL. */
int fix_check_word(const char *word, struct rd_error *err) RD_MUST_CHECK;
/* A name of a variable. 0 or -EINVAL. */
int fix_check_variable(const char *name, struct rd_error *err) RD_MUST_CHECK;
/* A PCI address, DDDD:BB:DD.F. 0 or -EINVAL. */
int fix_check_address(const char *address, struct rd_error *err) RD_MUST_CHECK;
/* A systemd service, with ".service" at its end; caller frees. */
int fix_unit(char **ret, const char *unit, struct rd_error *err) RD_MUST_CHECK;

/* A whole line, among those of a text. */
bool fix_has_line(const char *text, const char *line);

/*
 * fix_edit - rewrite a file of the system line by line
 * @edit: appends what a line (without its end) becomes to @out; false: keep it as it is
 *
 * A missing end of the last line stays missing. Returns 0 or what fix_read() gives; a file that is not there is left alone.
 */
typedef bool fix_edit_line(const char *line, struct rd_strbuf *out, void *data);
int fix_edit(struct rd_step *step, struct rd_sysroot *sr, const char *path, fix_edit_line *edit, void *data,
             struct rd_error *err) RD_MUST_CHECK;

/*
 * fix_add_line - a line at the end of a drop-in file of ours, which is made where it is not there
 * @head: what comes behind FIX_HEADER in a new file, "" for nothing
 */
int fix_add_line(struct rd_step *step, struct rd_sysroot *sr, const char *path, const char *head, const char *line,
                 struct rd_error *err) RD_MUST_CHECK;
