/*
 * The Berkeley DB form of the rpm database (RHEL 8, SLES 12): a hash, of which every bucket is looked through. A bucket is a
 * chain of pages, and so is a value that does not fit its page.
 * Source: Berkeley DB 5.3 src/dbinc/db_page.h (pages), rpm 4.14 lib/backend/db3.c (what is in them).
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/macros.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/rpmdb.h"
#include "rpmdb-internal.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#define META_SIZE 512u
#define PAGE_HEADER 26u
#define PAGE_MIN 512u
#define PAGE_MAX 65536u
#define HASH_MAGIC 0x061561u

enum { PAGE_HASH_UNSORTED = 2, PAGE_OVERFLOW = 7, PAGE_HASH = 13 };
enum { ITEM_HERE = 1, ITEM_ELSEWHERE = 3 };

static uint16_t le16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

struct bdb {
	struct rd_reader file;
	uint32_t page_size, pages, buckets;
	uint32_t spares[32]; /* pages before the buckets of each doubling of their number */
};

/* A value in a chain of pages; reads go forward mostly, so where the last one ended is kept. */
struct bdb_blob {
	struct rpm_blob base;
	const struct bdb *db;
	uint32_t first; /* page of the chain; 0: the value is at here */
	uint64_t here;
	uint32_t page, next; /* the page at hand, and its follower */
	size_t begin, len;   /* which bytes of the value it has */
	uint32_t steps;      /* a chain that leads in a circle ends here */
};

static int go_to_page(struct bdb_blob *b, uint32_t page, size_t begin)
{
	unsigned char header[PAGE_HEADER];

	if (!page || page >= b->db->pages || b->steps++ > 2 * b->db->pages ||
	    rd_reader_pread(&b->db->file, header, sizeof(header), (uint64_t)page * b->db->page_size) < 0)
		return -EBADMSG;
	b->len = le16(header + 22);
	if (header[25] != PAGE_OVERFLOW || !b->len || b->len > b->db->page_size - PAGE_HEADER)
		return -EBADMSG;
	b->page = page;
	b->next = le32(header + 16);
	b->begin = begin;
	return 0;
}

static int blob_read(struct rpm_blob *base, void *buf, size_t len, size_t at)
{
	struct bdb_blob *b = (struct bdb_blob *)base;
	int r = 0;

	if (!b->first)
		return rd_reader_pread(&b->db->file, buf, len, b->here + at);
	if (!b->page || at < b->begin) {
		b->steps = 0;
		r = go_to_page(b, b->first, 0);
	}
	for (size_t done = 0; r == 0 && done < len;) {
		size_t off, n;

		if (at + done >= b->begin + b->len) {
			r = go_to_page(b, b->next, b->begin + b->len);
			continue;
		}
		off = at + done - b->begin;
		n = b->len - off < len - done ? b->len - off : len - done;
		r = rd_reader_pread(&b->db->file, (char *)buf + done, n,
		                    (uint64_t)b->page * b->db->page_size + PAGE_HEADER + off);
		done += n;
	}
	return r;
}

/* The counter of packages is a value of four bytes, under the key 0; headers are all longer. */
static int read_value(const struct bdb *db, const unsigned char *page, uint64_t page_at, size_t at, size_t end,
                      const struct rd_rpm_reader *reader)
{
	struct bdb_blob blob = { .base = { .read = blob_read }, .db = db };

	if (page[at] == ITEM_HERE) {
		blob.here = page_at + at + 1;
		blob.base.size = end - at - 1;
	} else if (page[at] == ITEM_ELSEWHERE && end - at >= 12) {
		blob.first = le32(page + at + 4);
		blob.base.size = le32(page + at + 8);
		if (!blob.first || blob.base.size > db->file.size)
			return -EBADMSG;
	} else {
		return -EBADMSG;
	}
	return blob.base.size <= 4 ? 0 : rpm_header_read(&blob.base, NULL, reader);
}

