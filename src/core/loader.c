#include <elf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "loader-internal.h"

#define PRELOAD_FILE "/etc/ld.so.preload"

/* More objects than any process has: a circle of files cannot be, but a hostile tree may hold a great many. */
enum { OBJECTS_MAX = 4096, NEEDS_MAX = 65536 };

/* ------------------------------------------------------------ opening */

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash > path ? rd_xstrndup(path, (size_t)(slash - path)) : rd_xstrdup("/");
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file that the loader has opened and looked at. */
struct opened {
	struct rd_elf *elf;
	uint64_t dev, ino;
};

static bool is_of_machine(const struct rd_loader *l, const struct rd_elf *elf)
{
	return elf->complete && (!l->machine || elf->machine == l->machine);
}

/* As open_file, of a file that is there. */
static int read_file(struct rd_loader *l, const char *path, struct rd_elf **ret, struct rd_error *err)
{
	struct rd_file *file;
	struct rd_reader reader;
	struct rd_elf *elf = NULL;
	int r = rd_file_open(l->sr, &file, path);

	if (r < 0)
		return r == -EINVAL ? rd_error_set(err, -EINVAL, "not a regular file") : r;
	reader = rd_reader_of_file(file);
	r = rd_elf_open(&reader, &elf, err);
	if (r == 0 && is_of_machine(l, elf)) {
		r = elf->type == ET_DYN || elf->type == ET_EXEC
		            ? rd_elf_read_versions(elf, err)
		            : rd_error_set(err, -EINVAL, "only ET_DYN and ET_EXEC can be loaded");
		if (r == 0)
			r = 1;
	} else if (r == -ENOEXEC) {
		/* The loader's own words in place of ours. */
		if (err)
			rd_error_clear(err);
		r = rd_error_set(err, -EINVAL, reader.size < EI_NIDENT ? "file too short" : "invalid ELF header");
	}
	rd_file_close(file);
	if (elf)
		elf->reader = (struct rd_reader){ 0 };
	if (r == 1)
		*ret = elf;
	else
		rd_elf_close(elf);
	return r;
}

/*
 * What the loader does with a file: 1 it is one to take, 0 it is passed over without a word (not there, another machine),
 * -EINVAL the loader gives up with @err's words, another negative errno: not to be known here. What we may not read another
 * user's process may, so a lack of permission is no absence.
 */
static int open_file(struct rd_loader *l, const char *path, struct opened *ret, struct rd_error *err)
{
	struct rd_elf *elf;
	struct rd_stat st;
	int r;

	r = rd_sysroot_stat(l->sr, &st, path);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	if (st.type == RD_STAT_DIR)
		return rd_error_set(err, -EINVAL, "cannot read file data: Is a directory");
	elf = rd_sysroot_kept_elf(l->sr, &st, path);
	if (elf && !is_of_machine(l, elf)) {
		rd_elf_close(elf);
		return 0;
	}
	if (!elf) {
		r = read_file(l, path, &elf, err);
		if (r < 1)
			return r;
		rd_sysroot_keep_elf(l->sr, &st, elf);
	}
	*ret = (struct opened){ elf, st.dev, st.ino };
	return 1;
}

struct load_name {
	const char *name; /* of an object or a need, which live as long */
	size_t object;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct load_name *)a)->name, ((const struct load_name *)b)->name);
}

/* From now on the name is that object's, unless it has been another's before. */
static void give_name(struct rd_loader *l, const char *name, size_t object)
{
	struct load_name key = { name, object }, *new;

	if (tfind(&key, &l->names, by_name))
		return;
	new = rd_xmalloc(sizeof(*new));
	*new = key;
	if (!tsearch(new, &l->names, by_name))
		abort();
}

