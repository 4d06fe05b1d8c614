/*
 * Which Python environments are there, where do they import from, and what is installed in them? Nothing is run: an
 * environment is its pyvenv.cfg or conda-meta, its lib/pythonX.Y and the names of the dist-info folders.
 */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/probe.h"
#include "rocm-doctor/sysroot.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/version.h"
#include "util/wheel.h"
#include "util/xalloc.h"

/* Bounds for trees that mean no good; real hosts stay far below. */
#define ENVIRONMENTS_MAX 64
#define FOLDERS_MAX 512
#define PACKAGES_MAX 4096
#define PATHS_MAX 64
#define PTH_FILES_MAX 64
#define PTH_LINES_MAX 256

struct env {
	char *prefix, *real;
	char *version; /* "3.12.3", or "3.12" where only that is known; "" unknown */
	char *folder;  /* "python3.12" below lib */
	char *executable;
	char *base; /* of a virtual environment: the prefix of its interpreter */
	const char *kind;
	bool system_site;
	bool active, asked, service;
};

struct search {
	struct rd_probe_ctx *ctx;
	struct env *envs;
	size_t n, allocated;
	const char *home; /* of the user; NULL where not known */
	const char *pythonpath;
	bool no_user_site;
	int environ_error; /* -ENODATA: the environment is not recorded */
	struct rd_strv user_home;
};

/* ------------------------------------------------------------ one environment */

static void env_clear(struct env *e)
{
	free(e->prefix);
	free(e->real);
	free(e->version);
	free(e->folder);
	free(e->executable);
	free(e->base);
}

static char *dirname_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash != path ? rd_xstrndup(path, (size_t)(slash - path)) : rd_xstrdup("/");
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "python3.12" or "python3.13t": the folder's name, and the version in it. */
static bool is_python_folder(const char *name)
{
	const char *p;

	if (!rd_str_has_prefix(name, "python3."))
		return false;
	p = name + strlen("python3.");
	p += strspn(p, "0123456789");
	return isdigit((unsigned char)p[-1]) && (!*p || rd_streq(p, "t"));
}

/* The value of "key = value" in pyvenv.cfg; caller frees. */
static char *cfg_value(const char *text, const char *key)
{
	rd_auto_free char *copy = rd_xstrdup(text);
	char *rest = copy, *line;

	while ((line = rd_str_next_line(&rest))) {
		char *equals = strchr(line, '=');

		if (!equals)
			continue;
		*equals = '\0';
		if (strcasecmp(rd_str_strip(line), key) == 0)
			return rd_xstrdup(rd_str_strip(equals + 1));
	}
	return NULL;
}

static void read_pyvenv_cfg(struct env *e, const char *text)
{
	rd_auto_free char *home = cfg_value(text, "home");
	rd_auto_free char *system_site = cfg_value(text, "include-system-site-packages");
	char *version = cfg_value(text, "version_info");

	if (!version)
		version = cfg_value(text, "version");
	if (version) {
		version[strspn(version, "0123456789.")] = '\0';
		if (rd_str_has_suffix(version, ".")) /* virtualenv: 3.10.12.final.0 */
			version[strlen(version) - 1] = '\0';
		free(e->version);
		e->version = version;
	}
	e->system_site = system_site && strcasecmp(system_site, "true") == 0;
	if (home && *home == '/')
		e->base = dirname_of(home);
}

