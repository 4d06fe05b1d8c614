/* Joins over what was read of device code: which rocBLAS matters, whose code is for the other mode, and what overrides do. */

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/agents.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/target.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Something that runs device code: an environment's PyTorch, an engine, or the host's ROCm for whatever comes. */
struct consumer {
	struct rd_fact *item;
	const char *place; /* prefix, folder or root */
	const char *code;  /* where its facts of code stand below the item: "torch.", ""; NULL for none */
	const char *math;  /* those of its rocBLAS */
	bool bundled;      /* its rocBLAS is no business of the host's */
};

struct coverage {
	struct rd_probe_ctx *ctx;
	struct consumer *v;
	size_t n, allocated;
};

static void add(struct coverage *c, struct consumer consumer)
{
	RD_GROW(c->v, c->n, c->allocated);
	c->v[c->n++] = consumer;
}

static void collect(struct coverage *c)
{
	struct rd_fact *list = rd_fact_get_mutable(c->ctx->facts, "python");
	const char *wanted = rd_fact_get_str(c->ctx->facts, "runtime.default_root");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		if (rd_fact_get_bool(item, "judged") && rd_streq(rd_fact_get_str(item, "torch.build"), "rocm"))
			add(c, (struct consumer){ item, rd_fact_get_str(item, "prefix"), "torch.", "torch.rocblas.", false });
	}
	list = rd_fact_get_mutable(c->ctx->facts, "engines.llama_cpp");
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		if (*rd_fact_get_str(item, "backend"))
			add(c, (struct consumer){ item, rd_fact_get_str(item, "folder"), "", "rocblas.", false });
	}
	list = rd_fact_get_mutable(c->ctx->facts, "engines.ollama");
	for (size_t i = 0; i < rd_fact_count(list); i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		if (*rd_fact_get_str(item, "backend"))
			add(c, (struct consumer){ item, rd_fact_get_str(item, "folder"), "", "rocblas.", true });
	}
	/* The host's own counts where nothing else is there to use it. */
	list = rd_fact_get_mutable(c->ctx->facts, "runtime.rocm");
	for (size_t i = 0; i < rd_fact_count(list) && !c->n; i++) {
		struct rd_fact *item = rd_fact_at_mutable(list, i);

		if (!*wanted || rd_streq(rd_fact_get_str(item, "root"), wanted))
			add(c, (struct consumer){ item, rd_fact_get_str(item, "root"), NULL, "rocblas.", false });
	}
}

static const struct rd_fact *fact(const struct consumer *c, const char *prefix, const char *name)
{
	rd_auto_free char *path = rd_xasprintf("%s%s", prefix, name);

	return rd_fact_get(c->item, path);
}

static bool has_text(const struct rd_fact *list, const char *text)
{
	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_str(rd_fact_at(list, i)), text))
			return true;
	return false;
}

static void copy_list(struct rd_fact *to, const char *path, const struct rd_fact *from)
{
	if (rd_fact_state(from) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(to, path, rd_fact_reason(from), rd_fact_source(from));
		return;
	}
	rd_fact_set_list(to, path, rd_fact_source(from));
	for (size_t i = 0; i < rd_fact_count(from); i++)
		rd_fact_append_str(to, path, rd_fact_str(rd_fact_at(from, i)), rd_fact_source(from));
}

static const struct rd_fact *gpu_at(const struct coverage *c, const char *address)
{
	const struct rd_fact *gpus = rd_fact_get(c->ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "pci.address"), address))
			return rd_fact_at(gpus, i);
	return NULL;
}

/* The root of ROCm that a file lies in, else the consumer's own place. */
static const char *place_of(const struct coverage *c, const struct consumer *consumer, const char *file)
{
	const struct rd_fact *list = rd_fact_get(c->ctx->facts, "runtime.rocm");

	for (size_t i = 0; i < rd_fact_count(list); i++) {
		const char *root = rd_fact_get_str(rd_fact_at(list, i), "root");
		size_t n = strlen(root);

		if (n > 1 && !rd_streq(root, "/usr") && strncmp(file, root, n) == 0 && file[n] == '/')
			return root;
	}
	return consumer->place;
}

/* For people: the place where the file is below it, else the folder of the file. Caller frees. */
static char *where_is(const char *place, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = strlen(place);

	if (!slash || slash == path || (strncmp(path, place, n) == 0 && (path[n] == '/' || (n && place[n - 1] == '/'))))
		return rd_xstrdup(place);
	return rd_xstrndup(path, (size_t)(slash - path));
}

