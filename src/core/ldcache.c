#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/ldcache.h"
#include "rocm-doctor/sysroot.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define EXTENSION_MAGIC 0xeaa42174u

enum {
	OLD_HEADER = 16,
	OLD_ENTRY = 12,
	NEW_HEADER = 48,
	NEW_ENTRY = 24,
	NEW_ALIGN = 8,
	EXTENSION_HEADER = 8,
	EXTENSION_SECTION = 16,
	EXTENSION_SECTIONS_MAX = 64,
	TAG_GENERATOR = 0,
	TAG_HWCAPS = 1,
	BIG_ENDIAN_FILE = 3,
};

#define HWCAP_EXTENSION (UINT64_C(1) << 62)

/* The part of the file that string offsets count from. */
struct view {
	const char *at;
	size_t len;
};

/* A string is one only where its NUL is inside the file, too. */
static const char *string_at(const struct view *v, uint32_t offset)
{
	if (offset >= v->len || !memchr(v->at + offset, '\0', v->len - offset))
		return NULL;
	return v->at + offset;
}

static void add_entry(struct rd_ldcache *cache, const char *name, const char *path, uint32_t flags, uint64_t hwcap)
{
	struct rd_ldcache_entry *e = &cache->entries[cache->n];
	uint64_t index = hwcap & UINT32_MAX;

	if (!name || !path || !*name || *path != '/') {
		cache->damaged++;
		return;
	}
	*e = (struct rd_ldcache_entry){ .name = name, .path = path, .flags = flags };
	if (!(hwcap & HWCAP_EXTENSION)) {
		e->legacy_hwcap = hwcap;
	} else if (index < cache->hwcaps->n) {
		e->hwcap = cache->hwcaps->v[index];
	} else {
		cache->damaged++;
		return;
	}
	cache->n++;
}

static void read_hwcaps(struct rd_ldcache *cache, const struct view *v, uint32_t offset, uint32_t size)
{
	for (uint32_t i = 0; i + 4 <= size; i += 4) {
		const char *name = string_at(v, rd_le32(v->at + offset + i));

		/* An index must keep its place, so a name that cannot be read becomes one that no processor has. */
		rd_strv_push(cache->hwcaps, name ? name : "");
	}
}

static void read_extension(struct rd_ldcache *cache, const struct view *v, uint32_t offset)
{
	uint32_t count;

	if (!offset || offset % 4 || !rd_inside(offset, EXTENSION_HEADER, v->len) || rd_le32(v->at + offset) != EXTENSION_MAGIC)
		return;
	count = rd_le32(v->at + offset + 4);
	if (count > EXTENSION_SECTIONS_MAX ||
	    !rd_inside(offset + EXTENSION_HEADER, (uint64_t)count * EXTENSION_SECTION, v->len))
		return;
	for (uint32_t i = 0; i < count; i++) {
		const char *s = v->at + offset + EXTENSION_HEADER + (size_t)i * EXTENSION_SECTION;
		uint32_t tag = rd_le32(s), at = rd_le32(s + 8), size = rd_le32(s + 12);

		if (!rd_inside(at, size, v->len))
			continue;
		if (tag == TAG_GENERATOR && !cache->generator)
			cache->generator = rd_xstrndup(v->at + at, strnlen(v->at + at, size));
		else if (tag == TAG_HWCAPS && !cache->hwcaps->n)
			read_hwcaps(cache, v, at, size);
	}
}

static int read_new(struct rd_ldcache *cache, const struct view *v, struct rd_error *err)
{
	uint32_t n = rd_le32(v->at + 20);

	if ((v->at[28] & 3) == BIG_ENDIAN_FILE)
		return rd_error_set(err, -EINVAL, "written for a big-endian machine");
	if ((v->len - NEW_HEADER) / NEW_ENTRY < n)
		return rd_error_set(err, -EINVAL, "%u entries do not fit into the file", n);
	read_extension(cache, v, rd_le32(v->at + 32));
	cache->entries = rd_xcalloc(n ? n : 1, sizeof(*cache->entries));
	for (uint32_t i = 0; i < n; i++) {
		const char *e = v->at + NEW_HEADER + (size_t)i * NEW_ENTRY;

		add_entry(cache, string_at(v, rd_le32(e + 4)), string_at(v, rd_le32(e + 8)), rd_le32(e), rd_le64(e + 16));
	}
	return 0;
}

