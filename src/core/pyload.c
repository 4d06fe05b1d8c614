#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

struct pyload {
	struct rd_sysroot *sr;
	struct rd_loader *loader;
	const char *torch;
	char *site;    /* folder of packages that torch is in */
	size_t caller; /* object that contains the interpreter's dlopen */
	struct rd_strv *missing;
};

/* The text between the next pair of quotes behind *at; NULL at the end. */
static char *next_quoted(const char **at, const char *end)
{
	while (*at < end) {
		const char *open = *at, *close;

		++*at;
		if (*open != '\'' && *open != '"')
			continue;
		close = memchr(*at, *open, (size_t)(end - *at));
		if (!close)
			return NULL;
		*at = close + 1;
		return rd_xstrndup(open + 1, (size_t)(close - open - 1));
	}
	return NULL;
}

/* preload_shortnames=[ 'amd_comgr', 'amdhip64', ... ] */
static void preload_names(const char *text, struct rd_strv *ret)
{
	const char *at = strstr(text, "preload_shortnames"), *end;
	char *name;

	at = at ? strchr(at, '[') : NULL;
	end = at ? strchr(at, ']') : NULL;
	if (!end)
		return;
	while ((name = next_quoted(&at, end)))
		rd_strv_push_take(ret, name);
}

struct library_entry {
	char *package, *pattern;
	bool optional;
};

/* LibraryEntry("amdhip64", "core", "libamdhip64.so*", ...) of rocm_sdk/_dist_info.py. */
static bool find_entry(const char *table, const char *name, struct library_entry *ret)
{
	static const char word[] = "LibraryEntry(";

	for (const char *at = table; at && (at = strstr(at, word));) {
		const char *end = strchr(at, ')');
		rd_auto_free char *found = NULL;

		at += strlen(word);
		if (!end)
			return false;
		found = next_quoted(&at, end);
		if (!found || !rd_streq(found, name))
			continue;
		ret->package = next_quoted(&at, end);
		ret->pattern = next_quoted(&at, end);
		ret->optional = memmem(at, (size_t)(end - at), "optional=True", 13) != NULL;
		return ret->pattern != NULL;
	}
	return false;
}

/*
 * The first match, sorted, in a package's folders for libraries. Caller frees; NULL where there is none, or for *ret_error
 * none can be seen.
 */
static char *find_library(struct pyload *p, const char *package, const char *pattern, int *ret_error)
{
	static const char *const folders[] = { "lib", "lib/rocm_sysdeps/lib", "lib/host-math/lib" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(folders); i++) {
		rd_auto_free char *full = rd_xasprintf("%s/_rocm_sdk_%s*/%s/%s", p->site, package, folders[i], pattern);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;
		int r = rd_sysroot_glob(p->sr, &found, full);

		if (found.n)
			return rd_xstrdup(found.v[0]);
		if (r < 0)
			*ret_error = r;
	}
	return NULL;
}

static void preload(struct pyload *p, const char *table, const char *name)
{
	struct library_entry e = { .optional = false };
	rd_auto_free char *path = NULL;
	int error = 0;

	if (!table || !find_entry(table, name, &e)) {
		/* Without the table's word, by the usual name in either package. */
		free(e.package);
		e.package = rd_xstrdup("*");
		e.pattern = rd_xasprintf("lib%s.so*", name);
		e.optional = true;
	}
	path = find_library(p, e.package, e.pattern, &error);
	if (path)
		rd_loader_dlopen(p->loader, p->caller, path, false);
	else if (error)
		rd_loader_dlopen_unknown(p->loader, p->caller, e.pattern, error);
	else if (!e.optional)
		rd_strv_push_unique(p->missing, name);
	free(e.package);
	free(e.pattern);
}

