/*
 * Facts: a tree whose leaves are known, absent (looked for, not there) or unknown (could not look), each with its source.
 *
 * A path is dotted, relative to the node it is given with: "kernel.kfd.present", or "pci.address" on an item of gpus[].
 * Declarations write "[]" behind a list ("gpus[].pci.address") and "{}" behind a map of strings ("kernel.amdgpu.parameters{}").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-doctor/macros.h"

struct rd_fact;
struct rd_strv;

enum rd_kind {
	RD_NONE, /* ends a table of declarations */
	RD_BOOL,
	RD_INT,  /* 64 bits, signed */
	RD_REAL, /* a number that need not be whole (GT/s, degrees) */
	RD_STR,
	RD_STRS, /* list of strings; the path ends in [] */
	RD_MAP,  /* names to strings; the path ends in {} */
	RD_LIST, /* list of objects; the path ends in [] */
	RD_OBJECT,
};

/* How version() compares a string fact. */
enum rd_version_scheme {
	RD_VERSION_NONE, /* not a version: version() refuses it */
	RD_VERSION_ROCM,
	RD_VERSION_KERNEL,
	RD_VERSION_DPKG,
	RD_VERSION_RPM,
	RD_VERSION_PEP440,
	RD_VERSION_DOTTED, /* numbers and dots, compared number by number */
};

struct rd_fact_decl {
	const char *path;
	enum rd_kind kind;
	const char *summary; /* what it says, with the unit where the name does not end in one */
	const char *source;  /* where the truth is written: a path pattern of the host, or what it is derived from */
	enum rd_version_scheme scheme;
};

enum rd_fact_state { RD_FACT_KNOWN, RD_FACT_ABSENT, RD_FACT_UNKNOWN };

struct rd_fact *rd_facts_new(void);
struct rd_fact *rd_fact_free(struct rd_fact *root);

/*
 * Setters: @path is made as needed below @at; a value replaces an earlier one. @source is a path of the host, "PATH:LINE",
 * or words ("table gpus"); it is copied. Text that is not UTF-8 is made so.
 */
void rd_fact_set_bool(struct rd_fact *at, const char *path, bool value, const char *source);
void rd_fact_set_int(struct rd_fact *at, const char *path, int64_t value, const char *source);
void rd_fact_set_real(struct rd_fact *at, const char *path, double value, const char *source);
void rd_fact_set_str(struct rd_fact *at, const char *path, const char *value, const char *source);
/* One entry of a map, whose name may hold anything. */
void rd_fact_set_entry(struct rd_fact *at, const char *map, const char *name, const char *value, const char *source);
void rd_fact_set_absent(struct rd_fact *at, const char *path, const char *source);
/* @err: negative errno. Lists, maps and objects can be unknown as well. */
void rd_fact_set_unknown(struct rd_fact *at, const char *path, int err, const char *source);
void rd_fact_set_unknown_why(struct rd_fact *at, const char *path, const char *reason, const char *source);
/* Unknown since it was not asked for; @option says what would ask for it ("--active"). */
void rd_fact_set_not_asked(struct rd_fact *at, const char *path, const char *option);

/* A list that was looked for: known, empty until something is appended. The same for a map. */
void rd_fact_set_list(struct rd_fact *at, const char *path, const char *source);
void rd_fact_set_map(struct rd_fact *at, const char *path, const char *source);
/* A new object at the end of a list; returns it. */
struct rd_fact *rd_fact_append(struct rd_fact *at, const char *list, const char *source);
/* A new string at the end of a list of strings. */
void rd_fact_append_str(struct rd_fact *at, const char *list, const char *value, const char *source);

/*
 * rd_fact_follow - as far as a declared path leads
 * @ret_left: what is left of the path: nothing or the marks of its end, "[]...." at a list that it goes into, or the first name that
 *            nobody set below the node
 *
 * Returns the last node that there is, @at itself where there is none of it.
 */
struct rd_fact *rd_fact_follow(struct rd_fact *at, const char *path, const char **ret_left);

/*
 * rd_fact_get - the node at a path; NULL where nobody set it
 * Indexes may stand in the path: "gpus[0].name".
 */
const struct rd_fact *rd_fact_get(const struct rd_fact *at, const char *path);
struct rd_fact *rd_fact_get_mutable(struct rd_fact *at, const char *path);

enum rd_kind rd_fact_kind(const struct rd_fact *f);        /* RD_NONE for NULL */
enum rd_fact_state rd_fact_state(const struct rd_fact *f); /* ABSENT for NULL */
/* Getters are forgiving: NULL, absent, unknown and another kind give false, 0, "" . */
bool rd_fact_bool(const struct rd_fact *f);
int64_t rd_fact_int(const struct rd_fact *f);
double rd_fact_real(const struct rd_fact *f);
const char *rd_fact_str(const struct rd_fact *f);
/* Short forms of getter(rd_fact_get(at, path)). */
bool rd_fact_get_bool(const struct rd_fact *at, const char *path);
int64_t rd_fact_get_int(const struct rd_fact *at, const char *path);
double rd_fact_get_real(const struct rd_fact *at, const char *path);
const char *rd_fact_get_str(const struct rd_fact *at, const char *path);
/* True only for a known value. */
bool rd_fact_is_known(const struct rd_fact *at, const char *path);
bool rd_fact_is_unknown(const struct rd_fact *at, const char *path);

/* The child of a map or object by its very name, which may hold anything; NULL where it is not there. */
const struct rd_fact *rd_fact_child(const struct rd_fact *f, const char *name);

/* Children of a list (in order), map or object (in order of setting); NULL past the end. */
size_t rd_fact_count(const struct rd_fact *f);
const struct rd_fact *rd_fact_at(const struct rd_fact *f, size_t index);
struct rd_fact *rd_fact_at_mutable(struct rd_fact *f, size_t index);
/* The child's own name: a map's or object's key, "" for an item of a list. */
const char *rd_fact_name(const struct rd_fact *f);

const char *rd_fact_source(const struct rd_fact *f); /* "" where none is known */
const char *rd_fact_reason(const struct rd_fact *f); /* why it is unknown; "" otherwise */
bool rd_fact_not_asked(const struct rd_fact *f);
/* The whole path from the root, with indexes: "gpus[0].pci.address". Caller frees. */
char *rd_fact_path(const struct rd_fact *f);

/* Sort a list's items by one of their string facts. */
void rd_fact_sort(struct rd_fact *list, const char *key);

struct cJSON;
struct rd_error;
struct rd_schema;

/*
 * rd_facts_from_json - facts as rule tests write them: null is unknown, what is left out is absent
 * Every name and type is checked against @schema. Returns 0, or -EINVAL with the place in @err.
 */
int rd_facts_from_json(struct rd_fact *root, const struct cJSON *json, const struct rd_schema *schema,
                       struct rd_error *err) RD_MUST_CHECK;

/*
 * rd_facts_undeclared - paths that somebody set and nobody declared with that kind; a mistake of a probe
 */
void rd_facts_undeclared(const struct rd_fact *root, const struct rd_schema *schema, struct rd_strv *ret);
