#pragma once
/*
 * Durations in ns: limits, and as text. Any thread.
 */
#include <stdint.h>

enum { SPAN_TEXT = 32 };

/* Write @ns with three digits: 890 ns, 12.3 us, 4.56 ms, 3.40 s; "-" for a negative time. */
const char *span_text(int64_t ns, char text[SPAN_TEXT]);

/*
 * Write @value with three digits and a unit: each of @units is @apart times as large as the
 * previous one.
 */
const char *span_scaled(double value, double apart, const char *const *units, unsigned int nunits,
			char text[SPAN_TEXT]);

/*
 * Limits @ns to 36 years in either direction, so that the difference of two times cannot overflow.
 */
static inline int64_t span_limit(int64_t ns)
{
	const int64_t most = (int64_t)1 << 60;

	return ns > most ? most : ns < -most ? -most : ns;
}
