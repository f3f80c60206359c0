/*
 * replay/two_host/pair_order.c: what waits for the other host, and what is reported to it
 *
 * This half has queue pair QP (process 1, lives 1 and, after a reset, 2), datagram queue pair UD
 * (life 3) and region MR. Life 1 is connected to life 2 of the other half. No line and no trace: a
 * wait asks once whether its condition holds.
 */
#include <stdio.h>

#include "replay/state/recorded.h"
#include "replay/two_host/pair_match.h"
#include "replay/two_host/pair_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, UD, MR, MW, AH, SRQ, LATER_MR, NOBJECTS };
enum { SURE = 100, LIKELY = 10, TIMEOUT = 50, MOST = 16 };

static struct waited {
	uint64_t a, b;
	int64_t patience;
	bool so;
} waited[MOST];
static unsigned int nwaited;

static char sent[1024]; /* "made 0 77, credit 1 5" */

static struct replay replay;
static struct replay_options options;
static struct replica replicas[NOBJECTS];
static struct replica_qp qp_state;
static struct pair pair;
static struct pair_life mine[3], its[3];
static struct pair_own_life own[3];
static struct pair_needs needs[2];
static struct pair_stream my_streams[2];
static struct pair_other_life there[3];
static uint32_t of_mine[3], of_its[3], now_of[NOBJECTS], made[NOBJECTS];
static uint64_t posted[NOBJECTS], credits[4];
static struct pair_key keys[1];
static struct pair_use uses[2];
static struct ibv_ah_attr address;
static uint32_t inside; /* the datagram queue pair of this trace that has the number */
static const struct ibv_ah_attr *asked;

bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience)
{
	bool so = is_so(p, a, b);

	waited[nwaited++] = (struct waited){ a, b, patience, so };
	return so;
}

int64_t pair_wait_limit(const struct pair *p)
{
	(void)p;
	return SURE;
}

int64_t pair_check_interval(const struct pair *p)
{
	(void)p;
	return LIKELY;
}

void pair_send(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n)
{
	static const char *const names[] = {
		[PAIR_MADE] = "made", [PAIR_LISTEN] = "listen", [PAIR_LEAVES] = "leaves",
		[PAIR_GONE] = "gone", [PAIR_KEY] = "key",       [PAIR_CLOSED] = "closed"
	};
	size_t used = strlen(sent);

	(void)p;
	used += (size_t)snprintf(sent + used, sizeof(sent) - used, "%s%s", used ? ", " : "",
				 names[message]);
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(sent + used, sizeof(sent) - used, " %llu",
					 (unsigned long long)numbers[i]);
}

void pair_send_count(struct pair *p, struct pair_counts *counts, uint32_t index, uint64_t value)
{
	size_t used = strlen(sent);

	snprintf(sent + used, sizeof(sent) - used, "%s%s %u %lld", used ? ", " : "",
		 counts == &p->credit ? "credit" : "done", index, (long long)value);
}

uint32_t pair_match_datagram(const struct pair_table *table, uint32_t number,
			     const struct ibv_ah_attr *av)
{
	assert_ptr_equal(table, &pair.its);
	asked = av;
	return number == 33 ? 1 : 0;
}

uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time)
{
	(void)r;
	(void)id;
	(void)number;
	(void)av;
	(void)time;
	return inside;
}

enum verb recorded_verb(const struct call *call)
{
	return call->verb == VERB_reg_buf_mr ? VERB_reg_mr : call->verb;
}

static void make_objects(void)
{
	nobjects = 0;
	add_object(OBJECT_qp, 1, 0x10);
	add_object(OBJECT_qp, 1, 0x20);
	add_object(OBJECT_mr, 1, 0x30)->rkey = 0x300;
	add_object(OBJECT_mw, 1, 0x40);
	add_object(OBJECT_ah, 1, 0x50);
	add_object(OBJECT_srq, 1, 0x60);
	add_object(OBJECT_mr, 2, 0x30)->rkey = 0x300;
	memset(replicas, 0, sizeof(replicas));
	qp_state = (struct replica_qp){ 0 };
	replicas[QP] = (struct replica){ .handle = &qp_state, .number = 77, .qp = &qp_state };
	replicas[UD] = (struct replica){ .handle = &qp_state, .number = 78 };
	replicas[MR] = (struct replica){
		.handle = &qp_state, .rkey = 0x999, .recorded_base = 1000, .replayed_base = 2000
	};
	for (uint32_t i = 0; i + 1 < NOBJECTS; i++)
		made[i] = i + 1;
}

