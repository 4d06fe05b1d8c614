#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/run.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define SYSTEM_PATH "/usr/sbin:/usr/bin:/sbin:/bin"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *find_program(const char *name)
{
	rd_auto_strv struct rd_strv folders = RD_STRV_INIT;

	if (strchr(name, '/'))
		return *name == '/' && is_program(name) ? rd_xstrdup(name) : NULL;
	rd_strv_split(&folders, SYSTEM_PATH, ":", false);
	for (size_t i = 0; i < folders.n; i++) {
		char *path = rd_xasprintf("%s/%s", folders.v[i], name);

		if (is_program(path))
			return path;
		free(path);
	}
	return NULL;
}

/* What a package manager needs, and what a site may have to reach its mirrors; nothing else of the caller's. */
static void build_environment(const struct rd_run_options *options, struct rd_strv *ret)
{
	static const char *const kept[] = { "http_proxy", "https_proxy",   "no_proxy",        "HTTP_PROXY", "HTTPS_PROXY",
		                            "NO_PROXY",   "SSL_CERT_FILE", "PIP_CONFIG_FILE", "APT_CONFIG", "TERM" };
	const struct passwd *pw = getpwuid(options->as_user ? options->uid : geteuid());

	rd_strv_push(ret, "PATH=" SYSTEM_PATH);
	rd_strv_push(ret, "LC_ALL=C.UTF-8");
	rd_strv_push(ret, "DEBIAN_FRONTEND=noninteractive");
	/* Seconds that libzypp waits for another package manager; without it, none. */
	rd_strv_push(ret, "ZYPP_LOCK_TIMEOUT=300");
	rd_strv_pushf(ret, "HOME=%s", pw ? pw->pw_dir : "/");
	for (size_t i = 0; i < RD_ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value)
			rd_strv_pushf(ret, "%s=%s", kept[i], value);
	}
}

/*
 * Only async-signal-safe work from here to exec, but for giving up root, which happens in a process without threads.
 *
 * A session of its own: what is typed at our terminal is for us, and a package manager that is stopped half-way leaves more to
 * mend than one that comes to its end. Nothing begins before the word comes through @go, and nothing at all where we are gone.
 */
static void child(const char *program, char *const argv[], char *const envp[], int out, const int go[2],
                  const struct rd_run_options *options)
{
	int null = open("/dev/null", O_RDONLY);
	char word;

	/* What this process ignores would be ignored by the program as well. */
	signal(SIGPIPE, SIG_DFL);
	setsid();
	close(go[1]);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || chdir("/") < 0 ||
	    read(go[0], &word, 1) != 1)
		_exit(126);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (options->as_user && geteuid() == 0) {
		const struct passwd *pw = getpwuid(options->uid);

		if ((pw ? initgroups(pw->pw_name, options->gid) : setgroups(0, NULL)) < 0 || setgid(options->gid) < 0 ||
		    setuid(options->uid) < 0)
			_exit(126);
	}
	execve(program, argv, envp);
	_exit(127);
}

/* Lines longer than this come in pieces. */
#define LINE_MAX_BYTES ((size_t)64 << 10)

static void pass_lines(struct rd_strbuf *sb, const struct rd_run_options *options, bool all)
{
	char *line = sb->buf, *end;
	size_t rest;

	while ((end = memchr(line, '\n', sb->len - (size_t)(line - sb->buf)))) {
		*end = '\0';
		if (options->line)
			options->line(line, options->data);
		line = end + 1;
	}
	rest = sb->len - (size_t)(line - sb->buf);
	if (rest && (all || rest > LINE_MAX_BYTES)) {
		if (options->line)
			options->line(line, options->data);
		rest = 0;
	}
	if (line != sb->buf || !rest) {
		memmove(sb->buf, line, rest);
		rd_strbuf_truncate(sb, rest);
	}
}

/*
 * What the program prints, until it ends. A service that it started may hold the file open for ever, so the end of the program
 * counts. The process stays to be waited for.
 */
static void pass_output(int fd, off_t from, pid_t pid, const struct rd_run_options *options)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	bool ended = false;
	char buf[4096];
	int ms = 1;

	for (;;) {
		ssize_t n = pread(fd, buf, sizeof(buf), from);
		siginfo_t info = { 0 };

		if (n > 0) {
			from += n;
			rd_strbuf_addn(&sb, buf, (size_t)n);
			pass_lines(&sb, options, false);
			continue;
		}
		if (ended)
			break;
		ended = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno == ECHILD : info.si_pid == pid;
		if (ended)
			continue;
		poll(NULL, 0, ms);
		ms = ms < 64 ? 2 * ms : ms;
	}
	pass_lines(&sb, options, true);
}

