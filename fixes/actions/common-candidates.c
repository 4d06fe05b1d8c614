/*
 * The lists of apt, and the metadata of repositories in the caches of dnf and zypper: the same files from which these would
 * choose. Read, never asked for.
 */

#include "common-candidates.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/compress.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* The list of a distribution has tens of megabytes, and is about a tenth of it packed. */
#define PACKED_MAX (64 << 20)
#define UNPACKED_MAX ((size_t)512 << 20)

static const struct {
	const char *lists, *refresh;
} managers[] = {
	[PKG_APT] = { "apt's lists", "sudo apt update" },
	[PKG_DNF] = { "dnf's cache", "sudo dnf makecache" },
	[PKG_DNF5] = { "dnf's cache", "sudo dnf makecache" },
	[PKG_ZYPPER] = { "zypper's cache", "sudo zypper refresh" },
};

const char *pkg_lists_name(enum pkg_manager manager)
{
	return managers[manager].lists;
}

const char *pkg_refresh_command(enum pkg_manager manager)
{
	return managers[manager].refresh;
}

void pkg_candidates_clear(struct pkg_candidates *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].version);
		free(c->v[i].where);
	}
	free(c->v);
	*c = (struct pkg_candidates)PKG_CANDIDATES_INIT;
}

bool pkg_has_candidate(const struct pkg_candidates *c, const char *name, const char *version)
{
	for (size_t i = 0; i < c->n; i++)
		if (rd_streq(c->v[i].name, name) && (!version || rd_streq(c->v[i].version, version)))
			return true;
	return false;
}

struct list_reader {
	const struct rd_strv *names;
	struct pkg_candidates *out;
	const char *where;
	bool amd;
	char *name; /* of the paragraph at hand, where it is wanted */
};

/* Takes both texts. */
static void add(struct list_reader *reader, char *name, char *version)
{
	struct pkg_candidates *out = reader->out;

	RD_GROW(out->v, out->n, out->allocated);
	out->v[out->n++] = (struct pkg_candidate){ name, version, rd_xstrdup(reader->where), reader->amd };
}

/* @mark: what the address has for "/" behind the name of its host. */
static bool is_of_amd(const char *address, char mark)
{
	static const char *const hosts[] = { "repo.radeon.com", "repo.amd.com" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(hosts); i++) {
		const char *at = strstr(address, hosts[i]);

		if (at && at[strlen(hosts[i])] == mark)
			return true;
	}
	return false;
}

static int read_packed(struct rd_sysroot *sr, const char *path, char **ret)
{
	rd_auto_free char *packed = NULL;
	struct rd_file *f;
	uint64_t size;
	int r = rd_file_open(sr, &f, path);

	if (r < 0)
		return r;
	size = rd_file_size(f);
	if (size > PACKED_MAX) {
		rd_file_close(f);
		return -EFBIG;
	}
	packed = rd_xcalloc(1, (size_t)size + 1);
	r = rd_file_pread(f, packed, (size_t)size, 0);
	rd_file_close(f);
	/* Metadata may be plain. */
	if (r == 0 && *packed == '<') {
		*ret = packed;
		packed = NULL;
		return 0;
	}
	return r < 0 ? r : rd_unpack(packed, (size_t)size, UNPACKED_MAX, ret, NULL);
}

/* ------------------------------------------------------------ apt */

static void take_list_line(struct list_reader *reader, const char *line)
{
	if (rd_str_has_prefix(line, "Package: ")) {
		free(reader->name);
		reader->name = rd_strv_has(reader->names, line + 9) ? rd_xstrdup(line + 9) : NULL;
	} else if (reader->name && rd_str_has_prefix(line, "Version: ")) {
		add(reader, reader->name, rd_xstrdup(line + 9));
		reader->name = NULL;
	}
}

/* Piece by piece. Lines longer than a piece are not those looked for. */
static int read_plain_list(struct rd_sysroot *sr, const char *path, struct list_reader *reader)
{
	rd_auto_free char *piece = rd_xcalloc(1, 65537);
	struct rd_file *f;
	uint64_t off = 0, size;
	int r = rd_file_open(sr, &f, path);

	if (r < 0)
		return r;
	size = rd_file_size(f);
	while (off < size && r == 0) {
		size_t len = size - off < 65536 ? (size_t)(size - off) : 65536, used = 0;
		char *end;

		r = rd_file_pread(f, piece, len, off);
		piece[r == 0 ? len : 0] = '\0';
		for (char *line = piece; r == 0 && (end = memchr(line, '\n', len - used)); line = end + 1) {
			*end = '\0';
			used = (size_t)(end + 1 - piece);
			take_list_line(reader, line);
		}
		off += used ? used : len;
	}
	rd_file_close(f);
	return r;
}

