/* The output of a replay on a terminal. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/replay/replay_watch.h"
#include "replay/report/outcome.h"
#include "tests/test.h"

/* Standard error becomes a terminal: returns its other end. */
static int open_terminal(void)
{
	int ours = posix_openpt(O_RDWR | O_NOCTTY), theirs;

	assert_true(ours >= 0);
	assert_int_equal(grantpt(ours), 0);
	assert_int_equal(unlockpt(ours), 0);
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	assert_true(theirs >= 0);
	assert_int_equal(dup2(theirs, STDERR_FILENO), STDERR_FILENO);
	close(theirs);
	return ours;
}

/* Read from it until both have come. */
static void await_texts(int terminal, const char *wanted, const char *also)
{
	char text[4096] = "";
	size_t n = 0;
	ssize_t more;

	while (!strstr(text, wanted) || !strstr(text, also)) {
		more = read(terminal, text + n, sizeof(text) - 1 - n);
		assert_true(more > 0);
		n += (size_t)more;
		text[n] = '\0';
	}
}

TEST(compiling_is_told_apart_from_replaying)
{
	int saved = dup(STDERR_FILENO), terminal = open_terminal();
	struct replay_watch set = { .total = 1000000000 };
	bool late;

	(void)state;
	assert_int_equal(outcome_new(&set.outcome), 0);
	assert_int_equal(replay_watch_start(&set), 0);
	outcome_count(set.outcome, OUTCOME_COMPILED, 5678);
	await_texts(terminal, "replay: compiling 5,678 of ", "1,000,000,000 events");
	outcome_compiled(set.outcome);
	outcome_count(set.outcome, OUTCOME_SEEN, 999999999);
	/* one event of so many takes no longer, however busy the machine is */
	await_texts(terminal, "replay: 999,999,999 of 1,000,000,000 events, ", " ns left");
	assert_int_equal(replay_watch_stop(&late), 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(terminal);
	outcome_free(set.outcome);
}
