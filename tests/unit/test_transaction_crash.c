/*
 * A transaction that is killed, or whose system calls fail, at any place: the tree is what it was before or what the plan makes
 * of it, and what is left over is removed.
 *
 * A child applies (or undoes) a plan under ptrace. Only calls that can change the disk are places of interest: between two of
 * them a kill makes no difference. With real programs, which outlive the one that is killed, the same once more.
 *
 * Every call is a place by itself. RD_CRASH_STRIDE=N takes each Nth only, which CTest does for those of the failing calls;
 * .ci/deep takes all.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
#include "picture.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#if defined(__x86_64__)
#include <sys/user.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static const long changing[] = {
	SYS_open,         SYS_openat,    SYS_creat,    SYS_write,     SYS_pwrite64,  SYS_writev,      SYS_rename,
	SYS_renameat,     SYS_renameat2, SYS_unlink,   SYS_unlinkat,  SYS_mkdir,     SYS_mkdirat,     SYS_rmdir,
	SYS_symlink,      SYS_symlinkat, SYS_link,     SYS_linkat,    SYS_fsync,     SYS_fdatasync,   SYS_ftruncate,
	SYS_truncate,     SYS_chmod,     SYS_fchmod,   SYS_fchmodat,  SYS_fchmodat2, SYS_chown,       SYS_fchown,
	SYS_fchownat,     SYS_lchown,    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
	SYS_fremovexattr, SYS_utimensat, SYS_flock,    SYS_clone,     SYS_vfork,     SYS_fork
};

/* What is done at the place that was counted to. */
enum blow { KILL_AFTER, KILL_TORN, SHORT_WRITE, FAIL_ONCE, FAIL_FROM_HERE };

/* How the child ended. */
enum outcome { APPLIED, ROLLED_BACK, LEFT, NOT_BEGUN, BUSY, KILLED };

struct world {
	char dir[64], root[80], state[80];
	bool live; /* the plan is of this system, though of its own folder only, and its programs run */
	struct rd_sysroot *sr;
};

