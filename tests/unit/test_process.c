/* A running process as a root. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

static const struct rd_probe *process_probe(void)
{
	for (size_t i = 0; i < rd_probes_n; i++)
		if (strcmp(rd_probes[i]->name, "runtime/process") == 0)
			return rd_probes[i];
	return NULL;
}

/* Until the program is there and its loader is done; it then sleeps. */
static void wait_until_it_sleeps(pid_t pid)
{
	for (int i = 0; i < 500; i++) {
		rd_auto_free char *path = rd_xasprintf("/proc/%d/wchan", (int)pid),
				  *exe = rd_xasprintf("/proc/%d/exe", (int)pid);
		char name[64] = "", target[4096] = "";
		FILE *f = fopen(path, "re");

		if (f && fgets(name, sizeof(name), f) == NULL)
			*name = '\0';
		if (f)
			fclose(f);
		if (readlink(exe, target, sizeof(target) - 1) > 0 && strstr(target, "sleep") && strstr(name, "nanosleep"))
			return;
		usleep(10000);
	}
}

/* A program with a name, an environment and a limit of its own, that waits. */
static pid_t start(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		char *const argv[] = { "sh", "-c", "echo; exec sleep 60 >/dev/null 2>&1", NULL };
		char *const envp[] = { "RD_TEST=in the process", "PATH=/usr/bin:/bin", NULL };
		struct rlimit limit = { 65536, 65536 };

		setrlimit(RLIMIT_MEMLOCK, &limit);
		dup2(ready[1], 1);
		execve("/bin/sh", argv, envp);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	wait_until_it_sleeps(pid);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void environment_credentials_and_limits_are_those_of_the_process(void **state)
{
	struct rd_sysroot *sr = NULL;
	const struct rd_user *user;
	const char *value;
	int64_t memlock;
	pid_t pid = start();

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_sysroot_getenv(sr, &value, "RD_TEST"), 1);
	assert_string_equal(value, "in the process");
	assert_int_equal(rd_sysroot_getenv(sr, &value, "HOME"), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_int_equal(user->uid, geteuid());
	assert_int_equal(rd_sysroot_memlock(sr, &memlock), 0);
	assert_int_equal(memlock, 65536);
	rd_sysroot_free(sr);
	end(pid);
}

static void proc_self_is_the_process_and_unknown_when_it_is_gone(void **state)
{
	rd_auto_free char *before = NULL, *after = NULL, *passwd = NULL;
	struct rd_sysroot *sr = NULL;
	uint64_t seen;
	pid_t pid = start();

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_sysroot_read(sr, &before, "/proc/self/stat"), 0);
	seen = strtoull(before, NULL, 10);
	assert_int_equal(seen, pid);
	end(pid);
	assert_int_equal(rd_sysroot_read(sr, &after, "/proc/self/stat"), -ESRCH);
	assert_int_equal(rd_sysroot_exists(sr, "/proc/self/maps"), -ESRCH);
	/* Its root is still held. */
	assert_int_equal(rd_sysroot_read(sr, &passwd, "/etc/passwd"), 0);
	rd_sysroot_free(sr);
}

static void its_mapped_libraries_are_facts(void **state)
{
	struct rd_fact *facts = rd_facts_new();
	const struct rd_fact *list;
	struct rd_sysroot *sr = NULL;
	bool libc = false;
	pid_t pid = start();

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_probe_run(process_probe(), sr, facts), 0);
	assert_int_equal(rd_fact_get_int(facts, "process.pid"), pid);
	list = rd_fact_get(facts, "process.libraries");
	for (size_t i = 0; i < rd_fact_count(list); i++)
		libc = libc || strstr(rd_fact_get_str(rd_fact_at(list, i), "path"), "/libc.so.6");
	assert_true(libc);
	rd_fact_free(facts);
	rd_sysroot_free(sr);
	end(pid);
}

static void without_a_process_nothing_is_asked(void **state)
{
	struct rd_fact *facts = rd_facts_new();
	struct rd_sysroot *sr = NULL;

	(void)state;
	assert_int_equal(rd_sysroot_open("/", &sr, NULL), 0);
	assert_int_equal(rd_probe_run(process_probe(), sr, facts), 0);
	assert_true(rd_fact_not_asked(rd_fact_get(facts, "process")));
	rd_fact_free(facts);
	rd_sysroot_free(sr);
}

static void a_process_that_is_not_there_is_an_error(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_sysroot *sr = NULL;
	unsigned pid;

	(void)state;
	assert_int_equal(rd_sysroot_open_process(4194304, &sr, &err), -ENOENT);
	assert_non_null(strstr(err.message, "4194304"));
	rd_error_clear(&err);
	assert_int_equal(rd_container_find("no such container", &pid, &err), -ENOENT);
	rd_error_clear(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_credentials_and_limits_are_those_of_the_process),
		cmocka_unit_test(proc_self_is_the_process_and_unknown_when_it_is_gone),
		cmocka_unit_test(its_mapped_libraries_are_facts),
		cmocka_unit_test(without_a_process_nothing_is_asked),
		cmocka_unit_test(a_process_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
