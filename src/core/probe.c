#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* How it ended: an error, or a fact without which nothing follows; else it has looked at all. */
struct outcome {
	int r;
	const struct rd_fact *lacking;
};

static void settle_leaf(struct rd_fact *at, const char *path, const struct rd_fact_decl *decl, const struct outcome *outcome)
{
	if (outcome->r < 0)
		rd_fact_set_unknown(at, path, outcome->r, decl->source);
	else if (outcome->lacking && decl->kind != RD_OBJECT)
		rd_fact_set_unknown_why(at, path, rd_fact_reason(outcome->lacking), rd_fact_source(outcome->lacking));
	else if (decl->kind == RD_LIST || decl->kind == RD_STRS)
		rd_fact_set_list(at, path, decl->source);
	else if (decl->kind == RD_MAP)
		rd_fact_set_map(at, path, decl->source);
	else if (decl->kind != RD_OBJECT)
		rd_fact_set_absent(at, path, decl->source);
}

/* Set what a declaration promises and the probe left out, in every item of the lists on the way. */
static void settle(struct rd_fact *at, const char *path, const struct rd_fact_decl *decl, const struct outcome *outcome)
{
	const char *left;
	struct rd_fact *f = rd_fact_follow(at, path, &left);

	if (rd_str_has_prefix(left, "[].")) {
		for (size_t i = 0; i < rd_fact_count(f) && rd_fact_kind(f) == RD_LIST; i++)
			settle(rd_fact_at_mutable(f, i), left + 3, decl, outcome);
		return;
	}
	/* Nothing is set in a list that is not there, nor below what has been given up as a whole. */
	if (*left && *left != '[' && *left != '{' && rd_fact_state(f) == RD_FACT_KNOWN && !strstr(left, "[]."))
		settle_leaf(at, path, decl, outcome);
}

uint64_t rd_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_late(const struct rd_probe_options *options)
{
	return options && options->deadline_ms && rd_now_ms() >= options->deadline_ms;
}

static const struct rd_fact *lacking(const struct rd_probe *probe, const struct rd_fact *facts)
{
	for (const char *const *need = probe->needs; need && *need; need++)
		if (rd_fact_is_unknown(facts, *need))
			return rd_fact_get(facts, *need);
	return NULL;
}

int rd_probe_run_ctx(const struct rd_probe *probe, struct rd_probe_ctx *ctx)
{
	struct outcome outcome;
	int r;

	if (ctx->options && ctx->options->progress)
		ctx->options->progress(probe);
	r = is_late(ctx->options) ? -ETIMEDOUT : probe->run(ctx);
	if (r < 0)
		rd_log_debug("probe %s: %s", probe->name, rd_strerror(r));
	outcome = (struct outcome){ r, lacking(probe, ctx->facts) };
	for (const struct rd_fact_decl *d = probe->facts; d && d->path; d++)
		settle(ctx->facts, d->path, d, &outcome);
	return r;
}

int rd_probe_run(const struct rd_probe *probe, struct rd_sysroot *sr, struct rd_fact *facts)
{
	static const struct rd_probe_options no_options;
	struct rd_probe_ctx ctx = { .sysroot = sr, .facts = facts, .options = &no_options };

	return rd_probe_run_ctx(probe, &ctx);
}

static bool has_run(const char *name, const bool *done)
{
	for (size_t i = 0; i < rd_probes_n; i++)
		if (rd_streq(rd_probes[i]->name, name))
			return done[i];
	return true;
}

/* One pass over the probes of a layer; those that wait for another of their layer come in a later pass. */
static bool pass(struct rd_probe_ctx *ctx, unsigned pure, unsigned layer, bool *done)
{
	bool ran = false;

	for (size_t i = 0; i < rd_probes_n; i++) {
		const struct rd_probe *p = rd_probes[i];

		if (done[i] || p->layer != layer || (p->flags & RD_PROBE_PURE) != pure)
			continue;
		if (p->after && !has_run(p->after, done))
			continue;
		rd_probe_run_ctx(p, ctx);
		done[i] = ran = true;
	}
	return ran;
}

void rd_probes_run(struct rd_probe_ctx *ctx)
{
	static const unsigned rounds[] = { 0, RD_PROBE_PURE };
	bool *done = rd_xcalloc(rd_probes_n, sizeof(*done));

	for (size_t round = 0; round < RD_ARRAY_SIZE(rounds); round++)
		for (unsigned layer = 0; layer < RD_LAYER_COUNT; layer++)
			while (pass(ctx, rounds[round], layer, done))
				;
	free(done);
}

/* A driver that knows no such value answers in one of these ways. */
static bool means_absent(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -ENODEV || r == -EOPNOTSUPP || r == -ENXIO;
}

static int settle_error(struct rd_fact *at, const char *path, int r, const char *file)
{
	if (means_absent(r)) {
		rd_fact_set_absent(at, path, file);
		return 0;
	}
	rd_fact_set_unknown(at, path, r, file);
	return r;
}

int rd_probe_str(struct rd_probe_ctx *ctx, struct rd_fact *at, const char *path, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf file = RD_STRBUF_INIT;
	rd_auto_free char *text = NULL;
	va_list ap;
	int r;

	va_start(ap, format);
	rd_strbuf_vaddf(&file, format, ap);
	va_end(ap);
	r = rd_sysroot_read_line(ctx->sysroot, &text, file.buf);
	if (r < 0)
		return settle_error(at, path, r, file.buf);
	rd_fact_set_str(at, path, text, file.buf);
	return 0;
}

int rd_probe_int(struct rd_probe_ctx *ctx, struct rd_fact *at, const char *path, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf file = RD_STRBUF_INIT;
	rd_auto_free char *text = NULL;
	int64_t value;
	va_list ap;
	int r;

	va_start(ap, format);
	rd_strbuf_vaddf(&file, format, ap);
	va_end(ap);
	r = rd_sysroot_read_line(ctx->sysroot, &text, file.buf);
	if (r < 0)
		return settle_error(at, path, r, file.buf);
	r = rd_str_to_i64(text, 0, &value);
	if (r < 0) {
		rd_fact_set_unknown_why(at, path, "not a number", file.buf);
		return r;
	}
	rd_fact_set_int(at, path, value, file.buf);
	return 0;
}
