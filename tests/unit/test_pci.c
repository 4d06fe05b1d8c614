#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/pci.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/xalloc.h"

#include "tree.h"

static void add(const struct tree *tree, const char *address, const char *vendor, const char *device, const char *class_code)
{
	const struct {
		const char *name, *text;
	} files[] = { { "vendor", vendor },
		      { "device", device },
		      { "class", class_code },
		      { "revision", "0x02" },
		      { "subsystem_vendor", "0x1da2" },
		      { "subsystem_device", "0x471e" } };

	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++) {
		rd_auto_free char *path = rd_xasprintf("sys/bus/pci/devices/%s/%s", address, files[i].name);

		tree_file(tree, path, files[i].text);
	}
}

static int list(const struct tree *tree, struct rd_pci_function **ret)
{
	struct rd_sysroot *sr;
	int n;

	assert_int_equal(rd_sysroot_open(tree->dir, &sr, NULL), 0);
	n = rd_pci_list(sr, ret, NULL);
	rd_sysroot_free(sr);
	return n;
}

static int scan(const struct tree *tree, struct rd_pci_function **ret)
{
	rd_auto_free char *sysfs = rd_xasprintf("%s/sys/bus/pci", tree->dir);

	return rd_pci_scan(sysfs, ret);
}

static void lists_functions_by_address_with_all_ids_of_displays(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	add(&tree, "0000:83:00.0", "0x1002\n", "0x74a1\n", "0x120000\n");
	add(&tree, "0000:03:00.0", "0x1002\n", "0x744c\n", "0x030000\n");
	add(&tree, "10000:e1:00.0", "0x144d\n", "0xa80a\n", "0x010802\n");

	assert_int_equal(list(&tree, &f), 3);
	assert_string_equal(f[0].address, "0000:03:00.0");
	assert_int_equal(f[0].device_id, 0x744c);
	assert_int_equal(f[0].class_code, 0x030000);
	assert_int_equal(f[0].revision, 2);
	assert_int_equal(f[0].subsystem_vendor_id, 0x1da2);
	assert_string_equal(f[1].address, "0000:83:00.0");
	assert_int_equal(f[1].class_code, 0x120000);
	assert_string_equal(f[2].address, "10000:e1:00.0");
	free(f);
	tree_remove(&tree);
}

static void says_enoent_without_a_bus(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_file(&tree, "sys/class/", "");
	assert_int_equal(list(&tree, &f), -ENOENT);
	tree_remove(&tree);
}

/* A copy that lost its links has them as files, or leading nowhere: that is no host without a GPU. */
static void a_copy_that_lost_its_links_is_not_known(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	add(&tree, "0000:00:1f.0", "0x8086\n", "0x7a06\n", "0x060100\n");
	tree_file(&tree, "sys/bus/pci/devices/0000:03:00.0", "../../../devices/pci0000:00/0000:03:00.0");
	assert_int_equal(list(&tree, &f), -EBADMSG);

	/* What is found stands. */
	add(&tree, "0000:83:00.0", "0x1002\n", "0x74a1\n", "0x120000\n");
	assert_int_equal(list(&tree, &f), 3);
	free(f);
	tree_remove(&tree);
}

static void leaves_out_what_is_no_address_and_survives_nonsense(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	add(&tree, "not-an-address", "0x1002", "0x744c", "0x030000");
	add(&tree, "0000:03:00.0", "0x1002ffffffffff", "junk", "0x030000");
	add(&tree, "0000:05:00.0", "0x1002", "0x744c", "0xfffffffff");

	assert_int_equal(list(&tree, &f), 2);
	assert_int_equal(f[0].vendor_id, 0);
	assert_int_equal(f[1].class_code, 0);
	free(f);
	tree_remove(&tree);
}

static void does_not_follow_an_absolute_link_out_of_a_tree(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree, outside;
	rd_auto_free char *target = NULL;

	(void)state;
	tree_make(&tree);
	tree_make(&outside);
	add(&outside, "0000:03:00.0", "0x1002", "0x744c", "0x030000");
	target = rd_xasprintf("%s/sys/bus/pci/devices/0000:03:00.0", outside.dir);
	tree_link(&tree, "sys/bus/pci/devices/0000:03:00.0", target);

	/* Inside the tree it leads nowhere, so nobody knows what is there. */
	assert_int_equal(list(&tree, &f), -EBADMSG);
	tree_remove(&tree);
	tree_remove(&outside);
}

static void libpci_reads_a_sysfs_elsewhere(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	add(&tree, "0000:83:00.0", "0x1002\n", "0x74a1\n", "0x120000\n");
	assert_int_equal(scan(&tree, &f), 1);
	assert_string_equal(f[0].address, "0000:83:00.0");
	assert_int_equal(f[0].vendor_id, 0x1002);
	assert_int_equal(f[0].device_id, 0x74a1);
	assert_int_equal(f[0].class_code, 0x120000);
	free(f);
	tree_remove(&tree);
}

/* Each of these makes libpci call its error hook, behind which it would end the process. */
static void outlives_libpci_giving_up(void **state)
{
	struct rd_pci_function *f = NULL;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	assert_int_equal(scan(&tree, &f), -EIO);
	add(&tree, "0000:83:00.0", "0x1002\n", "0x74a1\n", "0x120000\n");
	assert_int_equal(scan(&tree, &f), 1);
	free(f);
	tree_file(&tree, "sys/bus/pci/devices/0000:83:00.0/device", "");
	add(&tree, "0000:84:00.0", "junk", "junk", "junk");
	f = NULL;
	scan(&tree, &f) >= 0 ? free(f) : (void)0;
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_functions_by_address_with_all_ids_of_displays),
		cmocka_unit_test(says_enoent_without_a_bus),
		cmocka_unit_test(a_copy_that_lost_its_links_is_not_known),
		cmocka_unit_test(leaves_out_what_is_no_address_and_survives_nonsense),
		cmocka_unit_test(does_not_follow_an_absolute_link_out_of_a_tree),
		cmocka_unit_test(libpci_reads_a_sysfs_elsewhere),
		cmocka_unit_test(outlives_libpci_giving_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
