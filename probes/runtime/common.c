#include "common.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/xalloc.h"

#define LINES_BUFFER ((size_t)32 << 10)

int rd_lines_open(struct rd_lines *lines, struct rd_sysroot *sr, const char *path)
{
	struct rd_file *file;
	int r;

	*lines = (struct rd_lines){ 0 };
	r = rd_file_open(sr, &file, path);
	if (r < 0)
		return r;
	lines->file = file;
	lines->size = rd_file_size(file);
	lines->buffer = rd_xmalloc(LINES_BUFFER + 1);
	return 0;
}

static bool refill(struct rd_lines *lines)
{
	uint64_t left = lines->size > lines->offset ? lines->size - lines->offset : 0;
	size_t room, want;
	int r;

	memmove(lines->buffer, lines->buffer + lines->start, lines->fill - lines->start);
	lines->fill -= lines->start;
	lines->start = 0;
	room = LINES_BUFFER - lines->fill;
	want = left < room ? (size_t)left : room;
	if (!want)
		return false;
	r = rd_file_pread(lines->file, lines->buffer + lines->fill, want, lines->offset);
	if (r < 0) {
		lines->error = r;
		return false;
	}
	lines->offset += want;
	lines->fill += want;
	return true;
}

/* Passes over what is left of a line that did not fit. */
static void skip_rest(struct rd_lines *lines)
{
	lines->cut = false;
	do {
		char *end = memchr(lines->buffer + lines->start, '\n', lines->fill - lines->start);

		if (end) {
			lines->start = (size_t)(end - lines->buffer) + 1;
			return;
		}
		lines->start = lines->fill;
	} while (refill(lines));
}

char *rd_lines_next(struct rd_lines *lines)
{
	char *line, *end;

	if (lines->cut)
		skip_rest(lines);
	do {
		line = lines->buffer + lines->start;
		end = memchr(line, '\n', lines->fill - lines->start);
	} while (!end && refill(lines));
	line = lines->buffer + lines->start;
	if (lines->error || (!end && lines->start == lines->fill))
		return NULL;
	lines->number++;
	lines->cut = !end;
	if (!end)
		end = lines->buffer + lines->fill;
	*end = '\0';
	lines->start = (size_t)(end - lines->buffer) + !lines->cut;
	return line;
}

void rd_lines_close(struct rd_lines *lines)
{
	if (lines->file)
		rd_file_close(lines->file);
	free(lines->buffer);
	*lines = (struct rd_lines){ 0 };
}

