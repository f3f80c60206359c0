/* analyzer/rules/state_peer.c: attributes and receives of two ends. */
#include <rdma/rdma_cma.h>

#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { STALL = 655360000 };

static void connect_both(struct story *s)
{
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR);
}

static void receive_as_peer(struct story *s)
{
	const struct event_sge sge = { AT, 8, 0x20 };

	story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0, sge);
}

static void send_to_peer(struct story *s)
{
	const struct event_sge sge = { AT, 8, 0x10 };

	story_post(s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND, sge);
}

static void finds_once(struct story *s, enum rule_id rule, const char *says)
{
	story_check(s, NULL);
	assert_int_equal(s->findings->rules[rule], 1);
	for (size_t i = 0; i < s->findings->n; i++)
		if (s->findings->all[i]->rule == rule && !strstr(s->findings->all[i]->says, says))
			fail_msg("no '%s' in: %s", says, s->findings->all[i]->says);
	story_end(s);
}

/* The attributes of the first end, and of the second. */
static const struct pair {
	const char *name;
	struct ibv_qp_attr first, second;
	const char *says; /* NULL: nothing */
} pairs[] = {
	{ "psns_that_fit",
	  { .path_mtu = IBV_MTU_1024, .sq_psn = 7, .rq_psn = 9 },
	  { .path_mtu = IBV_MTU_1024, .sq_psn = 9, .rq_psn = 7 },
	  NULL },
	{ "psns_have_24_bits",
	  { .path_mtu = IBV_MTU_1024, .sq_psn = 0x1000007 },
	  { .path_mtu = IBV_MTU_1024, .rq_psn = 7 },
	  NULL },
	{ "a_psn_that_is_not_expected",
	  { .path_mtu = IBV_MTU_1024, .sq_psn = 7, .rq_psn = 9 },
	  { .path_mtu = IBV_MTU_1024, .sq_psn = 9, .rq_psn = 8 },
	  "sq_psn 0x7 and rq_psn 0x8." },
	{ "another_mtu",
	  { .path_mtu = IBV_MTU_1024 },
	  { .path_mtu = IBV_MTU_4096 },
	  "path_mtu IBV_MTU_1024 and IBV_MTU_4096." },
};

static void ends_fit(void **state)
{
	const struct pair *pair = *state;
	struct story s;

	begin_ends(&s);
	ends[0].attr = pair->first;
	ends[1].attr = pair->second;
	for (int i = 0; i < 2; i++) {
		ends[i].attr.timeout = 14;
		ends[i].attr.retry_cnt = ends[i].attr.rnr_retry = 7;
	}
	connect_both(&s);
	receive_as_peer(&s);
	for (int i = 0; i < 2; i++) { /* told once */
		send_to_peer(&s);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	if (pair->says) {
		finds_once(&s, RULE_STATE_005, pair->says);
	} else {
		story_finds_nothing(&s);
	}
}
TEST_ROWS(pairs, ends_fit);

/* The device delivers what has another PSN, and the sender does not poll. */
static void only_the_receive_is_polled(uint32_t psn, unsigned int findings)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr = ends[1].attr = (struct ibv_qp_attr){ .path_mtu = IBV_MTU_1024 };
	ends[0].attr.sq_psn = 7;
	ends[1].attr.rq_psn = psn;
	connect_both(&s);
	receive_as_peer(&s);
	send_to_peer(&s);
	((struct event_wc *)((struct event_poll *)s.words + 1))->opcode = IBV_WC_RECV;
	story_poll(&s, 1, &ends[1].cq, 1, IBV_WC_SUCCESS, ends[1].qp.qp_num);
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_STATE_005], findings);
	story_end(&s);
}

TEST(ends_are_compared_though_no_send_was_polled)
{
	only_the_receive_is_polled(8, 1);
	only_the_receive_is_polled(7, 0);
}

static void connect_again(struct story *s, int thread)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	story_do(s, thread, VERB_modify_qp, 30, 0, W(&ends[thread].qp), W(&attr), W(IBV_QP_STATE));
	connect_end(s, thread, ends[!thread].qp.qp_num, ends[!thread].lid, FAR);
}

/* A message, then "0": the sender is connected again, "1": the receiver; then another message. */
static int first_destroyed;

