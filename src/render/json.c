#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json-internal.h"
#include "rocm-doctor/expr.h"
#include "rocm-doctor/report.h"
#include "rocm-doctor/schema.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* cJSON's numbers are doubles: whole numbers beyond 2^53 are written as text. */
static cJSON *whole_number(int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return cJSON_CreateRaw(text);
}

static cJSON *list_of(const struct rd_fact *f, const struct rd_schema *schema)
{
	bool of_strings = schema ? rd_schema_kind(schema) == RD_STRS : rd_fact_kind(f) == RD_STRS;
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < rd_fact_count(f); i++) {
		const struct rd_fact *item = rd_fact_at(f, i);

		if (of_strings)
			cJSON_AddItemToArray(array, cJSON_CreateString(rd_fact_str(item)));
		else
			cJSON_AddItemToArray(array, schema ? rd_json_object(item, schema) : rd_json_fact(item, NULL));
	}
	return array;
}

/* A map's entries, beside which single names may be declared with a kind of their own. */
static cJSON *map_of(const struct rd_fact *f, const struct rd_schema *schema)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t i = 0; i < rd_fact_count(f); i++) {
		const struct rd_fact *entry = rd_fact_at(f, i);
		const struct rd_schema *below = schema ? rd_schema_child(schema, rd_fact_name(entry)) : NULL;

		if (rd_fact_state(entry) != RD_FACT_ABSENT)
			cJSON_AddItemToObject(object, rd_fact_name(entry), rd_json_fact(entry, below));
	}
	return object;
}

static cJSON *empty_of(enum rd_kind kind)
{
	switch (kind) {
	case RD_BOOL:
		return cJSON_CreateFalse();
	case RD_INT:
	case RD_REAL:
		return cJSON_CreateNumber(0);
	case RD_STR:
		return cJSON_CreateString("");
	case RD_STRS:
	case RD_LIST:
		return cJSON_CreateArray();
	case RD_MAP:
		return cJSON_CreateObject();
	default:
		return cJSON_CreateNull();
	}
}

cJSON *rd_json_object(const struct rd_fact *f, const struct rd_schema *schema)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t i = 0; i < rd_schema_count(schema); i++) {
		const struct rd_schema *below = rd_schema_at(schema, i);

		cJSON_AddItemToObject(object, rd_schema_name(below),
		                      rd_json_fact(rd_fact_child(f, rd_schema_name(below)), below));
	}
	return object;
}

static cJSON *own_object(const struct rd_fact *f)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t i = 0; i < rd_fact_count(f); i++)
		cJSON_AddItemToObject(object, rd_fact_name(rd_fact_at(f, i)), rd_json_fact(rd_fact_at(f, i), NULL));
	return object;
}

cJSON *rd_json_fact(const struct rd_fact *f, const struct rd_schema *schema)
{
	enum rd_kind kind = schema ? rd_schema_kind(schema) : rd_fact_kind(f);

	if (rd_fact_state(f) == RD_FACT_UNKNOWN)
		return cJSON_CreateNull();
	if (kind == RD_OBJECT)
		return schema ? rd_json_object(f, schema) : own_object(f);
	if (rd_fact_state(f) == RD_FACT_ABSENT)
		return empty_of(kind);
	switch (kind) {
	case RD_BOOL:
		return cJSON_CreateBool(rd_fact_bool(f));
	case RD_INT:
		return whole_number(rd_fact_int(f));
	case RD_REAL:
		return cJSON_CreateNumber(rd_fact_real(f));
	case RD_STR:
		return cJSON_CreateString(rd_fact_str(f));
	case RD_STRS:
	case RD_LIST:
		return list_of(f, schema);
	case RD_MAP:
		return map_of(f, schema);
	default:
		return cJSON_CreateNull();
	}
}

cJSON *rd_json_tool(const char *knowledge_version)
{
	cJSON *tool = cJSON_CreateObject();

	cJSON_AddStringToObject(tool, "name", "rocm-doctor");
	cJSON_AddStringToObject(tool, "version", RD_VERSION);
	cJSON_AddStringToObject(tool, "knowledge", knowledge_version);
	return tool;
}

/* One character; cJSON lets what is no UTF-8, DEL and the C1 controls pass. Returns its bytes. */
static size_t print_character(const char *c, FILE *out)
{
	size_t n = rd_utf8_length(c);

	if (!n)
		fputs("\xef\xbf\xbd", out);
	else if (*c == 0x7f || rd_utf8_is_c1(c))
		fprintf(out, "\\u00%02x", (unsigned char)c[n - 1]);
	else
		fwrite(c, 1, n, out);
	return n ? n : 1;
}

/* cJSON writes tabs before a line and behind a key. */
int rd_json_print(cJSON *json, FILE *out)
{
	rd_auto_free char *text = cJSON_Print(json);
	bool at_begin = true;

	cJSON_Delete(json);
	if (!text)
		return -ENOMEM;
	for (const char *c = text; *c;) {
		char before = *c;

		if (before == '\t')
			fputs(at_begin ? "  " : " ", out);
		c += before == '\t' ? 1 : print_character(c, out);
		at_begin = before == '\n' || (at_begin && before == '\t');
	}
	putc('\n', out);
	return ferror(out) ? -EIO : 0;
}

static cJSON *strings(const char *const *v, size_t n)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(v[i]));
	return array;
}

static cJSON *names(const char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	return strings(v, n);
}

