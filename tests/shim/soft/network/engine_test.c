/*
 * The device against a stranger: a socket that sends any packet, and sees what is answered. All in
 * a network namespace of its own, on its loopback interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/shim/soft/network/stranger.h"

GROUP(open_device, close_device);

static int begin_test(void **state)
{
	(void)state;
	if (!skipped)
		connect_qp(end.qp);
	return 0;
}

FIXTURE(begin_test, NULL);

/* What one request is answered with, and whether it ends the connection. */
struct trial {
	const char *name;
	uint8_t opcode;
	int32_t ahead;   /* of the expected PSN */
	uint32_t length; /* of the packet's payload */
	uint32_t dma;    /* of the request */
	uint32_t offset; /* in the region */
	uint32_t wrong;  /* added to the key */
	int answer;      /* opcode, or -1 */
	uint8_t syndrome;
	bool fails;
};

/* What it may be answered with. */
enum {
	ACK = OPCODE_ACKNOWLEDGE,
	RESULT = OPCODE_ATOMIC_ACKNOWLEDGE,
	ONLY = OPCODE_READ_RESPONSE_ONLY,
	FIRST = OPCODE_READ_RESPONSE_FIRST,
	GOOD = AETH_ACK,
	NOT_READY = AETH_RNR | 12,
	MISSING = AETH_NAK_SEQUENCE,
	INVALID = AETH_NAK_INVALID,
	DENIED = AETH_NAK_ACCESS,
};

/* clang-format off */
static const struct trial trials[] = {
	{ "write",
	  OPCODE_WRITE_ONLY, 0, 8, 8, 0, 0, ACK, GOOD, false },
	{ "write_with_padding",
	  OPCODE_WRITE_ONLY, 0, 7, 7, 0, 0, ACK, GOOD, false },
	{ "write_of_nothing",
	  OPCODE_WRITE_ONLY, 0, 0, 0, 0, 0, ACK, GOOD, false },
	{ "write_to_the_end",
	  OPCODE_WRITE_ONLY, 0, 8, 8, PART - 8, 0, ACK, GOOD, false },
	{ "write_beyond_the_end",
	  OPCODE_WRITE_ONLY, 0, 8, 8, PART - 7, 0, ACK, DENIED, true },
	{ "write_with_another_key",
	  OPCODE_WRITE_ONLY, 0, 8, 8, 0, 2, ACK, DENIED, true },
	{ "write_longer_than_said",
	  OPCODE_WRITE_ONLY, 0, 8, 4, 0, 0, ACK, INVALID, true },
	{ "write_shorter_than_said",
	  OPCODE_WRITE_ONLY, 0, 4, 8, 0, 0, ACK, INVALID, true },
	{ "write_above_the_mtu",
	  OPCODE_WRITE_ONLY, 0, MTU + 4, MTU + 4, 0, 0, ACK, INVALID, true },
	{ "first_packet_too_short",
	  OPCODE_WRITE_FIRST, 0, MTU - 4, PART, 0, 0, ACK, INVALID, true },
	{ "middle_without_first",
	  OPCODE_WRITE_MIDDLE, 0, MTU, 0, 0, 0, ACK, INVALID, true },
	{ "last_without_first",
	  OPCODE_SEND_LAST, 0, 8, 0, 0, 0, ACK, INVALID, true },
	{ "send_without_request",
	  OPCODE_SEND_ONLY, 0, 8, 0, 0, 0, ACK, NOT_READY, false },
	{ "write_with_imm_without_request",
	  OPCODE_WRITE_ONLY_IMM, 0, 8, 8, 0, 0, ACK, NOT_READY, false },
	{ "gap",
	  OPCODE_WRITE_ONLY, 1, 8, 8, 0, 0, ACK, MISSING, false },
	{ "duplicate",
	  OPCODE_WRITE_ONLY, -1, 8, 8, 0, 2, ACK, GOOD, false },
	{ "read",
	  OPCODE_READ_REQUEST, 0, 0, 8, 0, 0, ONLY, GOOD, false },
	{ "long_read",
	  OPCODE_READ_REQUEST, 0, 0, PART, 0, 0, FIRST, GOOD, false },
	{ "read_beyond_the_end",
	  OPCODE_READ_REQUEST, 0, 0, PART + 1, 0, 0, ACK, DENIED, true },
	{ "read_with_payload",
	  OPCODE_READ_REQUEST, 0, 4, 8, 0, 0, ACK, INVALID, true },
	{ "read_of_all_memory",
	  OPCODE_READ_REQUEST, 0, 0, UINT32_MAX, 0, 0, ACK, DENIED, true },
	{ "atomic",
	  OPCODE_FETCH_ADD, 0, 0, 0, 8, 0, RESULT, GOOD, false },
	{ "atomic_not_aligned",
	  OPCODE_FETCH_ADD, 0, 0, 0, 4, 0, ACK, INVALID, true },
	{ "atomic_with_another_key",
	  OPCODE_COMPARE_SWAP, 0, 0, 0, 8, 2, ACK, DENIED, true },
	{ "atomic_write",
	  OPCODE_ATOMIC_WRITE_ONLY, 0, 8, 8, 8, 0, ONLY, GOOD, false },
	{ "atomic_write_not_aligned",
	  OPCODE_ATOMIC_WRITE_ONLY, 0, 8, 8, 4, 0, ACK, INVALID, true },
	{ "atomic_write_of_four_bytes",
	  OPCODE_ATOMIC_WRITE_ONLY, 0, 4, 8, 8, 0, ACK, INVALID, true },
	{ "atomic_write_with_another_key",
	  OPCODE_ATOMIC_WRITE_ONLY, 0, 8, 8, 8, 2, ACK, DENIED, true },
	{ "duplicate_of_an_atomic_write",
	  OPCODE_ATOMIC_WRITE_ONLY, -1, 8, 8, 8, 2, ONLY, GOOD, false },
	{ "flush",
	  OPCODE_FLUSH_REQUEST, 0, 0, 8, 8, 0, ONLY, GOOD, false },
	{ "flush_beyond_the_end",
	  OPCODE_FLUSH_REQUEST, 0, 0, 9, PART - 8, 0, ACK, DENIED, true },
	{ "flush_with_payload",
	  OPCODE_FLUSH_REQUEST, 0, 4, 8, 8, 0, ACK, INVALID, true },
	{ "duplicate_of_a_flush",
	  OPCODE_FLUSH_REQUEST, -1, 0, 8, 8, 0, ONLY, GOOD, false },
	{ "duplicate_of_an_unknown_atomic",
	  OPCODE_FETCH_ADD, -1, 0, 0, 8, 0, -1, 0, false },
	{ "duplicate_read_that_is_new",
	  OPCODE_READ_REQUEST, -1, 0, PART, 0, 0, -1, 0, false },
	{ "answer_to_nothing",
	  OPCODE_ACKNOWLEDGE, 0, 0, 0, 0, 0, -1, 0, false },
	{ "response_to_nothing",
	  OPCODE_READ_RESPONSE_ONLY, 0, 8, 0, 0, 0, -1, 0, false },
};
/* clang-format on */

