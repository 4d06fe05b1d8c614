/* Words and quoting that the outputs of a plan share. */
#pragma once

#include <stdio.h>

#include "rocm-doctor/plan.h"

struct rd_strbuf;

const char *rd_step_words(const struct rd_step *step);

/* One argument as a POSIX shell takes it back: bare where that is safe, else in single quotes. */
void rd_quote_sh(struct rd_strbuf *sb, const char *text);
/* A whole command, arguments quoted. */
void rd_quote_command(struct rd_strbuf *sb, char *const argv[]);
/* A scalar in double quotes, as YAML takes it back. */
void rd_quote_yaml(struct rd_strbuf *sb, const char *text);
/* "#" comments: text without anything that ends a line. */
void rd_comment(struct rd_strbuf *sb, const char *text);
