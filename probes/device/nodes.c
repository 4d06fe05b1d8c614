/*
 * /dev/kfd and the render nodes: who may open them, and what opening gave.
 *
 * Nodes are looked for where /dev has them and where sysfs or KFD say that there should be one; device.nodes[] holds those that
 * a ROCm program opens. An unused partition slot of an MI300 (amdgpu_xcp) has a render node and no GPU behind it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "rocm-doctor/accounts.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/udev.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

RD_DEFINE_CLEANUP(accounts, struct rd_accounts, rd_accounts_free)
RD_DEFINE_CLEANUP(rules, struct rd_udev_rules, rd_udev_rules_free)

/* What every node is judged by. */
struct judge {
	struct rd_probe_ctx *ctx;
	struct rd_accounts *accounts; /* NULL: not readable */
	int accounts_error;
	struct rd_udev_rules *rules;
	struct rd_credentials who;
	uint32_t *gids;
	bool known;                    /* who it is */
	bool same_user;                /* what opening gave was given to him */
	int64_t given, closed, usable; /* KFD's GPU nodes that may be read and may not; render nodes that work */
	int drm_error;                 /* why sysfs could not say which render nodes there are; 0 or -ENOENT: it did */
	bool usable_known, opened;     /* opened: one AMD render node could be opened */
};

struct node {
	char *path;
	const char *kernel, *subsystem; /* kernel: the name inside @path */
	char gpu[24];                   /* PCI address; empty for /dev/kfd and for what is none of a GPU */
	bool amd, used;
	int error; /* of looking at it: 0, -ENOENT, ... */
	struct rd_stat st;
	struct rd_acl_entry *acl;
	int acl_n;
	enum rd_denial denial;
	int open; /* -ENODATA: not known */
};

static void node_release(struct node *node)
{
	free(node->path);
	free(node->acl);
}

/* ---- who ---- */

static void judge_init(struct judge *j)
{
	struct rd_fact *facts = j->ctx->facts;
	const struct rd_user *user;

	j->accounts_error = rd_accounts_read(j->ctx->sysroot, &j->accounts);
	if (j->accounts_error < 0)
		j->accounts = NULL;
	if (rd_udev_rules_read(j->ctx->sysroot, &j->rules) < 0)
		j->rules = NULL;
	j->usable_known = true;
	j->known = rd_sysroot_user(j->ctx->sysroot, &user) >= 0;
	if (!j->known)
		return;
	j->gids = rd_xcalloc(user->groups_n + 1, sizeof(*j->gids));
	for (size_t i = 0; i < user->groups_n; i++)
		j->gids[i] = user->groups[i].gid;
	j->gids[user->groups_n] = user->gid;
	j->who = (struct rd_credentials){
		.uid = user->uid,
		.gids = j->gids,
		.gids_n = user->groups_n + 1,
		.overrides_modes = rd_fact_get_bool(facts, "host.user.overrides_modes"),
		/* Of a process in a namespace of its own we have the numbers from outside. */
		.user_namespace =
			rd_fact_get_bool(facts, "host.user_namespace.active") && !rd_sysroot_has_inner_ids(j->ctx->sysroot),
	};
	rd_device_overflow_ids(j->ctx->sysroot, &j->who.overflow_uid, &j->who.overflow_gid);
	j->same_user = !rd_fact_is_known(facts, "host.process_uid") ||
	               rd_fact_get_int(facts, "host.process_uid") == (int64_t)user->uid;
}

/* ---- which nodes ---- */

/* DDDD:BB:DD.F; behind a controller like VMD the domain takes more digits. */
static bool is_pci_address(const char *s)
{
	static const char form[] = ":xx:xx.x";
	size_t domain = strspn(s, "0123456789abcdef");

	if (domain < 4 || domain > 8 || strlen(s) != domain + sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		char c = s[domain + i];

		if (form[i] == 'x' ? !strchr("0123456789abcdef", c) : c != form[i])
			return false;
	}
	return true;
}

/* The address of the GPU whose partition the render node is, as KFD's topology has it; NULL: none. */
static const char *gpu_of_partition(const struct rd_fact *facts, const char *render)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *gpu = rd_fact_at(gpus, i), *partitions = rd_fact_get(gpu, "partitions");

		for (size_t k = 0; k < rd_fact_count(partitions); k++)
			if (rd_streq(rd_fact_get_str(rd_fact_at(partitions, k), "render"), render))
				return rd_fact_get_str(gpu, "pci.address");
	}
	return NULL;
}

