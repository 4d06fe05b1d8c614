/* A running process as a root. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/process.h"
#include "rocm-doctor/procload.h"
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

/* ---- the text of maps ---- */

static void maps_are_taken_apart(void **state)
{
	char text[] = "55d0a000-55d0b000 r--p 00000000 fe:00 1201     /usr/bin/server\n"
		      "7f00-7f10 r--p 00000000 fe:00 77    /opt/rocm/lib/libamdhip64.so.6.4.60401\n"
		      "7f10-7f20 r-xp 00010000 fe:00 77    /opt/rocm/lib/libamdhip64.so.6.4.60401\n"
		      "7f20-7f30 rw-p 00000000 00:00 0 \n"
		      "7f30-7f40 r-xp 00000000 fe:00 78    /opt/my models/lib x.so (deleted)\n"
		      "7f40-7f50 rw-s 00000000 00:01 79    /memfd:lib.so (deleted)\n"
		      "7f50-7f60 rw-s 00000000 00:01 80    /SYSV00000000 (deleted)\n"
		      "7f60-7f70 rw-p 00000000 00:00 0     [heap]\n"
		      "7f70-7f80 r-xp 00000000 00:2a 81    socket:[17]\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
	struct rd_mappings m = { .v = NULL };

	(void)state;
	rd_mappings_parse(text, "/", &m);
	assert_int_equal(m.n, 3);
	assert_string_equal(m.v[0].path, "/usr/bin/server");
	assert_string_equal(m.v[1].path, "/opt/rocm/lib/libamdhip64.so.6.4.60401");
	assert_string_equal(m.v[1].itself, "/proc/self/map_files/7f00-7f10");
	assert_int_equal(m.v[1].ino, 77);
	assert_int_equal(m.v[1].major, 0xfe);
	assert_false(m.v[1].marked);
	assert_string_equal(m.v[2].path, "/opt/my models/lib x.so");
	assert_true(m.v[2].marked);
	rd_mappings_release(&m);
}

