#include <errno.h>
#include <time.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* A queue pair for raw packets, which have no receiver. */
enum { FRAME = 64, SLOW = 64 /* kbit/s */, FRAME_NS = 8000000 };

/* Before the device looks for it. */
__attribute__((constructor(101))) static void use_ethernet(void)
{
	setenv("VERBATIM_SOFT_LINK", "roce", 1);
}

static int set_up(void **state)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { END_DEPTH, END_DEPTH, 2, 2, 0 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct end *e = calloc(1, sizeof(*e));

	end_open(e);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &attr);
	assert_non_null(e->qp);
	assert_int_equal(ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PORT), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_RTR), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_RTS), 0);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	end_close(*state);
	free(*state);
	return 0;
}

static int limit_to(struct ibv_qp *qp, uint32_t rate, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = rate, .max_burst_sz = burst };

	return ibv_modify_qp_rate_limit(qp, &limit);
}

static uint32_t limit_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	return attr.rate_limit;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void send_frames(struct end *e, int n)
{
	while (n--)
		assert_int_equal(send_at(e, 1, 0, FRAME), 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(device_tells_what_it_limits)
{
	struct end *e = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(e->context, NULL, &attr), 0);
	assert_int_equal(attr.packet_pacing_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	assert_true(attr.packet_pacing_caps.qp_rate_limit_min <= SLOW &&
		    attr.packet_pacing_caps.qp_rate_limit_max > SLOW);
	assert_int_equal(limit_to(e->qp, attr.packet_pacing_caps.qp_rate_limit_max, 0), 0);
	assert_int_equal(limit_to(e->qp, attr.packet_pacing_caps.qp_rate_limit_max + 1, 0), EINVAL);
}

TEST(query_tells_the_limit)
{
	struct end *e = *state;
	struct ibv_qp_attr attr = { .rate_limit = 5000 };

	assert_int_equal(limit_of(e->qp), 0);
	assert_int_equal(limit_to(e->qp, SLOW, 0), 0);
	assert_int_equal(limit_of(e->qp), SLOW);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_RATE_LIMIT), 0);
	assert_int_equal(limit_of(e->qp), 5000);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
	assert_int_equal(limit_of(e->qp), 0);
}

TEST(bad_limits_are_refused)
{
	struct end *e = *state;
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = SLOW, .comp_mask = 1 };
	struct ibv_qp_attr attr = { .rate_limit = UINT32_MAX };

	assert_int_equal(ibv_modify_qp_rate_limit(e->qp, &limit), EINVAL);
	assert_int_equal(limit_to(e->qp, 0, FRAME), EINVAL);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_RATE_LIMIT), EINVAL);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
	assert_int_equal(limit_to(e->qp, SLOW, 0), EINVAL); /* in RTS only */
}

TEST(other_transports_have_none)
{
	struct end *e = *state;
	struct ibv_qp *qp = make_qp(e, NULL);

	assert_int_equal(limit_to(qp, SLOW, 0), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

TEST(requests_wait_for_their_time)
{
	struct end *e = *state;
	uint64_t begin = now_ns();
	int i;

	assert_int_equal(limit_to(e->qp, SLOW, 0), 0);
	send_frames(e, 3);
	for (i = 0; i < 3; i++)
		expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	assert_true(now_ns() - begin >= 2 * FRAME_NS);
}

TEST(burst_does_not_wait)
{
	struct end *e = *state;
	struct ibv_wc wc[3];

	/* a frame takes half a second */
	assert_int_equal(limit_to(e->qp, 1, 2 * FRAME), 0);
	send_frames(e, 3);
	assert_int_equal(ibv_poll_cq(e->cq, 3, wc), 3);
}

TEST(without_a_limit_the_rest_goes_at_once)
{
	struct end *e = *state;
	struct ibv_wc wc[3];

	assert_int_equal(limit_to(e->qp, 1, 0), 0);
	send_frames(e, 3);
	assert_int_equal(ibv_poll_cq(e->cq, 3, wc), 1);
	assert_int_equal(limit_to(e->qp, 0, 0), 0);
	assert_int_equal(ibv_poll_cq(e->cq, 3, wc), 2);
}

TEST(destroy_does_not_wait)
{
	struct end *e = *state;

	assert_int_equal(limit_to(e->qp, 1, 0), 0);
	send_frames(e, 3);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = NULL;
}
