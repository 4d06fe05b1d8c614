#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "acl.h"
#include "util/xalloc.h"

static int tag_of(unsigned value)
{
	static const struct {
		unsigned value;
		int tag;
	} tags[] = {
		{ 0x01, RD_ACL_USER_OBJ }, { 0x02, RD_ACL_USER }, { 0x04, RD_ACL_GROUP_OBJ },
		{ 0x08, RD_ACL_GROUP },    { 0x10, RD_ACL_MASK }, { 0x20, RD_ACL_OTHER },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(tags); i++)
		if (tags[i].value == value)
			return tags[i].tag;
	return -1;
}

/* A version (2, four bytes), then entries of tag, permissions (two bytes each) and id (four), all little endian. */
int rd_acl_parse(const unsigned char *data, size_t len, struct rd_acl_entry **ret)
{
	struct rd_acl_entry *acl;
	size_t n;

	if (len < 4 || len > RD_ACL_BYTES_MAX || (len - 4) % 8 != 0 || data[0] != 2 || data[1] || data[2] || data[3])
		return -EINVAL;
	n = (len - 4) / 8;
	acl = rd_xcalloc(n + 1, sizeof(*acl));
	for (size_t i = 0; i < n; i++) {
		const unsigned char *e = data + 4 + 8 * i;
		int tag = tag_of(e[0] | (unsigned)e[1] << 8);

		if (tag < 0) {
			free(acl);
			return -EINVAL;
		}
		acl[i].tag = tag;
		acl[i].perms = e[2] & 7;
		acl[i].id = e[4] | (uint32_t)e[5] << 8 | (uint32_t)e[6] << 16 | (uint32_t)e[7] << 24;
	}
	*ret = acl;
	return (int)n;
}