static void open_tree(struct world *w)
{
	assert_int_equal(rd_sysroot_open(w->live ? "/" : w->root, &w->sr, NULL), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
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

/* A program that takes its time, with a file as its whole work. */
static const char tool[] = "#!/bin/sh\n"
			   "cd \"${0%/*}\" || exit 1\n"
			   "[ \"$1\" = --on ] || exec rm -f work half\n"
			   "echo begun >half; sleep 0.03; echo done >work; echo 'said'; rm half\n";

/* The same tree each time. Attributes of users are on it where the file system has them. */
static void plant(struct world *w)
{
	static const char *const folders[] = { "",     "/etc", "/etc/modprobe.d", "/sys", "/sys/module", "/sys/module/drm",
		                               "/opt", "/tool" };
	rd_auto_free char *odd = rd_xasprintf("%s/etc/odd", w->root), *link = rd_xasprintf("%s/opt/rocm", w->root);

	nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(mkdir(w->dir, 0755), 0);
	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_free char *path = rd_xasprintf("%s%s", w->root, folders[i]);

		assert_int_equal(mkdir(path, 0755), 0);
	}
	fill(w->root, "etc/modprobe.d/gpu.conf", "# ours\nblacklist amdgpu\n", 0640);
	fill(w->root, "etc/odd", "no line end, \xe9\x01\x1b[31m %s 'quotes'", 0604);
	fill(w->root, "etc/gone", "to be removed\n", 0600);
	fill(w->root, "sys/module/drm/level", "auto\n", 0644);
	fill(w->root, "tool/tool", tool, 0755);
	assert_int_equal(symlink("rocm-6.0", link), 0);
	if (setxattr(odd, "user.note", "kept\0too", 8, 0) < 0)
		assert_true(errno == EOPNOTSUPP || errno == EPERM);
}

/* A step whose own action has nothing to do here, with effects of every kind. */
static struct rd_step *new_step(struct world *w)
{
	struct rd_step *step = rd_step_new(rd_action_find("file.remove"),
	                                   (const char *const[]){ "path", "/etc/OpenCL/vendors/rd-none.icd", NULL }, NULL);

	step->sysroot = w->sr;
	return step;
}

/* A place of the tree, as the plan has it. The few there are live on. */
static const char *at(const struct world *w, const char *path)
{
	static char places[16][160];
	static size_t n;
	char *place = places[n++ % RD_ARRAY_SIZE(places)];

	snprintf(place, sizeof(places[0]), "%s%s", w->live ? w->root : "", path);
	return place;
}

static struct rd_plan *make_plan(struct world *w)
{
	const char *const on[] = { at(w, "/tool/tool"), "--on", NULL }, *const off[] = { at(w, "/tool/tool"), "--off", NULL };
	const char *const refresh[] = { w->live ? "true" : "refresh", NULL };
	const char *const conf = at(w, "/etc/modprobe.d/gpu.conf");
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));

	plan->steps = rd_xcalloc(2, sizeof(*plan->steps));
	plan->n = plan->allocated = plan->reboot_at = 2;
	plan->steps[0] = new_step(w);
	plan->steps[1] = new_step(w);
	rd_step_write(plan->steps[0], conf, "# ours\n# blacklist amdgpu\n", 0644);
	rd_step_write(plan->steps[0], at(w, "/etc/new/deep/er.conf"), "made\n", 0644);
	rd_step_write(plan->steps[0], at(w, "/etc/odd"), "otherwise\n", 0644);
	rd_step_run(plan->steps[0], on, off);
	rd_sysroot_overlay(w->sr, conf, "# ours\n# blacklist amdgpu\n");
	rd_step_write(plan->steps[1], conf, "# ours\n# blacklist amdgpu\noptions amdgpu x=1\n", 0644);
	rd_step_write(plan->steps[1], at(w, "/etc/gone"), NULL, 0);
	rd_step_link(plan->steps[1], at(w, "/opt/rocm"), "rocm-6.3.3");
	rd_step_link(plan->steps[1], at(w, "/opt/rocm-new/link"), "../rocm");
	rd_step_write_value(plan->steps[1], at(w, "/sys/module/drm/level"), "high");
	rd_step_refresh(plan->steps[1], refresh);
	rd_sysroot_overlay_clear(w->sr);
	for (size_t i = 0; i < plan->n; i++) {
		assert_null(plan->steps[i]->refusal);
		plan->steps[i]->sysroot = NULL;
	}
	return plan;
}

static char *picture(const struct world *w, bool times)
{
	return tree_picture(w->root, times);
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
	return r == 0 ? APPLIED : r == -ENOTRECOVERABLE ? LEFT : r == -EBUSY ? BUSY : ROLLED_BACK;
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

static size_t waits;

/* As `fix` does when it starts. Says whether there was anything to bring back. */
static bool recover(struct world *w)
{
	rd_auto_free char *id = rd_transaction_interrupted(w->state), *another = NULL;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r;

	if (!id)
		return false;
	assert_int_equal(rd_transaction_open(w->state, id, &tx, &err), 0);
	while ((r = rd_transaction_undo(tx, w->sr, false, NULL, &err)) == -EBUSY) {
		/* Its program outlived it: nothing is brought back while that still changes things. */
		waits += strstr(err.message, "still runs") != NULL;
		rd_error_clear(&err);
		usleep(2000);
	}
	if (r < 0)
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
	if (regs->orig_rax == SYS_flock)
		return regs->rsi & LOCK_EX;
	if (regs->orig_rax == SYS_open)
		return regs->rsi & (O_CREAT | O_TRUNC);
	for (size_t i = 0; i < RD_ARRAY_SIZE(changing); i++)
		if (regs->orig_rax == (unsigned long long)changing[i])
			return true;
	return false;
}

static bool is_write(const struct user_regs_struct *regs)
{
	return regs->orig_rax == SYS_write && regs->rdx > 1;
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
static int strike(struct world *w, int (*work)(struct world *w), size_t place, enum blow blow, int error)
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
		hit = is_changing(&regs) && (count++ == place || (blow == FAIL_FROM_HERE && count > place));
		if (hit && (blow == KILL_TORN || blow == SHORT_WRITE) && is_write(&regs)) {
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
		} else if (hit && blow != SHORT_WRITE) {
			end(pid, &status);
			return KILLED;
		}
	}
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99)
		fail_msg("call %zu: what is left is not said", place);
	return count > place ? WEXITSTATUS(status) : -1;
}

