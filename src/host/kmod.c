/*
 * Modules of one kernel.
 *
 * All is read here, through the sysroot, and not by libkmod: that opens files by names of its own, below the reach of the
 * sysroot and its recorder, unpacks modules without a limit, follows the offsets of modules.dep.bin without looking whether
 * they lie in the file, and ends the process by an assertion on a module whose header is damaged. tests/unit/test_kmod.c
 * holds the two against each other.
 */

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/compress.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/kmod.h"
#include "rocm-doctor/sysroot.h"

#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Larger than amdgpu with its debug information. */
#define MODULE_MAX ((size_t)512 << 20)
#define MODINFO_MAX ((size_t)4 << 20)
#define SIGNATURE_MAX ((size_t)64 << 10)

struct index {
	const char *file;
	struct rd_strv lines;
	int loaded; /* 0: not yet, 1: read, negative errno: could not */
};

struct rd_kmod {
	struct rd_sysroot *sysroot;
	char *folder;
	struct index dep, builtin, alias;
};

char *rd_kmod_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = rd_xstrdup(slash ? slash + 1 : path);
	char *suffix = strstr(name, ".ko");

	if (suffix && (suffix[3] == '\0' || suffix[3] == '.'))
		*suffix = '\0';
	for (char *c = name; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	return name;
}

static bool is_module(const char *path, const char *name)
{
	rd_auto_free char *own = rd_kmod_name(path);
	rd_auto_free char *wanted = rd_kmod_name(name);

	return rd_streq(own, wanted);
}

int rd_kmod_open(struct rd_sysroot *sr, const char *release, struct rd_kmod **ret, struct rd_error *err)
{
	static const char *const places[] = { "/lib/modules", "/usr/lib/modules" };
	rd_auto_free char *folder = NULL;
	struct rd_kmod *k;
	int r = -ENOENT;

	if (release[0] == '\0' || strchr(release, '/') || release[0] == '.')
		return rd_error_set(err, -EINVAL, "'%s' is no kernel release", release);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && r < 0; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", places[i], release);
		int r2 = rd_sysroot_realpath(sr, &folder, path);

		/* The first place says why, unless the second is better: both are one folder on a merged /usr. */
		r = i == 0 || r2 >= 0 ? r2 : r;
	}
	if (r < 0)
		return rd_error_set(err, r, "cannot find the modules of kernel '%s': %s", release, rd_strerror(r));

	k = rd_xcalloc(1, sizeof(*k));
	*k = (struct rd_kmod){
		.sysroot = sr,
		.folder = rd_steal(folder),
		.dep.file = "modules.dep",
		.builtin.file = "modules.builtin",
		.alias.file = "modules.alias",
	};
	*ret = k;
	return 0;
}

struct rd_kmod *rd_kmod_close(struct rd_kmod *k)
{
	if (!k)
		return NULL;
	rd_strv_clear(&k->dep.lines);
	rd_strv_clear(&k->builtin.lines);
	rd_strv_clear(&k->alias.lines);
	free(k->folder);
	free(k);
	return NULL;
}

const char *rd_kmod_folder(const struct rd_kmod *k)
{
	return k->folder;
}

static int index_load(struct rd_kmod *k, struct index *index)
{
	rd_auto_free char *text = NULL;
	int r;

	if (index->loaded != 0)
		return index->loaded < 0 ? index->loaded : 0;
	r = rd_sysroot_readf(k->sysroot, &text, "%s/%s", k->folder, index->file);
	if (r >= 0)
		rd_strv_split(&index->lines, text, "\n", false);
	index->loaded = r < 0 ? r : 1;
	return r < 0 ? r : 0;
}

/* "kernel/drivers/x.ko" is below the folder; an absolute path (weak-updates) stands for itself. */
static char *absolute(const struct rd_kmod *k, const char *path)
{
	return path[0] == '/' ? rd_xstrdup(path) : rd_xasprintf("%s/%s", k->folder, path);
}

/* The line of modules.dep that begins with the module: "path: dependency ...". */
static int dep_line(struct rd_kmod *k, const char *name, struct rd_strv *ret_words)
{
	int r = index_load(k, &k->dep);

	if (r < 0)
		return r;
	for (size_t i = 0; i < k->dep.lines.n; i++) {
		const char *line = k->dep.lines.v[i];
		const char *colon = strchr(line, ':');
		rd_auto_free char *path = NULL;

		if (!colon)
			continue;
		path = rd_xstrndup(line, (size_t)(colon - line));
		if (!is_module(path, name))
			continue;
		rd_strv_push(ret_words, path);
		rd_strv_split(ret_words, colon + 1, " \t", false);
		return 0;
	}
	return -ENOENT;
}

