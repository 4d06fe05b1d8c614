/* Any bytes as an rpm database of the form ndb. */
#include "common-rpm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_rpm(rpmdb_read_ndb, data, size);
}
