/*
 * kpack: device code that a build step took out of a library and stored in one archive for each target.
 *
 * Source: ROCm/rocm-systems shared/kpack; clr hipamd hip_fatbin.cpp for the search.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/msgpack.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "fatbin-internal.h"

#define ARCH_WORD "@GFXARCH@"

enum { HEADER = 16, KEYS_MAX = 1 << 16, ARCHIVES_MAX = 256, PATTERNS_MAX = 64, WRAPPERS_MAX = 1 << 16 };

void kpack_archive_clear(struct rd_kpack_archive *a)
{
	free(a->path);
	free(a->named);
	free(a->error);
	if (a->targets)
		rd_strv_clear(a->targets);
	if (a->keys)
		rd_strv_clear(a->keys);
	free(a->targets);
	free(a->keys);
}

static int read_strings(struct rd_msgpack *m, struct rd_strv *ret, size_t most)
{
	uint64_t n;

	if (rd_msgpack_open(m, RD_MSGPACK_ARRAY, &n) < 0 || n > most)
		return -EINVAL;
	while (n--) {
		struct rd_msgpack_item item;

		if (rd_msgpack_next(m, &item) < 0 || item.type != RD_MSGPACK_STR || item.n > RD_FATBIN_ID_MAX)
			return -EINVAL;
		rd_strv_push_take(ret, rd_xstrndup(item.text, (size_t)item.n));
	}
	return 0;
}

/* { "BINARY#N": { "TARGET": { ... } } } */
static int read_toc(struct rd_msgpack *m, struct rd_kpack_archive *a)
{
	uint64_t binaries, targets;

	if (rd_msgpack_open(m, RD_MSGPACK_MAP, &binaries) < 0)
		return -EINVAL;
	while (binaries--) {
		struct rd_msgpack_item binary, target;

		if (rd_msgpack_next(m, &binary) < 0 || binary.type != RD_MSGPACK_STR ||
		    rd_msgpack_open(m, RD_MSGPACK_MAP, &targets) < 0)
			return -EINVAL;
		while (targets--) {
			if (rd_msgpack_next(m, &target) < 0 || target.type != RD_MSGPACK_STR || a->keys->n >= KEYS_MAX ||
			    target.n > RD_FATBIN_ID_MAX || binary.n > 4096 || rd_msgpack_skip(m) < 0)
				return -EINVAL;
			rd_strv_pushf(a->keys, "%.*s %.*s", (int)binary.n, binary.text, (int)target.n, target.text);
		}
	}
	return 0;
}

static int read_map(struct rd_msgpack *m, struct rd_kpack_archive *a)
{
	uint64_t n;

	if (rd_msgpack_open(m, RD_MSGPACK_MAP, &n) < 0)
		return -EINVAL;
	while (n--) {
		struct rd_msgpack_item key;
		int r;

		if (rd_msgpack_next(m, &key) < 0)
			return -EINVAL;
		if (rd_msgpack_is(&key, "gfx_arches"))
			r = read_strings(m, a->targets, RD_FATBIN_TARGETS_MAX);
		else if (rd_msgpack_is(&key, "toc"))
			r = read_toc(m, a);
		else
			r = rd_msgpack_skip(m);
		if (r < 0)
			return r;
	}
	return 0;
}

int kpack_read(const struct rd_reader *reader, struct rd_kpack_archive *ret, struct rd_error *err)
{
	rd_auto_free unsigned char *toc = NULL;
	unsigned char h[HEADER];
	struct rd_msgpack m;
	uint64_t at, len;
	int r;

	ret->targets = rd_xcalloc(1, sizeof(*ret->targets));
	ret->keys = rd_xcalloc(1, sizeof(*ret->keys));
	r = rd_reader_pread(reader, h, sizeof(h), 0);
	if (r < 0 || memcmp(h, "KPAK", 4) != 0)
		return rd_error_set(err, r < 0 && r != -ENODATA ? r : -EINVAL, "not a kpack archive");
	if (rd_le32(h + 4) != 1)
		return rd_error_set(err, -EINVAL, "kpack version %u is not known", rd_le32(h + 4));
	at = rd_le64(h + 8);
	if (at < HEADER || at >= reader->size)
		return rd_error_set(err, -EINVAL, "the table of contents lies outside the file");
	len = reader->size - at;
	if (len > RD_KPACK_TOC_MAX)
		return rd_error_set(err, -EFBIG, "a table of contents of %" PRIu64 " bytes", len);
	toc = rd_xmalloc((size_t)len);
	r = rd_reader_pread(reader, toc, (size_t)len, at);
	if (r < 0)
		return rd_error_set(err, r, "cannot read the table of contents: %s", rd_strerror(r));
	m = (struct rd_msgpack){ toc, toc + len };
	if (read_map(&m, ret) < 0)
		return rd_error_set(err, -EINVAL, "the table of contents is damaged");
	rd_strv_sort(ret->keys);
	return 0;
}

