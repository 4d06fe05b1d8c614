#include <stdarg.h>
#include <stdio.h>

#include "util/log.h"

int rd_log_level;

void rd_log_debug(const char *format, ...)
{
	va_list ap;

	if (rd_log_level < 1)
		return;
	fputs("rocm-doctor: debug: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}
