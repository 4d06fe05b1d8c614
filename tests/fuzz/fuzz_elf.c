/* Any bytes as an ELF file: header, sections, dynamic section, versions and relocations. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "util/strv.h"
#include "util/xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct rd_elf *elf, size_t size)
{
	uint64_t addends[8] = { 0 }, offset;
	char *interpreter = NULL;

	if (rd_elf_interpreter(elf, &interpreter) == 0 && strlen(interpreter) > RD_ELF_STRING_MAX + 64)
		abort();
	free(interpreter);
	for (size_t i = 0; i < elf->segments_n; i++)
		if (rd_elf_offset_of(elf, elf->segments[i].address, 8, &offset) == 0 && (offset > size || size - offset < 8))
			abort();
	if (rd_elf_read_sections(elf, NULL) == 0 && elf->sections_n > RD_ELF_SECTIONS_MAX)
		abort();
	(void)rd_elf_section(elf, ".hip_fatbin");
	if (rd_elf_read_versions(elf, NULL) == 0 && elf->versions_needed_n + elf->versions_defined->n > 2 * RD_ELF_VERSIONS_MAX)
		abort();
	if (elf->needed->n > RD_ELF_DYNAMIC_MAX || (elf->runpath && elf->rpath && elf->dynamic_read && size == 0))
		abort();
	if (rd_elf_relative_addends(elf, elf->rela, RD_ARRAY_SIZE(addends), 24, addends) > 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *bytes = rd_xmalloc(size + 1);
	struct rd_reader reader = rd_reader_of_bytes(bytes, size);
	struct rd_error err = RD_ERROR_INIT;
	struct rd_elf *elf = NULL;

	if (size)
		memcpy(bytes, data, size);
	if (rd_elf_open(&reader, &elf, &err) == 0)
		use(elf, size);
	else if (elf || !err.message)
		abort();
	rd_elf_close(elf);
	rd_error_clear(&err);
	free(bytes);
	return 0;
}
