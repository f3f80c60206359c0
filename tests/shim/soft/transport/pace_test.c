/* shim/soft/transport/pace.c: when a queue whose rate is limited may send again. */
#include "shim/soft/transport/pace.h"

#include "tests/test.h"

/* kbit/s: a byte takes 125 us */
enum { RATE = 64, BYTE_NS = 125000, LONG = 8000000, BURST = 64 };

TEST(a_queue_waits_until_only_a_burst_is_left)
{
	struct soft_sq sq = { 0 };

	(void)state;
	pace_set(&sq, RATE, BURST);
	assert_false(pace_holds(&sq));
	assert_int_not_equal(sq.wait, WAIT_HELD);
	pace_note_sent(&sq, LONG); /* 1000 s */
	assert_true(pace_holds(&sq));
	assert_int_equal(sq.wait, WAIT_HELD);
	assert_int_equal(sq.wait_until, sq.paced - (uint64_t)BURST * BYTE_NS);
}

TEST(messages_follow_each_other)
{
	struct soft_sq sq = { 0 };
	uint64_t first;

	(void)state;
	pace_set(&sq, RATE, BURST);
	pace_note_sent(&sq, LONG);
	first = sq.paced;
	pace_note_sent(&sq, 8);
	assert_int_equal(sq.paced - first, 8 * BYTE_NS);
}

TEST(what_is_within_a_burst_does_not_wait)
{
	struct soft_sq sq = { 0 };

	(void)state;
	pace_set(&sq, RATE, 2 * LONG);
	pace_note_sent(&sq, LONG);
	assert_false(pace_holds(&sq));
}

TEST(another_rate_counts_at_once)
{
	struct soft_sq sq = { 0 };

	(void)state;
	pace_set(&sq, RATE, BURST);
	pace_note_sent(&sq, LONG);
	assert_true(pace_holds(&sq));
	pace_set(&sq, 2 * RATE, BURST);
	assert_int_equal(sq.wait_until, 0);
	assert_false(pace_holds(&sq));
	pace_note_sent(&sq, LONG);
	assert_true(pace_holds(&sq));
	assert_int_equal(sq.wait_until, sq.paced - (uint64_t)BURST * BYTE_NS / 2);
}
