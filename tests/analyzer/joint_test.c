/*
 * Two traces checked as one: analyzer/model/clocks.c, analyzer/model/peer.c,
 * core/store/read/joint.c
 *
 * The first has end 0, the second end 1, which is another machine if @boot is given; its clock is
 * AHEAD of the first's, and runs as fast as struct two says; its time of day is wrong by 10 s.
 * joint_test.txt has all clocks.
 */
#include "analyzer/model/clocks.h"

#include <inttypes.h>
#include <math.h>

#include "analyzer/report/clock_text.h"
#include "analyzer/report/row.h"
#include "core/store/db/sql.h"
#include "core/store/read/joint.h"
#include "tests/analyzer/ends.h"

enum { AHEAD = 7000000, MESSAGES = 5, NEAR = 30000, LATER = 200000, TAKES = 1000, RECORDINGS = 4 };

struct two {
	struct story s[2];
	struct trace *trace;
	struct findings *findings;
	double fast; /* the second one's clock: 50e-6 */
};

/* A time of the second one's clock in terms of the first one's. */
static double true_time(const struct two *two, double time)
{
	return (time - AHEAD) / (1 + two->fast);
}

/* The next event of @end is @later than the last one of any end. */
static struct story *take_turn(struct two *two, int end, uint64_t later)
{
	struct story *s = two->s;
	uint64_t other = (uint64_t)ceil(true_time(two, (double)s[1].now));
	uint64_t now = (s[0].now > other ? s[0].now : other) + later;

	s[end].now = end ? AHEAD + (uint64_t)ceil((double)now * (1 + two->fast)) : now;
	return &s[end];
}

static void begin_two(struct two *two)
{
	memset(two, 0, sizeof(*two));
	fill_end(&ends[0], 0x21, 0x10);
	fill_end(&ends[1], 0x22, 0x20);
	for (int i = 0; i < 2; i++) {
		story_begin(&two->s[i]);
		assert_int_equal(story_thread(&two->s[i], PEER, 0, 0), 1);
	}
	two->s[1].now += AHEAD;
	for (int i = 0; i < 2; i++)
		make_end(take_turn(two, i, 0), i);
}

