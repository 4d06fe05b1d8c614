/* A few words on each layer, from its facts. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Adds ", " where something stands there already. */
static void comma(struct rd_strbuf *sb)
{
	if (sb->len)
		rd_strbuf_add(sb, ", ");
}

/*
 * In few words. "Cezanne [Radeon Vega Series / Radeon Vega Mobile Series]" is Cezanne where it is the processor's own GPU, a
 * card "Navi 21 Pro-XLA [Radeon Pro W6800X/Radeon Pro W6800X Duo]" the first of its names. Caller frees.
 */
static char *gpu_name(const struct rd_fact *gpu)
{
	const char *name = rd_fact_get_str(gpu, "name"), *open = strstr(name, " [");

	/* "AMD Raphael/Granite Ridge (1002:164e)" is made of the id, where no list has a name. */
	open = open ? open : strstr(name, " (1002:");
	if (!*name)
		return rd_xstrdup(rd_fact_get_str(gpu, "device_id"));
	if (!open || open == name)
		return rd_xstrdup(name);
	if (rd_streq(rd_fact_get_str(gpu, "kind"), "apu") || open[1] == '(')
		return rd_xstrndup(name, (size_t)(open - name));
	name = open + 2;
	open = strpbrk(name, "/]");
	while (open && open > name && open[-1] == ' ')
		open--;
	return open && open > name ? rd_xstrndup(name, (size_t)(open - name)) : rd_xstrdup(name);
}

/* "8x AMD Instinct MI300X (gfx942)", kinds in the order of their first GPU. */
static void add_gpus(struct rd_strbuf *sb, const struct rd_fact *facts, bool with_gfx)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i);
		const char *gfx = rd_fact_get_str(gpu, "gfx");
		rd_auto_free char *name = gpu_name(gpu);

		if (with_gfx && *gfx)
			rd_strv_pushf(&names, "%s (%s)", name, gfx);
		else
			rd_strv_push(&names, name);
	}
	for (size_t i = 0; i < names.n; i++) {
		size_t same = 0, earlier = 0;

		for (size_t j = 0; j < names.n; j++) {
			same += rd_streq(names.v[j], names.v[i]);
			earlier += j < i && rd_streq(names.v[j], names.v[i]);
		}
		if (earlier)
			continue;
		comma(sb);
		rd_strbuf_addf(sb, "%zux %s", same, names.v[i]);
	}
}

static void add_other_gpus(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const struct rd_fact *others = rd_fact_get(facts, "other_gpus");

	if (rd_fact_is_unknown(facts, "gpus")) {
		rd_strbuf_add(sb, "GPUs unknown");
		return;
	}
	if (rd_fact_get_bool(facts, "host.wsl")) {
		rd_strbuf_add(sb, "GPUs belong to Windows");
		return;
	}
	rd_strbuf_add(sb, "no AMD GPU");
	if (rd_fact_count(others) == 1)
		rd_strbuf_addf(sb, ", another vendor's (%s)", rd_fact_get_str(rd_fact_at(others, 0), "vendor_id"));
	else if (rd_fact_count(others))
		rd_strbuf_addf(sb, ", %zu of other vendors", rd_fact_count(others));
}

char *rd_host_headline(const struct rd_fact *facts)
{
	rd_auto_strbuf struct rd_strbuf gpus = RD_STRBUF_INIT;
	struct rd_strbuf sb = RD_STRBUF_INIT;
	const char *id = rd_fact_get_str(facts, "host.os.id"), *release = rd_fact_get_str(facts, "host.os.version_id");
	const char *kernel = rd_fact_get_str(facts, "host.kernel.release");
	const char *user = rd_fact_get_str(facts, "host.user.name");

	if (*id)
		rd_strbuf_addf(&sb, "%s%s%s", id, *release ? " " : "", release);
	else
		rd_strbuf_add(&sb, "unknown system");
	if (*kernel)
		rd_strbuf_addf(&sb, ", kernel %s", kernel);
	add_gpus(&gpus, facts, true);
	if (!gpus.len)
		add_other_gpus(&gpus, facts);
	rd_strbuf_addf(&sb, ", %s", gpus.buf);
	if (*user)
		rd_strbuf_addf(&sb, ", user %s", user);
	else if (rd_fact_is_known(facts, "host.user.uid"))
		rd_strbuf_addf(&sb, ", uid %" PRId64, rd_fact_get_int(facts, "host.user.uid"));
	return rd_strbuf_detach(&sb);
}

