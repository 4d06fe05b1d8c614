/* The runtime probes over small trees: packages, roots, loader, sources, variables, visible devices. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "scratch.h"

extern const struct rd_probe rd_probe_runtime_packages, rd_probe_runtime_roots, rd_probe_runtime_loader, rd_probe_runtime_apt,
	rd_probe_runtime_environment, rd_probe_runtime_visible, rd_probe_runtime_stack, rd_probe_runtime_tools;

struct host {
	char *dir;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static int set_up(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	h->dir = scratch_new();
	h->facts = rd_facts_new();
	*state = h;
	return 0;
}

static int tear_down(void **state)
{
	struct host *h = *state;

	rd_fact_free(h->facts);
	rd_sysroot_free(h->sr);
	scratch_free(h->dir);
	free(h);
	return 0;
}

static void run(struct host *h, const struct rd_probe *probe)
{
	if (!h->sr)
		h->sr = scratch_open(h->dir);
	rd_probe_run(probe, h->sr, h->facts);
}

static const char *str(const struct host *h, const char *path)
{
	return rd_fact_get_str(h->facts, path);
}

static size_t count(const struct host *h, const char *path)
{
	return rd_fact_count(rd_fact_get(h->facts, path));
}

static const struct rd_fact *named(const struct host *h, const char *list, const char *key, const char *value)
{
	const struct rd_fact *items = rd_fact_get(h->facts, list);

	for (size_t i = 0; i < rd_fact_count(items); i++)
		if (strcmp(rd_fact_get_str(rd_fact_at(items, i), key), value) == 0)
			return rd_fact_at(items, i);
	return NULL;
}

#define AMD "Maintainer: ROCm Dev Support <rocm-dev.support@amd.com>\n"
#define UBUNTU "Maintainer: Ubuntu Developers <ubuntu-devel-discuss@lists.ubuntu.com>\n"
#define INSTALLED "Status: install ok installed\n"
#define NOBLE "ID=ubuntu\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n"
#define RESOLUTE "ID=ubuntu\nVERSION_ID=\"26.04\"\nVERSION_CODENAME=resolute\n"

static void a_package_of_amd_tells_its_release_and_its_system(void **state)
{
	struct host *h = *state;
	const struct rd_fact *p;

	scratch_file(h->dir, "/etc/os-release", NOBLE);
	scratch_file(h->dir, "/var/lib/dpkg/status",
	             "Package: rocblas\n" INSTALLED AMD "Version: 4.4.0.60400-47~24.04\n\n"
	             "Package: amdgpu-dkms\n" INSTALLED AMD "Version: 1:6.16.13.30300000-2278356.24.04\n\n"
	             "Package: amdrocm-runtime7.14\n" INSTALLED AMD "Version: 7.14.0-4\n\n"
	             "Package: rocminfo\n" INSTALLED UBUNTU "Version: 5.7.1-3build1\n\n"
	             "Package: bash\n" INSTALLED UBUNTU "Version: 5.2-1\n");
	run(h, &rd_probe_runtime_packages);
	assert_string_equal(str(h, "runtime.package_manager"), "dpkg");
	assert_string_equal(str(h, "runtime.expected_build"), "24.04");
	assert_int_equal(count(h, "runtime.packages"), 4);
	p = named(h, "runtime.packages", "name", "rocblas");
	assert_string_equal(rd_fact_get_str(p, "release"), "6.4.0");
	assert_string_equal(rd_fact_get_str(p, "built_for"), "24.04");
	assert_string_equal(rd_fact_get_str(p, "origin"), "amd");
	p = named(h, "runtime.packages", "name", "amdgpu-dkms");
	assert_string_equal(rd_fact_get_str(p, "release"), "30.30.0");
	assert_string_equal(rd_fact_get_str(p, "kind"), "driver");
	p = named(h, "runtime.packages", "name", "amdrocm-runtime7.14");
	assert_string_equal(rd_fact_get_str(p, "release"), "7.14.0");
	assert_string_equal(rd_fact_get_str(p, "suffix"), "7.14");
	p = named(h, "runtime.packages", "name", "rocminfo");
	assert_string_equal(rd_fact_get_str(p, "origin"), "distribution");
	assert_string_equal(rd_fact_get_str(p, "release"), "");
}

static void unmet_dependencies_know_versions_alternatives_and_virtual_packages(void **state)
{
	struct host *h = *state;
	const struct rd_fact *p;

	scratch_file(h->dir, "/var/lib/dpkg/status",
	             "Package: rocm-core\n" INSTALLED AMD "Version: 6.4.0.60400-47~24.04\n"
	             "Depends: libc6 (>= 2.34), mawk | awk, python3:any (>> 3.8), libnuma1 (<< 3)\n\n"
	             "Package: hipcc\n" INSTALLED AMD
	             "Version: 1.1.1.60400-47~24.04\nPre-Depends: rocm-core (= 6.4.0.60400-47~24.04)\n"
	             "Depends: rocm-llvm (= 19.0.0.60400-47~24.04), hip (>= 2)\n\n"
	             "Package: libc6\n" INSTALLED UBUNTU "Version: 2.39-0ubuntu8\n\n"
	             "Package: gawk\n" INSTALLED UBUNTU "Version: 1\nProvides: awk\n\n"
	             "Package: python3\n" INSTALLED UBUNTU "Version: 3.12.3\n\n"
	             "Package: libnuma1\n" INSTALLED UBUNTU "Version: 2.0.18\n\n"
	             "Package: other\n" INSTALLED UBUNTU "Version: 1\nProvides: hip (= 1)\n");
	run(h, &rd_probe_runtime_packages);
	p = named(h, "runtime.packages", "name", "rocm-core");
	assert_int_equal(rd_fact_count(rd_fact_get(p, "unmet")), 0);
	assert_false(rd_fact_get_bool(p, "broken"));
	p = named(h, "runtime.packages", "name", "hipcc");
	assert_int_equal(rd_fact_count(rd_fact_get(p, "unmet")), 2);
	assert_string_equal(rd_fact_get_str(p, "unmet[0]"), "rocm-llvm (= 19.0.0.60400-47~24.04)");
	assert_string_equal(rd_fact_get_str(p, "unmet[1]"), "hip (>= 2)");
	assert_true(rd_fact_get_bool(p, "broken"));
}

static void states_and_holds_are_dpkgs_own(void **state)
{
	struct host *h = *state;
	const struct rd_fact *p;

	scratch_file(h->dir, "/var/lib/dpkg/status",
	             "Package: amdgpu-dkms\nStatus: install ok half-configured\n" AMD
	             "Version: 1:6.12.12.60401-2164967.24.04\n\n"
	             "Package: rocm-core\nStatus: hold ok installed\n" AMD "Version: 6.4.1.60401-83~24.04\n\n"
	             "Package: hsa-rocr\nStatus: deinstall ok config-files\n" AMD "Version: 1.15.0.60400-47~24.04\n\n");
	run(h, &rd_probe_runtime_packages);
	p = named(h, "runtime.packages", "name", "amdgpu-dkms");
	assert_true(rd_fact_get_bool(p, "broken"));
	assert_string_equal(rd_fact_get_str(p, "problem"), "it is half-configured");
	assert_true(rd_fact_get_bool(named(h, "runtime.packages", "name", "rocm-core"), "held"));
	p = named(h, "runtime.packages", "name", "hsa-rocr");
	assert_string_equal(rd_fact_get_str(p, "state"), "config-files");
	assert_false(rd_fact_get_bool(p, "broken"));
}

static void a_line_longer_than_the_buffer_loses_only_its_end(void **state)
{
	struct host *h = *state;
	char *text = malloc(300000), *at = text;

	at += sprintf(at, "Package: filler\n" INSTALLED "Description: ");
	memset(at, 'x', 200000);
	at += 200000;
	sprintf(at, "\n\nPackage: rocm-core\n" INSTALLED AMD "Version: 6.4.0.60400-47~24.04\n");
	scratch_file(h->dir, "/var/lib/dpkg/status", text);
	free(text);
	run(h, &rd_probe_runtime_packages);
	assert_int_equal(count(h, "runtime.packages"), 1);
	assert_string_equal(rd_fact_source(rd_fact_get(h->facts, "runtime.packages[0]")), "/var/lib/dpkg/status:5");
}

static void a_host_without_packages_is_not_an_unknown_one(void **state)
{
	struct host *h = *state;

	run(h, &rd_probe_runtime_packages);
	assert_int_equal(rd_fact_state(rd_fact_get(h->facts, "runtime.packages")), RD_FACT_KNOWN);
	assert_int_equal(count(h, "runtime.packages"), 0);
}

static void an_old_rpm_database_is_unknown_with_the_reason(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/var/lib/rpm/Packages", "bdb");
	run(h, &rd_probe_runtime_packages);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.packages"));
	assert_non_null(strstr(rd_fact_reason(rd_fact_get(h->facts, "runtime.packages")), "Berkeley DB"));
	run(h, &rd_probe_runtime_stack);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.skew"));
}

static void roots_are_found_by_what_lies_in_them(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/opt/rocm-6.4.1/.info/version", "6.4.1-83\n");
	scratch_file(h->dir, "/opt/rocm-6.4.1/lib/libhsa-runtime64.so.1", "elf");
	scratch_link(h->dir, "/opt/rocm", "/etc/alternatives/rocm");
	scratch_link(h->dir, "/etc/alternatives/rocm", "/opt/rocm-6.4.1");
	scratch_file(h->dir, "/opt/rocm-old/README", "nothing");
	scratch_file(h->dir, "/usr/bin/true", "");
	run(h, &rd_probe_runtime_roots);
	assert_int_equal(count(h, "runtime.rocm"), 1);
	assert_string_equal(str(h, "runtime.rocm[0].root"), "/opt/rocm-6.4.1");
	assert_string_equal(str(h, "runtime.rocm[0].version"), "6.4.1");
	assert_string_equal(str(h, "runtime.rocm[0].layout"), "classic");
	assert_true(rd_fact_get_bool(h->facts, "runtime.rocm[0].linked"));
	assert_string_equal(str(h, "runtime.default_root"), "/opt/rocm-6.4.1");
}

static void the_layout_of_714_has_a_folder_for_opt_rocm(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/opt/rocm/core-10.0/.info/version", "10.0.0\n");
	scratch_file(h->dir, "/opt/rocm/core-10.0/lib/libamdhip64.so.7", "elf");
	scratch_link(h->dir, "/opt/rocm/core", "/etc/alternatives/core");
	scratch_link(h->dir, "/etc/alternatives/core", "/opt/rocm/core-10.0");
	run(h, &rd_probe_runtime_roots);
	assert_int_equal(count(h, "runtime.rocm"), 1);
	assert_string_equal(str(h, "runtime.rocm[0].layout"), "core");
	assert_string_equal(str(h, "runtime.default_root"), "/opt/rocm/core-10.0");
	assert_false(rd_fact_get_bool(named(h, "runtime.links", "path", "/opt/rocm/core"), "dangling"));
}

static void a_distributions_rocm_is_a_root_by_its_package(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1", "elf");
	scratch_file(h->dir, "/var/lib/dpkg/status",
	             "Package: libhsa-runtime64-1\n" INSTALLED UBUNTU "Version: 5.7.1-2build1\n");
	run(h, &rd_probe_runtime_packages);
	run(h, &rd_probe_runtime_roots);
	assert_string_equal(str(h, "runtime.rocm[0].root"), "/usr");
	assert_string_equal(str(h, "runtime.rocm[0].version"), "5.7.1");
	assert_string_equal(str(h, "runtime.rocm[0].origin"), "distribution");
	assert_string_equal(str(h, "runtime.default_root"), "/usr");
}

static void a_link_in_a_circle_dangles(void **state)
{
	struct host *h = *state;

	scratch_link(h->dir, "/opt/rocm", "/etc/alternatives/rocm");
	scratch_link(h->dir, "/etc/alternatives/rocm", "/opt/rocm");
	run(h, &rd_probe_runtime_roots);
	assert_true(rd_fact_get_bool(named(h, "runtime.links", "path", "/opt/rocm"), "dangling"));
	assert_int_equal(count(h, "runtime.rocm"), 0);
}

static void a_root_that_nothing_names_is_not_reachable(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/opt/rocm-6.4.1/lib/libamdhip64.so.6.4.60401", "elf");
	scratch_link(h->dir, "/opt/rocm-6.4.1/lib/libamdhip64.so.6", "libamdhip64.so.6.4.60401");
	scratch_file(h->dir, "/opt/rocm-6.2.0/lib/libamdhip64.so.6", "elf");
	scratch_manifest(h->dir, "'environment': {'LD_LIBRARY_PATH': '/opt/rocm-6.2.0/lib'}");
	run(h, &rd_probe_runtime_environment);
	run(h, &rd_probe_runtime_roots);
	run(h, &rd_probe_runtime_loader);
	assert_int_equal(count(h, "runtime.libraries"), 2);
	assert_string_equal(str(h, "runtime.libraries[0].root"), "/opt/rocm-6.2.0");
	assert_string_equal(str(h, "runtime.libraries[0].found_by"), "LD_LIBRARY_PATH");
	assert_true(rd_fact_get_bool(h->facts, "runtime.libraries[0].chosen"));
	assert_string_equal(str(h, "runtime.libraries[1].release"), "6.4.1");
	assert_string_equal(str(h, "runtime.libraries[1].found_by"), "");
	assert_true(rd_fact_get_bool(named(h, "runtime.rocm", "root", "/opt/rocm-6.2.0"), "reachable"));
	assert_false(rd_fact_get_bool(named(h, "runtime.rocm", "root", "/opt/rocm-6.4.1"), "reachable"));
}

static void both_forms_of_apt_sources_are_read(void **state)
{
	struct host *h = *state;
	const struct rd_fact *s;

	scratch_file(h->dir, "/etc/os-release", NOBLE);
	scratch_file(h->dir, "/etc/apt/keyrings/rocm.gpg", "key");
	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list",
	             "# ROCm\ndeb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.4 noble "
	             "main\n"
	             "#deb https://repo.radeon.com/rocm/apt/6.3 noble main\n"
	             "deb-src https://repo.radeon.com/rocm/apt/6.2 noble main\n");
	scratch_file(h->dir, "/etc/apt/sources.list.d/amdrocm-stable.sources",
	             "X-Repo-Id: amdrocm-stable\nTypes: deb\nURIs: https://stable.repo.amd.com/rocm/core/packages/ubuntu2204/\n"
	             "Suites: stable\nComponents: main\nSigned-By:\n /etc/apt/keyrings/gone.gpg\n\n"
	             "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu/\nSuites: noble noble-updates\nEnabled: no\n");
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.sources"), 4);
	s = named(h, "runtime.apt.sources", "product", "rocm");
	assert_string_equal(rd_fact_get_str(s, "release"), "6.4");
	assert_string_equal(rd_fact_get_str(s, "key"), "ok");
	assert_false(rd_fact_get_bool(s, "wrong_suite"));
	assert_int_equal(rd_fact_get_int(s, "line"), 2);
	s = named(h, "runtime.apt.sources", "product", "amdrocm");
	assert_string_equal(rd_fact_get_str(s, "key"), "missing");
	assert_string_equal(rd_fact_get_str(s, "expected_suite"), "ubuntu2404");
	assert_true(rd_fact_get_bool(s, "has_expected_suite"));
	assert_true(rd_fact_get_bool(s, "wrong_suite"));
	s = named(h, "runtime.apt.sources", "suite", "noble-updates");
	assert_false(rd_fact_get_bool(s, "enabled"));
	assert_string_equal(rd_fact_get_str(s, "vendor"), "other");
}

static void debian_takes_the_suite_of_the_ubuntu_that_amd_built_for_it(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/os-release", "ID=debian\nVERSION_ID=\"13\"\nVERSION_CODENAME=trixie\n");
	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list",
	             "deb [trusted=yes] https://repo.radeon.com/rocm/apt/7.2 noble main\n");
	run(h, &rd_probe_runtime_apt);
	assert_false(rd_fact_get_bool(h->facts, "runtime.apt.sources[0].wrong_suite"));
	assert_string_equal(str(h, "runtime.apt.sources[0].key"), "trusted");
}

static void amds_two_files_are_no_duplicates_and_two_drivers_are(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/7.2 noble main\n");
	scratch_file(h->dir, "/etc/apt/sources.list.d/amdgpu.list",
	             "deb https://repo.radeon.com/amdgpu/30.30/ubuntu noble main\n");
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.duplicates"), 0);
	rd_fact_free(h->facts);
	h->facts = rd_facts_new();
	scratch_file(h->dir, "/etc/apt/sources.list.d/old.list", "deb https://repo.radeon.com/amdgpu/7.2/ubuntu noble main\n");
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.duplicates"), 1);
	assert_true(rd_fact_get_bool(named(h, "runtime.apt.sources", "release", "7.2"), "enabled"));
	assert_true(rd_fact_get_bool(named(h, "runtime.apt.sources", "file", "/etc/apt/sources.list.d/old.list"), "withdrawn"));
	assert_false(
		rd_fact_get_bool(named(h, "runtime.apt.sources", "file", "/etc/apt/sources.list.d/rocm.list"), "withdrawn"));
}

static void dead_pins_are_told_from_live_ones(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/preferences.d/rocm-pin-600",
	             "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n\n"
	             "Package: rocblas\nPin: version *60204*\nPin-Priority: 1001\n\n"
	             "Package: rocfft\nPin: version /60204/\nPin-Priority: 1001\n");
	scratch_file(h->dir, "/etc/apt/preferences.d/rocm.conf",
	             "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n");
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.pins"), 4);
	assert_false(rd_fact_get_bool(h->facts, "runtime.apt.pins[0].dead"));
	assert_true(rd_fact_get_bool(h->facts, "runtime.apt.pins[0].amd"));
	assert_true(rd_fact_get_bool(h->facts, "runtime.apt.pins[1].dead"));
	assert_false(rd_fact_get_bool(h->facts, "runtime.apt.pins[2].dead"));
	assert_true(rd_fact_get_bool(h->facts, "runtime.apt.pins[3].dead"));
}

static const char amd_list[] = "/var/lib/apt/lists/repo.radeon.com_rocm_apt_6.2_dists_noble_main_binary-amd64_Packages";
static const char universe[] = "/var/lib/apt/lists/archive.ubuntu.com_ubuntu_dists_noble_universe_binary-amd64_Packages";

static void the_distributions_rocminfo_wins_without_a_pin(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/6.2 noble main\n");
	scratch_file(h->dir, amd_list,
	             "Package: rocminfo\nVersion: 1.0.0.60200-66~24.04\n\nPackage: rocblas\nVersion: 4.2.0.60200-66\n");
	/* Not by name: archives sort by source. */
	scratch_file(h->dir, universe,
	             "Package: zlib1g\nVersion: 1\n\nPackage: rocminfo\nArchitecture: amd64\nVersion: 5.0.0-1\n\n"
	             "Package: rocminfo\nArchitecture: amd64\nVersion: 5.7.1-3build1\n\nPackage: abc\nVersion: 1\n");
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.shadowed"), 1);
	assert_string_equal(str(h, "runtime.apt.shadowed[0].name"), "rocminfo");
	assert_string_equal(str(h, "runtime.apt.shadowed[0].distribution_version"), "5.7.1-3build1");
}

