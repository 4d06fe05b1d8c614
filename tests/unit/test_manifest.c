#include <cmocka.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/manifest.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/macros.h"

/* JSON with single quotes for double ones. */
static int parse(const char *text, struct rd_manifest **ret, struct rd_error *err)
{
	char *json = strdup(text);
	int r;

	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	r = rd_manifest_parse(json, strlen(json), "FILE", ret, err);
	free(json);
	return r;
}

#define SCHEMA "{'schema': 'rocm-doctor/snapshot/1', "

static void every_key_of_the_contract_is_taken_over(void **state)
{
	static const char text[] = SCHEMA
		"'taken': '2026-11-30T12:00:00Z',"
		"'uname': {'release': '6.8.0-45-generic', 'version': '#45', 'machine': 'x86_64'},"
		"'environment': {'LD_LIBRARY_PATH': '/opt/rocm/lib', 'EMPTY': ''},"
		"'user': {'name': 'ubuntu', 'uid': 1000, 'gid': 1000, 'groups': [{'gid': 44, 'name': 'video'}, {'gid': 7}]},"
		"'rlimits': {'memlock': 8388608},"
		"'nodes': {'/dev/kfd': {'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 109, 'major': 235, 'minor': 0,"
		"  'open': 'EACCES', 'acl': [{'tag': 'user', 'id': 1000, 'perms': 'rw-'}, {'tag': 'group', 'perms': '--x'}]}},"
		"'kmsg': ['[    1.0] one', '[    2.0] two'],"
		"'unreadable': {'/sys/class/drm/card0/device/config': 'EIO'},"
		"'missing': ['/etc/modprobe.d/x.conf', '/a']}";
	struct rd_error err = RD_ERROR_INIT;
	const struct rd_manifest_node *node;
	struct rd_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(text, &m, &err), 0);
	assert_string_equal(m->uname.release, "6.8.0-45-generic");
	assert_string_equal(m->uname.version, "#45");
	assert_int_equal(m->environment.n, 2);
	assert_string_equal(m->environment.v[0], "EMPTY=");
	assert_string_equal(m->user.name, "ubuntu");
	/* The primary group is one of them. */
	assert_int_equal(m->user.groups_n, 3);
	assert_string_equal(m->user.groups[0].name, "video");
	assert_null(m->user.groups[1].name);
	assert_int_equal(m->user.groups[2].gid, 1000);
	assert_int_equal(m->memlock, 8388608);
	assert_string_equal(m->kmsg, "[    1.0] one\n[    2.0] two\n");
	node = rd_manifest_node(m, "/dev/kfd");
	assert_non_null(node);
	assert_int_equal(node->stat.type, RD_STAT_CHAR);
	assert_int_equal(node->stat.mode, 0660);
	assert_int_equal(node->stat.gid, 109);
	assert_int_equal(node->stat.major, 235);
	assert_int_equal(node->open, -EACCES);
	assert_int_equal(node->acl_n, 2);
	assert_int_equal(node->acl[0].tag, RD_ACL_USER);
	assert_int_equal(node->acl[0].perms, 6);
	assert_int_equal(node->acl[1].tag, RD_ACL_GROUP_OBJ);
	assert_int_equal(node->acl[1].perms, 1);
	assert_int_equal(rd_manifest_unreadable(m, "/sys/class/drm/card0/device/config", false), -EIO);
	assert_true(rd_manifest_is_missing(m, "/a/b/c"));
	assert_false(rd_manifest_is_missing(m, "/ab"));
	rd_manifest_free(m);
}

static void no_key_is_needed(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse("{'schema': 'rocm-doctor/snapshot/1'}", &m, &err), 0);
	assert_false(m->has_nodes || m->has_missing || m->has_user || m->has_uname || m->has_memlock || m->has_environment);
	assert_null(m->kmsg);
	rd_manifest_free(m);
	assert_int_equal(parse("{}", &m, &err), 0);
	rd_manifest_free(m);
	/* What a later release of the same schema adds. */
	assert_int_equal(parse(SCHEMA "'later': {'a': [1, null]}}", &m, &err), 0);
	rd_manifest_free(m);
}

