/*
 * What modprobe knows of one kernel release: dependencies, aliases, built-in modules and modinfo, below a sysroot. Never of
 * loaded state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_kmod;
struct rd_strv;
struct rd_sysroot;

/*
 * rd_kmod_open - the modules of one kernel
 * @release: of the kernel whose /lib/modules/RELEASE is meant
 *
 * Returns 0; -ENOENT where there is no such folder.
 */
int rd_kmod_open(struct rd_sysroot *sr, const char *release, struct rd_kmod **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_kmod *rd_kmod_close(struct rd_kmod *k);

/* /lib/modules/RELEASE with every link resolved, absolute inside the root. */
const char *rd_kmod_folder(const struct rd_kmod *k);

/*
 * rd_kmod_module_path - the file that modprobe would load for a module, absolute inside the root
 *
 * As modules.dep says; whether the file is there is another question. Returns 0; -ENOENT where modules.dep of this release
 * names none, or does not exist; caller frees.
 */
int rd_kmod_module_path(struct rd_kmod *k, const char *name, char **ret) RD_MUST_CHECK;
/* Paths of the modules that modules.dep wants loaded before it, absolute inside the root. */
int rd_kmod_dependencies(struct rd_kmod *k, const char *name, struct rd_strv *ret) RD_MUST_CHECK;
/*
 * rd_kmod_modinfo - .modinfo of a module file as "field=value" lines, and sig_id and signer where it is signed
 * @path: absolute inside the root; .ko, or .ko.xz, .ko.zst, .ko.gz
 *
 * Unpacks the whole file where it is compressed: tens of milliseconds for amdgpu. Returns 0, -EBADMSG for what is no module.
 */
int rd_kmod_modinfo(struct rd_kmod *k, const char *path, struct rd_strv *ret) RD_MUST_CHECK;
/* True where modules.builtin lists it. */
bool rd_kmod_is_builtin(struct rd_kmod *k, const char *name);
/* True where modules.alias has an alias for a PCI function "pci:v00001002d...". */
bool rd_kmod_has_alias(struct rd_kmod *k, const char *modalias, const char *module);

/* The module's name behind a path or a word of configuration: no folder, no .ko suffix, '-' as '_'. Caller frees. */
char *rd_kmod_name(const char *path) RD_MUST_CHECK;
