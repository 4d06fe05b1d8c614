/* What the parts of the simulated loader share. */
#pragma once

#include "rocm-doctor/ldcache.h"
#include "rocm-doctor/loader.h"
#include "util/strv.h"

/* A folder of a search path: which sub-folders for processors it has is asked once. */
struct load_folder {
	char *path;
	struct rd_strv subs; /* tried before the folder itself, those that exist */
	int missing;         /* negative errno where the folder itself is not there */
};

struct rd_loader {
	struct rd_sysroot *sr;
	char *library_path, *cwd;
	unsigned machine;
	char *interpreter;
	struct rd_ldcache *cache; /* NULL: none */
	int cache_error;          /* why it could not be read, other than -ENOENT */
	uint32_t cache_flags;
	struct rd_strv default_folders;
	char *lib_token, *platform_token;
	struct rd_strv subs;   /* sub-folders that this loader and processor try, in order */
	struct rd_strv hwcaps; /* of them, the names that the cache knows */
	struct load_folder *folders;
	size_t folders_n, folders_allocated;
	void *names; /* of tsearch(3): under which the objects are loaded */
	struct rd_load_object *objects;
	size_t objects_n, objects_allocated;
	struct rd_load_need *needs;
	size_t needs_n, needs_allocated;
};

/* What the root's own loader is like: default folders, tokens, sub-folders. */
void load_host_init(struct rd_loader *l);

/*
 * Places in the order of the search. @visit returns true to end it. Asks nothing of the host but which sub-folders exist.
 */
struct load_place {
	enum rd_load_by by;
	size_t via;
	const char *folder;
	const char *path;
};
void load_search(struct rd_loader *l, size_t from, const char *name, bool (*visit)(void *data, const struct load_place *place),
                 void *data);

/* $ORIGIN, $LIB and $PLATFORM of an object's tag; NULL where one cannot be known. The caller frees. */
char *load_expand(const struct rd_loader *l, const char *text, const char *origin);
