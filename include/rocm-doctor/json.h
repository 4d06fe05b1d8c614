/*
 * A quick reader of JSON for what is most often plain: one block of memory for many values, strings where they stand in a copy
 * of the text. What it does not know (\u, numbers past 1e18, deep nesting, every error) it leaves to cJSON.
 */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"

struct cJSON;

struct rd_json {
	struct cJSON *root; /* to be read by the getters of cJSON; never for cJSON_Delete */
	struct rd_json_block *blocks;
	char *text;
};

/*
 * rd_json_read_quickly - the values of a NUL-terminated text
 * @ret: zeroed before
 *
 * Returns true where they are what cJSON would read; false, and nothing to clear, where cJSON has to read, or to refuse, it.
 */
bool rd_json_read_quickly(const char *text, struct rd_json *ret) RD_MUST_CHECK;
void rd_json_clear(struct rd_json *doc);
/* All but the text, in which the strings of the values are. Returns NULL. */
struct cJSON *rd_json_drop_values(struct rd_json *doc);

/* The text of a member; "" where there is none. For values of cJSON as well. */
const char *rd_json_str(const struct cJSON *object, const char *key);
