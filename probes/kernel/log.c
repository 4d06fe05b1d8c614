/*
 * What does the kernel log say of GPUs? Each line is held against a table of signatures; the first line of each signature
 * and GPU is kept, and how many there were.
 */

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common.h"
#include "rocm-doctor/json.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define LIST "kernel.log"
#define KMSG "kernel log"
#define SAVED "/var/log/dmesg"
/* A crash prints its registers within so many lines. */
#define CRASH_LINES 40
/* Longer lines are cut before they are matched: the kernel writes at most 1 KiB at once. */
#define LINE_MAX_BYTES 2048

struct signature {
	const char *id, *severity, *pattern;
	struct rd_strv needs; /* one of these has to be in the line */
	bool of_gpu;          /* counts only where the line names a GPU */
	/* Compiled once a line may match: most of them never are. */
	enum { UNTRIED, GOOD, BAD } state;
	regex_t regex;
};

struct signatures {
	struct signature *v;
	size_t n, allocated;
};

static void signatures_clear(struct signatures *s)
{
	for (size_t i = 0; i < s->n; i++) {
		rd_strv_clear(&s->v[i].needs);
		if (s->v[i].state == GOOD)
			regfree(&s->v[i].regex);
	}
	free(s->v);
}

static void load(const cJSON *table, struct signatures *ret)
{
	const cJSON *row, *word;

	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(table, "signatures")) {
		struct signature s = { .id = rd_json_str(row, "id"),
			               .severity = rd_json_str(row, "severity"),
			               .pattern = rd_json_str(row, "regex"),
			               .needs = RD_STRV_INIT };

		if (!s.id[0])
			continue;
		s.of_gpu = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "of_gpu"));
		cJSON_ArrayForEach (word, cJSON_GetObjectItemCaseSensitive(row, "needs")) {
			if (cJSON_IsString(word))
				rd_strv_push(&s.needs, word->valuestring);
		}
		RD_GROW(ret->v, ret->n, ret->allocated);
		ret->v[ret->n++] = s;
	}
}

/* One that does not compile is of a site's own table, and matches nothing. */
static bool compile(struct signature *s)
{
	if (s->state == UNTRIED)
		s->state = regcomp(&s->regex, s->pattern, REG_EXTENDED | REG_NOSUB) == 0 ? GOOD : BAD;
	return s->state == GOOD;
}

static bool matches(struct signature *s, const char *line)
{
	bool possible = s->needs.n == 0;

	for (size_t i = 0; i < s->needs.n && !possible; i++)
		possible = strstr(line, s->needs.v[i]) != NULL;
	return possible && compile(s) && regexec(&s->regex, line, 0, NULL, 0) == 0;
}

/* "[   12.345678] text", "<6>[...]", or Ubuntu's file, which puts "kernel: " behind the time. */
static const char *strip_stamp(const char *line, double *ret_time)
{
	const char *s = line;
	char *end;

	*ret_time = -1;
	if (*s == '<' && strchr(s, '>'))
		s = strchr(s, '>') + 1;
	if (*s == '[') {
		double value = strtod(s + 1, &end);

		if (*end == ']') {
			*ret_time = value;
			s = end + 1 + strspn(end + 1, " ");
		}
	}
	return rd_str_has_prefix(s, "kernel: ") ? s + strlen("kernel: ") : s;
}

/* The GPU a line is about: the address in it; else the only one there is, or the only one with the device id in it. */
static struct rd_fact *gpu_of(struct rd_probe_ctx *ctx, const char *line, bool *ret_named)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus"), *one = NULL;
	size_t n = rd_fact_count(gpus), hits = 0;

	*ret_named = false;
	for (size_t i = 0; i < n; i++) {
		struct rd_fact *gpu = rd_fact_at_mutable(gpus, i);
		const char *address = rd_fact_get_str(gpu, "pci.address");
		const char *device = rd_fact_get_str(gpu, "device_id");

		if (address[0] && strstr(line, address)) {
			*ret_named = true;
			return gpu;
		}
		if (rd_str_has_prefix(device, "0x")) {
			rd_auto_free char *id = rd_xasprintf("1002:%s", device + 2);

			if (strstr(line, id)) {
				one = gpu;
				hits++;
			}
		}
	}
	if (hits == 1)
		return one;
	return hits == 0 && n == 1 && (strstr(line, "amdgpu") || strstr(line, "kfd")) ? rd_fact_at_mutable(gpus, 0) : NULL;
}

static struct rd_fact *find(struct rd_fact *list, const char *signature, const char *address)
{
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		if (rd_streq(rd_fact_get_str(item, "signature"), signature) &&
		    (!address || rd_streq(rd_fact_get_str(item, "gpu"), address)))
			return item;
	}
	return NULL;
}

/* One more line of a signature, in the list of the host or of a GPU. */
static void count(struct rd_fact *at, const char *list, const struct signature *s, const char *address, const char *line,
                  const char *source)
{
	struct rd_fact *item = find(rd_fact_get_mutable(at, list), s->id, address);
	double time;

	if (item) {
		rd_fact_set_int(item, "count", rd_fact_get_int(item, "count") + 1, source);
		return;
	}
	item = rd_fact_append(at, list, source);
	rd_fact_set_str(item, "signature", s->id, source);
	rd_fact_set_str(item, "severity", s->severity, source);
	if (address)
		rd_fact_set_str(item, "gpu", address, source);
	rd_fact_set_int(item, "count", 1, source);
	rd_fact_set_str(item, "line", strip_stamp(line, &time), source);
	if (time >= 0)
		rd_fact_set_real(item, "time_s", time, source);
}

