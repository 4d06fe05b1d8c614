/*
 * Actions: typed units of change. An action is a pure function of arguments and host to effects; it never changes anything.
 * Lowered again after success it yields no effect: that is what "done" means, for the plan and for verification alike.
 *
 * lower() reads the host through the sysroot only. During planning that sysroot shows the files as the earlier steps of the
 * plan leave them, so steps on one file add up. An effect equal to the present state is dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_fact;
struct rd_step;
struct rd_strv;
struct rd_sysroot;

/* Where a step stands in a plan: packages before files, files before what reads them. */
enum rd_phase {
	RD_PHASE_REPAIR, /* package databases that must be whole before anything else */
	RD_PHASE_SOURCE, /* repositories, keys, pins */
	RD_PHASE_PACKAGE,
	RD_PHASE_FILE,
	RD_PHASE_INITRAMFS, /* and DKMS */
	RD_PHASE_GROUP,
	RD_PHASE_MODULE,
	RD_PHASE_SERVICE,
	RD_PHASE_ENVIRONMENT, /* of users, wheels */
};

enum {
	RD_ACTION_ROOT = 1u << 0,    /* needs root */
	RD_ACTION_REBOOT = 1u << 1,  /* takes effect at the next boot */
	RD_ACTION_LOGIN = 1u << 2,   /* takes effect at the next login */
	RD_ACTION_NETWORK = 1u << 3, /* applying it may download */
	RD_ACTION_OWNER = 1u << 4,   /* runs as the owner of what it changes, not as root */
	RD_ACTION_RENEWS = 1u << 5,  /* only makes what other steps change take effect: none of a fix hangs on it */
};

/*
 * What programs of an action bring beside what they are told to, as package managers do. The applier keeps the names before, so
 * that undo can take off what came.
 */
struct rd_brings {
	/* What is there now, by name. */
	int (*list)(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret);
	/*
	 * The program that takes @names off, on a step; those that something else needs by now go from @names to @ret_stay. No
	 * effect where none is left.
	 */
	int (*take_off)(struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *names, struct rd_strv *ret_stay,
	                struct rd_error *err);
};

struct rd_action {
	const char *name; /* "modprobe.unblacklist" */
	const char *summary;
	/* Names of the arguments; "name?" may be left out. NULL-terminated. */
	const char *const *args;
	unsigned flags;
	enum rd_phase phase;
	const struct rd_brings *brings; /* NULL: nothing */
	/*
	 * Returns 0 with the effects on the step; a negative errno with the reason in @err where the step cannot be (it then is
	 * advice): -EOPNOTSUPP where this host has no way to do it, -EINVAL for arguments that cannot be used.
	 */
	int (*lower)(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err);
};

/* All actions, by name; written by the build from fixes/actions. */
extern const struct rd_action *const rd_actions[];
extern const size_t rd_actions_n;
const struct rd_action *rd_action_find(const char *name);

/* An argument as text, already checked for control characters; NULL where it was left out. */
const char *rd_step_arg(const struct rd_step *step, const char *name);
/* The facts of the host, for the choice of a back end; NULL while an old transaction is looked at again. */
const struct rd_fact *rd_step_facts(const struct rd_step *step);

/*
 * rd_step_write - a file should hold @after; NULL: should not be there
 * @mode: of a file that is made; one that is there keeps owner, mode, xattrs and label
 *
 * What cannot be edited safely (a link or what stands below one, what is unreadable or no text) makes the step advice.
 */
void rd_step_write(struct rd_step *step, const char *path, const char *after, unsigned mode);
/* A value of sysfs or procfs: written in place. */
void rd_step_write_value(struct rd_step *step, const char *path, const char *after);
/* A symbolic link should lead to @target; NULL: should not be there. */
void rd_step_link(struct rd_step *step, const char *path, const char *target);
/*
 * rd_step_run - a program should run
 * @argv, @undo: NULL-terminated; argv[0] is an absolute path or a plain name looked up in the system's own folders.
 *   NULL @undo: cannot be undone, and the plan says so. Never a shell.
 */
void rd_step_run(struct rd_step *step, const char *const argv[], const char *const undo[]);
/* The same as another user: the owner of @path. */
void rd_step_run_as_owner(struct rd_step *step, const char *const argv[], const char *const undo[], const char *path);
/*
 * After the step's writes: a program whose only work is to make them take effect (ldconfig, udevadm). After undo it runs again,
 * when the files of all steps are back.
 */
void rd_step_refresh(struct rd_step *step, const char *const argv[]);
/*
 * The same where this step writes nothing: for steps that make anew what is made from files of other steps (an initramfs, a
 * running service). Verification passes it over, since nothing shows whether it ran.
 */
void rd_step_renew(struct rd_step *step, const char *const argv[]);
/* What the step's line says, instead of the action's summary. */
void rd_step_describe(struct rd_step *step, const char *format, ...) RD_PRINTF(2, 3);
/* Where a version or value came from, shown below the step. */
void rd_step_origin(struct rd_step *step, const char *format, ...) RD_PRINTF(2, 3);
/* This step needs a reboot (or login), where the action's flags do not say so for every host. */
void rd_step_needs(struct rd_step *step, unsigned flags);

/* A name of a package, module, user, group, variable: letters, digits and "+-._:@~" only, a letter, digit or "_" first. 0 or -EINVAL. */
int rd_arg_check_name(const char *value, struct rd_error *err);
/* An absolute path without ".." and control characters. 0 or -EINVAL. */
int rd_arg_check_path(const char *value, struct rd_error *err);