static void check_reconnect(const char *order, int status, unsigned int errors,
			    unsigned int hazards)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	for (int i = 0; i < 2; i++) {
		receive_as_peer(&s);
		send_to_peer(&s);
		((struct event_wc *)((struct event_poll *)s.words + 1))->opcode = IBV_WC_RECV;
		story_poll(&s, 1, &ends[1].cq, 1, IBV_WC_SUCCESS, ends[1].qp.qp_num);
		poll_as(&s, i ? status : IBV_WC_SUCCESS);
		for (const char *c = i ? "" : order; *c; c++)
			connect_again(&s, *c - '0');
	}
	for (int i = 0; i < 2; i++)
		story_do(&s, i ^ first_destroyed, VERB_destroy_qp, 9, 0,
			 W(&ends[i ^ first_destroyed].qp));
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_STATE_005], errors);
	assert_int_equal(s.findings->hazards[RULE_STATE_005], hazards);
	story_end(&s);
}

TEST(only_one_end_is_connected_again)
{
	check_reconnect("", IBV_WC_SUCCESS, 0, 0);
	check_reconnect("0", IBV_WC_SUCCESS, 0, 1);
	check_reconnect("0", IBV_WC_RETRY_EXC_ERR, 1, 0);
	check_reconnect("1", IBV_WC_SUCCESS, 0, 1);
	check_reconnect("1", IBV_WC_RETRY_EXC_ERR, 1, 0);
	check_reconnect("01", IBV_WC_SUCCESS, 0, 0);
	check_reconnect("10", IBV_WC_SUCCESS, 0, 0);
	first_destroyed = 1;
	check_reconnect("0", IBV_WC_SUCCESS, 0, 1);
	first_destroyed = 0;
}

TEST(another_transport)
{
	struct story s;

	end_types[1] = IBV_QPT_UC;
	begin_ends(&s);
	end_types[1] = IBV_QPT_RC;
	connect_both(&s);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	finds_once(&s, RULE_STATE_005, "qp_type IBV_QPT_RC and IBV_QPT_UC.");
}

TEST(more_reads_than_the_peer_has_room_for)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.max_rd_atomic = 16;
	connect_both(&s);
	register_as(&s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	finds_once(&s, RULE_STATE_005, "max_rd_atomic 16 and max_dest_rd_atomic 1.");
}

/* The only hazard of STATE-005; NULL: none. The process of the first end exits first. */
static const struct finding *end_with_hazard(struct story *s)
{
	const struct finding *found = NULL;

	story_exit(s, STORY_PID, 0);
	story_check(s, NULL);
	assert_int_equal(s->findings->rules[RULE_STATE_005], 0);
	for (size_t i = 0; i < s->findings->n; i++) {
		const struct finding *f = s->findings->all[i];

		if (f->rule != RULE_STATE_005)
			continue;
		assert_true(f->site->hazard);
		assert_null(found);
		found = f;
	}
	return found;
}

/* Reads of a queue pair that may have @mine outstanding, by a peer that takes @theirs. */
static void begin_reads(struct story *s, uint8_t mine, uint8_t theirs)
{
	begin_ends(s);
	ends[0].attr.max_rd_atomic = mine;
	ends[1].attr.max_dest_rd_atomic = theirs;
	connect_both(s);
	register_as(s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST(more_reads_allowed_than_are_used)
{
	const struct finding *found;
	struct story s;

	begin_reads(&s, 16, 1);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	found = end_with_hazard(&s);
	assert_non_null(strstr(found->says, "takes 1 (max_dest_rd_atomic). Up to 1 were outs"));
	assert_non_null(strstr(found->breaks, "it has more than 1 read at once"));
	story_end(&s);
}

TEST(more_reads_outstanding_than_the_peer_takes)
{
	const struct finding *found;
	struct story s;

	begin_reads(&s, 16, 1);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	post_rdma(&s, IBV_WR_ATOMIC_FETCH_AND_ADD, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	found = end_with_hazard(&s);
	assert_non_null(strstr(found->says, "may have 16 reads outstanding (max_rd_atomic)"));
	assert_non_null(strstr(found->says, "Up to 2 were outstanding at once."));
	assert_non_null(strstr(found->breaks, "the device of the peer enforces its limit"));
	story_end(&s);
}

/* The limit is known although the other queue pair was destroyed. */
TEST(more_reads_than_a_peer_took_that_is_gone)
{
	const struct finding *found;
	struct story s;

	begin_reads(&s, 16, 1);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	story_do(&s, 1, VERB_destroy_qp, 40, 0, W(&ends[1].qp));
	found = end_with_hazard(&s);
	assert_non_null(strstr(found->says, "takes 1 (max_dest_rd_atomic)"));
	story_end(&s);
}

TEST(as_many_reads_as_the_peer_takes)
{
	struct story s;

	begin_reads(&s, 2, 2);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	assert_null(end_with_hazard(&s));
	story_end(&s);
}

/* Many set the largest values at both ends, whether they read or not. */
TEST(no_reads_where_more_are_allowed)
{
	struct story s;

	begin_reads(&s, 16, 1);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	assert_null(end_with_hazard(&s));
	story_end(&s);
}

/* The error says it all. */
TEST(a_refused_read_is_no_hazard)
{
	struct story s;

	begin_reads(&s, 16, 1);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	story_exit(&s, STORY_PID, 0);
	finds_once(&s, RULE_STATE_005, "max_rd_atomic 16 and max_dest_rd_atomic 1.");
}

TEST(the_one_that_is_meant_means_another)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x99, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	finds_once(&s, RULE_STATE_005, "its dest_qp_num is 0x99, not 0x21");
}

/* An end was given its own number; the other end is connected to it, or not at all. */
static uint64_t connected_to_itself(uint32_t number)
{
	struct story s;
	uint64_t n;

	begin_ends(&s);
	connect_end(&s, 0, 0x21, 0x21, FAR);
	connect_end(&s, 1, number, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, (struct event_sge){ AT, 8, 0x10 });
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_STATE_005];
	if (n)
		assert_string_equal(
			story_only(&s, RULE_STATE_005)->says,
			"qp1 of process 1 (app) is connected to itself, since its "
			"dest_qp_num 0x21 is its own number, but qp1 of process 2 (app) "
			"is connected to it.");
	story_end(&s);
	return n;
}

TEST(an_end_is_connected_to_itself)
{
	assert_int_equal(connected_to_itself(0x21), 1);
	assert_int_equal(connected_to_itself(0x99), 0); /* on purpose */
}

TEST(a_number_at_another_lid_is_somebody_else)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x55, FAR);
	connect_end(&s, 1, 0x99, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	story_finds_nothing(&s);
}

