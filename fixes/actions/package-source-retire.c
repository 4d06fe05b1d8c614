/*
 * Switch off a source of apt once what replaces it is installed. Undone first, it is there again when the packages go back to
 * the versions that it has.
 */

#include <errno.h>

#include "common-sources.h"
#include "rocm-doctor/action.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	struct source_edit edit = { .file = rd_step_arg(step, "file"), .uri = rd_step_arg(step, "uri"), .disable = true };
	int r = source_check_word(edit.uri, err);

	if (r < 0)
		return r;
	rd_step_describe(step, "switch off %s in %s", edit.uri, edit.file);
	return source_edit(step, sr, &edit, err);
}

const struct rd_action rd_action_package_source_retire = {
	.name = "package.source-retire",
	.summary = "switch off a source of apt that another one replaces",
	.args = (const char *const[]){ "file", "uri", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
