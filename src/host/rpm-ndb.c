/*
 * The ndb form of the rpm database (SUSE): pages of slots, each with the place of one package's header. All numbers are little
 * endian; places are told in blocks of 16 bytes.
 * Source: rpm lib/backend/ndb/rpmpkg.c.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/rpmdb.h"
#include "rpmdb-internal.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#define PAGE_SIZE 4096u
#define BLOCK_SIZE 16u
/* The first two slots are the file's own header. */
#define HEADER_SIZE 32u
#define HEAD_SIZE 16u
#define TAIL_SIZE 12u

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Counts, index and name of nearly every package are in its first bytes. */
struct ndb_blob {
	struct rpm_blob base;
	struct rd_reader reader;
	size_t begin_len;
	unsigned char begin[4096];
};

static int blob_read(struct rpm_blob *base, void *buf, size_t len, size_t at)
{
	struct ndb_blob *b = (struct ndb_blob *)base;

	if (len <= b->begin_len && at <= b->begin_len - len) {
		memcpy(buf, b->begin + at, len);
		return 0;
	}
	return rd_reader_pread(&b->reader, buf, len, at);
}

static int read_package(const struct rd_reader *file, const unsigned char *slot, struct ndb_blob *blob,
                        const struct rd_rpm_reader *reader)
{
	uint64_t at = (uint64_t)le32(slot + 8) * BLOCK_SIZE, room = (uint64_t)le32(slot + 12) * BLOCK_SIZE;
	struct rd_reader place = rd_reader_window(file, at, room);
	unsigned char head[HEAD_SIZE];
	ssize_t n;

	if (place.size != room || room < HEAD_SIZE + TAIL_SIZE || rd_reader_pread(&place, head, sizeof(head), 0) < 0 ||
	    memcmp(head, "BlbS", 4) != 0 || memcmp(head + 4, slot + 4, 4) != 0 ||
	    le32(head + 12) > room - HEAD_SIZE - TAIL_SIZE)
		return -EBADMSG;
	blob->reader = rd_reader_window(&place, HEAD_SIZE, le32(head + 12));
	blob->base.size = (size_t)blob->reader.size;
	n = rd_reader_pread_some(&blob->reader, blob->begin, sizeof(blob->begin), 0);
	if (n < 0)
		return (int)n;
	blob->begin_len = (size_t)n;
	return rpm_header_read(&blob->base, NULL, reader);
}

static int read_page(const struct rd_reader *file, uint32_t page, struct ndb_blob *blob, const struct rd_rpm_reader *reader)
{
	unsigned char slots[PAGE_SIZE];
	int r = rd_reader_pread(file, slots, sizeof(slots), (uint64_t)page * PAGE_SIZE);

	for (unsigned at = page ? 0 : HEADER_SIZE; at < PAGE_SIZE && r == 0; at += BLOCK_SIZE) {
		if (memcmp(slots + at, "Slot", 4) != 0)
			return -EBADMSG;
		if (le32(slots + at + 8))
			r = read_package(file, slots + at, blob, reader);
	}
	return r == -ENODATA ? -EBADMSG : r;
}

int rpmdb_read_ndb(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err)
{
	unsigned char header[HEADER_SIZE];
	rd_auto_free struct ndb_blob *blob = rd_xcalloc(1, sizeof(*blob));
	int r = rd_reader_pread(file, header, sizeof(header), 0);

	if (r == -ENODATA || (r == 0 && memcmp(header, "RpmP", 4) != 0))
		return rd_error_set(err, -EBADMSG, "the rpm database is damaged: it has no beginning of one");
	if (r == 0 && le32(header + 4) != 0)
		return rd_error_set(err, -EOPNOTSUPP, "an rpm database in the form of ndb, version %u, which cannot be read",
		                    le32(header + 4));
	blob->base.read = blob_read;
	for (uint32_t page = 0; r == 0 && page < le32(header + 12); page++)
		r = read_page(file, page, blob, reader);
	return r < 0 ? rd_error_set(err, r, "the rpm database %s",
	                            r == -EBADMSG ? "is damaged: a package is not where it says" : rd_strerror(r))
	             : 0;
}
