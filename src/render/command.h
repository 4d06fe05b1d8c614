/* Commands in words for a person. */
#pragma once

#include "rocm-doctor/macros.h"

struct rd_strv;

/* Where the command of a step begins: at once, or behind words that end in a colon ("on the host: docker run ..."). NULL: none. */
const char *rd_command_in(const char *text);

/*
 * rd_command_about - a step whose command, where it is one of our own, is about what was examined here
 * @again: options for it, as a shell takes them; may be NULL
 *
 * One that names a process is about that. Caller frees.
 */
char *rd_command_about(const char *text, const struct rd_strv *again) RD_MUST_CHECK;
