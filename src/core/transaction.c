/* Transactions on disk: saving, reading back, the log and the lock. The layout is in transaction.h. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/run.h"
#include "rocm-doctor/sysroot.h"
#include "transaction-internal.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

#define PLAN_SCHEMA "rocm-doctor/plan/1"

bool rd_effect_is_file(const struct rd_effect *e)
{
	return e->kind == RD_EFFECT_WRITE || e->kind == RD_EFFECT_LINK;
}

char *rd_transaction_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		return rd_xstrdup("/var/lib/rocm-doctor");
	if (state && *state == '/')
		return rd_xasprintf("%s/rocm-doctor", state);
	return rd_xasprintf("%s/.local/state/rocm-doctor", home && *home == '/' ? home : "/nonexistent");
}

const char *rd_transaction_id(const struct rd_transaction *tx)
{
	return tx->id;
}

const char *rd_transaction_path(const struct rd_transaction *tx)
{
	return tx->path;
}

const struct rd_plan *rd_transaction_plan(const struct rd_transaction *tx)
{
	return tx->plan;
}

enum rd_tx_state rd_transaction_state(const struct rd_transaction *tx)
{
	bool begun = false, undoing = false;

	if (tx->undone)
		return RD_TX_UNDONE;
	if (tx->partly)
		return RD_TX_PARTLY;
	if (tx->broken)
		return RD_TX_BROKEN;
	for (size_t i = 0; i < tx->n; i++) {
		begun = begun || tx->effects[i].progress != RD_NOT_BEGUN;
		undoing = undoing || tx->effects[i].progress >= RD_UNDOING;
	}
	/* An undo that was cut short is to be ended, whether or not applying had come to its end. */
	if (tx->finished && !undoing)
		return RD_TX_FINISHED;
	return begun ? RD_TX_INTERRUPTED : RD_TX_PLANNED;
}

const char *rd_tx_state_name(enum rd_tx_state state)
{
	static const char *const names[] = {
		[RD_TX_PLANNED] = "planned", [RD_TX_INTERRUPTED] = "interrupted", [RD_TX_FINISHED] = "applied",
		[RD_TX_UNDONE] = "undone",   [RD_TX_PARTLY] = "undone in part",   [RD_TX_BROKEN] = "not rolled back",
	};

	return names[state];
}

static struct rd_transaction *new_transaction(const char *dir, const char *id)
{
	struct rd_transaction *tx = rd_xcalloc(1, sizeof(*tx));

	tx->dir = rd_xstrdup(dir);
	tx->id = rd_xstrdup(id);
	tx->path = rd_xasprintf("%s/%s", dir, id);
	tx->lock = tx->log = tx->output = -1;
	return tx;
}

struct rd_transaction *rd_transaction_close(struct rd_transaction *tx)
{
	if (!tx)
		return NULL;
	for (size_t i = 0; i < tx->n; i++) {
		rd_image_release(&tx->effects[i].before);
		rd_strv_clear(&tx->effects[i].brought);
	}
	free(tx->effects);
	if (tx->log >= 0)
		close(tx->log);
	if (tx->output >= 0)
		close(tx->output);
	/* Closing gives up the lock. */
	if (tx->lock >= 0)
		close(tx->lock);
	rd_strv_clear(&tx->made);
	rd_plan_free(tx->plan);
	cJSON_Delete(tx->json);
	free(tx->dir);
	free(tx->id);
	free(tx->path);
	free(tx->root);
	free(tx->running);
	free(tx);
	return NULL;
}

/* The effects of the steps that are to be taken now, in one row. */
static void number_effects(struct rd_transaction *tx)
{
	const struct rd_plan *plan = tx->plan;
	size_t n = 0;

	tx->steps_n = plan->reboot_at;
	for (size_t i = 0; i < tx->steps_n; i++)
		n += plan->steps[i]->effects_n;
	tx->effects = rd_xcalloc(n, sizeof(*tx->effects));
	for (size_t i = 0; i < tx->steps_n; i++) {
		for (size_t j = 0; j < plan->steps[i]->effects_n; j++) {
			struct rd_tx_effect *e = &tx->effects[tx->n];

			*e = (struct rd_tx_effect){
				.step = plan->steps[i], .effect = &plan->steps[i]->effects[j], .step_index = i, .is_first = true
			};
			for (size_t k = 0; k < tx->n && rd_effect_is_file(e->effect); k++)
				if (rd_effect_is_file(tx->effects[k].effect) &&
				    rd_streq(tx->effects[k].effect->path, e->effect->path))
					e->is_first = false;
			tx->n++;
		}
	}
}