static void minus_one_is_no_limit(void **state)
{
	static const struct {
		const char *text;
		int64_t expect;
	} rows[] = {
		{ SCHEMA "'rlimits': {'memlock': -1}}", INT64_MAX },
		{ SCHEMA "'rlimits': {'memlock': 9223372036854775807}}", INT64_MAX },
		{ SCHEMA "'rlimits': {'memlock': 18446744073709551615}}", INT64_MAX },
		{ SCHEMA "'rlimits': {'memlock': 0}}", 0 },
		{ SCHEMA "'rlimits': {'memlock': 65536}}", 65536 },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		struct rd_manifest *m = NULL;

		assert_int_equal(parse(rows[i].text, &m, NULL), 0);
		assert_true(m->memlock == rows[i].expect);
		rd_manifest_free(m);
	}
}

#define NODE(fields) SCHEMA "'nodes': {'/dev/kfd': {" fields "}}}"
#define GOOD "'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 0"

static const struct {
	const char *text, *message; /* the message holds this */
} bad[] = {
	{ "", "not JSON at line 1, column 1" },
	{ "{", "not JSON" },
	{ SCHEMA "\n'taken': }", "not JSON at line 2, column 10" },
	{ SCHEMA "'taken': ''} x", "not JSON" },
	{ "[]", "at '/': wants an object" },
	{ "null", "at '/': wants an object" },
	{ "{'schema': 'rocm-doctor/snapshot/2'}", "at '/schema': this program reads \"rocm-doctor/snapshot/1\"" },
	{ "{'schema': 1}", "at '/schema'" },
	{ SCHEMA "'schema': 'rocm-doctor/snapshot/1'}", "at '/schema': the key stands there twice" },
	{ SCHEMA "'later': {'a': 1, 'b': 2, 'a': 3}}", "at '/later/a': the key stands there twice" },
	{ SCHEMA "'taken': 5}", "at '/taken': wants a string" },
	{ SCHEMA "'uname': []}", "at '/uname': wants an object" },
	{ SCHEMA "'uname': {'release': 6.8}}", "at '/uname/release': wants a string" },
	{ SCHEMA "'environment': ['A=b']}", "at '/environment': wants an object" },
	{ SCHEMA "'environment': {'A': null}}", "at '/environment/A': wants a string" },
	{ SCHEMA "'environment': {'A=B': 'c'}}", "at '/environment/A=B': no name of a variable" },
	{ SCHEMA "'environment': {'': 'c'}}", "no name of a variable" },
	{ SCHEMA "'user': 'root'}", "at '/user': wants an object" },
	{ SCHEMA "'user': {'name': 'root', 'gid': 0}}", "at '/user/uid': wants a whole number" },
	{ SCHEMA "'user': {'uid': -1, 'gid': 0}}", "at '/user/uid'" },
	{ SCHEMA "'user': {'uid': 0.5, 'gid': 0}}", "at '/user/uid'" },
	{ SCHEMA "'user': {'uid': 1e400, 'gid': 0}}", "at '/user/uid'" },
	{ SCHEMA "'user': {'uid': 0, 'gid': 4294967296}}", "at '/user/gid'" },
	{ SCHEMA "'user': {'uid': 0, 'gid': 0, 'groups': {}}}", "at '/user/groups': wants an array" },
	{ SCHEMA "'user': {'uid': 0, 'gid': 0, 'groups': [{'gid': 1}, {'gid': '44'}]}}", "at '/user/groups/1/gid'" },
	{ SCHEMA "'user': {'uid': 0, 'gid': 0, 'groups': [44]}}", "at '/user/groups/0': wants an object" },
	{ SCHEMA "'user': {'uid': 0, 'gid': 0, 'groups': [{'gid': 1, 'name': 5}]}}", "at '/user/groups/0/name'" },
	{ SCHEMA "'rlimits': {'memlock': -2}}", "at '/rlimits/memlock': wants bytes" },
	{ SCHEMA "'rlimits': {'memlock': 'unlimited'}}", "at '/rlimits/memlock'" },
	{ SCHEMA "'nodes': []}", "at '/nodes': wants an object" },
	{ SCHEMA "'nodes': {'dev/kfd': {" GOOD "}}}", "at '/nodes/dev~1kfd': wants an absolute path" },
	{ NODE("'mode': '0660', 'uid': 0, 'gid': 0"), "at '/nodes/~1dev~1kfd/type': is not there" },
	{ NODE("'type': 'fifo', 'mode': '0660', 'uid': 0, 'gid': 0"), "at '/nodes/~1dev~1kfd/type': wants" },
	{ NODE("'type': 'char', 'mode': '0668', 'uid': 0, 'gid': 0"), "/mode': wants permission bits" },
	{ NODE("'type': 'char', 'mode': 432, 'uid': 0, 'gid': 0"), "/mode'" },
	{ NODE("'type': 'char', 'mode': '20660', 'uid': 0, 'gid': 0"), "/mode'" },
	{ NODE("'type': 'char', 'mode': '', 'uid': 0, 'gid': 0"), "/mode'" },
	{ NODE("'type': 'char', 'mode': '0660', 'uid': '0', 'gid': 0"), "/uid'" },
	{ NODE(GOOD ", 'major': -1"), "/major'" },
	{ NODE(GOOD ", 'open': 'EWHATEVER'"), "at '/nodes/~1dev~1kfd/open': wants the name of an errno" },
	{ NODE(GOOD ", 'open': true"), "/open'" },
	{ NODE(GOOD ", 'open': 13"), "/open'" },
	{ NODE(GOOD ", 'acl': {}"), "/acl': wants an array" },
	{ NODE(GOOD ", 'acl': ['user:1000:rw']"), "/acl/0': wants an object" },
	{ NODE(GOOD ", 'acl': [{'tag': 'everyone', 'perms': 'rw-'}]"), "/acl/0/tag'" },
	{ NODE(GOOD ", 'acl': [{'perms': 'rw-'}]"), "/acl/0/tag'" },
	{ NODE(GOOD ", 'acl': [{'tag': 'user', 'id': 1, 'perms': 'rw'}]"), "/acl/0/perms'" },
	{ NODE(GOOD ", 'acl': [{'tag': 'user', 'id': 1, 'perms': 'wr-'}]"), "/acl/0/perms'" },
	{ NODE(GOOD ", 'acl': [{'tag': 'user', 'id': 1, 'perms': 'rw-x'}]"), "/acl/0/perms'" },
	{ NODE(GOOD ", 'acl': [{'tag': 'user', 'id': -1, 'perms': 'rw-'}]"), "/acl/0/id'" },
	{ SCHEMA "'kmsg': 'text'}", "at '/kmsg': wants an array" },
	{ SCHEMA "'kmsg': ['a', 1]}", "at '/kmsg/1': wants a string" },
	{ SCHEMA "'unreadable': ['/a']}", "at '/unreadable': wants an object" },
	{ SCHEMA "'unreadable': {'/a': 'no'}}", "at '/unreadable/~1a': wants the name of an errno" },
	{ SCHEMA "'unreadable': {'a': 'EIO'}}", "at '/unreadable/a': wants an absolute path" },
	{ SCHEMA "'missing': {'/a': true}}", "at '/missing': wants an array" },
	{ SCHEMA "'missing': ['/a', 'b']}", "at '/missing/1': wants an absolute path" },
	{ SCHEMA "'missing': [null]}", "at '/missing/0': wants a string" },
	{ SCHEMA "'kmsg': ['a\\u0000b']}", "a NUL in a string" },
	{ SCHEMA "'a': [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}", "nested too deeply" },
};

