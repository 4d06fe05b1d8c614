/*
 * plan-formats ROOT FORMAT: a plan of everything that a format could get wrong, over the tree ROOT: "apply" makes it, any other
 * format is printed with the paths of ROOT, so that what it says can be done there.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

static const struct {
	const char *path, *after;
} files[] = {
	{ "/etc/quotes", "it's \"quoted\" `id` $(id) ${HOME} \\n \\\\ %s %d !! {{ lookup('pipe', 'id') }} {% x %} {# y #}\n" },
	{ "/etc/end", "END\nEND_\n'END'\nEOF\n" },
	{ "/etc/dashes", "-n -e --help\n" },
	{ "/etc/no end", "no line end" },
	{ "/etc/percent", "%s%n\t100%\n\n\n" },
	{ "/etc/empty", "" },
	{ "/etc/utf8", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x9a\x80 \xc2\x85 \xe2\x80\xa8 \xef\xbb\xbf \xef\xbf\xbf \xc2\xa0\n" },
	{ "/etc/latin1", "gr\xfc\xdf\x65 \xff\xfe\n" },
	{ "/etc/controls", "\x01\x1b[31m\r\n\x7f\b\f\v\n" },
	{ "/etc/yaml", "---\n- a: !!python/object:os.system\n# no: [comment]\n...\n" },
	{ "/etc/new/folder/it's $(made)", "made\n" },
	{ "/etc/there", "changed\n" },
	{ "/etc/-dash", "dash\n" },
	{ "/etc/gone", NULL },
};

static const char *const ran[] = { "sh",       "-c",   "printf '<%s>' \"$@\" >\"$0\"",
	                           "",         "a b",  "$(id)",
	                           "'",        "\"",   "\\",
	                           "*",        "-n",   "",
	                           "\xc3\xbc", "`id`", "{{ x }}",
	                           "#",        "~",    "A=b",
	                           NULL };

static struct rd_plan *make_plan(struct rd_sysroot *sr, const char *root)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	struct rd_step *step =
		rd_step_new(rd_action_find("file.remove"), (const char *const[]){ "path", "/etc/nothing", NULL }, NULL);
	const char *argv[RD_ARRAY_SIZE(ran)];

	plan->steps = rd_xcalloc(1, sizeof(struct rd_step *));
	plan->steps[0] = step;
	plan->n = plan->allocated = plan->reboot_at = 1;
	step->sysroot = sr;
	rd_step_describe(step, "%s", "hostile\n$(id) {{ words }} %s \xff");
	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++)
		rd_step_write(step, files[i].path, files[i].after, i % 2 ? 0600 : 0644);
	rd_step_link(step, "/etc/links/it's", "-target $(id) \xc3\xbc");
	rd_step_link(step, "/etc/old-link", "new target");
	rd_step_link(step, "/etc/dead-link", NULL);
	rd_step_write_value(step, "/etc/value", "$(id) 'high'");
	memcpy(argv, ran, sizeof(ran));
	argv[3] = rd_xasprintf("%s/etc/ran", root);
	rd_step_run(step, argv, NULL);
	free((char *)argv[3]);
	if (step->refusal) {
		fprintf(stderr, "%s\n", step->refusal);
		exit(1);
	}
	step->sysroot = NULL;
	return plan;
}

/* Programs are only noted in a tree; this one is run by hand, so that the trees compare. */
static int apply(struct rd_plan *plan, struct rd_sysroot *sr, const char *root)
{
	rd_auto_free char *state = rd_xasprintf("%s.state", root);
	struct rd_transaction *tx = NULL;
	struct rd_error err = RD_ERROR_INIT;
	int r = rd_transaction_begin(state, plan, sr, &tx, &err);

	if (r == 0)
		r = rd_plan_apply(tx, sr, NULL, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.message);
	rd_error_clear(&err);
	rd_transaction_close(tx);
	return r < 0;
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		int (*render)(const struct rd_plan *plan, FILE *out);
	} formats[] = {
		{ "json", rd_render_plan_json },
		{ "sh", rd_render_plan_sh },
		{ "ansible", rd_render_plan_ansible },
		{ "cloud-init", rd_render_plan_cloud_init },
		{ "dockerfile", rd_render_plan_dockerfile },
	};
	struct rd_sysroot *sr = NULL;
	struct rd_plan *plan;
	int r = 2;

	if (argc != 3 || rd_sysroot_open(argv[1], &sr, NULL) < 0)
		return 2;
	plan = make_plan(sr, argv[1]);
	if (rd_streq(argv[2], "apply")) {
		/* The plan is the transaction's now. */
		r = apply(plan, sr, argv[1]);
		rd_sysroot_free(sr);
		return r;
	}
	for (size_t i = 0; i < plan->steps[0]->effects_n; i++) {
		struct rd_effect *e = &plan->steps[0]->effects[i];
		char *path = e->path ? rd_xasprintf("%s%s", argv[1], e->path) : NULL;

		free(e->path);
		e->path = path;
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(formats); i++)
		if (rd_streq(argv[2], formats[i].name))
			r = formats[i].render(plan, stdout) < 0;
	rd_plan_free(plan);
	rd_sysroot_free(sr);
	return r;
}
