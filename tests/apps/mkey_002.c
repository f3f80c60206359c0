/*
 * MKEY-002: a write sends from memory that was registered in another protection domain.
 */
#include "tests/apps/self.h"

enum { LENGTH = 256 };

int main(int argc, char **argv)
{
	struct ibv_pd *other;
	struct ibv_mr *from;

	self_open(8);
	other = NEED(ibv_alloc_pd(self.context));
	from = NEED(ibv_reg_mr(is_good(argc, argv) ? self.pd : other, self.buffer, LENGTH, 0));
	self_write_to(from, LENGTH, self.buffer + 2048, self.mr->rkey);
	self_poll(1);
	MUST(ibv_dereg_mr(from));
	MUST(ibv_dealloc_pd(other));
	self_close();
	return 0;
}
