/* udev's database of one device node: live through libudev, below a tree from /run/udev/data. */
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
