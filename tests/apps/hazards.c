/*
 * A hazard of MKEY-005 at each of as many places as the argument says, up to eight: the region of a
 * posted receive is deregistered.
 */
#include "tests/apps/self.h"

static struct ibv_mr *regions[SELF_ROOM];

static void post_receive(int slot)
{
	char *at = self.buffer + slot * SELF_BYTES;
	struct ibv_sge sge = { (uintptr_t)at, SELF_BYTES, 0 };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	regions[slot] = NEED(ibv_reg_mr(self.pd, at, SELF_BYTES, IBV_ACCESS_LOCAL_WRITE));
	sge.lkey = regions[slot]->lkey;
	MUST(ibv_post_recv(self.qp, &wr, &bad));
}

#define PLACE(slot)                                \
	static void give_back_##slot(void)         \
	{                                          \
		MUST(ibv_dereg_mr(regions[slot])); \
	}
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)

static void (*const give_back[SELF_ROOM])(void) = {
	give_back_0, give_back_1, give_back_2, give_back_3,
	give_back_4, give_back_5, give_back_6, give_back_7,
};

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : SELF_ROOM;

	self_open(SELF_ROOM);
	for (int i = 0; i < n; i++)
		post_receive(i);
	for (int i = 0; i < n; i++)
		give_back[i]();
	self_close();
	return 0;
}
