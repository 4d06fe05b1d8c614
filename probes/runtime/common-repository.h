/* What an address of a package repository says: whose it is, what it holds, of which release and for which system. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_fact;
struct rd_sysroot;

struct rd_repository {
	const char *vendor;  /* "amd" or "other" */
	const char *product; /* "rocm", "amdgpu", "graphics", "amdrocm"; "" where it is not AMD's */
	char *release;       /* "6.4", "30.10", "latest"; "" where the address has none */
	char *system;        /* "ubuntu2404", "el9"; "" where the address has none */
};

/* rd_repository_parse - @url: "https://repo.radeon.com/rocm/apt/6.4" and the like; free with rd_repository_clear() */
void rd_repository_parse(const char *url, struct rd_repository *ret);
void rd_repository_clear(struct rd_repository *repo);

/*
 * The suite and the system that AMD's repositories have for this host: "noble" and "ubuntu2404" on Ubuntu 24.04 and what is
 * made from it; Debian 13 takes noble, Debian 12 jammy. NULL where AMD has none. Not to be freed.
 * Source: AMD's installation pages for Debian; names of folders below stable.repo.amd.com/rocm/core/packages.
 */
const char *rd_repository_suite(struct rd_sysroot *sr);
const char *rd_repository_system(struct rd_sysroot *sr);
/* How packages of AMD for this host end: "24.04", "22.04", "el9"; NULL where AMD has none. Not to be freed. */
const char *rd_repository_build(struct rd_sysroot *sr);
