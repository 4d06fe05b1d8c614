/*
 * Data that ROCm's libraries load beside their code, one set for each GPU: kernels of rocBLAS and hipBLASLt, images of AOTriton,
 * databases of MIOpen. Where each library looks is decided by where it was loaded from.
 *
 * Sources: rocBLAS and hipBLASLt tensile_host.cpp; AOTriton's dladdr-based lookup; MIOpen db_path.cpp, handle.hpp, find_db.cpp.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/macros.h"
#include "rocm-doctor/target.h"
#include "rocm-doctor/tri.h"

struct rd_strv;
struct rd_sysroot;

enum rd_libdata_kind { RD_LIBDATA_ROCBLAS, RD_LIBDATA_HIPBLASLT, RD_LIBDATA_AOTRITON, RD_LIBDATA_MIOPEN };

struct rd_libdata {
	enum rd_tri present; /* for the GPU asked about; RD_UNKNOWN where the folder could not be read or found */
	char *folder;        /* that the library reads; NULL where none of its places is there */
	int error;           /* negative errno of an RD_UNKNOWN */
};

/*
 * rd_libdata_look - has a library its data for one GPU?
 * @library: path as it was loaded
 *
 * The variables ROCBLAS_TENSILE_LIBPATH, HIPBLASLT_TENSILE_LIBPATH and MIOPEN_SYSTEM_DB_PATH are those of the examined process.
 * Of MIOpen any database for the processor counts: it takes the one for the nearest number of compute units.
 */
struct rd_libdata rd_libdata_look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library,
                                  const struct rd_agent *agent);
void rd_libdata_release(struct rd_libdata *data);

/* GPUs that the folder of a library's data has files for, sorted; of AOTriton also families ("gfx11xx"). */
int rd_libdata_targets(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *folder, struct rd_strv *ret) RD_MUST_CHECK;

/* What MIOpen knows beforehand of one GPU. Without any of it convolutions only take longer: it measures and compiles itself. */
enum {
	RD_MIOPEN_PERFORMANCE = 1u << 0, /* .db: parameters */
	RD_MIOPEN_FIND = 1u << 1,        /* .HIP.fdb: which algorithm is best */
	RD_MIOPEN_KERNELS = 1u << 2,     /* .kdb: compiled kernels */
	RD_MIOPEN_MODEL = 1u << 3,       /* .tn.model: what guesses where nothing was measured */
};

struct rd_miopen_db {
	char gfx[RD_PROCESSOR_MAX];
	unsigned cu_count; /* as HIP counts them (on RDNA pairs); 0: any */
	unsigned has;      /* RD_MIOPEN_* */
};

/* The databases of a folder, by gfx and count; the caller frees *ret. */
int rd_libdata_miopen(struct rd_sysroot *sr, const char *folder, struct rd_miopen_db **ret, size_t *ret_n) RD_MUST_CHECK;
