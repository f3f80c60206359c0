#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *, struct ibv_cq_init_attr_ex *, void *);
struct ibv_qp *mlx5dv_create_qp(struct ibv_context *, struct ibv_qp_init_attr_ex *, void *);
int main(void)
{
	static char context[512];
	struct ibv_cq_init_attr_ex ca = { .cqe = 9,
					  .wc_flags =
						  IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG };
	struct ibv_qp_init_attr_ex qa = { .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					  .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	ibv_get_device_list(NULL);
	cq = mlx5dv_create_cq((struct ibv_context *)context, &ca, NULL);
	qa.send_cq = ibv_cq_ex_to_cq(cq);
	printf("%p %d\n", (void *)mlx5dv_create_qp((struct ibv_context *)context, &qa, NULL),
	       errno);
	qp = mlx5dv_create_qp((struct ibv_context *)context, &qa, context);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 2, 3);
	printf("%d\n", ibv_wr_complete(ex));
	printf("%d %d\n", ibv_start_poll(cq, &attr), ibv_wc_read_flow_tag(cq));
	ibv_end_poll(cq);
	printf("%d\n", ibv_destroy_qp(qp));
	printf("%d\n", ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	return 0;
}
