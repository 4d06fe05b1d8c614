/* Packages and their sources: what the actions make of a small root. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define AMD_LIST "var/lib/apt/lists/repo.radeon.com_rocm_apt_6.4.3_dists_noble_main_binary-amd64_Packages"
#define UBUNTU_LIST "var/lib/apt/lists/archive.ubuntu.com_ubuntu_dists_noble_universe_binary-amd64_Packages"
#define APT \
	"apt-get install -y --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold"
#define APT_DOWN APT " --allow-downgrades"
#define APT_REMOVE "apt-get remove -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold"

#define UPDATE(file) \
	"apt-get update -o Dir::Etc::sourcelist=" file \
	" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 -o DPkg::Lock::Timeout=300\nundo: true\n"

struct world {
	struct tree tree;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static int set_up(void **state)
{
	struct world *w = rd_xcalloc(1, sizeof(*w));

	tree_make(&w->tree);
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: rocm-core\nStatus: install ok installed\nVersion: 6.4.0.60400-47~24.04\nMaintainer: AMD\n\n"
	          "Package: rocblas\nStatus: install ok installed\nVersion: 4.4.0.60400-47~24.04\nDepends: rocm-core, libc6 | "
	          "libc6.1\n\n"
	          "Package: rocm-smi-lib\nStatus: hold ok installed\nVersion: 7.5.0.60403-128~24.04\n\n"
	          "Package: linux-image-generic\nStatus: install ok installed\nVersion: 6.8.0-31.31\n\n"
	          "Package: libc6\nStatus: install ok installed\nVersion: 2.39-0ubuntu8\n\n"
	          "Package: rock-dkms\nStatus: deinstall ok config-files\nVersion: 1:4.5\n");
	tree_file(&w->tree, AMD_LIST,
	          "Package: rocm-core\nVersion: 6.4.3.60403-128~24.04\nFilename: x\n\n"
	          "Package: rocblas\nVersion: 4.4.1.60403-128~24.04\n\n"
	          "Package: rocminfo\nVersion: 1.0.0.60403-128~24.04\n\n"
	          "Package: rocm\nVersion: 6.4.3.60403-128~24.04\n");
	tree_file(&w->tree, UBUNTU_LIST,
	          "Package: rocminfo\nVersion: 5.7.1-3build1\n\n"
	          "Package: linux-modules-extra-6.8.0-31-generic\nVersion: 6.8.0-31.31\n\n"
	          "Package: rocm-core\nVersion: 6.4.0.60400-47~24.04\n");
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	tree_remove(&w->tree);
	free(w);
	return 0;
}

static void add_words(struct rd_strbuf *sb, char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		rd_strbuf_addf(sb, "%s%s", i ? " " : "", words[i]);
}

/* The effects as text; what is refused as "ERRNO: reason". Caller frees. */
static char *lowered(const struct world *w, const char *action, const char *const *args)
{
	struct rd_step *step = rd_step_new(rd_action_find(action), args, w->facts);
	struct rd_strbuf sb = RD_STRBUF_INIT;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_step_lower(step, w->sr, &err);

	if (r < 0)
		rd_strbuf_addf(&sb, "%s: %s", r == -EINVAL ? "EINVAL" : r == -EOPNOTSUPP ? "EOPNOTSUPP" : "?", err.message);
	for (size_t i = 0; r == 0 && i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];

		if (e->path)
			rd_strbuf_addf(&sb, "write %s\n%s", e->path, e->after);
		add_words(&sb, e->argv);
		if (e->undo)
			rd_strbuf_add(&sb, "\nundo: ");
		add_words(&sb, e->undo);
		rd_strbuf_addc(&sb, '\n');
	}
	rd_error_clear(&err);
	rd_step_free(step);
	return rd_strbuf_detach(&sb);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct row {
	const char *action;
	const char *args[12];
	const char *effects; /* the beginning, where it is refused */
};

static void check_rows(const struct world *w, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rd_auto_free char *got = lowered(w, rows[i].action, rows[i].args);

		if (rd_str_has_prefix(rows[i].effects, "E") && strlen(got) > strlen(rows[i].effects))
			got[strlen(rows[i].effects)] = '\0';
		assert_string_equal(got, rows[i].effects);
	}
}

static void versions_are_exact_and_undo_is_what_was_there(void **state)
{
	static const struct row rows[] = {
		/* New: goes away again. */
		{ "package.install",
		  { "packages", "rocminfo", "from", "amd" },
		  APT " rocminfo=1.0.0.60403-128~24.04\nundo: " APT_REMOVE " rocminfo\n" },
		/* Of the distribution's candidates, not of AMD's. */
		{ "package.install",
		  { "packages", "rocminfo", "from", "distribution" },
		  APT " rocminfo=5.7.1-3build1\nundo: " APT_REMOVE " rocminfo\n" },
		/* The old version is a candidate still. */
		{ "package.install",
		  { "packages", "rocm-core", "release", "6.4.3", "from", "amd" },
		  APT " rocm-core=6.4.3.60403-128~24.04\nundo: " APT_DOWN " rocm-core=6.4.0.60400-47~24.04\n" },
		/* It is not: no way back. */
		{ "package.install",
		  { "packages", "rocblas 4.4.0.60400-47~24.04", "release", "6.4.3", "from", "amd" },
		  APT " rocblas=4.4.1.60403-128~24.04\n" },
		{ "package.install",
		  { "packages", "rocm-core, rocblas", "release", "6.4.3", "from", "amd" },
		  APT " rocm-core=6.4.3.60403-128~24.04 rocblas=4.4.1.60403-128~24.04\n" },
		/* There already. */
		{ "package.install", { "packages", "rocm-core", "version", "6.4.0.60400-47~24.04" }, "" },
		{ "package.install", { "packages", "libc6", "named", "yes" }, "" },
		/* The name is the pin; the list knows its version, or does not. */
		{ "package.install",
		  { "packages", "linux-modules-extra-6.8.0-31-generic", "named", "yes" },
		  APT " linux-modules-extra-6.8.0-31-generic=6.8.0-31.31\nundo: " APT_REMOVE
		      " linux-modules-extra-6.8.0-31-generic\n" },
		{ "package.install",
		  { "packages", "linux-modules-extra-6.8.0-99-generic", "named", "yes" },
		  APT " linux-modules-extra-6.8.0-99-generic\nundo: " APT_REMOVE " linux-modules-extra-6.8.0-99-generic\n" },
	};

	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
}