static void make_halves(void)
{
	mine[0] = mine[1] = (struct pair_life){ .object = QP, .process = 1, .type = IBV_QPT_RC };
	mine[2] =
		(struct pair_life){ .object = UD, .process = 1, .number = 22, .type = IBV_QPT_UD };
	own[0] = (struct pair_own_life){ .next = 2, .queue = QP };
	own[1] = (struct pair_own_life){ .queue = QP };
	own[2] = (struct pair_own_life){ .queue = UD };
	its[1] = (struct pair_life){ .process = 5, .finished = 8 };
	of_mine[0] = 2;
	of_mine[1] = of_mine[2] = 0;
	of_its[1] = 1;
	memset(now_of, 0, sizeof(now_of));
	now_of[QP] = 1;
	now_of[UD] = 3;
	my_streams[0] = (struct pair_stream){ .life = 0 };
	my_streams[1] = (struct pair_stream){ .life = 2, .source = 9 };
	needs[0] = (struct pair_needs){ .queue = QP, .direct = true };
	needs[1] = (struct pair_needs){ .queue = UD, .direct = true };
}

static int begin_pair(void **state)
{
	(void)state;
	make_objects();
	make_halves();
	memset(there, 0, sizeof(there));
	memset(posted, 0, sizeof(posted));
	memset(credits, 0, sizeof(credits));
	keys[0] = (struct pair_key){ 0 };
	nwaited = inside = 0;
	sent[0] = '\0';
	options = (struct replay_options){ .timeout = TIMEOUT };
	replay = (struct replay){ .options = &options,
				  .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .made = made,
				  .nmade = NOBJECTS - 1,
				  .pair = &pair };
	pair = (struct pair){
		.r = &replay,
		.mine = { .lives = mine, .nlives = 3, .streams = my_streams, .nstreams = 2 },
		.its = { .lives = its, .nlives = 3, .uses = uses },
		.of_mine = of_mine,
		.of_its = of_its,
		.own = own,
		.needs = needs,
		.now = now_of,
		.posted = posted,
		.there = there,
		.credits = credits,
		.keys = keys,
		.av = &address
	};
	return map_put(&pair.streams, 1ull << 32, 4) | map_put(&pair.streams, 22, 2) |
	       map_put(&pair.avs, AH, 1);
}

static int end_pair(void **state)
{
	(void)state;
	map_fini(&pair.streams);
	map_fini(&pair.avs);
	map_fini(&pair.failed);
	map_fini(&pair.sent_to);
	map_fini(&pair.key_of);
	return 0;
}

FIXTURE(begin_pair, end_pair);

static struct wr wrs[4];

static void make_post(enum verb verb, uint32_t object, uint32_t n, int ret)
{
	const struct post post = {
		.verb = verb, .object = object, .nwr = n, .wr = wrs, .ret = ret
	};
	const struct trace_event event = {
		.kind = TRACE_POST, .id = { 1, 10 }, .process = 1, .post = &post
	};

	pair_wait_before(&replay, &event);
	pair_report_after(&replay, &event);
}

static void post_one(uint32_t object, int opcode, uint32_t rkey)
{
	wrs[0] = (struct wr){ .opcode = opcode, .rkey = rkey, .ah = 0x50, .remote_qpn = 33 };
	nwaited = 0;
	make_post(VERB_post_send, object, 1, 0);
}

static void call_verb(enum trace_event_kind kind, enum verb verb, uint32_t object, const char *args,
		      const char *out)
{
	struct args *in = args_new(args, strlen(args)), *after = args_new(out, strlen(out));
	const struct call call = {
		.verb = verb, .object = object, .args = in, .out = after, .end = 5
	};
	const struct trace_event event = { .kind = kind, .process = 1, .call = &call };

	nwaited = 0;
	sent[0] = '\0';
	pair_wait_before(&replay, &event);
	pair_report_after(&replay, &event);
	args_unref(in);
	args_unref(after);
}

static void modify_qp(const char *qp_state_name)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"attr\":{\"qp_state\":\"%s\"}}", qp_state_name);
	call_verb(TRACE_CALL, VERB_modify_qp, QP, args, "{}");
}

