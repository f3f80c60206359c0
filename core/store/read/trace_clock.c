/*
 * Converting the times of one of several traces to those of the joint trace
 */
#include "core/store/read/trace_clock.h"

#include "core/store/db/sql.h"

#define DRIFT_MAX 0.01

/* Maximum distance of a time from 0: span_limit(). */
static const int64_t time_most = (int64_t)1 << 60;

int64_t trace_clock_round(long double ns)
{
	if (!(ns > -(long double)time_most))
		return -time_most;
	return ns < (double)time_most ? (int64_t)ns : time_most;
}

bool trace_clock_drifts(double drift)
{
	return drift >= -DRIFT_MAX && drift <= DRIFT_MAX;
}

void trace_clock_bound(struct trace_clock *clock)
{
	clock->offset = span_limit(clock->offset);
	if (!trace_clock_drifts(clock->drift))
		clock->drift = 0;
	if (clock->error > time_most)
		clock->error = INT64_MAX;
}

int64_t trace_clock_time(const struct trace_clock *clock, int64_t time)
{
	time = span_limit(time);
	return span_limit(time + clock->offset + (int64_t)(clock->drift * (double)time));
}

int64_t trace_clock_to_own_time(const struct trace_clock *clock, int64_t time)
{
	int64_t moved = span_limit(time) - clock->offset;

	return moved - (int64_t)(clock->drift / (1 + clock->drift) * (double)moved);
}

double trace_clock_ppm(const struct trace_clock *clock)
{
	return (1 / (1 + clock->drift) - 1) * 1e6;
}