static void connect_two(struct two *two)
{
	connect_end(take_turn(two, 0, 0), 0, 0x22, 0x22, FAR);
	connect_end(take_turn(two, 1, 0), 1, 0x21, 0x21, FAR);
	register_as(take_turn(two, 0, 0), 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(take_turn(two, 1, 0), 1, &ends[1].mr, FAR);
}

static void poll_message(struct story *s, int end, int opcode)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = 1;
	wc->opcode = (uint32_t)opcode;
	wc->qp_num = ends[end].qp.qp_num;
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* From @end to the other, which receives it @takes later. */
static void send_message(struct two *two, int end, uint64_t takes)
{
	const struct event_sge sge = { AT, 8, ends[end].mr.lkey },
			       room = { AT, 8, ends[!end].mr.lkey };

	story_post(take_turn(two, !end, 0), !end, VERB_post_recv, &ends[!end].qp, 1, 0, room);
	story_post(take_turn(two, end, 0), end, VERB_post_send, &ends[end].qp, 1, IBV_WR_SEND, sge);
	poll_message(take_turn(two, !end, takes), !end, IBV_WC_RECV);
	poll_message(take_turn(two, end, 0), end, IBV_WC_SEND);
}

static void exchange_messages(struct two *two)
{
	for (int i = 0; i < MESSAGES; i++) {
		send_message(two, 0, TAKES);
		send_message(two, 1, TAKES);
	}
}

static void finish_story(struct story *s, const char *boot)
{
	char sql[256];
	sqlite3 *db;

	for (int i = 0; i < s->nthreads; i++)
		assert_int_equal(
			writer_end_thread(s->writer, s->threads[i].id, &s->threads[i].head), 0);
	assert_int_equal(writer_finish(s->writer), 0);
	if (!boot)
		return;
	snprintf(sql, sizeof(sql),
		 "UPDATE meta SET value = '%s' WHERE key = 'recorder_boot';"
		 "UPDATE meta SET value = value + 10000000000 WHERE key = 'realtime'",
		 boot);
	assert_int_equal(sql_open(s->path, SQLITE_OPEN_READWRITE, &db), 0);
	assert_int_equal(sql_exec(db, sql), 0);
	sqlite3_close(db);
}

static void open_stories(struct story *stories, size_t n, struct trace **ret_trace)
{
	const char *paths[RECORDINGS];
	struct trace *traces[RECORDINGS];

	for (size_t i = 0; i < n; i++) {
		paths[i] = stories[i].path;
		assert_int_equal(trace_open(paths[i], &traces[i]), 0);
	}
	assert_int_equal(trace_join(traces, paths, n, ret_trace), 0);
}

static struct text clocks;

/* Note each clock in terms of the first one, unless only the time of day tells it. */
static int join_clocks(struct trace *trace)
{
	int err = clocks_join(trace);

	for (size_t i = 0; i < trace_nparts(trace); i++) {
		struct trace_clock clock = trace_clock(trace, i);

		text_addf(&clocks, "%s%d", i ? ", " : "", (int)clock.source);
		if (i && clock.source == CLOCK_ESTIMATED)
			text_addf(&clocks,
				  ": %lld %.4g, within %lld %.4g, %u pairs, %llu messages%s",
				  (long long)(clock.offset - trace_clock(trace, 0).offset),
				  clock.drift, (long long)clock.error, clock.drift_error,
				  clock.pairs, (unsigned long long)clock.messages,
				  clock.contradicts ? ", contradicts" : "");
	}
	text_addf(&clocks, "\n");
	return err;
}

static void check_two(struct two *two, const char *boot)
{
	finish_story(&two->s[0], NULL);
	finish_story(&two->s[1], boot);
	open_stories(two->s, 2, &two->trace);
	assert_int_equal(join_clocks(two->trace), 0);
	assert_int_equal(check_trace(two->trace, NULL, &two->findings), 0);
}

static void end_two(struct two *two)
{
	findings_free(two->findings);
	trace_close(two->trace);
	unlink(two->s[0].path);
	unlink(two->s[1].path);
}

static uint64_t count_findings(const struct two *two)
{
	uint64_t n = 0;

	for (int i = 0; i < RULE_COUNT; i++)
		n += two->findings->rules[i];
	return n;
}

/* The second end deregisters its memory; @later the first one writes to it, and is refused. */
static void write_to_what_is_gone(struct two *two, uint64_t later)
{
	story_do(take_turn(two, 1, 0), 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	post_rdma(take_turn(two, 0, later), IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(take_turn(two, 0, 0), IBV_WC_REM_ACCESS_ERR);
}

TEST(a_key_that_the_other_machine_has_deregistered)
{
	const struct finding *finding;
	struct two two;

	begin_two(&two);
	connect_two(&two);
	exchange_messages(&two);
	write_to_what_is_gone(&two, LATER);
	check_two(&two, "another");
	assert_int_equal(two.findings->rules[RULE_MKEY_004], 1);
	finding = two.findings->all[0];
	if (!strstr(finding->says, "was mr1 of pd1 of t2 process 2 until ibv_dereg_mr() at t2:2:"))
		fail_msg("%s", finding->says);
	assert_int_equal(trace_part_of(two.trace, finding->process), 0);
	end_two(&two);
}

/* The order of the two is not known: nothing is reported. */
TEST(a_key_that_went_at_about_the_same_time)
{
	struct two two;

	begin_two(&two);
	connect_two(&two);
	exchange_messages(&two);
	write_to_what_is_gone(&two, 0);
	check_two(&two, "another");
	assert_int_equal(count_findings(&two), 0);
	end_two(&two);
}

/* Processes on one machine have one clock. */
TEST(one_machine_has_one_clock)
{
	struct two two;

	begin_two(&two);
	connect_two(&two);
	write_to_what_is_gone(&two, 0);
	for (int i = 0; i < 2; i++) /* the second one's clock began earlier */
		two.s[i].clock.start = 0;
	check_two(&two, NULL);
	assert_int_equal(trace_clock(two.trace, 1).source, CLOCK_SAME);
	assert_int_equal(trace_clock(two.trace, 1).error, 0);
	end_two(&two);
}

TEST(the_offset_is_within_what_is_said)
{
	struct trace_clock clock;
	struct two two;

	begin_two(&two);
	connect_two(&two);
	exchange_messages(&two);
	check_two(&two, "another");
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.source, CLOCK_ESTIMATED);
	assert_int_equal(clock.pairs, 1);
	assert_int_equal(clock.messages, 2 * MESSAGES);
	assert_true(clock.error < NEAR);
	assert_true(llabs(clock.offset - trace_clock(two.trace, 0).offset + AHEAD) <= clock.error);
	assert_int_equal(count_findings(&two), 0);
	end_two(&two);
}

static const struct apart {
	const char *name;
	double fast;
	unsigned int seed;
} aparts[] = {
	{ "fast", 50e-6, 1 },     { "fast_again", 50e-6, 2 }, { "slow", -50e-6, 3 },
	{ "slower", -150e-6, 4 }, { "faster", 150e-6, 5 },    { "a_little", 5e-6, 6 },
};

/* Seconds of messages, each with a random latency. */
static void exchange_slowly(struct two *two, unsigned int seed)
{
	enum { MANY = 400, GAP = 20000000, SLOWEST = 100000 };

	for (int i = 0; i < MANY; i++) {
		take_turn(two, 0, (uint64_t)(rand_r(&seed) % GAP));
		send_message(two, 0, TAKES + (uint64_t)(rand_r(&seed) % SLOWEST));
		send_message(two, 1, TAKES + (uint64_t)(rand_r(&seed) % SLOWEST));
	}
}

/* Messages in one direction: their receives give the upper bound. */
TEST(messages_in_one_direction_bound_both_sides)
{
	enum { MANY = 400, GAP = 5000000 };
	unsigned int seed = 7;
	struct trace_clock clock;
	double last;
	struct two two;

	begin_two(&two);
	two.fast = 50e-6;
	connect_two(&two);
	for (int i = 0; i < MANY; i++) {
		take_turn(&two, 0, (uint64_t)(rand_r(&seed) % GAP));
		send_message(&two, 0, TAKES + (uint64_t)(rand_r(&seed) % NEAR));
	}
	last = (double)two.s[1].now;
	check_two(&two, "another");
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.messages, MANY);
	assert_true(clock.error < NEAR);
	for (double time = AHEAD; time <= last; time += last - AHEAD)
		assert_true(fabs((double)trace_clock_time(&clock, (int64_t)time) -
				 (double)trace_clock(two.trace, 0).offset -
				 true_time(&two, time)) <= (double)clock.error);
	assert_true(fabs(trace_clock_ppm(&clock) - 50) <= clock.drift_error * 1e6);
	end_two(&two);
}

/* A clock without drift would not be within it. */
static void offset_and_drift_are_within_what_is_said(void **state)
{
	const struct apart *apart = *state;
	struct trace_clock clock, first;
	double last;
	struct two two;

	begin_two(&two);
	two.fast = apart->fast;
	connect_two(&two);
	exchange_slowly(&two, apart->seed);
	last = (double)two.s[1].now;
	check_two(&two, "another");
	first = trace_clock(two.trace, 0);
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.source, CLOCK_ESTIMATED);
	for (double time = AHEAD; time <= last; time += (last - AHEAD) / 4)
		assert_true(fabs((double)trace_clock_time(&clock, (int64_t)time) -
				 (double)first.offset - true_time(&two, time)) <=
			    (double)clock.error);
	assert_true(fabs(trace_clock_ppm(&clock) - apart->fast * 1e6) <= clock.drift_error * 1e6);
	assert_true(fabs(apart->fast) * (last - AHEAD) / 2 > (double)clock.error);
	assert_true(clock.error < NEAR);
	end_two(&two);
}
TEST_ROWS(aparts, offset_and_drift_are_within_what_is_said);

