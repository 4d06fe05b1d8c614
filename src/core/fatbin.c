#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "fatbin-internal.h"

#define HIPF 0x48495046u
#define HIPK 0x4b504948u

enum {
	WRAPPER = 24,
	WRAPPERS_MAX = 1 << 16,
	MARKER_MAX = 64 << 10,
	SECTION_NOBITS = 8,
	AR_MAGIC = 8,
	AR_HEADER = 60,
	AR_MEMBERS_MAX = 1 << 16,
	PAGE = 4096,
	SKIP_MAX = 1 << 20,
	SKIP_BEFORE_RELOCATIONS = 64 << 10,
};

void fatbin_problem(struct rd_fatbin *f, const char *format, ...)
{
	struct rd_strbuf text = RD_STRBUF_INIT;
	va_list ap;

	if (f->problems->n >= RD_FATBIN_PROBLEMS_MAX)
		return;
	va_start(ap, format);
	rd_strbuf_vaddf(&text, format, ap);
	va_end(ap);
	rd_strv_push_take(f->problems, rd_strbuf_detach(&text));
}

static size_t find_target(struct rd_fatbin *f, const struct rd_target_id *id, bool legacy)
{
	struct rd_fatbin_target *t;

	for (size_t i = 0; i < f->targets_n; i++)
		if (f->targets[i].legacy == legacy && rd_target_compare(&f->targets[i].id, id) == 0)
			return i;
	if (f->targets_n >= RD_FATBIN_TARGETS_MAX)
		return SIZE_MAX;
	RD_GROW(f->targets, f->targets_n, f->targets_allocated);
	t = &f->targets[f->targets_n];
	*t = (struct rd_fatbin_target){ .id = *id, .legacy = legacy };
	rd_target_format(id, t->text);
	return f->targets_n++;
}

void fatbin_add_target(struct rd_fatbin *f, struct target_set *set, const struct rd_target_id *id, bool legacy)
{
	size_t index = find_target(f, id, legacy);

	if (index == SIZE_MAX) {
		f->has_code_unknown = true;
		return;
	}
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i] == index)
			return;
	RD_GROW(set->v, set->n, set->allocated);
	set->v[set->n++] = index;
}

static int by_index(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

/* Most are in order already. */
static void sort_set(size_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i - 1] > v[i]) {
			qsort(v, n, sizeof(*v), by_index);
			return;
		}
	}
}

static struct rd_fatbin_set *find_set(struct rd_fatbin *f, const struct target_set *set)
{
	struct rd_fatbin_set *s;

	for (size_t i = 0; i < f->sets_n; i++)
		if (f->sets[i].n == set->n && (!set->n || memcmp(f->sets[i].targets, set->v, set->n * sizeof(*set->v)) == 0))
			return &f->sets[i];
	if (f->sets_n >= RD_FATBIN_SETS_MAX)
		return NULL;
	RD_GROW(f->sets, f->sets_n, f->sets_allocated);
	s = &f->sets[f->sets_n++];
	*s = (struct rd_fatbin_set){ .targets = rd_xcalloc(set->n ? set->n : 1, sizeof(*set->v)), .n = set->n };
	if (set->n)
		memcpy(s->targets, set->v, set->n * sizeof(*set->v));
	return s;
}

void fatbin_close_set(struct rd_fatbin *f, struct target_set *set)
{
	struct rd_fatbin_set *s;

	sort_set(set->v, set->n);
	s = find_set(f, set);
	if (s)
		s->bundles++;
	else
		f->has_code_unknown = true;
	for (size_t i = 0; i < set->n; i++)
		f->targets[set->v[i]].bundles++;
	f->bundles_read++;
	set->n = 0;
}

/* Targets were numbered as they came; people and tests want them in order. */
struct numbered {
	struct rd_fatbin_target target;
	size_t was;
};

static int by_target(const void *a, const void *b)
{
	const struct rd_fatbin_target *x = &((const struct numbered *)a)->target, *y = &((const struct numbered *)b)->target;
	int c = rd_target_compare(&x->id, &y->id);

	return c ? c : (int)x->legacy - (int)y->legacy;
}

