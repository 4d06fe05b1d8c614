/*
 * Offload bundles as clang writes them, plain and compressed, one after the other.
 *
 * Source of the layouts: llvm-project clang/lib/Driver/OffloadBundler.cpp; of what the runtime takes: clr hipamd hip_fatbin.cpp.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/inflate.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "fatbin-internal.h"

#define PLAIN_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define PACKED_MAGIC "CCOB"

enum {
	PLAIN_MAGIC_LEN = 24,
	PLAIN_HEADER = 32,
	ENTRY_HEADER = 24,
	PACKED_HEADER_MIN = 20,
	PACKED_HEADER_MAX = 32,
	ALIGN = 4096,
	FIRST_READ = 512,
	TABLE_MAX = 256 << 10,
	/* clr looks an entry up in this many bytes of a bundle. */
	RUNTIME_TABLE_MAX = 4096,
};

static uint64_t align_up(uint64_t n)
{
	return n > UINT64_MAX - ALIGN ? UINT64_MAX : (n + ALIGN - 1) / ALIGN * ALIGN;
}

bool bundle_begins(const unsigned char *bytes, size_t len)
{
	return (len >= PLAIN_MAGIC_LEN && memcmp(bytes, PLAIN_MAGIC, PLAIN_MAGIC_LEN) == 0) ||
	       (len >= 4 && memcmp(bytes, PACKED_MAGIC, 4) == 0);
}

struct entry {
	uint64_t offset, size;
	const char *id;
	size_t id_len;
};

/*
 * One entry of a table that is in memory so far up to @len. Returns its length, 0 where more bytes are needed (*need), or
 * -EINVAL for a number that no bundle has.
 */
static ssize_t parse_entry(const unsigned char *table, size_t len, size_t at, struct entry *ret, size_t *need)
{
	uint64_t id_len;

	if (!rd_inside(at, ENTRY_HEADER, len)) {
		*need = at + ENTRY_HEADER;
		return 0;
	}
	id_len = rd_le64(table + at + 16);
	if (!id_len || id_len > RD_FATBIN_ID_MAX)
		return -EINVAL;
	if (!rd_inside(at + ENTRY_HEADER, id_len, len)) {
		*need = at + ENTRY_HEADER + (size_t)id_len;
		return 0;
	}
	*ret = (struct entry){ rd_le64(table + at), rd_le64(table + at + 8), (const char *)table + at + ENTRY_HEADER, id_len };
	return ENTRY_HEADER + (ssize_t)id_len;
}

static void note_entry(struct rd_fatbin *f, struct target_set *set, const struct entry *e)
{
	struct rd_target_id id;

	switch (rd_target_of_entry(e->id, e->id_len, &id)) {
	case RD_ENTRY_DEVICE:
		fatbin_add_target(f, set, &id, false);
		break;
	case RD_ENTRY_LEGACY:
		fatbin_add_target(f, set, &id, true);
		break;
	case RD_ENTRY_UNKNOWN:
		f->has_code_unknown = true;
		if (f->unknown_ids->n < RD_FATBIN_PROBLEMS_MAX) {
			rd_auto_free char *text = rd_xstrndup(e->id, e->id_len);

			rd_strv_push_unique(f->unknown_ids, text);
		}
		break;
	case RD_ENTRY_HOST:
	case RD_ENTRY_OTHER:
		break;
	}
}

struct table {
	size_t len;   /* header and entries */
	uint64_t end; /* of the last code object, from the bundle's start */
	bool cut;     /* code objects reach past the end */
};

/* Returns 0; 1 where more bytes are needed (*need); -EINVAL. */
static int measure_table(const unsigned char *bytes, size_t len, uint64_t room, struct table *ret, size_t *need)
{
	struct table t = { .len = PLAIN_HEADER };
	uint64_t n;

	if (len < PLAIN_HEADER) {
		*need = PLAIN_HEADER;
		return 1;
	}
	n = rd_le64(bytes + PLAIN_MAGIC_LEN);
	if (!n || n > RD_FATBIN_ENTRIES_MAX)
		return -EINVAL;
	for (uint64_t i = 0; i < n; i++) {
		struct entry e;
		ssize_t used = parse_entry(bytes, len, t.len, &e, need);

		if (used <= 0)
			return used < 0 ? -EINVAL : 1;
		t.len += (size_t)used;
		if (e.offset > INT64_MAX || e.size > INT64_MAX - e.offset)
			return -EINVAL;
		if (e.size && e.offset + e.size > t.end)
			t.end = e.offset + e.size;
	}
	t.cut = t.end > room;
	*ret = t;
	return 0;
}

