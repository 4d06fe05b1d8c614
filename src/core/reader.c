#include <errno.h>
#include <string.h>

#include "rocm-doctor/reader.h"
#include "rocm-doctor/sysroot.h"
#include "util/bytes.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

struct rd_reader rd_reader_of_file(struct rd_file *file)
{
	rd_file_keep_head(file);
	return (struct rd_reader){ .file = file, .size = rd_file_size(file) };
}

struct rd_reader rd_reader_of_bytes(const void *bytes, size_t len)
{
	return (struct rd_reader){ .bytes = bytes, .size = len };
}

struct rd_reader rd_reader_window(const struct rd_reader *r, uint64_t offset, uint64_t size)
{
	struct rd_reader ret = *r;

	if (offset > r->size)
		offset = r->size;
	ret.start = r->start + offset;
	ret.size = size < r->size - offset ? size : r->size - offset;
	return ret;
}

int rd_reader_pread(const struct rd_reader *r, void *buf, size_t len, uint64_t offset)
{
	if (!rd_inside(offset, len, r->size))
		return -ENODATA;
	if (!len)
		return 0;
	if (r->file)
		return rd_file_pread(r->file, buf, len, r->start + offset);
	memcpy(buf, r->bytes + r->start + offset, len);
	return 0;
}

ssize_t rd_reader_pread_some(const struct rd_reader *r, void *buf, size_t len, uint64_t offset)
{
	int ret;

	if (offset >= r->size)
		return 0;
	if (len > r->size - offset)
		len = (size_t)(r->size - offset);
	ret = rd_reader_pread(r, buf, len, offset);
	return ret < 0 ? ret : (ssize_t)len;
}

int rd_reader_string(const struct rd_reader *r, char **ret, uint64_t offset, size_t max)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	char piece[64];

	while (sb.len <= max) {
		ssize_t n = rd_reader_pread_some(r, piece, sizeof(piece), offset);
		const char *end;

		if (n <= 0)
			return n < 0 ? (int)n : -ENODATA;
		end = memchr(piece, '\0', (size_t)n);
		rd_strbuf_addn(&sb, piece, end ? (size_t)(end - piece) : (size_t)n);
		if (end) {
			*ret = rd_strbuf_detach(&sb);
			return 0;
		}
		offset += (uint64_t)n;
	}
	return -ENODATA;
}

/* Makes the byte at @offset part of the block; it then holds all that follows it, up to the block's end. */
static int load(struct rd_block *b, uint64_t offset, size_t len)
{
	ssize_t n;

	if (offset >= b->at && offset - b->at <= b->len && len <= b->len - (size_t)(offset - b->at))
		return 0;
	b->at = offset - offset % 64;
	n = rd_reader_pread_some(&b->reader, b->bytes, sizeof(b->bytes), b->at);
	b->len = n > 0 ? (size_t)n : 0;
	return n < 0 ? (int)n : 0;
}

int rd_block_pread(struct rd_block *b, void *buf, size_t len, uint64_t offset)
{
	int r;

	if (!rd_inside(offset, len, b->reader.size))
		return -ENODATA;
	if (len > sizeof(b->bytes) - 64)
		return rd_reader_pread(&b->reader, buf, len, offset);
	r = load(b, offset, len);
	if (r < 0)
		return r;
	memcpy(buf, b->bytes + (offset - b->at), len);
	return 0;
}

int rd_block_string(struct rd_block *b, char **ret, uint64_t offset, size_t max)
{
	const char *at, *end;
	int r;

	if (offset >= b->reader.size)
		return -ENODATA;
	for (int again = 0; again < 2; again++) {
		r = load(b, offset, 1);
		if (r < 0)
			return r;
		at = (const char *)b->bytes + (offset - b->at);
		end = memchr(at, '\0', b->len - (size_t)(offset - b->at));
		if (end) {
			*ret = rd_xstrndup(at, (size_t)(end - at));
			return 0;
		}
		/* Cut by the block's end: once more with a block that begins here. */
		b->len = 0;
	}
	return rd_reader_string(&b->reader, ret, offset, max);
}
