/*
 * analyzer/report/screen_waits.c, and the facts that it prints: stalls.c, stalls_finish.c,
 * delays.c, activity.c, wait_graph.c. What is expected of each story is in screen_waits_test.txt.
 */
#include <inttypes.h>
#include <signal.h>

#include "analyzer/facts/delays.h"
#include "analyzer/facts/facts.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/report/report.h"
#include "analyzer/report/symbols.h"
#include "tests/analyzer/job.h"
#include "tests/test.h"
#include "tests/transcript.h"

/* All ranks from @from on wait for a message of the previous one. */
static void wait_from(struct story *s, int from)
{
	for (int r = from; r < RANKS; r++) {
		post_receive(s, r, PREVIOUS);
		polls_in_vain(s, r, PREVIOUS);
	}
}

/* A second later a launcher kills all but the first @ended, which have ended. */
static void kill_job(struct story *s, int ended)
{
	s->now += SECOND;
	for (int r = ended; r < RANKS; r++)
		story_exit(s, STORY_PID + r, SIGTERM);
}

static void quiet_rank(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	kill_job(s, 0);
}

static void dead_rank(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	story_exit(s, STORY_PID, SIGSEGV);
	kill_job(s, 1);
}

static void failed_rank(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	story_exit(s, STORY_PID, 1 << 8);
	kill_job(s, 1);
}

/* Receives from it count, as nobody else is to blame. */
static void finished_rank(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	story_exit(s, STORY_PID, 0);
	kill_job(s, 1);
}

/* The rank ended shortly before the others were killed: they are reported as killed at work. */
static void rank_that_died_just_now(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	s->now += SECOND;
	story_exit(s, STORY_PID, SIGSEGV);
	s->now += 100 * MS;
	for (int r = 1; r < RANKS; r++)
		story_exit(s, STORY_PID + r, SIGTERM);
}

/* Just long enough before them. */
static void rank_that_died_a_moment_before(struct story *s)
{
	uint64_t died;

	begin_job(s);
	wait_from(s, 1);
	s->now += SECOND;
	story_exit(s, STORY_PID, SIGSEGV);
	died = s->now;
	for (int r = 1; r < RANKS; r++) {
		s->now = died + 250 * MS - 1000; /* story_exit() adds these */
		story_exit(s, STORY_PID + r, SIGTERM);
	}
}

/* Nobody waits as long as it takes to be called a wait. */
static void short_step(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	s->now += 200 * MS;
	for (int r = 0; r < RANKS; r++)
		story_exit(s, STORY_PID + r, SIGTERM);
}

/* The trace ends, and all are alive: a step may take longer. */
static void job_that_runs(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	s->now += SECOND;
	post_receive(s, RANKS - 1, PREVIOUS);
}

static void circle_of_sends(struct story *s)
{
	begin_job(s);
	for (int r = 0; r < RANKS; r++) {
		post_send(s, r, NEXT);
		polls_in_vain(s, r, NEXT);
	}
	kill_job(s, 0);
}

static void short_circle(struct story *s)
{
	begin_job(s);
	post_send(s, 0, NEXT);
	polls_in_vain(s, 0, NEXT);
	post_send(s, 1, PREVIOUS);
	polls_in_vain(s, 1, PREVIOUS);
	wait_from(s, 2);
	kill_job(s, 0);
}

/* Ranks 1 and 4 wait for both neighbours, which do something else. */
static void several_to_blame(struct story *s)
{
	begin_job(s);
	for (int r = 1; r < RANKS; r += 3)
		for (int side = 0; side < 2; side++) {
			post_receive(s, r, side);
			polls_in_vain(s, r, side);
		}
	kill_job(s, 0);
}

/* Each waits for another thing, or at another place. */
static void several_groups(struct story *s)
{
	begin_job(s);
	for (int r = 1; r < RANKS; r++) {
		begin_site(s, r, (uint16_t)r);
		if (r == 2)
			post_send(s, r, PREVIOUS);
		else
			post_receive(s, r, PREVIOUS);
		polls_in_vain(s, r, PREVIOUS);
	}
	post_site = 0;
	kill_job(s, 0);
}

/* The peer has a receive, but the acknowledgement does not come. */
static void unacknowledged_send(struct story *s)
{
	begin_job(s);
	post_receive(s, 0, NEXT);
	post_send(s, 1, PREVIOUS);
	polls_in_vain(s, 1, PREVIOUS);
	kill_job(s, 0);
}

/* Only the second request has a completion that could be waited for. */
static void signalled_after_another(struct story *s)
{
	begin_job(s);
	post_one(s, 1, PREVIOUS, VERB_post_send, 0);
	post_send(s, 1, PREVIOUS);
	polls_in_vain(s, 1, PREVIOUS);
	kill_job(s, 0);
}