static bool is_gpu(const struct rd_fact *facts, const char *address)
{
	const struct rd_fact *gpus = rd_fact_get(facts, "gpus");

	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		if (rd_streq(rd_fact_get_str(rd_fact_at(gpus, i), "pci.address"), address))
			return true;
	return false;
}

/*
 * Where the device of a render node lies; NULL: sysfs does not tell. The link of the class says it,
 * "../../devices/.../0000:03:00.0/drm/renderD128", without a look into each of the 64 folders that an MI300X has.
 */
static char *find_device(struct judge *j, const char *kernel)
{
	rd_auto_free char *link = rd_xasprintf("/sys/class/drm/%s/device", kernel);
	rd_auto_free char *end = rd_xasprintf("/drm/%s", kernel);
	char *path = NULL;

	if (rd_sysroot_readlinkf(j->ctx->sysroot, &path, "/sys/class/drm/%s", kernel) >= 0 && rd_str_has_suffix(path, end)) {
		path[strlen(path) - strlen(end)] = '\0';
		return path;
	}
	free(path);
	return rd_sysroot_realpath(j->ctx->sysroot, &path, link) >= 0 ? path : NULL;
}

static void find_gpu(struct judge *j, struct node *node)
{
	const char *partition = gpu_of_partition(j->ctx->facts, node->kernel);
	rd_auto_free char *device = find_device(j, node->kernel);
	const char *slash = device ? strrchr(device, '/') : NULL, *base = slash ? slash + 1 : "";

	if (is_pci_address(base))
		strcpy(node->gpu, base);
	else if (partition && strlen(partition) < sizeof(node->gpu))
		strcpy(node->gpu, partition);
	node->amd = *node->gpu ? is_gpu(j->ctx->facts, node->gpu) : rd_str_has_prefix(base, "amdgpu_xcp");
	node->used = node->amd && *node->gpu;
}

/* "renderD128" -> 128; 0 for any other name. */
static unsigned long minor_of(const char *name)
{
	uint64_t minor;

	if (!rd_str_has_prefix(name, "renderD") || rd_str_to_u64(name + strlen("renderD"), 10, &minor) < 0 || minor > 1048575)
		return 0;
	return (unsigned long)minor;
}

static int compare_minors(const void *a, const void *b)
{
	unsigned long x = minor_of(*(char *const *)a), y = minor_of(*(char *const *)b);

	return (x > y) - (x < y);
}

/* Names of render nodes that are there or ought to be, by number. Returns 0 or why /dev/dri could not be looked into. */
static int list_renders(struct judge *j, struct rd_strv *ret)
{
	const struct rd_fact *gpus = rd_fact_get(j->ctx->facts, "gpus");
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	int r;

	j->drm_error = rd_sysroot_list(j->ctx->sysroot, &names, "/sys/class/drm");
	r = rd_sysroot_list(j->ctx->sysroot, &names, "/dev/dri");
	for (size_t i = 0; i < rd_fact_count(gpus); i++) {
		const struct rd_fact *partitions = rd_fact_get(rd_fact_at(gpus, i), "partitions");

		for (size_t k = 0; k < rd_fact_count(partitions); k++)
			rd_strv_push(&names, rd_fact_get_str(rd_fact_at(partitions, k), "render"));
	}
	if (names.n > 1)
		qsort(names.v, names.n, sizeof(*names.v), compare_minors);
	for (size_t i = 0; i < names.n; i++)
		if (minor_of(names.v[i]) && (!ret->n || minor_of(ret->v[ret->n - 1]) != minor_of(names.v[i])))
			rd_strv_push(ret, names.v[i]);
	j->usable_known &= r >= 0 || r == -ENOENT;
	return r == -ENOENT ? 0 : r;
}

/* ---- one node ---- */

/* Opening must not be tried where it can only mislead: it is the process that opens, whoever is judged. */
static int try_open(struct judge *j, const struct node *node)
{
	return j->same_user ? rd_sysroot_open_node(j->ctx->sysroot, node->path) : -ENODATA;
}

static enum rd_denial access_of(const struct judge *j, const struct node *node)
{
	struct rd_credentials who = j->who;
	uint32_t id;

