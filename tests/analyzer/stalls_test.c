/* analyzer/facts/stalls.c and stalls_finish.c: which processes wait, and who is to blame. */
#define STORY_OUTPUTS
#include <signal.h>

#include "analyzer/facts/stalls.h"
#include "analyzer/report/waits_text.h"
#include "core/store/merge/merge.h"
#include "core/store/read/joint.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

/* Two ranks of a job, or two programs that are none. */
static void begin_job(struct story *s, bool ranks)
{
	story_environ = ranks ? "SLURM_PROCID=3" : "";
	begin_story(s);
	story_environ = "";
}

static void post_8_bytes(struct story *s, int end, enum verb verb)
{
	const struct event_sge sge = { AT, 8, ends[end].mr.lkey };

	story_post(s, end, verb, &ends[end].qp, 1, verb == VERB_post_recv ? 0 : IBV_WR_SEND, sge);
}

static void polls_in_vain(struct story *s, int end)
{
	s->threads[end].head.polls[0].cq = W(&ends[end].cq);
	s->threads[end].head.polls[0].empty = 900;
}

/* A second later both are killed. */
static const struct stalls *kill_both(struct story *s)
{
	s->now += SECOND;
	story_exit(s, STORY_PID, SIGTERM);
	story_exit(s, PEER, SIGTERM);
	story_check(s, NULL);
	return facts_stalls(s->findings->facts);
}

static void blames_one(struct story *s, const struct stalls *stalls, uint32_t process,
		       enum stall_state state, const char *says)
{
	struct text text = { 0 };

	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].n, 1);
	assert_int_equal(stalls->graph.blames[0].nodes[0], process);
	assert_int_equal(stalls->graph.blames[0].all, 1);
	assert_int_equal(stalls->all[process].state, state);
	waits_put_state(&text, s->trace, &stalls->all[process]);
	assert_string_equal(text.at, says);
	text_fini(&text);
	story_end(s);
}

TEST(a_rank_that_calls_no_verb)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	blames_one(&s, kill_both(&s), 2, STALL_QUIET,
		   "called no verb for 1.00 s; its last verb, ibv_reg_mr(), 1.00 s earlier");
}

TEST(programs_that_are_no_ranks_may_be_idle)
{
	struct story s;

	begin_job(&s, false);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	assert_int_equal(kill_both(&s)->graph.nblames, 0);
	story_end(&s);
}

TEST(a_send_counts_for_any_program)
{
	const struct stalls *stalls;
	struct story s;

	begin_job(&s, false);
	post_8_bytes(&s, 0, VERB_post_send);
	polls_in_vain(&s, 0);
	stalls = kill_both(&s);
	assert_int_equal(stalls->links[0].why, STALL_CREDIT);
	assert_int_equal(stalls->links[0].to, 2);
	assert_false(waits_are_shown(s.trace, stalls)); /* a fact has the sentence */
	blames_one(&s, stalls, 2, STALL_QUIET,
		   "called no verb for 1.00 s; its last verb, ibv_reg_mr(), 1.00 s earlier");
}

TEST(a_rank_that_polls_where_nothing_is_outstanding)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	polls_in_vain(&s, 1);
	blames_one(&s, kill_both(&s), 2, STALL_NOTHING_OUTSTANDING,
		   "polls cq1 in vain (900 times): no outstanding request completes in it; its "
		   "last verb, ibv_reg_mr(), 1.00 s earlier");
}

/* Each has posted a receive, and no send. */
TEST(two_ranks_that_wait_for_each_other)
{
	const struct stalls *stalls;
	struct story s;

	begin_job(&s, true);
	for (int end = 0; end < 2; end++) {
		post_8_bytes(&s, end, VERB_post_recv);
		polls_in_vain(&s, end);
	}
	stalls = kill_both(&s);
	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].n, 2);
	assert_int_equal(stalls->waiting, 2);
	story_end(&s);
}

TEST(a_rank_that_died_long_before)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	story_exit(&s, PEER, SIGSEGV);
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	blames_one(
		&s, facts_stalls(s.findings->facts), 2, STALL_ENDED,
		"was killed by SIGSEGV at 40.0 us; its last verb, ibv_reg_mr(), 3000 ns earlier");
}

TEST(a_rank_that_ended_before_its_peer_had_its_message)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	story_exit(&s, PEER, 0);
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	blames_one(&s, facts_stalls(s.findings->facts), 2, STALL_WELL,
		   "ended with success at 40.0 us; its last verb, ibv_reg_mr(), 3000 ns earlier");
}

