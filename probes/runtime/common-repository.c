#include "common-repository.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static bool is_amd_host(const char *url)
{
	static const char *const hosts[] = { "repo.radeon.com", "repo.amd.com", "nightlies.amd.com" };
	const char *host = strstr(url, "://");
	size_t len;

	host = host ? host + 3 : url;
	len = strcspn(host, "/:");
	for (size_t i = 0; i < RD_ARRAY_SIZE(hosts); i++) {
		size_t want = strlen(hosts[i]);

		if (len >= want && strncmp(host + len - want, hosts[i], want) == 0 &&
		    (len == want || host[len - want - 1] == '.'))
			return true;
	}
	return false;
}

/* The component of the path behind @marker. */
static char *component_after(const char *url, const char *marker)
{
	const char *p = strstr(url, marker);

	if (!p)
		return NULL;
	p += strlen(marker);
	return rd_xstrndup(p, strcspn(p, "/ \t"));
}

void rd_repository_parse(const char *url, struct rd_repository *ret)
{
	/* Mirrors keep the paths, so these count on any host. */
	static const struct {
		const char *marker, *product;
		bool is_system; /* what follows is a system, not a release */
	} paths[] = {
		{ "/rocm/apt/", "rocm", false },
		{ "/rocm/zyp/", "rocm", false },
		{ "/rocm/core/packages/", "amdrocm", true },
		{ "/rocm/packages-multi-arch/", "amdrocm", true },
		{ "/rocm/packages/", "amdrocm", true },
		{ "/graphics/", "graphics", false },
		{ "/amdgpu/", "amdgpu", false },
	};
	static const char *const rpm_dirs[] = { "/rocm/el8/",   "/rocm/el9/",   "/rocm/el10/",
		                                "/rocm/rhel8/", "/rocm/rhel9/", "/rocm/rhel10/" };
	bool amd = is_amd_host(url);

	*ret = (struct rd_repository){ .vendor = amd ? "amd" : "other", .product = "" };
	for (size_t i = 0; i < RD_ARRAY_SIZE(paths) && !*ret->product; i++) {
		char *part = component_after(url, paths[i].marker);

		/* "/graphics/" alone may be anybody's. */
		if (!part || (!amd && i >= 5)) {
			free(part);
			continue;
		}
		ret->vendor = "amd";
		ret->product = paths[i].product;
		*(paths[i].is_system ? &ret->system : &ret->release) = part;
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(rpm_dirs) && !*ret->product; i++) {
		ret->release = component_after(url, rpm_dirs[i]);
		if (!ret->release)
			continue;
		ret->vendor = "amd";
		ret->product = "rocm";
		ret->system = rd_xstrndup(rpm_dirs[i] + 6, strlen(rpm_dirs[i]) - 7);
	}
	if (!ret->release)
		ret->release = rd_xstrdup("");
	if (!ret->system)
		ret->system = rd_xstrdup("");
}

void rd_repository_clear(struct rd_repository *repo)
{
	free(repo->release);
	free(repo->system);
	*repo = (struct rd_repository){ 0 };
}

static const struct system {
	const char *codename, *suite, *system, *build;
} systems[] = {
	{ "xenial", "xenial", "ubuntu1604", "16.04" }, { "bionic", "bionic", "ubuntu1804", "18.04" },
	{ "focal", "focal", "ubuntu2004", "20.04" },   { "jammy", "jammy", "ubuntu2204", "22.04" },
	{ "noble", "noble", "ubuntu2404", "24.04" },   { "resolute", "resolute", "ubuntu2604", "26.04" },
	{ "bookworm", "jammy", "debian12", "22.04" },  { "trixie", "noble", "debian13", "24.04" },
};

static const struct system *find_system(struct rd_sysroot *sr)
{
	rd_auto_free char *codename = rd_os_release(sr, "UBUNTU_CODENAME");

	if (!codename || !*codename) {
		free(codename);
		codename = rd_os_release(sr, "VERSION_CODENAME");
	}
	for (size_t i = 0; codename && i < RD_ARRAY_SIZE(systems); i++)
		if (rd_streq(systems[i].codename, codename))
			return &systems[i];
	return NULL;
}

const char *rd_repository_suite(struct rd_sysroot *sr)
{
	const struct system *s = find_system(sr);

	return s ? s->suite : NULL;
}

const char *rd_repository_system(struct rd_sysroot *sr)
{
	const struct system *s = find_system(sr);

	return s ? s->system : NULL;
}

const char *rd_repository_build(struct rd_sysroot *sr)
{
	static const char *const el[] = { "el7", "el8", "el9", "el10" };
	const struct system *s = find_system(sr);
	rd_auto_free char *platform = NULL;

	if (s)
		return s->build;
	/* PLATFORM_ID="platform:el9" is the same on RHEL and all that is built from it. */
	platform = rd_os_release(sr, "PLATFORM_ID");
	for (size_t i = 0; platform && i < RD_ARRAY_SIZE(el); i++)
		if (rd_str_has_prefix(platform, "platform:") && rd_streq(platform + 9, el[i]))
			return el[i];
	return NULL;
}