static void what_cannot_be_pinned_or_is_held_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "rocm", "release", "7.0.2", "from", "amd" },
		  "EOPNOTSUPP: apt's lists on disk have no rocm from AMD of release 7.0.2" },
		{ "package.install", { "packages", "hipblas" }, "EOPNOTSUPP: apt's lists on disk have no hipblas" },
		{ "package.install", { "packages", "rocm-smi-lib", "version", "7.6.0" }, "EOPNOTSUPP: rocm-smi-lib is held" },
		{ "package.remove", { "packages", "rocm-smi-lib" }, "EOPNOTSUPP: rocm-smi-lib is held" },
		{ "package.remove",
		  { "packages", "rocm-core" },
		  "EOPNOTSUPP: other packages need it and would go too: rocblas" },
		{ "package.install", { "packages", "rocm", "release", "six" }, "EOPNOTSUPP: 'six' is not a release" },
	};

	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
}

static void names_that_a_package_manager_would_take_for_more_are_refused(void **state)
{
	static const char *const names[] = { "--allow-unauthenticated",
		                             "-oApt::x=y",
		                             "rocm;reboot",
		                             "$(reboot)",
		                             "rocm/noble",
		                             "rocm-",
		                             "rocm+",
		                             "~nrocm",
		                             "../rocm.deb",
		                             "/tmp/rocm.deb",
		                             "rocm=1",
		                             "`reboot`",
		                             "%s%n",
		                             "",
		                             "rocm*" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		rd_auto_free char *install = lowered(*state, "package.install", ARGS("packages", names[i], "named", "yes"));
		rd_auto_free char *gone = lowered(*state, "package.remove", ARGS("packages", names[i]));

		assert_true(rd_str_has_prefix(install, "EINVAL"));
		assert_true(rd_str_has_prefix(gone, "EINVAL"));
	}
}

static void removing_is_undone_by_the_version_that_was_there(void **state)
{
	static const struct row rows[] = {
		{ "package.remove", { "packages", "rocblas, rocm-core" }, APT_REMOVE " rocblas rocm-core\n" },
		{ "package.remove", { "packages", "rocm-dkms, rock-dkms" }, "" },
	};
	const struct world *w = *state;
	rd_auto_free char *one = NULL;

	check_rows(w, rows, RD_ARRAY_SIZE(rows));
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: rocm-core\nStatus: install ok installed\nVersion: 6.4.3.60403-128~24.04\n");
	one = lowered(w, "package.remove", ARGS("packages", "rocm-core"));
	assert_string_equal(one, APT_REMOVE " rocm-core\nundo: " APT_DOWN " rocm-core=6.4.3.60403-128~24.04\n");
}

static void only_installed_packages_are_held_and_each_once(void **state)
{
	struct world *w = *state;
	static const struct row rows[] = {
		{ "package.hold",
		  { "list", "runtime.amd_packages" },
		  "apt-mark hold rocm-core rocblas\nundo: apt-mark unhold rocm-core rocblas\n" },
		{ "package.hold",
		  { "packages", "linux-image-generic* linux-headers-generic*" },
		  "apt-mark hold linux-image-generic\nundo: apt-mark unhold linux-image-generic\n" },
		{ "package.hold", { "packages", "rocm-smi-lib" }, "" },
		{ "package.hold", { "packages", "*" }, "EINVAL" },
		{ "package.hold", { "packages", "-x" }, "EINVAL" },
	};

	rd_fact_append_str(w->facts, "runtime.amd_packages", "rocm-core 6.4.0.60400-47~24.04", "test");
	rd_fact_append_str(w->facts, "runtime.amd_packages", "rocblas", "test");
	rd_fact_append_str(w->facts, "runtime.amd_packages", "rocm-smi-lib", "test");
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
}

static void half_installed_packages_are_finished_and_whole_ones_left_alone(void **state)
{
	const struct world *w = *state;
	rd_auto_free char *whole = lowered(w, "package.repair", ARGS(NULL)), *half = NULL, *unmet = NULL;

	assert_string_equal(whole, "");
	tree_file(&w->tree, "var/lib/dpkg/status", "Package: a\nStatus: install ok half-configured\nVersion: 1\n");
	half = lowered(w, "package.repair", ARGS(NULL));
	assert_true(rd_str_has_prefix(half, "dpkg --configure -a\napt-get install -y --fix-broken"));
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: a\nStatus: install ok installed\nVersion: 1\nDepends: b | c (>= 2), d\n\n"
	          "Package: e\nStatus: install ok installed\nVersion: 1\nProvides: c (= 2), x\n");
	unmet = lowered(w, "package.repair", ARGS(NULL));
	assert_true(rd_str_has_prefix(unmet, "apt-get install -y --fix-broken"));
}

#define ONE_LINE "# AMD\ndeb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.4.3 %s main\n"
#define STANZA "Types: deb\nURIs: https://repo.radeon.com/rocm/apt/6.4.3\nSuites: %s\nComponents: main\n"