/* Files below the transaction's folder */

int rd_tx_write_file(const char *path, const char *content, size_t len, struct rd_error *err)
{
	rd_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return rd_error_set(err, -errno, "cannot write '%s': %s", path, rd_strerror(errno));
	r = rd_write_whole(fd, content, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? rd_error_set(err, r, "cannot write '%s': %s", path, rd_strerror(r)) : 0;
}

/* A pipe in a file's place would keep us waiting for ever: for one who opens its other end, or reads from it. */
int rd_tx_open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

static const char *words_of(int r)
{
	return r == -ENXIO ? "it is no file" : rd_strerror(r);
}

int rd_tx_read_file(const char *path, char **ret, size_t *ret_len, struct rd_error *err)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	rd_auto_close int fd = rd_tx_open_file(path, O_RDONLY);
	char buf[65536];
	ssize_t n;

	if (fd < 0)
		return rd_error_set(err, fd, "cannot read '%s': %s", path, words_of(fd));
	while ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))
		rd_strbuf_addn(&sb, buf, n < 0 ? 0 : (size_t)n);
	if (n < 0)
		return rd_error_set(err, -errno, "cannot read '%s': %s", path, rd_strerror(errno));
	*ret_len = sb.len;
	*ret = rd_strbuf_detach(&sb);
	return 0;
}

static int sync_path(const char *path, struct rd_error *err)
{
	rd_auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return rd_error_set(err, -errno, "cannot sync '%s': %s", path, rd_strerror(errno));
	return 0;
}

/* A folder that is made, and its name in the folder above, on disk. */
static int make_one(const char *path, mode_t mode, struct rd_error *err)
{
	rd_auto_free char *above = rd_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	if (mkdir(path, mode) == 0)
		return sync_path(*above ? above : "/", err);
	return errno == EEXIST ? 0 : rd_error_set(err, -errno, "cannot make '%s': %s", path, rd_strerror(errno));
}

static int make_folder(const char *path, struct rd_error *err)
{
	rd_auto_free char *copy = rd_xstrdup(path);
	int r = 0;

	for (char *slash = strchr(copy + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_one(copy, 0755, err);
		*slash = '/';
	}
	return r == 0 ? make_one(path, 0700, err) : r;
}

static int take_lock(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("%s/lock", tx->dir);
	int r;

	tx->lock = rd_tx_open_file(path, O_RDWR | O_CREAT);
	if (tx->lock < 0)
		return rd_error_set(err, tx->lock, "cannot open '%s': %s", path, words_of(tx->lock));
	if (flock(tx->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	r = -errno;
	close(tx->lock);
	tx->lock = -1;
	if (r != -EWOULDBLOCK)
		return rd_error_set(err, r, "cannot lock '%s': %s", path, rd_strerror(r));
	return rd_error_set(err, -EBUSY, "another rocm-doctor is changing this host ('%s' is locked)", path);
}

/* The plan as JSON. Contents stand beside it, byte for byte, since JSON is only text. */

static cJSON *strings_json(char *const *v)
{
	cJSON *array = v ? cJSON_CreateArray() : cJSON_CreateNull();

	for (size_t i = 0; v && v[i]; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(v[i]));
	return array;
}

static const char *const kind_names[] = {
	[RD_EFFECT_WRITE] = "write", [RD_EFFECT_VALUE] = "value",     [RD_EFFECT_LINK] = "link",
	[RD_EFFECT_RUN] = "run",     [RD_EFFECT_REFRESH] = "refresh",
};

static void add_text(cJSON *object, const char *key, const char *text)
{
	cJSON_AddItemToObject(object, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static cJSON *effect_json(const struct rd_effect *e)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "kind", kind_names[e->kind]);
	if (e->path) {
		cJSON_AddStringToObject(object, "path", e->path);
		cJSON_AddNumberToObject(object, "mode", e->mode);
		add_text(object, "before", e->before);
		add_text(object, "after", e->after);
	} else {
		cJSON_AddItemToObject(object, "argv", strings_json(e->argv));
		cJSON_AddItemToObject(object, "undo", strings_json(e->undo));
		add_text(object, "as_owner_of", e->as_owner_of);
	}
	return object;
}

static cJSON *step_json(const struct rd_step *step)
{
	cJSON *object = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(object, "action", step->action->name);
	add_text(object, "description", step->description);
	add_text(object, "fix", step->fix);
	array = cJSON_AddArrayToObject(object, "findings");
	for (size_t i = 0; i < step->findings_n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(step->findings[i]));
	array = cJSON_AddObjectToObject(object, "args");
	for (size_t i = 0; i < step->args_n; i++)
		cJSON_AddStringToObject(array, step->args[i].name, step->args[i].value);
	array = cJSON_AddArrayToObject(object, "origins");
	for (size_t i = 0; i < step->origins_n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(step->origins[i]));
	cJSON_AddNumberToObject(object, "flags", step->flags);
	array = cJSON_AddArrayToObject(object, "effects");
	for (size_t i = 0; i < step->effects_n; i++)
		cJSON_AddItemToArray(array, effect_json(&step->effects[i]));
	return object;
}

cJSON *rd_plan_to_json(const struct rd_plan *plan)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "schema", PLAN_SCHEMA);
	cJSON_AddNumberToObject(root, "reboot_at", (double)plan->reboot_at);
	array = cJSON_AddArrayToObject(root, "steps");
	for (size_t i = 0; i < plan->n; i++)
		cJSON_AddItemToArray(array, step_json(plan->steps[i]));
	return root;
}

/* NULL also for an array that holds anything but strings. */
static char **strings_from(const cJSON *array)
{
	char **v;
	const cJSON *child;
	size_t n = 0;

	if (!cJSON_IsArray(array))
		return NULL;
	cJSON_ArrayForEach (child, array) {
		if (!cJSON_IsString(child))
			return NULL;
	}
	v = rd_xcalloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*v));
	cJSON_ArrayForEach (child, array) {
		v[n++] = rd_xstrdup(child->valuestring);
	}
	return v;
}