struct reader {
	struct rd_probe_ctx *ctx;
	struct signatures *signatures;
	const char *source;
	size_t number, crash; /* of this line, of the last crash */
};

static void take_line(struct reader *rd, const char *line)
{
	for (size_t i = 0; i < rd->signatures->n; i++) {
		struct signature *s = &rd->signatures->v[i];
		struct rd_fact *gpu;
		bool named;

		if (!matches(s, line))
			continue;
		/* A crash is the kernel's; it is amdgpu's where its registers point into the module soon after. */
		if (rd_streq(s->id, "crash")) {
			rd->crash = rd->number;
			continue;
		}
		if (rd_streq(s->id, "crash-in-amdgpu") && (rd->crash == 0 || rd->number - rd->crash > CRASH_LINES))
			continue;
		gpu = gpu_of(rd->ctx, line, &named);
		if (s->of_gpu && !named)
			continue;
		count(rd->ctx->facts, LIST, s, gpu ? rd_fact_get_str(gpu, "pci.address") : "", line, rd->source);
		if (gpu)
			count(gpu, "kernel_log", s, NULL, line, rd->source);
	}
}

static void take_log(struct rd_probe_ctx *ctx, struct signatures *signatures, char *text, const char *source)
{
	struct reader rd = { .ctx = ctx, .signatures = signatures, .source = source };
	char *rest = text, *line;

	while ((line = rd_str_next_line(&rest))) {
		rd.number++;
		if (strlen(line) > LINE_MAX_BYTES)
			line[LINE_MAX_BYTES] = '\0';
		for (char *c = line; *c; c++) {
			if (iscntrl((unsigned char)*c))
				*c = ' ';
		}
		take_line(&rd, line);
	}
}

static void mark_unknown(struct rd_probe_ctx *ctx, int r)
{
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");

	rd_fact_set_unknown(ctx->facts, LIST, r, KMSG);
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_fact_set_unknown(rd_fact_at_mutable(gpus, i), "kernel_log", r, KMSG);
}

static int run(struct rd_probe_ctx *ctx)
{
	rd_auto(signatures_clear) struct signatures signatures = { 0 };
	const cJSON *table = rd_knowledge_table(ctx->knowledge, "log_signatures");
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus");
	const char *source = KMSG;
	rd_auto_free char *text = NULL;
	int r = rd_sysroot_kmsg(ctx->sysroot, &text);

	/* The log of this boot as some distributions keep it; an image's is that of no boot at all. */
	if (r < 0 && !kernel_in_container(ctx) && rd_sysroot_read(ctx->sysroot, &text, SAVED) >= 0) {
		source = SAVED;
		r = 0;
	}
	if (r >= 0 && !table)
		r = -ENODATA;
	if (r < 0) {
		mark_unknown(ctx, r == -ENOENT ? -ENODATA : r);
		return 0;
	}
	rd_fact_set_list(ctx->facts, LIST, source);
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		rd_fact_set_list(rd_fact_at_mutable(gpus, i), "kernel_log", source);
	load(table, &signatures);
	take_log(ctx, &signatures, text, source);
	return 0;
}

#define SOURCE "/dev/kmsg, else " SAVED

const struct rd_probe rd_probe_kernel_log = {
	.name = "kernel/log",
	.layer = RD_LAYER_KERNEL,
	.summary = "signatures in the kernel log",
	.facts =
		(const struct rd_fact_decl[]){
			{ LIST "[]", RD_LIST, "what the kernel log says of GPUs, one entry a signature and GPU, in its order",
	                  SOURCE },
			{ LIST "[].signature", RD_STR, "id in the table log_signatures", SOURCE },
			{ LIST "[].severity", RD_STR, "ok, info, warn or error", "table log_signatures" },
			{ LIST "[].line", RD_STR, "the first line, without its time", SOURCE },
			{ LIST "[].time_s", RD_REAL, "when it was written, seconds after boot", SOURCE },
			{ LIST "[].count", RD_INT, "how many such lines there are", SOURCE },
			{ LIST "[].gpu", RD_STR, "PCI address of the GPU; empty where the line does not say", SOURCE },
			{ "gpus[].kernel_log[]", RD_LIST, "what the kernel log says of this GPU, in its order", SOURCE },
			{ "gpus[].kernel_log[].signature", RD_STR, "id in the table log_signatures", SOURCE },
			{ "gpus[].kernel_log[].severity", RD_STR, "ok, info, warn or error", "table log_signatures" },
			{ "gpus[].kernel_log[].line", RD_STR, "the first line, without its time", SOURCE },
			{ "gpus[].kernel_log[].time_s", RD_REAL, "when it was written, seconds after boot", SOURCE },
			{ "gpus[].kernel_log[].count", RD_INT, "how many such lines there are", SOURCE },
			{ 0 },
		},
	.run = run,
};
