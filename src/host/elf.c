#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/*
 * The structures are translated by libelf (elf64_xlatetom), reading is ours: libelf wants a descriptor that it maps, or the
 * whole image, and the files here have gigabytes.
 */
static int translate(void *to, void *from, size_t len, Elf_Type type)
{
	Elf_Data src = { .d_buf = from, .d_type = type, .d_size = len, .d_version = EV_CURRENT };
	Elf_Data dst = { .d_buf = to, .d_type = type, .d_size = len, .d_version = EV_CURRENT };

	if (elf_version(EV_CURRENT) == EV_NONE || !elf64_xlatetom(&dst, &src, ELFDATA2LSB))
		return -EINVAL;
	return 0;
}

static int read_table(const struct rd_reader *r, void *ret, size_t count, size_t size, uint64_t offset, Elf_Type type)
{
	rd_auto_free void *raw = NULL;
	int e;

	if (!count)
		return 0;
	if (!rd_inside(offset, (uint64_t)count * size, r->size))
		return -ENODATA;
	raw = rd_xreallocarray(NULL, count, size);
	e = rd_reader_pread(r, raw, count * size, offset);
	if (e < 0)
		return e;
	return translate(ret, raw, count * size, type);
}

/* The program headers most often follow the header: they are read with it. */
#define HEAD_BYTES 640

static int read_segments(struct rd_elf *elf, const Elf64_Ehdr *header, unsigned char *head, size_t head_len,
                         struct rd_error *err)
{
	rd_auto_free Elf64_Phdr *table = NULL;
	size_t n = header->e_phnum;
	int r;

	if (!n)
		return 0;
	if (n > RD_ELF_SEGMENTS_MAX)
		return rd_error_set(err, -EINVAL, "%zu program headers", n);
	if (header->e_phentsize != sizeof(*table))
		return rd_error_set(err, -EINVAL, "program headers of %u bytes", header->e_phentsize);
	table = rd_xcalloc(n, sizeof(*table));
	if (rd_inside(header->e_phoff, n * sizeof(*table), head_len))
		r = translate(table, head + header->e_phoff, n * sizeof(*table), ELF_T_PHDR);
	else
		r = read_table(&elf->reader, table, n, sizeof(*table), header->e_phoff, ELF_T_PHDR);
	if (r < 0)
		return rd_error_set(err, r == -ENODATA ? -EINVAL : r, "program headers reach past the end of the file");
	elf->segments = rd_xcalloc(n, sizeof(*elf->segments));
	elf->segments_n = n;
	for (size_t i = 0; i < n; i++)
		elf->segments[i] = (struct rd_elf_segment){
			.type = table[i].p_type,
			.flags = table[i].p_flags,
			.offset = table[i].p_offset,
			.address = table[i].p_vaddr,
			.file_size = table[i].p_filesz,
			.memory_size = table[i].p_memsz,
		};
	return 0;
}

static void note_identification(struct rd_elf *elf, const unsigned char *raw)
{
	elf->bits = raw[EI_CLASS] == ELFCLASS64 ? 64 : raw[EI_CLASS] == ELFCLASS32 ? 32 : 0;
	elf->little_endian = raw[EI_DATA] == ELFDATA2LSB;
	elf->osabi = raw[EI_OSABI];
	elf->abi_version = raw[EI_ABIVERSION];
	elf->type = elf->little_endian ? rd_le16(raw + 16) : (unsigned)(raw[16] << 8 | raw[17]);
	elf->machine = elf->little_endian ? rd_le16(raw + 18) : (unsigned)(raw[18] << 8 | raw[19]);
	elf->complete = elf->bits == 64 && elf->little_endian;
}

