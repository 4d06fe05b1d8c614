/*
 * What the names and metadata of Python packages say, as text alone.
 *
 * Source: PEP 440 (versions), PEP 503 (names), PEP 508 (requirements), core metadata.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"

/* "PyTorch_Triton.rocm" -> "pytorch-triton-rocm". Caller frees. */
char *rd_wheel_name(const char *name, size_t len) RD_MUST_CHECK;

/*
 * rd_wheel_split - "torch-2.7.1+rocm6.3.dist-info" -> normalised name and version
 *
 * Takes ".dist-info" and ".egg-info" (with a version in the name). Returns false for anything else and leaves both untouched.
 */
bool rd_wheel_split(const char *folder, char **ret_name, char **ret_version);

/* The local version, behind "+"; "" without one. */
const char *rd_wheel_local(const char *version);
/* The version without its local part. Caller frees. */
char *rd_wheel_public(const char *version) RD_MUST_CHECK;

/*
 * rd_wheel_same_release - does a pin mean what is installed?
 *
 * Local parts do not count. Where one of them is a build of its own sources or a nightly (2.9.0a0+git..., 2.10.0.dev...), X.Y
 * alone is compared: such builds satisfy nobody's pin to the letter and work.
 */
bool rd_wheel_same_release(const char *pin, const char *installed);

/* What a local version says of the build: "rocm", "cuda", "cpu", or "" where it says nothing. */
const char *rd_wheel_build(const char *version);

/*
 * rd_wheel_rocm - the ROCm release in a local version, or NULL; caller frees
 *
 * "+rocm6.4" -> "6.4", "+rocm7.2.1.lw.git1234567" -> "7.2.1", "+rocm7.13.0a20260430" -> "7.13.0", "+rocm641" -> "6.4.1",
 * "+gabcdef.rocm100" -> "10.0".
 */
char *rd_wheel_rocm(const char *version) RD_MUST_CHECK;

/*
 * rd_wheel_assignment - a string that a module assigns at its top level: NAME = 'x', NAME: Optional[str] = "x"
 * Returns the string (caller frees), or NULL where there is none or it is None. @ret_there, unless NULL: it is assigned.
 */
char *rd_wheel_assignment(const char *text, const char *name, bool *ret_there) RD_MUST_CHECK;

/*
 * rd_wheel_requires - walk the Requires-Dist headers of METADATA, those of extras left out
 * @rest: where to go on; set to the text first
 * @ret_pin: the version behind "==", "" without
 *
 * Returns false at the end of the headers; else the caller frees both.
 */
bool rd_wheel_requires(const char **rest, char **ret_name, char **ret_pin);
/* One requirement as written in requirements.txt or behind Requires-Dist; false where it names no project. */
bool rd_wheel_requirement(const char *text, size_t len, char **ret_name, char **ret_pin);
