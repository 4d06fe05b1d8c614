/*
 * The key that AMD signs its packages with, in a keyring of apt, or in a file and the keyring of rpm.
 *
 * What is fetched is not trusted: only the key with the known fingerprint is taken out of it, so another key never gets into
 * the keyring.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common-packages.h"
#include "common-sources.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"

/*
 * Sources: ROCm/ROCm issue 854, and the fingerprint that apt names in its messages on repo.radeon.com; for the repositories
 * from 7.14 on, the fingerprint that AMD's own packaging scripts hold the key against (ROCm/TheRock, repository packages).
 */
static const struct {
	const char *host, *url, *fingerprint;
} keys[] = {
	{ "https://repo.radeon.com/", "https://repo.radeon.com/rocm/rocm.gpg.key", "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C" },
	{ "https://repo.amd.com/rocm/", "https://repo.amd.com/rocm/packages-multi-arch/gpg/rocm.gpg",
	  "D0F004A0025A1145C7807FCD0701EAC4D5E02107" },
	{ "https://stable.repo.amd.com/rocm/", "https://stable.repo.amd.com/rocm/gpg/packages.gpg",
	  "D0F004A0025A1145C7807FCD0701EAC4D5E02107" },
};

struct place {
	const char *folder, *work, *fetched;
	const char *const *fetch; /* up to the file to fetch into; the address is last */
	bool address_first;
};

#define APT_WORK "/etc/apt/keyrings/.rocm-doctor"
#define RPM_FOLDER "/etc/pki/rpm-gpg"
#define RPM_WORK RPM_FOLDER "/.rocm-doctor"

static const struct place apt_place = {
	.folder = "/etc/apt/keyrings",
	.work = APT_WORK,
	.fetched = APT_WORK "/fetched",
	.fetch = (const char *const[]){ "/usr/lib/apt/apt-helper", "download-file", NULL },
	.address_first = true,
};

static const struct place rpm_place = {
	.folder = RPM_FOLDER,
	.work = RPM_WORK,
	.fetched = RPM_WORK "/fetched",
	.fetch = (const char *const[]){ "curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https",
	                                "--retry", "2", "--output", NULL },
};

#define RUN(step, undo, ...) rd_step_run(step, (const char *const[]){ __VA_ARGS__, NULL }, undo)
#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void fetch(struct rd_step *step, struct rd_sysroot *sr, const struct place *place, const char *keyring, const char *url,
                  const char *fingerprint)
{
	auto_argv struct argv download = ARGV_INIT, export = ARGV_INIT;

	argv_add(&download, place->fetch);
	argv_addf(&download, "%s", place->address_first ? url : place->fetched);
	argv_addf(&download, "%s", place->address_first ? place->fetched : url);
	if (rd_sysroot_exists(sr, place->folder) == 0)
		RUN(step, ARGV("rmdir", place->folder), "mkdir", "-m", "755", place->folder);
	RUN(step, ARGV("rm", "-rf", place->work), "mkdir", "-m", "700", place->work);
	rd_step_run(step, argv_done(&download), ARGV("rm", "-f", place->fetched));
	RUN(step, ARGV("rm", "-rf", place->work), "gpg", "--homedir", place->work, "--batch", "--no-autostart", "--import",
	    place->fetched);
	argv_add(&export, ARGV("gpg", "--homedir", place->work, "--batch", "--no-autostart", "--yes"));
	argv_add(&export, place == &rpm_place ? ARGV("--armor") : ARGV(NULL));
	argv_add(&export, ARGV("--output", keyring, "--export", fingerprint));
	rd_step_run(step, argv_done(&export), ARGV("rm", "-f", keyring));
	/* Fails where the key was not in what came. */
	RUN(step, ARGV("true"), "chmod", "644", keyring);
	RUN(step, ARGV("true"), "rm", "-rf", place->work);
}

static int check_keyring(const struct place *place, const char *keyring, struct rd_error *err)
{
	int r = rd_arg_check_path(keyring, err);

	if (r < 0)
		return r;
	if (strchr(keyring, ' '))
		return rd_error_set(err, -EOPNOTSUPP, "the source names several keyrings: %s", keyring);
	if (place == &rpm_place ? rd_str_has_prefix(keyring, RPM_FOLDER "/RPM-GPG-KEY-")
	                        : rd_str_has_suffix(keyring, ".gpg") && (rd_str_has_prefix(keyring, "/etc/apt/keyrings/") ||
	                                                                 rd_str_has_prefix(keyring, "/usr/share/keyrings/")))
		return 0;
	return rd_error_set(err, -EOPNOTSUPP, "'%s' is not a keyring of its own for one source", keyring);
}

/* What rpm calls a key that it has: up to rpm 5 by the last digits of the fingerprint, from 6 on by all of them. */
struct rpm_key {
	bool imported;
	char name[64];
};