static void expect_wait(unsigned int i, uint64_t a, uint64_t b, int64_t patience, bool so)
{
	assert_true(i < nwaited);
	assert_int_equal(waited[i].a, a);
	assert_int_equal(waited[i].b, b);
	assert_int_equal(waited[i].patience, patience);
	assert_int_equal(waited[i].so, so);
}

static void fail_request(enum ibv_wc_status status)
{
	map_put(&pair.failed, event_part_key((struct event_id){ 1, 10 }, 0), status);
}

TEST(a_request_waits_until_the_other_end_listens)
{
	(void)state;
	post_one(QP, IBV_WR_RDMA_WRITE, 5);
	assert_int_equal(nwaited, 1);
	expect_wait(0, 1, 0, SURE, false);
	there[1].listens = true;
	post_one(QP, IBV_WR_RDMA_READ, 5);
	expect_wait(0, 1, 0, SURE, true);
	there[1] = (struct pair_other_life){ .gone = true };
	post_one(QP, IBV_WR_RDMA_READ, 5);
	expect_wait(0, 1, 0, SURE, true);
	assert_int_equal(own[0].sent, 0);
}

TEST(a_message_waits_for_its_receive)
{
	static const int opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV,
				       IBV_WR_RDMA_WRITE_WITH_IMM };

	(void)state;
	credits[3] = 2;
	for (unsigned int i = 0; i < 4; i++) {
		post_one(QP, opcodes[i], 5);
		assert_int_equal(nwaited, 2);
		expect_wait(1, 3, i + 1, LIKELY, i < 2);
		assert_int_equal(own[0].sent, i + 1);
		assert_int_equal(own[0].vain, i < 2 ? 0 : i - 1);
	}
	post_one(QP, IBV_WR_SEND, 5);
	assert_int_equal(nwaited, 1); /* it has waited in vain twice */
	assert_int_equal(own[0].sent, 5);
}

TEST(requests_of_one_post_are_counted_in_order)
{
	(void)state;
	memset(wrs, 0, sizeof(wrs));
	wrs[0].opcode = wrs[2].opcode = IBV_WR_SEND;
	wrs[1].opcode = IBV_WR_RDMA_WRITE;
	make_post(VERB_post_send, QP, 3, 0);
	assert_int_equal(nwaited, 5);
	expect_wait(1, 3, 1, LIKELY, false);
	expect_wait(4, 3, 2, LIKELY, false);
	make_post(VERB_post_send, QP, 3, ENOMEM); /* none was taken */
	assert_int_equal(own[0].sent, 2);
	assert_int_equal(nwaited, 5);
}

TEST(a_request_that_was_not_carried_out_waits_for_what_made_it_fail)
{
	(void)state;
	fail_request(IBV_WC_RETRY_EXC_ERR);
	there[1].listens = true;
	post_one(QP, IBV_WR_SEND, 5);
	assert_int_equal(nwaited, 1);
	expect_wait(0, 1, 0, TIMEOUT, false);
	there[1].gone = true;
	post_one(QP, IBV_WR_SEND, 5);
	expect_wait(0, 1, 0, TIMEOUT, true);
	fail_request(IBV_WC_WR_FLUSH_ERR);
	post_one(QP, IBV_WR_SEND, 5);
	assert_int_equal(nwaited, 0);
	assert_int_equal(own[0].sent, 3);
}

TEST(a_refused_request_waits_until_the_other_end_listens)
{
	static const enum ibv_wc_status refused[] = { IBV_WC_RNR_RETRY_EXC_ERR,
						      IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR };

	for (size_t i = 0; i < 3; i++) {
		end_pair(NULL);
		begin_pair(NULL);
		fail_request(refused[i]);
		post_one(QP, IBV_WR_SEND, 5);
		assert_int_equal(nwaited, 1);
		expect_wait(0, 1, 0, SURE, false);
	}
}

TEST(a_refused_key_waits_until_its_region_is_gone)
{
	(void)state;
	fail_request(IBV_WC_REM_ACCESS_ERR);
	post_one(QP, IBV_WR_RDMA_WRITE, 0x55);
	assert_int_equal(nwaited, 2);
	expect_wait(1, process_key(5, 0x55), 1, LIKELY, true); /* a key that nobody has */
	map_put(&pair.key_of, process_key(5, 0x55), 1);
	post_one(QP, IBV_WR_RDMA_WRITE, 0x55);
	expect_wait(1, process_key(5, 0x55), 1, LIKELY, false);
	keys[0].gone = true;
	post_one(QP, IBV_WR_RDMA_WRITE, 0x55);
	expect_wait(1, process_key(5, 0x55), 1, LIKELY, true);
	keys[0].gone = false;
	there[1].leaves = true; /* so it stays until after this request */
	post_one(QP, IBV_WR_RDMA_WRITE, 0x55);
	expect_wait(1, process_key(5, 0x55), 1, LIKELY, true);
}