static const struct {
	enum rd_package_kind kind;
	const char *pattern;
} package_kinds[] = {
	/* Drivers come first: "amdgpu*" and the DKMS packages of old also look like ROCm. */
	{ RD_PACKAGE_DRIVER, "amdgpu*" },
	{ RD_PACKAGE_DRIVER, "libdrm-amdgpu*" },
	{ RD_PACKAGE_DRIVER, "libdrm2-amdgpu*" },
	{ RD_PACKAGE_DRIVER, "xserver-xorg-video-amdgpu*" },
	{ RD_PACKAGE_DRIVER, "xorg-x11-amdgpu*" },
	{ RD_PACKAGE_DRIVER, "rock-dkms*" },
	{ RD_PACKAGE_DRIVER, "rocm-dkms*" },
	{ RD_PACKAGE_ROCM, "amdrocm*" },
	{ RD_PACKAGE_ROCM, "rocm" },
	{ RD_PACKAGE_ROCM, "rocm-*" },
	{ RD_PACKAGE_ROCM, "rocm7*" },
	{ RD_PACKAGE_ROCM, "rocm6*" },
	{ RD_PACKAGE_ROCM, "rocm5*" },
	{ RD_PACKAGE_ROCM, "rocminfo*" },
	{ RD_PACKAGE_ROCM, "rocblas*" },
	{ RD_PACKAGE_ROCM, "rocfft*" },
	{ RD_PACKAGE_ROCM, "rocrand*" },
	{ RD_PACKAGE_ROCM, "rocsolver*" },
	{ RD_PACKAGE_ROCM, "rocsparse*" },
	{ RD_PACKAGE_ROCM, "rocprim*" },
	{ RD_PACKAGE_ROCM, "rocthrust*" },
	{ RD_PACKAGE_ROCM, "rocwmma*" },
	{ RD_PACKAGE_ROCM, "rocalution*" },
	{ RD_PACKAGE_ROCM, "rocprofiler*" },
	{ RD_PACKAGE_ROCM, "roctracer*" },
	{ RD_PACKAGE_ROCM, "rocdecode*" },
	{ RD_PACKAGE_ROCM, "rocjpeg*" },
	{ RD_PACKAGE_ROCM, "rocdxg*" },
	{ RD_PACKAGE_ROCM, "rocshmem*" },
	{ RD_PACKAGE_ROCM, "hip-*" },
	{ RD_PACKAGE_ROCM, "hip_*" },
	{ RD_PACKAGE_ROCM, "hipcc*" },
	{ RD_PACKAGE_ROCM, "hipblas*" },
	{ RD_PACKAGE_ROCM, "hipcub*" },
	{ RD_PACKAGE_ROCM, "hipdnn*" },
	{ RD_PACKAGE_ROCM, "hipfft*" },
	{ RD_PACKAGE_ROCM, "hipfort*" },
	{ RD_PACKAGE_ROCM, "hipify*" },
	{ RD_PACKAGE_ROCM, "hiprand*" },
	{ RD_PACKAGE_ROCM, "hipsolver*" },
	{ RD_PACKAGE_ROCM, "hipsparse*" },
	{ RD_PACKAGE_ROCM, "hiptensor*" },
	{ RD_PACKAGE_ROCM, "hsa-rocr*" },
	{ RD_PACKAGE_ROCM, "hsa-runtime*" },
	{ RD_PACKAGE_ROCM, "hsa-amd-*" },
	{ RD_PACKAGE_ROCM, "hsa-ext-*" },
	{ RD_PACKAGE_ROCM, "hsakmt*" },
	{ RD_PACKAGE_ROCM, "comgr*" },
	{ RD_PACKAGE_ROCM, "miopen*" },
	{ RD_PACKAGE_ROCM, "migraphx*" },
	{ RD_PACKAGE_ROCM, "rccl*" },
	{ RD_PACKAGE_ROCM, "composablekernel*" },
	{ RD_PACKAGE_ROCM, "amd-smi-lib*" },
	{ RD_PACKAGE_ROCM, "amd-smi" },
	{ RD_PACKAGE_ROCM, "amdsmi*" },
	{ RD_PACKAGE_ROCM, "openmp-extras*" },
	{ RD_PACKAGE_ROCM, "libhsa-runtime*" },
	{ RD_PACKAGE_ROCM, "libhsakmt*" },
	{ RD_PACKAGE_ROCM, "libamdhip64-*" },
	{ RD_PACKAGE_ROCM, "libhiprtc*" },
	{ RD_PACKAGE_ROCM, "libamd-comgr*" },
	{ RD_PACKAGE_ROCM, "libamd-smi*" },
	{ RD_PACKAGE_ROCM, "librocm-*" },
	{ RD_PACKAGE_ROCM, "librocblas*" },
	{ RD_PACKAGE_ROCM, "librocfft*" },
	{ RD_PACKAGE_ROCM, "librocrand*" },
	{ RD_PACKAGE_ROCM, "librocsolver*" },
	{ RD_PACKAGE_ROCM, "librocsparse*" },
	{ RD_PACKAGE_ROCM, "librocalution*" },
	{ RD_PACKAGE_ROCM, "libhipblas*" },
	{ RD_PACKAGE_ROCM, "libhipfft*" },
	{ RD_PACKAGE_ROCM, "libhiprand*" },
	{ RD_PACKAGE_ROCM, "libhipsolver*" },
	{ RD_PACKAGE_ROCM, "libhipsparse*" },
	{ RD_PACKAGE_ROCM, "libmiopen*" },
	{ RD_PACKAGE_ROCM, "librccl*" },
	{ RD_PACKAGE_KERNEL, "linux-image*" },
	{ RD_PACKAGE_KERNEL, "linux-modules*" },
	{ RD_PACKAGE_KERNEL, "linux-headers*" },
	{ RD_PACKAGE_KERNEL, "linux-firmware*" },
	{ RD_PACKAGE_KERNEL, "linux-generic*" },
	{ RD_PACKAGE_KERNEL, "linux-oem*" },
	{ RD_PACKAGE_KERNEL, "linux-virtual*" },
	{ RD_PACKAGE_KERNEL, "linux-lowlatency*" },
	{ RD_PACKAGE_KERNEL, "linux-aws*" },
	{ RD_PACKAGE_KERNEL, "linux-azure*" },
	{ RD_PACKAGE_KERNEL, "linux-gcp*" },
	{ RD_PACKAGE_KERNEL, "linux-oracle*" },
	{ RD_PACKAGE_KERNEL, "linux-kvm*" },
	{ RD_PACKAGE_KERNEL, "firmware-amd-graphics" },
	{ RD_PACKAGE_KERNEL, "kernel" },
	{ RD_PACKAGE_KERNEL, "kernel-*" },
	{ RD_PACKAGE_KERNEL, "amd-gpu-firmware" },
	{ RD_PACKAGE_CONTAINER, "docker.io" },
	{ RD_PACKAGE_CONTAINER, "docker-ce" },
	{ RD_PACKAGE_CONTAINER, "docker" },
	{ RD_PACKAGE_CONTAINER, "moby-engine" },
	{ RD_PACKAGE_CONTAINER, "podman" },
	{ RD_PACKAGE_CONTAINER, "podman-docker" },
	{ RD_PACKAGE_CONTAINER, "containerd" },
	{ RD_PACKAGE_CONTAINER, "containerd.io" },
	{ RD_PACKAGE_CONTAINER, "cri-o" },
	{ RD_PACKAGE_CONTAINER, "apptainer" },
	{ RD_PACKAGE_CONTAINER, "singularity-ce" },
	{ RD_PACKAGE_CONTAINER, "singularity-container" },
	{ RD_PACKAGE_CONTAINER, "lxc" },
	{ RD_PACKAGE_CONTAINER, "lxd" },
	{ RD_PACKAGE_CONTAINER, "incus" },
	{ RD_PACKAGE_CONTAINER, "amd-container-toolkit" },
	{ RD_PACKAGE_TOOL, "dkms" },
	{ RD_PACKAGE_TOOL, "mokutil" },
	{ RD_PACKAGE_TOOL, "shim-signed" },
	{ RD_PACKAGE_TOOL, "libstdc++-*-dev" },
	{ RD_PACKAGE_TOOL, "libstdc++-devel" },
};

