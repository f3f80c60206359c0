/*
 * MKEY-001: a write sends more bytes than its memory region has.
 */
#include "tests/apps/self.h"

enum { LENGTH = 256 };

int main(int argc, char **argv)
{
	struct ibv_mr *from;

	self_open(8);
	from = NEED(ibv_reg_mr(self.pd, self.buffer, LENGTH, 0));
	self_write_to(from, is_good(argc, argv) ? LENGTH : LENGTH + 1, self.buffer + 2048,
		      self.mr->rkey);
	self_poll(1);
	MUST(ibv_dereg_mr(from));
	self_close();
	return 0;
}
