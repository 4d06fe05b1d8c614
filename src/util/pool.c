#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/cleanup.h"
#include "util/pool.h"
#include "util/xalloc.h"

#define BLOCK_MAX ((size_t)64 << 10)
/* From here on a block is asked of the kernel with all its pages at once, which is cheaper than one by one. */
#define MAPPED_MIN ((size_t)64 << 10)

struct rd_pool_block {
	struct rd_pool_block *next;
	size_t mapped; /* bytes; 0: from the heap */
	alignas(max_align_t) char bytes[];
};

/* Zeroed, and used once only, so that nothing has to be zeroed later. */
static struct rd_pool_block *new_block(size_t size)
{
	struct rd_pool_block *block = MAP_FAILED;

	if (!RD_SANITIZED && size >= MAPPED_MIN)
		block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (block == MAP_FAILED) {
		block = rd_xcalloc(1, size);
		size = 0;
	}
	block->mapped = size;
	return block;
}

static void free_block(struct rd_pool_block *block)
{
	if (block->mapped)
		munmap(block, block->mapped);
	else
		free(block);
}

static void add_block(struct rd_pool *pool, size_t size)
{
	struct rd_pool_block *block;

	if (!RD_SANITIZED && size < pool->next_size)
		size = pool->next_size;
	block = new_block(sizeof(*block) + size);
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
	size_t odd = -(size_t)pool->at % alignof(max_align_t);

	if (odd > pool->left)
		odd = pool->left;
	if (odd)
		pool->at += odd;
	pool->left -= odd;
	return take(pool, size);
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

		free_block(pool->blocks);
		pool->blocks = next;
	}
	pool->at = NULL;
	pool->left = 0;
}