static void sort_targets(struct rd_fatbin *f)
{
	struct numbered *order = rd_xcalloc(f->targets_n + 1, sizeof(*order));
	size_t *now = rd_xcalloc(f->targets_n + 1, sizeof(*now));

	for (size_t i = 0; i < f->targets_n; i++)
		order[i] = (struct numbered){ f->targets[i], i };
	qsort(order, f->targets_n, sizeof(*order), by_target);
	for (size_t i = 0; i < f->targets_n; i++) {
		f->targets[i] = order[i].target;
		now[order[i].was] = i;
	}
	for (size_t i = 0; i < f->sets_n; i++) {
		for (size_t k = 0; k < f->sets[i].n; k++)
			f->sets[i].targets[k] = now[f->sets[i].targets[k]];
		sort_set(f->sets[i].targets, f->sets[i].n);
	}
	free(order);
	free(now);
}

/* The wrappers of a host program: what it registers with the runtime at its start. */
struct wrappers {
	size_t n;
	size_t kpack;
	uint64_t *pointers; /* addresses */
};

static void read_wrappers(struct scan *s, struct rd_elf *elf, struct wrappers *w)
{
	const struct rd_elf_section *section = rd_elf_section(elf, ".hipFatBinSegment");
	struct rd_block block = { .reader = elf->reader };

	if (!section || section->type == SECTION_NOBITS)
		return;
	w->n = section->size / WRAPPER > WRAPPERS_MAX ? WRAPPERS_MAX : (size_t)(section->size / WRAPPER);
	w->pointers = rd_xcalloc(w->n ? w->n : 1, sizeof(*w->pointers));
	for (size_t i = 0; i < w->n; i++) {
		unsigned char b[WRAPPER];
		uint32_t magic;

		if (rd_block_pread(&block, b, sizeof(b), section->offset + i * WRAPPER) < 0) {
			fatbin_problem(s->out, "section .hipFatBinSegment reaches past the end of the file");
			w->n = i;
			break;
		}
		magic = rd_le32(b);
		if (magic == HIPK)
			w->kpack++;
		else if (magic != HIPF)
			fatbin_problem(s->out, "wrapper %zu: magic 0x%08x is not known", i, magic);
		w->pointers[i] = rd_le64(b + 8);
	}
	s->out->wrappers = w->n;
}

/* GNU ld writes the address into the slot, lld leaves that to the relocation: asked only where a slot is zero. */
static void resolve_pointers(struct rd_elf *elf, struct wrappers *w)
{
	const struct rd_elf_section *section = rd_elf_section(elf, ".hipFatBinSegment");

	for (size_t i = 0; i < w->n; i++) {
		if (w->pointers[i])
			continue;
		if (rd_elf_read_dynamic(elf, NULL) < 0 ||
		    rd_elf_relative_addends(elf, section->address + 8, w->n, WRAPPER, w->pointers) < 0)
			return;
		return;
	}
}

static void read_marker(struct scan *s, const struct rd_elf *elf)
{
	const struct rd_elf_section *section = rd_elf_section(elf, ".rocm_kpack_ref");
	rd_auto_free unsigned char *bytes = NULL;
	size_t len;

	s->out->kinds |= RD_FATBIN_KPACK_REF;
	if (!section || section->type == SECTION_NOBITS || section->size > MARKER_MAX) {
		fatbin_problem(s->out, "no section .rocm_kpack_ref says where the device code is");
		s->out->has_code_unknown = true;
		return;
	}
	len = (size_t)section->size;
	bytes = rd_xmalloc(len + 1);
	if (rd_reader_pread(&elf->reader, bytes, len, section->offset) < 0 || kpack_read_marker(s->out, bytes, len) < 0) {
		fatbin_problem(s->out, "section .rocm_kpack_ref is damaged");
		s->out->has_code_unknown = true;
	}
}

/* The first place behind @at that a wrapper points to; UINT64_MAX where there is none. */
static uint64_t next_pointer(const struct wrappers *w, const struct rd_elf_section *section, uint64_t at)
{
	uint64_t best = UINT64_MAX;

	for (size_t i = 0; i < w->n; i++) {
		uint64_t offset = w->pointers[i] - section->address;

		if (w->pointers[i] >= section->address && offset > at && offset < section->size && offset < best)
			best = offset;
	}
	return best;
}

static bool has_pointers(const struct wrappers *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->pointers[i])
			return true;
	return false;
}