/* The newest lib/python3.X, or the one that the interpreter's name or pyvenv.cfg asks for. */
static void find_folder(struct search *s, struct env *e)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *wanted = NULL, *program = NULL;
	const char *best = NULL;

	if (*e->version) {
		const char *dot = strchr(e->version, '.');
		size_t len = dot ? (size_t)(dot - e->version) + 1 + strspn(dot + 1, "0123456789") : 0;

		wanted = rd_xasprintf("python%.*s", (int)len, e->version);
	} else if (rd_sysroot_realpath(s->ctx->sysroot, &program, e->executable) == 0) {
		wanted = is_python_folder(basename_of(program)) ? rd_xstrdup(basename_of(program)) : NULL;
	}
	if (rd_sysroot_listf(s->ctx->sysroot, &names, "%s/lib", e->prefix) < 0)
		names.n = 0;
	for (size_t i = 0; i < names.n; i++) {
		if (!is_python_folder(names.v[i]))
			continue;
		if (wanted && rd_str_has_prefix(names.v[i], wanted) && strlen(names.v[i]) <= strlen(wanted) + 1)
			best = names.v[i];
		else if (!wanted && (!best || rd_version_compare(names.v[i] + 6, best + 6, RD_VERSION_DOTTED) > 0))
			best = names.v[i];
	}
	if (!best && wanted && is_python_folder(wanted))
		best = wanted; /* a distribution may have no lib/pythonX.Y but a lib64 one */
	e->folder = rd_xstrdup(best ? best : "");
	if (!*e->version && best) {
		free(e->version);
		e->version = rd_xstrndup(best + strlen("python"), strspn(best + strlen("python"), "0123456789."));
	}
}

