/*
 * Queue pairs of this process: slot, state, events
 */
#include "shim/soft/transport/own_qp.h"

#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/segment.h"

int own_qp_find_slot(void)
{
	return soft_slot(soft_qps, profile_limits()->max_qp, &soft_qp_slots);
}

void own_qp_set_state(struct soft_qp *qp, enum ibv_qp_state state)
{
	__atomic_store_n(&qp->shm->state, state, __ATOMIC_SEQ_CST);
}

void own_qp_notify(struct soft_qp *qp, int type)
{
	struct ibv_qp *ibqp = &qp->ex.qp_base;
	struct pipe_event event = { PIPE_QP, ibqp->handle, qp->serial, type };

	pipe_send(segment_own, to_context(ibqp->context)->async, &event);
}

/*
 * Is the lock's owner stopped? Usually no lock is taken: a program with thousands of queue pairs
 * calls this for each region.
 */
static inline bool is_stuck(struct lock *lock)
{
	return unlikely(__atomic_load_n(&lock->owner, __ATOMIC_RELAXED)) && lock_is_stuck(lock);
}

bool own_qp_has_stuck_lock(void)
{
	uint32_t i, qps = soft_slots_end(&soft_qp_slots), srqs = soft_slots_end(&soft_srq_slots);

	for (i = 0; i < qps; i++)
		if (soft_qps[i] && is_stuck(&soft_qps[i]->shm->rq.lock))
			return true;
	for (i = 0; i < srqs; i++)
		if (soft_srqs[i] && is_stuck(&soft_srqs[i]->shm->rq.lock))
			return true;
	return false;
}
