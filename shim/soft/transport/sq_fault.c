/*
 * The effect of a fault on the request at the head of a send queue
 *
 * A fault is looked up when the head is tried for the first time. A request that is lost, or whose
 * receiver is not ready, is retried after the queue pair's timer and uses one of its retries, as on
 * a network; a fault is looked up for each retry. An unreliable queue pair does not learn of a
 * loss.
 *
 * A status that the program set for a request (fault_give) is forced on it: all checks are made
 * (EXECUTE_FORCED). The request fails by itself if a check fails; it fails with the forced status
 * if it would succeed, or if it would wait and then end with a different status.
 *
 * With real timers (retry_timeout.h) a receiver that is not ready, and a peer that does not answer,
 * are treated like the corresponding fault.
 *
 * Not here: selecting the request for a fault (fault.c).
 */
#include "shim/soft/transport/sq_fault.h"

#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/cqring.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/fault.h"
#include "shim/soft/transport/retry_timeout.h"
#include "shim/soft/transport/port_state.h"
#include "shim/soft/transport/remote.h"

/* Hold the request for @ns; 0: without limit. */
static int hold_request(struct soft_qp *qp, uint64_t ns)
{
	qp->sq.wait = WAIT_HELD;
	qp->sq.wait_until = ns ? process_now() + ns : UINT64_MAX;
	return EXECUTE_HELD;
}

static bool is_reliable(const struct soft_qp *qp)
{
	return qp->ex.qp_base.qp_type != IBV_QPT_UD && qp->ex.qp_base.qp_type != IBV_QPT_UC &&
	       qp->ex.qp_base.qp_type != IBV_QPT_RAW_PACKET;
}

static int lose_request(struct soft_qp *qp)
{
	if (!is_reliable(qp))
		return IBV_WC_SUCCESS;
	if (++qp->sq.tries > qp->attr.retry_cnt)
		return IBV_WC_RETRY_EXC_ERR;
	port_counters_add(qp->attr.port_num, PORT_COUNTER_ACK_TIMEOUT);
	return hold_request(qp, qp->attr.timeout ? 4096ull << qp->attr.timeout : 0);
}

/* The time of the RNR timer, which the receiver sets, ns. */
static uint64_t rnr_ns(struct soft_qp *qp, const struct soft_wr *wr)
{
	const struct soft_remote *r = remote_find(qp, wr);

	return retry_timeout_rnr_ns(r ? r->shm->min_rnr_timer : qp->attr.min_rnr_timer);
}

static int retry_rnr(struct soft_qp *qp, const struct soft_wr *wr)
{
	if (!is_reliable(qp))
		return IBV_WC_SUCCESS;
	if (qp->sq.rnr_tries >= qp->attr.rnr_retry && qp->attr.rnr_retry != 7)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	if (qp->sq.rnr_tries < UINT8_MAX)
		qp->sq.rnr_tries++;
	port_counters_add(qp->attr.port_num, PORT_COUNTER_RNR);
	return hold_request(qp, rnr_ns(qp, wr));
}

int sq_fault_time(struct soft_qp *qp, struct soft_wr *wr, int reason)
{
	return reason == EXECUTE_RNR ? retry_rnr(qp, wr) : lose_request(qp);
}

/* Send an event of @type for @srq; NULL: the queue pair has no SRQ. */
static void report_srq(const struct soft_srq *srq, int type)
{
	struct pipe_event event;

	if (!srq)
		return;
	event = (struct pipe_event){ PIPE_SRQ, srq->shm - segment_own->srq, srq->shm->serial,
				     type };
	pipe_send(segment_own, srq->shm->async, &event);
}

static void report_event(struct soft_qp *qp, int type)
{
	struct pipe_event of_qp = { PIPE_QP, qp->shm - segment_own->qp, qp->shm->serial, type };

	if (type == IBV_EVENT_CQ_ERR)
		cqring_set_overrun(&qp->send_cq->ring); /* this also sends the event */
	else if (type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_SRQ_LIMIT_REACHED)
		report_srq(qp->srq, type);
	else if (type < IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_QP_LAST_WQE_REACHED)
		pipe_send(segment_own, qp->shm->async, &of_qp);
	else
		port_notify(qp->attr.port_num, type);
}

