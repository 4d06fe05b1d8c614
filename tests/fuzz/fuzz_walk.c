/*
 * Any file system and any path: the first line is the path, each other one an entry, "NAME" a file, "NAME/" a folder,
 * "NAME>TARGET" a link. Names may hold "/". The walk ends, and never asks for or gives anything but a plain path.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct paper {
	char *lines[64];
	size_t n, asked;
};

static void check_plain(const char *path)
{
	if (path[0] != '/' || strlen(path) >= RD_WALK_PATH_MAX + RD_WALK_NAME_MAX + 2)
		abort();
	for (const char *c = path; *c; c++) {
		size_t n = *c == '/' ? strcspn(c + 1, "/") : 1;

		if (*c == '/' && path[1] && (n == 0 || (n == 1 && c[1] == '.') || (n == 2 && c[1] == '.' && c[2] == '.')))
			abort();
	}
}

static const char *find(struct paper *p, const char *path)
{
	size_t n = strlen(path + 1);

	check_plain(path);
	/* Forty links of at most PATH_MAX / 2 components each, and the path. */
	if (++p->asked > (RD_WALK_LINKS_MAX + 1) * (size_t)RD_WALK_PATH_MAX / 2 + RD_WALK_LINKS_MAX)
		abort();
	for (size_t i = 0; i < p->n; i++)
		if (strncmp(p->lines[i], path + 1, n) == 0 && strchr(">/", p->lines[i][n]))
			return p->lines[i] + n;
	return NULL;
}

static int lookup(void *ctx, const char *path)
{
	const char *rest = find(ctx, path);

	if (!rest)
		return -ENOENT;
	return *rest == '>' ? RD_WALK_LINK : *rest == '/' ? RD_WALK_DIR : RD_WALK_FILE;
}

static int read_link(void *ctx, const char *path, char **ret)
{
	*ret = strdup(find(ctx, path) + 1);
	return 0;
}

static void walk(struct paper *p, const char *path, unsigned flags)
{
	static const struct rd_walk_ops ops = { lookup, read_link };
	char *resolved = NULL;
	int r;

	p->asked = 0;
	r = rd_walk(&ops, p, path, flags, &resolved);
	if (r == 0)
		check_plain(resolved);
	else if (r > 0 || resolved)
		abort();
	free(resolved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *path, *plain = NULL;
	struct paper p = { .n = 0 };

	memcpy(text, data, size);
	text[size] = '\0';
	path = strsep(&rest, "\n");
	while (rest && p.n < sizeof(p.lines) / sizeof(p.lines[0]))
		p.lines[p.n++] = strsep(&rest, "\n");
	for (unsigned flags = 0; flags < 4; flags++)
		walk(&p, path, flags);
	if (rd_path_normalize(path, &plain) == 0)
		walk(&p, plain, 0);
	free(plain);
	free(text);
	return 0;
}