	who.owner_outside = !rd_sysroot_inner_uid(j->ctx->sysroot, node->st.uid, &id);
	who.group_outside = !rd_sysroot_inner_gid(j->ctx->sysroot, node->st.gid, &id);
	return rd_device_access(&node->st, node->acl, node->acl_n > 0 ? (size_t)node->acl_n : 0, &who);
}

static void look(struct judge *j, struct node *node)
{
	node->open = -ENODATA;
	node->error = rd_sysroot_stat(j->ctx->sysroot, &node->st, node->path);
	if (node->error < 0)
		return;
	node->acl_n = rd_sysroot_acl(j->ctx->sysroot, &node->acl, node->path);
	/* Opening wakes a GPU; what a snapshot recorded is to be had for nothing. */
	if (node->used || !rd_sysroot_is_live(j->ctx->sysroot))
		node->open = try_open(j, node);
	node->denial = RD_ACCESS_UNDECIDED;
	if (j->known)
		node->denial = access_of(j, node);
	/* The numbers do not tell, but opening did. */
	if (j->known && node->denial == RD_ACCESS_UNDECIDED && node->open != -ENODATA)
		node->denial = node->open == -EACCES ? RD_ACCESS_DENIED_NAMESPACE : RD_ACCESS_GRANTED;
	/* An ACL that could not be read may grant what the mode does not. */
	if (node->acl_n < 0 && node->denial != RD_ACCESS_GRANTED)
		node->denial = RD_ACCESS_UNDECIDED;
}

static const char *open_name(int open)
{
	const char *name = open == 0 ? "ok" : rd_errno_name(open);

	return name ? name : "EIO";
}

static void set_access(struct judge *j, struct rd_fact *at, const struct node *node)
{
	if (node->denial == RD_ACCESS_UNDECIDED)
		rd_fact_set_unknown(at, "accessible", j->known && node->acl_n < 0 ? node->acl_n : -ENODATA,
		                    j->known ? node->path : "user");
	else
		rd_fact_set_bool(at, "accessible", node->denial == RD_ACCESS_GRANTED, node->path);
	if (node->open != -ENODATA)
		rd_fact_set_str(at, "open", open_name(node->open), node->path);
	else if (!node->used)
		rd_fact_set_unknown_why(at, "open", "not opened: no node of a ROCm GPU", node->path);
	else if (rd_sysroot_pid(j->ctx->sysroot))
		rd_fact_set_unknown_why(at, "open", "only the process itself could try", node->path);
	else if (!j->same_user)
		rd_fact_set_unknown_why(at, "open", "rocm-doctor runs as another user", node->path);
	else
		rd_fact_set_unknown(at, "open", -ENODATA, node->path);
}

static void set_name(struct rd_fact *at, const char *fact, const char *name, const char *source)
{
	if (name)
		rd_fact_set_str(at, fact, name, source);
	else
		rd_fact_set_absent(at, fact, source);
}

/* A name out of /etc/passwd or /etc/group, which may not be readable. */
static void set_account(const struct judge *j, struct rd_fact *at, const char *fact, const char *name, const char *source)
{
	if (j->accounts)
		set_name(at, fact, name, source);
	else
		rd_fact_set_unknown(at, fact, j->accounts_error, source);
}

static const char *group_name(const struct judge *j, uint32_t gid)
{
	return j->accounts && rd_sysroot_inner_gid(j->ctx->sysroot, gid, &gid) ? rd_accounts_group_name(j->accounts, gid)
	                                                                       : NULL;
}

static void set_mode(struct rd_fact *at, const struct node *node)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", node->st.mode);
	rd_fact_set_str(at, "mode", mode, node->path);
}

/* The facts that /dev/kfd and every render node have alike. */
static void set_node(struct judge *j, struct rd_fact *at, const struct node *node)
{
	uint32_t uid;
	bool has_name = j->accounts && rd_sysroot_inner_uid(j->ctx->sysroot, node->st.uid, &uid);
	const struct rd_account *owner = has_name ? rd_accounts_by_uid(j->accounts, uid) : NULL;

	set_mode(at, node);
	set_account(j, at, "owner", owner ? owner->name : NULL, "/etc/passwd");
	set_account(j, at, "group", group_name(j, node->st.gid), "/etc/group");
	rd_fact_set_int(at, "uid", node->st.uid, node->path);
	rd_fact_set_int(at, "gid", node->st.gid, node->path);
	rd_fact_set_int(at, "major", node->st.major, node->path);
	rd_fact_set_int(at, "minor", node->st.minor, node->path);
	if (node->acl_n < 0)
		rd_fact_set_unknown(at, "acl", node->acl_n, node->path);
	else
		rd_fact_set_bool(at, "acl", node->acl_n > 0, node->path);
	set_access(j, at, node);
}

