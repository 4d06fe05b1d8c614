/* Any bytes as /etc/ld.so.cache: entries are whole or left out. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/ldcache.h"
#include "util/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_ldcache *cache = NULL;
	int r = rd_ldcache_parse((const char *)data, size, &cache, &err);

	if (r == 0) {
		for (size_t i = 0; i < cache->n; i++) {
			const struct rd_ldcache_entry *e = &cache->entries[i];

			/* Within the file, and found again by its own name and flags unless only a folder for processors has it. */
			if (!*e->name || *e->path != '/' || strlen(e->name) > size || strlen(e->path) > size)
				abort();
			if (!e->hwcap && !e->legacy_hwcap && i < 64 &&
			    !rd_ldcache_lookup(cache, e->name, e->flags, cache->hwcaps))
				abort();
		}
	} else if (r != -EINVAL || cache || !err.message) {
		abort();
	}
	rd_ldcache_free(cache);
	rd_error_clear(&err);
	return 0;
}