static size_t add_object(struct rd_loader *l, const char *path, const struct opened *o, size_t loader)
{
	struct rd_load_object *new;

	RD_GROW(l->objects, l->objects_n, l->objects_allocated);
	new = &l->objects[l->objects_n];
	*new = (struct rd_load_object){
		.path = rd_xstrdup(path),
		.dev = o->dev,
		.ino = o->ino,
		.origin = folder_of(path),
		.elf = o->elf,
		.loader = loader,
	};
	give_name(l, new->path, l->objects_n);
	if (o->elf->soname)
		give_name(l, o->elf->soname, l->objects_n);
	return l->objects_n++;
}

static size_t find_identity(const struct rd_loader *l, const struct opened *o)
{
	for (size_t i = 0; i < l->objects_n; i++)
		if (l->objects[i].dev == o->dev && l->objects[i].ino == o->ino && (o->dev || o->ino))
			return i;
	return RD_LOADER_NONE;
}

/* By the names under which it was asked for, its path and its SONAME. */
static size_t find_loaded(const struct rd_loader *l, const char *name)
{
	struct load_name key = { .name = name }, **found = tfind(&key, &l->names, by_name);

	return found ? (*found)->object : RD_LOADER_NONE;
}

/* ------------------------------------------------------------ one name */

struct attempt {
	struct rd_loader *l;
	struct rd_load_need *need;
	struct opened opened;
	char *path;
	bool taken;
};

static bool try_place(void *data, const struct load_place *place)
{
	struct attempt *a = data;
	struct rd_error err = RD_ERROR_INIT;
	int r = open_file(a->l, place->path, &a->opened, &err);

	if (r == 1 || r == -EINVAL) {
		a->taken = r == 1;
		a->path = rd_xstrdup(place->path);
		a->need->by = place->by;
		a->need->via = place->via;
		a->need->folder = *place->folder ? rd_xstrdup(place->folder) : NULL;
		if (r == -EINVAL)
			a->need->damage = rd_xasprintf("%s: %s", place->path, err.message ? err.message : "damaged");
	} else if (r < 0 && !a->need->unknown) {
		a->need->unknown = r;
	}
	rd_error_clear(&err);
	return r == 1 || r == -EINVAL;
}

static void take(struct attempt *a)
{
	struct rd_load_need *need = a->need;
	size_t same = find_identity(a->l, &a->opened);

	if (same != RD_LOADER_NONE) {
		rd_elf_close(a->opened.elf);
		need->object = same;
	} else {
		need->object = add_object(a->l, a->path, &a->opened, need->from);
	}
	give_name(a->l, need->name, need->object);
}

static char *absolute(const struct rd_loader *l, const char *path)
{
	if (*path == '/' || !l->cwd)
		return rd_xstrdup(path);
	return rd_xasprintf("%s/%s", l->cwd, path);
}

/* Adds the need; returns its index. */
static size_t ask(struct rd_loader *l, size_t from, const char *name)
{
	struct rd_load_need need = {
		.from = from,
		.name = load_expand(l, name, l->objects[from].origin),
		.object = RD_LOADER_NONE,
		.by = RD_LOAD_NOT_FOUND,
		.via = RD_LOADER_NONE,
	};
	struct attempt a = { .l = l, .need = &need };

	if (!need.name)
		need.name = rd_xstrdup(name);
	need.object = find_loaded(l, need.name);
	if (need.object != RD_LOADER_NONE) {
		need.by = RD_LOAD_LOADED;
	} else if (l->objects_n < OBJECTS_MAX) {
		if (strchr(need.name, '/')) {
			rd_auto_free char *path = absolute(l, need.name);

			try_place(&a, &(struct load_place){ RD_LOAD_PATH, RD_LOADER_NONE, "", path });
		} else {
			load_search(l, from, need.name, try_place, &a);
		}
		if (a.taken)
			take(&a);
		free(a.path);
	}
	if (need.object == RD_LOADER_NONE && !need.damage && !need.unknown && l->cache_error)
		need.unknown = l->cache_error;
	RD_GROW(l->needs, l->needs_n, l->needs_allocated);
	l->needs[l->needs_n] = need;
	return l->needs_n++;
}