int kpack_read_marker(struct rd_fatbin *f, const unsigned char *bytes, size_t len)
{
	struct rd_msgpack m = { bytes, bytes + len };
	struct rd_msgpack_item key, value;
	uint64_t n;

	if (rd_msgpack_open(&m, RD_MSGPACK_MAP, &n) < 0)
		return -EINVAL;
	while (n--) {
		if (rd_msgpack_next(&m, &key) < 0)
			return -EINVAL;
		if (rd_msgpack_is(&key, "kpack_search_paths")) {
			if (read_strings(&m, f->kpack_patterns, PATTERNS_MAX) < 0)
				return -EINVAL;
		} else if (rd_msgpack_is(&key, "kernel_name") && !f->kernel_name) {
			if (rd_msgpack_next(&m, &value) < 0 || value.type != RD_MSGPACK_STR)
				return -EINVAL;
			f->kernel_name = rd_xstrndup(value.text, (size_t)value.n);
		} else if (rd_msgpack_skip(&m) < 0) {
			return -EINVAL;
		}
	}
	return f->kernel_name ? 0 : -EINVAL;
}

static bool have_archive(const struct rd_fatbin *f, const char *path)
{
	for (size_t i = 0; i < f->archives_n; i++)
		if (rd_streq(f->archives[i].path, path))
			return true;
	return false;
}

static void add_archive(struct rd_fatbin *f, struct rd_sysroot *sr, const char *path, const char *named)
{
	struct rd_kpack_archive a = { .path = rd_xstrdup(path), .named = named ? rd_xstrdup(named) : NULL };
	struct rd_error err = RD_ERROR_INIT;
	struct rd_file *file = NULL;
	struct rd_reader reader;
	int r = rd_file_open(sr, &file, path);

	if (r < 0) {
		rd_error_set(&err, r, "%s", rd_strerror(r));
	} else {
		reader = rd_reader_of_file(file);
		r = kpack_read(&reader, &a, &err);
		rd_file_close(file);
	}
	if (r < 0) {
		a.error = rd_xstrdup(err.message);
		f->has_code_unknown = true;
		fatbin_problem(f, "%s: %s", path, err.message);
	}
	rd_error_clear(&err);
	RD_GROW(f->archives, f->archives_n, f->archives_allocated);
	f->archives[f->archives_n++] = a;
}

/* An archive that is named as it is: by a variable, or in the library. One that is not there is passed over. */
static void follow_path(struct rd_fatbin *f, struct rd_sysroot *sr, const char *path)
{
	rd_auto_free char *real = NULL;
	int r;

	if (*path != '/') {
		f->has_code_unknown = true;
		fatbin_problem(f, "'%s': relative to a folder that is not known", path);
		return;
	}
	r = rd_sysroot_realpath(sr, &real, path);
	if (r == -ENOENT || r == -ENOTDIR)
		return;
	if (!have_archive(f, r < 0 ? path : real) && f->archives_n < ARCHIVES_MAX)
		add_archive(f, sr, r < 0 ? path : real, NULL);
}

