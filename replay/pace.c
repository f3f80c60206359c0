/*
 * The clock of a replay, and waiting by it
 */
#include "replay/pace.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 200 };

#define SLICE 1000000000ll /* ns of sleep without a word */

static void (*on_wait)(void *);
static void *on_wait_arg;

void pace_on_wait(void (*tell)(void *arg), void *arg)
{
	on_wait = tell;
	on_wait_arg = arg;
}

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
	if (on_wait)
		on_wait(on_wait_arg);
	if (*turns < 2 * SPINS)
		sched_yield();
	else
		usleep(50);
	return true;
}

void pace_sleep_until(int64_t due)
{
	for (int64_t now; (now = pace_now()) < due;) {
		int64_t until = due - now > SLICE ? now + SLICE : due;
		struct timespec at = { until / 1000000000, until % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (on_wait && until != due)
			on_wait(on_wait_arg);
	}
}
