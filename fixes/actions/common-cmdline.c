/*
 * Four ways, by what the host has:
 *
 *   grubby               Fedora, RHEL and their kin, where boot entries are files of their own
 *   /etc/default/grub    and grub.d beside it; then update-grub, or grub2-mkconfig
 *   /etc/kernel/cmdline  systemd-boot and unified images; then kernel-install
 *   boot entries         systemd-boot where a person wrote them, or kernel-install did from the running command line
 */

#include "common-cmdline.h"

#include <errno.h>
#include <string.h>

#include "common-boot.h"
#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define DEFAULT_GRUB "/etc/default/grub"
#define DROP_IN "/etc/default/grub.d/zz-rocm-doctor.cfg"
#define KERNEL_CMDLINE "/etc/kernel/cmdline"

/* Words */

static void add_item(struct rd_strbuf *list, const char *key, size_t key_len, const char *item)
{
	if (!list->len)
		rd_strbuf_addn(list, key, key_len);
	else
		rd_strbuf_addc(list, ',');
	rd_strbuf_add(list, item);
}

/*
 * What is left of @word when @gone is taken out: NULL where @gone is not in it, "" where nothing is left. A word that is a
 * list, "modprobe.blacklist=nouveau,amdgpu", keeps its other items. Caller frees.
 */
static char *without(const char *word, const char *gone)
{
	const char *equals = strchr(gone, '=');
	size_t key = equals ? (size_t)(equals - gone) + 1 : 0;
	rd_auto_strv struct rd_strv items = RD_STRV_INIT;
	struct rd_strbuf left = RD_STRBUF_INIT;
	bool found = false;

	if (rd_streq(word, gone))
		return rd_xstrdup("");
	if (!key || strncmp(word, gone, key) != 0)
		return NULL;
	rd_strv_split(&items, word + key, ",", false);
	for (size_t i = 0; i < items.n; i++) {
		if (rd_streq(items.v[i], gone + key))
			found = true;
		else
			add_item(&left, word, key, items.v[i]);
	}
	if (found)
		return rd_strbuf_detach(&left);
	rd_strbuf_release(&left);
	return NULL;
}

/*
 * "" for a word that gives the same parameter of a module another value, else NULL. The kernel takes the last one, and which that
 * is depends on where each stands. Parameters of the kernel itself, "iommu=", may add up.
 */
static char *without_rival(const char *word, const char *wanted)
{
	size_t key = strcspn(wanted, "=");

	if (!wanted[key] || !memchr(wanted, '.', key) || rd_str_has_prefix(wanted, "modprobe."))
		return NULL;
	return strncmp(word, wanted, key + 1) == 0 && !rd_streq(word, wanted) ? rd_xstrdup("") : NULL;
}

/* What takes @gone out of a word, NULL where it is not in it. */
typedef char *less_of(const char *word, const char *gone);

/* Blanks, and the quotes around a setting's value. */
static const char between[] = " \t\n\"'";

/* A text of words with some taken out; what stands between the others stays. NULL where none is there. Caller frees. */
static char *text_less(const char *text, const char *gone, less_of *less)
{
	struct rd_strbuf out = RD_STRBUF_INIT;
	bool found = false;

	while (*text) {
		size_t space = strspn(text, between), len = strcspn(text + space, between);
		rd_auto_free char *word = rd_xstrndup(text + space, len), *left = len ? less(word, gone) : NULL;

		/* With the word goes one blank, that before it or else that behind it. */
		if (left && !*left && space && (text[space - 1] == ' ' || text[space - 1] == '\t'))
			rd_strbuf_addn(&out, text, space - 1);
		else
			rd_strbuf_addn(&out, text, space);
		rd_strbuf_add(&out, left ? left : word);
		found = found || left;
		text += space + len;
		if (left && !*left && *text == ' ' && (!out.len || strchr("\"'", out.buf[out.len - 1])))
			text++;
	}
	if (found)
		return rd_strbuf_detach(&out);
	rd_strbuf_release(&out);
	return NULL;
}

