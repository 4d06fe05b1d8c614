#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/elf.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/survey.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

bool rd_survey_may_have_code(const struct rd_load_object *object)
{
	for (size_t i = 0; i < object->elf->needed->n; i++)
		if (rd_str_has_prefix(object->elf->needed->v[i], "libamdhip64.so"))
			return true;
	return false;
}

struct lists {
	struct rd_strv native, missing, partial, mode, unneeded, missing_gfx;
	bool unknown_code, unknown_mode;
};

/* Programs take the card; that the processor's GPU is offered too is a finding of its own. */
static bool is_meant(const struct rd_gpu_agent *a)
{
	return !a->hidden && !a->spare;
}

/* The same GPU with its modes left open: does the code at least know the processor? */
static enum rd_runs runs_in_some_mode(const struct rd_fatbin *code, const struct rd_agent *agent)
{
	struct rd_agent open;

	rd_agent_init(&open, agent->processor);
	return rd_fatbin_covers(code, &open).runs;
}

static bool tells_all(const struct rd_fatbin *code)
{
	return !code->has_code_unknown && code->bundles_read == code->bundles;
}

static void place(struct lists *l, const struct rd_fatbin *code, const struct rd_gpu_agent *a)
{
	struct rd_coverage c = rd_fatbin_covers(code, &a->agent);

	if (c.runs > RD_RUNS_UNKNOWN)
		rd_strv_push(c.least == RD_RUNS_NO ? &l->partial : &l->native, a->address);
	else if (c.runs == RD_RUNS_NO)
		rd_strv_push(runs_in_some_mode(code, &a->agent) == RD_RUNS_NO ? &l->missing : &l->mode, a->address);
	else if (tells_all(code))
		l->unknown_mode = true;
	else
		l->unknown_code = true;
	if (c.runs <= RD_RUNS_UNKNOWN || c.least == RD_RUNS_NO)
		rd_strv_push_unique(&l->missing_gfx, a->agent.processor);
	if (a->overridden) {
		struct rd_agent real;

		rd_agent_init(&real, a->gfx);
		if (rd_fatbin_covers(code, &real).least == RD_RUNS_NATIVE)
			rd_strv_push(&l->unneeded, a->address);
	}
}

static void set_list(struct rd_fact *at, const char *prefix, const char *name, const struct rd_strv *list, const char *why,
                     const char *source)
{
	rd_auto_free char *path = rd_xasprintf("%s%s", prefix, name);

	if (why) {
		rd_fact_set_unknown_why(at, path, why, source);
		return;
	}
	rd_fact_set_list(at, path, source);
	for (size_t i = 0; i < list->n; i++)
		rd_fact_append_str(at, path, list->v[i], source);
}

static void set_lists(struct rd_fact *at, const char *prefix, const struct lists *l, const char *why, const char *source)
{
	const char *code = why ? why : l->unknown_code ? "a part of the device code could not be read" : NULL;
	const char *mode = code ? code : l->unknown_mode ? "the GPU's mode (xnack, sramecc) is not known" : NULL;

	set_list(at, prefix, "native_gpus", &l->native, mode, source);
	set_list(at, prefix, "missing_gpus", &l->missing, code, source);
	set_list(at, prefix, "missing_gfx", &l->missing_gfx, code, source);
	set_list(at, prefix, "partial_gpus", &l->partial, code, source);
	set_list(at, prefix, "mode_gpus", &l->mode, mode, source);
	set_list(at, prefix, "unneeded_override_gpus", &l->unneeded, code, source);
}

static void set_targets(struct rd_fact *at, const char *prefix, const struct rd_fatbin *code, const char *source)
{
	rd_auto_strv struct rd_strv all = RD_STRV_INIT, partial = RD_STRV_INIT;
	size_t with_code = 0;

	/* Bundles of sources without kernels have no targets and lack none. */
	for (size_t i = 0; i < code->sets_n; i++)
		if (code->sets[i].n)
			with_code += code->sets[i].bundles;
	for (size_t i = 0; i < code->targets_n; i++) {
		rd_strv_push_unique(&all, code->targets[i].text);
		if (code->targets[i].bundles < with_code)
			rd_strv_push_unique(&partial, code->targets[i].text);
	}
	set_list(at, prefix, "gfx_targets", &all, all.n || tells_all(code) ? NULL : "the device code could not be read",
	         source);
	set_list(at, prefix, "partial_targets", &partial, NULL, source);
}

void rd_survey_set(struct rd_fact *at, const char *prefix, const struct rd_fatbin *code, const char *why,
                   const struct rd_gpu_agent *agents, size_t n, const char *source)
{
	struct lists l = { .unknown_code = false };

	if (!code) {
		set_list(at, prefix, "gfx_targets", NULL, why, source);
		set_list(at, prefix, "partial_targets", NULL, why, source);
		set_lists(at, prefix, &l, why, source);
		return;
	}
	set_targets(at, prefix, code, source);
	for (size_t i = 0; i < n; i++)
		if (is_meant(&agents[i]))
			place(&l, code, &agents[i]);
	set_lists(at, prefix, &l, NULL, source);
	rd_strv_clear(&l.native);
	rd_strv_clear(&l.missing);
	rd_strv_clear(&l.partial);
	rd_strv_clear(&l.mode);
	rd_strv_clear(&l.unneeded);
	rd_strv_clear(&l.missing_gfx);
}

