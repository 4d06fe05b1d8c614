/* The device code of a simulated process as facts: what it is for, and which GPUs of the host it leaves out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/agents.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/libdata.h"
#include "rocm-doctor/loader.h"

/* Bytes of compressed bundles that check unpacks of one library. */
#define RD_SURVEY_BUDGET ((uint64_t)256 << 10)

/* Does an object hold HIP code? Whatever does is linked with the HIP runtime, which it registers its bundles with. */
bool rd_survey_may_have_code(const struct rd_load_object *object);

/*
 * rd_survey_set - facts of the code of one or more libraries that only together make a program
 * @prefix: "torch." or ""
 * @code: NULL where it could not be read, for @why
 *
 * Sets, below @prefix: gfx_targets[] (what it is for), partial_targets[] (of these, what some bundles lack), and of the GPUs that
 * a process sees (less the processor's own beside a card), by address: native_gpus[], missing_gpus[] (no code), partial_gpus[]
 * (code in places only), mode_gpus[] (code for the other mode of xnack or sramecc), unneeded_override_gpus[] (renamed, though
 * there is code for what they are). Unknown where the code does not tell.
 */
void rd_survey_set(struct rd_fact *at, const char *prefix, const struct rd_fatbin *code, const char *why,
                   const struct rd_gpu_agent *agents, size_t n, const char *source);

/* Rows of declarations for these. */
#define RD_SURVEY_FACTS(at, of) \
	{ at "partial_targets[]", RD_STRS, "gfx that only a part of " of " is built for", of }, \
		{ at "native_gpus[]", RD_STRS, "GPUs that " of " has code for", of }, \
		{ at "missing_gpus[]", RD_STRS, "GPUs that " of " has no code for", of }, \
		{ at "missing_gfx[]", RD_STRS, "gfx, as the runtime names them, that " of " has not or not wholly", of }, \
		{ at "partial_gpus[]", RD_STRS, "GPUs that " of " has code for in places only", of }, \
		{ at "mode_gpus[]", RD_STRS, "GPUs that " of " has code for in the other mode of xnack or sramecc only", of }, \
	{ \
		at "unneeded_override_gpus[]", RD_STRS, \
			"GPUs renamed by HSA_OVERRIDE_GFX_VERSION though " of " has code for them", of \
	}

/*
 * rd_survey_set_data - facts of the data that a library loads beside its code
 * @prefix: "torch.rocblas."
 *
 * Sets, below @prefix: path (of the library), folder, gfx[] and missing_gpus[] (GPUs that a process sees and that have none).
 */
void rd_survey_set_data(struct rd_sysroot *sr, struct rd_fact *at, const char *prefix, enum rd_libdata_kind kind,
                        const char *library, const struct rd_gpu_agent *agents, size_t n);

/* rd_survey_set_code - rd_survey_set() of a library, and its path below @prefix */
void rd_survey_set_code(struct rd_sysroot *sr, struct rd_fact *at, const char *prefix, const char *library,
                        const struct rd_gpu_agent *agents, size_t n);

#define RD_SURVEY_CODE_FACTS(at, of) \
	{ at "path", RD_STR, of " in its process", "the loader's search" }, \
		{ at "gfx_targets[]", RD_STRS, "gfx that the device code of " of " is for", of }, RD_SURVEY_FACTS(at, of)

#define RD_SURVEY_DATA_FACTS(at, of) \
	{ at "path", RD_STR, of " in its process", "the loader's search" }, \
		{ at "folder", RD_STR, "folder of the data of " of, "the library's folder, its variable" }, \
		{ at "gfx[]", RD_STRS, "gfx that the folder has files for", "the folder's names" }, \
	{ \
		at "missing_gpus[]", RD_STRS, "GPUs without data of " of, "the folder's names" \
	}

/* What rd_survey_set_data() sets of MIOpen beyond that. */
#define RD_SURVEY_MIOPEN_FACTS(at) \
	RD_SURVEY_DATA_FACTS(at, "MIOpen"), \
		{ at "databases[]", RD_LIST, "its databases, by gfx and compute units; it takes the nearest", \
		  "the folder's names" }, \
		{ at "databases[].gfx", RD_STR, "gfx that it is for", "the folder's names" }, \
		{ at "databases[].cu_count", RD_INT, "compute units, as HIP counts them; 0: any", "the folder's names" }, \
		{ at "databases[].performance", RD_BOOL, "measured parameters are there", "*.db, *.db.txt" }, \
		{ at "databases[].find", RD_BOOL, "measured choices of algorithms are there", "*.HIP.fdb.txt" }, \
		{ at "databases[].kernels", RD_BOOL, "compiled kernels are there", "*.kdb" }, \
	{ \
		at "databases[].model", RD_BOOL, "a model that guesses what was not measured is there", "*.tn.model" \
	}

/* The ROCm release in the number of a library's file, "libamdhip64.so.6.4.60401": "6.4.1"; NULL without. Caller frees. */
char *rd_survey_release(const char *path);
