/* Which packages of ROCm, its driver, kernels and container engines does the package manager have, and in which state? */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-repository.h"
#include "common.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/rpmdb.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

static const char dpkg_status[] = "/var/lib/dpkg/status";

/* One paragraph of dpkg's status. */
struct paragraph {
	char *name, *version, *status, *maintainer, *depends, *pre_depends, *provides;
	unsigned line;
};

/* Every installed package and what stands in for one, to look dependencies up. */
struct installed {
	struct {
		const char *name, *version; /* "" where a virtual package has none */
	} * entries;
	size_t n, allocated;
};

/* A package that is kept, with what it needs until all are known. */
struct kept {
	struct paragraph *paragraphs;
	size_t n, allocated;
};

static void paragraph_clear(struct paragraph *p)
{
	free(p->name);
	free(p->version);
	free(p->status);
	free(p->maintainer);
	free(p->depends);
	free(p->pre_depends);
	free(p->provides);
	*p = (struct paragraph){ 0 };
}

static void installed_clear(struct installed *known)
{
	for (size_t i = 0; i < known->n; i++) {
		free((char *)known->entries[i].name);
		free((char *)known->entries[i].version);
	}
	free(known->entries);
}

static void kept_clear(struct kept *kept)
{
	for (size_t i = 0; i < kept->n; i++)
		paragraph_clear(&kept->paragraphs[i]);
	free(kept->paragraphs);
}

static void installed_add(struct installed *known, const char *name, size_t name_len, const char *version, size_t version_len)
{
	RD_GROW(known->entries, known->n, known->allocated);
	known->entries[known->n].name = rd_xstrndup(name, name_len);
	known->entries[known->n++].version = rd_xstrndup(version, version_len);
}

/* "Provides: hip, libfoo (= 1.2)": each as if it were installed. */
static void add_provides(struct installed *known, const char *provides)
{
	for (const char *p = provides; p && *p;) {
		size_t len, version_len = 0;
		const char *version = "", *end = p + strcspn(p, ",");

		p += strspn(p, " \t");
		len = strcspn(p, " \t,(:");
		for (const char *q = p + len; q < end; q++)
			if (*q == '=') {
				version = q + 1 + strspn(q + 1, " \t");
				version_len = strcspn(version, " \t),");
			}
		if (len && p + len <= end)
			installed_add(known, p, len, version, version_len);
		p = *end ? end + 1 : end;
	}
}

/* "install ok installed": the third word is the state. */
static char *state_of(const char *status)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, status, " \t", false);
	if (words.n != 3)
		return rd_xstrdup("");
	if (rd_streq(words.v[1], "reinstreq") && rd_streq(words.v[2], "installed"))
		return rd_xstrdup("reinst-required");
	return rd_xstrdup(words.v[2]);
}

static bool is_unpacked(const char *state)
{
	return rd_streq(state, "installed") || rd_str_has_prefix(state, "triggers-");
}

static void end_paragraph(struct paragraph *p, struct installed *known, struct kept *kept)
{
	rd_auto_free char *state = NULL;

	if (!p->name || !p->status)
		goto out;
	state = state_of(p->status);
	if (is_unpacked(state)) {
		installed_add(known, p->name, strlen(p->name), p->version ? p->version : "",
		              p->version ? strlen(p->version) : 0);
		add_provides(known, p->provides);
	}
	if (rd_package_kind(p->name) != RD_PACKAGE_OTHER && !rd_streq(state, "not-installed") && *state) {
		RD_GROW(kept->paragraphs, kept->n, kept->allocated);
		kept->paragraphs[kept->n++] = *p;
		*p = (struct paragraph){ 0 };
	}
out:
	paragraph_clear(p);
}

