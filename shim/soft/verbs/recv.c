/*
 * Posting receive requests
 *
 * On a queue pair in the error state a request is flushed at once. The state may change during a
 * post: the thread that changes it flushes requests that were published before, the posting thread
 * those published later. So publishing and reading the state are sequentially consistent, and so
 * are the two corresponding operations in deliver_fail().
 */
#include "shim/soft/verbs/recv.h"

#include <errno.h>

#include "shim/soft/transport/deliver.h"
#include "shim/soft/verbs/enter.h"

static void rq_publish(struct rq *rq, uint32_t prod)
{
	__atomic_store_n(&rq->shm->prod, prod, __ATOMIC_SEQ_CST);
}

static enum ibv_qp_state state_of(struct soft_qp *qp)
{
	return __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
}

static void flush_posted(struct soft_qp *qp)
{
	lock_take(&qp->shm->rq.lock);
	if (state_of(qp) == IBV_QPS_ERR)
		deliver_fail(qp);
	lock_drop(&qp->shm->rq.lock);
}

static int post_recv_request(struct soft_qp *qp, uint32_t pos, const struct ibv_recv_wr *wr)
{
	/* pairs with the store_release of polls: its slot is free */
	if (pos - __atomic_load_n(&qp->rq_retired, __ATOMIC_ACQUIRE) >= qp->init.cap.max_recv_wr)
		return ENOMEM;
	shm_expect_write(rq_wqe(&qp->rq, pos + SHM_RQ_APART / 2));
	return rq_write(&qp->rq, pos, wr);
}

static int post_list(struct soft_qp *qp, struct ibv_recv_wr **wr)
{
	uint32_t pos = qp->rq.shm->prod;
	uint32_t first = pos;
	int err = 0;

	for (; *wr; *wr = (*wr)->next) {
		err = post_recv_request(qp, pos, *wr);
		if (err)
			break;
		pos++;
	}
	if (pos == first)
		return err;
	rq_publish(&qp->rq, pos);
	if (unlikely(state_of(qp) == IBV_QPS_ERR))
		flush_posted(qp);
	return err;
}

int soft_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err;

	err = soft_enter(ibqp->context, "post_recv");
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	err = EINVAL;
	lock_take(&qp->posting);
	if (qp->rq.shm && state_of(qp) != IBV_QPS_RESET)
		err = post_list(qp, &wr);
	lock_drop(&qp->posting);
	if (err)
		*bad_wr = wr;
	return err;
}

static int post_shared(struct soft_srq *srq, const struct ibv_recv_wr *wr)
{
	struct rq *rq = &srq->rq;
	uint32_t prod = rq->shm->prod;
	uint32_t slot;
	int err;

	if (srq->slots - srq->num_free >= srq->max_wr)
		return ENOMEM;
	slot = srq->free[srq->num_free - 1];
	err = rq_write(rq, slot, wr);
	if (err)
		return err;
	srq->num_free--;
	rq->order[prod & rq->mask] = slot;
	rq_publish(rq, prod + 1);
	return 0;
}

int soft_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct soft_srq *srq = to_srq(ibsrq);
	int err;

	err = soft_enter(ibsrq->context, "post_srq_recv");
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	lock_take(&srq->posting);
	for (; wr; wr = wr->next) {
		err = post_shared(srq, wr);
		if (err)
			break;
	}
	lock_drop(&srq->posting);
	if (err)
		*bad_wr = wr;
	return err;
}
