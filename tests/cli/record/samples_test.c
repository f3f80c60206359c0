/*
 * cli/record/samples.c: what the recorder sees of each thread
 *
 * The clock and the trace are the test's.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/record/samples.h"
#include "tests/test.h"

static struct ring_head head;
static struct feed feed;
static struct samples samples;
static uint64_t now_ns;
static char rows[256]; /* "doing state time, ..." in units of samples */

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000),
				       .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

int writer_store_sample(struct writer *writer, const struct stored_sample *sample)
{
	size_t used = strlen(rows);

	(void)writer;
	assert_int_equal(sample->thread, 3);
	snprintf(rows + used, sizeof(rows) - used, "%s%s %s %d", used ? ", " : "", sample->doing,
		 sample->state ? sample->state : "-", (int)(sample->time / SAMPLES_NS));
	return 0;
}

static void begin_samples(pid_t pid)
{
	samples_fini(&samples);
	head = (struct ring_head){ .owner = (uint32_t)pid };
	feed = (struct feed){ .ring = { .head = &head }, .thread = 3, .pid = pid };
	now_ns = 0;
	rows[0] = '\0';
}

static void take_sample(void)
{
	now_ns += SAMPLES_NS;
	assert_int_equal(samples_sample_all(&samples, &feed, 1, NULL, (int64_t)now_ns), 0);
}

/* A child that has stopped. */
static pid_t make_stopped(void)
{
	pid_t pid = fork();

	if (!pid) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void end_stopped(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_row_needs_two_samples_that_are_alike)
{
	begin_samples(getpid());
	take_sample(); /* the counters at first */
	head.tail += 8;
	take_sample();
	head.polls[40].empty++;
	take_sample();
	assert_string_equal(rows, "");
	head.polls[40].empty++;
	take_sample();
	head.polls[40].empty++;
	take_sample();
	assert_string_equal(rows, "polls - 3");
}

TEST(between_two_samples_nothing_is_done)
{
	begin_samples(getpid());
	for (int i = 0; i < 3; i++)
		take_sample();
	rows[0] = '\0';
	head.tail += 8;
	assert_int_equal(samples_sample_all(&samples, &feed, 1, NULL, (int64_t)now_ns), 0);
	assert_string_equal(rows, "");
}

TEST(a_stopped_thread_is_seen_stopped)
{
	pid_t pid = make_stopped();

	begin_samples(pid);
	head.polls[0].empty = 7;
	take_sample();
	for (int i = 0; i < 20; i++)
		take_sample();
	assert_string_equal(rows, "nothing T 2");
	end_stopped(pid);
}

TEST(one_that_goes_on_is_seen_at_once)
{
	pid_t pid = make_stopped();

	begin_samples(pid);
	for (int i = 0; i < 4; i++)
		take_sample();
	head.tail += 8;
	take_sample();
	assert_string_equal(rows, "nothing T 1, verbs - 5");
	end_stopped(pid);
}

TEST(what_it_did_last_is_seen_when_it_ends)
{
	pid_t pid = make_stopped();

	begin_samples(pid);
	for (int i = 0; i < 4; i++)
		take_sample();
	head.polls[0].empty++;
	now_ns += SAMPLES_NS;
	assert_int_equal(samples_end(&samples, &feed, NULL, (int64_t)now_ns), 0);
	assert_string_equal(rows, "nothing T 1, polls - 5");
	end_stopped(pid);
}

/* The PID of the thread may be that of another process here. */
TEST(a_thread_of_another_namespace_is_not_looked_at)
{
	begin_samples(getpid());
	feed.foreign = true;
	for (int i = 0; i < 4; i++)
		take_sample();
	assert_string_equal(rows, "nothing - 1");
}

TEST(a_thread_that_is_gone_has_no_state)
{
	struct sample_seen seen = { .state = 'R' };

	samples_read_proc(getpid(), 1 << 30, &seen);
	assert_int_equal(seen.state, 0);
	assert_string_equal(seen.wchan, "");
}