/* True where a new session of the judged user would be in the group. */
static bool lists(const struct rd_fact *facts, uint32_t gid)
{
	const struct rd_fact *groups = rd_fact_get(facts, "host.user.member_of");

	for (size_t i = 0; i < rd_fact_count(groups); i++)
		if (rd_fact_get_int(rd_fact_at(groups, i), "gid") == (int64_t)gid)
			return true;
	return false;
}

static void set_udev(struct judge *j, struct rd_fact *at, const struct node *node)
{
	rd_auto_strv struct rd_strv tags = RD_STRV_INIT;
	struct rd_udev_node wanted = { 0 };
	char mode[8];
	int r;

	if (j->rules)
		rd_udev_rules_node(j->rules, node->subsystem, node->kernel, &wanted);
	if (wanted.undecided) {
		rd_fact_set_unknown_why(at, "udev_group", "a rule has a condition that files do not decide", "udev rules");
		rd_fact_set_unknown_why(at, "udev_mode", "a rule has a condition that files do not decide", "udev rules");
	} else {
		set_name(at, "udev_group", wanted.group, wanted.group_source ? wanted.group_source : "udev rules");
		snprintf(mode, sizeof(mode), "%04o", wanted.mode);
		set_name(at, "udev_mode", wanted.mode ? mode : NULL, wanted.mode_source ? wanted.mode_source : "udev rules");
	}
	r = rd_udev_tags(j->ctx->sysroot, node->st.major, node->st.minor, &tags, NULL);
	if (r < 0 && r != -ENOENT)
		rd_fact_set_unknown(at, "seat", r, "/run/udev/data");
	else
		rd_fact_set_bool(at, "seat", r >= 0 && rd_strv_has(&tags, "uaccess"), "/run/udev/data");
}

/* Is the group another than the one that udev's rules name? */
static bool foreign_group(struct judge *j, const struct node *node)
{
	struct rd_udev_node wanted = { 0 };
	uint32_t gid;

	if (!j->rules)
		return false;
	rd_udev_rules_node(j->rules, node->subsystem, node->kernel, &wanted);
	if (wanted.undecided || !wanted.group || !j->accounts)
		return false;
	if (*wanted.group >= '0' && *wanted.group <= '9')
		return (uint32_t)strtoul(wanted.group, NULL, 10) != node->st.gid;
	return rd_accounts_gid(j->accounts, wanted.group, &gid) >= 0 && gid != node->st.gid;
}

/* A node whose GPU was not given to this job: its topology node is closed as well, and another GPU's is open. */
static bool is_withheld(const struct judge *j, const struct node *node)
{
	return node->open == -EPERM && j->closed > 0 && j->opened && !gpu_of_partition(j->ctx->facts, node->kernel);
}

static void add_used(struct judge *j, const struct node *node)
{
	struct rd_fact *at = rd_fact_append(j->ctx->facts, "device.nodes", node->path);

	rd_fact_set_str(at, "path", node->path, node->path);
	set_name(at, "gpu", *node->gpu ? node->gpu : NULL, "/sys/class/drm");
	set_mode(at, node);
	set_account(j, at, "group", group_name(j, node->st.gid), "/etc/group");
	rd_fact_set_int(at, "gid", node->st.gid, node->path);
	set_access(j, at, node);
	if (node->denial == RD_ACCESS_UNDECIDED) {
		rd_fact_set_unknown(at, "denied_by", -ENODATA, "user");
	} else {
		rd_fact_set_str(at, "denied_by", rd_denial_name(node->denial), node->path);
		rd_fact_set_bool(at, "foreign_group", foreign_group(j, node), "udev rules");
	}
	if (j->known)
		rd_fact_set_bool(at, "in_group", rd_credentials_has_group(&j->who, node->st.gid), "getgroups");
	else
		rd_fact_set_unknown(at, "in_group", -ENODATA, "user");
	rd_fact_set_bool(at, "withheld", is_withheld(j, node), "/sys/class/kfd/kfd/topology/nodes");
	rd_fact_set_bool(at, "for_everyone", (node->st.mode & 6) == 6, node->path);
	set_udev(j, at, node);
}