static void compressed_lists_are_unknown_and_said_to_be_so(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/6.2 noble main\n");
	scratch_file(h->dir, amd_list, "Package: rocminfo\nVersion: 1.0.0.60200-66~24.04\n");
	scratch_file(h->dir, "/var/lib/apt/lists/archive.ubuntu.com_ubuntu_dists_noble_universe_binary-amd64_Packages.lz4",
	             "lz4");
	run(h, &rd_probe_runtime_apt);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.apt.shadowed"));
	assert_non_null(strstr(rd_fact_reason(rd_fact_get(h->facts, "runtime.apt.shadowed")), "compressed"));
}

static void a_pin_for_amd_settles_it(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/6.2 noble main\n");
	scratch_file(h->dir, "/etc/apt/preferences.d/rocm-pin-600",
	             "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n");
	scratch_file(h->dir, amd_list, "Package: rocminfo\nVersion: 1.0.0.60200-66~24.04\n");
	scratch_file(h->dir, universe, "Package: rocminfo\nVersion: 5.7.1-3build1\n");
	h->sr = scratch_open(h->dir);
	run(h, &rd_probe_runtime_apt);
	assert_int_equal(count(h, "runtime.apt.shadowed"), 0);
	/* And the lists, which may have 70 MB, are not even opened. */
	assert_true(rd_sysroot_bytes_read(h->sr) < 1000);
}

