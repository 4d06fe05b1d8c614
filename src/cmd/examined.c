#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examined.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/xalloc.h"

char *rd_app_path(const struct rd_app *app, const char *path)
{
	char cwd[4096];

	if (*path == '/')
		return rd_xstrdup(path);
	/* A relative path is one of the running system; in another root it counts from its top. */
	if ((app->root && !rd_streq(app->root, "/")) || app->pid || app->container)
		return rd_xasprintf("/%s", path);
	if (!getcwd(cwd, sizeof(cwd)))
		return rd_xasprintf("/%s", path);
	return rd_xasprintf("%s/%s", cwd, path);
}

const struct rd_fact *rd_app_environment(struct rd_app *app, const char *path, int *ret_status)
{
	const struct rd_fact *list;

	app->sysroot = rd_sysroot_free(app->sysroot);
	rd_strv_clear(&app->pythons);
	rd_strv_push(&app->pythons, path);
	*ret_status = app->knowledge ? 0 : rd_app_load_knowledge(app);
	if (!*ret_status)
		*ret_status = rd_app_probe(app);
	if (*ret_status)
		return NULL;
	list = rd_fact_get(app->facts, "python");
	for (size_t i = 0; i < rd_fact_count(list); i++)
		if (rd_fact_get_bool(rd_fact_at(list, i), "asked"))
			return rd_fact_at(list, i);
	*ret_status = rd_app_fail(app, RD_EXIT_BROKEN, "'%s' is no Python environment", path);
	return NULL;
}