TEST(sends_that_waited_for_the_first_receive)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	send_to_peer(&s);
	send_to_peer(&s);
	receive_as_peer(&s);
	receive_as_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	poll_as(&s, IBV_WC_SUCCESS);
	finds_once(&s, RULE_STATE_006,
		   "2 sends of qp1 of process 1 (app) waited 2000 ns for the first receive");
}

/* The send failed before the receive was posted; only its completion was polled after that. */
TEST(a_send_that_failed_before_the_first_receive_did_not_wait)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	send_to_peer(&s);
	receive_as_peer(&s);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	finds_once(&s, RULE_STATE_006,
		   "A send of qp1 of process 1 (app) failed with IBV_WC_RNR_RETRY_EXC_ERR: the "
		   "first receive of qp1 of process 2 (app) was posted 1000 ns after it.");
}

TEST(a_write_waits_for_no_receive)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	receive_as_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	story_finds_nothing(&s);
}

TEST(a_receive_before_the_send)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	receive_as_peer(&s);
	send_to_peer(&s);
	receive_as_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	story_finds_nothing(&s);
}

/* The peer of process 1 polls its first message. */
static void poll_first(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = 0x22 };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

enum { BEFORE = 1 << 0, SENDS = 1 << 1, BY_HAND = 1 << 2 };

/* The queue pair is connected by rdma_accept(), and receives a message. */
static void accept_and_receive(struct story *s, unsigned int how)
{
	static struct rdma_cm_id id;
	const struct event_sge sge = { AT, 8, 0x20 };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct story_call call;

	begin_ends(s);
	connect_end(s, 0, 0x22, 0x22, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR);
	if (how & BEFORE) {
		story_do(s, 1, VERB_modify_qp, 30, 0, W(&ends[1].qp), W(&init),
			 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
		receive_as_peer(s);
	}
	if (!(how & BY_HAND))
		call = story_call(s, 1, VERB_rdma_accept, 40, W(&id), W(0));
	s->inner = !(how & BY_HAND);
	connect_end(s, 1, 0x21, 0x21, FAR);
	s->inner = false;
	if (!(how & BY_HAND))
		story_return(s, &call, 0);
	if (!(how & BEFORE))
		receive_as_peer(s);
	if (how & SENDS)
		story_post(s, 1, VERB_post_send, &ends[1].qp, 2, IBV_WR_SEND, sge);
	send_to_peer(s);
	poll_as(s, IBV_WC_SUCCESS);
	poll_first(s);
}

TEST(a_connection_is_accepted_without_a_receive)
{
	struct story s;

	accept_and_receive(&s, 0);
	story_warns(&s, RULE_STATE_006,
		    "connected qp1 of process 2 (app) at 2:17, and no receive had been posted to "
		    "it: the first was posted 5000 ns later. It has sent nothing");
	accept_and_receive(&s, BEFORE);
	story_finds_nothing(&s);
	accept_and_receive(&s, SENDS); /* this may tell the peer to begin */
	story_finds_nothing(&s);
	accept_and_receive(&s, BY_HAND); /* the program tells the peer itself */
	story_finds_nothing(&s);
}

TEST(a_send_that_failed_since_no_receive_ever_came)
{
	struct story s;

	begin_ends(&s);
	connect_both(&s);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	finds_once(&s, RULE_STATE_006, "qp1 of process 2 (app) had never posted a receive");
}

TEST(no_retry_at_all)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 0;
	connect_both(&s);
	receive_as_peer(&s);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	finds_once(&s, RULE_STATE_007, "rnr_retry is 0");
}

