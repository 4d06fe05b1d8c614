/* apt's sources, keys, pins, and whether the distribution's packages would win over AMD's of the same name. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common-repository.h"
#include "common.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

static const char apt_dir[] = "/etc/apt";
static const char lists_dir[] = "/var/lib/apt/lists";

/* Most that is read of all lists together; a distribution's largest has 70 MB. */
#define LISTS_MAX ((uint64_t)256 << 20)

/* One source as written: of a one-line file, or a paragraph of a deb822 file. */
struct source {
	const char *file;
	unsigned line;
	char *types, *uris, *suites, *components, *signed_by;
	bool enabled, trusted;
};

static void source_clear(struct source *s)
{
	free(s->types);
	free(s->uris);
	free(s->suites);
	free(s->components);
	free(s->signed_by);
	*s = (struct source){ .file = s->file, .enabled = true };
}

/* What the keys of a source come to: "ok", "missing", "unreadable", "empty", "trusted", "none"; NULL: not known. */
static const char *key_of_file(struct rd_probe_ctx *ctx, const char *path, int *ret_error)
{
	struct rd_stat st;
	int r = rd_sysroot_stat(ctx->sysroot, &st, path);

	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR)
		return "missing";
	if (r < 0) {
		*ret_error = r;
		return NULL;
	}
	if (st.type != RD_STAT_FILE)
		return "missing";
	/* apt verifies as the user _apt. */
	if (!(st.mode & 4))
		return "unreadable";
	return st.size_bytes ? "ok" : "empty";
}

static const char *key_of_trusted(struct rd_probe_ctx *ctx, int *ret_error)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	struct rd_stat st;

	if (rd_sysroot_glob(ctx->sysroot, &files, "/etc/apt/trusted.gpg.d/*") < 0)
		rd_strv_clear(&files);
	for (size_t i = 0; i < files.n; i++)
		if (strcasestr(files.v[i], "rocm") || strcasestr(files.v[i], "amd") || strcasestr(files.v[i], "radeon"))
			return "ok";
	if (rd_sysroot_stat(ctx->sysroot, &st, "/etc/apt/trusted.gpg") >= 0 && st.size_bytes) {
		*ret_error = -EOPNOTSUPP;
		return NULL;
	}
	if (!files.n)
		return "none";
	*ret_error = -EOPNOTSUPP;
	return NULL;
}

static const char *key_of(struct rd_probe_ctx *ctx, const struct source *s, int *ret_error)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	const char *worst = "ok";

	if (s->trusted)
		return "trusted";
	if (!s->signed_by || !*s->signed_by)
		return key_of_trusted(ctx, ret_error);
	if (strstr(s->signed_by, "-----BEGIN"))
		return "ok";
	rd_strv_split(&files, s->signed_by, ", \t", false);
	for (size_t i = 0; i < files.n; i++) {
		/* A fingerprint picks a key of trusted.gpg.d. */
		const char *key =
			files.v[i][0] == '/' ? key_of_file(ctx, files.v[i], ret_error) : key_of_trusted(ctx, ret_error);

		if (!key)
			return NULL;
		if (rd_streq(key, "ok"))
			return key;
		worst = key;
	}
	return worst;
}

/* "https://repo.radeon.com/rocm/apt/6.4/" and "noble" are repo.radeon.com_rocm_apt_6.4_dists_noble_ in the lists. */
static char *list_prefix(const char *uri, const char *suite)
{
	const char *start = strstr(uri, "://"), *user;
	struct rd_strbuf sb = RD_STRBUF_INIT;

	start = start ? start + 3 : uri;
	/* apt leaves out who asks. */
	user = memrchr(start, '@', strcspn(start, "/"));
	for (start = user ? user + 1 : start; *start; start++)
		rd_strbuf_addc(&sb, *start == '/' ? '_' : *start);
	while (sb.len && sb.buf[sb.len - 1] == '_')
		rd_strbuf_truncate(&sb, sb.len - 1);
	rd_strbuf_addf(&sb, "_dists_%s_", suite);
	return rd_strbuf_detach(&sb);
}

/*
 * From ROCm 7.0 on the driver has a repository under its own number (30.10 and later), and amdgpu/7.x is no more.
 * Source: AMD's driver pages; the "does not have a Release file" of apt on such a line.
 */
