/*
 * Faults that the program itself requests
 *
 * They are for a program, such as a replay, that knows which request or call must fail: a rule in a
 * file can only count operations from the beginning.
 *
 * A request is identified by its position in the send queue, which is known before the request is
 * posted.
 *
 * Not here: the effect of a fault on a request (sq_fault.c) and on a verb (enter.c).
 */
#include "shim/soft/verbs/inject.h"

#include <stdio.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/verbs/enter.h"

static uint32_t port_bit(uint8_t port)
{
	return 1u << (port & 31);
}

bool inject_port_down(struct ibv_context *context, uint8_t port)
{
	return __atomic_load_n(&to_context(context)->ports_down, __ATOMIC_RELAXED) & port_bit(port);
}

/*
 * The position of the request that will be posted next to queue pair @qpn. False: there is no such
 * queue pair.
 */
static bool find_position(uint32_t qpn, uint32_t *ret_pos)
{
	bool found = false;

	pthread_mutex_lock(&soft_mutex);
	for (unsigned int i = 0; i < SHM_QP_MAX && !found; i++) {
		if (!soft_qps[i] || soft_qps[i]->ex.qp_base.qp_num != qpn)
			continue;
		*ret_pos = __atomic_load_n(&soft_qps[i]->sq.head, __ATOMIC_RELAXED);
		found = true;
	}
	pthread_mutex_unlock(&soft_mutex);
	return found;
}

/*
 * Restrict the rule to one operation: the next call by this thread, or a request of a queue pair.
 */
static bool limit_rule_to_one(struct fault_rule *rule)
{
	uint64_t n = rule->to == UINT64_MAX ? 1 : rule->from;

	if (rule->fault.kind == FAULT_ERRNO) {
		rule->thread = pthread_self();
		return true;
	}
	if ((rule->fault.kind != FAULT_STATUS && rule->fault.kind != FAULT_DELAY) || !rule->qpn ||
	    !find_position(rule->qpn, &rule->pos))
		return false;
	rule->pos += n - 1;
	return true;
}

EXPORT int verbatim_soft_fault(const char *text)
{
	struct fault_rule rule;
	const char *why;
	char line[256];

	if (!text) {
		fault_take_back(pthread_self(), 0);
		return 0;
	}
	snprintf(line, sizeof(line), "%s", text);
	if (fault_parse(line, &rule, &why) <= 0 || !limit_rule_to_one(&rule))
		return EINVAL;
	return fault_give(&rule) ? ENOMEM : 0;
}

EXPORT unsigned int verbatim_soft_faults_struck(void)
{
	return fault_count_struck();
}

EXPORT unsigned int verbatim_soft_memory_refused(void)
{
	return heap_count_refused();
}

static int raise_qp(struct soft_qp *qp, enum ibv_event_type type)
{
	bool taken;

	if (type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	    type == IBV_EVENT_QP_ACCESS_ERR) {
		taken = sq_lock(&qp->sq);
		sq_fail(qp);
		if (taken)
			lock_drop(&qp->sq.lock);
	}
	own_qp_notify(qp, type);
	return 0;
}

static int raise_srq(struct soft_srq *srq, enum ibv_event_type type)
{
	struct pipe_event event = { PIPE_SRQ, srq->shm - segment_own->srq, srq->shm->serial, type };

	pipe_send(segment_own, to_context(srq->srq.context)->async, &event);
	return 0;
}

static int raise_port(struct soft_context *context, uint8_t port, enum ibv_event_type type)
{
	struct pipe_event event = { PIPE_PORT, port, 0, type };

	if (type == IBV_EVENT_PORT_ERR)
		__atomic_or_fetch(&context->ports_down, port_bit(port), __ATOMIC_RELAXED);
	if (type == IBV_EVENT_PORT_ACTIVE)
		__atomic_and_fetch(&context->ports_down, ~port_bit(port), __ATOMIC_RELAXED);
	pipe_send(segment_own, context->async, &event);
	return 0;
}

EXPORT int verbatim_soft_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	if (!soft_ours(context))
		return EINVAL;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		cqring_set_overrun(&to_cq(event->element.cq)->ring);
		return 0;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return raise_qp(to_qp(event->element.qp), event->event_type);
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return raise_srq(to_srq(event->element.srq), event->event_type);
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return raise_port(to_context(context), (uint8_t)event->element.port_num,
				  event->event_type);
	default:
		return EINVAL;
	}
}