static void requests_are_answered(void **state)
{
	const struct trial *t = *state;
	struct header h = header_of(t->opcode, psn_add(PSN, t->ahead));

	NEEDS_NETWORK();
	begin_test(NULL);
	h.reth.addr = h.atomic.addr = (uintptr_t)end.buf + t->offset;
	h.reth.rkey = h.atomic.rkey = end.mr->rkey + t->wrong;
	h.reth.length = t->dma;
	send_as_peer(&h, bytes, t->length);
	wait_until_taken();
	if (t->answer < 0) {
		assert_false(take_answer(&h));
	} else {
		assert_true(take_answer(&h));
		assert_int_equal(h.bth.opcode, t->answer);
		assert_int_equal(h.aeth.syndrome, t->syndrome);
		assert_int_equal(h.bth.dest_qp, 0x77);
	}
	while (take_answer(&h))
		;
	assert_int_equal(qp_state(), t->fails ? IBV_QPS_ERR : IBV_QPS_RTS);
}

TEST_ROWS(trials, requests_are_answered);

/* Requests for memory that was registered, and cannot be accessed any more. */
struct gone {
	const char *name;
	uint8_t opcode;
	uint32_t length;
	uint8_t syndrome;
	int recv_status; /* -1: no request is taken */
};

static const struct gone gone[] = {
	{ "send", OPCODE_SEND_ONLY, 8, AETH_NAK_OPERATION, IBV_WC_LOC_PROT_ERR },
	{ "send_in_packets", OPCODE_SEND_FIRST, MTU, AETH_NAK_OPERATION, IBV_WC_LOC_PROT_ERR },
	{ "write", OPCODE_WRITE_ONLY, 8, AETH_NAK_OPERATION, -1 },
	{ "read", OPCODE_READ_REQUEST, 0, AETH_NAK_OPERATION, -1 },
	{ "atomic", OPCODE_FETCH_ADD, 0, AETH_NAK_OPERATION, -1 },
	{ "atomic_write", OPCODE_ATOMIC_WRITE_ONLY, 8, AETH_NAK_OPERATION, -1 },
};

static void post_recv_into(const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, mr->length, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(end.qp, &wr, &bad), 0);
}

static struct ibv_mr *make_gone_region(void)
{
	void *page = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(end.pd, page, PART,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);

	assert_non_null(mr);
	assert_int_equal(mprotect(page, PART, PROT_NONE), 0);
	return mr;
}

