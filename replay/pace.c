/*
 * The clock of a replay, and waiting by it
 */
#include "replay/pace.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 200 };

int64_t pace_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool pace_wait(unsigned int *turns, int64_t deadline)
{
	if (++*turns < SPINS)
		return true;
	if (pace_now() > deadline)
		return false;
	if (*turns < 2 * SPINS)
		sched_yield();
	else
		usleep(50);
	return true;
}

void pace_sleep_until(int64_t due)
{
	struct timespec at = { due / 1000000000, due % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}
