/*
 * Three ways, by what the host has:
 *
 *   grubby               Fedora, RHEL and their kin, where boot entries are files of their own
 *   /etc/default/grub    and grub.d beside it; then update-grub, or grub2-mkconfig
 *   /etc/kernel/cmdline  systemd-boot and unified images; then kernel-install
 */

#include "common-cmdline.h"

#include <errno.h>
#include <string.h>

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

/* Blanks, and the quotes around a setting's value. */
static const char between[] = " \t\n\"'";

/* A text of words with one taken out; what stands between the others stays. NULL where it is not there. Caller frees. */
static char *text_without(const char *text, const char *gone)
{
	struct rd_strbuf out = RD_STRBUF_INIT;
	bool found = false;

	while (*text) {
		size_t space = strspn(text, between), len = strcspn(text + space, between);
		rd_auto_free char *word = rd_xstrndup(text + space, len), *left = len ? without(word, gone) : NULL;

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
	rd_auto_free char *left = text_without(text, word);

	return left;
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
	bool take_out;
	size_t standing; /* settings that have the word */
	size_t gone;     /* those that had it before we took it out */
};

/* The old setting stays above the new one, as a comment. */
static bool judge_line(const char *line, struct rd_strbuf *out, void *data)
{
	struct grub *g = data;
	rd_auto_free char *left = NULL;

	if (rd_str_has_prefix(line, FIX_OFF) && is_cmdline_setting(line + strlen(FIX_OFF)))
		g->gone += has_word(strchr(line, '=') + 1, g->word);
	if (!is_cmdline_setting(line))
		return false;
	left = text_without(strchr(line, '=') + 1, g->word);
	g->standing += left != NULL;
	if (!left || !g->take_out)
		return false;
	rd_strbuf_addf(out, FIX_OFF "%s\n%.*s%s", line, (int)(strchr(line, '=') + 1 - line), line, left);
	return true;
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
	struct grub g = { .word = word, .take_out = !add };
	int r = judge_grub(step, sr, &g, err);

	if (r == 0 && add && !g.standing)
		r = add_to_grub(step, sr, word, err);
	if (r == 0 && !add && !g.standing && !g.gone)
		r = fix_unable(err, "'%s' stands in none of GRUB's settings below /etc/default", word);
	return r < 0 ? r : renew_grub(step, sr, err);
}

/* Boot entries, each a file */

/* How many entries there are, and how many have the word. 0; negative: they do not tell. */
static int entries_have(struct rd_sysroot *sr, const char *word, size_t *ret_n, size_t *ret_with)
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

static int change_entries(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	rd_auto_free char *given = add ? NULL : given_word(sr, word), *left = given ? without(given, word) : NULL;
	size_t n, with;
	int r = entries_have(sr, word, &n, &with);

	if (r == 0 && with == (add ? n : 0))
		return 0;
	if (!add && (!given || fix_check_value(given, err) < 0))
		return fix_unable(err, "'%s' is not what the running kernel was given", word);
	grubby(step, add ? "" : given, add ? word : left);
	return 0;
}

/* /etc/kernel/cmdline */

static int renew_entries(struct rd_step *step, struct rd_sysroot *sr, struct rd_error *err)
{
	rd_auto_free char *image = NULL;
	const struct rd_uname *un;

	if (!fix_has_program(sr, "kernel-install") || rd_sysroot_uname(sr, &un) < 0)
		return fix_unable(err, "no kernel-install is here");
	image = rd_xasprintf("/usr/lib/modules/%s/vmlinuz", un->release);
	if (rd_sysroot_exists(sr, image) != 1) {
		free(image);
		image = rd_xasprintf("/boot/vmlinuz-%s", un->release);
	}
	if (rd_sysroot_exists(sr, image) != 1)
		return fix_unable(err, "the image of the running kernel is not where it usually is");
	rd_step_refresh(step, (const char *const[]){ "kernel-install", "add", un->release, image, NULL });
	return 0;
}

static int change_kernel_cmdline(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	rd_auto_free char *before = NULL, *after = NULL;
	size_t len;
	int r = fix_read(sr, &before, KERNEL_CMDLINE, err);

	if (r < 0)
		return r;
	after = text_without(before, word);
	if (add == (after != NULL))
		return 0;
	if (add) {
		len = strcspn(before, "\n");
		after = rd_xasprintf("%.*s%s%s%s", (int)len, before, len ? " " : "", word, before + len);
	}
	rd_step_write(step, KERNEL_CMDLINE, after, 0644);
	return renew_entries(step, sr, err);
}

int cmdline_change(struct rd_step *step, struct rd_sysroot *sr, const char *word, bool add, struct rd_error *err)
{
	int r = fix_check_value(word, err);

	if (r < 0)
		return r;
	rd_step_describe(step, add ? "add %s to the kernel command line" : "take %s out of the kernel command line", word);
	if (rd_sysroot_exists(sr, "/run/ostree-booted") == 1)
		return fix_unable(err, "this system is an image: rpm-ostree kargs --%s=%s", add ? "append" : "delete", word);
	if (fix_has_program(sr, "grubby"))
		return change_entries(step, sr, word, add, err);
	if (rd_sysroot_exists(sr, DEFAULT_GRUB) == 1)
		return change_grub(step, sr, word, add, err);
	if (rd_sysroot_exists(sr, KERNEL_CMDLINE) == 1)
		return change_kernel_cmdline(step, sr, word, add, err);
	return fix_unable(err, "no boot loader is known here: there is no grubby, %s or %s", DEFAULT_GRUB, KERNEL_CMDLINE);
}
