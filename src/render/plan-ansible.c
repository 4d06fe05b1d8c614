/* A plan as an Ansible playbook, with modules of ansible.builtin only. */

#include <errno.h>
#include <string.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Ansible would take "{{ ... }}" in any text for an expression, and run it. */
static void put_text(struct rd_strbuf *sb, const char *text)
{
	if (strstr(text, "{{") || strstr(text, "{%") || strstr(text, "{#"))
		rd_strbuf_add(sb, "!unsafe ");
	rd_quote_json(sb, text);
}

static void key(struct rd_strbuf *sb, const char *indent, const char *name, const char *value)
{
	rd_strbuf_addf(sb, "%s%s: ", indent, name);
	put_text(sb, value);
	rd_strbuf_addc(sb, '\n');
}

static void put_name(struct rd_strbuf *sb, const struct rd_step *step)
{
	rd_auto_free char *name = rd_xstrdup(rd_step_words(step));

	/* As ansible-lint wants it. */
	if (*name >= 'a' && *name <= 'z')
		*name -= 'a' - 'A';
	key(sb, "    - ", "name", name);
}

/* Ansible would put variables, and a home folder for "~", into any argument. Releases before 2.16 cannot be told not to. */
static bool would_be_expanded(const char *const argv[])
{
	for (; *argv; argv++)
		if (strchr(*argv, '$') || **argv == '~')
			return true;
	return false;
}

/* What makes written files take effect does no harm when it runs again, and changes nothing then: a play run twice says so. */
static void put_argv(struct rd_strbuf *sb, const char *const argv[], bool changes)
{
	rd_strbuf_addf(sb, "      changed_when: %s\n", changes ? "true" : "false");
	rd_strbuf_add(sb, "      ansible.builtin.command:\n");
	if (would_be_expanded(argv))
		rd_strbuf_add(sb, "        expand_argument_vars: false\n");
	rd_strbuf_add(sb, "        argv:\n");
	for (size_t i = 0; argv[i]; i++) {
		rd_strbuf_add(sb, "          - ");
		put_text(sb, argv[i]);
		rd_strbuf_addc(sb, '\n');
	}
}

static void put_folder(struct rd_strbuf *sb, const struct rd_step *step, const struct rd_effect *e)
{
	rd_auto_free char *folder = rd_folder_of(e->path);

	put_name(sb, step);
	rd_strbuf_add(sb, "      ansible.builtin.file:\n");
	key(sb, "        ", "path", folder);
	rd_strbuf_add(sb, "        state: directory\n");
}

/* Without a mode, copy keeps that of what is there ("preserve" would be that of its own temporary file). */
static void put_write(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_strv struct rd_strv argv = RD_STRV_INIT;

	if (!rd_is_utf8(e->after)) {
		rd_content_argv(&argv, e);
		put_argv(sb, (const char *const *)argv.v, true);
		return;
	}
	rd_strbuf_add(sb, "      ansible.builtin.copy:\n");
	key(sb, "        ", "dest", e->path);
	key(sb, "        ", "content", e->after);
	if (!e->before)
		rd_strbuf_addf(sb, "        mode: \"%04o\"\n", e->mode ? e->mode : 0644);
}

static void put_file(struct rd_strbuf *sb, const struct rd_step *step, const struct rd_effect *e)
{
	if (e->after && !e->before)
		put_folder(sb, step, e);
	put_name(sb, step);
	if (e->after && e->kind == RD_EFFECT_WRITE) {
		put_write(sb, e);
		return;
	}
	rd_strbuf_add(sb, "      ansible.builtin.file:\n");
	key(sb, "        ", "path", e->path);
	if (e->after)
		key(sb, "        ", "src", e->after);
	rd_strbuf_add(sb, e->after ? "        state: link\n        force: true\n" : "        state: absent\n");
}

static void put_run(struct rd_strbuf *sb, const struct rd_step *step, const struct rd_effect *e)
{
	rd_auto_strv struct rd_strv argv = RD_STRV_INIT;

	put_name(sb, step);
	if (e->kind == RD_EFFECT_VALUE) {
		/* sysfs takes one write, which copy's rename cannot make. */
		put_argv(sb, (const char *const[]){ "tee", e->path, NULL }, true);
		key(sb, "        ", "stdin", e->after);
		return;
	}
	rd_owner_argv(&argv, e);
	put_argv(sb, (const char *const *)argv.v, e->kind == RD_EFFECT_RUN);
}

static void put_effect(struct rd_strbuf *sb, const struct rd_step *step, const struct rd_effect *e)
{
	if (e->kind == RD_EFFECT_WRITE || e->kind == RD_EFFECT_LINK)
		put_file(sb, step, e);
	else
		put_run(sb, step, e);
}

int rd_render_plan_ansible(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_add(&sb, "# Written by rocm-doctor fix --format ansible.\n"
	                   "- name: What rocm-doctor would mend\n  hosts: all\n  gather_facts: false\n");
	rd_strbuf_add(&sb, "  environment:\n    DEBIAN_FRONTEND: noninteractive\n    LC_ALL: C.UTF-8\n");
	rd_strbuf_addf(&sb, "  become: %s\n  tasks:%s\n", plan->needs_root ? "true" : "false", plan->n ? "" : " []");
	for (size_t i = 0; i < plan->n; i++) {
		if (i == plan->reboot_at)
			rd_strbuf_add(&sb, "    - name: Reboot\n      ansible.builtin.reboot:\n");
		rd_comment_origins(&sb, plan->steps[i], "    ");
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++)
			put_effect(&sb, plan->steps[i], &plan->steps[i]->effects[j]);
	}
	rd_comment_advice(&sb, plan);
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
