/* MessagePack, read only: a walk over bytes that never looks past their end and keeps nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

enum rd_msgpack_type {
	RD_MSGPACK_NIL,
	RD_MSGPACK_BOOL,
	RD_MSGPACK_UINT,
	RD_MSGPACK_INT, /* a negative one, in two's complement */
	RD_MSGPACK_FLOAT,
	RD_MSGPACK_STR,
	RD_MSGPACK_BIN, /* also extension types */
	RD_MSGPACK_ARRAY,
	RD_MSGPACK_MAP,
};

struct rd_msgpack {
	const unsigned char *at, *end;
};

struct rd_msgpack_item {
	enum rd_msgpack_type type;
	uint64_t n;       /* value, bytes of a text, items of an array, pairs of a map */
	const char *text; /* of STR and BIN, without NUL */
};

/* The next item; of an array or a map only its head, its content follows. 0, or -EINVAL for damage and for the end. */
int rd_msgpack_next(struct rd_msgpack *m, struct rd_msgpack_item *ret) RD_MUST_CHECK;
/* Past one whole value. */
int rd_msgpack_skip(struct rd_msgpack *m) RD_MUST_CHECK;
/* The head of an array or map, and how many follow. */
int rd_msgpack_open(struct rd_msgpack *m, enum rd_msgpack_type type, uint64_t *ret_n) RD_MUST_CHECK;
bool rd_msgpack_is(const struct rd_msgpack_item *item, const char *text);
