/*
 * What the package manager of a root has and could have: installed packages, and the versions in the lists of repositories that
 * it keeps on disk. Read from files; no program is asked.
 */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"
#include "util/cleanup.h"
#include "util/strv.h"

struct rd_error;
struct rd_step;
struct rd_sysroot;

enum pkg_manager { PKG_APT, PKG_DNF, PKG_DNF5, PKG_ZYPPER };

struct pkg {
	char *name, *version;
	char *full;     /* name-version-release.arch; rpm only */
	char *depends;  /* Pre-Depends and Depends as written; apt only */
	char *provides; /* apt only */
	bool installed; /* files are there, be it half configured */
	bool whole;     /* and configured */
	bool held;
};

struct pkg_set {
	enum pkg_manager manager;
	struct pkg *v;
	size_t n, allocated;
};

#define PKG_SET_INIT \
	{ \
		PKG_APT, NULL, 0, 0 \
	}

/* -EOPNOTSUPP where none of them is here; @err says so. */
int pkg_manager_of(struct rd_sysroot *sr, enum pkg_manager *ret, struct rd_error *err);
/* Every package that the manager's database tells of (rpm: those named in @names), by name. */
int pkg_set_read(struct rd_sysroot *sr, const struct rd_strv *names, struct pkg_set *ret, struct rd_error *err);
void pkg_set_clear(struct pkg_set *set);
#define pkg_auto_set rd_auto(pkg_set_clear)
const struct pkg *pkg_find(const struct pkg_set *set, const char *name);
const char *pkg_installed_version(const struct pkg_set *set, const char *name); /* NULL: not installed */

/* As the manager itself ranks versions. */
int pkg_version_compare(enum pkg_manager manager, const char *a, const char *b);

/*
 * Names out of an argument: entries separated by commas, of each the first word ("rocblas 4.2.1" names rocblas). Checked; 0 or
 * -EINVAL.
 */
int pkg_parse_names(const char *text, struct rd_strv *ret, struct rd_error *err);
/* A version as dpkg and rpm have them, with nothing that a command would take for more. 0 or -EINVAL. */
int pkg_check_version(const char *version, struct rd_error *err);
/* A kernel, a driver or firmware: what runs now stays until the next boot. */
bool pkg_needs_reboot(const char *name);
/* "6.4.3" is 60403 in the versions of AMD's packages. NULL for what is no release. Caller frees. */
char *pkg_release_code(const char *release);

/* Argument lists that grow; what is pushed must outlive the list, or be pushed with argv_pushf(). */
struct argv {
	struct rd_strv words;
	const char **v;
};

#define ARGV_INIT \
	{ \
		RD_STRV_INIT, NULL \
	}

void argv_add(struct argv *argv, const char *const *words); /* NULL-terminated */
void argv_addf(struct argv *argv, const char *format, ...) RD_PRINTF(2, 3);
const char *const *argv_done(struct argv *argv); /* NULL-terminated, valid until cleared or added to */
void argv_clear(struct argv *argv);
#define auto_argv rd_auto(argv_clear)

/* The beginning of each manager's command: never asks, waits for the lock. */
void argv_install(struct argv *argv, enum pkg_manager manager, bool downgrade);
void argv_remove(struct argv *argv, enum pkg_manager manager);
/* One package at one version; "": whichever the name gives. */
void argv_add_package(struct argv *argv, enum pkg_manager manager, const char *name, const char *version);