static void libraries_are_told_by_their_names(void **state)
{
	static const char *const yes[] = { "/lib/libc.so.6",
		                           "/x/libtorch_hip.so",
		                           "libamdhip64.so.6.4.60401",
		                           "/a.so.d/_C.abi3.so",
		                           "/y/_ssl.cpython-311-x86_64-linux-gnu.so",
		                           "/z/libfoo.sound.so" };
	static const char *const no[] = {
		"/etc/ld.so.cache", "/a.so/b", "/lib/libc.so.debug", "/lib/libc.soup", "", "/", ".s"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(rd_proc_is_library(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(rd_proc_is_library(no[i]));
}

static void the_root_of_a_chroot_is_taken_off(void **state)
{
	char text[] = "1000-2000 r-xp 00000000 fe:00 1 /srv/root/lib/libc.so.6\n"
		      "2000-3000 r-xp 00000000 fe:00 2 /srv/rootless/lib/libc.so.6\n"
		      "3000-4000 r-xp 00000000 fe:00 3 /lib/libc.so.6\n";
	struct rd_mappings m = { .v = NULL };

	(void)state;
	rd_mappings_parse(text, "/srv/root", &m);
	assert_int_equal(m.n, 3);
	assert_string_equal(m.v[0].path, "/lib/libc.so.6");
	assert_false(m.v[0].outside);
	assert_string_equal(m.v[1].path, "/srv/rootless/lib/libc.so.6");
	assert_true(m.v[1].outside);
	assert_true(m.v[2].outside);
	rd_mappings_release(&m);
}

static void broken_lines_of_maps_are_passed_over(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"-",
		"1-2",
		"1-2 r-xp",
		"1-2 r-xp 0 fe:00",
		"1-2 r-xp 0 fe:00 x /a.so",
		"x-2 r-xp 0 fe:00 1 /a.so",
		"1-2 r-xp 0 fe:00 1 a.so",
		"1-2 r-xp 0 fe:00 1 ",
		"99999999999999999999999-2 r-xp 0",
		" /a.so (deleted)",
		"(deleted)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		rd_auto_free char *text = rd_xstrdup(lines[i]);
		struct rd_mappings m = { .v = NULL };

		rd_mappings_parse(text, "/", &m);
		assert_int_equal(m.n, 0);
		rd_mappings_release(&m);
	}
}

/* ---- files that a process has mapped ---- */

static char *folder;

static int make_folder(void **state)
{
	char template[] = "/tmp/rocm-doctor-process-XXXXXX";

	(void)state;
	folder = rd_xstrdup(mkdtemp(template));
	return chmod(folder, 0755);
}

static int remove_folder(void **state)
{
	rd_auto_free char *command = rd_xasprintf("rm -rf --one-file-system '%s'", folder);
	int r = system(command);

	(void)state;
	free(folder);
	return r;
}

static char *put(const char *name, const char *text)
{
	char *path = rd_xasprintf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

/* A process that runs @prepare, maps files of the folder (of its root, after chroot) and waits. */
static pid_t start_mapping(int (*prepare)(void), const char *prefix, const char *const *names)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		bool good = !prepare || prepare() == 0;

		for (; good && *names; names++) {
			rd_auto_free char *path = rd_xasprintf("%s/%s", prefix, *names);
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			good = fd >= 0 && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;
		}
		(void)!write(ready[1], good ? "y" : "n", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(byte, 'y');
	return pid;
}

static const struct rd_mapped *find(const struct rd_mappings *m, const char *end)
{
	for (size_t i = 0; i < m->n; i++) {
		size_t n = strlen(m->v[i].path), k = strlen(end);

		if (n >= k && strcmp(m->v[i].path + n - k, end) == 0)
			return &m->v[i];
	}
	return NULL;
}

static void a_file_that_was_replaced_or_removed_is_an_old_copy(void **state)
{
	static const char *const names[] = { "libkept.so", "libreplaced.so", "libremoved.so", "libmoved.so", NULL };
	rd_auto_free char *replaced = put("libreplaced.so", "1"), *removed = put("libremoved.so", "1"),
			  *moved = put("libmoved.so", "1"), *new = put("new", "2"), *to = rd_xasprintf("%s/libback.so", folder);
	struct rd_mappings m = { .v = NULL };
	struct rd_sysroot *sr = NULL;
	pid_t pid;

	(void)state;
	free(put("libkept.so", "1"));
	pid = start_mapping(NULL, folder, names);
	assert_int_equal(rename(new, replaced), 0);
	assert_int_equal(unlink(removed), 0);
	assert_int_equal(rename(moved, to), 0);
	free(put("libmoved.so", "2"));
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_process_mapped(sr, &m), 0);
	assert_int_equal(find(&m, "/libkept.so")->replaced, 0);
	assert_int_equal(find(&m, "/libreplaced.so")->replaced, 1);
	assert_int_equal(find(&m, "/libremoved.so")->replaced, 1);
	/* The kernel follows a file to its new name. */
	assert_null(find(&m, "/libmoved.so"));
	assert_int_equal(find(&m, "/libback.so")->replaced, 0);
	rd_mappings_release(&m);
	rd_sysroot_free(sr);
	end(pid);
}

static void names_that_look_like_the_kernels_words_are_names(void **state)
{
	static const char *const names[] = { "liba.so (deleted)", "lib\nb.so", "libc\\012.so", "libgone.so (deleted)", NULL };
	rd_auto_free char *gone = put(names[3], "1");
	struct rd_mappings m = { .v = NULL };
	struct rd_sysroot *sr = NULL;
	pid_t pid;

	(void)state;
	for (int i = 0; i < 3; i++)
		free(put(names[i], "1"));
	pid = start_mapping(NULL, folder, names);
	assert_int_equal(unlink(gone), 0);
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_process_mapped(sr, &m), 0);
	for (int i = 0; i < 3; i++) {
		const struct rd_mapped *file = find(&m, names[i]);

		assert_non_null(file);
		assert_int_equal(file->replaced, 0);
		assert_false(file->marked);
	}
	assert_int_equal(find(&m, "/libgone.so (deleted)")->replaced, 1);
	rd_mappings_release(&m);
	rd_sysroot_free(sr);
	end(pid);
}

static int go_into_folder(void)
{
	return chroot(folder) < 0 || chdir("/") < 0 ? -1 : 0;
}

static void paths_in_a_chroot_are_its_own(void **state)
{
	static const char *const names[] = { "libinside.so", NULL };
	rd_auto_free char *exe = NULL;
	struct rd_mappings m = { .v = NULL };
	struct rd_sysroot *sr = NULL;
	struct rd_procload p;
	bool outside = false;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	free(put("libinside.so", "1"));
	pid = start_mapping(go_into_folder, "", names);
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_process_mapped(sr, &m), 0);
	assert_string_equal(find(&m, "/libinside.so")->path, "/libinside.so");
	assert_int_equal(find(&m, "/libinside.so")->replaced, 0);
	/* What it had before it went there is not in there. */
	assert_true(find(&m, "/libc.so.6")->outside);
	assert_int_equal(find(&m, "/libc.so.6")->replaced, -EXDEV);
	assert_int_equal(rd_process_exe(sr, &exe, &outside), 0);
	assert_true(outside);
	assert_int_equal(rd_procload_read(sr, &p), 0);
	assert_null(p.loader);
	assert_non_null(strstr(p.why, "outside of its root"));
	for (size_t i = 0; i < p.n; i++)
		assert_int_equal(p.v[i].verdict, RD_PROC_UNKNOWN);
	rd_procload_release(&p);
	rd_mappings_release(&m);
	rd_sysroot_free(sr);
	end(pid);
}

