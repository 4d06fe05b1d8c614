/* Installed packages and candidates, from the files of dpkg, apt and rpm. */

#include "common-packages.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/version.h"
#include "util/xalloc.h"

#define STATUS_PATH "/var/lib/dpkg/status"

static bool exists(struct rd_sysroot *sr, const char *path)
{
	return rd_sysroot_exists(sr, path) == 1;
}

/* Fedora 41 made "dnf" a name of dnf 5; RHEL has dnf 4, and may have dnf 5 beside it. */
static bool is_dnf5(struct rd_sysroot *sr)
{
	rd_auto_free char *target = NULL;

	if (!exists(sr, "/usr/bin/dnf5"))
		return false;
	if (rd_sysroot_readlink(sr, &target, "/usr/bin/dnf") < 0)
		return !exists(sr, "/usr/bin/dnf");
	return rd_str_has_suffix(target, "dnf5");
}

int pkg_manager_of(struct rd_sysroot *sr, enum pkg_manager *ret, struct rd_error *err)
{
	static const struct {
		const char *sign;
		enum pkg_manager manager;
	} signs[] = {
		{ STATUS_PATH, PKG_APT },        { "/usr/bin/zypper", PKG_ZYPPER }, { "/etc/zypp", PKG_ZYPPER },
		{ "/usr/bin/dnf5", PKG_DNF5 },   { "/usr/bin/dnf", PKG_DNF },       { "/etc/dnf", PKG_DNF },
		{ "/etc/yum.repos.d", PKG_DNF },
	};

	/* dnf is there, and refuses. */
	if (exists(sr, "/run/ostree-booted"))
		return rd_error_set(err, -EOPNOTSUPP, "this system is an image, whose packages rpm-ostree changes");
	for (size_t i = 0; i < RD_ARRAY_SIZE(signs); i++) {
		if (!exists(sr, signs[i].sign) || (signs[i].manager == PKG_DNF5 && !is_dnf5(sr)))
			continue;
		*ret = signs[i].manager;
		return 0;
	}
	return rd_error_set(err, -EOPNOTSUPP, "neither apt, dnf nor zypper manages the packages of this host");
}

/* ------------------------------------------------------------ dpkg */

static struct pkg *add(struct pkg_set *set)
{
	RD_GROW(set->v, set->n, set->allocated);
	set->v[set->n] = (struct pkg){ .name = NULL };
	return &set->v[set->n++];
}

static void pkg_clear(struct pkg *p)
{
	free(p->name);
	free(p->version);
	free(p->full);
	free(p->depends);
	free(p->provides);
}

void pkg_set_clear(struct pkg_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		pkg_clear(&set->v[i]);
	free(set->v);
	*set = (struct pkg_set)PKG_SET_INIT;
}

static void append(char **value, const char *text)
{
	char *joined = *value ? rd_xasprintf("%s, %s", *value, text) : rd_xstrdup(text);

	free(*value);
	*value = joined;
}

/* "install ok installed": what is wanted, whether it is sound, how far it got. */
static void take_status(struct pkg *p, const char *text)
{
	char want[32], flag[32], state[32];

	if (sscanf(text, "%31s %31s %31s", want, flag, state) != 3)
		return;
	p->held = rd_streq(want, "hold");
	p->installed = !rd_streq(state, "not-installed") && !rd_streq(state, "config-files");
	p->whole = rd_streq(state, "installed") && rd_streq(flag, "ok");
}

static void take_field(struct pkg *p, const char *line)
{
	const struct {
		const char *name;
		char **value;
	} fields[] = {
		{ "Package: ", &p->name },        { "Version: ", &p->version },   { "Depends: ", &p->depends },
		{ "Pre-Depends: ", &p->depends }, { "Provides: ", &p->provides },
	};

	if (rd_str_has_prefix(line, "Status: "))
		take_status(p, line + strlen("Status: "));
	for (size_t i = 0; i < RD_ARRAY_SIZE(fields); i++)
		if (rd_str_has_prefix(line, fields[i].name))
			append(fields[i].value, line + strlen(fields[i].name));
}

/* Of two architectures of one name the one that is installed counts. */
static void end_paragraph(struct pkg_set *set, struct pkg *p)
{
	const struct pkg *known = p->name ? pkg_find(set, p->name) : NULL;

	if (p->name && !known)
		*add(set) = *p;
	else if (known && !known->installed && p->installed) {
		pkg_clear((struct pkg *)known);
		*(struct pkg *)known = *p;
	} else
		pkg_clear(p);
	*p = (struct pkg){ .name = NULL };
}

