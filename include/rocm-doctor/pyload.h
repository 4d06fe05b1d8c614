/* What "import torch" loads, in its order, as the simulated loader sees it. No Python is run. */
#pragma once

#include "rocm-doctor/loader.h"
#include "rocm-doctor/macros.h"

/*
 * rd_pyload_torch - the process after "import torch"
 * @python: interpreter, NULL or not an ELF program: the extension module is taken as the program
 * @torch: folder of the package
 * @ret_missing: libraries that torch's start-up asks rocm_sdk for and that the wheels do not have (the import fails)
 *
 * The order: the interpreter and LD_PRELOAD; the libraries that torch/_rocm_init.py names, by full path; libtorch_global_deps;
 * torch/_C; at last what the HIP runtime opens itself.
 *
 * Returns 0; -ENOENT where there is no extension module; else as rd_loader_start().
 */
int rd_pyload_torch(struct rd_sysroot *sr, const struct rd_loader_env *env, const char *python, const char *torch,
                    struct rd_loader **ret, struct rd_strv *ret_missing, struct rd_error *err) RD_MUST_CHECK;

/* The variables of the examined process that decide; borrowed. Where the environment is not recorded nothing is set. */
void rd_loader_env_read(struct rd_sysroot *sr, struct rd_loader_env *ret);
