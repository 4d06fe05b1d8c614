/*
 * The actions on the system's own configuration, each over a small tree: what it plans; that applied, it has no file left to
 * change; that undone, the tree is as it was.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define MANIFEST \
	"{ \"schema\": \"rocm-doctor/snapshot/1\", \"uname\": { \"release\": \"6.8.0-60-generic\", \"version\": \"#1\", " \
	"\"machine\": \"x86_64\" }, \"environment\": {}, \"nodes\": {} }"

/* Files that make a tree one of a distribution. */
#define DEBIAN \
	{ \
		"etc/os-release", "ID=ubuntu\nID_LIKE=debian\n" \
	}
#define FEDORA \
	{ \
		"etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n" \
	}

/* What a new file of ours begins with, as describe() shows it. */
#define NEW "+# Written by rocm-doctor fix; rocm-doctor undo takes it back.\n"

struct row {
	const char *action, *args[9];
	/* Paths without the first slash; a text "->X" is a link to X. */
	struct {
		const char *path, *text;
	} files[8];
	struct {
		const char *path, *value;
	} fact;
	/* As describe() tells them; NULL: refused, with @refusal in the reason and @errno_wanted. */
	const char *effects;
	unsigned flags; /* beside those of the action */
	int error;
	const char *refusal;
};

struct world {
	struct tree tree, state;
	struct rd_sysroot *sr;
	struct rd_fact *facts;
};

static void open_world(struct world *w, const struct row *row)
{
	tree_make(&w->tree);
	tree_make(&w->state);
	tree_file(&w->tree, "rocm-doctor-snapshot.json", MANIFEST);
	tree_file(&w->tree, "sys/module/drm/refcnt", "1\n");
	tree_file(&w->tree, "proc/version", "Linux\n");
	for (size_t i = 0; i < RD_ARRAY_SIZE(row->files) && row->files[i].path; i++) {
		if (rd_str_has_prefix(row->files[i].text, "->"))
			tree_link(&w->tree, row->files[i].path, row->files[i].text + 2);
		else
			tree_file(&w->tree, row->files[i].path, row->files[i].text);
	}
	assert_int_equal(rd_sysroot_open(w->tree.dir, &w->sr, NULL), 0);
	w->facts = rd_facts_new();
	if (row->fact.path)
		rd_fact_set_str(w->facts, row->fact.path, row->fact.value, "test");
}

static void close_world(struct world *w)
{
	rd_sysroot_free(w->sr);
	rd_fact_free(w->facts);
	tree_remove(&w->tree);
	tree_remove(&w->state);
}

/* What a tree is, but for times. */
static char *picture(const struct world *w)
{
	rd_auto_free char *command = rd_xasprintf("cd %s && find . -type f -printf '%%p %%m\\n' -exec cat {} \\; -o "
	                                          "-printf '%%p %%y %%m %%l\\n' | sort",
	                                          w->tree.dir);
	FILE *p = popen(command, "re");
	char *text = NULL;
	size_t allocated = 0;

	assert_non_null(p);
	if (getdelim(&text, &allocated, '\0', p) < 0)
		text = rd_xstrdup("");
	pclose(p);
	return text;
}

static void add_command(struct rd_strbuf *sb, const char *mark, char *const argv[])
{
	rd_strbuf_add(sb, mark);
	for (size_t i = 0; argv[i]; i++)
		rd_strbuf_addf(sb, " %s", argv[i]);
	rd_strbuf_addc(sb, '\n');
}

/* The lines that a diff changes. */
static void add_changes(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_free char *diff = rd_diff(e->path, e->before, e->after);
	char *rest = diff, *line;

	rd_strbuf_addf(sb, "%s%s\n", e->path, e->after ? "" : " removed");
	while (e->after && (line = rd_str_next_line(&rest)))
		if ((*line == '+' || *line == '-' || *line == '\\') && !rd_str_has_prefix(line, "---") &&
		    !rd_str_has_prefix(line, "+++"))
			rd_strbuf_addf(sb, "%s\n", line);
}

static char *describe(const struct rd_step *step)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];

		if (e->kind == RD_EFFECT_WRITE)
			add_changes(&sb, e);
		else if (e->path)
			rd_strbuf_addf(&sb, "%s %s%s\n", e->path, e->kind == RD_EFFECT_LINK ? "-> " : "= ",
			               e->after ? e->after : "none");
		else
			add_command(&sb, e->kind == RD_EFFECT_RUN ? "$" : "*", e->argv);
		if (e->undo)
			add_command(&sb, "<", e->undo);
	}
	return rd_strbuf_detach(&sb);
}

static struct rd_plan *plan_of(struct world *w, const struct row *row)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct rd_error err = RD_ERROR_INIT;
	int r;

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = rd_step_new(rd_action_find(row->action), row->args, w->facts);
	plan->n = plan->allocated = plan->reboot_at = 1;
	r = rd_step_lower(plan->steps[0], w->sr, &err);
	if (r < 0)
		print_message("%s: %s\n", row->action, err.message ? err.message : rd_strerror(r));
	assert_int_equal(r, 0);
	return plan;
}

static void hold(const struct row *row)
{
	rd_auto_free char *before = NULL, *after = NULL, *effects = NULL;
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	struct rd_plan *plan, *again;
	struct world w;
	unsigned flags;

	open_world(&w, row);
	before = picture(&w);
	plan = plan_of(&w, row);
	effects = describe(plan->steps[0]);
	assert_string_equal(effects, row->effects);
	flags = plan->steps[0]->action->flags | row->flags;
	assert_int_equal(plan->steps[0]->flags, flags);

	assert_int_equal(rd_transaction_begin(w.state.dir, plan, w.sr, &tx, &err), 0);
	assert_int_equal(rd_plan_apply(tx, w.sr, NULL, &err), 0);
	again = plan_of(&w, row);
	for (size_t i = 0; i < again->steps[0]->effects_n; i++)
		assert_null(again->steps[0]->effects[i].path);
	rd_plan_free(again);

	assert_int_equal(rd_transaction_undo(tx, w.sr, false, NULL, &err), 0);
	after = picture(&w);
	assert_string_equal(before, after);
	rd_transaction_close(tx);
	close_world(&w);
}