static bool has_word(const char *text, const char *word)
{
	rd_auto_free char *left = text_less(text, word, without);

	return left;
}

/* The first word that gives the parameter another value; NULL: none. Caller frees. */
static char *rival_in(const char *text, const char *word)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;

	rd_strv_split(&words, text, between, false);
	for (size_t i = 0; i < words.n; i++) {
		rd_auto_free char *left = without_rival(words.v[i], word);

		if (left)
			return rd_xstrdup(words.v[i]);
	}
	return NULL;
}

/* A line of words with one more, @before its end and without its rivals, or without one. NULL: nothing changes. Caller frees. */
static char *line_changed(const char *line, const char *word, bool add)
{
	rd_auto_free char *left = text_less(line, word, add ? without_rival : without);
	const char *kept = left ? left : line;
	size_t len = strcspn(kept, "\n");

	if (!add || has_word(kept, word))
		return rd_steal(left);
	return rd_xasprintf("%.*s%s%s%s", (int)len, kept, len ? " " : "", word, kept + len);
}

/* GRUB's settings */

static bool is_cmdline_setting(const char *line)
{
	static const char *const settings[] = { "GRUB_CMDLINE_LINUX=", "GRUB_CMDLINE_LINUX+=", "GRUB_CMDLINE_LINUX_DEFAULT=",
		                                "GRUB_CMDLINE_LINUX_DEFAULT+=" };

	line += strspn(line, " \t");
	for (size_t i = 0; i < RD_ARRAY_SIZE(settings); i++)
		if (rd_str_has_prefix(line, settings[i]))
			return true;
	return false;
}

struct grub {
	const char *word;
	bool add;
	size_t standing; /* settings that have the word */
	size_t gone;     /* those that had it before we took it out */
};

/* The old setting stays above the new one, as a comment. */
static bool judge_line(const char *line, struct rd_strbuf *out, void *data)
{
	struct grub *g = data;
	rd_auto_free char *left = NULL;
	const char *value;

	if (rd_str_has_prefix(line, FIX_OFF) && is_cmdline_setting(line + strlen(FIX_OFF)))
		g->gone += has_word(strchr(line, '=') + 1, g->word);
	if (!is_cmdline_setting(line))
		return false;
	value = strchr(line, '=') + 1;
	g->standing += has_word(value, g->word);
	left = text_less(value, g->word, g->add ? without_rival : without);
	if (left)
		rd_strbuf_addf(out, FIX_OFF "%s\n%.*s%s", line, (int)(value - line), line, left);
	return left;
}

static int judge_grub(struct rd_step *step, struct rd_sysroot *sr, struct grub *g, struct rd_error *err)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r;

	rd_strv_push(&files, DEFAULT_GRUB);
	r = rd_sysroot_glob(sr, &files, "/etc/default/grub.d/*.cfg");
	if (r < 0)
		return fix_unable(err, "cannot look into '/etc/default/grub.d': %s", rd_strerror(r));
	for (size_t i = 0; i < files.n && r == 0; i++)
		r = fix_edit(step, sr, files.v[i], judge_line, g, err);
	return r;
}

