#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "util/version.h"

/* Text that is never copied: a piece of a version. */
struct piece {
	const char *s;
	size_t n;
};

static int sign(long long value)
{
	return (value > 0) - (value < 0);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct piece take_digits(const char **s)
{
	struct piece p = { *s, strspn(*s, "0123456789") };

	*s += p.n;
	while (p.n && *p.s == '0') {
		p.s++;
		p.n--;
	}
	return p;
}

/* Numbers of any length; no digits at all are zero. */
static int compare_digits(struct piece a, struct piece b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return sign(memcmp(a.s, b.s, a.n));
}

/* "6.4.1" against "6.4", number by number, a missing one being zero; both end up behind the last number. */
static int compare_release(const char **a, const char **b)
{
	bool more_a = is_digit(**a), more_b = is_digit(**b);
	int r = 0;

	while (more_a || more_b) {
		struct piece x = { "", 0 }, y = { "", 0 };

		if (more_a)
			x = take_digits(a);
		if (more_b)
			y = take_digits(b);
		if (r == 0)
			r = compare_digits(x, y);
		more_a = more_a && **a == '.' && is_digit((*a)[1]);
		more_b = more_b && **b == '.' && is_digit((*b)[1]);
		*a += more_a;
		*b += more_b;
	}
	return r;
}

/* Digits as numbers, the rest as bytes. */
static int compare_natural(const char *a, const char *b)
{
	while (*a || *b) {
		int r;

		if (is_digit(*a) && is_digit(*b)) {
			r = compare_digits(take_digits(&a), take_digits(&b));
		} else {
			r = (unsigned char)*a - (unsigned char)*b;
			a += *a != '\0';
			b += *b != '\0';
		}
		if (r)
			return sign(r);
	}
	return 0;
}

static int compare_dotted(const char *a, const char *b)
{
	int r = compare_release(&a, &b);

	return r ? r : compare_natural(a, b);
}

/* ---- ROCm ---- */

static const char *skip_rocm(const char *s)
{
	if (strncasecmp(s, "rocm", 4) == 0)
		s += 4;
	s += *s == '-' || *s == 'v';
	return s;
}

/* "~rc1", "a20260430" and "rc1" come before the release, "-83" and "+git" after it. */
static int rocm_stage(const char *suffix)
{
	if (!*suffix)
		return 0;
	if (*suffix == '~' || is_alpha(*suffix) || strncmp(suffix, "-rc", 3) == 0)
		return -1;
	return 1;
}

static int compare_rocm(const char *a, const char *b)
{
	int r;

	a = skip_rocm(a);
	b = skip_rocm(b);
	/* The previews 7.9 to 7.13 stand where their numbers stand: behind 7.2, before 7.14. */
	r = compare_release(&a, &b);
	if (r == 0)
		r = sign(rocm_stage(a) - rocm_stage(b));
	return r ? r : compare_natural(a, b);
}

/* ---- kernel ---- */

/* The number of a release candidate, "-rc3" or as Fedora writes it "-0.rc3"; NULL for a release. */
static const char *candidate(const char *suffix)
{
	if (strncmp(suffix, "-rc", 3) == 0)
		return suffix + 3;
	if (strncmp(suffix, "-0.rc", 5) == 0)
		return suffix + 5;
	return NULL;
}

static int compare_kernel(const char *a, const char *b)
{
	const char *rc_a, *rc_b;
	int r = compare_release(&a, &b);

	if (r)
		return r;
	rc_a = candidate(a);
	rc_b = candidate(b);
	if (!rc_a != !rc_b)
		return rc_a ? -1 : 1;
	if (rc_a)
		return compare_release(&rc_a, &rc_b);
	/* "-45-generic": the flavour is no part of the version. */
	a += *a == '-' && is_digit(a[1]);
	b += *b == '-' && is_digit(b[1]);
	if (is_digit(*a) != is_digit(*b))
		return is_digit(*a) ? 1 : -1;
	return compare_release(&a, &b);
}

/* ---- dpkg: deb-version(7) ---- */

static int dpkg_order(const struct piece *p, size_t i)
{
	char c = i < p->n ? p->s[i] : '\0';

	if (is_digit(c) || !c)
		return 0;
	if (is_alpha(c))
		return c;
	return c == '~' ? -1 : (unsigned char)c + 256;
}

static struct piece piece_digits(const struct piece *p, size_t *i)
{
	struct piece digits;

	while (*i < p->n && p->s[*i] == '0')
		++*i;
	digits = (struct piece){ p->s + *i, 0 };
	while (*i < p->n && is_digit(p->s[*i])) {
		digits.n++;
		++*i;
	}
	return digits;
}

static int dpkg_part(struct piece a, struct piece b)
{
	size_t i = 0, j = 0;

	while (i < a.n || j < b.n) {
		int r;

		while ((i < a.n && !is_digit(a.s[i])) || (j < b.n && !is_digit(b.s[j]))) {
			r = dpkg_order(&a, i) - dpkg_order(&b, j);
			if (r)
				return sign(r);
			i++;
			j++;
		}
		r = compare_digits(piece_digits(&a, &i), piece_digits(&b, &j));
		if (r)
			return r;
	}
	return 0;
}

struct evr {
	struct piece epoch, version, release;
};

/* "EPOCH:VERSION-RELEASE", of which only the version has to be there. */
static struct evr split_evr(const char *s)
{
	const char *colon = strchr(s, ':'), *dash;
	struct evr evr = { .epoch = { "", 0 }, .release = { "", 0 } };

	if (colon && strspn(s, "0123456789") == (size_t)(colon - s)) {
		evr.epoch = take_digits(&s);
		s = colon + 1;
	}
	dash = strrchr(s, '-');
	evr.version = (struct piece){ s, dash ? (size_t)(dash - s) : strlen(s) };
	if (dash)
		evr.release = (struct piece){ dash + 1, strlen(dash + 1) };
	return evr;
}

static int compare_dpkg(const char *a, const char *b)
{
	struct evr x = split_evr(a), y = split_evr(b);
	int r = compare_digits(x.epoch, y.epoch);

	if (r == 0)
		r = dpkg_part(x.version, y.version);
	return r ? r : dpkg_part(x.release, y.release);
}

/* ---- rpm: rpmvercmp ---- */

static char at(const struct piece *p, size_t i)
{
	return i < p->n ? p->s[i] : '\0';
}

static size_t skip_separators(const struct piece *p, size_t i)
{
	while (i < p->n && !is_digit(p->s[i]) && !is_alpha(p->s[i]) && p->s[i] != '~' && p->s[i] != '^')
		i++;
	return i;
}

/* "~" sorts before everything, the end included; "^" after the end and before everything else. 2: neither stands here. */
static int rpm_mark(char a, char b)
{
	if (a == '~' || b == '~')
		return (b == '~') - (a == '~');
	if (a != '^' && b != '^')
		return 2;
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? 1 : -1;
	return a == '^' ? -1 : 1;
}

/* One segment, all digits or all letters, from where both stand. */
static int rpm_segment(const struct piece *a, const struct piece *b, size_t *i, size_t *j)
{
	bool number = is_digit(at(a, *i));
	size_t begin_a = *i, begin_b = *j, n, m;
	int r;

	if (number) {
		/* Letters are older than digits. */
		return is_digit(at(b, *j)) ? compare_digits(piece_digits(a, i), piece_digits(b, j)) : 1;
	}
	while (is_alpha(at(a, *i)))
		++*i;
	while (is_alpha(at(b, *j)))
		++*j;
	n = *i - begin_a;
	m = *j - begin_b;
	if (!m)
		return -1;
	r = memcmp(a->s + begin_a, b->s + begin_b, n < m ? n : m);
	return r ? sign(r) : sign((long long)n - (long long)m);
}

static int rpm_part(struct piece a, struct piece b)
{
	size_t i = 0, j = 0;
	int r;

	for (;;) {
		i = skip_separators(&a, i);
		j = skip_separators(&b, j);
		r = rpm_mark(at(&a, i), at(&b, j));
		if (r == 0) {
			i++;
			j++;
			continue;
		}
		if (r != 2)
			return r;
		if (i >= a.n || j >= b.n)
			return (i < a.n) - (j < b.n);
		r = rpm_segment(&a, &b, &i, &j);
		if (r)
			return r;
	}
}

/* As rpm compares a dependency: a release counts where both have one. */
static int compare_rpm(const char *a, const char *b)
{
	struct evr x = split_evr(a), y = split_evr(b);
	int r = compare_digits(x.epoch, y.epoch);

	if (r == 0)
		r = rpm_part(x.version, y.version);
	if (r == 0 && x.release.n && y.release.n)
		r = rpm_part(x.release, y.release);
	return r;
}

/* ---- PEP 440 ---- */

enum { PRE_DEV_ONLY, PRE_A, PRE_B, PRE_RC, PRE_NONE };

struct pep440 {
	struct piece epoch;
	const char *release; /* compared in place */
	int pre;
	struct piece pre_number;
	bool has_post, has_dev;
	struct piece post, dev;
	const char *local; /* NULL: none */
	const char *rest;  /* what is no PEP 440 */
};

/* A word ends where no letter follows, or the next word of a version: "1.0bdev", "1.0ar3", not "1.0-build". */
static bool is_word_end(const char *s)
{
	static const char *const next[] = { "post", "rev", "dev" };

	if (!is_alpha(*s) || (*s == 'r' && is_digit(s[1])))
		return true;
	for (size_t i = 0; i < RD_ARRAY_SIZE(next); i++)
		if (strncasecmp(s, next[i], strlen(next[i])) == 0)
			return true;
	return false;
}

/* Takes one of the words, with the separators that may stand around it; returns its index or -1. */
static int take_word(const char **s, const char *const words[], size_t n)
{
	const char *p = *s + (**s == '.' || **s == '-' || **s == '_');

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(words[i]);

		if (strncasecmp(p, words[i], len) != 0 || !is_word_end(p + len))
			continue;
		p += len;
		if ((*p == '.' || *p == '-' || *p == '_') && is_digit(p[1]))
			p++;
		*s = p;
		return (int)i;
	}
	return -1;
}

