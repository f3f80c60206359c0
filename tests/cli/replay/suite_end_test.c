#include <signal.h>
#include <stdlib.h>

#include "cli/replay/suite_end.h"
#include "tests/test.h"

/* The actions that are due at a past moment. */
static int wait_until_due(struct suite_end *end)
{
	end->hard = 1;
	return suite_end_wait(end);
}

/* A process that waits in the kernel is not ended by SIGKILL; the suite ends without it. */
TEST(what_a_kill_does_not_end_is_given_up)
{
	struct suite_end end;

	suite_end_begin(&end, 1);
	assert_int_equal(suite_end_wait(&end), SIGTERM);
	assert_string_equal(end.why, "--deadline");
	assert_int_equal(wait_until_due(&end), SIGKILL);
	assert_false(end.given_up);
	wait_until_due(&end);
	assert_true(end.given_up);
	suite_end_finish(&end);
}

static int handled;

static void note_signal(int number)
{
	handled = number;
}

static const struct named_signal {
	const char *name;
	int number;
} signals[] = { { "SIGINT", SIGINT }, { "SIGTERM", SIGTERM }, { "SIGHUP", SIGHUP } };

/* The signal is passed on to the replays, and ends the suite when they have ended. */
static void a_signal_is_passed_on(void **state)
{
	const struct named_signal *named = *state;
	struct suite_end end;

	signal(named->number, note_signal);
	handled = 0;
	suite_end_begin(&end, 0);
	raise(named->number);
	assert_int_equal(suite_end_wait(&end), named->number);
	assert_string_equal(end.why, named->name);
	assert_int_equal(handled, 0);
	suite_end_finish(&end);
	assert_int_equal(handled, named->number);
	signal(named->number, SIG_DFL);
}

TEST_ROWS(signals, a_signal_is_passed_on);

TEST(an_ignored_signal_stays_ignored)
{
	struct suite_end end;

	signal(SIGHUP, SIG_IGN);
	suite_end_begin(&end, 0);
	assert_false(sigismember(&end.waited, SIGHUP));
	assert_true(sigismember(&end.waited, SIGINT));
	suite_end_finish(&end);
	signal(SIGHUP, SIG_DFL);
}
