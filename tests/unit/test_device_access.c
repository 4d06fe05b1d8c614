#include <cmocka.h>

#include "rocm-doctor/sysroot.h"

#include "../../probes/device/common.h"

static const uint32_t video[] = { 1000, 44 }, render[] = { 1000, 992 }, nobody[] = { 0, 65534 };

static struct rd_stat node(unsigned mode, uid_t uid, gid_t gid)
{
	return (struct rd_stat){ .type = RD_STAT_CHAR, .mode = mode, .uid = uid, .gid = gid };
}

static struct rd_credentials user(const uint32_t *gids)
{
	return (struct rd_credentials){ .uid = 1000, .gids = gids, .gids_n = 2, .overflow_uid = 65534, .overflow_gid = 65534 };
}

static enum rd_denial access_of(struct rd_stat st, struct rd_credentials who)
{
	return rd_device_access(&st, NULL, 0, &who);
}

static void the_group_opens_and_its_absence_is_named(void **state)
{
	(void)state;
	assert_int_equal(access_of(node(0660, 0, 992), user(render)), RD_ACCESS_GRANTED);
	assert_int_equal(access_of(node(0660, 0, 992), user(video)), RD_ACCESS_DENIED_GROUP);
	assert_int_equal(access_of(node(0666, 0, 992), user(video)), RD_ACCESS_GRANTED);
}

static void a_mode_or_a_group_root_that_shuts_everybody_out_is_named(void **state)
{
	(void)state;
	assert_int_equal(access_of(node(0600, 0, 0), user(render)), RD_ACCESS_DENIED_MODE);
	assert_int_equal(access_of(node(0660, 0, 0), user(render)), RD_ACCESS_DENIED_MODE);
	assert_int_equal(access_of(node(0640, 0, 992), user(render)), RD_ACCESS_DENIED_MODE);
}

static void the_first_class_that_matches_decides_even_if_a_later_one_gives_more(void **state)
{
	(void)state;
	assert_int_equal(access_of(node(0066, 1000, 992), user(render)), RD_ACCESS_DENIED_MODE);
	assert_int_equal(access_of(node(0606, 0, 992), user(render)), RD_ACCESS_DENIED_MODE);
}

static void root_opens_what_has_a_number_in_his_namespace(void **state)
{
	struct rd_credentials root = { .uid = 0,
		                       .gids = nobody,
		                       .gids_n = 1,
		                       .overrides_modes = true,
		                       .user_namespace = true,
		                       .overflow_uid = 65534,
		                       .overflow_gid = 65534 };

	(void)state;
	assert_int_equal(access_of(node(0660, 0, 992), root), RD_ACCESS_GRANTED);
	assert_int_equal(access_of(node(0660, 65534, 65534), root), RD_ACCESS_DENIED_NAMESPACE);
	root.user_namespace = false;
	assert_int_equal(access_of(node(0660, 65534, 65534), root), RD_ACCESS_GRANTED);
}

static void root_without_the_capability_is_a_user_like_others(void **state)
{
	struct rd_credentials root = { .uid = 0, .gids = nobody, .gids_n = 1, .overflow_uid = 65534, .overflow_gid = 65534 };

	(void)state;
	assert_int_equal(access_of(node(0660, 0, 992), root), RD_ACCESS_GRANTED);
	assert_int_equal(access_of(node(0660, 1, 992), root), RD_ACCESS_DENIED_GROUP);
}

static void a_foreign_group_in_a_user_namespace_is_not_decided_by_its_number(void **state)
{
	struct rd_credentials who = user(nobody);

	(void)state;
	who.user_namespace = true;
	assert_int_equal(access_of(node(0660, 65534, 65534), who), RD_ACCESS_UNDECIDED);
	assert_int_equal(access_of(node(0666, 65534, 65534), who), RD_ACCESS_GRANTED);
	who.gids = render;
	assert_int_equal(access_of(node(0660, 65534, 65534), who), RD_ACCESS_DENIED_NAMESPACE);
}

static void an_acl_counts_under_its_mask(void **state)
{
	struct rd_acl_entry acl[] = {
		{ RD_ACL_USER_OBJ, 0, 6 }, { RD_ACL_USER, 1000, 6 }, { RD_ACL_GROUP_OBJ, 0, 0 },
		{ RD_ACL_MASK, 0, 6 },     { RD_ACL_OTHER, 0, 0 },
	};
	struct rd_stat st = node(0660, 0, 992);
	struct rd_credentials who = user(video);

	(void)state;
	/* logind's entry for the user at the seat. */
	assert_int_equal(rd_device_access(&st, acl, 5, &who), RD_ACCESS_GRANTED);
	acl[3].perms = 4;
	assert_int_equal(rd_device_access(&st, acl, 5, &who), RD_ACCESS_DENIED_MODE);
	acl[3].perms = 6;
	acl[1].id = 1001;
	/* The mode's middle digit is the mask now; the group itself has nothing. */
	who = user(render);
	assert_int_equal(rd_device_access(&st, acl, 5, &who), RD_ACCESS_DENIED_MODE);
}

static void any_group_entry_that_gives_all_is_enough(void **state)
{
	struct rd_acl_entry acl[] = {
		{ RD_ACL_USER_OBJ, 0, 6 }, { RD_ACL_GROUP_OBJ, 0, 4 }, { RD_ACL_GROUP, 44, 6 },
		{ RD_ACL_MASK, 0, 7 },     { RD_ACL_OTHER, 0, 0 },
	};
	static const uint32_t both[] = { 992, 44 };
	struct rd_stat st = node(0670, 0, 992);
	struct rd_credentials who = user(both);

	(void)state;
	assert_int_equal(rd_device_access(&st, acl, 5, &who), RD_ACCESS_GRANTED);
	who = user(render);
	assert_int_equal(rd_device_access(&st, acl, 5, &who), RD_ACCESS_DENIED_MODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_opens_and_its_absence_is_named),
		cmocka_unit_test(a_mode_or_a_group_root_that_shuts_everybody_out_is_named),
		cmocka_unit_test(the_first_class_that_matches_decides_even_if_a_later_one_gives_more),
		cmocka_unit_test(root_opens_what_has_a_number_in_his_namespace),
		cmocka_unit_test(root_without_the_capability_is_a_user_like_others),
		cmocka_unit_test(a_foreign_group_in_a_user_namespace_is_not_decided_by_its_number),
		cmocka_unit_test(an_acl_counts_under_its_mask),
		cmocka_unit_test(any_group_entry_that_gives_all_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
