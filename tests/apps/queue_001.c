/*
 * QUEUE-001: a send is posted to a full queue, and given up.
 */
#include <errno.h>

#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_post(i, IBV_SEND_SIGNALED));
	NEED(self_post(SELF_ROOM, IBV_SEND_SIGNALED) == ENOMEM);
	if (is_good(argc, argv)) {
		self_poll(1);
		MUST(self_post(SELF_ROOM, IBV_SEND_SIGNALED));
		self_poll(SELF_ROOM);
	}
	self_close();
	return 0;
}
