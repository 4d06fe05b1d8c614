/* Decompression of small files in memory. */
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
