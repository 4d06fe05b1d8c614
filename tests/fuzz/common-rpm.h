/* Any bytes as an rpm database: every package is whole text, and a failure has a reason. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/rpmdb-internal.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/rpmdb.h"
#include "util/strv.h"

static bool want(void *data, const char *name)
{
	return strlen(name) <= *(const size_t *)data;
}

static bool want_file(const char *name)
{
	return *name == 'l';
}

static void take(void *data, const struct rd_rpm_package *p)
{
	size_t size = *(const size_t *)data;

	if (strlen(p->name) + strlen(p->version) > 2 * size || strlen(p->release) > size || strlen(p->vendor) > size ||
	    strlen(p->arch) > size || p->files->n > size)
		abort();
}

typedef int rpmdb_read(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err);

static inline int fuzz_rpm(rpmdb_read *read, const uint8_t *data, size_t size)
{
	struct rd_reader file = rd_reader_of_bytes(data, size);
	struct rd_rpm_reader reader = { want, want_file, take, &size };
	struct rd_error err = RD_ERROR_INIT;
	int r = read(&file, &reader, &err);

	if (r > 0 || (r < 0 && (!err.message || (r != -EBADMSG && r != -EOPNOTSUPP))))
		abort();
	rd_error_clear(&err);
	return 0;
}