/* Of a name between the parts of a pattern: NULL where it is not of the pattern, or no runtime would ask for it. */
static char *named_target(const char *name, const char *head, const char *tail)
{
	size_t len = strlen(name), n_head = strlen(head), n_tail = strlen(tail);
	struct rd_target_id id;
	char *middle;

	if (len <= n_head + n_tail || !rd_str_has_prefix(name, head) || !rd_str_has_suffix(name, tail))
		return NULL;
	middle = rd_xstrndup(name + n_head, len - n_head - n_tail);
	if (rd_target_parse(middle, &id) == 0)
		return middle;
	free(middle);
	return NULL;
}

static void follow_folder(struct rd_fatbin *f, struct rd_sysroot *sr, const char *folder, const char *head, const char *tail)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *real = NULL;
	int r = rd_sysroot_realpath(sr, &real, folder);

	if (r == 0)
		r = rd_sysroot_list(sr, &names, real);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
		f->has_code_unknown = true;
		fatbin_problem(f, "cannot list '%s': %s", folder, rd_strerror(r));
	}
	for (size_t i = 0; i < names.n && f->archives_n < ARCHIVES_MAX; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", real, names.v[i]),
				  *named = named_target(names.v[i], head, tail);

		if (named && !have_archive(f, path))
			add_archive(f, sr, path, named);
	}
}

static void follow_pattern(struct rd_fatbin *f, struct rd_sysroot *sr, const char *dir, const char *pattern)
{
	rd_auto_free char *full = *pattern == '/' ? rd_xstrdup(pattern) : rd_xasprintf("%s/%s", dir, pattern);
	const char *word = strstr(full, ARCH_WORD), *slash = strrchr(full, '/');
	rd_auto_free char *folder = rd_xstrndup(full, (size_t)(slash - full)), *head = NULL;

	if (!word) {
		follow_path(f, sr, full);
	} else if (word < slash) {
		f->has_code_unknown = true;
		fatbin_problem(f, "'%s': one folder for each target is not known here", pattern);
	} else {
		head = rd_xstrndup(slash + 1, (size_t)(word - slash - 1));
		follow_folder(f, sr, folder, head, word + strlen(ARCH_WORD));
	}
}

static void follow_variable(struct rd_fatbin *f, struct rd_sysroot *sr, const char *value)
{
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;

	rd_strv_split(&paths, value, ":", false);
	for (size_t i = 0; i < paths.n; i++)
		follow_path(f, sr, paths.v[i]);
}

