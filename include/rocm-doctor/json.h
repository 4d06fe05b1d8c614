/*
 * A quick reader of JSON for what is most often plain: values side by side in a pool, strings where they stand in the text. What
 * it does not know (\u, numbers past 1e18, deep nesting, every error) it leaves to cJSON.
 */
#pragma once

#include "rocm-doctor/macros.h"

struct cJSON;
struct rd_pool;

/*
 * rd_json_read_quickly - the values of a NUL-terminated text
 * @text: is changed, also on failure, and must stay as long as the values
 * @pool: for the values, which are to be read by the getters of cJSON, and never for cJSON_Delete
 *
 * Returns the values that cJSON would read, or NULL where cJSON has to read, or to refuse, a text like this.
 */
struct cJSON *rd_json_read_quickly(char *text, struct rd_pool *pool) RD_MUST_CHECK;

/* The text of a member; "" where there is none. For values of cJSON as well. */
const char *rd_json_str(const struct cJSON *object, const char *key);