static const char *kind_of(struct search *s, const struct env *e, bool venv)
{
	static const struct {
		const char *piece, *kind;
	} pieces[] = {
		{ "/pipx/venvs/", "pipx" },
		{ "/uv/tools/", "uv-tool" },
		{ "/uv/python/", "uv" },
		{ "/.pyenv/versions/", "pyenv" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(pieces); i++)
		if (strstr(e->prefix, pieces[i].piece))
			return pieces[i].kind;
	if (venv)
		return "venv";
	if (rd_sysroot_existsf(s->ctx->sysroot, "%s/conda-meta", e->prefix) == 1)
		return "conda";
	return rd_streq(e->prefix, "/usr") || rd_streq(e->prefix, "/usr/local") ? "system" : "prefix";
}

/* The interpreter as it is called: bin/python3, else bin/python. Empty where there is none. */
static char *find_executable(struct search *s, const char *prefix)
{
	static const char *const names[] = { "python3", "python" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(names); i++) {
		rd_auto_free char *path = rd_xasprintf("%s/bin/%s", prefix, names[i]);
		rd_auto_free char *target = NULL;

		/* A virtual environment may outlive its interpreter: a dangling link still names it. */
		if (rd_sysroot_exists(s->ctx->sysroot, path) == 1 || rd_sysroot_readlink(s->ctx->sysroot, &target, path) == 0)
			return rd_steal(path);
	}
	return rd_xstrdup("");
}

static struct env *find_env(struct search *s, const char *real)
{
	for (size_t i = 0; i < s->n; i++)
		if (rd_streq(s->envs[i].real, real))
			return &s->envs[i];
	return NULL;
}

/*
 * Take a prefix in where it is an environment. Returns it (valid until the next one is added), NULL where it is none or the
 * bound is reached. @asked: take it in whatever it is.
 */
static struct env *add(struct search *s, const char *given, bool asked)
{
	rd_auto_free char *cfg = NULL, *prefix = rd_xstrdup(given), *real = NULL, *executable = NULL;
	struct env *e;
	size_t len = strlen(prefix);
	int has_cfg;

	while (len > 1 && prefix[len - 1] == '/')
		prefix[--len] = '\0';
	if (*prefix != '/')
		return NULL;
	/* Most candidates are nothing at all: two questions settle it, before anything dearer. */
	has_cfg = rd_sysroot_readf(s->ctx->sysroot, &cfg, "%s/pyvenv.cfg", prefix);
	if (has_cfg < 0 && !asked && rd_sysroot_existsf(s->ctx->sysroot, "%s/bin/python3", prefix) != 1)
		return NULL;
	if (rd_sysroot_realpath(s->ctx->sysroot, &real, prefix) < 0)
		real = rd_xstrdup(prefix);
	e = find_env(s, real);
	if (e || s->n == ENVIRONMENTS_MAX)
		return e;
	executable = find_executable(s, prefix);
	RD_GROW(s->envs, s->n, s->allocated);
	e = &s->envs[s->n++];
	*e = (struct env){ .prefix = rd_steal(prefix), .real = rd_steal(real), .version = rd_xstrdup("") };
	e->executable = rd_steal(executable);
	if (has_cfg == 0)
		read_pyvenv_cfg(e, cfg);
	e->kind = kind_of(s, e, has_cfg == 0);
	find_folder(s, e);
	return e;
}

/* ------------------------------------------------------------ where to look */

/* The environment of an interpreter's path, as the interpreter itself finds it: pyvenv.cfg first, then the file's own place. */
static struct env *add_interpreter(struct search *s, const char *path, bool asked)
{
	rd_auto_free char *bin = dirname_of(path), *prefix = dirname_of(bin), *program = NULL, *real_bin = NULL;
	rd_auto_free char *real_prefix = NULL;

	if (rd_sysroot_existsf(s->ctx->sysroot, "%s/pyvenv.cfg", prefix) == 1)
		return add(s, prefix, asked);
	if (rd_sysroot_realpath(s->ctx->sysroot, &program, path) < 0)
		return asked ? add(s, prefix, true) : NULL;
	real_bin = dirname_of(program);
	real_prefix = dirname_of(real_bin);
	/* /bin/python3 is /usr/bin/python3; /usr/bin/python3 -> /etc/alternatives/... stays below /usr. */
	return add(s, rd_streq(basename_of(real_bin), "bin") ? real_prefix : prefix, asked);
}

/* pyenv's shims are scripts: the version that they would start stands in a variable or a file. */
static struct env *add_pyenv_shim(struct search *s, const char *shims)
{
	rd_auto_free char *root = dirname_of(shims), *text = NULL, *prefix = NULL;
	const char *version = NULL;

	if (rd_sysroot_getenv(s->ctx->sysroot, &version, "PYENV_VERSION") == 1 && *version)
		text = rd_xstrdup(version);
	else if (rd_sysroot_readf(s->ctx->sysroot, &text, "%s/version", root) < 0)
		return NULL;
	text[strcspn(text, ":\n ")] = '\0';
	if (!*text || strchr(text, '/'))
		return NULL;
	prefix = rd_xasprintf("%s/versions/%s", root, text);
	return add(s, prefix, false);
}

static struct env *first_on_path(struct search *s, const char *path)
{
	rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;

	rd_strv_split(&dirs, path, ":", false);
	for (size_t i = 0; i < dirs.n && i < PATHS_MAX; i++) {
		rd_auto_free char *program = rd_xasprintf("%s/python3", dirs.v[i]);

		if (*dirs.v[i] != '/' || rd_sysroot_exists(s->ctx->sysroot, program) != 1)
			continue;
		if (rd_str_has_suffix(dirs.v[i], "/shims"))
			return add_pyenv_shim(s, dirs.v[i]);
		return add_interpreter(s, program, false);
	}
	return NULL;
}

static void add_active(struct search *s)
{
	static const char *const names[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
	const char *value = NULL;
	struct env *e = NULL;

	for (size_t i = 0; i < RD_ARRAY_SIZE(names) && !e; i++)
		if (rd_sysroot_getenv(s->ctx->sysroot, &value, names[i]) == 1 && *value == '/')
			e = add(s, value, false);
	if (!e && rd_sysroot_getenv(s->ctx->sysroot, &value, "PATH") == 1)
		e = first_on_path(s, value);
	if (e)
		e->active = true;
}

static void add_asked(struct search *s)
{
	const struct rd_strv *pythons = s->ctx->options->pythons;

	for (size_t i = 0; i < pythons->n; i++) {
		const char *path = pythons->v[i];
		struct rd_stat st;
		struct env *e;

		if (rd_sysroot_stat(s->ctx->sysroot, &st, path) == 0 && st.type == RD_STAT_FILE)
			e = add_interpreter(s, path, true);
		else
			e = add(s, path, true);
		if (e)
			e->asked = true;
	}
}

/* The programs that services start, and the interpreters that their scripts name. */
static void add_services(struct search *s)
{
	const struct rd_fact *services = rd_fact_get(s->ctx->facts, "services");

	for (size_t i = 0; i < rd_fact_count(services); i++) {
		const char *prefix = rd_fact_get_str(rd_fact_at(services, i), "python_prefix");
		struct env *e = *prefix ? add(s, prefix, false) : NULL;

		if (e)
			e->service = true;
	}
}

/* Every folder in @dir, itself with @suffix behind. */
static void add_children(struct search *s, const char *dir, const char *suffix, size_t *budget)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	if (rd_sysroot_list(s->ctx->sysroot, &names, dir) < 0)
		return;
	for (size_t i = 0; i < names.n && *budget; i++) {
		rd_auto_free char *prefix = rd_xasprintf("%s/%s%s", dir, names.v[i], suffix);

		--*budget;
		if (rd_str_has_prefix(names.v[i], ".") || !strncmp(names.v[i], "rocm", 4))
			continue;
		add(s, prefix, false);
	}
}

static void add_conda(struct search *s, const char *prefix, size_t *budget)
{
	rd_auto_free char *envs = rd_xasprintf("%s/envs", prefix);

	if (rd_sysroot_existsf(s->ctx->sysroot, "%s/conda-meta", prefix) != 1)
		return;
	add(s, prefix, false);
	add_children(s, envs, "", budget);
}

/* What tools and guides make in a home: the folder itself, or every folder in it. */
static void add_home(struct search *s, const char *home, size_t *budget)
{
	static const char *const single[] = { ".venv", "venv", "env" };
	static const char *const many[] = {
		".virtualenvs",
		".conda/envs",
		".local/share/uv/tools",
		".local/share/uv/python",
		".local/share/pipx/venvs",
		".local/pipx/venvs",
		".pyenv/versions",
		".cache/pypoetry/virtualenvs",
	};
	static const char *const condas[] = { "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(single); i++) {
		rd_auto_free char *prefix = rd_xasprintf("%s/%s", home, single[i]);

		add(s, prefix, false);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(many); i++) {
		rd_auto_free char *dir = rd_xasprintf("%s/%s", home, many[i]);

		add_children(s, dir, "", budget);
	}
	for (size_t i = 0; i < RD_ARRAY_SIZE(condas); i++) {
		rd_auto_free char *prefix = rd_xasprintf("%s/%s", home, condas[i]);

		add_conda(s, prefix, budget);
	}
}

/* Projects keep theirs beside the code: HOME/PROJECT, HOME/PROJECT/venv, HOME/PROJECT/.venv. */
static void add_projects(struct search *s, const char *home, size_t *budget)
{
	static const char *const below[] = { "", "/venv", "/.venv", "/env" };
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	if (rd_sysroot_list(s->ctx->sysroot, &names, home) < 0)
		return;
	for (size_t i = 0; i < names.n && *budget; i++) {
		struct rd_stat st;

		if (rd_str_has_prefix(names.v[i], "."))
			continue;
		--*budget;
		for (size_t j = 0; j < RD_ARRAY_SIZE(below); j++) {
			rd_auto_free char *prefix = rd_xasprintf("%s/%s%s", home, names.v[i], below[j]);

			if (!j && (rd_sysroot_stat(s->ctx->sysroot, &st, prefix) < 0 || st.type != RD_STAT_DIR))
				break;
			add(s, prefix, false);
		}
	}
}

static void add_opt(struct search *s, size_t *budget)
{
	rd_auto_strv struct rd_strv names = RD_STRV_INIT;

	if (rd_sysroot_list(s->ctx->sysroot, &names, "/opt") < 0)
		return;
	for (size_t i = 0; i < names.n && *budget; i++) {
		rd_auto_free char *prefix = rd_xasprintf("/opt/%s", names.v[i]);

		--*budget;
		if (rd_str_has_prefix(names.v[i], "rocm") || rd_str_has_prefix(names.v[i], "."))
			continue;
		if (!add(s, prefix, false))
			add_children(s, prefix, "", budget);
		else
			add_conda(s, prefix, budget);
	}
}

/* The list that conda keeps of what it made anywhere. */
static void add_conda_list(struct search *s, const char *home, size_t *budget)
{
	rd_auto_free char *text = NULL;
	char *rest, *line;

	if (rd_sysroot_readf(s->ctx->sysroot, &text, "%s/.conda/environments.txt", home) < 0)
		return;
	for (rest = text; (line = rd_str_next_line(&rest)) && *budget; --*budget)
		add(s, rd_str_strip(line), false);
}

static void discover(struct search *s)
{
	size_t budget = FOLDERS_MAX;
	const char *value = NULL;

	add_services(s);
	add(s, "/usr", false);
	add(s, "/usr/local", false);
	if (rd_sysroot_getenv(s->ctx->sysroot, &value, "UV_PROJECT_ENVIRONMENT") == 1 && *value == '/')
		add(s, value, false);
	add_opt(s, &budget);
	if (!s->home)
		return;
	add_home(s, s->home, &budget);
	add_conda_list(s, s->home, &budget);
	add_projects(s, s->home, &budget);
}

/* ------------------------------------------------------------ the user */

/* HOME of the examined session, else of its user in /etc/passwd. */
static void find_home(struct search *s)
{
	rd_auto_free char *passwd = NULL;
	const struct rd_user *user;
	const char *home = NULL;
	char *rest, *line;

	if (rd_sysroot_getenv(s->ctx->sysroot, &home, "HOME") == 1 && *home == '/') {
		rd_strv_push(&s->user_home, home);
	} else if (rd_sysroot_user(s->ctx->sysroot, &user) == 0 &&
	           rd_sysroot_read(s->ctx->sysroot, &passwd, "/etc/passwd") == 0) {
		for (rest = passwd; (line = rd_str_next_line(&rest)) && !s->user_home.n;) {
			rd_auto_strv struct rd_strv fields = RD_STRV_INIT;
			uint64_t uid;

			rd_strv_split(&fields, line, ":", true);
			if (fields.n > 5 && rd_str_to_u64(fields.v[2], 10, &uid) == 0 && uid == user->uid &&
			    *fields.v[5] == '/')
				rd_strv_push(&s->user_home, fields.v[5]);
		}
	}
	if (s->user_home.n && !rd_streq(s->user_home.v[0], "/"))
		s->home = s->user_home.v[0];
}

static void read_variables(struct search *s)
{
	const char *value = NULL;

	s->environ_error = rd_sysroot_getenv(s->ctx->sysroot, &value, "PATH");
	if (s->environ_error > 0)
		s->environ_error = 0;
	if (rd_sysroot_getenv(s->ctx->sysroot, &value, "PYTHONPATH") == 1)
		s->pythonpath = value;
	s->no_user_site = rd_sysroot_getenv(s->ctx->sysroot, &value, "PYTHONNOUSERSITE") == 1 && *value;
	find_home(s);
}

/* ------------------------------------------------------------ what it imports from */

struct paths {
	struct rd_sysroot *sr;
	struct rd_strv dirs, reals;
	struct rd_strv *names; /* beside dirs: what is in each */
	size_t allocated;
	int error; /* first one that is not "not there" */
};

/* One more folder of sys.path, once; not there is fine. */
static void path_add(struct paths *p, const char *dir)
{
	struct rd_strv names = RD_STRV_INIT;
	rd_auto_free char *real = NULL;
	int r;

	if (p->dirs.n == PATHS_MAX || *dir != '/')
		return;
	r = rd_sysroot_list(p->sr, &names, dir);
	if (r == 0)
		r = rd_sysroot_realpath(p->sr, &real, dir);
	if (r < 0 || rd_strv_has(&p->reals, real)) {
		if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ELOOP && !p->error)
			p->error = r;
		rd_strv_clear(&names);
		return;
	}
	RD_GROW(p->names, p->dirs.n, p->allocated);
	p->names[p->dirs.n] = names;
	rd_strv_push(&p->dirs, dir);
	rd_strv_push_take(&p->reals, rd_steal(real));
}

