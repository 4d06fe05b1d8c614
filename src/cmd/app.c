#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/schema.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/xalloc.h"

/* After this long a person wonders whether anything happens. */
#define PROGRESS_AFTER_MS 500

static uint64_t progress_from_ms;
static bool progress_shown;

static void show_progress(const struct rd_probe *next)
{
	if (rd_now_ms() < progress_from_ms)
		return;
	fprintf(stderr, "\r\033[Kexamining: %s", next->summary);
	fflush(stderr);
	progress_shown = true;
}

static void end_progress(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

/* A folder given by hand in which nothing would be found: rules beside the folder "rules" say nothing, and nobody hears. */
static bool has_rules(const char *dir)
{
	static const char *const kinds[] = { "rules", "fixes", "tables", "profiles" };
	struct stat st;

	for (size_t i = 0; i < RD_ARRAY_SIZE(kinds); i++) {
		rd_auto_free char *folder = rd_xasprintf("%s/%s", dir, kinds[i]);

		/* One that cannot be looked at is told of by the loader. */
		if (stat(folder, &st) == 0 || errno != ENOENT)
			return true;
	}
	return false;
}

/* The folders that count, lowest first. The usual ones need not be there; those of --rules must. */
static int rule_folders(const struct rd_app *app, struct rd_strv *ret)
{
	static const char *const usual[] = { "/usr/share/rocm-doctor", "/etc/rocm-doctor" };
	struct stat st;

	for (size_t i = 0; i < RD_ARRAY_SIZE(usual); i++)
		if (stat(usual[i], &st) == 0)
			rd_strv_push(ret, usual[i]);
	for (size_t i = 0; i < app->rule_dirs.n; i++) {
		if (stat(app->rule_dirs.v[i], &st) < 0)
			return rd_app_fail(app, RD_EXIT_BROKEN, "cannot read rules in '%s': %s", app->rule_dirs.v[i],
			                   rd_strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return rd_app_fail(app, RD_EXIT_BROKEN, "'%s' is no directory of rules", app->rule_dirs.v[i]);
		if (!has_rules(app->rule_dirs.v[i]))
			return rd_app_fail(app, RD_EXIT_BROKEN, "no rules/, fixes/, tables/ or profiles/ in '%s'",
			                   app->rule_dirs.v[i]);
		rd_strv_push(ret, app->rule_dirs.v[i]);
	}
	return 0;
}

int rd_app_load_knowledge(struct rd_app *app)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;
	struct rd_error err = RD_ERROR_INIT;
	int status = rule_folders(app, &dirs);

	if (status)
		return status;
	if ((app->strict ? rd_knowledge_load_strictly : rd_knowledge_load)(&dirs, &app->knowledge, &err) >= 0 &&
	    rd_knowledge_check_signatures(app->knowledge, &err) >= 0)
		return 0;
	app->faulty_rules = true;
	rd_app_fail(app, 0, "%s", err.message);
	rd_error_clear(&err);
	return RD_EXIT_BROKEN;
}

static int check_profile(const struct rd_app *app)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;

	rd_knowledge_profiles(app->knowledge, &names);
	if (!app->profile || rd_strv_has(&names, app->profile))
		return 0;
	for (size_t i = 0; i < names.n; i++)
		rd_strbuf_addf(&sb, "%s%s", i ? ", " : "", names.v[i]);
	return rd_app_fail(app, RD_EXIT_USAGE, "no profile '%s'; there are: %s", app->profile, sb.buf);
}

/* A --python that is not there would be examined as nothing, which is a mistake better told at once. */
static int check_pythons(const struct rd_app *app)
{
	for (size_t i = 0; i < app->pythons.n; i++) {
		const char *path = app->pythons.v[i];

		if (*path != '/')
			return rd_app_fail(app, RD_EXIT_USAGE, "--python wants an absolute path, not '%s'", path);
		if (rd_sysroot_exists(app->sysroot, path) == 0)
			return rd_app_fail(app, RD_EXIT_BROKEN, "--python: '%s' is not there", path);
	}
	return 0;
}