static void walk_section(struct scan *s, struct rd_elf *elf, const struct rd_elf_section *section, struct wrappers *w)
{
	struct rd_reader window = rd_reader_window(&elf->reader, section->offset, section->size);
	uint64_t where = elf->reader.start + section->offset, at = 0;
	bool resolved = false;

	if (window.size < section->size)
		fatbin_problem(s->out, "section %s reaches past the end of the file", section->name);
	while (at < window.size) {
		/* Where the wrappers tell what comes next there is no need to feel the way. */
		uint64_t skip = has_pointers(w) ? 0 : w->n ? SKIP_BEFORE_RELOCATIONS : SKIP_MAX;
		uint64_t lost = bundle_walk(s, &window, at, where, skip);

		if (lost == UINT64_MAX || s->out->bundles >= w->n)
			break;
		if (!resolved)
			resolve_pointers(elf, w);
		resolved = true;
		at = next_pointer(w, section, lost);
	}
	if (w->n && s->out->bundles != w->n)
		fatbin_problem(s->out, "%zu wrappers and %zu bundles", w->n, s->out->bundles);
}

/* Relocatable objects of -fgpu-rdc: the section's name is the entry id. */
static void scan_rdc(struct scan *s, const struct rd_elf *elf)
{
	static const char prefix[] = "__CLANG_OFFLOAD_BUNDLE__";

	for (size_t i = 0; i < elf->sections_n; i++) {
		const char *name = elf->sections[i].name;
		struct target_set set = { NULL, 0, 0 };
		struct rd_target_id id;

		if (!rd_str_has_prefix(name, prefix))
			continue;
		name += strlen(prefix);
		if (rd_target_of_entry(name, strlen(name), &id) != RD_ENTRY_DEVICE)
			continue;
		s->out->kinds |= RD_FATBIN_PLAIN;
		s->out->bundles++;
		fatbin_add_target(s->out, &set, &id, false);
		fatbin_close_set(s->out, &set);
		free(set.v);
	}
}

/* Relocatable objects of clang's new driver: the name stays the same however many there are. */
static void scan_offloading(struct scan *s, const struct rd_elf *elf)
{
	for (size_t i = 0; i < elf->sections_n; i++) {
		const struct rd_elf_section *section = &elf->sections[i];
		struct rd_reader window = rd_reader_window(&elf->reader, section->offset, section->size);

		if (!rd_streq(section->name, ".llvm.offloading") || section->type == SECTION_NOBITS)
			continue;
		if (window.size < section->size)
			fatbin_problem(s->out, "section %s reaches past the end of the file", section->name);
		offload_walk(s, &window, elf->reader.start + section->offset);
	}
}

static void scan_sections(struct scan *s, struct rd_elf *elf)
{
	const struct rd_elf_section *fatbin = rd_elf_section(elf, ".hip_fatbin");
	struct wrappers w = { 0 };

	read_wrappers(s, elf, &w);
	/* The section of a library whose code was split out is left behind, full of zeros or without content. */
	if (w.kpack)
		read_marker(s, elf);
	else if (fatbin && fatbin->type != SECTION_NOBITS)
		walk_section(s, elf, fatbin, &w);
	scan_rdc(s, elf);
	scan_offloading(s, elf);
	free(w.pointers);
}

/* No section headers: bundles begin at a page's start in a segment that is only read. */
static void scan_segments(struct scan *s, const struct rd_elf *elf)
{
	for (size_t i = 0; i < elf->segments_n; i++) {
		const struct rd_elf_segment *p = &elf->segments[i];
		uint64_t at = (p->offset + PAGE - 1) / PAGE * PAGE;

		if (p->type != 1 || p->file_size < PAGE)
			continue;
		for (; at < p->offset + p->file_size && s->walked < RD_FATBIN_BUNDLES_MAX; at += PAGE, s->walked++) {
			struct rd_reader rest = rd_reader_window(&elf->reader, at, p->offset + p->file_size - at);
			unsigned char head[24];
			ssize_t n = rd_reader_pread_some(&rest, head, sizeof(head), 0);

			if (n <= 0)
				break;
			if (bundle_begins(head, (size_t)n)) {
				bundle_walk(s, &rest, 0, elf->reader.start + at, SKIP_MAX);
				break;
			}
		}
	}
}

static int scan_elf(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	struct rd_elf *elf;
	int e;

	e = rd_elf_open(r, &elf, err);
	if (e < 0)
		return e;
	if (elf->machine == RD_EM_AMDGPU) {
		bundle_code_object(s, elf);
	} else {
		s->out->kinds |= RD_FATBIN_HOST_ELF;
		e = rd_elf_read_sections(elf, err);
		if (e == 0 && elf->sections_n)
			scan_sections(s, elf);
		else if (e == 0 && elf->complete)
			scan_segments(s, elf);
	}
	rd_elf_close(elf);
	return e;
}