static void path_addf(struct paths *p, const char *format, ...) RD_PRINTF(2, 3);
static void path_addf(struct paths *p, const char *format, ...)
{
	rd_auto_strbuf struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	path_add(p, sb.buf);
}

/* The folders that an interpreter's own site adds, in its order. */
static void path_add_prefix(struct paths *p, const char *prefix, const char *folder)
{
	if (!*folder)
		return;
	if (rd_streq(prefix, "/usr")) {
		path_addf(p, "/usr/local/lib/%s/dist-packages", folder);
		path_add(p, "/usr/lib/python3/dist-packages");
		path_addf(p, "/usr/lib/%s/dist-packages", folder);
		path_addf(p, "/usr/local/lib64/%s/site-packages", folder);
		path_addf(p, "/usr/local/lib/%s/site-packages", folder);
	}
	/* Fedora's interpreter looks into lib64 first; in a virtual environment lib64 is a link to lib. */
	if (rd_streq(prefix, "/usr"))
		path_addf(p, "%s/lib64/%s/site-packages", prefix, folder);
	path_addf(p, "%s/lib/%s/site-packages", prefix, folder);
	path_addf(p, "%s/lib64/%s/site-packages", prefix, folder);
}

/* Lines of *.pth files that name a folder; code in them ("import ...") is not run and not guessed at. */
static void path_add_pth(struct paths *p, size_t index)
{
	size_t files = 0;

	for (size_t i = 0; i < p->names[index].n && files < PTH_FILES_MAX; i++) {
		rd_auto_free char *text = NULL;
		char *rest, *line;

		if (!rd_str_has_suffix(p->names[index].v[i], ".pth"))
			continue;
		files++;
		if (rd_sysroot_readf(p->sr, &text, "%s/%s", p->dirs.v[index], p->names[index].v[i]) < 0)
			continue;
		rest = text;
		for (size_t n = 0; n < PTH_LINES_MAX && (line = rd_str_next_line(&rest)); n++) {
			line = rd_str_strip(line);
			if (!*line || *line == '#' || rd_str_has_prefix(line, "import ") || rd_str_has_prefix(line, "import\t"))
				continue;
			if (*line == '/')
				path_add(p, line);
			else
				path_addf(p, "%s/%s", p->dirs.v[index], line);
		}
	}
}

