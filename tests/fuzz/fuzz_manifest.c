/* Any bytes as rocm-doctor-snapshot.json: taken over or refused with a reason, never anything else. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/manifest.h"
#include "rocm-doctor/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct rd_manifest *m)
{
	struct rd_strv names = RD_STRV_INIT;

	for (size_t i = 0; i < m->nodes_n; i++)
		if (!rd_manifest_node(m, m->nodes[i].path))
			abort();
	for (size_t i = 0; i < m->unreadable_n; i++)
		if (rd_manifest_unreadable(m, m->unreadable[i].path, true) >= 0)
			abort();
	for (size_t i = 0; i < m->missing.n; i++)
		if (!rd_manifest_is_missing(m, m->missing.v[i]))
			abort();
	rd_manifest_node_names(m, "/", &names);
	rd_manifest_node_names(m, "/dev", &names);
	rd_strv_clear(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* As a file is read: with a NUL behind it. */
	char *text = malloc(size + 1);
	struct rd_error err = RD_ERROR_INIT;
	struct rd_manifest *m = NULL;
	int r;

	memcpy(text, data, size);
	text[size] = '\0';
	r = rd_manifest_parse(text, size, "FILE", &m, &err);
	if (r == 0)
		use(m);
	else if (r != -EINVAL || m || !err.message)
		abort();
	rd_manifest_free(m);
	rd_error_clear(&err);
	free(text);
	return 0;
}