static void unpolled_receive(struct story *s)
{
	begin_job(s);
	post_receive(s, 0, PREVIOUS);
	post_send(s, RANKS - 1, NEXT);
	poll_one(s, RANKS - 1, NEXT, IBV_WC_SEND, 0);
	wait_from(s, 1);
	polls_in_vain(s, 0, NEXT);
	kill_job(s, 0);
}

/* The peer has the message, so the completion of the send must have come. */
static void unpolled_send(struct story *s)
{
	begin_job(s);
	post_receive(s, RANKS - 1, NEXT);
	post_send(s, 0, PREVIOUS);
	poll_one(s, RANKS - 1, NEXT, IBV_WC_RECV, 0);
	wait_from(s, 1);
	polls_in_vain(s, 0, NEXT);
	kill_job(s, 0);
}

static void full_send_queue(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	for (int i = 0; i < ROOM; i++)
		post_one(s, 0, PREVIOUS, VERB_post_send, 0);
	polls_in_vain(s, 0, PREVIOUS);
	kill_job(s, 0);
}

/* One more would fit. */
static void nearly_full_send_queue(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	for (int i = 1; i < ROOM; i++)
		post_one(s, 0, PREVIOUS, VERB_post_send, 0);
	polls_in_vain(s, 0, PREVIOUS);
	kill_job(s, 0);
}

static void other_cq(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	post_receive(s, 0, PREVIOUS);
	polls_in_vain(s, 0, NEXT);
	kill_job(s, 0);
}

static void barren_cq(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	polls_in_vain(s, 0, NEXT);
	kill_job(s, 0);
}

static void hung_call(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	story_call(s, 0, VERB_dereg_mr, 9, W(&job[0].mr));
	kill_job(s, 0);
}

static void run_command(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	story_makes(s, 0, 1, FORK_SYSTEM);
	kill_job(s, 0);
}

static void failed_call(struct story *s)
{
	struct story_call call;

	begin_job(s);
	wait_from(s, 1);
	call = story_call(s, 0, VERB_reg_mr, 5, W(&job[0].pd), W(AT), W(4096), W(0));
	story_fails(s, &call, 0, ENOMEM);
	kill_job(s, 0);
}

/* The last verb of the rank is not the one that failed. */
static void earlier_failure(struct story *s)
{
	struct story_call call;

	begin_job(s);
	wait_from(s, 1);
	call = story_call(s, 0, VERB_reg_mr, 5, W(&job[0].pd), W(AT), W(4096), W(0));
	story_fails(s, &call, 0, ENOMEM);
	story_do(s, 0, VERB_dereg_mr, 9, 0, W(&job[0].mr));
	kill_job(s, 0);
}

/* The recorder has seen that rank 0 was in this @state for 900 ms, calling no verb. */
static void sample_rank(struct story *s, const char *state, const char *wchan)
{
	struct stored_sample sample = { .doing = "nothing", .state = state, .wchan = wchan };

	begin_job(s);
	wait_from(s, 1);
	sample.thread = s->threads[0].id;
	sample.time = (int64_t)s->now + 100 * MS;
	assert_int_equal(writer_store_sample(s->writer, &sample), 0);
	kill_job(s, 0);
}

static void stopped_rank(struct story *s)
{
	sample_rank(s, "T", NULL);
}

static void rank_in_a_debugger(struct story *s)
{
	sample_rank(s, "t", NULL);
}

static void rank_that_computes(struct story *s)
{
	sample_rank(s, "R", NULL);
}

static void rank_in_the_kernel(struct story *s)
{
	sample_rank(s, "S", "pipe_read");
}

/* The ranks polled for the last time long before the end: they no longer wait. */
static void ranks_that_gave_up(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	for (int r = 1; r < RANKS; r++) {
		const struct stored_sample sample = { .thread = s->threads[r].id,
						      .time = (int64_t)s->now + 100 * MS,
						      .doing = "nothing",
						      .state = "S" };

		assert_int_equal(writer_store_sample(s->writer, &sample), 0);
	}
	kill_job(s, 0);
}

/* The rank got a completion of an unknown request, so it is not known what it waits for. */
static void uncertain_rank(struct story *s)
{
	begin_job(s);
	wait_from(s, 1);
	poll_one(s, 0, NEXT, IBV_WC_SEND, 0);
	kill_job(s, 0);
}

static void wrong_peer(struct story *s)
{
	begin_ranks(s, true);
	for (int r = 0; r < RANKS; r++) {
		connect_rank(s, r, NEXT, r ? (r + 1) % RANKS : 3, PREVIOUS);
		connect_rank(s, r, PREVIOUS, (r + RANKS - 1) % RANKS, NEXT);
	}
	post_send(s, 0, NEXT);
	polls_in_vain(s, 0, NEXT);
	wait_from(s, 1);
	kill_job(s, 0);
}

