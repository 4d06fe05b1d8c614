#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "util/xalloc.h"

#define PATH_BYTES_MAX 4096

struct rd_guard {
	int (*serve)(char op, const char *path, char *data);
	int call_ms, left_ms;
	pid_t pid;
	int fd;   /* a SOCK_SEQPACKET pair keeps messages apart and whole */
	int dead; /* negative errno: could not be started, or late or crashed (-ETIMEDOUT) */
};

struct answer {
	int result;
	char data[RD_GUARD_DATA_MAX];
};

struct rd_guard *rd_guard_new(int (*serve)(char op, const char *path, char *data), int call_ms, int total_ms)
{
	struct rd_guard *g = rd_xcalloc(1, sizeof(*g));

	g->serve = serve;
	g->call_ms = call_ms;
	g->left_ms = total_ms;
	g->fd = -1;
	return g;
}

static void child_main(const struct rd_guard *g, int fd)
{
	char request[1 + PATH_BYTES_MAX + 1];
	struct answer answer;
	ssize_t n;

	/* Not to outlive a killed parent; Ctrl-C of the terminal is the parent's business. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	for (;;) {
		n = recv(fd, request, sizeof(request) - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 2)
			_exit(0);
		request[n] = '\0';
		answer.result = g->serve(request[0], request + 1, answer.data);
		n = answer.result > 0 ? answer.result : 0;
		if (send(fd, &answer, offsetof(struct answer, data) + (size_t)n, MSG_NOSIGNAL) < 0)
			_exit(0);
	}
}

static int start(struct rd_guard *g)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	g->pid = fork();
	if (g->pid == 0) {
		close(fds[0]);
		child_main(g, fds[1]);
	}
	close(fds[1]);
	if (g->pid < 0) {
		int r = -errno;

		close(fds[0]);
		return r;
	}
	g->fd = fds[0];
	return 0;
}

/* A child in uninterruptible sleep does not die now, if ever: it is left to init, never waited for. */
static void stop(struct rd_guard *g)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (g->pid <= 0)
		return;
	close(g->fd);
	g->fd = -1;
	kill(g->pid, SIGKILL);
	for (int i = 0; i < 20; i++) {
		pid_t pid = waitpid(g->pid, NULL, WNOHANG);

		if (pid == g->pid || (pid < 0 && errno != EINTR))
			break;
		nanosleep(&pause, NULL);
	}
	g->pid = 0;
}

struct rd_guard *rd_guard_free(struct rd_guard *g)
{
	if (!g)
		return NULL;
	stop(g);
	free(g);
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int await(struct rd_guard *g)
{
	int limit = g->call_ms < g->left_ms ? g->call_ms : g->left_ms;
	int64_t begin = now_ms();
	int spent = 0, r = 0;

	while (spent < limit) {
		struct pollfd p = { .fd = g->fd, .events = POLLIN };

		r = poll(&p, 1, limit - spent);
		spent = (int)(now_ms() - begin);
		if (r > 0 || (r < 0 && errno != EINTR))
			break;
	}
	g->left_ms -= spent;
	return r > 0 ? 0 : -ETIMEDOUT;
}

static int ask(struct rd_guard *g, char op, const char *path, struct answer *answer)
{
	struct iovec parts[2] = { { &op, 1 }, { (char *)path, strlen(path) } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;
	int r;

	if (sendmsg(g->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -ETIMEDOUT;
	r = await(g);
	if (r < 0)
		return r;
	n = recv(g->fd, answer, sizeof(*answer), MSG_DONTWAIT);
	if (n < (ssize_t)offsetof(struct answer, data))
		return -ETIMEDOUT;
	n -= (ssize_t)offsetof(struct answer, data);
	return answer->result > 0 && answer->result != n ? -ETIMEDOUT : 0;
}

int rd_guard_call(struct rd_guard *g, char op, const char *path, char data[RD_GUARD_DATA_MAX])
{
	struct answer answer;
	int r = 0;

	if (g->dead)
		return g->dead;
	if (!*path || strlen(path) >= PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (!g->pid)
		r = start(g);
	if (r == 0)
		r = ask(g, op, path, &answer);
	if (r < 0) {
		g->dead = r;
		stop(g);
		return r;
	}
	if (answer.result > 0)
		memcpy(data, answer.data, (size_t)answer.result);
	return answer.result;
}
