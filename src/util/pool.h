/* Memory for many small things that end together. Under AddressSanitizer each has a block of its own. */
#pragma once

#include <stddef.h>

struct rd_pool {
	struct rd_pool_block *blocks;
	char *at;
	size_t left, next_size;
};

/* @block: bytes of the first block, those that follow grow */
#define RD_POOL_INIT(block) \
	{ \
		NULL, NULL, 0, (block) \
	}

/* Zeroed, aligned for anything. */
void *rd_pool_alloc(struct rd_pool *pool, size_t size);
char *rd_pool_strndup(struct rd_pool *pool, const char *s, size_t n);
char *rd_pool_strdup(struct rd_pool *pool, const char *s);
void rd_pool_clear(struct rd_pool *pool);