static bool is_listed(const struct rd_fact *list, const char *place, const char *folder)
{
	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(list, i), "place"), place) &&
		    rd_streq(rd_fact_get_str(rd_fact_at(list, i), "folder"), folder))
			return true;
	return false;
}

static void set_missing_gfx(const struct coverage *c, struct rd_fact *item)
{
	const struct rd_fact *missing = rd_fact_get(item, "missing_gpus");
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;

	rd_fact_set_list(item, "missing_gfx", "missing_gpus");
	for (size_t i = 0; i < rd_fact_count(missing); i++) {
		const struct rd_fact *gpu = gpu_at(c, rd_fact_str(rd_fact_at(missing, i)));
		const char *named = rd_fact_get_str(gpu, "override.gfx"), *name = *named ? named : rd_fact_get_str(gpu, "gfx");

		if (rd_strv_has(&gfx, name))
			continue;
		rd_strv_push(&gfx, name);
		rd_fact_append_str(item, "missing_gfx", name, "gpus");
	}
}

static void set_data_summary(struct rd_fact *item, const char *folder, const struct rd_fact *gfx)
{
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;

	if (!*folder)
		rd_strbuf_add(&text, "No folder of its kernels is there.");
	for (size_t i = 0; *folder && i < rd_fact_count(gfx); i++)
		rd_strbuf_addf(&text, "%s%s%s", i ? ", " : folder, i ? "" : " has files for ", rd_fact_str(rd_fact_at(gfx, i)));
	if (*folder)
		rd_strbuf_add(&text, text.len ? "." : "The folder of its kernels has none for any GPU.");
	rd_fact_set_str(item, "data_summary", text.buf, folder);
}

static void add_math(struct coverage *c, const struct consumer *consumer)
{
	const char *path = rd_fact_str(fact(consumer, consumer->math, "path"));
	const char *folder = rd_fact_str(fact(consumer, consumer->math, "folder"));
	const struct rd_fact *gfx = fact(consumer, consumer->math, "gfx");
	const char *place = place_of(c, consumer, *folder ? folder : path);
	rd_auto_free char *where = where_is(place, *folder ? folder : path);
	struct rd_fact *item;

	if (!*path || consumer->bundled || is_listed(rd_fact_get(c->ctx->facts, "runtime.math"), place, folder))
		return;
	item = rd_fact_append(c->ctx->facts, "runtime.math", path);
	rd_fact_set_str(item, "place", place, path);
	rd_fact_set_str(item, "path", path, path);
	rd_fact_set_str(item, "folder", folder, folder);
	rd_fact_set_str(item, "used_by", consumer->place, path);
	rd_fact_set_str(item, "where", where, path);
	copy_list(item, "gfx", gfx);
	copy_list(item, "missing_gpus", fact(consumer, consumer->math, "missing_gpus"));
	set_data_summary(item, folder, gfx);
	set_missing_gfx(c, item);
}

/* "gfx1030" is among targets as it is or with features. */
static bool has_gfx(const struct rd_fact *targets, const char *gfx)
{
	size_t n = strlen(gfx);

	for (size_t i = 0; i < rd_fact_count(targets); i++) {
		const char *text = rd_fact_str(rd_fact_at(targets, i));

		if (strncmp(text, gfx, n) == 0 && (!text[n] || text[n] == ':'))
			return true;
	}
	return false;
}

/* Is one of the targets for this GPU, while xnack is in this mode? */
static bool runs_with(const struct rd_fact *targets, const struct rd_fact *gpu, enum rd_feature xnack)
{
	struct rd_agent agent;

	rd_agent_init(&agent, rd_fact_get_str(gpu, "gfx"));
	agent.xnack = xnack;
	if (rd_fact_is_known(gpu, "kfd.sram_ecc"))
		agent.sramecc = rd_fact_get_bool(gpu, "kfd.sram_ecc") ? RD_FEATURE_ON : RD_FEATURE_OFF;
	for (size_t i = 0; i < rd_fact_count(targets); i++) {
		struct rd_target_id id;

		if (rd_target_parse(rd_fact_str(rd_fact_at(targets, i)), &id) == 0 &&
		    rd_target_runs(&id, &agent) > RD_RUNS_SPIRV)
			return true;
	}
	return false;
}