int rd_kmod_module_path(struct rd_kmod *k, const char *name, char **ret)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	int r = dep_line(k, name, &words);

	if (r < 0)
		return r;
	*ret = absolute(k, words.v[0]);
	return 0;
}

int rd_kmod_dependencies(struct rd_kmod *k, const char *name, struct rd_strv *ret)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	int r = dep_line(k, name, &words);

	for (size_t i = 1; r >= 0 && i < words.n; i++)
		rd_strv_push_take(ret, absolute(k, words.v[i]));
	return r;
}

bool rd_kmod_is_builtin(struct rd_kmod *k, const char *name)
{
	if (index_load(k, &k->builtin) < 0)
		return false;
	for (size_t i = 0; i < k->builtin.lines.n; i++) {
		if (is_module(k->builtin.lines.v[i], name))
			return true;
	}
	return false;
}

bool rd_kmod_has_alias(struct rd_kmod *k, const char *modalias, const char *module)
{
	if (index_load(k, &k->alias) < 0)
		return false;
	for (size_t i = 0; i < k->alias.lines.n; i++) {
		rd_auto_strv struct rd_strv words = RD_STRV_INIT;

		if (!rd_str_has_prefix(k->alias.lines.v[i], "alias "))
			continue;
		rd_strv_split(&words, k->alias.lines.v[i], " \t", false);
		if (words.n == 3 && is_module(words.v[2], module) && rd_str_glob(words.v[1], modalias))
			return true;
	}
	return false;
}

/* A module file: as it lies on disk, or unpacked into memory. */
struct module {
	struct rd_file *file;
	char *bytes;
	uint64_t size;
};

static void module_close(struct module *m)
{
	rd_file_close(m->file);
	free(m->bytes);
}

static int module_read(const struct module *m, void *buf, size_t len, uint64_t off)
{
	if (off > m->size || len > m->size - off)
		return -EBADMSG;
	if (m->file)
		return rd_file_pread(m->file, buf, len, off);
	memcpy(buf, m->bytes + off, len);
	return 0;
}

static int module_open(struct rd_sysroot *sr, const char *path, struct module *ret)
{
	rd_auto_free char *packed = NULL;
	struct rd_stat st;
	size_t n = 0;
	int r = rd_sysroot_stat(sr, &st, path);

	if (r < 0)
		return r;
	if (st.type != RD_STAT_FILE)
		return -EINVAL;
	if (rd_str_has_suffix(path, ".ko")) {
		r = rd_file_open(sr, &ret->file, path);
		ret->size = r < 0 ? 0 : rd_file_size(ret->file);
		return r;
	}
	r = rd_sysroot_read_bytes(sr, &packed, &n, path);
	if (r >= 0)
		r = rd_unpack(packed, n, MODULE_MAX, &ret->bytes, &n);
	ret->size = r < 0 ? 0 : n;
	return r;
}

/* The header of a section, by number. Every kernel that runs ROCm is 64-bit and little-endian. */
static int read_section(const struct module *m, const Elf64_Ehdr *header, unsigned number, Elf64_Shdr *ret)
{
	int r = module_read(m, ret, sizeof(*ret), le64toh(header->e_shoff) + (uint64_t)number * sizeof(*ret));

	if (r < 0)
		return r;
	ret->sh_name = le32toh(ret->sh_name);
	ret->sh_type = le32toh(ret->sh_type);
	ret->sh_offset = le64toh(ret->sh_offset);
	ret->sh_size = le64toh(ret->sh_size);
	return 0;
}

static int find_section(const struct module *m, const char *name, Elf64_Shdr *ret)
{
	char found[32];
	Elf64_Ehdr header;
	Elf64_Shdr names;
	size_t n = strlen(name) + 1;
	int r = module_read(m, &header, sizeof(header), 0);

	if (r < 0)
		return r;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || le16toh(header.e_shentsize) != sizeof(Elf64_Shdr) ||
	    le64toh(header.e_shoff) > m->size || le16toh(header.e_shstrndx) >= le16toh(header.e_shnum))
		return -EBADMSG;
	r = read_section(m, &header, le16toh(header.e_shstrndx), &names);
	for (unsigned i = 0; r >= 0 && i < le16toh(header.e_shnum); i++) {
		r = read_section(m, &header, i, ret);
		/* A name that does not fit before the end of the names is none. */
		if (r < 0 || ret->sh_name >= names.sh_size || n > names.sh_size - ret->sh_name || names.sh_offset > m->size ||
		    module_read(m, found, n, names.sh_offset + ret->sh_name) < 0)
			continue;
		if (memcmp(found, name, n) == 0)
			return 0;
	}
	return r < 0 ? r : -EBADMSG;
}

