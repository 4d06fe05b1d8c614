/* Packages that dnf or zypper keep at their versions. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* A line of the versionlock plugin: a pattern of name-epoch:version-release.arch, or of a name alone. "!" excludes a version. */
static void take_pattern(char *line, struct rd_strv *ret)
{
	char *release, *version;

	line = rd_str_strip(line);
	if (!*line || *line == '#' || *line == '!')
		return;
	rd_strv_push(ret, line);
	release = strrchr(line, '-');
	if (!release)
		return;
	*release = '\0';
	version = strrchr(line, '-');
	if (!version || !isdigit((unsigned char)version[1]))
		return;
	*version = '\0';
	rd_strv_push(ret, line);
}

static void read_list(char *text, struct rd_strv *ret)
{
	char *line;

	while ((line = rd_str_next_line(&text)))
		take_pattern(line, ret);
}

/* dnf 5: a table of each package, its name the one key of that name. */
static void read_toml(char *text, struct rd_strv *ret)
{
	char *line;

	while ((line = rd_str_next_line(&text))) {
		char *value, quote;

		line = rd_str_strip(line);
		if (!rd_str_has_prefix(line, "name"))
			continue;
		value = line + 4 + strspn(line + 4, " \t");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		quote = *value;
		if (quote != '"' && quote != '\'')
			continue;
		value[1 + strcspn(value + 1, quote == '"' ? "\"" : "'")] = '\0';
		rd_strv_push(ret, value + 1);
	}
}

/* zypper: paragraphs; those of patches and patterns are not about packages. */
static void read_zypp(char *text, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	bool of_packages = true;

	for (;;) {
		char *line = rd_str_next_line(&text);

		line = line ? rd_str_strip(line) : NULL;
		if (!line || !*line) {
			for (size_t i = 0; of_packages && i < names.n; i++)
				rd_strv_push(ret, names.v[i]);
			rd_strv_clear(&names);
			of_packages = true;
			if (!line)
				return;
		} else if (rd_str_has_prefix(line, "type:")) {
			of_packages = rd_streq(rd_str_strip(line + 5), "package");
		} else if (rd_str_has_prefix(line, "solvable_name:")) {
			rd_strv_push(&names, rd_str_strip(line + 14));
		}
	}
}

void rd_rpm_locks_read(struct rd_sysroot *sr, struct rd_strv *ret)
{
	static const struct {
		const char *path;
		void (*read)(char *text, struct rd_strv *ret);
	} files[] = {
		{ "/etc/dnf/plugins/versionlock.list", read_list },
		{ "/etc/yum/pluginconf.d/versionlock.list", read_list },
		{ "/etc/dnf/versionlock.toml", read_toml },
		{ "/etc/zypp/locks", read_zypp },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++) {
		rd_auto_free char *text = NULL;

		if (rd_sysroot_read(sr, &text, files[i].path) == 0)
			files[i].read(text, ret);
	}
}

bool rd_rpm_locks_hold(const struct rd_strv *locks, const char *name)
{
	for (size_t i = 0; i < locks->n; i++)
		if (rd_str_glob(locks->v[i], name))
			return true;
	return false;
}
