/*
 * The rpm database of a root, read without rpm. Only the SQLite form (rpmdb.sqlite) can be read; the older ones (Berkeley DB,
 * ndb) are named in the error.
 */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_strv;
struct rd_sysroot;

#define RD_RPMDB_PATH "/var/lib/rpm/rpmdb.sqlite"

/* Strings are valid during the call only; never NULL. */
struct rd_rpm_package {
	const char *name, *version, *release, *vendor, *arch;
	unsigned epoch;
	const struct rd_strv *files; /* names without folders, of those that the reader wants */
};

struct rd_rpm_reader {
	bool (*want)(void *data, const char *name);
	bool (*want_file)(const char *name); /* NULL: none */
	void (*take)(void *data, const struct rd_rpm_package *package);
	void *data;
};

/*
 * rd_rpmdb_read - every installed package that the reader wants
 * @ret_path: the database that was found, /var/lib/rpm or /usr/lib/sysimage/rpm; untouched where there is none
 *
 * Headers of other packages are not read. libsqlite3 is loaded when there is such a database, not before.
 *
 * Returns 0; -ENOENT where the root has no rpm database; -EOPNOTSUPP for one of another form, or where libsqlite3 is not on
 * the machine that the program runs on; -EBADMSG for a damaged one; other read errors. @err says which.
 * Source: rpm lib/backend/sqlite.c (tables) and rpm lib/header.c (header blobs).
 */
int rd_rpmdb_read(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char **ret_path,
                  struct rd_error *err) RD_MUST_CHECK;