/* ---- /dev/kfd ---- */

static void count_topology(struct judge *j)
{
	static const char dir[] = "/sys/class/kfd/kfd/topology/nodes";
	rd_auto_strv struct rd_strv nodes = RD_STRV_INIT;
	int r;

	r = rd_sysroot_list(j->ctx->sysroot, &nodes, dir);
	if (r < 0 && r != -ENOENT) {
		rd_fact_set_unknown(j->ctx->facts, "device.gpu_nodes_given", r, dir);
		rd_fact_set_unknown(j->ctx->facts, "device.gpu_nodes_closed", r, dir);
		return;
	}
	for (size_t i = 0; i < nodes.n; i++) {
		uint64_t id;

		r = rd_sysroot_readf_u64(j->ctx->sysroot, &id, "%s/%s/gpu_id", dir, nodes.v[i]);
		/* KFD answers EPERM where a device cgroup denies the GPU's render node. */
		j->closed += r == -EPERM || r == -EACCES;
		j->given += r >= 0 && id != 0;
	}
	rd_fact_set_int(j->ctx->facts, "device.gpu_nodes_given", j->given, dir);
	rd_fact_set_int(j->ctx->facts, "device.gpu_nodes_closed", j->closed, dir);
}

/* It could not be looked at. */
static void set_unknown(struct rd_fact *at, const struct node *node)
{
	static const char *const all[] = {
		"mode", "owner", "uid", "group", "gid", "acl", "major", "minor", "accessible", "open"
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(all); i++)
		rd_fact_set_unknown(at, all[i], node->error, node->path);
}

static void do_kfd(struct judge *j, struct node *node)
{
	struct rd_fact *facts = j->ctx->facts;

	*node = (struct node){ .path = rd_xstrdup("/dev/kfd"), .kernel = "kfd", .subsystem = "kfd", .amd = true, .used = true };
	look(j, node);
	if (node->error == -ENOENT) {
		rd_fact_set_bool(facts, "device.kfd.exists", false, node->path);
	} else if (node->error < 0) {
		rd_fact_set_unknown(facts, "device.kfd.exists", node->error, node->path);
		set_unknown(rd_fact_get_mutable(facts, "device.kfd"), node);
	} else {
		rd_fact_set_bool(facts, "device.kfd.exists", true, node->path);
		set_node(j, rd_fact_get_mutable(facts, "device.kfd"), node);
	}
}

/* ---- render nodes ---- */

static void add_render(struct judge *j, const struct node *node)
{
	struct rd_fact *at = rd_fact_append(j->ctx->facts, "device.render", node->path);

	rd_fact_set_str(at, "path", node->path, node->path);
	set_name(at, "gpu", *node->gpu ? node->gpu : NULL, "/sys/class/drm");
	if (node->error < 0)
		set_unknown(at, node);
	else
		set_node(j, at, node);
}

/* The node that stands for a GPU: its own, not a further partition's. */
static void set_gpu_node(struct judge *j, const struct node *nodes, size_t n, struct rd_fact *gpu)
{
	const char *address = rd_fact_get_str(gpu, "pci.address"), *render = rd_fact_get_str(gpu, "drm.render");
	const struct node *found = NULL;

	for (size_t i = 0; i < n && !found; i++)
		if (*render ? rd_streq(nodes[i].kernel, render) : *address && rd_streq(nodes[i].gpu, address))
			found = &nodes[i];
	if (!found && j->drm_error < 0 && j->drm_error != -ENOENT) {
		rd_fact_set_unknown(gpu, "render_node.exists", j->drm_error, "/sys/class/drm");
		return;
	}
	if (!found) {
		rd_fact_set_bool(gpu, "render_node.exists", false, "/sys/class/drm");
		return;
	}
	rd_fact_set_str(gpu, "render_node.path", found->path, found->path);
	if (found->error < 0 && found->error != -ENOENT) {
		rd_fact_set_unknown(gpu, "render_node.exists", found->error, found->path);
		rd_fact_set_unknown(gpu, "render_node.accessible", found->error, found->path);
		rd_fact_set_unknown(gpu, "render_node.open", found->error, found->path);
		return;
	}
	rd_fact_set_bool(gpu, "render_node.exists", found->error >= 0, found->path);
	if (found->error >= 0)
		set_access(j, rd_fact_get_mutable(gpu, "render_node"), found);
}