TEST(a_datagram_waits_for_its_queue_pair_and_a_receive)
{
	(void)state;
	post_one(UD, IBV_WR_SEND, 0);
	assert_int_equal(nwaited, 2);
	assert_ptr_equal(asked, &address);
	expect_wait(0, 0, 0, SURE, false);
	expect_wait(1, 1, 1, LIKELY, false);
	credits[1] = 2;
	there[0].listens = true;
	post_one(UD, IBV_WR_SEND, 0);
	expect_wait(0, 0, 0, SURE, true);
	expect_wait(1, 1, 2, LIKELY, true);
	inside = UD;
	post_one(UD, IBV_WR_SEND, 0);
	assert_int_equal(nwaited, 0);
	inside = 0;
	wrs[0].remote_qpn = 34;
	make_post(VERB_post_send, UD, 1, 0);
	assert_int_equal(nwaited, 0);
}

TEST(a_datagram_without_a_known_handle_goes_by_its_number)
{
	const struct wr wr = { .ah = 0x51, .remote_qpn = 33 };
	const struct trace_event event = { .kind = TRACE_POST, .process = 1 };

	(void)state;
	asked = &address;
	assert_int_equal(pair_find_target(&pair, &event, &wr), 1);
	assert_null(asked);
}

TEST(posts_without_another_end_wait_for_nothing)
{
	(void)state;
	of_mine[0] = 0;
	post_one(QP, IBV_WR_SEND, 0);
	post_one(MR, IBV_WR_SEND, 0);
	post_one(0, IBV_WR_SEND, 0);
	post_one(NOBJECTS, IBV_WR_SEND, 0);
	assert_int_equal(nwaited, 0);
	assert_int_equal(own[0].sent, 0);
}

TEST(nothing_is_left_before_the_other_end_is_done)
{
	(void)state;
	modify_qp("IBV_QPS_ERR");
	assert_int_equal(nwaited, 1);
	expect_wait(0, 1, 8, TIMEOUT, false);
	there[1].done = 7;
	call_verb(TRACE_RETURN, VERB_destroy_qp, QP, "{}", "{}");
	expect_wait(0, 1, 8, TIMEOUT, false);
	there[1].done = 8;
	call_verb(TRACE_RETURN, VERB_destroy_qp, QP, "{}", "{}");
	expect_wait(0, 1, 8, TIMEOUT, true);
	there[1] = (struct pair_other_life){ .gone = true };
	modify_qp("IBV_QPS_RESET");
	expect_wait(0, 1, 8, TIMEOUT, true);
	modify_qp("IBV_QPS_RTR");
	assert_int_equal(nwaited, 0);
	call_verb(TRACE_CALL, VERB_destroy_qp, QP, "{}", "{}");
	assert_int_equal(nwaited, 0);
	call_verb(TRACE_RETURN, VERB_destroy_qp, UD, "{}", "{}");
	assert_int_equal(nwaited, 0);
}

TEST(a_region_stays_until_requests_to_it_are_done)
{
	(void)state;
	uses[0] = (struct pair_use){ .life = 1, .rkey = 0x301, .last = 3 };
	uses[1] = (struct pair_use){ .life = 1, .rkey = 0x300, .last = 4 };
	pair.its.nuses = 2;
	there[1].done = 3;
	call_verb(TRACE_RETURN, VERB_dereg_mr, MR, "{}", "{}");
	assert_int_equal(nwaited, 1);
	expect_wait(0, 1, 4, TIMEOUT, false);
	assert_string_equal(sent, "closed 1 768");
	there[1].done = 4;
	call_verb(TRACE_RETURN, VERB_rereg_mr, MR, "{}", "{}");
	expect_wait(0, 1, 4, TIMEOUT, true);
	call_verb(TRACE_CALL, VERB_dereg_mr, MR, "{}", "{}");
	assert_int_equal(nwaited, 0);
	call_verb(TRACE_RETURN, VERB_dereg_mr, LATER_MR, "{}", "{}");
	assert_int_equal(nwaited, 0); /* of another process */
	of_its[1] = 0;
	call_verb(TRACE_RETURN, VERB_dereg_mr, MR, "{}", "{}");
	assert_int_equal(nwaited, 0);
}

