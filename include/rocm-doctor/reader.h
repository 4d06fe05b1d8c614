/*
 * A window of bytes that is read a few at a time: a file, a part of one (a member of an archive), or memory. A value, not an
 * owner; what it reads from must outlive it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rocm-doctor/macros.h"

struct rd_file;

struct rd_reader {
	struct rd_file *file; /* NULL: bytes */
	const unsigned char *bytes;
	uint64_t start, size; /* the window */
};

struct rd_reader rd_reader_of_file(struct rd_file *file);
struct rd_reader rd_reader_of_bytes(const void *bytes, size_t len);
/* A part of a window, cut where it would reach past the end. */
struct rd_reader rd_reader_window(const struct rd_reader *r, uint64_t offset, uint64_t size);

/* All of it, or -ENODATA where the window ends before. */
int rd_reader_pread(const struct rd_reader *r, void *buf, size_t len, uint64_t offset) RD_MUST_CHECK;
/* As much as there is: the number of bytes, 0 at and past the end. */
ssize_t rd_reader_pread_some(const struct rd_reader *r, void *buf, size_t len, uint64_t offset) RD_MUST_CHECK;
/* The text up to its NUL, at most @max bytes of it; the caller frees. -ENODATA where no NUL comes. */
int rd_reader_string(const struct rd_reader *r, char **ret, uint64_t offset, size_t max) RD_MUST_CHECK;

/*
 * Small reads near each other (records, names of a string table) with one read of the file for many. Zeroed but for its
 * reader to begin with.
 */
struct rd_block {
	struct rd_reader reader;
	uint64_t at;
	size_t len;
	unsigned char bytes[1024];
};

/* As rd_reader_pread() and rd_reader_string(). */
int rd_block_pread(struct rd_block *b, void *buf, size_t len, uint64_t offset) RD_MUST_CHECK;
int rd_block_string(struct rd_block *b, char **ret, uint64_t offset, size_t max) RD_MUST_CHECK;