static int look_for_rpm_key(struct rd_sysroot *sr, const char *fingerprint, struct rpm_key *ret, struct rd_error *err)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	pkg_auto_set struct pkg_set set = PKG_SET_INIT;
	char digits[41] = "";
	bool whole = false;
	int r;

	for (size_t i = 0; i < 40 && fingerprint[i]; i++)
		digits[i] = (char)tolower((unsigned char)fingerprint[i]);
	rd_strv_push(&names, "gpg-pubkey");
	rd_strv_push(&names, "rpm");
	r = pkg_set_read(sr, &names, &set, err);
	for (size_t i = 0; i < set.n; i++) {
		const struct pkg *p = &set.v[i];

		if (rd_streq(p->name, "rpm"))
			whole = pkg_version_compare(set.manager, p->version, "6") >= 0;
		else if (rd_str_has_prefix(p->version, digits) || rd_str_has_prefix(p->version, digits + 32))
			ret->imported = true;
	}
	snprintf(ret->name, sizeof(ret->name), "gpg-pubkey-%s", whole ? digits : digits + 32);
	return r;
}

static int check_tools(struct rd_sysroot *sr, const struct place *place, const char *url, const char *fingerprint,
                       struct rd_error *err)
{
	if (rd_sysroot_exists(sr, "/usr/bin/gpg") == 0)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "gpg is not installed, so the key's fingerprint cannot be checked; of %s it has to be %s",
		                    url, fingerprint);
	if (place == &rpm_place && rd_sysroot_exists(sr, "/usr/bin/curl") == 0)
		return rd_error_set(err, -EOPNOTSUPP, "curl is not installed, so %s cannot be fetched", url);
	return 0;
}

static int lower_rpm(struct rd_step *step, struct rd_sysroot *sr, const char *keyring, size_t key, struct rd_error *err)
{
	struct rpm_key rpm_key = { 0 };
	int r = look_for_rpm_key(sr, keys[key].fingerprint, &rpm_key, err), there;

	if (r < 0 || rpm_key.imported)
		return r;
	there = rd_sysroot_exists(sr, keyring);
	if (there != 0)
		return rd_error_set(
			err, -EOPNOTSUPP,
			"'%s' is there, but rpm does not have the key; where its fingerprint is %s: sudo rpm --import %s",
			keyring, keys[key].fingerprint, keyring);
	r = check_tools(sr, &rpm_place, keys[key].url, keys[key].fingerprint, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "give rpm AMD's key");
	rd_step_origin(step, "fingerprint %s", keys[key].fingerprint);
	fetch(step, sr, &rpm_place, keyring, keys[key].url, keys[key].fingerprint);
	RUN(step, ARGV("rpm", "-e", rpm_key.name), "rpm", "--import", keyring);
	return 0;
}

static int lower_apt(struct rd_step *step, struct rd_sysroot *sr, const char *keyring, size_t key, struct rd_error *err)
{
	struct rd_stat st;
	char mode[16];
	int r = rd_sysroot_stat(sr, &st, keyring);

	if (r < 0 && r != -ENOENT)
		return rd_error_set(err, -EOPNOTSUPP, "cannot look at '%s': %s", keyring, rd_strerror(r));
	if (r == 0 && st.type != RD_STAT_FILE)
		return rd_error_set(err, -EOPNOTSUPP, "'%s' is not a file", keyring);
	if (r == 0 && st.size_bytes && st.mode & 4)
		return 0;
	if (r == 0 && st.size_bytes) {
		snprintf(mode, sizeof(mode), "%o", st.mode);
		rd_step_describe(step, "let apt read %s", keyring);
		RUN(step, ARGV("chmod", mode, keyring), "chmod", "644", keyring);
		return 0;
	}
	r = check_tools(sr, &apt_place, keys[key].url, keys[key].fingerprint, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "put AMD's key into %s", keyring);
	rd_step_origin(step, "fingerprint %s", keys[key].fingerprint);
	fetch(step, sr, &apt_place, keyring, keys[key].url, keys[key].fingerprint);
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *keyring = rd_step_arg(step, "keyring"), *uri = rd_step_arg(step, "uri");
	bool of_rpm = rd_str_has_prefix(keyring, RPM_FOLDER "/");
	size_t i = 0;
	int r = check_keyring(of_rpm ? &rpm_place : &apt_place, keyring, err);

	if (r == 0)
		r = source_check_word(uri, err);
	if (r < 0)
		return r;
	while (i < RD_ARRAY_SIZE(keys) && !rd_str_has_prefix(uri, keys[i].host))
		i++;
	if (i == RD_ARRAY_SIZE(keys))
		return rd_error_set(err, -EOPNOTSUPP, "the fingerprint of the key of %s is not known here", uri);
	return of_rpm ? lower_rpm(step, sr, keyring, i, err) : lower_apt(step, sr, keyring, i, err);
}

const struct rd_action rd_action_package_key = {
	.name = "package.key",
	.summary = "put AMD's key into a keyring",
	.args = (const char *const[]){ "keyring", "uri", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
