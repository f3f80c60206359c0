#pragma once
/*
 * Times of a trace, ns. Any thread.
 */
#include <stdint.h>

/* Limits @ns to 36 years on either side, so that the difference of two cannot overflow. */
static inline int64_t span_limit(int64_t ns)
{
	const int64_t most = (int64_t)1 << 60;

	return ns > most ? most : ns < -most ? -most : ns;
}
