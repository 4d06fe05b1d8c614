#include "common-sys.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

int fix_unable(struct rd_error *err, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_error_set(err, -EOPNOTSUPP, "%s", sb.buf);
	rd_strbuf_release(&sb);
	return -EOPNOTSUPP;
}

/* What a distribution is by ID= and ID_LIKE= of os-release: "debian", "fedora", "suse"; NULL for any other. */
static const char *family_of(struct rd_sysroot *sr)
{
	static const struct {
		const char *id, *family;
	} rows[] = {
		{ "debian", "debian" }, { "ubuntu", "debian" }, { "fedora", "fedora" }, { "rhel", "fedora" },
		{ "centos", "fedora" }, { "suse", "suse" },     { "sles", "suse" },
	};
	rd_auto_free char *text = NULL;
	char *rest, *line;

	if (rd_sysroot_read(sr, &text, "/etc/os-release") < 0 && rd_sysroot_read(sr, &text, "/usr/lib/os-release") < 0)
		return NULL;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;

		if (!rd_str_has_prefix(line, "ID=") && !rd_str_has_prefix(line, "ID_LIKE="))
			continue;
		rd_strv_split(&words, strchr(line, '=') + 1, " \"'", false);
		for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++)
			if (rd_strv_has(&words, rows[i].id))
				return rows[i].family;
	}
	return NULL;
}

/* A tree that holds no programs at all, such as a snapshot, is taken to have those of its distribution. */
static bool comes_with_distribution(struct rd_sysroot *sr, const char *name)
{
	static const struct {
		const char *family, *program;
	} rows[] = {
		{ "debian", "update-grub" },
		{ "debian", "update-initramfs" },
		{ "debian", "update-alternatives" },
		{ "debian", "systemctl" },
		{ "debian", "udevadm" },
		{ "fedora", "grubby" },
		{ "fedora", "dracut" },
		{ "fedora", "alternatives" },
		{ "fedora", "systemctl" },
		{ "fedora", "udevadm" },
		{ "suse", "grub2-mkconfig" },
		{ "suse", "dracut" },
		{ "suse", "update-alternatives" },
		{ "suse", "systemctl" },
		{ "suse", "udevadm" },
	};
	const char *family;

	if (rd_sysroot_is_live(sr) || rd_sysroot_exists(sr, "/bin/sh") == 1 || rd_sysroot_exists(sr, "/usr/bin/sh") == 1)
		return false;
	family = family_of(sr);
	for (size_t i = 0; family && i < RD_ARRAY_SIZE(rows); i++)
		if (rd_streq(rows[i].family, family) && rd_streq(rows[i].program, name))
			return true;
	return false;
}

bool fix_has_program(struct rd_sysroot *sr, const char *name)
{
	static const char *const folders[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++)
		if (rd_sysroot_existsf(sr, "%s/%s", folders[i], name) == 1)
			return true;
	return comes_with_distribution(sr, name);
}

const char *fix_first_program(struct rd_sysroot *sr, const char *const names[])
{
	for (; *names; names++)
		if (fix_has_program(sr, *names))
			return *names;
	return NULL;
}

bool fix_runs_systemd(struct rd_sysroot *sr)
{
	/* What sd_booted() looks at. */
	if (rd_sysroot_is_live(sr))
		return rd_sysroot_exists(sr, "/run/systemd/system") == 1;
	return fix_has_program(sr, "systemctl") || rd_sysroot_exists(sr, "/etc/systemd/system") == 1;
}

bool fix_runs_udev(struct rd_sysroot *sr)
{
	return rd_sysroot_is_live(sr) ? rd_sysroot_exists(sr, "/run/udev/control") == 1 : fix_has_program(sr, "udevadm");
}

void fix_reload_systemd(struct rd_step *step, struct rd_sysroot *sr)
{
	if (fix_runs_systemd(sr))
		rd_step_refresh(step, (const char *const[]){ "systemctl", "daemon-reload", NULL });
}

