/*
 * Creating queue pairs: checking the attributes
 *
 * Source: ibv_create_qp(3), ibv_create_qp_ex(3).
 */
#include "shim/soft/verbs/create_qp.h"

#include <stdlib.h>
#include <string.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/transport/objects.h"
#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/rss.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/qp.h"
#include "shim/soft/verbs/wr.h"
#include "shim/soft/verbs/xrc_qp.h"

static int check_rss_attr(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;
	const uint32_t must =
		IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
	int err;

	err = soft_enter(context, "create_qp");
	if (!err)
		err = raw_check_allowed();
	if (err)
		return err;
	if ((attr->comp_mask & must) != must || attr->qp_type != IBV_QPT_RAW_PACKET || !attr->pd ||
	    attr->pd->context != context || !attr->rwq_ind_tbl ||
	    attr->rwq_ind_tbl->context != context || attr->send_cq || attr->recv_cq || attr->srq ||
	    attr->cap.max_send_wr || attr->cap.max_recv_wr)
		return EINVAL;
	if (attr->comp_mask & ~(must | IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) ||
	    conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
	    conf->rx_hash_fields_mask & ~(uint64_t)SHM_RSS_FIELDS)
		return EOPNOTSUPP;
	return conf->rx_hash_key_len != SHM_RSS_KEY || !conf->rx_hash_key ? EINVAL : 0;
}

static struct soft_rss *make_rss(const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;
	struct soft_rss *rss = calloc(1, sizeof(*rss));

	if (!rss)
		return NULL;
	rss->table = to_table(attr->rwq_ind_tbl);
	rss->fields = conf->rx_hash_fields_mask;
	memcpy(rss->key, conf->rx_hash_key, sizeof(rss->key));
	return rss;
}

/* Create a queue pair that only distributes packets to work queues. NULL and errno on failure. */
static struct ibv_qp *create_rss_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr basic = {
		.qp_context = attr->qp_context,
		.qp_type = attr->qp_type,
	};
	struct soft_rss *rss;
	struct soft_qp *qp;
	int err;

	err = check_rss_attr(context, attr);
	if (err)
		return soft_fail(err);
	rss = make_rss(attr);
	if (!rss)
		return soft_fail(ENOMEM);
	/* a CQ is required, but never used */
	basic.send_cq = basic.recv_cq = rss->table->wq[0]->wq.cq;
	qp = qp_new(attr->pd, &basic);
	if (!qp) {
		free(rss);
		return NULL;
	}
	qp->ex.qp_base.send_cq = qp->ex.qp_base.recv_cq = NULL;
	qp->init.send_cq = qp->init.recv_cq = NULL;
	pthread_mutex_lock(&soft_mutex);
	qp->rss = rss;
	rss->table->refs++;
	pthread_mutex_unlock(&soft_mutex);
	return &qp->ex.qp_base;
}

static bool is_cq_of_pd(const struct ibv_cq *cq, const struct ibv_pd *pd)
{
	return cq && cq->context == pd->context;
}

static int check_attr(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	const struct ibv_device_attr *limits = profile_limits();
	uint32_t max_wr = limits->max_qp_wr, max_sge = limits->max_sge;
	const struct ibv_qp_cap *cap = &attr->cap;
	bool receives =
		qp_receives(attr) && !attr->srq; /* does it have a receive queue of its own? */
	int err = 0;

	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
		break;
	case IBV_QPT_RAW_PACKET:
		err = raw_check_allowed();
		break;
	case IBV_QPT_XRC_RECV:
		err = EINVAL; /* only ibv_create_qp_ex() creates these, in a domain */
		break;
	default:
		err = EOPNOTSUPP;
		break;
	}
	if (err)
		return err;
	if (!is_cq_of_pd(attr->send_cq, pd) ||
	    (qp_receives(attr) && !is_cq_of_pd(attr->recv_cq, pd)))
		return EINVAL;
	if (attr->srq && to_srq(attr->srq)->tags && attr->qp_type != IBV_QPT_RC)
		return EINVAL; /* tag matching is for RC only: IBV_TM_CAP_RC */
	if (cap->max_send_wr > max_wr || cap->max_send_sge > max_sge ||
	    cap->max_inline_data > profile_get()->max_inline_data ||
	    (receives && (cap->max_recv_wr > max_wr || cap->max_recv_sge > max_sge)))
		return EINVAL;
	return 0;
}

/*
 * Return the granted sizes. With a shared receive queue, the requested sizes of the receive queue
 * are returned unchanged, as by the kernel's Soft-RoCE; ibv_query_qp() reports 0.
 */
static void return_cap(struct ibv_qp_init_attr *attr, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_cap asked = attr->cap;

	attr->cap = *cap;
	if (!attr->srq)
		return;
	attr->cap.max_recv_wr = asked.max_recv_wr;
	attr->cap.max_recv_sge = asked.max_recv_sge;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct soft_qp *qp;
	int err;

	err = soft_enter(pd->context, "create_qp");
	if (!err)
		err = check_attr(pd, attr);
	if (err)
		return soft_fail(err);
	qp = qp_new(pd, attr);
	if (!qp)
		return NULL;
	return_cap(attr, &qp->init.cap);
	return &qp->ex.qp_base;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_qp(pd, attr);
}

static uint32_t flags_of(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;
}

static int check_ex(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    flags_of(attr) & ~IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		return EOPNOTSUPP;
	if (flags_of(attr) && attr->qp_type != IBV_QPT_UD)
		return EINVAL;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && attr->send_ops_flags
			       ? EOPNOTSUPP
			       : 0;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return wr_check(attr->qp_type, attr->send_ops_flags);
	return 0;
}

struct ibv_qp *soft_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr basic;
	struct ibv_qp *qp;
	int err;

	if (!soft_ours(context))
		return soft_fail(EIO);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		return create_rss_qp(context, attr);
	err = check_ex(context, attr);
	if (err)
		return soft_fail(err);
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return xrc_create_qp(context, attr);
	/* both structures begin with the same members */
	memcpy(&basic, attr, sizeof(basic));
	qp = create_qp(attr->pd, &basic);
	if (!qp)
		return NULL;
	attr->cap = basic.cap;
	to_qp(qp)->deaf = flags_of(attr) & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		wr_init(to_qp(qp), attr->send_ops_flags);
	return qp;
}
