/* Do the packages of ROCm belong together: one release a root, one origin, made for this system? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/probe.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/xalloc.h"

static bool is_installed(const struct rd_fact *p)
{
	const char *state = rd_fact_get_str(p, "state");

	return !rd_streq(state, "config-files") && !rd_streq(state, "not-installed");
}

static bool is_rocm_of(const struct rd_fact *p, const char *origin)
{
	return rd_streq(rd_fact_get_str(p, "kind"), "rocm") && rd_streq(rd_fact_get_str(p, "origin"), origin) &&
	       is_installed(p);
}

/* The root that packages with this suffix fill. */
static char *root_of_suffix(struct rd_probe_ctx *ctx, const char *suffix)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm");
	const char *root = rd_fact_get_str(ctx->facts, "runtime.default_root");

	if (*suffix) {
		for (size_t i = 0; i < rd_fact_count(roots); i++) {
			root = rd_fact_get_str(rd_fact_at(roots, i), "root");
			if (rd_str_has_suffix(root, suffix))
				return rd_xstrdup(root);
		}
		return rd_xasprintf("/opt/rocm-%s", suffix);
	}
	if (*root && !rd_streq(root, "/usr"))
		return rd_xstrdup(root);
	for (size_t i = 0; i < rd_fact_count(roots); i++) {
		root = rd_fact_get_str(rd_fact_at(roots, i), "root");
		if (!rd_streq(root, "/usr"))
			return rd_xstrdup(root);
	}
	return rd_xstrdup("/opt/rocm");
}

/* "1.7" of an old meta package and "1.7.0" of the rest are one release. */
static bool is_same_release(const char *a, const char *b)
{
	return rd_version_has_prefix(a, b) || rd_version_has_prefix(b, a);
}

static void add_release(struct rd_strv *releases, const char *release)
{
	for (size_t i = 0; i < releases->n; i++)
		if (is_same_release(releases->v[i], release))
			return;
	rd_strv_push(releases, release);
}

/* Packages of one suffix by release; the release of most is the one meant, and what differs is named. */
static void judge_suffix(struct rd_probe_ctx *ctx, const struct rd_fact *packages, const char *suffix)
{
	rd_auto_strv struct rd_strv releases = RD_STRV_INIT;
	rd_auto_free char *root = NULL;
	size_t most = 0, best = 0;
	struct rd_fact *item;

	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);

		if (is_rocm_of(p, "amd") && rd_streq(rd_fact_get_str(p, "suffix"), suffix) && *rd_fact_get_str(p, "release"))
			add_release(&releases, rd_fact_get_str(p, "release"));
	}
	if (releases.n < 2)
		return;
	rd_strv_sort(&releases);
	for (size_t k = 0; k < releases.n; k++) {
		size_t count = 0;

		for (size_t i = 0; i < rd_fact_count(packages); i++) {
			const struct rd_fact *p = rd_fact_at(packages, i);

			count += is_rocm_of(p, "amd") && rd_streq(rd_fact_get_str(p, "suffix"), suffix) &&
			         is_same_release(rd_fact_get_str(p, "release"), releases.v[k]);
		}
		if (count >= most) {
			most = count;
			best = k;
		}
	}
	root = root_of_suffix(ctx, suffix);
	item = rd_fact_append(ctx->facts, "runtime.skew", "runtime.packages");
	rd_fact_set_str(item, "root", root, "runtime.packages");
	rd_fact_set_str(item, "release", releases.v[best], "runtime.packages");
	for (size_t k = 0; k < releases.n; k++)
		rd_fact_append_str(item, "releases", releases.v[k], "runtime.packages");
	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);
		rd_auto_free char *text = NULL;

		if (!is_rocm_of(p, "amd") || !rd_streq(rd_fact_get_str(p, "suffix"), suffix) ||
		    !*rd_fact_get_str(p, "release") || is_same_release(rd_fact_get_str(p, "release"), releases.v[best]))
			continue;
		text = rd_xasprintf("%s %s", rd_fact_get_str(p, "name"), rd_fact_get_str(p, "version"));
		rd_fact_append_str(item, "odd_packages", text, rd_fact_source(p));
	}
}