/*
 * Is it an event for which the queue pair enters the error state first, so that a thread that gets
 * the event finds it in this state?
 */
static bool is_fatal(int type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR;
}

static int inject_event(struct soft_qp *qp, struct soft_wr *wr, int type)
{
	if (!is_fatal(type)) {
		report_event(qp, type);
		return execute_request(qp, wr);
	}
	lock_take(&qp->shm->rq.lock);
	deliver_fail(qp);
	lock_drop(&qp->shm->rq.lock);
	report_event(qp, type);
	return IBV_WC_WR_FLUSH_ERR;
}

/* Fail with the status of @fault, and make the responder fail as if it had refused the request. */
static int fail_with(struct soft_qp *qp, const struct soft_wr *wr, const struct fault *fault)
{
	qp->sq.vendor_err = fault->vendor_err;
	switch (fault->value) {
	case IBV_WC_REM_ACCESS_ERR:
		execute_fail_remote(qp, wr, IBV_EVENT_QP_ACCESS_ERR);
		break;
	case IBV_WC_REM_INV_REQ_ERR:
		execute_fail_remote(qp, wr, IBV_EVENT_QP_REQ_ERR);
		break;
	case IBV_WC_REM_OP_ERR:
		execute_fail_remote(qp, wr, IBV_EVENT_QP_FATAL);
		break;
	}
	return fault->value;
}

static int break_request(struct soft_qp *qp, struct soft_wr *wr, const struct fault *fault)
{
	switch (fault->kind) {
	case FAULT_STATUS:
		if (!fault->given)
			return fail_with(qp, wr, fault);
		qp->sq.forced_status = fault->value;
		qp->sq.forced_vendor_err = fault->vendor_err;
		break;
	case FAULT_DELAY:
		return hold_request(qp, fault->ns);
	case FAULT_LOSE:
		return lose_request(qp);
	case FAULT_RNR:
		return retry_rnr(qp, wr);
	case FAULT_OVERRUN:
		cqring_set_overrun(&qp->send_cq->ring);
		break;
	case FAULT_EVENT:
		return inject_event(qp, wr, fault->value);
	case FAULT_PORT:
		port_change(qp->attr.port_num, fault->value, fault->ns);
		break;
	default:
		break;
	}
	return execute_request(qp, wr);
}

/* Look up the fault for this attempt. */
static struct fault judge_request(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_sq *sq = &qp->sq;
	bool first = !sq->judged;

	sq->judged = true;
	if (first || sq->tries || sq->rnr_tries)
		return fault_request(qp->shm->qpn, sq->next, wr->opcode, wr->length, !first);
	return (struct fault){ .kind = FAULT_NONE }; /* the fault was a delay, which has passed */
}

int sq_fault_execute(struct soft_qp *qp, struct soft_wr *wr)
{
	struct soft_sq *sq = &qp->sq;
	struct fault fault = { .kind = FAULT_NONE };
	int status;

	if (sq->wait == WAIT_HELD && process_now() < sq->wait_until)
		return EXECUTE_HELD;
	/* the fault for a request that waits for another reason was looked up before */
	if (sq->wait == WAIT_NONE || sq->wait == WAIT_HELD)
		fault = judge_request(qp, wr);
	status = break_request(qp, wr, &fault);
	if (status >= 0)
		sq_fault_forget(sq);
	return status;
}

/* Does a wait for @reason end with the forced status? */
static bool ends_in_forced(const struct soft_sq *sq, int reason)
{
	switch (reason) {
	case EXECUTE_RNR:
		return sq->forced_status == IBV_WC_RNR_RETRY_EXC_ERR;
	case EXECUTE_NO_PEER:
	case EXECUTE_LATER:
		return sq->forced_status == IBV_WC_RETRY_EXC_ERR;
	default:
		return reason == EXECUTE_HELD;
	}
}

int sq_fault_force_status(struct soft_qp *qp, struct soft_wr *wr, int reason)
{
	struct fault fault = { .value = qp->sq.forced_status,
			       .vendor_err = qp->sq.forced_vendor_err };

	if (ends_in_forced(&qp->sq, reason))
		return reason;
	fault_note_struck();
	return fail_with(qp, wr, &fault);
}