/* Without polls it does something else: it waits for nobody. */
TEST(who_does_not_look_does_not_wait)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	assert_int_equal(kill_both(&s)->graph.nblames, 0);
	story_end(&s);
}

/* A quarter of a second is nothing. */
TEST(a_job_that_is_killed_at_work_blames_nobody)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	s.now += SECOND / 5;
	story_exit(&s, STORY_PID, SIGTERM);
	story_exit(&s, PEER, SIGTERM);
	story_check(&s, NULL);
	assert_int_equal(facts_stalls(s.findings->facts)->graph.nblames, 0);
	story_end(&s);
}

TEST(a_job_that_ends_well_blames_nobody)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	s.now += SECOND;
	story_exit(&s, STORY_PID, 0);
	story_exit(&s, PEER, 0);
	story_check(&s, NULL);
	assert_int_equal(facts_stalls(s.findings->facts)->graph.nblames, 0);
	story_end(&s);
}

/* A job that still runs may have a long step. */
TEST(processes_that_are_alive_wait_for_longer)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	polls_in_vain(&s, 0);
	s.now += SECOND / 2;
	story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	story_check(&s, NULL);
	assert_int_equal(facts_stalls(s.findings->facts)->graph.nblames, 0);
	story_end(&s);
}

/* A job that hangs when its recording ends, @ms after its last event. Its trace stays. */
static void record_hanging_job(struct story *s, int64_t ms)
{
	begin_job(s, true);
	post_8_bytes(s, 0, VERB_post_recv);
	polls_in_vain(s, 0);
	for (int i = 0; i < s->nthreads; i++)
		assert_int_equal(
			writer_end_thread(s->writer, s->threads[i].id, &s->threads[i].head), 0);
	assert_int_equal(writer_set_until(s->writer, (int64_t)s->now + ms * 1000000), 0);
	assert_int_equal(writer_finish(s->writer), 0);
	assert_int_equal(trace_open(s->path, &s->trace), 0);
}

/* When the process with this number was seen for the last time. */
static int64_t find_last_seen(struct trace *trace, uint32_t process)
{
	struct findings *findings;
	const struct stalls *stalls;
	int64_t time;

	assert_int_equal(check_trace(trace, NULL, &findings), 0);
	stalls = facts_stalls(findings->facts);
	assert_true(process < stalls->n);
	assert_int_equal(stalls->all[process].process, process);
	time = stalls->all[process].time;
	findings_free(findings);
	return time;
}

TEST(a_process_is_seen_until_its_recording_ends)
{
	struct story s;

	record_hanging_job(&s, 3000);
	assert_int_equal(find_last_seen(s.trace, 1), (int64_t)s.now + 3000000000);
	assert_int_equal(find_last_seen(s.trace, 2), (int64_t)s.now + 3000000000);
	trace_close(s.trace);
	unlink(s.path);
}

/* The clock of the second recording is 5 ms behind; both as a joint and as a merged trace. */
TEST(the_end_of_a_recording_is_a_time_of_its_clock)
{
	const struct trace_clock behind = { CLOCK_ESTIMATED, 5000000, 0, 12, 0, false, 4, 1000 };
	struct trace *joint, *merged;
	struct story s[2];
	int64_t ends[2];
	char path[300];

	for (int i = 0; i < 2; i++) {
		record_hanging_job(&s[i], 3000 + 1000 * i);
		ends[i] = (int64_t)s[i].now + (3000 + 1000 * i) * 1000000ll;
	}
	snprintf(path, sizeof(path), "%s-merged", s[0].path);
	assert_int_equal(trace_join((struct trace *[]){ s[0].trace, s[1].trace },
				    (const char *[]){ s[0].path, s[1].path }, 2, &joint),
			 0);
	assert_int_equal(trace_set_clock(joint, 1, &behind), 0);
	assert_int_equal(merge_write(joint, path), 0);
	assert_int_equal(trace_open(path, &merged), 0);
	assert_int_equal(find_last_seen(merged, 2), ends[0]);
	assert_int_equal(find_last_seen(merged, 4), ends[1] + 5000000);
	trace_close(merged);
	trace_close(joint);
	unlink(path);
	for (int i = 0; i < 2; i++)
		unlink(s[i].path);
}
