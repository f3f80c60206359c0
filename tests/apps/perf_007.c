/*
 * PERF-007: 16 READs at a time, of which max_rd_atomic 1 lets the device begin one.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 10, DEPTH = 16 };

static void post_reads(struct ibv_mr *mr)
{
	struct ibv_send_wr wrs[DEPTH], *bad;
	struct ibv_sge sges[DEPTH];

	for (int i = 0; i < DEPTH; i++) {
		wrs[i] = self_write((uint64_t)i, &sges[i], i < DEPTH - 1 ? 0 : IBV_SEND_SIGNALED);
		wrs[i].opcode = IBV_WR_RDMA_READ;
		wrs[i].wr.rdma.remote_addr += sizeof(self.buffer) / 2;
		wrs[i].wr.rdma.rkey = mr->rkey;
		wrs[i].next = i < DEPTH - 1 ? &wrs[i + 1] : NULL;
	}
	MUST(ibv_post_send(self.qp, wrs, &bad));
}

int main(int argc, char **argv)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr;

	connected_with.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	connected_with.max_dest_rd_atomic = 16;
	connected_with.max_rd_atomic = is_good(argc, argv) ? 16 : 1;
	self_open_with(64, DEPTH, 0);
	mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer), access));
	for (int i = 0; i < ROUNDS; i++) {
		post_reads(mr);
		self_poll(1);
	}
	MUST(ibv_dereg_mr(mr));
	self_close();
	return 0;
}
