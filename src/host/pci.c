/* PCI functions: libpci names them, the sysroot reads what is kept, so that a tree is never left and a recording is whole. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pci/pci.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/pci.h"
#include "rocm-doctor/sysroot.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

static const char devices[] = "/sys/bus/pci/devices";

/*
 * libpci calls its error hook when it gives up and ends the process when the hook returns, so the hook must jump. It has no
 * argument of ours: the place to jump to is global, and rd_pci_scan() is not reentrant.
 */
static jmp_buf give_up;

static RD_PRINTF(1, 2) __attribute__((noreturn)) void on_error(char *format, ...)
{
	va_list ap;
	char text[256];

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	rd_log_debug("libpci: %s", text);
	longjmp(give_up, 1);
}

static RD_PRINTF(1, 2) void on_message(char *format, ...)
{
	(void)format;
}

/* Static, since a jump leaves locals undefined. */
static struct {
	struct rd_pci_function *list;
	size_t n, allocated;
} found;

static void scan(struct pci_access *access)
{
	pci_init(access);
	pci_scan_bus(access);
	for (struct pci_dev *dev = access->devices; dev; dev = dev->next) {
		struct rd_pci_function *f;

		pci_fill_info(dev, PCI_FILL_IDENT | PCI_FILL_CLASS);
		RD_GROW(found.list, found.n, found.allocated);
		f = &found.list[found.n++];
		*f = (struct rd_pci_function){ .vendor_id = dev->vendor_id, .device_id = dev->device_id };
		f->class_code = (uint32_t)dev->device_class << 8;
		snprintf(f->address, sizeof(f->address), "%04x:%02x:%02x.%u", (unsigned)dev->domain, dev->bus, dev->dev,
		         dev->func);
	}
}

int rd_pci_scan(const char *sysfs, struct rd_pci_function **ret)
{
	struct pci_access *const access = pci_alloc();
	bool whole;

	memset(&found, 0, sizeof(found));
	access->method = PCI_ACCESS_SYS_BUS_PCI;
	access->error = on_error;
	access->warning = on_message;
	access->debug = on_message;
	pci_set_param(access, "sysfs.path", (char *)sysfs);
	whole = setjmp(give_up) == 0;
	if (whole)
		scan(access);
	pci_cleanup(access);
	if (!whole) {
		free(found.list);
		return -EIO;
	}
	*ret = found.list;
	return (int)found.n;
}

static bool is_address(const char *name)
{
	unsigned domain, bus, dev, func;
	int end = 0;

	if (strlen(name) >= sizeof(((struct rd_pci_function *)0)->address))
		return false;
	return sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &dev, &func, &end) == 4 && !name[end];
}

/*
 * Leaves *ret alone where the attribute cannot be read. Returns why nobody knows what it holds; 0 where it was read, is not
 * there, holds nonsense, or libpci has said it.
 */
static int read_id(struct rd_sysroot *sr, const char *address, const char *attribute, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	int r = rd_sysroot_readf_u64(sr, &value, "%s/%s/%s", devices, address, attribute);

	if (r == 0 && value <= max)
		*ret = value;
	return r == -ENOENT || r == -EINVAL || r == -ERANGE || *ret ? 0 : r;
}

static const struct rd_pci_function *find(const struct rd_pci_function *list, int n, const char *address)
{
	for (int i = 0; i < n; i++) {
		if (rd_streq(list[i].address, address))
			return &list[i];
	}
	return NULL;
}

/* @f holds what libpci said, which stands where a file cannot be read. Returns why it is not known what this is; 0: it is. */
static int function_read(struct rd_sysroot *sr, const char *address, struct rd_pci_function *f)
{
	uint64_t class_code = f->class_code, vendor = f->vendor_id, device = f->device_id;
	uint64_t revision = 0, subsystem_vendor = 0, subsystem_device = 0;
	int r;

	snprintf(f->address, sizeof(f->address), "%s", address);
	r = read_id(sr, address, "class", 0xffffff, &class_code);
	f->class_code = (uint32_t)class_code;
	if (r < 0 || (class_code >> 16 != 0x03 && class_code >> 16 != 0x12))
		return r;
	r = read_id(sr, address, "vendor", 0xffff, &vendor);
	if (r == 0)
		r = read_id(sr, address, "device", 0xffff, &device);
	(void)read_id(sr, address, "revision", 0xff, &revision);
	(void)read_id(sr, address, "subsystem_vendor", 0xffff, &subsystem_vendor);
	(void)read_id(sr, address, "subsystem_device", 0xffff, &subsystem_device);
	f->vendor_id = (uint16_t)vendor;
	f->device_id = (uint16_t)device;
	f->revision = (uint8_t)revision;
	f->subsystem_vendor_id = (uint16_t)subsystem_vendor;
	f->subsystem_device_id = (uint16_t)subsystem_device;
	return r;
}

/* An entry that is no folder, or a link that leads nowhere: a copy that lost its links says nothing of what is in the host. */
static bool is_lost(struct rd_sysroot *sr, const char *address)
{
	rd_auto_free char *path = rd_xasprintf("%s/%s", devices, address);
	struct rd_stat st;

	return rd_sysroot_stat(sr, &st, path) < 0 || st.type != RD_STAT_DIR;
}

static bool is_amd_gpu(const struct rd_pci_function *f)
{
	return f->vendor_id == 0x1002 && (f->class_code >> 16 == 0x03 || f->class_code >> 16 == 0x12);
}

int rd_pci_list(struct rd_sysroot *sr, struct rd_pci_function **ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	struct rd_pci_function *known = NULL, *list;
	bool lost = false, any_gpu = false;
	int known_n = 0, n = 0;
	int r;

	r = rd_sysroot_list(sr, &names, devices);
	if (r < 0)
		return rd_error_set(err, r, "cannot list '%s': %s", devices, rd_strerror(r));

	/* A tree's links may be absolute and lead libpci out of it. */
	if (rd_sysroot_is_live(sr))
		known_n = rd_pci_scan("/sys/bus/pci", &known);

	list = rd_xcalloc(names.n + 1, sizeof(*list));
	for (size_t i = 0; i < names.n; i++) {
		const struct rd_pci_function *k = find(known, known_n, names.v[i]);

		if (!is_address(names.v[i]))
			continue;
		if (k)
			list[n] = *k;
		r = function_read(sr, names.v[i], &list[n++]);
		if (r < 0)
			break;
		any_gpu = any_gpu || is_amd_gpu(&list[n - 1]);
		lost = lost || (!list[n - 1].class_code && is_lost(sr, names.v[i]));
	}
	free(known);
	if (r == 0 && lost && !any_gpu)
		r = -EBADMSG;
	if (r < 0) {
		free(list);
		return rd_error_set(err, r, "cannot tell what is in '%s': %s", devices, rd_strerror(r));
	}
	*ret = list;
	return n;
}