TEST(a_key_that_comes_again_is_not_waited_for)
{
	(void)state;
	uses[0] = (struct pair_use){ .life = 1, .rkey = 0x300, .last = 4 };
	pair.its.nuses = 1;
	objects[LATER_MR].process = 1;
	call_verb(TRACE_RETURN, VERB_dereg_mr, MR, "{}", "{}");
	assert_int_equal(nwaited, 0);
	call_verb(TRACE_RETURN, VERB_dereg_mr, LATER_MR, "{}", "{}");
	assert_int_equal(nwaited, 1);
}

TEST(a_process_that_ends_leaves_what_it_has)
{
	struct trace_event event = { .kind = TRACE_EXIT, .process = 1 };

	(void)state;
	uses[0] = (struct pair_use){ .life = 1, .rkey = 0x300, .last = 4 };
	pair.its.nuses = 1;
	pair_wait_before(&replay, &event);
	assert_int_equal(nwaited, 2);
	expect_wait(0, 1, 4, TIMEOUT, false); /* the region, which was made last */
	expect_wait(1, 1, 8, TIMEOUT, false);
	replicas[MR].handle = NULL;
	event.process = 2;
	pair_wait_before(&replay, &event);
	assert_int_equal(nwaited, 2);
	event.process = 1;
	pair_wait_before(&replay, &event);
	assert_int_equal(nwaited, 3);
	assert_int_equal(pair.steps, 3);
}

TEST(calls_that_did_nothing_wait_for_nothing)
{
	static const char text[] = "{\"attr\":{\"qp_state\":\"IBV_QPS_ERR\"}}";
	struct args *args = args_new(text, strlen(text));
	struct call call = { .verb = VERB_modify_qp, .object = QP, .args = args, .end = 5 };
	struct trace_event event = { .kind = TRACE_CALL, .process = 1, .call = &call };

	(void)state;
	for (int i = 0; i < 6; i++) {
		event.inner = i == 1;
		call.ours = i == 2;
		call.depth = i == 3;
		call.failed = i == 4;
		call.end = i == 5 ? -1 : 0;
		pair_wait_before(&replay, &event);
		pair_report_after(&replay, &event);
		assert_int_equal(nwaited, 1);
		assert_string_equal(sent, "leaves 0, gone 0");
	}
	args_unref(args);
}

TEST(a_queue_pair_tells_its_number_for_all_its_lives)
{
	(void)state;
	posted[QP] = 6;
	call_verb(TRACE_CALL, VERB_create_qp, QP, "{}", "{}");
	assert_string_equal(sent, "made 0 77, made 1 77, credit 0 6");
	call_verb(TRACE_CALL, VERB_create_qp_ex, UD, "{}", "{}");
	assert_string_equal(sent, "made 2 78, credit 1 0");
	call_verb(TRACE_RETURN, VERB_create_qp, QP, "{}", "{}");
	assert_string_equal(sent, "");
	replicas[QP].number = 0;
	call_verb(TRACE_CALL, VERB_create_qp, QP, "{}", "{}");
	assert_string_equal(sent, "credit 0 6");
}

TEST(a_state_of_a_queue_pair_is_sent)
{
	(void)state;
	modify_qp("IBV_QPS_INIT");
	assert_string_equal(sent, "");
	modify_qp("IBV_QPS_RTR");
	assert_string_equal(sent, "listen 0");
	modify_qp("IBV_QPS_ERR");
	assert_string_equal(sent, "leaves 0, gone 0");
	qp_state.out[SIDE_SEND].tail = 12;
	posted[QP] = 3;
	modify_qp("IBV_QPS_RESET");
	assert_string_equal(sent, "leaves 0, gone 0");
	assert_int_equal(now_of[QP], 2);
	assert_int_equal(posted[QP], 0);
	assert_int_equal(own[1].base, 12);
	modify_qp("IBV_QPS_RESET"); /* no later connection of the queue pair exists */
	assert_int_equal(now_of[QP], 2);
	call_verb(TRACE_RETURN, VERB_destroy_qp, QP, "{}", "{}");
	assert_string_equal(sent, "gone 1");
	call_verb(TRACE_RETURN, VERB_destroy_qp, NOBJECTS, "{}", "{}");
	assert_string_equal(sent, "");
}