static bool is_withdrawn(const struct rd_repository *repo)
{
	if (!rd_streq(repo->product, "amdgpu") || !isdigit((unsigned char)*repo->release))
		return false;
	return rd_version_compare(repo->release, "7.0", RD_VERSION_DOTTED) >= 0 &&
	       rd_version_compare(repo->release, "30", RD_VERSION_DOTTED) < 0;
}

/* Old releases had one suite for every Ubuntu, "xenial" and later "ubuntu". */
static bool is_for_one_system(const char *suite)
{
	static const char *const suites[] = { "bionic", "focal", "jammy", "noble", "resolute" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(suites); i++)
		if (rd_streq(suites[i], suite))
			return true;
	return false;
}

/*
 * Does a release have packages for this system at all? Sources: AMD's pages on package managers (noble from ROCm 6.2 on), and
 * what apt says of the folders of the driver (resolute from 31.50 on); ROCm of the older layout never came to resolute.
 */
static bool has_suite(const struct rd_repository *repo, const char *suite)
{
	bool is_driver = rd_streq(repo->product, "amdgpu");

	if (*repo->system || !isdigit((unsigned char)*repo->release))
		return true;
	if (rd_streq(suite, "noble"))
		return rd_version_compare(repo->release, "6.2", RD_VERSION_DOTTED) >= 0;
	return !rd_streq(suite, "resolute") ||
	       (is_driver && rd_version_compare(repo->release, "31.50", RD_VERSION_DOTTED) >= 0);
}

static void set_remedy(struct rd_fact *item, const struct rd_repository *repo, const char *want, const char *file)
{
	bool there = has_suite(repo, want);
	rd_auto_free char *text =
		there ? rd_xasprintf("edit %s: take %s (the release of this system) instead, then: sudo apt update", file, want)
		      : rd_xasprintf(
				"AMD has nothing of %s for %s: put a newer release in its place in %s, then: sudo apt update",
				repo->release, want, file);

	rd_fact_set_bool(item, "has_expected_suite", there, "the address");
	rd_fact_set_str(item, "suite_remedy", text, "the address");
}

static void set_fit(struct rd_probe_ctx *ctx, struct rd_fact *item, const struct rd_repository *repo, const char *suite,
                    const char *source)
{
	const char *want = *repo->system ? rd_repository_system(ctx->sysroot) : rd_repository_suite(ctx->sysroot);
	const char *have = *repo->system ? repo->system : suite;

	if (rd_streq(repo->vendor, "amd") && want && *repo->product) {
		rd_fact_set_str(item, "expected_suite", want, "/etc/os-release");
		rd_fact_set_bool(item, "wrong_suite", !rd_streq(have, want) && (*repo->system || is_for_one_system(suite)),
		                 source);
		set_remedy(item, repo, want, rd_fact_get_str(item, "file"));
	}
}

static void add_source(struct rd_probe_ctx *ctx, const struct source *s, const char *uri, const char *suite)
{
	rd_auto_free char *source = rd_xasprintf("%s:%u", s->file, s->line);
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.apt.sources", source);
	struct rd_repository repo;
	int error = 0;
	const char *key;

	rd_repository_parse(uri, &repo);
	rd_fact_set_str(item, "file", s->file, source);
	rd_fact_set_int(item, "line", s->line, source);
	rd_fact_set_str(item, "uri", uri, source);
	rd_fact_set_str(item, "suite", suite, source);
	rd_fact_set_str(item, "components", s->components ? s->components : "", source);
	rd_fact_set_bool(item, "enabled", s->enabled, source);
	rd_fact_set_str(item, "vendor", repo.vendor, source);
	rd_fact_set_str(item, "product", repo.product, source);
	rd_fact_set_str(item, "release", repo.release, source);
	rd_fact_set_bool(item, "withdrawn", is_withdrawn(&repo), source);
	set_fit(ctx, item, &repo, suite, source);
	rd_fact_set_str(item, "signed_by", s->signed_by ? s->signed_by : "", source);
	if (rd_streq(repo.vendor, "amd")) {
		key = key_of(ctx, s, &error);
		if (key)
			rd_fact_set_str(item, "key", key, source);
		else if (error == -EOPNOTSUPP)
			rd_fact_set_unknown_why(item, "key", "which keys trusted.gpg.d holds is not looked at", source);
		else
			rd_fact_set_unknown(item, "key", error, source);
	}
	rd_repository_clear(&repo);
}

