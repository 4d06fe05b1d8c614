/* A device model for ROCr's model mode that does nothing: enough to enumerate a GPU whose topology stands in files. */
#include <stdint.h>

static int handle;

static void *create(void)
{
	return &handle;
}

static void nothing(void)
{
}

/* Interface 0.4: create, destroy, set aperture, memory allocated, memory freed, notify, wait, register queue, set event,
 * destroy queue. */
static const struct {
	uint32_t major, minor;
	void *functions[10];
} model = {
	0,
	4,
	{ create, nothing, nothing, nothing, nothing, nothing, nothing, create, nothing, nothing },
};

const void *get_hsakmt_model_functions(void);

const void *get_hsakmt_model_functions(void)
{
	return &model;
}
