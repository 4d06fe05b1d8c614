#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/walk.h"
#include "rocm-doctor/macros.h"

/* A file system on paper: what has a target is a link, what ends in "/" a folder. */
static const struct node {
	const char *path, *target;
} nodes[] = {
	{ "/etc/", NULL },
	{ "/etc/passwd", NULL },
	{ "/etc/alternatives/", NULL },
	{ "/etc/alternatives/rocm", "/opt/rocm-6.4.0" },
	{ "/opt/", NULL },
	{ "/opt/rocm", "/etc/alternatives/rocm" },
	{ "/opt/rocm-6.4.0/", NULL },
	{ "/opt/rocm-6.4.0/lib/", NULL },
	{ "/opt/rocm-6.4.0/lib/libhsa.so", "libhsa.so.1" },
	{ "/opt/rocm-6.4.0/lib/libhsa.so.1", NULL },
	{ "/opt/up", "../../../../etc" },
	{ "/opt/slash", "/etc/" },
	{ "/opt/file-slash", "/etc/passwd/" },
	{ "/opt/dots", "./.././etc//passwd" },
	{ "/opt/empty", "" },
	{ "/opt/self", "self" },
	{ "/opt/ping", "pong" },
	{ "/opt/pong", "ping" },
	{ "/opt/grow", "grow/x" },
	{ "/opt/dangling", "/nowhere/to/../go" },
	{ "/opt/root", "/" },
	{ "/opt/denied", NULL },
};

static const struct node *find(const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < RD_ARRAY_SIZE(nodes); i++)
		if (strncmp(nodes[i].path, path, n) == 0 && (!nodes[i].path[n] || strcmp(nodes[i].path + n, "/") == 0))
			return &nodes[i];
	return NULL;
}

static int lookup(void *ctx, const char *path)
{
	const struct node *node = find(path);

	(void)ctx;
	assert_int_equal(path[0], '/');
	if (strcmp(path, "/opt/denied") == 0)
		return -EACCES;
	if (!node)
		return -ENOENT;
	return node->target ? RD_WALK_LINK : node->path[strlen(node->path) - 1] == '/' ? RD_WALK_DIR : RD_WALK_FILE;
}

static int read_link(void *ctx, const char *path, char **ret)
{
	(void)ctx;
	*ret = strdup(find(path)->target);
	return 0;
}

static const struct rd_walk_ops ops = { lookup, read_link };

static void leads_to(const char *path, unsigned flags, const char *expect)
{
	char *resolved = NULL;
	int r = rd_walk(&ops, NULL, path, flags, &resolved);

	if (r < 0)
		fail_msg("'%s' gives %d, not '%s'", path, r, expect);
	assert_string_equal(resolved, expect);
	free(resolved);
}

static void fails_with(const char *path, unsigned flags, int expect)
{
	char *resolved = NULL;
	int r = rd_walk(&ops, NULL, path, flags, &resolved);

	if (r != expect)
		fail_msg("'%s' gives %d, not %d", path, r, expect);
	assert_null(resolved);
}

static void links_resolve_inside_the_root(void **state)
{
	(void)state;
	leads_to("/opt/rocm", 0, "/opt/rocm-6.4.0");
	leads_to("/opt/rocm/lib/libhsa.so", 0, "/opt/rocm-6.4.0/lib/libhsa.so.1");
	leads_to("/opt/up/passwd", 0, "/etc/passwd");
	leads_to("/opt/slash", 0, "/etc");
	leads_to("/opt/slash/passwd", 0, "/etc/passwd");
	leads_to("/opt/dots", 0, "/etc/passwd");
	leads_to("/opt/root", 0, "/");
	leads_to("/opt/root/etc/passwd", 0, "/etc/passwd");
}

static void dot_dot_stops_at_the_root(void **state)
{
	(void)state;
	leads_to("/", 0, "/");
	leads_to("///", 0, "/");
	leads_to("/..", 0, "/");
	leads_to("/../../../etc/./passwd", 0, "/etc/passwd");
	/* Of where the link leads, not of where it stands. */
	leads_to("/opt/rocm/../up/passwd", 0, "/etc/passwd");
	leads_to("/opt/rocm/lib/../../rocm/lib/libhsa.so.1", 0, "/opt/rocm-6.4.0/lib/libhsa.so.1");
}

static void only_the_last_link_can_be_kept(void **state)
{
	(void)state;
	leads_to("/opt/rocm", RD_WALK_NOFOLLOW, "/opt/rocm");
	leads_to("/opt/rocm/", RD_WALK_NOFOLLOW, "/opt/rocm-6.4.0");
	leads_to("/opt/rocm/lib/libhsa.so", RD_WALK_NOFOLLOW, "/opt/rocm-6.4.0/lib/libhsa.so");
	leads_to("/opt/self", RD_WALK_NOFOLLOW, "/opt/self");
}

