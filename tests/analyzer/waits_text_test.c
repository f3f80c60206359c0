/*
 * analyzer/report/waits_text.c and analyzer/facts/waits_text.c: waits_text_test.txt has their
 * sentences about waits and stalls with each field in several values
 */
#include <signal.h>

#include "analyzer/facts/delays.h"
#include "analyzer/facts/waits_priv.h"
#include "analyzer/report/waits_text.h"
#include "tests/analyzer/ends.h"
#include "tests/sweep.h"

#define S 1000000000ll

static struct text sentences;
static struct story story; /* its objects have names */
static struct stall stall;
static struct stall_link a_link;
static struct wait wait_of;
static struct waits waits;
static struct sent_to sent_to;
static const struct activity_note *note_of; /* NULL: not known */

static uint32_t find_object(enum object_kind kind, uint32_t process)
{
	for (uint32_t id = 1;; id++) {
		const struct object *object = trace_object(story.trace, id);

		assert_non_null(object);
		if (object->kind == kind && object->process == process)
			return id;
	}
}

TEST(processes_that_are_no_ranks_are_listed)
{
	static const uint32_t all[] = { 1, 2, 1, 2, 1 };
	struct text text = { 0 };
	struct story s;

	begin_story(&s);
	story_check(&s, NULL);
	waits_put_processes(&text, s.trace, all, 2);
	assert_string_equal(text.at, "process 1, process 2");
	text_cut(&text, 0);
	waits_put_processes(&text, s.trace, all, 5);
	assert_string_equal(text.at, "process 1, process 2, process 1 and 2 more");
	text_fini(&text);
	story_end(&s);
}

TEST(ranks_are_ranges)
{
	static const uint32_t one[] = { 1, 2 };
	struct text text = { 0 };
	struct story s;

	story_environ = "SLURM_PROCID=3";
	begin_story(&s);
	story_environ = "";
	story_check(&s, NULL);
	waits_put_processes(&text, s.trace, one, 2);
	assert_string_equal(text.at, "2 ranks: 3, 3");
	text_fini(&text);
	story_end(&s);
}

/* The ranks of all are even, so that each is a range of its own; there are 14. */
TEST(the_twelve_first_ranges_are_listed)
{
	uint32_t all[14], ids[] = { 1, 2 };
	struct text text = { 0 };
	char environ[32];

	for (uint32_t i = 0; i < 7; i++) {
		snprintf(environ, sizeof(environ), "SLURM_PROCID=%u", 2 * i);
		story_environ = environ;
		if (i)
			story_thread(&story, STORY_PID + (int)i, 0, 0);
		else
			story_begin(&story);
	}
	story_environ = "";
	story_check(&story, NULL);
	for (uint32_t i = 0; i < 14; i++)
		all[i] = 1 + i % 7;
	waits_put_processes(&text, story.trace, all, 7);
	assert_string_equal(text.at, "7 ranks: 0, 2, 4, 6, 8, 10, 12");
	text_cut(&text, 0);
	waits_put_processes(&text, story.trace, all, 12);
	assert_string_equal(text.at, "12 ranks: 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 12");
	text_cut(&text, 0);
	waits_put_processes(&text, story.trace, all, 14);
	assert_string_equal(text.at, "14 ranks: 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10 and 2 more");
	text_cut(&text, 0);
	((struct process *)trace_process(story.trace, 2))->rank.rank = 1;
	((struct process *)trace_process(story.trace, 3))->rank.rank = 2;
	waits_put_processes(&text, story.trace, ids, 2);
	assert_string_equal(text.at, "2 ranks: 0, 1");
	text_cut(&text, 0);
	waits_put_processes(&text, story.trace, all, 4);
	assert_string_equal(text.at, "4 ranks: 0-2, 6");
	text_fini(&text);
	story_end(&story);
}

TEST(a_link_names_both_ends)
{
	const struct stall_link link = {
		.process = 1, .to = 2, .outstanding = 2, .since = 1000, .until = 41000
	};
	struct text text = { 0 };
	struct story s;

	begin_story(&s);
	story_check(&s, NULL);
	waits_put_link(&text, s.trace, &link);
	assert_string_equal(text.at, "process 1 a queue pair -> process 2 a queue pair: "
				     "2 receives, nothing has come for 40.0 us");
	text_fini(&text);
	story_end(&s);
}

static void print_stall(struct text *to)
{
	waits_put_state(to, story.trace, &stall);
}

