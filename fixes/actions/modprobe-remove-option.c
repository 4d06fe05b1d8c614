/* Take a parameter of a module out of all "options" lines. */

#include <errno.h>
#include <string.h>

#include "common-modprobe.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"

struct option {
	const char *module, *parameter;
};

static bool sets(const char *word, const char *parameter)
{
	size_t len = strlen(parameter);

	return strncmp(word, parameter, len) == 0 && (word[len] == '=' || !word[len]);
}

/* The old line stays above as a comment; without another parameter nothing else is left of it. */
static bool take_out(const char *line, struct rd_strbuf *out, void *data)
{
	const struct option *o = data;
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf left = RD_STRBUF_INIT;
	bool found = false, others = false;

	rd_strv_split(&words, line, " \t", false);
	if (words.n < 3 || !rd_streq(words.v[0], "options") || !modprobe_same_module(words.v[1], o->module))
		return false;
	rd_strbuf_addf(&left, "options %s", words.v[1]);
	for (size_t i = 2; i < words.n; i++) {
		if (sets(words.v[i], o->parameter)) {
			found = true;
			continue;
		}
		others = true;
		rd_strbuf_addf(&left, " %s", words.v[i]);
	}
	if (!found)
		return false;
	rd_strbuf_addf(out, FIX_OFF "%s%s%s", line, others ? "\n" : "", others ? left.buf : "");
	return true;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	struct option o = { rd_step_arg(step, "module"), rd_step_arg(step, "parameter") };
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = fix_check_word(o.module, err);

	if (r == 0)
		r = fix_check_word(o.parameter, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "load %s without the parameter %s", o.module, o.parameter);
	r = rd_sysroot_glob(sr, &files, "/etc/modprobe.d/*.conf");
	if (r < 0)
		return fix_unable(err, "cannot look into '/etc/modprobe.d': %s", rd_strerror(r));
	for (size_t i = 0; i < files.n && r == 0; i++)
		r = fix_edit(step, sr, files.v[i], take_out, &o, err);
	return r;
}

const struct rd_action rd_action_modprobe_remove_option = {
	.name = "modprobe.remove-option",
	.summary = "load a kernel module without a parameter",
	.args = (const char *const[]){ "module", "parameter", NULL },
	.flags = RD_ACTION_ROOT,
	.phase = RD_PHASE_FILE,
	.lower = lower,
};
