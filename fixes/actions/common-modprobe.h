/* Files of modprobe.d. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_strv;
struct rd_sysroot;

/* In module names '-' and '_' are one (modprobe(8)). */
bool modprobe_same_module(const char *a, const char *b);

/*
 * modprobe_switch_off - make comments of the lines that @is_wanted picks
 * @file: below /etc it is edited; one of a package, or of /run, is hidden by an edited copy of its name in /etc/modprobe.d
 * @is_wanted: judges the words of a logical line
 */
int modprobe_switch_off(struct rd_step *step, struct rd_sysroot *sr, const char *file, const char *module,
                        bool (*is_wanted)(const struct rd_strv *words, const char *module), struct rd_error *err) RD_MUST_CHECK;