/* The variable counts for all that is started, so everything that has code for these GPUs must run in the mode. */
static bool mode_suits_all(const struct coverage *c, const struct rd_fact *gpus, enum rd_feature xnack)
{
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = gpu_at(c, rd_fact_str(rd_fact_at(gpus, i)));
		const char *gfx = rd_fact_get_str(gpu, "gfx");

		if (!rd_gfx_switches_xnack(gfx))
			return false;
		for (size_t k = 0; k < c->n; k++) {
			const struct rd_fact *targets = c->v[k].code ? fact(&c->v[k], c->v[k].code, "gfx_targets") : NULL;

			if (has_gfx(targets, gfx) && !runs_with(targets, gpu, xnack))
				return false;
		}
	}
	return rd_fact_count(gpus) > 0;
}

static void add_mode(struct coverage *c, const struct consumer *consumer)
{
	const struct rd_fact *gpus = consumer->code ? fact(consumer, consumer->code, "mode_gpus") : NULL;
	struct rd_fact *item;

	if (!gpus || (!rd_fact_count(gpus) && rd_fact_state(gpus) != RD_FACT_UNKNOWN))
		return;
	item = rd_fact_append(c->ctx->facts, "runtime.mode_mismatch", rd_fact_source(gpus));
	rd_fact_set_str(item, "place", consumer->place, rd_fact_source(gpus));
	rd_fact_set_str(item, "file", rd_fact_source(gpus), rd_fact_source(gpus));
	copy_list(item, "gpus", gpus);
	copy_list(item, "gfx_targets", fact(consumer, consumer->code, "gfx_targets"));
	rd_fact_set_str(item, "xnack",
	                mode_suits_all(c, gpus, RD_FEATURE_ON)    ? "1"
	                : mode_suits_all(c, gpus, RD_FEATURE_OFF) ? "0"
	                                                          : "",
	                "gfx_targets of all that runs here");
}

/* GPUs that PyTorch runs on alone, and RCCL not together with others. */
static void set_rccl(struct rd_fact *env)
{
	const struct rd_fact *missing = rd_fact_get(env, "torch.rccl.missing_gpus"),
			     *own = rd_fact_get(env, "torch.native_gpus");
	const struct rd_fact *cause = rd_fact_state(missing) == RD_FACT_UNKNOWN ? missing : own;

	if (rd_fact_state(cause) == RD_FACT_UNKNOWN) {
		rd_fact_set_unknown_why(env, "torch.rccl.lacking_gpus", rd_fact_reason(cause), rd_fact_source(cause));
		return;
	}
	rd_fact_set_list(env, "torch.rccl.lacking_gpus", "librccl.so, libtorch_hip.so");
	for (size_t i = 0; i < rd_fact_count(missing); i++)
		if (has_text(own, rd_fact_str(rd_fact_at(missing, i))))
			rd_fact_append_str(env, "torch.rccl.lacking_gpus", rd_fact_str(rd_fact_at(missing, i)),
			                   rd_fact_source(missing));
}

/* ------------------------------------------------------------ libraries out of reach */

/* A copy in a root of ROCm that no search leads to; NULL where there is none, or one is found. */
static const struct rd_fact *out_of_reach(const struct coverage *c, const char *soname)
{
	const struct rd_fact *libraries = rd_fact_get(c->ctx->facts, "runtime.libraries"), *ret = NULL;

	for (size_t i = 0; i < rd_fact_count(libraries); i++) {
		const struct rd_fact *lib = rd_fact_at(libraries, i);
		const char *root = rd_fact_get_str(lib, "root");

		if (!rd_streq(rd_fact_get_str(lib, "soname"), soname))
			continue;
		if (rd_fact_get_bool(lib, "chosen"))
			return NULL;
		if (*root && !rd_streq(root, "/usr"))
			ret = lib;
	}
	return ret;
}

