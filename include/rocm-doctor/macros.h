/* Attributes that several headers use. */
#pragma once

#define RD_PRINTF(text, args) __attribute__((format(printf, text, args)))
#define RD_MUST_CHECK __attribute__((warn_unused_result))
#define RD_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
