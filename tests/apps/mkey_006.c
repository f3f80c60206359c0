/*
 * MKEY-006: the buffer of a posted receive is unmapped.
 */
#include <sys/mman.h>

#include "tests/apps/self.h"

enum { BYTES = 4096 };

static void post_receive(const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(self.qp, &wr, &bad));
}

int main(int argc, char **argv)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	NEED(memory != MAP_FAILED);
	self_open(8);
	mr = NEED(ibv_reg_mr(self.pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE));
	post_receive(mr);
	if (is_good(argc, argv))
		self_drain(1);
	MUST(munmap(memory, BYTES));
	if (!is_good(argc, argv))
		self_drain(1);
	MUST(ibv_dereg_mr(mr));
	self_close();
	return 0;
}