/* Sorted keys: the first that is not before "KEY ". */
static size_t first_key(const struct rd_strv *keys, const char *prefix)
{
	size_t low = 0, high = keys->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(keys->v[middle], prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * What code stored under @target is good for: the runtime opens an archive by a name of the agent's, and takes code of a name of
 * the agent's out of it, so both have to hold. False where they never do.
 */
static bool reachable(const struct rd_kpack_archive *a, const char *target, struct rd_target_id *id)
{
	struct rd_target_id named;

	/* The archive's own list is what the runtime goes by; SPIR-V it does not translate from there. */
	if (!rd_strv_has(a->targets, target) || rd_target_is_spirv(id))
		return false;
	if (!a->named || rd_target_parse(a->named, &named) < 0)
		return true;
	if (!rd_streq(named.processor, id->processor) || (named.xnack && id->xnack && named.xnack != id->xnack) ||
	    (named.sramecc && id->sramecc && named.sramecc != id->sramecc))
		return false;
	id->xnack = named.xnack ? named.xnack : id->xnack;
	id->sramecc = named.sramecc ? named.sramecc : id->sramecc;
	return true;
}

static void add_wrapper(struct rd_fatbin *f, size_t index)
{
	rd_auto_free char *prefix = rd_xasprintf("%s#%zu ", f->kernel_name, index);
	struct target_set set = { NULL, 0, 0 };

	for (size_t i = 0; i < f->archives_n; i++) {
		const struct rd_strv *keys = f->archives[i].keys;

		if (f->archives[i].error)
			continue;
		for (size_t k = first_key(keys, prefix); k < keys->n && rd_str_has_prefix(keys->v[k], prefix); k++) {
			const char *target = keys->v[k] + strlen(prefix);
			struct rd_target_id id;

			if (rd_target_parse(target, &id) < 0)
				f->has_code_unknown = true;
			else if (reachable(&f->archives[i], target, &id))
				fatbin_add_target(f, &set, &id, false);
		}
	}
	f->bundles++;
	fatbin_close_set(f, &set);
	free(set.v);
}

/* The keys of this library in an archive, without the target behind them. */
static void own_keys(const struct rd_fatbin *f, const struct rd_kpack_archive *a, struct rd_strv *ret)
{
	rd_auto_free char *prefix = rd_xasprintf("%s#", f->kernel_name);

	for (size_t k = first_key(a->keys, prefix); k < a->keys->n && rd_str_has_prefix(a->keys->v[k], prefix); k++) {
		const char *space = strrchr(a->keys->v[k], ' ');
		rd_auto_free char *key = rd_xstrndup(a->keys->v[k], (size_t)(space - a->keys->v[k]));

		rd_strv_push_unique(ret, key);
	}
}

static bool is_part_of(const struct rd_strv *part, const struct rd_strv *whole)
{
	for (size_t i = 0; i < part->n; i++)
		if (!rd_strv_has(whole, part->v[i]))
			return false;
	return part->n < whole->n;
}

/* "pair_gfx90a:xnack-.kpack" beside "pair_gfx90a.kpack": a loader that stops at the first lacks what only the second has. */
static bool is_overlay_of(const struct rd_kpack_archive *overlay, const struct rd_kpack_archive *plain)
{
	const char *tail = strrchr(overlay->path, '/');
	const char *colon = strchr(tail, ':'), *end = strrchr(tail, '.');
	size_t stem = colon ? (size_t)(colon - overlay->path) : 0;

	return colon && end && end > colon && strncmp(plain->path, overlay->path, stem) == 0 &&
	       rd_streq(plain->path + stem, end);
}

static void find_incomplete_overlays(struct rd_fatbin *f)
{
	for (size_t i = 0; i < f->archives_n; i++) {
		const struct rd_kpack_archive *overlay = &f->archives[i];

		if (overlay->error || !overlay->named)
			continue;
		for (size_t k = 0; k < f->archives_n; k++) {
			const struct rd_kpack_archive *plain = &f->archives[k];
			rd_auto_strv struct rd_strv some = RD_STRV_INIT, all = RD_STRV_INIT;

			if (plain->error || !is_overlay_of(overlay, plain))
				continue;
			own_keys(f, overlay, &some);
			own_keys(f, plain, &all);
			if (!is_part_of(&some, &all))
				continue;
			rd_strv_push(f->incomplete_overlays, overlay->path);
			rd_strv_push(f->overlay_targets, overlay->named);
		}
	}
}

/* loader.cpp: ROCM_KPACK_PATH replaces what the library names, ROCM_KPACK_PATH_PREFIX goes before it; empty is not set. */
static void find_archives(struct rd_fatbin *f, struct rd_sysroot *sr, const char *dir)
{
	const char *value;

	if (rd_sysroot_getenv(sr, &value, "ROCM_KPACK_DISABLE") > 0 && *value && *value != '0') {
		f->kpack_disabled = true;
		return;
	}
	if (rd_sysroot_getenv(sr, &value, "ROCM_KPACK_PATH") > 0 && value[strspn(value, ":")]) {
		f->kpack_replaced = true;
		follow_variable(f, sr, value);
		return;
	}
	if (rd_sysroot_getenv(sr, &value, "ROCM_KPACK_PATH_PREFIX") > 0)
		follow_variable(f, sr, value);
	for (size_t i = 0; i < f->kpack_patterns->n; i++)
		follow_pattern(f, sr, dir, f->kpack_patterns->v[i]);
}

void kpack_follow(struct scan *s, struct rd_sysroot *sr, const char *dir)
{
	struct rd_fatbin *f = s->out;

	find_archives(f, sr, dir);
	if (f->wrappers > WRAPPERS_MAX)
		fatbin_problem(f, "%zu wrappers", f->wrappers);
	for (size_t i = 0; i < f->wrappers && i < WRAPPERS_MAX; i++)
		add_wrapper(f, i);
	find_incomplete_overlays(f);
}
