#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/macros.h"
#include "util/msgpack.h"

#define BYTES(text) \
	{ \
		(const unsigned char *)(text), (const unsigned char *)(text) + sizeof(text) - 1 \
	}

static void items_of_every_kind_are_read(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum rd_msgpack_type type;
		uint64_t n;
	} items[] = {
		{ "\xc0", 1, RD_MSGPACK_NIL, 0 },
		{ "\xc3", 1, RD_MSGPACK_BOOL, 1 },
		{ "\x7f", 1, RD_MSGPACK_UINT, 127 },
		{ "\xff", 1, RD_MSGPACK_INT, UINT64_MAX },
		{ "\xcd\x01\x02", 3, RD_MSGPACK_UINT, 0x102 },
		{ "\xcf\x80\0\0\0\0\0\0\1", 9, RD_MSGPACK_UINT, 0x8000000000000001u },
		{ "\xd0\x80", 2, RD_MSGPACK_INT, UINT64_MAX - 127 },
		{ "\xd0\x05", 2, RD_MSGPACK_UINT, 5 },
		{ "\xcb\0\0\0\0\0\0\0\0", 9, RD_MSGPACK_FLOAT, 0 },
		{ "\xa2hi", 3, RD_MSGPACK_STR, 2 },
		{ "\xd9\x02hi", 4, RD_MSGPACK_STR, 2 },
		{ "\xc4\x01x", 3, RD_MSGPACK_BIN, 1 },
		{ "\xd5\x07xy", 4, RD_MSGPACK_BIN, 2 },
		{ "\xc7\x01\x07x", 4, RD_MSGPACK_BIN, 1 },
		{ "\x92", 1, RD_MSGPACK_ARRAY, 2 },
		{ "\xdc\x01\x00", 3, RD_MSGPACK_ARRAY, 256 },
		{ "\x81", 1, RD_MSGPACK_MAP, 1 },
		{ "\xdf\0\0\0\x03", 5, RD_MSGPACK_MAP, 3 },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(items); i++) {
		const unsigned char *bytes = (const unsigned char *)items[i].bytes;
		struct rd_msgpack m = { bytes, bytes + items[i].len };
		struct rd_msgpack_item item;

		assert_int_equal(rd_msgpack_next(&m, &item), 0);
		assert_int_equal(item.type, items[i].type);
		assert_true(item.n == items[i].n);
		assert_ptr_equal(m.at, m.end);
		for (size_t cut = 0; cut < items[i].len; cut++) {
			m = (struct rd_msgpack){ bytes, bytes + cut };
			assert_int_equal(rd_msgpack_next(&m, &item), -EINVAL);
		}
	}
}

static void a_nested_value_is_passed_over_whole(void **state)
{
	struct rd_msgpack m = BYTES("\x82\xa1"
	                            "a\x93\x01\x02\xa1x\xa1"
	                            "b\x81\x01\x90\x2a");
	struct rd_msgpack_item item;

	(void)state;
	assert_int_equal(rd_msgpack_skip(&m), 0);
	assert_int_equal(rd_msgpack_next(&m, &item), 0);
	assert_int_equal(item.n, 42);
}

static void counts_that_no_file_can_hold_are_refused(void **state)
{
	struct rd_msgpack huge = BYTES("\xdd\xff\xff\xff\xff\x01");
	struct rd_msgpack deep = BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x91");
	struct rd_msgpack never = BYTES("\xc1");
	struct rd_msgpack_item item;

	(void)state;
	assert_int_equal(rd_msgpack_skip(&huge), -EINVAL);
	assert_int_equal(rd_msgpack_skip(&deep), -EINVAL);
	assert_int_equal(rd_msgpack_next(&never, &item), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_of_every_kind_are_read),
		cmocka_unit_test(a_nested_value_is_passed_over_whole),
		cmocka_unit_test(counts_that_no_file_can_hold_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
