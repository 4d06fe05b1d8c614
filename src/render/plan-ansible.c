/* A plan as an Ansible playbook, with modules of ansible.builtin only. */

#include <errno.h>

#include "plan-common.h"
#include "util/strbuf.h"

static void key(struct rd_strbuf *sb, const char *indent, const char *name, const char *value)
{
	rd_strbuf_addf(sb, "%s%s: ", indent, name);
	rd_quote_yaml(sb, value);
	rd_strbuf_addc(sb, '\n');
}

static void put_write(struct rd_strbuf *sb, const struct rd_effect *e)
{
	if (!e->after) {
		rd_strbuf_add(sb, "      ansible.builtin.file:\n");
		key(sb, "        ", "path", e->path);
		rd_strbuf_add(sb, "        state: absent\n");
		return;
	}
	rd_strbuf_add(sb, "      ansible.builtin.copy:\n");
	key(sb, "        ", "dest", e->path);
	key(sb, "        ", "content", e->after);
	if (e->before)
		rd_strbuf_add(sb, "        mode: preserve\n");
	else
		rd_strbuf_addf(sb, "        mode: \"%04o\"\n", e->mode ? e->mode : 0644);
}

static void put_link(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_strbuf_add(sb, "      ansible.builtin.file:\n");
	key(sb, "        ", "path", e->path);
	if (e->after)
		key(sb, "        ", "src", e->after);
	rd_strbuf_add(sb, e->after ? "        state: link\n        force: true\n" : "        state: absent\n");
}

static void put_run(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_strbuf_add(sb, "      ansible.builtin.command:\n        argv:\n");
	if (e->kind == RD_EFFECT_VALUE) {
		/* sysfs takes one write, which copy's rename cannot make. */
		rd_strbuf_add(sb, "          - tee\n          - ");
		rd_quote_yaml(sb, e->path);
		rd_strbuf_add(sb, "\n");
		key(sb, "        ", "stdin", e->after);
		return;
	}
	for (size_t i = 0; e->argv[i]; i++) {
		rd_strbuf_add(sb, "          - ");
		rd_quote_yaml(sb, e->argv[i]);
		rd_strbuf_addc(sb, '\n');
	}
	if (e->as_owner_of)
		rd_strbuf_add(sb, "      # run as the owner of the environment: set become_user for this task\n");
}

static void put_effect(struct rd_strbuf *sb, const struct rd_step *step, const struct rd_effect *e)
{
	rd_strbuf_add(sb, "    - name: ");
	rd_quote_yaml(sb, rd_step_words(step));
	rd_strbuf_addc(sb, '\n');
	if (e->kind == RD_EFFECT_WRITE)
		put_write(sb, e);
	else if (e->kind == RD_EFFECT_LINK)
		put_link(sb, e);
	else
		put_run(sb, e);
}

int rd_render_plan_ansible(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_add(&sb, "# Written by rocm-doctor fix --format ansible.\n"
	                   "- name: what rocm-doctor would mend\n  hosts: all\n  gather_facts: false\n");
	rd_strbuf_addf(&sb, "  become: %s\n  tasks:%s\n", plan->needs_root ? "true" : "false", plan->n ? "" : " []");
	for (size_t i = 0; i < plan->n; i++) {
		if (i == plan->reboot_at)
			rd_strbuf_add(&sb, "    - name: reboot\n      ansible.builtin.reboot:\n");
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++)
			put_effect(&sb, plan->steps[i], &plan->steps[i]->effects[j]);
	}
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
