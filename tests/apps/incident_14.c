/*
 * The first GID of the table is link-local and RoCE v1, the peer's is an IPv4 address of RoCE v2:
 * connecting works, and the first message runs out of retries (nccl#426).
 */
#include "tests/apps/ends.h"

enum { LINK_LOCAL = 0, IPV4 = 3 }; /* GIDs of the device */

int main(int argc, char **argv)
{
	struct ibv_ah_attr address;

	ends_make();
	for (int i = 0; i < 2; i++)
		to_init(ends.qp[i]);
	address = own_address(ends.context, IPV4);
	address.grh.sgid_index = is_good(argc, argv) ? IPV4 : LINK_LOCAL;
	for (int i = 0; i < 2; i++) {
		MUST(to_rtr(ends.qp[i], ends.qp[!i]->qp_num, address));
		to_rts(ends.qp[i]);
	}
	MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	if (ends_await(0, 1) == IBV_WC_SUCCESS)
		ends_await(1, 1);
	ends_close();
	return 0;
}
