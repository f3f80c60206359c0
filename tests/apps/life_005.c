/*
 * LIFE-005: a queue pair is destroyed, and then its completion is polled.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	setenv("VERBATIM_SOFT_LEAVE", "1", 1);
	self_open(16);
	MUST(self_post(1, IBV_SEND_SIGNALED));
	if (is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_qp(self.qp));
	if (!is_good(argc, argv))
		self_poll(1);
	self.qp = self_create(SELF_ROOM, 0);
	self_close();
	return 0;
}
