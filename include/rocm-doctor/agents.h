/* The GPUs of a host as the HSA runtime of a process would enumerate them: names after overrides, features as they are set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/macros.h"
#include "rocm-doctor/target.h"

struct rd_sysroot;

struct rd_gpu_agent {
	const char *address;        /* of the fact; "" where the GPU is not of this host */
	char gfx[RD_PROCESSOR_MAX]; /* as the hardware is */
	struct rd_agent agent;      /* as the runtime names it */
	bool overridden;            /* the two differ through HSA_OVERRIDE_GFX_VERSION */
	bool hidden;                /* a visible-devices variable hides it */
	bool spare;                 /* the processor's own GPU, beside a card that computes and is not hidden */
};

/*
 * rd_agents_list - one for each GPU of gpus[] whose gfx is known, in their order
 *
 * HSA_OVERRIDE_GFX_VERSION_<node> wins over HSA_OVERRIDE_GFX_VERSION; one that the runtime refuses counts as not set (the
 * process does not come so far). xnack is HSA_XNACK's where the hardware can switch it, else the driver's mode.
 *
 * Returns the number; the caller frees *ret.
 */
size_t rd_agents_list(const struct rd_fact *facts, struct rd_sysroot *sr, struct rd_gpu_agent **ret);
/* The same for a process whose variables are in a map of facts (services[].environment), and nothing else. */
size_t rd_agents_list_of(const struct rd_fact *facts, const struct rd_fact *environment, struct rd_gpu_agent **ret);
/* Whether xnack is a mode of the process (HSA_XNACK), beside the driver's default: gfx90a and later Instincts. */
bool rd_gfx_switches_xnack(const char *gfx);