static char *text_from(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(value) ? rd_xstrdup(value->valuestring) : NULL;
}

/* A number that fits; anything else is 0. */
static unsigned number_from(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
	double number = cJSON_IsNumber(value) ? value->valuedouble : 0;

	return number > 0 && number <= UINT32_MAX ? (unsigned)number : 0;
}

static bool is_whole(const struct rd_effect *e)
{
	switch (e->kind) {
	case RD_EFFECT_WRITE:
	case RD_EFFECT_LINK:
		return e->path && rd_arg_check_path(e->path, NULL) == 0;
	case RD_EFFECT_VALUE:
		return e->path && e->after && rd_arg_check_path(e->path, NULL) == 0;
	default:
		return e->argv && e->argv[0] && (!e->undo || e->undo[0]);
	}
}

static int effect_from(const cJSON *json, struct rd_step *step)
{
	rd_auto_free char *kind = text_from(json, "kind");
	struct rd_effect e = { .mode = number_from(json, "mode") };
	size_t k = 0;

	while (kind && k < RD_ARRAY_SIZE(kind_names) && !rd_streq(kind, kind_names[k]))
		k++;
	if (!kind || k == RD_ARRAY_SIZE(kind_names))
		return -EINVAL;
	e.kind = (enum rd_effect_kind)k;
	e.path = text_from(json, "path");
	e.before = text_from(json, "before");
	e.after = text_from(json, "after");
	e.argv = strings_from(cJSON_GetObjectItemCaseSensitive(json, "argv"));
	e.undo = strings_from(cJSON_GetObjectItemCaseSensitive(json, "undo"));
	e.as_owner_of = text_from(json, "as_owner_of");
	step->effects = rd_xreallocarray(step->effects, step->effects_n + 1, sizeof(*step->effects));
	step->effects[step->effects_n++] = e;
	return is_whole(&e) ? 0 : -EINVAL;
}

/* Members have names, which the items of an array have not. NULL for anything but an object. */
static const cJSON *object_from(const cJSON *json, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, key);

	return cJSON_IsObject(value) ? value : NULL;
}

static void names_from(const cJSON *json, struct rd_step *step)
{
	const cJSON *child;

	step->description = text_from(json, "description");
	cJSON_ArrayForEach (child, object_from(json, "args")) {
		step->args = rd_xreallocarray(step->args, step->args_n + 1, sizeof(*step->args));
		step->args[step->args_n++] =
			(struct rd_step_arg){ rd_xstrdup(child->string),
			                      rd_xstrdup(cJSON_IsString(child) ? child->valuestring : "") };
	}
	cJSON_ArrayForEach (child, cJSON_GetObjectItemCaseSensitive(json, "findings")) {
		if (!cJSON_IsString(child))
			continue;
		step->findings = rd_xreallocarray(step->findings, step->findings_n + 1, sizeof(*step->findings));
		/* Borrowed: the JSON outlives its steps. */
		step->findings[step->findings_n++] = cJSON_GetStringValue(child);
	}
	step->fix = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "fix"));
}