/* What rocminfo is to a root, an engine is too: a program that needs its libraries. */
static void add_program(struct coverage *c, const struct consumer *consumer)
{
	const struct rd_fact *unresolved = fact(consumer, consumer->code ? consumer->code : "", "unresolved");
	const char *program = rd_fact_get_str(consumer->item, "backend");
	struct rd_fact *item = NULL;

	for (size_t i = 0; i < rd_fact_count(unresolved); i++) {
		const char *name = rd_fact_str(rd_fact_at(unresolved, i));
		const struct rd_fact *lib = out_of_reach(c, name);
		const char *path = rd_fact_get_str(lib, "path");
		rd_auto_free char *folder = NULL;

		if (!lib || !strrchr(path, '/'))
			continue;
		if (!item) {
			folder = rd_xstrndup(path, (size_t)(strrchr(path, '/') - path));
			item = rd_fact_append(c->ctx->facts, "runtime.programs", path);
			rd_fact_set_str(item, "program", *program ? program : consumer->place, path);
			rd_fact_set_str(item, "unreached_root", rd_fact_get_str(lib, "root"), path);
			rd_fact_set_str(item, "library_folder", folder, path);
			rd_fact_set_bool(item, "needs_hsa", false, path);
			rd_fact_set_bool(item, "finds_hsa", true, path);
		}
		rd_fact_append_str(item, "missing", name, path);
	}
}

/* ------------------------------------------------------------ overrides */

static const cJSON *override_row(const struct coverage *c, const char *gfx)
{
	const cJSON *row, *table = rd_knowledge_table(c->ctx->knowledge, "overrides");

	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(table, "overrides")) {
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "gfx"));

		if (name && rd_streq(name, gfx))
			return row;
	}
	return NULL;
}

/* Where all that lacks the GPU's own code or kernels has those of another, the name of that other helps. */
static bool helps(const struct coverage *c, const char *address, const char *gfx)
{
	bool lacking = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct consumer *consumer = &c->v[i];

		if (consumer->code && has_text(fact(consumer, consumer->code, "missing_gpus"), address)) {
			lacking = true;
			if (!has_gfx(fact(consumer, consumer->code, "gfx_targets"), gfx))
				return false;
		}
		if (has_text(fact(consumer, consumer->math, "missing_gpus"), address)) {
			lacking = true;
			if (!has_text(fact(consumer, consumer->math, "gfx"), gfx))
				return false;
		}
	}
	return lacking;
}

/* The processor's own GPU beside a card wants to be hidden, not renamed. */
static bool is_beside_a_card(const struct coverage *c, const struct rd_fact *gpu)
{
	const struct rd_fact *gpus = rd_fact_get(c->ctx->facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "kind"), "dgpu"))
			return rd_streq(rd_fact_get_str(gpu, "kind"), "apu");
	return false;
}

static void set_useful(const struct coverage *c, struct rd_fact *gpu)
{
	const cJSON *value, *row = override_row(c, rd_fact_get_str(gpu, "gfx"));

	if (*rd_fact_get_str(gpu, "override.value") || is_beside_a_card(c, gpu))
		return;
	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, "values")) {
		const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "value"));
		const char *safe = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "safe"));
		char gfx[RD_PROCESSOR_MAX];

		if (!text || !safe || rd_streq(safe, "no") || rd_gfx_from_override(text, gfx) < 0 ||
		    !helps(c, rd_fact_get_str(gpu, "pci.address"), gfx))
			continue;
		rd_fact_set_str(gpu, "override.useful_value", text, "table overrides");
		rd_fact_set_str(gpu, "override.useful_gfx", gfx, "table overrides");
		rd_fact_set_str(gpu, "override.useful_risk", safe, "table overrides");
		return;
	}
}

/* What one program would have to be started with, for all GPUs that it leaves out. */
struct remedy {
	const struct coverage *c;
	const struct consumer *consumer;
	struct rd_strv gfx, values; /* named instead; values, one for each GPU */
	struct rd_strv names;       /* variables, one for each GPU */
	bool kernels_only;          /* the program's own code is another matter */
	bool risky;
};

/*
 * Does the GPU's other name lead to kernels, and to code? Code can be built anew (@kernels_only), unless there is some under the
 * GPU's own name, which the other name would take away.
 */
static bool has_under_name(const struct remedy *r, const char *address, const char *gfx)
{
	const struct consumer *consumer = r->consumer;
	const struct rd_fact *kernels = fact(consumer, consumer->math, "gfx");
	bool lacks_code = consumer->code && has_text(fact(consumer, consumer->code, "missing_gpus"), address);

	if (rd_fact_count(kernels) && !has_text(kernels, gfx))
		return false;
	return !consumer->code || has_gfx(fact(consumer, consumer->code, "gfx_targets"), gfx) ||
	       (r->kernels_only && lacks_code);
}

