/*
 * The files in which engines keep the names, ids and processes of their containers. None of them is asked: a daemon that hangs
 * is often what one came for.
 *
 * Source: moby container/container.go (config.v2.json); containers/storage containers.go; containerd runtime/v2 bundle
 * (init.pid, config.json), CRI and nerdctl annotations; runc libcontainer/state_linux.go; crun status.c; systemd-machined
 * machine.c (/run/systemd/machines).
 */

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "container-internal.h"
#include "rocm-doctor/json.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define STATE_MAX ((size_t)16 << 20)
/* A shorter beginning of an id would fit too much. */
enum { ID_SHORTEST = 8 };

struct search {
	const char *root, *name;
	struct rd_container_hints *hints;
};

struct source {
	const char *engine;
	const char *pattern; /* "~" is the home of who asks */
	void (*read)(struct search *s, const struct source *source, const char *path, char *text);
};

/* Some of the places belong to users: what blocks, or does something when it is opened, is left alone. */
static FILE *open_file(const char *path)
{
	rd_auto_close int place = open(path, O_PATH | O_CLOEXEC);
	rd_auto_free char *again = rd_xasprintf("/proc/self/fd/%d", place);
	struct stat st;

	return place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode) ? fopen(again, "re") : NULL;
}

static char *read_whole(const char *path)
{
	rd_auto_fclose FILE *f = open_file(path);
	struct rd_strbuf sb = RD_STRBUF_INIT;
	char buf[8192];
	size_t n;

	if (!f)
		return NULL;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && sb.len < STATE_MAX)
		rd_strbuf_addn(&sb, buf, n);
	return rd_strbuf_detach(&sb);
}