/* Debian's grub-mkconfig reads the folder beside the file, others only the file. */
static int add_to_grub(struct rd_step *step, struct rd_sysroot *sr, const char *word, struct rd_error *err)
{
	rd_auto_free char *line = rd_xasprintf("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"", word);

	return fix_add_line(step, sr, fix_has_program(sr, "update-grub") ? DROP_IN : DEFAULT_GRUB, "", line, err);
}

/* What turns the settings into what GRUB reads. */
static int renew_grub(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	if (fix_has_program(sr, "update-grub"))
		rd_step_refresh(step, (const char *const[]){ "update-grub", NULL });
	else if (fix_has_program(sr, "grub2-mkconfig"))
		rd_step_refresh(step, (const char *const[]){ "grub2-mkconfig", "-o", "/boot/grub2/grub.cfg", NULL });
	else if (fix_has_program(sr, "grub-mkconfig"))
		rd_step_refresh(step, (const char *const[]){ "grub-mkconfig", "-o", "/boot/grub/grub.cfg", NULL });
	else
		return fix_unable(err, "no update-grub, grub2-mkconfig or grub-mkconfig is here");
	return 0;
}

static int change_grub(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	struct grub g = { .word = word, .add = add };
	int r = judge_grub(step, sr, &g, err);

	if (r == 0 && add && !g.standing)
		r = add_to_grub(step, sr, word, err);
	if (r == 0 && !add && !g.standing && !g.gone)
		r = fix_unable(err, "'%s' stands in none of GRUB's settings below /etc/default", word);
	return r < 0 ? r : renew_grub(step, sr, err);
}

/* Boot entries, by grubby */

/* Those that have the word. 0; -ENOENT: there are none; else negative: they do not tell. */
static int entries_have(struct rd_sysroot *sr, const char *word, size_t *ret_n, size_t *ret_with, char **ret_rival)
{
	rd_auto_strv struct rd_strv files = RD_STRV_INIT;
	int r = rd_sysroot_glob(sr, &files, "/boot/loader/entries/*.conf");

	*ret_n = *ret_with = 0;
	for (size_t i = 0; i < files.n && r == 0; i++) {
		rd_auto_free char *text = NULL;

		r = rd_sysroot_read(sr, &text, files.v[i]);
		if (r < 0)
			break;
		/* Older ones refer to GRUB's environment. */
		if (strstr(text, "$kernelopts"))
			return -ENODATA;
		(*ret_n)++;
		*ret_with += has_word(text, word);
		if (!*ret_rival)
			*ret_rival = rival_in(text, word);
	}
	return r < 0 ? r : *ret_n ? 0 : -ENOENT;
}

/* What the running kernel was given that holds the word: the word itself, or a list with it. */
static char *given_word(struct rd_sysroot *sr, const char *word)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	rd_auto_free char *text = NULL;

	if (rd_sysroot_read(sr, &text, "/proc/cmdline") < 0)
		return NULL;
	rd_strv_split(&words, text, " \t\n", false);
	for (size_t i = 0; i < words.n; i++) {
		rd_auto_free char *left = without(words.v[i], word);

		if (left)
			return rd_xstrdup(words.v[i]);
	}
	return NULL;
}

static void grubby(struct rd_step *step, const char *out, const char *in)
{
	rd_auto_free char *remove = rd_xasprintf("--remove-args=%s", *out ? out : in), *args = rd_xasprintf("--args=%s", in);
	rd_auto_free char *back = rd_xasprintf("--remove-args=%s", in), *again = rd_xasprintf("--args=%s", out);
	const char *all = "--update-kernel=ALL";

	if (!*out)
		rd_step_run(step, (const char *const[]){ "grubby", all, args, NULL },
		            (const char *const[]){ "grubby", all, back, NULL });
	else if (!*in)
		rd_step_run(step, (const char *const[]){ "grubby", all, remove, NULL },
		            (const char *const[]){ "grubby", all, again, NULL });
	else
		rd_step_run(step, (const char *const[]){ "grubby", all, remove, args, NULL },
		            (const char *const[]){ "grubby", all, back, again, NULL });
}

static int change_by_grubby(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	rd_auto_free char *given = add ? NULL : given_word(sr, word), *left = given ? without(given, word) : NULL;
	rd_auto_free char *rival = NULL;
	size_t n, with;
	int r = entries_have(sr, word, &n, &with, &rival);

	if (r == 0 && with == (add ? n : 0) && !(add && rival))
		return 0;
	if (!add && (!given || fix_check_value(given, err) < 0))
		return fix_unable(err, "'%s' is not what the running kernel was given", word);
	if (rival && fix_check_value(rival, err) < 0)
		return fix_unable(err, "a boot entry has a word that is not understood");
	if (add)
		grubby(step, rival ? rival : "", word);
	else
		grubby(step, given, left);
	return 0;
}

/* /etc/kernel/cmdline */