/* What the objects from @first on need, breadth first, as they come in. */
static void load_dependencies(struct rd_loader *l, size_t first)
{
	for (size_t i = first; i < l->objects_n; i++)
		for (size_t k = 0; k < l->objects[i].elf->needed->n && l->needs_n < NEEDS_MAX; k++)
			ask(l, i, l->objects[i].elf->needed->v[k]);
}

/* ------------------------------------------------------------ start */

static bool is_musl(const struct rd_elf *elf, const char *interpreter)
{
	if (interpreter && strstr(interpreter, "/ld-musl-"))
		return true;
	for (size_t i = 0; i < elf->needed->n; i++)
		if (rd_str_has_prefix(elf->needed->v[i], "libc.musl-"))
			return true;
	return false;
}

static int check_machine(struct rd_loader *l, const struct rd_elf *elf, struct rd_error *err)
{
	l->machine = elf->machine;
	if (elf->machine == EM_X86_64)
		l->cache_flags = RD_LDCACHE_X86_64;
	else if (elf->machine == EM_AARCH64)
		l->cache_flags = RD_LDCACHE_AARCH64;
	else
		return rd_error_set(err, -EOPNOTSUPP, "a program for machine %u, not for x86-64 or aarch64", elf->machine);
	return 0;
}

static int open_program(struct rd_loader *l, const char *path, struct rd_error *err)
{
	struct opened o = { NULL, 0, 0 };
	rd_auto_free char *real = NULL;
	struct rd_file *file;
	struct rd_stat st;
	struct rd_reader reader;
	int r;

	r = rd_sysroot_stat(l->sr, &st, path);
	if (r == 0)
		r = rd_file_open(l->sr, &file, path);
	if (r < 0)
		return rd_error_set(err, r, "cannot read '%s': %s", path, rd_strerror(r));
	reader = rd_reader_of_file(file);
	r = rd_elf_open(&reader, &o.elf, err);
	if (r == 0 && !o.elf->complete)
		r = rd_error_set(err, -EOPNOTSUPP, "not a 64-bit little-endian program");
	if (r == 0)
		r = check_machine(l, o.elf, err);
	if (r == 0)
		r = rd_elf_read_versions(o.elf, err);
	if (r == 0 && rd_elf_interpreter(o.elf, &l->interpreter) < 0)
		l->interpreter = NULL;
	if (r == 0 && is_musl(o.elf, l->interpreter))
		r = rd_error_set(err, -EOPNOTSUPP, "a program for musl, whose loader searches in other ways than glibc's");
	rd_file_close(file);
	if (r < 0) {
		rd_elf_close(o.elf);
		return r;
	}
	o.elf->reader = (struct rd_reader){ 0 };
	o.dev = st.dev;
	o.ino = st.ino;
	add_object(l, path, &o, RD_LOADER_NONE);
	/* $ORIGIN of a program comes from /proc/self/exe. */
	if (l->interpreter && rd_sysroot_realpath(l->sr, &real, path) == 0) {
		free(l->objects[0].origin);
		l->objects[0].origin = folder_of(real);
	}
	return 0;
}

/* The loader is in every process, under its path and its SONAME. */
static void add_interpreter(struct rd_loader *l)
{
	struct opened o;

	if (!l->interpreter)
		l->interpreter =
			rd_xstrdup(l->machine == EM_AARCH64 ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2");
	if (open_file(l, l->interpreter, &o, NULL) == 1)
		add_object(l, l->interpreter, &o, 0);
}

static void add_preloads(struct rd_loader *l, const char *preload)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *text = NULL;

	if (preload)
		rd_strv_split(&names, preload, " :", false);
	if (rd_sysroot_read(l->sr, &text, PRELOAD_FILE) == 0) {
		char *line, *rest = text;

		while ((line = rd_str_next_line(&rest))) {
			line[strcspn(line, "#")] = '\0';
			rd_strv_split(&names, line, " \t:", false);
		}
	}
	/* One that is not there is a message on standard error, no more. */
	for (size_t i = 0; i < names.n; i++) {
		size_t need = ask(l, 0, names.v[i]);

		l->needs[need].optional = true;
	}
}

