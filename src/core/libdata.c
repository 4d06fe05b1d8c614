#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/libdata.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Where a library looks, relative to the folder it was loaded from; the first that is there is taken. */
static const struct {
	const char *variable;
	const char *places[8];
} kinds[] = {
	[RD_LIBDATA_ROCBLAS] = { "ROCBLAS_TENSILE_LIBPATH",
	                         /* The last is Debian's, with the release between. */
	                         { "../../Tensile/library", "library", "../rocblas/library", "../Tensile/library",
	                           "rocblas/library", "rocblas/*/library", NULL } },
	[RD_LIBDATA_HIPBLASLT] = { "HIPBLASLT_TENSILE_LIBPATH",
	                           { "hipblaslt/library", "../Tensile/library", "library", NULL } },
	[RD_LIBDATA_AOTRITON] = { NULL, { "aotriton.images", NULL } },
};

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash > path ? rd_xstrndup(path, (size_t)(slash - path)) : rd_xstrdup("/");
}

static int find_folder(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library, char **ret)
{
	rd_auto_free char *dir = folder_of(library);
	const char *value;
	int worst = -ENOENT;

	if (kinds[kind].variable && rd_sysroot_getenv(sr, &value, kinds[kind].variable) > 0) {
		*ret = rd_xstrdup(value);
		return 0;
	}
	for (size_t i = 0; kinds[kind].places[i]; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", dir, kinds[kind].places[i]);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;
		int r;

		if (!strchr(kinds[kind].places[i], '*')) {
			r = rd_sysroot_exists(sr, path);
			if (r > 0)
				return rd_sysroot_realpath(sr, ret, path);
		} else {
			r = rd_sysroot_glob(sr, &found, path);
			if (r >= 0 && found.n)
				return rd_sysroot_realpath(sr, ret, found.v[found.n - 1]);
		}
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			worst = r;
	}
	return worst;
}

/* Any of the files that begin the library's tables; 1, 0, or an error where neither could be told. */
static int has_tables(struct rd_sysroot *sr, const char *folder, const char *gfx)
{
	int lazy = rd_sysroot_existsf(sr, "%s/TensileLibrary_lazy_%s.dat", folder, gfx);
	int whole = rd_sysroot_existsf(sr, "%s/TensileLibrary_%s.dat", folder, gfx);
	int plain = rd_sysroot_existsf(sr, "%s/TensileLibrary.dat", folder);

	if (lazy > 0 || whole > 0 || plain > 0)
		return 1;
	return lazy < 0 ? lazy : whole < 0 ? whole : plain;
}

/* A sub-folder for the GPU, with its mode or without, is read in place of the folder where it is there. */
static int has_file(struct rd_sysroot *sr, const char *folder, const char *gfx, const char *mode)
{
	rd_auto_free char *with_mode = rd_xasprintf("%s/%s%s", folder, gfx, mode), *sub = rd_xasprintf("%s/%s", folder, gfx);

	if (*mode && rd_sysroot_exists(sr, with_mode) > 0)
		return has_tables(sr, with_mode, gfx);
	return has_tables(sr, rd_sysroot_exists(sr, sub) > 0 ? sub : folder, gfx);
}

/* amd-gfx942, amd-gfx11xx, amd-gfx110x: each x is any digit. */
static bool image_matches(const char *name, const char *gfx)
{
	static const char prefix[] = "amd-";

	if (!rd_str_has_prefix(name, prefix))
		return false;
	name += strlen(prefix);
	if (strlen(name) != strlen(gfx))
		return false;
	/* The x of "gfx" itself is compared as it is. */
	for (size_t i = 0; name[i]; i++)
		if (name[i] != gfx[i] && !(i > 2 && name[i] == 'x'))
			return false;
	return true;
}

static int has_images(struct rd_sysroot *sr, const char *folder, const char *gfx)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(sr, &names, folder);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		if (image_matches(names.v[i], gfx))
			return 1;
	return 0;
}

struct rd_libdata rd_libdata_look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library,
                                  const struct rd_agent *agent)
{
	struct rd_libdata ret = { RD_UNKNOWN, NULL, 0 };
	const char *mode = agent->xnack == RD_FEATURE_ON ? "-xnack+" : agent->xnack == RD_FEATURE_OFF ? "-xnack-" : "";
	int r = find_folder(sr, kind, library, &ret.folder);

	if (r == 0)
		r = kind == RD_LIBDATA_AOTRITON ? has_images(sr, ret.folder, agent->processor)
		                                : has_file(sr, ret.folder, agent->processor, mode);
	/* A variable may name what is not there; the library then fails on it. */
	if (r == -ENOENT && ret.folder)
		r = 0;
	if (r >= 0)
		ret.present = r > 0 ? RD_TRUE : RD_FALSE;
	else
		ret.error = r;
	return ret;
}

void rd_libdata_release(struct rd_libdata *data)
{
	free(data->folder);
	data->folder = NULL;
}

/* The last "gfx..." of a file's name, without what follows it: "Kernels.so-000-gfx90a-xnack+.hsaco" is for gfx90a. */
static void add_target(struct rd_strv *ret, const char *name)
{
	const char *at = NULL, *next = name;
	size_t n;

	while ((next = strstr(next, "gfx"))) {
		at = next;
		next += 3;
	}
	if (!at)
		return;
	n = 3 + strspn(at + 3, "0123456789abcdef");
	if (n > 3) {
		rd_auto_free char *gfx = rd_xstrndup(at, n);

		rd_strv_push_unique(ret, gfx);
	}
}

int rd_libdata_targets(struct rd_sysroot *sr, const char *folder, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(sr, &names, folder);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		add_target(ret, names.v[i]);
	rd_strv_sort(ret);
	return 0;
}