/*
 * zypper tells what it did, and what should follow, by statuses past 99: a reboot (102) or a restart of itself (103), a
 * repository that it could not refresh (106). A capability that nobody has (104) and a script that failed (107) are failures.
 */
static bool is_success(const char *name, int status)
{
	const char *base = strrchr(name, '/');

	if (!status)
		return true;
	return rd_streq(base ? base + 1 : name, "zypper") && (status == 102 || status == 103 || status == 106);
}

static int wait_for(pid_t pid, const char *name, struct rd_error *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return rd_error_set(err, -errno, "cannot wait for '%s': %s", name, rd_strerror(errno));
	if (WIFSIGNALED(status))
		return rd_error_set(err, -ECHILD, "'%s' was ended by signal %d", name, WTERMSIG(status));
	if (!is_success(name, WEXITSTATUS(status)))
		return rd_error_set(err, -ECHILD, "'%s' exited with status %d", name, WEXITSTATUS(status));
	return 0;
}

/* The program's process, once @options were told of it. Negative errno. */
static pid_t start(const char *program, char *const argv[], char *const envp[], int out, const struct rd_run_options *options)
{
	int go[2], r;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		child(program, argv, envp, out, go, options);
	r = pid < 0 ? -errno : options->started ? options->started(pid, options->data) : 0;
	close(go[0]);
	/* The child of a caller that could not take note of it ends by the closed pipe. */
	if (r == 0 && write(go[1], "", 1) != 1)
		r = -errno;
	close(go[1]);
	if (r < 0 && pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	return r < 0 ? r : pid;
}

static int run_into(int out, const char *program, char *const argv[], const struct rd_run_options *options,
                    struct rd_error *err)
{
	rd_auto_strv struct rd_strv environment = RD_STRV_INIT;
	rd_auto_free char **envp = NULL;
	off_t from = lseek(out, 0, SEEK_END);
	pid_t pid;

	build_environment(options, &environment);
	envp = rd_xcalloc(environment.n + 1, sizeof(*envp));
	memcpy(envp, environment.v, environment.n * sizeof(*envp));
	pid = start(program, argv, envp, out, options);
	if (pid < 0)
		return rd_error_set(err, pid, "cannot run '%s': %s", argv[0], rd_strerror(pid));
	pass_output(out, from < 0 ? 0 : from, pid, options);
	return wait_for(pid, argv[0], err);
}

int rd_run(char *const argv[], const struct rd_run_options *options, struct rd_error *err)
{
	rd_auto_free char *program = find_program(argv[0]);
	rd_auto_close int own = -1;

	if (options->as_user && geteuid() != 0 && options->uid != geteuid())
		return rd_error_set(err, -EPERM, "'%s' has to run as user %u, which only root can do", argv[0],
		                    (unsigned)options->uid);
	if (!program)
		return rd_error_set(err, -ENOENT, "there is no program '%s' here", argv[0]);
	if (!options->output) {
		own = memfd_create("output", MFD_CLOEXEC);
		if (own < 0)
			return rd_error_set(err, -errno, "cannot run '%s': %s", argv[0], rd_strerror(errno));
	}
	return run_into(options->output ? options->output : own, program, argv, options, err);
}

/* Processes */

/* When a process began, in ticks since the boot; 0: it is not there, or has ended and is only not waited for. */
static unsigned long long began(pid_t pid)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%d/stat", (int)pid);
	rd_auto_fclose FILE *f = fopen(path, "re");
	char text[1024], state, *end;
	unsigned long long ticks;
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	/* The name in parentheses may hold anything. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
	                   &ticks) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : ticks;
}

static void read_boot(char ret[64])
{
	rd_auto_fclose FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(ret, 64, f))
		strcpy(ret, "-");
	ret[strcspn(ret, " \n")] = '\0';
}

char *rd_run_mark(pid_t pid)
{
	char boot[64];

	read_boot(boot);
	return rd_xasprintf("%d %llu %s", (int)pid, began(pid), boot);
}

pid_t rd_run_goes_on(const char *mark)
{
	unsigned long long ticks;
	char boot[64], then[64];
	int pid;

	read_boot(boot);
	if (sscanf(mark, "%d %llu %63s", &pid, &ticks, then) != 3 || pid <= 0 || !rd_streq(boot, then))
		return 0;
	return ticks && began(pid) == ticks ? pid : 0;
}