/* Three sends that take @lasted each, with timers of the receiver, whose receives come @late. */
static const struct stall {
	const char *name;
	uint8_t timer;
	uint64_t lasted, late;
	bool wrong;
} stalls[] = {
	{ "the_longest_timer_over_and_over", 0, 2ull * STALL, STALL + 1000, true },
	{ "a_receive_just_behind_its_send", 0, STALL, 1000, true },
	{ "another_timer", 1, 2ull * STALL, STALL + 1000, false },
	{ "another_reason", 0, STALL + STALL / 2, 1000, false },
	{ "nothing_to_wait_for", 0, 1000, 0, false },
	{ "a_slow_way_to_receives_that_are_there", 0, STALL, 0, false },
	{ "a_way_slower_than_the_receive_was_late", 0, 3ull * STALL, 1000, false },
};

/* The receive is posted @late after the send, or before it. */
static void send_slowly(struct story *s, uint64_t lasted, uint64_t late)
{
	uint64_t begun;

	if (!late)
		receive_as_peer(s);
	begun = s->now;
	send_to_peer(s);
	s->now = begun + late;
	if (late)
		receive_as_peer(s);
	s->now = begun + lasted;
	poll_as(s, IBV_WC_SUCCESS);
}

static void sends_take_long(void **state)
{
	const struct stall *stall = *state;
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 7;
	ends[1].attr.min_rnr_timer = stall->timer;
	connect_both(&s);
	receive_as_peer(&s);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	for (int i = 0; i < 3; i++)
		send_slowly(&s, stall->lasted, stall->late);
	if (stall->wrong)
		finds_once(&s, RULE_STATE_007, "3 sends of qp1");
	else
		story_finds_nothing(&s);
}
TEST_ROWS(stalls, sends_take_long);

/* A path that is slow with receives posted is slow without. */
TEST(a_slow_way_does_not_become_a_timer)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 7;
	ends[1].attr.min_rnr_timer = 0;
	connect_both(&s);
	receive_as_peer(&s);
	send_to_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	for (int i = 0; i < 6; i++)
		send_slowly(&s, STALL, i % 2 * 1000ull);
	story_finds_nothing(&s);
}

/* After a reset earlier messages and receives do not count. */
TEST(receives_of_an_earlier_connection)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 7;
	ends[1].attr.min_rnr_timer = 0;
	connect_both(&s);
	for (int i = 0; i < 3; i++)
		send_slowly(&s, 1000, 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

		story_do(&s, i, VERB_modify_qp, 30, 0, W(&ends[i].qp), W(&attr), W(IBV_QP_STATE));
	}
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	for (int i = 0; i < 3; i++)
		send_slowly(&s, STALL, 1000);
	finds_once(&s, RULE_STATE_007, "3 sends of qp1");
}

/* No sender has waited for it; @receives were posted. */
static void use_timer(uint8_t timer, int receives, const char *says)
{
	struct story s;

	begin_ends(&s);
	ends[1].attr.min_rnr_timer = timer;
	connect_both(&s);
	for (int i = 0; i < receives; i++)
		receive_as_peer(&s);
	story_do(&s, 1, VERB_destroy_qp, 6, 0, W(&ends[1].qp));
	if (says)
		story_warns(&s, RULE_STATE_007, says);
	else
		story_finds_nothing(&s);
}

TEST(the_longest_timer_of_a_queue_pair_that_receives)
{
	use_timer(0, 1, "which receives, went to RTR with min_rnr_timer 0: 655.36 ms");
	use_timer(0, 0, NULL);
	use_timer(1, 1, NULL);
}

/* Unreliable queue pairs: what found no receive is lost. */

static struct ibv_ah an_ah;

