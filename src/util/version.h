/*
 * Version numbers as the packages that carry them compare them, never as decimals (6.10 > 6.9).
 */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/facts.h"
#include "rocm-doctor/macros.h"

/*
 * rd_version_compare - <0, 0, >0 as strcmp
 * @scheme: whose rules. ROCM: 7.9 to 7.13 were previews of the line that begins with 7.14 and goes on with 10.0, and sort
 *   between 7.2.x and 7.14; suffixes after "-", "+" or "~" do not count unless all else is equal. KERNEL: leading numbers, then
 *   "-rc" before the release, then the ABI number. DPKG: deb-version(7), epoch and revision. RPM: rpmvercmp with epoch.
 *   PEP440: epoch, release with trailing zeros dropped, pre, post, dev, local. DOTTED: number by number.
 *
 * Two empty strings are equal; callers treat "" as unknown.
 */
int rd_version_compare(const char *a, const char *b, enum rd_version_scheme scheme);

/*
 * rd_version_in_range - true where @a begins with the parts of @prefix: "6.4.1" is in "6.4", "6.40" is not
 */
bool rd_version_has_prefix(const char *a, const char *prefix);
