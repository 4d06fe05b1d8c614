#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/procload.h"
#include "rocm-doctor/pyload.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* What is asked of a mapped library besides its path. */
struct facts {
	struct rd_elf *elf; /* of the file at its path; NULL: not read */
	bool library, taken, root;
	uint64_t dev, ino;
};

struct work {
	struct rd_sysroot *sr;
	struct rd_procload *p;
	struct facts *facts; /* one for each mapping */
	char **real;         /* one for each object: its path without links, NULL where there is none */
	bool *matched;
	size_t begun; /* objects from this one on are plug-ins and what they need */
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool rd_proc_is_library(const char *path)
{
	/* The loader's own ld.so.cache, which it maps for a moment, is none. */
	for (const char *so = base_of(path); (so = strstr(so, ".so")); so++)
		if (so[3] == '\0' || (so[3] == '.' && so[4] >= '0' && so[4] <= '9'))
			return true;
	return false;
}

/* ------------------------------------------------------------ what is mapped */

static struct rd_elf *read_elf(struct rd_sysroot *sr, const char *path)
{
	struct rd_elf *elf = NULL;
	struct rd_reader reader;
	struct rd_file *file;

	if (rd_file_open(sr, &file, path) < 0)
		return NULL;
	reader = rd_reader_of_file(file);
	if (rd_elf_open(&reader, &elf, NULL) < 0)
		elf = NULL;
	else if (!elf->complete || rd_elf_read_dynamic(elf, NULL) < 0)
		elf = rd_elf_close(elf);
	if (elf)
		elf->reader = (struct rd_reader){ 0 };
	rd_file_close(file);
	return elf;
}

/* The file that is mapped, where it can be read; else what stands under its name now. */
static void read_mapped(struct work *w, size_t i)
{
	const struct rd_mapped *m = &w->p->mapped.v[i];
	struct facts *f = &w->facts[i];
	struct rd_stat st;

	f->library = rd_proc_is_library(m->path);
	if (!f->library)
		return;
	f->elf = m->replaced == 1 || m->outside ? read_elf(w->sr, m->itself) : NULL;
	if (!f->elf && !m->outside)
		f->elf = read_elf(w->sr, m->path);
	if (m->replaced == 1 || m->outside || rd_sysroot_stat(w->sr, &st, m->path) < 0)
		return;
	f->dev = st.dev;
	f->ino = st.ino;
}

static bool needs(const struct rd_elf *elf, const char *file, const struct rd_elf *library)
{
	return elf &&
	       (rd_strv_has(elf->needed, file) || (library && library->soname && rd_strv_has(elf->needed, library->soname)));
}

/* By another library, or by the program. */
static bool is_needed(const struct work *w, size_t index)
{
	const struct rd_elf *elf = w->facts[index].elf;
	const char *file = base_of(w->p->mapped.v[index].path);

	for (size_t i = 0; i < w->p->mapped.n; i++)
		if (i != index && needs(w->facts[i].elf, file, elf))
			return true;
	return needs(rd_loader_object(w->p->loader, 0)->elf, file, elf);
}

/* "/x/site-packages/torch" of "/x/site-packages/torch/lib/libtorch_python.so" */
static char *find_torch(const struct rd_procload *p)
{
	static const char end[] = "/torch/lib/libtorch_python.so";

	for (size_t i = 0; i < p->mapped.n; i++) {
		const char *path = p->mapped.v[i].path;

		if (rd_str_has_suffix(path, end) && !p->mapped.v[i].outside)
			return rd_xstrndup(path, strlen(path) - strlen("/lib/libtorch_python.so"));
	}
	return NULL;
}

/* ------------------------------------------------------------ the simulation */

static void read_environment(struct work *w, struct rd_loader_env *env)
{
	rd_loader_env_read(w->sr, env);
	if (rd_process_is_secure(w->sr) == 1)
		env->library_path = env->preload = NULL;
}

static bool is_loader(const char *path)
{
	return rd_str_has_prefix(base_of(path), "ld-linux") || rd_str_has_prefix(base_of(path), "ld-2.");
}

static int start(struct work *w, struct rd_error *err)
{
	struct rd_procload *p = w->p;
	struct rd_loader_env env;
	bool outside;
	int r = rd_process_exe(w->sr, &p->exe, &outside);

	if (r < 0)
		return rd_error_set(err, r, "its program is not known: %s", rd_strerror(r));
	if (outside)
		return rd_error_set(err, -EXDEV, "its program, '%s', is outside of its root", p->exe);
	if (is_loader(p->exe))
		return rd_error_set(err, -EOPNOTSUPP, "it was started by a call of the loader, '%s'", p->exe);
	read_environment(w, &env);
	p->torch = find_torch(p);
	if (p->torch && rd_pyload_torch(w->sr, &env, p->exe, p->torch, &p->loader, p->missing, NULL) == 0)
		return 0;
	return rd_loader_start(w->sr, &env, p->exe, &p->loader, err);
}

/* By which object each mapping is in the simulation already; the later a file is mapped, the lower it lies, as a rule. */
static void open_plugins(struct work *w)
{
	for (size_t i = w->p->mapped.n; i-- > 0;) {
		struct facts *f = &w->facts[i];

		if (!f->library || w->p->mapped.v[i].outside || is_needed(w, i))
			continue;
		f->root = true;
		rd_loader_dlopen(w->p->loader, 0, w->p->mapped.v[i].path, true);
	}
	rd_loader_dlopen_stubs(w->p->loader);
}

static int simulate(struct work *w)
{
	struct rd_error err = RD_ERROR_INIT;
	int r = start(w, &err);

	if (r < 0) {
		w->p->why = rd_xstrdup(err.message ? err.message : rd_strerror(r));
	} else {
		w->begun = rd_loader_objects(w->p->loader);
		open_plugins(w);
	}
	rd_error_clear(&err);
	return r;
}

/* ------------------------------------------------------------ side by side */

static const struct rd_load_object *object_at(const struct work *w, size_t index)
{
	return rd_loader_object(w->p->loader, index);
}

static bool same_file(const struct work *w, size_t i, size_t object)
{
	const struct rd_load_object *o = object_at(w, object);
	const struct facts *f = &w->facts[i];

	if (f->ino && f->ino == o->ino && f->dev == o->dev)
		return true;
	return w->real[object] && rd_streq(w->real[object], w->p->mapped.v[i].path);
}

/* "libamdhip64.so.6.4.60401" is a file of the SONAME "libamdhip64.so.6". */
static bool same_soname(const struct work *w, size_t i, size_t object)
{
	const struct rd_load_object *o = object_at(w, object);
	const char *base = base_of(w->p->mapped.v[i].path), *soname = o->elf->soname ? o->elf->soname : base_of(o->path);
	const struct rd_elf *elf = w->facts[i].elf;
	size_t n = strlen(soname);

	return (elf && elf->soname && rd_streq(elf->soname, soname)) ||
	       (strncmp(base, soname, n) == 0 && (!base[n] || base[n] == '.'));
}

static bool same_stem(const struct work *w, size_t i, size_t object)
{
	const struct rd_load_object *o = object_at(w, object);
	const char *a = base_of(w->p->mapped.v[i].path), *b = o->elf->soname ? o->elf->soname : base_of(o->path);
	const char *so = strstr(a, ".so");
	size_t n = so ? (size_t)(so - a) + strlen(".so") : 0;

	return n && strncmp(a, b, n) == 0 && (!b[n] || b[n] == '.');
}

/*
 * By the needs of the program alone: nothing of it is opened at run time. What is, is not missed before it is needed, and which
 * of several copies it gets can hang on the order.
 */
static bool is_expected(const struct work *w, size_t object)
{
	const struct rd_loader *l = w->p->loader;

	while (object != RD_LOADER_NONE && object != 0) {
		size_t need = rd_loader_need_of(l, object);

		if (need == RD_LOADER_NONE)
			return false;
		if (rd_loader_need(l, need)->dlopen || rd_loader_need(l, need)->optional)
			return false;
		object = rd_loader_need(l, need)->from;
	}
	return object == 0;
}

static void add(struct work *w, size_t mapped, size_t object, enum rd_proc_verdict verdict)
{
	const struct rd_load_object *o = object == RD_PROCLOAD_NONE ? NULL : object_at(w, object);
	struct rd_procload *p = w->p;
	struct rd_proc_library *l;

	RD_GROW(p->v, p->n, p->allocated);
	l = &p->v[p->n++];
	*l = (struct rd_proc_library){ .mapped = mapped, .object = object, .verdict = verdict };
	l->name = o ? base_of(o->elf->soname ? o->elf->soname : o->path) : base_of(p->mapped.v[mapped].path);
	l->certain = o && is_expected(w, object);
	if (mapped != RD_PROCLOAD_NONE)
		l->run_time = w->facts[mapped].root && (!o || object >= w->begun);
}

static void match(struct work *w, bool (*fits)(const struct work *, size_t, size_t), enum rd_proc_verdict verdict)
{
	for (size_t k = 0; k < rd_loader_objects(w->p->loader); k++) {
		for (size_t i = 0; i < w->p->mapped.n && !w->matched[k]; i++) {
			bool old = w->p->mapped.v[i].replaced == 1;

			if (!w->facts[i].library || w->facts[i].taken || !fits(w, i, k))
				continue;
			w->facts[i].taken = w->matched[k] = true;
			add(w, i, k, old ? RD_PROC_OLD_COPY : verdict);
		}
	}
}

static void compare(struct work *w)
{
	size_t objects = rd_loader_objects(w->p->loader);

	w->matched = rd_xcalloc(objects + 1, sizeof(*w->matched));
	w->real = rd_xcalloc(objects + 1, sizeof(*w->real));
	for (size_t k = 0; k < objects; k++)
		if (rd_sysroot_realpath(w->sr, &w->real[k], object_at(w, k)->path) < 0)
			w->real[k] = NULL;
	w->matched[0] = true; /* the program */
	match(w, same_file, RD_PROC_SAME);
	match(w, same_soname, RD_PROC_OTHER);
	match(w, same_stem, RD_PROC_OTHER);
	for (size_t i = 0; i < w->p->mapped.n; i++)
		if (w->facts[i].library && !w->facts[i].taken)
			add(w, i, RD_PROCLOAD_NONE, w->p->mapped.v[i].replaced == 1 ? RD_PROC_OLD_COPY : RD_PROC_UNEXPECTED);
	for (size_t k = 0; k < objects; k++) {
		if (!w->matched[k] && is_expected(w, k))
			add(w, RD_PROCLOAD_NONE, k, RD_PROC_NOT_MAPPED);
		free(w->real[k]);
	}
}

static void list_only(struct work *w)
{
	for (size_t i = 0; i < w->p->mapped.n; i++)
		if (w->facts[i].library)
			add(w, i, RD_PROCLOAD_NONE, w->p->mapped.v[i].replaced == 1 ? RD_PROC_OLD_COPY : RD_PROC_UNKNOWN);
}

static int by_name(const void *a, const void *b)
{
	const struct rd_proc_library *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->mapped > y->mapped) - (x->mapped < y->mapped);
}

