/*
 * A peer is stopped while it delivers: it holds a lock that we need
 *
 * It takes the lock itself and stops, so the test is deterministic. No verb of ours waits for it; a
 * request that needs it waits in its queue, and continues when the peer does.
 */
#include "shim/soft/transport/objects.h"
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { LOCK_OF_QP, LOCK_OF_CQ, LOCK_OF_ATOMICS, LOCK_OF_ITSELF };

/* The peer's end of the connection, once it has sent something. */
static struct lock *find_lock(struct end *e, int which)
{
	struct soft_remote *there = &to_qp(e->qp)->remote;

	switch (which) {
	case LOCK_OF_QP:
		return &there->shm->rq.lock;
	case LOCK_OF_CQ:
		return &there->cq.shm->lock;
	case LOCK_OF_ATOMICS:
		return &segment_own->atomics;
	default:
		return &to_qp(e->qp)->shm->rq.lock;
	}
}

static void stop_with_lock(struct end *e, int fd, struct address yours)
{
	struct lock *lock;
	char which;

	(void)yours;
	assert_int_equal(send_at(e, 0, 0, 8), 0);
	expect_wc(e->cq, 0, IBV_WC_SUCCESS);
	say_bytes(fd, "s", 1);
	hear_bytes(fd, &which, 1);
	lock = find_lock(e, which);
	lock_take(lock);
	raise(SIGSTOP);
	lock_drop(lock);
	await_word(fd);
}

struct stopped {
	struct end e;
	struct fellow f;
};

static int stopped_setup(void **state)
{
	struct stopped *s = calloc(1, sizeof(*s));

	s->f = fellow_start(stop_with_lock);
	end_open(&s->e);
	fellow_meet(&s->f, &s->e);
	assert_int_equal(recv_at(&s->e, 0, 0, 8), 0);
	await_word(s->f.fd);
	expect_wc(s->e.cq, 0, IBV_WC_SUCCESS);
	*state = s;
	return 0;
}

static void stop_fellow(struct stopped *s, char which)
{
	int status;

	say_bytes(s->f.fd, &which, 1);
	assert_int_equal(waitpid(s->f.pid, &status, WUNTRACED), s->f.pid);
	assert_true(WIFSTOPPED(status));
}

static void continue_fellow(struct stopped *s)
{
	kill(s->f.pid, SIGCONT);
}

static int stopped_teardown(void **state)
{
	struct stopped *s = *state;

	continue_fellow(s);
	assert_int_equal(fellow_stop(&s->f), 0);
	end_close(&s->e);
	free(s);
	return 0;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(stopped_setup, stopped_teardown);

/* Each of these would wait until the peer continues, which it never does. */
TEST(sends_wait_in_their_queue)
{
	struct stopped *s = *state;

	stop_fellow(s, LOCK_OF_ITSELF);
	assert_int_equal(
		rdma_at(&s->e, IBV_WR_RDMA_WRITE, 1, 8, s->f.address.addr, s->f.address.rkey), 0);
	expect_none(s->e.cq);
	expect_none(s->e.cq);
	continue_fellow(s);
	expect_wc(s->e.cq, 1, IBV_WC_SUCCESS);
}

/* The request is executed, and its completion comes later. */
TEST(completions_wait_for_their_queue)
{
	struct stopped *s = *state;
	int i;

	stop_fellow(s, LOCK_OF_CQ);
	for (i = 1; i <= 3; i++)
		assert_int_equal(rdma_at(&s->e, IBV_WR_RDMA_WRITE, i, 8, s->f.address.addr,
					 s->f.address.rkey),
				 0);
	expect_none(s->e.cq);
	assert_int_equal(ibv_req_notify_cq(s->e.cq, 0), 0);
	assert_int_equal(ibv_resize_cq(s->e.cq, END_CQE + 1), ETIMEDOUT);
	expect_none(s->e.cq);
	continue_fellow(s);
	for (i = 1; i <= 3; i++)
		expect_wc(s->e.cq, i, IBV_WC_SUCCESS);
	expect_none(s->e.cq);
	assert_int_equal(ibv_resize_cq(s->e.cq, END_CQE + 1), 0);
}

TEST(atomics_wait_for_those_before)
{
	struct stopped *s = *state;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = s->f.address.addr;
	wr.wr.atomic.rkey = s->f.address.rkey;
	wr.wr.atomic.compare_add = 5;
	stop_fellow(s, LOCK_OF_ATOMICS);
	assert_int_equal(send_wr(&s->e, wr, sge_of(&s->e, 0, 8)), 0);
	expect_none(s->e.cq);
	continue_fellow(s);
	expect_wc(s->e.cq, 1, IBV_WC_SUCCESS);
}

/* The verb fails without effect: the stopped process may use these objects when it continues. */
TEST(verbs_fail_for_what_it_uses)
{
	struct stopped *s = *state;

	stop_fellow(s, LOCK_OF_QP);
	assert_int_equal(to_state(s->e.qp, IBV_QPS_ERR), ETIMEDOUT);
	assert_int_equal(ibv_destroy_qp(s->e.qp), ETIMEDOUT);
	assert_int_equal(ibv_dereg_mr(s->e.mr), ETIMEDOUT);
	assert_int_equal(state_of(s->e.qp), IBV_QPS_RTS);
	assert_int_equal(recv_at(&s->e, 1, 0, 8), 0);
	assert_int_equal(
		rdma_at(&s->e, IBV_WR_RDMA_WRITE, 2, 8, s->f.address.addr, s->f.address.rkey), 0);
	expect_wc(s->e.cq, 2, IBV_WC_SUCCESS);
}

TEST(a_device_closes_all_the_same)
{
	struct stopped *s = *state;

	stop_fellow(s, LOCK_OF_QP);
	close(s->e.channel->fd);
	assert_int_equal(ibv_close_device(s->e.context), 0);
	end_open(&s->e);
}

/* The death of the peer ends the waiting. */
TEST(a_killed_peer_is_gone)
{
	struct stopped *s = *state;

	stop_fellow(s, LOCK_OF_QP);
	assert_int_equal(ibv_destroy_qp(s->e.qp), ETIMEDOUT);
	fellow_kill(&s->f);
	assert_int_equal(ibv_destroy_qp(s->e.qp), 0);
	s->e.qp = NULL;
}