enum rd_package_kind rd_package_kind(const char *name)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(package_kinds); i++)
		if (rd_str_glob(package_kinds[i].pattern, name))
			return package_kinds[i].kind;
	return RD_PACKAGE_OTHER;
}

const char *rd_package_kind_name(enum rd_package_kind kind)
{
	static const char *const names[] = { "other", "rocm", "driver", "kernel", "container", "tool" };

	return names[kind];
}

const char *rd_package_origin(const char *name, const char *maintainer)
{
	if (rd_str_has_prefix(name, "amdrocm"))
		return "amd";
	if (strstr(maintainer, "amd.com") || strstr(maintainer, "Advanced Micro Devices"))
		return "amd";
	return "distribution";
}

/*
 * Two digits a part, the first may have one: "60400" is 6.4.0, "30300000" is 30.30.0 (drivers have a fourth pair). Build
 * numbers of HIP (43482, 21153) look alike, and no release had such a minor number or patch level.
 */
static char *decode_release(const char *digits, size_t len)
{
	unsigned long n = 0, major, minor, patch;

	if (len < 5 || len > 8 || len == 7)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)digits[i]))
			return NULL;
		n = n * 10 + (unsigned long)(digits[i] - '0');
	}
	if (len == 8)
		n /= 100;
	major = n / 10000;
	minor = n / 100 % 100;
	patch = n % 100;
	if (major < 3 || patch > 20 || (len < 8 && minor > 20))
		return NULL;
	return rd_xasprintf("%lu.%lu.%lu", major, minor, patch);
}

static char *leading_version(const char *s, unsigned parts)
{
	size_t len = 0;

	while (isdigit((unsigned char)s[len]) || (s[len] == '.' && isdigit((unsigned char)s[len + 1]) && --parts))
		len++;
	return len ? rd_xstrndup(s, len) : NULL;
}

char *rd_package_release(const char *name, const char *version)
{
	static const char *const old_meta[] = { "rocm-dev", "rocm-libs", "rocm-utils", "rocm-dkms", "rocm-core", NULL };
	const char *colon = strchr(version, ':'), *start = colon ? colon + 1 : version, *dot = NULL;
	size_t len = strcspn(start, "-~+");
	char *release;

	if (rd_str_has_prefix(name, "amdrocm"))
		return leading_version(start, 3);
	for (size_t i = 0; i < len; i++)
		if (start[i] == '.')
			dot = start + i;
	if (dot) {
		release = decode_release(dot + 1, len - (size_t)(dot + 1 - start));
		if (release)
			return release;
	}
	/* Before 4.1 only the meta packages bore the number of the release. */
	for (size_t i = 0; old_meta[i]; i++)
		if (rd_streq(name, old_meta[i]))
			return leading_version(start, 2);
	return NULL;
}