static int map_too_much(void)
{
	for (int i = 0; i < 9000; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/many%d", folder, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return -1;
		close(fd);
	}
	return 0;
}

static void more_files_than_any_process_has_are_unknown(void **state)
{
	static const char *const none[] = { NULL };
	struct rd_fact *facts = rd_facts_new();
	struct rd_mappings m = { .v = NULL };
	struct rd_sysroot *sr = NULL;
	pid_t pid = start_mapping(map_too_much, folder, none);

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_process_mapped(sr, &m), -E2BIG);
	assert_int_equal(m.n, 0);
	assert_int_equal(rd_probe_run(process_probe(), sr, facts), -E2BIG);
	assert_true(rd_fact_is_unknown(facts, "process.libraries"));
	assert_true(rd_fact_is_unknown(facts, "process.outdated"));
	assert_true(rd_fact_is_known(facts, "process.exe"));
	rd_fact_free(facts);
	rd_sysroot_free(sr);
	end(pid);
}

/* ---- processes that end, and that are none ---- */

static void one_that_has_ended_is_refused_in_words(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_sysroot *sr = NULL;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, &err), -ESRCH);
	assert_non_null(strstr(err.message, "zombie"));
	rd_error_clear(&err);
	waitpid(pid, NULL, 0);
}

static void a_thread_of_the_kernel_is_refused_in_words(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_sysroot *sr = NULL;
	char exe[16];

	(void)state;
	/* In a container number 2 is nobody, or anybody. */
	if (geteuid() != 0 || access("/proc/2/stat", F_OK) < 0 || readlink("/proc/2/exe", exe, sizeof(exe)) >= 0)
		skip();
	assert_int_equal(rd_sysroot_open_process(2, &sr, &err), -EINVAL);
	assert_non_null(strstr(err.message, "thread of the kernel"));
	rd_error_clear(&err);
}

/* Only its own user, or root, may look into a process. */
static void another_users_process_is_refused_in_words(void **state)
{
	struct rd_sysroot *sr = NULL;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		struct rd_error err = RD_ERROR_INIT;

		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		_exit(rd_sysroot_open_process((unsigned)getppid(), &sr, &err) == -EACCES &&
		                      strstr(err.message, "permission denied")
		              ? 0
		              : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_nothing_is_known(const struct rd_fact *facts)
{
	static const char *const unknown[] = { "process.exe",         "process.cgroup",   "process.libraries",
		                               "process.rocm",        "process.outdated", "process.hip_runtimes",
		                               "process.hsa_runtimes" };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_true(rd_fact_is_unknown(facts, unknown[i]));
}

/* Killed and not yet collected, it still has a folder in /proc; then not even that. */
static void one_that_ends_meanwhile_is_unknown_at_every_stage(void **state)
{
	struct rd_sysroot *sr = NULL;
	siginfo_t info;
	pid_t pid = start();

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	for (int collected = 0; collected < 2; collected++) {
		struct rd_fact *facts = rd_facts_new();
		struct rd_mappings m = { .v = NULL };
		struct rd_procload p;

		assert_int_equal(rd_process_mapped(sr, &m), -ESRCH);
		assert_int_equal(rd_procload_read(sr, &p), -ESRCH);
		assert_int_equal(rd_probe_run(process_probe(), sr, facts), -ESRCH);
		if (collected)
			assert_nothing_is_known(facts);
		assert_true(rd_fact_is_unknown(facts, "process.libraries"));
		assert_true(rd_fact_is_unknown(facts, "process.exe"));
		rd_fact_free(facts);
		if (!collected)
			waitpid(pid, NULL, 0);
	}
	rd_sysroot_free(sr);
}

/* All probes over a process that is gone: none fails, and what stood in its folder is unknown. */
static void every_probe_outlives_the_process(void **state)
{
	static const struct rd_probe_options options;
	struct rd_probe_ctx ctx = { .options = &options };
	struct rd_sysroot *sr = NULL;
	pid_t pid = start();

	(void)state;
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	end(pid);
	ctx.facts = rd_facts_new();
	ctx.sysroot = sr;
	for (size_t i = 0; i < rd_probes_n; i++)
		if (!(rd_probes[i]->flags & RD_PROBE_PURE))
			rd_probe_run_ctx(rd_probes[i], &ctx);
	assert_true(rd_fact_is_unknown(ctx.facts, "host.limits.open_files"));
	assert_true(rd_fact_is_unknown(ctx.facts, "process.libraries"));
	assert_true(rd_fact_is_known(ctx.facts, "host.user.uid"));
	rd_fact_free(ctx.facts);
	rd_sysroot_free(sr);
}

/* ---- user namespaces ---- */

/* A process whose root is user 100000 outside; -1 where that is not allowed. */
static pid_t start_in_user_namespace(void)
{
	int go[2], ready[2];
	char byte = 'n';
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)!write(ready[1], unshare(CLONE_NEWUSER) == 0 ? "y" : "n", 1);
		(void)!read(go[0], &byte, 1);
		(void)!write(ready[1], setgroups(0, NULL) == 0 && setgid(0) == 0 && setuid(0) == 0 ? "y" : "n", 1);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) == 1 && byte == 'y') {
		for (int i = 0; i < 2; i++) {
			rd_auto_free char *path = rd_xasprintf("/proc/%d/%s", (int)pid, i ? "gid_map" : "uid_map");
			int fd = open(path, O_WRONLY | O_CLOEXEC);

			if (fd < 0 || write(fd, "0 100000 65536", 14) != 14)
				byte = 'n';
			if (fd >= 0)
				close(fd);
		}
		if (byte == 'y') {
			(void)!write(go[1], "g", 1);
			if (read(ready[0], &byte, 1) != 1)
				byte = 'n';
		}
	}
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(ready[i]);
	}
	if (byte == 'y')
		return pid;
	end(pid);
	return -1;
}

