/*
 * Queue pairs that spread packets over work queues
 *
 * Not here: selecting the work queue for a packet (rss.c).
 */
#include "shim/soft/verbs/rss_qp.h"

#include <stdlib.h>

#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/rss.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/qp.h"

static int check_attr(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
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

struct ibv_qp *rss_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr basic = {
		.qp_context = attr->qp_context,
		.qp_type = attr->qp_type,
	};
	struct soft_rss *rss;
	struct soft_qp *qp;
	int err;

	err = check_attr(context, attr);
	if (err)
		return soft_fail(err);
	rss = make_rss(attr);
	if (!rss)
		return soft_fail(ENOMEM);
	/* required, but never used */
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
