#include <errno.h>

#include "app.h"
#include "rocm-doctor/report.h"
#include "util/cleanup.h"

int cmd_facts(struct rd_app *app, int argc, char *argv[])
{
	rd_auto_fclose FILE *file = NULL;
	int status;

	if (argc > 0)
		return rd_app_fail(app, RD_EXIT_USAGE, "'%s' is not wanted here", argv[0]);
	status = rd_app_load_knowledge(app);
	if (!status)
		status = rd_app_probe(app);
	if (status)
		return status;
	if (app->output) {
		file = fopen(app->output, "we");
		if (!file)
			return rd_app_fail(app, RD_EXIT_BROKEN, "cannot write '%s': %s", app->output, rd_strerror(errno));
	}
	if (rd_render_facts_json(app->knowledge, app->facts, file ? file : stdout) < 0 || (file && fflush(file) != 0))
		return rd_app_fail(app, RD_EXIT_BROKEN, "cannot write '%s': %s", app->output ? app->output : "standard output",
		                   rd_strerror(errno));
	return RD_EXIT_OK;
}
