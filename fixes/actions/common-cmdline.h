/* The kernel command line, as the boot loader of this host keeps it. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_sysroot;

/*
 * cmdline_change - add a word to the command line of every boot, or take one out
 * @word: "iommu=pt", "nomodeset"; taken out of a list, "modprobe.blacklist=amdgpu" leaves the list's other items
 *
 * Returns 0, also where nothing is to be done; -EINVAL for a word that is none; -EOPNOTSUPP with the reason.
 */
int cmdline_change(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err) RD_MUST_CHECK;