static void take_pre(const char **s, struct pep440 *v)
{
	static const char *const words[] = { "alpha", "a", "beta", "b", "rc", "c", "preview", "pre" };
	static const int stages[] = { PRE_A, PRE_A, PRE_B, PRE_B, PRE_RC, PRE_RC, PRE_RC, PRE_RC };
	int word = take_word(s, words, RD_ARRAY_SIZE(words));

	v->pre = word < 0 ? PRE_NONE : stages[word];
	if (word >= 0)
		v->pre_number = take_digits(s);
}

static void take_post(const char **s, struct pep440 *v)
{
	static const char *const words[] = { "post", "rev", "r" };

	/* "1.0-1" is an old spelling of "1.0.post1". */
	if (**s == '-' && is_digit((*s)[1]))
		++*s;
	else if (take_word(s, words, RD_ARRAY_SIZE(words)) < 0)
		return;
	v->has_post = true;
	v->post = take_digits(s);
}

static struct pep440 parse_pep440(const char *s)
{
	static const char *const dev[] = { "dev" };
	static const struct piece none = { "", 0 };
	struct pep440 v = { .epoch = none, .pre_number = none, .post = none, .dev = none };
	size_t n;

	s += *s == 'v' || *s == 'V';
	n = strspn(s, "0123456789");
	if (n && s[n] == '!') {
		v.epoch = take_digits(&s);
		s++;
	}
	v.release = s;
	while (is_digit(*s) || (*s == '.' && is_digit(s[1])))
		s++;
	take_pre(&s, &v);
	take_post(&s, &v);
	if (take_word(&s, dev, 1) == 0) {
		v.has_dev = true;
		v.dev = take_digits(&s);
	}
	if (v.pre == PRE_NONE && !v.has_post && v.has_dev)
		v.pre = PRE_DEV_ONLY;
	if (*s == '+')
		v.local = s + 1;
	v.rest = v.local ? "" : s;
	return v;
}

