/*
 * A sender that died while it took a receive request: the next one undoes that, or not
 */
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/objects.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

static struct shm_rq *requests_of(const struct end *e)
{
	return ((struct soft_qp *)e->qp)->rq.shm;
}

static struct shm_cq *completions_of(const struct end *e)
{
	return ((struct soft_cq *)e->cq)->shm;
}

/* As deliver.c does it before it publishes the completion at @pos. */
static void begin_to_take(const struct end *e, uint32_t pos)
{
	struct shm_rq *rq = requests_of(e);

	rq->doing_cq = ((struct soft_cq *)e->cq)->ring.index;
	rq->doing = (uint64_t)rq->taken << 32 | (pos + 1);
	rq->taken++;
}

static void send_and_expect(struct pair *p, uint64_t wr_id)
{
	assert_int_equal(send_at(&p->a, 50, 0, 8), 0);
	expect_wc(p->a.cq, 50, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, wr_id, IBV_WC_SUCCESS);
	expect_none(p->b.cq);
	assert_int_equal(requests_of(&p->b)->doing, 0);
}

TEST(a_request_without_its_completion_is_taken_again)
{
	struct pair *p = *state;

	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
	send_and_expect(p, 0);
	begin_to_take(&p->b, completions_of(&p->b)->prod);
	send_and_expect(p, 1);
	assert_int_equal(requests_of(&p->b)->taken, 2);
	send_and_expect(p, 2);
}

TEST(a_request_that_was_not_taken_yet_is_there)
{
	struct pair *p = *state;
	struct shm_rq *rq = requests_of(&p->b);

	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
	begin_to_take(&p->b, completions_of(&p->b)->prod);
	rq->taken--;
	send_and_expect(p, 0);
	assert_int_equal(rq->taken, 1);
	send_and_expect(p, 1);
}

/* The completion was published; that it was counted is not known. */
TEST(a_request_with_its_completion_is_done)
{
	struct pair *p = *state;
	struct shm_rq *rq = requests_of(&p->b);

	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 50, 0, 8), 0);
	expect_wc(p->a.cq, 50, IBV_WC_SUCCESS);
	rq->taken--;
	begin_to_take(&p->b, completions_of(&p->b)->prod - 1);
	assert_int_equal(send_at(&p->a, 51, 0, 8), 0);
	expect_wc(p->a.cq, 51, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 0, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(rq->taken, 2);
}

TEST(a_queue_that_does_not_exist_is_not_looked_into)
{
	struct pair *p = *state;
	struct shm_rq *rq = requests_of(&p->b);

	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
	begin_to_take(&p->b, completions_of(&p->b)->prod);
	rq->doing_cq = SHM_CQ_MAX;
	send_and_expect(p, 1);
	assert_int_equal(rq->taken, 2);
}
