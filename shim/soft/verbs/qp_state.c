/*
 * The state machine of queue pairs
 *
 * One table has the transports, the old and the new state, and the required and allowed attributes.
 * Any other transition gives EINVAL and changes nothing. Each state may change to RESET or ERR
 * without attributes, except RESET to ERR.
 *
 * No transition leads to SQE: the send queue of a UC or UD queue pair enters it when it fails.
 *
 * Source: ibv_modify_qp(3), and InfiniBand specification, 11.2.5.2.
 */
#include "shim/soft/verbs/qp.h"

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/stage.h"
#include "shim/soft/network/network.h"
#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/migrate.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/pace.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/land.h"
#include "shim/soft/verbs/xrc_qp.h"

enum {
	RC = 1 << 0,
	UC = 1 << 1,
	UD = 1 << 2,
	XS = 1 << 3, /* XRC_SEND */
	XR = 1 << 4, /* XRC_RECV */
	RAW = 1 << 5,

	CONNECTED = RC | UC | XS | XR,
};

struct transition {
	int transports;
	enum ibv_qp_state from, to;
	int must;
	int may;
};

#define PORT      (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define PATH      (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESPONDER (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RETRIES   (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define REQUESTER (RETRIES | IBV_QP_MAX_QP_RD_ATOMIC)
#define LATER     (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define DRAINED                                                                  \
	(IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | \
	 IBV_QP_PATH_MIG_STATE)

#define RESET IBV_QPS_RESET
#define INIT  IBV_QPS_INIT
#define RTR   IBV_QPS_RTR
#define RTS   IBV_QPS_RTS
#define SQD   IBV_QPS_SQD
#define SQE   IBV_QPS_SQE

/* clang-format off */
static const struct transition steps[] = {
	{ CONNECTED,	RESET, INIT,	PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ UD,		RESET, INIT,	PORT | IBV_QP_QKEY, 0 },
	{ RAW,		RESET, INIT,	IBV_QP_PORT, 0 },

	{ CONNECTED,	INIT, INIT,	0, PORT | IBV_QP_ACCESS_FLAGS },
	{ UD,		INIT, INIT,	0, PORT | IBV_QP_QKEY },
	{ RAW,		INIT, INIT,	0, 0 },

	{ RC | XR,	INIT, RTR,	PATH | RESPONDER,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ UC | XS,	INIT, RTR,	PATH,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ UD,		INIT, RTR,	0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ RAW,		INIT, RTR,	0, 0 },

	{ RC,		RTR, RTS,	IBV_QP_SQ_PSN | REQUESTER, LATER | IBV_QP_MIN_RNR_TIMER },
	{ XS,		RTR, RTS,	IBV_QP_SQ_PSN | REQUESTER, LATER },
	{ XR,		RTR, RTS,	IBV_QP_SQ_PSN | IBV_QP_TIMEOUT,
	  LATER | IBV_QP_MIN_RNR_TIMER },
	{ UC,		RTR, RTS,	IBV_QP_SQ_PSN, LATER },
	{ UD,		RTR, RTS,	IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ RAW,		RTR, RTS,	0, IBV_QP_RATE_LIMIT },

	{ RC | XR,	RTS, RTS,	0, LATER | IBV_QP_MIN_RNR_TIMER },
	{ UC | XS,	RTS, RTS,	0, LATER },
	{ UD,		RTS, RTS,	0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ RAW,		RTS, RTS,	0, IBV_QP_RATE_LIMIT },

	{ CONNECTED | UD, RTS, SQD,	0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ RAW,		RTS, SQD,	0, 0 },

	{ RC | XR,	SQD, RTS,	0, LATER | IBV_QP_MIN_RNR_TIMER },
	{ UC | XS,	SQD, RTS,	0, LATER },
	{ UD,		SQD, RTS,	0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ RAW,		SQD, RTS,	0, 0 },

	{ RC,		SQD, SQD,	0, DRAINED | IBV_QP_PORT | REQUESTER | RESPONDER },
	{ XS,		SQD, SQD,	0, DRAINED | IBV_QP_PORT | REQUESTER },
	{ XR,		SQD, SQD,	0, DRAINED | IBV_QP_PORT | IBV_QP_TIMEOUT | RESPONDER },
	{ UC,		SQD, SQD,	0, DRAINED },
	{ UD,		SQD, SQD,	0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ RAW,		SQD, SQD,	0, 0 },

	{ UC,		SQE, RTS,	0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS },
	{ UD,		SQE, RTS,	0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ RAW,		SQE, RTS,	0, 0 },
};
/* clang-format on */

static int transport_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_UD:
		return UD;
	case IBV_QPT_XRC_SEND:
		return XS;
	case IBV_QPT_XRC_RECV:
		return XR;
	case IBV_QPT_RAW_PACKET:
		return RAW;
	default:
		return 0;
	}
}