static size_t local_part(const char *s)
{
	return strcspn(s, ".-_");
}

/* Part by part: a number is more than text, and more parts are more. */
static int compare_local(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	for (;;) {
		size_t n = local_part(a), m = local_part(b);
		bool number_a = n && strspn(a, "0123456789") == n, number_b = m && strspn(b, "0123456789") == m;
		const char *x = a, *y = b;
		int r;

		if (!n || !m)
			return (n > 0) - (m > 0);
		if (number_a != number_b)
			return number_a ? 1 : -1;
		if (number_a)
			r = compare_digits(take_digits(&x), take_digits(&y));
		else
			r = sign(strncasecmp(a, b, n < m ? n : m));
		if (!number_a && r == 0)
			r = sign((long long)n - (long long)m);
		if (r)
			return r;
		a += n + (a[n] != '\0');
		b += m + (b[m] != '\0');
	}
}

static int compare_pep440(const char *a, const char *b)
{
	struct pep440 x = parse_pep440(a), y = parse_pep440(b);
	const char *release_a = x.release, *release_b = y.release;
	int r = compare_digits(x.epoch, y.epoch);

	if (r == 0)
		r = compare_release(&release_a, &release_b);
	if (r == 0)
		r = sign(x.pre - y.pre);
	if (r == 0)
		r = compare_digits(x.pre_number, y.pre_number);
	if (r == 0)
		r = x.has_post - y.has_post;
	if (r == 0)
		r = compare_digits(x.post, y.post);
	if (r == 0)
		r = y.has_dev - x.has_dev;
	if (r == 0)
		r = compare_digits(x.dev, y.dev);
	if (r == 0)
		r = compare_natural(x.rest, y.rest);
	return r ? r : compare_local(x.local, y.local);
}

int rd_version_compare(const char *a, const char *b, enum rd_version_scheme scheme)
{
	static int (*const compare[])(const char *a, const char *b) = {
		[RD_VERSION_NONE] = compare_dotted,   [RD_VERSION_ROCM] = compare_rocm, [RD_VERSION_KERNEL] = compare_kernel,
		[RD_VERSION_DPKG] = compare_dpkg,     [RD_VERSION_RPM] = compare_rpm,   [RD_VERSION_PEP440] = compare_pep440,
		[RD_VERSION_DOTTED] = compare_dotted,
	};

	return compare[scheme](a, b);
}

bool rd_version_has_prefix(const char *a, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(a, prefix, n) != 0)
		return false;
	return !n || !is_digit(prefix[n - 1]) || !is_digit(a[n]);
}
