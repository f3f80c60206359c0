/*
 * Send queues: executing requests in order, and completing them
 *
 *	retired         next              head       retired + depth
 *	   | executed     | to be executed  | free        |
 *
 * A request occupies its slot until its own or a later completion was polled, as on hardware: a
 * program that never signals requests fills the queue.
 *
 * A request that cannot be executed at once, because the receiver is not ready or does not answer,
 * stays at the head with a time limit, and pending.c retries it. All later requests wait.
 */
#include "shim/soft/transport/sq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/fabric/flush.h"
#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/count.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/fault.h"
#include "shim/soft/transport/latency.h"
#include "shim/soft/transport/migrate.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/pace.h"
#include "shim/soft/transport/retry_timeout.h"
#include "shim/soft/transport/sq_fault.h"
#include "shim/soft/transport/tag.h"

static struct lock_bit bit_of(const struct soft_sq *sq)
{
	const struct soft_qp *qp = container(sq, const struct soft_qp, sq);

	return lock_bit(soft_sq_active, qp->ex.qp_base.handle);
}

bool sq_try_lock(struct soft_sq *sq)
{
	return lock_try(&sq->lock) || lock_wake(&sq->lock, bit_of(sq));
}

bool sq_wait_for_lock(struct soft_sq *sq)
{
	if (__atomic_load_n(&sq->build.thread, __ATOMIC_RELAXED) == pthread_self())
		return false;
	lock_wait_with(&sq->lock, bit_of(sq));
	return true;
}

size_t sq_lay_out(struct soft_sq *sq, const struct ibv_qp_cap *cap)
{
	uint32_t payload = cap->max_send_sge * sizeof(struct ibv_sge);
	uint32_t size = 1;

	if (payload < sizeof(uint64_t)) /* space for the value of ibv_wr_atomic_write() */
		payload = sizeof(uint64_t);
	if (payload < cap->max_inline_data)
		payload = cap->max_inline_data;
	while (size < cap->max_send_wr)
		size <<= 1;
	sq->depth = cap->max_send_wr;
	sq->mask = size - 1;
	sq->stride = (sizeof(struct soft_wr) + payload + 15) & ~15u;
	return (size + 1ul) * sq->stride;
}

void sq_reference_ahs(struct soft_qp *qp, uint32_t first)
{
	struct soft_sq *sq = &qp->sq;
	struct soft_wr *wr;

	if (qp->ex.qp_base.qp_type != IBV_QPT_UD)
		return;
	if ((int32_t)(sq->next - first) > 0)
		first = sq->next;
	for (; first != sq->head; first++) {
		wr = sq_slot(sq, first);
		wr->flags |= SQ_REFERENCES_AH;
		soft_ah_get(wr->ah);
	}
}

static void release_ah(struct soft_wr *wr)
{
	if (unlikely(wr->flags & SQ_REFERENCES_AH)) {
		wr->flags &= ~SQ_REFERENCES_AH;
		soft_ah_put(wr->ah);
	}
}

void sq_reset(struct soft_qp *qp)
{
	struct soft_sq *sq = &qp->sq;

	for (; sq->next != sq->head; sq->next++)
		release_ah(sq_slot(sq, sq->next));
	__atomic_store_n(&sq->retired, 0, __ATOMIC_RELAXED);
	sq->head = 0;
	sq->next = 0;
	sq->wait = WAIT_NONE;
	sq->draining = false;
	sq->owes = false;
	sq_fault_forget(sq);
	tag_forget_fins(sq);
	pace_set(sq, 0, 0);
	if (unlikely(fault_is_any()))
		fault_take_back(0, qp->shm->qpn);
	sq->build.err = EINVAL; /* drops the requests that are being built */
}

static enum ibv_qp_state state_of(const struct soft_qp *qp)
{
	return __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
}

