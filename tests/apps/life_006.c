/*
 * LIFE-006: a queue pair is destroyed with a completion in its CQ, and the next gets its number.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	uint32_t number;

	setenv("VERBATIM_SOFT_LEAVE", "1", 1);
	self_open(16);
	number = self.qp->qp_num;
	MUST(self_post(1, IBV_SEND_SIGNALED));
	if (is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_qp(self.qp));
	self.qp = self_create(SELF_ROOM, 0);
	NEED(self.qp->qp_num == number);
	if (!is_good(argc, argv))
		self_poll(1);
	self_close();
	return 0;
}