/* Paths that fit, below the root of the search. */
static void list(const struct search *s, const char *pattern, struct rd_strv *ret)
{
	const char *home = getenv("HOME");
	rd_auto_free char *full = *pattern == '~' ? rd_xasprintf("%s%s%s", s->root, home ? home : "", pattern + 1)
	                                          : rd_xasprintf("%s%s", s->root, pattern);
	glob_t found;

	if (glob(full, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			rd_strv_push(ret, found.gl_pathv[i]);
	globfree(&found);
	rd_strv_sort(ret);
}

/* The N-th folder above the file: 0 is the one it lies in. */
static char *folder_name(const char *path, unsigned up)
{
	const char *end = strrchr(path, '/'), *begin;

	for (; up && end > path; up--)
		for (end--; end > path && *end != '/'; end--)
			;
	for (begin = end; begin > path && begin[-1] != '/'; begin--)
		;
	return rd_xstrndup(begin, (size_t)(end - begin));
}

static uint64_t number_of(const cJSON *json, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);

	return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 9e15 ? (uint64_t)item->valuedouble : 0;
}

static bool begins_id(const char *name, const char *id)
{
	size_t n = strlen(name);

	return n >= ID_SHORTEST && strspn(name, "0123456789abcdef") == n && rd_str_has_prefix(id, name);
}

/* Adds the container where its id, or one of its names as @named says, fits. */
static void add(struct search *s, const char *engine, const char *id, bool named, uint64_t pid, uint64_t start)
{
	bool exact = named || rd_streq(id, s->name);
	struct rd_container_hints *h = s->hints;

	if (!*id || (!exact && !begins_id(s->name, id)))
		return;
	RD_GROW(h->v, h->n, h->allocated);
	h->v[h->n++] = (struct rd_container_hint){
		.engine = engine,
		.id = rd_xstrdup(id),
		.exact = exact,
		.pid = pid <= INT32_MAX ? (unsigned)pid : 0,
		.start = start,
	};
}

/* Kubernetes calls containers k8s_NAME_POD_NAMESPACE_UID_ATTEMPT where an engine has but one name for each. */
static bool is_named(const char *own, const char *name)
{
	rd_auto_strv struct rd_strv words = RD_STRV_INIT;
	rd_auto_free char *both = NULL;

	if (rd_streq(own, name))
		return true;
	if (!rd_str_has_prefix(own, "k8s_") || rd_str_has_prefix(own, "k8s_POD_"))
		return false;
	rd_strv_split(&words, own, "_", true);
	if (words.n < 3)
		return false;
	both = rd_xasprintf("%s/%s", words.v[2], words.v[1]);
	return rd_streq(words.v[1], name) || rd_streq(both, name);
}

/* docker keeps a folder a container; of one that does not run the process is 0. */
static void read_docker(struct search *s, const struct source *source, const char *path, char *text)
{
	rd_auto_free char *id = folder_name(path, 0);
	cJSON *json = cJSON_Parse(text);
	const char *own = rd_json_str(json, "Name");

	add(s, source->engine, id, is_named(own + (*own == '/'), s->name),
	    number_of(cJSON_GetObjectItemCaseSensitive(json, "State"), "Pid"), 0);
	cJSON_Delete(json);
}

static uint64_t pid_in_file(const char *path)
{
	rd_auto_free char *text = read_whole(path);
	uint64_t pid;

	return text && rd_str_to_u64(text, 10, &pid) == 0 ? pid : 0;
}

/* podman and CRI-O: the process stands where the run-time files are, by id. */
static uint64_t pid_of_podman(const struct search *s, const char *id)
{
	static const char *const patterns[] = {
		"/run/containers/storage/*-containers/%s/userdata/pidfile",
		"/run/user/*/containers/*-containers/%s/userdata/pidfile",
		"/var/lib/containers/storage/*-containers/%s/userdata/pidfile",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(patterns) && strspn(id, "0123456789abcdef") == strlen(id); i++) {
		const char *mark = strstr(patterns[i], "%s");
		rd_auto_free char *pattern = rd_xasprintf("%.*s%s%s", (int)(mark - patterns[i]), patterns[i], id, mark + 2);
		rd_auto_strv struct rd_strv found = RD_STRV_INIT;

		list(s, pattern, &found);
		if (found.n)
			return pid_in_file(found.v[0]);
	}
	return 0;
}

/* podman keeps one list a user. */
static void read_podman(struct search *s, const struct source *source, const char *path, char *text)
{
	cJSON *json = cJSON_Parse(text);
	const cJSON *container, *own;

	(void)path;
	cJSON_ArrayForEach (container, json) {
		const char *id = rd_json_str(container, "id");
		bool named = false;

		cJSON_ArrayForEach (own, cJSON_GetObjectItemCaseSensitive(container, "names")) {
			named |= cJSON_IsString(own) && is_named(own->valuestring, s->name);
		}
		if (named || rd_streq(id, s->name) || begins_id(s->name, id))
			add(s, source->engine, id, named, pid_of_podman(s, id), 0);
	}
	cJSON_Delete(json);
}

/* containerd keeps a folder a task; the names that its clients give are annotations. */
static void read_task(struct search *s, const struct source *source, const char *path, char *text)
{
	rd_auto_free char *id = folder_name(path, 0);
	rd_auto_free char *file = rd_xasprintf("%.*s/init.pid", (int)(strrchr(path, '/') - path), path);
	cJSON *json = cJSON_Parse(text);
	const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, "annotations");
	const char *container = rd_json_str(notes, "io.kubernetes.cri.container-name");
	rd_auto_free char *both = rd_xasprintf("%s/%s", rd_json_str(notes, "io.kubernetes.cri.sandbox-name"), container);

	add(s, source->engine, id,
	    rd_streq(rd_json_str(notes, "nerdctl/name"), s->name) || rd_streq(container, s->name) ||
	            (*container && rd_streq(both, s->name)),
	    pid_in_file(file), 0);
	cJSON_Delete(json);
}

static void read_runc(struct search *s, const struct source *source, const char *path, char *text)
{
	rd_auto_free char *id = folder_name(path, 0);
	cJSON *json = cJSON_Parse(text);

	add(s, source->engine, id, false, number_of(json, "init_process_pid"), number_of(json, "init_process_start"));
	cJSON_Delete(json);
}

static void read_crun(struct search *s, const struct source *source, const char *path, char *text)
{
	rd_auto_free char *id = folder_name(path, 0);
	cJSON *json = cJSON_Parse(text);

	add(s, source->engine, id, false, number_of(json, "pid"), number_of(json, "process-start-time"));
	cJSON_Delete(json);
}

