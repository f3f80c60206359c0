/*
 * A block is freed before the region in it is deregistered, as the last things of a program.
 */
#include "tests/apps/self.h"

enum { BYTES = 1 << 20 };

int main(int argc, char **argv)
{
	struct ibv_mr *mr;
	void *block;

	self_open(16);
	block = NEED(aligned_alloc(4096, BYTES));
	mr = NEED(ibv_reg_mr(self.pd, block, BYTES, IBV_ACCESS_LOCAL_WRITE));
	self_post(1, IBV_SEND_SIGNALED);
	self_poll(1);
	if (!is_good(argc, argv))
		free(block);
	MUST(ibv_dereg_mr(mr));
	if (is_good(argc, argv))
		free(block);
	self_close();
	return 0;
}
