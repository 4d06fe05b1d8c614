/*
 * What the loader of a root is like: the folders that are built into it, and the sub-folders for processors that it tries in
 * every folder. Both differ between distributions and releases, so they are read from the root's own files.
 */
#include <elf.h>
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

enum { RODATA_MAX = 128 << 10, NAMES_MAX = 16 };

static struct rd_elf *open_elf(struct rd_sysroot *sr, const char *path, struct rd_file **ret_file)
{
	struct rd_reader reader;
	struct rd_elf *elf;

	if (rd_file_open(sr, ret_file, path) < 0)
		return NULL;
	reader = rd_reader_of_file(*ret_file);
	if (rd_elf_open(&reader, &elf, NULL) < 0) {
		*ret_file = rd_file_close(*ret_file);
		return NULL;
	}
	return elf;
}

/*
 * The folders stand in the loader's constants, NUL-terminated, each with a slash at its end. Taken is the run of such texts
 * around "/usr/lib".
 */
static bool folders_in(const char *text, size_t len, struct rd_strv *ret)
{
	const char *end = text + len, *at = memmem(text, len, "\0/usr/lib", 9);

	while (at && at > text) {
		const char *before = at - 1;

		if (*before != '/')
			break;
		while (before > text && before[-1])
			before--;
		if (*before != '/' || before == text)
			break;
		at = before - 1;
	}
	for (at = at ? at + 1 : end; at < end && *at == '/' && ret->n < NAMES_MAX; at += strnlen(at, (size_t)(end - at)) + 1) {
		size_t n = strnlen(at, (size_t)(end - at));

		if (n < 2 || n > 256 || at[n - 1] != '/' || memchr(at, '%', n))
			break;
		rd_strv_push_take(ret, rd_xstrndup(at, n - 1));
	}
	return ret->n > 1;
}

static bool read_loader_folders(struct rd_loader *l)
{
	rd_auto_free char *bytes = NULL;
	const struct rd_elf_section *section;
	struct rd_file *file;
	struct rd_elf *elf = open_elf(l->sr, l->interpreter, &file);
	bool found = false;

	if (!elf)
		return false;
	section = rd_elf_read_sections(elf, NULL) == 0 ? rd_elf_section(elf, ".rodata") : NULL;
	if (section && section->size <= RODATA_MAX) {
		bytes = rd_xmalloc((size_t)section->size + 1);
		if (rd_reader_pread(&elf->reader, bytes, (size_t)section->size, section->offset) == 0)
			found = folders_in(bytes, (size_t)section->size, &l->default_folders);
	}
	if (!found)
		rd_strv_clear(&l->default_folders);
	rd_elf_close(elf);
	rd_file_close(file);
	return found;
}

static void guess_folders(struct rd_loader *l)
{
	const char *triplet = l->machine == EM_AARCH64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

	if (rd_sysroot_existsf(l->sr, "/usr/lib/%s", triplet) > 0) {
		rd_strv_pushf(&l->default_folders, "/lib/%s", triplet);
		rd_strv_pushf(&l->default_folders, "/usr/lib/%s", triplet);
		rd_strv_push(&l->default_folders, "/lib");
		rd_strv_push(&l->default_folders, "/usr/lib");
		return;
	}
	rd_strv_push(&l->default_folders, "/lib64");
	rd_strv_push(&l->default_folders, "/usr/lib64");
}

/* ------------------------------------------------------------ processor */

/* Features of the levels of the x86-64 psABI, by their names in /proc/cpuinfo (abm is LZCNT, pni SSE3). */
static const char *const level2[] = { "cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3", NULL };
static const char *const level3[] = { "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", NULL };
static const char *const level4[] = { "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", NULL };

static bool has_all(const struct rd_strv *flags, const char *const *names)
{
	for (; *names; names++)
		if (!rd_strv_has(flags, *names))
			return false;
	return true;
}

