/* Packages of one Python environment: what is in it, by its dist-info folders, and the program that changes it. */
#pragma once

#include <stdbool.h>

#include "common-packages.h"
#include "rocm-doctor/macros.h"
#include "util/cleanup.h"
#include "util/strv.h"

struct rd_error;
struct rd_sysroot;

/* "torch[device-gfx942]==2.14.0+rocm10.1.0", or a name alone. */
struct pip_requirement {
	char *name;            /* as in PEP 503 */
	char *version;         /* NULL: whichever there is */
	struct rd_strv extras; /* parts that are packages of their own */
	char *text;            /* all of it */
};

struct pip_requirements {
	struct pip_requirement *v;
	size_t n;
};

/* PEP 503: lower case, runs of "-", "_" and "." are one "-". Caller frees. */
char *pip_normal(const char *name, size_t n);
/* The name of what a dist-info folder tells of; NULL: none. Caller frees. */
char *pip_name_of(const char *folder);
/* Words separated by blanks. 0 or -EINVAL. */
int pip_parse(const char *text, struct pip_requirements *ret, struct rd_error *err);
void pip_clear(struct pip_requirements *requirements);
#define pip_auto_requirements rd_auto(pip_clear)

/* The environment's own pip, or a uv for one without. */
struct pip_tool {
	char *python; /* of the environment */
	char *uv;     /* NULL: pip */
};

/* -EOPNOTSUPP where nothing must, or can, change the environment; the reason in @err. */
int pip_tool_find(struct rd_sysroot *sr, const char *prefix, struct pip_tool *ret, struct rd_error *err);
void pip_tool_clear(struct pip_tool *tool);
#define pip_auto_tool rd_auto(pip_tool_clear)
/* The beginning of a command: "install" or "uninstall", which asks nothing. */
void pip_begin(struct argv *argv, const struct pip_tool *tool, const char *verb);
/* The package that an extra of another one brings, where that is known: "amd-torch-device-gfx942"; NULL: not. Caller frees. */
char *pip_package_of_extra(const char *name, const char *extra);
/* The version that is installed; NULL: none. Caller frees. */
char *pip_installed(struct rd_sysroot *sr, const char *prefix, const char *name);
/* The index that a build came from, as its local version tells; NULL: not known. Caller frees. */
char *pip_index_of(const char *version);
