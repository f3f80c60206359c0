/*
 * The clock of a replay, and waiting
 */
#include "replay/report/pace.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 200, SHARED_SPINS = 50, LOOK_AFTER = 8 };

#define SLEEP_MOST_NS 200000000ll /* longest sleep, in ns, without a check of ended processes */

static void (*on_wait)(void *);
static void *on_wait_arg;
static const struct pace_sharing *shared;
static _Thread_local int64_t behind_since; /* 0: not behind */
static _Thread_local int64_t was_behind;   /* total time that the thread was behind, ns */
static struct {
	/* begin and duration of the last wait; 0: there was no sleep, or it failed */
	int64_t begin, lasted;
	int64_t longest; /* longest wait before the last one */
} waits;                 /* used only if one thread replays */
static bool ended;
static bool (*other_moves)(void *);
static void *other_moves_arg;

void pace_on_wait(void (*tell)(void *arg), void *arg)
{
	on_wait = tell;
	on_wait_arg = arg;
}

void pace_set_other(bool (*moves)(void *arg), void *arg)
{
	other_moves = moves;
	other_moves_arg = arg;
}

void pace_share(const struct pace_sharing *sharing)
{
	shared = sharing;
}

void pace_end(void)
{
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
}

bool pace_has_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_RELAXED);
}

static int64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pace_now(void)
{
	return (behind_since ? behind_since : read_clock()) - was_behind;
}

static bool is_deadline_over(int64_t deadline)
{
	return pace_now() > deadline && !(other_moves && other_moves(other_moves_arg));
}

static void yield_turn(unsigned int turns, bool wanted, unsigned int spins)
{
	if (turns >= 2 * spins)
		usleep(50);
	else if (wanted || turns >= spins)
		sched_yield();
}

/* Stop the clock of this thread while it is behind. Returns whether it is. */
static bool note_if_behind(void)
{
	bool behind = shared->is_behind(shared->arg);

	if (behind && !behind_since)
		behind_since = read_clock();
	if (!behind && behind_since) {
		was_behind += read_clock() - behind_since;
		behind_since = 0;
	}
	return behind;
}

bool pace_is_behind(void)
{
	return shared && note_if_behind();
}

static bool wait_outside_gate(unsigned int turns, int64_t deadline)
{
	bool wanted = shared->leave(shared->arg);

	if (note_if_behind())
		shared->await_others(shared->arg);
	else
		yield_turn(turns, wanted, SHARED_SPINS);
	shared->enter(shared->arg);
	if (pace_has_ended())
		return false;
	if (on_wait && turns >= 2 * SHARED_SPINS)
		on_wait(on_wait_arg);
	return turns < LOOK_AFTER || note_if_behind() || !is_deadline_over(deadline);
}

/* Measure how long a wait sleeps. @turn: iteration of the wait loop, 1 or at least SPINS. */
static void note_wait(unsigned int turn)
{
	if (turn == 1) {
		waits.longest = pace_longest_wait();
		waits.begin = waits.lasted = 0;
	} else if (!waits.begin) {
		waits.begin = read_clock();
	} else {
		waits.lasted = read_clock() - waits.begin;
	}
}

int64_t pace_longest_wait(void)
{
	return waits.lasted > waits.longest ? waits.lasted : waits.longest;
}

bool pace_wait(unsigned int *turns, int64_t deadline)
{
	++*turns;
	if (shared)
		return wait_outside_gate(*turns, deadline);
	if (*turns == 1 || *turns >= SPINS)
		note_wait(*turns);
	if (*turns < SPINS)
		return true;
	if (pace_has_ended() || is_deadline_over(deadline)) {
		waits.lasted = 0;
		return false;
	}
	if (on_wait)
		on_wait(on_wait_arg);
	yield_turn(*turns, false, SPINS);
	return true;
}

/* Call the hook of pace_on_wait(), under the lock if threads share the replay. */
static void report_sleep(void)
{
	if (shared)
		shared->enter(shared->arg);
	if (on_wait)
		on_wait(on_wait_arg);
	if (shared)
		shared->leave(shared->arg);
}

void pace_sleep_until(int64_t due)
{
	for (int64_t now; (now = read_clock()) < due && !pace_has_ended();) {
		int64_t until = due - now > SLEEP_MOST_NS ? now + SLEEP_MOST_NS : due;
		struct timespec at = { until / 1000000000, until % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (until != due)
			report_sleep();
		if (shared)
			shared->note_sleep(shared->arg);
	}
}