static void count_usable(struct judge *j, const struct node *node)
{
	if (!node->used)
		return;
	if (node->error < 0) {
		j->usable_known &= node->error == -ENOENT;
		return;
	}
	j->usable_known &= node->denial != RD_ACCESS_UNDECIDED;
	j->usable += node->denial == RD_ACCESS_GRANTED && (node->open == 0 || node->open == -ENODATA);
	j->opened |= node->open == 0;
}

static void do_renders(struct judge *j, const struct rd_strv *names, struct node *nodes)
{
	struct rd_fact *gpus = rd_fact_get_mutable(j->ctx->facts, "gpus");

	for (size_t i = 0; i < names->n; i++) {
		nodes[i] = (struct node){ .path = rd_xasprintf("/dev/dri/%s", names->v[i]), .subsystem = "drm" };
		nodes[i].kernel = nodes[i].path + strlen("/dev/dri/");
		find_gpu(j, &nodes[i]);
		look(j, &nodes[i]);
		count_usable(j, &nodes[i]);
		if (nodes[i].error != -ENOENT)
			add_render(j, &nodes[i]);
	}
	for (size_t i = 0; i < rd_fact_count(gpus); i++)
		set_gpu_node(j, nodes, names->n, rd_fact_at_mutable(gpus, i));
	if (j->usable_known)
		rd_fact_set_int(j->ctx->facts, "device.render_usable", j->usable, "/dev/dri");
	else
		rd_fact_set_unknown(j->ctx->facts, "device.render_usable", -ENODATA, "/dev/dri");
}

/* ---- groups ---- */

static struct rd_fact *group_item(struct judge *j, uint32_t gid)
{
	struct rd_fact *groups = rd_fact_get_mutable(j->ctx->facts, "device.groups"), *item;
	const struct rd_fact *member_of = rd_fact_get(j->ctx->facts, "host.user.member_of");

	for (size_t i = 0; i < rd_fact_count(groups); i++)
		if (rd_fact_get_int(rd_fact_at(groups, i), "gid") == (int64_t)gid)
			return rd_fact_at_mutable(groups, i);
	item = rd_fact_append(j->ctx->facts, "device.groups", "/etc/group");
	rd_fact_set_int(item, "gid", gid, "/dev");
	set_account(j, item, "name", group_name(j, gid), "/etc/group");
	rd_fact_set_bool(item, "member", rd_credentials_has_group(&j->who, gid), "getgroups");
	if (rd_fact_state(member_of) == RD_FACT_UNKNOWN)
		rd_fact_set_unknown(item, "listed", -ENODATA, "/etc/group");
	else
		rd_fact_set_bool(item, "listed", lists(j->ctx->facts, gid), "/etc/group");
	rd_fact_set_bool(item, "needed", false, "/dev");
	return item;
}

static void add_group(struct judge *j, const struct node *node)
{
	struct rd_fact *item;

	if (node->error < 0 || !node->used)
		return;
	item = group_item(j, node->st.gid);
	/* Joining helps only where the group is the one that the node is meant to have. */
	if (node->denial == RD_ACCESS_DENIED_GROUP && !foreign_group(j, node))
		rd_fact_set_bool(item, "needed", true, node->path);
}

/* "render,video": the named groups that he lacks in the files too. */
static void set_join(struct rd_fact *facts)
{
	const struct rd_fact *groups = rd_fact_get(facts, "device.groups");
	rd_auto_free char *join = rd_xstrdup("");

	for (size_t i = 0; i < rd_fact_count(groups); i++) {
		const struct rd_fact *item = rd_fact_at(groups, i);
		const char *name = rd_fact_get_str(item, "name");
		char *longer;

		if (!*name || !rd_fact_get_bool(item, "needed") || rd_fact_get_bool(item, "listed"))
			continue;
		longer = rd_xasprintf("%s%s%s", join, *join ? "," : "", name);
		free(join);
		join = longer;
	}
	rd_fact_set_str(facts, "device.join_groups", join, "/etc/group");
}

