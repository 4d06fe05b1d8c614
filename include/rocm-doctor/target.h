/*
 * Target ids: which code a piece of device code is, which code an agent takes, and the decision that the HIP runtime makes
 * about the two.
 *
 * Sources: LLVM AMDGPUUsage (processors, target ids, e_flags, generic processors); clr hipamd hip_fatbin.cpp; ROCr isa.cpp.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

#define RD_PROCESSOR_MAX 32
/* Room for a target id with both features. */
#define RD_TARGET_TEXT_MAX (RD_PROCESSOR_MAX + 24)

enum rd_feature {
	RD_FEATURE_ANY, /* code: runs either way. agent: the hardware has no such feature */
	RD_FEATURE_OFF,
	RD_FEATURE_ON,
	RD_FEATURE_UNKNOWN, /* agent: it has one of the two, and which is not known here */
};

struct rd_target_id {
	char processor[RD_PROCESSOR_MAX]; /* "gfx90a", "gfx11-generic", "amdgcnspirv" */
	enum rd_feature sramecc, xnack;
	unsigned generic_version; /* of a generic processor where the code object tells; else 0 */
};

enum rd_bundle_entry {
	RD_ENTRY_HOST, /* the placeholder of the host */
	RD_ENTRY_DEVICE,
	RD_ENTRY_LEGACY,  /* device code under an id with a dash too few: today's runtime does not find it */
	RD_ENTRY_OTHER,   /* OpenMP and the like: nothing that HIP loads */
	RD_ENTRY_UNKNOWN, /* a spelling that is not known here: neither code nor none */
};

/*
 * rd_target_of_entry - read the id of a bundle's entry: kind-arch-vendor-os-env[-target id]
 * @ret: filled for DEVICE and LEGACY
 */
enum rd_bundle_entry rd_target_of_entry(const char *id, size_t len, struct rd_target_id *ret);

/* "gfx90a:sramecc+:xnack-"; 0 or -EINVAL. Features in any order. */
int rd_target_parse(const char *text, struct rd_target_id *ret) RD_MUST_CHECK;
void rd_target_format(const struct rd_target_id *id, char ret[RD_TARGET_TEXT_MAX]);
int rd_target_compare(const struct rd_target_id *a, const struct rd_target_id *b);

/*
 * rd_target_of_code_object - the target by the header of an AMDGPU ELF file
 * @abi_version: EI_ABIVERSION, @flags: e_flags
 *
 * Returns 0, or -ENOENT for a number that is not known here (or a code object before version 3, whose header does not say).
 */
int rd_target_of_code_object(unsigned abi_version, uint32_t flags, struct rd_target_id *ret) RD_MUST_CHECK;

bool rd_target_is_generic(const struct rd_target_id *id);
bool rd_target_is_spirv(const struct rd_target_id *id);
/* "gfx11-generic" for "gfx1100"; NULL where the runtimes know no family of it. */
const char *rd_target_family(const char *processor);

/* Which features processors can have. */
bool rd_processor_has_xnack(const char *processor);
bool rd_processor_has_sramecc(const char *processor);

/*
 * rd_gfx_from_version - spell major.minor.stepping the way LLVM does
 *
 * Minor and stepping are hexadecimal digits: 9.0.10 is gfx90a, 11.5.1 gfx1151. Returns 0, or -ERANGE.
 */
int rd_gfx_from_version(unsigned major, unsigned minor, unsigned stepping, char ret[RD_PROCESSOR_MAX]) RD_MUST_CHECK;
/* The text of HSA_OVERRIDE_GFX_VERSION ("11.0.0"); -EINVAL for what the runtime refuses. */
int rd_gfx_from_override(const char *text, char ret[RD_PROCESSOR_MAX]) RD_MUST_CHECK;

/* What HSA enumerates: a processor and the state of its features. */
struct rd_agent {
	char processor[RD_PROCESSOR_MAX];
	enum rd_feature sramecc, xnack;
};

/* An agent whose features are as the processor can have them: UNKNOWN where it has one, ANY where not. */
void rd_agent_init(struct rd_agent *agent, const char *processor);

/* In rising order of how good it is. */
enum rd_runs {
	RD_RUNS_NO,
	RD_RUNS_UNKNOWN, /* depends on the agent's xnack or sramecc, which is not known */
	RD_RUNS_SPIRV,   /* compiled when it is first used */
	RD_RUNS_GENERIC,
	RD_RUNS_NATIVE,
};

/* Does one piece of code run on an agent, as the HIP runtime and ROCr decide it? */
enum rd_runs rd_target_runs(const struct rd_target_id *code, const struct rd_agent *agent);
const char *rd_runs_name(enum rd_runs runs); /* "no", "unknown", "spirv", "generic", "native" */
