#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/import/confined.h"
#include "core/wire/log.h"
#include "tests/test.h"

static const struct confined_limits limits = { 1 << 30, 1 };

static int run_apart(int (*work)(void *arg), void *arg, int *ret_signal)
{
	return confined_run(work, arg, &limits, ret_signal);
}

static int add_one(void *arg)
{
	return ++*(int *)arg;
}

TEST(status_comes_back_and_memory_does_not)
{
	int own = 41, *shared = confined_share(sizeof(*shared)), signal;

	assert_int_equal(run_apart(add_one, &own, &signal), 42);
	assert_int_equal(signal, 0);
	assert_int_equal(own, 41);
	assert_int_equal(run_apart(add_one, shared, &signal), 1);
	assert_int_equal(*shared, 1);
}

static int abort_with_words(void *arg)
{
	fprintf(stderr, "(%s): assertion failed\nAborting...\n", (char *)arg);
	log_note("about to abort");
	abort();
}

/* Runs @work and returns its output on stderr. */
static int listen_to(int (*work)(void *arg), void *arg, char said[256], int *ret_signal)
{
	int before = dup(STDERR_FILENO), ends[2], status;
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	status = run_apart(work, arg, ret_signal);
	dup2(before, STDERR_FILENO);
	close(before);
	n = read(ends[0], said, 255);
	close(ends[0]);
	said[n > 0 ? n : 0] = '\0';
	return status;
}

TEST(only_our_lines_of_one_that_aborts_are_printed)
{
	char said[256];
	int signal;

	assert_int_equal(listen_to(abort_with_words, "x", said, &signal), -ECHILD);
	assert_int_equal(signal, SIGABRT);
	assert_string_equal(said, "verbatim: about to abort\n");
}

static int spin_forever(void *arg)
{
	volatile bool *for_ever = arg;

	while (*for_ever)
		;
	return 0;
}

TEST(one_that_does_not_go_on_is_ended)
{
#ifdef __SANITIZE_THREAD__
	print_message("ThreadSanitizer puts a signal off until the next call of libc\n");
	skip();
#endif
	bool for_ever = true;
	int signal;

	assert_int_equal(run_apart(spin_forever, &for_ever, &signal), -ECHILD);
	assert_int_equal(signal, SIGXCPU);
}

static int spin_and_go_on(void *arg)
{
	const clock_t end = clock() + 5 * CLOCKS_PER_SEC / 2;

	(void)arg;
	while (clock() < end)
		confined_note_progress();
	return 7;
}

TEST(one_that_goes_on_may_take_its_time)
{
	int signal;

	assert_int_equal(run_apart(spin_and_go_on, NULL, &signal), 7);
}

static int take_memory(void *arg)
{
	(void)arg;
	return malloc(3u << 30) ? 1 : 0;
}

TEST(memory_has_an_end)
{
	int signal;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	assert_int_equal(run_apart(take_memory, NULL, &signal), 0);
}
