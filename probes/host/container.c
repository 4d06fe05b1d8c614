/*
 * Does this run in a container, and of which kind?
 *
 * No single sign is proof: images carry a /.dockerenv into virtual machines, and a kernel-side name can be hidden by a cgroup
 * namespace. Signs that only a running container has settle it alone; those that an image may bring along need another.
 */

#include <errno.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/process.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"

/* What has been found so far: the best kind, and every sign. */
struct verdict {
	const char *kind;
	char *source;
	int weight;
	bool dockerenv, overlay, contained; /* contained: seen from outside, its namespaces are not ours */
	struct rd_strv signs;
	int error; /* why a place that would have told could not be read */
};

enum { REMARK = 0, WEAK = 1, STRONG = 2, PROOF = 3 };

static RD_PRINTF(4, 5) void add_sign(struct verdict *v, int weight, const char *kind, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf text = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&text, format, ap);
	va_end(ap);
	rd_strv_push_unique(&v->signs, text.buf);
	if (weight <= v->weight)
		return;
	free(v->source);
	v->source = rd_strbuf_detach(&text);
	v->kind = kind;
	v->weight = weight;
}

/* The word that container managers put into container=, as the kinds are called here. NULL: no container. */
static const char *kind_of_word(const char *word)
{
	static const struct {
		const char *prefix, *kind;
	} kinds[] = {
		{ "docker", "docker" },
		{ "podman", "podman" },
		{ "lxc", "lxc" },
		{ "kube", "k8s" },
		{ "apptainer", "apptainer" },
		{ "singularity", "apptainer" },
		{ "crio", "k8s" },
		{ "systemd-nspawn", "nspawn" },
		{ "oci", "oci" },
		{ "flatpak", "flatpak" },
		{ "rkt", "rkt" },
		{ "bubblewrap", "bubblewrap" },
	};

	/* WSL calls a distribution a container in places; it is told apart by host.wsl. */
	if (!*word || rd_streq(word, "wsl"))
		return NULL;
	for (size_t i = 0; i < RD_ARRAY_SIZE(kinds); i++)
		if (rd_str_has_prefix(word, kinds[i].prefix))
			return kinds[i].kind;
	return "other";
}

static void look_at_word(struct verdict *v, const char *word, const char *place)
{
	const char *kind = kind_of_word(word);

	if (kind)
		add_sign(v, PROOF, kind, "%s says %s", place, kind);
}

static void look_at_environment(struct rd_sysroot *sr, struct verdict *v)
{
	static const struct {
		const char *name, *kind;
	} variables[] = {
		{ "APPTAINER_CONTAINER", "apptainer" },
		{ "SINGULARITY_CONTAINER", "apptainer" },
		{ "SINGULARITY_NAME", "apptainer" },
		{ "KUBERNETES_SERVICE_HOST", "k8s" },
	};
	const char *value;

	for (size_t i = 0; i < RD_ARRAY_SIZE(variables); i++)
		if (rd_sysroot_getenv(sr, &value, variables[i].name) == 1)
			add_sign(v, PROOF, variables[i].kind, "environment %s", variables[i].name);
	/* Says nothing of the engine, but by what the container has to be made again. */
	if (rd_sysroot_getenv(sr, &value, "DISTROBOX_ENTER_PATH") == 1)
		add_sign(v, REMARK, NULL, "environment DISTROBOX_ENTER_PATH");
	if (rd_sysroot_getenv(sr, &value, "container") == 1)
		look_at_word(v, value, "environment container");
}

static void look_at_files(struct rd_sysroot *sr, struct verdict *v)
{
	rd_auto_free char *word = NULL;
	rd_auto_free char *variables = NULL;
	size_t len = 0;

	if (rd_sysroot_exists(sr, "/var/run/secrets/kubernetes.io") == 1)
		add_sign(v, PROOF, "k8s", "/var/run/secrets/kubernetes.io");
	if (rd_sysroot_exists(sr, "/run/.containerenv") == 1)
		add_sign(v, PROOF, "podman", "/run/.containerenv");
	if (rd_sysroot_read_line(sr, &word, "/run/systemd/container") >= 0)
		look_at_word(v, word, "/run/systemd/container");
	/* Only root and the owner may read it; the other signs do without. */
	if (rd_sysroot_read_bytes(sr, &variables, &len, "/proc/1/environ") >= 0)
		for (size_t at = 0; at < len; at += strlen(variables + at) + 1)
			if (rd_str_has_prefix(variables + at, "container="))
				look_at_word(v, variables + at + strlen("container="), "/proc/1/environ");
	v->dockerenv = rd_sysroot_exists(sr, "/.dockerenv") == 1;
	if (rd_sysroot_exists(sr, "/.singularity.d") == 1)
		add_sign(v, WEAK, "apptainer", "/.singularity.d");
}

