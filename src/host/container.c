/* Containers from outside: which process is the first of one. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define ID_LENGTH 64
#define STATE_MAX ((size_t)16 << 20)

static char *read_whole(const char *path)
{
	rd_auto_fclose FILE *f = fopen(path, "re");
	struct rd_strbuf sb = RD_STRBUF_INIT;
	char buf[8192];
	size_t n;

	if (!f)
		return NULL;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && sb.len < STATE_MAX)
		rd_strbuf_addn(&sb, buf, n);
	return rd_strbuf_detach(&sb);
}

/* The id of 64 hexadecimal digits in a process's cgroup, "" for none. */
static void id_in_cgroup(const char *text, char ret[ID_LENGTH + 1])
{
	*ret = '\0';
	while (*text) {
		size_t n = strspn(text, "0123456789abcdef");

		if (n == ID_LENGTH) {
			memcpy(ret, text, n);
			ret[n] = '\0';
			return;
		}
		text += n ? n : 1;
	}
}

/* docker keeps a folder a container, with its name in a file. */
static void add_docker_ids(const char *name, struct rd_strv *ret)
{
	static const char folder[] = "/var/lib/docker/containers";
	const struct dirent *entry;
	DIR *d = opendir(folder);

	while (d && (entry = readdir(d))) {
		rd_auto_free char *path = rd_xasprintf("%s/%s/config.v2.json", folder, entry->d_name);
		rd_auto_free char *text = strlen(entry->d_name) == ID_LENGTH ? read_whole(path) : NULL;
		cJSON *json = text ? cJSON_Parse(text) : NULL;
		const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "Name"));

		if (own && rd_streq(own + (*own == '/'), name))
			rd_strv_push_unique(ret, entry->d_name);
		cJSON_Delete(json);
	}
	if (d)
		closedir(d);
}

/* podman keeps one list a user. */
static void add_podman_ids(const char *path, const char *name, struct rd_strv *ret)
{
	rd_auto_free char *text = read_whole(path);
	cJSON *json = text ? cJSON_Parse(text) : NULL;
	const cJSON *container, *own;

	cJSON_ArrayForEach (container, json) {
		const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(container, "id"));

		cJSON_ArrayForEach (own, cJSON_GetObjectItemCaseSensitive(container, "names")) {
			if (id && cJSON_IsString(own) && rd_streq(own->valuestring, name))
				rd_strv_push_unique(ret, id);
		}
	}
	cJSON_Delete(json);
}

static bool is_id(const char *name)
{
	size_t n = strlen(name);

	return n >= 8 && n <= ID_LENGTH && strspn(name, "0123456789abcdef") == n;
}

static bool fits(const struct rd_strv *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (rd_str_has_prefix(id, ids->v[i]))
			return true;
	return false;
}

/* Its number inside its own namespace is 1. */
static bool is_first(const char *pid)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%s/status", pid), *text = read_whole(path);
	const char *line = text ? strstr(text, "\nNSpid:") : NULL;
	size_t n;

	if (!line)
		return false;
	line += strlen("\nNSpid:");
	n = strcspn(line, "\n");
	return n >= 2 && line[n - 1] == '1' && isspace((unsigned char)line[n - 2]);
}

struct found {
	char id[ID_LENGTH + 1];
	unsigned pid;
	bool first, several;
};

static void look_at(const char *pid, const struct rd_strv *ids, struct found *found)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%s/cgroup", pid), *text = read_whole(path);
	char id[ID_LENGTH + 1];
	uint64_t number;
	bool first;

	id_in_cgroup(text ? text : "", id);
	if (!*id || !fits(ids, id) || rd_str_to_u64(pid, 10, &number) < 0)
		return;
	if (found->pid && !rd_streq(found->id, id)) {
		found->several = true;
		return;
	}
	first = is_first(pid);
	/* A container with the host's processes has no process 1 of its own: then the oldest number stands for it. */
	if (!found->pid || (first && !found->first) || (first == found->first && number < found->pid)) {
		found->pid = (unsigned)number;
		found->first = first;
		memcpy(found->id, id, sizeof(id));
	}
}

int rd_container_find(const char *name, unsigned *ret_pid, struct rd_error *err)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;
	const char *home = getenv("HOME");
	rd_auto_free char *own =
		rd_xasprintf("%s/.local/share/containers/storage/overlay-containers/containers.json", home ? home : "");
	struct found found = { .pid = 0 };
	const struct dirent *entry;
	DIR *d;

	add_docker_ids(name, &ids);
	add_podman_ids("/var/lib/containers/storage/overlay-containers/containers.json", name, &ids);
	add_podman_ids(own, name, &ids);
	if (is_id(name))
		rd_strv_push_unique(&ids, name);
	if (!ids.n)
		return rd_error_set(err, -ENOENT,
		                    "no container is called '%s' in what docker and podman keep and can be read here; "
		                    "its id works too",
		                    name);
	d = opendir("/proc");
	if (!d)
		return rd_error_set(err, -errno, "cannot list '/proc': %s", rd_strerror(errno));
	while ((entry = readdir(d)))
		if (isdigit((unsigned char)*entry->d_name))
			look_at(entry->d_name, &ids, &found);
	closedir(d);
	if (found.several)
		return rd_error_set(err, -EEXIST, "several running containers fit '%s'", name);
	if (!found.pid)
		return rd_error_set(err, -ENOENT, "container '%s' has no running process that can be seen here", name);
	*ret_pid = found.pid;
	return 0;
}
