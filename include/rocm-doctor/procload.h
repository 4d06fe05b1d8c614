/*
 * What a running process has loaded, beside what its loader would load today: the same program, started anew with the same
 * environment and opening the same plug-ins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/loader.h"
#include "rocm-doctor/macros.h"
#include "rocm-doctor/process.h"

struct rd_strv;
struct rd_sysroot;

#define RD_PROCLOAD_NONE SIZE_MAX

enum rd_proc_verdict {
	RD_PROC_SAME,       /* the file that a new start would load, too */
	RD_PROC_OLD_COPY,   /* the file was replaced or removed since: a new start loads what is there now */
	RD_PROC_OTHER,      /* a new start would load another file of that name */
	RD_PROC_UNEXPECTED, /* nothing that is known leads to it: opened at run time, or loaded before the environment changed */
	RD_PROC_NOT_MAPPED, /* a new start would load it, and it is not in the process */
	RD_PROC_UNKNOWN,    /* the search could not be simulated */
};

/* One library, in the process or in the simulation. */
struct rd_proc_library {
	const char *name; /* SONAME, else the file's name */
	size_t mapped;    /* of the mappings; RD_PROCLOAD_NONE: not in the process */
	size_t object;    /* of the loader; RD_PROCLOAD_NONE: not in the simulation */
	enum rd_proc_verdict verdict;
	bool run_time; /* no other library needs it: the program opened it itself, by a way that is not known */
	bool certain; /* what a new start gets depends on the program and its environment alone: nothing on the way is opened */
};

struct rd_procload {
	struct rd_mappings mapped;
	char *exe;                /* in the process's root; NULL: unknown */
	char *torch;              /* folder of PyTorch, where it is loaded; NULL: it is not */
	struct rd_loader *loader; /* NULL: not to be simulated, for @why */
	char *why;
	struct rd_strv *missing; /* of the rocm_sdk wheels, as rd_pyload_torch() */
	struct rd_proc_library *v;
	size_t n, allocated;
};

/*
 * rd_procload_read - look at the process of a sysroot, simulate, compare
 *
 * Entries are sorted by name. Returns 0, also where there is no simulation; else as rd_process_mapped().
 */
int rd_procload_read(struct rd_sysroot *sr, struct rd_procload *ret) RD_MUST_CHECK;
void rd_procload_release(struct rd_procload *p);

const char *rd_proc_verdict_name(enum rd_proc_verdict verdict); /* "same", "old copy", "another file" ... */
/* By its name: "libfoo.so", "libfoo.so.6". */
bool rd_proc_is_library(const char *path);
