/* Containers from outside: which process is the first of one. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container-internal.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define ID_LENGTH RD_CONTAINER_ID_LENGTH
#define TEXT_MAX ((size_t)1 << 20)

static char *read_proc(unsigned pid, const char *name)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%u/%s", pid, name);
	rd_auto_fclose FILE *f = fopen(path, "re");
	struct rd_strbuf sb = RD_STRBUF_INIT;
	char buf[4096];
	size_t n;

	if (!f)
		return NULL;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && sb.len < TEXT_MAX)
		rd_strbuf_addn(&sb, buf, n);
	return rd_strbuf_detach(&sb);
}

/* ------------------------------------------------------------ one process */

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

/* Is there a group of that name on the way: ".../lxc.payload.NAME/init.scope"? Engines that go by names have no ids. */
static bool is_in_group(const char *text, const char *name)
{
	static const char *const forms[] = { "/lxc.payload.%s", "/lxc/%s", "/machine-%s.scope", "/systemd-nspawn@%s.service" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(forms); i++) {
		const char *mark = strstr(forms[i], "%s"), *at = text;
		rd_auto_free char *group = rd_xasprintf("%.*s%s%s", (int)(mark - forms[i]), forms[i], name, mark + 2);

		while ((at = strstr(at, group))) {
			at += strlen(group);
			if (!*at || *at == '/' || *at == '\n')
				return true;
		}
	}
	return false;
}

static uint64_t start_of(unsigned pid)
{
	rd_auto_free char *text = read_proc(pid, "stat");
	/* The name may hold anything, brackets too. */
	const char *at = text ? strrchr(text, ')') : NULL;
	unsigned long long start;

	if (!at ||
	    sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &start) != 1)
		return 0;
	return start;
}

static bool has_own_mounts(unsigned pid)
{
	rd_auto_free char *path = rd_xasprintf("/proc/%u/ns/mnt", pid);
	char theirs[64], ours[64];
	ssize_t n = readlink(path, theirs, sizeof(theirs)), m = readlink("/proc/self/ns/mnt", ours, sizeof(ours));

	return n > 0 && m > 0 && (n != m || memcmp(theirs, ours, (size_t)n) != 0);
}

/* Files of an engine that crashed name processes whose numbers others may have by now. */
static bool is_process_of(const struct rd_container_hint *hint)
{
	rd_auto_free char *cgroup = hint->pid ? read_proc(hint->pid, "cgroup") : NULL;
	char id[ID_LENGTH + 1];

	if (!cgroup)
		return false;
	if (hint->start)
		return start_of(hint->pid) == hint->start;
	id_in_cgroup(cgroup, id);
	return *id && strlen(hint->id) == ID_LENGTH ? rd_streq(id, hint->id) : has_own_mounts(hint->pid);
}

/* Its number inside its own namespace is 1. */
static bool is_first(unsigned pid)
{
	rd_auto_free char *text = read_proc(pid, "status");
	const char *line = text ? strstr(text, "\nNSpid:") : NULL;
	size_t n;

	if (!line)
		return false;
	line += strlen("\nNSpid:");
	n = strcspn(line, "\n");
	return n >= 2 && line[n - 1] == '1' && isspace((unsigned char)line[n - 2]);
}

/* ------------------------------------------------------------ all processes */

struct scan {
	const char *id, *name; /* NULL: not asked for */
	unsigned pid;
	bool first, several;
	char seen[ID_LENGTH + 1]; /* the whole id of the process that was found */
};

static bool fits(const struct scan *scan, const char *cgroup, const char *id)
{
	return (scan->id && *id && rd_str_has_prefix(id, scan->id)) || (scan->name && is_in_group(cgroup, scan->name));
}

