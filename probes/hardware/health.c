/* Temperature, power, ECC counters, retired pages and performance level of each GPU. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "common-gpu.h"

/* A number through the guarded child; these reads reach the hardware. */
static int read_number(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const char *attribute, int64_t *ret)
{
	rd_auto_free char *text = NULL;
	int r = gpu_line_guarded(ctx, gpu, &text, attribute);

	return r < 0 ? r : rd_str_to_i64(text, 0, ret);
}

static void set_scaled(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *fact, const char *attribute, double divisor)
{
	rd_auto_free char *source = gpu_path(gpu, attribute);
	int64_t value;
	int r = read_number(ctx, gpu, attribute, &value);

	if (r < 0)
		gpu_fact_error(gpu, fact, r, attribute);
	else
		rd_fact_set_real(gpu, fact, (double)value / divisor, source);
}

/* ---------------------------------------------------------------- hwmon */

/* "hwmon/hwmonK" below the GPU. */
static int find_hwmon(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, char **ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = gpu_path(gpu, "hwmon");
	int r = dir ? rd_sysroot_list(ctx->sysroot, &names, dir) : -ENODATA;

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		if (rd_str_has_prefix(names.v[i], "hwmon")) {
			*ret = rd_xasprintf("hwmon/%s", names.v[i]);
			return 0;
		}
	}
	return -ENOENT;
}

/* The junction is what throttles; where there is none, the edge. Older kernels label nothing and have the edge alone. */
static unsigned find_sensor(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const char *hwmon, const char *wanted)
{
	for (unsigned n = 1; n <= 4; n++) {
		rd_auto_free char *attribute = rd_xasprintf("%s/temp%u_label", hwmon, n);
		rd_auto_free char *label = NULL;

		if (gpu_line(ctx, gpu, &label, attribute) == 0 && rd_streq(label, wanted))
			return n;
	}
	return 0;
}

static void set_sensor(struct rd_probe_ctx *ctx, struct rd_fact *gpu, const char *hwmon, unsigned n, const char *fact,
                       const char *critical)
{
	rd_auto_free char *input = rd_xasprintf("%s/temp%u_input", hwmon, n);
	rd_auto_free char *limit = rd_xasprintf("%s/temp%u_crit", hwmon, n);

	set_scaled(ctx, gpu, fact, input, 1000);
	set_scaled(ctx, gpu, critical, limit, 1000);
}

static void probe_sensors(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	static const struct {
		const char *fact, *file;
	} power[] = {
		{ "health.power_cap_w", "power1_cap" },
		{ "health.power_cap_default_w", "power1_cap_default" },
		{ "health.power_cap_max_w", "power1_cap_max" },
	};
	rd_auto_free char *hwmon = NULL, *average = NULL, *input = NULL;
	unsigned junction, mem;
	int r = find_hwmon(ctx, gpu, &hwmon);

	if (r < 0) {
		gpu_fact_error(gpu, "health.temperature_c", r, "hwmon");
		gpu_fact_error(gpu, "health.power_cap_w", r, "hwmon");
		return;
	}
	junction = find_sensor(ctx, gpu, hwmon, "junction");
	if (!junction)
		junction = find_sensor(ctx, gpu, hwmon, "edge");
	set_sensor(ctx, gpu, hwmon, junction ? junction : 1, "health.temperature_c", "health.temperature_critical_c");
	mem = find_sensor(ctx, gpu, hwmon, "mem");
	if (mem)
		set_sensor(ctx, gpu, hwmon, mem, "health.memory_temperature_c", "health.memory_temperature_critical_c");

	for (size_t i = 0; i < RD_ARRAY_SIZE(power); i++) {
		rd_auto_free char *attribute = rd_xasprintf("%s/%s", hwmon, power[i].file);

		set_scaled(ctx, gpu, power[i].fact, attribute, 1000000);
	}
	average = rd_xasprintf("%s/power1_average", hwmon);
	input = rd_xasprintf("%s/power1_input", hwmon);
	set_scaled(ctx, gpu, "health.power_w", average, 1000000);
	if (!rd_fact_is_known(gpu, "health.power_w"))
		set_scaled(ctx, gpu, "health.power_w", input, 1000000);
}

