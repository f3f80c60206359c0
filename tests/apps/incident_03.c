/*
 * A queue pair is made with a completion queue that its owner has destroyed before: the wrapper
 * kept a pointer to it (rust-ibverbs#3).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_cq *moved, *kept;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4, .max_recv_wr = 4 } };
	struct ibv_qp *qp;

	ends_open();
	moved = NEED(ibv_create_cq(ends.context, 8, NULL, NULL, 0));
	kept = NEED(ibv_create_cq(ends.context, 8, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = is_good(argc, argv) ? kept : moved;
	MUST(ibv_destroy_cq(moved));
	qp = ibv_create_qp(ends.pd, &attr);
	if (qp)
		MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(kept));
	ends_close();
	return 0;
}