static void take_field(struct paragraph *p, const char *line, unsigned number)
{
	const struct {
		const char *name;
		char **value;
	} fields[] = {
		{ "Package:", &p->name },          { "Version:", &p->version }, { "Status:", &p->status },
		{ "Maintainer:", &p->maintainer }, { "Depends:", &p->depends }, { "Pre-Depends:", &p->pre_depends },
		{ "Provides:", &p->provides },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(fields); i++) {
		size_t len = strlen(fields[i].name);

		if (*line != *fields[i].name || strncmp(line, fields[i].name, len) != 0 || *fields[i].value)
			continue;
		*fields[i].value = rd_xstrdup(line + len + strspn(line + len, " \t"));
		if (i == 0)
			p->line = number;
	}
}

static int read_status(struct rd_probe_ctx *ctx, struct installed *known, struct kept *kept)
{
	rd_auto_lines struct rd_lines lines = { 0 };
	struct paragraph p = { 0 };
	char *line;
	int r;

	r = rd_lines_open(&lines, ctx->sysroot, dpkg_status);
	if (r < 0)
		return r;
	while ((line = rd_lines_next(&lines))) {
		if (*line == '\0')
			end_paragraph(&p, known, kept);
		else if (*line != ' ' && *line != '\t')
			take_field(&p, line, lines.number);
	}
	end_paragraph(&p, known, kept);
	return lines.error;
}