static void users_of_a_namespace_have_their_numbers_outside_and_names_inside(void **state)
{
	struct rd_sysroot *sr = NULL;
	const struct rd_user *user;
	uint32_t id;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = start_in_user_namespace();
	if (pid < 0)
		skip();
	assert_int_equal(rd_sysroot_open_process((unsigned)pid, &sr, NULL), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_int_equal(user->uid, 100000);
	assert_string_equal(user->name, "root");
	assert_true(rd_sysroot_has_inner_ids(sr));
	assert_true(rd_sysroot_inner_uid(sr, 100000, &id));
	assert_int_equal(id, 0);
	assert_true(rd_sysroot_inner_gid(sr, 165535, &id));
	assert_int_equal(id, 65535);
	assert_false(rd_sysroot_inner_gid(sr, 165536, &id));
	assert_false(rd_sysroot_inner_uid(sr, 0, &id));
	assert_false(rd_sysroot_inner_gid(sr, 992, &id));
	/* Who is asked for by his name inside is judged by his number outside. */
	assert_int_equal(rd_sysroot_set_user(sr, "nobody", NULL), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_int_equal(user->uid, 165534);
	rd_sysroot_free(sr);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_credentials_and_limits_are_those_of_the_process),
		cmocka_unit_test(proc_self_is_the_process_and_unknown_when_it_is_gone),
		cmocka_unit_test(its_mapped_libraries_are_facts),
		cmocka_unit_test(without_a_process_nothing_is_asked),
		cmocka_unit_test(a_process_that_is_not_there_is_an_error),
		cmocka_unit_test(maps_are_taken_apart),
		cmocka_unit_test(the_root_of_a_chroot_is_taken_off),
		cmocka_unit_test(libraries_are_told_by_their_names),
		cmocka_unit_test(broken_lines_of_maps_are_passed_over),
		cmocka_unit_test(one_that_has_ended_is_refused_in_words),
		cmocka_unit_test(a_thread_of_the_kernel_is_refused_in_words),
		cmocka_unit_test(another_users_process_is_refused_in_words),
		cmocka_unit_test(one_that_ends_meanwhile_is_unknown_at_every_stage),
		cmocka_unit_test(every_probe_outlives_the_process),
		cmocka_unit_test(users_of_a_namespace_have_their_numbers_outside_and_names_inside),
		cmocka_unit_test_setup_teardown(a_file_that_was_replaced_or_removed_is_an_old_copy, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(names_that_look_like_the_kernels_words_are_names, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(paths_in_a_chroot_are_its_own, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(more_files_than_any_process_has_are_unknown, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
