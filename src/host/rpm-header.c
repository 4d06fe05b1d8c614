/* The header of an installed package: two counts, that many index entries of 16 bytes, and the data they point into. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/rpmdb.h"
#include "rpmdb-internal.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Most of a header's index: 64 Ki entries of 16 bytes, more than a package with a million files has tags. */
#define INDEX_MAX ((size_t)64 << 10)
#define STRING_MAX ((size_t)4096)

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The tags wanted of a header. Types: 4 is a number of 32 bits, 6 a string, 8 a list of strings, 9 one of translated strings. */
enum { TAG_NAME, TAG_VERSION, TAG_RELEASE, TAG_EPOCH, TAG_VENDOR, TAG_ARCH, TAG_COUNT };
static const uint32_t tag_numbers[TAG_COUNT] = { 1000, 1001, 1002, 1003, 1011, 1022 };

struct header {
	struct rpm_blob *blob;
	size_t data; /* where it begins */
	char *strings[TAG_COUNT];
	uint32_t epoch;
	struct rd_strv files;
};

static char *read_string(const struct header *h, size_t at)
{
	size_t len = h->blob->size - at < STRING_MAX ? h->blob->size - at : STRING_MAX;
	rd_auto_free char *text = rd_xmalloc(len + 1);

	if (h->blob->read(h->blob, text, len, at) < 0)
		return NULL;
	text[len] = '\0';
	return rd_xstrdup(text);
}

/* Most names of one package that are looked through, and the tag that lists them. */
#define FILES_MAX 65536
#define TAG_BASENAMES 1117

/* A list of strings: one NUL after the other, read in pieces. */
static void take_files(struct header *h, size_t at, uint32_t count, bool (*want)(const char *name))
{
	rd_auto_free char *piece = rd_xmalloc(STRING_MAX + 1);
	size_t end = h->blob->size;

	for (uint32_t left = count < FILES_MAX ? count : FILES_MAX; left && at < end;) {
		size_t len = end - at < STRING_MAX ? end - at : STRING_MAX;
		char *name = piece, *stop;

		if (h->blob->read(h->blob, piece, len, at) < 0)
			return;
		for (; left && (stop = memchr(name, '\0', len - (size_t)(name - piece))); name = stop + 1, left--)
			if (want(name))
				rd_strv_push(&h->files, name);
		/* A name that fills the whole piece is none of interest. */
		at += name == piece ? len : (size_t)(name - piece);
	}
}

static void take_tag(struct header *h, size_t i, uint32_t type, size_t at)
{
	unsigned char number[4];

	if ((type == 6 || type == 9) && !h->strings[i])
		h->strings[i] = read_string(h, at);
	else if (type == 4 && i == TAG_EPOCH && h->blob->size - at >= 4 && h->blob->read(h->blob, number, 4, at) == 0)
		h->epoch = be32(number);
}

static void take_entry(struct header *h, const unsigned char *entry, const struct rd_rpm_reader *reader)
{
	uint32_t tag = be32(entry), type = be32(entry + 4), offset = be32(entry + 8), count = be32(entry + 12);

	if (offset >= h->blob->size - h->data || !count)
		return;
	if (tag == TAG_BASENAMES && type == 8 && reader && reader->want_file)
		take_files(h, h->data + offset, count, reader->want_file);
	for (size_t i = reader ? TAG_NAME + 1 : TAG_NAME; i < (reader ? TAG_COUNT : TAG_NAME + 1); i++)
		if (tag_numbers[i] == tag)
			take_tag(h, i, type, h->data + offset);
}

static int read_index(struct header *h, unsigned char **ret, size_t *ret_entries)
{
	unsigned char counts[8];
	size_t entries, size = h->blob->size;

	if (size < sizeof(counts) || h->blob->read(h->blob, counts, sizeof(counts), 0) < 0)
		return -EBADMSG;
	entries = be32(counts);
	if (entries > INDEX_MAX || entries * 16 > size - sizeof(counts))
		return -EBADMSG;
	h->data = sizeof(counts) + entries * 16;
	if (be32(counts + 4) > size - h->data)
		return -EBADMSG;
	*ret = rd_xmalloc(entries * 16 + 1);
	*ret_entries = entries;
	return entries && h->blob->read(h->blob, *ret, entries * 16, sizeof(counts)) < 0 ? -EBADMSG : 0;
}

static void give(const struct header *h, const char *name, const struct rd_rpm_reader *reader)
{
	reader->take(reader->data, &(struct rd_rpm_package){
					   .name = name,
					   .version = h->strings[TAG_VERSION],
					   .release = h->strings[TAG_RELEASE] ? h->strings[TAG_RELEASE] : "",
					   .vendor = h->strings[TAG_VENDOR] ? h->strings[TAG_VENDOR] : "",
					   .arch = h->strings[TAG_ARCH] ? h->strings[TAG_ARCH] : "",
					   .epoch = h->epoch,
					   .files = &h->files,
				   });
}

int rpm_header_read(struct rpm_blob *blob, const char *name, const struct rd_rpm_reader *reader)
{
	struct header h = { .blob = blob };
	rd_auto_free unsigned char *index = NULL;
	size_t entries = 0;
	int r = read_index(&h, &index, &entries);

	for (size_t i = 0; r == 0 && !name && i < entries && !h.strings[TAG_NAME]; i++)
		take_entry(&h, index + i * 16, NULL);
	if (r == 0 && !name) {
		name = h.strings[TAG_NAME];
		r = name ? 0 : -EBADMSG;
		if (name && !reader->want(reader->data, name))
			name = NULL;
	}
	for (size_t i = 0; r == 0 && name && i < entries; i++)
		take_entry(&h, index + i * 16, reader);
	if (r == 0 && name && h.strings[TAG_VERSION])
		give(&h, name, reader);
	for (size_t i = 0; i < TAG_COUNT; i++)
		free(h.strings[i]);
	rd_strv_clear(&h.files);
	return r;
}