static void look_for_skew(struct rd_probe_ctx *ctx, const struct rd_fact *packages)
{
	rd_auto_strv struct rd_strv suffixes = RD_STRV_INIT;

	rd_fact_set_list(ctx->facts, "runtime.skew", "runtime.packages");
	for (size_t i = 0; i < rd_fact_count(packages); i++)
		if (is_rocm_of(rd_fact_at(packages, i), "amd"))
			rd_strv_push_unique(&suffixes, rd_fact_get_str(rd_fact_at(packages, i), "suffix"));
	rd_strv_sort(&suffixes);
	for (size_t i = 0; i < suffixes.n; i++)
		judge_suffix(ctx, packages, suffixes.v[i]);
}

/* Libraries that other programs of a distribution (hwloc and the like) bring along and that do not stand in AMD's way. */
static bool is_harmless(const char *name)
{
	return rd_str_has_prefix(name, "librocm-smi") || rd_str_has_prefix(name, "libamd-smi") ||
	       rd_str_has_prefix(name, "libhsakmt") || rd_str_has_prefix(name, "libamd-comgr");
}

static void look_for_origins(struct rd_probe_ctx *ctx, const struct rd_fact *packages)
{
	rd_auto_strbuf struct rd_strbuf words = RD_STRBUF_INIT;

	rd_fact_set_list(ctx->facts, "runtime.amd_packages", "runtime.packages");
	rd_fact_set_list(ctx->facts, "runtime.distribution_packages", "runtime.packages");
	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);
		const char *name = rd_fact_get_str(p, "name");

		if (is_rocm_of(p, "amd")) {
			rd_fact_append_str(ctx->facts, "runtime.amd_packages", name, rd_fact_source(p));
		} else if (is_rocm_of(p, "distribution") && !is_harmless(name)) {
			rd_fact_append_str(ctx->facts, "runtime.distribution_packages", name, rd_fact_source(p));
			rd_strbuf_addf(&words, "%s%s", words.len ? " " : "", name);
		}
	}
	rd_fact_set_str(ctx->facts, "runtime.distribution_words", words.buf, "runtime.packages");
}

static void look_for_foreign(struct rd_probe_ctx *ctx, const struct rd_fact *packages)
{
	const char *build = rd_fact_get_str(ctx->facts, "runtime.expected_build");

	rd_fact_set_list(ctx->facts, "runtime.foreign_packages", "runtime.packages, /etc/os-release");
	for (size_t i = 0; *build && i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);
		const char *built_for = rd_fact_get_str(p, "built_for");
		rd_auto_free char *text = NULL;

		if (!is_rocm_of(p, "amd") || !*built_for || rd_streq(built_for, build))
			continue;
		text = rd_xasprintf("%s %s", rd_fact_get_str(p, "name"), rd_fact_get_str(p, "version"));
		rd_fact_append_str(ctx->facts, "runtime.foreign_packages", text, rd_fact_source(p));
	}
}

/* Packages under the names that went with 7.2, beside those of the layout that began with 7.14. */
static void look_for_old_layout(struct rd_probe_ctx *ctx, const struct rd_fact *packages)
{
	const struct rd_fact *sources = rd_fact_get(ctx->facts, "runtime.apt.sources");
	bool has_new = false;

	rd_fact_set_list(ctx->facts, "runtime.old_layout", "runtime.packages, runtime.apt");
	for (size_t i = 0; i < rd_fact_count(packages); i++)
		has_new = has_new || (rd_str_has_prefix(rd_fact_get_str(rd_fact_at(packages, i), "name"), "amdrocm") &&
		                      is_installed(rd_fact_at(packages, i)));
	if (!has_new)
		return;
	for (size_t i = 0; i < rd_fact_count(packages); i++) {
		const struct rd_fact *p = rd_fact_at(packages, i);
		const char *name = rd_fact_get_str(p, "name"), *release = rd_fact_get_str(p, "release");

		if (is_rocm_of(p, "amd") && !rd_str_has_prefix(name, "amdrocm") && *release &&
		    rd_version_compare(release, "7.3", RD_VERSION_DOTTED) < 0)
			rd_fact_append_str(ctx->facts, "runtime.old_layout", name, rd_fact_source(p));
	}
	for (size_t i = 0; i < rd_fact_count(sources); i++) {
		const struct rd_fact *s = rd_fact_at(sources, i);

		if (rd_streq(rd_fact_get_str(s, "product"), "rocm") && rd_fact_get_bool(s, "enabled"))
			rd_fact_append_str(ctx->facts, "runtime.old_layout", rd_fact_get_str(s, "file"), rd_fact_source(s));
	}
}