/* ---------------------------------------------------------------- RAS */

struct ras {
	uint64_t correctable, uncorrectable;
	bool any;
	int error;
};

/* "ue: 0\nce: 3\n" */
static bool counter(const char *text, const char *key, uint64_t *sum)
{
	const char *at = strstr(text, key);
	uint64_t value;

	if (!at)
		return false;
	value = strtoull(at + strlen(key), NULL, 10);
	*sum = value > UINT64_MAX / 2 - *sum ? UINT64_MAX / 2 : *sum + value;
	return true;
}

static void add_block(struct rd_probe_ctx *ctx, const struct rd_fact *gpu, const char *name, struct ras *ras)
{
	rd_auto_free char *attribute = rd_xasprintf("ras/%s", name);
	rd_auto_free char *text = NULL;
	int r = gpu_line_guarded(ctx, gpu, &text, attribute);

	/* A block without RAS answers with an error of the kind "has no such value". */
	if (r < 0) {
		if (r != -ENOENT && r != -EINVAL && r != -EOPNOTSUPP && r != -ENODEV)
			ras->error = r;
		return;
	}
	ras->any |= counter(text, "ue:", &ras->uncorrectable);
	ras->any |= counter(text, "ce:", &ras->correctable);
}

/* Each line is "address : size : flag": R retired, P pending until the next reset, F could not be reserved. */
static void set_pages(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	static const char attribute[] = "ras/gpu_vram_bad_pages";
	rd_auto_free char *source = gpu_path(gpu, attribute);
	rd_auto_free char *text = NULL;
	int64_t retired = 0, pending = 0;
	char *rest, *line;
	int r = source ? rd_sysroot_read(ctx->sysroot, &text, source) : -ENODATA;

	if (r < 0) {
		gpu_fact_error(gpu, "health.retired_pages", r, attribute);
		gpu_fact_error(gpu, "health.pending_pages", r, attribute);
		return;
	}
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		const char *flag = strrchr(line, ':');

		if (!flag)
			continue;
		retired += strchr(flag, 'R') != NULL;
		pending += strpbrk(flag, "PF") != NULL;
	}
	rd_fact_set_int(gpu, "health.retired_pages", retired, source);
	rd_fact_set_int(gpu, "health.pending_pages", pending, source);
}

static void set_counters(struct rd_fact *gpu, const struct ras *ras, const char *source)
{
	if (ras->error) {
		rd_fact_set_unknown(gpu, "health.ecc_correctable", ras->error, source);
		/* What has been counted already is enough to judge. */
		if (!ras->uncorrectable) {
			rd_fact_set_unknown(gpu, "health.ecc_uncorrectable", ras->error, source);
			return;
		}
	} else if (ras->any) {
		rd_fact_set_int(gpu, "health.ecc_correctable", (int64_t)ras->correctable, source);
	}
	if (ras->any)
		rd_fact_set_int(gpu, "health.ecc_uncorrectable", (int64_t)ras->uncorrectable, source);
}

static void probe_ras(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *dir = gpu_path(gpu, "ras");
	struct ras ras = { 0 };
	int r = dir ? rd_sysroot_list(ctx->sysroot, &names, dir) : -ENODATA;

	if (r < 0) {
		gpu_fact_error(gpu, "health.ecc_correctable", r, "ras");
		gpu_fact_error(gpu, "health.ecc_uncorrectable", r, "ras");
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		if (rd_str_has_suffix(names.v[i], "_err_count"))
			add_block(ctx, gpu, names.v[i], &ras);
	}
	/* Newer kernels have aca_BLOCK beside, with the same numbers, or instead. */
	for (size_t i = 0; !ras.any && i < names.n; i++) {
		if (rd_str_has_prefix(names.v[i], "aca_"))
			add_block(ctx, gpu, names.v[i], &ras);
	}
	set_counters(gpu, &ras, dir);
	set_pages(ctx, gpu);
}

