/* Decompression of files in memory, with a ceiling on what comes out. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"

/*
 * rd_gunzip - the content of a gzip file (RFC 1952)
 * @max: most bytes that may come out
 * @ret: NUL-terminated, caller frees; untouched on error
 * @ret_len: without the NUL; may be NULL
 *
 * Returns 0, -EBADMSG for anything but a whole gzip member, -EFBIG past @max.
 */
int rd_gunzip(const void *data, size_t len, size_t max, char **ret, size_t *ret_len) RD_MUST_CHECK;

/*
 * rd_unpack - the same for gzip, xz and Zstandard, by their first bytes
 *
 * Also -EBADMSG for a file of none of these, -ENOMEM where an xz file wants more than 128 MiB to be unpacked.
 */
int rd_unpack(const void *data, size_t len, size_t max, char **ret, size_t *ret_len) RD_MUST_CHECK;
