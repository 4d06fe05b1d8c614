/* Running a program of the system to change it: used by the applier and by nothing else. Never a shell. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "rocm-doctor/macros.h"

struct rd_error;

struct rd_run_options {
	bool as_user; /* give up root for uid and gid, with that user's groups */
	uid_t uid;
	gid_t gid;
	/*
	 * The file that the program prints into, open for reading and appending; 0: none is kept. A pipe would end with us, and
	 * the program with it.
	 */
	int output;
	/* Each line that the program prints, on either stream. */
	void (*line)(const char *line, void *data);
	/* Its process is there and waits for this to return: with 0, or with a negative errno it never begins. */
	int (*started)(pid_t pid, void *data);
	void *data;
};

/*
 * rd_run - run a program and wait for it
 * @argv: argv[0] without "/" is looked up in the system's own folders, not in PATH
 *
 * The program gets a fixed environment, a session of its own, no standard input and no other descriptors. Returns 0 where it exits with 0; -ENOENT
 * where there is no such program; -ECHILD where it exits otherwise, with how in @err.
 */
int rd_run(char *const argv[], const struct rd_run_options *options, struct rd_error *err) RD_MUST_CHECK;

/* A process, so that it can be told from others later, after a boot as well: one line. Caller frees. */
char *rd_run_mark(pid_t pid) RD_MUST_CHECK;
/* The id of the process of a mark where it has not ended yet; 0: it has. */
pid_t rd_run_goes_on(const char *mark);