/* Two measured tables of one length: the same ids in the same order? Offsets and sizes are each bundle's own. */
static bool has_same_ids(const unsigned char *a, const unsigned char *b, size_t len)
{
	size_t at = PLAIN_HEADER;

	while (at < len) {
		size_t id = sizeof(uint64_t) + (size_t)rd_le64(a + at + 16);

		if (memcmp(a + at + 16, b + at + 16, id) != 0)
			return false;
		at += 16 + id;
	}
	return true;
}

static void set_copy(struct target_set *to, const struct target_set *from)
{
	while (to->allocated < from->n)
		RD_GROW(to->v, to->allocated, to->allocated);
	to->n = from->n;
	if (from->n)
		memcpy(to->v, from->v, from->n * sizeof(*from->v));
}

/* The translation units of a library were most often compiled for the same targets: then the ids need not be read again. */
static void note_table(struct scan *s, struct target_set *set, const unsigned char *bytes, size_t len)
{
	struct last_table *last = &s->last;
	struct entry e;
	size_t need;

	if (last->len == len && has_same_ids(last->bytes, bytes, len)) {
		set_copy(set, &last->set);
		return;
	}
	for (size_t at = PLAIN_HEADER; at < len; at += ENTRY_HEADER + e.id_len) {
		if (parse_entry(bytes, len, at, &e, &need) <= 0)
			break;
		note_entry(s->out, set, &e);
	}
	last->bytes = rd_xreallocarray(last->bytes, len, 1);
	memcpy(last->bytes, bytes, len);
	last->len = len;
	set_copy(&last->set, set);
}

/* As measure_table; adds nothing unless it returns 0. */
static int parse_table(struct scan *s, struct target_set *set, const unsigned char *bytes, size_t len, uint64_t room,
                       struct table *ret, size_t *need)
{
	int r = measure_table(bytes, len, room, ret, need);

	if (r == 0)
		note_table(s, set, bytes, ret->len);
	return r;
}

static const char *const bad_table = "the entry table is damaged";

static void close_plain(struct scan *s, struct target_set *set, const struct table *t, uint64_t where)
{
	if (t->cut)
		fatbin_problem(s->out, "bundle at 0x%" PRIx64 ": code objects reach past the end", where);
	if (t->len > RUNTIME_TABLE_MAX)
		fatbin_problem(s->out,
		               "bundle at 0x%" PRIx64 ": the entry table has %zu bytes, the runtime looks at the first %d",
		               where, t->len, RUNTIME_TABLE_MAX);
	fatbin_close_set(s->out, set);
}

/* Into the scan's own buffer; returns the bytes there are, at most @want. */
static ssize_t read_head(struct scan *s, const struct rd_reader *window, size_t want, uint64_t at)
{
	if (want > s->head_allocated) {
		s->head = rd_xreallocarray(s->head, want, 1);
		s->head_allocated = want;
	}
	return rd_reader_pread_some(window, s->head, want, at);
}

/* The first @n bytes are in s->head already. Returns the bundle's length, or a negative errno. */
static int64_t read_plain(struct scan *s, const struct rd_reader *window, uint64_t at, uint64_t where, size_t n)
{
	struct table t;
	size_t need = 0;
	int r = parse_table(s, &s->set, s->head, n, window->size - at, &t, &need);

	for (size_t want = FIRST_READ; r == 1 && need <= TABLE_MAX; want *= 2) {
		ssize_t got;

		want = need > want ? need : want;
		got = read_head(s, window, want, at);
		if (got < 0)
			return got;
		r = parse_table(s, &s->set, s->head, (size_t)got, window->size - at, &t, &need);
		if ((size_t)got < want)
			break;
	}
	if (r == 0) {
		s->head_hint = t.len;
		close_plain(s, &s->set, &t, where);
	} else {
		fatbin_problem(s->out, "bundle at 0x%" PRIx64 ": %s", where, bad_table);
		s->out->has_code_unknown = true;
	}
	if (r != 0)
		return -EINVAL;
	return (int64_t)(t.cut ? window->size - at : t.end > t.len ? t.end : t.len);
}