/* "render (992)": the groups for want of which a node stays closed. */
static void set_closed(struct rd_fact *facts)
{
	const struct rd_fact *nodes = rd_fact_get(facts, "device.nodes");
	rd_auto_strv struct rd_strv texts = RD_STRV_INIT;

	rd_fact_set_list(facts, "device.closed_groups", "/dev");
	for (size_t i = 0; i < rd_fact_count(nodes); i++) {
		const struct rd_fact *node = rd_fact_at(nodes, i);
		const char *name = rd_fact_get_str(node, "group");
		rd_auto_free char *text = NULL;

		if (!rd_streq(rd_fact_get_str(node, "denied_by"), "group"))
			continue;
		text = rd_xasprintf("%s%s%lld%s", name, *name ? " (" : "", (long long)rd_fact_get_int(node, "gid"),
		                    *name ? ")" : "");
		if (rd_strv_has(&texts, text))
			continue;
		rd_strv_push(&texts, text);
		rd_fact_append_str(facts, "device.closed_groups", text, rd_fact_get_str(node, "path"));
	}
}

static void do_groups(struct judge *j, const struct node *kfd, const struct node *nodes, size_t n)
{
	if (!j->known) {
		rd_fact_set_unknown(j->ctx->facts, "device.groups", -ENODATA, "user");
		rd_fact_set_unknown(j->ctx->facts, "device.join_groups", -ENODATA, "user");
		rd_fact_set_unknown(j->ctx->facts, "device.closed_groups", -ENODATA, "user");
		return;
	}
	rd_fact_set_list(j->ctx->facts, "device.groups", "/dev");
	add_group(j, kfd);
	for (size_t i = 0; i < n; i++)
		add_group(j, &nodes[i]);
	set_join(j->ctx->facts);
	set_closed(j->ctx->facts);
}

/* ---- all of it ---- */

static int run(struct rd_probe_ctx *ctx)
{
	struct judge j = { .ctx = ctx };
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	struct node kfd, *nodes;
	int r;

	judge_init(&j);
	count_topology(&j);
	r = list_renders(&j, &names);
	nodes = rd_xcalloc(names.n + 1, sizeof(*nodes));
	rd_fact_set_list(ctx->facts, "device.render", "/dev/dri");
	rd_fact_set_list(ctx->facts, "device.nodes", "/dev");
	do_kfd(&j, &kfd);
	do_renders(&j, &names, nodes);
	if (r < 0)
		rd_fact_set_unknown(ctx->facts, "device.render", r, "/dev/dri");
	if (kfd.error >= 0)
		add_used(&j, &kfd);
	for (size_t i = 0; i < names.n; i++)
		if (nodes[i].used && nodes[i].error >= 0)
			add_used(&j, &nodes[i]);
	if (kfd.error < 0 && kfd.error != -ENOENT)
		rd_fact_set_unknown(ctx->facts, "device.nodes", kfd.error, kfd.path);
	do_groups(&j, &kfd, nodes, names.n);

	for (size_t i = 0; i < names.n; i++)
		node_release(&nodes[i]);
	node_release(&kfd);
	free(nodes);
	free(j.gids);
	rd_accounts_free(j.accounts);
	rd_udev_rules_free(j.rules);
	return 0;
}

#define NODE_FACTS(prefix) \
	{ prefix ".mode", RD_STR, "permission bits, octal", "stat" }, \
		{ prefix ".owner", RD_STR, "owner's name here; empty where it has none", "/etc/passwd" }, \
		{ prefix ".uid", RD_INT, "owner", "stat" }, \
		{ prefix ".group", RD_STR, "group's name here; empty where it has none", "/etc/group" }, \
		{ prefix ".gid", RD_INT, "group", "stat" }, \
		{ prefix ".acl", RD_BOOL, "an ACL stands beside the mode", "getfacl" }, \
		{ prefix ".major", RD_INT, "device number", "stat" }, { prefix ".minor", RD_INT, "device number", "stat" }, \
		{ prefix ".accessible", RD_BOOL, "owner, mode, ACL and groups let the user open it for reading and writing", \
		  "stat, getfacl, getgroups" }, \
	{ \
		prefix ".open", RD_STR, "what opening gave: ok, or the name of the error", "open" \
	}

