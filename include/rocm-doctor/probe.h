/* A probe looks at one part of the host and writes facts. It never judges, prints or changes anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/layer.h"
#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_knowledge;
struct rd_probe;
struct rd_sysroot;
struct rd_strv;

enum {
	/* Pure: reads tables and the facts of every other probe, not the host; runs after all that look. */
	RD_PROBE_PURE = 1u << 0,
};

/* What the person asked for that a probe must know. */
struct rd_probe_options {
	const char *profile;           /* --profile, NULL for the default one */
	const struct rd_strv *pythons; /* --python, NULL or empty: discover */
	bool active;                   /* --active */
	bool network;                  /* --network */
	uint64_t deadline_ms;          /* of CLOCK_MONOTONIC; what was not read by then is unknown; 0: none */
	/* Called before each probe, for showing progress; may be NULL. */
	void (*progress)(const struct rd_probe *next);
};

struct rd_probe_ctx {
	struct rd_sysroot *sysroot;
	struct rd_fact *facts;                /* the root of all facts */
	const struct rd_knowledge *knowledge; /* tables; NULL in some unit tests */
	const struct rd_probe_options *options;
};

struct rd_probe {
	const char *name; /* "kernel/kfd": the file's path below probes/ */
	enum rd_layer layer;
	unsigned flags;
	const char *after; /* a probe of the same layer whose facts this one reads, or NULL */
	/*
	 * Facts of others without which nothing follows, ending with NULL; NULL for none. While one of them is unknown, what the
	 * probe leaves unset is unknown for the same reason.
	 */
	const char *const *needs;
	const char *summary;
	const struct rd_fact_decl *facts; /* ends with a zeroed row */
	/*
	 * Returns 0 when it has looked for all that it declares: what it left unset is absent. A negative errno makes what it
	 * left unset unknown with that reason, so "return r" is always safe.
	 */
	int (*run)(struct rd_probe_ctx *ctx);
};

/* All probes in the order in which they run; written by the build from the files below probes/. */
extern const struct rd_probe *const rd_probes[];
extern const size_t rd_probes_n;

/* Run one probe with its own facts settled afterwards, as above. Returns what the probe returned. */
int rd_probe_run_ctx(const struct rd_probe *probe, struct rd_probe_ctx *ctx);
/* The same over a sysroot alone, for tests: no knowledge, no options. */
int rd_probe_run(const struct rd_probe *probe, struct rd_sysroot *sr, struct rd_fact *facts);
/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t rd_now_ms(void);
/* Run all of them. */
void rd_probes_run(struct rd_probe_ctx *ctx);

/*
 * Read one attribute into one fact: known as read, absent on -ENOENT (and -EINVAL, -ENODEV, -EOPNOTSUPP of a driver that has
 * no such value), unknown on any other error. Return 0, or the error that made it unknown.
 */
int rd_probe_str(struct rd_probe_ctx *ctx, struct rd_fact *at, const char *path, const char *format, ...) RD_PRINTF(4, 5);
int rd_probe_int(struct rd_probe_ctx *ctx, struct rd_fact *at, const char *path, const char *format, ...) RD_PRINTF(4, 5);
