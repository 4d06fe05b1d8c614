/* rocm-doctor-snapshot.json: what a tree cannot hold. The format stands in the contract of the program (docs). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/sysroot.h"
#include "util/strv.h"

struct rd_error;

#define RD_MANIFEST_NAME "rocm-doctor-snapshot.json"
#define RD_MANIFEST_SCHEMA "rocm-doctor/snapshot/1"
#define RD_MANIFEST_BYTES_MAX ((size_t)64 << 20)
/* A value takes some 64 bytes once parsed; so many of them are more than any host gives. */
#define RD_MANIFEST_VALUES_MAX 2000000u
#define RD_MANIFEST_DEPTH_MAX 16u

struct rd_manifest_node {
	char *path;
	struct rd_stat stat;
	int open; /* 0, -errno, -ENODATA where it is not said */
	struct rd_acl_entry *acl;
	size_t acl_n;
};

struct rd_manifest_error {
	char *path;
	int error; /* negative errno */
	size_t order;
};

struct rd_manifest {
	bool has_missing, has_nodes, has_environment, has_user, has_memlock, has_uname;
	struct rd_strv missing; /* sorted, as are the other paths */
	struct rd_manifest_node *nodes;
	size_t nodes_n;
	struct rd_manifest_error *unreadable;
	size_t unreadable_n, unreadable_allocated;
	struct rd_strv environment; /* "NAME=value", sorted */
	char *kmsg;                 /* NULL where not recorded */
	int64_t memlock;
	struct rd_uname uname;
	struct rd_user user;
};

/*
 * rd_manifest_parse - judge and take over the text of a manifest
 * @name: of the file, for messages
 *
 * Returns 0 or -EINVAL, with file, JSON pointer and reason in @err.
 */
int rd_manifest_parse(const char *text, size_t len, const char *name, struct rd_manifest **ret,
                      struct rd_error *err) RD_MUST_CHECK;
struct rd_manifest *rd_manifest_free(struct rd_manifest *m);

/* All take NULL for "no manifest". Paths are normalised. */
const struct rd_manifest_node *rd_manifest_node(const struct rd_manifest *m, const char *path);
bool rd_manifest_has_nodes_in(const struct rd_manifest *m, const char *dir);
/* Names of nodes directly in @dir, or of folders on the way to one. Appends each once. */
void rd_manifest_node_names(const struct rd_manifest *m, const char *dir, struct rd_strv *ret);
/* Adds a path that is not there yet; lookups want rd_manifest_sort afterwards. */
void rd_manifest_add_unreadable(struct rd_manifest *m, const char *path, int error);
void rd_manifest_sort(struct rd_manifest *m);
/* The negative errno of the path or of the nearest folder above it; 0 where there is none. */
int rd_manifest_unreadable(const struct rd_manifest *m, const char *path, bool above);
/* The path, or a folder above it, was looked for and is not there. */
bool rd_manifest_is_missing(const struct rd_manifest *m, const char *path);

void rd_user_clear(struct rd_user *user);