static void without_lists_nobody_knows_what_would_win(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/6.2 noble main\n");
	run(h, &rd_probe_runtime_apt);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.apt.shadowed"));
}

static void secrets_are_never_kept(void **state)
{
	struct host *h = *state;

	scratch_manifest(h->dir, "'environment': {'VLLM_API_KEY': 'abc', 'ROCM_AUTH': 'x', 'HSA_XNACK': '1', 'SECRET': 's', "
	                         "'LD_LIBRARY_PATH': '/opt/rocm/lib:/gone'}");
	scratch_file(h->dir, "/etc/environment", "OLLAMA_TOKEN=t\nHSA_ENABLE_SDMA=\"0\"\n");
	scratch_file(h->dir, "/etc/systemd/system/ollama.service",
	             "[Service]\nEnvironment=\"HSA_OVERRIDE_GFX_VERSION=10.3.0\" 'OLLAMA_HOST=0.0.0.0' VLLM_API_KEY=k\n");
	scratch_dir(h->dir, "/opt/rocm/lib");
	run(h, &rd_probe_runtime_environment);
	assert_string_equal(str(h, "runtime.environment.HSA_XNACK"), "1");
	assert_int_equal(count(h, "runtime.environment.LD_LIBRARY_PATH"), 2);
	assert_null(named(h, "runtime.variables", "name", "VLLM_API_KEY"));
	assert_null(named(h, "runtime.variables", "name", "OLLAMA_TOKEN"));
	assert_null(named(h, "runtime.variables", "name", "ROCM_AUTH"));
	assert_string_equal(rd_fact_get_str(named(h, "runtime.variables", "name", "HSA_ENABLE_SDMA"), "value"), "0");
	assert_string_equal(rd_fact_get_str(named(h, "runtime.variables", "name", "HSA_OVERRIDE_GFX_VERSION"), "scope"),
	                    "service");
	assert_string_equal(rd_fact_get_str(named(h, "runtime.variables", "name", "OLLAMA_HOST"), "value"), "0.0.0.0");
	assert_true(rd_fact_get_bool(named(h, "runtime.paths", "path", "/opt/rocm/lib"), "exists"));
	assert_false(rd_fact_get_bool(named(h, "runtime.paths", "path", "/gone"), "exists"));
}

