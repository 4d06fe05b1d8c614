/* Which firmware runs on each GPU? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

#define FOLDER "/sys/bus/pci/devices/ADDRESS/fw_version"

static const struct {
	const char *file, *fact;
} versions[] = {
	{ "mec", "firmware.mec" },   { "mes", "firmware.mes" }, { "rlc", "firmware.rlc" },
	{ "sdma", "firmware.sdma" }, { "smc", "firmware.smc" }, { "sos", "firmware.sos" },
};

/* The driver keeps these numbers: reading them neither wakes nor asks the GPU. */
static void read_one(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *address, size_t i)
{
	rd_auto_free char *source = rd_xasprintf("/sys/bus/pci/devices/%s/fw_version/%s_fw_version", address, versions[i].file);
	rd_auto_free char *text = NULL;
	uint64_t value;
	int r = rd_sysroot_read_line(ctx->sysroot, &text, source);

	if (r >= 0)
		r = rd_str_to_u64(text, 0, &value);
	if (r >= 0)
		rd_fact_set_int(gpu, versions[i].fact, (int64_t)value, source);
	else if (r == -ENOENT || r == -EINVAL || r == -ENODEV || r == -EOPNOTSUPP)
		rd_fact_set_absent(gpu, versions[i].fact, source);
	else
		rd_fact_set_unknown(gpu, versions[i].fact, r, source);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);
		const char *address = rd_fact_get_str(gpu, "pci.address");

		for (size_t j = 0; address[0] && j < RD_ARRAY_SIZE(versions); j++)
			read_one(ctx, gpu, address, j);
	}
	return 0;
}

const struct rd_probe rd_probe_kernel_firmware = {
	.name = "kernel/firmware",
	.layer = RD_LAYER_KERNEL,
	.summary = "firmware that runs on the GPUs",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].firmware.mec", RD_INT, "version of the compute microcode", FOLDER "/mec_fw_version" },
			{ "gpus[].firmware.mes", RD_INT, "version of the scheduler's microcode", FOLDER "/mes_fw_version" },
			{ "gpus[].firmware.rlc", RD_INT, "version of the RLC microcode", FOLDER "/rlc_fw_version" },
			{ "gpus[].firmware.sdma", RD_INT, "version of the copy engines' microcode", FOLDER "/sdma_fw_version" },
			{ "gpus[].firmware.smc", RD_INT, "version of the power management firmware", FOLDER "/smc_fw_version" },
			{ "gpus[].firmware.sos", RD_INT, "version of the security processor's firmware",
	                  FOLDER "/sos_fw_version" },
			{ 0 },
		},
	.run = run,
};