static int step_from(const cJSON *json, struct rd_plan *plan)
{
	rd_auto_free char *name = text_from(json, "action");
	const struct rd_action *action = name ? rd_action_find(name) : NULL;
	struct rd_step *step;
	const cJSON *child;
	int r = 0;

	if (!action)
		return -EINVAL;
	step = rd_step_new(action, NULL, NULL);
	names_from(json, step);
	step->flags = number_from(json, "flags");
	RD_GROW(plan->steps, plan->n, plan->allocated);
	plan->steps[plan->n++] = step;
	cJSON_ArrayForEach (child, cJSON_GetObjectItemCaseSensitive(json, "effects")) {
		r = r < 0 ? r : effect_from(child, step);
	}
	return r;
}

int rd_plan_from_json(const cJSON *json, struct rd_plan **ret, struct rd_error *err)
{
	struct rd_plan *plan = rd_xcalloc(1, sizeof(*plan));
	const cJSON *child, *schema = cJSON_GetObjectItemCaseSensitive(json, "schema");
	unsigned reboot_at = number_from(json, "reboot_at");
	int r = cJSON_IsString(schema) && rd_streq(schema->valuestring, PLAN_SCHEMA) ? 0 : -EINVAL;

	cJSON_ArrayForEach (child, cJSON_GetObjectItemCaseSensitive(json, "steps")) {
		r = r < 0 ? r : step_from(child, plan);
	}
	if (r < 0) {
		rd_plan_free(plan);
		return rd_error_set(err, r, "the saved plan is not one that this version can read");
	}
	plan->reboot_at = reboot_at < plan->n ? reboot_at : plan->n;
	*ret = plan;
	return 0;
}

/* What was there before each file effect: before/N holds the content, before/N.json the attributes. */

static char *hex(const char *value, size_t len)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < len; i++)
		rd_strbuf_addf(&sb, "%02x", (unsigned char)value[i]);
	return rd_strbuf_detach(&sb);
}

static char *unhex(const char *text, size_t *ret_len)
{
	size_t n = strlen(text) / 2;
	char *value = rd_xmalloc(n + 1);

	for (size_t i = 0; i < n; i++) {
		unsigned byte = 0;

		sscanf(text + 2 * i, "%2x", &byte);
		value[i] = (char)byte;
	}
	*ret_len = n;
	return value;
}

static cJSON *image_json(const struct rd_image *image)
{
	static const char *const kinds[] = { [RD_IMAGE_NONE] = "none", [RD_IMAGE_FILE] = "file", [RD_IMAGE_LINK] = "link" };
	cJSON *object = cJSON_CreateObject(), *xattrs;
	char time_text[64];

	snprintf(time_text, sizeof(time_text), "%" PRId64 ".%09ld", (int64_t)image->mtime.tv_sec, image->mtime.tv_nsec);
	cJSON_AddStringToObject(object, "kind", kinds[image->kind]);
	cJSON_AddNumberToObject(object, "mode", image->mode);
	cJSON_AddNumberToObject(object, "uid", image->uid);
	cJSON_AddNumberToObject(object, "gid", image->gid);
	cJSON_AddStringToObject(object, "mtime", time_text);
	cJSON_AddNumberToObject(object, "bytes", (double)image->len);
	xattrs = cJSON_AddObjectToObject(object, "xattrs");
	for (size_t i = 0; i < image->xattrs_n; i++) {
		rd_auto_free char *text = hex(image->xattrs[i].value, image->xattrs[i].len);

		cJSON_AddStringToObject(xattrs, image->xattrs[i].name, text);
	}
	return object;
}

static int save_image(const struct rd_transaction *tx, size_t n, const struct rd_image *image, struct rd_error *err)
{
	rd_auto_free char *content = rd_xasprintf("%s/before/%zu", tx->path, n), *meta = rd_xasprintf("%s.json", content);
	cJSON *json = image_json(image);
	rd_auto_free char *text = cJSON_Print(json);
	int r = 0;

	cJSON_Delete(json);
	if (image->content)
		r = rd_tx_write_file(content, image->content, image->len, err);
	if (r == 0)
		r = rd_tx_write_file(meta, text, strlen(text), err);
	return r;
}

