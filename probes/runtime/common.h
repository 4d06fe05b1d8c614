/* What several runtime probes need: lines of big files, names and versions of packages and libraries of ROCm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"
#include "util/cleanup.h"

struct rd_fact;
struct rd_sysroot;
struct rd_strv;

/* A text file line by line in little memory: dpkg's status has megabytes. */
struct rd_lines {
	struct rd_file *file;
	uint64_t offset, size; /* next byte to read, end */
	size_t start, fill;
	unsigned number; /* of the line returned last */
	bool cut;        /* that line had no end in the buffer */
	int error;       /* of a read that failed; then rd_lines_next() gives NULL */
	char *buffer;
};

int rd_lines_open(struct rd_lines *lines, struct rd_sysroot *sr, const char *path) RD_MUST_CHECK;
/* The next line without its end, valid until the next call; of a line that is too long the beginning. NULL after the last. */
char *rd_lines_next(struct rd_lines *lines);
void rd_lines_close(struct rd_lines *lines);
#define rd_auto_lines rd_auto(rd_lines_close)

enum rd_package_kind {
	RD_PACKAGE_OTHER,
	RD_PACKAGE_ROCM,      /* user space of ROCm */
	RD_PACKAGE_DRIVER,    /* amdgpu-dkms and what else comes with AMD's driver */
	RD_PACKAGE_KERNEL,    /* kernels, headers, firmware */
	RD_PACKAGE_CONTAINER, /* a container engine */
	RD_PACKAGE_TOOL,      /* dkms, compilers */
};

enum rd_package_kind rd_package_kind(const char *name);
const char *rd_package_kind_name(enum rd_package_kind kind); /* "rocm" ... */

/* "amd" or "distribution", by the name of the package and who maintains or sells it. */
const char *rd_package_origin(const char *name, const char *maintainer);

/*
 * rd_package_release - the ROCm or driver release that a package of AMD belongs to
 * @version: "4.4.0.60400-47~24.04", "1:6.12.12.60400-2147987.24.04", "7.14.0-4"
 *
 * Returns "6.4.0" for the caller to free, NULL where the version does not tell.
 * Source: package versions carry two digits each of major, minor and patch level (four pairs for drivers from 30.10 on).
 */
char *rd_package_release(const char *name, const char *version) RD_MUST_CHECK;

/* The release in a name that is made for several side by side: "6.2.4" of rocm-core6.2.4; "" for none. Points into @name. */
const char *rd_package_suffix(const char *name);

/* "24.04", "el9" or "sles15.5": the system that a package of AMD was built for; NULL where the version does not tell. */
char *rd_package_os(const char *version) RD_MUST_CHECK;

/* The libraries of ROCm, by the beginning of their names ("libamdhip64"); is @file one, with ".so" and a number or nothing? */
bool rd_library_is_rocm(const char *file);
/* "6.4.0" of libhsa-runtime64.so.1.15.60400; NULL where the file name does not tell. Caller frees. */
char *rd_library_release(const char *file) RD_MUST_CHECK;

/* "VALUE" of KEY=VALUE with or without quotes in os-release; NULL where it is not there. Caller frees. */
char *rd_os_release(struct rd_sysroot *sr, const char *key) RD_MUST_CHECK;

/* The part of @path behind @dir where it lies in it, else NULL. */
const char *rd_path_inside(const char *path, const char *dir);
