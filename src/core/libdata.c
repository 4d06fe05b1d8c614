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
	/* The last is for a library in a folder of its architecture. */
	[RD_LIBDATA_MIOPEN] = { "MIOPEN_SYSTEM_DB_PATH", { "../share/miopen/db", "../../share/miopen/db", NULL } },
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

/* ------------------------------------------------------------ MIOpen */

/*
 * "gfx1030_36": up to 64 compute units after a line, in decimal; "gfx90a68": more of them right behind the processor, in
 * hexadecimal. False for another name.
 */
static bool parse_database(const char *name, size_t len, struct rd_miopen_db *ret)
{
	size_t n = rd_str_has_prefix(name, "gfx1") ? 7 : 6;
	rd_auto_free char *base = rd_xstrndup(name, len);
	struct rd_target_id id;
	uint64_t count = 0;

	*ret = (struct rd_miopen_db){ .cu_count = 0 };
	if (len < n || len > n + 5 || !rd_str_has_prefix(name, "gfx"))
		return false;
	if (len > n && rd_str_to_u64(base + n + (base[n] == '_'), base[n] == '_' ? 10 : 16, &count) < 0)
		return false;
	base[n] = '\0';
	if (rd_target_parse(base, &id) < 0 || count > 4096)
		return false;
	snprintf(ret->gfx, sizeof(ret->gfx), "%s", base);
	ret->cu_count = (unsigned)count;
	return true;
}

static int by_gpu(const void *a, const void *b)
{
	const struct rd_miopen_db *x = a, *y = b;
	int c = strcmp(x->gfx, y->gfx);

	return c ? c : x->cu_count < y->cu_count ? -1 : x->cu_count > y->cu_count;
}

int rd_libdata_miopen(struct rd_sysroot *sr, const char *folder, struct rd_miopen_db **ret, size_t *ret_n)
{
	/* The OpenCL back end's own are of no use to HIP. */
	static const struct {
		const char *end;
		unsigned has;
	} ends[] = {
		{ ".HIP.fdb.txt", RD_MIOPEN_FIND }, { ".db.txt", RD_MIOPEN_PERFORMANCE }, { ".db", RD_MIOPEN_PERFORMANCE },
		{ ".kdb", RD_MIOPEN_KERNELS },      { ".tn.model", RD_MIOPEN_MODEL },
	};
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	struct rd_miopen_db *list = NULL;
	size_t n = 0, allocated = 0;
	int r = rd_sysroot_list(sr, &names, folder);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		for (size_t k = 0; k < RD_ARRAY_SIZE(ends); k++) {
			size_t len = strlen(names.v[i]), end = strlen(ends[k].end), at = 0;
			struct rd_miopen_db db;

			if (!rd_str_has_suffix(names.v[i], ends[k].end) || !parse_database(names.v[i], len - end, &db))
				continue;
			while (at < n && by_gpu(&list[at], &db) != 0)
				at++;
			if (at == n) {
				RD_GROW(list, n, allocated);
				list[n++] = db;
			}
			list[at].has |= ends[k].has;
		}
	if (n)
		qsort(list, n, sizeof(*list), by_gpu);
	*ret = list;
	*ret_n = n;
	return 0;
}

static int has_database(struct rd_sysroot *sr, const char *folder, const char *gfx)
{
	rd_auto_free struct rd_miopen_db *list = NULL;
	size_t n;
	int r = rd_libdata_miopen(sr, folder, &list, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (rd_streq(list[i].gfx, gfx) && list[i].has & ~(unsigned)RD_MIOPEN_MODEL)
			return 1;
	return r;
}

/* ------------------------------------------------------------ */

static int look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *folder, const struct rd_agent *agent)
{
	const char *mode = agent->xnack == RD_FEATURE_ON ? "-xnack+" : agent->xnack == RD_FEATURE_OFF ? "-xnack-" : "";

	if (kind == RD_LIBDATA_AOTRITON)
		return has_images(sr, folder, agent->processor);
	if (kind == RD_LIBDATA_MIOPEN)
		return has_database(sr, folder, agent->processor);
	return has_file(sr, folder, agent->processor, mode);
}

/*
 * A wheel brings the data of its libraries, so that none of the places there is none. Elsewhere a build may have another place
 * compiled in, or need no data.
 */
static bool is_in_wheel(const char *library)
{
	return strstr(library, "/site-packages/") || strstr(library, "/dist-packages/");
}

struct rd_libdata rd_libdata_look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library,
                                  const struct rd_agent *agent)
{
	struct rd_libdata ret = { RD_UNKNOWN, NULL, 0 };
	int r = find_folder(sr, kind, library, &ret.folder);

	if (r == 0)
		r = look(sr, kind, ret.folder, agent);
	/* A variable may name what is not there; the library then fails on it. */
	if (r == -ENOENT && (ret.folder || is_in_wheel(library)))
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

static int add_databases(struct rd_sysroot *sr, const char *folder, struct rd_strv *ret)
{
	rd_auto_free struct rd_miopen_db *list = NULL;
	size_t n;
	int r = rd_libdata_miopen(sr, folder, &list, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		rd_strv_push_unique(ret, list[i].gfx);
	return r;
}

int rd_libdata_targets(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *folder, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	if (kind == RD_LIBDATA_MIOPEN)
		return add_databases(sr, folder, ret);
	r = rd_sysroot_list(sr, &names, folder);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++)
		if (kind != RD_LIBDATA_AOTRITON)
			add_target(ret, names.v[i]);
		else if (rd_str_has_prefix(names.v[i], "amd-gfx"))
			rd_strv_push(ret, names.v[i] + strlen("amd-"));
	rd_strv_sort(ret);
	return 0;
}
