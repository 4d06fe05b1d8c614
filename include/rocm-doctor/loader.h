/*
 * The dynamic loader of glibc as a simulation: which file each needed library is taken from, and by which rule, for a program
 * and an environment inside a root. Nothing is run. Every step can be told.
 *
 * Source: glibc elf/dl-load.c (_dl_map_object), elf/dl-deps.c, elf/dl-cache.c; ld.so(8).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_elf;
struct rd_error;
struct rd_loader;
struct rd_strv;
struct rd_sysroot;

#define RD_LOADER_NONE SIZE_MAX

/* How a file was chosen; also a rule of the search that is walked. */
enum rd_load_by {
	RD_LOAD_PROGRAM,      /* it is what was started, or its interpreter */
	RD_LOAD_PATH,         /* asked for by a path */
	RD_LOAD_LOADED,       /* a library of that name is in the process already */
	RD_LOAD_RPATH,        /* DT_RPATH of an object or of one that led to it */
	RD_LOAD_LIBRARY_PATH, /* LD_LIBRARY_PATH */
	RD_LOAD_RUNPATH,      /* DT_RUNPATH of the object that asks */
	RD_LOAD_CACHE,        /* /etc/ld.so.cache */
	RD_LOAD_DEFAULT,      /* folders built into the loader */
	RD_LOAD_NOT_FOUND,
};

/* What a process has that decides. All may be NULL: not set. */
struct rd_loader_env {
	const char *library_path; /* LD_LIBRARY_PATH */
	const char *preload;      /* LD_PRELOAD */
	const char *cwd;          /* for relative folders; NULL: not known, they are passed over */
};

/* A file in the process. */
struct rd_load_object {
	char *path; /* as it was opened: $ORIGIN counts from here */
	uint64_t dev, ino;
	char *origin;       /* folder of the path; for the program of the file behind it */
	struct rd_elf *elf; /* header, dynamic section and versions; its reader is closed */
	size_t loader;      /* object that first asked for it; RD_LOADER_NONE for the program */
};

/* One library asked for by one object. */
struct rd_load_need {
	size_t from; /* object that asks */
	char *name;
	size_t object; /* what it gets; RD_LOADER_NONE where nothing is found */
	enum rd_load_by by;
	size_t via;    /* RPATH, RUNPATH: the object whose tag it is; else RD_LOADER_NONE */
	char *folder;  /* in which it was found, as the tag or variable names it after expansion; NULL for others */
	bool dlopen;   /* opened at run time, beside DT_NEEDED */
	bool optional; /* its absence is no fault */
	char *damage;  /* a file was chosen that cannot be loaded: what the loader would say */
	int unknown;   /* negative errno: a place that comes earlier could not be looked at; 0 */
};

/* A version of a symbol that the chosen file does not define. */
struct rd_load_version {
	size_t object;   /* who needs it */
	size_t provider; /* who should have it */
	char *file, *version;
};

/*
 * rd_loader_start - the state when a program has been loaded and not yet begun
 * @path: program, or a library (as ldd looks at one)
 *
 * Returns 0 also where libraries were not found: they are in the needs. -EOPNOTSUPP: a program for musl, whose loader looks
 * elsewhere; -ENOEXEC and -EINVAL: no usable ELF file; a read error. @err says why.
 */
int rd_loader_start(struct rd_sysroot *sr, const struct rd_loader_env *env, const char *path, struct rd_loader **ret,
                    struct rd_error *err) RD_MUST_CHECK;
struct rd_loader *rd_loader_free(struct rd_loader *l);

/*
 * rd_loader_dlopen - open one more library and what it needs
 * @caller: the object that contains the call; its RPATH and RUNPATH count
 * @name: with a slash: that file
 * @optional: its absence is no fault
 *
 * Returns the index of the need.
 */
size_t rd_loader_dlopen(struct rd_loader *l, size_t caller, const char *name, bool optional);

/* A library that would be opened, from a place that cannot be looked into. Returns the index of the need. */
size_t rd_loader_dlopen_unknown(struct rd_loader *l, size_t caller, const char *name, int error);

/*
 * rd_loader_dlopen_stubs - open what ROCm's libraries open at run time themselves, for those that are loaded
 *
 * libamdhip64 the HSA runtime and comgr, libhiprtc its built-in headers: what ldd does not show.
 */
void rd_loader_dlopen_stubs(struct rd_loader *l);

size_t rd_loader_objects(const struct rd_loader *l);
const struct rd_load_object *rd_loader_object(const struct rd_loader *l, size_t index);
size_t rd_loader_needs(const struct rd_loader *l);
const struct rd_load_need *rd_loader_need(const struct rd_loader *l, size_t index);

/* The first object whose SONAME or file is NAME.so, NAME.so.N ...: "libamdhip64". RD_LOADER_NONE where there is none. */
size_t rd_loader_find(const struct rd_loader *l, const char *stem);
/* The one behind @after. */
size_t rd_loader_find_next(const struct rd_loader *l, const char *stem, size_t after);
/* The need that brought an object in; RD_LOADER_NONE for the program. */
size_t rd_loader_need_of(const struct rd_loader *l, size_t object);

/* Versions that are missing; the caller frees the array with rd_load_versions_free(). */
size_t rd_loader_check_versions(const struct rd_loader *l, struct rd_load_version **ret);
void rd_load_versions_free(struct rd_load_version *versions, size_t n);

enum rd_load_verdict {
	RD_LOAD_MISS, /* no such file */
	RD_LOAD_TAKEN,
	RD_LOAD_RUNNER_UP, /* would do, comes later */
	RD_LOAD_SKIPPED,   /* there, but for another machine */
	RD_LOAD_DAMAGED,   /* there, and the loader would give up here */
	RD_LOAD_UNREADABLE,
};

/* One place of the search, in the order of the loader. */
struct rd_load_step {
	enum rd_load_by by;
	size_t via;
	const char *folder; /* "" for the cache */
	const char *path;   /* file looked for */
	enum rd_load_verdict verdict;
	bool same; /* a runner-up that is the very file that was taken */
	int error;
};

/*
 * rd_loader_explain - walk the search for a need again, to its end, and tell each step
 *
 * A name that was loaded already gives one step, RD_LOAD_LOADED, before those of the search that it spared.
 */
void rd_loader_explain(struct rd_loader *l, size_t need, void (*tell)(void *data, const struct rd_load_step *step), void *data);

const char *rd_load_by_name(enum rd_load_by by); /* "DT_RPATH", "LD_LIBRARY_PATH", "ld.so.cache", "already loaded" ... */
/* The same with the object whose tag it was: "DT_RPATH of /opt/x/libtorch.so". The caller frees. */
char *rd_loader_chosen_by(const struct rd_loader *l, const struct rd_load_need *need);

static inline void rd_cleanup_loader(struct rd_loader **l)
{
	*l = rd_loader_free(*l);
}