/* Version 1 does not say how long it is: the next one begins where a bundle's magic stands at a page's start. */
static uint64_t find_next(struct scan *s, const struct rd_reader *window, uint64_t at)
{
	unsigned char magic[PLAIN_MAGIC_LEN];

	for (at = align_up(at + 1); at < window->size && s->walked < RD_FATBIN_BUNDLES_MAX; at += ALIGN, s->walked++) {
		ssize_t n = rd_reader_pread_some(window, magic, sizeof(magic), at);

		if (n > 0 && bundle_begins(magic, (size_t)n))
			break;
	}
	return at < window->size ? at : window->size;
}

/* Returns the length with header, 0 where the rest of the window is it, or -EINVAL. */
static int64_t read_packed(struct scan *s, const struct rd_reader *window, uint64_t at, uint64_t where, ssize_t n)
{
	static const unsigned header_sizes[] = { 0, 20, 24, 32 };
	const unsigned char *h;
	struct packed_bundle p = { .at = where };
	unsigned version, header;
	uint64_t total;

	if (n < PACKED_HEADER_MAX)
		n = read_head(s, window, PACKED_HEADER_MAX, at);
	if (n < 0)
		return n;
	h = s->head;
	s->head_hint = PACKED_HEADER_MAX;
	version = n >= 8 ? rd_le16(h + 4) : 0;
	if (version < 1 || version > 3 || n < (ssize_t)header_sizes[version]) {
		fatbin_problem(s->out, "compressed bundle at 0x%" PRIx64 ": version %u is not known", where, version);
		s->out->has_code_unknown = true;
		return -EINVAL;
	}
	header = header_sizes[version];
	p.method = rd_le16(h + 6);
	p.unpacked_size = version == 3 ? rd_le64(h + 16) : rd_le32(h + (version == 2 ? 12 : 8));
	total = version == 3 ? rd_le64(h + 8) : version == 2 ? rd_le32(h + 8) : find_next(s, window, at) - at;
	if (total <= header || !rd_inside(at, total, window->size)) {
		fatbin_problem(s->out, "compressed bundle at 0x%" PRIx64 ": its size of %" PRIu64 " bytes does not fit", where,
		               total);
		s->out->has_code_unknown = true;
		if (total <= header)
			return -EINVAL;
		total = window->size - at;
	}
	p.payload = where + header;
	p.end = where + total;
	RD_GROW(s->packed, s->packed_n, s->packed_allocated);
	s->packed[s->packed_n++] = p;
	return (int64_t)total;
}

/* A code object among bundles: its section headers stand at its end. */
static int64_t read_object(struct scan *s, const struct rd_reader *window, uint64_t at)
{
	struct rd_reader rest = rd_reader_window(window, at, UINT64_MAX);
	struct rd_elf *elf;
	uint64_t end;

	if (rd_elf_open(&rest, &elf, NULL) < 0)
		return -EINVAL;
	if (elf->machine != RD_EM_AMDGPU) {
		rd_elf_close(elf);
		return -EINVAL;
	}
	bundle_code_object(s, elf);
	end = elf->sections_offset;
	if (end > rest.size || rest.size - end < (uint64_t)elf->sections_count * 64)
		end = 0;
	else
		end += (uint64_t)elf->sections_count * 64;
	rd_elf_close(elf);
	return end > 64 ? (int64_t)end : 64;
}

void bundle_code_object(struct scan *s, const struct rd_elf *elf)
{
	struct target_set set = { NULL, 0, 0 };
	struct rd_target_id id;

	s->out->kinds |= RD_FATBIN_CODE_OBJECT;
	if (rd_target_of_code_object(elf->abi_version, elf->flags, &id) == 0) {
		fatbin_add_target(s->out, &set, &id, false);
	} else {
		s->out->has_code_unknown = true;
		fatbin_problem(s->out, "code object of machine 0x%02x, ABI version %u: not known", elf->flags & 0xff,
		               elf->abi_version);
	}
	s->out->bundles++;
	fatbin_close_set(s->out, &set);
	free(set.v);
}

