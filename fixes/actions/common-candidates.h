/* Versions that could be installed, as the lists say that the package manager keeps on disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common-packages.h"
#include "rocm-doctor/macros.h"
#include "util/cleanup.h"

struct rd_error;
struct rd_strv;
struct rd_sysroot;

struct pkg_candidate {
	char *name, *version;
	char *where; /* "archive.ubuntu.com/ubuntu noble main": the repository that has it */
	bool amd;    /* which is one of AMD's */
};

struct pkg_candidates {
	struct pkg_candidate *v;
	size_t n, allocated;
	bool unreadable; /* some lists cannot be read here */
};

#define PKG_CANDIDATES_INIT \
	{ \
		NULL, 0, 0, false \
	}

/* Those of the packages named. Lists that are packed in a way not known here are passed over. */
int pkg_candidates_read(struct rd_sysroot *sr, enum pkg_manager manager, const struct rd_strv *names,
                        struct pkg_candidates *ret, struct rd_error *err);
void pkg_candidates_clear(struct pkg_candidates *c);
#define pkg_auto_candidates rd_auto(pkg_candidates_clear)
/* @version NULL: any. */
bool pkg_has_candidate(const struct pkg_candidates *c, const char *name, const char *version);
/* "apt's lists", "dnf's cache". */
const char *pkg_lists_name(enum pkg_manager manager);
/* What brings them up to date. */
const char *pkg_refresh_command(enum pkg_manager manager);
