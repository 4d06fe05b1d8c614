/* Packages of one Python environment: what is in it, by its dist-info folders, and the program that changes it. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"
#include "util/strv.h"

struct rd_error;
struct rd_sysroot;

/* "torch==2.9.1+rocm6.4", or a name alone. */
struct pip_requirement {
	char *name;    /* as in PEP 503 */
	char *version; /* NULL: whichever goes with the others */
};

struct pip_requirements {
	struct pip_requirement *v;
	size_t n;
};

/* Words separated by blanks. 0 or -EINVAL. */
int pip_parse(const char *text, struct pip_requirements *ret, struct rd_error *err);
void pip_clear(struct pip_requirements *requirements);
#define pip_auto_requirements rd_auto(pip_clear)

/* -EOPNOTSUPP where pip must not, or cannot, change the environment; the reason in @err. */
int pip_check_environment(struct rd_sysroot *sr, const char *prefix, struct rd_error *err);
/* The version that is installed; NULL: none. Caller frees. */
char *pip_installed(struct rd_sysroot *sr, const char *prefix, const char *name);
/* The index that a build came from, as its local version tells; NULL: not known. Caller frees. */
char *pip_index_of(const char *version);
