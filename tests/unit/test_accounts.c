#include <errno.h>

#include <cmocka.h>

#include "rocm-doctor/accounts.h"

#include "scratch.h"

static char *dir;
static struct rd_sysroot *sr;
static struct rd_accounts *accounts;

static void read_files(const char *passwd, const char *group)
{
	dir = scratch_new();
	if (passwd)
		scratch_file(dir, "/etc/passwd", passwd);
	if (group)
		scratch_file(dir, "/etc/group", group);
	sr = scratch_open(dir);
	assert_int_equal(rd_accounts_read(sr, &accounts), 0);
}

static int teardown(void **state)
{
	(void)state;
	accounts = rd_accounts_free(accounts);
	sr = rd_sysroot_free(sr);
	scratch_free(dir);
	return 0;
}

static void a_new_session_has_the_primary_group_and_those_that_list_the_name(void **state)
{
	uint32_t *gids;

	(void)state;
	read_files("root:x:0:0::/root:/bin/sh\nme:x:1000:1001::/home/me:/bin/sh\n",
	           "root:x:0:\nvideo:x:44:you,me\nrender:x:992:meme,me2\nme:x:1001:\n");
	assert_int_equal(rd_accounts_groups(accounts, "me", &gids), 2);
	assert_int_equal(gids[0], 1001);
	assert_int_equal(gids[1], 44);
	free(gids);
	assert_string_equal(rd_accounts_by_uid(accounts, 1000)->home, "/home/me");
	assert_string_equal(rd_accounts_group_name(accounts, 992), "render");
	assert_null(rd_accounts_group_name(accounts, 109));
}

static void a_user_of_a_directory_service_is_still_in_the_groups_that_list_him(void **state)
{
	uint32_t *gids;

	(void)state;
	read_files("root:x:0:0::/root:/bin/sh\n", "render:x:992:ldapuser\n");
	assert_null(rd_accounts_by_name(accounts, "ldapuser"));
	assert_int_equal(rd_accounts_groups(accounts, "ldapuser", &gids), 1);
	assert_int_equal(gids[0], 992);
	free(gids);
}

static void files_that_are_not_there_are_empty(void **state)
{
	uint32_t gid;

	(void)state;
	read_files(NULL, NULL);
	assert_null(rd_accounts_by_uid(accounts, 0));
	assert_int_equal(rd_accounts_gid(accounts, "render", &gid), -ENOENT);
}

static void lines_that_are_no_accounts_are_passed_over(void **state)
{
	(void)state;
	read_files("# text\n:::\n+::::::\nme:x:-1:5::/:\nyou:x:99999999999:5::/:\nshort\nok:x:7:7:\n",
	           "render:x:abc:\n::\nvideo:x:44");
	assert_null(rd_accounts_by_name(accounts, "me"));
	assert_null(rd_accounts_by_name(accounts, "you"));
	assert_int_equal(rd_accounts_by_name(accounts, "ok")->uid, 7);
	assert_string_equal(rd_accounts_group_name(accounts, 44), "video");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_new_session_has_the_primary_group_and_those_that_list_the_name, teardown),
		cmocka_unit_test_teardown(a_user_of_a_directory_service_is_still_in_the_groups_that_list_him, teardown),
		cmocka_unit_test_teardown(files_that_are_not_there_are_empty, teardown),
		cmocka_unit_test_teardown(lines_that_are_no_accounts_are_passed_over, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
