/* Running programs of the system: what they get, what they print, how they end. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/run.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

static void keep(const char *line, void *data)
{
	rd_strv_push(data, line);
}

static int run(struct rd_strv *lines, const char *script, struct rd_error *err)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct rd_run_options options = { .line = keep, .data = lines };

	return rd_run(argv, &options, err);
}

static void lines_of_both_streams_are_passed_on(void **state)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;

	(void)state;
	assert_int_equal(run(&lines, "echo one; echo two >&2; printf three", NULL), 0);
	assert_int_equal(lines.n, 3);
	assert_string_equal(lines.v[2], "three");
}

static void a_service_that_keeps_the_pipe_open_is_not_waited_for(void **state)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;

	(void)state;
	assert_int_equal(run(&lines, "sleep 1000 & echo $!", NULL), 0);
	assert_int_equal(lines.n, 1);
	assert_int_equal(kill(atoi(lines.v[0]), SIGKILL), 0);
}

static void how_it_ended_is_said(void **state)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;
	struct rd_error err = RD_ERROR_INIT;

	(void)state;
	assert_int_equal(run(&lines, "exit 7", &err), -ECHILD);
	assert_non_null(strstr(err.message, "status 7"));
	rd_error_clear(&err);
	assert_int_equal(run(&lines, "kill -9 $$", &err), -ECHILD);
	assert_non_null(strstr(err.message, "signal 9"));
	rd_error_clear(&err);
}

/* A program of that name which ends with a status. */
static int run_named(const char *dir, const char *name, int status)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", dir, name);
	struct rd_run_options options = { 0 };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nexit %d\n", status);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0755), 0);
	return rd_run((char *[]){ path, NULL }, &options, NULL);
}

static void what_zypper_adds_to_a_success_is_no_failure(void **state)
{
	static const int good[] = { 0, 102, 103, 106 }, bad[] = { 1, 4, 7, 100, 104, 105, 107 };
	char dir[] = "/tmp/test_run-XXXXXX";
	rd_auto_free char *clean = NULL;

	(void)state;
	assert_non_null(mkdtemp(dir));
	clean = rd_xasprintf("rm -r %s", dir);
	for (size_t i = 0; i < RD_ARRAY_SIZE(good); i++) {
		assert_int_equal(run_named(dir, "zypper", good[i]), 0);
		assert_int_equal(run_named(dir, "dnf", good[i]), good[i] ? -ECHILD : 0);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(bad); i++)
		assert_int_equal(run_named(dir, "zypper", bad[i]), -ECHILD);
	assert_int_equal(system(clean), 0);
}

static void only_programs_of_the_system_are_found(void **state)
{
	static const char *const names[] = { "no-such-program", "./sh", "bin/sh", "../bin/sh", "" };
	struct rd_run_options options = { 0 };

	(void)state;
	assert_int_equal(setenv("PATH", "/tmp", 1), 0);
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++)
		assert_int_equal(rd_run((char *[]){ (char *)names[i], NULL }, &options, NULL), -ENOENT);
	assert_int_equal(rd_run((char *[]){ (char *)"true", NULL }, &options, NULL), 0);
}

static void it_gets_its_own_environment_no_input_and_no_descriptors(void **state)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	setenv("LD_LIBRARY_PATH", "/evil", 1);
	setenv("PYTHONPATH", "/evil", 1);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run(&lines,
	                     "env | grep -c evil; cat; ls /proc/self/fd | wc -l; sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' "
	                     "/proc/self/status",
	                     NULL),
	                 0);
	signal(SIGPIPE, SIG_DFL);
	close(fds[0]);
	close(fds[1]);
	assert_string_equal(lines.v[0], "0");
	/* 0, 1, 2 and that of ls itself. */
	assert_string_equal(lines.v[1], "4");
	assert_string_equal(lines.v[2], "0000");
}

static void as_another_user_only_where_that_can_be_done(void **state)
{
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;
	struct rd_run_options options = { .as_user = true, .uid = 65534, .gid = 65534, .line = keep, .data = &lines };
	int r = rd_run((char *[]){ (char *)"id", (char *)"-u", NULL }, &options, NULL);

	(void)state;
	if (geteuid() != 0) {
		assert_int_equal(r, -EPERM);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(lines.v[0], "65534");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_both_streams_are_passed_on),
		cmocka_unit_test(a_service_that_keeps_the_pipe_open_is_not_waited_for),
		cmocka_unit_test(how_it_ended_is_said),
		cmocka_unit_test(what_zypper_adds_to_a_success_is_no_failure),
		cmocka_unit_test(only_programs_of_the_system_are_found),
		cmocka_unit_test(it_gets_its_own_environment_no_input_and_no_descriptors),
		cmocka_unit_test(as_another_user_only_where_that_can_be_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