/* The clock is computed from the creation and connection of the ends, and less exact. */
TEST(the_offset_without_messages)
{
	struct trace_clock clock;
	struct two two;

	begin_two(&two);
	connect_two(&two);
	check_two(&two, "another");
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.source, CLOCK_ESTIMATED);
	assert_int_equal(clock.messages, 0);
	assert_true(llabs(clock.offset - trace_clock(two.trace, 0).offset + AHEAD) <= clock.error);
	end_two(&two);
}

/* Two queue pairs for datagrams, each with an address handle to the LID @lid of the other. */
static struct ibv_ah handles[2];

static void begin_datagrams(struct two *two, uint16_t lid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_ah_attr to = { .port_num = 1 };

	end_types[0] = end_types[1] = IBV_QPT_UD;
	begin_two(two);
	end_types[0] = end_types[1] = IBV_QPT_RC;
	for (int i = 0; i < 2; i++) {
		handles[i] = (struct ibv_ah){ .context = &ends[i].context, .pd = &ends[i].pd };
		to.dlid = i ? 0x21 : lid;
		story_do(take_turn(two, i, 0), i, VERB_modify_qp, 30, 0, W(&ends[i].qp), W(&attr),
			 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
		story_do(take_turn(two, i, 0), i, VERB_create_ah, 31, W(&handles[i]),
			 W(&ends[i].pd), W(&to));
	}
}

static void send_datagram(struct story *s, int end)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(ud + 1);

	event->object = W(&ends[end].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 2;
	wr->opcode = IBV_WR_SEND;
	wr->nsge = 1;
	wr->parts = WR_UD;
	*ud = (struct event_ud){ .ah = W(&handles[end]), .remote_qpn = ends[!end].qp.qp_num };
	*sge = (struct event_sge){ AT, 8, ends[end].mr.lkey };
	story_event(s, end, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*ud) + sizeof(*sge)) / 8);
}