static void take_recv_status(int status)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(end.cq, 1, &wc))
		;
	assert_int_equal(wc.status, status);
}

static void unmapped_memory_is_an_error(void **state)
{
	const struct gone *g = *state;
	struct header h = header_of(g->opcode, PSN);
	struct ibv_mr *mr;

	NEEDS_NETWORK();
	begin_test(NULL);
	mr = make_gone_region();
	if (g->recv_status >= 0)
		post_recv_into(mr);
	h.reth.addr = h.atomic.addr = (uintptr_t)mr->addr;
	h.reth.rkey = h.atomic.rkey = mr->rkey;
	h.reth.length = 8;
	send_as_peer(&h, bytes, g->length);
	if (g->recv_status >= 0)
		take_recv_status(g->recv_status);
	wait_until_taken();
	assert_true(take_answer(&h));
	assert_int_equal(h.bth.opcode, OPCODE_ACKNOWLEDGE);
	assert_int_equal(h.aeth.syndrome, g->syndrome);
	assert_int_equal(qp_state(), IBV_QPS_ERR);
	munmap(mr->addr, PART);
	ibv_dereg_mr(mr);
}

TEST_ROWS(gone, unmapped_memory_is_an_error);

/* What is to be sent is gone, too. */
TEST(unmapped_memory_is_not_sent)
{
	struct ibv_mr *mr = skipped ? NULL : make_gone_region();
	struct ibv_sge sge = { mr ? (uintptr_t)mr->addr : 0, 8, mr ? mr->lkey : 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	NEEDS_NETWORK();
	assert_int_equal(ibv_post_send(end.qp, &wr, &bad), 0);
	take_recv_status(IBV_WC_LOC_PROT_ERR);
	munmap(mr->addr, PART);
	ibv_dereg_mr(mr);
}

TEST(strangers_get_no_answer)
{
	struct header h = header_of(OPCODE_WRITE_ONLY, PSN);

	NEEDS_NETWORK();
	h.reth.addr = (uintptr_t)end.buf;
	h.reth.rkey = end.mr->rkey;
	h.reth.length = 8;
	memset(end.buf, 0, 8);
	send_from(stranger, "::ffff:127.0.0.3", &h, bytes, 8, 0);
	send_from(peer, "::ffff:127.0.0.2", &h, bytes, 8, 1);
	h.bth.pkey = 0x7ffe;
	send_as_peer(&h, bytes, 8);
	h.bth.pkey = 0xffff;
	h.bth.opcode = OPCODE_UC | OPCODE_WRITE_ONLY;
	send_as_peer(&h, bytes, 8);
	h.bth.opcode = OPCODE_WRITE_ONLY;
	h.bth.dest_qp ^= 0x10000;
	send_as_peer(&h, bytes, 8);
	wait_until_taken();
	assert_false(take_answer(&h));
	assert_int_equal(end.buf[0], 0);
	assert_int_equal(recv(stranger, end.buf, 1, MSG_DONTWAIT), -1);
}

TEST(datagrams_need_the_qkey)
{
	struct header h = header_of(OPCODE_UD | OPCODE_SEND_ONLY, 0);

	NEEDS_NETWORK();
	h.bth.dest_qp = datagrams->qp_num;
	h.deth.qkey = QKEY + 1;
	memset(end.buf + DATAGRAM, 0, 64);
	send_as_peer(&h, bytes + 4, 4);
	wait_until_taken(); /* the request is still outstanding */
	assert_int_equal(end.buf[DATAGRAM + 40], 1);
}

TEST(atomics_are_executed_once)
{
	struct header h = header_of(OPCODE_FETCH_ADD, PSN);
	uint64_t value = 5;
	int i;

	NEEDS_NETWORK();
	memcpy(end.buf, &value, sizeof(value));
	h.atomic.addr = (uintptr_t)end.buf;
	h.atomic.rkey = end.mr->rkey;
	h.atomic.swap_add = 3;
	for (i = 0; i < 3; i++)
		send_as_peer(&h, bytes, 0);
	wait_until_taken();
	for (i = 0; i < 3; i++) {
		assert_true(take_answer(&h));
		assert_int_equal(h.bth.opcode, OPCODE_ATOMIC_ACKNOWLEDGE);
		assert_int_equal(h.atomic_ack.original, 5);
	}
	memcpy(&value, end.buf, sizeof(value));
	assert_int_equal(value, 8);
}

TEST(a_message_in_packets_completes_once)
{
	struct header h = header_of(OPCODE_SEND_FIRST, PSN);
	struct ibv_wc wc[4];
	int n = 0;

	NEEDS_NETWORK();
	post_recv_on(end.qp, 0, DATAGRAM);
	send_as_peer(&h, bytes, MTU);
	send_as_peer(&h, bytes, MTU);
	h = header_of(OPCODE_SEND_LAST, psn_add(PSN, 1));
	send_as_peer(&h, bytes, 5);
	send_as_peer(&h, bytes, 5);
	while (!n)
		n = ibv_poll_cq(end.cq, 4, wc);
	assert_int_equal(n, 1);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->byte_len, MTU + 5);
	wait_until_taken();
}

