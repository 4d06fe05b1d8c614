#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/guard.h"

/* Long enough for a loaded machine where an answer is expected. */
#define PATIENT_MS 60000
#define IMPATIENT_MS 20

static int serve(char op, const char *path, char *data)
{
	switch (op) {
	case 'e': /* echo */
		memcpy(data, path, strlen(path));
		return (int)strlen(path);
	case 'f':
		memset(data, 'x', RD_GUARD_DATA_MAX);
		return RD_GUARD_DATA_MAX;
	case 'p':
		memcpy(data, &(pid_t){ getpid() }, sizeof(pid_t));
		return sizeof(pid_t);
	case 'h': /* hang, and do not die of what can be ignored */
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	case 'x':
		_exit(1);
	case 'k':
		raise(SIGKILL);
	}
	return -EIO;
}

static void answers_come_back_whole(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, PATIENT_MS, PATIENT_MS);
	char data[RD_GUARD_DATA_MAX];

	(void)state;
	assert_int_equal(rd_guard_call(g, 'e', "/dev/kfd", data), 8);
	assert_memory_equal(data, "/dev/kfd", 8);
	assert_int_equal(rd_guard_call(g, 'f', "/x", data), RD_GUARD_DATA_MAX);
	assert_int_equal(data[RD_GUARD_DATA_MAX - 1], 'x');
	assert_int_equal(rd_guard_call(g, '?', "/x", data), -EIO);
	assert_int_equal(rd_guard_call(g, 'e', "/y", data), 2);
	rd_guard_free(g);
}

static void one_child_serves_all_calls_and_is_gone_afterwards(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, PATIENT_MS, PATIENT_MS);
	char data[RD_GUARD_DATA_MAX];
	pid_t first, second;

	(void)state;
	/* None before it is needed. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(rd_guard_call(g, 'p', "/x", data), (int)sizeof(first));
	memcpy(&first, data, sizeof(first));
	assert_int_equal(rd_guard_call(g, 'p', "/x", data), (int)sizeof(second));
	memcpy(&second, data, sizeof(second));
	assert_int_equal(first, second);
	assert_int_not_equal(first, getpid());
	rd_guard_free(g);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_late_answer_is_none_and_so_is_every_later_one(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, IMPATIENT_MS, PATIENT_MS);
	char data[RD_GUARD_DATA_MAX];

	(void)state;
	assert_int_equal(rd_guard_call(g, 'h', "/x", data), -ETIMEDOUT);
	assert_int_equal(rd_guard_call(g, 'e', "/x", data), -ETIMEDOUT);
	rd_guard_free(g);
}

static void the_time_for_all_calls_ends_too(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, PATIENT_MS, IMPATIENT_MS);
	char data[RD_GUARD_DATA_MAX];

	(void)state;
	assert_int_equal(rd_guard_call(g, 'h', "/x", data), -ETIMEDOUT);
	rd_guard_free(g);
}

static void a_child_that_dies_is_as_late(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, PATIENT_MS, PATIENT_MS);
	char data[RD_GUARD_DATA_MAX];

	(void)state;
	assert_int_equal(rd_guard_call(g, 'x', "/x", data), -ETIMEDOUT);
	assert_int_equal(rd_guard_call(g, 'e', "/x", data), -ETIMEDOUT);
	rd_guard_free(g);
	g = rd_guard_new(serve, PATIENT_MS, PATIENT_MS);
	assert_int_equal(rd_guard_call(g, 'k', "/x", data), -ETIMEDOUT);
	rd_guard_free(g);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_path_that_does_not_fit_is_not_sent(void **state)
{
	struct rd_guard *g = rd_guard_new(serve, PATIENT_MS, PATIENT_MS);
	char data[RD_GUARD_DATA_MAX], *path = calloc(1, 8193);

	(void)state;
	memset(path, 'a', 8192);
	assert_int_equal(rd_guard_call(g, 'e', path, data), -ENAMETOOLONG);
	assert_int_equal(rd_guard_call(g, 'e', "/x", data), 2);
	rd_guard_free(g);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_back_whole),
		cmocka_unit_test(one_child_serves_all_calls_and_is_gone_afterwards),
		cmocka_unit_test(a_late_answer_is_none_and_so_is_every_later_one),
		cmocka_unit_test(the_time_for_all_calls_ends_too),
		cmocka_unit_test(a_child_that_dies_is_as_late),
		cmocka_unit_test(a_path_that_does_not_fit_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
