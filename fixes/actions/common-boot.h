/* The kernels that this host may boot next, and what their boot entries are made of. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_strv;
struct rd_sysroot;

/* The running kernel, and the newest where another one is to be booted next. 0; -EOPNOTSUPP with the reason, -EINVAL. */
int boot_kernels(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret, struct rd_error *err) RD_MUST_CHECK;

/* Boot entries, each a file of "key value" lines, wherever the partition for them is mounted. Adds paths; 0 or -errno. */
int boot_entries(struct rd_sysroot *sr, struct rd_strv *ret) RD_MUST_CHECK;

/* Did kernel-install copy this kernel to the partition that the firmware reads? */
bool boot_is_copied(struct rd_sysroot *sr, const char *kernel);

/* Have kernel-install make this kernel's copy and entry anew. @effect: rd_step_refresh or rd_step_renew. */
int boot_install(struct rd_step *step, struct rd_sysroot *sr, const char *kernel,
                 void (*effect)(struct rd_step *step, const char *const argv[]), struct rd_error *err) RD_MUST_CHECK;
