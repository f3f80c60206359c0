/* The rules of analyzer/rules/advice.c, and what model/serial.c takes for one request at a time. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SENDS = 200, EVENTS = 10, THREADS = 3 };

/* One request of process 1's queue pair, which has room for @room; or of @qp. */
static struct {
	struct ibv_qp *qp;
	int opcode;
	uint64_t local, remote;
	uint32_t length;
	unsigned int flags;
} request;

static void begin_with_room(struct story *s, uint32_t room)
{
	struct ibv_qp_init_attr attr = { .cap = { room, room, 1, 1, 64 }, .qp_type = IBV_QPT_RC };

	begin_story(s);
	story_do(s, 0, VERB_destroy_qp, 6, 0, W(&ends[0].qp));
	attr.send_cq = attr.recv_cq = &ends[0].cq;
	story_do(s, 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd), W(&attr));
	connect_end(s, 0, 0x22, 0x22, FAR);
	request.opcode = IBV_WR_SEND;
	request.local = AT;
	request.length = 64;
	request.flags = IBV_SEND_SIGNALED;
}

static void post_requests(struct story *s, int thread, enum verb verb, uint32_t n)
{
	struct event_post *event = (struct event_post *)s->words;
	uint64_t *at = (uint64_t *)(event + 1);

	event->object = request.qp ? W(request.qp) : W(&ends[thread].qp);
	event->verb = (unsigned int)verb & 0x1ff;
	event->nwr = (uint16_t)n;
	for (uint32_t i = 0; i < n; i++) {
		struct event_wr *wr = (struct event_wr *)at;
		struct event_rdma rdma = { .remote_addr = request.remote, .rkey = 0x21 };
		struct event_sge sge = { request.local, request.length, ends[thread].mr.lkey };
		bool is_rdma = request.opcode != IBV_WR_SEND && verb == VERB_post_send;

		wr->wr_id = 1;
		wr->opcode = (uint8_t)request.opcode;
		wr->flags = (uint8_t)request.flags;
		wr->nsge = 1;
		wr->parts = is_rdma ? WR_RDMA : 0;
		at += sizeof(*wr) / 8;
		if (is_rdma)
			memcpy(at, &rdma, sizeof(rdma));
		at += is_rdma ? sizeof(rdma) / 8 : 0;
		memcpy(at, &sge, sizeof(sge));
		at += sizeof(sge) / 8;
	}
	story_event(s, thread, EVENT_POST, (size_t)(at - s->words));
}

static void send_next(struct story *s)
{
	post_requests(s, 0, VERB_post_send, 1);
	poll_as(s, IBV_WC_SUCCESS);
}

static void end_process(struct story *s)
{
	story_do(s, 0, VERB_destroy_qp, 6, 0, W(&ends[0].qp));
	story_do(s, 0, VERB_dereg_mr, 6, 0, W(&ends[0].mr));
	story_do(s, 0, VERB_destroy_cq, 6, 0, W(&ends[0].cq));
	story_do(s, 0, VERB_dealloc_pd, 6, 0, W(&ends[0].pd));
	story_do(s, 0, VERB_close_device, 6, 0, W(&ends[0].context));
	story_exit(s, STORY_PID, 0);
}

/* One request at a time */

TEST(each_send_waits_for_the_one_before)
{
	struct story s;

	begin_with_room(&s, 64);
	for (uint64_t i = 0; i < SENDS; i++, request.local = AT + i % 64 * 64)
		send_next(&s);
	end_process(&s);
	story_tells(&s, RULE_PERF_008,
		    "199 of 200 requests of qp2 (number 0x21) were posted alone, directly after "
		    "the completion of the one before, though the queue has room for 64. One "
		    "request was outstanding in 199.0 us of 398.0 us, 50 % of the time.");
}

