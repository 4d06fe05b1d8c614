/*
 * The only door to the host. A sysroot is the running system ("/"), a plain tree of one (--root), later an archive of one.
 * Paths are absolute inside the root; every symbolic link resolves inside it, ".." stops at it.
 *
 * Errors are negative errnos. -ENOENT: looked, not there. -ENODATA: the snapshot does not tell (the path was never asked for
 * when it was taken). -EFBIG: larger than the limit. -ELOOP: a loop of links. Others as the kernel or the manifest says.
 * What a tree cannot hold (uname, user, device nodes, ...) comes from its rocm-doctor-snapshot.json; what neither tells is
 * -ENODATA and never taken from the running system. So are, of a tree without manifest that has nothing in them, /sys, /proc
 * (the image of a disk), /etc, /usr and /var (a part of a host), all files of a tree that has none of a system's folders, and
 * /dev wherever neither "nodes" nor the tree has a device.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_strv;
struct rd_sysroot;
struct rd_recorder;
struct rd_file;

/* Most that rd_sysroot_read() reads of one file: 16 MiB. sysfs and procfs values are far smaller. */
#define RD_SYSROOT_READ_MAX ((size_t)16 << 20)

enum rd_stat_type { RD_STAT_FILE, RD_STAT_DIR, RD_STAT_CHAR, RD_STAT_BLOCK, RD_STAT_OTHER };

struct rd_stat {
	enum rd_stat_type type;
	unsigned mode; /* permission bits only, 07777 */
	uid_t uid;
	gid_t gid;
	unsigned major, minor; /* of a device node */
	uint64_t size_bytes;
	uint64_t dev, ino; /* identity of the file behind links */
};

struct rd_acl_entry {
	enum { RD_ACL_USER_OBJ, RD_ACL_USER, RD_ACL_GROUP_OBJ, RD_ACL_GROUP, RD_ACL_MASK, RD_ACL_OTHER } tag;
	uint32_t id;    /* of USER and GROUP */
	unsigned perms; /* 4 read, 2 write, 1 execute */
};

struct rd_uname {
	char *release, *version, *machine;
};

struct rd_user {
	char *name; /* NULL where no name belongs to the uid */
	uint32_t uid, gid;
	struct rd_user_group {
		uint32_t gid;
		char *name; /* NULL where no name belongs to the gid */
	} * groups;         /* effective: primary and supplementary */
	size_t groups_n;
};

/*
 * rd_sysroot_open - open the running system or a tree
 * @path: "/" is the running system; anything else a directory, with or without a rocm-doctor-snapshot.json at its top
 *
 * Returns 0; -ENOENT or -ENOTDIR for no such root; -EINVAL for a manifest that is not what the contract says, with file,
 * place and reason in @err.
 */