/* Control group paths of container managers: a component that begins so holds a container, not the manager's own service. */
static void look_at_cgroup(struct rd_sysroot *sr, struct verdict *v, const char *path)
{
	static const struct {
		const char *pattern, *kind;
	} patterns[] = {
		{ "*/kubepods*", "k8s" },        { "*/libpod-*", "podman" },
		{ "*/docker/?*", "docker" },     { "*/docker-?*.scope*", "docker" },
		{ "*/lxc.payload*", "lxc" },     { "*/lxc/?*", "lxc" },
		{ "*/cri-containerd-*", "k8s" }, { "*/machine.slice/systemd-nspawn*", "nspawn" },
	};
	rd_auto_free char *text = NULL;
	char *rest, *line;

	if (rd_sysroot_read(sr, &text, path) < 0)
		return;
	rest = text;
	while ((line = rd_str_next_line(&rest)))
		for (size_t i = 0; i < RD_ARRAY_SIZE(patterns); i++)
			if (rd_str_glob(patterns[i].pattern, line))
				add_sign(v, STRONG, patterns[i].kind, "%s", path);
}

/* The root of a container is layered by its manager, or it has files that the manager mounts over the image's. */
static void look_at_mount(struct verdict *v, const char *line, const char *path)
{
	static const struct {
		const char *pattern, *kind;
	} roots[] = {
		{ "*/docker/overlay2/*", "docker" },
		{ "*/containerd/*", "k8s" },
		{ "*/containers/storage/*", "podman" },
		{ "*/var/lib/lxc/*", "lxc" },
	};
	bool root = rd_str_glob("overlay / overlay *", line) || rd_str_glob("* / / * - overlay *", line);

	v->overlay |= root;
	for (size_t i = 0; root && i < RD_ARRAY_SIZE(roots); i++)
		if (rd_str_glob(roots[i].pattern, line))
			add_sign(v, STRONG, roots[i].kind, "%s: layered root of %s", path, roots[i].kind);
	if (rd_str_glob("*/docker/containers/*/hostname /etc/hostname *", line))
		add_sign(v, STRONG, "docker", "%s: /etc/hostname of docker", path);
	if (rd_str_glob("*/overlay-containers/*/hostname /etc/hostname *", line))
		add_sign(v, STRONG, "podman", "%s: /etc/hostname of podman", path);
}

static void look_at_mounts(struct rd_sysroot *sr, struct verdict *v)
{
	static const char *const paths[] = { "/proc/self/mountinfo", "/proc/self/mounts", "/proc/mounts" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(paths); i++) {
		rd_auto_free char *text = NULL;
		char *rest, *line;
		int r = rd_sysroot_read(sr, &text, paths[i]);

		if (r == -ENOENT)
			continue;
		v->error = r;
		if (r < 0)
			continue;
		v->error = 0;
		rest = text;
		while ((line = rd_str_next_line(&rest)))
			look_at_mount(v, line, paths[i]);
		return;
	}
}

static void conclude(struct rd_fact *facts, struct verdict *v)
{
	if (v->dockerenv && (v->overlay || v->weight > 0))
		add_sign(v, WEAK, "docker", "/.dockerenv and a layered root");
	else if (v->dockerenv && v->contained)
		add_sign(v, WEAK, "docker", "/.dockerenv and namespaces of its own");
	/* Whatever made them: there is nobody inside to ask. */
	if (v->contained)
		add_sign(v, WEAK, "other", "process and mount namespaces of its own");
	rd_strv_sort(&v->signs);
	if (!v->kind && !v->signs.n && v->error)
		rd_fact_set_unknown(facts, "host.container_signs", v->error, "/proc/self/mountinfo");
	else
		rd_fact_set_list(facts, "host.container_signs", "");
	for (size_t i = 0; i < v->signs.n; i++)
		rd_fact_append_str(facts, "host.container_signs", v->signs.v[i], v->signs.v[i]);
	if (v->kind)
		rd_fact_set_str(facts, "host.container", v->kind, v->source);
	else if (v->error)
		rd_fact_set_unknown(facts, "host.container", v->error, "/proc/self/mountinfo");
	else
		rd_fact_set_absent(facts, "host.container", "/proc/self/mountinfo");
}

static int run(struct rd_probe_ctx *ctx)
{
	struct verdict v = { .signs = RD_STRV_INIT };

	/* Equal weights: the first stays, so the outermost manager is asked first. */
	look_at_environment(ctx->sysroot, &v);
	look_at_files(ctx->sysroot, &v);
	look_at_cgroup(ctx->sysroot, &v, "/proc/self/cgroup");
	look_at_cgroup(ctx->sysroot, &v, "/proc/1/cgroup");
	look_at_mounts(ctx->sysroot, &v);
	v.contained = rd_process_is_contained(ctx->sysroot);
	conclude(ctx->facts, &v);
	rd_strv_clear(&v.signs);
	free(v.source);
	return 0;
}

const struct rd_probe rd_probe_host_container = {
	.name = "host/container",
	.layer = RD_LAYER_HOST,
	.summary = "container and its kind",
	.facts =
		(const struct rd_fact_decl[]){
			{ "host.container", RD_STR,
	                  "kind of container: docker, podman, lxc, k8s, apptainer, nspawn, other; empty outside of one",
	                  "environment, /run/.containerenv, /run/systemd/container, /proc/self/{cgroup,mountinfo}" },
			{ "host.container_signs[]", RD_STRS, "what says so", "as host.container" },
			{ 0 },
		},
	.run = run,
};