static int change_kernel_cmdline(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	rd_auto_free char *before = NULL, *after = NULL;
	rd_auto_strv struct rd_strv kernels = RD_STRV_INIT;
	int r = fix_read(sr, &before, KERNEL_CMDLINE, err);

	if (r < 0)
		return r;
	after = line_changed(before, word, add);
	if (!after)
		return 0;
	rd_step_write(step, KERNEL_CMDLINE, after, 0644);
	r = boot_kernels(step, sr, &kernels, err);
	for (size_t i = 0; i < kernels.n && r == 0; i++)
		r = boot_install(step, sr, kernels.v[i], rd_step_refresh, err);
	return r;
}

/* Boot entries, by hand */

/* The words of an entry's line, NULL where it has another key. */
static const char *words_of(const char *line, const char *key)
{
	line += strspn(line, " \t");
	if (!rd_str_has_prefix(line, key) || !strchr(" \t", line[strlen(key)]))
		return NULL;
	line += strlen(key);
	return line + strspn(line, " \t");
}

struct entry {
	const char *word;
	bool add, is_linux, had;
};

static bool look_at_line(const char *line, struct rd_strbuf *out, void *data)
{
	struct entry *e = data;
	const char *words = words_of(line, "options");

	(void)out;
	e->is_linux = e->is_linux || words_of(line, "linux");
	e->had = e->had || (words && has_word(words, e->word));
	return false;
}

/* An entry's lines of options are read as one. */
static bool change_line(const char *line, struct rd_strbuf *out, void *data)
{
	struct entry *e = data;
	const char *words = words_of(line, "options");
	rd_auto_free char *left = words ? text_less(words, e->word, e->add ? without_rival : without) : NULL;
	bool more = words && e->add && !e->had;

	if (!left && !more)
		return false;
	rd_strbuf_addf(out, "%.*s%s", (int)(words - line), line, left ? left : words);
	if (more)
		rd_strbuf_addf(out, " %s", e->word);
	e->had = true;
	return true;
}

static int change_entry(struct rd_step *step, struct rd_sysroot *sr, const char *path, struct entry *e, struct rd_error *err)
{
	int r = fix_edit(step, sr, path, look_at_line, e, err);

	/* The others start firmware's own programs and other systems. */
	if (r < 0 || !e->is_linux)
		return r;
	return fix_edit(step, sr, path, change_line, e, err);
}

static int change_entries(struct rd_step *step, struct rd_sysroot *sr, const struct rd_strv *files, const char *word, bool add,
                          struct rd_error *err)
{
	size_t with = 0;
	int r = 0;

	for (size_t i = 0; i < files->n && r == 0; i++) {
		struct entry e = { .word = word, .add = add };

		r = change_entry(step, sr, files->v[i], &e, err);
		with += e.is_linux && e.had;
	}
	if (r == 0 && add && !with)
		return fix_unable(err, "no boot entry has a line of options");
	return r;
}

int cmdline_change(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	rd_auto_strv struct rd_strv entries = RD_STRV_INIT;
	int r = fix_check_value(word, err);

	if (r < 0)
		return r;
	rd_step_describe(step, add ? "add %s to the kernel command line" : "take %s out of the kernel command line", word);
	if (rd_sysroot_exists(sr, "/run/ostree-booted") == 1)
		return fix_unable(err, "this system is an image: rpm-ostree kargs --%s=%s", add ? "append" : "delete", word);
	if (fix_has_program(sr, "grubby"))
		return change_by_grubby(step, sr, word, add, err);
	if (rd_sysroot_exists(sr, DEFAULT_GRUB) == 1)
		return change_grub(step, sr, word, add, err);
	if (rd_sysroot_exists(sr, KERNEL_CMDLINE) == 1)
		return change_kernel_cmdline(step, sr, word, add, err);
	if (boot_entries(sr, &entries) == 0 && entries.n)
		return change_entries(step, sr, &entries, word, add, err);
	return fix_unable(err, "no boot loader is known here: there is no grubby, %s, %s or boot entry", DEFAULT_GRUB,
	                  KERNEL_CMDLINE);
}