static bool add_override(struct remedy *r, const char *address)
{
	const struct rd_fact *gpu = gpu_at(r->c, address);
	const cJSON *value, *row = override_row(r->c, rd_fact_get_str(gpu, "gfx"));

	if (!gpu || *rd_fact_get_str(gpu, "override.value") || is_beside_a_card(r->c, gpu))
		return false;
	cJSON_ArrayForEach (value, cJSON_GetObjectItemCaseSensitive(row, "values")) {
		const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "value"));
		const char *safe = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "safe"));
		char gfx[RD_PROCESSOR_MAX];

		if (!text || !safe || rd_streq(safe, "no") || rd_gfx_from_override(text, gfx) < 0 ||
		    !has_under_name(r, address, gfx))
			continue;
		rd_strv_push_unique(&r->gfx, gfx);
		rd_strv_push(&r->values, text);
		rd_strv_pushf(&r->names, "HSA_OVERRIDE_GFX_VERSION_%lld", (long long)rd_fact_get_int(gpu, "kfd.node"));
		r->risky |= !rd_streq(safe, "usually");
		return true;
	}
	return false;
}

/* Every GPU that the program leaves out must be helped; @ret is emptied where one is not. */
static void find_overrides(struct remedy *r)
{
	const struct consumer *consumer = r->consumer;
	const struct rd_fact *lists[] = { consumer->code ? fact(consumer, consumer->code, "missing_gpus") : NULL,
		                          fact(consumer, consumer->math, "missing_gpus") };
	rd_auto_strv struct rd_strv seen = RD_STRV_INIT;

	for (size_t k = 0; k < RD_ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < rd_fact_count(lists[k]); i++) {
			const char *address = rd_fact_str(rd_fact_at(lists[k], i));

			if (rd_strv_has(&seen, address))
				continue;
			rd_strv_push(&seen, address);
			if (!add_override(r, address)) {
				rd_strv_clear(&r->values);
				return;
			}
		}
}

static size_t visible_gpus(const struct coverage *c)
{
	const struct rd_fact *gpus = rd_fact_get(c->ctx->facts, "gpus");
	size_t n = 0;

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		n += !rd_fact_is_known(rd_fact_at(gpus, i), "visible") || rd_fact_get_bool(rd_fact_at(gpus, i), "visible");
	return n;
}

/* One variable for all where all are meant, else one for each by its node of KFD. */
static void write_variables(const struct remedy *r, struct rd_strbuf *ret)
{
	bool same = r->values.n == visible_gpus(r->c);

	for (size_t i = 1; i < r->values.n; i++)
		same = same && rd_streq(r->values.v[i], r->values.v[0]);
	if (same)
		rd_strbuf_addf(ret, "HSA_OVERRIDE_GFX_VERSION=%s", r->values.v[0]);
	for (size_t i = 0; !same && i < r->values.n; i++)
		rd_strbuf_addf(ret, "%s%s=%s", i ? " " : "", r->names.v[i], r->values.v[i]);
}

static void add_list(struct rd_strbuf *ret, const struct rd_strv *list, const char *between)
{
	for (size_t i = 0; i < list->n; i++)
		rd_strbuf_addf(ret, "%s%s", i ? between : "", list->v[i]);
}

static void set_override_remedy(const struct coverage *c, const struct consumer *consumer, struct rd_fact *item,
                                const char *path, bool kernels_only)
{
	struct remedy r = { .c = c, .consumer = consumer, .kernels_only = kernels_only };
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;

	find_overrides(&r);
	if (r.values.n) {
		rd_strbuf_add(&text, "with ");
		write_variables(&r, &text);
		rd_strbuf_add(&text,
		              consumer->bundled ? " in the environment of its service (sudo systemctl edit ollama)" : "");
		rd_strbuf_add(&text, " it runs what it has for ");
		add_list(&text, &r.gfx, ", ");
		rd_strbuf_add(&text, r.risky ? ": this hangs or faults on some of these GPUs, and AMD does not support it"
		                             : ": this works for most, and AMD does not support it");
	}
	rd_fact_set_str(item, path, text.buf, "table overrides");
	rd_strv_clear(&r.gfx);
	rd_strv_clear(&r.values);
	rd_strv_clear(&r.names);
}

/*
 * How to build llama.cpp: for the gfx that it lacks; where rocBLAS has no kernels under that name, for another that an override
 * names and that works for most.
 */
