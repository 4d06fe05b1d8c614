/* Which facts exist: the declarations of all probes as one tree, against which rules are checked when they are loaded. */
#pragma once

#include <stddef.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/macros.h"

struct rd_error;
struct rd_probe;
struct rd_schema;

/*
 * rd_schema_new - collect the declarations of @probes
 *
 * Returns 0, or -EEXIST where two probes declare one fact with unlike kinds.
 */
int rd_schema_new(const struct rd_probe *const *probes, size_t n, struct rd_schema **ret, struct rd_error *err) RD_MUST_CHECK;
struct rd_schema *rd_schema_free(struct rd_schema *schema);

const struct rd_schema *rd_schema_root(const struct rd_schema *schema);
/* The child of an object, or of a list's item; NULL where none is declared. */
const struct rd_schema *rd_schema_child(const struct rd_schema *at, const char *name);
enum rd_kind rd_schema_kind(const struct rd_schema *at);
enum rd_version_scheme rd_schema_scheme(const struct rd_schema *at);
/* The declaration and the probe that made it; NULL for an object that is only a step of paths. */
const struct rd_fact_decl *rd_schema_decl(const struct rd_schema *at);
const struct rd_probe *rd_schema_probe(const struct rd_schema *at);
/* Children in the order of declaration. */
size_t rd_schema_count(const struct rd_schema *at);
const struct rd_schema *rd_schema_at(const struct rd_schema *at, size_t index);
const char *rd_schema_name(const struct rd_schema *at);

/* The declaration behind a path with or without indexes ("gpus[0].name", "gpus[].name"); NULL where there is none. */
const struct rd_schema *rd_schema_lookup(const struct rd_schema *root, const char *path);
/* Every declared fact below @root, in the order of declaration. */
void rd_schema_walk(const struct rd_schema *root, void (*visit)(const struct rd_schema *at, void *data), void *data);