/* How the requests differ, and whether they could have been posted at once. */
static const struct {
	int opcode, local, remote, jump;
	bool ready;
} strides[] = {
	{ IBV_WR_SEND, 0, 0, 0, false }, /* the buffer is filled again first */
	{ IBV_WR_RDMA_WRITE, 64, 64, 0, true },
	{ IBV_WR_RDMA_WRITE, 64, 0, 0, false }, /* as ib_write_lat */
	{ IBV_WR_RDMA_READ, 64, 64, 0, true },
	{ IBV_WR_RDMA_READ, 64, 0, 0, false },
	{ IBV_WR_RDMA_READ, 64, 64, 192, false }, /* each has the address of the next */
};

TEST(requests_that_may_depend_on_the_last_are_not_ready)
{
	struct story s;

	for (size_t r = 0; r < sizeof(strides) / sizeof(strides[0]); r++) {
		begin_with_room(&s, 64);
		register_as(&s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ);
		request.opcode = strides[r].opcode;
		request.length = 1;
		request.remote = AT;
		for (int i = 0; i < SENDS; i++) {
			send_next(&s);
			request.local += (uint64_t)strides[r].local;
			request.remote += (uint64_t)strides[r].remote;
			if (strides[r].jump)
				request.remote = AT + (uint64_t)(i * i * strides[r].jump) % 1024;
		}
		end_process(&s);
		story_check(&s, NULL);
		if (s.findings->rules[RULE_PERF_008] != strides[r].ready)
			fail_msg("row %zu", r);
		story_end(&s);
	}
}

