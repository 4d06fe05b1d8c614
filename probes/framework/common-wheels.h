/* What the probes of this layer that join facts with the table of wheels share. */
#pragma once

#include <stdbool.h>

struct cJSON;
struct rd_fact;
struct rd_probe_ctx;
struct rd_strv;

#define WHEELS_SOURCE "table wheels"

/* Whether a list of a row has a text. */
bool wheels_field_has(const struct cJSON *row, const char *name, const char *wanted);
/* gfx names of the host's GPUs; integrated ones only where there is no card. */
void wheels_gfx(const struct rd_probe_ctx *ctx, struct rd_strv *ret);
/* Version of a DKMS driver; "" where it is the kernel's own or not known. */
const char *wheels_driver(const struct rd_probe_ctx *ctx);
/* Is a DKMS driver new enough for a ROCm? One that the table does not know is. */
bool wheels_driver_is_enough(const struct rd_probe_ctx *ctx, const char *rocm, const char *module);
/* A package of an environment by its normalised name; NULL: not there. */
const struct rd_fact *wheels_package(const struct rd_fact *env, const char *name);
