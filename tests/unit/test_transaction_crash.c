/*
 * A transaction that is killed, or whose system calls fail, at any place: the tree is what it was before or what the plan makes
 * of it, and what is left over is removed.
 *
 * A child applies (or undoes) a plan under ptrace. Only calls that can change the disk are places of interest: between two of
 * them a kill makes no difference.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#if defined(__x86_64__)
#include <sys/user.h>

static const long changing[] = { SYS_open,      SYS_openat,    SYS_write,     SYS_rename,    SYS_renameat, SYS_renameat2,
	                         SYS_unlink,    SYS_unlinkat,  SYS_mkdir,     SYS_mkdirat,   SYS_rmdir,    SYS_symlink,
	                         SYS_symlinkat, SYS_fsync,     SYS_fdatasync, SYS_ftruncate, SYS_fchmod,   SYS_fchown,
	                         SYS_fsetxattr, SYS_utimensat, SYS_fchmodat };

/* What is done at the place that was counted to. */
enum blow { KILL_AFTER, KILL_TORN, FAIL_ONCE, FAIL_FROM_HERE };

/* How the child ended. */
enum outcome { APPLIED, ROLLED_BACK, LEFT, NOT_BEGUN, KILLED };

struct world {
	char dir[64], root[80], state[80];
	struct rd_sysroot *sr;
};

static void RD_PRINTF(1, 2) shell(const char *format, ...)
{
	char command[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

static void open_tree(struct world *w)
{
	assert_int_equal(rd_sysroot_open(w->root, &w->sr, NULL), 0);
}

static void fill(const char *root, const char *name, const char *text, mode_t mode)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", root, name);
	struct timespec times[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000001, .tv_nsec = 123456789 } };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* The same tree each time. Attributes of users are on it where the file system has them. */
static void plant(struct world *w)
{
	static const char *const folders[] = {
		"", "/etc", "/etc/modprobe.d", "/sys", "/sys/module", "/sys/module/drm", "/opt"
	};
	rd_auto_free char *odd = rd_xasprintf("%s/etc/odd", w->root), *link = rd_xasprintf("%s/opt/rocm", w->root);

	shell("rm -rf %s && mkdir -p %s", w->dir, w->dir);
	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_free char *path = rd_xasprintf("%s%s", w->root, folders[i]);

		assert_int_equal(mkdir(path, 0755), 0);
	}
	fill(w->root, "etc/modprobe.d/gpu.conf", "# ours\nblacklist amdgpu\n", 0640);
	fill(w->root, "etc/odd", "no line end, \xe9\x01\x1b[31m %s 'quotes'", 0604);
	fill(w->root, "etc/gone", "to be removed\n", 0600);
	fill(w->root, "sys/module/drm/level", "auto\n", 0644);
	assert_int_equal(symlink("rocm-6.0", link), 0);
	if (setxattr(odd, "user.note", "kept\0too", 8, 0) < 0)
		assert_true(errno == EOPNOTSUPP || errno == EPERM);
}

/* A step whose own action has nothing to do here (the module is loaded), with effects of every kind. */
static struct rd_step *new_step(struct world *w)
{
	struct rd_step *step =
		rd_step_new(rd_action_find("modprobe.load"), (const char *const[]){ "module", "drm", NULL }, NULL);

	step->sysroot = w->sr;
	return step;
}