/* Acquire::GzipIndexes keeps them as they came. */
static void read_packed_list(struct rd_sysroot *sr, const char *path, struct list_reader *reader)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;

	if (read_packed(sr, path, &text) < 0) {
		reader->out->unreadable = true;
		return;
	}
	for (rest = text; (line = rd_str_next_line(&rest));)
		take_list_line(reader, line);
}

/* The name of a list is its address with '_' for '/': HOST_PATH_dists_SUITE_COMPONENT_binary-ARCH_Packages. Caller frees. */
static char *words_of_list(const char *path)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	const char *name = strrchr(path, '/') + 1, *suite = strstr(name, "_dists_");
	const char *end = suite ? strstr(suite, "_binary-") : NULL;

	if (!end)
		return rd_xstrdup(name);
	for (const char *at = name; at < suite; at++)
		rd_strbuf_addc(&sb, *at == '_' ? '/' : *at);
	rd_strbuf_addc(&sb, ' ');
	for (const char *at = suite + strlen("_dists_"); at < end; at++)
		rd_strbuf_addc(&sb, *at == '_' ? ' ' : *at);
	return rd_strbuf_detach(&sb);
}

static int read_apt(struct rd_sysroot *sr, const struct rd_strv *names, struct pkg_candidates *ret)
{
	rd_auto_strv struct rd_strv lists = RD_STRV_INIT;
	int r = rd_sysroot_glob(sr, &lists, "/var/lib/apt/lists/*_Packages*");

	for (size_t i = 0; i < lists.n && r == 0; i++) {
		rd_auto_free char *where = words_of_list(lists.v[i]);
		struct list_reader reader = { names, ret, where, is_of_amd(lists.v[i], '_'), NULL };

		if (rd_str_has_suffix(lists.v[i], "_Packages"))
			r = read_plain_list(sr, lists.v[i], &reader);
		else
			read_packed_list(sr, lists.v[i], &reader);
		free(reader.name);
	}
	return r;
}

/* ------------------------------------------------------------ dnf and zypper */

struct repository {
	char *id;
	bool enabled, amd;
};

struct repositories {
	struct repository *v;
	size_t n, allocated;
};

static void repositories_clear(struct repositories *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].id);
	free(list->v);
}

static void take_repo_line(struct repositories *list, char *line)
{
	struct repository *last = list->n ? &list->v[list->n - 1] : NULL;
	char *value = strchr(line, '='), *end = strrchr(line, ']');

	if (*line == '[' && end) {
		RD_GROW(list->v, list->n, list->allocated);
		list->v[list->n++] = (struct repository){ rd_xstrndup(line + 1, (size_t)(end - line) - 1), true, false };
	} else if (value && last) {
		*value++ = '\0';
		line = rd_str_strip(line);
		value = rd_str_strip(value);
		if (rd_streq(line, "enabled"))
			last->enabled = !rd_streq(value, "0") && !rd_streq(value, "false") && !rd_streq(value, "no");
		else if (rd_streq(line, "baseurl"))
			last->amd = is_of_amd(value, '/');
	}
}

static int read_repositories(struct rd_sysroot *sr, enum pkg_manager manager, struct repositories *ret)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = rd_sysroot_glob(sr, &files, manager == PKG_ZYPPER ? "/etc/zypp/repos.d/*.repo" : "/etc/yum.repos.d/*.repo");

	for (size_t i = 0; i < files.n && r == 0; i++) {
		rd_auto_free char *text = NULL;
		char *rest, *line;

		r = rd_sysroot_read(sr, &text, files.v[i]);
		for (rest = text; r == 0 && (line = rd_str_next_line(&rest));)
			take_repo_line(ret, rd_str_strip(line));
	}
	return r;
}

/* A folder of zypper's cache has the repository's name; dnf puts a dash and a hash of its address behind it. */
static bool is_folder_of(const char *folder, size_t len, const char *id, enum pkg_manager manager)
{
	size_t n = strlen(id);

	if (len < n || memcmp(folder, id, n) != 0)
		return false;
	if (manager == PKG_ZYPPER)
		return len == n;
	return folder[n] == '-' && len == n + 17 && strspn(folder + n + 1, "0123456789abcdef") == 16;
}

