/*
 * MKEY-005: a memory region is deregistered while a write from it is outstanding.
 */
#include "tests/apps/self.h"

enum { LENGTH = 256 };

int main(int argc, char **argv)
{
	struct ibv_mr *from;

	self_open(8);
	from = NEED(ibv_reg_mr(self.pd, self.buffer, LENGTH, 0));
	self_write_to(from, LENGTH, self.buffer + 2048, self.mr->rkey);
	if (is_good(argc, argv))
		self_poll(1);
	MUST(ibv_dereg_mr(from));
	if (!is_good(argc, argv))
		self_poll(1);
	self_close();
	return 0;
}
