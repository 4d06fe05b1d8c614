/* Little-endian numbers at any alignment: what every format here is written in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t rd_le16(const void *p)
{
	const unsigned char *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t rd_le32(const void *p)
{
	const unsigned char *b = p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t rd_le64(const void *p)
{
	const unsigned char *b = p;

	return rd_le32(b) | (uint64_t)rd_le32(b + 4) << 32;
}

/* True where [offset, offset + len) lies inside @size; no sum that could wrap. */
static inline bool rd_inside(uint64_t offset, uint64_t len, uint64_t size)
{
	return offset <= size && len <= size - offset;
}
