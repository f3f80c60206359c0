/*
 * On Ethernet: addresses that lead nowhere are refused; a write to a valid one; an address with a
 * multicast LID, which Ethernet ignores; a request with inline data.
 */
#include <errno.h>

#include "tests/apps/self.h"

static void refuse_rtr(struct ibv_ah_attr address, enum ibv_mtu mtu, int err)
{
	connected_with.path_mtu = mtu;
	if (to_rtr(self.qp, self.qp->qp_num, address) != err)
		exit(2);
	connected_with.path_mtu = IBV_MTU_1024;
}

int main(int argc, char **argv)
{
	struct ibv_ah_attr address, nowhere, bare;
	struct ibv_ah *ah;

	(void)argc;
	be_on_ethernet(argv);
	self_make(16, SELF_ROOM, 32);
	address = nowhere = bare = own_address(self.context, 0);
	nowhere.grh.dgid.raw[15] ^= 0x5a;
	bare.is_global = 0;
	to_init(self.qp);
	refuse_rtr(nowhere, IBV_MTU_1024, ETIMEDOUT);
	refuse_rtr(bare, IBV_MTU_1024, EINVAL);
	refuse_rtr(address, (enum ibv_mtu)7, EINVAL);
	address.dlid = 0xc123;
	MUST(to_rtr(self.qp, self.qp->qp_num, address));
	to_rts(self.qp);
	if (ibv_create_ah(self.pd, &nowhere))
		return 2;
	ah = NEED(ibv_create_ah(self.pd, &address));
	MUST(self_post(1, IBV_SEND_SIGNALED));
	self_poll(1);
	self.buffer[0] = 1;
	{
		struct ibv_sge sge = { (uintptr_t)self.buffer, 32, 0 };
		struct ibv_send_wr *bad, wr = { .wr_id = 2,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_RDMA_WRITE,
						.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
						.wr.rdma = { sge.addr + 64, self.mr->rkey } };

		MUST(ibv_post_send(self.qp, &wr, &bad));
	}
	self_poll(1);
	MUST(ibv_destroy_ah(ah));
	self_close();
	return 0;
}
