/*
 * QUEUE-004: no request of a full queue is signalled.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

	self_open(16);
	for (int i = 0; i < 2 * SELF_ROOM; i++) {
		bool signal = good && i % SELF_ROOM == SELF_ROOM - 1;

		if (self_post(i, signal ? IBV_SEND_SIGNALED : 0))
			break;
		if (signal)
			self_poll(1);
	}
	self_close();
	return 0;
}
