/* Words and quoting that the outputs of a plan share. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "rocm-doctor/plan.h"

struct rd_strbuf;
struct rd_strv;

const char *rd_step_words(const struct rd_step *step);

/* A whole command, arguments quoted. */
void rd_quote_command(struct rd_strbuf *sb, char *const argv[]);
/* A string in double quotes, as JSON takes it back, and YAML as well. What is not UTF-8 has no such form: ask rd_is_utf8(). */
void rd_quote_json(struct rd_strbuf *sb, const char *text);
void rd_quote_list(struct rd_strbuf *sb, const char *const argv[]);
bool rd_is_utf8(const char *text);
char *rd_base64(const char *text) RD_MUST_CHECK;
char *rd_folder_of(const char *path) RD_MUST_CHECK;
/* A program that writes an effect's content, whatever bytes it has; a NULL stands behind the last. */
void rd_content_argv(struct rd_strv *ret, const struct rd_effect *e);
/* An effect's program with what makes it run as the owner; a NULL stands behind the last. */
void rd_owner_argv(struct rd_strv *ret, const struct rd_effect *e);
/* "#" comments: text without anything that ends a line. */
void rd_comment(struct rd_strbuf *sb, const char *text);
/* A line of comment for each version or value of a step: where it came from. */
void rd_comment_origins(struct rd_strbuf *sb, const struct rd_step *step, const char *indent);
/* What a person has to do beside the plan, as comments; nothing where there is none. */
void rd_comment_advice(struct rd_strbuf *sb, const struct rd_plan *plan);
/* Whether a step runs a program with this first argument ("apt-get", "install"). */
bool rd_step_runs(const struct rd_step *step, const char *program, const char *verb);