int rd_procload_read(struct rd_sysroot *sr, struct rd_procload *ret)
{
	struct work w = { .sr = sr, .p = ret };
	int r;

	*ret = (struct rd_procload){ .missing = rd_xcalloc(1, sizeof(struct rd_strv)) };
	r = rd_process_mapped(sr, &ret->mapped);
	if (r < 0) {
		rd_procload_release(ret);
		return r;
	}
	w.facts = rd_xcalloc(ret->mapped.n + 1, sizeof(*w.facts));
	for (size_t i = 0; i < ret->mapped.n; i++)
		read_mapped(&w, i);
	if (simulate(&w) == 0)
		compare(&w);
	else
		list_only(&w);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	for (size_t i = 0; i < ret->mapped.n; i++)
		rd_elf_close(w.facts[i].elf);
	free(w.facts);
	free(w.matched);
	free(w.real);
	return 0;
}

void rd_procload_release(struct rd_procload *p)
{
	rd_mappings_release(&p->mapped);
	rd_loader_free(p->loader);
	if (p->missing)
		rd_strv_clear(p->missing);
	free(p->missing);
	free(p->exe);
	free(p->torch);
	free(p->why);
	free(p->v);
	*p = (struct rd_procload){ .exe = NULL };
}

const char *rd_proc_verdict_name(enum rd_proc_verdict verdict)
{
	static const char *const names[] = {
		[RD_PROC_SAME] = "same",
		[RD_PROC_OLD_COPY] = "old copy",
		[RD_PROC_OTHER] = "another file",
		[RD_PROC_UNEXPECTED] = "not expected",
		[RD_PROC_NOT_MAPPED] = "not mapped",
		[RD_PROC_UNKNOWN] = "unknown",
	};

	return names[verdict];
}