static void a_source_is_pointed_at_this_system_in_either_form(void **state)
{
	const struct world *w = *state;
	rd_auto_free char *before = rd_xasprintf(ONE_LINE, "jammy"),
			  *after = rd_xasprintf("write /etc/apt/sources.list.d/rocm.list\n" ONE_LINE
	                                        "\n" UPDATE("/etc/apt/sources.list.d/rocm.list"),
	                                        "noble");
	rd_auto_free char *before2 =
		rd_xasprintf("%s\n" STANZA, "Types: deb\nURIs: https://example.org\nSuites: jammy\n", "jammy");
	rd_auto_free char *after2 = rd_xasprintf("write /etc/apt/sources.list.d/rocm.sources\n%s\n" STANZA
	                                         "\n" UPDATE("/etc/apt/sources.list.d/rocm.sources"),
	                                         "Types: deb\nURIs: https://example.org\nSuites: jammy\n", "noble");
	static const char uri[] = "https://repo.radeon.com/rocm/apt/6.4.3";
	rd_auto_free char *one = NULL, *two = NULL, *three = NULL, *again = NULL;

	tree_file(&w->tree, "etc/apt/sources.list.d/rocm.list", before);
	tree_file(&w->tree, "etc/apt/sources.list.d/rocm.sources", before2);
	tree_file(&w->tree, "etc/apt/sources.list.d/ten.list", "deb https://repo.amd.com/rocm/packages/ubuntu2204 stable main");
	one = lowered(w, "package.source-suite",
	              ARGS("file", "/etc/apt/sources.list.d/rocm.list", "uri", uri, "from", "jammy", "to", "noble"));
	assert_string_equal(one, after);
	two = lowered(w, "package.source-suite",
	              ARGS("file", "/etc/apt/sources.list.d/rocm.sources", "uri", uri, "from", "jammy", "to", "noble"));
	assert_string_equal(two, after2);
	three = lowered(w, "package.source-suite",
	                ARGS("file", "/etc/apt/sources.list.d/ten.list", "uri", "https://repo.amd.com/rocm/packages/ubuntu2204",
	                     "from", "stable", "to", "ubuntu2404"));
	assert_non_null(strstr(three, "deb https://repo.amd.com/rocm/packages/ubuntu2404 stable main\n"));
	tree_file(&w->tree, "etc/apt/sources.list.d/rocm.list", strchr(after, '\n') + 1);
	again = lowered(w, "package.source-suite",
	                ARGS("file", "/etc/apt/sources.list.d/rocm.list", "uri", uri, "from", "jammy", "to", "noble"));
	assert_string_equal(again, "");
}

static void a_source_is_switched_off_in_either_form(void **state)
{
	const struct world *w = *state;
	rd_auto_free char *line = rd_xasprintf(ONE_LINE, "noble"), *stanza = rd_xasprintf(STANZA, "noble");
	rd_auto_free char *one = NULL, *two = NULL, *other = NULL, *retired = NULL;

	tree_file(&w->tree, "etc/apt/sources.list.d/rocm.list", line);
	tree_file(&w->tree, "etc/apt/sources.list.d/rocm.sources", stanza);
	one = lowered(w, "package.source-disable",
	              ARGS("file", "/etc/apt/sources.list.d/rocm.list", "product", "rocm", "release", "6.4.3"));
	assert_non_null(strstr(one, "\n# rocm-doctor: deb [arch=amd64"));
	two = lowered(w, "package.source-disable",
	              ARGS("file", "/etc/apt/sources.list.d/rocm.sources", "product", "rocm", "release", "6.4.3"));
	assert_non_null(strstr(two, "Types: deb\nEnabled: no\nURIs:"));
	retired = lowered(w, "package.source-retire",
	                  ARGS("file", "/etc/apt/sources.list.d/rocm.list", "uri", "https://repo.radeon.com/rocm/apt/6.4.3"));
	assert_string_equal(retired, one);
	other = lowered(w, "package.source-disable",
	                ARGS("file", "/etc/apt/sources.list.d/rocm.list", "product", "rocm", "release", "6.4"));
	assert_string_equal(other, "");
}

static void sources_elsewhere_and_words_that_are_none_are_refused(void **state)
{
	static const struct row rows[] = {
		{ "package.source-disable", { "file", "/etc/passwd", "uri", "x" }, "EINVAL" },
		{ "package.source-retire", { "file", "/etc/passwd", "uri", "x" }, "EINVAL" },
		{ "package.source-retire", { "file", "/etc/apt/sources.list", "uri", "a b" }, "EINVAL" },
		{ "package.source-disable", { "file", "/etc/apt/sources.list.d/../../passwd", "uri", "x" }, "EINVAL" },
		{ "package.source-disable", { "file", "/etc/apt/sources.list.d/a.list", "uri", "a b" }, "EINVAL" },
		{ "package.source-suite",
		  { "file", "/etc/apt/sources.list", "uri", "x", "from", "jammy", "to", "no ble" },
		  "EINVAL" },
		{ "package.source", { "name", "../x", "uri", "https://x", "suite", "noble", "keyring", "/k.gpg" }, "EINVAL" },
		{ "package.source", { "name", "x", "uri", "https://x y", "suite", "noble", "keyring", "/k.gpg" }, "EINVAL" },
		{ "package.source", { "name", "x", "uri", "ftp://x", "suite", "noble", "keyring", "/k.gpg" }, "EINVAL" },
		{ "package.key",
		  { "keyring", "/etc/apt/keyrings/../../shadow.gpg", "uri", "https://repo.radeon.com/x" },
		  "EINVAL" },
		{ "package.key", { "keyring", "/etc/passwd.gpg", "uri", "https://repo.radeon.com/x" }, "EOPNOTSUPP" },
		{ "package.key",
		  { "keyring", "/etc/apt/keyrings/x.gpg", "uri", "https://evil.example/repo.radeon.com/" },
		  "EOPNOTSUPP: the fingerprint of the key of" },
	};

	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
}

static void a_repository_is_a_file_of_its_own(void **state)
{
	static const struct row rows[] = {
		{ "package.source",
		  { "name", "rocm", "uri", "https://repo.radeon.com/rocm/apt/6.4.3", "suite", "noble", "keyring",
		    "/etc/apt/keyrings/rocm.gpg" },
		  "write /etc/apt/sources.list.d/rocm.sources\nTypes: deb\nURIs: https://repo.radeon.com/rocm/apt/6.4.3\n"
		  "Suites: noble\nComponents: main\nArchitectures: amd64\nSigned-By: /etc/apt/keyrings/rocm.gpg\n"
		  "\n" UPDATE("/etc/apt/sources.list.d/rocm.sources") },
		{ "package.pin",
		  { NULL },
		  "write /etc/apt/preferences.d/rocm-pin-600\nPackage: *\nPin: release o=repo.radeon.com\nPin-Priority: "
		  "600\n\n" },
	};

	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
}

