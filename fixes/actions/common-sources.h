/* Edits of apt's sources, in files of one line a source and in deb822 files. */
#pragma once

#include <stdbool.h>

struct rd_error;
struct rd_step;
struct rd_sysroot;

/* Which sources are meant, and what becomes of them. */
struct source_edit {
	const char *file;
	const char *uri;               /* this very address; or */
	const char *product, *release; /* an address with both as parts of its path */
	const char *suite;             /* NULL: any */
	const char *new_uri, *new_suite;
	bool disable;
};

/* The edited file goes to the step as an effect; lists of a new place are fetched. 0, -EOPNOTSUPP with the reason, -EINVAL. */
int source_edit(struct rd_step *step, struct rd_sysroot *sr, const struct source_edit *edit, struct rd_error *err);
/* Fetch the lists of the sources in one file; what other sources come to does not matter, and their lists stay. */
void source_fetch_lists(struct rd_step *step, const char *file);
/* A value that apt reads as one word. 0 or -EINVAL. */
int source_check_word(const char *value, struct rd_error *err);
/* A file that apt reads sources from. 0 or -EINVAL. */
int source_check_file(const char *path, struct rd_error *err);