static int read_dpkg(struct rd_sysroot *sr, struct pkg_set *set, struct rd_error *err)
{
	rd_auto_free char *text = NULL;
	struct pkg p = { .name = NULL };
	char *rest, *line;
	int r = rd_sysroot_read(sr, &text, STATUS_PATH);

	if (r < 0)
		return rd_error_set(err, -EOPNOTSUPP, "cannot read '%s': %s", STATUS_PATH, rd_strerror(r));
	for (rest = text; (line = rd_str_next_line(&rest));) {
		if (*line)
			take_field(&p, line);
		else
			end_paragraph(set, &p);
	}
	end_paragraph(set, &p);
	return 0;
}

/* ------------------------------------------------------------ rpm */

struct rpm_reading {
	const struct rd_strv *names;
	struct pkg_set *set;
};

static bool want_rpm(void *data, const char *name)
{
	const struct rpm_reading *reading = data;

	for (size_t i = 0; reading->names && i < reading->names->n; i++) {
		const char *wanted = reading->names->v[i];

		/* By name, or by name and version: kernel-devel-5.14.0-570.el9.x86_64. */
		if (rd_str_has_prefix(wanted, name) && (!wanted[strlen(name)] || wanted[strlen(name)] == '-'))
			return true;
	}
	return !reading->names;
}

static void take_rpm(void *data, const struct rd_rpm_package *package)
{
	struct pkg *p = add(((struct rpm_reading *)data)->set);

	p->name = rd_xstrdup(package->name);
	p->version = package->epoch ? rd_xasprintf("%u:%s-%s", package->epoch, package->version, package->release)
	                            : rd_xasprintf("%s-%s", package->version, package->release);
	p->full = rd_xasprintf("%s-%s-%s.%s", package->name, package->version, package->release, package->arch);
	p->installed = p->whole = true;
}

static int read_rpm(struct rd_sysroot *sr, const struct rd_strv *names, struct pkg_set *set, struct rd_error *err)
{
	struct rpm_reading reading = { names, set };
	struct rd_rpm_reader reader = { .want = want_rpm, .take = take_rpm, .data = &reading };
	rd_auto_strv struct rd_strv locks = RD_STRV_INIT;
	struct rd_error below = RD_ERROR_INIT;
	const char *path = NULL;
	int r = rd_rpmdb_read(sr, &reader, &path, &below);

	if (r < 0)
		rd_error_set(err, -EOPNOTSUPP, "cannot read rpm's database: %s",
		             below.message ? below.message : rd_strerror(r));
	rd_error_clear(&below);
	if (r == 0)
		rd_rpm_locks_read(sr, &locks);
	for (size_t i = 0; i < set->n; i++)
		set->v[i].held = rd_rpm_locks_hold(&locks, set->v[i].name);
	return r < 0 ? -EOPNOTSUPP : 0;
}

int pkg_set_read(struct rd_sysroot *sr, const struct rd_strv *names, struct pkg_set *ret, struct rd_error *err)
{
	int r = pkg_manager_of(sr, &ret->manager, err);

	if (r < 0)
		return r;
	return ret->manager == PKG_APT ? read_dpkg(sr, ret, err) : read_rpm(sr, names, ret, err);
}

const struct pkg *pkg_find(const struct pkg_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (rd_streq(set->v[i].name, name) || (set->v[i].full && rd_streq(set->v[i].full, name)))
			return &set->v[i];
	return NULL;
}

const char *pkg_installed_version(const struct pkg_set *set, const char *name)
{
	const struct pkg *p = pkg_find(set, name);

	return p && p->installed ? p->version : NULL;
}

int pkg_version_compare(enum pkg_manager manager, const char *a, const char *b)
{
	return rd_version_compare(a, b, manager == PKG_APT ? RD_VERSION_DPKG : RD_VERSION_RPM);
}

/* ------------------------------------------------------------ arguments */

int pkg_parse_names(const char *text, struct rd_strv *ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv entries = RD_STRV_INIT;
	int r = 0;

	rd_strv_split(&entries, text, ",", false);
	for (size_t i = 0; i < entries.n && r == 0; i++) {
		char *name = entries.v[i] + strspn(entries.v[i], " ");

		name[strcspn(name, " ")] = '\0';
		/* apt takes "name/suite", "name+", "name-" and "~pattern" for more than a name; a colon only before an architecture. */
		r = rd_arg_check_name(name, err);
		if (r == 0 && (strpbrk(name, "~@") || rd_str_has_suffix(name, "-")))
			r = rd_error_set(err, -EINVAL, "'%s' is not a name of a package", name);
		/* "g++" and "libstdc++" are names; a single "+" at the end is an order to apt. */
		if (r == 0 && rd_str_has_suffix(name, "+") && !rd_str_has_suffix(name, "++"))
			r = rd_error_set(err, -EINVAL, "'%s' is not a name of a package", name);
		if (r == 0)
			rd_strv_push_unique(ret, name);
	}
	return r == 0 && !ret->n ? rd_error_set(err, -EINVAL, "no package is named") : r;
}

