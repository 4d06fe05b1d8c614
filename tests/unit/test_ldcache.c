#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/ldcache.h"
#include "util/strbuf.h"
#include "util/strv.h"

/* A cache as ldconfig writes it: header, entries, strings, then the extension with the names of hwcaps folders. */
struct writer {
	struct rd_strbuf entries, strings;
	uint32_t n, total;
};

static void put32(struct rd_strbuf *sb, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		rd_strbuf_addc(sb, (char)(v >> 8 * i));
}

static uint32_t string(struct writer *w, const char *s)
{
	uint32_t at = 48 + 24 * w->total + (uint32_t)w->strings.len;

	rd_strbuf_addn(&w->strings, s, strlen(s) + 1);
	return at;
}

static void entry(struct writer *w, uint32_t flags, const char *name, const char *path, uint64_t hwcap)
{
	put32(&w->entries, flags);
	put32(&w->entries, string(w, name));
	put32(&w->entries, string(w, path));
	put32(&w->entries, 0);
	put32(&w->entries, (uint32_t)hwcap);
	put32(&w->entries, (uint32_t)(hwcap >> 32));
	w->n++;
}

static void finish(struct writer *w, struct rd_strbuf *ret)
{
	uint32_t name = string(w, "x86-64-v3");
	size_t start = ret->len;

	while ((48 + 24 * w->total + w->strings.len) % 4)
		rd_strbuf_addc(&w->strings, '\0');
	assert_int_equal(w->n, w->total);
	rd_strbuf_add(ret, "glibc-ld.so.cache1.1");
	put32(ret, w->n);
	put32(ret, (uint32_t)w->strings.len);
	put32(ret, 2);
	put32(ret, 48 + 24 * w->total + (uint32_t)w->strings.len);
	for (int i = 0; i < 3; i++)
		put32(ret, 0);
	rd_strbuf_addn(ret, w->entries.buf, w->entries.len);
	rd_strbuf_addn(ret, w->strings.buf, w->strings.len);
	put32(ret, 0xeaa42174u);
	put32(ret, 1);
	put32(ret, 1);
	put32(ret, 0);
	put32(ret, (uint32_t)(ret->len - start) + 8);
	put32(ret, 4);
	put32(ret, name);
	rd_strbuf_release(&w->entries);
	rd_strbuf_release(&w->strings);
}

static void sample(struct rd_strbuf *ret)
{
	struct writer w = { RD_STRBUF_INIT, RD_STRBUF_INIT, 0, 5 };

	entry(&w, RD_LDCACHE_X86_64, "libz.so.1", "/usr/lib/glibc-hwcaps/x86-64-v3/libz.so.1", UINT64_C(1) << 62);
	entry(&w, RD_LDCACHE_X86_64, "libz.so.1", "/usr/lib/libz.so.1", 0);
	entry(&w, RD_LDCACHE_I386, "libz.so.1", "/usr/lib32/libz.so.1", 0);
	entry(&w, RD_LDCACHE_X86_64, "libamdhip64.so.6", "/opt/rocm-6.4.1/lib/libamdhip64.so.6", 0);
	entry(&w, RD_LDCACHE_X86_64, "libamdhip64.so.6", "/usr/lib/libamdhip64.so.6", 0);
	finish(&w, ret);
}

static const char *lookup(const struct rd_ldcache *cache, const char *name, uint32_t flags, const char *hwcap)
{
	rd_auto_strv struct rd_strv hwcaps = RD_STRV_INIT;
	const struct rd_ldcache_entry *e;

	if (hwcap)
		rd_strv_push(&hwcaps, hwcap);
	e = rd_ldcache_lookup(cache, name, flags, &hwcaps);
	return e ? e->path : "";
}

