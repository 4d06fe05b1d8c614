/* udev's database: libudev answers for the running system, the files below /run/udev/data for a tree. */

#include <errno.h>
#include <libudev.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/udev.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

static struct udev_device *drop_device(struct udev_device *device)
{
	return udev_device_unref(device);
}

static struct udev *drop_udev(struct udev *udev)
{
	return udev_unref(udev);
}

RD_DEFINE_CLEANUP(device, struct udev_device, drop_device)
RD_DEFINE_CLEANUP(udev, struct udev, drop_udev)

static int ask_libudev(unsigned major, unsigned minor, struct rd_strv *ret_tags, struct rd_strv *ret_properties)
{
	rd_auto(rd_cleanup_udev) struct udev *udev = udev_new();
	rd_auto(rd_cleanup_device) struct udev_device *device = NULL;
	struct udev_list_entry *entry;

	if (!udev)
		return -ENOMEM;
	device = udev_device_new_from_devnum(udev, 'c', makedev(major, minor));
	if (!device)
		return errno ? -errno : -ENOENT;
	/* Without udevd there is a device in sysfs and nothing about it in the database. */
	if (udev_device_get_is_initialized(device) == 0)
		return -ENOENT;
	udev_list_entry_foreach(entry, udev_device_get_tags_list_entry(device))
	{
		if (ret_tags)
			rd_strv_push(ret_tags, udev_list_entry_get_name(entry));
	}
	udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(device))
	{
		const char *value = udev_list_entry_get_value(entry);

		if (ret_properties)
			rd_strv_pushf(ret_properties, "%s=%s", udev_list_entry_get_name(entry), value ? value : "");
	}
	return 0;
}

/* One letter and a colon begin each line: "G:" a tag, "E:" a property; "Q:" tags that are in force now is a subset of "G:". */
static int read_database(struct rd_sysroot *sr, unsigned major, unsigned minor, struct rd_strv *ret_tags,
                         struct rd_strv *ret_properties)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_readf(sr, &text, "/run/udev/data/c%u:%u", major, minor);
	if (r < 0)
		return r;
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		if (ret_tags && rd_str_has_prefix(line, "G:"))
			rd_strv_push_unique(ret_tags, line + 2);
		if (ret_properties && rd_str_has_prefix(line, "E:"))
			rd_strv_push(ret_properties, line + 2);
	}
	return 0;
}

int rd_udev_tags(struct rd_sysroot *sr, unsigned major, unsigned minor, struct rd_strv *ret_tags,
                 struct rd_strv *ret_properties)
{
	int r;

	if (rd_sysroot_is_live(sr))
		r = ask_libudev(major, minor, ret_tags, ret_properties);
	else
		r = read_database(sr, major, minor, ret_tags, ret_properties);
	if (ret_tags)
		rd_strv_sort(ret_tags);
	if (ret_properties)
		rd_strv_sort(ret_properties);
	return r;
}
