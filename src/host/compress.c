/* gzip, xz and Zstandard by their libraries, with a ceiling on what comes out. */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "rocm-doctor/compress.h"

#include "util/cleanup.h"
#include "util/xalloc.h"

/* windowBits above this ask zlib for a gzip header instead of its own. */
#define GZIP_FORMAT 16
#define XZ_MEMORY_MAX ((uint64_t)128 << 20)

/* One decompressor at work: a step fills what is free of the output. */
struct unpacker {
	char *out;
	size_t size, used, max;
	/* 1: the end, 0: more, negative errno. @idle: it can neither take nor give any more. */
	int (*step)(struct unpacker *u, bool *ret_idle);
	void *state;
};

static int unpack_all(struct unpacker *u, char **ret, size_t *ret_len)
{
	int r = 0;

	u->size = u->max < (64 << 10) ? u->max : 64 << 10;
	while (r == 0) {
		bool idle = false;

		/* One byte more than allowed tells what fits exactly from what does not. */
		u->out = rd_xreallocarray(u->out, u->size + 2, 1);
		r = u->step(u, &idle);
		if (r < 0)
			return r;
		if (u->used > u->max)
			return -EFBIG;
		if (r == 0 && u->used <= u->size && idle)
			return -EBADMSG;
		if (r == 0 && u->used > u->size)
			u->size = u->size > u->max / 2 ? u->max : u->size * 2;
	}
	u->out[u->used] = '\0';
	if (ret_len)
		*ret_len = u->used;
	*ret = rd_steal(u->out);
	return 0;
}

static int step_gzip(struct unpacker *u, bool *ret_idle)
{
	z_stream *z = u->state;
	int r;

	z->next_out = (unsigned char *)u->out + u->used;
	z->avail_out = (unsigned)(u->size + 1 - u->used);
	r = inflate(z, Z_NO_FLUSH);
	u->used = u->size + 1 - z->avail_out;
	*ret_idle = z->avail_in == 0 || r == Z_BUF_ERROR;
	return r == Z_STREAM_END ? 1 : r == Z_OK || r == Z_BUF_ERROR ? 0 : -EBADMSG;
}

int rd_gunzip(const void *data, size_t len, size_t max, char **ret, size_t *ret_len)
{
	z_stream z = { 0 };
	struct unpacker u = { .max = max, .step = step_gzip, .state = &z };
	int r;

	if (len > UINT_MAX || max > INT_MAX)
		return -EFBIG;
	if (inflateInit2(&z, GZIP_FORMAT + MAX_WBITS) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)(uintptr_t)data;
	z.avail_in = (unsigned)len;
	r = unpack_all(&u, ret, ret_len);
	inflateEnd(&z);
	free(u.out);
	return r;
}

static int step_xz(struct unpacker *u, bool *ret_idle)
{
	lzma_stream *x = u->state;
	lzma_ret r;

	x->next_out = (uint8_t *)u->out + u->used;
	x->avail_out = u->size + 1 - u->used;
	r = lzma_code(x, LZMA_RUN);
	u->used = u->size + 1 - x->avail_out;
	*ret_idle = x->avail_in == 0 || r == LZMA_BUF_ERROR;
	if (r == LZMA_STREAM_END)
		return 1;
	if (r == LZMA_MEMLIMIT_ERROR || r == LZMA_MEM_ERROR)
		return -ENOMEM;
	return r == LZMA_OK || r == LZMA_BUF_ERROR ? 0 : -EBADMSG;
}

static int unpack_xz(const void *data, size_t len, size_t max, char **ret, size_t *ret_len)
{
	lzma_stream x = LZMA_STREAM_INIT;
	struct unpacker u = { .max = max, .step = step_xz, .state = &x };
	int r;

	if (lzma_stream_decoder(&x, XZ_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	x.next_in = data;
	x.avail_in = len;
	r = unpack_all(&u, ret, ret_len);
	lzma_end(&x);
	free(u.out);
	return r;
}

struct zstd {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
};

static int step_zstd(struct unpacker *u, bool *ret_idle)
{
	struct zstd *z = u->state;
	ZSTD_outBuffer out = { u->out, u->size + 1, u->used };
	size_t r = ZSTD_decompressStream(z->stream, &out, &z->in);

	u->used = out.pos;
	*ret_idle = z->in.pos == z->in.size && out.pos < out.size;
	return ZSTD_isError(r) ? -EBADMSG : r == 0;
}

/* A frame that says its size, as those of files do, is unpacked in one go, without a window beside the output. */
static int unpack_zstd_sized(const void *data, size_t len, size_t size, char **ret, size_t *ret_len)
{
	rd_auto_free char *out = rd_xmalloc(size + 1);
	size_t n = ZSTD_decompress(out, size, data, len);

	if (ZSTD_isError(n) || n != size)
		return -EBADMSG;
	out[n] = '\0';
	if (ret_len)
		*ret_len = n;
	*ret = rd_steal(out);
	return 0;
}

static int unpack_zstd(const void *data, size_t len, size_t max, char **ret, size_t *ret_len)
{
	unsigned long long size = ZSTD_getFrameContentSize(data, len);
	struct zstd z = { .in = { data, len, 0 } };
	struct unpacker u = { .max = max, .step = step_zstd, .state = &z };
	int r;

	if (size == ZSTD_CONTENTSIZE_ERROR)
		return -EBADMSG;
	if (size != ZSTD_CONTENTSIZE_UNKNOWN)
		return size > max ? -EFBIG : unpack_zstd_sized(data, len, (size_t)size, ret, ret_len);
	z.stream = ZSTD_createDStream();
	if (!z.stream)
		return -ENOMEM;
	r = unpack_all(&u, ret, ret_len);
	ZSTD_freeDStream(z.stream);
	free(u.out);
	return r;
}

int rd_unpack(const void *data, size_t len, size_t max, char **ret, size_t *ret_len)
{
	static const struct {
		const char *magic;
		size_t n;
		int (*unpack)(const void *data, size_t len, size_t max, char **ret, size_t *ret_len);
	} formats[] = {
		{ "\x1f\x8b", 2, rd_gunzip },
		{ "\xfd"
		  "7zXZ",
		  6, unpack_xz },
		{ "\x28\xb5\x2f\xfd", 4, unpack_zstd },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(formats); i++) {
		if (len >= formats[i].n && memcmp(data, formats[i].magic, formats[i].n) == 0)
			return formats[i].unpack(data, len, max, ret, ret_len);
	}
	return -EBADMSG;
}
