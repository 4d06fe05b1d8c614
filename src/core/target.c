#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/target.h"
#include "util/str.h"

#define SPIRV "amdgcnspirv"

/* e_flags, EF_AMDGPU_MACH: LLVM BinaryFormat/ELF.h. */
static const struct {
	unsigned char mach;
	const char *processor;
} machs[] = {
	{ 0x20, "gfx600" },          { 0x21, "gfx601" },          { 0x22, "gfx700" },        { 0x23, "gfx701" },
	{ 0x24, "gfx702" },          { 0x25, "gfx703" },          { 0x26, "gfx704" },        { 0x28, "gfx801" },
	{ 0x29, "gfx802" },          { 0x2a, "gfx803" },          { 0x2b, "gfx810" },        { 0x2c, "gfx900" },
	{ 0x2d, "gfx902" },          { 0x2e, "gfx904" },          { 0x2f, "gfx906" },        { 0x30, "gfx908" },
	{ 0x31, "gfx909" },          { 0x32, "gfx90c" },          { 0x33, "gfx1010" },       { 0x34, "gfx1011" },
	{ 0x35, "gfx1012" },         { 0x36, "gfx1030" },         { 0x37, "gfx1031" },       { 0x38, "gfx1032" },
	{ 0x39, "gfx1033" },         { 0x3a, "gfx602" },          { 0x3b, "gfx705" },        { 0x3c, "gfx805" },
	{ 0x3d, "gfx1035" },         { 0x3e, "gfx1034" },         { 0x3f, "gfx90a" },        { 0x40, "gfx940" },
	{ 0x41, "gfx1100" },         { 0x42, "gfx1013" },         { 0x43, "gfx1150" },       { 0x44, "gfx1103" },
	{ 0x45, "gfx1036" },         { 0x46, "gfx1101" },         { 0x47, "gfx1102" },       { 0x48, "gfx1200" },
	{ 0x49, "gfx1250" },         { 0x4a, "gfx1151" },         { 0x4b, "gfx941" },        { 0x4c, "gfx942" },
	{ 0x4e, "gfx1201" },         { 0x4f, "gfx950" },          { 0x50, "gfx1310" },       { 0x51, "gfx9-generic" },
	{ 0x52, "gfx10-1-generic" }, { 0x53, "gfx10-3-generic" }, { 0x54, "gfx11-generic" }, { 0x55, "gfx1152" },
	{ 0x57, "gfx1154" },         { 0x58, "gfx1153" },         { 0x59, "gfx12-generic" }, { 0x5a, "gfx1251" },
	{ 0x5b, "gfx12-5-generic" }, { 0x5c, "gfx1172" },         { 0x5d, "gfx1170" },       { 0x5e, "gfx1171" },
	{ 0x5f, "gfx9-4-generic" },  { 0x62, "gfx11-7-generic" }, { 0x63, "gfx13-generic" },
};

/*
 * Families as the runtimes know them (clr TargetGenericMap, ROCr isa.cpp). gfx908 and gfx90a are in none; LLVM's newer
 * families are in no runtime yet.
 */
static const struct {
	const char *family, *member;
} families[] = {
	{ "gfx9-generic", "gfx900" },     { "gfx9-generic", "gfx902" },     { "gfx9-generic", "gfx904" },
	{ "gfx9-generic", "gfx906" },     { "gfx9-generic", "gfx909" },     { "gfx9-generic", "gfx90c" },
	{ "gfx9-4-generic", "gfx942" },   { "gfx9-4-generic", "gfx950" },   { "gfx10-1-generic", "gfx1010" },
	{ "gfx10-1-generic", "gfx1011" }, { "gfx10-1-generic", "gfx1012" }, { "gfx10-1-generic", "gfx1013" },
	{ "gfx10-3-generic", "gfx1030" }, { "gfx10-3-generic", "gfx1031" }, { "gfx10-3-generic", "gfx1032" },
	{ "gfx10-3-generic", "gfx1033" }, { "gfx10-3-generic", "gfx1034" }, { "gfx10-3-generic", "gfx1035" },
	{ "gfx10-3-generic", "gfx1036" }, { "gfx11-generic", "gfx1100" },   { "gfx11-generic", "gfx1101" },
	{ "gfx11-generic", "gfx1102" },   { "gfx11-generic", "gfx1103" },   { "gfx11-generic", "gfx1150" },
	{ "gfx11-generic", "gfx1151" },   { "gfx11-generic", "gfx1152" },   { "gfx11-generic", "gfx1153" },
	{ "gfx12-generic", "gfx1200" },   { "gfx12-generic", "gfx1201" },
};

