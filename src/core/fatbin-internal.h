/* What the parts of the reader of device code share. */
#pragma once

#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/reader.h"

struct rd_elf;

/* Where a bundle is, kept until all are known: compressed ones are unpacked afterwards, evenly, within the budget. */
struct packed_bundle {
	uint64_t at, payload, end; /* in the file: for messages; window of the compressed text */
	uint64_t unpacked_size;
	unsigned method;
};

/* The targets of one bundle while it is read. */
struct target_set {
	size_t *v;
	size_t n, allocated;
};

/* The entry table that was read last, and what its ids came to. */
struct last_table {
	unsigned char *bytes;
	size_t len;
	struct target_set set;
};

struct scan {
	struct rd_fatbin *out;
	struct packed_bundle *packed;
	size_t packed_n, packed_allocated;
	unsigned char *head; /* of the bundle that is read, with its entry table */
	size_t head_allocated;
	size_t head_hint;      /* bytes of the last header */
	struct target_set set; /* of the bundle that is read; empty between two */
	size_t walked;         /* bundles and steps so far, over all sections: bounds the work */
	struct last_table last;
};

void fatbin_problem(struct rd_fatbin *f, const char *format, ...) RD_PRINTF(2, 3);
void fatbin_add_target(struct rd_fatbin *f, struct target_set *set, const struct rd_target_id *id, bool legacy);
/* Counts the set as one bundle and empties it. */
void fatbin_close_set(struct rd_fatbin *f, struct target_set *set);

/*
 * Bundles back to back in a window, from @at on. @where: the window's place in the file. @skip: bytes to pass over, page by page,
 * where none begins. Returns UINT64_MAX, or the offset in the window behind which nothing more was found though it goes on.
 */
uint64_t bundle_walk(struct scan *s, const struct rd_reader *window, uint64_t at, uint64_t where, uint64_t skip);
void bundle_unpack(struct scan *s, const struct rd_reader *file, uint64_t budget);
bool bundle_begins(const unsigned char *bytes, size_t len);
/* A bare code object: its target becomes a bundle of its own. */
void bundle_code_object(struct scan *s, const struct rd_elf *elf);

/* An object's section of images that are not linked yet, or such binaries on their own. */
bool offload_begins(const unsigned char *bytes, size_t len);
void offload_walk(struct scan *s, const struct rd_reader *window, uint64_t where);

int kpack_read(const struct rd_reader *reader, struct rd_kpack_archive *ret, struct rd_error *err);
/* The marker of a library whose code was split out: fills kernel_name and kpack_patterns. */
int kpack_read_marker(struct rd_fatbin *f, const unsigned char *bytes, size_t len);
/* Looks for the archives and makes one set for each wrapper. @dir: where the library lies, links resolved. */
void kpack_follow(struct scan *s, struct rd_sysroot *sr, const char *dir);
void kpack_archive_clear(struct rd_kpack_archive *a);