static void only_the_key_with_the_known_fingerprint_is_let_in(void **state)
{
	const struct world *w = *state;
	static const char *const args[] = { "keyring", "/etc/apt/keyrings/rocm.gpg", "uri",
		                            "https://repo.radeon.com/rocm/apt/6.4.3", NULL };
	rd_auto_free char *without = lowered(w, "package.key", args), *with = NULL, *there = NULL;

	assert_true(rd_str_has_prefix(without, "EOPNOTSUPP: gpg is not installed"));
	tree_file(&w->tree, "usr/bin/gpg", "");
	with = lowered(w, "package.key", args);
	assert_non_null(strstr(with, "--output /etc/apt/keyrings/rocm.gpg --export CA8BB4727A47B4D09B4EE8969386B48A1A693C5C\n"
	                             "undo: rm -f /etc/apt/keyrings/rocm.gpg"));
	tree_file(&w->tree, "etc/apt/keyrings/rocm.gpg", "key");
	there = lowered(w, "package.key", args);
	assert_string_equal(there, "");
}

static void a_host_without_a_package_manager_gets_advice(void **state)
{
	const struct world *w = *state;
	rd_auto_free char *path = rd_xasprintf("%s/var/lib/dpkg/status", w->tree.dir), *got = NULL;

	assert_int_equal(unlink(path), 0);
	got = lowered(w, "package.install", ARGS("packages", "rocm"));
	assert_true(rd_str_has_prefix(got, "EOPNOTSUPP: neither apt, dnf nor zypper"));
}

#define PRIMARY(name, version, release, arch) \
	"<package type=\"rpm\">\n  <name>" name "</name>\n  <arch>" arch "</arch>\n  <version epoch=\"0\" ver=\"" version \
	"\" rel=\"" release "\"/>\n</package>\n"
#define DNF "dnf install -y --setopt=install_weak_deps=False "

static void pack(const struct world *w, const char *path)
{
	rd_auto_free char *command = rd_xasprintf("gzip '%s/%s'", w->tree.dir, path);

	assert_int_equal(system(command), 0);
}

/* A repository that is switched off, and one that is in the cache and nowhere else, have nothing to offer. */
static void dnf_and_zypper_choose_from_the_metadata_in_their_caches(void **state)
{
	static const char repos[] = "[rocm]\nname=ROCm\nbaseurl=https://repo.radeon.com/rocm/el9/6.4.3/main\nenabled = 1\n"
				    "[baseos]\nmirrorlist=https://mirrors.example/$releasever\n"
				    "[off]\nbaseurl=https://repo.radeon.com/rocm/el9/7.0/main\nenabled=0\n";
	static const struct row dnf[] = {
		{ "package.install",
		  { "packages", "rocm", "from", "amd" },
		  DNF "rocm-6.4.3.60403-128.el9\nundo: dnf remove -y --noautoremove rocm\n" },
		{ "package.install",
		  { "packages", "rocrand-devel", "from", "amd", "release", "6.4.3" },
		  DNF "rocrand-devel-3.3.0.60403-128.el9\nundo: dnf remove -y --noautoremove rocrand-devel\n" },
		{ "package.install",
		  { "packages", "rocm", "release", "7.0" },
		  "EOPNOTSUPP: dnf's cache on disk has no rocm of release 7.0" },
		{ "package.install", { "packages", "bash" }, DNF "bash-5.2.0-1.el9\nundo: " DNF "bash-5.1.8-9.el9\n" },
		{ "firmware.install",
		  { NULL },
		  DNF "linux-firmware-20251111-153.el9\nundo: dnf remove -y --noautoremove linux-firmware\n" },
		{ "firmware.install",
		  { "avoid", "20251111" },
		  "EOPNOTSUPP: linux-firmware 20251111-153.el9, the newest in dnf's cache, is one that is "
		  "known" },
	};
	static const struct row zypper[] = {
		{ "package.install",
		  { "packages", "rocm" },
		  "zypper --non-interactive install --no-recommends rocm=6.4.3.60403-sles156.128\n"
		  "undo: zypper --non-interactive remove --no-clean-deps rocm\n" },
	};
	const struct world *w = *state;
	rd_auto_free char *clean =
		rd_xasprintf("rm -r %s/var/lib/dpkg && mkdir -p %s/var/lib/rpm %s/etc/dnf && "
	                     "cp " RD_SOURCE_DIR "/tests/fixtures/rpmdb/good.sqlite %s/var/lib/rpm/rpmdb.sqlite",
	                     w->tree.dir, w->tree.dir, w->tree.dir, w->tree.dir);
	rd_auto_free char *zypp = rd_xasprintf("mkdir -p %s/etc/zypp", w->tree.dir), *probe = NULL;

	assert_int_equal(system(clean), 0);
	probe = lowered(w, "package.remove", ARGS("packages", "none"));
	if (strstr(probe, "sqlite"))
		skip();
	rd_fact_set_str(w->facts, "host.os.id", "rhel", "test");
	tree_file(&w->tree, "etc/yum.repos.d/all.repo", repos);
	tree_file(&w->tree, "var/cache/dnf/rocm-0123456789abcdef/repodata/1-primary.xml",
	          "<metadata packages=\"9\">\n" PRIMARY("rocm", "6.4.3.60403", "128.el9", "x86_64")
	                  PRIMARY("rocrand-devel", "3.3.0.60403", "128.el9", "x86_64") "</metadata>\n");
	tree_file(&w->tree, "var/cache/dnf/baseos-0123456789abcdef/repodata/2-primary.xml",
	          PRIMARY("linux-firmware", "20250812", "151.el9", "noarch")
	                  PRIMARY("linux-firmware", "20251111", "153.el9", "noarch") PRIMARY("bash", "9", "9.el9", "src")
	                          PRIMARY("bash", "5.1.8", "9.el9", "x86_64") PRIMARY("bash", "5.2.0", "1.el9", "x86_64"));
	tree_file(&w->tree, "var/cache/dnf/off-0123456789abcdef/repodata/3-primary.xml",
	          PRIMARY("rocm", "7.0.0.70000", "38.el9", "x86_64"));
	tree_file(&w->tree, "var/cache/dnf/gone-0123456789abcdef/repodata/4-primary.xml",
	          PRIMARY("rocm", "7.2.4.70204", "93.el9", "x86_64"));
	pack(w, "var/cache/dnf/rocm-0123456789abcdef/repodata/1-primary.xml");
	pack(w, "var/cache/dnf/baseos-0123456789abcdef/repodata/2-primary.xml");
	pack(w, "var/cache/dnf/off-0123456789abcdef/repodata/3-primary.xml");
	pack(w, "var/cache/dnf/gone-0123456789abcdef/repodata/4-primary.xml");
	check_rows(w, dnf, RD_ARRAY_SIZE(dnf));

	assert_int_equal(system(zypp), 0);
	tree_file(&w->tree, "etc/zypp/repos.d/rocm.repo", "[rocm]\nbaseurl=https://repo.radeon.com/rocm/zyp/6.4.3/main\n");
	tree_file(&w->tree, "var/cache/zypp/raw/rocm/repodata/1-primary.xml",
	          PRIMARY("rocm", "6.4.3.60403", "sles156.128", "x86_64"));
	pack(w, "var/cache/zypp/raw/rocm/repodata/1-primary.xml");
	check_rows(w, zypper, RD_ARRAY_SIZE(zypper));
}

