/* The link's delay and rate within the fabric: nothing comes too early, and the best is on time. */
#include <time.h>

#include "tests/shim/soft/pair.h"

#define LINK_ENV "VERBATIM_SOFT_LINK_MODEL"

enum { TRIES = 30 /* on a busy machine a thread wakes late, but not each time */ };

static int make_link(void **state)
{
	setenv(LINK_ENV, "delay=4ms rate=80Mbit", 1);
	return fabric_setup(state);
}

GROUP(make_link, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Sleep until @n completions of @e are there. */
static void await_wcs(struct end *e, int n)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	for (;;) {
		assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
		for (; n && ibv_poll_cq(e->cq, 1, &wc); n--)
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (!n)
			return;
		assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
}

/* The time that @n requests take, which are posted together. */
static uint64_t time_requests(struct pair *p, enum ibv_wr_opcode opcode, int n, uint32_t length)
{
	struct address to = end_address(&p->b);
	uint64_t begin = now_us();
	int i;

	for (i = 0; i < n; i++)
		assert_int_equal(rdma_at(&p->a, opcode, 0, length, to.addr, to.rkey), 0);
	await_wcs(&p->a, n);
	return now_us() - begin;
}

static void expect_time(struct pair *p, enum ibv_wr_opcode opcode, int n, uint32_t length,
			uint64_t wanted)
{
	uint64_t took = UINT64_MAX;
	int i;

	for (i = 0; i < TRIES && took > wanted + wanted / 20; i++) {
		took = time_requests(p, opcode, n, length);
		assert_true(took >= wanted);
	}
	assert_in_range(took, wanted, wanted + wanted / 20);
}

TEST(a_message_takes_the_delay)
{
	struct pair *p = *state;
	uint64_t begin = now_us();

	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	await_wcs(&p->b, 1);
	assert_true(now_us() - begin >= 4000);
	await_wcs(&p->a, 1);
}

TEST(a_write_takes_the_delay)
{
	expect_time(*state, IBV_WR_RDMA_WRITE, 1, 0, 4000);
}

TEST(a_read_takes_the_delay_twice)
{
	expect_time(*state, IBV_WR_RDMA_READ, 1, 0, 8000);
}

TEST(requests_leave_one_after_the_other_at_the_rate)
{
	expect_time(*state, IBV_WR_RDMA_WRITE, 10, 10000, 14000);
}