static int read_meta(const char *text, struct rd_image *image)
{
	cJSON *json = cJSON_Parse(text);
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(json, "kind");
	const cJSON *mtime = cJSON_GetObjectItemCaseSensitive(json, "mtime"), *x;
	int64_t seconds = 0;
	long nanoseconds = 0;

	if (!cJSON_IsString(kind) || !cJSON_IsString(mtime) ||
	    !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(json, "bytes")) ||
	    sscanf(mtime->valuestring, "%" SCNd64 ".%9ld", &seconds, &nanoseconds) != 2) {
		cJSON_Delete(json);
		return -EBADMSG;
	}
	image->kind = rd_streq(kind->valuestring, "file")   ? RD_IMAGE_FILE
	              : rd_streq(kind->valuestring, "link") ? RD_IMAGE_LINK
	                                                    : RD_IMAGE_NONE;
	image->mode = number_from(json, "mode") & 07777;
	image->uid = number_from(json, "uid");
	image->gid = number_from(json, "gid");
	image->len = number_from(json, "bytes");
	image->mtime = (struct timespec){ .tv_sec = seconds, .tv_nsec = nanoseconds };
	cJSON_ArrayForEach (x, object_from(json, "xattrs")) {
		struct rd_image_xattr *xattr;

		image->xattrs = rd_xreallocarray(image->xattrs, image->xattrs_n + 1, sizeof(*image->xattrs));
		xattr = &image->xattrs[image->xattrs_n++];
		xattr->name = rd_xstrdup(x->string);
		xattr->value = unhex(cJSON_IsString(x) ? x->valuestring : "", &xattr->len);
	}
	cJSON_Delete(json);
	return 0;
}

static bool is_as_planned(const struct rd_effect *e, const struct rd_image *image)
{
	enum rd_image_kind wanted = e->kind == RD_EFFECT_LINK ? RD_IMAGE_LINK : RD_IMAGE_FILE;

	if (!e->before)
		return image->kind == RD_IMAGE_NONE;
	return image->kind == wanted && image->len == strlen(e->before) && memcmp(image->content, e->before, image->len) == 0;
}

static int load_image(const struct rd_transaction *tx, size_t n, struct rd_image *ret, struct rd_error *err)
{
	rd_auto_free char *content = rd_xasprintf("%s/before/%zu", tx->path, n), *meta = rd_xasprintf("%s.json", content);
	rd_auto_free char *text = NULL;
	size_t len;
	int r = rd_tx_read_file(meta, &text, &len, err);

	if (r < 0)
		return r;
	r = read_meta(text, ret);
	if (r < 0)
		return rd_error_set(err, r, "'%s' is damaged", meta);
	if (ret->kind == RD_IMAGE_NONE)
		return 0;
	r = rd_tx_read_file(content, &ret->content, &len, err);
	if (r == 0 && len != ret->len)
		r = rd_error_set(err, -EBADMSG, "'%s' is damaged: it has %zu bytes and not %zu", content, len, ret->len);
	if (r == 0 && !is_as_planned(tx->effects[n].effect, ret))
		r = rd_error_set(err, -EBADMSG, "'%s' is damaged: it is not what the plan says", content);
	return r;
}

/* Beginning */

/*
 * What can be seen to fail later fails now, while nothing has changed: a place that takes no change, or a program that would have
 * to run as somebody whom only root can be.
 */
static int check_place(const struct rd_transaction *tx, const struct rd_effect *e, struct rd_error *err)
{
	uid_t uid;
	gid_t gid;
	int r = e->path ? rd_edit_check(tx->sysroot, e->path, e->kind == RD_EFFECT_VALUE, err) : 0;

	if (r < 0 || !e->as_owner_of || geteuid() == 0 || !rd_sysroot_is_live(tx->sysroot))
		return r;
	r = rd_edit_owner(tx->sysroot, e->as_owner_of, &uid, &gid, err);
	if (r == 0 && uid != geteuid())
		r = rd_error_set(err, -EPERM, "'%s' belongs to user %u, and only root can act as that user", e->as_owner_of,
		                 (unsigned)uid);
	return r;
}

