/* The rpm database through libsqlite3, good ones and damaged ones. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

static int read_fixture(const char *name, size_t cut, struct rd_strv *found)
{
	char *dir = scratch_new();
	const char *where = NULL;
	int r;

	copy_fixture(dir, RD_RPMDB_PATH, name, cut);
	r = read_root(dir, found, &where);
	assert_string_equal(where, RD_RPMDB_PATH);
	scratch_free(dir);
	return r;
}

static void wanted_packages_are_read_and_others_are_not(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	(void)state;
	assert_int_equal(read_fixture("good.sqlite", 0, &found), 0);
	assert_int_equal(found.n, 2);
	assert_string_equal(found.v[0], "hsa-rocr 0:1.14.0.60200-66.el9 x86_64 Advanced Micro Devices, Inc. 2");
	assert_string_equal(found.v[1], "amdgpu-dkms 1:6.8.5.60200-2009582.el9 noarch Advanced Micro Devices, Inc. 0");
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
	(void)state;
	for (size_t cut = 1; cut < 3000; cut += 97) {
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;
		int r = read_fixture("good.sqlite", cut, &found);

		assert_true(r == 0 || r == -EBADMSG);
	}
}

static void other_forms_are_named(void **state)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	char *dir = scratch_new();
	struct rd_sysroot *sr;
	struct rd_error err = RD_ERROR_INIT;
	const char *where = NULL;

	(void)state;
	scratch_file(dir, "/var/lib/rpm/Packages", "\1\2\3");
	sr = scratch_open(dir);
	assert_int_equal(rd_rpmdb_read(sr, &(struct rd_rpm_reader){ want, want_file, take, &found }, &where, &err),
	                 -EOPNOTSUPP);
	assert_string_equal(where, "/var/lib/rpm/Packages");
	assert_non_null(strstr(err.message, "Berkeley DB"));
	rd_error_clear(&err);
	rd_sysroot_free(sr);
	scratch_free(dir);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_packages_are_read_and_others_are_not),
		cmocka_unit_test(what_only_the_write_ahead_log_holds_is_read_too),
		cmocka_unit_test(damaged_headers_are_an_error_and_no_crash),
		cmocka_unit_test(a_tag_that_points_outside_is_left_out),
		cmocka_unit_test(a_database_cut_anywhere_is_never_a_crash),
		cmocka_unit_test(other_forms_are_named),
		cmocka_unit_test(a_root_without_rpm_has_no_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
