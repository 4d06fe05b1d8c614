/* Debug talk on standard error; silent unless asked for. */
#pragma once

#include "rocm-doctor/macros.h"

extern int rd_log_level; /* 0: silent, 1: debug */

void rd_log_debug(const char *format, ...) RD_PRINTF(1, 2);
