/*
 * PERF-008: each write waits for the one before, with room for 32.
 */
#include "tests/apps/self.h"

enum { WRITES = 320, ROOM = 32 };

int main(int argc, char **argv)
{
	int at_once = is_good(argc, argv) ? ROOM / 2 : 1;

	self_open_with(64, ROOM, 0);
	for (uint64_t i = 0; i < WRITES; i += (uint64_t)at_once) {
		if (at_once == 1)
			MUST(self_post(i, IBV_SEND_SIGNALED));
		else
			self_post_list(at_once, IBV_SEND_SIGNALED);
		self_poll_some(at_once, at_once);
	}
	self_close();
	return 0;
}