/* The tests */

static void expect_before(const struct world *w, const char *what, size_t place, int error)
{
	rd_auto_free char *now = picture(w, true);

	if (!rd_streq(now, before))
		fail_msg("%s, call %zu, %s: the tree is\n%s\nand was\n%s", what, place, error ? strerror(error) : "killed", now,
		         before);
}

/* Never between. The whole plan stands only where its end had come into the log. */
static void expect_either(const struct world *w, bool may_be_after, const char *what, size_t place)
{
	if (!may_be_after || !is_after(w))
		expect_before(w, what, place, 0);
}

static int set_up_as(void **state, bool live)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	/* Memory, where there is such a file system: a sync costs nothing there. */
	strcpy(w->dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rd-test-XXXXXX" : "/tmp/rd-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->root, sizeof(w->root), "%s/root", w->dir);
	snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
	w->live = live;
	plant(w);
	open_tree(w);
	before = picture(w, true);
	assert_int_equal(apply(w), APPLIED);
	after = picture(w, false);
	assert_true(!live || strstr(after, "/tool/work"));
	assert_int_equal(undo_newest(w), APPLIED);
	expect_before(w, "undo", 0, 0);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_as(state, false);
}

static int set_up_live(void **state)
{
	return set_up_as(state, true);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
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

static size_t stride(void)
{
	const char *text = getenv("RD_CRASH_STRIDE");

	return text && atoi(text) > 0 ? (size_t)atoi(text) : 1;
}

static void kill_applying(struct world *w, enum blow blow)
{
	size_t place;

	for (place = 0;; place++) {
		replant(w);
		if (strike(w, apply, place, blow, 0) != KILLED)
			break;
		expect_either(w, !recover(w), "applying", place);
	}
	assert_true(place > 40);
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
	size_t place;

	for (place = 0;; place++) {
		int r;

		replant(w);
		assert_int_equal(apply(w), APPLIED);
		if (strike(w, undo_newest, place, place % 3 == 2 ? KILL_TORN : KILL_AFTER, 0) != KILLED)
			break;
		/* Killed before the first word in the log, nothing was undone; asked again, it is. */
		expect_either(w, !recover(w), "undoing", place);
		while ((r = undo_newest(w)) == BUSY)
			usleep(2000);
		assert_int_equal(r, APPLIED);
		expect_before(w, "undo after a killed undo", place, 0);
	}
	assert_true(place > 20);
}

/* The program goes on when we are gone: it is waited for, and then taken back or not, as a whole. */
static void programs_that_outlive_a_killed_run_are_waited_for(void **state)
{
	waits = 0;
	kill_applying(*state, KILL_AFTER);
	assert_true(waits > 0);
	undoing_killed_at_any_call_is_ended_by_the_next_run(state);
}

static void recovery_killed_is_recovered_from(void **state)
{
	struct world *w = *state;

	for (size_t first = 30; first < 150; first += 35)
		for (size_t place = 0;; place += 5) {
			replant(w);
			assert_int_equal(strike(w, apply, first, KILL_AFTER, 0), KILLED);
			if (strike(w, undo_newest, place, KILL_AFTER, 0) != KILLED)
				break;
			assert_int_equal(undo_newest(w), APPLIED);
			expect_before(w, "recovery killed", place, 0);
		}
}

static const int errors[] = { ENOSPC, EROFS, EACCES, EIO, EINTR };

/* Each call fails once, with each error in turn. */
static void each_failing(struct world *w, int (*work)(struct world *w), enum blow blow, bool prepare,
                         void (*judge)(struct world *w, int outcome, size_t place, int error))
{
	for (size_t e = 0; e < RD_ARRAY_SIZE(errors); e++) {
		size_t place, tried = 0;

		/* What is interrupted for ever is not what a system does. */
		if (blow == FAIL_FROM_HERE && errors[e] == EINTR)
			continue;
		for (place = e % stride();; place += stride(), tried++) {
			int r;

			replant(w);
			if (prepare)
				assert_int_equal(apply(w), APPLIED);
			r = strike(w, work, place, blow, errors[e]);
			if (r < 0)
				break;
			judge(w, r, place, errors[e]);
		}
		assert_true(place > 20 && tried * stride() + stride() > 20);
	}
}

static void judge_rolled_back(struct world *w, int outcome, size_t place, int error)
{
	/* Some failures do not matter: what programs print, a sync that a file system has not. */
	if (outcome == APPLIED)
		assert_true(is_after(w));
	else if (outcome != LEFT)
		expect_before(w, "rolling back", place, error);
	/* Where it says that something is left, that can still be put back. */
	if (outcome == LEFT) {
		assert_int_equal(undo_newest(w), APPLIED);
		expect_before(w, "undo after a failure", place, error);
	}
}

static void a_call_that_fails_is_rolled_back(void **state)
{
	each_failing(*state, apply, FAIL_ONCE, false, judge_rolled_back);
}

static void a_write_that_takes_only_a_part_goes_on(void **state)
{
	struct world *w = *state;
	size_t place;
	int r;

	for (place = 0;; place++) {
		replant(w);
		r = strike(w, apply, place, SHORT_WRITE, 0);
		if (r < 0)
			break;
		assert_int_equal(r, APPLIED);
		assert_true(is_after(w));
		assert_int_equal(undo_newest(w), APPLIED);
		expect_before(w, "undo after a short write", place, 0);
	}
	assert_true(place > 40);
}

static size_t left;

static void judge_full(struct world *w, int outcome, size_t place, int error)
{
	left += outcome == LEFT;
	if (outcome == APPLIED)
		return;
	/* When the disk works again, everything comes back. */
	recover(w);
	assert_int_not_equal(undo_newest(w), LEFT);
	expect_before(w, "undo after a full disk", place, error);
}

static void a_disk_that_stays_full_loses_nothing(void **state)
{
	left = 0;
	each_failing(*state, apply, FAIL_FROM_HERE, false, judge_full);
	assert_true(left > 10);
}

static void judge_again(struct world *w, int outcome, size_t place, int error)
{
	(void)outcome;
	assert_int_equal(undo_newest(w), APPLIED);
	expect_before(w, "undo after an undo that failed", place, error);
}

static void undoing_that_fails_can_be_asked_for_again(void **state)
{
	each_failing(*state, undo_newest, FAIL_ONCE, true, judge_again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applying_killed_after_any_call_is_brought_back),
		cmocka_unit_test(a_write_cut_short_by_a_kill_is_brought_back),
		cmocka_unit_test(undoing_killed_at_any_call_is_ended_by_the_next_run),
		cmocka_unit_test(recovery_killed_is_recovered_from),
		cmocka_unit_test(a_call_that_fails_is_rolled_back),
		cmocka_unit_test(a_write_that_takes_only_a_part_goes_on),
		cmocka_unit_test(a_disk_that_stays_full_loses_nothing),
		cmocka_unit_test(undoing_that_fails_can_be_asked_for_again),
	};
	const struct CMUnitTest live[] = {
		cmocka_unit_test(programs_that_outlive_a_killed_run_are_waited_for),
	};
	int failed = cmocka_run_group_tests(tests, set_up, tear_down);

	return cmocka_run_group_tests_name("with real programs", live, set_up_live, tear_down) + failed;
}

#else

int main(void)
{
	puts("skipped: calls are told apart by x86-64's registers only");
	return 77;
}
#endif
