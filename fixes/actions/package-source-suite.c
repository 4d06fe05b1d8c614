/* Point one of apt's sources at the release of this system. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-sources.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"

/* "ubuntu2404": repositories from ROCm 7.9 on name the system in the address, older ones have a suite a system. */
static bool is_system(const char *word)
{
	size_t letters = strcspn(word, "0123456789");

	return letters > 0 && word[letters] && word[letters + strspn(word + letters, "0123456789")] == '\0';
}

/* The address with the part that names a system replaced; NULL where none does. Caller frees. */
static char *other_system(const char *uri, const char *system)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	bool found = false;

	while (*uri) {
		size_t n = strcspn(uri, "/");
		rd_auto_free char *part = strndup(uri, n);

		if (part && is_system(part)) {
			rd_strbuf_add(&sb, system);
			found = true;
		} else {
			rd_strbuf_addn(&sb, uri, n);
		}
		uri += n;
		if (*uri == '/')
			rd_strbuf_addc(&sb, *uri++);
	}
	return found ? rd_strbuf_detach(&sb) : NULL;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *uri = rd_step_arg(step, "uri"), *to = rd_step_arg(step, "to"), *from = rd_step_arg(step, "from");
	struct source_edit edit = { .file = rd_step_arg(step, "file"), .uri = uri, .suite = from };
	rd_auto_free char *new_uri = NULL;
	int r = source_check_word(uri, err);

	if (r == 0)
		r = source_check_word(from, err);
	if (r == 0)
		r = rd_arg_check_name(to, err);
	if (r == 0 && strpbrk(to, ":@~"))
		r = rd_error_set(err, -EINVAL, "'%s' is not a release of a system", to);
	if (r < 0)
		return r;
	/* As it was told, without user and password: an address made of that would lose them. */
	if (is_system(to) && strchr(uri, '@'))
		return rd_error_set(err, -EOPNOTSUPP,
		                    "the address in %s has a user in it: put %s where it names the system by hand", edit.file,
		                    to);
	if (is_system(to)) {
		edit.new_uri = new_uri = other_system(uri, to);
		if (!new_uri)
			return rd_error_set(err, -EOPNOTSUPP, "%s does not say which part of it names the system", uri);
	} else {
		edit.new_suite = to;
	}
	rd_step_describe(step, "take %s in %s", to, edit.file);
	rd_step_origin(step, "%s: the release of this system", to);
	return source_edit(step, sr, &edit, err);
}

const struct rd_action rd_action_package_source_suite = {
	.name = "package.source-suite",
	.summary = "point a source of apt at the release of this system",
	.args = (const char *const[]){ "file", "uri", "from", "to", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
