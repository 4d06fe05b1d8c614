/* What holds for whatever was read out of any bytes. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/reader.h"
#include "util/strv.h"
#include "util/xalloc.h"

static void check_sets(const struct rd_fatbin *f)
{
	size_t bundles = 0;

	for (size_t i = 0; i < f->sets_n; i++) {
		bundles += f->sets[i].bundles;
		for (size_t k = 0; k < f->sets[i].n; k++)
			if (f->sets[i].targets[k] >= f->targets_n || (k && f->sets[i].targets[k] <= f->sets[i].targets[k - 1]))
				abort();
	}
	if (bundles > f->bundles_read || f->bundles_read > f->bundles)
		abort();
}

static void check_targets(const struct rd_fatbin *f)
{
	static const char *const gpus[] = { "gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx906" };

	for (size_t i = 0; i < f->targets_n; i++) {
		struct rd_target_id id;

		if (rd_target_parse(f->targets[i].text, &id) < 0 || rd_target_compare(&id, &f->targets[i].id) != 0)
			abort();
		if (i && rd_target_compare(&f->targets[i - 1].id, &f->targets[i].id) > 0)
			abort();
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(gpus); i++) {
		struct rd_agent agent;
		struct rd_coverage c;

		rd_agent_init(&agent, gpus[i]);
		c = rd_fatbin_covers(f, &agent);
		if (c.least > c.runs || c.bundles_without > f->bundles)
			abort();
		/* Damage is never told as absence. */
		if (f->has_code_unknown && c.runs == RD_RUNS_NO)
			abort();
	}
}

/* @prefix goes before the bytes, so that they are not refused at their first. */
static inline int fuzz_fatbin(const void *prefix, size_t prefix_len, const uint8_t *data, size_t size)
{
	unsigned char *bytes = rd_xmalloc(prefix_len + size + 1);
	struct rd_reader reader = rd_reader_of_bytes(bytes, prefix_len + size);
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fatbin *f = NULL;

	memcpy(bytes, prefix, prefix_len);
	if (size)
		memcpy(bytes + prefix_len, data, size);
	if (rd_fatbin_scan(&reader, 0, &f, &err) == 0) {
		check_sets(f);
		check_targets(f);
	} else if (f || !err.message) {
		abort();
	}
	rd_fatbin_free(f);
	rd_error_clear(&err);
	free(bytes);
	return 0;
}