static void lookup_takes_the_first_entry_of_the_machine(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;
	struct rd_ldcache *cache;

	(void)state;
	sample(&bytes);
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, NULL), 0);
	assert_int_equal(cache->n, 5);
	assert_int_equal(cache->damaged, 0);
	assert_string_equal(lookup(cache, "libamdhip64.so.6", RD_LDCACHE_X86_64, NULL), "/opt/rocm-6.4.1/lib/libamdhip64.so.6");
	assert_string_equal(lookup(cache, "libz.so.1", RD_LDCACHE_I386, NULL), "/usr/lib32/libz.so.1");
	assert_string_equal(lookup(cache, "libz.so.1", RD_LDCACHE_AARCH64, NULL), "");
	assert_string_equal(lookup(cache, "libz.so", RD_LDCACHE_X86_64, NULL), "");
	rd_ldcache_free(cache);
}

static void lookup_prefers_a_folder_the_processor_can_use(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;
	struct rd_ldcache *cache;

	(void)state;
	sample(&bytes);
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, NULL), 0);
	assert_string_equal(lookup(cache, "libz.so.1", RD_LDCACHE_X86_64, "x86-64-v3"),
	                    "/usr/lib/glibc-hwcaps/x86-64-v3/libz.so.1");
	assert_string_equal(lookup(cache, "libz.so.1", RD_LDCACHE_X86_64, "x86-64-v2"), "/usr/lib/libz.so.1");
	rd_ldcache_free(cache);
}

static void the_old_layout_is_read_with_and_without_the_new_one(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;
	struct rd_ldcache *cache;
	static const char strings[] = "libm.so.6\0/lib/libm.so.6";

	(void)state;
	rd_strbuf_addn(&bytes, "ld.so-1.7.0\0", 12);
	put32(&bytes, 1);
	put32(&bytes, RD_LDCACHE_X86_64);
	put32(&bytes, 0);
	put32(&bytes, 10);
	rd_strbuf_addn(&bytes, strings, sizeof(strings));
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, NULL), 0);
	assert_string_equal(lookup(cache, "libm.so.6", RD_LDCACHE_X86_64, NULL), "/lib/libm.so.6");
	cache = rd_ldcache_free(cache);

	/* The header and its one entry take 28 bytes: the new part begins at the next multiple of eight. */
	rd_strbuf_truncate(&bytes, 28);
	put32(&bytes, 0);
	sample(&bytes);
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, NULL), 0);
	assert_int_equal(cache->n, 5);
	rd_ldcache_free(cache);
}

static void a_file_that_is_no_cache_is_refused_with_a_reason(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;
	struct rd_error err = RD_ERROR_INIT;
	struct rd_ldcache *cache = NULL;

	(void)state;
	assert_int_equal(rd_ldcache_parse("#!/bin/sh\n", 10, &cache, &err), -EINVAL);
	assert_string_equal(err.message, "not a cache of the dynamic loader");
	rd_error_clear(&err);

	sample(&bytes);
	memcpy(bytes.buf + 20, "\xff\xff\xff\x7f", 4);
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, &err), -EINVAL);
	assert_string_equal(err.message, "2147483647 entries do not fit into the file");
	rd_error_clear(&err);
	assert_null(cache);
}

static void entries_that_point_outside_are_left_out(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;
	struct rd_ldcache *cache;

	(void)state;
	sample(&bytes);
	memcpy(bytes.buf + 48 + 24 + 8, "\xff\xff\xff\xff", 4);
	assert_int_equal(rd_ldcache_parse(bytes.buf, bytes.len, &cache, NULL), 0);
	assert_int_equal(cache->n, 4);
	assert_int_equal(cache->damaged, 1);
	rd_ldcache_free(cache);
}

static void every_cut_of_a_cache_is_survived(void **state)
{
	rd_auto_strbuf struct rd_strbuf bytes = RD_STRBUF_INIT;

	(void)state;
	sample(&bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		struct rd_ldcache *cache = NULL;

		if (rd_ldcache_parse(bytes.buf, len, &cache, NULL) == 0)
			rd_ldcache_free(cache);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookup_takes_the_first_entry_of_the_machine),
		cmocka_unit_test(lookup_prefers_a_folder_the_processor_can_use),
		cmocka_unit_test(the_old_layout_is_read_with_and_without_the_new_one),
		cmocka_unit_test(a_file_that_is_no_cache_is_refused_with_a_reason),
		cmocka_unit_test(entries_that_point_outside_are_left_out),
		cmocka_unit_test(every_cut_of_a_cache_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
