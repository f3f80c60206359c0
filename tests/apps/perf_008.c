/*
 * PERF-008: each write waits for the one before, with room for 32.
 */
#include "tests/apps/self.h"

enum { WRITES = 320, ROOM = 32 };

int main(int argc, char **argv)
{
	int at_once = is_good(argc, argv) ? ROOM / 2 : 1;

	self_open_with(64, ROOM, 0);
	for (uint64_t i = 0; i < WRITES; i++) {
		MUST(self_post(i, IBV_SEND_SIGNALED));
		if ((i + 1) % (uint64_t)at_once == 0)
			self_poll(at_once);
	}
	self_close();
	return 0;
}