static int scan_kpack(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	struct rd_kpack_archive a = { 0 };
	struct target_set set = { NULL, 0, 0 };
	int e = kpack_read(r, &a, err);

	s->out->kinds |= RD_FATBIN_KPACK;
	for (size_t i = 0; e == 0 && i < a.targets->n; i++) {
		struct rd_target_id id;

		if (rd_target_parse(a.targets->v[i], &id) == 0) {
			fatbin_add_target(s->out, &set, &id, false);
		} else {
			s->out->has_code_unknown = true;
			rd_strv_push_unique(s->out->unknown_ids, a.targets->v[i]);
		}
	}
	if (e == 0) {
		s->out->bundles++;
		fatbin_close_set(s->out, &set);
	}
	kpack_archive_clear(&a);
	free(set.v);
	return e;
}

/* Static library: what its members hold. A damaged member does not hide the others. */
static int scan_archive(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	uint64_t at = AR_MAGIC;

	s->out->kinds |= RD_FATBIN_ARCHIVE;
	for (size_t i = 0; i < AR_MEMBERS_MAX && at < r->size; i++) {
		char h[AR_HEADER + 1] = "";
		struct rd_reader member;
		unsigned char magic[4];
		uint64_t size;

		if (rd_reader_pread(r, h, AR_HEADER, at) < 0 || h[58] != '`' || h[59] != '\n')
			return rd_error_set(err, -EINVAL, "the archive is damaged at 0x%" PRIx64, at);
		h[58] = '\0';
		if (rd_str_to_u64(h + 48, 10, &size) < 0 || !rd_inside(at + AR_HEADER, size, r->size))
			return rd_error_set(err, -EINVAL, "a member reaches past the end of the archive at 0x%" PRIx64, at);
		member = rd_reader_window(r, at + AR_HEADER, size);
		if (rd_reader_pread(&member, magic, sizeof(magic), 0) == 0 && memcmp(magic, "\177ELF", 4) == 0) {
			struct rd_error inner = RD_ERROR_INIT;

			if (scan_elf(s, &member, &inner) < 0)
				fatbin_problem(s->out, "member at 0x%" PRIx64 ": %s", at,
				               inner.message ? inner.message : "damaged");
			rd_error_clear(&inner);
		}
		at += AR_HEADER + size + size % 2;
	}
	return 0;
}

static int scan_bundles(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	(void)err;
	bundle_walk(s, r, 0, r->start, SKIP_MAX);
	return 0;
}

static int scan_offload(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	(void)err;
	offload_walk(s, r, r->start);
	return 0;
}

static int scan_any(struct scan *s, const struct rd_reader *r, struct rd_error *err)
{
	static const struct {
		const char *magic;
		size_t len;
		int (*scan)(struct scan *s, const struct rd_reader *r, struct rd_error *err);
	} kinds[] = {
		{ "\177ELF", 4, scan_elf },       { "__CLANG_OFFLOAD_BUNDLE__", 24, scan_bundles },
		{ "CCOB", 4, scan_bundles },      { "KPAK", 4, scan_kpack },
		{ "!<arch>\n", 8, scan_archive }, { "\x10\xff\x10\xad", 4, scan_offload },
	};
	unsigned char head[24];
	ssize_t n = rd_reader_pread_some(r, head, sizeof(head), 0);

	if (n < 0)
		return rd_error_set(err, (int)n, "%s", rd_strerror((int)n));
	for (size_t i = 0; i < RD_ARRAY_SIZE(kinds); i++)
		if ((size_t)n >= kinds[i].len && memcmp(head, kinds[i].magic, kinds[i].len) == 0)
			return kinds[i].scan(s, r, err);
	return rd_error_set(err, -ENOEXEC, "no ELF file, bundle or archive of device code");
}

static struct rd_fatbin *new_fatbin(void)
{
	struct rd_fatbin *f = rd_xcalloc(1, sizeof(*f));

	f->unknown_ids = rd_xcalloc(1, sizeof(struct rd_strv));
	f->problems = rd_xcalloc(1, sizeof(struct rd_strv));
	f->kpack_patterns = rd_xcalloc(1, sizeof(struct rd_strv));
	f->incomplete_overlays = rd_xcalloc(1, sizeof(struct rd_strv));
	f->overlay_targets = rd_xcalloc(1, sizeof(struct rd_strv));
	return f;
}

static void scan_release(struct scan *s)
{
	free(s->packed);
	free(s->head);
	free(s->set.v);
	free(s->last.bytes);
	free(s->last.set.v);
}

static int scan(const struct rd_reader *r, uint64_t budget, struct rd_sysroot *sr, const char *dir, struct rd_fatbin **ret,
                struct rd_error *err)
{
	struct scan s = { .out = new_fatbin() };
	int e;

