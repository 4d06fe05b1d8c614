#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/agents.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/xalloc.h"

/* Where variables come from: the examined process, or a map of facts. */
struct variables {
	struct rd_sysroot *sr;
	const struct rd_fact *map;
};

static const char *variable(const struct variables *v, const char *name)
{
	const struct rd_fact *entry;
	const char *value;

	if (v->sr)
		return rd_sysroot_getenv(v->sr, &value, name) > 0 ? value : NULL;
	entry = rd_fact_child(v->map, name);
	return entry ? rd_fact_str(entry) : NULL;
}

bool rd_gfx_switches_xnack(const char *gfx)
{
	return rd_streq(gfx, "gfx90a") || rd_streq(gfx, "gfx942") || rd_streq(gfx, "gfx950") || rd_streq(gfx, "gfx940") ||
	       rd_streq(gfx, "gfx941");
}

/*
 * amdgpu's noretry: 0 retries page faults (xnack on), 1 does not; by default it does not, but for the first APUs
 * (amdgpu_gmc_noretry_set, kfd_process_xnack_mode).
 */
static enum rd_feature driver_xnack(const struct rd_fact *facts, const char *gfx)
{
	const char *noretry;

	/* gfx10 has the feature by name; KFD never switches it on there. */
	if (rd_str_has_prefix(gfx, "gfx10"))
		return RD_FEATURE_OFF;
	if (rd_fact_is_unknown(facts, "kernel.amdgpu.parameters"))
		return RD_FEATURE_UNKNOWN;
	noretry = rd_fact_str(rd_fact_child(rd_fact_get(facts, "kernel.amdgpu.parameters"), "noretry"));
	if (rd_streq(noretry, "0"))
		return RD_FEATURE_ON;
	if (rd_streq(noretry, "1"))
		return RD_FEATURE_OFF;
	return rd_streq(gfx, "gfx902") || rd_streq(gfx, "gfx909") ? RD_FEATURE_UNKNOWN : RD_FEATURE_OFF;
}

static void set_features(struct rd_gpu_agent *a, const struct rd_fact *facts, const struct rd_fact *gpu,
                         const struct variables *v)
{
	const char *xnack = variable(v, "HSA_XNACK"), *ecc = variable(v, "HSA_ENABLE_SRAMECC");

	if (a->agent.xnack == RD_FEATURE_UNKNOWN) {
		a->agent.xnack = driver_xnack(facts, a->gfx);
		if (xnack && rd_gfx_switches_xnack(a->gfx) && (rd_streq(xnack, "0") || rd_streq(xnack, "1")))
			a->agent.xnack = *xnack == '1' ? RD_FEATURE_ON : RD_FEATURE_OFF;
	}
	if (a->agent.sramecc == RD_FEATURE_UNKNOWN) {
		if (ecc && (rd_streq(ecc, "0") || rd_streq(ecc, "1")))
			a->agent.sramecc = *ecc == '1' ? RD_FEATURE_ON : RD_FEATURE_OFF;
		else if (rd_fact_is_known(gpu, "kfd.sram_ecc"))
			a->agent.sramecc = rd_fact_get_bool(gpu, "kfd.sram_ecc") ? RD_FEATURE_ON : RD_FEATURE_OFF;
	}
}

static const char *override_of(const struct rd_fact *gpu, const struct variables *v)
{
	const char *value = NULL;
	char name[64];

	if (rd_fact_is_known(gpu, "kfd.node")) {
		snprintf(name, sizeof(name), "HSA_OVERRIDE_GFX_VERSION_%lld", (long long)rd_fact_get_int(gpu, "kfd.node"));
		value = variable(v, name);
	}
	return value ? value : variable(v, "HSA_OVERRIDE_GFX_VERSION");
}

/*
 * One that is known to be left out by KFD is none for programs; where the driver does not run, KFD has no GPU at all and says
 * nothing.
 */
static bool is_card(const struct rd_fact *gpu, bool kfd_has_gpus)
{
	return rd_streq(rd_fact_get_str(gpu, "kind"), "dgpu") &&
	       (!kfd_has_gpus || !rd_fact_is_known(gpu, "kfd.present") || rd_fact_get_bool(gpu, "kfd.present"));
}

static bool kfd_has_gpus(const struct rd_fact *gpus)
{
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		if (rd_fact_get_bool(rd_fact_at(gpus, i), "kfd.present"))
			return true;
	return false;
}

static size_t list_agents(const struct rd_fact *facts, const struct variables *v, struct rd_gpu_agent **ret)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");
	struct rd_gpu_agent *list = rd_xcalloc(rd_fact_count(gpus) + 1, sizeof(*list));
	bool has_kfd = kfd_has_gpus(gpus);
	size_t n = 0, cards = 0;

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i);
		const char *gfx = rd_fact_get_str(gpu, "gfx"), *override = override_of(gpu, v);
		struct rd_gpu_agent *a = &list[n];
		char named[RD_PROCESSOR_MAX];

		if (!*gfx)
			continue;
		a->address = rd_fact_get_str(gpu, "pci.address");
		snprintf(a->gfx, sizeof(a->gfx), "%s", gfx);
		if (!override || rd_gfx_from_override(override, named) < 0)
			snprintf(named, sizeof(named), "%s", gfx);
		rd_agent_init(&a->agent, named);
		a->overridden = !rd_streq(named, gfx);
		a->hidden = rd_fact_is_known(gpu, "visible") && !rd_fact_get_bool(gpu, "visible");
		a->spare = rd_streq(rd_fact_get_str(gpu, "kind"), "apu");
		cards += !a->hidden && is_card(gpu, has_kfd);
		set_features(a, facts, gpu, v);
		n++;
	}
	for (size_t i = 0; i < n && !cards; i++)
		list[i].spare = false;
	*ret = list;
	return n;
}

size_t rd_agents_list(const struct rd_fact *facts, struct rd_sysroot *sr, struct rd_gpu_agent **ret)
{
	return list_agents(facts, &(struct variables){ .sr = sr }, ret);
}

size_t rd_agents_list_of(const struct rd_fact *facts, const struct rd_fact *environment, struct rd_gpu_agent **ret)
{
	return list_agents(facts, &(struct variables){ .map = environment }, ret);
}
