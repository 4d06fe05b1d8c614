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

static void add_archive(struct rd_fatbin *f, struct rd_sysroot *sr, const char *path)
{
	struct rd_kpack_archive a = { .path = rd_xstrdup(path) };
	struct rd_error err = RD_ERROR_INIT;
	struct rd_file *file = NULL;
	struct rd_reader reader;
	int r;

	r = rd_file_open(sr, &file, path);
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

static bool have_archive(const struct rd_fatbin *f, const char *path)
{
	for (size_t i = 0; i < f->archives_n; i++)
		if (rd_streq(f->archives[i].path, path))
			return true;
	return false;
}

static void follow_pattern(struct rd_fatbin *f, struct rd_sysroot *sr, const char *dir, const char *pattern)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *full = rd_xasprintf("%s/%s", dir, pattern);
	const char *word = strstr(full, ARCH_WORD), *slash = strrchr(full, '/'), *tail;
	rd_auto_free char *named = rd_xstrndup(full, (size_t)(slash - full));
	rd_auto_free char *folder = NULL, *head = NULL;
	int r;

	if (!word || word < slash) {
		fatbin_problem(f, "'%s': not a pattern for archives", pattern);
		return;
	}
	head = rd_xstrndup(slash + 1, (size_t)(word - slash - 1));
	tail = word + strlen(ARCH_WORD);
	r = rd_sysroot_realpath(sr, &folder, named);
	if (r == 0)
		r = rd_sysroot_list(sr, &names, folder);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
		f->has_code_unknown = true;
		fatbin_problem(f, "cannot list '%s': %s", named, rd_strerror(r));
	}
	for (size_t i = 0; i < names.n && f->archives_n < ARCHIVES_MAX; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", folder, names.v[i]);

		if (strlen(names.v[i]) > strlen(head) + strlen(tail) && rd_str_has_prefix(names.v[i], head) &&
		    rd_str_has_suffix(names.v[i], tail) && !have_archive(f, path))
			add_archive(f, sr, path);
	}
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

static void add_wrapper(struct rd_fatbin *f, size_t index)
{
	rd_auto_free char *prefix = rd_xasprintf("%s#%zu ", f->kernel_name, index);
	struct target_set set = { NULL, 0, 0 };

	for (size_t i = 0; i < f->archives_n; i++) {
		const struct rd_strv *keys = f->archives[i].keys;

		if (f->archives[i].error)
			continue;
		for (size_t k = first_key(keys, prefix); k < keys->n && rd_str_has_prefix(keys->v[k], prefix); k++) {
			struct rd_target_id id;

			if (rd_target_parse(keys->v[k] + strlen(prefix), &id) == 0)
				fatbin_add_target(f, &set, &id, false);
			else
				f->has_code_unknown = true;
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
static void find_incomplete_overlays(struct rd_fatbin *f)
{
	for (size_t i = 0; i < f->archives_n; i++) {
		const struct rd_kpack_archive *overlay = &f->archives[i];
		const char *colon = strchr(strrchr(overlay->path, '/'), ':');
		const char *end = strrchr(overlay->path, '.');

		if (!colon || !end || end < colon || overlay->error)
			continue;
		for (size_t k = 0; k < f->archives_n; k++) {
			const struct rd_kpack_archive *plain = &f->archives[k];
			rd_auto_strv struct rd_strv some = RD_STRV_INIT, all = RD_STRV_INIT;
			size_t stem = (size_t)(colon - overlay->path);

			if (plain->error || strncmp(plain->path, overlay->path, stem) != 0 ||
			    !rd_streq(plain->path + stem, end))
				continue;
			own_keys(f, overlay, &some);
			own_keys(f, plain, &all);
			if (is_part_of(&some, &all))
				rd_strv_push(f->incomplete_overlays, overlay->path);
		}
	}
}

void kpack_follow(struct scan *s, struct rd_sysroot *sr, const char *dir)
{
	struct rd_fatbin *f = s->out;

	for (size_t i = 0; i < f->kpack_patterns->n; i++)
		follow_pattern(f, sr, dir, f->kpack_patterns->v[i]);
	if (f->wrappers > WRAPPERS_MAX)
		fatbin_problem(f, "%zu wrappers", f->wrappers);
	for (size_t i = 0; i < f->wrappers && i < WRAPPERS_MAX; i++)
		add_wrapper(f, i);
	find_incomplete_overlays(f);
}
