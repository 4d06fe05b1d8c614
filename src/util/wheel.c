#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"
#include "util/strbuf.h"
#include "util/version.h"
#include "util/wheel.h"
#include "util/xalloc.h"

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

char *rd_wheel_name(const char *name, size_t len)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	bool gap = false;

	for (size_t i = 0; i < len; i++) {
		if (name[i] == '-' || name[i] == '_' || name[i] == '.') {
			gap = true;
			continue;
		}
		if (gap && sb.len)
			rd_strbuf_addc(&sb, '-');
		gap = false;
		rd_strbuf_addc(&sb, (char)tolower((unsigned char)name[i]));
	}
	return rd_strbuf_detach(&sb);
}

bool rd_wheel_split(const char *folder, char **ret_name, char **ret_version)
{
	bool egg = rd_str_has_suffix(folder, ".egg-info");
	const char *dash = strchr(folder, '-'), *end = strrchr(folder, '.'), *python;

	if (!egg && !rd_str_has_suffix(folder, ".dist-info"))
		return false;
	/* pip renames what it is about to remove to "~orch-...". */
	if (!dash || !isalnum((unsigned char)*folder) || end <= dash + 1)
		return false;
	/* An egg's name ends in the Python it was made with: NAME-VERSION-py3.10.egg-info. */
	python = egg ? strstr(dash + 1, "-py") : NULL;
	*ret_name = rd_wheel_name(folder, (size_t)(dash - folder));
	*ret_version = rd_xstrndup(dash + 1, (size_t)((python ? python : end) - dash - 1));
	return true;
}

const char *rd_wheel_local(const char *version)
{
	const char *plus = strchr(version, '+');

	return plus ? plus + 1 : "";
}

char *rd_wheel_public(const char *version)
{
	return rd_xstrndup(version, strcspn(version, "+"));
}

/* Bytes of "X.Y" at the beginning of a version. */
static size_t series(const char *version)
{
	size_t major = strspn(version, "0123456789");

	return version[major] == '.' ? major + 1 + strspn(version + major + 1, "0123456789") : major;
}

bool rd_wheel_same_release(const char *pin, const char *installed)
{
	char *a = rd_wheel_public(pin), *b = rd_wheel_public(installed);
	bool own = strstr(a, "dev") || strstr(b, "dev") || strstr(b, "a0"), same;

	if (own)
		same = series(a) == series(b) && strncmp(a, b, series(a)) == 0;
	else
		same = rd_version_compare(a, b, RD_VERSION_PEP440) == 0;
	free(a);
	free(b);
	return same;
}

/* A part of the local version that begins with @word and goes on with a digit; NULL for none. */
static const char *part(const char *local, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = local; (p = strstr(p, word)); p++)
		if ((p == local || !isalnum((unsigned char)p[-1]) || rd_str_has_prefix(local, "devrocm")) &&
		    isdigit((unsigned char)p[len]))
			return p + len;
	return NULL;
}

const char *rd_wheel_build(const char *version)
{
	const char *local = rd_wheel_local(version);

	if (part(local, "rocm") || strstr(local, "devrocm"))
		return "rocm";
	if (part(local, "cu") || part(local, "cuda"))
		return "cuda";
	return rd_streq(local, "cpu") || rd_str_has_suffix(local, ".cpu") || rd_str_has_prefix(local, "cpu.") ? "cpu" : "";
}

/* "641" -> "6.4.1", "63" -> "6.3", "100" -> "10.0": ROCm 1.x had no such wheels. */
static char *spread(const char *digits, size_t len)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	size_t major = len > 2 && digits[0] == '1' ? 2 : 1;

	rd_strbuf_addn(&sb, digits, major);
	for (size_t i = major; i < len; i++)
		rd_strbuf_addf(&sb, ".%c", digits[i]);
	return rd_strbuf_detach(&sb);
}

char *rd_wheel_rocm(const char *version)
{
	const char *p = part(rd_wheel_local(version), "rocm");
	size_t len = 0, digits, parts = 0;

	if (!p)
		return NULL;
	digits = strspn(p, "0123456789");
	if (digits > 1 && p[digits] != '.' && p[0] != '1')
		return spread(p, digits);
	if (digits > 2)
		return spread(p, digits);
	/* At most three numbers: what follows is a build. */
	while (isdigit((unsigned char)p[len]) && parts++ < 3) {
		len += strspn(p + len, "0123456789");
		if (p[len] != '.' || !isdigit((unsigned char)p[len + 1]) || parts == 3)
			break;
		len++;
	}
	return rd_xstrndup(p, len);
}

/* Past an annotation (": Optional[str]") and "=", at the value; NULL where the line is no assignment. */
static const char *value_of(const char *p)
{
	p += strspn(p, " \t");
	if (*p == ':') {
		p += strcspn(p, "=\n");
	}
	if (*p != '=' || p[1] == '=')
		return NULL;
	return p + 1 + strspn(p + 1, " \t");
}

char *rd_wheel_assignment(const char *text, const char *name, bool *ret_there)
{
	size_t len = strlen(name);

	if (ret_there)
		*ret_there = false;
	for (const char *line = text, *next; *line; line = next) {
		const char *value, *end;

		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (strncmp(line, name, len) != 0 || !(value = value_of(line + len)))
			continue;
		if (ret_there)
			*ret_there = true;
		if (*value != '\'' && *value != '"')
			return NULL;
		end = value + 1 + strcspn(value + 1, *value == '"' ? "\"\n" : "'\n");
		return *end == *value ? rd_xstrndup(value + 1, (size_t)(end - value - 1)) : NULL;
	}
	return NULL;
}

bool rd_wheel_requirement(const char *text, size_t len, char **ret_name, char **ret_pin)
{
	size_t name = 0, end = 0;
	const char *pin;

	while (len && isspace((unsigned char)*text))
		text++, len--;
	while (name < len && is_name_char(text[name]))
		name++;
	while (end < len && !strchr(";#\r\n", text[end]))
		end++;
	if (!name || !isalnum((unsigned char)text[0]))
		return false;
	*ret_name = rd_wheel_name(text, name);
	pin = memmem(text, end, "==", 2);
	if (!pin) {
		*ret_pin = rd_xstrdup("");
		return true;
	}
	for (pin += 2; pin < text + end && (*pin == '=' || isspace((unsigned char)*pin)); pin++)
		;
	for (name = 0; pin + name < text + end && (is_name_char(pin[name]) || strchr("+*!", pin[name])); name++)
		;
	*ret_pin = rd_xstrndup(pin, name);
	return true;
}

bool rd_wheel_requires(const char **rest, char **ret_name, char **ret_pin)
{
	static const char header[] = "Requires-Dist:";

	while (**rest && **rest != '\n' && **rest != '\r') {
		const char *line = *rest, *marker;
		size_t len = strcspn(line, "\n");

		*rest = line + len + (line[len] == '\n');
		if (strncasecmp(line, header, strlen(header)) != 0)
			continue;
		marker = memchr(line, ';', len);
		if (marker && memmem(marker, len - (size_t)(marker - line), "extra", 5))
			continue;
		if (rd_wheel_requirement(line + strlen(header), len - strlen(header), ret_name, ret_pin))
			return true;
	}
	return false;
}