static void path_build(struct search *s, const struct env *e, struct paths *p)
{
	bool venv = e->base != NULL, user = (!venv || e->system_site) && s->home && !s->no_user_site && *e->folder;
	size_t variable, last;

	if (s->pythonpath) {
		rd_auto_strv struct rd_strv dirs = RD_STRV_INIT;

		rd_strv_split(&dirs, s->pythonpath, ":", false);
		for (size_t i = 0; i < dirs.n; i++)
			path_add(p, dirs.v[i]);
	}
	variable = p->dirs.n; /* folders of PYTHONPATH are no site folders: their .pth files are not read */
	if (venv)
		path_add_prefix(p, e->prefix, e->folder);
	if (user)
		path_addf(p, "%s/.local/lib/%s/site-packages", s->home, e->folder);
	if (!venv)
		path_add_prefix(p, e->prefix, e->folder);
	else if (e->system_site)
		path_add_prefix(p, e->base, e->folder);
	last = p->dirs.n;
	for (size_t i = variable; i < last; i++)
		path_add_pth(p, i);
}

static void path_clear(struct paths *p)
{
	for (size_t i = 0; i < p->dirs.n; i++)
		rd_strv_clear(&p->names[i]);
	free(p->names);
	rd_strv_clear(&p->dirs);
	rd_strv_clear(&p->reals);
}