/* KEY=VALUE lines, the values bare; beside each file may lie a link "unit:NAME". */
static void read_machine(struct search *s, const struct source *source, const char *path, char *text)
{
	const char *name = strrchr(path, '/') + 1;
	char *rest = text, *line;
	uint64_t pid = 0;

	if (strchr(name, ':'))
		return;
	while ((line = rd_str_next_line(&rest)))
		if (rd_str_has_prefix(line, "LEADER=") && rd_str_to_u64(line + strlen("LEADER="), 10, &pid) < 0)
			pid = 0;
	add(s, source->engine, name, false, pid, 0);
}

#define TASKS "io.containerd.runtime.v2.task/*/*/config.json"

static const struct source sources[] = {
	{ "docker", "/var/lib/docker/containers/*/config.v2.json", read_docker },
	{ "docker", "/var/snap/docker/common/var-lib-docker/containers/*/config.v2.json", read_docker },
	{ "docker", "~/.local/share/docker/containers/*/config.v2.json", read_docker },
	{ "podman", "/var/lib/containers/storage/*-containers/containers.json", read_podman },
	{ "podman", "~/.local/share/containers/storage/*-containers/containers.json", read_podman },
	{ "podman", "/home/*/.local/share/containers/storage/*-containers/containers.json", read_podman },
	{ "containerd", "/run/containerd/" TASKS, read_task },
	{ "containerd", "/run/k3s/containerd/" TASKS, read_task },
	{ "containerd", "/run/user/*/containerd/" TASKS, read_task },
	{ "runc", "/run/runc/*/state.json", read_runc },
	{ "runc", "/run/user/*/runc/*/state.json", read_runc },
	{ "runc", "/run/containerd/runc/*/*/state.json", read_runc },
	{ "runc", "/run/docker/runtime-runc/*/*/state.json", read_runc },
	{ "crun", "/run/crun/*/status", read_crun },
	{ "crun", "/run/user/*/crun/*/status", read_crun },
	{ "systemd", "/run/systemd/machines/*", read_machine },
};

static void read_source(struct search *s, const struct source *source)
{
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;

	list(s, source->pattern, &paths);
	for (size_t i = 0; i < paths.n; i++) {
		rd_auto_free char *text = read_whole(paths.v[i]);

		if (text)
			source->read(s, source, paths.v[i], text);
	}
}

/* Where the files were moved to: "data-root" of docker, graphroot of podman. */
static void read_moved(struct search *s)
{
	rd_auto_free char *daemon = rd_xasprintf("%s/etc/docker/daemon.json", s->root), *text = read_whole(daemon);
	rd_auto_free char *conf = rd_xasprintf("%s/etc/containers/storage.conf", s->root), *storage = read_whole(conf);
	cJSON *json = text ? cJSON_Parse(text) : NULL;
	const char *docker = rd_json_str(json, "data-root");
	char *rest = storage, *line, folder[512];

	if (*docker == '/' && !rd_streq(docker, "/var/lib/docker")) {
		rd_auto_free char *pattern = rd_xasprintf("%s/containers/*/config.v2.json", docker);

		read_source(s, &(struct source){ "docker", pattern, read_docker });
	}
	cJSON_Delete(json);
	while (storage && (line = rd_str_next_line(&rest))) {
		if (sscanf(line, " graphroot = \"%511[^\"]\"", folder) == 1 && *folder == '/' &&
		    !rd_streq(folder, "/var/lib/containers/storage")) {
			rd_auto_free char *pattern = rd_xasprintf("%s/*-containers/containers.json", folder);

			read_source(s, &(struct source){ "podman", pattern, read_podman });
		}
	}
}

void rd_container_read_state(const char *root, const char *name, struct rd_container_hints *ret)
{
	struct search s = { root, name, ret };

	/* Many have no name at all. */
	if (!*name)
		return;
	for (size_t i = 0; i < RD_ARRAY_SIZE(sources); i++)
		read_source(&s, &sources[i]);
	read_moved(&s);
}

void rd_container_hints_release(struct rd_container_hints *hints)
{
	for (size_t i = 0; i < hints->n; i++)
		free(hints->v[i].id);
	free(hints->v);
	*hints = (struct rd_container_hints){ 0 };
}
