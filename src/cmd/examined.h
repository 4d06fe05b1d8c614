/* What a command that examines one place was pointed at. */
#pragma once

#include "app.h"

/* A path as a person gives it on the command line, absolute inside the root. Caller frees. */
char *rd_app_path(const struct rd_app *app, const char *path);

/* Python environment at a folder: the facts of python[], after probing with it as --python. NULL after saying why. */
const struct rd_fact *rd_app_environment(struct rd_app *app, const char *path, int *ret_status);
