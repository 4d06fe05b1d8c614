/* A tree that tells nothing of a host: nothing is known of it, and nothing is absent. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "scratch.h"

/* What is so on any host: thresholds and names that do not come from it. */
static bool is_of_no_host(const char *path)
{
	return strncmp(path, "profile.", 8) == 0 || strcmp(path, "host.disk.system.path") == 0;
}

static void collect_known(const struct rd_fact *facts, const struct rd_probe *probe, struct rd_strv *ret)
{
	for (const struct rd_fact_decl *d = probe->facts; d && d->path; d++) {
		rd_auto_free char *path = rd_xstrndup(d->path, strcspn(d->path, "[{"));

		/* Items of a list are as unknown as the list. */
		if (strstr(d->path, "[].") || d->kind == RD_OBJECT || is_of_no_host(path))
			continue;
		if (rd_fact_get(facts, path) && !rd_fact_is_unknown(facts, path))
			rd_strv_push_unique(ret, path);
	}
}

static void nothing_is_known_of_an_empty_folder(void **state)
{
	static const struct rd_probe_options options;
	rd_auto_strv struct rd_strv known = RD_STRV_INIT, none = RD_STRV_INIT;
	struct rd_probe_ctx ctx = { .options = &options, .facts = rd_facts_new() };
	struct rd_knowledge *knowledge = NULL;
	struct rd_sysroot *sr;
	char *dir = scratch_new();

	(void)state;
	rmdir(scratch_path(dir, "etc"));
	sr = scratch_open(dir);
	assert_true(rd_knowledge_load(&none, &knowledge, NULL) >= 0);
	ctx.sysroot = sr;
	ctx.knowledge = knowledge;
	rd_probes_run(&ctx);
	for (size_t i = 0; i < rd_probes_n; i++)
		collect_known(ctx.facts, rd_probes[i], &known);
	for (size_t i = 0; i < known.n; i++)
		print_error("known of nothing: %s\n", known.v[i]);
	assert_int_equal(known.n, 0);
	rd_fact_free(ctx.facts);
	rd_knowledge_free(knowledge);
	rd_sysroot_free(sr);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_of_an_empty_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