static void add_sources(struct rd_probe_ctx *ctx, const struct source *s)
{
	rd_auto_strv struct rd_strv types = RD_STRV_INIT, uris = RD_STRV_INIT, suites = RD_STRV_INIT;

	rd_strv_split(&types, s->types ? s->types : "", " \t", false);
	rd_strv_split(&uris, s->uris ? s->uris : "", " \t", false);
	rd_strv_split(&suites, s->suites ? s->suites : "", " \t", false);
	if (!rd_strv_has(&types, "deb"))
		return;
	for (size_t i = 0; i < uris.n; i++)
		for (size_t k = 0; k < suites.n; k++)
			add_source(ctx, s, uris.v[i], suites.v[k]);
}

static void take_option(struct source *s, const char *word)
{
	if (rd_str_has_prefix(word, "signed-by=")) {
		free(s->signed_by);
		s->signed_by = rd_xstrdup(word + strlen("signed-by="));
	} else if (rd_streq(word, "trusted=yes")) {
		s->trusted = true;
	}
}

/* deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.4 noble main */
static void take_one_line(struct rd_probe_ctx *ctx, char *line, struct source *s)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT, options = RD_STRV_INIT;
	char *bracket, *end = NULL;

	line[strcspn(line, "#")] = '\0';
	line = rd_str_strip(line);
	if (!rd_str_has_prefix(line, "deb ") && !rd_str_has_prefix(line, "deb\t"))
		return;
	line += 4 + strspn(line + 4, " \t");
	bracket = *line == '[' ? line : NULL;
	if (bracket)
		end = strchr(bracket, ']');
	if (bracket && !end)
		return;
	if (bracket) {
		*end = '\0';
		rd_strv_split(&options, bracket + 1, " \t", false);
		line = end + 1;
	}
	rd_strv_split(&words, line, " \t", false);
	if (words.n < 2)
		return;
	for (size_t i = 0; i < options.n; i++)
		take_option(s, options.v[i]);
	s->types = rd_xstrdup("deb");
	s->uris = rd_xstrdup(words.v[0]);
	s->suites = rd_xstrdup(words.v[1]);
	if (words.n > 2)
		s->components = rd_xstrdup(strstr(line, words.v[2]));
	add_sources(ctx, s);
	source_clear(s);
}

static void append(char **value, const char *text)
{
	char *joined = *value ? rd_xasprintf("%s %s", *value, text) : rd_xstrdup(text);

	free(*value);
	*value = joined;
}

/* A field of a paragraph; a line that begins with a blank goes on with the one before, which is *last. */
static void take_field(struct source *s, char *line, unsigned number, char ***last)
{
	const struct {
		const char *name;
		char **value;
	} fields[] = {
		{ "Types:", &s->types },           { "URIs:", &s->uris },           { "Suites:", &s->suites },
		{ "Components:", &s->components }, { "Signed-By:", &s->signed_by },
	};

	if ((*line == ' ' || *line == '\t')) {
		if (*last)
			append(*last, rd_str_strip(line));
		return;
	}
	*last = NULL;
	if (!s->line && *line != '#')
		s->line = number;
	for (size_t i = 0; i < RD_ARRAY_SIZE(fields); i++)
		if (strncasecmp(line, fields[i].name, strlen(fields[i].name)) == 0 && !*fields[i].value) {
			append(fields[i].value, rd_str_strip(line + strlen(fields[i].name)));
			*last = fields[i].value;
		}
	if (strncasecmp(line, "Enabled:", 8) == 0)
		s->enabled = !rd_streq(rd_str_strip(line + 8), "no") && !rd_streq(rd_str_strip(line + 8), "false");
	if (strncasecmp(line, "Trusted:", 8) == 0)
		s->trusted = rd_streq(rd_str_strip(line + 8), "yes");
}

static int look_at_sources(struct rd_probe_ctx *ctx, const char *file, bool paragraphs)
{
	rd_auto_lines struct rd_lines lines = { 0 };
	struct source s = { .file = file, .enabled = true };
	char **last = NULL, *line;
	int r = rd_lines_open(&lines, ctx->sysroot, file);

	if (r < 0)
		return r;
	while ((line = rd_lines_next(&lines))) {
		if (!paragraphs) {
			s.line = lines.number;
			take_one_line(ctx, line, &s);
		} else if (*rd_str_strip(line) == '\0') {
			add_sources(ctx, &s);
			source_clear(&s);
			last = NULL;
		} else {
			take_field(&s, line, lines.number, &last);
		}
	}
	if (paragraphs)
		add_sources(ctx, &s);
	source_clear(&s);
	return 0;
}

