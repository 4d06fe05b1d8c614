/*
 * The key that AMD signs its packages with, in a keyring of apt.
 *
 * What is fetched is not trusted: only the key with the known fingerprint is taken out of it, so another key never gets into
 * the keyring.
 */

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

#define WORK "/etc/apt/keyrings/.rocm-doctor"

static void fetch(struct rd_step *step, struct rd_sysroot *sr, const char *keyring, const char *url, const char *fingerprint)
{
	if (rd_sysroot_exists(sr, "/etc/apt/keyrings") == 0)
		rd_step_run(step, (const char *const[]){ "mkdir", "-m", "755", "/etc/apt/keyrings", NULL },
		            (const char *const[]){ "rmdir", "/etc/apt/keyrings", NULL });
	rd_step_run(step, (const char *const[]){ "mkdir", "-m", "700", WORK, NULL },
	            (const char *const[]){ "rm", "-rf", WORK, NULL });
	rd_step_run(step, (const char *const[]){ "/usr/lib/apt/apt-helper", "download-file", url, WORK "/fetched", NULL },
	            (const char *const[]){ "rm", "-f", WORK "/fetched", NULL });
	rd_step_run(step,
	            (const char *const[]){ "gpg", "--homedir", WORK, "--batch", "--no-autostart", "--import", WORK "/fetched",
	                                   NULL },
	            (const char *const[]){ "rm", "-rf", WORK, NULL });
	rd_step_run(step,
	            (const char *const[]){ "gpg", "--homedir", WORK, "--batch", "--no-autostart", "--yes", "--output", keyring,
	                                   "--export", fingerprint, NULL },
	            (const char *const[]){ "rm", "-f", keyring, NULL });
	/* Fails where the key was not in what came. */
	rd_step_run(step, (const char *const[]){ "chmod", "644", keyring, NULL }, (const char *const[]){ "true", NULL });
	rd_step_run(step, (const char *const[]){ "rm", "-rf", WORK, NULL }, (const char *const[]){ "true", NULL });
}

static int check_keyring(const char *keyring, struct rd_error *err)
{
	int r = rd_arg_check_path(keyring, err);

	if (r == 0 && (!rd_str_has_suffix(keyring, ".gpg") || (!rd_str_has_prefix(keyring, "/etc/apt/keyrings/") &&
	                                                       !rd_str_has_prefix(keyring, "/usr/share/keyrings/"))))
		r = rd_error_set(err, -EOPNOTSUPP, "'%s' is not a keyring of its own for one source", keyring);
	if (r == 0 && strchr(keyring, ' '))
		r = rd_error_set(err, -EOPNOTSUPP, "the source names several keyrings: %s", keyring);
	return r;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *keyring = rd_step_arg(step, "keyring"), *uri = rd_step_arg(step, "uri");
	struct rd_stat st;
	char mode[16];
	size_t i = 0;
	int r = check_keyring(keyring, err);

	if (r == 0)
		r = source_check_word(uri, err);
	if (r < 0)
		return r;
	while (i < RD_ARRAY_SIZE(keys) && !rd_str_has_prefix(uri, keys[i].host))
		i++;
	if (i == RD_ARRAY_SIZE(keys))
		return rd_error_set(err, -EOPNOTSUPP, "the fingerprint of the key of %s is not known here", uri);
	r = rd_sysroot_stat(sr, &st, keyring);
	if (r < 0 && r != -ENOENT)
		return rd_error_set(err, -EOPNOTSUPP, "cannot look at '%s': %s", keyring, rd_strerror(r));
	if (r == 0 && st.type != RD_STAT_FILE)
		return rd_error_set(err, -EOPNOTSUPP, "'%s' is not a file", keyring);
	if (r == 0 && st.size_bytes && st.mode & 4)
		return 0;
	if (r == 0 && st.size_bytes) {
		snprintf(mode, sizeof(mode), "%o", st.mode);
		rd_step_describe(step, "let apt read %s", keyring);
		rd_step_run(step, (const char *const[]){ "chmod", "644", keyring, NULL },
		            (const char *const[]){ "chmod", mode, keyring, NULL });
		return 0;
	}
	if (rd_sysroot_exists(sr, "/usr/bin/gpg") == 0)
		return rd_error_set(err, -EOPNOTSUPP,
		                    "gpg is not installed, so the key's fingerprint cannot be checked; of %s it has to be %s",
		                    keys[i].url, keys[i].fingerprint);
	rd_step_describe(step, "put AMD's key into %s", keyring);
	rd_step_origin(step, "fingerprint %s", keys[i].fingerprint);
	fetch(step, sr, keyring, keys[i].url, keys[i].fingerprint);
	return 0;
}

const struct rd_action rd_action_package_key = {
	.name = "package.key",
	.summary = "put AMD's key into a keyring of apt",
	.args = (const char *const[]){ "keyring", "uri", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