const char *rd_package_suffix(const char *name)
{
	size_t len = strlen(name), start;
	const char *suffix;

	/* What stands behind a side-by-side number is the part for one GPU: amdrocm-blas10.0-gfx942. */
	if (rd_str_has_prefix(name, "amdrocm")) {
		const char *gfx = strstr(name, "-gfx");

		if (gfx)
			len = (size_t)(gfx - name);
	}
	start = len;
	while (start && (isdigit((unsigned char)name[start - 1]) || name[start - 1] == '.'))
		start--;
	suffix = name + start;
	/* "libamdhip64-6" and "librccl1" end in the number of a SONAME, not of a release. */
	if (!memchr(suffix, '.', len - start) || !isdigit((unsigned char)*suffix))
		return "";
	return suffix;
}

char *rd_package_os(const char *version)
{
	const char *dash = strrchr(version, '-'), *p = dash ? dash + 1 : version;
	size_t len = strlen(p);
	const char *el = strstr(p, ".el");

	if (el && isdigit((unsigned char)el[3]))
		return rd_xstrndup(el + 1, 2 + strspn(el + 3, "0123456789"));
	if (len >= 6 && (p[len - 6] == '~' || p[len - 6] == '.') && isdigit((unsigned char)p[len - 5]) &&
	    isdigit((unsigned char)p[len - 4]) && p[len - 3] == '.' && isdigit((unsigned char)p[len - 2]) &&
	    isdigit((unsigned char)p[len - 1]))
		return rd_xstrdup(p + len - 5);
	return NULL;
}

static const char *const libraries[] = {
	"libMIOpen",          "libamd_comgr",     "libamd_smi",
	"libamdhip64",        "libamdocl64",      "libhipblas",
	"libhipblaslt",       "libhipfft",        "libhiprand",
	"libhiprtc",          "libhipsolver",     "libhipsparse",
	"libhipsparselt",     "libhsa-runtime64", "libhsakmt",
	"libmigraphx",        "librccl",          "librocblas",
	"librocfft",          "librocm_smi64",    "librocprofiler-register",
	"librocprofiler-sdk", "librocprofiler64", "librocrand",
	"librocsolver",       "librocsparse",     "libroctracer64",
	"libroctx64",
};

bool rd_library_is_rocm(const char *file)
{
	const char *so = strstr(file, ".so");

	if (!so || (so[3] && so[3] != '.'))
		return false;
	for (size_t i = 0; i < RD_ARRAY_SIZE(libraries); i++)
		if (strlen(libraries[i]) == (size_t)(so - file) && strncmp(file, libraries[i], (size_t)(so - file)) == 0)
			return true;
	return false;
}

char *rd_library_release(const char *file)
{
	const char *name = strrchr(file, '/'), *dot = strrchr(file, '.'), *version;
	char *release = dot ? decode_release(dot + 1, strlen(dot + 1)) : NULL;

	/* HIP has the numbers of its release in front as well; where the last is one of its builds, they differ. */
	version = strstr(name ? name : file, "libamdhip64.so.");
	if (release && version && !rd_str_has_prefix(release, "10.")) {
		version += strlen("libamdhip64.so.");
		if (strncmp(release, version, strcspn(version, ".") + 1) != 0) {
			free(release);
			return NULL;
		}
	}
	return release;
}

static char *os_release_value(char *text, const char *key)
{
	size_t len = strlen(key);
	char *line;

	while ((line = rd_str_next_line(&text))) {
		char *value;

		if (strncmp(line, key, len) != 0 || line[len] != '=')
			continue;
		value = rd_str_strip(line + len + 1);
		if ((*value == '"' || *value == '\'') && value[1]) {
			size_t n = strlen(value);

			if (value[n - 1] == *value)
				value[n - 1] = '\0';
			value++;
		}
		return rd_xstrdup(value);
	}
	return NULL;
}

char *rd_os_release(struct rd_sysroot *sr, const char *key)
{
	rd_auto_free char *text = NULL;

	if (rd_sysroot_read(sr, &text, "/etc/os-release") < 0 && rd_sysroot_read(sr, &text, "/usr/lib/os-release") < 0)
		return NULL;
	return os_release_value(text, key);
}

const char *rd_path_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}
