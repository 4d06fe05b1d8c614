/* A plan as cloud-init user data: files first, then commands, as cloud-init orders its modules; up to the first reboot. */

#include <errno.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/strv.h"

static bool is_file(const struct rd_effect *e)
{
	return e->kind == RD_EFFECT_WRITE && e->after;
}

static void put_file(struct rd_strbuf *sb, const struct rd_effect *e)
{
	bool plain = rd_is_utf8(e->after);
	rd_auto_free char *coded = plain ? NULL : rd_base64(e->after);

	rd_strbuf_add(sb, "  - path: ");
	rd_quote_json(sb, e->path);
	rd_strbuf_addf(sb, "\n    permissions: \"%04o\"\n%s    content: ", e->mode ? e->mode : 0644,
	               plain ? "" : "    encoding: b64\n");
	rd_quote_json(sb, plain ? e->after : coded);
	rd_strbuf_addc(sb, '\n');
}

static void put_argv(struct rd_strbuf *sb, const char *const argv[])
{
	rd_strbuf_add(sb, "  - ");
	rd_quote_list(sb, argv);
	rd_strbuf_addc(sb, '\n');
}

static void put_command(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_strv struct rd_strv argv = RD_STRV_INIT;
	rd_auto_free char *folder = e->path ? rd_folder_of(e->path) : NULL;

	switch (e->kind) {
	case RD_EFFECT_WRITE:
		put_argv(sb, (const char *const[]){ "rm", "-f", "--", e->path, NULL });
		break;
	case RD_EFFECT_VALUE:
		put_argv(sb,
		         (const char *const[]){ "sh", "-c", "printf '%s\\n' \"$1\" >\"$2\"", "sh", e->after, e->path, NULL });
		break;
	case RD_EFFECT_LINK:
		if (e->after) {
			put_argv(sb, (const char *const[]){ "mkdir", "-p", "--", folder, NULL });
			put_argv(sb, (const char *const[]){ "ln", "-sfn", "--", e->after, e->path, NULL });
		} else {
			put_argv(sb, (const char *const[]){ "rm", "-f", "--", e->path, NULL });
		}
		break;
	default:
		rd_owner_argv(&argv, e);
		put_argv(sb, (const char *const *)argv.v);
	}
}

static void put_all(struct rd_strbuf *sb, const struct rd_plan *plan, const char *heading, bool files)
{
	bool any = false;

	for (size_t i = 0; i < plan->reboot_at; i++) {
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++) {
			const struct rd_effect *e = &plan->steps[i]->effects[j];

			if (is_file(e) != files)
				continue;
			if (!any)
				rd_strbuf_add(sb, heading);
			any = true;
			if (!j)
				rd_comment_origins(sb, plan->steps[i], "  ");
			if (files)
				put_file(sb, e);
			else
				put_command(sb, e);
		}
	}
}

int rd_render_plan_cloud_init(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_add(&sb, "#cloud-config\n# Written by rocm-doctor fix --format cloud-init.\n");
	/* On a first boot apt may know of no package at all. */
	for (size_t i = 0; i < plan->reboot_at; i++)
		if (rd_step_runs(plan->steps[i], "apt-get", "install")) {
			rd_strbuf_add(&sb, "package_update: true\n");
			break;
		}
	put_all(&sb, plan, "write_files:\n", true);
	put_all(&sb, plan, "runcmd:\n", false);
	for (size_t i = plan->reboot_at; i < plan->n; i++) {
		rd_strbuf_add(&sb, i == plan->reboot_at ? "# After the reboot, by rocm-doctor fix:\n# - " : "# - ");
		rd_comment(&sb, rd_step_words(plan->steps[i]));
		rd_strbuf_addc(&sb, '\n');
	}
	if (plan->needs_reboot)
		rd_strbuf_add(&sb, "power_state:\n  mode: reboot\n");
	rd_comment_advice(&sb, plan);
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