static void poll_datagram(struct story *s, int end)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = 1;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = ends[end].qp.qp_num;
	wc->src_qp = ends[!end].qp.qp_num;
	wc->slid = ends[!end].lid;
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void receive_datagram(struct two *two, int end)
{
	const struct event_sge room = { AT, 48, ends[end].mr.lkey };

	story_post(take_turn(two, end, 0), end, VERB_post_recv, &ends[end].qp, 1, 0, room);
	poll_datagram(take_turn(two, end, TAKES), end);
}

/* In both directions; one of three is lost. Returns how many were received. */
static uint64_t exchange_datagrams(struct two *two)
{
	enum { MANY = 30, LOST = 3 };
	uint64_t received = 0;

	for (int i = 0; i < 2 * MANY; i++) {
		send_datagram(take_turn(two, i % 2, TAKES), i % 2);
		if (i % LOST == 0)
			continue;
		receive_datagram(two, !(i % 2));
		received++;
	}
	return received;
}

TEST(datagrams_bound_the_clock_though_some_are_lost)
{
	struct trace_clock clock;
	uint64_t received;
	struct two two;

	begin_datagrams(&two, 0x22);
	received = exchange_datagrams(&two);
	check_two(&two, "another");
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.source, CLOCK_ESTIMATED);
	assert_int_equal(clock.pairs, 1);
	assert_int_equal(clock.messages, received);
	assert_true(llabs(clock.offset - trace_clock(two.trace, 0).offset + AHEAD) <= clock.error);
	end_two(&two);
}

/* Another queue pair with the number of the sender: its datagrams may be those that come. */
TEST(datagrams_of_two_senders_with_one_number_tell_nothing)
{
	struct ibv_qp_init_attr attr = { .send_cq = &ends[0].cq,
					 .recv_cq = &ends[0].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_UD };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct trace_clock clock;
	struct two two;

	begin_datagrams(&two, 0x22);
	for (int i = 0; i < 3; i++) {
		send_datagram(take_turn(&two, 0, TAKES), 0);
		receive_datagram(&two, 1);
	}
	story_do(take_turn(&two, 0, 0), 0, VERB_destroy_qp, 6, 0, W(&ends[0].qp));
	story_do(take_turn(&two, 0, 0), 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd),
		 W(&attr));
	story_do(take_turn(&two, 0, 0), 0, VERB_modify_qp, 30, 0, W(&ends[0].qp), W(&init),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	for (int i = 0; i < 3; i++) {
		send_datagram(take_turn(&two, 0, TAKES), 0);
		receive_datagram(&two, 1);
	}
	check_two(&two, "another");
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.messages, 0);
	assert_int_equal(clock.pairs, 0);
	end_two(&two);
}

/*
 * Datagrams in one direction are bounded on one side only by when queue pairs were made, long ago.
 * Nonetheless each is posted after its receive; and the error that is stated holds.
 */
