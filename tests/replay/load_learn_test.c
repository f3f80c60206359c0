/*
 * replay/load/load_learn.c: the traffic of a trace
 */
#include "replay/load/load_learn.h"

#include <errno.h>

#include "core/model/operation.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "tests/core/store/example.h"

static void post_one(int end, uint64_t us, int opcode, uint32_t bytes)
{
	struct example_wr wr = {
		.wr_id = 1, .opcode = opcode, .flags = IBV_SEND_SIGNALED, .lengths = { bytes }
	};

	if (operation_has_rkey(opcode)) {
		wr.parts = WR_RDMA;
		wr.rdma = (struct event_rdma){ 0x20000, 0x22 };
	}
	example_at(us);
	example_post(&example.ends[end], wr);
}

static struct load learn_example(void)
{
	struct load load;

	example_open(&example);
	assert_int_equal(load_learn(example.trace, UINT64_MAX, &load), 0);
	return load;
}

TEST(each_direction_is_a_sender)
{
	struct load load;
	const struct load_track *track;

	example_begin_connected(&example, IBV_QPT_RC, false, false);
	post_one(0, 100, IBV_WR_SEND, 64);
	post_one(1, 150, IBV_WR_SEND, 32);
	post_one(0, 300, IBV_WR_RDMA_WRITE, 128);
	load = learn_example();
	assert_int_equal(load.nranks, 2);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].transport, LOAD_RC);
	assert_int_equal(load.classes[0].depth, 16);
	assert_int_equal(load.classes[0].edges[0].from, 0);
	assert_int_equal(load.classes[0].edges[0].to, 1);
	assert_int_equal(load.classes[1].edges[0].from, 1);
	assert_int_equal(load.classes[1].tracks[0].start, 50000);
	track = load.classes[0].tracks;
	assert_int_equal(track->n, 2);
	assert_int_equal(track->start, 0);
	assert_int_equal(track->requests[1].gap, 200000);
	assert_int_equal(load.kinds[track->requests[1].kind].opcode, ABI_WR_RDMA_WRITE);
	assert_int_equal(load.kinds[track->requests[1].kind].bytes, 128);
	load_fini(&load);
	example_end(&example);
}

/* A window that is bound moves nothing. */
TEST(what_moves_no_bytes_is_counted)
{
	struct load load;

	example_begin_connected(&example, IBV_QPT_RC, false, false);
	post_one(0, 100, IBV_WR_SEND, 64);
	post_one(0, 110, IBV_WR_LOCAL_INV, 0);
	load = learn_example();
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.left_out, 1);
	load_fini(&load);
	example_end(&example);
}

/* Only one end has a queue pair: the other one is known by its address, and what came from it. */
TEST(a_peer_outside_sends_what_arrived)
{
	struct load load;
	struct ibv_qp_attr attr;

	example_begin(&example);
	example.ends[1].qp.qp_num = 0x999;
	example_create_qp(&example.ends[0], IBV_QPT_RC, 0x111, false);
	attr = example_attr(&example, 0, false, false);
	example_connect(&example, 0, &attr);
	example_at(90);
	example_receive(&example.ends[0], 1, 64);
	post_one(0, 100, IBV_WR_SEND, 64);
	example_at(200);
	example_poll(&example.ends[0], 1, IBV_WC_SUCCESS, IBV_WC_RECV, 48);
	load = learn_example();
	assert_int_equal(load.nranks, 2);
	assert_int_equal(load.outside, 1);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].edges[0].to, 1);
	assert_int_equal(load.classes[1].edges[0].from, 1);
	assert_int_equal(load.classes[1].edges[0].to, 0);
	assert_int_equal(load.classes[1].tracks[0].start, 100000);
	assert_int_equal(load.kinds[load.classes[1].tracks[0].requests[0].kind].bytes, 48);
	load_fini(&load);
	example_end(&example);
}

TEST(memory_is_limited)
{
	struct load load;

	example_begin_connected(&example, IBV_QPT_RC, false, false);
	post_one(0, 100, IBV_WR_SEND, 64);
	post_one(0, 101, IBV_WR_SEND, 64);
	example_open(&example);
	log_silence(true);
	assert_int_equal(load_learn(example.trace, 8, &load), -ENOSPC);
	log_silence(false);
	example_end(&example);
}

TEST(a_trace_without_posts_has_no_senders)
{
	struct load load;

	example_begin_connected(&example, IBV_QPT_RC, false, false);
	load = learn_example();
	assert_int_equal(load.nclasses, 0);
	load_fini(&load);
	example_end(&example);
}
