#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "knowledge-internal.h"
#include "rocm-doctor/error.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static int check_keys(const cJSON *json, const char *where, const char *origin, struct rd_error *err)
{
	const cJSON *child;
	size_t index = 0;

	cJSON_ArrayForEach (child, json) {
		rd_auto_free char *below =
			child->string ? rd_xasprintf("%s/%s", where, child->string) : rd_xasprintf("%s/%zu", where, index);
		int r;

		if (child->string && cJSON_GetObjectItemCaseSensitive(json, child->string) != child)
			return rd_error_set(err, -EINVAL, "%s: %s: the key stands there twice", origin, below);
		r = check_keys(child, below, origin, err);
		if (r < 0)
			return r;
		index++;
	}
	return 0;
}

cJSON *rd_json_parse(const char *text, const char *origin, struct rd_error *err)
{
	const char *end = NULL;
	cJSON *json = cJSON_ParseWithOpts(text, &end, true);

	if (!json) {
		size_t line = 1;
		const char *begin = text;

		for (const char *at = text; at < end && *at; at++) {
			if (*at == '\n') {
				line++;
				begin = at + 1;
			}
		}
		rd_error_set(err, -EINVAL, "%s: line %zu, column %zu: no JSON", origin, line,
		             end && end >= begin ? (size_t)(end - begin) + 1 : 1);
		return NULL;
	}
	if (check_keys(json, "", origin, err) < 0) {
		cJSON_Delete(json);
		return NULL;
	}
	return json;
}