static void preload_sdk(struct pyload *p)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *init = NULL, *table = NULL;
	const char *more = NULL;

	if (rd_sysroot_readf(p->sr, &init, "%s/_rocm_init.py", p->torch) < 0)
		return;
	if (rd_sysroot_readf(p->sr, &table, "%s/rocm_sdk/_dist_info.py", p->site) < 0)
		table = NULL;
	preload_names(init, &names);
	if (rd_sysroot_getenv(p->sr, &more, "ROCM_SDK_PRELOAD_LIBRARIES") > 0)
		rd_strv_split(&names, more, ",; ", false);
	for (size_t i = 0; i < names.n; i++)
		preload(p, table, names.v[i]);
}

/* torch/_C.cpython-312-x86_64-linux-gnu.so; where several are there, the one for this interpreter. */
static char *find_extension(struct rd_sysroot *sr, const char *torch, const char *python)
{
	rd_auto_free char *pattern = rd_xasprintf("%s/_C.*so", torch), *real = NULL;
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;
	const char *dot;

	if (rd_sysroot_glob(sr, &found, pattern) < 0 || !found.n)
		return NULL;
	if (found.n > 1 && python && rd_sysroot_realpath(sr, &real, python) == 0 && (dot = strrchr(real, '.'))) {
		rd_auto_free char *tag = rd_xasprintf("cpython-3%s-", dot + 1);

		for (size_t i = 0; i < found.n; i++)
			if (strstr(found.v[i], tag))
				return rd_xstrdup(found.v[i]);
	}
	return rd_xstrdup(found.v[0]);
}

static size_t find_libpython(const struct rd_loader *l)
{
	for (size_t i = 1; i < rd_loader_objects(l); i++) {
		const char *path = rd_loader_object(l, i)->path, *slash = strrchr(path, '/');

		if (rd_str_has_prefix(slash ? slash + 1 : path, "libpython3"))
			return i;
	}
	return 0;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return rd_xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

static int start(struct pyload *p, const struct rd_loader_env *env, const char *python, const char *extension,
                 struct rd_error *err)
{
	struct rd_error first = RD_ERROR_INIT;
	int r = python ? rd_loader_start(p->sr, env, python, &p->loader, &first) : -ENOENT;

	/* A musl interpreter is an answer; a wrapper script or a dangling link is not one. */
	if (r == -EOPNOTSUPP)
		rd_error_set(err, r, "%s", first.message);
	else if (r < 0)
		r = rd_loader_start(p->sr, env, extension, &p->loader, err);
	rd_error_clear(&first);
	return r;
}

int rd_pyload_torch(struct rd_sysroot *sr, const struct rd_loader_env *env, const char *python, const char *torch,
                    struct rd_loader **ret, struct rd_strv *ret_missing, struct rd_error *err)
{
	struct pyload p = { .sr = sr, .torch = torch, .missing = ret_missing };
	rd_auto_free char *extension = find_extension(sr, torch, python);
	rd_auto_free char *deps = rd_xasprintf("%s/lib/libtorch_global_deps.so", torch);
	int r;

	if (!extension)
		return rd_error_set(err, -ENOENT, "no extension module in '%s'", torch);
	r = start(&p, env, python, extension, err);
	if (r < 0)
		return r;
	p.site = parent_of(torch);
	p.caller = find_libpython(p.loader);
	preload_sdk(&p);
	if (rd_sysroot_exists(sr, deps) > 0)
		rd_loader_dlopen(p.loader, p.caller, deps, true);
	rd_loader_dlopen(p.loader, p.caller, extension, false);
	rd_loader_dlopen_stubs(p.loader);
	free(p.site);
	*ret = p.loader;
	return 0;
}

void rd_loader_env_read(struct rd_sysroot *sr, struct rd_loader_env *ret)
{
	*ret = (struct rd_loader_env){ NULL, NULL, NULL };
	if (rd_sysroot_getenv(sr, &ret->library_path, "LD_LIBRARY_PATH") < 0)
		ret->library_path = NULL;
	if (rd_sysroot_getenv(sr, &ret->preload, "LD_PRELOAD") < 0)
		ret->preload = NULL;
	if (rd_sysroot_getenv(sr, &ret->cwd, "PWD") < 0)
		ret->cwd = NULL;
}
