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

void own_qp_publish(struct soft_qp *qp, uint32_t slot)
{
	uint64_t mask = 1ull << slot % 64;

	__atomic_fetch_or(&soft_sq_active[slot / 64], mask, __ATOMIC_RELAXED);
	if (!qp->xrc)
		__atomic_fetch_or(&segment_own->active[slot / 64], mask, __ATOMIC_RELAXED);
	__atomic_store_n(&soft_qps[slot], qp, __ATOMIC_RELEASE);
}

/* No key is used for a destroyed queue pair: its bits are cleared even if its lock is taken. */
static void visit_active(uint64_t *active, uint32_t slot, bool send,
			 void (*visit)(struct soft_qp *qp, bool send))
{
	uint64_t bits = __atomic_load_n(&active[slot / 64], __ATOMIC_RELAXED);
	struct soft_qp *qp;

	for (; bits; bits &= bits - 1) {
		qp = soft_qps[slot + (uint32_t)__builtin_ctzll(bits)];
		if (qp)
			visit(qp, send);
		else
			__atomic_fetch_and(&active[slot / 64], ~(bits & -bits), __ATOMIC_RELAXED);
	}
}

void own_qp_each_active(void (*visit)(struct soft_qp *qp, bool send))
{
	uint32_t i, qps = soft_slots_end(&soft_qp_slots);

	for (i = 0; i < qps; i += 64) {
		visit_active(soft_sq_active, i, true, visit);
		visit_active(segment_own->active, i, false, visit);
	}
}

static bool stuck; /* under the object mutex */

static void note_stuck(struct soft_qp *qp, bool send)
{
	if (!send && !stuck)
		stuck = lock_is_stuck(&qp->shm->rq.lock);
}

bool own_qp_has_stuck_lock(void)
{
	uint32_t i, srqs = soft_slots_end(&soft_srq_slots);

	stuck = false;
	own_qp_each_active(note_stuck);
	for (i = 0; i < srqs && !stuck; i++)
		stuck = soft_srqs[i] && lock_is_stuck(&soft_srqs[i]->shm->rq.lock);
	return stuck;
}
