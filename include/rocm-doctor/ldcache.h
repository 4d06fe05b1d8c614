/*
 * /etc/ld.so.cache: which file a bare library name leads to. Both layouts are read: the new one, and the old one with the new
 * one behind it (or alone). Every number in the file is checked; entries that point outside it are left out.
 *
 * Source: glibc sysdeps/generic/dl-cache.h and elf/dl-cache.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_sysroot;
struct rd_strv;

#define RD_LDCACHE_PATH "/etc/ld.so.cache"

/* What an entry is for: the low byte is the kind of C library (3: glibc), the next the machine. */
enum {
	RD_LDCACHE_I386 = 0x0003,
	RD_LDCACHE_X86_64 = 0x0303,
	RD_LDCACHE_X32 = 0x0803,
	RD_LDCACHE_AARCH64 = 0x0a03,
};

struct rd_ldcache_entry {
	const char *name;      /* "libamdhip64.so.6" */
	const char *path;      /* "/opt/rocm-6.4.1/lib/libamdhip64.so.6" */
	uint32_t flags;        /* RD_LDCACHE_... */
	const char *hwcap;     /* "x86-64-v3" of a glibc-hwcaps folder; NULL for none */
	uint64_t legacy_hwcap; /* mask of features before glibc 2.33; 0 for none */
};

struct rd_ldcache {
	struct rd_ldcache_entry *entries; /* in the order of the file, which is the order of preference among equal names */
	size_t n;
	size_t damaged;         /* entries left out */
	struct rd_strv *hwcaps; /* names of glibc-hwcaps folders in the cache */
	char *generator;        /* "ldconfig (Debian GLIBC ...)"; NULL where it does not say */
	char *bytes;            /* what name, path and hwcap point into */
};

/*
 * rd_ldcache_read - parse the cache of a root
 *
 * Returns 0; -ENOENT where there is none (a program finds only what RPATH, LD_LIBRARY_PATH and the default folders hold);
 * -EINVAL for a file that is no cache (the loader ignores it as well), with the reason in @err; other read errors.
 */
int rd_ldcache_read(struct rd_sysroot *sr, struct rd_ldcache **ret, struct rd_error *err) RD_MUST_CHECK;
/* The same over bytes, which are copied. */
int rd_ldcache_parse(const char *bytes, size_t len, struct rd_ldcache **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_ldcache *rd_ldcache_free(struct rd_ldcache *cache);

/*
 * rd_ldcache_lookup - the entry that ld.so takes for @name
 * @flags: RD_LDCACHE_X86_64 and so on
 * @hwcaps: names of glibc-hwcaps folders that the processor can use, best first; NULL for none
 *
 * Returns NULL where the cache does not know the name. That the file is still there is for the caller to see.
 */
const struct rd_ldcache_entry *rd_ldcache_lookup(const struct rd_ldcache *cache, const char *name, uint32_t flags,
                                                 const struct rd_strv *hwcaps);