static int read_header(struct rd_elf *elf, struct rd_error *err)
{
	unsigned char raw[HEAD_BYTES];
	Elf64_Ehdr header;
	ssize_t n;

	n = rd_reader_pread_some(&elf->reader, raw, sizeof(raw), 0);
	if (n < 0)
		return rd_error_set(err, (int)n, "cannot read the header: %s", rd_strerror((int)n));
	if (n < SELFMAG || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return rd_error_set(err, -ENOEXEC, "not an ELF file");
	if (n < (ssize_t)sizeof(Elf32_Ehdr))
		return rd_error_set(err, -EINVAL, "file too short");
	note_identification(elf, raw);
	if (!elf->complete)
		return 0;
	if (n < (ssize_t)sizeof(header) || translate(&header, raw, sizeof(header), ELF_T_EHDR) < 0)
		return rd_error_set(err, -EINVAL, "file too short");
	elf->flags = header.e_flags;
	elf->sections_count = header.e_shnum;
	elf->section_names = header.e_shstrndx;
	if (header.e_shentsize == sizeof(Elf64_Shdr))
		elf->sections_offset = header.e_shoff;
	return read_segments(elf, &header, raw, (size_t)n, err);
}

int rd_elf_open(const struct rd_reader *reader, struct rd_elf **ret, struct rd_error *err)
{
	struct rd_elf *elf = rd_xcalloc(1, sizeof(*elf));
	int r;

	elf->users = 1;
	elf->reader = *reader;
	elf->needed = rd_xcalloc(1, sizeof(*elf->needed));
	elf->versions_defined = rd_xcalloc(1, sizeof(*elf->versions_defined));
	r = read_header(elf, err);
	if (r < 0) {
		rd_elf_close(elf);
		return r;
	}
	*ret = elf;
	return 0;
}

struct rd_elf *rd_elf_share(struct rd_elf *elf)
{
	elf->users++;
	return elf;
}

struct rd_elf *rd_elf_close(struct rd_elf *elf)
{
	if (!elf || --elf->users)
		return NULL;
	for (size_t i = 0; i < elf->sections_n; i++)
		free(elf->sections[i].name);
	for (size_t i = 0; i < elf->versions_needed_n; i++) {
		free(elf->versions_needed[i].file);
		free(elf->versions_needed[i].version);
	}
	free(elf->versions_needed);
	free(elf->sections);
	free(elf->segments);
	free(elf->soname);
	free(elf->rpath);
	free(elf->runpath);
	rd_strv_clear(elf->needed);
	rd_strv_clear(elf->versions_defined);
	free(elf->needed);
	free(elf->versions_defined);
	free(elf);
	return NULL;
}

/* More sections than the header can count: section 0 then holds the numbers. */
static int count_sections(struct rd_elf *elf, size_t *ret, size_t *ret_names)
{
	Elf64_Shdr first;
	int r;

	*ret = elf->sections_count;
	*ret_names = elf->section_names;
	if (elf->sections_count && elf->section_names != SHN_XINDEX)
		return 0;
	r = read_table(&elf->reader, &first, 1, sizeof(first), elf->sections_offset, ELF_T_SHDR);
	if (r < 0)
		return r;
	if (!elf->sections_count)
		*ret = first.sh_size > RD_ELF_SECTIONS_MAX ? RD_ELF_SECTIONS_MAX + 1 : (size_t)first.sh_size;
	if (elf->section_names == SHN_XINDEX)
		*ret_names = first.sh_link;
	return 0;
}

static char *section_name(struct rd_block *names, uint32_t offset)
{
	char *ret;

	return rd_block_string(names, &ret, offset, RD_ELF_STRING_MAX) < 0 ? rd_xstrdup("") : ret;
}

static void keep_sections(struct rd_elf *elf, const Elf64_Shdr *table, size_t n, struct rd_block *names)
{
	elf->sections = rd_xcalloc(n ? n : 1, sizeof(*elf->sections));
	elf->sections_n = n;
	for (size_t i = 0; i < n; i++)
		elf->sections[i] = (struct rd_elf_section){
			.name = section_name(names, table[i].sh_name),
			.type = table[i].sh_type,
			.link = table[i].sh_link,
			.info = table[i].sh_info,
			.flags = table[i].sh_flags,
			.address = table[i].sh_addr,
			.offset = table[i].sh_offset,
			.size = table[i].sh_size,
			.entry_size = table[i].sh_entsize,
		};
}

int rd_elf_read_sections(struct rd_elf *elf, struct rd_error *err)
{
	rd_auto_free Elf64_Shdr *table = NULL;
	struct rd_block names = { .len = 0 };
	size_t n, i;
	int r;

	if (elf->sections_read || !elf->complete || !elf->sections_offset)
		return 0;
	elf->sections_read = true;
	r = count_sections(elf, &n, &i);
	if (r < 0)
		return rd_error_set(err, r == -ENODATA ? -EINVAL : r, "section headers reach past the end of the file");
	if (n > RD_ELF_SECTIONS_MAX)
		return rd_error_set(err, -EINVAL, "more than %d sections", RD_ELF_SECTIONS_MAX);
	table = rd_xcalloc(n ? n : 1, sizeof(*table));
	r = read_table(&elf->reader, table, n, sizeof(*table), elf->sections_offset, ELF_T_SHDR);
	if (r < 0)
		return rd_error_set(err, r == -ENODATA ? -EINVAL : r, "section headers reach past the end of the file");
	if (i < n && table[i].sh_type != SHT_NOBITS)
		names.reader = rd_reader_window(&elf->reader, table[i].sh_offset, table[i].sh_size);
	keep_sections(elf, table, n, &names);
	return 0;
}

const struct rd_elf_section *rd_elf_section(const struct rd_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->sections_n; i++)
		if (rd_streq(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

static const struct rd_elf_segment *segment_of_type(const struct rd_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->segments_n; i++)
		if (elf->segments[i].type == type)
			return &elf->segments[i];
	return NULL;
}

int rd_elf_interpreter(const struct rd_elf *elf, char **ret)
{
	const struct rd_elf_segment *s = segment_of_type(elf, PT_INTERP);
	struct rd_reader window;

	if (!s)
		return -ENOENT;
	window = rd_reader_window(&elf->reader, s->offset, s->file_size);
	return rd_reader_string(&window, ret, 0, RD_ELF_STRING_MAX);
}

int rd_elf_offset_of(const struct rd_elf *elf, uint64_t address, uint64_t len, uint64_t *ret)
{
	for (size_t i = 0; i < elf->segments_n; i++) {
		const struct rd_elf_segment *s = &elf->segments[i];
		uint64_t distance = address - s->address;

		if (s->type != PT_LOAD || address < s->address || !rd_inside(distance, len, s->file_size) ||
		    s->offset > elf->reader.size || !rd_inside(distance, len, elf->reader.size - s->offset))
			continue;
		*ret = s->offset + distance;
		return 0;
	}
	return -ENOENT;
}

static struct rd_block open_strings(const struct rd_elf *elf)
{
	struct rd_block b = { .len = 0 };
	uint64_t offset;

	if (rd_elf_offset_of(elf, elf->strtab, 1, &offset) == 0)
		b.reader = rd_reader_window(&elf->reader, offset, elf->strtab_size);
	return b;
}

static void note_number(struct rd_elf *elf, const Elf64_Dyn *d)
{
	const struct {
		int64_t tag;
		uint64_t *to;
	} numbers[] = {
		{ DT_STRTAB, &elf->strtab },
		{ DT_STRSZ, &elf->strtab_size },
		{ DT_FLAGS_1, &elf->flags_1 },
		{ DT_VERNEED, &elf->verneed },
		{ DT_VERNEEDNUM, &elf->verneed_count },
		{ DT_VERDEF, &elf->verdef },
		{ DT_VERDEFNUM, &elf->verdef_count },
		{ DT_RELA, &elf->rela },
		{ DT_RELASZ, &elf->rela_size },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(numbers); i++)
		if (d->d_tag == numbers[i].tag)
			*numbers[i].to = d->d_un.d_val;
}

static void replace(char **at, char *with)
{
	free(*at);
	*at = with;
}

static int note_text(struct rd_elf *elf, struct rd_block *strings, const Elf64_Dyn *d, struct rd_error *err)
{
	char *text;

	if (d->d_tag != DT_NEEDED && d->d_tag != DT_SONAME && d->d_tag != DT_RPATH && d->d_tag != DT_RUNPATH)
		return 0;
	if (rd_block_string(strings, &text, d->d_un.d_val, RD_ELF_STRING_MAX) < 0)
		return rd_error_set(err, -EINVAL, "a name in the dynamic section lies outside the string table");
	if (d->d_tag == DT_NEEDED)
		rd_strv_push_take(elf->needed, text);
	else
		replace(d->d_tag == DT_SONAME ? &elf->soname : d->d_tag == DT_RUNPATH ? &elf->runpath : &elf->rpath, text);
	return 0;
}

static int note_dynamic(struct rd_elf *elf, const Elf64_Dyn *table, size_t n, struct rd_error *err)
{
	struct rd_block strings;
	int r;

	for (size_t i = 0; i < n && table[i].d_tag != DT_NULL; i++)
		note_number(elf, &table[i]);
	strings = open_strings(elf);
	for (size_t i = 0; i < n && table[i].d_tag != DT_NULL; i++) {
		r = note_text(elf, &strings, &table[i], err);
		if (r < 0)
			return r;
	}
	if (elf->runpath)
		replace(&elf->rpath, NULL);
	return 0;
}

int rd_elf_read_dynamic(struct rd_elf *elf, struct rd_error *err)
{
	const struct rd_elf_segment *segment = segment_of_type(elf, PT_DYNAMIC);
	rd_auto_free Elf64_Dyn *table = NULL;
	uint64_t n;
	int r;

	if (elf->dynamic_read || !elf->complete)
		return 0;
	elf->dynamic_read = true;
	elf->is_dynamic = segment != NULL;
	if (!segment)
		return 0;
	n = segment->file_size / sizeof(*table);
	if (n > RD_ELF_DYNAMIC_MAX)
		return rd_error_set(err, -EINVAL, "a dynamic section of more than %d entries", RD_ELF_DYNAMIC_MAX);
	table = rd_xcalloc(n ? n : 1, sizeof(*table));
	r = read_table(&elf->reader, table, n, sizeof(*table), segment->offset, ELF_T_DYN);
	if (r < 0)
		return rd_error_set(err, r == -ENODATA ? -EINVAL : r, "the dynamic section reaches past the end of the file");
	return note_dynamic(elf, table, n, err);
}

struct versions {
	struct rd_elf *elf;
	struct rd_block strings, records;
	size_t left; /* records that may still come: chains of offsets could go in circles */
};

static int read_needed_versions(struct versions *v, const char *file, uint64_t at, unsigned count)
{
	struct rd_elf *elf = v->elf;

	for (; count && v->left; count--, v->left--) {
		unsigned char vna[16];
		char *version;

		if (rd_block_pread(&v->records, vna, sizeof(vna), at) < 0 ||
		    rd_block_string(&v->strings, &version, rd_le32(vna + 8), RD_ELF_STRING_MAX) < 0)
			return -EINVAL;
		RD_GROW(elf->versions_needed, elf->versions_needed_n, elf->versions_needed_allocated);
		elf->versions_needed[elf->versions_needed_n++] =
			(struct rd_elf_version){ rd_xstrdup(file), version, rd_le16(vna + 4) & VER_FLG_WEAK };
		if (!rd_le32(vna + 12))
			break;
		at += rd_le32(vna + 12);
	}
	return 0;
}

static int read_verneed(struct versions *v)
{
	uint64_t at;

	if (!v->elf->verneed)
		return 0;
	if (rd_elf_offset_of(v->elf, v->elf->verneed, 16, &at) < 0)
		return -EINVAL;
	for (uint64_t i = 0; i < v->elf->verneed_count && v->left; i++, v->left--) {
		rd_auto_free char *file = NULL;
		unsigned char vn[16];

		if (rd_block_pread(&v->records, vn, sizeof(vn), at) < 0 ||
		    rd_block_string(&v->strings, &file, rd_le32(vn + 4), RD_ELF_STRING_MAX) < 0 ||
		    read_needed_versions(v, file, at + rd_le32(vn + 8), rd_le16(vn + 2)) < 0)
			return -EINVAL;
		if (!rd_le32(vn + 12) || !v->left)
			break;
		at += rd_le32(vn + 12);
	}
	return 0;
}

static int read_verdef(struct versions *v)
{
	uint64_t at;

	if (!v->elf->verdef)
		return 0;
	if (rd_elf_offset_of(v->elf, v->elf->verdef, 20, &at) < 0)
		return -EINVAL;
	for (uint64_t i = 0; i < v->elf->verdef_count && v->left; i++, v->left--) {
		unsigned char vd[20], aux[8];
		char *name;

		if (rd_block_pread(&v->records, vd, sizeof(vd), at) < 0 ||
		    rd_block_pread(&v->records, aux, sizeof(aux), at + rd_le32(vd + 12)) < 0 ||
		    rd_block_string(&v->strings, &name, rd_le32(aux), RD_ELF_STRING_MAX) < 0)
			return -EINVAL;
		/* The base definition is the name of the file, no version. */
		if (rd_le16(vd + 2) & VER_FLG_BASE)
			free(name);
		else
			rd_strv_push_take(v->elf->versions_defined, name);
		if (!rd_le32(vd + 16))
			break;
		at += rd_le32(vd + 16);
	}
	return 0;
}

int rd_elf_read_versions(struct rd_elf *elf, struct rd_error *err)
{
	struct versions v = { .elf = elf, .left = RD_ELF_VERSIONS_MAX };
	int r;

	r = rd_elf_read_dynamic(elf, err);
	if (r < 0 || elf->versions_read || !elf->complete || !elf->is_dynamic)
		return r;
	elf->versions_read = true;
	v.strings = open_strings(elf);
	v.records = (struct rd_block){ .reader = elf->reader };
	if (read_verneed(&v) < 0 || read_verdef(&v) < 0)
		return rd_error_set(err, -EINVAL, "damaged symbol versions");
	return 0;
}

static bool is_relative(const struct rd_elf *elf, uint64_t info)
{
	return (elf->machine == EM_X86_64 && ELF64_R_TYPE(info) == R_X86_64_RELATIVE) ||
	       (elf->machine == EM_AARCH64 && ELF64_R_TYPE(info) == R_AARCH64_RELATIVE);
}

int rd_elf_relative_addends(const struct rd_elf *elf, uint64_t address, size_t count, size_t stride, uint64_t *ret)
{
	enum { CHUNK = 1024, MOST = 64 << 20 };
	rd_auto_free Elf64_Rela *table = NULL;
	uint64_t at, total = elf->rela_size / sizeof(*table);

	if (!elf->rela || !total)
		return 0;
	if (elf->rela_size > MOST || rd_elf_offset_of(elf, elf->rela, elf->rela_size, &at) < 0)
		return -EINVAL;
	table = rd_xcalloc(CHUNK, sizeof(*table));
	for (uint64_t done = 0; done < total; done += CHUNK) {
		size_t n = total - done < CHUNK ? (size_t)(total - done) : CHUNK;
		int r = read_table(&elf->reader, table, n, sizeof(*table), at + done * sizeof(*table), ELF_T_RELA);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			uint64_t distance = table[i].r_offset - address;

			if (table[i].r_offset >= address && distance % stride == 0 && distance / stride < count &&
			    is_relative(elf, table[i].r_info))
				ret[distance / stride] = (uint64_t)table[i].r_addend;
		}
	}
	return 0;
}
