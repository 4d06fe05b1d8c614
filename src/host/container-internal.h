/* What the engines of containers keep about those that run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

#define RD_CONTAINER_ID_LENGTH 64

/* A container that fits what was asked for, as one engine's files tell of it. */
struct rd_container_hint {
	const char *engine;
	char *id;
	bool exact;     /* the name or the whole id; else only the beginning of the id */
	unsigned pid;   /* of its first process; 0: the files do not tell */
	uint64_t start; /* when that began, in ticks as in /proc/PID/stat; 0: they do not tell */
};

struct rd_container_hints {
	struct rd_container_hint *v;
	size_t n, allocated;
};

/*
 * rd_container_read_state - the containers that fit a name or (the beginning of) an id
 * @root: "" for the running system; a folder before all paths in tests
 */
void rd_container_read_state(const char *root, const char *name, struct rd_container_hints *ret);
void rd_container_hints_release(struct rd_container_hints *hints);