static const char *const with_xnack[] = {
	"gfx801",  "gfx810",  "gfx900",  "gfx902",  "gfx904",       "gfx906",         "gfx908",
	"gfx909",  "gfx90a",  "gfx90c",  "gfx940",  "gfx941",       "gfx942",         "gfx950",
	"gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx9-generic", "gfx9-4-generic", "gfx10-1-generic",
};
static const char *const with_sramecc[] = {
	"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic",
};

static bool is_one_of(const char *const list[], size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (rd_streq(list[i], s))
			return true;
	return false;
}

bool rd_processor_has_xnack(const char *processor)
{
	return is_one_of(with_xnack, RD_ARRAY_SIZE(with_xnack), processor);
}

bool rd_processor_has_sramecc(const char *processor)
{
	return is_one_of(with_sramecc, RD_ARRAY_SIZE(with_sramecc), processor);
}

const char *rd_target_family(const char *processor)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(families); i++)
		if (rd_streq(families[i].member, processor))
			return families[i].family;
	return NULL;
}

bool rd_target_is_generic(const struct rd_target_id *id)
{
	return rd_str_has_suffix(id->processor, "-generic");
}

bool rd_target_is_spirv(const struct rd_target_id *id)
{
	return rd_streq(id->processor, SPIRV);
}

static bool is_processor(const char *s, size_t len)
{
	static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz-";

	if (len == strlen(SPIRV) && strncmp(s, SPIRV, len) == 0)
		return true;
	if (len < 5 || len >= RD_PROCESSOR_MAX || strncmp(s, "gfx", 3) != 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!memchr(allowed, s[i], sizeof(allowed) - 1))
			return false;
	return true;
}

static bool parse_feature(const char *s, size_t len, struct rd_target_id *id)
{
	enum rd_feature value;
	enum rd_feature *to;

	if (len < 2 || (s[len - 1] != '+' && s[len - 1] != '-'))
		return false;
	value = s[len - 1] == '+' ? RD_FEATURE_ON : RD_FEATURE_OFF;
	if (len == 6 && strncmp(s, "xnack", 5) == 0)
		to = &id->xnack;
	else if (len == 8 && strncmp(s, "sramecc", 7) == 0)
		to = &id->sramecc;
	else
		return false;
	if (*to != RD_FEATURE_ANY)
		return false;
	*to = value;
	return true;
}

static int parse(const char *s, size_t len, struct rd_target_id *ret)
{
	struct rd_target_id id = { .sramecc = RD_FEATURE_ANY };
	const char *end = s + len, *colon = memchr(s, ':', len);
	size_t n = colon ? (size_t)(colon - s) : len;

	if (!is_processor(s, n))
		return -EINVAL;
	memcpy(id.processor, s, n);
	for (s += n; s < end; s += n) {
		s++; /* the colon */
		colon = memchr(s, ':', (size_t)(end - s));
		n = colon ? (size_t)(colon - s) : (size_t)(end - s);
		if (!parse_feature(s, n, &id))
			return -EINVAL;
	}
	*ret = id;
	return 0;
}

int rd_target_parse(const char *text, struct rd_target_id *ret)
{
	return parse(text, strlen(text), ret);
}

static const char *feature_text(enum rd_feature f, const char *on, const char *off)
{
	return f == RD_FEATURE_ON ? on : f == RD_FEATURE_OFF ? off : "";
}

void rd_target_format(const struct rd_target_id *id, char ret[RD_TARGET_TEXT_MAX])
{
	snprintf(ret, RD_TARGET_TEXT_MAX, "%s%s%s", id->processor, feature_text(id->sramecc, ":sramecc+", ":sramecc-"),
	         feature_text(id->xnack, ":xnack+", ":xnack-"));
}

