/*
 * The rpm database of a root, read without rpm, in each of its forms: SQLite (RHEL 9, Fedora), ndb (SUSE), Berkeley DB (RHEL 8,
 * SLES 12).
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
 * Headers of other packages are not read, but for their names. libsqlite3 is loaded when there is such a database, not before.
 *
 * Returns 0; -ENOENT where the root has no rpm database; -EOPNOTSUPP for a variant that is not known, or where libsqlite3 is
 * not on the machine that the program runs on; -EBADMSG for a damaged one; other read errors. @err says which.
 * Source: rpm lib/backend/sqlite.c, lib/backend/ndb/rpmpkg.c and (rpm 4.14) lib/backend/db3.c; rpm lib/header.c (header blobs).
 */
int rd_rpmdb_read(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char **ret_path,
                  struct rd_error *err) RD_MUST_CHECK;

/*
 * rd_rpm_locks_read - patterns of names that dnf's versionlock (plugin and dnf 5) or zypper keep at a version
 *
 * A file that cannot be read adds none.
 */
void rd_rpm_locks_read(struct rd_sysroot *sr, struct rd_strv *ret);
bool rd_rpm_locks_hold(const struct rd_strv *locks, const char *name);
