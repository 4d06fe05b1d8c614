#include <errno.h>

#include "rocm-doctor/layer.h"
#include "util/str.h"

static const char *const names[RD_LAYER_COUNT] = {
	[RD_LAYER_HOST] = "host",     [RD_LAYER_HARDWARE] = "hardware", [RD_LAYER_KERNEL] = "kernel",
	[RD_LAYER_DEVICE] = "device", [RD_LAYER_RUNTIME] = "runtime",   [RD_LAYER_FRAMEWORK] = "framework",
	[RD_LAYER_ENGINE] = "engine",
};

const char *rd_layer_name(enum rd_layer layer)
{
	return names[layer];
}

int rd_layer_parse(const char *name, enum rd_layer *ret)
{
	for (unsigned i = 0; i < RD_LAYER_COUNT; i++) {
		if (rd_streq(names[i], name)) {
			*ret = (enum rd_layer)i;
			return 0;
		}
	}
	return -EINVAL;
}