/* What apt takes no notice of, and why; "" for a pin that counts. */
static const char *why_dead(const char *file, const char *pin, const char *priority)
{
	const char *name = strrchr(file, '/'), *dot = name ? strrchr(name, '.') : NULL, *star;

	if (strstr(file, "/preferences.d/") && dot && !rd_streq(dot, ".pref"))
		return "apt reads only files without an ending or with .pref in preferences.d";
	if (!*priority)
		return "it has no priority";
	if (!rd_str_has_prefix(pin, "version "))
		return "";
	star = rd_str_strip((char *)pin + 8);
	/* A trailing "*" is cut and the rest compared as a prefix; "/60204/" is a regular expression. */
	if (*star == '*')
		return "a version pattern that begins with * matches nothing; /NUMBER/ does";
	return "";
}

/* The pin is about packages of AMD's repository. */
static bool is_about_amd(const char *pin)
{
	return strstr(pin, "repo.radeon.com") || strstr(pin, "repo.amd.com") || strcasestr(pin, "o=AMD");
}

static void add_pin(struct rd_probe_ctx *ctx, const char *file, unsigned line, const char *package, const char *pin,
                    const char *priority)
{
	rd_auto_free char *source = rd_xasprintf("%s:%u", file, line), *copy = rd_xstrdup(pin);
	struct rd_fact *item = rd_fact_append(ctx->facts, "runtime.apt.pins", source);
	const char *dead = why_dead(file, copy, priority);

	rd_fact_set_str(item, "file", file, source);
	rd_fact_set_int(item, "line", line, source);
	rd_fact_set_str(item, "package", package, source);
	rd_fact_set_str(item, "pin", pin, source);
	rd_fact_set_int(item, "priority", strtol(priority, NULL, 10), source);
	rd_fact_set_bool(item, "amd", is_about_amd(pin), source);
	rd_fact_set_bool(item, "dead", *dead != '\0', source);
	rd_fact_set_str(item, "why_dead", dead, source);
}

static int look_at_pins(struct rd_probe_ctx *ctx, const char *file)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;
	char *package = NULL, *pin = NULL, *priority = NULL;
	unsigned number = 0, first = 0;
	int r = rd_sysroot_read(ctx->sysroot, &text, file);

	if (r < 0)
		return r;
	for (rest = text;;) {
		line = rd_str_next_line(&rest);
		number++;
		if (!line || *rd_str_strip(line) == '\0') {
			if (package && pin)
				add_pin(ctx, file, first, package, pin, priority ? priority : "");
			package = pin = priority = NULL;
			if (!line)
				break;
		} else if (strncasecmp(line, "Package:", 8) == 0) {
			package = rd_str_strip(line + 8);
			first = number;
		} else if (strncasecmp(line, "Pin:", 4) == 0) {
			pin = rd_str_strip(line + 4);
		} else if (strncasecmp(line, "Pin-Priority:", 13) == 0) {
			priority = rd_str_strip(line + 13);
		}
	}
	return 0;
}

/* Names that AMD's repository and distributions both have; the first is the one that people meet. */
static const char *const shared_names[] = {
	"rocminfo",  "rocm-cmake", "rocm-device-libs", "hipcc",   "rocm-smi",
	"rocm-llvm", "comgr",      "rocblas",          "hip-dev", "hipify-clang",
};

struct candidate {
	char *amd, *distribution;
	char *amd_file, *distribution_file;
	bool wanted; /* a package of AMD depends on it */
};

static void take_candidate(char **version, char **file, const char *found, const char *path)
{
	if (*version && rd_version_compare(*version, found, RD_VERSION_DPKG) >= 0)
		return;
	free(*version);
	free(*file);
	*version = rd_xstrdup(found);
	*file = rd_xstrdup(path);
}

/* Version of the paragraph whose Package line was just read. */
static const char *paragraph_version(struct rd_lines *lines)
{
	char *line;

	while ((line = rd_lines_next(lines)) && *line)
		if (rd_str_has_prefix(line, "Version:"))
			return rd_str_strip(line + 8);
	return NULL;
}