/* clang-format off */
static const uint8_t wc_opcode[] = {
	[IBV_WR_RDMA_WRITE]		= IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND]			= IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM]		= IBV_WC_SEND,
	[IBV_WR_RDMA_READ]		= IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= IBV_WC_FETCH_ADD,
	[IBV_WR_LOCAL_INV]		= IBV_WC_LOCAL_INV,
	[IBV_WR_BIND_MW]		= IBV_WC_BIND_MW,
	[IBV_WR_SEND_WITH_INV]		= IBV_WC_SEND,
	[FLUSH_WR]			= FLUSH_WC,
	[IBV_WR_ATOMIC_WRITE]		= IBV_WC_ATOMIC_WRITE,
};
/* clang-format on */

/* Fill in and commit @cqe, the completion of @wr, the request at sq.next. */
static ALWAYS_INLINE void commit_completion(struct soft_qp *qp, const struct soft_wr *wr,
					    int status, struct shm_cqe *cqe)
{
	cqe->status = status;
	cqe->opcode = wc_opcode[wr->opcode];
	cqe->wr_id = wr->wr_id;
	cqe->byte_len = wr->length;
	cqe->qpn = qp->ex.qp_base.qp_num;
	cqe->qp = qp->ex.qp_base.handle;
	cqe->retire = qp->sq.next + 1;
	if (unlikely(status))
		cqe->vendor_err = qp->sq.vendor_err;
	cqring_commit(&qp->send_cq->ring, cqe, status != IBV_WC_SUCCESS);
}

/* By opcode: enum shm_counter_bit + 1; 0: not counted. */
static const uint8_t counted[] = {
	[IBV_WR_RDMA_WRITE] = SHM_COUNT_WRITE + 1,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = SHM_COUNT_WRITE + 1,
	[IBV_WR_SEND] = SHM_COUNT_SEND + 1,
	[IBV_WR_SEND_WITH_IMM] = SHM_COUNT_SEND + 1,
	[IBV_WR_RDMA_READ] = SHM_COUNT_READ + 1,
	[IBV_WR_SEND_WITH_INV] = SHM_COUNT_SEND + 1,
	[IBV_WR_ATOMIC_WRITE] = SHM_COUNT_WRITE + 1,
};

static void count_sent(struct soft_qp *qp, const struct soft_wr *wr, int status)
{
	if (counted[wr->opcode])
		count_request(segment_own, qp->shm, counted[wr->opcode] - 1, status, wr->length);
}

static inline bool is_silent(const struct soft_wr *wr, int status)
{
	return status == IBV_WC_SUCCESS && !(wr->flags & IBV_SEND_SIGNALED);
}

/* The request at sq.next, @wr, is done. @cqe: its CQE to be committed; NULL: no completion. */
static ALWAYS_INLINE void complete_request(struct soft_qp *qp, struct soft_wr *wr, int status,
					   struct shm_cqe *cqe)
{
	if (unlikely(qp->shm->counted))
		count_sent(qp, wr, status);
	release_ah(wr);
	if (cqe)
		commit_completion(qp, wr, status, cqe);
	qp->sq.next++;
}

/* Flush the request at sq.next. If the CQ overruns, the completion is lost. */
static void flush_request(struct soft_qp *qp, int status)
{
	struct soft_wr *wr = sq_slot(&qp->sq, qp->sq.next);

	complete_request(qp, wr, status,
			 is_silent(wr, status) ? NULL : cqring_begin_sure(&qp->send_cq->ring));
}

static void flush_requests(struct soft_qp *qp)
{
	qp->sq.vendor_err = 0;
	qp->sq.draining = false;
	sq_fault_forget(&qp->sq);
	if (unlikely(qp->sq.owes))
		flush_request(qp, qp->sq.owed);
	qp->sq.owes = false;
	while (qp->sq.next != qp->sq.head)
		flush_request(qp, IBV_WC_WR_FLUSH_ERR);
	qp->sq.wait = WAIT_NONE;
}

void sq_fail(struct soft_qp *qp)
{
	lock_take(&qp->shm->rq.lock);
	deliver_fail(qp);
	lock_drop(&qp->shm->rq.lock);
	flush_requests(qp);
}