static void a_stale_folder_is_one_of_a_rocm_that_is_gone(void **state)
{
	struct host *h = *state;

	scratch_manifest(
		h->dir,
		"'environment': {'LD_LIBRARY_PATH': '/opt/rocm/lib:/opt/rocm/lib64:/opt/rocm-5.7.0/lib:/usr/local/nvidia/lib', "
		"'ROCM_PATH': '/data/hip'}");
	scratch_dir(h->dir, "/opt/rocm/lib");
	run(h, &rd_probe_runtime_environment);
	assert_false(rd_fact_get_bool(named(h, "runtime.paths", "path", "/opt/rocm/lib"), "stale"));
	assert_false(rd_fact_get_bool(named(h, "runtime.paths", "path", "/opt/rocm/lib64"), "stale"));
	assert_false(rd_fact_get_bool(named(h, "runtime.paths", "path", "/usr/local/nvidia/lib"), "stale"));
	assert_true(rd_fact_get_bool(named(h, "runtime.paths", "path", "/opt/rocm-5.7.0/lib"), "stale"));
	assert_true(rd_fact_get_bool(named(h, "runtime.paths", "path", "/data/hip"), "stale"));
}

static void a_compiler_that_is_not_installed_leaves_no_dangling_link(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/opt/rocm-6.4.1/.info/version", "6.4.1-83\n");
	scratch_link(h->dir, "/opt/rocm", "rocm-6.4.1");
	scratch_link(h->dir, "/opt/rocm-6.4.1/llvm", "lib/llvm");
	scratch_link(h->dir, "/opt/rocm-6.4.1/bin", "gone");
	run(h, &rd_probe_runtime_roots);
	assert_int_equal(count(h, "runtime.links"), 1);
	assert_false(rd_fact_get_bool(h->facts, "runtime.links[0].dangling"));
}

