/*
 * Offload binaries: what an object holds between clang's new driver and its linker wrapper, which makes bundles of them. Each
 * image has strings beside it, of which "triple" and "arch" tell what it is for.
 *
 * Source of the layout: llvm-project llvm/include/llvm/Object/OffloadBinary.h, versions 1 to 3.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/inflate.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "fatbin-internal.h"

enum {
	HEADER = 32,
	INFLATED_AT = 32, /* from version 3 on; 0: not compressed */
	ENTRY = 40,
	STRING = 24,
	STRING_V1 = 16,
	STRINGS_MAX = 64,
	ALIGN = 8,
	VERSION_MAX = 3,
	FIRST_READ = 4096,
	TABLE_MAX = 256 << 10,
	/* Producers were numbers up to LLVM 20 and are bits since. */
	KIND_HIP_NUMBER = 3,
	KIND_HIP_BIT = 4,
	FLAG_METADATA = 1, /* an entry without an image */
};

static const unsigned char magic[] = { 0x10, 0xff, 0x10, 0xad };

bool offload_begins(const unsigned char *bytes, size_t len)
{
	return len >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* The beginning of one binary, as it is before compression. */
struct head {
	unsigned char *bytes;
	size_t len;
	uint64_t size; /* of all of it */
	unsigned version;
};

/* Text that begins at @at and ends inside of what was read; NULL else. */
static const char *text_at(const struct head *h, uint64_t at)
{
	return at < h->len && memchr(h->bytes + at, '\0', h->len - (size_t)at) ? (const char *)h->bytes + at : NULL;
}

/* The value of one of an entry's strings: "" without it, NULL where the tables are damaged. */
static const char *string_of(const struct head *h, const unsigned char *entry, const char *key)
{
	uint64_t at = rd_le64(entry + 8), n = rd_le64(entry + 16);
	size_t each = h->version == 1 ? STRING_V1 : STRING;

	if (n > STRINGS_MAX || !rd_inside(at, n * each, h->len))
		return NULL;
	for (uint64_t i = 0; i < n; i++) {
		const unsigned char *s = h->bytes + at + i * each;
		const char *name = text_at(h, rd_le64(s)), *value = text_at(h, rd_le64(s + 8));

		if (!name || !value)
			return NULL;
		if (rd_streq(name, key))
			return value;
	}
	return "";
}

/* Spelled as the entry of a bundle, which is what the linker wrapper will make of it. Caller frees. */
static char *entry_id(const char *triple, const char *arch)
{
	struct rd_strbuf id = RD_STRBUF_INIT;
	size_t dashes = 0;

	for (const char *c = triple; *c; c++)
		dashes += *c == '-';
	rd_strbuf_addf(&id, "hip-%s", triple);
	for (; dashes < 3; dashes++)
		rd_strbuf_addc(&id, '-');
	rd_strbuf_addf(&id, "-%s", arch);
	return rd_strbuf_detach(&id);
}

static bool has_target(const struct scan *s, const struct target_set *set, const struct rd_target_id *id)
{
	for (size_t i = 0; i < set->n; i++)
		if (rd_target_compare(&s->out->targets[set->v[i]].id, id) == 0)
			return true;
	return false;
}

static void close_unit(struct scan *s, struct target_set *set)
{
	s->out->bundles++;
	fatbin_close_set(s->out, set);
}

/* Objects that were linked into one hold one unit after the other: the next begins where a target comes again. */
static int note_image(struct scan *s, struct target_set *set, const struct head *h, const unsigned char *entry)
{
	unsigned kind = rd_le16(entry + 2);
	const char *triple, *arch;
	struct rd_target_id id;

	if (rd_le32(entry + 4) & FLAG_METADATA || (kind != KIND_HIP_NUMBER && !(kind & KIND_HIP_BIT)))
		return 0;
	triple = string_of(h, entry, "triple");
	arch = string_of(h, entry, "arch");
	if (!triple || !arch)
		return -EINVAL;
	rd_auto_free char *text = entry_id(triple, arch);

	switch (rd_target_of_entry(text, strlen(text), &id)) {
	case RD_ENTRY_DEVICE:
	case RD_ENTRY_LEGACY:
		if (has_target(s, set, &id))
			close_unit(s, set);
		fatbin_add_target(s->out, set, &id, false);
		break;
	case RD_ENTRY_UNKNOWN:
		s->out->has_code_unknown = true;
		if (s->out->unknown_ids->n < RD_FATBIN_PROBLEMS_MAX)
			rd_strv_push_unique(s->out->unknown_ids, *arch ? arch : triple);
		break;
	case RD_ENTRY_HOST:
	case RD_ENTRY_OTHER:
		break;
	}
	return 0;
}

static int note_images(struct scan *s, struct target_set *set, const struct head *h)
{
	uint64_t at = rd_le64(h->bytes + 16), n = h->version == 1 ? 1 : rd_le64(h->bytes + 24);

	if (n > RD_FATBIN_ENTRIES_MAX || !rd_inside(at, n * ENTRY, h->len))
		return -EINVAL;
	for (uint64_t i = 0; i < n; i++)
		if (note_image(s, set, h, h->bytes + at + i * ENTRY) < 0)
			return -EINVAL;
	return 0;
}

/* Header and tables up to @want bytes, unpacked where they are compressed: header first, then one stream for all the rest. */
static int read_head(const struct rd_reader *binary, struct head *h, size_t want)
{
	uint64_t inflated = h->version >= 3 ? rd_le64(h->bytes + INFLATED_AT) : 0, begin = rd_le64(h->bytes + 16);
	struct rd_reader packed = rd_reader_window(binary, begin, UINT64_MAX);
	unsigned char zstd[4];
	ssize_t n;

	if (!inflated) {
		n = rd_reader_pread_some(binary, h->bytes, want, 0);
		h->len = n > 0 ? (size_t)n : 0;
		h->size = binary->size;
		return n < 0 ? (int)n : 0;
	}
	if (begin < HEADER + 8 || begin > FIRST_READ || rd_reader_pread(binary, h->bytes, (size_t)begin, 0) < 0 ||
	    rd_reader_pread(&packed, zstd, sizeof(zstd), 0) < 0)
		return -EINVAL;
	n = rd_inflate_head(&packed, rd_le32(zstd) == 0xfd2fb528 ? RD_ZSTD : RD_ZLIB, h->bytes + begin, want - (size_t)begin,
	                    NULL);
	h->len = (size_t)begin + (n > 0 ? (size_t)n : 0);
	h->size = inflated;
	return n < 0 ? (int)n : 0;
}

/* Where the first image begins, all tables have ended. */
static size_t tables_end(const struct head *h)
{
	uint64_t at = rd_le64(h->bytes + 16), n = h->version == 1 ? 1 : rd_le64(h->bytes + 24), end = TABLE_MAX;

	if (n > RD_FATBIN_ENTRIES_MAX || !rd_inside(at, n * ENTRY, h->len))
		return TABLE_MAX;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t image = rd_le64(h->bytes + at + i * ENTRY + 24);

		if (image < end)
			end = image;
	}
	return end < FIRST_READ ? FIRST_READ : (size_t)end;
}

