/*
 * The state machine of queue pairs
 *
 * One table: from where to where, what must be given, what may be. All else
 * is EINVAL and changes nothing. To RESET and to ERR leads a way from
 * everywhere, with nothing given.
 *
 * Source: ibv_modify_qp(3), and the specification's 11.2.5.2.
 */
#include "shim/soft/qp.h"

#include "shim/soft/carry.h"
#include "shim/soft/port.h"
#include "shim/soft/sq.h"

struct step {
	enum ibv_qp_state	from, to;
	int			must;
	int			may;
};

#define PATH_OF_RTR	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
			 IBV_QP_RQ_PSN)
#define RETRIES		(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define LATER		(IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | \
			 IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | \
			 IBV_QP_PATH_MIG_STATE)

/* Of a reliable connection. */
static const struct step rc_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT,
	  0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  PATH_OF_RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  RETRIES | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC, LATER },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, LATER },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, LATER },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0,
	  LATER | RETRIES | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PKEY_INDEX |
	  IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC },
};

static bool allowed(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	const struct step *step;
	size_t i;

	mask &= ~IBV_QP_STATE;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return !mask;
	for (i = 0; i < sizeof(rc_steps) / sizeof(rc_steps[0]); i++) {
		step = &rc_steps[i];
		if (step->from == from && step->to == to)
			return (mask & step->must) == step->must &&
				!(mask & ~(step->must | step->may));
	}
	return false;
}

static int check_values(const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PORT && attr->port_num != 1) ||
	    (mask & IBV_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IBV_QP_PATH_MTU && (attr->path_mtu < IBV_MTU_256 ||
					attr->path_mtu > IBV_MTU_4096)) ||
	    (mask & IBV_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > 16) ||
	    (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > 16) ||
	    (mask & IBV_QP_DEST_QPN && attr->dest_qp_num >> 24))
		return EINVAL;
	if (!(mask & IBV_QP_AV))
		return 0;
	if (attr->ah_attr.port_num != 1 ||
	    (port_is_roce() && !attr->ah_attr.is_global))
		return EINVAL;
	/* on Ethernet, an address must be resolved */
	return port_is_roce() && !port_has_gid(&attr->ah_attr.grh.dgid) ?
		ETIMEDOUT : 0;
}

static void merge_path(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr,
		       int mask)
{
	if (mask & IBV_QP_PKEY_INDEX)
		to->pkey_index = attr->pkey_index;
	if (mask & IBV_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IBV_QP_AV)
		to->ah_attr = attr->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn & 0xffffff;
	if (mask & IBV_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn & 0xffffff;
	if (mask & IBV_QP_ALT_PATH) {
		to->alt_ah_attr = attr->alt_ah_attr;
		to->alt_pkey_index = attr->alt_pkey_index;
		to->alt_port_num = attr->alt_port_num;
		to->alt_timeout = attr->alt_timeout;
	}
	if (mask & IBV_QP_PATH_MIG_STATE)
		to->path_mig_state = attr->path_mig_state;
}

static void merge_limits(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr,
			 int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
}

/* What peers must see of it; under the queue pair's lock. */
static void publish(struct soft_qp *qp)
{
	struct shm_qp *shm = qp->shm;

	shm->dest_qpn = qp->attr.dest_qp_num;
	shm->access = qp->attr.qp_access_flags;
	shm->max_dest_rd = qp->attr.max_dest_rd_atomic;
	shm->min_rnr_timer = qp->attr.min_rnr_timer;
}

static void enter(struct soft_qp *qp, enum ibv_qp_state to)
{
	lock_take(&qp->sq.lock);
	lock_take(&qp->shm->rq.lock);
	publish(qp);
	/* a peer may have failed it meanwhile: that stays */
	if (qp->shm->state != IBV_QPS_ERR)
		qp_set_state(qp, to);
	lock_drop(&qp->shm->rq.lock);
	qp->reachable = port_reaches(&qp->attr.ah_attr);
	sq_run(qp);
	lock_drop(&qp->sq.lock);
}

static void change(struct soft_qp *qp, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
		qp_reset(qp);
		memset(&qp->attr, 0, sizeof(qp->attr));
		break;
	case IBV_QPS_ERR:
		lock_take(&qp->sq.lock);
		sq_fail(qp);
		lock_drop(&qp->sq.lock);
		break;
	default:
		enter(qp, to);
		break;
	}
}

static int modify(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = __atomic_load_n(&qp->shm->state,
						 __ATOMIC_SEQ_CST);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	int err;

	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != from)
		return EINVAL;
	if (!allowed(from, to, mask))
		return EINVAL;
	err = check_values(attr, mask);
	if (err)
		return err;
	lock_take(&qp->sq.lock);
	merge_path(&qp->attr, attr, mask);
	merge_limits(&qp->attr, attr, mask);
	lock_drop(&qp->sq.lock);
	change(qp, to);
	qp->ex.qp_base.state = to;
	return 0;
}

EXPORT int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err;

	if (!soft_ours(ibqp->context))
		return EIO;
	pthread_mutex_lock(&qp->modifying);
	err = modify(qp, attr, mask);
	pthread_mutex_unlock(&qp->modifying);
	return err;
}