int rd_app_open_root(struct rd_app *app)
{
	struct rd_error err = RD_ERROR_INIT;
	int asked = (app->root != NULL) + (app->pid != 0) + (app->container != NULL);
	unsigned pid = app->pid;
	int r = 0;

	if (asked > 1)
		return rd_app_fail(app, RD_EXIT_USAGE, "--root, --pid and --container exclude each other");
	if (app->container)
		r = rd_container_find(app->container, &pid, &err);
	if (r >= 0)
		r = pid ? rd_sysroot_open_process(pid, &app->sysroot, &err)
		        : rd_sysroot_open(app->root ? app->root : "/", &app->sysroot, &err);

	if (r >= 0 && app->user)
		r = rd_sysroot_set_user(app->sysroot, app->user, &err);
	if (r >= 0)
		return check_pythons(app);
	rd_app_fail(app, 0, "%s", err.message ? err.message : rd_strerror(r));
	rd_error_clear(&err);
	return RD_EXIT_BROKEN;
}

static void report_undeclared(const struct rd_app *app)
{
	rd_auto_strv struct rd_strv paths = RD_STRV_INIT;

	rd_facts_undeclared(app->facts, rd_knowledge_schema(app->knowledge), &paths);
	for (size_t i = 0; i < paths.n; i++)
		rd_log_debug("nobody declares the fact '%s'", paths.v[i]);
}

int rd_app_probe(struct rd_app *app)
{
	struct rd_probe_options options = { .profile = app->profile, .pythons = &app->pythons, .network = app->network };
	struct rd_probe_ctx ctx = { .options = &options };
	int status = check_profile(app);

	if (!status)
		status = rd_app_open_root(app);
	if (status)
		return status;
	if (app->timeout_s)
		options.deadline_ms = rd_now_ms() + app->timeout_s * UINT64_C(1000);
	if (isatty(STDERR_FILENO) && app->verbosity >= 0) {
		progress_from_ms = rd_now_ms() + PROGRESS_AFTER_MS;
		options.progress = show_progress;
	}
	app->facts = rd_facts_new();
	ctx.sysroot = app->sysroot;
	ctx.facts = app->facts;
	ctx.knowledge = app->knowledge;
	rd_sysroot_remember(app->sysroot, true);
	rd_probes_run(&ctx);
	rd_sysroot_remember(app->sysroot, false);
	end_progress();
	if (rd_log_level > 0)
		report_undeclared(app);
	return 0;
}

void rd_app_release(struct rd_app *app)
{
	app->sysroot = rd_sysroot_free(app->sysroot);
	app->facts = rd_fact_free(app->facts);
	app->knowledge = rd_knowledge_free(app->knowledge);
	rd_strv_clear(&app->pythons);
	rd_strv_clear(&app->rule_dirs);
	rd_strv_clear(&app->layers);
	rd_strv_clear(&app->only);
	rd_strv_clear(&app->skip);
	rd_strv_clear(&app->requires);
	rd_strv_clear(&app->gfx);
	for (size_t i = 0; i < RD_ARRAY_SIZE(app->again); i++)
		rd_strv_clear(&app->again[i]);
}

static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static unsigned terminal_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		n = size.ws_col;
	else if (!columns || rd_str_to_u64(columns, 10, &n) < 0)
		n = 80;
	return n < 40 ? 40 : n > 120 ? 120 : (unsigned)n;
}

static bool wants_color(const struct rd_app *app)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (app->color != RD_COLOR_AUTO)
		return app->color == RD_COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && !rd_streq(term, "dumb");
}

struct rd_text_options rd_app_text_options(const struct rd_app *app)
{
	return (struct rd_text_options){
		.columns = terminal_columns(),
		.color = wants_color(app),
		.utf8 = locale_is_utf8(),
		.verbosity = app->verbosity,
		.again = &app->again[RD_AGAIN_ANY],
		.again_fix = &app->again[RD_AGAIN_FIX],
	};
}