static void hold_all(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hold(&rows[i]);
}

static void refuse_all(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct world w;
		struct rd_step *step;

		open_world(&w, &rows[i]);
		step = rd_step_new(rd_action_find(rows[i].action), rows[i].args, w.facts);
		if (rd_step_lower(step, w.sr, &err) != rows[i].error ||
		    (rows[i].refusal && !strstr(err.message, rows[i].refusal)))
			fail_msg("%s %s: %s", rows[i].action, rows[i].args[1], err.message ? err.message : "not refused");
		rd_error_clear(&err);
		rd_step_free(step);
		close_world(&w);
	}
}

#define HOLD(rows) hold_all(rows, RD_ARRAY_SIZE(rows))
#define REFUSE(rows) refuse_all(rows, RD_ARRAY_SIZE(rows))
#define D "/etc/modprobe.d/"

static void a_blacklisted_module_loads_again(void **state)
{
	static const struct row rows[] = {
		{ "modprobe.unblacklist",
		  { "file", D "a.conf", "module", "amdgpu" },
		  { { "etc/modprobe.d/a.conf", "# ours\n blacklist  amdgpu # no\nblacklist nouveau\nblacklist amdgpu" } },
		  .effects = D "a.conf\n- blacklist  amdgpu # no\n+# rocm-doctor:  blacklist  amdgpu # no\n"
		               "-blacklist amdgpu\n\\ No newline at end of file\n"
		               "+# rocm-doctor: blacklist amdgpu\n\\ No newline at end of file\n" },
		/* A continued line, and a name with the other hyphen. */
		{ "modprobe.unblacklist",
		  { "file", D "a.conf", "module", "snd_hda" },
		  { { "etc/modprobe.d/a.conf", "blacklist \\\n  snd-hda\n" } },
		  .effects = D "a.conf\n-blacklist \\\n+# rocm-doctor: blacklist \\\n" },
		/* What a package brought is hidden by a file of that name. */
		{ "modprobe.unblacklist",
		  { "file", "/usr/lib/modprobe.d/p.conf", "module", "amdgpu" },
		  { { "usr/lib/modprobe.d/p.conf", "blacklist amdgpu\n" } },
		  .effects = D "p.conf\n+# rocm-doctor: blacklist amdgpu\n" },
		{ "modprobe.remove-install",
		  { "file", D "a.conf", "module", "amdgpu" },
		  { { "etc/modprobe.d/a.conf",
		      "install amdgpu /bin/true\nalias amdgpu off\nalias amdgpu gpu\ninstall drm x\n" } },
		  .effects = D "a.conf\n-install amdgpu /bin/true\n-alias amdgpu off\n"
		               "+# rocm-doctor: install amdgpu /bin/true\n+# rocm-doctor: alias amdgpu off\n" },
		{ "modprobe.remove-option",
		  { "module", "amdgpu", "parameter", "modeset" },
		  { { "etc/modprobe.d/a.conf", "options amdgpu modeset=0 gttsize=1\noptions amdgpu modeset=0\n" } },
		  .effects = D "a.conf\n-options amdgpu modeset=0 gttsize=1\n-options amdgpu modeset=0\n"
		               "+# rocm-doctor: options amdgpu modeset=0 gttsize=1\n+options amdgpu gttsize=1\n"
		               "+# rocm-doctor: options amdgpu modeset=0\n" },
		{ "modprobe.options",
		  { "module", "ttm", "parameter", "pages_limit", "value", "100" },
		  .effects = D "zz-rocm-doctor.conf\n" NEW "+options ttm pages_limit=100\n" },
	};

	(void)state;
	HOLD(rows);
}

static void a_module_is_loaded_now_at_boot_or_late(void **state)
{
	static const struct row rows[] = {
		{ "modprobe.load", { "module", "amdgpu" }, .effects = "$ modprobe amdgpu\n< modprobe -r amdgpu\n" },
		{ "modprobe.load", { "module", "drm" }, .effects = "" },
		{ "modules-load.enable",
		  { "module", "amdgpu" },
		  .effects = "/etc/modules-load.d/rocm-doctor-amdgpu.conf\n" NEW "+amdgpu\n" },
		{ "modules-load.enable",
		  { "module", "amdgpu" },
		  { { "usr/lib/modules-load.d/x.conf", "# x\n amdgpu \n" } },
		  .effects = "" },
		{ "modprobe.load-late",
		  { "module", "amdgpu" },
		  { DEBIAN, { "etc/systemd/system/", "" } },
		  .effects = D "rocm-doctor-amdgpu-late.conf\n" NEW "+blacklist amdgpu\n"
		               "/etc/systemd/system/rocm-doctor-amdgpu-late.service\n" NEW "+[Unit]\n"
		               "+Description=Load amdgpu when the system is up\n+After=basic.target\n+\n+[Service]\n"
		               "+Type=oneshot\n+RemainAfterExit=yes\n+ExecStart=/sbin/modprobe amdgpu\n+\n+[Install]\n"
		               "+WantedBy=multi-user.target\n"
		               "/etc/systemd/system/multi-user.target.wants/rocm-doctor-amdgpu-late.service -> "
		               "/etc/systemd/system/rocm-doctor-amdgpu-late.service\n* systemctl daemon-reload\n" },
	};

	(void)state;
	HOLD(rows);
}

#define GRUB "etc/default/grub"