static struct rd_plan *make_plan(struct world *w)
{
	static const char *const on[] = { "tool", "--on", NULL }, *const off[] = { "tool", "--off", NULL };
	static const char *const refresh[] = { "refresh", NULL };
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));

	plan->steps = rd_xcalloc(2, sizeof(*plan->steps));
	plan->n = plan->allocated = plan->reboot_at = 2;
	plan->steps[0] = new_step(w);
	plan->steps[1] = new_step(w);
	rd_step_write(plan->steps[0], "/etc/modprobe.d/gpu.conf", "# ours\n# blacklist amdgpu\n", 0644);
	rd_step_write(plan->steps[0], "/etc/new/deep/er.conf", "made\n", 0644);
	rd_step_write(plan->steps[0], "/etc/odd", "otherwise\n", 0644);
	rd_step_run(plan->steps[0], on, off);
	rd_sysroot_overlay(w->sr, "/etc/modprobe.d/gpu.conf", "# ours\n# blacklist amdgpu\n");
	rd_step_write(plan->steps[1], "/etc/modprobe.d/gpu.conf", "# ours\n# blacklist amdgpu\noptions amdgpu x=1\n", 0644);
	rd_step_write(plan->steps[1], "/etc/gone", NULL, 0);
	rd_step_link(plan->steps[1], "/opt/rocm", "rocm-6.3.3");
	rd_step_link(plan->steps[1], "/opt/rocm-new/link", "../rocm");
	rd_step_write_value(plan->steps[1], "/sys/module/drm/level", "high");
	rd_step_refresh(plan->steps[1], refresh);
	rd_sysroot_overlay_clear(w->sr);
	for (size_t i = 0; i < plan->n; i++) {
		assert_null(plan->steps[i]->refusal);
		plan->steps[i]->sysroot = NULL;
	}
	return plan;
}

/* Names, types, modes, owners, contents, attributes; times where they count (those of what was written do not). */
static char *picture(const struct world *w, bool times)
{
	rd_auto_free char *odd = rd_xasprintf("%s/etc/odd", w->root),
			  *command = rd_xasprintf("cd %s && find . -path ./sys -prune -o -type f -printf '%%p %%m %%u %%g "
	                                          "%s\n' -exec cat {} \\; -exec echo \\; -o "
	                                          "-printf '%%p %%y %%m %%l\n' | sort; cat sys/module/drm/level",
	                                          w->root, times ? "%T@" : "");
	FILE *p = popen(command, "re");
	struct rd_strbuf sb = RD_STRBUF_INIT;
	char buf[4096], note[32];
	size_t n;
	ssize_t len;

	assert_non_null(p);
	while ((n = fread(buf, 1, sizeof(buf), p)) > 0)
		rd_strbuf_addn(&sb, buf, n);
	pclose(p);
	len = getxattr(odd, "user.note", note, sizeof(note));
	for (ssize_t i = 0; i < len; i++)
		rd_strbuf_addf(&sb, "%02x", (unsigned)note[i]);
	return rd_strbuf_detach(&sb);
}

/* The tree before, to the times of its files, and as the plan would have it. */
static char *before, *after;

static bool is_after(const struct world *w)
{
	rd_auto_free char *now = picture(w, false);

	return rd_streq(now, after);
}

/* What the child does */

static int outcome_of(int r)
{
	return r == 0 ? APPLIED : r == -ENOTRECOVERABLE ? LEFT : ROLLED_BACK;
}

static int apply(struct world *w)
{
	struct rd_plan *plan = make_plan(w);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_begin(w->state, plan, w->sr, &tx, &err);

	if (r < 0) {
		rd_error_clear(&err);
		rd_plan_free(plan);
		return NOT_BEGUN;
	}
	r = outcome_of(rd_plan_apply(tx, w->sr, NULL, &err));
	/* What is left has to be named, and where the original is. */
	if (r == LEFT && !strstr(err.message, "rolling back is incomplete: "))
		r = 99;
	rd_error_clear(&err);
	rd_transaction_close(tx);
	return r;
}

static int undo_newest(struct world *w)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_list(w->state, &ids);

	if (r < 0 || !ids.n)
		return NOT_BEGUN;
	r = rd_transaction_open(w->state, ids.v[ids.n - 1], &tx, &err);
	if (r == 0)
		r = rd_transaction_undo(tx, w->sr, false, NULL, &err);
	rd_error_clear(&err);
	rd_transaction_close(tx);
	return r == -EALREADY ? APPLIED : outcome_of(r);
}

/* As `fix` does when it starts. Says whether there was anything to bring back. */
static bool recover(struct world *w)
{
	rd_auto_free char *id = rd_transaction_interrupted(w->state), *another = NULL;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;

	if (!id)
		return false;
	assert_int_equal(rd_transaction_open(w->state, id, &tx, &err), 0);
	if (rd_transaction_undo(tx, w->sr, false, NULL, &err) < 0)
		fail_msg("recovery of %s: %s", id, err.message);
	rd_transaction_close(tx);
	another = rd_transaction_interrupted(w->state);
	assert_null(another);
	return true;
}

