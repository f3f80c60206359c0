/*
 * STATE-002: a write is posted before the queue pair is connected.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_make(16, SELF_ROOM, 0);
	if (!is_good(argc, argv))
		self_post(1, IBV_SEND_SIGNALED);
	connect_to_itself(self.context, self.qp);
	MUST(self_post(1, IBV_SEND_SIGNALED));
	MUST(self_poll(1));
	self_close();
	return 0;
}
