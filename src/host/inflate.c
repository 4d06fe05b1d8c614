#include <errno.h>

#include <zlib.h>
#include <zstd.h>

#include "rocm-doctor/inflate.h"

/* Small at first: most tables are in the first kilobytes of a stream, and there are streams by the thousand. */
enum { FIRST_PIECE = 1024, PIECE = 4096 };

struct input {
	const struct rd_reader *packed;
	uint64_t at;
	unsigned char bytes[PIECE];
};

static ssize_t next_piece(struct input *in)
{
	ssize_t n = rd_reader_pread_some(in->packed, in->bytes, in->at ? PIECE : FIRST_PIECE, in->at);

	if (n > 0)
		in->at += (uint64_t)n;
	return n;
}

static ssize_t inflate_zlib(struct input *in, void *ret, size_t len)
{
	z_stream z = { .next_out = ret, .avail_out = (uInt)len };
	ssize_t n = 0;
	int r = Z_OK;

	if (len > UINT32_MAX || inflateInit(&z) != Z_OK)
		return -ENOMEM;
	while (r == Z_OK && z.avail_out) {
		n = next_piece(in);
		if (n <= 0)
			break;
		z.next_in = in->bytes;
		z.avail_in = (uInt)n;
		r = inflate(&z, Z_NO_FLUSH);
		if (r == Z_BUF_ERROR)
			r = Z_OK;
	}
	len -= z.avail_out;
	inflateEnd(&z);
	if (n < 0)
		return n;
	return (r == Z_OK && !z.avail_out) || r == Z_STREAM_END ? (ssize_t)len : -EBADMSG;
}

static ssize_t run_zstd(ZSTD_DStream *z, struct input *in, ZSTD_outBuffer *out)
{
	while (out->pos < out->size) {
		ssize_t n = next_piece(in);
		ZSTD_inBuffer piece = { in->bytes, n > 0 ? (size_t)n : 0, 0 };

		if (n < 0)
			return n;
		if (n == 0)
			return -EBADMSG;
		while (piece.pos < piece.size && out->pos < out->size) {
			size_t r = ZSTD_decompressStream(z, out, &piece);

			if (ZSTD_isError(r))
				return -EBADMSG;
			if (r == 0)
				return (ssize_t)out->pos;
		}
	}
	return (ssize_t)out->pos;
}

static ssize_t inflate_zstd(struct input *in, void *ret, size_t len)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_outBuffer out = { ret, len, 0 };
	ssize_t n;

	if (!z)
		return -ENOMEM;
	n = run_zstd(z, in, &out);
	ZSTD_freeDStream(z);
	return n;
}

ssize_t rd_inflate_head(const struct rd_reader *packed, enum rd_compression method, void *ret, size_t len, uint64_t *ret_read)
{
	struct input in = { .packed = packed };
	ssize_t n = -EOPNOTSUPP;

	if (method == RD_ZLIB)
		n = inflate_zlib(&in, ret, len);
	else if (method == RD_ZSTD)
		n = inflate_zstd(&in, ret, len);
	if (ret_read)
		*ret_read = in.at;
	return n;
}
