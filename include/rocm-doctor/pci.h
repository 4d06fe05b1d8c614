/* PCI functions as libpci lists them below a sysroot's /sys/bus/pci. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_sysroot;

struct rd_pci_function {
	char address[24]; /* DDDD:BB:DD.F, lower case; a domain may take 8 digits */
	uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_device_id;
	uint32_t class_code; /* 24 bits: class, subclass, programming interface */
	uint8_t revision;
};

/*
 * rd_pci_list - every function, sorted by address
 *
 * On the running system libpci names the functions; what is kept of a display or an accelerator is read through the sysroot,
 * so that it is recorded. In a tree libpci is left out: it would follow absolute links out of it. Where it gives up, the files
 * are read alone. Only displays and accelerators (classes 03 and 12) have all their ids; of others the class is sure.
 *
 * Returns the number (caller frees *ret), -ENOENT without /sys/bus/pci/devices, or another negative errno; also where it cannot
 * be told whether one function is a display, or whose: a GPU must not be missed.
 */
int rd_pci_list(struct rd_sysroot *sr, struct rd_pci_function **ret, struct rd_error *err) RD_MUST_CHECK;

/*
 * rd_pci_scan - what libpci itself lists, unsorted: address, vendor, device and class
 * @sysfs: the directory that holds "devices", outside any sysroot
 *
 * Only the sysfs back end is used; libpci's fall-back to /proc/bus/pci of the running system is shut off.
 *
 * Returns the number (caller frees *ret, which may be NULL for none), or -EIO where libpci gave up.
 */
int rd_pci_scan(const char *sysfs, struct rd_pci_function **ret) RD_MUST_CHECK;