/* gfx900 before gfx1100: by the number of digits first, as people order them. */
int rd_target_compare(const struct rd_target_id *a, const struct rd_target_id *b)
{
	size_t na = strcspn(a->processor, "-"), nb = strcspn(b->processor, "-");
	bool ga = rd_target_is_generic(a) || rd_target_is_spirv(a), gb = rd_target_is_generic(b) || rd_target_is_spirv(b);
	int c;

	if (ga != gb)
		return ga - gb;
	if (na != nb)
		return na < nb ? -1 : 1;
	c = strcmp(a->processor, b->processor);
	if (!c)
		c = (int)a->sramecc - (int)b->sramecc;
	return c ? c : (int)a->xnack - (int)b->xnack;
}

/*
 * Newer LLVM puts the processor into the architecture: amdgpu9.42 is gfx942, amdgpu9.4 and amdgpu11 are families.
 */
static int parse_architecture(const char *arch, size_t len, struct rd_target_id *ret)
{
	char text[RD_PROCESSOR_MAX];
	size_t prefix = strlen("amdgpu"), major, minor;
	const char *dot;

	if (len <= prefix || strncmp(arch, "amdgpu", prefix) != 0 || len - prefix > 8)
		return -EINVAL;
	arch += prefix;
	len -= prefix;
	dot = memchr(arch, '.', len);
	major = dot ? (size_t)(dot - arch) : len;
	minor = dot ? len - major - 1 : 0;
	if (!dot)
		snprintf(text, sizeof(text), "gfx%.*s-generic", (int)major, arch);
	else if (minor == 1)
		snprintf(text, sizeof(text), "gfx%.*s-%.1s-generic", (int)major, arch, dot + 1);
	else if (minor == 2)
		snprintf(text, sizeof(text), "gfx%.*s%.2s", (int)major, arch, dot + 1);
	else
		return -EINVAL;
	return rd_target_parse(text, ret);
}

/* The next part up to a dash; the last one takes all that is left. */
static size_t next_part(const char **s, const char *end, const char **ret)
{
	const char *dash = memchr(*s, '-', (size_t)(end - *s));
	size_t n = dash ? (size_t)(dash - *s) : (size_t)(end - *s);

	*ret = *s;
	*s = dash ? dash + 1 : end;
	return n;
}

static bool part_is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(s, word, n) == 0;
}

static bool is_device_architecture(const char *arch, size_t n)
{
	return part_is(arch, n, "amdgcn") || part_is(arch, n, "spirv64") || (n >= 6 && strncmp(arch, "amdgpu", 6) == 0);
}

enum rd_bundle_entry rd_target_of_entry(const char *id, size_t len, struct rd_target_id *ret)
{
	const char *kind, *arch, *part, *end;
	size_t n_kind, n_arch;

	while (len && id[len - 1] == '\0')
		len--;
	end = id + len;
	n_kind = next_part(&id, end, &kind);
	if (part_is(kind, n_kind, "host"))
		return RD_ENTRY_HOST;
	if (part_is(kind, n_kind, "openmp"))
		return RD_ENTRY_OTHER;
	if (!part_is(kind, n_kind, "hip") && !part_is(kind, n_kind, "hipv4") && !part_is(kind, n_kind, "hcc"))
		return RD_ENTRY_UNKNOWN;
	n_arch = next_part(&id, end, &arch);
	if (!is_device_architecture(arch, n_arch))
		return RD_ENTRY_UNKNOWN;
	next_part(&id, end, &part); /* vendor */
	next_part(&id, end, &part); /* os */
	if ((size_t)(end - id) >= 3 && strncmp(id, "gfx", 3) == 0)
		return parse(id, (size_t)(end - id), ret) == 0 ? RD_ENTRY_LEGACY : RD_ENTRY_UNKNOWN;
	next_part(&id, end, &part); /* environment */
	if (id == end)
		return parse_architecture(arch, n_arch, ret) == 0 ? RD_ENTRY_DEVICE : RD_ENTRY_UNKNOWN;
	return parse(id, (size_t)(end - id), ret) == 0 ? RD_ENTRY_DEVICE : RD_ENTRY_UNKNOWN;
}