struct data_state {
	struct rd_strv missing;
	char *folder;
	int error;
};

/* Eight cards of one model need one look. */
static size_t first_alike(const struct rd_gpu_agent *agents, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_meant(&agents[i]) && rd_streq(agents[i].agent.processor, agents[index].agent.processor) &&
		    agents[i].agent.xnack == agents[index].agent.xnack)
			return i;
	return index;
}

static void look_for_data(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library,
                          const struct rd_gpu_agent *agents, size_t n, struct data_state *s)
{
	enum rd_tri *present = rd_xcalloc(n + 1, sizeof(*present));

	for (size_t i = 0; i < n; i++) {
		size_t same = first_alike(agents, i);
		struct rd_libdata data = { .folder = NULL };

		if (!is_meant(&agents[i]))
			continue;
		if (same < i) {
			present[i] = present[same];
		} else {
			data = rd_libdata_look(sr, kind, library, &agents[i].agent);
			present[i] = data.present;
			if (data.present == RD_UNKNOWN)
				s->error = data.error;
		}
		if (present[i] == RD_FALSE)
			rd_strv_push(&s->missing, agents[i].address);
		if (!s->folder)
			s->folder = rd_steal(data.folder);
		rd_libdata_release(&data);
	}
	free(present);
}

static void set_databases(struct rd_sysroot *sr, struct rd_fact *at, const char *prefix, const char *folder)
{
	rd_auto_free char *path = rd_xasprintf("%sdatabases", prefix);
	rd_auto_free struct rd_miopen_db *list = NULL;
	rd_auto_strv struct rd_strv gfx = RD_STRV_INIT;
	size_t n;
	int r = rd_libdata_miopen(sr, folder, &list, &n);

	if (r < 0) {
		rd_fact_set_unknown(at, path, r, folder);
		return;
	}
	rd_fact_set_list(at, path, folder);
	for (size_t i = 0; i < n; i++) {
		struct rd_fact *item = rd_fact_append(at, path, folder);

		rd_strv_push_unique(&gfx, list[i].gfx);
		rd_fact_set_str(item, "gfx", list[i].gfx, folder);
		rd_fact_set_int(item, "cu_count", list[i].cu_count, folder);
		rd_fact_set_bool(item, "performance", list[i].has & RD_MIOPEN_PERFORMANCE, folder);
		rd_fact_set_bool(item, "find", list[i].has & RD_MIOPEN_FIND, folder);
		rd_fact_set_bool(item, "kernels", list[i].has & RD_MIOPEN_KERNELS, folder);
		rd_fact_set_bool(item, "model", list[i].has & RD_MIOPEN_MODEL, folder);
	}
	set_list(at, prefix, "gfx", &gfx, NULL, folder);
}

void rd_survey_set_data(struct rd_sysroot *sr, struct rd_fact *at, const char *prefix, enum rd_libdata_kind kind,
                        const char *library, const struct rd_gpu_agent *agents, size_t n)
{
	rd_auto_free char *path = rd_xasprintf("%spath", prefix), *folder = rd_xasprintf("%sfolder", prefix);
	rd_auto_strv struct rd_strv targets = RD_STRV_INIT;
	struct data_state s = { .folder = NULL };

	look_for_data(sr, kind, library, agents, n, &s);
	rd_fact_set_str(at, path, library, library);
	if (s.folder)
		rd_fact_set_str(at, folder, s.folder, s.folder);
	set_list(at, prefix, "missing_gpus", &s.missing,
	         !s.error             ? NULL
	         : s.error == -ENOENT ? "the folder of its data is at none of the usual places"
	                              : rd_strerror(s.error),
	         s.folder ? s.folder : library);
	if (s.folder && kind == RD_LIBDATA_MIOPEN)
		set_databases(sr, at, prefix, s.folder);
	else if (s.folder && rd_libdata_targets(sr, kind, s.folder, &targets) == 0)
		set_list(at, prefix, "gfx", &targets, NULL, s.folder);
	rd_strv_clear(&s.missing);
	free(s.folder);
}

void rd_survey_set_code(struct rd_sysroot *sr, struct rd_fact *at, const char *prefix, const char *library,
                        const struct rd_gpu_agent *agents, size_t n)
{
	rd_auto_free char *path = rd_xasprintf("%spath", prefix);
	rd_auto(rd_cleanup_fatbin) struct rd_fatbin *code = NULL;
	struct rd_error err = RD_ERROR_INIT;
	const char *why = "it has no device code inside";

	if (rd_fatbin_read(sr, library, RD_SURVEY_BUDGET, &code, &err) < 0)
		why = err.message;
	if (code && !rd_fatbin_has_code(code))
		code = rd_fatbin_free(code);
	rd_fact_set_str(at, path, library, library);
	rd_survey_set(at, prefix, code, why, agents, n, library);
	rd_error_clear(&err);
}

char *rd_survey_release(const char *path)
{
	const char *so = strstr(path, ".so."), *last = so ? strrchr(so, '.') : NULL;
	uint64_t n;

	/* 60401 is 6.4.1, 100000 is 10.0.0; a number of the library's own is smaller. */
	if (!last || last == so || rd_str_to_u64(last + 1, 10, &n) < 0 || n < 50000 || n > 999999)
		return NULL;
	return rd_xasprintf("%u.%u.%u", (unsigned)(n / 10000), (unsigned)(n / 100 % 100), (unsigned)(n % 100));
}
