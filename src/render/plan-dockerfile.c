/*
 * A plan as lines of a Dockerfile: packages, files and wheels. What belongs to the host that runs the image (modules, kernel
 * command line, groups of its nodes, services) stays there, and is named as such.
 */

#include <errno.h>
#include <string.h>

#include "plan-common.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

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
	for (size_t i = 0; i < step->effects_n; i++)
		if (step->effects[i].path && (strncmp(step->effects[i].path, "/sys/", 5) == 0 ||
		                              strncmp(step->effects[i].path, "/etc/modprobe.d/", 16) == 0))
			return false;
	return true;
}

/* The exec form: no shell takes the arguments apart. JSON strings and our YAML strings are the same for plain text. */
static void put_argv(struct rd_strbuf *sb, const char *const argv[])
{
	rd_strbuf_add(sb, "RUN [");
	for (size_t i = 0; argv[i]; i++) {
		rd_strbuf_add(sb, i ? ", " : "");
		rd_quote_yaml(sb, argv[i]);
	}
	rd_strbuf_add(sb, "]\n");
}

static void put_effect(struct rd_strbuf *sb, const struct rd_effect *e)
{
	switch (e->kind) {
	case RD_EFFECT_WRITE:
		if (e->after)
			put_argv(sb, (const char *const[]){ "/bin/sh", "-c",
			                                    "mkdir -p \"$(dirname \"$2\")\" && printf %s \"$1\" >\"$2\"", "sh",
			                                    e->after, e->path, NULL });
		else
			put_argv(sb, (const char *const[]){ "rm", "-f", "--", e->path, NULL });
		break;
	case RD_EFFECT_LINK:
		if (e->after)
			put_argv(sb, (const char *const[]){ "ln", "-sfn", "--", e->after, e->path, NULL });
		else
			put_argv(sb, (const char *const[]){ "rm", "-f", "--", e->path, NULL });
		break;
	case RD_EFFECT_VALUE:
		break;
	default:
		put_argv(sb, (const char *const *)e->argv);
	}
}

int rd_render_plan_dockerfile(const struct rd_plan *plan, FILE *out)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_strbuf_add(&sb, "# Written by rocm-doctor fix --format dockerfile; put it behind a FROM line.\n");
	for (size_t i = 0; i < plan->n; i++) {
		const struct rd_step *step = plan->steps[i];
		bool here = belongs_to_image(step);

		rd_strbuf_add(&sb, here ? "\n# " : "\n# on the host, not in the image: ");
		rd_comment(&sb, rd_step_words(step));
		rd_strbuf_addc(&sb, '\n');
		for (size_t j = 0; here && j < step->effects_n; j++)
			put_effect(&sb, &step->effects[j]);
	}
	fputs(sb.buf, out);
	return ferror(out) ? -EIO : 0;
}