/* A container with the host's processes has no process 1 of its own: then the lowest number stands for it. */
static void look_at(struct scan *scan, unsigned pid)
{
	rd_auto_free char *cgroup = read_proc(pid, "cgroup");
	char id[ID_LENGTH + 1];
	bool first;

	id_in_cgroup(cgroup ? cgroup : "", id);
	if (!cgroup || !fits(scan, cgroup, id))
		return;
	if (scan->pid && scan->id && !rd_streq(scan->seen, id)) {
		scan->several = true;
		return;
	}
	memcpy(scan->seen, id, sizeof(id));
	first = is_first(pid);
	if (!scan->pid || (first && !scan->first) || (first == scan->first && pid < scan->pid)) {
		scan->pid = pid;
		scan->first = first;
	}
}

/* 0: none. */
static unsigned scan_processes(const char *id, const char *name, bool *ret_several)
{
	struct scan scan = { .id = id, .name = name };
	const struct dirent *entry;
	uint64_t pid;
	DIR *d = opendir("/proc");

	while (d && (entry = readdir(d)))
		if (isdigit((unsigned char)*entry->d_name) && rd_str_to_u64(entry->d_name, 10, &pid) == 0)
			look_at(&scan, (unsigned)pid);
	if (d)
		closedir(d);
	*ret_several |= scan.several;
	return scan.pid;
}

/* ------------------------------------------------------------ */

struct found {
	unsigned pid;
	bool several;
	struct rd_strbuf words; /* "docker's is process 17, podman's is process 23" */
};

static void note(struct found *found, const char *engine, unsigned pid)
{
	if (!pid || pid == found->pid)
		return;
	rd_strbuf_addf(&found->words, "%s%s: process %u", found->pid ? ", " : "", engine, pid);
	found->several |= found->pid != 0;
	if (!found->pid)
		found->pid = pid;
}

static void resolve(struct found *found, const struct rd_container_hints *hints, bool exact)
{
	for (size_t i = 0; i < hints->n; i++) {
		const struct rd_container_hint *h = &hints->v[i];
		bool has_id = strlen(h->id) == ID_LENGTH && strspn(h->id, "0123456789abcdef") == ID_LENGTH;

		if (h->exact == exact)
			note(found, h->engine,
			     is_process_of(h) ? h->pid
			     : has_id         ? scan_processes(h->id, NULL, &found->several)
			                      : 0);
	}
}

/* A hexadecimal name may be the beginning of an id of an engine that is not known here. */
static const char *as_id(const char *name)
{
	size_t n = strlen(name);

	return n >= 8 && n <= ID_LENGTH && strspn(name, "0123456789abcdef") == n ? name : NULL;
}

static int fail(const char *name, const struct rd_container_hints *hints, const struct found *found, struct rd_error *err)
{
	const char *unseen = geteuid() == 0 ? "" : " (root sees more)";

	if (found->several)
		return rd_error_set(err, -EEXIST, "several running containers fit '%s' (%s): take --pid", name,
		                    found->words.buf);
	if (hints->n)
		return rd_error_set(err, -ENOENT, "container '%s' of %s has no running process that can be seen here%s", name,
		                    hints->v[0].engine, unseen);
	return rd_error_set(err, -ENOENT,
	                    "no container is called '%s' in what docker, podman, containerd, runc, crun, lxc and systemd keep "
	                    "and can be read here%s; its id works too, and --pid with its first process",
	                    name, unseen);
}

int rd_container_find(const char *name, unsigned *ret_pid, struct rd_error *err)
{
	struct rd_container_hints hints = { 0 };
	struct found found = { .words = RD_STRBUF_INIT };
	int r = 0;

	/* Not to be part of a path or pattern: no engine has such names. */
	if (!*name || strspn(name, "/.*?[") == strlen(name))
		return rd_error_set(err, -ENOENT, "no container is called '%s'", name);
	rd_container_read_state("", name, &hints);
	resolve(&found, &hints, true);
	if (!found.pid)
		note(&found, "by its control group", scan_processes(NULL, name, &found.several));
	if (!found.pid)
		resolve(&found, &hints, false);
	if (!found.pid && as_id(name))
		note(&found, "by its control group", scan_processes(as_id(name), NULL, &found.several));
	if (!found.pid || found.several)
		r = fail(name, &hints, &found, err);
	else
		*ret_pid = found.pid;
	rd_container_hints_release(&hints);
	rd_strbuf_release(&found.words);
	return r;
}
