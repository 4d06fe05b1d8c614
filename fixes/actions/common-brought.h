/* Packages that come with those that were asked for. */
#pragma once

struct rd_brings;

extern const struct rd_brings pkg_brings;
/* The same in the Python environment of the argument "prefix". */
extern const struct rd_brings pip_brings;