static void note_wanted(const char *depends, struct candidate *candidates)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(shared_names); i++) {
		const char *p = strstr(depends, shared_names[i]);
		char after = p ? p[strlen(shared_names[i])] : 'x';

		if (p && (p[-1] == ' ' || p[-1] == ',') && (after == ',' || after == ' ' || after == '\0'))
			candidates[i].wanted = true;
	}
}

static void read_list(struct rd_lines *lines, const char *path, struct candidate *candidates, bool amd)
{
	char *line;

	while ((line = rd_lines_next(lines))) {
		if (amd && rd_str_has_prefix(line, "Depends:"))
			note_wanted(line, candidates);
		if (!rd_str_has_prefix(line, "Package: "))
			continue;
		for (size_t i = 0; i < RD_ARRAY_SIZE(shared_names); i++) {
			struct candidate *c = &candidates[i];
			const char *version;

			if (!rd_streq(line + 9, shared_names[i]))
				continue;
			version = paragraph_version(lines);
			if (version)
				take_candidate(amd ? &c->amd : &c->distribution, amd ? &c->amd_file : &c->distribution_file,
				               version, path);
			break;
		}
	}
}

/* Is the list one of AMD's sources? */
static bool is_of_amd(const struct rd_fact *sources, const char *file)
{
	for (size_t i = 0; i < rd_fact_count(sources); i++) {
		const struct rd_fact *s = rd_fact_at(sources, i);
		rd_auto_free char *prefix = NULL;

		if (!rd_streq(rd_fact_get_str(s, "product"), "rocm") || !rd_fact_get_bool(s, "enabled"))
			continue;
		prefix = list_prefix(rd_fact_get_str(s, "uri"), rd_fact_get_str(s, "suite"));
		if (rd_str_has_prefix(file, prefix))
			return true;
	}
	return false;
}

static bool is_radeon(const char *file)
{
	return rd_str_has_prefix(file, "repo.radeon.com_") || strstr(file, "repo.amd.com_");
}

/* What one pass over the lists came to. */
struct passed {
	size_t lists, compressed;
	uint64_t bytes;
};

/* One pass over the lists of AMD, or over the others. Archives sort by source, if at all, so that there is no short cut. */
static void read_lists(struct rd_probe_ctx *ctx, struct candidate *candidates, bool of_amd, struct passed *passed)
{
	const struct rd_fact *sources = rd_fact_get(ctx->facts, "runtime.apt.sources");
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;

	if (rd_sysroot_list(ctx->sysroot, &files, lists_dir) < 0)
		return;
	for (size_t i = 0; i < files.n; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", lists_dir, files.v[i]);
		rd_auto_lines struct rd_lines lines = { 0 };
		bool amd = is_of_amd(sources, files.v[i]);

		if (amd != of_amd || (!amd && is_radeon(files.v[i])) || !strstr(files.v[i], "_Packages"))
			continue;
		if (!rd_str_has_suffix(files.v[i], "_Packages")) {
			passed->compressed++;
			continue;
		}
		if (rd_lines_open(&lines, ctx->sysroot, path) < 0 || passed->bytes + lines.size > LISTS_MAX)
			continue;
		passed->lists++;
		passed->bytes += lines.size;
		read_list(&lines, path, candidates, amd);
	}
}

/* The first pin that names the package and this origin; 500 without one. */
static int64_t priority_of(const struct rd_fact *pins, const char *package, bool amd)
{
	for (size_t i = 0; i < rd_fact_count(pins); i++) {
		const struct rd_fact *pin = rd_fact_at(pins, i);
		rd_auto_strv struct rd_strv names = RD_STRV_INIT;
		bool named = false;

		if (rd_fact_get_bool(pin, "dead") || rd_fact_get_bool(pin, "amd") != amd)
			continue;
		rd_strv_split(&names, rd_fact_get_str(pin, "package"), " \t", false);
		for (size_t k = 0; k < names.n; k++)
			named = named || rd_str_glob(names.v[k], package);
		if (named && !rd_str_has_prefix(rd_fact_get_str(pin, "pin"), "version"))
			return rd_fact_get_int(pin, "priority");
	}
	return 500;
}