static void lists_that_apt_keeps_packed_are_read_too(void **state)
{
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "rocminfo", "from", "distribution" },
		  APT " rocminfo=5.7.1-3build1\nundo: " APT_REMOVE " rocminfo\n" },
		{ "package.install",
		  { "packages", "rocm", "from", "distribution" },
		  "EOPNOTSUPP: apt's lists on disk have no rocm" },
	};
	const struct world *w = *state;

	pack(w, UBUNTU_LIST);
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
}

/* The one that is installed; else the narrowest that the system has. */
static void firmware_is_of_the_package_that_is_in_charge_of_it(void **state)
{
	static const struct row none[] = {
		{ "firmware.install", { NULL }, "EOPNOTSUPP: apt's lists on disk have no linux-firmware" },
	};
	static const struct row narrow[] = {
		{ "firmware.install",
		  { NULL },
		  APT " linux-firmware-amd-graphics=1ubuntu3\nundo: " APT_REMOVE " linux-firmware-amd-graphics\n" },
	};
	static const struct row installed[] = {
		{ "firmware.install", { NULL }, APT " linux-firmware=2ubuntu3\nundo: " APT_DOWN " linux-firmware=1ubuntu0\n" },
		{ "firmware.install",
		  { "avoid", "2ubuntu" },
		  "EOPNOTSUPP: linux-firmware 2ubuntu3, the newest in apt's lists, is one that is known to "
		  "fail" },
	};
	static const struct row newest[] = { { "firmware.install", { NULL }, "" } };
	static const struct row of_driver[] = {
		{ "firmware.install", { NULL }, "EOPNOTSUPP: amdgpu-dkms-firmware 30.30.1 is in charge of the firmware here" },
	};
	static const struct row unknown[] = {
		{ "firmware.install",
		  { NULL },
		  "EOPNOTSUPP: which package of 'nixos' has amdgpu's firmware is not known here" },
	};
	static const char lists[] = "var/lib/apt/lists/archive.ubuntu.com_ubuntu_dists_noble_main_binary-amd64_Packages";
	const struct world *w = *state;

	rd_fact_set_str(w->facts, "host.os.id", "ubuntu", "test");
	check_rows(w, none, 1);
	tree_file(&w->tree, lists,
	          "Package: linux-firmware\nVersion: 1ubuntu0\n\nPackage: linux-firmware\nVersion: 2ubuntu3\n\n"
	          "Package: linux-firmware-amd-graphics\nVersion: 1ubuntu3\n");
	check_rows(w, narrow, 1);
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: linux-firmware\nStatus: install ok installed\nVersion: 1ubuntu0\n");
	check_rows(w, installed, 2);
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: linux-firmware\nStatus: install ok installed\nVersion: 2ubuntu3\n");
	check_rows(w, newest, 1);
	tree_file(&w->tree, "var/lib/dpkg/status",
	          "Package: amdgpu-dkms-firmware\nStatus: install ok installed\nVersion: 30.30.1\n");
	check_rows(w, of_driver, 1);
	tree_file(&w->tree, "var/lib/dpkg/status", "Package: bash\nStatus: install ok installed\nVersion: 1\n");
	rd_fact_set_str(w->facts, "host.os.id", "nixos", "test");
	check_rows(w, unknown, 1);
}

/* ------------------------------------------------------------ dnf and zypper */

#define PACKAGE(name, arch, epoch, version, release) \
	"<package type=\"rpm\"><name>" name "</name><arch>" arch "</arch><version epoch=\"" epoch "\" ver=\"" version \
	"\" rel=\"" release "\"/><checksum type=\"sha256\" pkgid=\"YES\">0</checksum></package>\n"
#define XML "<?xml version=\"1.0\"?>\n<metadata packages=\"9\">\n"
#define DNF5 "dnf5 install -y --setopt=install_weak_deps=False "
#define ZYPPER "zypper --non-interactive install --no-recommends"

static const char amd_list[] = XML PACKAGE("hsa-rocr", "x86_64", "0", "1.14.0.60200", "66.el9")
	PACKAGE("hsa-rocr", "x86_64", "0", "1.15.0.60403", "128.el9") PACKAGE("hsa-rocr", "src", "0", "9.60403", "1.el9")
		PACKAGE("hsa-rocr", "i686", "0", "9.60403", "1.el9")
			PACKAGE("amdgpu-dkms", "noarch", "1", "6.12.12.60403", "2194681.el9") PACKAGE("rocminfo", "x86_64", "0",
                                                                                                      "1.0.0.60403", "128.el9")
				PACKAGE("rocm", "x86_64", "0", "6;reboot", "1.60403-") "<package type=\"rpm\"><name>rocm";