static void words_of_the_kernel_command_line_come_and_go(void **state)
{
	static const struct row rows[] = {
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX=\"\"\n" } },
		  .effects = "/etc/default/grub.d/zz-rocm-doctor.cfg\n" NEW
		             "+GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX iommu=pt\"\n* update-grub\n" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX='quiet iommu=pt'\n" } },
		  .effects = "" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { { "usr/sbin/grub2-mkconfig", "" }, { "bin/sh", "" }, { GRUB, "GRUB_CMDLINE_LINUX=\"\"" } },
		  .effects = "/etc/default/grub\n-GRUB_CMDLINE_LINUX=\"\"\n\\ No newline at end of file\n"
		             "+GRUB_CMDLINE_LINUX=\"\"\n+GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX iommu=pt\"\n"
		             "* grub2-mkconfig -o /boot/grub2/grub.cfg\n" },
		{ "kernel-cmdline.remove",
		  { "word", "nomodeset" },
		  { DEBIAN,
		    { GRUB, "GRUB_CMDLINE_LINUX_DEFAULT=\"nomodeset quiet\" # x\nGRUB_CMDLINE_LINUX=nomodeset\n" },
		    { "etc/default/grub.d/a.cfg", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nomodeset\"\n" } },
		  .effects = "/etc/default/grub\n-GRUB_CMDLINE_LINUX_DEFAULT=\"nomodeset quiet\" # x\n"
		             "-GRUB_CMDLINE_LINUX=nomodeset\n"
		             "+# rocm-doctor: GRUB_CMDLINE_LINUX_DEFAULT=\"nomodeset quiet\" # x\n"
		             "+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\" # x\n"
		             "+# rocm-doctor: GRUB_CMDLINE_LINUX=nomodeset\n+GRUB_CMDLINE_LINUX=\n"
		             "/etc/default/grub.d/a.cfg\n-GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nomodeset\"\n"
		             "+# rocm-doctor: GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nomodeset\"\n"
		             "+GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX\"\n* update-grub\n" },
		/* A list keeps its other items. */
		{ "kernel-cmdline.remove",
		  { "word", "modprobe.blacklist=amdgpu" },
		  { DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX=\"a modprobe.blacklist=nouveau,amdgpu,i915 b\"\n" } },
		  .effects = "/etc/default/grub\n-GRUB_CMDLINE_LINUX=\"a modprobe.blacklist=nouveau,amdgpu,i915 b\"\n"
		             "+# rocm-doctor: GRUB_CMDLINE_LINUX=\"a modprobe.blacklist=nouveau,amdgpu,i915 b\"\n"
		             "+GRUB_CMDLINE_LINUX=\"a modprobe.blacklist=nouveau,i915 b\"\n* update-grub\n" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { FEDORA, { "boot/loader/entries/a.conf", "options root=/dev/sda ro\n" } },
		  .effects = "$ grubby --update-kernel=ALL --args=iommu=pt\n"
		             "< grubby --update-kernel=ALL --remove-args=iommu=pt\n" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { FEDORA, { "boot/loader/entries/a.conf", "options root=/dev/sda ro iommu=pt\n" } },
		  .effects = "" },
		{ "kernel-cmdline.remove",
		  { "word", "nomodeset" },
		  { FEDORA, { "proc/cmdline", "root=/dev/sda nomodeset ro\n" } },
		  .effects = "$ grubby --update-kernel=ALL --remove-args=nomodeset\n"
		             "< grubby --update-kernel=ALL --args=nomodeset\n" },
		{ "kernel-cmdline.remove",
		  { "word", "modprobe.blacklist=amdgpu" },
		  { FEDORA, { "proc/cmdline", "modprobe.blacklist=amdgpu,nouveau ro\n" } },
		  .effects = "$ grubby --update-kernel=ALL --remove-args=modprobe.blacklist=amdgpu,nouveau "
		             "--args=modprobe.blacklist=nouveau\n"
		             "< grubby --update-kernel=ALL --remove-args=modprobe.blacklist=nouveau "
		             "--args=modprobe.blacklist=amdgpu,nouveau\n" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { { "usr/bin/kernel-install", "" },
		    { "usr/lib/modules/6.8.0-60-generic/vmlinuz", "" },
		    { "etc/kernel/cmdline", "root=/dev/sda ro\n" } },
		  .effects = "/etc/kernel/cmdline\n-root=/dev/sda ro\n+root=/dev/sda ro iommu=pt\n"
		             "* kernel-install add 6.8.0-60-generic /usr/lib/modules/6.8.0-60-generic/vmlinuz\n" },
		{ "kernel-cmdline.remove",
		  { "word", "nomodeset" },
		  { { "usr/bin/kernel-install", "" },
		    { "boot/vmlinuz-6.8.0-60-generic", "" },
		    { "etc/kernel/cmdline", "nomodeset ro\n" } },
		  .effects = "/etc/kernel/cmdline\n-nomodeset ro\n+ro\n"
		             "* kernel-install add 6.8.0-60-generic /boot/vmlinuz-6.8.0-60-generic\n" },
	};

	(void)state;
	HOLD(rows);
}

#define OLD "ttm.pages_limit=100"
#define LESS "ttm.pages_limit=200"

