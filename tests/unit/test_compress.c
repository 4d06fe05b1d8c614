/* gzip in memory: whole files come out, damaged and overlong ones do not. */

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "rocm-doctor/compress.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#define MAX ((size_t)1 << 20)

/* @n bytes of @text over and over, packed. */
static size_t pack(char **ret, const char *text, size_t n)
{
	rd_auto_free char *plain = rd_xmalloc(n + 1);
	uLong size = compressBound(n) + 64;
	z_stream z = { 0 };

	for (size_t i = 0; i < n; i++)
		plain[i] = text[i % strlen(text)];
	*ret = rd_xmalloc(size);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)plain;
	z.avail_in = (unsigned)n;
	z.next_out = (unsigned char *)*ret;
	z.avail_out = (unsigned)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size = z.total_out;
	deflateEnd(&z);
	return size;
}

static void a_whole_file_comes_out(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 300000, MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rd_auto_free char *packed = NULL, *plain = NULL;
		size_t n = pack(&packed, "CONFIG_HSA_AMD=y\n", sizes[i]), len = 4711;

		assert_int_equal(rd_gunzip(packed, n, MAX, &plain, &len), 0);
		assert_int_equal(len, sizes[i]);
		assert_int_equal(plain[len], '\0');
		assert_int_equal(strncmp(plain, "CONFIG_HSA_AMD=y\n", len < 17 ? len : 17), 0);
	}
}

static void more_than_the_limit_is_refused(void **state)
{
	rd_auto_free char *packed = NULL, *plain = NULL;
	size_t n = pack(&packed, "a", MAX + 1);

	(void)state;
	assert_int_equal(rd_gunzip(packed, n, MAX, &plain, NULL), -EFBIG);
	assert_null(plain);
}

static void every_truncation_is_refused(void **state)
{
	rd_auto_free char *packed = NULL, *plain = NULL;
	size_t n = pack(&packed, "CONFIG_HSA_AMD=y\n", 500);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rd_gunzip(packed, i, MAX, &plain, NULL), -EBADMSG);
	assert_null(plain);
}

static void what_is_not_gzip_is_refused(void **state)
{
	rd_auto_free char *plain = NULL;

	(void)state;
	assert_int_equal(rd_gunzip("", 0, MAX, &plain, NULL), -EBADMSG);
	assert_int_equal(rd_gunzip("CONFIG_HSA_AMD=y\n", 17, MAX, &plain, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_comes_out),
		cmocka_unit_test(more_than_the_limit_is_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(what_is_not_gzip_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