static int compare_installed(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "(>= 1.2)" against a version; a virtual package without one satisfies only a dependency without one. */
static bool relation_holds(const char *version, const char *relation, const char *wanted)
{
	int c;

	if (!*relation)
		return true;
	if (!*version)
		return false;
	c = rd_version_compare(version, wanted, RD_VERSION_DPKG);
	if (rd_streq(relation, "=") || rd_streq(relation, "=="))
		return c == 0;
	if (rd_streq(relation, ">=") || rd_streq(relation, ">"))
		return c >= 0;
	if (rd_streq(relation, "<=") || rd_streq(relation, "<"))
		return c <= 0;
	if (rd_streq(relation, ">>"))
		return c > 0;
	if (rd_streq(relation, "<<"))
		return c < 0;
	return true;
}

/* One alternative: "libfoo:any (>= 1.2) [amd64]". */
static bool alternative_holds(const struct installed *known, const char *text)
{
	char name[256], relation[4] = "", wanted[256] = "";
	size_t low = 0, high = known->n;

	if (sscanf(text, " %255[^ \t(:[<|,]", name) != 1)
		return true;
	text = strchr(text, '(');
	if (text && sscanf(text, "( %3[<>=] %255[^ )]", relation, wanted) != 2)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(known->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < known->n && rd_streq(known->entries[low].name, name); low++)
		if (relation_holds(known->entries[low].version, relation, wanted))
			return true;
	return false;
}

static void set_unmet(struct rd_fact *item, const struct installed *known, const char *depends, const char *source)
{
	rd_auto_strv struct rd_strv wanted = RD_STRV_INIT;

	rd_strv_split(&wanted, depends ? depends : "", ",", false);
	for (size_t i = 0; i < wanted.n; i++) {
		rd_auto_strv struct rd_strv alternatives = RD_STRV_INIT;
		bool holds = false;

		rd_strv_split(&alternatives, wanted.v[i], "|", false);
		for (size_t k = 0; k < alternatives.n && !holds; k++)
			holds = alternative_holds(known, alternatives.v[k]);
		if (!holds && alternatives.n)
			rd_fact_append_str(item, "unmet", rd_str_strip(wanted.v[i]), source);
	}
}

static bool state_is_broken(const char *state)
{
	static const char *const broken[] = { "half-installed", "half-configured", "unpacked", "reinst-required", NULL };

	for (size_t i = 0; broken[i]; i++)
		if (rd_streq(state, broken[i]))
			return true;
	return false;
}

static void set_problem(struct rd_fact *item, const char *state, const char *source)
{
	const struct rd_fact *unmet = rd_fact_get(item, "unmet");
	rd_auto_strbuf struct rd_strbuf problem = RD_STRBUF_INIT;

	if (state_is_broken(state))
		rd_strbuf_addf(&problem, "it is %s", state);
	for (size_t i = 0; i < rd_fact_count(unmet); i++)
		rd_strbuf_addf(&problem, "%s%s",
		               i             ? ", "
		               : problem.len ? ", and needs "
		                             : "it needs ",
		               rd_fact_str(rd_fact_at(unmet, i)));
	rd_fact_set_bool(item, "broken", problem.len > 0, source);
	rd_fact_set_str(item, "problem", problem.buf, source);
}

static void describe(struct rd_fact *item, const char *name, const char *version, const char *maintainer, const char *source)
{
	enum rd_package_kind kind = rd_package_kind(name);
	const char *origin = rd_package_origin(name, maintainer);
	bool amd = rd_streq(origin, "amd");
	rd_auto_free char *release = amd ? rd_package_release(name, version) : NULL;
	rd_auto_free char *os = amd ? rd_package_os(version) : NULL;

	rd_fact_set_str(item, "name", name, source);
	rd_fact_set_str(item, "version", version, source);
	rd_fact_set_str(item, "kind", rd_package_kind_name(kind), source);
	rd_fact_set_str(item, "origin", origin, source);
	rd_fact_set_str(item, "release", release ? release : "", source);
	rd_fact_set_str(item, "built_for", os ? os : "", source);
	rd_fact_set_str(item, "suffix", amd ? rd_package_suffix(name) : "", source);
}

static void set_package(struct rd_probe_ctx *ctx, const struct paragraph *p, const struct installed *known)
{
	rd_auto_free char *source = rd_xasprintf("%s:%u", dpkg_status, p->line);
	rd_auto_free char *state = state_of(p->status);
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.packages", source);
	enum rd_package_kind kind = rd_package_kind(p->name);

	describe(item, p->name, p->version ? p->version : "", p->maintainer ? p->maintainer : "", source);
	rd_fact_set_str(item, "state", state, source);
	rd_fact_set_bool(item, "held", rd_str_has_prefix(p->status, "hold "), source);
	if ((kind == RD_PACKAGE_ROCM || kind == RD_PACKAGE_DRIVER) && !rd_streq(state, "config-files")) {
		set_unmet(item, known, p->pre_depends, source);
		set_unmet(item, known, p->depends, source);
	}
	set_problem(item, state, source);
}

static int look_at_dpkg(struct rd_probe_ctx *ctx)
{
	struct installed known = { 0 };
	struct kept kept = { 0 };
	int r;

	r = read_status(ctx, &known, &kept);
	if (r >= 0) {
		rd_fact_set_str(ctx->facts, "runtime.package_manager", "dpkg", dpkg_status);
		rd_fact_set_list(ctx->facts, "runtime.packages", dpkg_status);
		if (known.n)
			qsort(known.entries, known.n, sizeof(*known.entries), compare_installed);
		for (size_t i = 0; i < kept.n; i++)
			set_package(ctx, &kept.paragraphs[i], &known);
	}
	installed_clear(&known);
	kept_clear(&kept);
	return r;
}

struct rpm_walk {
	struct rd_probe_ctx *ctx;
	const char *where; /* the database */
	struct rd_strv locks;
};

static bool want_rpm(void *data, const char *name)
{
	(void)data;
	return rd_package_kind(name) != RD_PACKAGE_OTHER;
}

static void take_rpm(void *data, const struct rd_rpm_package *p)
{
	struct rpm_walk *walk = data;
	rd_auto_free char *version = NULL;
	struct rd_fact *item = rd_fact_append(walk->ctx->facts, "runtime.packages", walk->where);

	version = p->epoch ? rd_xasprintf("%u:%s-%s", p->epoch, p->version, p->release)
	                   : rd_xasprintf("%s-%s", p->version, p->release);
	describe(item, p->name, version, p->vendor, walk->where);
	rd_fact_set_str(item, "state", "installed", walk->where);
	rd_fact_set_bool(item, "held", rd_rpm_locks_hold(&walk->locks, p->name), walk->where);
	rd_fact_set_bool(item, "broken", false, walk->where);
	for (size_t i = 0; i < p->files->n; i++)
		rd_fact_append_str(item, "libraries", p->files->v[i], walk->where);
}

static int look_at_rpm(struct rd_probe_ctx *ctx)
{
	struct rpm_walk walk = { .ctx = ctx, .where = RD_RPMDB_PATH, .locks = RD_STRV_INIT };
	struct rd_error err = RD_ERROR_INIT;
	int r;

	rd_rpm_locks_read(ctx->sysroot, &walk.locks);
	r = rd_rpmdb_read(ctx->sysroot, &(struct rd_rpm_reader){ want_rpm, rd_library_is_rocm, take_rpm, &walk }, &walk.where,
	                  &err);
	rd_strv_clear(&walk.locks);
	if (r != -ENOENT)
		rd_fact_set_str(ctx->facts, "runtime.package_manager", "rpm", walk.where);
	if (r >= 0)
		rd_fact_set_list(ctx->facts, "runtime.packages", walk.where);
	else if (r != -ENOENT)
		rd_fact_set_unknown_why(ctx->facts, "runtime.packages", err.message ? err.message : rd_strerror(r), walk.where);
	rd_error_clear(&err);
	return r == -ENOENT ? r : 0;
}

/* What a person types to have packages installed, removed or put in order. */
static void set_commands(struct rd_probe_ctx *ctx)
{
	static const char *const names[] = { "tool", "install", "remove", "repair", "hold", "holds", "search", "initramfs" };
	static const struct {
		const char *manager, *sign, *words[RD_ARRAY_SIZE(names)];
	} tools[] = {
		{ "dpkg",
		  NULL,
		  { "apt", "sudo apt install", "sudo apt remove", "sudo dpkg --configure -a && sudo apt --fix-broken install",
		    "sudo apt-mark hold", "apt-mark showhold", "apt-file search", "sudo update-initramfs -u" } },
		{ "rpm",
		  "/etc/zypp",
		  { "zypper", "sudo zypper install", "sudo zypper remove", "sudo zypper verify", "sudo zypper addlock",
		    "zypper locks", "zypper what-provides", "sudo dracut -f" } },
		/* Fedora's images: dnf is there and refuses. */
		{ "rpm",
		  "/run/ostree-booted",
		  { "rpm-ostree", "sudo rpm-ostree install", "sudo rpm-ostree uninstall", "", "", "", "dnf provides",
		    "sudo rpm-ostree initramfs --enable" } },
		{ "rpm",
		  NULL,
		  { "dnf", "sudo dnf install", "sudo dnf remove", "sudo dnf check && sudo dnf distro-sync",
		    "sudo dnf versionlock add", "dnf versionlock list", "dnf provides", "sudo dracut -f" } },
		/* Its packages are not read. */
		{ "",
		  "/etc/pacman.conf",
		  { "pacman", "sudo pacman -S", "sudo pacman -R", "", "", "", "pacman -F", "sudo mkinitcpio -P" } },
	};
	const char *manager = rd_fact_get_str(ctx->facts, "runtime.package_manager");

	for (size_t i = 0; i < RD_ARRAY_SIZE(tools); i++) {
		if (!rd_streq(manager, tools[i].manager) ||
		    (tools[i].sign && rd_sysroot_exists(ctx->sysroot, tools[i].sign) != 1))
			continue;
		for (size_t j = 0; j < RD_ARRAY_SIZE(names); j++) {
			rd_auto_free char *path = rd_xasprintf("runtime.commands.%s", names[j]);

			rd_fact_set_str(ctx->facts, path, tools[i].words[j], "runtime.package_manager");
		}
		return;
	}
}

/* A host without any package manager (an image of one program) has no packages. */
static int run(struct rd_probe_ctx *ctx)
{
	const char *build = rd_repository_build(ctx->sysroot);
	int r;

	if (build || !rd_fact_is_unknown(ctx->facts, "host.os.id"))
		rd_fact_set_str(ctx->facts, "runtime.expected_build", build ? build : "", "/etc/os-release");
	r = look_at_dpkg(ctx);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT)
		r = look_at_rpm(ctx);
	else
		r = 0;
	rd_fact_sort(rd_fact_get_mutable(ctx->facts, "runtime.packages"), "name");
	set_commands(ctx);
	return r == -ENOENT ? 0 : r;
}

