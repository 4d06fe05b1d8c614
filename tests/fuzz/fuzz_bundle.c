/* Any bytes behind the magic of an offload bundle. */

#include "common-fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_fatbin("__CLANG_OFFLOAD_BUNDLE__", 24, data, size);
}
