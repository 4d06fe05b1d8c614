/* udev: its database (live through libudev, below a tree from /run/udev/data) and what its rules say of a node. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct rd_strv;
struct rd_sysroot;

/*
 * rd_udev_tags - tags and properties of a character device
 * @ret_tags: names ("uaccess"), may be NULL
 * @ret_properties: "KEY=value", may be NULL
 * Returns 0; -ENOENT where udev knows nothing of it.
 */
int rd_udev_tags(struct rd_sysroot *sr, unsigned major, unsigned minor, struct rd_strv *ret_tags,
                 struct rd_strv *ret_properties) RD_MUST_CHECK;

struct rd_udev_rules;

/* What the rules give a device node. Strings belong to the rules; NULL: no rule says so. */
struct rd_udev_node {
	const char *group, *group_source; /* name or number; "FILE:LINE" */
	unsigned mode;                    /* 0: no rule sets it */
	const char *mode_source;
	bool undecided; /* a rule that sets one of them has a condition which the files do not decide */
};

/*
 * rd_udev_rules_read - the rules files in the order in which udevd takes them, masks and precedence of the folders kept
 * Returns 0, also without any; a file that cannot be read is left out and makes every answer undecided.
 */
int rd_udev_rules_read(struct rd_sysroot *sr, struct rd_udev_rules **ret) RD_MUST_CHECK;
struct rd_udev_rules *rd_udev_rules_free(struct rd_udev_rules *rules);

/* @kernel: the kernel's name of the device, "kfd" or "renderD128"; @subsystem: "kfd" or "drm" */
void rd_udev_rules_node(const struct rd_udev_rules *rules, const char *subsystem, const char *kernel, struct rd_udev_node *ret);
