/* POSIX access ACLs in the form of the kernel's extended attribute. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/sysroot.h"

/* A version and a thousand entries; what has more is refused. */
#define RD_ACL_BYTES_MAX (4 + 8 * 1024)

/* Returns the number of entries or -EINVAL; the caller frees *ret. */
int rd_acl_parse(const unsigned char *data, size_t len, struct rd_acl_entry **ret) RD_MUST_CHECK;
