/* The JSON files that the build put into the program. */
#pragma once

#include <stddef.h>

struct rd_embedded {
	const char *name; /* "rules/kernel.json" */
	const char *text; /* NUL-terminated */
	size_t len;
};

/* Ends with a row whose name is NULL. */
extern const struct rd_embedded rd_embedded_files[];