static int save_before(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *folder = rd_xasprintf("%s/before", tx->path);
	int r = make_folder(folder, err);

	for (size_t i = 0; i < tx->n && r == 0; i++)
		r = check_place(tx, tx->effects[i].effect, err);
	for (size_t i = 0; i < tx->n && r == 0; i++) {
		struct rd_tx_effect *e = &tx->effects[i];

		if (e->effect->kind == RD_EFFECT_RUN && e->step->action->brings)
			rd_tx_before_bringing(tx, i);
		if (!rd_effect_is_file(e->effect) || !e->is_first)
			continue;
		r = rd_edit_capture(tx->sysroot, e->effect->path, &e->before, err);
		if (r == 0 && !is_as_planned(e->effect, &e->before))
			r = rd_error_set(err, -ESTALE, "'%s' is not what it was when the plan was made", e->effect->path);
		/* The rename that replaces one name would leave the others with the old content. */
		if (r == 0 && e->before.kind == RD_IMAGE_FILE && e->before.links > 1)
			r = rd_error_set(err, -EMLINK, "'%s' has %u names (hard links), of which only one would change",
			                 e->effect->path, e->before.links);
		if (r == 0)
			r = save_image(tx, i, &e->before, err);
	}
	return r == 0 ? sync_path(folder, err) : r;
}

