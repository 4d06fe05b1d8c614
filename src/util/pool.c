#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/pool.h"
#include "util/xalloc.h"

#define BLOCK_MAX 65536

struct rd_pool_block {
	struct rd_pool_block *next;
	alignas(max_align_t) char bytes[];
};

static void add_block(struct rd_pool *pool, size_t size)
{
	struct rd_pool_block *block;

	if (!RD_SANITIZED && size < pool->next_size)
		size = pool->next_size;
	block = rd_xmalloc(sizeof(*block) + size);
	block->next = pool->blocks;
	pool->blocks = block;
	pool->at = block->bytes;
	pool->left = size;
	if (pool->next_size < BLOCK_MAX)
		pool->next_size *= 2;
}

static void *take(struct rd_pool *pool, size_t size)
{
	void *p;

	if (size > pool->left || RD_SANITIZED)
		add_block(pool, size);
	p = pool->at;
	pool->at += size;
	pool->left -= size;
	return p;
}

void *rd_pool_alloc(struct rd_pool *pool, size_t size)
{
	size_t odd = pool->at ? -(size_t)pool->at % alignof(max_align_t) : 0;

	if (odd > pool->left)
		odd = pool->left;
	if (odd)
		pool->at += odd;
	pool->left -= odd;
	return memset(take(pool, size), 0, size);
}

char *rd_pool_strndup(struct rd_pool *pool, const char *s, size_t n)
{
	char *copy = take(pool, n + 1);

	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

char *rd_pool_strdup(struct rd_pool *pool, const char *s)
{
	return rd_pool_strndup(pool, s, strlen(s));
}

void rd_pool_clear(struct rd_pool *pool)
{
	while (pool->blocks) {
		struct rd_pool_block *next = pool->blocks->next;

		free(pool->blocks);
		pool->blocks = next;
	}
	pool->at = NULL;
	pool->left = 0;
}