	e = scan_any(&s, r, err);
	if (e < 0) {
		rd_fatbin_free(s.out);
		scan_release(&s);
		return e;
	}
	/* Places of compressed bundles count from the file's start, not from a member's. */
	bundle_unpack(&s, &(struct rd_reader){ .file = r->file, .bytes = r->bytes, .size = r->start + r->size }, budget);
	if (sr && s.out->kinds & RD_FATBIN_KPACK_REF && s.out->kernel_name)
		kpack_follow(&s, sr, dir);
	scan_release(&s);
	sort_targets(s.out);
	*ret = s.out;
	return 0;
}

int rd_fatbin_scan(const struct rd_reader *reader, uint64_t compressed_budget, struct rd_fatbin **ret, struct rd_error *err)
{
	return scan(reader, compressed_budget, NULL, NULL, ret, err);
}

int rd_fatbin_read(struct rd_sysroot *sr, const char *path, uint64_t compressed_budget, struct rd_fatbin **ret,
                   struct rd_error *err)
{
	rd_auto_free char *real = NULL;
	struct rd_file *file;
	struct rd_reader reader;
	int r;

	/* The runtime looks for archives beside the file that is mapped, behind all links. */
	r = rd_sysroot_realpath(sr, &real, path);
	if (r == 0)
		r = rd_file_open(sr, &file, real);
	if (r < 0)
		return rd_error_set(err, r, "%s", rd_strerror(r));
	*strrchr(real, '/') = '\0';
	reader = rd_reader_of_file(file);
	r = scan(&reader, compressed_budget, sr, real, ret, err);
	rd_file_close(file);
	return r;
}

struct rd_fatbin *rd_fatbin_free(struct rd_fatbin *f)
{
	struct rd_strv *lists[5];

	if (!f)
		return NULL;
	lists[0] = f->unknown_ids;
	lists[1] = f->problems;
	lists[2] = f->kpack_patterns;
	lists[3] = f->incomplete_overlays;
	lists[4] = f->overlay_targets;
	for (size_t i = 0; i < RD_ARRAY_SIZE(lists); i++) {
		rd_strv_clear(lists[i]);
		free(lists[i]);
	}
	for (size_t i = 0; i < f->sets_n; i++)
		free(f->sets[i].targets);
	for (size_t i = 0; i < f->archives_n; i++)
		kpack_archive_clear(&f->archives[i]);
	free(f->targets);
	free(f->sets);
	free(f->archives);
	free(f->kernel_name);
	free(f);
	return NULL;
}

bool rd_fatbin_has_code(const struct rd_fatbin *f)
{
	return f->targets_n || f->has_code_unknown || f->bundles || f->kinds & RD_FATBIN_KPACK_REF;
}

static enum rd_runs set_runs(const struct rd_fatbin *f, const struct rd_fatbin_set *set, const struct rd_agent *agent)
{
	enum rd_runs best = RD_RUNS_NO;

	for (size_t i = 0; i < set->n; i++) {
		const struct rd_fatbin_target *t = &f->targets[set->targets[i]];
		enum rd_runs runs = t->legacy ? RD_RUNS_NO : rd_target_runs(&t->id, agent);

		if (runs > best)
			best = runs;
	}
	return best == RD_RUNS_NO && f->has_code_unknown ? RD_RUNS_UNKNOWN : best;
}

struct rd_coverage rd_fatbin_covers(const struct rd_fatbin *f, const struct rd_agent *agent)
{
	struct rd_coverage ret = { RD_RUNS_NO, RD_RUNS_NATIVE, 0 };

	for (size_t i = 0; i < f->sets_n; i++) {
		enum rd_runs runs = set_runs(f, &f->sets[i], agent);

		/* A translation unit without kernels has a bundle without device code: nothing is missing there. */
		if (!f->sets[i].n && !f->has_code_unknown && !(f->kinds & RD_FATBIN_KPACK_REF))
			continue;
		if (runs > ret.runs)
			ret.runs = runs;
		if (runs < ret.least)
			ret.least = runs;
		if (runs == RD_RUNS_NO)
			ret.bundles_without += f->sets[i].bundles;
	}
	if (ret.least > ret.runs)
		ret.least = ret.runs;
	if (ret.runs == RD_RUNS_NO && (f->has_code_unknown || f->bundles_read < f->bundles))
		ret.runs = ret.least = RD_RUNS_UNKNOWN;
	return ret;
}
