/*
 * Commands about a recording with each kind of event, some of them damaged, and about a job of six
 * ranks that hangs: everything_test.txt
 */
#include <signal.h>

#include "tests/analyzer/job.h"
#include "tests/cli/run.h"
#include "tests/core/store/everything.h"

enum { PROGRAM = 0x100, STEPS = 6 };

/* Each step begins with a message of rank 0, which comes late. */
static void run_steps(struct story *s)
{
	for (int step = 1; step <= STEPS; step++) {
		for (int r = 1; r < RANKS; r++)
			post_receive(s, r, PREVIOUS);
		s->now += 20 * MS;
		for (int r = 1; r < RANKS; r++) {
			post_send(s, r - 1, NEXT);
			s->now += MS;
			poll_one(s, r, PREVIOUS, IBV_WC_RECV, 9 * (uint64_t)step);
			poll_one(s, r - 1, NEXT, IBV_WC_SEND, 0);
		}
	}
}

/* Ranks 3 and 4 wait for both neighbours, the others for the previous one; rank 1 for an event. */
static void wait_for_others(struct story *s)
{
	for (int r = 1; r < RANKS; r++) {
		begin_site(s, r, (uint16_t)(r % 3 + 1));
		post_receive(s, r, PREVIOUS);
		if (r == 3 || r == 4)
			post_send(s, r, NEXT);
		if (r > 1) {
			polls_in_vain(s, r, PREVIOUS);
			continue;
		}
		arm_cq(s, r, PREVIOUS);
		wait_event(s, r);
	}
	post_site = 0;
}

/* Rank 0 registers no memory, and dies; a second later a launcher kills the others. */
static void record_job(struct story *s)
{
	struct story_call call;

	begin_job(s);
	for (int r = 0; r < RANKS; r++)
		story_module(s, r, PROGRAM, 2 * PROGRAM, "/usr/bin/app");
	run_steps(s);
	wait_for_others(s);
	call = story_call(s, 0, VERB_reg_mr, PROGRAM + 5, W(&job[0].pd), W(AT), W(4096), W(0));
	story_fails(s, &call, 0, ENOMEM);
	story_gives(s, 0, MEMORY_MUNMAP, (void *)AT, 4096);
	story_exit(s, STORY_PID, SIGSEGV);
	s->now += SECOND;
	for (int r = 1; r < RANKS; r++)
		story_exit(s, STORY_PID + r, SIGTERM);
	for (int i = 0; i < s->nthreads; i++)
		assert_int_equal(
			writer_end_thread(s->writer, s->threads[i].id, &s->threads[i].head), 0);
	assert_int_equal(writer_finish(s->writer), 0);
}

static int record_all(void **state)
{
	char path[sizeof(run_folder) + 16];
	struct story s;

	if (run_begin(state))
		return -1;
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	write_everything();
	example_finish(&example);
	run_name("everything.db");
	record_job(&s);
	snprintf(path, sizeof(path), "%s/job.db", run_folder);
	return rename(s.path, path);
}

GROUP(record_all, run_end);

TEST(outputs_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
