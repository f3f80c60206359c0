/*
 * XRC receive queue pairs: the verbs for them
 *
 * Each time one is opened, it gets a separate struct soft_qp, which points to the queue pair in the
 * registry's file (xrc.c). This has no queues, and no protection domain.
 */
#include "shim/soft/verbs/xrc_qp.h"

#include <stdlib.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/verbs/enter.h"

static struct shm_holder holder_of(struct soft_qp *qp)
{
	return (struct shm_holder){
		.instance = node_self.instance,
		.node = node_self.node,
		.serial = qp->serial,
		.index = qp->ex.qp_base.handle,
		.async = to_context(qp->ex.qp_base.context)->async,
	};
}

/* Create a queue pair, or open the one with number @qpn. */
static int take_slot(struct soft_qp *qp, uint32_t qpn)
{
	struct shm_holder holder;
	int slot, err;

	slot = own_qp_find_slot();
	if (slot < 0)
		return slot;
	qp->ex.qp_base.handle = slot;
	qp->serial = soft_serial();
	holder = holder_of(qp);
	if (qpn)
		err = xrc_open_qp(qp->xrcd->id, qpn, &holder, &qp->xrc);
	else
		err = xrc_new_qp(qp->xrcd->id, &holder, &qp->xrc);
	if (err < 0)
		return err;
	qp->shm = &qp->xrc->qp;
	qp->ex.qp_base.qp_num = qp->shm->qpn;
	qp->ex.qp_base.state = __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
	qp->xrcd->refs++;
	own_qp_publish(qp, slot);
	return 0;
}

static struct ibv_qp *make_qp(struct ibv_context *context, struct ibv_xrcd *xrcd, void *qp_context,
			      uint32_t qpn)
{
	struct soft_qp *qp = calloc(1, sizeof(*qp));
	struct ibv_qp *ibqp;
	int err;

	if (!qp)
		return soft_fail(ENOMEM);
	ibqp = &qp->ex.qp_base;
	ibqp->context = context;
	ibqp->qp_context = qp_context;
	ibqp->qp_type = IBV_QPT_XRC_RECV;
	pthread_mutex_init(&ibqp->mutex, NULL);
	pthread_cond_init(&ibqp->cond, NULL);
	pthread_mutex_init(&qp->modifying, NULL);
	qp->init.qp_context = qp_context;
	qp->init.qp_type = IBV_QPT_XRC_RECV;
	qp->xrcd = to_xrcd(xrcd);
	pthread_mutex_lock(&soft_mutex);
	err = take_slot(qp, qpn);
	pthread_mutex_unlock(&soft_mutex);
	if (err < 0) {
		free(qp);
		return soft_fail(err);
	}
	return ibqp;
}

struct ibv_qp *xrc_create_qp(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibqp;
	int err;

	err = soft_enter(context, "create_qp");
	if (err)
		return soft_fail(err);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd ||
	    attr->xrcd->context != context || attr->srq)
		return soft_fail(EINVAL);
	ibqp = make_qp(context, attr->xrcd, attr->qp_context, 0);
	/* only stored: the queue pair has no protection domain, but librdmacm needs the pointer */
	if (ibqp && attr->comp_mask & IBV_QP_INIT_ATTR_PD)
		ibqp->pd = attr->pd;
	return ibqp;
}

struct ibv_qp *soft_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	uint32_t must = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	bool with_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT;
	int err;

	err = soft_enter(context, "open_qp");
	if (err)
		return soft_fail(err);
	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return soft_fail(EOPNOTSUPP);
	if ((attr->comp_mask & must) != must || !attr->qp_num ||
	    attr->qp_type != IBV_QPT_XRC_RECV || !attr->xrcd || attr->xrcd->context != context)
		return soft_fail(EINVAL);
	return make_qp(context, attr->xrcd, with_context ? attr->qp_context : NULL, attr->qp_num);
}

void xrc_take_attr(struct soft_qp *qp)
{
	if (!qp->xrc)
		return;
	lock_take(&qp->xrc->modifying);
	qp->attr = qp->xrc->attr;
}

void xrc_give_attr(struct soft_qp *qp)
{
	if (!qp->xrc)
		return;
	qp->xrc->attr = qp->attr;
	lock_drop(&qp->xrc->modifying);
}

void xrc_withdraw(struct soft_qp *qp)
{
	struct ibv_qp *ibqp = &qp->ex.qp_base;

	xrc_close_qp(qp->xrc, qp->serial);
	__atomic_store_n(&soft_qps[ibqp->handle], NULL, __ATOMIC_RELEASE);
	pipe_purge(to_context(ibqp->context)->async, PIPE_QP, ibqp->handle, qp->serial);
	qp->xrcd->refs--;
}