static const char distribution_list[] = XML PACKAGE("rocminfo", "x86_64", "0", "6.2.1", "3.el9")
	PACKAGE("bash", "x86_64", "0", "5.1.8", "9.el9") PACKAGE("bash", "x86_64", "0", "5.1.8", "10.el9")
		PACKAGE("rocm-runtime", "x86_64", "0", "6.2.0^git1", "3.el9") "</metadata>";

/* A host of rpm: its database is the one that test_rpmdb reads. */
static void become_rpm(const struct world *w, const char *configuration, const char *cache, const char *suffix)
{
	rd_auto_free char *clean = rd_xasprintf("rm -rf %s/var/lib/dpkg && mkdir -p %s/var/lib/rpm && cp " RD_SOURCE_DIR
	                                        "/tests/fixtures/rpmdb/good.sqlite %s/var/lib/rpm/rpmdb.sqlite",
	                                        w->tree.dir, w->tree.dir, w->tree.dir);
	rd_auto_free char *amd = rd_xasprintf("%s/rocm%s/repodata/x-primary.xml", cache, suffix);
	rd_auto_free char *other = rd_xasprintf("%s/baseos%s/repodata/y-primary.xml", cache, suffix);
	rd_auto_free char *off = rd_xasprintf("%s/rocm-old%s/repodata/z-primary.xml", cache, suffix);
	rd_auto_free char *file = rd_xasprintf("%s/all.repo", configuration), *probe = NULL;

	assert_int_equal(system(clean), 0);
	tree_file(&w->tree, amd, amd_list);
	tree_file(&w->tree, other, distribution_list);
	tree_file(&w->tree, off, XML PACKAGE("hsa-rocr", "x86_64", "0", "7.0.0.60403", "999.el9") "</metadata>");
	tree_file(&w->tree, file,
	          "[rocm]\nname=ROCm\nbaseurl=https://repo.radeon.com/rocm/el9/6.4.3/main\nenabled=1\n"
	          "[baseos]\nmirrorlist=https://mirrors.example.org/?repo=repo.radeon.com\n"
	          "[rocm-old]\nbaseurl = https://repo.radeon.com/rocm/el9/latest/main\nenabled = 0\n");
	probe = lowered(w, "package.remove", ARGS("packages", "none"));
	if (strstr(probe, "sqlite"))
		skip();
}

static void dnf_gets_exact_versions_from_its_own_lists(void **state)
{
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "kernel-devel-5.14.0-570.el9.x86_64", "named", "yes" },
		  DNF "kernel-devel-5.14.0-570.el9.x86_64\nundo: dnf remove -y --noautoremove "
		      "kernel-devel-5.14.0-570.el9.x86_64\n" },
		{ "package.install", { "packages", "bash-5.1.8-9.el9.x86_64", "named", "yes" }, "" },
		/* The newest of the release, for this machine, from a repository that is on; the old one is still to be had. */
		{ "package.install",
		  { "packages", "hsa-rocr", "release", "6.4.3", "from", "amd" },
		  DNF "hsa-rocr-1.15.0.60403-128.el9\nundo: " DNF "hsa-rocr-1.14.0.60200-66.el9\n" },
		{ "package.install", { "packages", "hsa-rocr", "release", "6.2.0", "from", "amd" }, "" },
		/* With an epoch; the installed version is nowhere. */
		{ "package.install",
		  { "packages", "amdgpu-dkms", "from", "amd" },
		  DNF "amdgpu-dkms-1:6.12.12.60403-2194681.el9\n" },
		/* AMD's number is the lower one, and Fedora's may have a caret. */
		{ "package.install",
		  { "packages", "rocminfo", "from", "amd" },
		  DNF "rocminfo-1.0.0.60403-128.el9\nundo: dnf remove -y --noautoremove rocminfo\n" },
		{ "package.install",
		  { "packages", "rocm-runtime", "from", "distribution" },
		  DNF "rocm-runtime-6.2.0^git1-3.el9\nundo: dnf remove -y --noautoremove rocm-runtime\n" },
		/* rpm's order: 10 is after 9. */
		{ "package.install",
		  { "packages", "bash", "from", "distribution" },
		  DNF "bash-5.1.8-10.el9\nundo: " DNF "bash-5.1.8-9.el9\n" },
		{ "package.install",
		  { "packages", "rocm", "from", "amd" },
		  "EOPNOTSUPP: dnf's cache on disk has no rocm from AMD; refresh (sudo dnf makecache)" },
		{ "package.remove",
		  { "packages", "hsa-rocr" },
		  "rpm --erase hsa-rocr\nundo: " DNF "hsa-rocr-1.14.0.60200-66.el9\n" },
		{ "package.remove", { "packages", "amdgpu-dkms" }, "rpm --erase amdgpu-dkms\n" },
		{ "package.pin", { NULL }, "EOPNOTSUPP" },
		{ "package.repair", { NULL }, "EOPNOTSUPP" },
	};

	become_rpm(*state, "etc/yum.repos.d", "var/cache/dnf", "-0123456789abcdef");
	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
}