static void judge_candidates(struct rd_probe_ctx *ctx, struct candidate *candidates)
{
	const struct rd_fact *pins = rd_fact_get(ctx->facts, "runtime.apt.pins");

	for (size_t i = 0; i < RD_ARRAY_SIZE(shared_names); i++) {
		struct candidate *c = &candidates[i];
		int64_t ours = priority_of(pins, shared_names[i], true), theirs = priority_of(pins, shared_names[i], false);
		struct rd_fact *item;

		/* What AMD's packages need and AMD's list does not have comes from the distribution in any case. */
		if ((!c->amd && !c->wanted) || !c->distribution || ours > theirs)
			continue;
		if (c->amd && ours == theirs && rd_version_compare(c->amd, c->distribution, RD_VERSION_DPKG) >= 0)
			continue;
		item = rd_fact_append(ctx->facts, "runtime.apt.shadowed", c->distribution_file);
		rd_fact_set_str(item, "name", shared_names[i], c->distribution_file);
		rd_fact_set_str(item, "amd_version", c->amd ? c->amd : "none", c->amd ? c->amd_file : c->distribution_file);
		rd_fact_set_str(item, "distribution_version", c->distribution, c->distribution_file);
		rd_fact_set_int(item, "amd_priority", ours, "/etc/apt/preferences.d");
		rd_fact_set_int(item, "distribution_priority", theirs, "/etc/apt/preferences.d");
	}
}

static bool has_rocm_source(const struct rd_fact *sources)
{
	for (size_t i = 0; i < rd_fact_count(sources); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(sources, i), "product"), "rocm") &&
		    rd_fact_get_bool(rd_fact_at(sources, i), "enabled"))
			return true;
	return false;
}

/* With a pin that puts AMD first, as AMD's pages have it, nothing can go wrong and no large list is read. */
static bool can_lose(const struct rd_probe_ctx *ctx, const struct candidate *candidates)
{
	const struct rd_fact *pins = rd_fact_get(ctx->facts, "runtime.apt.pins");

	for (size_t i = 0; i < RD_ARRAY_SIZE(shared_names); i++)
		if ((candidates[i].amd || candidates[i].wanted) &&
		    priority_of(pins, shared_names[i], true) <= priority_of(pins, shared_names[i], false))
			return true;
	return false;
}

static void look_at_candidates(struct rd_probe_ctx *ctx)
{
	static const char none[] = "there are no lists of packages on disk (apt update)";
	struct candidate candidates[RD_ARRAY_SIZE(shared_names)] = { 0 };
	struct passed amd = { 0 }, distribution = { 0 };

	rd_fact_set_list(ctx->facts, "runtime.apt.shadowed", lists_dir);
	if (!has_rocm_source(rd_fact_get(ctx->facts, "runtime.apt.sources")) ||
	    priority_of(rd_fact_get(ctx->facts, "runtime.apt.pins"), "rocminfo", true) > 500)
		return;
	read_lists(ctx, candidates, true, &amd);
	if (can_lose(ctx, candidates))
		read_lists(ctx, candidates, false, &distribution);
	judge_candidates(ctx, candidates);
	if (!amd.lists || (can_lose(ctx, candidates) && !distribution.lists))
		rd_fact_set_unknown_why(ctx->facts, "runtime.apt.shadowed",
		                        amd.compressed + distribution.compressed ? "the lists of packages are kept compressed"
		                                                                 : none,
		                        lists_dir);
	for (size_t i = 0; i < RD_ARRAY_SIZE(candidates); i++) {
		free(candidates[i].amd);
		free(candidates[i].amd_file);
		free(candidates[i].distribution);
		free(candidates[i].distribution_file);
	}
}

