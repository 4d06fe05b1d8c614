/*
 * The package of the distribution that has amdgpu's firmware, at an exact version.
 *
 * Where AMD's driver is installed, its own firmware package lies before all others in /lib/firmware/updates: then another one
 * changes nothing, and the two belong together.
 */

#include <errno.h>
#include <string.h>

#include "common-brought.h"
#include "common-install.h"
#include "common-candidates.h"
#include "common-packages.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"

#define OF_DRIVER "amdgpu-dkms-firmware"

/* The narrower ones first. Ubuntu's was split in 2026; the old name has become that of all of them together. */
static const struct {
	const char *package;
	const char *systems; /* of those that have it, by ID of os-release */
} packages[] = {
	{ "firmware-amd-graphics", "debian" },
	{ "linux-firmware-amdgpu", "arch cachyos endeavouros manjaro" },
	{ "amd-gpu-firmware", "fedora" },
	{ "kernel-firmware-amdgpu", "sles opensuse-leap opensuse-tumbleweed opensuse-slowroll" },
	{ "linux-firmware-amd-graphics", "ubuntu linuxmint pop" },
	{ "linux-firmware", "ubuntu linuxmint pop rhel rocky almalinux centos ol" },
};

static bool is_one_of(const char *words, const char *word)
{
	rd_auto_strv struct rd_strv list = RD_STRV_INIT;

	rd_strv_split(&list, words, " ", false);
	return rd_strv_has(&list, word);
}

/* What is installed says which one it is; else the first of the system's that can be had, or the last of its names. */
static const char *choose(const struct pkg_set *set, const struct pkg_candidates *candidates, const char *system)
{
	const char *last = NULL;

	for (size_t i = 0; i < RD_ARRAY_SIZE(packages); i++)
		if (pkg_installed_version(set, packages[i].package))
			return packages[i].package;
	for (size_t i = 0; i < RD_ARRAY_SIZE(packages); i++) {
		if (!is_one_of(packages[i].systems, system))
			continue;
		last = packages[i].package;
		if (pkg_has_candidate(candidates, last, NULL))
			return last;
	}
	return last;
}

/* The reason, with what to install: a person can do it where this program cannot. */
static int name_package(const char *package, struct rd_error *err, const struct rd_error *below)
{
	if (below->message && strstr(below->message, package))
		return rd_error_set(err, -EOPNOTSUPP, "%s", below->message);
	return rd_error_set(err, -EOPNOTSUPP, "%s: %s", package, below->message ? below->message : "it cannot be pinned");
}

static int read_packages(struct rd_sysroot *sr, struct pkg_set *ret, struct pkg_candidates *ret_candidates,
                         struct rd_error *err)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	rd_strv_push(&names, OF_DRIVER);
	for (size_t i = 0; i < RD_ARRAY_SIZE(packages); i++)
		rd_strv_push(&names, packages[i].package);
	r = pkg_set_read(sr, &names, ret, err);
	return r < 0 ? r : pkg_candidates_read(sr, ret->manager, &names, ret_candidates, err);
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *system = rd_fact_get_str(rd_step_facts(step), "host.os.id"), *of_driver;
	struct pkg_request asked = { .from = "distribution", .avoid = rd_step_arg(step, "avoid") };
	pkg_auto_candidates struct pkg_candidates candidates = PKG_CANDIDATES_INIT;
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	struct rd_error below = RD_ERROR_INIT;
	int r = read_packages(sr, &set, &candidates, &below);

	asked.packages = choose(&set, &candidates, system);
	of_driver = pkg_installed_version(&set, OF_DRIVER);
	if (of_driver)
		r = rd_error_set(err, -EOPNOTSUPP,
		                 "%s %s is in charge of the firmware here: it goes with amdgpu-dkms, so move both to a release "
		                 "whose firmware is good",
		                 OF_DRIVER, of_driver);
	else if (!asked.packages)
		r = rd_error_set(err, -EOPNOTSUPP, "which package of '%s' has amdgpu's firmware is not known here", system);
	else if (r < 0 || (r = pkg_install(step, sr, &asked, &below)) < 0)
		r = name_package(asked.packages, err, &below);
	else
		rd_step_needs(step, RD_ACTION_REBOOT);
	rd_error_clear(&below);
	return r;
}

const struct rd_action rd_action_firmware_install = {
	.name = "firmware.install",
	.summary = "install the firmware of amdgpu",
	.args = (const char *const[]){ "avoid?", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_PACKAGE,
	.brings = &pkg_brings,
	.lower = lower,
};
