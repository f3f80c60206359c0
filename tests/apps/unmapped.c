/*
 * A peer, which is the queue pair itself, has read a region; then its memory is unmapped, and the
 * region stays registered until the queue pair is gone.
 */
#include <sys/mman.h>

#include "tests/apps/self.h"

enum { BYTES = 16384 };

static void read_from(const struct ibv_mr *mr)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = self_write(1, &sge, IBV_SEND_SIGNALED), *bad;

	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr;
	wr.wr.rdma.rkey = mr->rkey;
	MUST(ibv_post_send(self.qp, &wr, &bad));
	self_poll(1);
}

int main(int argc, char **argv)
{
	struct ibv_qp_attr readable = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	bool good = is_good(argc, argv);
	struct ibv_mr *mr;
	void *memory;

	self_open(16);
	MUST(ibv_modify_qp(self.qp, &readable, IBV_QP_ACCESS_FLAGS));
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = NEED(ibv_reg_mr(self.pd, memory, BYTES, IBV_ACCESS_REMOTE_READ));
	read_from(mr);
	if (good)
		MUST(ibv_dereg_mr(mr));
	munmap(memory, BYTES);
	MUST(ibv_destroy_qp(self.qp));
	if (!good)
		MUST(ibv_dereg_mr(mr));
	self.qp = NULL;
	MUST(ibv_dereg_mr(self.mr));
	MUST(ibv_destroy_cq(self.cq));
	MUST(ibv_dealloc_pd(self.pd));
	MUST(ibv_close_device(self.context));
	return 0;
}
