#include <stdint.h>
#include <string.h>

#include "util/utf8.h"

static size_t decode(const char *text, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	if (!s[0])
		return 0;
	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		*ret = s[0] & 0x1f;
		n = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		*ret = s[0] & 0x0f;
		n = 3;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		*ret = s[0] & 0x07;
		n = 4;
	} else {
		return 0;
	}
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && *ret < 0x800) || (n == 4 && (*ret < 0x10000 || *ret > 0x10ffff)) || (*ret >= 0xd800 && *ret <= 0xdfff))
		return 0;
	return n;
}

bool rd_utf8_is_ascii(const char *s, size_t n)
{
	uint64_t word;

	for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			return false;
	}
	for (; n; s++, n--)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

size_t rd_utf8_length(const char *s)
{
	uint32_t c;

	return decode(s, &c);
}

bool rd_utf8_is_c1(const char *s)
{
	return (unsigned char)s[0] == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0;
}

static size_t width(uint32_t c)
{
	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || c == 0xfeff)
		return 0;
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
	    (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || c >= 0x1f300)
		return 2;
	return 1;
}

size_t rd_utf8_fit(const char *s, size_t columns)
{
	size_t used = 0, bytes = 0;

	while (s[bytes]) {
		uint32_t c = '?';
		size_t n = decode(s + bytes, &c);

		used += width(n ? c : '?');
		if (used > columns)
			break;
		bytes += n ? n : 1;
	}
	return bytes;
}

size_t rd_utf8_columns(const char *s)
{
	size_t columns = 0;

	while (*s) {
		uint32_t c = '?';
		size_t n = decode(s, &c);

		columns += width(n ? c : '?');
		s += n ? n : 1;
	}
	return columns;
}
