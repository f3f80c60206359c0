/*
 * A queue pair is made by ibv_create_qp_ex(), from a structure on the stack.
 *
 * Bad: each field is set but comp_mask, to which bits are only added.
 */
#include "rep.h"

__attribute__((noinline)) static void use_stack(void)
{
	volatile char used[2048];

	memset((void *)used, 0x5a, sizeof(used));
}

__attribute__((noinline)) static struct ibv_qp *make_qp(struct end *e)
{
	volatile struct ibv_qp_init_attr_ex a;

	a.qp_context = NULL;
	a.srq = NULL;
	a.send_cq = a.recv_cq = e->scq;
	a.cap = (struct ibv_qp_cap){ 8, 8, 1, 1, 0 };
	a.qp_type = IBV_QPT_RC;
	a.sq_sig_all = 0;
	a.pd = e->pd;
#ifdef GOOD
	a.comp_mask = 0;
#endif
	a.comp_mask |= IBV_QP_INIT_ATTR_PD;
	return ibv_create_qp_ex(e->ctx, (struct ibv_qp_init_attr_ex *)&a);
}

int main(void)
{
	struct ibv_qp *qp;
	struct end e = { 0 };

	end_open(&e, cfg_usual(), 8192);
	use_stack();
	qp = make_qp(&e);
	if (qp)
		ibv_destroy_qp(qp);
	e.server = true; /* without another end */
	return end_close(&e, !qp);
}
