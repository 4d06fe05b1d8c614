/*
 * A plan as lines of a Dockerfile: packages, files and wheels. What belongs to the host that runs the image (modules, kernel
 * command line, groups of its nodes, services) stays there, and is named as such.
 */

#include <errno.h>
#include <string.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/strv.h"

/* An image has no kernel: "linux-modules-extra-6.8.0-60-generic=6.8.0-60.63" is of no use there. */
static bool installs_for_kernel(const struct rd_step *step)
{
	static const char *const prefixes[] = { "linux-modules-", "linux-headers-", "linux-image-", "kernel-devel-",
		                                "kernel-core-" };

	for (size_t i = 0; i < step->effects_n; i++)
		for (char **word = step->effects[i].argv; word && *word; word++)
			for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
				if (strncmp(*word, prefixes[k], strlen(prefixes[k])) == 0)
					return true;
	return false;
}

static bool belongs_to_image(const struct rd_step *step)
{
	switch (step->action->phase) {
	case RD_PHASE_INITRAMFS:
	case RD_PHASE_GROUP:
	case RD_PHASE_MODULE:
	case RD_PHASE_SERVICE:
		return false;
	default:
		break;
	}
	if (step->flags & RD_ACTION_REBOOT || installs_for_kernel(step))
		return false;
	for (size_t i = 0; i < step->effects_n; i++)
		if (step->effects[i].path && (strncmp(step->effects[i].path, "/sys/", 5) == 0 ||
		                              strncmp(step->effects[i].path, "/etc/modprobe.d/", 16) == 0))
			return false;
	return true;
}

/*
 * The exec form: no shell takes the arguments apart. It has to be exact JSON, or the builder takes the line for a shell's.
 */
static void put_argv(struct rd_strbuf *sb, const char *const argv[])
{
	rd_strbuf_add(sb, "RUN ");
	rd_quote_list(sb, argv);
	rd_strbuf_addc(sb, '\n');
}

static void put_effect(struct rd_strbuf *sb, const struct rd_effect *e)
{
	rd_auto_strv struct rd_strv argv = RD_STRV_INIT;
	rd_auto_free char *folder = e->path ? rd_folder_of(e->path) : NULL;

	switch (e->kind) {
	case RD_EFFECT_VALUE:
		break;
	case RD_EFFECT_WRITE:
	case RD_EFFECT_LINK:
		if (!e->after) {
			put_argv(sb, (const char *const[]){ "rm", "-f", "--", e->path, NULL });
		} else if (e->kind == RD_EFFECT_WRITE) {
			rd_content_argv(&argv, e);
			put_argv(sb, (const char *const *)argv.v);
		} else {
			put_argv(sb, (const char *const[]){ "mkdir", "-p", "--", folder, NULL });
			put_argv(sb, (const char *const[]){ "ln", "-sfn", "--", e->after, e->path, NULL });
		}
		break;
	default:
		rd_owner_argv(&argv, e);
		put_argv(sb, (const char *const *)argv.v);
	}
}

int rd_render_plan_dockerfile(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	bool updated = false;

	rd_strbuf_add(&sb, "# Written by rocm-doctor fix --format dockerfile; put it behind a FROM line.\n"
	                   "ARG DEBIAN_FRONTEND=noninteractive\n");
	for (size_t i = 0; i < plan->n; i++) {
		const struct rd_step *step = plan->steps[i];
		bool here = belongs_to_image(step);

		rd_strbuf_add(&sb, here ? "\n# " : "\n# on the host, not in the image: ");
		rd_comment(&sb, rd_step_words(step));
		rd_strbuf_addc(&sb, '\n');
		if (here)
			rd_comment_origins(&sb, step, "");
		/* Images come without apt's lists. */
		if (here && !updated && rd_step_runs(step, "apt-get", "install")) {
			put_argv(&sb, (const char *const[]){ "apt-get", "update", NULL });
			updated = true;
		}
		for (size_t j = 0; here && j < step->effects_n; j++)
			put_effect(&sb, &step->effects[j]);
	}
	rd_comment_advice(&sb, plan);
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
