/*
 * A libibverbs whose only device does nothing
 *
 * It replaces the real library, so that the recorder finds the exported verbs behind its own and
 * changes the pointers of the context that ibv_open_device() returns. Each verb is as short as a
 * function can be: the measured rest is the recorder.
 */
#include "scripts/bench/fake_verbs.h"

#include <errno.h>
#include <stdlib.h>

int fake_returns;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq, (void)n, (void)wc;
	return fake_returns;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq, (void)solicited_only;
	return 0;
}

static void wr_nothing(struct ibv_qp_ex *qp)
{
	(void)qp;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	(void)qp, (void)lkey, (void)addr, (void)length;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	(void)qp;
	return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_ex *qp = calloc(1, sizeof(*qp));

	if (!qp)
		abort();
	qp->qp_base.context = context;
	qp->qp_base.qp_type = attr->qp_type;
	qp->wr_start = qp->wr_send = qp->wr_abort = wr_nothing;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_complete = wr_complete;
	return &qp->qp_base;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return (struct ibv_qp_ex *)qp; /* all of ours are */
}

static struct verbs_context *new_context(void)
{
	struct verbs_context *made = calloc(1, sizeof(*made));

	if (!made)
		abort();
	made->sz = sizeof(*made);
	made->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	made->context.async_fd = -1;
	made->context.ops.post_send = post_send;
	made->context.ops.post_recv = post_recv;
	made->context.ops.poll_cq = poll_cq;
	made->context.ops.req_notify_cq = req_notify_cq;
	made->create_qp_ex = create_qp_ex;
	return made;
}

struct ibv_context *fake_context(void)
{
	return &new_context()->context;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	static struct ibv_device device = { .name = "fake0" };
	static struct ibv_device *list[] = { &device, NULL };

	if (num_devices)
		*num_devices = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	(void)list;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = fake_context();

	context->device = device;
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(verbs_get_ctx(context));
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	static struct ibv_pd pd;

	pd.context = context;
	return &pd;
}

int fake_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return fake_dealloc_pd(pd);
}