static void host(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const char *container = rd_fact_get_str(facts, "host.container");
	const char *vm = rd_fact_get_str(facts, "host.virtualization");
	const char *cloud = rd_fact_get_str(facts, "host.cloud.vendor");

	if (rd_fact_get_bool(facts, "host.wsl"))
		rd_strbuf_add(sb, "WSL");
	else if (*container)
		rd_strbuf_addf(sb, "%s container", container);
	else if (*vm)
		rd_strbuf_addf(sb, "virtual machine (%s)", vm);
	else if (rd_fact_is_known(facts, "host.virtualization") ||
	         rd_fact_state(rd_fact_get(facts, "host.virtualization")) == RD_FACT_ABSENT)
		rd_strbuf_add(sb, "bare metal");
	if (*cloud) {
		comma(sb);
		rd_strbuf_add(sb, cloud);
	}
	if (rd_fact_is_known(facts, "host.secure_boot") && !*container) {
		comma(sb);
		rd_strbuf_addf(sb, "Secure Boot %s", rd_fact_get_bool(facts, "host.secure_boot") ? "on" : "off");
	}
	if (rd_fact_get_int(facts, "host.memory_bytes") > 0) {
		comma(sb);
		rd_strbuf_addf(sb, "%" PRId64 " GiB memory", (rd_fact_get_int(facts, "host.memory_bytes") + (1 << 29)) >> 30);
	}
}

/* "PCIe 5.0 x16" where every GPU that says has the same. */
static void add_link(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	static const struct {
		double gts;
		const char *name;
	} generations[] = { { 2.5, "1.0" }, { 5, "2.0" }, { 8, "3.0" }, { 16, "4.0" }, { 32, "5.0" }, { 64, "6.0" } };
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");
	double speed = rd_fact_get_real(rd_fact_at(gpus, 0), "pci.max_link_speed_gts");
	int64_t width = rd_fact_get_int(rd_fact_at(gpus, 0), "pci.link_width");

	for (size_t i = 1; i < rd_fact_count(gpus); i++)
		if (rd_fact_get_real(rd_fact_at(gpus, i), "pci.max_link_speed_gts") != speed ||
		    rd_fact_get_int(rd_fact_at(gpus, i), "pci.link_width") != width)
			return;
	for (size_t i = 0; i < RD_ARRAY_SIZE(generations) && width > 0; i++)
		if (generations[i].gts == speed)
			rd_strbuf_addf(sb, ", PCIe %s x%" PRId64, generations[i].name, width);
}

static void hardware(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	add_gpus(sb, facts, false);
	if (!sb->len) {
		add_other_gpus(sb, facts);
		return;
	}
	add_link(sb, facts);
	if (rd_fact_count(rd_fact_get(facts, "gpus")) == 1) {
		int64_t vram = rd_fact_get_int(facts, "gpus[0].vram_bytes");

		if (vram > 0)
			rd_strbuf_addf(sb, ", %" PRId64 " GiB", (vram + (1 << 29)) >> 30);
		if (rd_fact_is_known(facts, "gpus[0].health.temperature_c"))
			rd_strbuf_addf(sb, ", %.0f C", rd_fact_get_real(facts, "gpus[0].health.temperature_c"));
	}
}

static void kernel(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const char *state = rd_fact_get_str(facts, "kernel.amdgpu.state");
	const char *version = rd_fact_get_str(facts, "kernel.amdgpu.version");
	const char *release = rd_fact_get_str(facts, "host.kernel.release");

	if (rd_fact_get_bool(facts, "host.wsl")) {
		rd_strbuf_add(sb, "the driver runs in Windows");
		return;
	}
	if (!*state) {
		rd_strbuf_addf(sb, "kernel %s", *release ? release : "unknown");
		return;
	}
	rd_strbuf_add(sb, "amdgpu ");
	if (*version)
		rd_strbuf_addf(sb, "%s ", version);
	if (*rd_fact_get_str(facts, "kernel.amdgpu.origin"))
		rd_strbuf_addf(sb, "(%s) ", rd_fact_get_str(facts, "kernel.amdgpu.origin"));
	rd_strbuf_add(sb, rd_streq(state, "builtin") ? "built in" : state);
	if (*release)
		rd_strbuf_addf(sb, ", kernel %s", release);
}

