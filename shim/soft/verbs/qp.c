/*
 * Queue pairs: create, query, destroy
 *
 * A queue pair's receive queue and state are in the segment; its send queue is private, since only
 * its own process executes it.
 *
 * Not here: ibv_create_qp() (create_qp.c), ibv_modify_qp() (qp_state.c).
 */
#include "shim/soft/verbs/qp.h"

#include <stdlib.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/network/network.h"
#include "shim/soft/transport/datagram.h"
#include "shim/soft/transport/mcast.h"
#include "shim/soft/transport/migrate.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/rss.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/comp_cntr.h"
#include "shim/soft/verbs/dead.h"
#include "shim/soft/verbs/domain.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/event.h"
#include "shim/soft/verbs/poll.h"
#include "shim/soft/verbs/post.h"
#include "shim/soft/verbs/xrc_qp.h"

/*
 * VERBATIM_SOFT_LEAVE: behave like a device that does not purge its completion queues, and reuse a
 * free QP number at once.
 */
static bool leaves_completions(void)
{
	const char *value = getenv("VERBATIM_SOFT_LEAVE");

	return value && *value && *value != '0';
}

static void purge_completions(struct soft_qp *qp)
{
	if (qp->send_cq)
		poll_purge(qp->send_cq, qp->shm->qpn);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		poll_purge(qp->recv_cq, qp->shm->qpn);
	if (qp->srq && qp->srq->tags)
		poll_purge(qp->srq->cq, qp->shm->qpn);
}

/*
 * Free the request of the shared queue that a message has claimed: the rest of the message will not
 * arrive.
 */
static void drop_claimed(struct soft_qp *qp)
{
	uint32_t claimed = qp->shm->claimed;
	struct soft_srq *srq = qp->srq;

	qp->shm->claimed = 0;
	if (!claimed || !srq)
		return;
	lock_take(&srq->posting);
	if (srq->num_free < srq->slots)
		srq->free[srq->num_free++] = claimed - 1;
	lock_drop(&srq->posting);
}

static void reset_qp(struct soft_qp *qp, bool purge)
{
	bool taken;

	network_leave(qp);
	taken = sq_lock(&qp->sq);
	window_reset_qp(qp);
	lock_take(&qp->shm->rq.lock);
	own_qp_set_state(qp, IBV_QPS_RESET);
	__atomic_add_fetch(&qp->shm->resets, 1, __ATOMIC_RELEASE);
	qp->shm->established = 0;
	qp->shm->mig_state = IBV_MIG_MIGRATED;
	qp->migrations = qp->shm->migrations;
	qp->shm->dest_qpn = 0;
	if (qp->rq.shm) {
		__atomic_store_n(&qp->rq.shm->taken, 0, __ATOMIC_RELAXED);
		qp->rq.shm->doing = 0;
		__atomic_store_n(&qp->rq.shm->prod, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&qp->rq_retired, 0, __ATOMIC_RELEASE);
	}
	lock_drop(&qp->shm->rq.lock);
	drop_claimed(qp);
	if (purge)
		purge_completions(qp);
	else if (qp->recv_cq)
		poll_copy_all_payload(qp->recv_cq);
	sq_reset(qp);
	remote_drop(qp);
	datagram_forget(qp);
	raw_forget(qp);
	if (taken)
		lock_drop(&qp->sq.lock);
}

void qp_reset(struct soft_qp *qp)
{
	reset_qp(qp, true);
}

static int fill_slot(struct soft_qp *qp, uint32_t slot)
{
	const struct ibv_qp_cap *cap = &qp->init.cap;
	struct shm_qp *shm = &segment_own->qp[slot];
	int err;

	if (segment_reserve(shm, sizeof(*shm)) < 0)
		return -ENOMEM;
	memset(shm, 0, offsetof(struct shm_qp, rq));
	qp->shm = shm;
	if (qp->recv_cq && !qp->srq) {
		err = rq_make(&shm->rq, cap->max_recv_wr, cap->max_recv_sge, false, &qp->rq);
		if (err < 0)
			return err;
	}
	shm->type = qp->init.qp_type;
	/* a work queue is never modified, and packets have no partition */
	if (shm->type == IBV_QPT_RAW_PACKET)
		shm->pkey = 0xffff;
	shm->pd = qp->ex.qp_base.pd->handle;
	shm->recv_cq = qp->recv_cq ? qp->recv_cq->ex.handle : SHM_CQ_MAX;
	shm->srq = qp->srq ? qp->srq->srq.handle + 1 : 0;
	shm->async = to_context(qp->ex.qp_base.context)->async;
	shm->serial = qp->serial = soft_serial();
	return registry_add_number(REGISTRY_QP, slot, &shm->qpn);
}