/* The ranks have requested an event, and wait for it in ibv_get_cq_event(). */
static void sleeping_ranks(struct story *s)
{
	begin_job(s);
	for (int r = 1; r < RANKS; r++) {
		post_receive(s, r, PREVIOUS);
		arm_cq(s, r, PREVIOUS);
		wait_event(s, r);
	}
	kill_job(s, 0);
}

/* The ranks wait outside verbs, for example in poll(2). */
static void armed_cq(struct story *s)
{
	begin_job(s);
	for (int r = 1; r < RANKS; r++) {
		post_receive(s, r, PREVIOUS);
		arm_cq(s, r, PREVIOUS);
	}
	kill_job(s, 0);
}

/* Every second link has carried a message: the circle leads over the others. */
static void circle_of_receives(struct story *s)
{
	begin_job(s);
	for (int r = 0; r < RANKS; r++) {
		post_receive(s, r, PREVIOUS);
		post_receive(s, r, NEXT);
		polls_in_vain(s, r, PREVIOUS);
		polls_in_vain(s, r, NEXT);
	}
	for (int r = 0; r < RANKS; r += 2) {
		post_receive(s, r, NEXT);
		post_send(s, r + 1, PREVIOUS);
		poll_one(s, r, NEXT, IBV_WC_RECV, 0);
		poll_one(s, r + 1, PREVIOUS, IBV_WC_SEND, 0);
	}
	kill_job(s, 0);
}

/* The programs are not part of a job: only sends count. */
static void no_ranks(struct story *s)
{
	begin_ranks(s, false);
	for (int r = 0; r < RANKS; r++) {
		connect_rank(s, r, NEXT, (r + 1) % RANKS, PREVIOUS);
		connect_rank(s, r, PREVIOUS, (r + RANKS - 1) % RANKS, NEXT);
	}
	post_send(s, 1, PREVIOUS);
	polls_in_vain(s, 1, PREVIOUS);
	post_send(s, 2, PREVIOUS);
	polls_in_vain(s, 2, PREVIOUS);
	wait_from(s, 3);
	kill_job(s, 0);
}

/* The ranks end one after the other, and for different reasons. */
static void killed_one_by_one(struct story *s)
{
	static const int signals[RANKS] = { SIGTERM, SIGTERM, SIGKILL, SIGKILL, SIGSEGV, SIGTERM };

	begin_job(s);
	wait_from(s, 1);
	s->now += SECOND;
	for (int r = 0; r < RANKS; r++) {
		s->now += (r == 3 ? 250 : 100) * MS - 1000; /* story_exit() adds these */
		story_exit(s, STORY_PID + r, signals[r]);
	}
}

/* Each step begins with a message of rank 0, which comes late. */
static void run_late(struct story *s, int steps, unsigned int ms)
{
	begin_job(s);
	for (int step = 1; step <= steps; step++) {
		for (int r = 1; r < RANKS; r++)
			post_receive(s, r, PREVIOUS);
		s->now += (uint64_t)ms * MS;
		for (int r = 1; r < RANKS; r++) {
			post_send(s, r - 1, NEXT);
			s->now += MS;
			poll_one(s, r, PREVIOUS, IBV_WC_RECV, 9 * (uint64_t)step);
			poll_one(s, r - 1, NEXT, IBV_WC_SEND, 0);
		}
	}
	for (int r = 0; r < RANKS; r++)
		story_exit(s, STORY_PID + r, 0);
}

static void late_in_six_steps(struct story *s)
{
	run_late(s, 6, 20);
}

static void late_in_four_steps(struct story *s)
{
	run_late(s, 4, 30);
}

static void not_late_enough(struct story *s)
{
	run_late(s, 9, 11);
}

/* Rank 0 posts its receives late, and the others wait for their sends. */
static void late_receives(struct story *s)
{
	begin_job(s);
	for (int step = 1; step <= 6; step++) {
		for (int side = 0; side < 2; side++)
			post_send(s, side ? RANKS - 1 : 1, side ? NEXT : PREVIOUS);
		s->now += 20 * MS;
		post_receive(s, 0, NEXT);
		post_receive(s, 0, PREVIOUS);
		poll_one(s, 1, PREVIOUS, IBV_WC_SEND, 9 * (uint64_t)step);
		poll_one(s, RANKS - 1, NEXT, IBV_WC_SEND, 9 * (uint64_t)step);
		poll_one(s, 0, NEXT, IBV_WC_RECV, 0);
		poll_one(s, 0, PREVIOUS, IBV_WC_RECV, 0);
	}
	for (int r = 0; r < RANKS; r++)
		story_exit(s, STORY_PID + r, 0);
}