int rd_loader_start(struct rd_sysroot *sr, const struct rd_loader_env *env, const char *path, struct rd_loader **ret,
                    struct rd_error *err)
{
	struct rd_loader *l = rd_xcalloc(1, sizeof(*l));
	size_t interpreter;
	int r;

	l->sr = sr;
	l->library_path = env->library_path ? rd_xstrdup(env->library_path) : NULL;
	l->cwd = env->cwd ? rd_xstrdup(env->cwd) : NULL;
	r = open_program(l, path, err);
	if (r < 0) {
		rd_loader_free(l);
		return r;
	}
	r = rd_ldcache_read(sr, &l->cache, NULL);
	/* A damaged cache is ignored by the loader as well; one that cannot be read here leaves open what is in it. */
	l->cache_error = r == -ENOENT || r == -EINVAL ? 0 : r;
	add_interpreter(l);
	interpreter = l->objects_n;
	load_host_init(l);
	add_preloads(l, env->preload);
	for (size_t k = 0; k < l->objects[0].elf->needed->n; k++)
		ask(l, 0, l->objects[0].elf->needed->v[k]);
	load_dependencies(l, interpreter);
	*ret = l;
	return 0;
}

size_t rd_loader_dlopen(struct rd_loader *l, size_t caller, const char *name, bool optional)
{
	size_t first = l->objects_n, need = ask(l, caller, name);

	l->needs[need].dlopen = true;
	l->needs[need].optional = optional;
	load_dependencies(l, first);
	return need;
}

size_t rd_loader_dlopen_unknown(struct rd_loader *l, size_t caller, const char *name, int error)
{
	RD_GROW(l->needs, l->needs_n, l->needs_allocated);
	l->needs[l->needs_n] = (struct rd_load_need){
		.from = caller,
		.name = rd_xstrdup(name),
		.object = RD_LOADER_NONE,
		.by = RD_LOAD_NOT_FOUND,
		.via = RD_LOADER_NONE,
		.dlopen = true,
		.unknown = error,
	};
	return l->needs_n++;
}

/* ------------------------------------------------------------ what ROCm opens itself */

/*
 * What clr (comgrctx.cpp, rocrctx) and hiprtc open by a bare name; of several names for one thing, one is enough. HIP 6 opened
 * comgr 2 up to ROCm 6.3 and comgr 3 from 6.4 on.
 */
static const struct {
	const char *caller;
	unsigned first, last; /* of the caller's SONAME */
	const char *names[2];
	bool optional;
} stubs[] = {
	{ "libamdhip64", 6, 99, { "libhsa-runtime64.so.1", NULL }, false },
	{ "libamdhip64", 5, 5, { "libamd_comgr.so.2", NULL }, false },
	{ "libamdhip64", 6, 6, { "libamd_comgr.so.3", "libamd_comgr.so.2" }, false },
	{ "libamdhip64", 7, 99, { "libamd_comgr.so.3", NULL }, false },
	{ "libhiprtc", 5, 5, { "libhiprtc-builtins.so.5", NULL }, true },
	{ "libhiprtc", 6, 6, { "libhiprtc-builtins.so.6", NULL }, true },
	{ "libhiprtc", 7, 7, { "libhiprtc-builtins.so.7", NULL }, true },
};

/* The N of libX.so.N; 0 without one. */
static unsigned soname_number(const struct rd_elf *elf)
{
	const char *at = elf->soname ? strstr(elf->soname, ".so.") : NULL;

	return at ? (unsigned)strtoul(at + 4, NULL, 10) : 0;
}

static void open_stub(struct rd_loader *l, size_t caller, const char *const names[2], bool optional)
{
	for (int i = 0; i < 2 && names[i]; i++) {
		bool last = i == 1 || !names[1];
		/* The earlier of two names is no fault, whatever becomes of the later. */
		size_t need = rd_loader_dlopen(l, caller, names[i], optional || !last);

		if (l->needs[need].object != RD_LOADER_NONE)
			return;
	}
}

