/* Any bytes behind the magic and the version of a kpack archive. */

#include "common-fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_fatbin("KPAK\1\0\0\0", 8, data, size);
}