int rd_sysroot_open(const char *path, struct rd_sysroot **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_sysroot *rd_sysroot_free(struct rd_sysroot *sr);

/*
 * rd_sysroot_open_process - a running process (--pid): its mounts, environment, credentials and limits, on this kernel
 *
 * "/proc/self" is the process. What its own /sys and /proc do not have, ours tell; /dev is its own. Users and groups are
 * numbers as we see them. Returns 0, -ENOENT for no such process, -ESRCH for one that has ended and waits to be collected,
 * -EINVAL for a thread of the kernel, -EACCES where its root may not be read.
 */
int rd_sysroot_open_process(unsigned pid, struct rd_sysroot **ret, struct rd_error *err) RD_MUST_CHECK;
/* The process of such a sysroot, else 0. */
unsigned rd_sysroot_pid(const struct rd_sysroot *sr);
/*
 * rd_sysroot_inner_uid, _gid - the number that files of the root (/etc/passwd) have for a number as we see it
 *
 * They differ for a process in a user namespace. False: it has none in there. Any other root gives the number itself.
 */
bool rd_sysroot_inner_uid(const struct rd_sysroot *sr, uint32_t uid, uint32_t *ret);
bool rd_sysroot_inner_gid(const struct rd_sysroot *sr, uint32_t gid, uint32_t *ret);
bool rd_sysroot_has_inner_ids(const struct rd_sysroot *sr);
/*
 * rd_container_find - the main process of a container by its name or (the beginning of) its id
 *
 * By the cgroups of the running processes; names from the state of docker and podman where that can be read. Returns 0,
 * -ENOENT with the reason, or -EEXIST where several fit.
 */
int rd_container_find(const char *name, unsigned *ret_pid, struct rd_error *err) RD_MUST_CHECK;

/* True for the running system: only then may the kernel be asked beside files (uname, open of a node, statvfs). */
bool rd_sysroot_is_live(const struct rd_sysroot *sr);

/* The directory as given, for messages and for libraries that want a path of their own ("/" when live). */
const char *rd_sysroot_dir(const struct rd_sysroot *sr);

int rd_sysroot_exists(struct rd_sysroot *sr, const char *path); /* 1, 0, -errno */
int rd_sysroot_existsf(struct rd_sysroot *sr, const char *format, ...) RD_PRINTF(2, 3);

/*
 * rd_sysroot_read - a whole regular file as text
 * @ret: NUL-terminated copy, caller frees; NULs inside are kept (ret_len of _read_bytes tells)
 *
 * Refuses anything but a regular file (-EINVAL: a FIFO would block). At most RD_SYSROOT_READ_MAX, else -EFBIG.
 */
int rd_sysroot_read(struct rd_sysroot *sr, char **ret, const char *path) RD_MUST_CHECK;
int rd_sysroot_readf(struct rd_sysroot *sr, char **ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;
int rd_sysroot_read_bytes(struct rd_sysroot *sr, char **ret, size_t *ret_len, const char *path) RD_MUST_CHECK;

/* One number: decimal, or hexadecimal with 0x; white space around it. -EINVAL for anything else, -ERANGE past 64 bits. */
int rd_sysroot_read_u64(struct rd_sysroot *sr, uint64_t *ret, const char *path) RD_MUST_CHECK;
int rd_sysroot_readf_u64(struct rd_sysroot *sr, uint64_t *ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/*
 * rd_sysroot_read_line - the file without white space at its end (a sysfs attribute)
 */
int rd_sysroot_read_line(struct rd_sysroot *sr, char **ret, const char *path) RD_MUST_CHECK;
int rd_sysroot_readf_line(struct rd_sysroot *sr, char **ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/*
 * rd_sysroot_guarded_readf_line - as _readf_line, for attributes whose read can block on a hung or sleeping GPU
 *
 * On the running system the read happens in the one child process that check may start, with a deadline; when it passes,
 * this and every later guarded call gives -ETIMEDOUT. On a tree it is an ordinary read.
 */
int rd_sysroot_guarded_readf_line(struct rd_sysroot *sr, char **ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/* Names in a directory, without "." and "..", sorted by bytes. Appends nothing on error. */
int rd_sysroot_list(struct rd_sysroot *sr, struct rd_strv *ret, const char *dir) RD_MUST_CHECK;
int rd_sysroot_listf(struct rd_sysroot *sr, struct rd_strv *ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/*
 * rd_sysroot_glob - paths that match a pattern ("*" and "?" inside one component, in any component), sorted
 *
 * Returns 0, also with nothing found; else what the first folder gave that could not be looked into (never -ENOENT): what was
 * found elsewhere is in @ret all the same. Wildcards do not match a "." at the beginning of a name.
 */
int rd_sysroot_glob(struct rd_sysroot *sr, struct rd_strv *ret, const char *pattern) RD_MUST_CHECK;

/* The text of a symbolic link itself, unresolved. -EINVAL: it is no link. */
int rd_sysroot_readlink(struct rd_sysroot *sr, char **ret, const char *path) RD_MUST_CHECK;
int rd_sysroot_readlinkf(struct rd_sysroot *sr, char **ret, const char *format, ...) RD_PRINTF(3, 4) RD_MUST_CHECK;

/* The path with every link resolved, absolute inside the root. -ENOENT where a link leads nowhere. */
int rd_sysroot_realpath(struct rd_sysroot *sr, char **ret, const char *path) RD_MUST_CHECK;

/* What a path is, links followed; device nodes from the manifest where the tree has none. */
int rd_sysroot_stat(struct rd_sysroot *sr, struct rd_stat *ret, const char *path) RD_MUST_CHECK;

/*
 * rd_sysroot_acl - the POSIX access ACL of a path
 * Returns the number of entries (0: no ACL beside the mode) and the caller frees *ret, or -errno.
 */
int rd_sysroot_acl(struct rd_sysroot *sr, struct rd_acl_entry **ret, const char *path) RD_MUST_CHECK;

/*
 * rd_sysroot_open_node - what opening a device node for reading and writing gives
 * Returns 0 (it opens), or the negative errno that open gave, in the guarded child when live; -ENODATA: not recorded.
 */
int rd_sysroot_open_node(struct rd_sysroot *sr, const char *path) RD_MUST_CHECK;

/* Big binary files, a few bytes at a time. */
int rd_file_open(struct rd_sysroot *sr, struct rd_file **ret, const char *path) RD_MUST_CHECK;
int rd_file_pread(struct rd_file *f, void *buf, size_t len, uint64_t off) RD_MUST_CHECK; /* all of it, or -ENODATA at the end */
/*
 * rd_file_keep_head - from now on the first page is read at once and kept
 *
 * For binaries, whose headers and names are there. Not for files of the kernel: each read of those may reach the hardware.
 */
void rd_file_keep_head(struct rd_file *f);
uint64_t rd_file_size(const struct rd_file *f);
struct rd_file *rd_file_close(struct rd_file *f);

/* What no file of a tree tells. All -ENODATA where a tree's manifest does not say. */
int rd_sysroot_uname(struct rd_sysroot *sr, const struct rd_uname **ret) RD_MUST_CHECK;
int rd_sysroot_user(struct rd_sysroot *sr, const struct rd_user **ret) RD_MUST_CHECK;
int rd_sysroot_memlock(struct rd_sysroot *sr, int64_t *ret) RD_MUST_CHECK; /* bytes; INT64_MAX: no limit */
int rd_sysroot_kmsg(struct rd_sysroot *sr, char **ret) RD_MUST_CHECK;      /* lines as dmesg prints them */
int rd_sysroot_fs_free(struct rd_sysroot *sr, uint64_t *ret_free, uint64_t *ret_size,
                       const char *path) RD_MUST_CHECK; /* bytes */

/*
 * rd_sysroot_getenv - a variable of the examined process
 * Returns 1 and a borrowed *ret, 0 where it is not set (*ret is NULL), -ENODATA where the environment is not recorded.
 */
int rd_sysroot_getenv(struct rd_sysroot *sr, const char **ret, const char *name) RD_MUST_CHECK;
/* All variables as "NAME=value", sorted; -ENODATA as above. */
int rd_sysroot_environ(struct rd_sysroot *sr, struct rd_strv *ret) RD_MUST_CHECK;

/*
 * rd_sysroot_set_user - judge permissions for another user (--user NAME|UID), from /etc/passwd and /etc/group of the root
 * Returns 0, or -ENOENT with the reason in @err.
 */
int rd_sysroot_set_user(struct rd_sysroot *sr, const char *name, struct rd_error *err) RD_MUST_CHECK;

/*
 * Overlay, for planning: a file as a step would leave it, seen by every read of text, stat and listing until the overlay is
 * cleared. Nothing is written.
 * @text: NULL: the file is gone
 */
void rd_sysroot_overlay(struct rd_sysroot *sr, const char *path, const char *text);
void rd_sysroot_overlay_clear(struct rd_sysroot *sr);

/*
 * Recording: every path asked for, and the answer. A recorder outlives the sysroot's use of it; NULL stops recording.
 * @what: 'r' read, 'l' listing, 'k' link, 's' stat, 'x' existence, 'o' open of a node, 'b' binary file
 * @result: 0 or more, or the negative errno
 */
struct rd_recorder {
	void (*access)(struct rd_recorder *self, char what, const char *path, int result);
};
void rd_sysroot_record(struct rd_sysroot *sr, struct rd_recorder *rec);

/*
 * rd_sysroot_remember - one examination is one picture of a tree: what was found on the way is not asked for again
 * @on: false: all of it is forgotten, so that what was changed since is seen
 */
void rd_sysroot_remember(struct rd_sysroot *sr, bool on);
/*
 * rd_sysroot_kept_elf - an ELF file that was read before, be it by another path
 * @st: what rd_sysroot_stat() says of @path
 *
 * NULL where it was not read, or may not be by this path.
 *
 * rd_sysroot_keep_elf - keep one for those that want it later, as long as the sysroot remembers
 *
 * Each of them shares it: it is not changed any more, and its reader is closed.
 */
struct rd_elf *rd_sysroot_kept_elf(struct rd_sysroot *sr, const struct rd_stat *st, const char *path);
void rd_sysroot_keep_elf(struct rd_sysroot *sr, const struct rd_stat *st, struct rd_elf *elf);

/* Bytes that went through this sysroot so far, for the benchmark and -v. */
uint64_t rd_sysroot_bytes_read(const struct rd_sysroot *sr);
