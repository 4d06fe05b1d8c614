#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/str.h"

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		int base, result;
		uint64_t value;
	} rows[] = {
		{ "0", 10, 0, 0 },
		{ "12", 10, 0, 12 },
		{ " 12\n", 10, 0, 12 },
		{ "007", 10, 0, 7 },
		{ "999999999999999", 10, 0, 999999999999999 },
		{ "1000000000000000", 10, 0, 1000000000000000 },
		{ "18446744073709551615", 10, 0, UINT64_MAX },
		{ "18446744073709551616", 10, -ERANGE, 0 },
		{ "", 10, -EINVAL, 0 },
		{ " ", 10, -EINVAL, 0 },
		{ "-1", 10, -EINVAL, 0 },
		{ "+1", 10, -EINVAL, 0 },
		{ "1a", 10, -EINVAL, 0 },
		{ "1 2", 10, -EINVAL, 0 },
		{ "0x10", 10, -EINVAL, 0 },
		{ "1f", 16, 0, 0x1f },
		{ "0x1f", 16, 0, 0x1f },
		{ "0X1F\n", 16, 0, 0x1f },
		{ "0xfffffffffffffff", 16, 0, 0xfffffffffffffff },
		{ "0xffffffffffffffff", 16, 0, UINT64_MAX },
		{ "0x10000000000000000", 16, -ERANGE, 0 },
		{ "0x", 16, -EINVAL, 0 },
		{ "1g", 16, -EINVAL, 0 },
		{ "0x1f", 0, 0, 0x1f },
		{ "017", 0, 0, 15 },
		{ "17", 8, 0, 15 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;
		int r = rd_str_to_u64(rows[i].text, rows[i].base, &value);

		if (r != rows[i].result || value != rows[i].value)
			fail_msg("'%s' with base %d: %d, %llu", rows[i].text, rows[i].base, r, (unsigned long long)value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