int rd_target_of_code_object(unsigned abi_version, uint32_t flags, struct rd_target_id *ret)
{
	static const enum rd_feature states[] = { RD_FEATURE_ANY, RD_FEATURE_ANY, RD_FEATURE_OFF, RD_FEATURE_ON };
	struct rd_target_id id = { .sramecc = RD_FEATURE_ANY };

	/* EI_ABIVERSION 0 is code object version 2, whose flags say nothing of the processor. */
	if (!abi_version)
		return -ENOENT;
	for (size_t i = 0; i < RD_ARRAY_SIZE(machs); i++)
		if (machs[i].mach == (flags & 0xff))
			snprintf(id.processor, sizeof(id.processor), "%s", machs[i].processor);
	if (!*id.processor)
		return -ENOENT;
	if (abi_version == 1) {
		/* Version 3 knows on and off only, for processors that can have the feature at all. */
		if (rd_processor_has_xnack(id.processor))
			id.xnack = flags & 0x100 ? RD_FEATURE_ON : RD_FEATURE_OFF;
		if (rd_processor_has_sramecc(id.processor))
			id.sramecc = flags & 0x200 ? RD_FEATURE_ON : RD_FEATURE_OFF;
	} else {
		id.xnack = states[flags >> 8 & 3];
		id.sramecc = states[flags >> 10 & 3];
	}
	if (rd_target_is_generic(&id))
		id.generic_version = flags >> 24;
	*ret = id;
	return 0;
}

int rd_gfx_from_version(unsigned major, unsigned minor, unsigned stepping, char ret[RD_PROCESSOR_MAX])
{
	if (!major || major > 99 || minor > 15 || stepping > 15)
		return -ERANGE;
	snprintf(ret, RD_PROCESSOR_MAX, "gfx%u%x%x", major, minor, stepping);
	return 0;
}

int rd_gfx_from_override(const char *text, char ret[RD_PROCESSOR_MAX])
{
	unsigned part[3];
	const char *at = text;

	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long n;

		if (*at < '0' || *at > '9')
			return -EINVAL;
		n = strtoul(at, &end, 10);
		if (n > 255 || *end != (i < 2 ? '.' : '\0'))
			return -EINVAL;
		part[i] = (unsigned)n;
		at = end + 1;
	}
	return rd_gfx_from_version(part[0], part[1], part[2], ret) < 0 ? -EINVAL : 0;
}

void rd_agent_init(struct rd_agent *agent, const char *processor)
{
	*agent = (struct rd_agent){ .sramecc = RD_FEATURE_ANY };
	snprintf(agent->processor, sizeof(agent->processor), "%s", processor);
	if (rd_processor_has_xnack(processor))
		agent->xnack = RD_FEATURE_UNKNOWN;
	if (rd_processor_has_sramecc(processor))
		agent->sramecc = RD_FEATURE_UNKNOWN;
}

/* A feature that the code states must be the agent's; one that it does not state runs either way. */
static enum rd_runs feature_runs(enum rd_feature code, enum rd_feature agent)
{
	if (code == RD_FEATURE_ANY || code == agent)
		return RD_RUNS_NATIVE;
	return agent == RD_FEATURE_UNKNOWN ? RD_RUNS_UNKNOWN : RD_RUNS_NO;
}

static enum rd_runs least(enum rd_runs a, enum rd_runs b)
{
	return a < b ? a : b;
}

enum rd_runs rd_target_runs(const struct rd_target_id *code, const struct rd_agent *agent)
{
	const char *family = rd_target_family(agent->processor);
	enum rd_runs features = least(feature_runs(code->xnack, agent->xnack), feature_runs(code->sramecc, agent->sramecc));

	if (rd_target_is_spirv(code))
		return RD_RUNS_SPIRV;
	if (rd_streq(code->processor, agent->processor))
		return features;
	if (family && rd_streq(code->processor, family))
		return least(features, RD_RUNS_GENERIC);
	return RD_RUNS_NO;
}

const char *rd_runs_name(enum rd_runs runs)
{
	static const char *const names[] = {
		[RD_RUNS_NO] = "no",           [RD_RUNS_UNKNOWN] = "unknown", [RD_RUNS_SPIRV] = "spirv",
		[RD_RUNS_GENERIC] = "generic", [RD_RUNS_NATIVE] = "native",
	};

	return names[runs];
}