/* The tracer */

static bool is_changing(const struct user_regs_struct *regs)
{
	/* Opening changes something only where it may create. */
	if (regs->orig_rax == SYS_openat)
		return regs->rdx & (O_CREAT | O_TRUNC);
	if (regs->orig_rax == SYS_open)
		return regs->rsi & (O_CREAT | O_TRUNC);
	for (size_t i = 0; i < RD_ARRAY_SIZE(changing); i++)
		if (regs->orig_rax == (unsigned long long)changing[i])
			return true;
	return false;
}

/* Run to the next stop at a system call. True while the child lives; else *status says how it ended. */
static bool next_stop(pid_t pid, int *status)
{
	int signal = 0;

	do {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal), 0);
		assert_int_equal(waitpid(pid, status, 0), pid);
		signal = WIFSTOPPED(*status) ? WSTOPSIG(*status) : 0;
	} while (WIFSTOPPED(*status) && signal != (SIGTRAP | 0x80));
	return WIFSTOPPED(*status);
}

static void end(pid_t pid, int *status)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) == pid && !WIFSIGNALED(*status))
		;
}

/*
 * Run @work in a child and strike at its @at-th changing call. The outcome, or KILLED; -1 where there are not so many calls
 * (the child then came to its end).
 */
static int strike(struct world *w, int (*work)(struct world *w), size_t at, enum blow blow, int error)
{
	size_t count = 0;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		_exit(work(w));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		skip();
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)), 0);
	while (next_stop(pid, &status)) {
		struct user_regs_struct regs;
		bool hit;

		assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
		hit = is_changing(&regs) && (count++ == at || (blow == FAIL_FROM_HERE && count > at));
		if (hit && blow == KILL_TORN && regs.orig_rax == SYS_write) {
			regs.rdx /= 2;
			assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
		}
		if (hit && blow >= FAIL_ONCE) {
			regs.orig_rax = (unsigned long long)-1;
			assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
		}
		if (!next_stop(pid, &status))
			break;
		if (hit && blow >= FAIL_ONCE) {
			assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
			regs.rax = (unsigned long long)-error;
			assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
		} else if (hit) {
			end(pid, &status);
			return KILLED;
		}
	}
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99)
		fail_msg("call %zu: what is left is not said", at);
	return count > at ? WEXITSTATUS(status) : -1;
}

/* The tests */

static void expect_before(const struct world *w, const char *what, size_t at, int error)
{
	rd_auto_free char *now = picture(w, true);

	if (!rd_streq(now, before))
		fail_msg("%s, call %zu, %s: the tree is\n%s\nand was\n%s", what, at, error ? strerror(error) : "killed", now,
		         before);
}

/* Never between. The whole plan stands only where its end had come into the log. */
static void expect_either(const struct world *w, bool may_be_after, const char *what, size_t at)
{
	if (!may_be_after || !is_after(w))
		expect_before(w, what, at, 0);
}

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	/* Memory, where there is such a file system: a sync costs nothing there. */
	strcpy(w->dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rd-test-XXXXXX" : "/tmp/rd-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->root, sizeof(w->root), "%s/root", w->dir);
	snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
	plant(w);
	open_tree(w);
	before = picture(w, true);
	assert_int_equal(apply(w), APPLIED);
	after = picture(w, false);
	assert_int_equal(undo_newest(w), APPLIED);
	expect_before(w, "undo", 0, 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	shell("rm -rf %s", w->dir);
	free(before);
	free(after);
	free(w);
	return 0;
}

static void replant(struct world *w)
{
	rd_sysroot_free(w->sr);
	plant(w);
	open_tree(w);
}

static void kill_applying(struct world *w, enum blow blow)
{
	size_t at;

	for (at = 0;; at++) {
		replant(w);
		if (strike(w, apply, at, blow, 0) != KILLED)
			break;
		expect_either(w, !recover(w), "applying", at);
	}
	assert_true(at > 40);
}

static void applying_killed_after_any_call_is_brought_back(void **state)
{
	kill_applying(*state, KILL_AFTER);
}