int fix_read(struct rd_sysroot *sr, char **ret, const char *path, struct rd_error *err)
{
	rd_auto_free char *real = NULL, *text = NULL;
	size_t len;
	int r = rd_sysroot_read_bytes(sr, &text, &len, path);

	if (r == -ENOENT || r == -ENOTDIR) {
		*ret = NULL;
		return 0;
	}
	if (r < 0)
		return fix_unable(err, "cannot read '%s': %s", path, rd_strerror(r));
	if (strlen(text) != len)
		return fix_unable(err, "'%s' is no text", path);
	/* A file that only the plan knows has no other path. */
	if (rd_sysroot_realpath(sr, &real, path) == 0 && !rd_streq(real, path))
		return fix_unable(err, "'%s' leads to '%s' by a link; edit that one", path, real);
	*ret = rd_steal(text);
	return 0;
}

/* None of those that are set here comes near; of what is longer no reader of a plan could tell what it is. */
#define VALUE_MAX 1024

int fix_check_value(const char *value, struct rd_error *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._:,/=@%";

	if (*value && *value != '-' && !value[strspn(value, good)] && strlen(value) <= VALUE_MAX)
		return 0;
	return rd_error_set(err, -EINVAL, "'%.80s' is not a value that can be used here", value);
}

int fix_check_word(const char *word, struct rd_error *err)
{
	int r = rd_arg_check_name(word, err);

	if (r == 0 && strpbrk(word, "+.:@~"))
		r = rd_error_set(err, -EINVAL, "'%s' is not a name that can be used here", word);
	return r;
}

int fix_check_variable(const char *name, struct rd_error *err)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	if (*name && !name[strspn(name, good)] && (*name < '0' || *name > '9') && strlen(name) <= NAME_MAX)
		return 0;
	return rd_error_set(err, -EINVAL, "'%.80s' is not the name of a variable", name);
}

int fix_check_address(const char *address, struct rd_error *err)
{
	static const char hex[] = "0123456789abcdef";
	/* What stands between the groups of digits, and how many digits each has. */
	static const char ends[] = { ':', ':', '.', '\0' };
	static const size_t digits[] = { 4, 2, 2, 1 };
	const char *at = address;

	for (size_t i = 0; i < RD_ARRAY_SIZE(digits); i++) {
		if (strspn(at, hex) != digits[i] || at[digits[i]] != ends[i])
			return rd_error_set(err, -EINVAL, "'%s' is not a PCI address", address);
		at += digits[i] + 1;
	}
	return 0;
}

int fix_unit(char **ret, const char *unit, struct rd_error *err)
{
	int r = rd_arg_check_name(unit, err);

	if (r < 0)
		return r;
	if (*unit == '.')
		return rd_error_set(err, -EINVAL, "'%s' is not the name of a unit", unit);
	*ret = rd_str_has_suffix(unit, ".service") ? rd_xstrdup(unit) : rd_xasprintf("%s.service", unit);
	return 0;
}

bool fix_has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += len)
		if ((at == text || at[-1] == '\n') && (at[len] == '\n' || !at[len]))
			return true;
	return false;
}

int fix_edit(struct rd_step *step, struct rd_sysroot *sr, const char *path, fix_edit_line *edit, void *data,
             struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf after = RD_STRBUF_INIT;
	rd_auto_free char *before = NULL;
	char *line, *rest;
	int r = fix_read(sr, &before, path, err);

	if (r < 0 || !before)
		return r;
	for (rest = before; (line = strsep(&rest, "\n")) && (rest || *line);) {
		if (!edit(line, &after, data))
			rd_strbuf_add(&after, line);
		if (rest)
			rd_strbuf_addc(&after, '\n');
	}
	rd_step_write(step, path, after.buf, 0644);
	return 0;
}

int fix_add_line(struct rd_step *step, struct rd_sysroot *sr, const char *path, const char *head, const char *line,
                 struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf after = RD_STRBUF_INIT;
	rd_auto_free char *before = NULL;
	int r = fix_read(sr, &before, path, err);

	if (r < 0 || (before && fix_has_line(before, line)))
		return r;
	rd_strbuf_addf(&after, "%s%s", before ? before : FIX_HEADER, before ? "" : head);
	if (after.len && after.buf[after.len - 1] != '\n')
		rd_strbuf_addc(&after, '\n');
	rd_strbuf_addf(&after, "%s\n", line);
	rd_step_write(step, path, after.buf, 0644);
	return 0;
}