static int take_slot(struct soft_qp *qp)
{
	int slot, err;

	pthread_mutex_lock(&soft_mutex);
	slot = own_qp_find_slot();
	err = slot < 0 ? slot : fill_slot(qp, slot);
	if (!err) {
		qp->ex.qp_base.handle = slot;
		qp->ex.qp_base.qp_num = qp->shm->qpn;
		own_qp_publish(qp, slot);
		qp->send_cq->refs++;
		if (qp->recv_cq)
			qp->recv_cq->refs++;
		if (qp->srq)
			qp->srq->refs++;
	} else {
		rq_free(&qp->rq);
	}
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static void init_qp(struct soft_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *ibqp = &qp->ex.qp_base;

	ibqp->context = pd->context;
	ibqp->qp_context = attr->qp_context;
	ibqp->pd = pd;
	ibqp->send_cq = attr->send_cq;
	ibqp->recv_cq = attr->recv_cq;
	ibqp->srq = attr->srq;
	ibqp->qp_type = attr->qp_type;
	ibqp->state = IBV_QPS_RESET;
	pthread_mutex_init(&ibqp->mutex, NULL);
	pthread_cond_init(&ibqp->cond, NULL);
	pthread_mutex_init(&qp->modifying, NULL);
	qp->send_cq = to_cq(attr->send_cq);
	if (qp_receives(attr)) {
		qp->recv_cq = to_cq(attr->recv_cq);
		qp->srq = attr->srq ? to_srq(attr->srq) : NULL;
	}
	qp->init = *attr;
	qp->opcodes = post_opcodes(attr->qp_type);
	if (!qp->recv_cq || qp->srq) {
		qp->init.cap.max_recv_wr = 0;
		qp->init.cap.max_recv_sge = 0;
	}
}

struct soft_qp *qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct soft_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (!qp)
		return soft_fail(ENOMEM);
	init_qp(qp, pd, attr);
	err = domain_alloc(pd, sq_lay_out(&qp->sq, &qp->init.cap), DOMAIN_SEND_QUEUE,
			   &qp->sq.memory);
	if (!err) {
		qp->sq.wrs = qp->sq.memory.mem;
		err = take_slot(qp);
	}
	if (err < 0) {
		domain_free(&qp->sq.memory);
		free(qp);
		return soft_fail(err);
	}
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return qp;
}

EXPORT int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
			struct ibv_qp_init_attr *init_attr)
{
	struct soft_qp *qp = to_qp(ibqp);
	bool taken;
	int err;

	(void)attr_mask; /* attributes that were not requested may be returned, too */
	err = soft_enter(ibqp->context, "query_qp");
	if (err)
		return err;
	xrc_take_attr(qp);
	taken = sq_lock(&qp->sq);
	migrate_follow(qp);
	*attr = qp->attr;
	attr->qp_state = __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
	attr->path_mig_state = __atomic_load_n(&qp->shm->mig_state, __ATOMIC_SEQ_CST);
	attr->sq_draining = attr->qp_state == IBV_QPS_SQD && qp->sq.draining;
	if (taken)
		lock_drop(&qp->sq.lock);
	xrc_give_attr(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->init.cap;
	*init_attr = qp->init;
	memcheck_hide(attr, sizeof(*attr));
	return 0;
}

void qp_withdraw(struct soft_qp *qp)
{
	struct ibv_qp *ibqp = &qp->ex.qp_base;
	bool leave = leaves_completions();

	if (qp->xrc) {
		network_leave(qp);
		xrc_withdraw(qp);
		return;
	}
	pending_remove(qp);
	mcast_leave(qp);
	registry_del_number(qp->shm->qpn);
	if (leave)
		registry_repeat_number(qp->shm->qpn);
	reset_qp(qp, !leave);
	pending_remove(qp);
	__atomic_store_n(&soft_qps[ibqp->handle], NULL, __ATOMIC_RELEASE);
	lock_take(&qp->shm->rq.lock);
	pipe_purge(qp->shm->async, PIPE_QP, ibqp->handle, qp->shm->serial);
	qp->shm->qpn = 0;
	lock_drop(&qp->shm->rq.lock);
	comp_cntr_detach(qp);
	rq_free(&qp->rq);
	qp->send_cq->refs--;
	if (qp->recv_cq)
		qp->recv_cq->refs--;
	if (qp->srq)
		qp->srq->refs--;
	rss_free(qp->rss);
	qp->rss = NULL;
}

void qp_free(struct soft_qp *qp)
{
	struct ibv_pd *pd = qp->ex.qp_base.pd;

	if (pd && !qp->xrcd)
		__atomic_sub_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELEASE);
	domain_free(&qp->sq.memory);
	free(qp->sq.due);
	qp->sq.due = NULL;
	dead_retain_qp(qp);
}

EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err;

	err = soft_enter(ibqp->context, "destroy_qp");
	if (err)
		return err;
	if (__atomic_load_n(&qp->groups, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (lock_is_stuck(&qp->shm->rq.lock))
		return ETIMEDOUT;
	pthread_mutex_lock(&soft_mutex);
	qp_withdraw(qp);
	pthread_mutex_unlock(&soft_mutex);
	event_wait_acks(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed, qp->events);
	qp_free(qp);
	return 0;
}

/*
 * Free a queue pair's memory; but if a stopped process uses it, it is freed only with the segment.
 */
static void close_qp(struct soft_qp *qp)
{
	if (!lock_is_stuck(&qp->shm->rq.lock)) {
		qp_withdraw(qp);
		return;
	}
	pending_remove(qp);
	registry_del_number(qp->shm->qpn);
	__atomic_store_n(&soft_qps[qp->ex.qp_base.handle], NULL, __ATOMIC_RELEASE);
}

void qp_close_all(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_QP_MAX; i++)
		if (soft_qps[i] && soft_qps[i]->ex.qp_base.context == context)
			close_qp(soft_qps[i]);
	pthread_mutex_unlock(&soft_mutex);
}
