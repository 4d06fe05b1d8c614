/* Names and ids in the state files of container engines; the processes are made up, so that none of them is ever looked at. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/container-internal.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#define FIXTURES RD_SOURCE_DIR "/tests/fixtures/containers"

static const struct asked {
	const char *name, *engine;
	unsigned pid;
	uint64_t start;
	bool exact;
} once[] = {
	{ "0f3a9c1b7d2e", "docker", 4242, 0, false },
	{ "stopped", "docker", 0, 0, true },
	{ "llm", "docker", 4243, 0, true },
	{ "llm-0/llm", "docker", 4243, 0, true },
	{ "moved", "docker", 4244, 0, true },
	{ "ollama", "podman", 5151, 0, true },
	{ "1a2b3c4d5e6f", "podman", 5151, 0, false },
	{ "rootless", "podman", 0, 0, true },
	{ "moved-pod", "podman", 0, 0, true },
	{ "server", "containerd", 6161, 0, true },
	{ "mixtral-0/server", "containerd", 6161, 0, true },
	{ "sglang", "containerd", 7171, 0, true },
	{ "plain", "containerd", 7172, 0, true },
	{ "by-runc", "runc", 8181, 1196139, true },
	{ "by-crun", "crun", 9191, 1198678, true },
	{ "trainer", "systemd", 10101, 0, true },
};

static void each_engine_tells_its_first_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(once) / sizeof(*once); i++) {
		struct rd_container_hints hints = { 0 };

		rd_container_read_state(FIXTURES, once[i].name, &hints);
		if (hints.n != 1)
			fail_msg("%s: %zu containers", once[i].name, hints.n);
		assert_string_equal(hints.v[0].engine, once[i].engine);
		assert_int_equal(hints.v[0].pid, once[i].pid);
		assert_int_equal(hints.v[0].start, once[i].start);
		assert_int_equal(hints.v[0].exact, once[i].exact);
		rd_container_hints_release(&hints);
	}
}

static void one_name_in_two_engines_gives_both(void **state)
{
	struct rd_container_hints hints = { 0 };

	(void)state;
	rd_container_read_state(FIXTURES, "vllm", &hints);
	assert_int_equal(hints.n, 2);
	assert_string_equal(hints.v[0].engine, "docker");
	assert_string_equal(hints.v[1].engine, "podman");
	rd_container_hints_release(&hints);
}

/* Beginnings of names, of short ids, of others' ids; patterns; what would lead out of a folder. */
static void what_is_no_name_fits_nothing(void **state)
{
	static const char *const names[] = { "vll", "0f3a9c1", "ffffffffffff", "*",   "..",    "../by-runc",
		                             "",    "by-run?", "k8s",          "POD", "broken" };
	struct rd_container_hints hints = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		rd_container_read_state(FIXTURES, names[i], &hints);
		if (hints.n)
			/* The folder of a container that cannot be read is a name all the same, of a container without a process. */
			assert_string_equal(names[i], "broken");
		rd_container_hints_release(&hints);
	}
}

static void patterns_are_no_names_of_containers(void **state)
{
	static const char *const names[] = { "", "*", "..", "/", "no such container", "\n" };
	unsigned pid = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct rd_error err = RD_ERROR_INIT;

		assert_int_equal(rd_container_find(names[i], &pid, &err), -ENOENT);
		assert_non_null(err.message);
		rd_error_clear(&err);
	}
	assert_int_equal(pid, 0);
}

/* Whoever owns a home could otherwise stop root's search, or have it open a device. */
static void a_users_fifo_is_not_waited_for(void **state)
{
	static const char *const folders[] = { "home", "u", ".local", "share", "containers", "storage", "overlay-containers" };
	const size_t depth = sizeof(folders) / sizeof(*folders);
	char root[] = "/tmp/rd-container-XXXXXX";
	struct rd_container_hints hints = { 0 };
	char *places[sizeof(folders) / sizeof(*folders) + 1];
	rd_auto_free char *fifo = NULL;

	(void)state;
	assert_non_null(mkdtemp(root));
	places[0] = rd_xstrdup(root);
	for (size_t i = 0; i < depth; i++) {
		places[i + 1] = rd_xasprintf("%s/%s", places[i], folders[i]);
		assert_int_equal(mkdir(places[i + 1], 0700), 0);
	}
	fifo = rd_xasprintf("%s/containers.json", places[depth]);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(10);
	rd_container_read_state(root, "ollama", &hints);
	alarm(0);
	assert_int_equal(hints.n, 0);
	rd_container_hints_release(&hints);
	unlink(fifo);
	for (size_t i = depth + 1; i-- > 0;) {
		rmdir(places[i]);
		free(places[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_engine_tells_its_first_process), cmocka_unit_test(one_name_in_two_engines_gives_both),
		cmocka_unit_test(what_is_no_name_fits_nothing),        cmocka_unit_test(patterns_are_no_names_of_containers),
		cmocka_unit_test(a_users_fifo_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