/*
 * Stop after a local error: an unreliable queue pair stops sending but still receives (SQE); a
 * reliable one fails.
 */
static void stop_queue(struct soft_qp *qp)
{
	if (!retry_timeout_is_unreliable(qp)) {
		sq_fail(qp);
		return;
	}
	lock_take(&qp->shm->rq.lock);
	if (state_of(qp) == IBV_QPS_RTS)
		__atomic_store_n(&qp->shm->state, IBV_QPS_SQE, __ATOMIC_SEQ_CST);
	lock_drop(&qp->shm->rq.lock);
	flush_requests(qp);
}

/* May the request at the head wait any longer? */
static bool may_wait(struct soft_qp *qp, enum soft_wait wait)
{
	struct soft_sq *sq = &qp->sq;
	uint64_t now = process_now(), ns;

	if (sq->wait != wait) {
		ns = retry_timeout_ns(qp, wait);
		sq->wait = wait;
		sq->wait_until = ns == UINT64_MAX ? 0 : now + ns;
	}
	return !sq->wait_until || now < sq->wait_until;
}

/*
 * The completion of the request at sq.next cannot be added yet: a process was stopped while adding
 * an entry to the CQ.
 */
static bool owe_completion(struct soft_qp *qp, int status)
{
	qp->sq.owes = true;
	qp->sq.owed = status;
	qp->sq.wait = WAIT_COPY;
	qp->sq.wait_until = 0;
	return false;
}

/*
 * Finish a request without its completion: the CQ overruns, or another process was stopped while it
 * was adding an entry.
 */
static bool finish_without_completion(struct soft_qp *qp, struct soft_wr *wr, int status)
{
	if (qp->send_cq->ring.stuck)
		return owe_completion(qp, status);
	qp->sq.owes = false;
	qp->sq.wait = WAIT_NONE;
	complete_request(qp, wr, status, NULL);
	sq_fail(qp);
	return true;
}

/* Finish a request. False: it must wait. */
static ALWAYS_INLINE bool finish_with_completion(struct soft_qp *qp, struct soft_wr *wr, int status)
{
	struct shm_cqe *cqe = NULL;

	if (!is_silent(wr, status)) {
		cqe = cqring_begin(&qp->send_cq->ring);
		if (unlikely(!cqe))
			return finish_without_completion(qp, wr, status);
	}
	qp->sq.owes = false;
	qp->sq.wait = WAIT_NONE;
	complete_request(qp, wr, status, cqe);
	if (unlikely(status != IBV_WC_SUCCESS))
		stop_queue(qp);
	return true;
}

/* Complete a request that had to wait. */
static bool finish_request(struct soft_qp *qp, struct soft_wr *wr, int status)
{
	return finish_with_completion(qp, wr, status);
}

bool sq_finish(struct soft_qp *qp, int status)
{
	return finish_with_completion(qp, sq_slot(&qp->sq, qp->sq.next), status);
}

/* Finish a request. If its retries have run out, migrate to another path if there is one. */
static bool finish_or_migrate(struct soft_qp *qp, struct soft_wr *wr, int status)
{
	if (status != IBV_WC_RETRY_EXC_ERR || !migrate_away(qp))
		return finish_request(qp, wr, status);
	qp->sq.wait = WAIT_NONE;
	return true;
}

static bool takes_timer(const struct soft_qp *qp, int reason)
{
	return !retry_timeout_is_unreliable(qp) &&
	       (reason == EXECUTE_RNR || reason == EXECUTE_NO_PEER);
}

static bool wait_for_timer(struct soft_qp *qp, struct soft_wr *wr, int reason)
{
	int status = sq_fault_time(qp, wr, reason);

	if (status == EXECUTE_HELD)
		return false;
	sq_fault_forget(&qp->sq);
	return finish_or_migrate(qp, wr, status);
}

