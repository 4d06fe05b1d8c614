/* Where the loader looks for a bare name, place by place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#include "loader-internal.h"

/* Length of a token at @s ("$ORIGIN" or "${ORIGIN}"), 0 where it is none of that name. */
static size_t token_length(const char *s, const char *name)
{
	size_t n = strlen(name);
	bool braces = s[1] == '{';

	if (strncmp(s + 1 + braces, name, n) != 0)
		return 0;
	if (braces)
		return s[2 + n] == '}' ? n + 3 : 0;
	/* "$ORIGINAL" is no token. */
	if ((s[1 + n] >= 'A' && s[1 + n] <= 'Z') || (s[1 + n] >= 'a' && s[1 + n] <= 'z') || s[1 + n] == '_' ||
	    (s[1 + n] >= '0' && s[1 + n] <= '9'))
		return 0;
	return n + 1;
}

char *load_expand(const struct rd_loader *l, const char *text, const char *origin)
{
	const struct {
		const char *name, *value;
	} tokens[] = { { "ORIGIN", origin }, { "LIB", l->lib_token }, { "PLATFORM", l->platform_token } };
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	while (*text) {
		size_t used = 0;

		for (size_t i = 0; *text == '$' && i < RD_ARRAY_SIZE(tokens) && !used; i++) {
			used = token_length(text, tokens[i].name);
			if (used && !tokens[i].value)
				return NULL;
			if (used)
				rd_strbuf_add(&sb, tokens[i].value);
		}
		if (!used) {
			rd_strbuf_addc(&sb, *text);
			used = 1;
		}
		text += used;
	}
	return rd_strbuf_detach(&sb);
}

/* By number, since looking at one folder may move the others. */
static size_t folder(struct rd_loader *l, const char *path)
{
	struct load_folder f = { .subs = RD_STRV_INIT };
	struct rd_stat st;

	for (size_t i = 0; i < l->folders_n; i++)
		if (rd_streq(l->folders[i].path, path))
			return i;
	f.path = rd_xstrdup(path);
	f.missing = rd_sysroot_stat(l->sr, &st, path);
	for (size_t i = 0; f.missing == 0 && i < l->subs.n; i++) {
		rd_auto_free char *sub = rd_xasprintf("%s/%s", path, l->subs.v[i]);

		if (rd_sysroot_exists(l->sr, sub) > 0)
			rd_strv_push(&f.subs, l->subs.v[i]);
	}
	RD_GROW(l->folders, l->folders_n, l->folders_allocated);
	l->folders[l->folders_n] = f;
	return l->folders_n++;
}

struct search {
	struct rd_loader *l;
	const char *name;
	bool (*visit)(void *data, const struct load_place *place);
	void *data;
};

static bool visit_folder(struct search *s, enum rd_load_by by, size_t via, const char *path)
{
	size_t index = folder(s->l, path);
	struct load_place place = { .by = by, .via = via, .folder = path };

	for (size_t i = 0; i <= s->l->folders[index].subs.n; i++) {
		const struct rd_strv *subs = &s->l->folders[index].subs;
		rd_auto_free char *file = i < subs->n ? rd_xasprintf("%s/%s/%s", path, subs->v[i], s->name)
		                                      : rd_xasprintf("%s/%s", path, s->name);

		place.path = file;
		if (s->visit(s->data, &place))
			return true;
	}
	return false;
}

/* A list of folders as tags and LD_LIBRARY_PATH have it; each folder once. */
static bool visit_list(struct search *s, enum rd_load_by by, size_t via, const char *list, const char *separators,
                       const char *origin)
{
	rd_auto_strv struct rd_strv parts = RD_STRV_INIT, seen = RD_STRV_INIT;

	rd_strv_split(&parts, list, separators, true);
	for (size_t i = 0; i < parts.n; i++) {
		rd_auto_free char *path = load_expand(s->l, parts.v[i], origin);
		size_t n;

		if (!path)
			continue;
		/* An empty item is the working directory. */
		if (*path != '/') {
			char *relative = path;

			if (!s->l->cwd)
				continue;
			path = *relative ? rd_xasprintf("%s/%s", s->l->cwd, relative) : rd_xstrdup(s->l->cwd);
			free(relative);
		}
		for (n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
			path[n - 1] = '\0';
		if (rd_strv_has(&seen, path))
			continue;
		rd_strv_push(&seen, path);
		if (visit_folder(s, by, via, path))
			return true;
	}
	return false;
}

/* The object's own tag, then that of the object that led to it, up to the program. */
static bool visit_rpaths(struct search *s, size_t from)
{
	struct rd_loader *l = s->l;
	bool program_done = false;

	for (size_t i = from; i != RD_LOADER_NONE; i = l->objects[i].loader) {
		const struct rd_load_object *o = &l->objects[i];

		program_done |= i == 0;
		if (o->elf->rpath && visit_list(s, RD_LOAD_RPATH, i, o->elf->rpath, ":", o->origin))
			return true;
	}
	return !program_done && l->objects[0].elf->rpath &&
	       visit_list(s, RD_LOAD_RPATH, 0, l->objects[0].elf->rpath, ":", l->objects[0].origin);
}

static bool in_default_folder(const struct rd_loader *l, const char *path)
{
	for (size_t i = 0; i < l->default_folders.n; i++) {
		size_t n = strlen(l->default_folders.v[i]);

		if (strncmp(path, l->default_folders.v[i], n) == 0 && path[n] == '/')
			return true;
	}
	return false;
}

static bool visit_cache(struct search *s, bool no_defaults)
{
	const struct rd_ldcache_entry *e = NULL;
	struct load_place place = { .by = RD_LOAD_CACHE, .via = RD_LOADER_NONE, .folder = "" };

	if (s->l->cache)
		e = rd_ldcache_lookup(s->l->cache, s->name, s->l->cache_flags, &s->l->hwcaps);
	if (!e || (no_defaults && in_default_folder(s->l, e->path)))
		return false;
	place.path = e->path;
	return s->visit(s->data, &place);
}

void load_search(struct rd_loader *l, size_t from, const char *name, bool (*visit)(void *data, const struct load_place *place),
                 void *data)
{
	struct search s = { l, name, visit, data };
	const struct rd_elf *elf = l->objects[from].elf;
	bool no_defaults = elf->flags_1 & RD_DF_1_NODEFLIB;

	if (!elf->runpath && visit_rpaths(&s, from))
		return;
	if (l->library_path && *l->library_path &&
	    visit_list(&s, RD_LOAD_LIBRARY_PATH, RD_LOADER_NONE, l->library_path, ":;", l->objects[0].origin))
		return;
	if (elf->runpath && visit_list(&s, RD_LOAD_RUNPATH, from, elf->runpath, ":", l->objects[from].origin))
		return;
	if (visit_cache(&s, no_defaults))
		return;
	for (size_t i = 0; i < l->default_folders.n && !no_defaults; i++)
		if (visit_folder(&s, RD_LOAD_DEFAULT, RD_LOADER_NONE, l->default_folders.v[i]))
			return;
}
