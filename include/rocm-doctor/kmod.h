/* libkmod's view of configuration, dependencies and modinfo of one kernel release, below a sysroot. Never of loaded state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_kmod;
struct rd_strv;
struct rd_sysroot;

/* @release: of the kernel whose /lib/modules/RELEASE is meant */
int rd_kmod_open(struct rd_sysroot *sr, const char *release, struct rd_kmod **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_kmod *rd_kmod_close(struct rd_kmod *k);

/*
 * rd_kmod_module_path - the file that modprobe would load for a module, absolute inside the root
 * Returns 0; -ENOENT where modules.dep of this release has none; caller frees.
 */
int rd_kmod_module_path(struct rd_kmod *k, const char *name, char **ret) RD_MUST_CHECK;
/* Paths of the modules that modules.dep wants loaded before it, absolute inside the root. */
int rd_kmod_dependencies(struct rd_kmod *k, const char *name, struct rd_strv *ret) RD_MUST_CHECK;
/* "field=value" lines of .modinfo of the file that would be loaded, signature fields included (sig_id, signer, sig_key). */
int rd_kmod_modinfo(struct rd_kmod *k, const char *name, struct rd_strv *ret) RD_MUST_CHECK;
/* True where modules.builtin lists it. */
bool rd_kmod_is_builtin(struct rd_kmod *k, const char *name);
/* True where modules.alias has an alias for a PCI function "pci:v00001002d...". */
bool rd_kmod_has_alias(struct rd_kmod *k, const char *modalias, const char *module);