/* Items stand at the end of a page, the first one last; keys and values take turns. */
static int read_page(const struct bdb *db, const unsigned char *page, uint64_t page_at, const struct rd_rpm_reader *reader)
{
	unsigned items = le16(page + 20);

	/* A page of zeros is a bucket that nothing was put into yet. */
	if (!page[25] && !items)
		return 0;
	if (page[25] != PAGE_HASH && page[25] != PAGE_HASH_UNSORTED)
		return -EBADMSG;
	if (items % 2 || PAGE_HEADER + items * 2 > db->page_size)
		return -EBADMSG;
	for (unsigned i = 1; i < items; i += 2) {
		size_t at = le16(page + PAGE_HEADER + i * 2), end = le16(page + PAGE_HEADER + (i - 1) * 2);
		int r;

		if (at < PAGE_HEADER + items * 2 || at >= end || end > db->page_size)
			return -EBADMSG;
		r = read_value(db, page, page_at, at, end, reader);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_meta(struct bdb *db, struct rd_error *err)
{
	unsigned char meta[META_SIZE];
	int r = rd_reader_pread(&db->file, meta, sizeof(meta), 0);

	if (r < 0 && r != -ENODATA)
		return rd_error_set(err, r, "the rpm database cannot be read: %s", rd_strerror(r));
	if (r == -ENODATA || le32(meta + 12) != HASH_MAGIC)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "an rpm database in the form of Berkeley DB that is not a hash of this byte order");
	db->page_size = le32(meta + 20);
	if (meta[24])
		return rd_error_set(err, -EOPNOTSUPP, "an encrypted rpm database");
	if (db->page_size < PAGE_MIN || db->page_size > PAGE_MAX || db->page_size & (db->page_size - 1))
		return rd_error_set(err, -EBADMSG, "the rpm database is damaged: it has pages of %u bytes", db->page_size);
	db->pages = (uint32_t)(db->file.size / db->page_size < UINT32_MAX ? db->file.size / db->page_size : UINT32_MAX);
	if (le32(meta + 32) >= db->pages)
		return rd_error_set(err, -EBADMSG, "the rpm database is damaged: it is shorter than it says");
	db->pages = le32(meta + 32) + 1;
	db->buckets = le32(meta + 72) + 1;
	for (unsigned i = 0; i < RD_ARRAY_SIZE(db->spares); i++)
		db->spares[i] = le32(meta + 96 + i * 4);
	if (!db->buckets || db->buckets > db->pages)
		return rd_error_set(err, -EBADMSG, "the rpm database is damaged: it has more buckets than pages");
	return 0;
}

static uint32_t bucket_page(const struct bdb *db, uint32_t bucket)
{
	unsigned doubling = 0;

	while (((uint64_t)1 << doubling) < (uint64_t)bucket + 1)
		doubling++;
	return bucket + db->spares[doubling];
}

int rpmdb_read_bdb(const struct rd_reader *file, const struct rd_rpm_reader *reader, struct rd_error *err)
{
	struct bdb db = { .file = *file };
	rd_auto_free unsigned char *page = rd_xmalloc(PAGE_MAX);
	uint32_t looked_at = 0;
	int r = open_meta(&db, err);

	if (r < 0)
		return r;
	for (uint32_t bucket = 0; bucket < db.buckets && r == 0; bucket++)
		for (uint32_t next = bucket_page(&db, bucket); next && r == 0; next = le32(page + 16)) {
			uint64_t at = (uint64_t)next * db.page_size;

			/* No more pages than there are: chains that meet or lead in a circle are none. */
			r = next >= db.pages || looked_at++ >= db.pages ? -EBADMSG
			                                                : rd_reader_pread(file, page, db.page_size, at);
			if (r == 0)
				r = read_page(&db, page, at, reader);
		}
	r = r == -ENODATA ? -EBADMSG : r;
	return r < 0 ? rd_error_set(err, r, "the rpm database %s",
	                            r == -EBADMSG ? "is damaged: a package is not where it says" : rd_strerror(r))
	             : 0;
}