TEST(a_key_is_sent_with_what_it_counts_from)
{
	(void)state;
	call_verb(TRACE_CALL, VERB_reg_mr, MR, "{}", "{}");
	assert_string_equal(sent, "key 1 768 2457 1000 2000");
	call_verb(TRACE_CALL, VERB_reg_mr_iova, MR, "{}", "{}");
	assert_string_equal(sent, "key 1 768 2457 1000 2000");
	call_verb(TRACE_CALL, VERB_reg_mr_iova2, MR, "{}", "{}");
	assert_string_equal(sent, "key 1 768 2457 1000 2000");
	call_verb(TRACE_CALL, VERB_rereg_mr, MR, "{}", "{\"mr\":{\"rkey\":9}}");
	assert_string_equal(sent, "key 1 9 2457 1000 2000");
	call_verb(TRACE_CALL, VERB_rereg_mr, MR, "{}", "{}");
	assert_string_equal(sent, "");
	call_verb(TRACE_RETURN, VERB_reg_mr, MR, "{}", "{}");
	assert_string_equal(sent, "");
	replicas[MR].handle = NULL;
	call_verb(TRACE_CALL, VERB_reg_mr, MR, "{}", "{}");
	assert_string_equal(sent, "");
	call_verb(TRACE_CALL, VERB_rereg_mr, MR, "{}", "{\"mr\":{\"rkey\":9}}");
	assert_string_equal(sent, "");
}

TEST(receives_are_sent_as_room)
{
	(void)state;
	make_post(VERB_post_recv, QP, 3, 0);
	assert_string_equal(sent, "credit 0 3");
	sent[0] = '\0';
	make_post(VERB_post_recv, QP, 2, 0);
	assert_string_equal(sent, "credit 0 5");
	sent[0] = '\0';
	now_of[QP] = 2; /* the stream's life has ended */
	make_post(VERB_post_recv, QP, 2, 0);
	make_post(VERB_post_recv, SRQ, 1, 0);
	make_post(VERB_post_recv, 0, 1, 0);
	make_post(VERB_post_recv, NOBJECTS, 1, 0);
	assert_string_equal(sent, "");
	assert_int_equal(posted[QP], 7);
	assert_int_equal(posted[SRQ], 1);
}

TEST(room_of_a_shared_queue_is_what_the_messages_took)
{
	uint32_t took[] = { 1, 3, 4 };

	(void)state;
	needs[0] = (struct pair_needs){ .queue = SRQ, .posted = took, .n = 3 };
	make_post(VERB_post_srq_recv, SRQ, 2, 0);
	assert_string_equal(sent, "credit 0 1");
	sent[0] = '\0';
	make_post(VERB_post_srq_recv, SRQ, 1, 0);
	assert_string_equal(sent, "credit 0 2");
	sent[0] = '\0';
	make_post(VERB_post_srq_recv, SRQ, 1, 0);
	assert_string_equal(sent, "credit 0 -1"); /* any number */
}

TEST(completed_requests_are_counted_from_where_the_life_began)
{
	const struct wc wcs[] = { { .qp = UD }, { .qp = 0 }, { .qp = MR }, { .qp = QP } };
	const struct poll poll = { .nwc = 4, .wc = wcs };
	struct trace_event event = { .kind = TRACE_POLL, .poll = &poll };

	(void)state;
	qp_state.out[SIDE_SEND].head = 9;
	own[0].base = 2;
	pair_report_after(&replay, &event);
	assert_string_equal(sent, "done 0 7");
	event.inner = true;
	pair_report_after(&replay, &event);
	assert_string_equal(sent, "done 0 7");
}

TEST(without_a_pair_nothing_is_done)
{
	const struct trace_event event = { .kind = TRACE_EXIT, .process = 1 };

	(void)state;
	replay.pair = NULL;
	pair_wait_before(&replay, &event);
	pair_report_after(&replay, &event);
	assert_int_equal(pair.steps, 0);
}

TEST(the_other_end_is_that_of_the_current_life)
{
	(void)state;
	assert_int_equal(pair_other_of(&pair, QP), 2);
	assert_int_equal(pair_other_of(&pair, MR), 0);
	assert_int_equal(pair_other_of(&pair, NOBJECTS), 0);
	now_of[QP] = 2;
	assert_int_equal(pair_other_of(&pair, QP), 0);
}
