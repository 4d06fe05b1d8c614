/*
 * plan-sets ROOT FILE...: plans, in every format, for the sets of facts of the rules' tests in which the rule fires, over the tree
 * ROOT. Prints the ids of the fixes that were asked for, a line each.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/plan.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

static int render_text(const struct rd_plan *plan, FILE *out)
{
	const struct rd_plan_view view = { .columns = 100, .dry_run = true };

	return rd_render_plan_text(plan, &view, out);
}

static int (*const renderers[])(const struct rd_plan *plan, FILE *out) = {
	render_text,
	rd_render_plan_json,
	rd_render_plan_sh,
	rd_render_plan_ansible,
	rd_render_plan_cloud_init,
	rd_render_plan_dockerfile,
};

static void render_all(const struct rd_plan *plan)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(renderers); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		if (renderers[i](plan, out) < 0)
			abort();
		fclose(out);
		free(text);
	}
}

static void plan_for(const struct rd_knowledge *k, struct rd_sysroot *sr, const char *rule, const cJSON *test)
{
	struct rd_fact *facts = rd_facts_new();
	rd_auto_strv struct rd_strv only = RD_STRV_INIT;
	const struct rd_plan_options options = { .only = &only, .until = -1 };
	struct rd_diagnosis *d = NULL;
	struct rd_plan *plan = NULL;

	rd_strv_push(&only, rule);
	if (rd_facts_from_json(facts, cJSON_GetObjectItemCaseSensitive(test, "facts"), rd_knowledge_schema(k), NULL) == 0)
		d = rd_diagnose(k, facts, NULL);
	if (!d || rd_plan_build(k, d, facts, sr, &options, &plan, NULL) < 0)
		abort();
	/* Not those of the plan: where the tree is well already, nothing is left of a fix. */
	for (const struct rd_finding *f = NULL; (f = rd_diagnosis_next(d, f));)
		for (size_t i = 0; rd_streq(f->rule->id, rule) && f->role != RD_CONSEQUENCE && f->rule->fixes[i]; i++)
			puts(f->rule->fixes[i]);
	render_all(plan);
	rd_plan_free(plan);
	rd_diagnosis_free(d);
	rd_fact_free(facts);
}

static void plan_file(const struct rd_knowledge *k, struct rd_sysroot *sr, const char *path)
{
	rd_auto_fclose FILE *f = fopen(path, "re");
	rd_auto_free char *text = NULL;
	size_t allocated = 0;
	const cJSON *test;
	cJSON *json = f && getdelim(&text, &allocated, '\0', f) > 0 ? cJSON_Parse(text) : NULL;

	if (!json)
		abort();
	cJSON_ArrayForEach (test, cJSON_GetObjectItemCaseSensitive(json, "tests")) {
		const char *expect = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(test, "expect"));

		if (expect && rd_streq(expect, "fires"))
			plan_for(k, sr, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "rule")), test);
	}
	cJSON_Delete(json);
}

int main(int argc, char *argv[])
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct rd_knowledge *k = NULL;
	struct rd_sysroot *sr = NULL;

	if (argc < 3 || rd_knowledge_load(&dirs, &k, NULL) < 0 || rd_sysroot_open(argv[1], &sr, NULL) < 0)
		return 2;
	for (int i = 2; i < argc; i++)
		plan_file(k, sr, argv[i]);
	rd_sysroot_free(sr);
	rd_knowledge_free(k);
	return 0;
}
