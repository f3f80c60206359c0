/*
 * How the times of one of several traces become those of all
 */
#include "core/store/read/trace_clock.h"

int64_t trace_clock_time(const struct trace_clock *clock, int64_t time)
{
	return time + clock->offset + (int64_t)(clock->drift * (double)time);
}

int64_t trace_clock_back(const struct trace_clock *clock, int64_t time)
{
	int64_t moved = time - clock->offset;

	return moved - (int64_t)(clock->drift / (1 + clock->drift) * (double)moved);
}

double trace_clock_fast(const struct trace_clock *clock)
{
	return (1 / (1 + clock->drift) - 1) * 1e6;
}
