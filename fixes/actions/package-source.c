/* A repository: a deb822 file of apt, or a .repo file of dnf and zypper. Its key is package.key's matter. */

#include <errno.h>
#include <string.h>

#include "common-packages.h"
#include "common-sources.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/xalloc.h"

static int check_address(const char *address, struct rd_error *err)
{
	int r = source_check_word(address, err);

	if (r == 0 &&
	    ((!rd_str_has_prefix(address, "https://") && !rd_str_has_prefix(address, "file:/")) || strchr(address, '*')))
		r = rd_error_set(err, -EINVAL, "'%s' is not an address of packages", address);
	return r;
}

static int write_apt(struct rd_step *step, struct rd_sysroot *sr, const char *name, const char *uri, struct rd_error *err)
{
	const char *suite = rd_step_arg(step, "suite"), *keyring = rd_step_arg(step, "keyring");
	rd_auto_free char *path = rd_xasprintf("/etc/apt/sources.list.d/%s.sources", name), *text = NULL, *now = NULL;
	int r = 0;

	if (!suite || !keyring)
		return rd_error_set(err, -EINVAL, "a source of apt needs a suite and a keyring");
	r = rd_arg_check_name(suite, err);
	if (r == 0)
		r = rd_arg_check_path(keyring, err);
	if (r == 0)
		r = source_check_word(keyring, err);
	if (r < 0)
		return r;
	text = rd_xasprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nArchitectures: amd64\nSigned-By: %s\n", uri,
	                    suite, keyring);
	rd_step_write(step, path, text, 0644);
	if (rd_sysroot_read(sr, &now, path) < 0)
		now = NULL;
	if (!now || !rd_streq(now, text))
		source_fetch_lists(step, path);
	return 0;
}

static int write_repo(struct rd_step *step, enum pkg_manager manager, const char *name, const char *uri, struct rd_error *err)
{
	const char *key = rd_step_arg(step, "key");
	rd_auto_free char *path =
		rd_xasprintf(manager == PKG_ZYPPER ? "/etc/zypp/repos.d/%s.repo" : "/etc/yum.repos.d/%s.repo", name);
	rd_auto_free char *text = NULL;
	int r;

	if (!key)
		return rd_error_set(err, -EINVAL, "a repository needs the address of its key");
	r = check_address(key, err);
	if (r < 0)
		return r;
	text = rd_xasprintf("[%s]\nname=%s\nbaseurl=%s\nenabled=1\npriority=50\ngpgcheck=1\ngpgkey=%s\n", name, name, uri, key);
	rd_step_write(step, path, text, 0644);
	return 0;
}

static int lower(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	const char *name = rd_step_arg(step, "name"), *uri = rd_step_arg(step, "uri");
	enum pkg_manager manager;
	int r = rd_arg_check_name(name, err);

	/* apt reads no file whose name has other characters. */
	if (r == 0 && strpbrk(name, "+:@~"))
		r = rd_error_set(err, -EINVAL, "'%s' is not a name of a repository", name);
	if (r == 0)
		r = check_address(uri, err);
	if (r == 0)
		r = pkg_manager_of(sr, &manager, err);
	if (r < 0)
		return r;
	rd_step_describe(step, "add the repository %s", uri);
	return manager == PKG_APT ? write_apt(step, sr, name, uri, err) : write_repo(step, manager, name, uri, err);
}

const struct rd_action rd_action_package_source = {
	.name = "package.source",
	.summary = "add a repository of packages",
	.args = (const char *const[]){ "name", "uri", "suite?", "keyring?", "key?", NULL },
	.flags = RD_ACTION_ROOT | RD_ACTION_NETWORK,
	.phase = RD_PHASE_SOURCE,
	.lower = lower,
};