#define PACKAGE_DATABASES "/var/lib/dpkg/status, /var/lib/rpm"

const struct rd_probe rd_probe_runtime_packages = {
	.name = "runtime/packages",
	.layer = RD_LAYER_RUNTIME,
	.summary = "packages of ROCm, its driver, kernels and container engines",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.package_manager", RD_STR, "\"dpkg\", \"rpm\" or \"\" for none", PACKAGE_DATABASES },
			{ "runtime.packages[]", RD_LIST,
	                  "packages that have to do with ROCm, its driver, kernels or containers, by name", PACKAGE_DATABASES },
			{ "runtime.commands.tool", RD_STR,
	                  "\"apt\", \"dnf\", \"zypper\", \"rpm-ostree\", \"pacman\"; \"\" for another or none",
	                  "runtime.package_manager, /etc/zypp, /run/ostree-booted, /etc/pacman.conf" },
			{ "runtime.commands.install", RD_STR, "command that installs packages here",
	                  "runtime.package_manager" },
			{ "runtime.commands.remove", RD_STR, "command that removes packages here", "runtime.package_manager" },
			{ "runtime.commands.repair", RD_STR, "command that puts half installed packages in order",
	                  "runtime.package_manager" },
			{ "runtime.commands.hold", RD_STR, "command that keeps packages at their versions",
	                  "runtime.package_manager" },
			{ "runtime.commands.holds", RD_STR, "command that lists what is held", "runtime.package_manager" },
			{ "runtime.commands.search", RD_STR, "command that tells which package has a file",
	                  "runtime.package_manager" },
			{ "runtime.commands.initramfs", RD_STR, "command that rebuilds the initramfs of the running kernel",
	                  "runtime.package_manager" },
			{ "runtime.expected_build", RD_STR,
	                  "how versions of AMD's packages for this system end (\"24.04\", \"el9\"); \"\" "
	                  "where AMD has none",
	                  "/etc/os-release" },
			{ "runtime.packages[].name", RD_STR, "name", PACKAGE_DATABASES },
			{ "runtime.packages[].version", RD_STR, "version with epoch and revision", PACKAGE_DATABASES,
	                  RD_VERSION_DPKG },
			{ "runtime.packages[].kind", RD_STR,
	                  "\"rocm\" (user space), \"driver\", \"kernel\", \"container\" (an engine) or \"tool\"", "the name" },
			{ "runtime.packages[].origin", RD_STR, "\"amd\" or \"distribution\"", "maintainer or vendor" },
			{ "runtime.packages[].state", RD_STR,
	                  "dpkg's word for its state (\"installed\", \"half-configured\", ...)", PACKAGE_DATABASES },
			{ "runtime.packages[].held", RD_BOOL, "an upgrade passes it over (hold, versionlock, lock)",
	                  PACKAGE_DATABASES },
			{ "runtime.packages[].release", RD_STR, "ROCm or driver release that a package of AMD belongs to",
	                  "the version's last field, 60400 is 6.4.0", RD_VERSION_ROCM },
			{ "runtime.packages[].built_for", RD_STR,
	                  "system that a package of AMD was built for (\"24.04\", \"el9\")", "the end of the version" },
			{ "runtime.packages[].suffix", RD_STR,
	                  "release in a name made for several side by side (rocm-core6.2.4)", "the name", RD_VERSION_ROCM },
			{ "runtime.packages[].unmet[]", RD_STRS,
	                  "what it depends on and is not installed (dpkg; ROCm and driver only)", PACKAGE_DATABASES },
			{ "runtime.packages[].libraries[]", RD_STRS, "names of libraries of ROCm that it brought (rpm only)",
	                  RD_RPMDB_PATH },
			{ "runtime.packages[].problem", RD_STR, "what is wrong with it, in words", PACKAGE_DATABASES },
			{ "runtime.packages[].broken", RD_BOOL, "not wholly installed, or with unmet dependencies",
	                  PACKAGE_DATABASES },
			{ 0 },
		},
	.run = run,
};
