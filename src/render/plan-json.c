#include <cjson/cJSON.h>

#include "json-internal.h"
#include "plan-common.h"
#include "rocm-doctor/diagnosis.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"
#include "util/redact.h"

static cJSON *names(const char *const *v, size_t n)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(v[i]));
	return array;
}

/* What is for a reader and not for the saved form: modes as they are always written, and the diff. */
static void word_effects(cJSON *step_json, const struct rd_step *step)
{
	cJSON *effects = cJSON_GetObjectItemCaseSensitive(step_json, "effects");

	for (size_t i = 0; i < step->effects_n; i++) {
		const struct rd_effect *e = &step->effects[i];
		rd_auto_free char *diff = e->kind == RD_EFFECT_WRITE ? rd_effect_diff(e) : NULL;
		cJSON *json = cJSON_GetArrayItem(effects, (int)i);
		char mode[8];

		if (e->path) {
			snprintf(mode, sizeof(mode), "%04o", e->mode & 07777);
			cJSON_ReplaceItemInObjectCaseSensitive(json, "mode",
			                                       e->mode ? cJSON_CreateString(mode) : cJSON_CreateNull());
		}
		if (diff)
			cJSON_AddStringToObject(json, "diff", diff);
	}
}

/* The saved plan has all of it; what is printed goes to others. */
static void hide_secrets(cJSON *json)
{
	cJSON *child;

	if (cJSON_IsString(json))
		rd_redact(json->valuestring);
	cJSON_ArrayForEach (child, json) {
		hide_secrets(child);
	}
}

static cJSON *advice_json(const struct rd_plan *plan)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < plan->advice_n; i++) {
		const struct rd_advice *a = &plan->advice[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "text", a->text);
		cJSON_AddItemToObject(object, "reason", a->reason ? cJSON_CreateString(a->reason) : cJSON_CreateNull());
		cJSON_AddItemToObject(object, "findings", names(a->findings, a->findings_n));
		cJSON_AddItemToArray(array, object);
	}
	for (size_t i = 0; i < plan->unfixed_n; i++) {
		const struct rd_finding *f = plan->unfixed[i];

		for (size_t j = 0; j < f->next_n; j++) {
			cJSON *object = cJSON_CreateObject();

			cJSON_AddStringToObject(object, "text", f->next[j]);
			cJSON_AddNullToObject(object, "reason");
			cJSON_AddItemToObject(object, "findings", names(&f->rule->id, 1));
			cJSON_AddItemToArray(array, object);
		}
	}
	return array;
}

int rd_render_plan_json(const struct rd_plan *plan, FILE *out)
{
	cJSON *root = rd_plan_to_json(plan);
	cJSON *steps = cJSON_GetObjectItemCaseSensitive(root, "steps");

	for (size_t i = 0; i < plan->n; i++) {
		cJSON *step = cJSON_GetArrayItem(steps, (int)i);

		/* Flags are of the saved form; here they are words. */
		cJSON_DeleteItemFromObjectCaseSensitive(step, "flags");
		word_effects(step, plan->steps[i]);
	}
	/* The first step that waits for a reboot, counted from 0; null: none does. */
	if (plan->reboot_at == plan->n)
		cJSON_ReplaceItemInObjectCaseSensitive(root, "reboot_at", cJSON_CreateNull());
	cJSON_AddItemToObject(root, "advice", advice_json(plan));
	cJSON_AddBoolToObject(root, "needs_root", plan->needs_root);
	cJSON_AddBoolToObject(root, "needs_network", plan->needs_network);
	cJSON_AddBoolToObject(root, "needs_reboot", plan->needs_reboot);
	cJSON_AddBoolToObject(root, "needs_login", plan->needs_login);
	cJSON_AddBoolToObject(root, "reversible", !plan->is_irreversible);
	hide_secrets(root);
	return rd_json_print(root, out);
}
