/*
 * MKEY-008: a write names a memory window that has not been bound.
 */
#include "tests/apps/self.h"

enum { LENGTH = 256 };

static void bind_window(struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)mr->addr,
			       .length = LENGTH,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	MUST(ibv_bind_mw(self.qp, mw, &bind));
	MUST(self_poll(1));
}

int main(int argc, char **argv)
{
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	self_open(8);
	mr = NEED(ibv_reg_mr(self.pd, self.buffer + 2048, 2048,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	mw = NEED(ibv_alloc_mw(self.pd, IBV_MW_TYPE_1));
	if (is_good(argc, argv))
		bind_window(mw, mr);
	self_write_to(self.mr, LENGTH, mr->addr, mw->rkey);
	self_poll(1);
	MUST(ibv_dealloc_mw(mw));
	MUST(ibv_dereg_mr(mr));
	self_close();
	return 0;
}
