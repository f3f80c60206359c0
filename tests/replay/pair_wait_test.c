/* replay/two_host/pair_wait.c: how long one replay waits for the other, by a clock of the test. */
#include <pthread.h>

#include "replay/report/pace.h"
#include "replay/two_host/pair_priv.h"
#include "tests/test.h"

static int64_t now;
static unsigned int waits;
static bool is_stopped;
static struct pair pair;
static struct replay replay;
static struct replay_options options;

int64_t wire_now(void)
{
	return now;
}

/* A turn takes 10 ns. */
bool pace_wait(unsigned int *turns, int64_t deadline)
{
	(void)deadline;
	assert_int_equal((*turns)++, waits);
	waits++;
	now += 10;
	return !is_stopped;
}

static bool is_later(const struct pair *p, uint64_t a, uint64_t b)
{
	(void)p;
	return now >= (int64_t)(a - b);
}

static int begin_wait(void **state)
{
	(void)state;
	now = 1000;
	waits = 0;
	is_stopped = false;
	options = (struct replay_options){ .timeout = 4000 };
	replay = (struct replay){ .options = &options };
	pair = (struct pair){ .r = &replay };
	return pthread_mutex_init(&pair.lock, NULL);
}

static int end_wait(void **state)
{
	(void)state;
	return pthread_mutex_destroy(&pair.lock);
}

FIXTURE(begin_wait, end_wait);

TEST(what_is_so_is_not_waited_for)
{
	(void)state;
	assert_true(pair_await(&pair, is_later, 1100, 100, 50));
	assert_int_equal(waits, 0);
}

TEST(the_condition_gets_both_numbers)
{
	(void)state;
	assert_true(pair_await(&pair, is_later, 1040, 10, 50));
	assert_int_equal(waits, 3);
}

TEST(patience_ends_after_its_time)
{
	(void)state;
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	assert_int_equal(waits, 6);
}

TEST(patience_begins_anew_where_the_other_moves)
{
	(void)state;
	pair.moved = 1040;
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	assert_int_equal(waits, 10);
}

TEST(an_end_of_the_other_or_of_this_ends_the_wait)
{
	(void)state;
	pair.its_end = true;
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	pair.its_end = false;
	pair.err = -1;
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	pair.err = 0;
	pair.bye[0] = 'x';
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	assert_int_equal(waits, 0);
	pair.bye[0] = '\0';
}

TEST(a_replay_that_stops_waits_no_longer)
{
	(void)state;
	is_stopped = true;
	assert_false(pair_await(&pair, is_later, 2000, 0, 50));
	assert_int_equal(waits, 1);
}

TEST(what_is_certain_is_awaited_longer_than_what_is_likely)
{
	(void)state;
	assert_int_equal(pair_wait_limit(&pair), 2 * 4000 + 1000000000ll);
	assert_int_equal(pair_check_interval(&pair), 1000);
}

TEST(the_other_moves_until_its_time_out)
{
	(void)state;
	pair.moved = 1000;
	now = 4999;
	assert_true(pair_has_progress(&pair));
	now = 5000;
	assert_false(pair_has_progress(&pair));
	now = 4999;
	pair.its_end = true;
	assert_false(pair_has_progress(&pair));
}