void rd_loader_dlopen_stubs(struct rd_loader *l)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(stubs); i++) {
		size_t caller = rd_loader_find(l, stubs[i].caller);

		for (; caller != RD_LOADER_NONE; caller = rd_loader_find_next(l, stubs[i].caller, caller)) {
			unsigned n = soname_number(l->objects[caller].elf);

			if (n >= stubs[i].first && n <= stubs[i].last)
				open_stub(l, caller, stubs[i].names, stubs[i].optional);
		}
	}
}

/* ------------------------------------------------------------ answers */

size_t rd_loader_objects(const struct rd_loader *l)
{
	return l->objects_n;
}

const struct rd_load_object *rd_loader_object(const struct rd_loader *l, size_t index)
{
	return index < l->objects_n ? &l->objects[index] : NULL;
}

size_t rd_loader_needs(const struct rd_loader *l)
{
	return l->needs_n;
}

const struct rd_load_need *rd_loader_need(const struct rd_loader *l, size_t index)
{
	return index < l->needs_n ? &l->needs[index] : NULL;
}

static bool has_stem(const char *name, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(name, stem, n) == 0 && rd_str_has_prefix(name + n, ".so") && (!name[n + 3] || name[n + 3] == '.');
}

static size_t find_from(const struct rd_loader *l, const char *stem, size_t i)
{
	for (; i < l->objects_n; i++)
		if (has_stem(base_of(l->objects[i].path), stem) ||
		    (l->objects[i].elf->soname && has_stem(l->objects[i].elf->soname, stem)))
			return i;
	return RD_LOADER_NONE;
}

size_t rd_loader_find(const struct rd_loader *l, const char *stem)
{
	return find_from(l, stem, 0);
}

size_t rd_loader_find_next(const struct rd_loader *l, const char *stem, size_t after)
{
	return find_from(l, stem, after + 1);
}

size_t rd_loader_need_of(const struct rd_loader *l, size_t object)
{
	for (size_t i = 0; i < l->needs_n; i++)
		if (l->needs[i].object == object && l->needs[i].by != RD_LOAD_LOADED)
			return i;
	return RD_LOADER_NONE;
}

size_t rd_loader_check_versions(const struct rd_loader *l, struct rd_load_version **ret)
{
	struct rd_load_version *found = NULL;
	size_t n = 0, allocated = 0;

	for (size_t i = 0; i < l->objects_n; i++) {
		const struct rd_elf *elf = l->objects[i].elf;

		for (size_t k = 0; k < elf->versions_needed_n; k++) {
			const struct rd_elf_version *v = &elf->versions_needed[k];
			size_t provider = find_loaded(l, v->file);

			/* A library without any versions passes with a warning. */
			if (v->weak || provider == RD_LOADER_NONE || !l->objects[provider].elf->verdef ||
			    rd_strv_has(l->objects[provider].elf->versions_defined, v->version))
				continue;
			RD_GROW(found, n, allocated);
			found[n++] = (struct rd_load_version){ i, provider, rd_xstrdup(v->file), rd_xstrdup(v->version) };
		}
	}
	*ret = found;
	return n;
}

void rd_load_versions_free(struct rd_load_version *versions, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(versions[i].file);
		free(versions[i].version);
	}
	free(versions);
}

struct telling {
	struct rd_loader *l;
	const struct rd_load_need *need;
	void (*tell)(void *data, const struct rd_load_step *step);
	void *data;
	bool over; /* the search ended at an earlier place */
};