/* ------------------------------------------------------------ what is installed */

struct package {
	char *name, *version, *source;
	size_t dir;
};

static int by_name(const void *a, const void *b)
{
	const struct package *p = a, *q = b;
	int r = strcmp(p->name, q->name);

	if (!r)
		r = p->dir < q->dir ? -1 : p->dir > q->dir;
	return r ? r : -rd_version_compare(p->version, q->version, RD_VERSION_PEP440);
}

static size_t collect(const struct paths *p, struct package **ret)
{
	size_t n = 0, allocated = 0;

	*ret = NULL;
	for (size_t i = 0; i < p->dirs.n; i++)
		for (size_t j = 0; j < p->names[i].n && n <= PACKAGES_MAX; j++) {
			struct package one = { .dir = i };

			if (!rd_wheel_split(p->names[i].v[j], &one.name, &one.version))
				continue;
			one.source = rd_xasprintf("%s/%s", p->dirs.v[i], p->names[i].v[j]);
			RD_GROW(*ret, n, allocated);
			(*ret)[n++] = one;
		}
	if (n)
		qsort(*ret, n, sizeof(**ret), by_name);
	return n;
}

/* The first on the path wins, as it does for the import. */
static void set_packages(struct rd_fact *item, const struct paths *p)
{
	struct package *packages;
	size_t n = collect(p, &packages);

	rd_fact_set_map(item, "packages", p->dirs.n ? p->dirs.v[0] : "no folder of packages");
	for (size_t i = 0; i < n && n <= PACKAGES_MAX; i++)
		if (!i || !rd_streq(packages[i].name, packages[i - 1].name))
			rd_fact_set_entry(item, "packages", packages[i].name, packages[i].version, packages[i].source);
	if (n > PACKAGES_MAX)
		rd_fact_set_unknown_why(item, "packages", "more packages than this program takes in", p->dirs.v[0]);
	else if (p->error)
		rd_fact_set_unknown(item, "packages", p->error, p->dirs.n ? p->dirs.v[0] : "site-packages");
	for (size_t i = 0; i < n; i++) {
		free(packages[i].name);
		free(packages[i].version);
		free(packages[i].source);
	}
	free(packages);
}

