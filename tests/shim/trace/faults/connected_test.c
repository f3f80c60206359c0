/*
 * Queue pairs and identifiers of a program: which of them a fault moves to the error state
 */
#include "shim/trace/faults/connected.h"

#include <errno.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/ring/record.h"
#include "tests/test.h"

static struct ibv_cq cqs[2];
static struct ibv_context context;
static struct ibv_qp qps[] = {
	{ .context = &context, .send_cq = &cqs[0], .recv_cq = &cqs[0], .qp_num = 17 },
	{ .context = &context, .send_cq = &cqs[0], .recv_cq = &cqs[1], .qp_num = 18 },
	{ .context = &context, .send_cq = &cqs[1], .recv_cq = &cqs[0], .qp_num = 19 },
	{ .context = &context, .send_cq = &cqs[1], .recv_cq = &cqs[1], .qp_num = 20 },
};
static struct rdma_cm_id ids[2];

/* Bit N: queue pair N was moved to its error state, or identifier N disconnected. */
static unsigned int failed, disconnected;

static int fail_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(attr->qp_state, IBV_QPS_ERR);
	assert_int_equal(mask, IBV_QP_STATE);
	failed |= 1u << (qp - qps);
	return 0;
}

static int end_id(struct rdma_cm_id *id)
{
	assert_true(recorder.busy && recorder.ours);
	disconnected |= 1u << (id - ids);
	errno = EIO;
	return -1;
}

static int add_all(void **state)
{
	(void)state;
	atomic_store(&original_verbs[VERB_modify_qp], (void *)fail_qp);
	atomic_store(&original_verbs[VERB_rdma_disconnect], (void *)end_id);
	for (int i = 0; i < 4; i++)
		connected_add(&qps[i]);
	failed = disconnected = 0;
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		connected_remove(&qps[i]);
	for (int i = 0; i < 2; i++)
		connected_remove_id(&ids[i]);
	return 0;
}

FIXTURE(add_all, remove_all);

/* Fail the users of @cq. Returns their number. */
static unsigned int fail_users(const struct ibv_cq *cq)
{
	failed = 0;
	connected_fail_users(cq);
	return failed;
}

/* Bits of the queue pairs that failed, and of the identifiers from bit 4 on; -1: it has none. */
static int end_connection(int qp)
{
	bool found;

	failed = disconnected = 0;
	errno = EXDEV;
	found = connected_disconnect(&qps[qp]);
	assert_int_equal(errno, EXDEV);
	assert_false(recorder.busy || recorder.ours);
	return found ? (int)(failed | disconnected << 4) : -1;
}

TEST(users_of_a_queue_fail_with_it)
{
	assert_int_equal(fail_users(&cqs[0]), 7);
	assert_int_equal(fail_users(&cqs[1]), 14);
}

TEST(what_is_destroyed_does_not)
{
	connected_remove(&qps[1]);
	assert_int_equal(fail_users(&cqs[0]), 5);
	connected_remove(&qps[0]);
	connected_remove(&qps[0]);
	assert_int_equal(fail_users(&cqs[0]), 4);
	assert_int_equal(fail_users(&cqs[1]), 12);
}

TEST(identifiers_are_not_queue_pairs)
{
	connected_add_id(&ids[0], 17);
	assert_int_equal(fail_users(&cqs[0]), 7);
	connected_remove_id(&ids[0]);
	assert_int_equal(fail_users(&cqs[0]), 7);
}

TEST(a_connection_ends_at_its_queue_pair)
{
	assert_int_equal(end_connection(0), -1);
	connected_add_id(&ids[0], 17);
	connected_add_id(&ids[1], 19);
	assert_int_equal(end_connection(0), 1 | 1 << 4);
	assert_int_equal(end_connection(2), 4 | 2 << 4);
	assert_int_equal(end_connection(1), -1);
	connected_remove(&qps[0]);
	assert_int_equal(end_connection(0), 1 | 1 << 4);
	connected_remove_id(&ids[0]);
	assert_int_equal(end_connection(0), -1);
	assert_int_equal(end_connection(2), 4 | 2 << 4);
}

TEST(an_identifier_has_one_queue_pair)
{
	connected_add_id(&ids[0], 17);
	connected_add_id(&ids[0], 18);
	assert_int_equal(end_connection(0), -1);
	assert_int_equal(end_connection(1), 2 | 1 << 4);
}
