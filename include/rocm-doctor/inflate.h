/* The beginning of compressed text: zlib or zstd, no more of it unpacked than is asked for. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/reader.h"

enum rd_compression { RD_ZLIB = 0, RD_ZSTD = 1 }; /* the numbers of CCOB's method field */

/*
 * rd_inflate_head - the first @len bytes of what a stream unpacks to
 * @packed: where the stream begins, and where it must end
 * @ret_read: bytes of input that were read, also on error; may be NULL
 *
 * zstd unpacks by blocks of at most 128 KiB, so a few bytes may cost that much input; memory stays below a window of
 * 128 MiB of addresses of which only what is unpacked is touched.
 *
 * Returns the number of bytes, less than @len only where the text ends there; -EBADMSG for damage or an end of input in the
 * midst; -EOPNOTSUPP for another method; a read error.
 */
ssize_t rd_inflate_head(const struct rd_reader *packed, enum rd_compression method, void *ret, size_t len,
                        uint64_t *ret_read) RD_MUST_CHECK;