static int64_t read_one(struct scan *s, const struct rd_reader *window, uint64_t at, uint64_t where, size_t n)
{
	if (n >= 4 && memcmp(s->head, PACKED_MAGIC, 4) == 0) {
		s->out->kinds |= RD_FATBIN_COMPRESSED;
		s->out->bundles++;
		return read_packed(s, window, at, where, (ssize_t)n);
	}
	if (bundle_begins(s->head, n)) {
		s->out->kinds |= RD_FATBIN_PLAIN;
		s->out->bundles++;
		return read_plain(s, window, at, where, n);
	}
	if (n >= 4 && memcmp(s->head, "\177ELF", 4) == 0)
		return read_object(s, window, at);
	return -ENOENT;
}

uint64_t bundle_walk(struct scan *s, const struct rd_reader *window, uint64_t at, uint64_t where, uint64_t skip)
{
	uint64_t lost_at = UINT64_MAX;

	while (at < window->size && s->walked++ < RD_FATBIN_BUNDLES_MAX) {
		/* A table is most likely as long as the last one. */
		bool whole = lost_at == UINT64_MAX && s->head_hint > PLAIN_MAGIC_LEN;
		ssize_t n = read_head(s, window, whole ? s->head_hint : PLAIN_MAGIC_LEN, at);
		int64_t len = -ENOENT;

		if (n <= 0)
			return at;
		/* Off the way, an ELF header is more likely inside a bundle than beside one. */
		if (lost_at == UINT64_MAX || bundle_begins(s->head, (size_t)n))
			len = read_one(s, window, at, where + at, (size_t)n);
		if (len >= 0) {
			lost_at = UINT64_MAX;
			at = align_up(at + (uint64_t)len);
			continue;
		}
		if (lost_at == UINT64_MAX)
			lost_at = at;
		if (at - lost_at >= skip)
			return lost_at;
		at = align_up(at + 1);
	}
	return lost_at;
}

/* One table out of compressed text; the buffer grows only for tables of unusual size. */
static int unpack_one(struct scan *s, const struct rd_reader *file, const struct packed_bundle *p, uint64_t *ret_read)
{
	struct rd_reader packed = rd_reader_window(file, p->payload, p->end - p->payload);
	rd_auto_free unsigned char *bytes = NULL;
	struct target_set set = { NULL, 0, 0 };
	int r = -EBADMSG;

	for (size_t want = 4096; want <= TABLE_MAX; want *= 8) {
		struct table t;
		uint64_t used = 0;
		size_t need;
		ssize_t n;

		bytes = rd_xreallocarray(bytes, want, 1);
		n = rd_inflate_head(&packed, (enum rd_compression)p->method, bytes, want, &used);
		*ret_read += used;
		if (n < 0)
			return (int)n;
		if (!bundle_begins(bytes, (size_t)n) || bytes[0] != '_')
			return -EINVAL;
		r = parse_table(s, &set, bytes, (size_t)n, p->unpacked_size, &t, &need);
		if (r == 0) {
			close_plain(s, &set, &t, p->at);
			break;
		}
		if (r < 0 || (size_t)n < want)
			break;
	}
	free(set.v);
	return r == 0 ? 0 : -EINVAL;
}

static const char *why(int r)
{
	switch (r) {
	case -EBADMSG:
		return "the compressed text is damaged";
	case -EOPNOTSUPP:
		return "unknown compression method";
	case -EINVAL:
		return bad_table;
	default:
		return rd_strerror(r);
	}
}

/*
 * Every stride-th bundle in each round, strides halved from round to round: whenever the budget ends, those taken lie evenly
 * over the file.
 */
void bundle_unpack(struct scan *s, const struct rd_reader *file, uint64_t budget)
{
	uint64_t used = 0;
	size_t stride = 1;

	while (stride < s->packed_n)
		stride *= 2;
	for (bool first = true; stride; stride /= 2, first = false) {
		for (size_t i = first ? 0 : stride; i < s->packed_n; i += first ? stride : 2 * stride) {
			int r;

			if (budget && used >= budget)
				return;
			r = unpack_one(s, file, &s->packed[i], &used);
			if (r >= 0)
				continue;
			s->out->has_code_unknown = true;
			fatbin_problem(s->out, "compressed bundle at 0x%" PRIx64 ": %s", s->packed[i].at, why(r));
		}
	}
}
