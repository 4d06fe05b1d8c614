/* What the kernel log says of each GPU, as far as it is evidence about the hardware. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#include "common-gpu.h"

/* What the lines so far say of one GPU; later lines may take back what earlier ones said. */
struct history {
	const char *address, *id; /* "0000:03:00.0", "1002:744c" */
	bool lost, init_failed, refused_atomics, memory_errors, firmware_failed;
	bool given_away, not_back; /* vfio-pci had it; amdgpu could not bring it back since */
	unsigned bars_failed;      /* a bit each */
	int64_t probe_error;
};

static bool has(const char *line, const char *text)
{
	return strstr(line, text) != NULL;
}

/*
 * "BAR 0 [mem ...]: can't assign; no space", "BAR 0: no space for [mem ...]", "BAR 0: failed to assign [mem ...]" and, when a
 * later pass finds a place, "BAR 0 [mem ...]: assigned". Numbers above 5 and "VF BAR" are those of virtual functions, and a
 * full space of I/O ports hurts nobody.
 */
static void bar_line(struct history *h, const char *line)
{
	const char *bar = strstr(line, ": BAR ");
	unsigned number;

	if (!bar || bar[6] < '0' || bar[6] > '5' || (bar[7] != ':' && bar[7] != ' ') || has(bar, "[io "))
		return;
	number = (unsigned)(bar[6] - '0');
	if (has(bar, "no space") || has(bar, "failed to assign") || has(bar, "can't assign"))
		h->bars_failed |= 1u << number;
	else if (has(bar, "assigned"))
		h->bars_failed &= ~(1u << number);
}

static void driver_line(struct history *h, const char *line)
{
	const char *code = strstr(line, "failed with error -");

	if (code && has(line, "amdgpu") && has(line, "probe")) {
		h->probe_error = strtol(code + strlen("failed with error -"), NULL, 10);
		h->not_back = h->given_away;
	}
	if (has(line, "Fatal error during GPU init")) {
		h->init_failed = true;
		h->not_back = h->given_away;
	}
	if (has(line, "device lost from bus"))
		h->lost = true;
	if (has(line, "uncorrectable hardware error"))
		h->memory_errors = true;
	if (has(line, "irmware") && (has(line, "failed") || has(line, "Failed")))
		h->firmware_failed = true;
	if (has(line, "vfio-pci ") || has(line, "vfio_pci"))
		h->given_away = true;
	if (has(line, "Initialized amdgpu")) {
		h->lost = h->init_failed = h->not_back = h->given_away = false;
		h->probe_error = 0;
	}
}

static void read_line(struct history *h, const char *line)
{
	/* This one names the model alone. */
	if (has(line, "PCI rejects atomics") && has(line, h->id))
		h->refused_atomics = true;
	if (!has(line, h->address))
		return;
	bar_line(h, line);
	driver_line(h, line);
}

static void set_facts(struct rd_fact *gpu, const struct history *h, const char *source)
{
	/* One line for all cards of a model: those that KFD took are not meant. */
	bool refused = h->refused_atomics && rd_fact_is_known(gpu, "kfd.present") && !rd_fact_get_bool(gpu, "kfd.present");

	rd_fact_set_bool(gpu, "log.lost", h->lost, source);
	rd_fact_set_bool(gpu, "log.bar_unassigned", h->bars_failed != 0, source);
	rd_fact_set_int(gpu, "log.probe_error", h->probe_error, source);
	rd_fact_set_bool(gpu, "log.init_failed", h->init_failed || h->probe_error, source);
	rd_fact_set_bool(gpu, "log.firmware_failed", h->firmware_failed, source);
	rd_fact_set_bool(gpu, "log.atomics_refused", refused, source);
	rd_fact_set_bool(gpu, "log.memory_errors", h->memory_errors, source);
	rd_fact_set_bool(gpu, "log.not_back_from_vfio", h->not_back, source);
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char source[] = "kernel log";
	rd_auto_free char *text = NULL;
	struct rd_fact *gpu;
	int r;

	if (!gpu_at(ctx, 0))
		return 0;
	r = rd_sysroot_kmsg(ctx->sysroot, &text);
	if (r < 0)
		return r;
	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		rd_auto_free char *copy = rd_xstrdup(text);
		rd_auto_free char *id = rd_xasprintf("1002:%04x", gpu_id_of(rd_fact_get_str(gpu, "device_id")));
		struct history h = { .address = gpu_address(gpu), .id = id };
		char *rest = copy, *line;

		while ((line = rd_str_next_line(&rest)))
			read_line(&h, line);
		set_facts(gpu, &h, source);
	}
	return 0;
}

const struct rd_probe rd_probe_hardware_log = {
	.name = "hardware/log",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/kfd",
	.summary = "what the kernel log says of each GPU's hardware",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].log.lost", RD_BOOL, "the log says that the GPU fell off the bus, and nothing later",
	                  "kernel log" },
			{ "gpus[].log.bar_unassigned", RD_BOOL, "a base address of memory found no place, nor later on",
	                  "kernel log" },
			{ "gpus[].log.probe_error", RD_INT,
	                  "errno of the last failed probe by amdgpu (12: no memory or space), 0 for none", "kernel log" },
			{ "gpus[].log.init_failed", RD_BOOL, "amdgpu gave up on this GPU", "kernel log" },
			{ "gpus[].log.firmware_failed", RD_BOOL, "firmware for this GPU could not be loaded", "kernel log" },
			{ "gpus[].log.atomics_refused", RD_BOOL, "KFD left this GPU out for want of PCIe AtomicOps",
	                  "kernel log" },
			{ "gpus[].log.memory_errors", RD_BOOL, "the log tells of uncorrectable hardware errors", "kernel log" },
			{ "gpus[].log.not_back_from_vfio", RD_BOOL, "after vfio-pci had it, amdgpu could not take the GPU back",
	                  "kernel log" },
			{ 0 },
		},
	.run = run,
};