/* Of a release that was made before the system there is no suite to take. */
static void a_suite_is_only_proposed_where_the_release_has_it(void **state)
{
	static const struct {
		const char *os, *path;
		bool there;
	} rows[] = {
		{ NOBLE, "rocm/apt/6.4 jammy", true },           { NOBLE, "rocm/apt/6.1.2 jammy", false },
		{ NOBLE, "rocm/apt/latest jammy", true },        { RESOLUTE, "amdgpu/30.30/ubuntu noble", false },
		{ RESOLUTE, "amdgpu/31.50/ubuntu noble", true }, { RESOLUTE, "rocm/apt/7.2.4 noble", false },
	};
	struct host *h = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[128];

		snprintf(line, sizeof(line), "deb [trusted=yes] https://repo.radeon.com/%s main\n", rows[i].path);
		scratch_file(h->dir, "/etc/os-release", rows[i].os);
		scratch_file(h->dir, "/etc/apt/sources.list.d/amd.list", line);
		rd_fact_free(h->facts);
		h->facts = rd_facts_new();
		run(h, &rd_probe_runtime_apt);
		assert_true(rd_fact_get_bool(h->facts, "runtime.apt.sources[0].wrong_suite"));
		assert_int_equal(rd_fact_get_bool(h->facts, "runtime.apt.sources[0].has_expected_suite"), rows[i].there);
		assert_non_null(strstr(str(h, "runtime.apt.sources[0].suite_remedy"),
		                       rows[i].there ? "instead" : "AMD has nothing of "));
	}
}