bool qp_may_go(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	int transport = transport_of(type);
	const struct transition *step;
	size_t i;

	mask &= ~IBV_QP_STATE;
	if (to == IBV_QPS_RESET)
		return !mask;
	if (to == IBV_QPS_ERR)
		return !mask && from != IBV_QPS_RESET;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		step = &steps[i];
		if (step->transports & transport && step->from == from && step->to == to)
			return (mask & step->must) == step->must &&
			       !(mask & ~(step->must | step->may));
	}
	return false;
}

/* Attributes that only the opposite XRC type has: they are ignored. */
static int ignored_attrs(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return RESPONDER;
	case IBV_QPT_XRC_RECV:
		return REQUESTER & ~IBV_QP_TIMEOUT;
	default:
		return 0;
	}
}

static int check_alternate(const struct ibv_qp_attr *attr)
{
	const struct port *port = port_at(attr->alt_port_num);

	if (!port || attr->alt_pkey_index >= port->attr.pkey_tbl_len || attr->alt_timeout > 31)
		return EINVAL;
	return port_check(&attr->alt_ah_attr);
}

static int check_path(const struct ibv_ah_attr *path)
{
	int err = port_check(path);

	if (err)
		return err;
	/* on Ethernet, a destination must have a known MAC address */
	return port_is_roce(path->port_num) && !port_knows_gid(&path->grh.dgid) ? ETIMEDOUT : 0;
}

/* Is @rate a valid rate limit? */
static bool rate_is_valid(uint32_t rate)
{
	const struct ibv_packet_pacing_caps *caps = &profile_get()->attr.packet_pacing_caps;

	return !rate || (caps->supported_qpts & 1u << IBV_QPT_RAW_PACKET &&
			 rate >= caps->qp_rate_limit_min && rate <= caps->qp_rate_limit_max);
}

static int check_values(const struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_device_attr *limits = profile_limits();
	const struct port *port = port_at(mask & IBV_QP_PORT ? attr->port_num : qp->attr.port_num);
	int err = 0;

	if ((mask & IBV_QP_PORT && !port) ||
	    (mask & IBV_QP_PKEY_INDEX && (!port || attr->pkey_index >= port->attr.pkey_tbl_len)) ||
	    (mask & IBV_QP_PATH_MTU &&
	     (!port || attr->path_mtu < IBV_MTU_256 || attr->path_mtu > port->attr.max_mtu)) ||
	    (mask & IBV_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > limits->max_qp_init_rd_atom) ||
	    (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > limits->max_qp_rd_atom) ||
	    (mask & IBV_QP_DEST_QPN && attr->dest_qp_num >> 24))
		return EINVAL;
	if (mask & IBV_QP_RATE_LIMIT && !rate_is_valid(attr->rate_limit))
		return EINVAL;
	if (mask & IBV_QP_ALT_PATH)
		err = check_alternate(attr);
	if (err)
		return err;
	/* an alternate path that is not set cannot be armed */
	if (mask & IBV_QP_PATH_MIG_STATE && (attr->path_mig_state > IBV_MIG_ARMED ||
					     (attr->path_mig_state != IBV_MIG_MIGRATED &&
					      !(mask & IBV_QP_ALT_PATH) && !qp->attr.alt_port_num)))
		return EINVAL;
	return mask & IBV_QP_AV ? check_path(&attr->ah_attr) : 0;
}

static void merge_path(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr, int mask)
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
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = attr->en_sqd_async_notify;
}

static void merge_limits(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_QKEY)
		to->qkey = attr->qkey;
	if (mask & IBV_QP_RATE_LIMIT)
		to->rate_limit = attr->rate_limit;
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

/* Publish the attributes that peers need. Callers hold the queue pair's lock. */
static void publish_attrs(struct soft_qp *qp)
{
	struct shm_qp *shm = qp->shm;

	shm->dest_qpn = qp->attr.dest_qp_num;
	shm->access = qp->attr.qp_access_flags;
	shm->max_dest_rd = qp->attr.max_dest_rd_atomic;
	shm->min_rnr_timer = qp->attr.min_rnr_timer;
	shm->port = qp->attr.port_num;
	/* raw packets have no partition key */
	if (shm->type != IBV_QPT_RAW_PACKET)
		shm->pkey = port_pkey(qp->attr.port_num, qp->attr.pkey_index);
	shm->qkey = qp->attr.qkey;
}

enum { RAW_HEADER = 14 + 4 }; /* header of Ethernet, with a VLAN tag */

static uint32_t longest_message(const struct soft_qp *qp, const struct port *port)
{
	if (!port)
		return 0;
	switch (qp->ex.qp_base.qp_type) {
	case IBV_QPT_UD:
		return 128u << port->attr.active_mtu;
	case IBV_QPT_RAW_PACKET:
		return (128u << port->attr.active_mtu) + RAW_HEADER;
	default:
		return port->attr.max_msg_sz;
	}
}

