/* Variables, in the files of the system that give them to logins. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_sysroot;

/*
 * environment_change - change every assignment of a variable
 * @judge: what becomes of an assignment: KEEP, DROP, or REPLACE with *ret, a new value as the file would write it (the
 *   callee allocates). @value is as written, quotes included.
 * @ret_seen: assignments that were or had been dropped or replaced, or that are as wanted
 *
 * Returns 0; -EOPNOTSUPP where an assignment is written in a way that is not edited here.
 */
enum environment_verdict { ENVIRONMENT_KEEP, ENVIRONMENT_DROP, ENVIRONMENT_REPLACE, ENVIRONMENT_RIGHT };
typedef enum environment_verdict environment_judge(const char *name, const char *value, void *data, char **ret);
int environment_change(struct rd_step *step, struct rd_sysroot *sr, const char *name, environment_judge *judge, void *data,
                       size_t *ret_seen, struct rd_error *err) RD_MUST_CHECK;

/* @value without the quotes around it; caller frees. */
char *environment_unquoted(const char *value) RD_MUST_CHECK;

/* No file of the system sets it: -EOPNOTSUPP with where it comes from, a user's own file or the session. */
int environment_not_ours(const struct rd_step *step, struct rd_sysroot *sr, const char *name, struct rd_error *err);