/* ---------------------------------------------------------------- */

static void probe_load(struct rd_probe_ctx *ctx, struct rd_fact *gpu)
{
	static const char level[] = "power_dpm_force_performance_level", busy[] = "gpu_busy_percent";
	rd_auto_free char *text = NULL, *source = gpu_path(gpu, level), *busy_source = gpu_path(gpu, busy);
	int64_t value;
	int r = gpu_line_guarded(ctx, gpu, &text, level);

	if (r < 0)
		gpu_fact_error(gpu, "health.performance_level", r, level);
	else
		rd_fact_set_str(gpu, "health.performance_level", text, source);
	r = read_number(ctx, gpu, busy, &value);
	if (r < 0 && r != -EBUSY)
		gpu_fact_error(gpu, "health.busy_percent", r, busy);
	else if (r == 0)
		rd_fact_set_int(gpu, "health.busy_percent", value, busy_source);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct rd_fact *gpu;

	for (size_t i = 0; (gpu = gpu_at(ctx, i)); i++) {
		/* A GPU that sleeps is cool and idle, and asking would wake it. */
		if (gpu_sleeps(gpu))
			continue;
		probe_sensors(ctx, gpu);
		probe_ras(ctx, gpu);
		probe_load(ctx, gpu);
	}
	return 0;
}

#define AT GPU_PCI_DEVICES "/*/"

const struct rd_probe rd_probe_hardware_health = {
	.name = "hardware/health",
	.layer = RD_LAYER_HARDWARE,
	.after = "hardware/gpus",
	.summary = "temperature, power and memory errors of each GPU",
	.facts =
		(const struct rd_fact_decl[]){
			{ "gpus[].health.temperature_c", RD_REAL,
	                  "junction temperature, else that of the edge, degrees Celsius", AT "hwmon/*/temp*_input" },
			{ "gpus[].health.temperature_critical_c", RD_REAL, "limit of the same sensor",
	                  AT "hwmon/*/temp*_crit" },
			{ "gpus[].health.memory_temperature_c", RD_REAL, "temperature of the memory",
	                  AT "hwmon/*/temp*_input" },
			{ "gpus[].health.memory_temperature_critical_c", RD_REAL, "limit of the same sensor",
	                  AT "hwmon/*/temp*_crit" },
			{ "gpus[].health.power_w", RD_REAL, "power drawn", AT "hwmon/*/power1_average, power1_input" },
			{ "gpus[].health.power_cap_w", RD_REAL, "power limit", AT "hwmon/*/power1_cap" },
			{ "gpus[].health.power_cap_default_w", RD_REAL, "the card's own limit",
	                  AT "hwmon/*/power1_cap_default" },
			{ "gpus[].health.power_cap_max_w", RD_REAL, "highest limit that may be set",
	                  AT "hwmon/*/power1_cap_max" },
			{ "gpus[].health.ecc_correctable", RD_INT, "errors that ECC mended since the driver was loaded",
	                  AT "ras/*_err_count" },
			{ "gpus[].health.ecc_uncorrectable", RD_INT, "errors that it could not mend", AT "ras/*_err_count" },
			{ "gpus[].health.retired_pages", RD_INT, "memory pages out of use", AT "ras/gpu_vram_bad_pages" },
			{ "gpus[].health.pending_pages", RD_INT,
	                  "pages that will be retired at the next reset, or could not be", AT "ras/gpu_vram_bad_pages" },
			{ "gpus[].health.performance_level", RD_STR, "auto, low, high, manual, ...",
	                  AT "power_dpm_force_performance_level" },
			{ "gpus[].health.busy_percent", RD_INT, "load of the compute units", AT "gpu_busy_percent" },
			{ 0 },
		},
	.run = run,
};
