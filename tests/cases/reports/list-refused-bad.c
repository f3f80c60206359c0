/*
 * A program writes lists of three through ibv_wr_complete(), with room for eight requests. A list
 * that does not fit is refused as a whole.
 *
 * Bad: the result is not looked at. GOOD: the list is posted again after a completion.
 */
#include "rep.h"

enum { LISTS = 6, EACH = 3, SIZE = 64 };

static struct ibv_qp *create_extended(struct end *e)
{
	struct ibv_qp_init_attr_ex init = { .send_cq = e->scq,
					    .recv_cq = e->scq,
					    .qp_type = IBV_QPT_RC,
					    .cap = { 8, 1, 1, 1, 0 },
					    .pd = e->pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };
	struct ibv_qp *qp = ibv_create_qp_ex(e->ctx, &init);

	need(qp);
	return qp;
}

static int post_list(struct end *e, struct ibv_qp_ex *qp, int list)
{
	ibv_wr_start(qp);
	for (int i = 0; i < EACH; i++) {
		char *from = e->mem + SIZE * (EACH * list + i);

		qp->wr_id = (uint64_t)(EACH * list + i);
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, e->mr->rkey, (uintptr_t)from + e->len / 2);
		ibv_wr_set_sge(qp, e->mr->lkey, (uintptr_t)from, SIZE);
	}
	return ibv_wr_complete(qp);
}

static int wait_for_all(struct end *e, int done)
{
	struct ibv_wc wc;

	for (; done < LISTS * EACH; done++)
		if (!wait_wc(e->scq, &wc, 300)) {
			fprintf(stderr, "%d of %d\n", done, LISTS * EACH);
			return 1;
		}
	return 0;
}

int main(void)
{
	struct end e = { .server = true, .fd = -1 }; /* it has no other end */
	int done = 0, rc;

	end_open(&e, cfg_usual(), 65536);
	need(!ibv_destroy_qp(e.qp));
	e.qp = create_extended(&e);
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	need(!ibv_modify_qp(e.qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	e.peer = e.own;
	e.peer.qpn = e.qp->qp_num;
	need(!end_rtr(&e) && !end_rts(&e));
	for (int list = 0; list < LISTS; list++)
		while (post_list(&e, ibv_qp_to_qp_ex(e.qp), list)) {
#ifdef GOOD
			struct ibv_wc wc;

			need(wait_wc(e.scq, &wc, 300));
			done++;
#else
			break;
#endif
		}
	rc = wait_for_all(&e, done);
	return end_close(&e, rc);
}
