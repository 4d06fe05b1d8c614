/*
 * ELF files, a few kilobytes of each however large they are. Nothing is mapped, sections are never loaded whole, and every
 * number of the file is checked before it is used.
 *
 * Files of 64 bits and little endian are read fully (x86-64, aarch64, AMDGPU); of others only what the identification says,
 * which is all that the loader looks at before it passes over them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/reader.h"

struct rd_error;
struct rd_strv;

enum {
	RD_EM_386 = 3,
	RD_EM_X86_64 = 62,
	RD_EM_AARCH64 = 183,
	RD_EM_AMDGPU = 224,
	RD_ELF_RELOCATABLE = 1,
	RD_ELF_EXECUTABLE = 2,
	RD_ELF_SHARED = 3,
	RD_ELFOSABI_AMDGPU_HSA = 64,
};

/* Most that one text of a string table may have, and most that is kept of each kind of table. */
enum {
	RD_ELF_STRING_MAX = 4096,
	RD_ELF_SECTIONS_MAX = 8192,
	RD_ELF_SEGMENTS_MAX = 256,
	RD_ELF_DYNAMIC_MAX = 4096,
	RD_ELF_VERSIONS_MAX = 4096,
};

struct rd_elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, file_size, memory_size;
};

struct rd_elf_section {
	char *name;
	uint32_t type, link, info;
	uint64_t flags, address, offset, size, entry_size;
};

/* One entry of DT_VERNEED: @version must be defined by @file. */
struct rd_elf_version {
	char *file;
	char *version;
	bool weak;
};

struct rd_elf {
	unsigned users;
	struct rd_reader reader;
	unsigned bits; /* 32, 64 */
	bool little_endian;
	bool complete;    /* 64 bits, little endian: all below is there */
	unsigned type;    /* RD_ELF_... */
	unsigned machine; /* RD_EM_... */
	unsigned osabi, abi_version;
	uint32_t flags; /* e_flags: for AMDGPU the target */
	uint64_t sections_offset;
	unsigned sections_count, section_names;
	struct rd_elf_segment *segments;
	size_t segments_n;

	/* Filled by rd_elf_read_sections(). */
	bool sections_read;
	struct rd_elf_section *sections;
	size_t sections_n;

	/* Filled by rd_elf_read_dynamic(). */
	bool dynamic_read;
	bool is_dynamic;                /* there is a PT_DYNAMIC */
	char *soname, *rpath, *runpath; /* NULL: not there. An rpath beside a runpath is dropped, as the loader does */
	struct rd_strv *needed;
	uint64_t flags_1;
	uint64_t strtab, strtab_size, verneed, verneed_count, verdef, verdef_count, rela, rela_size;

	/* Filled by rd_elf_read_versions(). */
	bool versions_read;
	struct rd_elf_version *versions_needed;
	size_t versions_needed_n, versions_needed_allocated;
	struct rd_strv *versions_defined;
};

#define RD_DF_1_NODEFLIB UINT64_C(0x800)

/*
 * rd_elf_open - the header and the segments
 *
 * Returns 0; -ENOEXEC: no ELF file; -EINVAL: one that is damaged, with the reason in @err; a read error.
 */
int rd_elf_open(const struct rd_reader *reader, struct rd_elf **ret, struct rd_error *err) RD_MUST_CHECK;
/* Another user: it is gone when the last one has closed it. */
struct rd_elf *rd_elf_share(struct rd_elf *elf);
struct rd_elf *rd_elf_close(struct rd_elf *elf);

/* Each reads its part at the first call; -EINVAL with the reason in @err where that part is damaged. */
int rd_elf_read_sections(struct rd_elf *elf, struct rd_error *err) RD_MUST_CHECK;
int rd_elf_read_dynamic(struct rd_elf *elf, struct rd_error *err) RD_MUST_CHECK;
int rd_elf_read_versions(struct rd_elf *elf, struct rd_error *err) RD_MUST_CHECK;

/* By name, after rd_elf_read_sections(); NULL where there is none. */
const struct rd_elf_section *rd_elf_section(const struct rd_elf *elf, const char *name);

/* PT_INTERP's text; -ENOENT: not a dynamic program. The caller frees. */
int rd_elf_interpreter(const struct rd_elf *elf, char **ret) RD_MUST_CHECK;

/*
 * rd_elf_offset_of - where in the file a virtual address is
 * Returns 0, or -ENOENT where no segment holds @len bytes of file there.
 */
int rd_elf_offset_of(const struct rd_elf *elf, uint64_t address, uint64_t len, uint64_t *ret) RD_MUST_CHECK;

/*
 * rd_elf_relative_addends - what relocations of the kind RELATIVE will write into a range of addresses
 * @address, @count: @count slots of 8 bytes, @stride apart, the first at @address
 * @ret: room for @count values; slots without a relocation are left as they are
 *
 * Linkers differ: some write the value into the slot as well, some leave it zero. Needs rd_elf_read_dynamic(). Reads
 * DT_RELA, which may have megabytes: for when the slots alone do not tell.
 */
int rd_elf_relative_addends(const struct rd_elf *elf, uint64_t address, size_t count, size_t stride,
                            uint64_t *ret) RD_MUST_CHECK;

static inline void rd_cleanup_elf(struct rd_elf **elf)
{
	*elf = rd_elf_close(*elf);
}