/* Two sources of one product and unlike releases. */
static void look_for_duplicates(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *sources = rd_fact_get(ctx->facts, "runtime.apt.sources");

	rd_fact_set_list(ctx->facts, "runtime.apt.duplicates", apt_dir);
	for (size_t i = 0; i < rd_fact_count(sources); i++)
		for (size_t k = 0; k < i; k++) {
			const struct rd_fact *a = rd_fact_at(sources, k), *b = rd_fact_at(sources, i);
			struct rd_fact *item;

			if (!rd_fact_get_bool(a, "enabled") || !rd_fact_get_bool(b, "enabled") ||
			    !*rd_fact_get_str(a, "product") ||
			    !rd_streq(rd_fact_get_str(a, "product"), rd_fact_get_str(b, "product")) ||
			    rd_streq(rd_fact_get_str(a, "release"), rd_fact_get_str(b, "release")))
				continue;
			item = rd_fact_append(ctx->facts, "runtime.apt.duplicates", rd_fact_source(b));
			rd_fact_set_str(item, "product", rd_fact_get_str(a, "product"), rd_fact_source(b));
			rd_fact_set_str(item, "release", rd_fact_get_str(a, "release"), rd_fact_source(a));
			rd_fact_set_str(item, "file", rd_fact_get_str(a, "file"), rd_fact_source(a));
			rd_fact_set_str(item, "other_release", rd_fact_get_str(b, "release"), rd_fact_source(b));
			rd_fact_set_str(item, "other_file", rd_fact_get_str(b, "file"), rd_fact_source(b));
		}
}

#define SOURCES "/etc/apt/sources.list, /etc/apt/sources.list.d"
#define PINS "/etc/apt/preferences, /etc/apt/preferences.d"

/* The first error counts: what is in a file or folder that could not be read would be one more item. */
static void keep_error(int *error, int r)
{
	if (r < 0 && r != -ENOENT && *error == 0)
		*error = r;
}

static int read_sources(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv one_line = RD_STRV_INIT, paragraphs = RD_STRV_INIT;
	int error = 0;

	rd_fact_set_list(ctx->facts, "runtime.apt.sources", apt_dir);
	keep_error(&error, rd_sysroot_glob(ctx->sysroot, &one_line, "/etc/apt/sources.list"));
	keep_error(&error, rd_sysroot_glob(ctx->sysroot, &one_line, "/etc/apt/sources.list.d/*.list"));
	keep_error(&error, rd_sysroot_glob(ctx->sysroot, &paragraphs, "/etc/apt/sources.list.d/*.sources"));
	for (size_t i = 0; i < one_line.n; i++)
		keep_error(&error, look_at_sources(ctx, one_line.v[i], false));
	for (size_t i = 0; i < paragraphs.n; i++)
		keep_error(&error, look_at_sources(ctx, paragraphs.v[i], true));
	return error;
}

static int read_pins(struct rd_probe_ctx *ctx)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int error = 0;

	rd_fact_set_list(ctx->facts, "runtime.apt.pins", apt_dir);
	keep_error(&error, rd_sysroot_glob(ctx->sysroot, &files, "/etc/apt/preferences"));
	keep_error(&error, rd_sysroot_glob(ctx->sysroot, &files, "/etc/apt/preferences.d/*"));
	for (size_t i = 0; i < files.n; i++)
		keep_error(&error, look_at_pins(ctx, files.v[i]));
	return error;
}

