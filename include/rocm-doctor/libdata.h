/*
 * Data that ROCm's libraries load beside their code, one set for each GPU: kernels of rocBLAS and hipBLASLt, images of AOTriton.
 * Where each library looks is decided by where it was loaded from.
 *
 * Sources: rocBLAS and hipBLASLt tensile_host.cpp; AOTriton's dladdr-based lookup.
 */
#pragma once

#include "rocm-doctor/macros.h"
#include "rocm-doctor/target.h"
#include "rocm-doctor/tri.h"

struct rd_strv;
struct rd_sysroot;

enum rd_libdata_kind { RD_LIBDATA_ROCBLAS, RD_LIBDATA_HIPBLASLT, RD_LIBDATA_AOTRITON };

struct rd_libdata {
	enum rd_tri present; /* for the GPU asked about; RD_UNKNOWN where the folder could not be read or found */
	char *folder;        /* that the library reads; NULL where none of its places is there */
	int error;           /* negative errno of an RD_UNKNOWN */
};

/*
 * rd_libdata_look - has a library its data for one GPU?
 * @library: path as it was loaded
 *
 * The variables ROCBLAS_TENSILE_LIBPATH and HIPBLASLT_TENSILE_LIBPATH are those of the examined process.
 */
struct rd_libdata rd_libdata_look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library,
                                  const struct rd_agent *agent);
void rd_libdata_release(struct rd_libdata *data);

/* GPUs that a folder of kernels has files for, sorted. */
int rd_libdata_targets(struct rd_sysroot *sr, const char *folder, struct rd_strv *ret) RD_MUST_CHECK;
