/*
 * The SQLite form of the rpm database through libsqlite3, which reads it over the sysroot: a read-only VFS of our own, so that SQLite opens,
 * locks and writes nothing itself. The library is loaded at run time and only where there is such a database.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "rpmdb-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#if __has_include(<sqlite3.h>)
#include <sqlite3.h>

struct library {
	void *handle;
	int (*vfs_register)(sqlite3_vfs *, int);
	int (*vfs_unregister)(sqlite3_vfs *);
	int (*open)(const char *, sqlite3 **, int, const char *);
	int (*close)(sqlite3 *);
	int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
	int (*prepare)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
	int (*step)(sqlite3_stmt *);
	int (*finalize)(sqlite3_stmt *);
	const unsigned char *(*column_text)(sqlite3_stmt *, int);
	sqlite3_int64 (*column_int64)(sqlite3_stmt *, int);
	const char *(*errmsg)(sqlite3 *);
	int (*blob_open)(sqlite3 *, const char *, const char *, const char *, sqlite3_int64, int, sqlite3_blob **);
	int (*blob_bytes)(sqlite3_blob *);
	int (*blob_read)(sqlite3_blob *, void *, int, int);
	int (*blob_close)(sqlite3_blob *);
	int (*limit)(sqlite3 *, int, int);
};

static int library_load(struct library *lib, struct rd_error *err)
{
	const struct {
		const char *name;
		void *function;
	} symbols[] = {
		{ "sqlite3_vfs_register", &lib->vfs_register },
		{ "sqlite3_vfs_unregister", &lib->vfs_unregister },
		{ "sqlite3_open_v2", &lib->open },
		{ "sqlite3_close_v2", &lib->close },
		{ "sqlite3_exec", &lib->exec },
		{ "sqlite3_prepare_v2", &lib->prepare },
		{ "sqlite3_step", &lib->step },
		{ "sqlite3_finalize", &lib->finalize },
		{ "sqlite3_column_text", &lib->column_text },
		{ "sqlite3_column_int64", &lib->column_int64 },
		{ "sqlite3_errmsg", &lib->errmsg },
		{ "sqlite3_blob_open", &lib->blob_open },
		{ "sqlite3_blob_bytes", &lib->blob_bytes },
		{ "sqlite3_blob_read", &lib->blob_read },
		{ "sqlite3_blob_close", &lib->blob_close },
		{ "sqlite3_limit", &lib->limit },
	};

	lib->handle = dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_LOCAL);
	if (!lib->handle)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "libsqlite3.so.0 is not on this machine, so the rpm database cannot be read");
	for (size_t i = 0; i < RD_ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(lib->handle, symbols[i].name);

		if (!symbol)
			return rd_error_set(err, -EOPNOTSUPP, "libsqlite3.so.0 has no %s", symbols[i].name);
		memcpy(symbols[i].function, &symbol, sizeof(symbol));
	}
	return 0;
}

/* The VFS: files are the database and its write-ahead log, both of the sysroot. */
struct vfs_file {
	sqlite3_file base;
	struct rd_file *file;
};

static int file_close(sqlite3_file *f)
{
	struct vfs_file *vf = (struct vfs_file *)f;

	vf->file = rd_file_close(vf->file);
	return SQLITE_OK;
}

static int file_read(sqlite3_file *f, void *buf, int len, sqlite3_int64 off)
{
	struct vfs_file *vf = (struct vfs_file *)f;
	uint64_t size = rd_file_size(vf->file), at = (uint64_t)off;
	size_t want = (size_t)len, have = at >= size ? 0 : size - at < want ? (size_t)(size - at) : want;

	if (have && rd_file_pread(vf->file, buf, have, at) < 0)
		return SQLITE_IOERR_READ;
	if (have == want)
		return SQLITE_OK;
	memset((char *)buf + have, 0, want - have);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *f, const void *buf, int len, sqlite3_int64 off)
{
	(void)f, (void)buf, (void)len, (void)off;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	(void)f, (void)size;
	return SQLITE_READONLY;
}

static int file_sync(sqlite3_file *f, int flags)
{
	(void)f, (void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)rd_file_size(((struct vfs_file *)f)->file);
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *f, int level)
{
	(void)f, (void)level;
	return SQLITE_OK;
}

static int file_check_lock(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	(void)f, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *f)
{
	(void)f;
	return 4096;
}

