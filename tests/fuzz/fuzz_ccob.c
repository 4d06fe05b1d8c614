/* Any bytes behind the magic of a compressed bundle. */

#include "common-fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_fatbin("CCOB", 4, data, size);
}
