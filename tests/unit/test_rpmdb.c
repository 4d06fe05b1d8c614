/* The rpm database in its three forms, good ones and damaged ones. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "scratch.h"
#include "util/strv.h"

static bool want(void *data, const char *name)
{
	(void)data;
	return strcmp(name, "bash") != 0;
}

static bool want_file(const char *name)
{
	return strncmp(name, "libhsa-runtime64.so", 19) == 0;
}

static void take(void *data, const struct rd_rpm_package *p)
{
	rd_strv_pushf(data, "%s %u:%s-%s %s %s %zu", p->name, p->epoch, p->version, p->release, p->arch, p->vendor,
	              p->files->n);
}

static void copy_fixture(const char *dir, const char *path, const char *name, size_t cut)
{
	char from[4096];
	FILE *f;
	static char bytes[1 << 20];
	size_t len;

	snprintf(from, sizeof(from), RD_SOURCE_DIR "/tests/fixtures/rpmdb/%s", name);
	f = fopen(from, "r");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	scratch_bytes(dir, path, bytes, cut && cut < len ? cut : len);
}

static int read_root(const char *dir, struct rd_strv *found, const char **where)
{
	struct rd_sysroot *sr = scratch_open(dir);
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_rpmdb_read(sr, &(struct rd_rpm_reader){ want, want_file, take, found }, where, &err);

	/* A machine without the library cannot tell anything; the error says so. */
	if (r == -EOPNOTSUPP && strstr(err.message, "sqlite"))
		skip();
	if (r < 0 && r != -ENOENT)
		assert_non_null(err.message);
	rd_error_clear(&err);
	rd_sysroot_free(sr);
	return r;
}

static const char *place_of(const char *name)
{
	if (strstr(name, ".ndb"))
		return "/usr/lib/sysimage/rpm/Packages.db";
	return strstr(name, ".bdb") ? "/var/lib/rpm/Packages" : RD_RPMDB_PATH;
}

static int read_fixture(const char *name, size_t cut, struct rd_strv *found)
{
	char *dir = scratch_new();
	const char *where = NULL;
	int r;

	copy_fixture(dir, place_of(name), name, cut);
	r = read_root(dir, found, &where);
	assert_string_equal(where, place_of(name));
	scratch_free(dir);
	return r;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void wanted_packages_are_read_and_others_are_not(void **state)
{
	static const char *const names[] = { "good.sqlite", "good.ndb", "two-pages.ndb", "good.bdb", "many.bdb" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		assert_int_equal(read_fixture(names[i], 0, &found), 0);
		qsort(found.v, found.n, sizeof(*found.v), compare);
		assert_int_equal(found.n, i == 4 ? 42 : 2);
		assert_string_equal(found.v[0], "amdgpu-dkms 1:6.8.5.60200-2009582.el9 noarch Advanced Micro Devices, Inc. 0");
		assert_string_equal(found.v[found.n - 1],
		                    "hsa-rocr 0:1.14.0.60200-66.el9 x86_64 Advanced Micro Devices, Inc. 2");
	}
}

static void what_only_the_write_ahead_log_holds_is_read_too(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	char *dir = scratch_new();
	const char *where = NULL;

	(void)state;
	copy_fixture(dir, RD_RPMDB_PATH, "log.sqlite", 0);
	copy_fixture(dir, RD_RPMDB_PATH "-wal", "log.sqlite-wal", 0);
	assert_int_equal(read_root(dir, &found, &where), 0);
	assert_int_equal(found.n, 2);
	scratch_free(dir);
}

static void damaged_headers_are_an_error_and_no_crash(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	(void)state;
	assert_int_equal(read_fixture("many-entries.sqlite", 0, &found), -EBADMSG);
	assert_int_equal(read_fixture("short.sqlite", 0, &found), -EBADMSG);
	assert_int_equal(found.n, 0);
}

static void a_tag_that_points_outside_is_left_out(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	(void)state;
	assert_int_equal(read_fixture("offset-outside.sqlite", 0, &found), 0);
	assert_int_equal(found.n, 0);
}

static void a_database_cut_anywhere_is_never_a_crash(void **state)
{
	static const char *const names[] = { "good.sqlite", "good.ndb", "good.bdb" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t cut = 1; cut < 4700; cut += 97) {
			rd_auto_strv struct rd_strv found = RD_STRV_INIT;
			int r = read_fixture(names[i], cut, &found);

			assert_true(r == 0 || r == -EBADMSG || (r == -EOPNOTSUPP && i == 2 && cut < 512));
			assert_true(i == 0 || r < 0 || cut > 3000);
		}
}

/* The fixture with one number of four bytes replaced. */
static int read_changed(const char *name, size_t at, uint32_t value)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	char *dir = scratch_new(), path[4096];
	const unsigned char bytes[] = { value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24 };
	const char *where = NULL;
	FILE *f;
	int r;

	copy_fixture(dir, place_of(name), name, 0);
	snprintf(path, sizeof(path), "%s%s", dir, place_of(name));
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	assert_int_equal(fclose(f), 0);
	r = read_root(dir, &found, &where);
	scratch_free(dir);
	return r;
}