static void another_value_of_a_parameter_gives_way(void **state)
{
	static const struct row rows[] = {
		{ "kernel-cmdline.add",
		  { "word", LESS },
		  { DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet " OLD "\"\n" } },
		  .effects = "/etc/default/grub\n-GRUB_CMDLINE_LINUX_DEFAULT=\"quiet " OLD "\"\n"
		             "+# rocm-doctor: GRUB_CMDLINE_LINUX_DEFAULT=\"quiet " OLD "\"\n"
		             "+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
		             "/etc/default/grub.d/zz-rocm-doctor.cfg\n" NEW "+GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX " LESS
		             "\"\n* update-grub\n" },
		{ "kernel-cmdline.add",
		  { "word", LESS },
		  { FEDORA, { "boot/loader/entries/a.conf", "options ro " OLD " quiet\n" } },
		  .effects = "$ grubby --update-kernel=ALL --remove-args=" OLD " --args=" LESS "\n"
		             "< grubby --update-kernel=ALL --remove-args=" LESS " --args=" OLD "\n" },
		{ "kernel-cmdline.add",
		  { "word", LESS },
		  { { "usr/bin/kernel-install", "" },
		    { "boot/vmlinuz-6.8.0-60-generic", "" },
		    { "etc/kernel/cmdline", OLD " ro\n" } },
		  .effects = "/etc/kernel/cmdline\n-" OLD " ro\n+ro " LESS "\n"
		             "* kernel-install add 6.8.0-60-generic /boot/vmlinuz-6.8.0-60-generic\n" },
		{ "kernel-cmdline.add",
		  { "word", LESS },
		  { { "boot/loader/entries/a.conf", "linux /l\noptions " OLD " ro\noptions quiet\n" } },
		  .effects = "/boot/loader/entries/a.conf\n-options " OLD " ro\n+options ro " LESS "\n" },
	};

	(void)state;
	HOLD(rows);
}

