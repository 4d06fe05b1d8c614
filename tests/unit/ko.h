/* A kernel module as small as libkmod takes it: an ELF file with a .modinfo section and nothing else. */
#pragma once

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define KO_MAX 4096

/* @fields: "name=value" strings, NULL at the end. Returns the length. */
static inline size_t ko_make(unsigned char ret[KO_MAX], const char *const *fields)
{
	static const char names[] = "\0.modinfo\0.shstrtab";
	size_t modinfo = sizeof(Elf64_Ehdr), at = modinfo;
	Elf64_Ehdr header = { .e_type = ET_REL, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(header) };
	Elf64_Shdr sections[3] = { 0 };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	for (; *fields; fields++) {
		size_t n = strlen(*fields) + 1;

		if (at + n > KO_MAX / 2)
			abort();
		memcpy(ret + at, *fields, n);
		at += n;
	}
	sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = modinfo, .sh_size = at - modinfo };
	sections[2] = (Elf64_Shdr){ .sh_name = 10, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names) };
	memcpy(ret + at, names, sizeof(names));
	at = (at + sizeof(names) + 7) / 8 * 8;
	header.e_shoff = at;
	header.e_shentsize = sizeof(sections[0]);
	header.e_shnum = 3;
	header.e_shstrndx = 2;
	memcpy(ret + at, sections, sizeof(sections));
	memcpy(ret, &header, sizeof(header));
	return at + sizeof(sections);
}
