/*
 * A window of type 2 whose key is invalidated by its own end, then by a message; one whose
 * invalidation is flushed; and one of type 1 that is bound twice. Prints the keys in that order.
 */
#include <stdio.h>

#include "tests/apps/self.h"

enum { LENGTH = 256 };

static struct ibv_mr *mr;

static void post_one(struct ibv_send_wr *wr, int completions)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	MUST(ibv_post_send(self.qp, wr, &bad));
	self_poll(completions);
}

static uint32_t bind_window(struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)mr->addr, LENGTH,
							  IBV_ACCESS_REMOTE_WRITE };
	post_one(&wr, 1);
	printf("%u\n", rkey);
	return rkey;
}

static void invalidate_key(enum ibv_wr_opcode opcode, uint32_t rkey, int completions)
{
	struct ibv_send_wr wr = { .opcode = opcode, .invalidate_rkey = rkey };

	post_one(&wr, completions);
}

static void bind_again(struct ibv_mw *mw)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { mr, (uintptr_t)mr->addr, LENGTH,
						   IBV_ACCESS_REMOTE_WRITE } };

	MUST(ibv_bind_mw(self.qp, mw, &bind));
	self_poll(1);
	printf("%u\n", mw->rkey);
}

int main(void)
{
	struct ibv_mw *second, *first;
	uint32_t rkey;

	self_open(8);
	mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	second = NEED(ibv_alloc_mw(self.pd, IBV_MW_TYPE_2));
	first = NEED(ibv_alloc_mw(self.pd, IBV_MW_TYPE_1));
	rkey = bind_window(second, ibv_inc_rkey(second->rkey));
	invalidate_key(IBV_WR_LOCAL_INV, rkey, 1);
	rkey = bind_window(second, ibv_inc_rkey(rkey));
	MUST(self_receive(1));
	invalidate_key(IBV_WR_SEND_WITH_INV, rkey, 2);
	rkey = bind_window(second, ibv_inc_rkey(rkey));
	bind_again(first);
	bind_again(first);
	to_err(self.qp);
	invalidate_key(IBV_WR_LOCAL_INV, rkey, 1);
	MUST(ibv_dealloc_mw(first));
	MUST(ibv_dealloc_mw(second));
	MUST(ibv_dereg_mr(mr));
	self_close();
	return 0;
}