static void anything_else_is_refused_with_its_place_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(bad); i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_manifest *m = NULL;
		int r = parse(bad[i].text, &m, &err);

		if (r != -EINVAL || m)
			fail_msg("%s: %d", bad[i].text, r);
		if (!err.message || !strstr(err.message, "bad 'FILE'") || !strstr(err.message, bad[i].message))
			fail_msg("%s: says \"%s\", not \"%s\"", bad[i].text, err.message, bad[i].message);
		rd_error_clear(&err);
	}
}

static void an_escaped_backslash_is_no_escaped_nul(void **state)
{
	struct rd_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(SCHEMA "'kmsg': ['a\\\\u0000b', '[[[[{{{{,,,,']}", &m, NULL), 0);
	assert_string_equal(m->kmsg, "a\\u0000b\n[[[[{{{{,,,,\n");
	rd_manifest_free(m);
}

static void a_nul_byte_is_refused(void **state)
{
	static const char text[] = "{\"schema\": \"rocm-doctor/snapshot/1\"}\0{";
	struct rd_error err = RD_ERROR_INIT;
	struct rd_manifest *m = NULL;

	(void)state;
	assert_int_equal(rd_manifest_parse(text, sizeof(text) - 1, "FILE", &m, &err), -EINVAL);
	assert_non_null(strstr(err.message, "a NUL byte"));
	rd_error_clear(&err);
}

