/* Memory, processors, shared memory and limits. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"

/* A file that every running kernel has: a tree without it does not tell. */
static int always_there(int r)
{
	return r == -ENOENT ? -ENODATA : r;
}

static void set_memory(struct rd_probe_ctx *ctx)
{
	static const char path[] = "/proc/meminfo";
	rd_auto_free char *text = NULL;
	char *rest, *line, *end;
	uint64_t kib;
	int r;

	r = always_there(rd_sysroot_read(ctx->sysroot, &text, path));
	rest = text;
	while (r >= 0 && (line = rd_str_next_line(&rest))) {
		if (!rd_str_has_prefix(line, "MemTotal:"))
			continue;
		end = strstr(line, "kB");
		if (end)
			*end = 0;
		r = rd_str_to_u64(line + strlen("MemTotal:"), 10, &kib);
		if (r >= 0 && kib > INT64_MAX / 1024)
			r = -ERANGE;
		if (r < 0)
			break;
		rd_fact_set_int(ctx->facts, "host.memory_bytes", (int64_t)(kib * 1024), path);
		return;
	}
	rd_fact_set_unknown(ctx->facts, "host.memory_bytes", r < 0 ? r : -EINVAL, path);
}

/* How many numbers a list like "0-3,8" holds; -EINVAL for anything else. */
static int64_t count_list(const char *text)
{
	rd_auto_strv struct rd_strv ranges = RD_STRV_INIT;
	int64_t n = 0;

	rd_strv_split(&ranges, text, ",", false);
	for (size_t i = 0; i < ranges.n; i++) {
		char *dash = strchr(ranges.v[i], '-');
		uint64_t first, last;

		if (dash)
			*dash = 0;
		if (rd_str_to_u64(ranges.v[i], 10, &first) < 0)
			return -EINVAL;
		last = first;
		if (dash && rd_str_to_u64(dash + 1, 10, &last) < 0)
			return -EINVAL;
		if (last < first || last > INT32_MAX)
			return -EINVAL;
		n += (int64_t)(last - first) + 1;
	}
	return n;
}

static void set_count(struct rd_probe_ctx *ctx, const char *fact, const char *path, bool always)
{
	rd_auto_free char *text = NULL;
	int64_t n;
	int r;

	r = rd_sysroot_read_line(ctx->sysroot, &text, path);
	if (r == -ENOENT && !always) {
		rd_fact_set_absent(ctx->facts, fact, path);
		return;
	}
	n = r < 0 ? always_there(r) : count_list(text);
	if (n < 0)
		rd_fact_set_unknown(ctx->facts, fact, (int)n, path);
	else
		rd_fact_set_int(ctx->facts, fact, n, path);
}

/* The value of "size=" among mount options in bytes; 0: no such option; -EINVAL: not understood. */
static int64_t mount_size(const char *options, int64_t memory)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, options, ",", false);
	for (size_t i = 0; i < words.n; i++) {
		char *text, *unit, letter;
		unsigned shift = 0;
		uint64_t value;

		if (!rd_str_has_prefix(words.v[i], "size="))
			continue;
		text = words.v[i] + strlen("size=");
		unit = text + strspn(text, "0123456789");
		letter = *unit;
		*unit = 0;
		if (rd_str_to_u64(text, 10, &value) < 0)
			return -EINVAL;
		if (letter == '%')
			return memory > 0 && value <= 100 ? memory / 100 * (int64_t)value + memory % 100 * (int64_t)value / 100
			                                  : -EINVAL;
		shift = letter == 'k' ? 10 : letter == 'm' ? 20 : letter == 'g' ? 30 : 0;
		if ((letter && !shift) || value > (uint64_t)INT64_MAX >> shift)
			return -EINVAL;
		return (int64_t)(value << shift);
	}
	return 0;
}

/* The size that /proc/mounts gives /dev/shm. -ENOENT: it is no mount of its own. */
static int64_t shm_of_mounts(struct rd_probe_ctx *ctx, const char *path)
{
	int64_t memory = rd_fact_get_int(ctx->facts, "host.memory_bytes"), size = -ENOENT;
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(ctx->sysroot, &text, path);
	if (r < 0)
		return always_there(r);
	rest = text;
	while ((line = rd_str_next_line(&rest))) {
		rd_auto_strv struct rd_strv fields = RD_STRV_INIT;

		rd_strv_split(&fields, line, " ", false);
		if (fields.n < 4 || !rd_streq(fields.v[1], "/dev/shm"))
			continue;
		/* The last mount covers those before it. tmpfs without a size takes half of the memory. */
		size = mount_size(fields.v[3], memory);
		if (size == 0)
			size = memory > 0 ? memory / 2 : -ENODATA;
	}
	return size;
}

