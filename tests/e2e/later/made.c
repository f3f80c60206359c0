#include <errno.h>
#include <infiniband/verbs.h>
static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *a)
{
	(void)a;
	cq->wr_id = 5;
	return 0;
}
static int next_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
	return ENOENT;
}
static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	(void)cq;
	return IBV_WC_SEND;
}
static uint32_t read_number(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 17;
}
static unsigned int read_flags(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}
static void do_nothing(struct ibv_qp_ex *qp)
{
	(void)qp;
}
static int complete_send(struct ibv_qp_ex *qp)
{
	(void)qp;
	return 0;
}
static void set_sge(struct ibv_qp_ex *qp, uint32_t k, uint64_t a, uint32_t n)
{
	(void)qp, (void)k, (void)a, (void)n;
}
static struct ibv_cq_ex cq = { .start_poll = start_poll,
			       .next_poll = next_poll,
			       .end_poll = (void (*)(struct ibv_cq_ex *))do_nothing,
			       .read_opcode = read_opcode,
			       .read_qp_num = read_number,
			       .read_wc_flags = read_flags,
			       .read_flow_tag = read_number };
static struct ibv_qp_ex qp = { .qp_base = { .qp_num = 17 },
			       .wr_start = do_nothing,
			       .wr_complete = complete_send,
			       .wr_abort = do_nothing,
			       .wr_send = do_nothing,
			       .wr_set_sge = set_sge };
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *c, struct ibv_cq_init_attr_ex *a, void *m)
{
	(void)m;
	cq.context = c;
	cq.cqe = (int)a->cqe;
	return &cq;
}
struct ibv_qp *mlx5dv_create_qp(struct ibv_context *c, struct ibv_qp_init_attr_ex *a, void *m)
{
	qp.qp_base.context = c, qp.qp_base.send_cq = a->send_cq;
	errno = ENOSYS;
	return m ? &qp.qp_base : NULL;
}
