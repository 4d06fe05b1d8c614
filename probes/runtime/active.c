/* What only running something tells: does HSA initialise, does a tiny kernel compute? Asked for with --active. */

#include "rocm-doctor/probe.h"

static int run(struct rd_probe_ctx *ctx)
{
	static const char *const paths[] = { "runtime.active.hsa_init", "runtime.active.hip_smoke" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++)
		if (ctx->options && ctx->options->active)
			rd_fact_set_unknown_why(ctx->facts, paths[i], "not built in", "--active");
		else
			rd_fact_set_not_asked(ctx->facts, paths[i], "--active");
	return 0;
}

const struct rd_probe rd_probe_runtime_active = {
	.name = "runtime/active",
	.layer = RD_LAYER_RUNTIME,
	.summary = "what running the runtime gives (--active)",
	.facts =
		(const struct rd_fact_decl[]){
			{ "runtime.active.hsa_init", RD_STR, "\"ok\" or the status that hsa_init gave",
	                  "hsa_init in a child process" },
			{ "runtime.active.hip_smoke", RD_STR, "\"ok\" or what a tiny kernel came to",
	                  "HIP in a child process" },
			{ 0 },
		},
	.run = run,
};
