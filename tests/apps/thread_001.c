/*
 * THREAD-001: a thread ends with ibv_wr_complete() the batch that another one has begun.
 */
#include <pthread.h>

#include "tests/apps/app.h"

static struct ibv_qp *create_qp(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};

	return NEED(ibv_create_qp_ex(context, &init));
}

static void *end_batch(void *qp)
{
	return (void *)(intptr_t)ibv_wr_complete(qp);
}

static void *write_nothing(void *arg)
{
	struct ibv_qp_ex *qp = arg;

	ibv_wr_start(qp);
	qp->wr_id = 1;
	ibv_wr_rdma_write(qp, 0, 0);
	ibv_wr_set_sge_list(qp, 0, NULL);
	MUST(ibv_wr_complete(qp));
	return NULL;
}

static void run_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, function, arg));
	MUST(pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp *qp = create_qp(context, pd, cq);
	struct ibv_qp_ex *ex = NEED(ibv_qp_to_qp_ex(qp));
	bool good = is_good(argc, argv);
	struct ibv_wc wc;
	int left = 1;

	connect_to_itself(context, qp);
	ibv_wr_start(ex);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, 0, 0);
	ibv_wr_set_sge_list(ex, 0, NULL);
	if (!good)
		run_thread(end_batch, ex);
	MUST(ibv_wr_complete(ex));
	if (good)
		run_thread(write_nothing, ex), left++;
	while (left)
		left -= ibv_poll_cq(cq, 1, &wc);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