static void places_that_are_none_are_damage(void **state)
{
	/* Of ndb: the slot of bash begins at 48, its header at 4096. Of Berkeley DB: the first bucket is page 1. */
	static const struct {
		const char *name;
		size_t at;
		uint32_t value;
		int wanted;
	} changes[] = {
		{ "good.ndb", 0, 0, -EBADMSG },                  /* no magic */
		{ "good.ndb", 4, 1, -EOPNOTSUPP },               /* a version to come */
		{ "good.ndb", 12, 2, -EBADMSG },                 /* pages of slots that are none */
		{ "good.ndb", 12, UINT32_MAX, -EBADMSG },        /* past the end */
		{ "good.ndb", 48, 0, -EBADMSG },                 /* no slot */
		{ "good.ndb", 52, 9, -EBADMSG },                 /* another package's number */
		{ "good.ndb", 56, UINT32_MAX, -EBADMSG },        /* past the end */
		{ "good.ndb", 56, 1, -EBADMSG },                 /* among the slots */
		{ "good.ndb", 60, UINT32_MAX, -EBADMSG },        /* longer than the file */
		{ "good.ndb", 60, 1, -EBADMSG },                 /* shorter than its frame */
		{ "good.ndb", 4096 + 12, UINT32_MAX, -EBADMSG }, /* a header longer than its place */
		{ "good.ndb", 4096 + 16, UINT32_MAX, -EBADMSG }, /* more entries than it has */
		{ "good.bdb", 12, 0x00053162, -EOPNOTSUPP },     /* a tree, not a hash */
		{ "good.bdb", 20, 3, -EBADMSG },                 /* pages of three bytes */
		{ "good.bdb", 20, 0, -EBADMSG },                 /* or of none */
		{ "good.bdb", 24, 0x0800ff, -EOPNOTSUPP },       /* encrypted */
		{ "good.bdb", 32, 4000, -EBADMSG },              /* more pages than there are */
		{ "good.bdb", 72, UINT32_MAX, -EBADMSG },        /* more buckets */
		{ "good.bdb", 96, 4000, -EBADMSG },              /* the first bucket is past the end */
		{ "good.bdb", 512 + 16, 1, -EBADMSG },           /* a bucket that follows itself */
		{ "good.bdb", 512 + 20, UINT16_MAX, -EBADMSG },  /* more items than a page holds */
		{ "good.bdb", 512 + 24, 0, -EBADMSG },           /* a page of no known kind, with items */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		assert_int_equal(read_changed(changes[i].name, changes[i].at, changes[i].value), changes[i].wanted);
}

static void a_root_without_rpm_has_no_database(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	char *dir = scratch_new();
	const char *where = NULL;

	(void)state;
	assert_int_equal(read_root(dir, &found, &where), -ENOENT);
	assert_null(where);
	scratch_free(dir);
}

static void locks_of_each_kind_hold_their_packages(void **state)
{
	static const char *const held[] = { "rocm-core", "rocm-smi-lib",   "rocblas",   "hip-devel",
		                            "hipblas",   "kernel-default", "miopen-hip" };
	static const char *const others[] = { "rocm",        "rocm-smi", "rocblas-devel", "hipblaslt", "kernel",
		                              "SUSE-2026-1", "rccl",     "hipfft",        "evr" };
	rd_auto_strv struct rd_strv locks = RD_STRV_INIT;
	char *dir = scratch_new();
	struct rd_sysroot *sr;

	(void)state;
	scratch_file(
		dir, "/etc/dnf/plugins/versionlock.list",
		"\n# Added lock on Tue Dec  1 15:09:01 2026\nrocm-core-0:6.4.0.60400-47.el9.*\nrocm-smi-lib\n"
		"  rocblas-4.4.0.60400-47.el9.x86_64\r\nhip*devel-1:6-1.*\n!rccl-0:2.22.3.60400-47.el9.*\n#hipfft-0:1-1.*\n");
	scratch_file(dir, "/etc/dnf/versionlock.toml",
	             "version = \"1.0\"\n\n[[packages]]\nname = \"hipblas\"\ncomment = \"name = x\"\n\n"
	             "[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"2.4.0.60400-47.el9\"\nname=\n");
	scratch_file(dir, "/etc/zypp/locks",
	             "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: kernel-default\n\n"
	             "type: patch\nsolvable_name: SUSE-2026-1\n\nsolvable_name: miopen*");
	sr = scratch_open(dir);
	rd_rpm_locks_read(sr, &locks);
	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
		assert_true(rd_rpm_locks_hold(&locks, held[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(rd_rpm_locks_hold(&locks, others[i]));
	rd_sysroot_free(sr);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_packages_are_read_and_others_are_not),
		cmocka_unit_test(what_only_the_write_ahead_log_holds_is_read_too),
		cmocka_unit_test(damaged_headers_are_an_error_and_no_crash),
		cmocka_unit_test(a_tag_that_points_outside_is_left_out),
		cmocka_unit_test(a_database_cut_anywhere_is_never_a_crash),
		cmocka_unit_test(places_that_are_none_are_damage),
		cmocka_unit_test(a_root_without_rpm_has_no_database),
		cmocka_unit_test(locks_of_each_kind_hold_their_packages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