static cJSON *evidence_of(const struct rd_evidence *v, size_t n, const struct rd_schema *schema)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++) {
		const struct rd_evidence *e = &v[i];
		const struct rd_schema *declared = rd_schema_lookup(schema, e->fact);
		/* An item of a list of strings is declared as the list. */
		bool is_item = rd_fact_kind(e->value) == RD_STR && declared && rd_schema_kind(declared) == RD_STRS;
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "fact", e->fact);
		cJSON_AddItemToObject(object, "value",
		                      e->is_count ? cJSON_CreateNumber((double)rd_fact_count(e->value))
		                                  : rd_json_fact(e->value, is_item ? NULL : declared));
		cJSON_AddStringToObject(object, "source", e->source);
		cJSON_AddItemToArray(array, object);
	}
	return array;
}

static cJSON *finding_of(const struct rd_finding *f, const struct rd_schema *schema)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "id", f->rule->id);
	cJSON_AddStringToObject(object, "layer", rd_layer_name(f->rule->layer));
	cJSON_AddStringToObject(object, "severity", rd_severity_name(f->severity));
	cJSON_AddStringToObject(object, "role", rd_role_name(f->role));
	cJSON_AddItemToObject(object, "caused_by", strings(f->caused_by, f->caused_by_n));
	cJSON_AddItemToObject(object, "unchecked_causes", strings(f->unchecked_causes, f->unchecked_causes_n));
	cJSON_AddItemToObject(object, "subject", f->subject ? cJSON_CreateString(f->subject) : cJSON_CreateNull());
	cJSON_AddItemToObject(object, "gpus", strings((const char *const *)f->gpus, f->gpus_n));
	cJSON_AddStringToObject(object, "title", f->title);
	cJSON_AddStringToObject(object, "detail", f->detail);
	cJSON_AddItemToObject(object, "evidence", evidence_of(f->evidence, f->evidence_n, schema));
	cJSON_AddItemToObject(object, "next", strings((const char *const *)f->next, f->next_n));
	cJSON_AddItemToObject(object, "fixes", names(f->rule->fixes));
	cJSON_AddItemToObject(object, "references", names(f->rule->references));
	return object;
}

static cJSON *layers_of(const struct rd_report *report)
{
	cJSON *array = cJSON_CreateArray();

	for (unsigned i = 0; i < RD_LAYER_COUNT; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "id", rd_layer_name((enum rd_layer)i));
		cJSON_AddStringToObject(object, "status", rd_status_name(report->layers[i].status));
		cJSON_AddStringToObject(object, "summary", report->layers[i].summary);
		cJSON_AddItemToArray(array, object);
	}
	return array;
}

static cJSON *unknown_entry(const char *fact, const char *reason, const char *source)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "fact", fact);
	cJSON_AddStringToObject(object, "reason", reason);
	cJSON_AddStringToObject(object, "source", source);
	return object;
}

static cJSON *requirements_of(const struct rd_report *report, const struct rd_schema *schema)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < report->requirements_n; i++) {
		const struct rd_requirement *req = &report->requirements[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "expression", req->expression);
		cJSON_AddItemToObject(object, "result",
		                      req->result == RD_UNKNOWN ? cJSON_CreateNull()
		                                                : cJSON_CreateBool(req->result == RD_TRUE));
		cJSON_AddItemToObject(object, "evidence", evidence_of(req->evidence, req->evidence_n, schema));
		cJSON_AddItemToArray(array, object);
	}
	return array;
}

int rd_render_report_json(const struct rd_report *report, FILE *out)
{
	const struct rd_schema *schema = rd_knowledge_schema(report->knowledge);
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "schema", "rocm-doctor/report/1");
	cJSON_AddItemToObject(root, "tool", rd_json_tool(rd_knowledge_version(report->knowledge)));
	cJSON_AddStringToObject(root, "status", rd_status_name(report->status));
	cJSON_AddStringToObject(root, "summary", report->summary);
	cJSON_AddItemToObject(root, "layers", layers_of(report));
	array = cJSON_AddArrayToObject(root, "findings");
	for (size_t i = 0; i < report->findings_n; i++)
		cJSON_AddItemToArray(array, finding_of(report->findings[i], schema));
	cJSON_AddItemToObject(root, "requirements", requirements_of(report, schema));
	array = cJSON_AddArrayToObject(root, "unknown");
	for (size_t i = 0; i < report->unknown_n; i++)
		cJSON_AddItemToArray(array, unknown_entry(report->unknown[i].fact, report->unknown[i].reason,
		                                          report->unknown[i].source));
	cJSON_AddNumberToObject(root, "elapsed_ms", report->elapsed_ms);
	return rd_json_print(root, out);
}

static void add_unknown(cJSON *array, const struct rd_fact *f)
{
	if (rd_fact_state(f) == RD_FACT_UNKNOWN) {
		rd_auto_free char *path = rd_fact_path(f);

		cJSON_AddItemToArray(array, unknown_entry(path, rd_fact_reason(f), rd_fact_source(f)));
		return;
	}
	for (size_t i = 0; i < rd_fact_count(f); i++)
		add_unknown(array, rd_fact_at(f, i));
}

int rd_render_facts_json(const struct rd_knowledge *k, const struct rd_fact *facts, FILE *out)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "schema", "rocm-doctor/facts/1");
	cJSON_AddItemToObject(root, "tool", rd_json_tool(rd_knowledge_version(k)));
	cJSON_AddItemToObject(root, "facts", rd_json_object(facts, rd_knowledge_schema(k)));
	array = cJSON_AddArrayToObject(root, "unknown");
	add_unknown(array, facts);
	return rd_json_print(root, out);
}
