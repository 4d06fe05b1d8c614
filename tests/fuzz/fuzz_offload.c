/* Any bytes behind the magic of an offload binary. */

#include "common-fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_fatbin("\x10\xff\x10\xad", 4, data, size);
}
