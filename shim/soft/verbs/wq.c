/*
 * Work queues: receive queues over which a queue pair distributes packets by a hash
 *
 * Source: ibv_create_wq(3), ibv_modify_wq(3), ibv_create_rwq_ind_table(3).
 */
#include "shim/soft/verbs/wq.h"

#include <stdlib.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/event.h"
#include "shim/soft/verbs/qp.h"
#include "shim/soft/verbs/recv.h"

static struct soft_wq *to_wq(struct ibv_wq *wq)
{
	return container(wq, struct soft_wq, wq);
}

static int check_attr(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	const struct ibv_device_attr *limits = profile_limits();
	int err;

	err = soft_enter(context, "create_wq");
	if (!err)
		err = raw_check_allowed();
	if (err)
		return err;
	if (attr->comp_mask & ~IBV_WQ_INIT_ATTR_FLAGS || attr->wq_type != IBV_WQT_RQ || !attr->pd ||
	    attr->pd->context != context || !attr->cq || attr->cq->context != context ||
	    !attr->max_wr || attr->max_wr > (uint32_t)limits->max_qp_wr ||
	    attr->max_sge > (uint32_t)limits->max_sge)
		return EINVAL;
	return attr->comp_mask && attr->create_flags ? EOPNOTSUPP : 0;
}

static int post_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return soft_post_recv(&to_wq(wq)->qp->ex.qp_base, wr, bad_wr);
}

static void init_wq(struct soft_wq *wq, struct ibv_context *context,
		    const struct ibv_wq_init_attr *attr)
{
	wq->wq = (struct ibv_wq){
		.context = context,
		.wq_context = attr->wq_context,
		.pd = attr->pd,
		.cq = attr->cq,
		.wq_num = wq->qp->ex.qp_base.qp_num,
		.handle = wq->qp->ex.qp_base.handle,
		.state = IBV_WQS_RESET,
		.wq_type = attr->wq_type,
		.post_recv = post_recv,
	};
	pthread_mutex_init(&wq->wq.mutex, NULL);
	pthread_cond_init(&wq->wq.cond, NULL);
	wq->qp->wq = wq;
}

struct ibv_wq *soft_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct ibv_qp_init_attr qp = {
		.send_cq = attr->cq,
		.recv_cq = attr->cq,
		.cap = { .max_recv_wr = attr->max_wr, .max_recv_sge = attr->max_sge },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct soft_wq *wq;
	int err;

	err = check_attr(context, attr);
	if (err)
		return soft_fail(err);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return soft_fail(ENOMEM);
	wq->qp = qp_new(attr->pd, &qp);
	if (!wq->qp) {
		free(wq);
		return NULL;
	}
	init_wq(wq, context, attr);
	return &wq->wq;
}

static bool may_go(enum ibv_wq_state from, enum ibv_wq_state to)
{
	switch (to) {
	case IBV_WQS_RESET:
		return true;
	case IBV_WQS_RDY:
		return from == IBV_WQS_RESET || from == IBV_WQS_RDY;
	case IBV_WQS_ERR:
		return from == IBV_WQS_RDY || from == IBV_WQS_ERR;
	default:
		return false;
	}
}

static enum ibv_wq_state state_of(const struct soft_wq *wq)
{
	switch (__atomic_load_n(&wq->qp->shm->state, __ATOMIC_SEQ_CST)) {
	case IBV_QPS_RESET:
		return IBV_WQS_RESET;
	case IBV_QPS_ERR:
		return IBV_WQS_ERR;
	default:
		return IBV_WQS_RDY;
	}
}