TEST(a_message_that_is_cut_is_flushed)
{
	struct header h = header_of(OPCODE_SEND_FIRST, PSN);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[4];

	NEEDS_NETWORK();
	post_recv_on(end.qp, 0, DATAGRAM);
	post_recv_on(end.qp, 8, DATAGRAM);
	send_as_peer(&h, bytes, MTU);
	wait_until_taken();
	assert_int_equal(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(end.cq, 4, wc), 2);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[0].wr_id, 0);
	assert_int_equal(wc[1].wr_id, 8);
}

/* Requests without an answer end by the timers, and not sooner. */
TEST(silence_ends_by_the_timers)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, 8, skipped ? 0 : end.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct timespec from, to;
	struct header h;
	struct ibv_wc wc;
	int64_t ns;
	int n = 0;

	NEEDS_NETWORK();
	while (take_answer(&h))
		;
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(ibv_post_send(end.qp, &wr, &bad), 0);
	while (!n)
		n = ibv_poll_cq(end.cq, 1, &wc);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_true(ns >= 2 * (4096ll << 10));
	for (n = 0; take_answer(&h); n++)
		assert_int_equal(h.bth.psn, PSN);
	assert_int_equal(n, 2);
}

/* The answer to a read fails the queue pair, while a request waits that was not begun. */
TEST(requests_that_were_not_begun_are_flushed)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, 8, skipped ? 0 : end.mr->lkey };
	struct ibv_send_wr fenced = { .wr_id = 2,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_FENCE };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .next = &fenced,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ },
			   *bad;
	struct header h;

	NEEDS_NETWORK();
	assert_int_equal(ibv_post_send(end.qp, &wr, &bad), 0);
	h = header_of(OPCODE_READ_RESPONSE_ONLY, PSN);
	h.aeth.syndrome = AETH_ACK;
	send_as_peer(&h, bytes, 4);
	expect_wc(end.cq, 1, IBV_WC_BAD_RESP_ERR);
	expect_wc(end.cq, 2, IBV_WC_WR_FLUSH_ERR);
	wait_until_taken();
	while (take_answer(&h))
		;
}

static uint64_t random_state = 1;

static uint32_t next_random(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % n;
}

/* A likely packet, with something odd. */
static void send_random(void)
{
	static const uint32_t lengths[] = { 0, 1, 4, 8, MTU - 1, MTU, MTU + 1, 4096 };
	struct header h = header_of(next_random(4) ? next_random(24) : next_random(256),
				    psn_add(PSN, next_random(12) - 4));

	if (!opcode_info(h.bth.opcode))
		return;
	if (!next_random(8))
		h.bth.dest_qp = datagrams->qp_num;
	h.bth.solicited = next_random(2);
	h.reth.addr = h.atomic.addr = (uintptr_t)end.buf + next_random(PART + 16) - 8;
	h.reth.rkey = h.atomic.rkey = end.mr->rkey + (next_random(8) ? 0 : next_random(9));
	h.reth.length = next_random(3) ? next_random(PART) : lengths[next_random(8)];
	h.deth.qkey = next_random(1000); /* wait_until_taken() needs the request itself */
	h.aeth.syndrome = next_random(128);
	h.ieth.rkey = next_random(1000);
	send_as_peer(&h, bytes, lengths[next_random(8)]);
}

static void post_random(void)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, next_random(PART), end.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.opcode = next_random(7);
	wr.wr.rdma.remote_addr = wr.wr.atomic.remote_addr = 4096;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		sge.length = 8;
	ibv_post_send(end.qp, &wr, &bad);
}

/* Sequences of packets, with requests of both ends; nothing outside of the region changes. */
TEST(random_packets_harm_nothing)
{
	const char *rounds = getenv("ROUNDS");
	int round, i, n = rounds ? atoi(rounds) : 150;
	struct header h;

	NEEDS_NETWORK();
	for (round = 0; round < n; round++) {
		connect_qp(end.qp);
		for (i = 0; i < 3; i++)
			post_recv_on(end.qp, i * 8, next_random(3000));
		for (i = 0; i < 24; i++) {
			if (next_random(6))
				send_random();
			else
				post_random();
			if (!next_random(8))
				wait_until_taken();
		}
		wait_until_taken();
		while (take_answer(&h))
			;
	}
	for (i = 0; i < PART; i++) {
		assert_int_equal(end.buf[i - PART], 0);
		assert_int_equal(end.buf[PART + i], 0);
	}
}