static int file_characteristics(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static const sqlite3_io_methods io_methods = {
	/* Version 1 has no shared memory: in exclusive mode SQLite then keeps the index of a write-ahead log to itself. */
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct vfs_file *vf = (struct vfs_file *)f;

	vf->base.pMethods = NULL;
	vf->file = NULL;
	if (!name || rd_file_open(vfs->pAppData, &vf->file, name) < 0)
		return SQLITE_CANTOPEN;
	vf->base.pMethods = &io_methods;
	if (ret_flags)
		*ret_flags = (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_IOERR_DELETE;
}

/* A rollback journal could not be played back here, so none is ever there; a write-ahead log only has to be read. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	*ret = flags != SQLITE_ACCESS_READWRITE && rd_str_has_suffix(name, "-wal") &&
	       rd_sysroot_exists(vfs->pAppData, name) == 1;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	size_t len = strlen(name);

	(void)vfs;
	if (len >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(ret, name, len + 1);
	return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int len, char *buf)
{
	(void)vfs;
	memset(buf, 0, (size_t)len);
	return len;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
	(void)vfs;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int len, char *buf)
{
	(void)vfs, (void)len, (void)buf;
	return 0;
}

/* Names of interest with their rows; the table is an index of its own, so headers stay unread. */
struct row {
	sqlite3_int64 number;
	char *name;
};

struct rows {
	struct row *v;
	size_t n, allocated;
};

/* More packages of interest than any host has: the database is not what it says. */
#define ROWS_MAX 8192

static int list_rows(const struct library *lib, sqlite3 *db, const struct rd_rpm_reader *reader, struct rows *rows)
{
	sqlite3_stmt *statement = NULL;
	int rc = lib->prepare(db, "SELECT key, hnum FROM Name", -1, &statement, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		const char *name;

		rc = lib->step(statement);
		if (rc != SQLITE_ROW)
			break;
		name = (const char *)lib->column_text(statement, 0);
		if (!name || rows->n >= ROWS_MAX || !reader->want(reader->data, name))
			continue;
		RD_GROW(rows->v, rows->n, rows->allocated);
		rows->v[rows->n].name = rd_xstrdup(name);
		rows->v[rows->n++].number = lib->column_int64(statement, 1);
	}
	lib->finalize(statement);
	return rc;
}

/* A header is read in pieces out of its row. */
struct sqlite_blob {
	struct rpm_blob base;
	const struct library *lib;
	sqlite3_blob *blob;
};

static int blob_read(struct rpm_blob *base, void *buf, size_t len, size_t at)
{
	struct sqlite_blob *b = (struct sqlite_blob *)base;

	return b->lib->blob_read(b->blob, buf, (int)len, (int)at) == SQLITE_OK ? 0 : -EBADMSG;
}

static int read_package(const struct library *lib, sqlite3 *db, const struct row *row, const struct rd_rpm_reader *reader)
{
	struct sqlite_blob blob = { .base = { .read = blob_read }, .lib = lib };
	int r = -EBADMSG;

	if (lib->blob_open(db, "main", "Packages", "blob", row->number, 0, &blob.blob) == SQLITE_OK) {
		blob.base.size = (size_t)lib->blob_bytes(blob.blob);
		r = rpm_header_read(&blob.base, row->name, reader);
	}
	if (blob.blob)
		lib->blob_close(blob.blob);
	return r;
}

static int walk(const struct library *lib, sqlite3 *db, const struct rd_rpm_reader *reader, const char *path,
                struct rd_error *err)
{
	struct rows rows = { 0 };
	int rc, r = 0;

	lib->limit(db, SQLITE_LIMIT_LENGTH, 256 << 20);
	lib->exec(db, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-512; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF",
	          NULL, NULL, NULL);
	rc = list_rows(lib, db, reader, &rows);
	if (rc != SQLITE_DONE)
		r = rd_error_set(err, -EBADMSG, "the rpm database is damaged: %s", lib->errmsg(db));
	for (size_t i = 0; i < rows.n && r >= 0; i++) {
		r = read_package(lib, db, &rows.v[i], reader);
		if (r < 0)
			rd_error_set(err, r, "the rpm database '%s' has a damaged header of '%s'", path, rows.v[i].name);
	}
	for (size_t i = 0; i < rows.n; i++)
		free(rows.v[i].name);
	free(rows.v);
	return r;
}

int rpmdb_read_sqlite(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err)
{
	sqlite3_vfs vfs = {
		.iVersion = 1,
		.szOsFile = sizeof(struct vfs_file),
		.mxPathname = 512,
		.zName = "rocm-doctor",
		.pAppData = sr,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_last_error,
	};
	struct library lib = { 0 };
	sqlite3 *db = NULL;
	int r;

	r = library_load(&lib, err);
	if (r >= 0) {
		lib.vfs_register(&vfs, 0);
		if (lib.open(path, &db, SQLITE_OPEN_READONLY, vfs.zName) == SQLITE_OK)
			r = walk(&lib, db, reader, path, err);
		else
			r = rd_error_set(err, -EBADMSG, "the rpm database cannot be opened: %s", lib.errmsg(db));
		lib.close(db);
		lib.vfs_unregister(&vfs);
	}
	if (lib.handle)
		dlclose(lib.handle);
	return r;
}
#else
int rpmdb_read_sqlite(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err)
{
	(void)sr, (void)reader, (void)path;
	return rd_error_set(err, -EOPNOTSUPP, "this build cannot read rpm databases (sqlite3.h was not there)");
}
#endif
