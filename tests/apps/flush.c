/*
 * A write and its flush, on a queue pair that is connected to itself. ibv_wr_flush() needs a newer
 * <infiniband/verbs.h>, so its offset after the other members is computed.
 */
#include "tests/apps/app.h"

enum { WITH_FLUSH = 1 << 11, ACCESS_GLOBAL = 1 << 8, GLOBAL = 1, RANGE = 0 };

typedef void flush_fn(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		      uint8_t type, uint8_t level);

static flush_fn *flush_of(struct ibv_qp_ex *ex)
{
	size_t at = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *);

	return NEED(*(flush_fn **)((char *)ex + at));
}

static char buffer[4096];

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | WITH_FLUSH,
	};
	struct ibv_qp *qp = NEED(ibv_create_qp_ex(context, &init));
	struct ibv_qp_ex *ex = NEED(ibv_qp_to_qp_ex(qp));
	struct ibv_mr *mr =
		NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | ACCESS_GLOBAL));
	uint64_t there = (uintptr_t)buffer + 2048;
	struct ibv_wc wc;

	connected_with.qp_access_flags |= ACCESS_GLOBAL;
	connect_to_itself(context, qp);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ibv_wr_rdma_write(ex, mr->rkey, there);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buffer, 64);
	ex->wr_id = 8;
	ex->wr_flags = IBV_SEND_SIGNALED;
	flush_of(ex)(ex, mr->rkey, there, 64, GLOBAL, RANGE);
	MUST(ibv_wr_complete(ex));
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	NEED(wc.status == IBV_WC_SUCCESS && wc.wr_id == 8);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