static void old_releases_had_one_suite_for_every_ubuntu(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/os-release", NOBLE);
	scratch_file(h->dir, "/etc/apt/sources.list.d/rocm.list", "deb https://repo.radeon.com/rocm/apt/4.5.2 ubuntu main\n");
	run(h, &rd_probe_runtime_apt);
	assert_false(rd_fact_get_bool(h->facts, "runtime.apt.sources[0].wrong_suite"));
}

static void an_override_is_three_numbers_and_nothing_behind_them(void **state)
{
	static const struct {
		const char *value, *gfx;
		bool valid;
		const char *meant;
	} cases[] = {
		{ "10.3.0", "gfx1030", true, "10.3.0" },
		{ "9.0.10", "gfx90a", true, "9.0.10" },
		{ "9.4.2", "gfx942", true, "9.4.2" },
		{ "gfx1030", "", false, "10.3.0" },
		{ "gfx90a", "", false, "9.0.10" },
		{ "1100", "", false, "11.0.0" },
		{ "v11.0.0", "", false, "11.0.0" },
		{ "10.3", "", false, "10.3.0" },
		{ "10.3.0 ", "", false, "10.3.0" },
		{ "gfx", "", false, "" },
		{ "10.x", "", false, "" },
		{ "rdna2", "", false, "" },
		{ "99.0.0 x", "", false, "" },
		{ "", "", false, "" },
		{ "11.0.0.0", "", false, "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		void *one;
		struct host *h;
		char members[128];

		set_up(&one);
		h = one;
		snprintf(members, sizeof(members), "'environment': {'HSA_OVERRIDE_GFX_VERSION': '%s'}", cases[i].value);
		scratch_manifest(h->dir, members);
		run(h, &rd_probe_runtime_environment);
		assert_true(rd_fact_get_bool(h->facts, "runtime.override.set"));
		assert_int_equal(rd_fact_get_bool(h->facts, "runtime.override.valid"), cases[i].valid);
		assert_string_equal(str(h, "runtime.override.gfx"), cases[i].gfx);
		assert_string_equal(str(h, "runtime.override.meant"), cases[i].meant);
		tear_down(&one);
	}
}

static void an_environment_that_was_not_captured_is_unknown(void **state)
{
	struct host *h = *state;

	run(h, &rd_probe_runtime_environment);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.environment"));
	assert_true(rd_fact_is_unknown(h->facts, "runtime.override.set"));
	run(h, &rd_probe_runtime_visible);
	assert_true(rd_fact_is_unknown(h->facts, "runtime.visible.count"));
}

static void add_gpus(struct host *h, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rd_fact *gpu = rd_fact_append(h->facts, "gpus", "test");
		char text[32];

		snprintf(text, sizeof(text), "0000:%02x:00.0", i + 1);
		rd_fact_set_str(gpu, "pci.address", text, "test");
		rd_fact_set_int(gpu, "kfd.node", i + 2, "test");
		snprintf(text, sizeof(text), "GPU-%016x", 0xabc0 + i);
		rd_fact_set_str(gpu, "kfd.uuid", text, "test");
	}
}

/* Two cards, one of two partitions, and the processor's own GPU between them. */
static void the_cards_are_named_so_that_only_they_are_left(void **state)
{
	struct host *h = *state;
	struct rd_fact *gpu;

	scratch_manifest(h->dir, "'environment': {}");
	add_gpus(h, 3);
	gpu = rd_fact_at_mutable(rd_fact_get_mutable(h->facts, "gpus"), 0);
	rd_fact_set_int(rd_fact_append(gpu, "partitions", "test"), "kfd_node", 7, "test");
	rd_fact_set_int(rd_fact_append(gpu, "partitions", "test"), "kfd_node", 8, "test");
	rd_fact_set_str(rd_fact_at_mutable(rd_fact_get_mutable(h->facts, "gpus"), 1), "kind", "apu", "test");
	run(h, &rd_probe_runtime_visible);
	assert_string_equal(str(h, "runtime.visible.cards"), "GPU-000000000000abc2,2,3");
}