static void dnf_5_is_told_apart_and_has_its_own_cache(void **state)
{
	const struct world *w = *state;
	rd_auto_free char *link = rd_xasprintf("ln -s dnf5 %s/usr/bin/dnf", w->tree.dir);
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "hsa-rocr", "release", "6.4.3", "from", "amd" },
		  DNF5 "hsa-rocr-1.15.0.60403-128.el9\nundo: " DNF5 "hsa-rocr-1.14.0.60200-66.el9\n" },
		{ "package.remove",
		  { "packages", "hsa-rocr" },
		  "rpm --erase hsa-rocr\nundo: " DNF5 "hsa-rocr-1.14.0.60200-66.el9\n" },
		{ "package.hold",
		  { "packages", "hsa-rocr amdgpu-dkms" },
		  "write /etc/dnf/versionlock.toml\nversion = \"1.0\"\n\n"
		  "[[packages]]\nname = \"hsa-rocr\"\ncomment = \"rocm-doctor\"\n\n"
		  "[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"1.14.0.60200-66.el9\"\n\n"
		  "[[packages]]\nname = \"amdgpu-dkms\"\ncomment = \"rocm-doctor\"\n\n"
		  "[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"1:6.8.5.60200-2009582.el9\"\n\n" },
	};
	rd_auto_free char *beside = NULL;

	become_rpm(w, "etc/yum.repos.d", "var/cache/libdnf5", "-0123456789abcdef");
	tree_file(&w->tree, "usr/bin/dnf5", "");
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
	assert_int_equal(system(link), 0);
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
	/* What dnf 5 leaves of a file without locks must not stay before a table. */
	tree_file(&w->tree, "etc/dnf/versionlock.toml", "packages = []\nversion = \"1.0\"\n");
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
	tree_file(&w->tree, "etc/dnf/versionlock.toml", "version = \"1.0\"\n\n[[packages]]\nname = \"hsa-rocr\"\n");
	check_rows(w, (const struct row[]){ { "package.hold", { "packages", "hsa-rocr" }, "" } }, 1);
	/* Beside a dnf of RHEL it is not the one that is meant. */
	assert_int_equal(unlinkat(AT_FDCWD, link + strlen("ln -s dnf5 "), 0), 0);
	tree_file(&w->tree, "usr/bin/dnf", "");
	beside = lowered(w, "package.install", ARGS("packages", "kernel-devel-1", "named", "yes"));
	assert_true(rd_str_has_prefix(beside, "dnf install"));
}

static void zypper_gets_exact_versions_from_its_own_lists(void **state)
{
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "kernel-default-devel", "version", "6.4.0-150600.23" },
		  ZYPPER " kernel-default-devel=6.4.0-150600.23\n"
		         "undo: zypper --non-interactive remove --no-clean-deps kernel-default-devel\n" },
		{ "package.install",
		  { "packages", "hsa-rocr", "release", "6.4.3", "from", "amd" },
		  ZYPPER " hsa-rocr=1.15.0.60403-128.el9\nundo: " ZYPPER " --oldpackage hsa-rocr=1.14.0.60200-66.el9\n" },
		{ "package.install",
		  { "packages", "hsa-rocr", "version", "1.13.0.60103-1.el9" },
		  ZYPPER " --oldpackage hsa-rocr=1.13.0.60103-1.el9\nundo: " ZYPPER
		         " --oldpackage hsa-rocr=1.14.0.60200-66.el9\n" },
		{ "package.install",
		  { "packages", "amdgpu-dkms", "from", "amd" },
		  ZYPPER " amdgpu-dkms=1:6.12.12.60403-2194681.el9\n" },
		{ "package.install",
		  { "packages", "rocm", "from", "amd" },
		  "EOPNOTSUPP: zypper's cache on disk has no rocm from AMD" },
		{ "package.remove",
		  { "packages", "hsa-rocr" },
		  "rpm --erase hsa-rocr\n"
		  "undo: " ZYPPER " --oldpackage hsa-rocr=1.14.0.60200-66.el9\n" },
		{ "package.hold",
		  { "packages", "bash hsa*" },
		  "write /etc/zypp/locks\n\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: bash\n\n"
		  "type: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: hsa-rocr\n\n" },
		{ "package.install",
		  { "packages", "kernel-default-devel", "kernel", "6.4.0-150600.23.25-default" },
		  "EOPNOTSUPP: no package of the running kernel 6.4.0-150600.23.25-default is installed" },
	};

	become_rpm(*state, "etc/zypp/repos.d", "var/cache/zypp/raw", "");
	check_rows(*state, rows, RD_ARRAY_SIZE(rows));
	tree_file(&((struct world *)*state)->tree, "etc/zypp/locks", "\ntype: package\nmatch_type: glob\nsolvable_name: ba*\n");
	check_rows(*state,
	           (const struct row[]){
			   { "package.hold", { "packages", "bash" }, "" },
			   { "package.install", { "packages", "bash", "version", "5.1.8-10.el9" }, "EOPNOTSUPP: bash is held" },
			   { "package.remove", { "packages", "bash" }, "EOPNOTSUPP: bash is held" },
		   },
	           3);
}

static void headers_of_suse_have_the_version_of_the_kernel_that_runs(void **state)
{
	static const struct row rows[] = {
		{ "package.install",
		  { "packages", "kernel-default-devel", "kernel", "6.4.0-150600.23.25-default" },
		  ZYPPER " kernel-default-devel=6.4.0-150600.23.25.1\n"
		         "undo: zypper --non-interactive remove --no-clean-deps kernel-default-devel=6.4.0-150600.23.25.1\n" },
		{ "package.install", { "packages", "kernel-default-devel", "kernel", "6.4.0-150600.23.14-default" }, "" },
		{ "package.install",
		  { "packages", "kernel-default-devel", "kernel", "6.4.0-150600.23.2-default" },
		  "EOPNOTSUPP: no package of the running kernel" },
		{ "package.install",
		  { "packages", "kernel-default-devel", "kernel", "" },
		  "EOPNOTSUPP: no package of the running" },
		{ "package.hold",
		  { "packages", "kernel-default*" },
		  "write /etc/zypp/locks\n\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: "
		  "kernel-default\n\n"
		  "type: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: kernel-default-devel\n\n" },
	};
	const struct world *w = *state;
	rd_auto_free char *ndb =
		rd_xasprintf("rm -rf %s/var/lib/dpkg && mkdir -p %s/usr/lib/sysimage/rpm %s/etc/zypp && "
	                     "cp " RD_SOURCE_DIR "/tests/fixtures/rpmdb/suse.ndb %s/usr/lib/sysimage/rpm/Packages.db",
	                     w->tree.dir, w->tree.dir, w->tree.dir, w->tree.dir);

	assert_int_equal(system(ndb), 0);
	check_rows(w, rows, RD_ARRAY_SIZE(rows));
}

