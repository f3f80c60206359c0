/* shim/soft/network/poll_backoff.c: when the thread of the wire watches the sockets itself. */
#include "tests/test.h"

#include "shim/soft/network/poll_backoff.h"

enum { US = 1000 };

GROUP(NULL, NULL);

/* The program polls @polls times until the next look. Returns the time to the look after it. */
static uint64_t poll_until_look(struct poll_backoff *look, uint32_t polls)
{
	poll_backoff_update(look, look->polls + polls);
	return look->ns;
}

TEST(the_thread_watches_until_the_program_polls)
{
	struct poll_backoff look = { 0 };

	(void)state;
	assert_int_equal(poll_until_look(&look, 0), 0);
	assert_int_equal(poll_until_look(&look, 99), 0);
	assert_int_equal(poll_until_look(&look, 99), 0);
	assert_int_equal(poll_until_look(&look, 100), 50 * US);
}

TEST(the_longer_the_program_polls_the_longer_it_is_left_alone)
{
	struct poll_backoff look = { 0 };

	(void)state;
	assert_int_equal(poll_until_look(&look, 1000), 50 * US);
	assert_int_equal(poll_until_look(&look, 5), 100 * US);
	assert_int_equal(poll_until_look(&look, 10), 200 * US);
	assert_int_equal(poll_until_look(&look, 20), 200 * US);
	assert_int_equal(poll_until_look(&look, 1000), 200 * US);
}

TEST(a_pause_is_noticed_at_the_next_look)
{
	struct poll_backoff look = { 0 };

	(void)state;
	poll_until_look(&look, 100);
	assert_int_equal(poll_until_look(&look, 4), 0);
	assert_int_equal(poll_until_look(&look, 5), 0);
	poll_until_look(&look, 100);
	poll_until_look(&look, 5);
	assert_int_equal(poll_until_look(&look, 9), 0);
}

TEST(the_number_of_polls_wraps)
{
	struct poll_backoff look = { .polls = UINT32_MAX - 10 };

	(void)state;
	assert_int_equal(poll_until_look(&look, 100), 50 * US);
	assert_int_equal(look.polls, 89);
}
