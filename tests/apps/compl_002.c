/*
 * COMPL-002: a queue pair goes to ERR, and is destroyed before its flushed receives were polled.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	self_open(16);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_receive(i));
	MUST(ibv_modify_qp(self.qp, &attr, IBV_QP_STATE));
	if (is_good(argc, argv))
		self_poll(SELF_ROOM);
	self_close();
	return 0;
}
