/* gzip by zlib, with a ceiling on what comes out. */

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

#include "rocm-doctor/compress.h"

#include "util/cleanup.h"
#include "util/xalloc.h"

/* windowBits above this ask zlib for a gzip header instead of its own. */
#define GZIP_FORMAT 16

static int inflate_all(z_stream *z, size_t max, char **ret, size_t *ret_len)
{
	size_t size = 64 << 10;
	rd_auto_free char *out = NULL;
	size_t n = 0;
	int r;

	for (;;) {
		out = rd_xreallocarray(out, size + 1, 1);
		z->next_out = (unsigned char *)out + n;
		z->avail_out = (unsigned)(size - n);
		r = inflate(z, Z_NO_FLUSH);
		n = size - z->avail_out;
		if (r == Z_STREAM_END)
			break;
		if (r != Z_OK || (z->avail_in == 0 && z->avail_out != 0))
			return -EBADMSG;
		if (z->avail_out != 0)
			continue;
		if (size >= max)
			return -EFBIG;
		size = size > max / 2 ? max : size * 2;
	}
	out[n] = '\0';
	if (ret_len)
		*ret_len = n;
	*ret = rd_steal(out);
	return 0;
}

int rd_gunzip(const void *data, size_t len, size_t max, char **ret, size_t *ret_len)
{
	z_stream z = { 0 };
	int r;

	if (len > UINT_MAX || max > INT_MAX)
		return -EFBIG;
	if (inflateInit2(&z, GZIP_FORMAT + MAX_WBITS) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)(uintptr_t)data;
	z.avail_in = (unsigned)len;
	r = inflate_all(&z, max, ret, ret_len);
	inflateEnd(&z);
	return r;
}
