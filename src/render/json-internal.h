/* Facts and strings as cJSON, shared by the JSON outputs. */
#pragma once

#include <stdio.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/facts.h"

struct rd_schema;

/* A fact by its declared kind: absent is false, 0, "", [] or {}; unknown is null. @schema NULL: by the fact's own kind. */
cJSON *rd_json_fact(const struct rd_fact *f, const struct rd_schema *schema);

/* All that is declared below an object, set or not. */
cJSON *rd_json_object(const struct rd_fact *f, const struct rd_schema *schema);

cJSON *rd_json_tool(const char *knowledge_version);