TEST(datagrams_in_one_direction_are_sent_after_their_receives_are_posted)
{
	enum { MANY = 30, LONG_AGO = 4000000 };
	int64_t sent[MANY], posted[MANY];
	struct trace_clock clock, first;
	struct two two;

	begin_datagrams(&two, 0x22);
	take_turn(&two, 0, LONG_AGO);
	for (int i = 0; i < MANY; i++) {
		const struct event_sge room = { AT, 48, ends[1].mr.lkey };

		story_post(take_turn(&two, 1, TAKES), 1, VERB_post_recv, &ends[1].qp, 1, 0, room);
		posted[i] = (int64_t)two.s[1].now;
		send_datagram(take_turn(&two, 0, TAKES), 0);
		sent[i] = (int64_t)two.s[0].now;
		poll_datagram(take_turn(&two, 1, TAKES), 1);
	}
	check_two(&two, "another");
	first = trace_clock(two.trace, 0);
	clock = trace_clock(two.trace, 1);
	assert_int_equal(clock.messages, MANY);
	for (int i = 0; i < MANY; i++)
		assert_true(trace_clock_time(&clock, posted[i]) <=
			    trace_clock_time(&first, sent[i]));
	assert_true(llabs(clock.offset - first.offset + AHEAD) <= clock.error);
	assert_true(clock.error > LONG_AGO / 2);
	end_two(&two);
}

/* The datagrams went elsewhere: those with the same numbers belong to other queue pairs. */
TEST(datagrams_to_another_address_tell_nothing)
{
	struct two two;

	begin_datagrams(&two, 0x99);
	ends[1].lid = 0x99;
	exchange_datagrams(&two);
	check_two(&two, "another");
	assert_int_equal(trace_clock(two.trace, 1).messages, 0);
	assert_int_equal(trace_clock(two.trace, 1).source, CLOCK_ASSUMED);
	end_two(&two);
}

/* Two that have nothing in common but their numbers. */
static const struct stranger {
	const char *name;
	uint32_t number;
	uint16_t lid;
	uint32_t sq_psn, rq_psn;
} strangers[] = {
	{ "psns_of_others", 0x22, 0x22, 7, 8 },
	{ "a_number_of_another", 0x23, 0x22, 0, 0 },
	{ "an_address_of_another", 0x22, 0x99, 0, 0 },
};

