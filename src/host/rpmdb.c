/* Which form of the rpm database is here, and where. */

#include <errno.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "rpmdb-internal.h"

static int read_file(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err,
                     int (*form)(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err))
{
	struct rd_reader bytes;
	struct rd_file *file;
	int r = rd_file_open(sr, &file, path);

	if (r < 0)
		return rd_error_set(err, r, "%s", rd_strerror(r));
	bytes = rd_reader_of_file(file);
	r = form(&bytes, reader, err);
	rd_file_close(file);
	return r;
}

static int read_ndb(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err)
{
	return read_file(sr, reader, path, err, rpmdb_read_ndb);
}

static int read_bdb(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err)
{
	return read_file(sr, reader, path, err, rpmdb_read_bdb);
}

/* A host that was converted keeps no older form beside the newer one; the newest is looked for first. */
static const struct {
	const char *path;
	int (*read)(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char *path, struct rd_error *err);
} forms[] = {
	{ RD_RPMDB_PATH, rpmdb_read_sqlite },
	{ "/usr/lib/sysimage/rpm/rpmdb.sqlite", rpmdb_read_sqlite },
	{ "/usr/lib/sysimage/rpm/Packages.db", read_ndb },
	{ "/var/lib/rpm/Packages.db", read_ndb },
	{ "/var/lib/rpm/Packages", read_bdb },
	{ "/usr/lib/sysimage/rpm/Packages", read_bdb },
};

int rd_rpmdb_read(struct rd_sysroot *sr, const struct rd_rpm_reader *reader, const char **ret_path, struct rd_error *err)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		int r = rd_sysroot_exists(sr, forms[i].path);

		if (r == 0 || r == -ENOENT)
			continue;
		*ret_path = forms[i].path;
		if (r < 0)
			return rd_error_set(err, r, "%s", rd_strerror(r));
		return forms[i].read(sr, reader, forms[i].path, err);
	}
	return -ENOENT;
}