/* ------------------------------------------------------------ facts */

static void publish(struct search *s, const struct env *e)
{
	struct rd_fact *item = rd_fact_append(s->ctx->facts, "python", e->prefix);
	rd_auto_free char *cfg = rd_xasprintf("%s/pyvenv.cfg", e->prefix);
	struct paths p = { .sr = s->ctx->sysroot };
	const char *series = *e->folder ? e->folder + strlen("python") : "";

	rd_fact_set_str(item, "prefix", e->prefix, e->prefix);
	rd_fact_set_str(item, "kind", e->kind, e->prefix);
	if (*e->version)
		rd_fact_set_str(item, "version", e->version, e->base ? cfg : e->prefix);
	if (*series) {
		rd_auto_free char *numbers = rd_xstrndup(series, strspn(series, "0123456789."));

		rd_fact_set_str(item, "series", numbers, e->prefix);
	}
	rd_fact_set_bool(item, "free_threaded", rd_str_has_suffix(series, "t"), e->prefix);
	/* PEP 668: pip refuses to install into the Python of such a distribution. */
	rd_fact_set_bool(item, "externally_managed",
	                 rd_sysroot_existsf(s->ctx->sysroot, "%s/lib/%s/EXTERNALLY-MANAGED", e->prefix, e->folder) == 1,
	                 e->prefix);
	if (*e->executable)
		rd_fact_set_str(item, "executable", e->executable, e->executable);
	if (e->base)
		rd_fact_set_str(item, "base_prefix", e->base, cfg);
	if (s->environ_error < 0)
		rd_fact_set_unknown(item, "active", s->environ_error, "environment");
	else
		rd_fact_set_bool(item, "active", e->active, "environment");
	rd_fact_set_bool(item, "asked", e->asked, "--python");
	rd_fact_set_bool(item, "service", e->service, "services");
	path_build(s, e, &p);
	rd_fact_set_list(item, "paths", e->prefix);
	for (size_t i = 0; i < p.dirs.n; i++)
		rd_fact_append_str(item, "paths", p.dirs.v[i], p.dirs.v[i]);
	set_packages(item, &p);
	path_clear(&p);
}