static int save_plan(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("%s/plan.json", tx->path), *log = rd_xasprintf("%s/log", tx->path);
	cJSON *json = rd_plan_to_json(tx->plan);
	rd_auto_free char *text = NULL;
	int r;

	cJSON_AddStringToObject(json, "id", tx->id);
	cJSON_AddStringToObject(json, "root", rd_sysroot_dir(tx->sysroot));
	text = cJSON_Print(json);
	cJSON_Delete(json);
	r = rd_tx_write_file(path, text, strlen(text), err);
	if (r < 0)
		return r;
	tx->log = open(log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (tx->log < 0)
		return rd_error_set(err, -errno, "cannot write '%s': %s", log, rd_strerror(errno));
	r = sync_path(tx->path, err);
	return r == 0 ? sync_path(tx->dir, err) : r;
}

/* A name that sorts by time; the number tells runs of one second apart. */
static int make_id(struct rd_transaction *tx, struct rd_error *err)
{
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	for (unsigned n = 1; n < 1000; n++) {
		free(tx->id);
		free(tx->path);
		tx->id = rd_xasprintf("%s-%u", stamp, n);
		tx->path = rd_xasprintf("%s/%s", tx->dir, tx->id);
		if (mkdir(tx->path, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return rd_error_set(err, -errno, "cannot make '%s': %s", tx->path, rd_strerror(errno));
}

/* Nothing of the host has changed: a record of nothing would only confuse. */
static void forget(const struct rd_transaction *tx)
{
	static const char *const names[] = { "plan.json", "log" };

	for (size_t i = 0; i < tx->n; i++) {
		rd_auto_free char *content = rd_xasprintf("%s/before/%zu", tx->path, i),
				  *meta = rd_xasprintf("%s.json", content), *had = rd_xasprintf("%s/had-%zu", tx->path, i);

		unlink(had);
		unlink(content);
		unlink(meta);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		rd_auto_free char *path = rd_xasprintf("%s/%s", tx->path, names[i]);

		unlink(path);
	}
	rd_auto_free char *before = rd_xasprintf("%s/before", tx->path);

	rmdir(before);
	rmdir(tx->path);
}

int rd_transaction_begin(const char *dir, struct rd_plan *plan, struct rd_sysroot *sr, struct rd_transaction **ret,
                         struct rd_error *err)
{
	struct rd_transaction *tx = new_transaction(dir, "");
	int r;

	tx->plan = plan;
	tx->sysroot = sr;
	tx->root = rd_xstrdup(rd_sysroot_dir(sr));
	number_effects(tx);
	r = make_folder(dir, err);
	if (r == 0)
		r = take_lock(tx, err);
	if (r == 0)
		r = make_id(tx, err);
	if (r == 0) {
		r = save_before(tx, err);
		if (r == 0)
			r = save_plan(tx, err);
		if (r < 0)
			forget(tx);
	}
	if (r < 0) {
		/* The plan stays the caller's. */
		tx->plan = NULL;
		rd_transaction_close(tx);
		return r;
	}
	*ret = tx;
	return 0;
}

/* Reading back */

static const struct {
	const char *word;
	enum rd_progress progress;
} progress_words[] = {
	{ "begun ", RD_BEGUN },
	{ "done ", RD_DONE },
	{ "undoing ", RD_UNDOING },
	{ "undone ", RD_UNDONE },
};

static bool take_mark(struct rd_transaction *tx, const char *line)
{
	static const char *const words[] = { "finished", "rolled-back", "rolled-back-in-part", "not-rolled-back" };
	bool *const marks[] = { &tx->finished, &tx->undone, &tx->partly, &tx->broken };

	for (size_t i = 0; i < RD_ARRAY_SIZE(words); i++) {
		if (rd_streq(line, words[i])) {
			*marks[i] = true;
			return true;
		}
	}
	return false;
}

/* "WORD N": what became of effect N. */
static bool take_progress(struct rd_transaction *tx, const char *line)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(progress_words); i++) {
		const char *number = line + strlen(progress_words[i].word);
		char *end;
		size_t n;

		if (!rd_str_has_prefix(line, progress_words[i].word))
			continue;
		n = *number >= '0' && *number <= '9' ? strtoul(number, &end, 10) : SIZE_MAX;
		if (n >= tx->n || *end)
			return false;
		tx->effects[n].progress = progress_words[i].progress;
		tx->effects[n].ended = tx->effects[n].ended || progress_words[i].progress == RD_DONE;
		return true;
	}
	return false;
}

/* A whole line means what it says to its last character. False for one that nothing here has written. */
static bool take_event(struct rd_transaction *tx, const char *line)
{
	size_t n;
	int used = 0;

	if (take_mark(tx, line))
		return true;
	if (sscanf(line, "made %zu %n", &n, &used) == 1 && used && line[used] == '/') {
		rd_strv_push_unique(&tx->made, line + used);
		return true;
	}
	used = 0;
	if (sscanf(line, "brought %zu %n", &n, &used) == 1 && used && line[used] && n < tx->n) {
		rd_strv_split(&tx->effects[n].brought, line + used, " ", false);
		return true;
	}
	used = 0;
	if (sscanf(line, "running %zu %n", &n, &used) == 1 && used && line[used]) {
		free(tx->running);
		tx->running = rd_xstrdup(line + used);
		return true;
	}
	/* Whatever comes next in the log, the program had come to its end. */
	free(tx->running);
	tx->running = NULL;
	if (rd_str_has_prefix(line, "failed ")) {
		if (sscanf(line, "failed %zu ", &n) == 1 && n < tx->n)
			tx->effects[n].failed = true;
		return true;
	}
	return take_progress(tx, line);
}

static void forget_events(struct rd_transaction *tx)
{
	tx->finished = tx->undone = tx->partly = tx->broken = false;
	free(tx->running);
	tx->running = NULL;
	for (size_t i = 0; i < tx->n; i++) {
		tx->effects[i].progress = RD_NOT_BEGUN;
		tx->effects[i].ended = tx->effects[i].failed = false;
		rd_strv_clear(&tx->effects[i].brought);
	}
}

/*
 * The last line may be cut short by the crash that it tells of: without its line end it did not happen. A line that nobody wrote
 * may have been any: what is begun and what not is not known then, and nothing is done by such a log.
 */
static int read_log(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("%s/log", tx->path), *text = NULL;
	size_t len, number = 0;
	char *line;
	int r = rd_tx_read_file(path, &text, &len, err);

	if (r < 0)
		return r;
	forget_events(tx);
	line = text;
	for (char *end; (end = memchr(line, '\n', len - (size_t)(line - text))); line = end + 1) {
		*end = '\0';
		number++;
		if (strlen(line) != (size_t)(end - line) || !take_event(tx, line))
			return rd_error_set(err, -EBADMSG, "'%s' is damaged in line %zu", path, number);
	}
	tx->log_len = line - text;
	return 0;
}

static int open_log(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("%s/log", tx->path);

	tx->log = rd_tx_open_file(path, O_WRONLY | O_APPEND);
	return tx->log < 0 ? rd_error_set(err, tx->log, "cannot open '%s': %s", path, words_of(tx->log)) : 0;
}

static int read_plan(struct rd_transaction *tx, struct rd_error *err)
{
	rd_auto_free char *path = rd_xasprintf("%s/plan.json", tx->path), *text = NULL;
	size_t len;
	cJSON *json;
	int r = rd_tx_read_file(path, &text, &len, err);

	if (r < 0)
		return r;
	json = cJSON_Parse(text);
	if (!json)
		return rd_error_set(err, -EBADMSG, "'%s' is damaged", path);
	r = rd_plan_from_json(json, &tx->plan, err);
	tx->json = json;
	tx->root = text_from(json, "root");
	if (r == 0)
		number_effects(tx);
	return r;
}

static bool is_id(const char *id)
{
	return *id && !id[strspn(id, "0123456789TZ-")];
}

int rd_transaction_open(const char *dir, const char *id, struct rd_transaction **ret, struct rd_error *err)
{
	struct rd_transaction *tx;
	int r;

	if (!is_id(id))
		return rd_error_set(err, -ENOENT, "'%s' is no transaction", id);
	tx = new_transaction(dir, id);
	if (access(tx->path, F_OK) < 0)
		r = rd_error_set(err, -ENOENT, "there is no transaction '%s'", id);
	else
		r = read_plan(tx, err);
	if (r == 0)
		r = read_log(tx, err);
	for (size_t i = 0; i < tx->n && r == 0; i++)
		if (rd_effect_is_file(tx->effects[i].effect) && tx->effects[i].is_first)
			r = load_image(tx, i, &tx->effects[i].before, err);
	if (r < 0) {
		rd_transaction_close(tx);
		return r;
	}
	*ret = tx;
	return 0;
}

/* The tenth of one second comes after the second one. */
static int by_time(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int rd_transaction_list(const char *dir, struct rd_strv *ret)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(d))) {
		rd_auto_free char *plan = rd_xasprintf("%s/%s/log", dir, entry->d_name);

		/* Without a log nothing was ever begun. */
		if (is_id(entry->d_name) && access(plan, F_OK) == 0)
			rd_strv_push(ret, entry->d_name);
	}
	closedir(d);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_time);
	return 0;
}