static bool tell_place(void *data, const struct load_place *place)
{
	struct telling *t = data;
	struct rd_load_step step = { .by = place->by, .via = place->via, .folder = place->folder, .path = place->path };
	struct rd_error err = RD_ERROR_INIT;
	struct opened o = { NULL, 0, 0 };
	int r = open_file(t->l, place->path, &o, &err);

	if (r == 1) {
		step.verdict = t->over ? RD_LOAD_RUNNER_UP : RD_LOAD_TAKEN;
		step.same = t->need->object != RD_LOADER_NONE && t->l->objects[t->need->object].dev == o.dev &&
		            t->l->objects[t->need->object].ino == o.ino;
		t->over = true;
		rd_elf_close(o.elf);
	} else if (r == 0) {
		step.verdict = rd_sysroot_exists(t->l->sr, place->path) > 0 ? RD_LOAD_SKIPPED : RD_LOAD_MISS;
	} else {
		step.verdict = r == -EINVAL ? RD_LOAD_DAMAGED : RD_LOAD_UNREADABLE;
		t->over |= r == -EINVAL;
		step.error = r;
	}
	t->tell(t->data, &step);
	rd_error_clear(&err);
	return false;
}

void rd_loader_explain(struct rd_loader *l, size_t index, void (*tell)(void *data, const struct rd_load_step *step), void *data)
{
	const struct rd_load_need *need = &l->needs[index];
	struct telling t = { l, need, tell, data, false };

	if (need->by == RD_LOAD_LOADED) {
		tell(data, &(struct rd_load_step){ .by = RD_LOAD_LOADED,
		                                   .via = RD_LOADER_NONE,
		                                   .folder = "",
		                                   .path = l->objects[need->object].path,
		                                   .verdict = RD_LOAD_TAKEN,
		                                   .same = true });
		t.over = true;
	}
	if (strchr(need->name, '/')) {
		rd_auto_free char *path = absolute(l, need->name);

		if (need->by != RD_LOAD_LOADED)
			tell_place(&t, &(struct load_place){ RD_LOAD_PATH, RD_LOADER_NONE, "", path });
		return;
	}
	load_search(l, need->from, need->name, tell_place, &t);
}

const char *rd_load_by_name(enum rd_load_by by)
{
	static const char *const names[] = {
		[RD_LOAD_PROGRAM] = "the program itself",
		[RD_LOAD_PATH] = "its path",
		[RD_LOAD_LOADED] = "already loaded",
		[RD_LOAD_RPATH] = "DT_RPATH",
		[RD_LOAD_LIBRARY_PATH] = "LD_LIBRARY_PATH",
		[RD_LOAD_RUNPATH] = "DT_RUNPATH",
		[RD_LOAD_CACHE] = "ld.so.cache",
		[RD_LOAD_DEFAULT] = "default folder",
		[RD_LOAD_NOT_FOUND] = "not found",
	};

	return names[by];
}

char *rd_loader_chosen_by(const struct rd_loader *l, const struct rd_load_need *need)
{
	if (need->via == RD_LOADER_NONE)
		return rd_xstrdup(rd_load_by_name(need->by));
	return rd_xasprintf("%s of %s", rd_load_by_name(need->by), l->objects[need->via].path);
}

struct rd_loader *rd_loader_free(struct rd_loader *l)
{
	if (!l)
		return NULL;
	for (size_t i = 0; i < l->objects_n; i++) {
		free(l->objects[i].path);
		free(l->objects[i].origin);
		rd_elf_close(l->objects[i].elf);
	}
	for (size_t i = 0; i < l->needs_n; i++) {
		free(l->needs[i].name);
		free(l->needs[i].folder);
		free(l->needs[i].damage);
	}
	for (size_t i = 0; i < l->folders_n; i++) {
		free(l->folders[i].path);
		rd_strv_clear(&l->folders[i].subs);
	}
	free(l->objects);
	free(l->needs);
	free(l->folders);
	free(l->library_path);
	free(l->cwd);
	free(l->interpreter);
	free(l->lib_token);
	free(l->platform_token);
	rd_strv_clear(&l->default_folders);
	rd_strv_clear(&l->subs);
	rd_strv_clear(&l->hwcaps);
	rd_ldcache_free(l->cache);
	tdestroy(l->names, free);
	free(l);
	return NULL;
}
