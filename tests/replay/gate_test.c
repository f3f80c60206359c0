/*
 * Threads that count: each its own number while inside, all numbers while alone.
 */
#include <pthread.h>

#include "replay/state/gate.h"
#include "tests/test.h"

enum { THREADS = 4, TURNS = 20000 };

static struct gate gate = GATE_OPEN;
static uint64_t own[THREADS], alone; /* no atomics: the gate orders them */
static bool differs;

static void count_inside(unsigned int i)
{
	while (!gate_enter(&gate))
		;
	own[i]++;
	gate_leave(&gate);
}

/* No count changes while one thread is alone. */
static void count_alone(void)
{
	uint64_t before = 0, after = 0;

	gate_close(&gate);
	for (int i = 0; i < THREADS; i++)
		before += own[i];
	alone++;
	for (int i = 0; i < THREADS; i++)
		after += own[i];
	differs |= before != after;
	gate_open(&gate);
}

static void *count_turns(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	for (unsigned int turn = 0; turn < TURNS; turn++)
		if (turn % 16 == i)
			count_alone();
		else
			count_inside(i);
	return NULL;
}

TEST(one_has_all_while_none_is_inside)
{
	pthread_t threads[THREADS];
	uint64_t inside = 0;

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_turns, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		inside += own[i];
	assert_false(differs);
	assert_int_equal(alone, THREADS * TURNS / 16);
	assert_int_equal(inside, THREADS * (TURNS - TURNS / 16));
}

TEST(nobody_comes_inside_a_closed_gate)
{
	gate_close(&gate);
	assert_true(gate_is_closed(&gate));
	assert_false(gate_enter(&gate));
	assert_false(gate_open(&gate));
	assert_true(gate_enter(&gate));
	gate_leave(&gate);
}