static void loops_end_after_forty_links(void **state)
{
	(void)state;
	fails_with("/opt/self", 0, -ELOOP);
	fails_with("/opt/ping", 0, -ELOOP);
	fails_with("/opt/grow", 0, -ELOOP);
	fails_with("/opt/self/x", RD_WALK_NOFOLLOW | RD_WALK_MISSING_OK, -ELOOP);
}

static void what_is_not_there_is_told_from_what_is_no_folder(void **state)
{
	(void)state;
	fails_with("/nowhere", 0, -ENOENT);
	fails_with("/opt/dangling", 0, -ENOENT);
	fails_with("/opt/empty", 0, -ENOENT);
	fails_with("/nowhere/../etc/passwd", 0, -ENOENT);
	fails_with("/etc/passwd/", 0, -ENOTDIR);
	fails_with("/etc/passwd/..", 0, -ENOTDIR);
	fails_with("/etc/passwd/.", 0, -ENOTDIR);
	fails_with("/etc/passwd/x", 0, -ENOTDIR);
	fails_with("/opt/file-slash", 0, -ENOTDIR);
	fails_with("/opt/denied/x", 0, -EACCES);
	fails_with("etc/passwd", 0, -EINVAL);
	fails_with("", 0, -EINVAL);
}

static void the_place_of_what_is_missing_can_be_asked_for(void **state)
{
	(void)state;
	leads_to("/opt/dangling", RD_WALK_MISSING_OK, "/nowhere/go");
	leads_to("/opt/rocm/bin/rocminfo", RD_WALK_MISSING_OK, "/opt/rocm-6.4.0/bin/rocminfo");
	leads_to("/opt/nope/../rocm/lib", RD_WALK_MISSING_OK, "/opt/rocm-6.4.0/lib");
	leads_to("/a/b/../../../c", RD_WALK_MISSING_OK, "/c");
	fails_with("/etc/passwd/x", RD_WALK_MISSING_OK, -ENOTDIR);
	fails_with("/opt/denied", RD_WALK_MISSING_OK, -EACCES);
}

static void overlong_paths_are_refused(void **state)
{
	char *path = calloc(1, RD_WALK_PATH_MAX + 2);

	(void)state;
	memset(path, '/', RD_WALK_PATH_MAX);
	fails_with(path, 0, -ENAMETOOLONG);
	memset(path + 1, 'a', RD_WALK_NAME_MAX + 1);
	path[RD_WALK_NAME_MAX + 2] = '\0';
	fails_with(path, 0, -ENAMETOOLONG);
	path[RD_WALK_NAME_MAX + 1] = '\0';
	fails_with(path, 0, -ENOENT);
	free(path);
}

static int long_link(void *ctx, const char *path, char **ret)
{
	(void)ctx;
	(void)path;
	*ret = calloc(1, RD_WALK_PATH_MAX + 1);
	memset(*ret, 'a', RD_WALK_PATH_MAX);
	return 0;
}

/* Every name is a link to a long path that begins with a link. */
static int deep_link(void *ctx, const char *path, char **ret)
{
	long_link(ctx, path, ret);
	for (size_t i = 0; i < RD_WALK_PATH_MAX; i += 2)
		(*ret)[i] = '/';
	(*ret)[RD_WALK_PATH_MAX - 1] = '\0';
	return 0;
}

static int always_link(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return RD_WALK_LINK;
}

static void hostile_links_come_to_an_end(void **state)
{
	static const struct rd_walk_ops longish = { always_link, long_link }, deep = { always_link, deep_link };
	char *resolved = NULL;

	(void)state;
	assert_int_equal(rd_walk(&longish, NULL, "/x", 0, &resolved), -ENAMETOOLONG);
	assert_int_equal(rd_walk(&deep, NULL, "/x/y", 0, &resolved), -ELOOP);
	assert_null(resolved);
}

static void normalising_keeps_dot_dot(void **state)
{
	static const char *const rows[][2] = {
		{ "/", "/" },         { "//", "/" },          { "/./", "/" },
		{ "/a//b/", "/a/b" }, { "/a/./b", "/a/b" },   { "/a/../b", "/a/../b" },
		{ "/...", "/..." },   { "/.a/b.", "/.a/b." },
	};
	char *path = NULL;

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		assert_int_equal(rd_path_normalize(rows[i][0], &path), 0);
		assert_string_equal(path, rows[i][1]);
		free(path);
	}
	assert_int_equal(rd_path_normalize("a/b", &path), -EINVAL);
	assert_int_equal(rd_path_normalize("", &path), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_resolve_inside_the_root),
		cmocka_unit_test(dot_dot_stops_at_the_root),
		cmocka_unit_test(only_the_last_link_can_be_kept),
		cmocka_unit_test(loops_end_after_forty_links),
		cmocka_unit_test(what_is_not_there_is_told_from_what_is_no_folder),
		cmocka_unit_test(the_place_of_what_is_missing_can_be_asked_for),
		cmocka_unit_test(overlong_paths_are_refused),
		cmocka_unit_test(hostile_links_come_to_an_end),
		cmocka_unit_test(normalising_keeps_dot_dot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
