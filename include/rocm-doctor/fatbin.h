/*
 * Device code: which targets the code in a file is for. Libraries and programs with bundles inside (plain, compressed, several
 * in a row, split out into kpack archives), objects before they are linked, bundles and code objects on their own, kpack archives,
 * static libraries.
 *
 * Reads headers and entry tables, never code: kilobytes of a file of gigabytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/target.h"

struct rd_error;
struct rd_reader;
struct rd_strv;
struct rd_sysroot;

/* What was found in a file; several may hold. */
enum {
	RD_FATBIN_PLAIN = 1u << 0,       /* offload bundles */
	RD_FATBIN_COMPRESSED = 1u << 1,  /* CCOB */
	RD_FATBIN_CODE_OBJECT = 1u << 2, /* bare AMDGPU ELF */
	RD_FATBIN_KPACK_REF = 1u << 3,   /* the code is in kpack archives beside the file */
	RD_FATBIN_KPACK = 1u << 4,       /* the file is such an archive */
	RD_FATBIN_ARCHIVE = 1u << 5,     /* static library */
	RD_FATBIN_HOST_ELF = 1u << 6,
	RD_FATBIN_OFFLOAD = 1u << 7, /* images that clang's linker wrapper has not made bundles of */
};

struct rd_fatbin_target {
	struct rd_target_id id;
	char text[RD_TARGET_TEXT_MAX];
	bool legacy;    /* under an id that today's runtime does not find */
	size_t bundles; /* how many of those that were read hold it */
};

/* Bundles that hold the same targets. */
struct rd_fatbin_set {
	size_t *targets; /* indexes, ascending */
	size_t n;
	size_t bundles;
};

struct rd_kpack_archive {
	char *path;
	char *named;             /* what stands for the target in its name; NULL where it is named as it is */
	struct rd_strv *targets; /* the archive's own list */
	struct rd_strv *keys;    /* "BINARY#N TARGET" of each code object, sorted */
	char *error;             /* why it could not be read; NULL */
};

struct rd_fatbin {
	unsigned kinds;
	struct rd_fatbin_target *targets; /* sorted */
	size_t targets_n;
	struct rd_fatbin_set *sets;
	size_t sets_n;
	size_t bundles;        /* found */
	size_t bundles_read;   /* of these, whose table was read: fewer only where the limit for compressed ones was reached */
	size_t wrappers;       /* what the host program registers; 0 where there is no such section */
	bool has_code_unknown; /* device code is there whose target could not be told */
	struct rd_strv *unknown_ids;
	struct rd_strv *problems; /* damage, in words: "bundle at 0x3000: ..." */

	/* kpack */
	char *kernel_name;
	struct rd_strv *kpack_patterns;    /* as in the file */
	struct rd_kpack_archive *archives; /* those that the patterns or the variables lead to */
	size_t archives_n;
	bool kpack_disabled;                 /* ROCM_KPACK_DISABLE: no archive is opened */
	bool kpack_replaced;                 /* ROCM_KPACK_PATH: its archives are opened in place of those of the patterns */
	struct rd_strv *incomplete_overlays; /* archives for one feature mode that hold only a part of what the plain one has */
	struct rd_strv *overlay_targets;     /* what each of them is for */
	/* Members, for sorting; not for others. */
	size_t targets_allocated, sets_allocated, archives_allocated;
};

/* Limits on what a hostile file can make of this. */
enum {
	RD_FATBIN_ENTRIES_MAX = 4096,
	RD_FATBIN_ID_MAX = 512,
	RD_FATBIN_TARGETS_MAX = 4096,
	RD_FATBIN_SETS_MAX = 1024,
	RD_FATBIN_PROBLEMS_MAX = 32,
	RD_FATBIN_BUNDLES_MAX = 1 << 20,
	RD_KPACK_TOC_MAX = 16 << 20,
};

/*
 * rd_fatbin_read - the device code of a file, and of the kpack archives that it and the process's ROCM_KPACK_* lead to
 * @compressed_budget: bytes of compressed input to unpack at most, 0: all bundles. Where it does not reach for all, bundles
 *   spread evenly over the file are taken
 *
 * Returns 0, also for a file without device code; -ENOEXEC for one that is no ELF file, bundle or archive; another error
 * where it could not be read. Damage inside is told in problems.
 */
int rd_fatbin_read(struct rd_sysroot *sr, const char *path, uint64_t compressed_budget, struct rd_fatbin **ret,
                   struct rd_error *err) RD_MUST_CHECK;
/* The same of bytes alone; kpack archives that they refer to are not looked for. */
int rd_fatbin_scan(const struct rd_reader *reader, uint64_t compressed_budget, struct rd_fatbin **ret,
                   struct rd_error *err) RD_MUST_CHECK;
struct rd_fatbin *rd_fatbin_free(struct rd_fatbin *fatbin);

/* Is there device code at all, wherever it lies? */
bool rd_fatbin_has_code(const struct rd_fatbin *fatbin);

struct rd_coverage {
	enum rd_runs runs;      /* the best that any bundle gives */
	enum rd_runs least;     /* the worst: NO beside a better @runs is a build that lacks the target in places */
	size_t bundles_without; /* bundles that hold nothing for the agent */
};

/*
 * rd_fatbin_covers - can an agent run the code?
 *
 * Code whose target could not be told makes a NO into UNKNOWN.
 */
struct rd_coverage rd_fatbin_covers(const struct rd_fatbin *fatbin, const struct rd_agent *agent);

static inline void rd_cleanup_fatbin(struct rd_fatbin **fatbin)
{
	*fatbin = rd_fatbin_free(*fatbin);
}