/* That whose metadata this is, where it is switched on: "/var/cache/dnf/ID-HASH/repodata/HASH-primary.xml.gz". */
static const struct repository *repository_of(const struct repositories *list, const char *path, enum pkg_manager manager)
{
	const char *end = strstr(path, "/repodata/"), *folder = end;

	while (folder && folder > path && folder[-1] != '/')
		folder--;
	for (size_t i = 0; folder && i < list->n; i++)
		if (list->v[i].enabled && is_folder_of(folder, (size_t)(end - folder), list->v[i].id, manager))
			return &list->v[i];
	return NULL;
}

static const char *find(const char *from, const char *end, const char *mark)
{
	return from < end ? memmem(from, (size_t)(end - from), mark, strlen(mark)) : NULL;
}

/* What stands between two marks, before @end; caller frees; NULL: they do not. */
static char *between(const char *from, const char *end, const char *open, const char *close)
{
	const char *at = find(from, end, open), *stop = at ? find(at + strlen(open), end, close) : NULL;

	return stop ? rd_xstrndup(at + strlen(open), (size_t)(stop - at) - strlen(open)) : NULL;
}

/* <version epoch="0" ver="6.4.3.60403" rel="128.el9"/> as rpm's own database has it: [EPOCH:]VERSION-RELEASE. */
static char *version_of(const char *from, const char *end)
{
	rd_auto_free char *tag = between(from, end, "<version ", ">");
	const char *stop = tag ? tag + strlen(tag) : NULL;
	rd_auto_free char *epoch = tag ? between(tag, stop, "epoch=\"", "\"") : NULL;
	rd_auto_free char *ver = tag ? between(tag, stop, "ver=\"", "\"") : NULL;
	rd_auto_free char *rel = tag ? between(tag, stop, "rel=\"", "\"") : NULL;

	if (!ver || !rel)
		return NULL;
	return epoch && !rd_streq(epoch, "0") ? rd_xasprintf("%s:%s-%s", epoch, ver, rel) : rd_xasprintf("%s-%s", ver, rel);
}

static bool is_for_machine(const char *arch, const char *machine)
{
	return rd_streq(arch, "noarch") || rd_streq(arch, machine);
}

static void take_metadata(struct list_reader *reader, const char *machine, const char *text)
{
	static const char mark[] = "<package ";

	for (const char *at = strstr(text, mark), *next; at; at = next) {
		const char *end;

		next = strstr(at + 1, mark);
		end = next ? next : at + strlen(at);
		rd_auto_free char *name = between(at, end, "<name>", "</name>"), *arch = between(at, end, "<arch>", "</arch>");
		char *version = NULL;

		if (name && arch && rd_strv_has(reader->names, name) && is_for_machine(arch, machine))
			version = version_of(at, end);
		/* It becomes a word of a command. */
		if (version && pkg_check_version(version, NULL) == 0)
			add(reader, rd_xstrdup(name), version);
		else
			free(version);
	}
}

static int read_rpm(struct rd_sysroot *sr, enum pkg_manager manager, const struct rd_strv *names, struct pkg_candidates *ret)
{
	static const char *const patterns[] = {
		[PKG_DNF] = "/var/cache/dnf/*/repodata/*primary.xml*",
		[PKG_DNF5] = "/var/cache/libdnf5/*/repodata/*primary.xml*",
		[PKG_ZYPPER] = "/var/cache/zypp/raw/*/repodata/*primary.xml*",
	};
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	rd_auto(repositories_clear) struct repositories known = { NULL, 0, 0 };
	const struct rd_uname *uts = NULL;
	const char *machine = rd_sysroot_uname(sr, &uts) == 0 && uts->machine ? uts->machine : "x86_64";
	int r = read_repositories(sr, manager, &known);

	if (r == 0)
		r = rd_sysroot_glob(sr, &files, patterns[manager]);
	for (size_t i = 0; i < files.n && r == 0; i++) {
		const struct repository *repository = repository_of(&known, files.v[i], manager);
		rd_auto_free char *text = NULL;

		if (!repository)
			continue;
		if (read_packed(sr, files.v[i], &text) < 0)
			ret->unreadable = true;
		else
			take_metadata(&(struct list_reader){ names, ret, repository->id, repository->amd, NULL }, machine,
			              text);
	}
	return r;
}

int pkg_candidates_read(struct rd_sysroot *sr, enum pkg_manager manager, const struct rd_strv *names,
                        struct pkg_candidates *ret, struct rd_error *err)
{
	int r = manager == PKG_APT ? read_apt(sr, names, ret) : read_rpm(sr, manager, names, ret);

	return r < 0 ? rd_error_set(err, -EOPNOTSUPP, "cannot read %s: %s", pkg_lists_name(manager), rd_strerror(r)) : 0;
}