static void set_build_remedy(const struct coverage *c, const struct consumer *consumer)
{
	const struct rd_fact *missing = fact(consumer, consumer->code, "missing_gpus");
	struct remedy r = { .c = c, .consumer = consumer, .kernels_only = true };
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT, variables = RD_STRBUF_INIT;
	rd_auto_strv struct rd_strv own = RD_STRV_INIT;

	for (size_t i = 0; i < rd_fact_count(fact(consumer, consumer->code, "missing_gfx")); i++)
		rd_strv_push(&own, rd_fact_str(rd_fact_at(fact(consumer, consumer->code, "missing_gfx"), i)));
	if (rd_fact_count(missing) && rd_fact_count(fact(consumer, consumer->math, "missing_gpus")) == rd_fact_count(missing))
		find_overrides(&r);
	if (r.values.n && !r.risky)
		write_variables(&r, &variables);
	if (own.n) {
		rd_strbuf_add(&text, "cmake -B build -DGGML_HIP=ON -DGPU_TARGETS='");
		add_list(&text, variables.len ? &r.gfx : &own, ";");
		rd_strbuf_add(&text, "' && cmake --build build");
		if (variables.len) {
			rd_strbuf_addf(&text, "   (and start it with %s: rocBLAS has no kernels for ", variables.buf);
			add_list(&text, &own, ", ");
			rd_strbuf_add(&text, ")");
		}
	}
	rd_fact_set_str(consumer->item, "build_remedy", text.buf, "gpus, table overrides");
	rd_strv_clear(&r.gfx);
	rd_strv_clear(&r.values);
	rd_strv_clear(&r.names);
}

/* On the program itself, and on the rocBLAS that stands for it. */
static void set_override_remedies(const struct coverage *c)
{
	struct rd_fact *math = rd_fact_get_mutable(c->ctx->facts, "runtime.math");

	for (size_t i = 0; i < c->n; i++) {
		const struct consumer *consumer = &c->v[i];
		rd_auto_free char *path = rd_xasprintf("%soverride_remedy", consumer->code ? consumer->code : "");

		if (consumer->code)
			set_override_remedy(c, consumer, consumer->item, path, false);
		if (consumer->code && !*consumer->code && !consumer->bundled)
			set_build_remedy(c, consumer);
		for (size_t k = 0; k < rd_fact_count(math); k++)
			if (rd_streq(rd_fact_get_str(rd_fact_at(math, k), "used_by"), consumer->place))
				set_override_remedy(c, consumer, rd_fact_at_mutable(math, k), "override_remedy", true);
	}
}

/* rocBLAS may be what the override is for, whatever the engine itself is built for. */
static bool has_kernels(const struct consumer *consumer, const char *gfx)
{
	const struct rd_fact *kernels = fact(consumer, consumer->math, "gfx");

	return !rd_fact_count(kernels) || has_text(kernels, gfx);
}

/* Renamed, though everything that runs code has it for what the GPU is. */
static void set_unneeded(const struct coverage *c, struct rd_fact *gpu)
{
	const char *address = rd_fact_get_str(gpu, "pci.address"), *verdict = rd_fact_get_str(gpu, "override.verdict");
	bool unneeded = false;

	if (*verdict && !rd_streq(verdict, "same") && !rd_streq(verdict, "no"))
		for (size_t i = 0; i < c->n; i++) {
			const struct consumer *consumer = &c->v[i];

			/* Ollama's service has its own variables. */
			if (!consumer->code || consumer->bundled)
				continue;
			unneeded = has_text(fact(consumer, consumer->code, "unneeded_override_gpus"), address) &&
			           has_kernels(consumer, rd_fact_get_str(gpu, "gfx"));
			if (!unneeded)
				break;
		}
	rd_fact_set_bool(gpu, "override.unneeded", unneeded, "device code");
}

