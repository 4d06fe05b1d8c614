/* What went wrong, in words for a person; filled where a person will read it. */
#pragma once

#include "rocm-doctor/macros.h"

struct rd_error {
	int code; /* negative errno, 0 when nothing went wrong */
	char *message;
};

#define RD_ERROR_INIT \
	{ \
		0, NULL \
	}

/*
 * rd_error_set - record an error and return its code
 * @err: may be NULL; the first error recorded is kept
 * @code: negative errno
 * @format: lower case, no full stop, subject quoted
 *
 * Returns @code, so that callers can write "return rd_error_set(...)".
 */
int rd_error_set(struct rd_error *err, int code, const char *format, ...) RD_PRINTF(3, 4);

void rd_error_clear(struct rd_error *err);

/*
 * rd_strerror - the words for an errno as this program uses them
 * @err: positive or negative errno
 *
 * ENODATA is "not captured in this snapshot"; everything else in lower case, the same in every locale.
 */
const char *rd_strerror(int err);

/*
 * rd_errno_name - "EACCES" for EACCES; NULL for a number without a name here
 * rd_errno_value - the positive errno of a name; 0 where the name is not known
 */
const char *rd_errno_name(int err);
int rd_errno_value(const char *name);
