/* Any bytes as a file: ELF with bundles inside, static libraries, and the rest by their own magic. */

#include "common-fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_fatbin("", 0, data, size);
}