static void a_write_cut_short_by_a_kill_is_brought_back(void **state)
{
	kill_applying(*state, KILL_TORN);
}

static void undoing_killed_at_any_call_is_ended_by_the_next_run(void **state)
{
	struct world *w = *state;
	size_t at;

	for (at = 0;; at++) {
		replant(w);
		assert_int_equal(apply(w), APPLIED);
		if (strike(w, undo_newest, at, at % 3 == 2 ? KILL_TORN : KILL_AFTER, 0) != KILLED)
			break;
		/* Killed before the first word in the log, nothing was undone; asked again, it is. */
		expect_either(w, !recover(w), "undoing", at);
		assert_int_equal(undo_newest(w), APPLIED);
		expect_before(w, "undo after a killed undo", at, 0);
	}
	assert_true(at > 20);
}

static void recovery_killed_is_recovered_from(void **state)
{
	struct world *w = *state;

	for (size_t first = 30; first < 150; first += 35)
		for (size_t at = 0;; at += 5) {
			replant(w);
			assert_int_equal(strike(w, apply, first, KILL_AFTER, 0), KILLED);
			if (strike(w, undo_newest, at, KILL_AFTER, 0) != KILLED)
				break;
			assert_int_equal(undo_newest(w), APPLIED);
			expect_before(w, "recovery killed", at, 0);
		}
}

static const int errors[] = { ENOSPC, EROFS, EACCES, EIO };

static void a_call_that_fails_is_rolled_back(void **state)
{
	struct world *w = *state;
	size_t at = 0;
	int r;

	for (;; at += 2) {
		int error = errors[at / 2 % RD_ARRAY_SIZE(errors)];

		replant(w);
		r = strike(w, apply, at, FAIL_ONCE, error);
		if (r < 0)
			break;
		/* Some failures do not matter: what programs print, a sync that a file system has not. */
		if (r == APPLIED)
			assert_true(is_after(w));
		else if (r != LEFT)
			expect_before(w, "rolling back", at, error);
		/* Where it says that something is left, that can still be put back. */
		if (r == LEFT) {
			assert_int_equal(undo_newest(w), APPLIED);
			expect_before(w, "undo after a failure", at, error);
		}
	}
	assert_true(at > 40);
}

static void a_disk_that_stays_full_loses_nothing(void **state)
{
	struct world *w = *state;
	size_t at = 0, left = 0;

	for (;; at += 3) {
		int error = errors[at / 3 % RD_ARRAY_SIZE(errors)], r;

		replant(w);
		r = strike(w, apply, at, FAIL_FROM_HERE, error);
		if (r < 0)
			break;
		left += r == LEFT;
		if (r == APPLIED)
			continue;
		/* When the disk works again, everything comes back. */
		recover(w);
		assert_int_not_equal(undo_newest(w), LEFT);
		expect_before(w, "undo after a full disk", at, error);
	}
	assert_true(at > 40);
	assert_true(left > 10);
}

static void undoing_that_fails_can_be_asked_for_again(void **state)
{
	struct world *w = *state;
	size_t at = 0;

	for (;; at += 3) {
		int error = errors[at / 3 % RD_ARRAY_SIZE(errors)], r;

		replant(w);
		assert_int_equal(apply(w), APPLIED);
		r = strike(w, undo_newest, at, FAIL_ONCE, error);
		if (r < 0)
			break;
		assert_int_equal(undo_newest(w), APPLIED);
		expect_before(w, "undo after an undo that failed", at, error);
	}
	assert_true(at > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applying_killed_after_any_call_is_brought_back),
		cmocka_unit_test(a_write_cut_short_by_a_kill_is_brought_back),
		cmocka_unit_test(undoing_killed_at_any_call_is_ended_by_the_next_run),
		cmocka_unit_test(recovery_killed_is_recovered_from),
		cmocka_unit_test(a_call_that_fails_is_rolled_back),
		cmocka_unit_test(a_disk_that_stays_full_loses_nothing),
		cmocka_unit_test(undoing_that_fails_can_be_asked_for_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

#else

int main(void)
{
	puts("skipped: calls are told apart by x86-64's registers only");
	return 77;
}
#endif