/* Access is judged for one user, who need not be the one that asks. */
static void device(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const char *name = rd_fact_get_str(facts, "host.user.name"), *user = *name ? name : "the user";
	const struct rd_fact *render = rd_fact_get(facts, "device.render");
	size_t accessible = 0, n = rd_fact_count(render);

	for (size_t i = 0; i < n; i++)
		accessible += rd_fact_get_bool(rd_fact_at(render, i), "accessible");
	if (rd_fact_get_bool(facts, "host.wsl"))
		rd_strbuf_add(sb, "/dev/dxg stands for /dev/kfd here");
	else if (rd_fact_is_unknown(facts, "device.kfd.exists"))
		rd_strbuf_add(sb, "device nodes not known");
	else if (!rd_fact_get_bool(facts, "device.kfd.exists"))
		rd_strbuf_add(sb, "no /dev/kfd");
	else if (!rd_fact_get_bool(facts, "device.kfd.accessible"))
		rd_strbuf_add(sb, "/dev/kfd is there");
	else if (n == 1 && accessible == 1)
		rd_strbuf_addf(sb, "/dev/kfd and %s open for %s", rd_fact_get_str(rd_fact_at(render, 0), "path"), user);
	else
		rd_strbuf_addf(sb, "/dev/kfd and %zu of %zu render nodes open for %s", accessible, n, user);
}

/* The releases that are installed; a folder without one (/opt/rocm that only leads to others) where there is no other. */
static void runtime(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const struct rd_fact *roots = rd_fact_get(facts, "runtime.rocm");
	size_t shown = 0, n = 0;

	for (size_t i = 0; i < rd_fact_count(roots); i++)
		n += *rd_fact_get_str(rd_fact_at(roots, i), "version") != '\0';
	for (size_t i = 0; i < rd_fact_count(roots) && shown < 3; i++) {
		const struct rd_fact *root = rd_fact_at(roots, i);
		const char *version = rd_fact_get_str(root, "version");

		if (!*version && n)
			continue;
		comma(sb);
		rd_strbuf_addf(sb, "ROCm%s%s in %s", *version ? " " : "", version, rd_fact_get_str(root, "root"));
		shown++;
	}
	n = n ? n : rd_fact_count(roots);
	if (n > shown)
		rd_strbuf_addf(sb, " and %zu more", n - shown);
	if (!sb->len)
		rd_strbuf_add(sb, rd_fact_is_unknown(facts, "runtime.rocm") ? "ROCm not known" : "no ROCm installed");
}

static void framework(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	const struct rd_fact *environments = rd_fact_get(facts, "python");
	size_t more = 0;

	for (size_t i = 0; i < rd_fact_count(environments); i++) {
		const struct rd_fact *env = rd_fact_at(environments, i);
		const char *version = rd_fact_get_str(env, "torch.version");

		if (!*version)
			continue;
		if (sb->len) {
			more++;
			continue;
		}
		rd_strbuf_addf(sb, "torch %s in %s", version, rd_fact_get_str(env, "prefix"));
	}
	if (more)
		rd_strbuf_addf(sb, " and %zu more", more);
	if (!sb->len)
		rd_strbuf_add(sb,
		              rd_fact_is_unknown(facts, "python") ? "Python environments not known" : "no PyTorch installed");
}

static void engine(struct rd_strbuf *sb, const struct rd_fact *facts)
{
	static const struct {
		const char *key, *name;
	} names[] = {
		{ "vllm", "vLLM" },           { "sglang", "SGLang" },         { "ollama", "Ollama" },
		{ "llama_cpp", "llama.cpp" }, { "flash_attn", "flash-attn" }, { "bitsandbytes", "bitsandbytes" },
	};
	const struct rd_fact *engines = rd_fact_get(facts, "engines");
	bool known = false;

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		const struct rd_fact *list = rd_fact_child(engines, names[i].key);
		const char *version = rd_fact_get_str(rd_fact_at(list, 0), "version");

		known = known || rd_fact_state(list) != RD_FACT_UNKNOWN;
		if (!rd_fact_count(list))
			continue;
		comma(sb);
		rd_strbuf_addf(sb, "%s%s%s", names[i].name, *version ? " " : "", version);
	}
	if (!sb->len)
		rd_strbuf_add(sb, known ? "none installed" : "not known");
}

char *rd_layer_summary(enum rd_layer layer, const struct rd_fact *facts)
{
	static void (*const summaries[RD_LAYER_COUNT])(struct rd_strbuf *, const struct rd_fact *) = {
		[RD_LAYER_HOST] = host,     [RD_LAYER_HARDWARE] = hardware, [RD_LAYER_KERNEL] = kernel,
		[RD_LAYER_DEVICE] = device, [RD_LAYER_RUNTIME] = runtime,   [RD_LAYER_FRAMEWORK] = framework,
		[RD_LAYER_ENGINE] = engine,
	};
	struct rd_strbuf sb = RD_STRBUF_INIT;

	summaries[layer](&sb, facts);
	if (!sb.len)
		rd_strbuf_add(&sb, "not known");
	return rd_strbuf_detach(&sb);
}