static void masks_compose_as_the_runtimes_compose_them(void **state)
{
	static const struct {
		const char *rocr, *hip, *cuda, *devices;
	} cases[] = {
		{ NULL, NULL, NULL, "1234" },
		{ "2,3", NULL, NULL, "34" },
		{ "2,3", "1", NULL, "4" },
		{ "3,2", "0", NULL, "4" },  /* order of the tokens is the new order */
		{ "1", "1", NULL, "" },     /* the second counts what the first left */
		{ "", NULL, NULL, "" },     /* set to nothing: no GPU */
		{ NULL, "", NULL, "1234" }, /* but not for HIP */
		{ NULL, "", "1", "2" },
		{ NULL, "0", "1", "1" }, /* HIP's own goes first */
		{ NULL, "-1", NULL, "" },
		{ NULL, "0,9,1", NULL, "1" },        /* the list ends at the first that is wrong */
		{ NULL, "1,1,0", NULL, "21" },       /* repeats are skipped */
		{ "1,1,0", NULL, NULL, "2" },        /* ROCr ends at a repeat */
		{ "0x1, 02", NULL, NULL, "23" },     /* ROCr reads hexadecimal and octal */
		{ NULL, "01", NULL, "" },            /* HIP does not */
		{ "0,1,2,3,9", NULL, NULL, "1234" }, /* only as many tokens as there are GPUs */
		{ "GPU-000000000000abc2", NULL, NULL, "3" },
		{ NULL, "GPU-000000000000abc1", NULL, "2" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		char members[256], got[16] = "";
		struct host *h;
		void *one;
		int len;

		set_up(&one);
		h = one;
		len = snprintf(members, sizeof(members), "'environment': {'A': 'b'");
		if (cases[i].rocr)
			len += snprintf(members + len, sizeof(members) - (size_t)len, ", 'ROCR_VISIBLE_DEVICES': '%s'",
			                cases[i].rocr);
		if (cases[i].hip)
			len += snprintf(members + len, sizeof(members) - (size_t)len, ", 'HIP_VISIBLE_DEVICES': '%s'",
			                cases[i].hip);
		if (cases[i].cuda)
			len += snprintf(members + len, sizeof(members) - (size_t)len, ", 'CUDA_VISIBLE_DEVICES': '%s'",
			                cases[i].cuda);
		snprintf(members + len, sizeof(members) - (size_t)len, "}");
		scratch_manifest(h->dir, members);
		add_gpus(h, 4);
		run(h, &rd_probe_runtime_visible);
		for (size_t k = 0; k < count(h, "runtime.visible.devices") && k < 15; k++)
			got[k] = rd_fact_str(rd_fact_at(rd_fact_get(h->facts, "runtime.visible.devices"), k))[6];
		if (strcmp(got, cases[i].devices) != 0)
			fail_msg("case %zu: got '%s', wanted '%s'", i, got, cases[i].devices);
		tear_down(&one);
	}
}

static void a_gpu_without_a_kfd_node_is_hidden_by_no_variable(void **state)
{
	struct host *h = *state;
	struct rd_fact *gpu;

	scratch_manifest(h->dir, "'environment': {'ROCR_VISIBLE_DEVICES': '0'}");
	add_gpus(h, 2);
	gpu = rd_fact_append(h->facts, "gpus", "test");
	rd_fact_set_str(gpu, "pci.address", "0000:09:00.0", "test");
	run(h, &rd_probe_runtime_visible);
	assert_true(rd_fact_get_bool(h->facts, "gpus[0].visible"));
	assert_false(rd_fact_get_bool(h->facts, "gpus[1].visible"));
	assert_true(rd_fact_get_bool(h->facts, "gpus[2].visible"));
	assert_int_equal(rd_fact_get_int(h->facts, "runtime.visible.hidden_count"), 1);
}

static void a_list_that_leaves_some_names_those_it_hides(void **state)
{
	struct host *h = *state;

	scratch_manifest(h->dir, "'environment': {'ROCR_VISIBLE_DEVICES': '0,2,3', 'HIP_VISIBLE_DEVICES': '0,2,3'}");
	add_gpus(h, 4);
	run(h, &rd_probe_runtime_visible);
	assert_int_equal(count(h, "runtime.visible.filters[0].hidden_gpus"), 1);
	assert_string_equal(rd_fact_get_str(h->facts, "runtime.visible.filters[0].hidden_gpus[0]"),
	                    rd_fact_get_str(h->facts, "gpus[1].pci.address"));
	/* 3 is none of the three that are left: 0 and 2 of these are the first and the last. */
	assert_int_equal(count(h, "runtime.visible.filters[1].hidden_gpus"), 1);
	assert_string_equal(rd_fact_get_str(h->facts, "runtime.visible.filters[1].bad_token"), "3");
}

static void a_list_that_leaves_none_concerns_the_host(void **state)
{
	struct host *h = *state;

	scratch_manifest(h->dir, "'environment': {'ROCR_VISIBLE_DEVICES': '7'}");
	add_gpus(h, 4);
	run(h, &rd_probe_runtime_visible);
	assert_int_equal(rd_fact_get_int(h->facts, "runtime.visible.filters[0].after_count"), 0);
	assert_int_equal(count(h, "runtime.visible.filters[0].hidden_gpus"), 0);
}

static void packages_of_two_releases_in_one_root_are_named(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/etc/os-release", NOBLE);
	scratch_file(h->dir, "/var/lib/dpkg/status",
	             "Package: rocm-core\n" INSTALLED AMD "Version: 6.3.0.60300-39~24.04\n\n"
	             "Package: hsa-rocr\n" INSTALLED AMD "Version: 1.14.0.60300-39~24.04\n\n"
	             "Package: rocblas\n" INSTALLED AMD "Version: 4.2.4.60204-139~22.04\n\n"
	             "Package: rocm-core6.2.0\n" INSTALLED AMD "Version: 6.2.0.60200-66~24.04\n");
	run(h, &rd_probe_runtime_packages);
	run(h, &rd_probe_runtime_stack);
	assert_int_equal(count(h, "runtime.skew"), 1);
	assert_string_equal(str(h, "runtime.skew[0].release"), "6.3.0");
	assert_string_equal(str(h, "runtime.skew[0].odd_packages[0]"), "rocblas 4.2.4.60204-139~22.04");
	assert_int_equal(count(h, "runtime.foreign_packages"), 1);
	assert_int_equal(count(h, "runtime.distribution_packages"), 0);
}

static void the_newest_gcc_counts_even_without_headers(void **state)
{
	struct host *h = *state;

	scratch_file(h->dir, "/usr/lib/gcc/x86_64-linux-gnu/9/libgcc.a", "");
	scratch_file(h->dir, "/usr/lib/gcc/x86_64-linux-gnu/11/libgcc.a", "");
	scratch_file(h->dir, "/usr/lib/gcc/x86_64-linux-gnu/14/cc1", "");
	scratch_dir(h->dir, "/usr/include/c++/9");
	run(h, &rd_probe_runtime_tools);
	assert_string_equal(str(h, "runtime.gcc.version"), "11");
	assert_false(rd_fact_get_bool(h->facts, "runtime.gcc.has_headers"));
}

static void a_build_number_of_hip_is_no_release(void **state)
{
	static const struct {
		const char *file, *release;
	} cases[] = {
		{ "libamdhip64.so.6.4.60401", "6.4.1" }, { "libamdhip64.so.5.2.21153", "" },
		{ "libamdhip64.so.5.7.31201", "" },      { "libhsa-runtime64.so.1.18.70100", "7.1.0" },
		{ "libhsa-runtime64.so.1.5.0", "" },     { "librocblas.so.5.5", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		void *one;
		struct host *h;
		char path[128];

		set_up(&one);
		h = one;
		snprintf(path, sizeof(path), "/opt/rocm-x/lib/%s", cases[i].file);
		scratch_file(h->dir, path, "elf");
		*strstr(strstr(path, ".so.") + 4, ".") = '\0';
		scratch_link(h->dir, path, cases[i].file);
		run(h, &rd_probe_runtime_roots);
		run(h, &rd_probe_runtime_loader);
		assert_string_equal(str(h, "runtime.libraries[0].release"), cases[i].release);
		tear_down(&one);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_package_of_amd_tells_its_release_and_its_system),
		T(unmet_dependencies_know_versions_alternatives_and_virtual_packages),
		T(states_and_holds_are_dpkgs_own),
		T(a_line_longer_than_the_buffer_loses_only_its_end),
		T(a_host_without_packages_is_not_an_unknown_one),
		T(an_old_rpm_database_is_unknown_with_the_reason),
		T(roots_are_found_by_what_lies_in_them),
		T(the_layout_of_714_has_a_folder_for_opt_rocm),
		T(a_distributions_rocm_is_a_root_by_its_package),
		T(a_link_in_a_circle_dangles),
		T(a_root_that_nothing_names_is_not_reachable),
		T(both_forms_of_apt_sources_are_read),
		T(debian_takes_the_suite_of_the_ubuntu_that_amd_built_for_it),
		T(amds_two_files_are_no_duplicates_and_two_drivers_are),
		T(dead_pins_are_told_from_live_ones),
		T(the_distributions_rocminfo_wins_without_a_pin),
		T(compressed_lists_are_unknown_and_said_to_be_so),
		T(a_pin_for_amd_settles_it),
		T(a_build_number_of_hip_is_no_release),
		T(without_lists_nobody_knows_what_would_win),
		T(secrets_are_never_kept),
		T(a_stale_folder_is_one_of_a_rocm_that_is_gone),
		T(a_compiler_that_is_not_installed_leaves_no_dangling_link),
		T(a_suite_is_only_proposed_where_the_release_has_it),
		T(old_releases_had_one_suite_for_every_ubuntu),
		T(an_override_is_three_numbers_and_nothing_behind_them),
		T(an_environment_that_was_not_captured_is_unknown),
		T(the_cards_are_named_so_that_only_they_are_left),
		T(masks_compose_as_the_runtimes_compose_them),
		T(a_gpu_without_a_kfd_node_is_hidden_by_no_variable),
		T(a_list_that_leaves_some_names_those_it_hides),
		T(a_list_that_leaves_none_concerns_the_host),
		T(packages_of_two_releases_in_one_root_are_named),
		T(the_newest_gcc_counts_even_without_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
