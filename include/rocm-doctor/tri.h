/* Three-valued (Kleene) truth: what could not be read is neither true nor false. */
#pragma once

enum rd_tri {
	RD_FALSE = -1,
	RD_UNKNOWN = 0,
	RD_TRUE = 1,
};

static inline enum rd_tri rd_tri_and(enum rd_tri a, enum rd_tri b)
{
	return a < b ? a : b;
}

static inline enum rd_tri rd_tri_or(enum rd_tri a, enum rd_tri b)
{
	return a > b ? a : b;
}

static inline enum rd_tri rd_tri_not(enum rd_tri a)
{
	return (enum rd_tri)(-(int)a);
}