int pkg_check_version(const char *version, struct rd_error *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._:~^";

	if (isalnum((unsigned char)*version) && strlen(version) <= 128 && !version[strspn(version, good)])
		return 0;
	return rd_error_set(err, -EINVAL, "'%s' is not a version", version);
}

bool pkg_needs_reboot(const char *name)
{
	static const char *const prefixes[] = { "linux-image-",   "amdgpu-dkms",      "rock-dkms",      "linux-firmware",
		                                "firmware-amd",   "kernel-core",      "kernel-uek",     "kernel-default",
		                                "kernel-modules", "amd-gpu-firmware", "kernel-firmware" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(prefixes); i++)
		if (rd_str_has_prefix(name, prefixes[i]))
			return true;
	return false;
}

char *pkg_release_code(const char *release)
{
	unsigned major, minor, patch = 0;
	char end;
	int n = sscanf(release, "%2u.%2u.%2u%c", &major, &minor, &patch, &end);

	if (n != 2 && n != 3)
		return NULL;
	return rd_xasprintf("%u%02u%02u", major, minor, patch);
}

void argv_add(struct argv *argv, const char *const *words)
{
	for (; *words; words++)
		rd_strv_push(&argv->words, *words);
}

void argv_addf(struct argv *argv, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	rd_strv_push_take(&argv->words, rd_strbuf_detach(&sb));
}

const char *const *argv_done(struct argv *argv)
{
	free(argv->v);
	argv->v = rd_xcalloc(argv->words.n + 1, sizeof(*argv->v));
	for (size_t i = 0; i < argv->words.n; i++)
		argv->v[i] = argv->words.v[i];
	return argv->v;
}

void argv_clear(struct argv *argv)
{
	rd_strv_clear(&argv->words);
	free(argv->v);
	argv->v = NULL;
}

#define APT_OPTIONS "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold"

/*
 * An installation that would have to remove something else fails instead: with apt by --no-remove, with dnf since nothing may
 * be erased without --allowerasing, with zypper since a question is answered by no. dnf waits for its lock for ever, zypper as
 * long as its environment says.
 */
void argv_install(struct argv *argv, enum pkg_manager manager, bool downgrade)
{
	static const char *const begin[][8] = {
		[PKG_APT] = { "apt-get", "install", "-y", "--no-install-recommends", "--no-remove", NULL },
		[PKG_DNF] = { "dnf", "install", "-y", "--setopt=install_weak_deps=False", NULL },
		[PKG_DNF5] = { "dnf5", "install", "-y", "--setopt=install_weak_deps=False", NULL },
		[PKG_ZYPPER] = { "zypper", "--non-interactive", "install", "--no-recommends", NULL },
	};

	argv_add(argv, begin[manager]);
	if (manager == PKG_APT)
		argv_add(argv, (const char *const[]){ APT_OPTIONS, NULL });
	if (downgrade && manager == PKG_APT)
		argv_add(argv, (const char *const[]){ "--allow-downgrades", NULL });
	/* Without it zypper says that there is nothing to do, and that all is well. */
	if (downgrade && manager == PKG_ZYPPER)
		argv_add(argv, (const char *const[]){ "--oldpackage", NULL });
}

void argv_remove(struct argv *argv, enum pkg_manager manager)
{
	static const char *const begin[][8] = {
		[PKG_APT] = { "apt-get", "remove", "-y", APT_OPTIONS, NULL },
		[PKG_DNF] = { "dnf", "remove", "-y", "--noautoremove", NULL },
		[PKG_DNF5] = { "dnf5", "remove", "-y", "--no-autoremove", NULL },
		[PKG_ZYPPER] = { "zypper", "--non-interactive", "remove", "--no-clean-deps", NULL },
	};

	argv_add(argv, begin[manager]);
}

void argv_add_package(struct argv *argv, enum pkg_manager manager, const char *name, const char *version)
{
	if (!*version)
		argv_addf(argv, "%s", name);
	else
		argv_addf(argv, manager == PKG_DNF || manager == PKG_DNF5 ? "%s-%s" : "%s=%s", name, version);
}