/* All of its states; each field of it has a value of its own. */
TEST(each_state_of_a_stall_has_its_sentence)
{
	static const char *const names[STALL_STATES] = { "well",   "ended",    "stopped", "misled",
							 "hung",   "unpolled", "full",    "ignores",
							 "barren", "quiet",    "busy",    "waits",
							 "unknown" };
	const struct sweep fields[] = {
		SWEEP(stall.time, 3 * S, 7 * S + 1),
		SWEEP(stall.last.time, S),
		SWEEP(stall.last.verb, VERB_post_send),
		SWEEP(stall.error, 0, 1, ENOMEM),
		SWEEP(stall.forked.id.thread, 0),
		SWEEP(stall.forked.time, S),
		SWEEP(stall.well, true),
		SWEEP(stall.signal, 0, 1, SIGKILL),
		SWEEP(stall.status, 0, 1, 2),
		SWEEP(stall.seen, 0, 'R', 'S', 't'),
		SWEEP(stall.wchan[0], 0),
		SWEEP(stall.seen_since, S),
		SWEEP(stall.object[2], '2'),
		SWEEP(stall.qp, 0),
		SWEEP(stall.count, 0, 1, 2),
		SWEEP(stall.other, 2),
		SWEEP(stall.others, 0, 1),
		SWEEP(stall.other_qp[0], 0),
		SWEEP(stall.hung.n, 9),
		SWEEP(stall.what, 0),
		SWEEP(stall.since, S),
	};

	begin_story(&story);
	story_check(&story, NULL);
	stall = (struct stall){ .time = 5 * S,
				.last = { { 1, 4 }, VERB_reg_mr, 1, 0, 2 * S },
				.error = -1,
				.forked = { { 1, 5 }, VERB_COUNT, 1, 0, 3 * S },
				.how = "system",
				.signal = -1,
				.status = -1,
				.wchan = "do_wait",
				.seen_since = 4 * S,
				.object = "cq3",
				.qp = find_object(OBJECT_qp, 1),
				.count = 3,
				.other = 1,
				.others = 2,
				.other_qp = "qp4",
				.hung = { 1, 6 },
				.what = "ibv_reg_mr()",
				.since = 2 * S + S / 2 };
	for (int state = 0; state < STALL_STATES; state++) {
		stall.state = (enum stall_state)state;
		sweep_all(&sentences, names[state], fields, sizeof(fields) / sizeof(*fields),
			  print_stall);
	}
	story_end(&story);
}

static void print_link(struct text *to)
{
	waits_put_link(to, story.trace, &a_link);
}

TEST(each_end_of_a_link_is_named)
{
	const struct sweep fields[] = {
		SWEEP(a_link.process, 0, 2),
		SWEEP(a_link.to, 0, 1),
		SWEEP(a_link.thread, 0, 2),
		SWEEP(a_link.their_thread, 0, 1, 99),
		SWEEP(a_link.qp, 0),
		SWEEP(a_link.other, 0),
		SWEEP(a_link.why, STALL_SEND, STALL_CREDIT, STALL_DATAGRAM, STALL_CONNECT,
		      STALL_ACCEPT, STALL_REQUEST),
		SWEEP(a_link.request.thread, 0),
		SWEEP(a_link.request.n, 8),
		SWEEP(a_link.opcode, IBV_WR_RDMA_READ, 99),
		SWEEP(a_link.since, 2 * S),
		SWEEP(a_link.until, 9 * S),
		SWEEP(a_link.outstanding, 0, 1, 2),
		SWEEP(a_link.cmid, 1),
	};

	begin_story(&story);
	story_check(&story, NULL);
	a_link = (struct stall_link){ .process = 1,
				      .to = 2,
				      .thread = 1,
				      .their_thread = 2,
				      .qp = find_object(OBJECT_qp, 1),
				      .other = find_object(OBJECT_qp, 2),
				      .why = STALL_MESSAGE,
				      .request = { 1, 7 },
				      .opcode = IBV_WR_SEND,
				      .since = S,
				      .until = 4 * S,
				      .outstanding = 3 };
	sweep_all(&sentences, "a link", fields, sizeof(fields) / sizeof(*fields), print_link);
	story_end(&story);
}

static void print_wait(struct text *to)
{
	waits_describe(to, &waits, &wait_of, note_of);
}

static struct moment moment_at(int64_t time, uint64_t n)
{
	return (struct moment){ { 2, n }, VERB_modify_qp, 2, 0, time };
}

/* The fields of a wait that a sentence depends on differ from each other. */
static void fill_wait(void)
{
	wait_of = (struct wait){ .end = 9 * S,
				 .since = 7 * S,
				 .oldest = { .n = 33, .time = 8 * S, .opcode = IBV_WR_SEND },
				 .queue = "qp5",
				 .outstanding = 4,
				 .completed = 5,
				 .timeout = 14,
				 .retry_cnt = 6,
				 .retry_time = 3 * S,
				 .cq = { .name = "cq6", .id = find_object(OBJECT_cq, 1) },
				 .process = 2,
				 .qp = find_object(OBJECT_qp, 2),
				 .gone = 6 * S,
				 .room = 64 };
	wait_of.cq.wake.armed = moment_at(6 * S, 44);
	wait_of.cq.wake.since = 5 * S;
	snprintf(wait_of.cq.other, sizeof(wait_of.cq.other), "cq7");
	wait_of.cq.other_armed = (struct event_id){ 1, 45 };
	wait_of.work = (struct peer_work){ .state = ABI_QPS_RTS,
					   .moved = moment_at(6 * S, 46),
					   .receives = 7,
					   .before = 8,
					   .to_receives = 9,
					   .writes = 2,
					   .room = 3,
					   .received = 11,
					   .sending = 12,
					   .last = moment_at(8 * S, 47) };
}