static void enter_state(struct soft_qp *qp, enum ibv_wq_state to)
{
	bool taken;

	switch (to) {
	case IBV_WQS_RESET:
		qp_reset(qp);
		break;
	case IBV_WQS_RDY:
		lock_take(&qp->shm->rq.lock);
		if (qp->shm->state == IBV_QPS_RESET)
			own_qp_set_state(qp, IBV_QPS_RTR);
		lock_drop(&qp->shm->rq.lock);
		break;
	default:
		taken = sq_lock(&qp->sq);
		sq_fail(qp);
		if (taken)
			lock_drop(&qp->sq.lock);
		break;
	}
}

static int modify_wq_locked(struct soft_wq *wq, const struct ibv_wq_attr *attr)
{
	enum ibv_wq_state from = state_of(wq);
	uint32_t mask = attr->attr_mask;

	if (mask & ~(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS) ||
	    (mask & IBV_WQ_ATTR_CURR_STATE && attr->curr_wq_state != from) ||
	    (mask & IBV_WQ_ATTR_STATE && !may_go(from, attr->wq_state)))
		return EINVAL;
	if (mask & IBV_WQ_ATTR_FLAGS && attr->flags & attr->flags_mask)
		return EOPNOTSUPP;
	if (mask & IBV_WQ_ATTR_STATE) {
		enter_state(wq->qp, attr->wq_state);
		wq->wq.state = attr->wq_state;
	}
	return 0;
}

int soft_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct soft_wq *wq = to_wq(ibwq);
	int err;

	err = soft_enter(ibwq->context, "modify_wq");
	if (err)
		return err;
	pthread_mutex_lock(&wq->qp->modifying);
	err = modify_wq_locked(wq, attr);
	pthread_mutex_unlock(&wq->qp->modifying);
	return err;
}

int soft_destroy_wq(struct ibv_wq *ibwq)
{
	struct soft_wq *wq = to_wq(ibwq);
	int err;

	err = soft_enter(ibwq->context, "destroy_wq");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	if (wq->refs)
		err = EBUSY;
	else
		qp_withdraw(wq->qp);
	pthread_mutex_unlock(&soft_mutex);
	if (err)
		return err;
	event_wait_acks(&ibwq->mutex, &ibwq->cond, &ibwq->events_completed, wq->qp->events);
	qp_free(wq->qp);
	free(wq);
	return 0;
}

static int check_table(struct ibv_context *context, const struct ibv_rwq_ind_table_init_attr *attr)
{
	uint32_t i;
	int err;

	err = soft_enter(context, "create_rwq_ind_table");
	if (err)
		return err;
	if (attr->comp_mask)
		return EOPNOTSUPP;
	if (attr->log_ind_tbl_size > SHM_RSS_LOG_MAX)
		return EINVAL;
	for (i = 0; i < 1u << attr->log_ind_tbl_size; i++)
		if (!attr->ind_tbl[i] || attr->ind_tbl[i]->context != context)
			return EINVAL;
	return 0;
}

struct ibv_rwq_ind_table *soft_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr)
{
	struct soft_rwq_table *table;
	uint32_t i;
	int err;

	err = check_table(context, attr);
	if (err)
		return soft_fail(err);
	table = calloc(1, sizeof(*table));
	if (!table)
		return soft_fail(ENOMEM);
	table->table.context = context;
	table->table.ind_tbl_handle = soft_serial();
	table->table.ind_tbl_num = table->table.ind_tbl_handle;
	table->size = 1u << attr->log_ind_tbl_size;
	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < table->size; i++) {
		table->wq[i] = to_wq(attr->ind_tbl[i]);
		table->wq[i]->refs++;
	}
	pthread_mutex_unlock(&soft_mutex);
	return &table->table;
}

int soft_destroy_rwq_ind_table(struct ibv_rwq_ind_table *ibtable)
{
	struct soft_rwq_table *table = to_table(ibtable);
	uint32_t i;
	int err;

	err = soft_enter(ibtable->context, "destroy_rwq_ind_table");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	if (table->refs)
		err = EBUSY;
	for (i = 0; !err && i < table->size; i++)
		table->wq[i]->refs--;
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(table);
	return err;
}