static void strangers_are_not_joined(void **state)
{
	const struct stranger *stranger = *state;
	struct two two;

	begin_two(&two);
	ends[0].attr.sq_psn = stranger->sq_psn;
	ends[0].attr.rq_psn = stranger->rq_psn;
	connect_end(take_turn(&two, 0, 0), 0, stranger->number, stranger->lid, FAR);
	connect_end(take_turn(&two, 1, 0), 1, 0x21, 0x21, FAR);
	register_as(take_turn(&two, 0, 0), 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(take_turn(&two, 1, 0), 1, &ends[1].mr, FAR);
	write_to_what_is_gone(&two, LATER);
	check_two(&two, "another");
	assert_int_equal(trace_clock(two.trace, 1).source, CLOCK_ASSUMED);
	assert_int_equal(trace_clock(two.trace, 1).pairs, 0);
	assert_int_equal(count_findings(&two), 0);
	end_two(&two);
}
TEST_ROWS(strangers, strangers_are_not_joined);

TEST(attributes_that_do_not_fit)
{
	struct two two;

	begin_two(&two);
	ends[1].attr.path_mtu = IBV_MTU_4096;
	connect_two(&two);
	exchange_messages(&two);
	check_two(&two, "another");
	assert_true(two.findings->rules[RULE_STATE_005] >= 1);
	assert_non_null(strstr(two.findings->all[0]->says, "is connected to"));
	end_two(&two);
}

/* A third machine, with the same numbers as the second: they cannot be distinguished. */
TEST(of_two_that_are_alike_none_is_the_peer)
{
	struct story stories[3];
	struct trace *trace;
	struct two two;

	begin_two(&two);
	story_begin(&stories[2]);
	assert_int_equal(story_thread(&stories[2], PEER, 0, 0), 1);
	make_end(&stories[2], 1);
	connect_end(&stories[2], 1, 0x21, 0x21, FAR);
	connect_two(&two);
	memcpy(stories, two.s, sizeof(two.s));
	finish_story(&stories[0], NULL);
	finish_story(&stories[1], "second");
	finish_story(&stories[2], "third");
	open_stories(stories, 3, &trace);
	assert_int_equal(join_clocks(trace), 0);
	for (size_t i = 1; i < 3; i++)
		assert_int_equal(trace_clock(trace, i).source, CLOCK_ASSUMED);
	trace_close(trace);
	for (int i = 0; i < 3; i++)
		unlink(stories[i].path);
}

/* The third trace has no message, but its machine is that of the second. */
TEST(another_trace_of_a_machine_has_its_clock)
{
	struct story stories[3];
	struct trace *trace;
	struct two two;

	begin_two(&two);
	story_begin(&stories[2]);
	stories[2].now += AHEAD;
	make_end(&stories[2], 0);
	connect_two(&two);
	exchange_messages(&two);
	memcpy(stories, two.s, sizeof(two.s));
	finish_story(&stories[0], NULL);
	finish_story(&stories[1], "another");
	finish_story(&stories[2], "another");
	open_stories(stories, 3, &trace);
	assert_int_equal(join_clocks(trace), 0);
	assert_int_equal(trace_clock(trace, 2).source, CLOCK_ESTIMATED);
	assert_int_equal(trace_clock(trace, 2).offset, trace_clock(trace, 1).offset);
	assert_int_equal(trace_clock(trace, 2).error, trace_clock(trace, 1).error);
	trace_close(trace);
	for (int i = 0; i < 3; i++)
		unlink(stories[i].path);
}

/* The clock's description in a damaged trace may be arbitrary: times must stay valid. */
static const struct damage {
	const char *name, *boot, *sql;
} damages[] = {
	{ "a_time_of_day_in_290_years", "another",
	  "UPDATE meta SET value = '9300000000000000000' WHERE key = 'realtime'" },
	{ "ticks_that_last_for_ever", NULL,
	  "UPDATE meta SET value = '63' WHERE key = 'clock_shift';"
	  "UPDATE meta SET value = '1' WHERE key = 'clock_mult'" },
	{ "a_clock_that_began_long_ago", NULL,
	  "UPDATE meta SET value = '-9000000000000000000' WHERE key = 'clock_start'" },
	{ "losses_in_the_far_future", "another",
	  "INSERT INTO loss VALUES(1, 1, 1, 0, 9223372036854775806, 0)" },
};

static void damage_story(const struct story *s, const char *damage)
{
	sqlite3 *db;

	assert_int_equal(sql_open(s->path, SQLITE_OPEN_READWRITE, &db), 0);
	assert_int_equal(sql_exec(db, damage), 0);
	sqlite3_close(db);
}

static void times_are_bounded(void **state)
{
	const struct damage *damage = *state;
	const int64_t most = (int64_t)1 << 60;
	const struct trace_event *event;
	struct cursor *cursor;
	struct two two;

	begin_two(&two);
	connect_two(&two);
	exchange_messages(&two);
	finish_story(&two.s[0], NULL);
	finish_story(&two.s[1], damage->boot);
	damage_story(&two.s[1], damage->sql);
	open_stories(two.s, 2, &two.trace);
	assert_int_equal(join_clocks(two.trace), 0);
	assert_int_equal(cursor_open(two.trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) == 1)
		if (event->time < -most || event->time > most)
			fail_msg("%lld", (long long)event->time);
	cursor_close(cursor);
	trace_close(two.trace);
	for (int i = 0; i < 2; i++)
		unlink(two.s[i].path);
}
TEST_ROWS(damages, times_are_bounded);

/*
 * Three machines, of which the second is connected with both others: the clock of each is known
 * from any other, in two steps.
 */
static const struct chain {
	const char *name;
	int order[3];
	/* the second one's relative to the first's, the third's relative to the second's */
	double fast[2];
} chains[] = {
	{ "from_one_end", { 0, 1, 2 }, { 0, 0 } },
	{ "from_the_other_end", { 2, 1, 0 }, { 0, 0 } },
	{ "from_the_middle", { 1, 0, 2 }, { 0, 0 } },
	{ "the_farthest_before_the_next", { 0, 2, 1 }, { 0, 0 } },
	{ "with_drift", { 0, 1, 2 }, { 50e-6, 80e-6 } },
	{ "with_drift_from_the_other_end", { 2, 0, 1 }, { 50e-6, -80e-6 } },
};

/* The first of @two connects to the second, with other numbers than the pair before. */
static void connect_pair(struct two *two, uint32_t number)
{
	fill_end(&ends[0], number, number);
	fill_end(&ends[1], number + 1, number + 2);
	for (int i = 0; i < 2; i++)
		make_end(take_turn(two, i, 0), i);
	connect_end(take_turn(two, 0, 0), 0, number + 1, (uint16_t)(number + 1), FAR);
	connect_end(take_turn(two, 1, 0), 1, number, (uint16_t)number, FAR);
	for (int i = 0; i < 2; i++)
		register_as(take_turn(two, i, 0), i, &ends[i].mr, FAR);
}

/* Two pairs of neighbours: the second of the first pair is the first of the other. */
static void tell_chain(struct story stories[3], const struct chain *chain, unsigned int seed)
{
	struct two *two = calloc(1, sizeof(*two));

	for (int i = 0; i < 3; i++) {
		story_begin(&stories[i]);
		assert_int_equal(story_thread(&stories[i], PEER, 0, 0), 1);
		stories[i].now += (uint64_t)i * AHEAD;
	}
	for (int pair = 0; pair < 2; pair++) {
		memcpy(two->s, &stories[pair], sizeof(two->s));
		two->fast = chain->fast[pair];
		connect_pair(two, 0x41 + 16 * (uint32_t)pair);
		exchange_slowly(two, seed + (unsigned int)pair);
		memcpy(&stories[pair], two->s, sizeof(two->s));
	}
	free(two);
}

/* The time of machine @i when the first one's clock shows @time. */
static double time_of(const struct chain *chain, int i, double time)
{
	for (int pair = 0; pair < i; pair++)
		time = AHEAD + time * (1 + chain->fast[pair]);
	return time;
}

/* The error of a result in two steps is the sum of both. */
static void expect_more_doubt(const struct trace *trace, const struct chain *chain)
{
	size_t near = chain->order[1] == 1 ? 1 : 2;

	if (chain->order[0] == 1)
		return;
	assert_true(trace_clock(trace, 3 - near).error > trace_clock(trace, near).error);
	assert_true(trace_clock(trace, 3 - near).drift_error >
		    trace_clock(trace, near).drift_error);
}

static void steps_are_added_up(void **state)
{
	static const char *const boots[3] = { NULL, "second", "third" };
	struct story *stories = calloc(3, sizeof(*stories)),
		     *in_order = calloc(3, sizeof(*in_order));
	const struct chain *chain = *state;
	struct trace *trace;

	tell_chain(stories, chain, 11);
	for (int i = 0; i < 3; i++)
		finish_story(&stories[i], boots[i]);
	/* the time of day of the third is equally wrong */
	damage_story(&stories[2],
		     "UPDATE meta SET value = value + 10000000000 WHERE key = 'realtime'");
	for (int i = 0; i < 3; i++)
		memcpy(&in_order[i], &stories[chain->order[i]], sizeof(*stories));
	open_stories(in_order, 3, &trace);
	assert_int_equal(join_clocks(trace), 0);
	for (size_t i = 1; i < 3; i++) {
		struct trace_clock clock = trace_clock(trace, i), first = trace_clock(trace, 0);
		double rate = (1 + clock.drift) / (1 + first.drift);

		assert_int_equal(clock.source, CLOCK_ESTIMATED);
		assert_int_equal(clock.pairs, 1);
		assert_true(clock.messages > 0 && !clock.contradicts);
		assert_true(clock.error < 3 * NEAR);
		for (double time = 0; time < 9e9; time += 2e9) {
			double its = time_of(chain, chain->order[i], time);
			double other = time_of(chain, chain->order[0], time);

			assert_true(fabs((double)trace_clock_time(&clock, (int64_t)its) -
					 (double)trace_clock_time(&first, (int64_t)other)) <=
				    (double)clock.error);
		}
		rate *= time_of(chain, chain->order[i], 1e9) - time_of(chain, chain->order[i], 0);
		rate /= time_of(chain, chain->order[0], 1e9) - time_of(chain, chain->order[0], 0);
		assert_true(fabs(rate - 1) <= clock.drift_error);
	}
	expect_more_doubt(trace, chain);
	trace_close(trace);
	for (int i = 0; i < 3; i++)
		unlink(stories[i].path);
	free(stories);
	free(in_order);
}
TEST_ROWS(chains, steps_are_added_up);

static void print_sentence(void *arg, struct text *sentence, enum clock_source source)
{
	text_addf(arg, "%d: %s\n", (int)source, sentence->at);
}

/* Two pairs on one machine with the same numbers, @apart; the first @connected of them are. */
static void tell_pairs(struct story stories[RECORDINGS], uint64_t apart, int connected)
{
	struct two *two = calloc(1, sizeof(*two));
	char start[128];

	for (int i = 0; i < RECORDINGS; i++) {
		if (i % 2 == 0) {
			begin_two(two);
			if (i / 2 < connected) {
				connect_two(two);
				exchange_messages(two);
			}
		}
		stories[i] = two->s[i % 2];
		story_exit(&stories[i], i % 2 ? PEER : STORY_PID, 0);
		finish_story(&stories[i], NULL);
		snprintf(start, sizeof(start),
			 "UPDATE meta SET value = %" PRIu64 " WHERE key = 'clock_start'",
			 (i / 2) * apart + (i % 2 ? 0 : AHEAD));
		damage_story(&stories[i], start);
	}
	free(two);
}

static const struct repetition {
	const char *name;
	uint64_t apart; /* ns */
	int connected;
	const char *sentences;
} repetitions[] = {
	{ "strangers_after_a_pair", 1000000000, 1,
	  "1: t2: the same machine and clock, 1 joined queue pair\n"
	  "1: t3 and t4: the same machine and clock, no queue pair is joined with one of another "
	  "trace\n" },
	{ "after_each_other", 1000000000, 2,
	  "1: t2 and 2 more traces: the same machine and clock, joined queue pairs in each\n" },
	{ "at_the_same_time", 0, 2,
	  "1: t2 and 2 more traces: the same machine and clock, no queue pair is joined with "
	  "one of another trace\n" },
};

static void pairs_with_the_same_numbers(void **state)
{
	const struct repetition *repetition = *state;
	struct story *stories = calloc(RECORDINGS, sizeof(*stories));
	struct text sentences = { 0 };
	struct trace *trace;

	tell_pairs(stories, repetition->apart, repetition->connected);
	open_stories(stories, RECORDINGS, &trace);
	assert_int_equal(clocks_join(trace), 0);
	assert_int_equal(clock_text_visit(trace, 3, print_sentence, &sentences), 0);
	assert_string_equal(sentences.at, repetition->sentences);
	text_fini(&sentences);
	trace_close(trace);
	for (int i = 0; i < RECORDINGS; i++)
		unlink(stories[i].path);
	free(stories);
}
TEST_ROWS(repetitions, pairs_with_the_same_numbers);

TEST(names_are_of_the_trace_while_it_is_open)
{
	char text[PROCESS_TEXT], id[32];
	struct two two;

	begin_two(&two);
	check_two(&two, "another");
	assert_string_equal(process_id_text(1, text), "t1 process 1");
	assert_string_equal(process_id_text(4, text), "t2 process 2");
	assert_string_equal(event_id_text((struct event_id){ 3, 5 }, id), "t2:1:5");
	assert_int_equal(thread_number(3), 1);
	assert_int_equal(thread_number(1), 1);
	assert_int_equal(trace_part_process(two.trace, 4), 2);
	assert_int_equal(trace_part_event(two.trace, (struct event_id){ 3, 5 }).thread, 1);
	assert_int_equal(trace_whole_process(two.trace, 1, 2), 4);
	end_two(&two);
	assert_string_equal(process_id_text(4, text), "process 4");
	assert_string_equal(event_id_text((struct event_id){ 3, 5 }, id), "3:5");
}

TEST(a_file_is_no_peer_of_itself)
{
	struct trace *traces[2], *trace;
	const char *paths[2];
	struct two two;

	begin_two(&two);
	for (int i = 0; i < 2; i++) {
		finish_story(&two.s[i], NULL);
		paths[i] = two.s[0].path;
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(trace_open(paths[i], &traces[i]), 0);
	assert_int_equal(trace_join(traces, paths, 2, &trace), -EINVAL);
	for (int i = 0; i < 2; i++)
		unlink(two.s[i].path);
}

TEST_LAST(clocks_are_those_of_the_transcript)
{
	transcript_expect(__FILE__, &clocks);
}