static void a_lock_of_dnf_is_a_line_of_the_plugin_that_has_to_be_there_and_on(void **state)
{
	static const struct row without[] = {
		{ "package.hold", { "packages", "bash" }, "EOPNOTSUPP: dnf's versionlock plugin is not installed" }
	};
	static const struct row off[] = {
		{ "package.hold", { "packages", "bash" }, "EOPNOTSUPP: dnf's versionlock plugin is switched off" }
	};
	static const struct row elsewhere[] = {
		{ "package.hold", { "packages", "bash" }, "EOPNOTSUPP: dnf's versionlock plugin keeps its list in /srv/list" }
	};
	static const struct row on[] = { { "package.hold",
		                           { "packages", "bash amdgpu*" },
		                           "write /etc/dnf/plugins/versionlock.list\n# mine\nbash-0:5.1.8-9.el9.*\n"
		                           "amdgpu-dkms-1:6.8.5.60200-2009582.el9.*\n\n" } };
	const struct world *w = *state;

	become_rpm(w, "etc/yum.repos.d", "var/cache/dnf", "-0123456789abcdef");
	check_rows(w, without, 1);
	tree_file(&w->tree, "etc/dnf/plugins/versionlock.conf", "[main]\nenabled = 0\n");
	check_rows(w, off, 1);
	tree_file(&w->tree, "etc/dnf/plugins/versionlock.conf", "[main]\nenabled = 1\nlocklist = /srv/list\n");
	check_rows(w, elsewhere, 1);
	tree_file(&w->tree, "etc/dnf/plugins/versionlock.conf",
	          "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n");
	tree_file(&w->tree, "etc/dnf/plugins/versionlock.list", "# mine");
	check_rows(w, on, 1);
	tree_file(&w->tree, "etc/dnf/plugins/versionlock.list",
	          "bash-0:5.1.8-9.el9.*\namdgpu-dkms-1:6.8.5.60200-2009582.el9.*\n");
	check_rows(w, (const struct row[]){ { "package.hold", { "packages", "bash amdgpu*" }, "" } }, 1);
}

static void a_repository_of_rpm_names_a_key_that_rpm_was_given(void **state)
{
	static const struct row source[] = {
		{ "package.source",
		  { "name", "rocm", "uri", "https://repo.radeon.com/rocm/el9/6.4.3/main", "key",
		    "file:///etc/pki/rpm-gpg/RPM-GPG-KEY-rocm" },
		  "write /etc/yum.repos.d/rocm.repo\n[rocm]\nname=rocm\nbaseurl=https://repo.radeon.com/rocm/el9/6.4.3/main\n"
		  "enabled=1\npriority=50\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-rocm\n\n" },
		{ "package.key",
		  { "keyring", "/etc/pki/rpm-gpg/RPM-GPG-KEY-../../../shadow", "uri", "https://repo.radeon.com/x" },
		  "EINVAL" },
		{ "package.key",
		  { "keyring", "/etc/pki/rpm-gpg/RPM-GPG-KEY-rocm", "uri", "https://repo.example.org/" },
		  "EOPNOTSUPP: the fingerprint of the key of" },
	};
	static const char *const args[] = { "keyring", "/etc/pki/rpm-gpg/RPM-GPG-KEY-rocm", "uri",
		                            "https://repo.radeon.com/rocm/el9/6.4.3/main", NULL };
	const struct world *w = *state;
	rd_auto_free char *with = NULL, *there = NULL;

	become_rpm(w, "etc/yum.repos.d", "var/cache/dnf", "-0123456789abcdef");
	check_rows(w, source, RD_ARRAY_SIZE(source));
	tree_file(&w->tree, "usr/bin/gpg", "");
	tree_file(&w->tree, "usr/bin/curl", "");
	with = lowered(w, "package.key", args);
	assert_non_null(strstr(with,
	                       "--armor --output /etc/pki/rpm-gpg/RPM-GPG-KEY-rocm --export "
	                       "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C\nundo: rm -f /etc/pki/rpm-gpg/RPM-GPG-KEY-rocm"));
	assert_non_null(strstr(with, "rpm --import /etc/pki/rpm-gpg/RPM-GPG-KEY-rocm\nundo: rpm -e gpg-pubkey-1a693c5c\n"));
	/* Whatever lies there was not fetched by us. */
	tree_file(&w->tree, "etc/pki/rpm-gpg/RPM-GPG-KEY-rocm", "key");
	there = lowered(w, "package.key", args);
	assert_true(
		rd_str_has_prefix(there, "EOPNOTSUPP: '/etc/pki/rpm-gpg/RPM-GPG-KEY-rocm' is there, but rpm does not have"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(versions_are_exact_and_undo_is_what_was_there),
		TEST(what_cannot_be_pinned_or_is_held_is_refused),
		TEST(names_that_a_package_manager_would_take_for_more_are_refused),
		TEST(removing_is_undone_by_the_version_that_was_there),
		TEST(only_installed_packages_are_held_and_each_once),
		TEST(half_installed_packages_are_finished_and_whole_ones_left_alone),
		TEST(a_source_is_pointed_at_this_system_in_either_form),
		TEST(a_source_is_switched_off_in_either_form),
		TEST(sources_elsewhere_and_words_that_are_none_are_refused),
		TEST(a_repository_is_a_file_of_its_own),
		TEST(only_the_key_with_the_known_fingerprint_is_let_in),
		TEST(a_host_without_a_package_manager_gets_advice),
		TEST(dnf_and_zypper_choose_from_the_metadata_in_their_caches),
		TEST(lists_that_apt_keeps_packed_are_read_too),
		TEST(firmware_is_of_the_package_that_is_in_charge_of_it),
		TEST(dnf_gets_exact_versions_from_its_own_lists),
		TEST(dnf_5_is_told_apart_and_has_its_own_cache),
		TEST(zypper_gets_exact_versions_from_its_own_lists),
		TEST(headers_of_suse_have_the_version_of_the_kernel_that_runs),
		TEST(a_lock_of_dnf_is_a_line_of_the_plugin_that_has_to_be_there_and_on),
		TEST(a_repository_of_rpm_names_a_key_that_rpm_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