/* Held packages, or a pin of AMD's that names a version, keep a release where it is. */
static void look_for_holds(struct rd_probe_ctx *ctx, const struct rd_fact *packages)
{
	const struct rd_fact *pins = rd_fact_get(ctx->facts, "runtime.apt.pins");
	bool held = false;

	for (size_t i = 0; i < rd_fact_count(packages); i++)
		held = held ||
		       (is_rocm_of(rd_fact_at(packages, i), "amd") && rd_fact_get_bool(rd_fact_at(packages, i), "held"));
	for (size_t i = 0; i < rd_fact_count(pins); i++)
		held = held || (rd_str_has_prefix(rd_fact_get_str(rd_fact_at(pins, i), "pin"), "version") &&
		                !rd_fact_get_bool(rd_fact_at(pins, i), "dead"));
	rd_fact_set_bool(ctx->facts, "runtime.held", held, "runtime.packages, runtime.apt.pins");
}

/* The release that stands for the host: that of the default root, else of the only one. */
static void set_release(struct rd_probe_ctx *ctx)
{
	const struct rd_fact *roots = rd_fact_get(ctx->facts, "runtime.rocm"), *the = NULL;
	const char *root = rd_fact_get_str(ctx->facts, "runtime.default_root");

	for (size_t i = 0; i < rd_fact_count(roots); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(roots, i), "root"), root) || rd_fact_count(roots) == 1)
			the = rd_fact_at(roots, i);
	if (!the)
		return;
	if (rd_fact_is_unknown(the, "version"))
		rd_fact_set_unknown_why(ctx->facts, "runtime.release", rd_fact_reason(rd_fact_get(the, "version")), NULL);
	else
		rd_fact_set_str(ctx->facts, "runtime.release", rd_fact_get_str(the, "version"),
		                rd_fact_source(rd_fact_get(the, "version")));
}

static int run(struct rd_probe_ctx *ctx)
{
	static const char *const paths[] = {
		"runtime.skew",       "runtime.amd_packages", "runtime.distribution_packages", "runtime.foreign_packages",
		"runtime.old_layout", "runtime.held"
	};
	const struct rd_fact *packages = rd_fact_get(ctx->facts, "runtime.packages");

	set_release(ctx);
	if (rd_fact_state(packages) == RD_FACT_UNKNOWN) {
		for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
			rd_fact_set_unknown_why(ctx->facts, paths[i], rd_fact_reason(packages), rd_fact_source(packages));
		return 0;
	}
	look_for_skew(ctx, packages);
	look_for_origins(ctx, packages);
	look_for_foreign(ctx, packages);
	look_for_old_layout(ctx, packages);
	look_for_holds(ctx, packages);
	return 0;
}

#define PACKAGES "runtime.packages"

const struct rd_probe rd_probe_runtime_stack = {
	.name = "runtime/stack",
	.layer = RD_LAYER_RUNTIME,
	.flags = RD_PROBE_PURE,
	.needs = (const char *const[]){ "runtime.rocm", "runtime.packages", NULL },
	.summary = "whether the packages of ROCm belong together",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.release", RD_STR, "ROCm release of the default root, else of the only one", "runtime.rocm",
	                  RD_VERSION_ROCM },
			{ "runtime.skew[]", RD_LIST, "roots whose packages come from several releases", PACKAGES },
			{ "runtime.skew[].root", RD_STR, "root", PACKAGES },
			{ "runtime.skew[].release", RD_STR, "release of most of its packages", PACKAGES, RD_VERSION_ROCM },
			{ "runtime.skew[].releases[]", RD_STRS, "all releases", PACKAGES },
			{ "runtime.skew[].odd_packages[]", RD_STRS, "packages of another release, with their versions",
	                  PACKAGES },
			{ "runtime.amd_packages[]", RD_STRS, "installed packages of ROCm that AMD made", PACKAGES },
			{ "runtime.distribution_packages[]", RD_STRS,
	                  "installed packages of ROCm that the distribution made (not those that "
	                  "other programs bring along)",
	                  PACKAGES },
			{ "runtime.distribution_words", RD_STR, "the same, as words of a command", PACKAGES },
			{ "runtime.foreign_packages[]", RD_STRS,
	                  "packages of AMD that were built for another system, with their versions", PACKAGES },
			{ "runtime.old_layout[]", RD_STRS,
	                  "packages and sources of ROCm 7.2 and older beside those of 7.14 and later", PACKAGES },
			{ "runtime.held", RD_BOOL,
	                  "something keeps AMD's packages at their release (hold, lock, pin by version)", PACKAGES },
			{ 0 },
		},
	.run = run,
};
