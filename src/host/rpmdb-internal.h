/* What the forms of the rpm database share: headers of packages, wherever their bytes are. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_reader;
struct rd_rpm_reader;
struct rd_sysroot;

/* The header of one package. read() gives all of it or an error; it is never asked for more than there is. */
struct rpm_blob {
	size_t size;
	int (*read)(struct rpm_blob *blob, void *buf, size_t len, size_t at);
};

/*
 * rpm_header_read - let the reader take the package of one header, if it wants it
 * @name: NULL: look for it in the header, and ask the reader whether it wants that
 *
 * Returns 0, also for a package that the reader does not want; -EBADMSG for what is no header.
 * Source: rpm lib/header.c.
 */
int rpm_header_read(struct rpm_blob *blob, const char *name, const struct rd_rpm_reader *reader) RD_MUST_CHECK;

int rpmdb_read_sqlite(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path,
                      struct rd_error *err) RD_MUST_CHECK;
/* Over the bytes of the file, whatever they are: -EBADMSG for a damaged one, -EOPNOTSUPP for a variant that is not known here. */
int rpmdb_read_ndb(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err) RD_MUST_CHECK;
int rpmdb_read_bdb(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err) RD_MUST_CHECK;