static void set_shm(struct rd_probe_ctx *ctx)
{
	static const char *const mounts[] = { "/proc/self/mounts", "/proc/mounts" };
	const char *source = "statvfs(/dev/shm)";
	uint64_t available, total;
	int64_t size;
	int r;

	r = rd_sysroot_fs_free(ctx->sysroot, &available, &total, "/dev/shm");
	size = r < 0 ? r : total > INT64_MAX ? INT64_MAX : (int64_t)total;
	for (size_t i = 0; i < RD_ARRAY_SIZE(mounts) && size == -ENODATA; i++) {
		size = shm_of_mounts(ctx, mounts[i]);
		source = mounts[i];
	}
	if (size == -ENOENT)
		rd_fact_set_absent(ctx->facts, "host.shm_bytes", source);
	else if (size < 0)
		rd_fact_set_unknown(ctx->facts, "host.shm_bytes", (int)size, source);
	else
		rd_fact_set_int(ctx->facts, "host.shm_bytes", size, source);
}

/* The soft limit of one line of /proc/self/limits, whose columns stand 26 characters after the name's begin. */
static int64_t soft_limit(const char *line, const char *name)
{
	const char *at = line + strlen(name);
	char word[32];
	uint64_t value;

	if (!rd_str_has_prefix(line, name) || sscanf(at, " %31s", word) != 1)
		return -ENOENT;
	if (rd_streq(word, "unlimited"))
		return INT64_MAX;
	if (rd_str_to_u64(word, 10, &value) < 0)
		return -EINVAL;
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int64_t limit_of_file(struct rd_probe_ctx *ctx, const char *name)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	int r;

	r = rd_sysroot_read(ctx->sysroot, &text, "/proc/self/limits");
	if (r < 0)
		return always_there(r);
	rest = text;
	while ((line = rd_str_next_line(&rest)))
		if (rd_str_has_prefix(line, name))
			return soft_limit(line, name);
	return -ENODATA;
}

static void set_limit(struct rd_fact *facts, const char *fact, int64_t value, const char *source)
{
	if (value < 0)
		rd_fact_set_unknown(facts, fact, (int)value, source);
	else
		rd_fact_set_int(facts, fact, value, source);
}

static void set_limits(struct rd_probe_ctx *ctx)
{
	static const char limits[] = "/proc/self/limits";
	const char *source = "RLIMIT_MEMLOCK";
	int64_t bytes;
	int r;

	r = rd_sysroot_memlock(ctx->sysroot, &bytes);
	if (r < 0) {
		bytes = r;
		if (r == -ENODATA) {
			bytes = limit_of_file(ctx, "Max locked memory");
			source = limits;
		}
	}
	set_limit(ctx->facts, "host.limits.memlock_bytes", bytes, source);
	set_limit(ctx->facts, "host.limits.open_files", limit_of_file(ctx, "Max open files"), limits);
}

static int run(struct rd_probe_ctx *ctx)
{
	set_memory(ctx);
	set_count(ctx, "host.cpu_count", "/sys/devices/system/cpu/online", true);
	set_count(ctx, "host.numa_nodes", "/sys/devices/system/node/online", false);
	rd_probe_int(ctx, ctx->facts, "host.numa_balancing", "/proc/sys/kernel/numa_balancing");
	set_shm(ctx);
	set_limits(ctx);
	return 0;
}

const struct rd_probe rd_probe_host_resources = {
	.name = "host/resources",
	.layer = RD_LAYER_HOST,
	.summary = "memory, processors, limits",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.memory_bytes", RD_INT, "memory of the system", "/proc/meminfo" },
			{ "host.cpu_count", RD_INT, "logical processors that are online", "/sys/devices/system/cpu/online" },
			{ "host.numa_nodes", RD_INT, "memory nodes that are online; 0 without NUMA",
	                  "/sys/devices/system/node/online" },
			{ "host.numa_balancing", RD_INT, "automatic NUMA balancing: 0 off, 1 on, 2 memory tiering",
	                  "/proc/sys/kernel/numa_balancing" },
			{ "host.shm_bytes", RD_INT, "size of /dev/shm", "statvfs(/dev/shm), else /proc/self/mounts" },
			{ "host.limits.memlock_bytes", RD_INT, "soft limit of locked memory; 9223372036854775807: none",
	                  "RLIMIT_MEMLOCK" },
			{ "host.limits.open_files", RD_INT, "soft limit of open files; 9223372036854775807: none",
	                  "/proc/self/limits" },
			{ 0 },
		},
	.run = run,
};