static int read_binary(struct scan *s, struct target_set *set, const struct rd_reader *binary, unsigned version)
{
	rd_auto_free unsigned char *bytes = rd_xcalloc(1, FIRST_READ + HEADER);
	struct head h = { .bytes = bytes, .version = version };
	size_t want;
	int r;

	if (rd_reader_pread_some(binary, bytes, HEADER + 8, 0) < HEADER)
		return -EINVAL;
	r = read_head(binary, &h, FIRST_READ);
	if (r < 0)
		return r;
	want = tables_end(&h);
	if (want > h.len && h.len < h.size && want > FIRST_READ) {
		h.bytes = bytes = rd_xreallocarray(bytes, want, 1);
		r = read_head(binary, &h, want);
	}
	return r < 0 ? r : note_images(s, set, &h);
}

void offload_walk(struct scan *s, const struct rd_reader *window, uint64_t where)
{
	struct target_set set = { NULL, 0, 0 };
	uint64_t at = 0;
	bool any = false;

	while (at < window->size && s->walked++ < RD_FATBIN_BUNDLES_MAX) {
		unsigned char h[HEADER] = { 0 };
		struct rd_reader binary;
		unsigned version;
		uint64_t size;

		if (rd_reader_pread_some(window, h, HEADER, at) < HEADER || !offload_begins(h, HEADER)) {
			fatbin_problem(s->out, "no offload binary at 0x%" PRIx64, where + at);
			s->out->has_code_unknown = true;
			break;
		}
		any = true;
		version = rd_le32(h + 4);
		size = rd_le64(h + 8);
		if (!version || version > VERSION_MAX || size < HEADER || !rd_inside(at, size, window->size)) {
			fatbin_problem(s->out, "offload binary at 0x%" PRIx64 ": version %u of %" PRIu64 " bytes is not known",
			               where + at, version, size);
			s->out->has_code_unknown = true;
			break;
		}
		binary = rd_reader_window(window, at, size);
		if (read_binary(s, &set, &binary, version) < 0) {
			fatbin_problem(s->out, "offload binary at 0x%" PRIx64 ": its tables are damaged", where + at);
			s->out->has_code_unknown = true;
		}
		at += (size + ALIGN - 1) / ALIGN * ALIGN;
	}
	if (any)
		s->out->kinds |= RD_FATBIN_OFFLOAD;
	if (set.n)
		close_unit(s, &set);
	free(set.v);
}
