/*
 * What a running process has: the files that are mapped in it, its control groups. For a sysroot of rd_sysroot_open_process()
 * alone; any other gives -ENODATA.
 *
 * Source: proc(5); linux fs/proc/task_mmu.c (show_map_vma), fs/seq_file.c (seq_path: a newline in a name shows as \012).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_sysroot;

/* A file of which at least a part is mapped. */
struct rd_mapped {
	char *path;   /* in the process's own root; as the kernel says it where @outside */
	char *itself; /* path in the sysroot that reads the mapped file, whatever stands at @path now; for root alone */
	bool outside; /* it is not below the process's root: mapped before chroot(2), or from another mount */
	bool marked;  /* the kernel says " (deleted)" */
	int replaced; /* 1: the file at @path is another, or none; 0: it is the very same; negative errno: not known */
	uint64_t ino; /* as /proc/PID/maps has it */
	unsigned major, minor;
};

struct rd_mappings {
	struct rd_mapped *v;
	size_t n, allocated;
};

/*
 * rd_mappings_parse - the files of the text of /proc/PID/maps, each once, in order of their addresses
 * @root: the process's root as the reader sees it, "/" for the reader's own
 *
 * @path, @itself, @outside, @marked, @ino and the device are set. Lines that are none are passed over. Changes @text.
 */
void rd_mappings_parse(char *text, const char *root, struct rd_mappings *ret);
void rd_mappings_release(struct rd_mappings *m);

/*
 * rd_process_mapped - all files that the process has mapped, and whether they are still those on the disk
 *
 * Returns 0; -ESRCH where the process has ended; -EACCES where only its owner or root may look; -EFBIG.
 */
int rd_process_mapped(struct rd_sysroot *sr, struct rd_mappings *ret) RD_MUST_CHECK;

/*
 * rd_process_exe - its program, as a path in its own root
 * @ret_outside: the program is not below the process's root; may be NULL
 */
int rd_process_exe(struct rd_sysroot *sr, char **ret, bool *ret_outside) RD_MUST_CHECK;

/* 1: the kernel started it with more rights than its user has, so its loader ignores LD_LIBRARY_PATH; 0; -errno. */
int rd_process_is_secure(struct rd_sysroot *sr) RD_MUST_CHECK;

/* True where its process and mount namespaces are others than ours: a container or a sandbox. */
bool rd_process_is_contained(const struct rd_sysroot *sr);

/*
 * rd_process_memory_limit - the least that its control groups allow, in bytes; INT64_MAX: no limit
 * Returns 0, or -ENODATA where no control group of memory can be read.
 */
int rd_process_memory_limit(const struct rd_sysroot *sr, int64_t *ret) RD_MUST_CHECK;

/* Its control group: that of version 2, else of the devices controller. Caller frees. */
int rd_process_cgroup(const struct rd_sysroot *sr, char **ret) RD_MUST_CHECK;

/*
 * rd_process_device_allowed - does its device cgroup let it open a character device for reading and writing?
 * Returns 1, 0, or -ENODATA: version 2 keeps that in a program of the kernel, which no file shows.
 */
int rd_process_device_allowed(const struct rd_sysroot *sr, unsigned major, unsigned minor) RD_MUST_CHECK;