static void begin_drain(struct soft_qp *qp)
{
	qp->sq.draining = qp->sq.wait != WAIT_NONE || (qp->wire && qp->wire->is_busy(qp));
	if (!qp->sq.draining)
		sq_note_drained(qp);
}

/* Prepare for the peer's process: it may request copies, and may send payload with completions. */
static void expect_peer(const struct soft_qp *qp)
{
	struct peer *peer;
	uint32_t slot;

	if (qp->wire)
		return;
	if (qp->shm->type == IBV_QPT_UD || qp->shm->type == IBV_QPT_RAW_PACKET) {
		copy_thread_start_for(NULL);
		return;
	}
	if (registry_find_qp(qp->attr.dest_qp_num, &peer, &slot) < 0)
		return;
	stage_expect(peer);
	copy_thread_start_for(peer);
	registry_put_peer(peer);
}

static void enter_state(struct soft_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask,
			enum ibv_mig_state mig_state)
{
	bool taken;

	if (mask & IBV_QP_AV)
		network_redirect(qp);
	taken = sq_lock(&qp->sq);
	lock_take(&qp->shm->rq.lock);
	publish_attrs(qp);
	/* if a peer or a post has failed the queue pair in between, it stays failed */
	if (qp->shm->state == from)
		own_qp_set_state(qp, to);
	lock_drop(&qp->shm->rq.lock);
	qp->reachable = port_reaches(&qp->attr.ah_attr);
	qp->max_msg_sz = longest_message(qp, port_at(qp->attr.port_num));
	if (qp->sq.wait == WAIT_STATE)
		qp->sq.wait = WAIT_NONE;
	if (mask & IBV_QP_RATE_LIMIT)
		pace_set(&qp->sq, qp->attr.rate_limit, 0);
	if (mask & IBV_QP_PATH_MIG_STATE)
		migrate_set(qp, mig_state);
	if (!qp->reachable)
		remote_drop(qp);
	if (to != IBV_QPS_SQD)
		qp->sq.draining = false;
	else if (from == IBV_QPS_RTS)
		begin_drain(qp);
	pending_run(qp);
	if (taken)
		lock_drop(&qp->sq.lock);
	if (to == IBV_QPS_RTR)
		expect_peer(qp);
}

static void change_attrs(struct soft_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask,
			 enum ibv_mig_state mig_state)
{
	bool taken;

	switch (to) {
	case IBV_QPS_RESET:
		qp_reset(qp);
		memset(&qp->attr, 0, sizeof(qp->attr));
		break;
	case IBV_QPS_ERR:
		taken = sq_lock(&qp->sq);
		sq_fail(qp);
		if (taken)
			lock_drop(&qp->sq.lock);
		break;
	default:
		enter_state(qp, from, to, mask, mig_state);
		break;
	}
}

static int modify_qp_locked(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask,
			    const char *verb)
{
	enum ibv_qp_state from = __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	bool taken;
	int err;

	mask &= ~ignored_attrs(qp->ex.qp_base.qp_type);
	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != from)
		return EINVAL;
	if (!qp_may_go(qp->ex.qp_base.qp_type, from, to, mask))
		return EINVAL;
	err = check_values(qp, attr, mask);
	if (!err) /* apply a fault only if the call would succeed */
		err = soft_enter(qp->ex.qp_base.context, verb);
	if (!err && from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		err = network_connect(qp, attr);
	if (err)
		return err;
	taken = sq_lock(&qp->sq);
	migrate_follow(qp);
	if (from == IBV_QPS_RTS && to == IBV_QPS_SQD)
		qp->attr.en_sqd_async_notify = 0;
	merge_path(&qp->attr, attr, mask);
	merge_limits(&qp->attr, attr, mask);
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		network_start(qp, qp->attr.sq_psn);
	if (taken)
		lock_drop(&qp->sq.lock);
	change_attrs(qp, from, to, mask, attr->path_mig_state);
	qp->ex.qp_base.state = to;
	return 0;
}

int qp_modify(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask, const char *verb)
{
	int err;

	if (!soft_ours(qp->ex.qp_base.context))
		return EIO;
	if (lock_is_stuck(&qp->shm->rq.lock))
		return ETIMEDOUT;
	pthread_mutex_lock(&qp->modifying);
	xrc_take_attr(qp);
	err = modify_qp_locked(qp, attr, mask, verb);
	xrc_give_attr(qp);
	pthread_mutex_unlock(&qp->modifying);
	return err;
}

EXPORT int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	return qp_modify(to_qp(ibqp), attr, mask, "modify_qp");
}