/* Of one whose plan cannot be read: does its log say that something was begun, and not how it ended? */
static bool looks_interrupted(const char *dir, const char *id)
{
	struct rd_transaction *tx = new_transaction(dir, id);
	rd_auto_free char *path = rd_xasprintf("%s/log", tx->path), *text = NULL;
	size_t len;
	bool begun;

	/* A log that is there and cannot be read may say anything. */
	if (rd_tx_read_file(path, &text, &len, NULL) < 0) {
		rd_transaction_close(tx);
		return true;
	}
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] ? text[i] : '?';
	begun = len && strstr(text, "begun ") && !strstr(text, "rolled-back") &&
	        (!strstr(text, "\nfinished\n") || strstr(text, "\nundoing "));
	rd_transaction_close(tx);
	return begun;
}

char *rd_transaction_interrupted(const char *dir)
{
	rd_auto_strv struct rd_strv ids = RD_STRV_INIT;

	if (rd_transaction_list(dir, &ids) < 0)
		return NULL;
	for (size_t i = ids.n; i-- > 0;) {
		struct rd_transaction *tx;
		enum rd_tx_state state;

		if (rd_transaction_open(dir, ids.v[i], &tx, NULL) < 0) {
			if (looks_interrupted(dir, ids.v[i]))
				return rd_xstrdup(ids.v[i]);
			continue;
		}
		state = rd_transaction_state(tx);
		rd_transaction_close(tx);
		if (state == RD_TX_INTERRUPTED)
			return rd_xstrdup(ids.v[i]);
	}
	return NULL;
}

/* What the log said before the lock was had may be old: another may have come to its end, or undone all, since. */
int rd_tx_lock(struct rd_transaction *tx, struct rd_error *err)
{
	int r;

	if (tx->lock >= 0)
		return 0;
	r = take_lock(tx, err);
	if (r < 0)
		return r;
	r = read_log(tx, err);
	if (r == 0)
		r = open_log(tx, err);
	if (r == 0 && tx->running && rd_run_goes_on(tx->running))
		r = rd_error_set(err, -EBUSY,
		                 "a program that transaction %s began still runs (process %d); wait until it has ended", tx->id,
		                 (int)rd_run_goes_on(tx->running));
	if (r < 0) {
		close(tx->lock);
		tx->lock = -1;
	}
	return r;
}

/* What a cut line left would run into the next one. */
static int drop_cut_line(struct rd_transaction *tx)
{
	struct stat st;

	if (fstat(tx->log, &st) < 0)
		return -errno;
	return st.st_size > tx->log_len && ftruncate(tx->log, tx->log_len) < 0 ? -errno : 0;
}

int rd_tx_log(struct rd_transaction *tx, struct rd_error *err, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;
	int r;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	for (char *c = sb.buf; *c; c++)
		if (*c == '\n')
			*c = ' ';
	rd_strbuf_addc(&sb, '\n');
	r = drop_cut_line(tx);
	if (r < 0)
		return rd_error_set(err, r, "cannot mend the log of transaction %s: %s", tx->id, rd_strerror(r));
	/* A crash leaves the line whole or cut, never mixed. */
	r = rd_write_whole(tx->log, sb.buf, sb.len);
	if (r == 0) {
		tx->log_len += (long)sb.len;
		r = fdatasync(tx->log) < 0 ? -errno : 0;
	}
	return r < 0 ? rd_error_set(err, r, "cannot write the log of transaction %s: %s", tx->id, rd_strerror(r)) : 0;
}
