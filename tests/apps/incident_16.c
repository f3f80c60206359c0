/*
 * The peer is told the key of a region in another protection domain than that of the queue pair it
 * writes to, as of a program with a device each (libevpl#89).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_pd *first;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ends_open();
	first = NEED(ibv_alloc_pd(ends.context));
	mr = NEED(ibv_reg_mr(first, ends.memory[1], ENDS_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	sge = ends_sge(0, 64);
	wr.wr.rdma.remote_addr = (uintptr_t)ends.memory[1];
	wr.wr.rdma.rkey = is_good(argc, argv) ? ends.mr[1]->rkey : mr->rkey;
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	ends_await(0, 1);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(first));
	ends_close();
	return 0;
}