static void boot_entries_that_nothing_makes_are_edited(void **state)
{
	static const struct row rows[] = {
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { { "boot/loader/entries/arch.conf", "title Arch\nlinux /vmlinuz-linux\noptions root=LABEL=x rw" },
		    { "boot/loader/entries/memtest.conf", "title Memtest\nefi /memtest.efi\noptions x\n" },
		    { "efi/loader/entries/b.conf", "linux\t/b\noptions\tiommu=pt\noptions\trw\n" } },
		  .effects = "/boot/loader/entries/arch.conf\n-options root=LABEL=x rw\n\\ No newline at end of file\n"
		             "+options root=LABEL=x rw iommu=pt\n\\ No newline at end of file\n" },
		{ "kernel-cmdline.remove",
		  { "word", "nomodeset" },
		  { { "boot/efi/loader/entries/a.conf", "linux /a\noptions nomodeset quiet\noptions rw nomodeset\n" },
		    { "boot/efi/loader/entries/b.conf", "linux /b\noptions quiet xnomodeset\n" } },
		  .effects = "/boot/efi/loader/entries/a.conf\n-options nomodeset quiet\n-options rw nomodeset\n"
		             "+options quiet\n+options rw\n" },
	};
	static const struct row bad[] = {
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { { "boot/loader/entries/a.conf", "title Memtest\nefi /memtest.efi\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "no boot entry has a line of options" },
	};

	(void)state;
	HOLD(rows);
	REFUSE(bad);
}

static void a_command_line_of_which_nobody_knows_is_left_to_a_person(void **state)
{
	static const struct row rows[] = {
		{ "kernel-cmdline.add", { "word", "iommu=pt" }, .error = -EOPNOTSUPP, .refusal = "no boot loader" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { FEDORA, { "run/ostree-booted", "" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "rpm-ostree kargs --append=iommu=pt" },
		{ "kernel-cmdline.remove",
		  { "word", "nomodeset" },
		  { DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX=\"xnomodeset\"\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "stands in none of GRUB's settings" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { { "bin/sh", "" }, DEBIAN, { GRUB, "GRUB_CMDLINE_LINUX=\"\"\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "no update-grub" },
		{ "kernel-cmdline.add",
		  { "word", "iommu=pt" },
		  { DEBIAN, { GRUB, "->grub.real" }, { "etc/default/grub.real", "GRUB_CMDLINE_LINUX=\"\"\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "leads to '/etc/default/grub.real' by a link" },
	};

	(void)state;
	REFUSE(rows);
}

static void the_initramfs_of_the_kernels_that_matter_is_built_anew(void **state)
{
	static const struct row rows[] = {
		{ "initramfs.rebuild",
		  { NULL },
		  { DEBIAN, { "boot/initrd.img-6.8.0-60-generic", "" } },
		  .effects = "* update-initramfs -u -k 6.8.0-60-generic\n" },
		{ "initramfs.rebuild",
		  { NULL },
		  { DEBIAN, { "boot/initrd.img-6.8.0-60-generic", "" }, { "boot/initrd.img-6.8.0-62-generic", "" } },
		  .fact = { "kernel.newest", "6.8.0-62-generic" },
		  .effects = "* update-initramfs -u -k 6.8.0-60-generic\n* update-initramfs -u -k 6.8.0-62-generic\n" },
		{ "initramfs.rebuild",
		  { NULL },
		  { FEDORA, { "boot/initramfs-6.8.0-60-generic.img", "" } },
		  .effects = "* dracut --force /boot/initramfs-6.8.0-60-generic.img 6.8.0-60-generic\n" },
		/* kernel-install makes the copy that is booted, and has the generators make what it copies. */
		{ "initramfs.rebuild",
		  { NULL },
		  { { "usr/bin/kernel-install", "" },
		    { "usr/bin/dracut", "" },
		    { "usr/lib/modules/6.8.0-60-generic/vmlinuz", "" },
		    { "efi/0123456789abcdef/6.8.0-60-generic/linux", "" },
		    { "boot/initrd.img-6.8.0-60-generic", "" } },
		  .effects = "* kernel-install add 6.8.0-60-generic /usr/lib/modules/6.8.0-60-generic/vmlinuz\n" },
		{ "initramfs.rebuild",
		  { NULL },
		  { { "usr/bin/kernel-install", "" },
		    { "boot/vmlinuz-6.8.0-60-generic", "" },
		    { "boot/efi/EFI/Linux/0123456789abcdef-6.8.0-60-generic.efi", "" } },
		  .effects = "* kernel-install add 6.8.0-60-generic /boot/vmlinuz-6.8.0-60-generic\n" },
		{ "initramfs.rebuild",
		  { NULL },
		  { { "usr/bin/mkinitcpio", "" }, { "etc/mkinitcpio.d/linux.preset", "" } },
		  .effects = "* mkinitcpio -P\n" },
		{ "initramfs.rebuild", { NULL }, { DEBIAN, { "boot/vmlinuz", "" } }, .effects = "" },
	};

	(void)state;
	HOLD(rows);
}

static void users_join_the_groups_that_they_are_not_in(void **state)
{
	static const struct row rows[] = {
		{ "group.add-member",
		  { "user", "ann", "groups", "render,video" },
		  { { "etc/passwd", "ann:x:1000:1000::/home/ann:/bin/bash\n" },
		    { "etc/group", "render:x:992:\nvideo:x:44:bob,ann\n" } },
		  .effects = "$ gpasswd -a ann render\n< gpasswd -d ann render\n",
		  .flags = RD_ACTION_LOGIN },
		/* A service has them from its next start; a primary group counts as well. */
		{ "group.add-member",
		  { "user", "ollama", "groups", "render,video", "service", "ollama.service" },
		  { { "etc/passwd", "ollama:x:998:44::/:/bin/false\n" }, { "etc/group", "render:x:992:x\nvideo:x:44:\n" } },
		  .effects = "$ gpasswd -a ollama render\n< gpasswd -d ollama render\n" },
		{ "service.restart", { "unit", "ollama" }, { DEBIAN }, .effects = "* systemctl try-restart ollama.service\n" },
	};
	static const struct row bad[] = {
		{ "group.add-member",
		  { "user", "ann", "groups", "render" },
		  { { "etc/group", "video:x:44:\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "group 'render' is not in /etc/group" },
		{ "service.restart",
		  { "unit", "ollama" },
		  .error = -EOPNOTSUPP,
		  .refusal = "restart ollama.service where it runs" },
	};

	(void)state;
	HOLD(rows);
	REFUSE(bad);
}

#define UDEVADM "* udevadm trigger --subsystem-match=kfd --subsystem-match=drm\n* udevadm settle\n"

static void nodes_get_owner_and_mode_from_udev(void **state)
{
	static const struct row rows[] = {
		{ "udev.rule",
		  { "group", "render", "mode", "0660" },
		  { FEDORA, { "etc/group", "root:x:0:\nrender:x:992:\n" } },
		  .effects = "/etc/udev/rules.d/99-rocm-doctor-amdgpu.rules\n" NEW
		             "+KERNEL==\"kfd\", GROUP=\"render\", MODE=\"0660\"\n"
		             "+SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", GROUP=\"render\", MODE=\"0660\"\n"
		             "* udevadm control --reload\n" UDEVADM },
		{ "udev.trigger", { NULL }, { DEBIAN }, .effects = UDEVADM },
		{ "device.make-node",
		  { "path", "/dev/kfd" },
		  { { "sys/class/kfd/kfd/dev", "241:0\n" }, { "dev/null", "" } },
		  .effects = "$ mknod -m 0660 /dev/kfd c 241 0\n< rm -f /dev/kfd\n" },
		{ "device.make-node",
		  { "path", "/dev/dri/renderD129" },
		  { { "sys/class/drm/renderD129/dev", "226:129\n" } },
		  .effects = "$ mknod -m 0660 /dev/dri/renderD129 c 226 129\n< rm -f /dev/dri/renderD129\n" },
	};
	static const struct row bad[] = {
		{ "udev.rule",
		  { "group", "render", "mode", "0660" },
		  { { "etc/group", "xrender:x:1:\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "no group 'render'" },
		{ "udev.rule", { "group", "render", "mode", "0777" }, .error = -EINVAL },
		{ "udev.rule",
		  { "group", "render", "mode", "0660" },
		  { { "etc/group", "render:x:1:\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "udevd does not run here" },
		{ "udev.trigger", { NULL }, .error = -EOPNOTSUPP, .refusal = "udevd does not run here" },
		{ "device.make-node", { "path", "/dev/sda" }, .error = -EINVAL },
		{ "device.make-node", { "path", "/dev/dri/renderD128/../sda" }, .error = -EINVAL },
		{ "device.make-node", { "path", "/dev/kfd" }, .error = -EOPNOTSUPP, .refusal = "has no device" },
		{ "device.make-node",
		  { "path", "/dev/kfd" },
		  { { "sys/class/kfd/kfd/dev", "241:0; rm" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "two numbers" },
	};

	(void)state;
	HOLD(rows);
	REFUSE(bad);
}

static void the_loader_and_alternatives_lead_to_rocm(void **state)
{
	static const struct row rows[] = {
		{ "ldconfig.add",
		  { "folder", "/opt/rocm-6.4.1/lib" },
		  .effects = "/etc/ld.so.conf.d/rocm-doctor.conf\n" NEW "+/opt/rocm-6.4.1/lib\n* ldconfig\n" },
		{ "ldconfig.add",
		  { "folder", "/opt/rocm/lib" },
		  { { "etc/ld.so.conf.d/x.conf", "/opt/rocm/lib64\n/opt/rocm/lib" } },
		  .effects = "" },
		{ "alternatives.set",
		  { "name", "rocm", "link", "/opt/rocm", "path", "/opt/rocm-6.4.1" },
		  { DEBIAN },
		  .effects = "$ update-alternatives --install /opt/rocm rocm /opt/rocm-6.4.1 100\n"
		             "< update-alternatives --remove rocm /opt/rocm-6.4.1\n" },
		{ "alternatives.set",
		  { "name", "rocm", "link", "/opt/rocm", "path", "/opt/rocm-6.4.1" },
		  { DEBIAN,
		    { "var/lib/dpkg/alternatives/rocm",
		      "manual\n/opt/rocm\n\n/opt/rocm-6.2.0\n60200\n/opt/rocm-6.4.1\n60401\n" },
		    { "etc/alternatives/rocm", "->/opt/rocm-6.2.0" } },
		  .effects = "$ update-alternatives --set rocm /opt/rocm-6.4.1\n< update-alternatives --set rocm "
		             "/opt/rocm-6.2.0\n" },
		{ "alternatives.set",
		  { "name", "rocm", "link", "/opt/rocm", "path", "/opt/rocm-6.4.1" },
		  { FEDORA, { "etc/alternatives/rocm", "->/opt/rocm-6.4.1" } },
		  .effects = "" },
		{ "link.repair",
		  { "path", "/opt/rocm", "target", "/opt/rocm-6.4.1" },
		  { { "opt/rocm", "->/opt/rocm-6.2.0" }, { "opt/rocm-6.4.1/", "" } },
		  .effects = "/opt/rocm -> /opt/rocm-6.4.1\n" },
		{ "file.remove",
		  { "path", "/etc/OpenCL/vendors/a.icd" },
		  { { "etc/OpenCL/vendors/a.icd", "/gone.so\n" } },
		  .effects = "/etc/OpenCL/vendors/a.icd removed\n" },
		{ "file.remove",
		  { "path", "/etc/OpenCL/vendors/a.icd" },
		  { { "etc/OpenCL/vendors/a.icd", "->/gone.icd" } },
		  .effects = "/etc/OpenCL/vendors/a.icd -> none\n" },
		{ "file.remove", { "path", "/etc/OpenCL/vendors/a.icd" }, .effects = "" },
	};
	static const struct row bad[] = {
		{ "alternatives.set",
		  { "name", "rocm", "link", "/opt/rocm", "path", "/opt/rocm-6.4.1" },
		  .error = -EOPNOTSUPP,
		  .refusal = "no update-alternatives" },
		{ "link.repair",
		  { "path", "/opt/rocm", "target", "/opt/rocm-6.4.1" },
		  { { "opt/rocm/", "" }, { "opt/rocm-6.4.1/", "" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "is no symbolic link" },
		{ "link.repair",
		  { "path", "/opt/rocm", "target", "/opt/x" },
		  .error = -EOPNOTSUPP,
		  .refusal = "not there either" },
		{ "file.remove", { "path", "/home/x" }, .error = -EINVAL },
		{ "file.remove", { "path", "/etc/../home/x" }, .error = -EINVAL },
	};

	(void)state;
	HOLD(rows);
	REFUSE(bad);
}

#define PROFILE "etc/profile.d/rocm.sh"

static void variables_are_changed_where_they_are_set(void **state)
{
	static const struct row rows[] = {
		{ "environment.unset",
		  { "name", "HSA_OVERRIDE_GFX_VERSION" },
		  { { "etc/environment", "PATH=/bin\nHSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\n" },
		    { PROFILE, "if true; then\n  export HSA_OVERRIDE_GFX_VERSION=10.3.0 # rx\nfi\n"
		               "HSA_OVERRIDE_GFX_VERSION=9; export HSA_OVERRIDE_GFX_VERSION\n#HSA_OVERRIDE_GFX_VERSION=1\n" } },
		  .effects = "/etc/environment\n-HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\n"
		             "+# rocm-doctor: HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\n"
		             "/etc/profile.d/rocm.sh\n-  export HSA_OVERRIDE_GFX_VERSION=10.3.0 # rx\n"
		             "+: # rocm-doctor:   export HSA_OVERRIDE_GFX_VERSION=10.3.0 # rx\n"
		             "-HSA_OVERRIDE_GFX_VERSION=9; export HSA_OVERRIDE_GFX_VERSION\n"
		             "+: # rocm-doctor: HSA_OVERRIDE_GFX_VERSION=9; export HSA_OVERRIDE_GFX_VERSION\n",
		  .flags = RD_ACTION_LOGIN },
		{ "environment.set",
		  { "name", "HSA_OVERRIDE_GFX_VERSION", "value", "10.3.0" },
		  { { PROFILE, "export HSA_OVERRIDE_GFX_VERSION='gfx1030' # rx\n" } },
		  .effects = "/etc/profile.d/rocm.sh\n-export HSA_OVERRIDE_GFX_VERSION='gfx1030' # rx\n"
		             "+# rocm-doctor: export HSA_OVERRIDE_GFX_VERSION='gfx1030' # rx\n"
		             "+export HSA_OVERRIDE_GFX_VERSION=10.3.0 # rx\n",
		  .flags = RD_ACTION_LOGIN },
		{ "environment.set",
		  { "name", "ROCR_VISIBLE_DEVICES", "value", "GPU-2ddbe2ef004b915d,1" },
		  .effects = "/etc/profile.d/zz-rocm-doctor.sh\n" NEW "+export ROCR_VISIBLE_DEVICES=GPU-2ddbe2ef004b915d,1\n"
		             "/etc/environment.d/zz-rocm-doctor.conf\n" NEW "+ROCR_VISIBLE_DEVICES=GPU-2ddbe2ef004b915d,1\n",
		  .flags = RD_ACTION_LOGIN },
		{ "environment.append-path",
		  { "name", "PATH", "path", "/opt/rocm/bin" },
		  .effects = "/etc/profile.d/zz-rocm-doctor.sh\n" NEW "+export PATH=\"$PATH:/opt/rocm/bin\"\n",
		  .flags = RD_ACTION_LOGIN },
		{ "systemd.environment",
		  { "unit", "ollama.service", "name", "HSA_OVERRIDE_GFX_VERSION", "value", "10.3.0" },
		  { DEBIAN },
		  .effects = "/etc/systemd/system/ollama.service.d/rocm-doctor-environment.conf\n" NEW
		             "+[Service]\n+Environment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n* systemctl daemon-reload\n" },
		{ "systemd.order",
		  { "unit", "ollama", "after", "systemd-modules-load" },
		  .effects = "/etc/systemd/system/ollama.service.d/rocm-doctor-order.conf\n" NEW
		             "+[Unit]\n+After=systemd-modules-load.service\n" },
	};

	(void)state;
	HOLD(rows);
}

static void a_folder_is_taken_out_of_a_list(void **state)
{
	static const struct {
		const char *before, *after, *path;
	} rows[] = {
		{ "/old/lib:/b", "/b", "/old/lib" },
		{ "\"/b:/old/lib/:$LD_LIBRARY_PATH\"", "\"/b:$LD_LIBRARY_PATH\"", "/old/lib" },
		{ "/b:/old/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}", "/b:$LD_LIBRARY_PATH", "/old/lib" },
		{ "/opt/rocm/lib:/b:/opt/rocm-6.2.0/lib64", "/b", "/opt/rocm*" },
		/* Nothing but itself is left: the line has no use. */
		{ "/old/lib:$LD_LIBRARY_PATH", NULL, "/old/lib" },
		{ "\"/old/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"", NULL, "/old/lib/" },
		{ "/old/lib", NULL, "/old/lib" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		rd_auto_free char *line = rd_xasprintf("export LD_LIBRARY_PATH=%s", rows[i].before);
		rd_auto_free char *text = rd_xasprintf("# x\n%s\n", line);
		rd_auto_free char *effects =
			rows[i].after
				? rd_xasprintf("/etc/profile.d/rocm.sh\n-%s\n+# rocm-doctor: %s\n+export LD_LIBRARY_PATH=%s\n",
		                               line, line, rows[i].after)
				: rd_xasprintf("/etc/profile.d/rocm.sh\n-%s\n+: # rocm-doctor: %s\n", line, line);
		struct row row = { "environment.remove-path",
			           { "name", "LD_LIBRARY_PATH", "path", rows[i].path },
			           { { PROFILE, text } },
			           .effects = effects,
			           .flags = RD_ACTION_LOGIN };

		hold(&row);
	}
}

static void what_is_not_the_systems_to_change_is_told(void **state)
{
	static const struct row rows[] = {
		{ "environment.unset",
		  { "name", "HSA_X" },
		  { { "home/ann/.bashrc", "# x\nexport HSA_X=1\n" } },
		  .fact = { "host.disk.home.path", "/home/ann" },
		  .error = -EOPNOTSUPP,
		  .refusal = "'/home/ann/.bashrc', line 2, sets HSA_X" },
		{ "environment.unset",
		  { "name", "HSA_X" },
		  .error = -EOPNOTSUPP,
		  .refusal = "no file of the system sets HSA_X" },
		{ "environment.unset",
		  { "name", "HSA_X" },
		  { { PROFILE, "export A=1\nHSA_X=1 B=2 program\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "'/etc/profile.d/rocm.sh', line 2, sets HSA_X in a way" },
		{ "environment.unset",
		  { "name", "HSA_X" },
		  { { PROFILE, "HSA_X=$(id)\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "a way" },
		{ "environment.unset",
		  { "name", "HSA_X" },
		  { { PROFILE, "HSA_X='a\nb'\n" } },
		  .error = -EOPNOTSUPP,
		  .refusal = "a way" },
		{ "systemd.environment",
		  { "unit", "a", "name", "A", "value", "50%" },
		  .error = -EOPNOTSUPP,
		  .refusal = "holds a %" },
	};

	(void)state;
	REFUSE(rows);
}

static void settings_of_kernel_and_logins_last(void **state)
{
	static const struct row rows[] = {
		{ "sysctl.set",
		  { "name", "kernel.numa_balancing", "value", "0" },
		  { { "proc/sys/kernel/numa_balancing", "1\n" } },
		  .effects = "/etc/sysctl.d/zz-rocm-doctor.conf\n" NEW "+kernel.numa_balancing = 0\n"
		             "/proc/sys/kernel/numa_balancing = 0\n" },
		{ "limits.set",
		  { "item", "memlock", "value", "unlimited" },
		  .effects = "/etc/security/limits.d/zz-rocm-doctor.conf\n" NEW
		             "+* - memlock unlimited\n+root - memlock unlimited\n" },
		{ "gpu.perf-level",
		  { "address", "0000:03:00.0", "level", "auto" },
		  { { "sys/bus/pci/devices/0000:03:00.0/power_dpm_force_performance_level", "low\n" } },
		  .effects = "/sys/bus/pci/devices/0000:03:00.0/power_dpm_force_performance_level = auto\n" },
		{ "gpu.power-cap",
		  { "address", "0000:03:00.0" },
		  { { "sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon3/power1_cap", "200000000\n" },
		    { "sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon3/power1_cap_default", "300000000\n" } },
		  .effects = "/sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon3/power1_cap = 300000000\n" },
		{ "dkms.rebuild",
		  { "module", "amdgpu", "version", "6.12.12-2164967.24.04", "kernel", "6.8.0-60-generic" },
		  { { "usr/sbin/dkms", "" }, { "sys/module/amdgpu/refcnt", "1\n" } },
		  .effects = "$ dkms install amdgpu/6.12.12-2164967.24.04 -k 6.8.0-60-generic\n"
		             "< dkms uninstall amdgpu/6.12.12-2164967.24.04 -k 6.8.0-60-generic\n",
		  .flags = RD_ACTION_REBOOT },
		{ "dkms.rebuild",
		  { "module", "amdgpu", "version", "6.12.12", "kernel", "6.8.0-60-generic" },
		  { { "var/lib/dkms/amdgpu/kernel-6.8.0-60-generic-x86_64", "->6.12.12/6.8.0-60-generic/x86_64" } },
		  .effects = "" },
	};
	static const struct row bad[] = {
		{ "dkms.rebuild",
		  { "module", "amdgpu", "version", "1", "kernel", "6" },
		  .error = -EOPNOTSUPP,
		  .refusal = "there is no dkms" },
		{ "gpu.perf-level",
		  { "address", "0000:03:00.0", "level", "auto" },
		  .error = -EOPNOTSUPP,
		  .refusal = "no such setting" },
		{ "gpu.power-cap", { "address", "0000:03:00.0" }, .error = -EOPNOTSUPP, .refusal = "does not tell" },
		{ "gpu.perf-level", { "address", "0000:03:00.0", "level", "profile_peak" }, .error = -EINVAL },
		{ "gpu.perf-level", { "address", "../../x", "level", "auto" }, .error = -EINVAL },
		{ "gpu.power-cap", { "address", "0000:03:00.0/.." }, .error = -EINVAL },
		{ "sysctl.set", { "name", "kernel..x", "value", "0" }, .error = -EINVAL },
		{ "sysctl.set", { "name", "kernel/x", "value", "0" }, .error = -EINVAL },
		{ "sysctl.set", { "name", ".x", "value", "0" }, .error = -EINVAL },
	};

	(void)state;
	HOLD(rows);
	REFUSE(bad);
}

/* An argument of each name that is as it should be; NULL for names that no action of the system has. */
static const char *good_value(const char *name)
{
	static const char *const rows[][2] = {
		{ "module", "amdgpu" },
		{ "file", "/etc/modprobe.d/a.conf" },
		{ "parameter", "modeset" },
		{ "value", "1" },
		{ "word", "iommu=pt" },
		{ "user", "ann" },
		{ "groups", "render" },
		{ "service", "a" },
		{ "group", "render" },
		{ "mode", "0660" },
		{ "path", "/etc/x" },
		{ "folder", "/opt/x" },
		{ "name", "PATH" },
		{ "link", "/opt/rocm" },
		{ "version", "1" },
		{ "kernel", "6" },
		{ "unit", "a" },
		{ "after", "b" },
		{ "address", "0000:03:00.0" },
		{ "level", "auto" },
		{ "target", "/opt" },
		{ "item", "memlock" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++)
		if (rd_streq(rows[i][0], name))
			return rows[i][1];
	return NULL;
}

/* An action with one argument replaced; false: it has an argument of which good_value() does not know. */
static bool lower_with(struct world *w, const struct rd_action *action, size_t which, const char *word)
{
	const char *args[17] = { NULL };
	char names[8][32];
	struct rd_step *step;
	int r;

	for (size_t k = 0; action->args[k] && k < 8; k++) {
		snprintf(names[k], sizeof(names[k]), "%.*s", (int)strcspn(action->args[k], "?"), action->args[k]);
		args[2 * k] = names[k];
		args[2 * k + 1] = k == which ? word : good_value(names[k]);
		if (!good_value(names[k]))
			return false;
	}
	step = rd_step_new(action, args, w->facts);
	r = rd_step_lower(step, w->sr, NULL);
	/* A service is only there or not; in a value, dots and slashes lead nowhere. */
	if (r == 0 && step->effects_n && !rd_streq(args[2 * which], "service") &&
	    !(strstr(word, "../") && (rd_streq(args[2 * which], "value") || rd_streq(args[2 * which], "word"))))
		fail_msg("%s takes '%s' for its %s", action->name, word, args[2 * which]);
	rd_step_free(step);
	return true;
}

/* Everything that could be put where a name, a path or a value is wanted. */
static void hostile_words_are_refused(void **state)
{
	static const char *const words[] = { "",       "-rf",  "a b",   "a;b",   "$(id)",   "`id`",      "a\nb",     "a'b",
		                             "a\"b",   "a|b",  "a>b",   "a\\b",  "../../x", "%s\\n",     "\x1b[31m", "a&&b",
		                             "--help", "a\tb", "{a,b}", "$HOME", "/a/../b", "/a\n/etc/b" };
	static const struct row host = {
		.files = { DEBIAN,
		           { GRUB, "GRUB_CMDLINE_LINUX=\"\"\n" },
		           { "etc/modprobe.d/a.conf", "blacklist amdgpu\ninstall amdgpu x\noptions amdgpu modeset=0\n" },
		           { "etc/group", "render:x:1:\n" },
		           { "etc/x", "" },
		           { "usr/sbin/dkms", "" },
		           { "etc/profile.d/a.sh", "export PATH=/a\n" },
		           { "sys/bus/pci/devices/0000:03:00.0/power_dpm_force_performance_level", "low\n" } }
	};
	struct world w;
	size_t tried = 0;

	(void)state;
	open_world(&w, &host);
	for (size_t i = 0; i < rd_actions_n; i++)
		for (size_t k = 0; rd_actions[i]->args[k]; k++)
			for (size_t j = 0; j < RD_ARRAY_SIZE(words); j++)
				tried += lower_with(&w, rd_actions[i], k, words[j]);
	assert_true(tried > 500);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blacklisted_module_loads_again),
		cmocka_unit_test(a_module_is_loaded_now_at_boot_or_late),
		cmocka_unit_test(words_of_the_kernel_command_line_come_and_go),
		cmocka_unit_test(another_value_of_a_parameter_gives_way),
		cmocka_unit_test(boot_entries_that_nothing_makes_are_edited),
		cmocka_unit_test(a_command_line_of_which_nobody_knows_is_left_to_a_person),
		cmocka_unit_test(the_initramfs_of_the_kernels_that_matter_is_built_anew),
		cmocka_unit_test(users_join_the_groups_that_they_are_not_in),
		cmocka_unit_test(nodes_get_owner_and_mode_from_udev),
		cmocka_unit_test(the_loader_and_alternatives_lead_to_rocm),
		cmocka_unit_test(variables_are_changed_where_they_are_set),
		cmocka_unit_test(a_folder_is_taken_out_of_a_list),
		cmocka_unit_test(what_is_not_the_systems_to_change_is_told),
		cmocka_unit_test(settings_of_kernel_and_logins_last),
		cmocka_unit_test(hostile_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
