#include <errno.h>
#include <string.h>

#include "util/msgpack.h"

static size_t left(const struct rd_msgpack *m)
{
	return (size_t)(m->end - m->at);
}

/* A big-endian number of @size bytes. */
static int take_number(struct rd_msgpack *m, unsigned size, uint64_t *ret)
{
	uint64_t n = 0;

	if (left(m) < size)
		return -EINVAL;
	for (unsigned i = 0; i < size; i++)
		n = n << 8 | *m->at++;
	*ret = n;
	return 0;
}

static int take_text(struct rd_msgpack *m, struct rd_msgpack_item *ret, unsigned extra)
{
	/* An extension's type byte comes before its bytes. */
	if (left(m) < extra || left(m) - extra < ret->n)
		return -EINVAL;
	m->at += extra;
	ret->text = (const char *)m->at;
	m->at += ret->n;
	return 0;
}

static int sign_extend(struct rd_msgpack *m, unsigned size, struct rd_msgpack_item *ret)
{
	int r = take_number(m, size, &ret->n);

	if (r == 0 && size < 8 && ret->n >> (8 * size - 1))
		ret->n |= UINT64_MAX << (8 * size);
	if (r == 0 && !(ret->n >> 63))
		ret->type = RD_MSGPACK_UINT;
	return r;
}

/* 0xc0 to 0xdf: the kind is in the byte, the length in what follows. */
static int take_long(struct rd_msgpack *m, unsigned char head, struct rd_msgpack_item *ret)
{
	static const struct {
		enum rd_msgpack_type type;
		unsigned char size, extra;
		bool text;
	} kinds[32] = {
		[0x00] = { RD_MSGPACK_NIL, 0, 0, false },   [0x02] = { RD_MSGPACK_BOOL, 0, 0, false },
		[0x03] = { RD_MSGPACK_BOOL, 0, 0, false },  [0x04] = { RD_MSGPACK_BIN, 1, 0, true },
		[0x05] = { RD_MSGPACK_BIN, 2, 0, true },    [0x06] = { RD_MSGPACK_BIN, 4, 0, true },
		[0x07] = { RD_MSGPACK_BIN, 1, 1, true },    [0x08] = { RD_MSGPACK_BIN, 2, 1, true },
		[0x09] = { RD_MSGPACK_BIN, 4, 1, true },    [0x0a] = { RD_MSGPACK_FLOAT, 4, 0, false },
		[0x0b] = { RD_MSGPACK_FLOAT, 8, 0, false }, [0x0c] = { RD_MSGPACK_UINT, 1, 0, false },
		[0x0d] = { RD_MSGPACK_UINT, 2, 0, false },  [0x0e] = { RD_MSGPACK_UINT, 4, 0, false },
		[0x0f] = { RD_MSGPACK_UINT, 8, 0, false },  [0x10] = { RD_MSGPACK_INT, 1, 0, false },
		[0x11] = { RD_MSGPACK_INT, 2, 0, false },   [0x12] = { RD_MSGPACK_INT, 4, 0, false },
		[0x13] = { RD_MSGPACK_INT, 8, 0, false },   [0x14] = { RD_MSGPACK_BIN, 0, 1, true },
		[0x15] = { RD_MSGPACK_BIN, 0, 1, true },    [0x16] = { RD_MSGPACK_BIN, 0, 1, true },
		[0x17] = { RD_MSGPACK_BIN, 0, 1, true },    [0x18] = { RD_MSGPACK_BIN, 0, 1, true },
		[0x19] = { RD_MSGPACK_STR, 1, 0, true },    [0x1a] = { RD_MSGPACK_STR, 2, 0, true },
		[0x1b] = { RD_MSGPACK_STR, 4, 0, true },    [0x1c] = { RD_MSGPACK_ARRAY, 2, 0, false },
		[0x1d] = { RD_MSGPACK_ARRAY, 4, 0, false }, [0x1e] = { RD_MSGPACK_MAP, 2, 0, false },
		[0x1f] = { RD_MSGPACK_MAP, 4, 0, false },
	};
	unsigned k = head - 0xc0u;
	int r;

	if (k == 1)
		return -EINVAL;
	*ret = (struct rd_msgpack_item){ .type = kinds[k].type };
	if (ret->type == RD_MSGPACK_INT)
		return sign_extend(m, kinds[k].size, ret);
	if (ret->type == RD_MSGPACK_BOOL)
		ret->n = k == 3;
	else if (k >= 0x14 && k <= 0x18)
		ret->n = 1u << (k - 0x14);
	r = kinds[k].size ? take_number(m, kinds[k].size, &ret->n) : 0;
	if (r == 0 && kinds[k].text)
		r = take_text(m, ret, kinds[k].extra);
	return r;
}

int rd_msgpack_next(struct rd_msgpack *m, struct rd_msgpack_item *ret)
{
	unsigned char head;

	if (m->at >= m->end)
		return -EINVAL;
	head = *m->at++;
	*ret = (struct rd_msgpack_item){ .type = RD_MSGPACK_UINT, .n = head };
	if (head <= 0x7f)
		return 0;
	if (head >= 0xe0) {
		*ret = (struct rd_msgpack_item){ .type = RD_MSGPACK_INT, .n = UINT64_MAX << 8 | head };
		return 0;
	}
	if (head <= 0x8f) {
		*ret = (struct rd_msgpack_item){ .type = RD_MSGPACK_MAP, .n = head & 0x0f };
		return 0;
	}
	if (head <= 0x9f) {
		*ret = (struct rd_msgpack_item){ .type = RD_MSGPACK_ARRAY, .n = head & 0x0f };
		return 0;
	}
	if (head <= 0xbf) {
		*ret = (struct rd_msgpack_item){ .type = RD_MSGPACK_STR, .n = head & 0x1f };
		return take_text(m, ret, 0);
	}
	return take_long(m, head, ret);
}

int rd_msgpack_skip(struct rd_msgpack *m)
{
	struct rd_msgpack_item item;
	uint64_t values = 1;

	/* Every value takes a byte at least, so counts that promise more than there are bytes are refused at once. */
	while (values) {
		uint64_t more = 0;

		if (rd_msgpack_next(m, &item) < 0)
			return -EINVAL;
		if (item.type == RD_MSGPACK_ARRAY)
			more = item.n;
		else if (item.type == RD_MSGPACK_MAP)
			more = 2 * item.n;
		values += more - 1;
		if (values > left(m))
			return -EINVAL;
	}
	return 0;
}

int rd_msgpack_open(struct rd_msgpack *m, enum rd_msgpack_type type, uint64_t *ret_n)
{
	struct rd_msgpack_item item;

	if (rd_msgpack_next(m, &item) < 0 || item.type != type || item.n > left(m))
		return -EINVAL;
	*ret_n = item.n;
	return 0;
}

bool rd_msgpack_is(const struct rd_msgpack_item *item, const char *text)
{
	return item->type == RD_MSGPACK_STR && item->n == strlen(text) && memcmp(item->text, text, item->n) == 0;
}
