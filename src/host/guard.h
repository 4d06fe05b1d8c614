/* The one child process that check may start: it does what can block for ever on a hung GPU. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"

/* An answer later than this counts as none; so does what comes after this much waiting over all calls. */
#define RD_GUARD_CALL_MS 2000
#define RD_GUARD_TOTAL_MS 6000
/* A sysfs attribute is one page; a request is a path. */
#define RD_GUARD_DATA_MAX 4096

struct rd_guard;

/*
 * rd_guard_new - prepare a guard; the child is started by the first call
 * @serve: runs in the child: writes at most RD_GUARD_DATA_MAX bytes to @data, returns their number or -errno
 */
struct rd_guard *rd_guard_new(int (*serve)(char op, const char *path, char *data), int call_ms, int total_ms);
struct rd_guard *rd_guard_free(struct rd_guard *g);

/*
 * rd_guard_call - have one thing done in the child
 * Returns the number of bytes in @data or -errno; -ETIMEDOUT from the first late answer on.
 */
int rd_guard_call(struct rd_guard *g, char op, const char *path, char data[RD_GUARD_DATA_MAX]) RD_MUST_CHECK;
