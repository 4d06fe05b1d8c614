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
 * Only the sysfs back end is used, at the sysroot's own directory; libpci's fall-back to /proc/bus/pci of the running
 * system is shut off. Where libpci gives up on a broken tree (its error callback), what it had not read is left out and the
 * files are read one by one instead.
 *
 * Returns the number (caller frees *ret), -ENOENT without /sys/bus/pci/devices, or another negative errno.
 */
int rd_pci_list(struct rd_sysroot *sr, struct rd_pci_function **ret, struct rd_error *err) RD_MUST_CHECK;
