/* Installing packages at exact versions. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_step;
struct rd_sysroot;

struct pkg_request {
	const char *packages; /* as pkg_parse_names() takes them */
	const char *version;  /* exactly this one; NULL: the newest of those that fit */
	const char *release;  /* of ROCm, in AMD's versions; NULL: any */
	const char *from;     /* "amd" or "distribution"; NULL: either */
	const char *build;    /* end of the version; NULL: any */
	const char *origin;   /* where @version comes from, for the plan */
	const char *avoid;    /* a version with this in it is known to be bad; NULL: none is */
	const char *kernel;   /* the version is that of this kernel's package; NULL: it is not */
	bool named;           /* the name is the pin */
};

/* The command, its undo and where the versions come from, on the step; nothing where all is as it should be. */
int pkg_install(struct rd_step *step, struct rd_sysroot *sr, const struct pkg_request *asked,
                struct rd_error *err) RD_MUST_CHECK;