static int by_rank(const void *a, const void *b)
{
	const struct env *e = a, *f = b;

	if (e->active != f->active)
		return e->active ? -1 : 1;
	return strcmp(e->prefix, f->prefix);
}

static int run(struct rd_probe_ctx *ctx)
{
	struct search s = { .ctx = ctx };
	bool asked = ctx->options->pythons && ctx->options->pythons->n;
	int r = 0;

	read_variables(&s);
	if (asked)
		add_asked(&s);
	add_active(&s);
	if (!asked)
		discover(&s);
	if (s.n)
		qsort(s.envs, s.n, sizeof(*s.envs), by_rank);
	for (size_t i = 0; i < s.n; i++)
		if (!asked || s.envs[i].asked)
			publish(&s, &s.envs[i]);
	for (size_t i = 0; i < s.n; i++)
		env_clear(&s.envs[i]);
	free(s.envs);
	rd_strv_clear(&s.user_home);
	/* Where not even the usual place could be looked at, none was found because none could be. */
	if (!s.n && !asked)
		r = rd_sysroot_exists(ctx->sysroot, "/usr/bin/python3");
	return r < 0 ? r : 0;
}

static const struct rd_fact_decl facts[] = {
	{ "python[]", RD_LIST, "Python environments, the active one first, then by prefix",
	  "pyvenv.cfg, conda-meta, bin/python3" },
	{ "python[].prefix", RD_STR, "folder of the environment", "pyvenv.cfg, conda-meta, bin/python3" },
	{ "python[].kind", RD_STR, "venv, conda, system, uv, uv-tool, pipx, pyenv or prefix",
	  "pyvenv.cfg, conda-meta, the path" },
	{ "python[].version", RD_STR, "version of the interpreter", "PREFIX/pyvenv.cfg, PREFIX/lib/pythonX.Y",
	  RD_VERSION_PEP440 },
	{ "python[].series", RD_STR, "X.Y of the interpreter, which its packages are built for", "PREFIX/lib/pythonX.Y",
	  RD_VERSION_PEP440 },
	{ "python[].free_threaded", RD_BOOL, "the interpreter is a build without the global lock", "PREFIX/lib/pythonX.Yt" },
	{ "python[].executable", RD_STR, "the interpreter as it is called", "PREFIX/bin/python3" },
	{ "python[].externally_managed", RD_BOOL, "the distribution does not let pip install into it", "PREFIX/lib" },
	{ "python[].base_prefix", RD_STR, "of a virtual environment: the prefix of its interpreter", "PREFIX/pyvenv.cfg" },
	{ "python[].active", RD_BOOL, "python3 on PATH would start it", "VIRTUAL_ENV, CONDA_PREFIX, PATH" },
	{ "python[].asked", RD_BOOL, "--python names it", "--python" },
	{ "python[].service", RD_BOOL, "a service of a model server runs it", "ExecStart of systemd units" },
	{ "python[].paths[]", RD_STRS, "folders that packages are imported from, in order",
	  "PYTHONPATH, site-packages, *.pth" },
	{ "python[].packages{}", RD_MAP, "installed packages and their versions, names as in PEP 503",
	  "*.dist-info, *.egg-info", RD_VERSION_PEP440 },
	{ NULL },
};

const struct rd_probe rd_probe_framework_environments = {
	.name = "framework/environments",
	.layer = RD_LAYER_FRAMEWORK,
	.after = "framework/services",
	.summary = "Python environments and the packages in them",
	.facts = facts,
	.run = run,
};