/* 1 to 4; 0 where the root does not tell. */
static int processor_level(struct rd_loader *l)
{
	rd_auto_strv struct rd_strv flags = RD_STRV_INIT;
	rd_auto_free char *text = NULL;
	char *line, *rest;

	if (rd_sysroot_read(l->sr, &text, "/proc/cpuinfo") < 0)
		return 0;
	for (rest = text; (line = rd_str_next_line(&rest));) {
		if (!rd_str_has_prefix(line, "flags") || !strchr(line, ':'))
			continue;
		rd_strv_split(&flags, strchr(line, ':') + 1, " \t", false);
		break;
	}
	if (!flags.n)
		return 0;
	if (!has_all(&flags, level2))
		return 1;
	if (!has_all(&flags, level3))
		return 2;
	return has_all(&flags, level4) ? 4 : 3;
}

/* ------------------------------------------------------------ release of glibc */

/* The N of the newest GLIBC_2.N that libc.so.6 defines; -1 where it is not found. */
static int glibc_minor(struct rd_loader *l)
{
	int minor = -1;

	for (size_t i = 0; i < l->default_folders.n && minor < 0; i++) {
		rd_auto_free char *path = rd_xasprintf("%s/libc.so.6", l->default_folders.v[i]);
		struct rd_file *file;
		struct rd_elf *elf = open_elf(l->sr, path, &file);

		if (!elf)
			continue;
		if (rd_elf_read_versions(elf, NULL) == 0)
			for (size_t k = 0; k < elf->versions_defined->n; k++) {
				const char *name = elf->versions_defined->v[k];
				uint64_t n;

				if (rd_str_has_prefix(name, "GLIBC_2.") && rd_str_to_u64(name + 8, 10, &n) == 0 && n < 1000 &&
				    (int)n > minor)
					minor = (int)n;
			}
		rd_elf_close(elf);
		rd_file_close(file);
	}
	return minor;
}

/*
 * Before 2.37, every folder was also tried with combinations of these, the longest first: all subsets in which the order is
 * kept.
 */
static void add_legacy_subs(struct rd_loader *l, int level)
{
	const char *words[4];
	unsigned n = 0;

	words[n++] = "tls";
	if (level >= 3)
		words[n++] = "haswell";
	if (level >= 4)
		words[n++] = "avx512_1";
	words[n++] = "x86_64";
	for (unsigned set = (1u << n) - 1; set; set--) {
		struct rd_strbuf sb = RD_STRBUF_INIT;

		for (unsigned i = 0; i < n; i++)
			if (set & 1u << (n - 1 - i))
				rd_strbuf_addf(&sb, "%s%s", sb.len ? "/" : "", words[i]);
		rd_strv_push_take(&l->subs, rd_strbuf_detach(&sb));
	}
}

static void init_subs(struct rd_loader *l)
{
	int level, minor;

	if (l->machine != EM_X86_64)
		return;
	level = processor_level(l);
	minor = glibc_minor(l);
	for (int i = level; i >= 2 && (minor < 0 || minor >= 33); i--) {
		rd_strv_pushf(&l->hwcaps, "x86-64-v%d", i);
		rd_strv_pushf(&l->subs, "glibc-hwcaps/x86-64-v%d", i);
	}
	if (minor >= 0 && minor < 37)
		add_legacy_subs(l, level);
	l->platform_token = rd_xstrdup(level >= 3 && minor >= 26 ? "haswell" : "x86_64");
}

void load_host_init(struct rd_loader *l)
{
	if (!read_loader_folders(l))
		guess_folders(l);
	/* $LIB is the part behind the root of the first of them: lib64, or lib/x86_64-linux-gnu. */
	l->lib_token = rd_xstrdup(l->default_folders.v[0] + 1);
	init_subs(l);
	if (!l->platform_token)
		l->platform_token = rd_xstrdup(l->machine == EM_AARCH64 ? "aarch64" : "x86_64");
}