static int run(struct rd_probe_ctx *ctx)
{
	struct coverage c = { .ctx = ctx };
	struct rd_fact *gpus = rd_fact_get_mutable(ctx->facts, "gpus"), *python = rd_fact_get_mutable(ctx->facts, "python");

	collect(&c);
	/* Where nobody knows who would use it, none is not the answer. */
	if (c.n || !rd_fact_is_unknown(ctx->facts, "runtime.rocm"))
		rd_fact_set_list(ctx->facts, "runtime.math", "python, engines, runtime.rocm");
	if (c.n || !rd_fact_is_unknown(ctx->facts, "python"))
		rd_fact_set_list(ctx->facts, "runtime.mode_mismatch", "python, engines");
	for (size_t i = 0; i < c.n; i++) {
		add_math(&c, &c.v[i]);
		add_mode(&c, &c.v[i]);
		add_program(&c, &c.v[i]);
	}
	set_override_remedies(&c);
	for (size_t i = 0; i < rd_fact_count(python); i++)
		set_rccl(rd_fact_at_mutable(python, i));
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		set_useful(&c, rd_fact_at_mutable(gpus, i));
		set_unneeded(&c, rd_fact_at_mutable(gpus, i));
	}
	free(c.v);
	return 0;
}

#define OVERRIDE "variable that makes it run on the GPUs that it leaves out, and how that goes; empty: none does"
#define MATH "the rocBLAS of judged environments and engines, else of the host"

const struct rd_probe rd_probe_engine_coverage = {
	.name = "engine/coverage",
	.layer = RD_LAYER_ENGINE,
	.flags = RD_PROBE_PURE,
	.after = "engine/verdicts",
	.needs = (const char *const[]){ "runtime.rocm", "python", NULL },
	.summary = "which code and kernels the GPUs of the host lack",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.math[]", RD_LIST, "each rocBLAS that something on the host would use", MATH },
			{ "runtime.math[].place", RD_STR, "root of ROCm, prefix or folder that it belongs to", MATH },
			{ "runtime.math[].path", RD_STR, "file that is loaded", MATH },
			{ "runtime.math[].folder", RD_STR, "folder of its kernels", MATH },
			{ "runtime.math[].where", RD_STR, "the place, or the folder of the library where that is elsewhere",
	                  "librocblas.so*" },
			{ "runtime.math[].used_by", RD_STR, "what would use it", MATH },
			{ "runtime.math[].gfx[]", RD_STRS, "gfx that it has kernels for", MATH },
			{ "runtime.math[].data_summary", RD_STR, "the same in a sentence", MATH },
			{ "runtime.math[].missing_gpus[]", RD_STRS, "GPUs that it has no kernels for", MATH },
			{ "runtime.math[].missing_gfx[]", RD_STRS, "their gfx, as the runtime names them", MATH },
			{ "runtime.math[].override_remedy", RD_STR, OVERRIDE, "table overrides" },
			{ "python[].torch.override_remedy", RD_STR, OVERRIDE, "table overrides" },
			{ "engines.ollama[].override_remedy", RD_STR, OVERRIDE, "table overrides" },
			{ "engines.llama_cpp[].override_remedy", RD_STR, OVERRIDE, "table overrides" },
			{ "engines.llama_cpp[].build_remedy", RD_STR,
	                  "how to build it for the GPUs that it lacks code for; empty: it lacks none",
	                  "gpus, table overrides" },
			{ "runtime.mode_mismatch[]", RD_LIST, "code that is for the other mode of xnack or sramecc only",
	                  "device code" },
			{ "runtime.mode_mismatch[].place", RD_STR, "prefix or folder that it belongs to", "device code" },
			{ "runtime.mode_mismatch[].file", RD_STR, "file that holds it", "device code" },
			{ "runtime.mode_mismatch[].gfx_targets[]", RD_STRS, "what it is for", "device code" },
			{ "runtime.mode_mismatch[].gpus[]", RD_STRS, "GPUs that are in the other mode", "device code" },
			{ "runtime.mode_mismatch[].xnack", RD_STR,
	                  "HSA_XNACK with which all code for these GPUs would run; empty: none is such", "device code" },
			{ "python[].torch.rccl.lacking_gpus[]", RD_STRS,
	                  "GPUs that PyTorch has code for and RCCL, which several of them need to work together, has not",
	                  "device code" },
			{ "gpus[].override.useful_value", RD_STR,
	                  "HSA_OVERRIDE_GFX_VERSION that would let the programs here use the GPU", "table overrides" },
			{ "gpus[].override.useful_gfx", RD_STR, "the gfx that it names", "table overrides" },
			{ "gpus[].override.useful_risk", RD_STR, "how that goes: \"usually\" well, \"risky\"",
	                  "table overrides" },
			{ "gpus[].override.unneeded", RD_BOOL,
	                  "it is renamed though all programs here have code for what it is", "device code" },
			{ 0 },
		},
	.run = run,
};