static int read_modinfo(const struct module *m, struct rd_strv *ret)
{
	rd_auto_free char *text = NULL;
	Elf64_Shdr section;
	int r = find_section(m, ".modinfo", &section);

	if (r < 0)
		return r;
	if (section.sh_type == SHT_NOBITS || section.sh_size > MODINFO_MAX)
		return -EBADMSG;
	text = rd_xmalloc(section.sh_size + 1);
	r = module_read(m, text, section.sh_size, section.sh_offset);
	text[section.sh_size] = '\0';
	/* Strings one behind the other, with NULs between them, and more of these where one is aligned. */
	for (size_t i = 0; r >= 0 && i < section.sh_size; i += strlen(text + i) + 1) {
		if (text[i])
			rd_strv_push(ret, text + i);
	}
	return r;
}

/* What a signed module ends with, before the marker. */
struct signature {
	uint8_t algorithm, hash, type, signer_len, key_len, pad[3];
	uint32_t len; /* big-endian */
};

#define SIGNATURE_MARKER "~Module signature appended~\n"
#define SIGNATURE_PKCS7 2

/*
 * The signer of a PKCS#7 signature: its last common name, since the issuer that a SignerInfo names stands behind any
 * certificates. Looked up by its object identifier (2.5.4.3) and not by parsing; it is shown, never trusted.
 */
static char *common_name(const unsigned char *der, size_t n)
{
	static const unsigned char id[] = { 0x06, 0x03, 0x55, 0x04, 0x03 };
	char *name = NULL;

	for (size_t i = 0; i + sizeof(id) + 2 <= n; i++) {
		const unsigned char *string = der + i + sizeof(id);

		/* A string type, and a length of one byte. */
		if (memcmp(der + i, id, sizeof(id)) != 0 || string[1] > 127 || string[1] > n - i - sizeof(id) - 2)
			continue;
		free(name);
		name = rd_xstrndup((const char *)string + 2, string[1]);
	}
	return name;
}

static int read_signature(const struct module *m, struct rd_strv *ret)
{
	char marker[sizeof(SIGNATURE_MARKER) - 1];
	rd_auto_free unsigned char *der = NULL;
	rd_auto_free char *signer = NULL;
	struct signature s;
	uint64_t end = m->size;
	size_t n;

	if (end < sizeof(marker) + sizeof(s) || module_read(m, marker, sizeof(marker), end - sizeof(marker)) < 0 ||
	    memcmp(marker, SIGNATURE_MARKER, sizeof(marker)) != 0)
		return 0;
	end -= sizeof(marker) + sizeof(s);
	if (module_read(m, &s, sizeof(s), end) < 0)
		return -EBADMSG;
	n = (size_t)be32toh(s.len) + s.signer_len + s.key_len;
	if (n > SIGNATURE_MAX || n > end)
		return -EBADMSG;
	der = rd_xmalloc(n + 1);
	if (module_read(m, der, n, end - n) < 0)
		return -EBADMSG;
	/* Before Linux 4.3 the signer's name stood there as it is. */
	signer = s.type == SIGNATURE_PKCS7 ? common_name(der, n) : rd_xstrndup((const char *)der, s.signer_len);
	rd_strv_pushf(ret, "sig_id=%s", s.type == SIGNATURE_PKCS7 ? "PKCS#7" : "X509");
	if (signer && signer[0])
		rd_strv_pushf(ret, "signer=%s", signer);
	return 0;
}

int rd_kmod_modinfo(struct rd_kmod *k, const char *path, struct rd_strv *ret)
{
	rd_auto(module_close) struct module m = { 0 };
	rd_auto_strv struct rd_strv lines = RD_STRV_INIT;
	int r = module_open(k->sysroot, path, &m);

	if (r >= 0)
		r = read_modinfo(&m, &lines);
	if (r >= 0)
		r = read_signature(&m, &lines);
	for (size_t i = 0; r >= 0 && i < lines.n; i++)
		rd_strv_push(ret, lines.v[i]);
	return r == -ENODATA ? -EBADMSG : r;
}
