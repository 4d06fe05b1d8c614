/* Switch off sources of apt: by address, or by product and release. */

#include <errno.h>

#include "common-sources.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	struct source_edit edit = {
		.file = rd_step_arg(step, "file"),
		.uri = rd_step_arg(step, "uri"),
		.product = rd_step_arg(step, "product"),
		.release = rd_step_arg(step, "release"),
		.disable = true,
	};
	const char *const words[] = { edit.uri, edit.product, edit.release };
	int r = 0;

	if (!edit.uri && (!edit.product || !edit.release))
		return rd_error_set(err, -EINVAL, "neither an address nor a product and its release");
	for (size_t i = 0; i < RD_ARRAY_SIZE(words) && r == 0; i++)
		r = words[i] ? source_check_word(words[i], err) : 0;
	if (r < 0)
		return r;
	rd_step_describe(step, "switch off %s in %s", edit.uri ? edit.uri : edit.release, edit.file);
	return source_edit(step, sr, &edit, err);
}

const struct rd_action rd_action_package_source_disable = {
	.name = "package.source-disable",
	.summary = "switch off a source of apt",
	.args = (const char *const[]){ "file", "uri?", "product?", "release?", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