/* The request could not be executed (@reason: CARRY_...): wait, or give up. False: wait. */
static bool defer_request(struct soft_qp *qp, struct soft_wr *wr, int reason)
{
	int status = qp->sq.forced_status ? sq_fault_force_status(qp, wr, reason) : reason;

	if (unlikely(status >= 0))
		return finish_request(qp, wr, status);
	if (unlikely(retry_timeout_is_real) && takes_timer(qp, reason))
		return wait_for_timer(qp, wr, reason);
	switch (reason) {
	case EXECUTE_HELD:
		return false;
	case EXECUTE_RNR:
		return !may_wait(qp, WAIT_RNR) && finish_request(qp, wr, IBV_WC_RNR_RETRY_EXC_ERR);
	case EXECUTE_LATER:
		return !may_wait(qp, WAIT_COPY) && finish_request(qp, wr, IBV_WC_RETRY_EXC_ERR);
	default:
		if (may_wait(qp, WAIT_PEER))
			return false;
		return finish_or_migrate(qp, wr, IBV_WC_RETRY_EXC_ERR);
	}
}

/* Execute the request at sq.next. False: it and all later ones must wait. */
static ALWAYS_INLINE bool run_request(struct soft_qp *qp)
{
	struct soft_wr *wr = sq_slot(&qp->sq, qp->sq.next);
	bool timed = unlikely(fault_is_any()) || unlikely(retry_timeout_is_real);
	int status;

	if (unlikely(qp->sq.owes))
		return finish_request(qp, wr, qp->sq.owed);
	if (unlikely(qp->sq.rate) && pace_holds(&qp->sq))
		return false;
	if (unlikely(latency_any) && latency_holds(qp, wr))
		return false;
	status = timed ? sq_fault_execute(qp, wr) : execute_request(qp, wr);
	if (unlikely(qp->sq.rate) && status >= 0)
		pace_note_sent(&qp->sq, wr->length);
	return unlikely(status < 0) ? defer_request(qp, wr, status)
				    : finish_with_completion(qp, wr, status);
}

void sq_note_drained(struct soft_qp *qp)
{
	qp->sq.draining = false;
	if (qp->attr.en_sqd_async_notify)
		own_qp_notify(qp, IBV_EVENT_SQ_DRAINED);
}

/* In SQD: finish the request that had begun. False: it must wait. */
static bool drain_head(struct soft_qp *qp)
{
	if (!run_request(qp))
		return false;
	qp->sq.draining = false;
	if (state_of(qp) == IBV_QPS_SQD)
		sq_note_drained(qp);
	return true;
}

/* Deliver the results of finished rendezvous, before the next request is executed. */
static void finish_rendezvous(struct soft_qp *qp)
{
	if (tag_deliver_fins(qp))
		return;
	sq_fail(qp);
	own_qp_notify(qp, IBV_EVENT_QP_ACCESS_ERR);
}

static inline bool has_next(struct soft_qp *qp)
{
	if (unlikely(qp->sq.fins))
		finish_rendezvous(qp);
	return qp->sq.next != qp->sq.head;
}

/* Run the queue of a queue pair whose peer is on another machine. */
static void run_on_wire(struct soft_qp *qp)
{
	if (!qp->sq.owes || sq_finish(qp, qp->sq.owed))
		qp->wire->run(qp);
}

void sq_run(struct soft_qp *qp)
{
	while (has_next(qp)) {
		switch (state_of(qp)) {
		case IBV_QPS_RTS:
			if (unlikely(qp->wire)) {
				run_on_wire(qp);
				return;
			}
			if (!run_request(qp))
				return;
			break;
		case IBV_QPS_SQE:
			flush_requests(qp);
			break;
		case IBV_QPS_ERR:
			/* the process that failed @qp may have died before flushing the requests */
			sq_fail(qp);
			break;
		case IBV_QPS_SQD:
			if (qp->sq.draining && !qp->wire) {
				if (!drain_head(qp))
					return;
				break;
			}
			/* fall through */
		default:
			/* drained: wait until the queue pair is in RTS again, or has failed */
			if (qp->sq.wait == WAIT_NONE)
				qp->sq.wait = WAIT_STATE;
			return;
		}
	}
}