static void send_datagram(struct story *s, uint64_t wr_id)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = (unsigned int)VERB_post_send & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = wr_id, .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .parts = WR_UD
	};
	*ud = (struct event_ud){ .ah = W(&an_ah), .remote_qpn = 0x22 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*ud)) / 8);
}

static uint64_t count_lost(int type, int receives, int sends, int status)
{
	struct ibv_ah_attr attr = { .dlid = 0x22, .port_num = 1 };
	struct story s;
	uint64_t n;

	end_types[0] = end_types[1] = type;
	begin_story(&s);
	an_ah = (struct ibv_ah){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(&s, 0, VERB_create_ah, 30, W(&an_ah), W(&ends[0].pd), W(&attr));
	for (int i = 0; i < receives; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
			   (struct event_sge){ AT, 64, 0x20 });
	for (int i = 0; i < sends; i++) {
		if (type == IBV_QPT_UD)
			send_datagram(&s, 1);
		else
			send_to_peer(&s);
		poll_as(&s, status);
	}
	end_types[0] = end_types[1] = IBV_QPT_RC;
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_STATE_006];
	for (size_t i = 0; i < s.findings->n && n; i++)
		if (s.findings->all[i]->rule == RULE_STATE_006 &&
		    !strstr(s.findings->all[i]->says, "The queue pair had 2 receives posted in "
						      "all: at least 2 found none and were "
						      "dropped."))
			fail_msg("%s", s.findings->all[i]->says);
	story_end(&s);
	return n;
}

TEST(messages_of_unreliable_queue_pairs_are_lost)
{
	assert_int_equal(count_lost(IBV_QPT_UC, 2, 4, IBV_WC_SUCCESS), 1);
	assert_int_equal(count_lost(IBV_QPT_UC, 2, 3, IBV_WC_SUCCESS), 0); /* a goodbye */
	assert_int_equal(count_lost(IBV_QPT_UC, 4, 4, IBV_WC_SUCCESS), 0);
	assert_int_equal(count_lost(IBV_QPT_UC, 0, 4, IBV_WC_LOC_PROT_ERR), 0); /* not sent */
}

/* Four receives, @late ns after @sends messages that had completed. */
static uint64_t late_receives(int type, int sends, int64_t late)
{
	struct ibv_ah_attr attr = { .dlid = 0x22, .port_num = 1 };
	struct story s;
	uint64_t n;

	end_types[0] = end_types[1] = type;
	begin_story(&s);
	an_ah = (struct ibv_ah){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(&s, 0, VERB_create_ah, 30, W(&an_ah), W(&ends[0].pd), W(&attr));
	for (int i = 0; i < sends; i++) {
		if (type == IBV_QPT_UD)
			send_datagram(&s, 1);
		else
			send_to_peer(&s);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	s.now += (uint64_t)late;
	for (int i = 0; i < 4; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
			   (struct event_sge){ AT, 64, 0x20 });
	end_types[0] = end_types[1] = IBV_QPT_RC;
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_STATE_006];
	for (size_t i = 0; i < s.findings->n && n; i++)
		if (s.findings->all[i]->rule == RULE_STATE_006)
			assert_non_null(strstr(s.findings->all[i]->says,
					       sends == 1 ? "at least 1 found none and was dropped."
							  : "queue pair had 4 receives posted in "
							    "all, the first of those that were "
							    "missing 20.0 ms too late: at least 2 "
							    "found none and were dropped."));
	story_end(&s);
	return n;
}

TEST(receives_come_too_late_for_datagrams)
{
	assert_int_equal(late_receives(IBV_QPT_UD, 2, 20000000), 1);
	assert_int_equal(late_receives(IBV_QPT_UD, 2, 5000000), 0); /* may be on their way */
	assert_int_equal(late_receives(IBV_QPT_UC, 2, 20000000), 1);
	assert_int_equal(late_receives(IBV_QPT_UC, 1, 20000000), 1);
	assert_int_equal(late_receives(IBV_QPT_UC, 2, 5000000), 0);
	assert_int_equal(late_receives(IBV_QPT_RC, 2, 20000000), 0);
}

TEST(datagrams_are_lost)
{
	assert_int_equal(count_lost(IBV_QPT_UD, 2, 4, IBV_WC_SUCCESS), 1);
	assert_int_equal(count_lost(IBV_QPT_UD, 2, 3, IBV_WC_SUCCESS), 0);
	assert_int_equal(count_lost(IBV_QPT_UD, 4, 4, IBV_WC_SUCCESS), 0);
	assert_int_equal(count_lost(IBV_QPT_UD, 0, 4, IBV_WC_LOC_PROT_ERR), 0);
}