static int read_old(struct rd_ldcache *cache, const struct view *file, uint32_t n)
{
	size_t table = OLD_HEADER + (size_t)n * OLD_ENTRY;
	struct view strings = { file->at + table, file->len - table };

	cache->entries = rd_xcalloc(n ? n : 1, sizeof(*cache->entries));
	for (uint32_t i = 0; i < n; i++) {
		const char *e = file->at + OLD_HEADER + (size_t)i * OLD_ENTRY;

		add_entry(cache, string_at(&strings, rd_le32(e + 4)), string_at(&strings, rd_le32(e + 8)), rd_le32(e), 0);
	}
	return 0;
}

static bool is_new(const struct view *v)
{
	return v->len >= NEW_HEADER && memcmp(v->at, NEW_MAGIC, strlen(NEW_MAGIC)) == 0;
}

static int parse(struct rd_ldcache *cache, const struct view *file, struct rd_error *err)
{
	struct view v = *file;
	uint32_t n;
	size_t skip;

	if (is_new(&v))
		return read_new(cache, &v, err);
	if (file->len < OLD_HEADER || memcmp(file->at, OLD_MAGIC, strlen(OLD_MAGIC)) != 0)
		return rd_error_set(err, -EINVAL, "not a cache of the dynamic loader");
	n = rd_le32(file->at + 12);
	if ((file->len - OLD_HEADER) / OLD_ENTRY < n)
		return rd_error_set(err, -EINVAL, "%u entries do not fit into the file", n);
	skip = OLD_HEADER + (size_t)n * OLD_ENTRY;
	skip = (skip + NEW_ALIGN - 1) / NEW_ALIGN * NEW_ALIGN;
	if (skip < file->len) {
		v = (struct view){ file->at + skip, file->len - skip };
		if (is_new(&v))
			return read_new(cache, &v, err);
	}
	return read_old(cache, file, n);
}

static int parse_take(char *bytes, size_t len, struct rd_ldcache **ret, struct rd_error *err)
{
	struct rd_ldcache *cache = rd_xcalloc(1, sizeof(*cache));
	int r;

	cache->bytes = bytes;
	cache->hwcaps = rd_xcalloc(1, sizeof(*cache->hwcaps));
	r = parse(cache, &(struct view){ bytes, len }, err);
	if (r < 0) {
		rd_ldcache_free(cache);
		return r;
	}
	*ret = cache;
	return 0;
}

static char *copy(const char *bytes, size_t len)
{
	char *ret = rd_xmalloc(len + 1);

	memcpy(ret, bytes, len);
	ret[len] = '\0';
	return ret;
}

int rd_ldcache_parse(const char *bytes, size_t len, struct rd_ldcache **ret, struct rd_error *err)
{
	return parse_take(copy(bytes, len), len, ret, err);
}

int rd_ldcache_read(struct rd_sysroot *sr, struct rd_ldcache **ret, struct rd_error *err)
{
	char *bytes;
	size_t len;
	int r;

	r = rd_sysroot_read_bytes(sr, &bytes, &len, RD_LDCACHE_PATH);
	if (r < 0)
		return rd_error_set(err, r, "cannot read '%s': %s", RD_LDCACHE_PATH, rd_strerror(r));
	return parse_take(bytes, len, ret, err);
}

struct rd_ldcache *rd_ldcache_free(struct rd_ldcache *cache)
{
	if (!cache)
		return NULL;
	free(cache->entries);
	rd_strv_clear(cache->hwcaps);
	free(cache->hwcaps);
	free(cache->generator);
	free(cache->bytes);
	free(cache);
	return NULL;
}

/* Place in the list of usable folders, best first; SIZE_MAX: this processor cannot use it. */
static size_t rank(const struct rd_strv *hwcaps, const char *hwcap)
{
	for (size_t i = 0; hwcaps && i < hwcaps->n; i++)
		if (rd_streq(hwcaps->v[i], hwcap))
			return i;
	return SIZE_MAX;
}

const struct rd_ldcache_entry *rd_ldcache_lookup(const struct rd_ldcache *cache, const char *name, uint32_t flags,
                                                 const struct rd_strv *hwcaps)
{
	const struct rd_ldcache_entry *plain = NULL, *best = NULL;
	size_t best_rank = SIZE_MAX;

	for (size_t i = 0; i < cache->n; i++) {
		const struct rd_ldcache_entry *e = &cache->entries[i];

		if (e->flags != flags || !rd_streq(e->name, name))
			continue;
		if (e->hwcap && rank(hwcaps, e->hwcap) < best_rank) {
			best = e;
			best_rank = rank(hwcaps, e->hwcap);
		} else if (!e->hwcap && !e->legacy_hwcap && !plain) {
			plain = e;
		}
	}
	return best ? best : plain;
}
