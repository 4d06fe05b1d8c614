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
	rd_strv_pushf(ret, "HOME=%s", pw ? pw->pw_dir : "/");
	for (size_t i = 0; i < RD_ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value)
			rd_strv_pushf(ret, "%s=%s", kept[i], value);
	}
}

/* Only async-signal-safe work from here to exec, but for giving up root, which happens in a process without threads. */
static void child(const char *program, char *const argv[], char *const envp[], int out, const struct rd_run_options *options)
{
	int null = open("/dev/null", O_RDONLY);

	/* What this process ignores would be ignored by the program as well. */
	signal(SIGPIPE, SIG_DFL);

	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || chdir("/") < 0)
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
 * What the program prints, until it ends. A service that it started may hold the pipe open for ever, so the end of the program
 * counts and not the end of the pipe. The process stays to be waited for.
 */
static void pass_output(int fd, pid_t pid, const struct rd_run_options *options)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	bool ended = false;
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		siginfo_t info = { 0 };
		ssize_t n;

		if (poll(&p, 1, ended ? 0 : 100) > 0) {
			n = read(fd, buf, sizeof(buf));
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				break;
			rd_strbuf_addn(&sb, buf, (size_t)n);
			pass_lines(&sb, options, false);
		} else if (ended) {
			break;
		} else {
			ended = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
		}
	}
	pass_lines(&sb, options, true);
	close(fd);
}

static int wait_for(pid_t pid, const char *name, struct rd_error *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return rd_error_set(err, -errno, "cannot wait for '%s': %s", name, rd_strerror(errno));
	if (WIFSIGNALED(status))
		return rd_error_set(err, -ECHILD, "'%s' was ended by signal %d", name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return rd_error_set(err, -ECHILD, "'%s' exited with status %d", name, WEXITSTATUS(status));
	return 0;
}

int rd_run(char *const argv[], const struct rd_run_options *options, struct rd_error *err)
{
	rd_auto_free char *program = find_program(argv[0]);
	rd_auto_strv struct rd_strv environment = RD_STRV_INIT;
	rd_auto_free char **envp = NULL;
	int out[2];
	pid_t pid;

	if (options->as_user && geteuid() != 0 && options->uid != geteuid())
		return rd_error_set(err, -EPERM, "'%s' has to run as user %u, which only root can do", argv[0],
		                    (unsigned)options->uid);
	if (!program)
		return rd_error_set(err, -ENOENT, "there is no program '%s' here", argv[0]);
	build_environment(options, &environment);
	envp = rd_xcalloc(environment.n + 1, sizeof(*envp));
	memcpy(envp, environment.v, environment.n * sizeof(*envp));
	if (pipe2(out, O_CLOEXEC) < 0)
		return rd_error_set(err, -errno, "cannot run '%s': %s", argv[0], rd_strerror(errno));
	pid = fork();
	if (pid == 0)
		child(program, argv, envp, out[1], options);
	close(out[1]);
	if (pid < 0) {
		close(out[0]);
		return rd_error_set(err, -errno, "cannot run '%s': %s", argv[0], rd_strerror(errno));
	}
	pass_output(out[0], pid, options);
	return wait_for(pid, argv[0], err);
}
