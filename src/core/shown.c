/* What of a plan may be shown: files that are edited hold passwords and tokens of others. */

#include <string.h>

#include "rocm-doctor/plan.h"
#include "util/cleanup.h"
#include "util/redact.h"
#include "util/str.h"
#include "util/xalloc.h"

char *rd_effect_diff(const struct rd_effect *e)
{
	char *diff = rd_diff(e->path, e->before, e->after);

	rd_redact(diff);
	return diff;
}

static bool holds_secret(const char *text)
{
	rd_auto_free char *shown = text ? rd_xstrdup(text) : NULL;

	if (!shown)
		return false;
	rd_redact(shown);
	return !rd_streq(shown, text);
}

static bool shows_secret(const struct rd_effect *e)
{
	for (size_t i = 0; e->argv && e->argv[i]; i++)
		if (holds_secret(e->argv[i]))
			return true;
	return holds_secret(e->after);
}

const char *rd_plan_secret(const struct rd_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++) {
			const struct rd_effect *e = &plan->steps[i]->effects[j];

			if (shows_secret(e))
				return e->path ? e->path : e->argv[0];
		}
	return NULL;
}