/* The others sleep until the event, which comes with the message. */
static void late_for_those_that_sleep(struct story *s)
{
	struct story_call call[RANKS];

	begin_job(s);
	for (int step = 1; step <= 6; step++) {
		for (int r = 1; r < RANKS; r++) {
			post_receive(s, r, PREVIOUS);
			arm_cq(s, r, PREVIOUS);
			call[r] = wait_event(s, r);
		}
		s->now += 30 * MS;
		for (int r = 1; r < RANKS; r++) {
			post_send(s, r - 1, NEXT);
			story_return(s, &call[r], 0);
			poll_one(s, r, PREVIOUS, IBV_WC_RECV, 0);
			poll_one(s, r - 1, NEXT, IBV_WC_SEND, 0);
		}
	}
	for (int r = 0; r < RANKS; r++)
		story_exit(s, STORY_PID + r, 0);
}

#define STORY(name)         \
	{                   \
		name, #name \
	}
static const struct {
	void (*tell)(struct story *s);
	const char *name;
} stories[] = {
	STORY(quiet_rank),
	STORY(dead_rank),
	STORY(failed_rank),
	STORY(finished_rank),
	STORY(rank_that_died_just_now),
	STORY(rank_that_died_a_moment_before),
	STORY(short_step),
	STORY(job_that_runs),
	STORY(circle_of_sends),
	STORY(short_circle),
	STORY(several_to_blame),
	STORY(several_groups),
	STORY(unacknowledged_send),
	STORY(signalled_after_another),
	STORY(unpolled_receive),
	STORY(unpolled_send),
	STORY(full_send_queue),
	STORY(nearly_full_send_queue),
	STORY(other_cq),
	STORY(barren_cq),
	STORY(hung_call),
	STORY(run_command),
	STORY(failed_call),
	STORY(earlier_failure),
	STORY(stopped_rank),
	STORY(rank_in_a_debugger),
	STORY(rank_that_computes),
	STORY(rank_in_the_kernel),
	STORY(ranks_that_gave_up),
	STORY(uncertain_rank),
	STORY(wrong_peer),
	STORY(sleeping_ranks),
	STORY(armed_cq),
	STORY(circle_of_receives),
	STORY(no_ranks),
	STORY(killed_one_by_one),
	STORY(late_in_six_steps),
	STORY(late_in_four_steps),
	STORY(not_late_enough),
	STORY(late_receives),
	STORY(late_for_those_that_sleep),
};

/* What the screen does not show. */
static void put_numbers(struct text *t, const struct stalls *stalls, const struct delays *delays)
{
	for (size_t i = 0; i < stalls->nlinks; i++) {
		const struct stall_link *link = &stalls->links[i];

		text_addf(t, "%" PRIu32 " -> %" PRIu32 " %s %" PRIu32 ":%" PRIu64, link->process,
			  link->to, stall_whys[link->why], link->request.thread, link->request.n);
		text_addf(t,
			  ", %" PRIu64 " outstanding, %" PRIu64 " received, us %" PRId64 "%s%s\n",
			  link->outstanding, link->received, (link->until - link->since) / 1000,
			  link->watched ? ", watched" : "", link->used ? ", used" : "");
	}
	for (size_t i = 0; i < delays->npairs; i++)
		text_addf(t,
			  "%" PRIu32 " because of %" PRIu32 ": %" PRIu64 " times, us %" PRId64 "\n",
			  delays->pairs[i].waiter, delays->pairs[i].cause, delays->pairs[i].times,
			  delays->pairs[i].ns / 1000);
}

/* The screen without the verbs that failed, which none of these stories is about. */
static void put_screen(struct text *t, const struct story *s)
{
	struct report report = { .path = "t.db", .trace = s->trace, .findings = s->findings };
	char *text = NULL, *end;
	size_t size = 0;

	assert_int_equal(symbols_open(&report.symbols), 0);
	report.out = open_memstream(&text, &size);
	assert_int_equal(report_screen(&report), 0);
	fclose(report.out);
	symbols_close(report.symbols);
	end = strstr(text, "\nfailed verbs (");
	text_addf(t, "%.*s\n", (int)(end ? end - text : (long)size), text);
	free(text);
}

TEST(screens_are_as_expected)
{
	struct text all = { 0 };

	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
		struct story s;

		stories[i].tell(&s);
		story_check(&s, NULL);
		text_addf(&all, "== %s\n", stories[i].name);
		put_screen(&all, &s);
		put_numbers(&all, facts_stalls(s.findings->facts), facts_delays(s.findings->facts));
		story_end(&s);
	}
	transcript_expect(__FILE__, &all);
}