static void sweep_wait(const char *title)
{
	struct process *process = (struct process *)trace_process(story.trace, 2);
	struct object *qp = (struct object *)trace_object(story.trace, wait_of.qp);
	struct peer_work *work = &wait_of.work;
	struct wait_cq *cq = &wait_of.cq;
	const struct sweep fields[] = {
		SWEEP(process->end, 9 * S - PATIENCE_NS, 9 * S - PATIENCE_NS + 1),
		SWEEP(process->status, 0, 5 << 8, SIGKILL),
		SWEEP(qp->destroyed_at, 9 * S - PATIENCE_NS, 9 * S - PATIENCE_NS + 1),
		SWEEP(qp->destroyed.thread, 2),
		SWEEP(wait_of.since, 8 * S),
		SWEEP(wait_of.oldest.thread, 0, 1),
		SWEEP(wait_of.oldest.time, 6 * S, 6 * S + 1, 2 * S),
		SWEEP(wait_of.oldest.opcode, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, 99),
		SWEEP(wait_of.outstanding, 0, 1, 2),
		SWEEP(wait_of.completed, 0, 9, 8, 10),
		SWEEP(wait_of.no_timeout, true),
		SWEEP(wait_of.no_rnr_limit, true),
		SWEEP(wait_of.retry_time, 0, S),
		SWEEP(wait_of.drained.id.thread, 1),
		SWEEP(wait_of.unflushed.id.thread, 1),
		SWEEP(wait_of.no_reads, true),
		SWEEP(wait_of.process, 0),
		SWEEP(wait_of.qp, 0),
		SWEEP(wait_of.gone, INT64_MAX),
		SWEEP(wait_of.mute, true),
		SWEEP(wait_of.arrived, true),
		SWEEP(wait_of.both, true),
		SWEEP(wait_of.number, 0x21, 0x22),
		SWEEP(wait_of.datagrams, true),
		SWEEP(wait_of.room, 23, 24, 63, 64),
		SWEEP(work->state, ABI_QPS_RESET, ABI_QPS_INIT, ABI_QPS_RTR, ABI_QPS_SQE,
		      ABI_QPS_ERR),
		SWEEP(work->moved.time, 9 * S - PATIENCE_NS, 9 * S - PATIENCE_NS + 1, 8 * S),
		SWEEP(work->moved.id.thread, 0),
		SWEEP(work->known, true),
		SWEEP(work->receives, 0, 1),
		SWEEP(work->before, 0),
		SWEEP(work->dropped, 1),
		SWEEP(work->to_receives, 1, 5),
		SWEEP(work->writes, 0, 1),
		SWEEP(work->room, 0, 1),
		SWEEP(work->received, 0),
		SWEEP(work->sending, 0, 1),
		SWEEP(work->last.id.thread, 0),
		SWEEP(work->last.time, 9 * S, 9 * S + 1, 6 * S),
		SWEEP(work->last.verb, VERB_post_send, VERB_post_recv),
		SWEEP(cq->lying, 1, 2),
		SWEEP(cq->has_channel, true),
		SWEEP(cq->sleeps, true),
		SWEEP(cq->wake.armed.id.thread, 0),
		SWEEP(cq->wake.armed.time, 5 * S, 8 * S, 9 * S),
		SWEEP(cq->wake.polled.time, 6 * S, 6 * S + 1),
		SWEEP(cq->wake.is_armed, true),
		SWEEP(cq->wake.solicited, true),
		SWEEP(cq->wake.asked, 1),
		SWEEP(cq->other[0], 0),
	};

	sweep_all(&sentences, title, fields, sizeof(fields) / sizeof(*fields), print_wait);
}

TEST(each_fact_of_a_wait_is_in_its_sentence)
{
	const struct activity_note note = { .process = 2 };

	begin_story(&story);
	story_check(&story, NULL);
	sent_to = (struct sent_to){ 3, 24, 2, find_object(OBJECT_qp, 2) };
	waits = (struct waits){ .trace = story.trace, .activity = activity_new(story.trace) };
	waits.sent = (struct sent){ .all = &sent_to, .n = 1 };
	assert_int_equal(map_put(&waits.sent.by_number, 0x21, 1), 0);
	fill_wait();
	sweep_wait("a wait for a message");
	wait_of.work.known = true;
	sweep_wait("one whose peer's work is known");
	wait_of.oldest.thread = 1;
	sweep_wait("the same of a send");
	wait_of.work.room = 0;
	wait_of.cq.has_channel = wait_of.cq.wake.is_armed = true;
	wait_of.oldest.thread = 0;
	sweep_wait("one that sleeps");
	note_of = &note;
	sweep_wait("one whose threads polled nothing");
	wait_of.work.known = wait_of.cq.wake.is_armed = false;
	sweep_wait("the same, with a peer whose work is not known");
	note_of = NULL;
	activity_free((struct activity *)waits.activity);
	map_fini(&waits.sent.by_number);
	story_end(&story);
}

TEST_LAST(sentences_are_those_of_the_transcript)
{
	transcript_expect(__FILE__, &sentences);
}