const struct rd_probe rd_probe_device_nodes = {
	.name = "device/nodes",
	.layer = RD_LAYER_DEVICE,
	.summary = "device nodes and who may open them",
	.facts =
		(const struct rd_fact_decl[]){
			{ "device.kfd.exists", RD_BOOL, "/dev/kfd is there", "/dev/kfd" },
			NODE_FACTS("device.kfd"),
			{ "device.render[]", RD_LIST, "render nodes of all makers, by number", "/dev/dri" },
			{ "device.render[].path", RD_STR, "the node", "/dev/dri" },
			{ "device.render[].gpu", RD_STR, "PCI address of its GPU; empty for an unused partition slot",
	                  "/sys/class/drm/renderD*/device" },
			NODE_FACTS("device.render[]"),
			{ "device.nodes[]", RD_LIST, "nodes that a ROCm program opens: /dev/kfd, then render nodes by number",
	                  "/dev" },
			{ "device.nodes[].path", RD_STR, "the node", "/dev" },
			{ "device.nodes[].gpu", RD_STR, "PCI address of its GPU; empty for /dev/kfd",
	                  "/sys/class/drm/renderD*/device" },
			{ "device.nodes[].mode", RD_STR, "permission bits, octal", "stat" },
			{ "device.nodes[].group", RD_STR, "group's name here; empty where it has none", "/etc/group" },
			{ "device.nodes[].gid", RD_INT, "group", "stat" },
			{ "device.nodes[].accessible", RD_BOOL, "owner, mode, ACL and groups let the user open it",
	                  "stat, getgroups" },
			{ "device.nodes[].open", RD_STR, "what opening gave: ok, or the name of the error", "open" },
			{ "device.nodes[].denied_by", RD_STR,
	                  "what keeps the user out: group (he is not in it), mode (it would not help), namespace (unmapped "
	                  "owner and group); "
	                  "empty: nothing",
	                  "stat, getgroups, /proc/self/uid_map" },
			{ "device.nodes[].foreign_group", RD_BOOL, "the group is another than udev's rules name",
	                  "udev rules" },
			{ "device.nodes[].in_group", RD_BOOL, "the user's session is in the node's group", "getgroups" },
			{ "device.nodes[].withheld", RD_BOOL, "the GPU is not given to this job: its KFD node is closed too",
	                  "/sys/class/kfd/kfd/topology/nodes/*/gpu_id" },
			{ "device.nodes[].for_everyone", RD_BOOL, "every user may read and write it", "stat" },
			{ "device.nodes[].udev_group", RD_STR, "group that udev's rules give it; empty: none do",
	                  "/etc/udev/rules.d" },
			{ "device.nodes[].udev_mode", RD_STR, "mode that udev's rules give it; empty: none do",
	                  "/etc/udev/rules.d" },
			{ "device.nodes[].seat", RD_BOOL, "whoever sits at the machine gets an ACL for it (uaccess)",
	                  "/run/udev/data" },
			{ "device.groups[]", RD_LIST, "groups of these nodes, in the order of the nodes", "/dev" },
			{ "device.groups[].gid", RD_INT, "the group", "stat" },
			{ "device.groups[].name", RD_STR, "its name here; empty where it has none", "/etc/group" },
			{ "device.groups[].member", RD_BOOL, "the user's session is in it", "getgroups" },
			{ "device.groups[].listed", RD_BOOL, "the files list the user as a member", "/etc/group" },
			{ "device.groups[].needed", RD_BOOL, "a node stays closed for want of it", "stat, getgroups" },
			{ "device.join_groups", RD_STR, "named groups that the user would have to join, separated by commas",
	                  "/etc/group" },
			{ "device.closed_groups[]", RD_STRS, "groups for want of which a node stays closed: name (number)",
	                  "stat" },
			{ "device.gpu_nodes_given", RD_INT, "KFD nodes of GPUs that may be read",
	                  "/sys/class/kfd/kfd/topology/nodes" },
			{ "device.gpu_nodes_closed", RD_INT, "KFD nodes that a device cgroup closes",
	                  "/sys/class/kfd/kfd/topology/nodes" },
			{ "device.render_usable", RD_INT, "render nodes of AMD GPUs that the user can open", "/dev/dri" },
			{ "gpus[].render_node.path", RD_STR,
	                  "the GPU's render node, also where it is missing; empty: it has none in sysfs", "/sys/class/drm" },
			{ "gpus[].render_node.exists", RD_BOOL, "it is there", "/dev/dri" },
			{ "gpus[].render_node.accessible", RD_BOOL, "the user may open it", "stat, getgroups" },
			{ "gpus[].render_node.open", RD_STR, "what opening gave: ok, or the name of the error", "open" },
			{ 0 },
		},
	.run = run,
};
