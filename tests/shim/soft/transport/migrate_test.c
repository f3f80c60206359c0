#include <poll.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { NOBODY = 77 }; /* a LID */

static int load_path(struct end *e, uint16_t dlid)
{
	struct ibv_qp_attr attr = { .alt_port_num = 1,
				    .alt_timeout = 9,
				    .alt_ah_attr = { .dlid = dlid, .port_num = 1, .sl = 3 } };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_ALT_PATH);
}

static int set_mig(struct end *e, int to)
{
	struct ibv_qp_attr attr = { .path_mig_state = to };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_PATH_MIG_STATE);
}

static struct ibv_qp_attr query_qp(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr;
}

static bool has_event(struct end *e)
{
	struct pollfd pfd = { .fd = e->context->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void expect_event(struct end *e, int type)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	ibv_ack_async_event(&event);
	assert_int_equal(event.event_type, type);
	assert_ptr_equal(event.element.qp, e->qp);
}

static void exchange_message(struct end *from, struct end *to)
{
	assert_int_equal(recv_at(to, 1, 0, 8), 0);
	assert_int_equal(send_at(from, 2, 0, 8), 0);
	expect_wc(from->cq, 2, IBV_WC_SUCCESS);
	expect_wc(to->cq, 1, IBV_WC_SUCCESS);
}

static void arm_pair(struct pair *p, uint16_t dlid)
{
	assert_int_equal(load_path(&p->a, dlid), 0);
	assert_int_equal(load_path(&p->b, 1), 0);
	assert_int_equal(set_mig(&p->a, IBV_MIG_REARM), 0);
	assert_int_equal(query_qp(&p->a).path_mig_state, IBV_MIG_REARM);
	assert_int_equal(set_mig(&p->b, IBV_MIG_REARM), 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(both_ends_arm_each_other)
{
	struct pair *p = *state;

	assert_int_equal(query_qp(&p->a).path_mig_state, IBV_MIG_MIGRATED);
	arm_pair(p, 1);
	assert_int_equal(query_qp(&p->a).path_mig_state, IBV_MIG_ARMED);
	assert_int_equal(query_qp(&p->b).path_mig_state, IBV_MIG_ARMED);
	assert_int_equal(query_qp(&p->a).alt_ah_attr.sl, 3);
	assert_int_equal(query_qp(&p->a).ah_attr.sl, 0);
	assert_false(has_event(&p->a));
}

TEST(program_migrates_both_ends)
{
	struct pair *p = *state;

	arm_pair(p, 1);
	assert_int_equal(set_mig(&p->a, IBV_MIG_MIGRATED), 0);
	expect_event(&p->a, IBV_EVENT_PATH_MIG);
	expect_event(&p->b, IBV_EVENT_PATH_MIG);
	assert_int_equal(query_qp(&p->a).path_mig_state, IBV_MIG_MIGRATED);
	assert_int_equal(query_qp(&p->b).path_mig_state, IBV_MIG_MIGRATED);
	assert_int_equal(query_qp(&p->a).ah_attr.sl, 3);
	assert_int_equal(query_qp(&p->a).timeout, 9);
	assert_int_equal(query_qp(&p->b).ah_attr.sl, 3);
	exchange_message(&p->a, &p->b);
	exchange_message(&p->b, &p->a);
}

TEST(alternate_that_reaches_nobody_is_an_error)
{
	struct pair *p = *state;

	arm_pair(p, NOBODY);
	assert_int_equal(set_mig(&p->a, IBV_MIG_MIGRATED), 0);
	expect_event(&p->a, IBV_EVENT_PATH_MIG_ERR);
	assert_false(has_event(&p->b));
	assert_int_equal(query_qp(&p->a).ah_attr.sl, 0);
	exchange_message(&p->a, &p->b); /* the path has not changed */
}

TEST(peer_that_is_not_ready_learns_of_it)
{
	struct pair *p = *state;

	assert_int_equal(load_path(&p->a, 1), 0);
	assert_int_equal(set_mig(&p->a, IBV_MIG_ARMED), 0);
	assert_int_equal(set_mig(&p->a, IBV_MIG_MIGRATED), 0);
	expect_event(&p->a, IBV_EVENT_PATH_MIG);
	expect_event(&p->b, IBV_EVENT_PATH_MIG_ERR);
}

/* The primary path is changed for one that leads nowhere. */
static void lose_path(struct pair *p)
{
	struct ibv_qp_attr attr = { .ah_attr = { .dlid = NOBODY, .port_num = 1 } };

	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_AV), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
}

TEST(path_that_fails_is_left)
{
	struct pair *p = *state;

	arm_pair(p, 1);
	lose_path(p);
	exchange_message(&p->a, &p->b);
	expect_event(&p->a, IBV_EVENT_PATH_MIG);
	expect_event(&p->b, IBV_EVENT_PATH_MIG);
	assert_int_equal(query_qp(&p->a).ah_attr.dlid, 1);
}

TEST(two_paths_that_fail_are_one_too_many)
{
	struct pair *p = *state;

	arm_pair(p, NOBODY);
	lose_path(p);
	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_event(&p->a, IBV_EVENT_PATH_MIG_ERR);
	expect_none(p->b.cq);
}

TEST(only_what_was_loaded_is_armed)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = { .alt_port_num = 9,
				    .alt_ah_attr = { .dlid = 1, .port_num = 1 } };

	assert_int_equal(set_mig(&p->a, IBV_MIG_REARM), EINVAL);
	assert_int_equal(set_mig(&p->a, IBV_MIG_ARMED), EINVAL);
	assert_int_equal(set_mig(&p->a, 3), EINVAL);
	assert_int_equal(set_mig(&p->a, IBV_MIG_MIGRATED), 0);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_ALT_PATH), EINVAL);
	attr.alt_port_num = 1;
	attr.alt_timeout = 32;
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_ALT_PATH), EINVAL);
	attr.alt_timeout = 0;
	attr.path_mig_state = IBV_MIG_REARM;
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
}