static void more_values_than_memory_is_meant_for_are_refused(void **state)
{
	size_t n = (size_t)RD_MANIFEST_VALUES_MAX + 16;
	char *text = malloc(2 * n + 64);
	struct rd_error err = RD_ERROR_INIT;
	struct rd_manifest *m = NULL;
	size_t len = (size_t)sprintf(text, "{\"schema\": \"rocm-doctor/snapshot/1\", \"x\": [1");

	(void)state;
	for (size_t i = 0; i < n; i++, len += 2)
		memcpy(text + len, ",1", 3);
	strcpy(text + len, "]}");
	assert_int_equal(rd_manifest_parse(text, len + 2, "FILE", &m, &err), -EINVAL);
	assert_non_null(strstr(err.message, "too many values"));
	rd_error_clear(&err);
	free(text);
}

static void truncated_anywhere_it_is_refused(void **state)
{
	static const char text[] = SCHEMA "'user': {'uid': 0, 'gid': 0, 'groups': [{'gid': 44, 'name': 'v\\u00e4'}]},"
					  "'nodes': {'/dev/kfd': {" GOOD "}}, 'missing': ['/a'], 'kmsg': ['x']}";
	char copy[sizeof(text)];

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct rd_manifest *m = NULL;

		memcpy(copy, text, n);
		copy[n] = '\0';
		assert_int_equal(parse(copy, &m, NULL), -EINVAL);
	}
}

static void names_of_nodes_are_listed_once_folders_included(void **state)
{
	struct rd_strv names = RD_STRV_INIT;
	struct rd_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(SCHEMA "'nodes': {'/dev/kfd': {" GOOD "}, '/dev/dri/card0': {" GOOD
	                              "}, '/dev//dri/renderD128/': {" GOOD "}, '/dev/dri-x': {" GOOD "}}}",
	                       &m, NULL),
	                 0);
	rd_manifest_node_names(m, "/dev", &names);
	rd_strv_sort(&names);
	assert_int_equal(names.n, 3);
	assert_string_equal(names.v[0], "dri");
	assert_string_equal(names.v[1], "dri-x");
	assert_string_equal(names.v[2], "kfd");
	rd_strv_clear(&names);
	rd_manifest_node_names(m, "/", &names);
	assert_int_equal(names.n, 1);
	assert_string_equal(names.v[0], "dev");
	rd_strv_clear(&names);
	rd_manifest_node_names(m, "/dev/d", &names);
	assert_int_equal(names.n, 0);
	assert_non_null(rd_manifest_node(m, "/dev/dri/renderD128"));
	assert_false(rd_manifest_has_nodes_in(m, "/dev/kfd"));
	rd_manifest_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_of_the_contract_is_taken_over),
		cmocka_unit_test(no_key_is_needed),
		cmocka_unit_test(minus_one_is_no_limit),
		cmocka_unit_test(anything_else_is_refused_with_its_place_and_reason),
		cmocka_unit_test(an_escaped_backslash_is_no_escaped_nul),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(more_values_than_memory_is_meant_for_are_refused),
		cmocka_unit_test(truncated_anywhere_it_is_refused),
		cmocka_unit_test(names_of_nodes_are_listed_once_folders_included),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
