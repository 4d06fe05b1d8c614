/* The links of the chain, in the order in which each needs the one before. */
#pragma once

enum rd_layer {
	RD_LAYER_HOST,
	RD_LAYER_HARDWARE,
	RD_LAYER_KERNEL,
	RD_LAYER_DEVICE,
	RD_LAYER_RUNTIME,
	RD_LAYER_FRAMEWORK,
	RD_LAYER_ENGINE,
	RD_LAYER_COUNT,
};

/* "host", "hardware", ... */
const char *rd_layer_name(enum rd_layer layer);

/* rd_layer_parse - 0 and *ret, or -EINVAL where @name is no layer */
int rd_layer_parse(const char *name, enum rd_layer *ret);