static void receive_at(struct story *s, uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[0].cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = wr_id;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = ends[0].qp.qp_num;
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static uint64_t count_found(struct story *s)
{
	uint64_t n;

	end_process(s);
	story_check(s, NULL);
	n = s->findings->rules[RULE_PERF_008];
	story_end(s);
	return n;
}

/* Sends over two queue pairs of process 1 in turn, @step bytes apart. Findings of PERF-008. */
static uint64_t send_in_turn(uint64_t step, bool answers)
{
	struct ibv_qp_init_attr attr = { .cap = { 64, 64, 1, 1, 64 }, .qp_type = IBV_QPT_RC };
	static struct ibv_qp second = { .qp_num = 0x31, .qp_type = IBV_QPT_RC };
	struct story s;

	begin_with_room(&s, 64);
	second.pd = &ends[0].pd;
	second.send_cq = second.recv_cq = attr.send_cq = attr.recv_cq = &ends[0].cq;
	story_do(&s, 0, VERB_create_qp, 4, W(&second), W(&ends[0].pd), W(&attr));
	for (int i = 0; i < SENDS; i++, request.local += step) {
		request.qp = i % 2 ? &second : NULL;
		post_requests(&s, 0, VERB_post_send, 1);
		story_poll(&s, 0, &ends[0].cq, 1, 0, i % 2 ? second.qp_num : ends[0].qp.qp_num);
		request.qp = NULL;
		if (answers)
			post_requests(&s, 1, VERB_post_send, 1);
	}
	story_do(&s, 0, VERB_destroy_qp, 6, 0, W(&second));
	return count_found(&s);
}

TEST(several_queue_pairs_in_turn_with_one_request_in_flight)
{
	assert_int_equal(send_in_turn(64, false), 1);
	assert_int_equal(send_in_turn(0, false), 0);
	assert_int_equal(send_in_turn(64, true), 0);
}

TEST(a_request_behind_an_answer_is_not_ready)
{
	struct story s;

	begin_with_room(&s, 64);
	for (int i = 0; i < SENDS; i++, request.local += 64) {
		post_requests(&s, 0, VERB_post_recv, 1);
		send_next(&s);
		receive_at(&s, 1);
	}
	assert_int_equal(count_found(&s), 0);
}

/* The answer is polled before the completion of the request. */
TEST(an_answer_may_come_first)
{
	struct story s;

	begin_with_room(&s, 64);
	for (int i = 0; i < SENDS; i++, request.local += 64) {
		post_requests(&s, 0, VERB_post_recv, 1);
		post_requests(&s, 0, VERB_post_send, 1);
		receive_at(&s, 1);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	assert_int_equal(count_found(&s), 0);
}

/* The answer is written to memory, which the process reads. */
TEST(an_answer_may_be_no_message)
{
	struct story s;

	begin_with_room(&s, 64);
	request.opcode = IBV_WR_RDMA_WRITE;
	request.remote = AT;
	for (int i = 0; i < SENDS; i++, request.local += 64, request.remote += 8) {
		send_next(&s);
		post_requests(&s, 1, VERB_post_send, 1);
	}
	assert_int_equal(count_found(&s), 0);
}

TEST(a_thread_with_work_in_between_has_none_ready)
{
	struct story s;

	begin_with_room(&s, 64);
	for (int i = 0; i < SENDS; i++, request.local += 64) {
		send_next(&s);
		s.now += 2000;
	}
	assert_int_equal(count_found(&s), 0);
}

TEST(a_short_queue_has_no_room_for_more)
{
	struct story s;

	begin_with_room(&s, 8);
	for (int i = 0; i < SENDS; i++, request.local += 64)
		send_next(&s);
	assert_int_equal(count_found(&s), 0);
}

TEST(several_requests_at_once_are_not_one)
{
	struct story s;

	begin_with_room(&s, 64);
	for (int i = 0; i < SENDS; i++, request.local += 64) {
		post_requests(&s, 0, VERB_post_send, 2);
		poll_as(&s, IBV_WC_SUCCESS);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	assert_int_equal(count_found(&s), 0);
}

/* READs and max_rd_atomic */

static void query_limits(struct story *s, int thread, int most)
{
	struct ibv_device_attr attr = { .max_qp_rd_atom = most, .max_qp_init_rd_atom = 16 };

	story_do(s, thread, VERB_query_device, 40, 0, W(&ends[thread].context), W(&attr));
}

/* Lists of @depth, where the device at the other end allows @most at once. */
static uint64_t read_in_lists(uint32_t depth, int most)
{
	struct story s;
	uint64_t n;

	begin_with_room(&s, 64);
	query_limits(&s, 0, 16);
	query_limits(&s, 1, most);
	register_as(&s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ);
	request.opcode = IBV_WR_RDMA_READ;
	request.remote = AT;
	for (uint32_t i = 0; i < SENDS; i += depth) {
		post_requests(&s, 0, VERB_post_send, depth);
		for (uint32_t k = 0; k < depth; k++)
			poll_as(&s, IBV_WC_SUCCESS);
	}
	end_process(&s);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_PERF_007];
	if (n && depth == 8)
		assert_non_null(
			strstr(s.findings->all[s.findings->n - 1]->says,
			       "175 of 200 READs and atomics of qp2 (number 0x21) were "
			       "posted while 1 (max_rd_atomic) or more were outstanding, at "
			       "most 8; the device allows 16 at once."));
	story_end(&s);
	return n;
}

TEST(more_reads_than_max_rd_atomic)
{
	assert_int_equal(read_in_lists(8, 16), 1);
	assert_int_equal(read_in_lists(8, 1),
			 0); /* the other end allows only one outstanding READ */
	assert_int_equal(read_in_lists(1, 16), 0);
	assert_int_equal(read_in_lists(2, 16), 0); /* twice as fast at best */
}

/* The path MTU */

static void query_mtu(struct story *s, int thread, int mtu)
{
	struct ibv_port_attr port = { .lid = ends[thread].lid, .active_mtu = (enum ibv_mtu)mtu };

	story_do(s, thread, VERB_query_port, 1, 0, W(&ends[thread].context), W(1), W(&port),
		 W(sizeof(port)));
}

/* IBV_MTU_* of the path and of both ports, and bytes of a message. */
static uint64_t send_with_mtu(int path, int own, int other, uint32_t bytes)
{
	struct story s;
	uint64_t n;

	fill_end(&ends[0], 0x21, 0x10);
	begin_ends(&s);
	ends[0].attr.path_mtu = ends[1].attr.path_mtu = (enum ibv_mtu)path;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	query_mtu(&s, 0, own);
	query_mtu(&s, 1, other);
	register_as(&s, 0, &ends[0].mr, FAR);
	request.opcode = IBV_WR_SEND;
	request.local = AT;
	request.length = bytes;
	request.flags = IBV_SEND_SIGNALED;
	for (uint32_t i = 0; i < SENDS; i++)
		send_next(&s);
	end_process(&s);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_PERF_009];
	story_end(&s);
	return n;
}

TEST(a_path_mtu_below_that_of_the_ports)
{
	assert_int_equal(send_with_mtu(IBV_MTU_256, IBV_MTU_4096, IBV_MTU_4096, 2048), 1);
	assert_int_equal(send_with_mtu(IBV_MTU_256, IBV_MTU_4096, IBV_MTU_4096, 2047), 0);
	assert_int_equal(send_with_mtu(IBV_MTU_256, IBV_MTU_4096, IBV_MTU_256, 4096), 0);
	assert_int_equal(send_with_mtu(IBV_MTU_256, IBV_MTU_256, IBV_MTU_256, 4096), 0);
	assert_int_equal(send_with_mtu(IBV_MTU_512, IBV_MTU_4096, IBV_MTU_4096, 4096), 1);
	/* 1 MB in all: the headers of packets of 1024 bytes are few */
	assert_int_equal(send_with_mtu(IBV_MTU_1024, IBV_MTU_4096, IBV_MTU_4096, 1 << 14), 0);
	assert_int_equal(send_with_mtu(IBV_MTU_1024, IBV_MTU_4096, IBV_MTU_4096, 1 << 20), 1);
}

/* Completion vectors */

static struct ibv_comp_channel channels[THREADS];
static struct ibv_cq cqs[THREADS];

/* CQs of process 1, whose events come to as many threads; @step between their vectors. */
static uint64_t wait_on_vectors(int vectors, int step, int threads)
{
	struct ibv_cq *got;
	void *unused = NULL;
	struct story s;
	uint64_t n;

	begin_ends(&s);
	ends[0].context.num_comp_vectors = vectors;
	story_do(&s, 0, VERB_open_device, 1, W(&ends[0].context), W(0x1000));
	for (int i = 1; i < threads; i++)
		story_thread(&s, STORY_PID, 0, 0);
	for (int i = 0; i < THREADS; i++) {
		channels[i] = (struct ibv_comp_channel){ .context = &ends[0].context, .fd = 5 + i };
		cqs[i] = (struct ibv_cq){ .context = &ends[0].context, .channel = &channels[i] };
		story_do(&s, 0, VERB_create_comp_channel, 3, W(&channels[i]), W(&ends[0].context));
		story_do(&s, 0, VERB_create_cq, 3, W(&cqs[i]), W(&ends[0].context), W(16), W(0),
			 W(&channels[i]), W(i * step));
	}
	for (int i = 0; i < THREADS * EVENTS; i++) {
		int of = i % THREADS, thread = of % threads ? 1 + of % threads : 0;

		got = &cqs[of];
		story_do(&s, thread, VERB_get_cq_event, 12, 0, W(&channels[of]), W(&got),
			 W(&unused));
		story_do(&s, thread, VERB_ack_cq_events, 13, 0, W(&cqs[of]), W(1));
	}
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_PERF_006];
	story_end(&s);
	return n;
}

TEST(threads_that_wait_on_one_vector)
{
	assert_int_equal(wait_on_vectors(8, 0, THREADS), 1);
	assert_int_equal(wait_on_vectors(8, 1, THREADS), 0);
	assert_int_equal(wait_on_vectors(1, 0, THREADS), 0);
	assert_int_equal(wait_on_vectors(8, 0, 1), 0); /* one thread is woken anyway */
}