static int run(struct rd_probe_ctx *ctx)
{
	int r = rd_sysroot_exists(ctx->sysroot, apt_dir), sources, pins;

	if (r <= 0)
		return r;
	rd_fact_set_bool(ctx->facts, "runtime.apt.can_check_keys", rd_sysroot_exists(ctx->sysroot, "/usr/bin/gpg") == 1,
	                 "/usr/bin/gpg");
	sources = read_sources(ctx);
	pins = read_pins(ctx);
	look_for_duplicates(ctx);
	look_at_candidates(ctx);
	if (sources < 0) {
		rd_fact_set_unknown(ctx->facts, "runtime.apt.sources", sources, SOURCES);
		rd_fact_set_unknown(ctx->facts, "runtime.apt.duplicates", sources, SOURCES);
	}
	if (pins < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.apt.pins", pins, PINS);
	if (sources < 0 || pins < 0)
		rd_fact_set_unknown(ctx->facts, "runtime.apt.shadowed", sources < 0 ? sources : pins, SOURCES);
	return 0;
}

const struct rd_probe rd_probe_runtime_apt = {
	.name = "runtime/apt",
	.layer = RD_LAYER_RUNTIME,
	.after = "runtime/packages",
	.summary = "apt's sources, keys, pins and candidates",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.apt.sources[]", RD_LIST, "sources of packages, a suite each, in the order of the files",
	                  SOURCES },
			{ "runtime.apt.sources[].file", RD_STR, "file", SOURCES },
			{ "runtime.apt.sources[].line", RD_INT, "line", SOURCES },
			{ "runtime.apt.sources[].uri", RD_STR, "address", SOURCES },
			{ "runtime.apt.sources[].suite", RD_STR, "suite", SOURCES },
			{ "runtime.apt.sources[].components", RD_STR, "components", SOURCES },
			{ "runtime.apt.sources[].enabled", RD_BOOL, "it is switched on", SOURCES },
			{ "runtime.apt.sources[].vendor", RD_STR, "\"amd\" or \"other\"", "the address" },
			{ "runtime.apt.sources[].product", RD_STR,
	                  "what a source of AMD holds: \"rocm\", \"amdgpu\", \"graphics\" or \"amdrocm\" (7.14 and later)",
	                  "the address" },
			{ "runtime.apt.sources[].release", RD_STR, "release in a source of AMD", "the address",
	                  RD_VERSION_ROCM },
			{ "runtime.apt.sources[].expected_suite", RD_STR,
	                  "suite (or folder) that AMD has for this system; \"\" for none", "/etc/os-release" },
			{ "runtime.apt.sources[].has_expected_suite", RD_BOOL,
	                  "AMD has packages of that release for this system", "the address" },
			{ "runtime.apt.sources[].suite_remedy", RD_STR, "what to take in place of a source for another system",
	                  "the address" },
			{ "runtime.apt.sources[].wrong_suite", RD_BOOL, "a source of AMD for another system", SOURCES },
			{ "runtime.apt.sources[].withdrawn", RD_BOOL, "AMD does not serve this address any more",
	                  "the address" },
			{ "runtime.apt.sources[].signed_by", RD_STR, "keyring that it names", SOURCES },
			{ "runtime.apt.sources[].key", RD_STR,
	                  "of a source of AMD: \"ok\", \"missing\", \"empty\", \"unreadable\" (for the user "
	                  "_apt), \"none\" or \"trusted\" (not checked)",
	                  "the keyring" },
			{ "runtime.apt.can_check_keys", RD_BOOL, "gpg is there to check a key's fingerprint", "/usr/bin/gpg" },
			{ "runtime.apt.pins[]", RD_LIST, "pins, in the order of the files", PINS },
			{ "runtime.apt.pins[].file", RD_STR, "file", PINS },
			{ "runtime.apt.pins[].line", RD_INT, "line", PINS },
			{ "runtime.apt.pins[].package", RD_STR, "packages it is for", PINS },
			{ "runtime.apt.pins[].pin", RD_STR, "what it matches", PINS },
			{ "runtime.apt.pins[].priority", RD_INT, "priority", PINS },
			{ "runtime.apt.pins[].amd", RD_BOOL, "it is about a repository of AMD", PINS },
			{ "runtime.apt.pins[].dead", RD_BOOL, "apt takes no notice of it", PINS },
			{ "runtime.apt.pins[].why_dead", RD_STR, "why apt takes no notice of it", PINS },
			{ "runtime.apt.duplicates[]", RD_LIST, "pairs of sources of one product and unlike releases", SOURCES },
			{ "runtime.apt.duplicates[].product", RD_STR, "what both hold", SOURCES },
			{ "runtime.apt.duplicates[].release", RD_STR, "release of the first", SOURCES, RD_VERSION_ROCM },
			{ "runtime.apt.duplicates[].file", RD_STR, "file of the first", SOURCES },
			{ "runtime.apt.duplicates[].other_release", RD_STR, "release of the second", SOURCES, RD_VERSION_ROCM },
			{ "runtime.apt.duplicates[].other_file", RD_STR, "file of the second", SOURCES },
			{ "runtime.apt.shadowed[]", RD_LIST,
	                  "packages of AMD's repository over which the distribution's of the same name wins",
	                  "/var/lib/apt/lists" },
			{ "runtime.apt.shadowed[].name", RD_STR, "name", "/var/lib/apt/lists" },
			{ "runtime.apt.shadowed[].amd_version", RD_STR, "AMD's version", "/var/lib/apt/lists",
	                  RD_VERSION_DPKG },
			{ "runtime.apt.shadowed[].distribution_version", RD_STR, "the distribution's version",
	                  "/var/lib/apt/lists", RD_VERSION_DPKG },
			{ "runtime.apt.shadowed[].amd_priority", RD_INT, "priority of AMD's", PINS },
			{ "runtime.apt.shadowed[].distribution_priority", RD_INT, "priority of the distribution's", PINS },
			{ 0 },
		},
	.run = run,
};
