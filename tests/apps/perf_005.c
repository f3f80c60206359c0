/*
 * PERF-005: 400 completions are polled at once.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 20, ROOM = 400 };

int main(int argc, char **argv)
{
	self_open_with(512, ROOM, 0);
	for (int i = 0; i < ROUNDS; i++) {
		self_post_list(ROOM, IBV_SEND_SIGNALED);
		self_poll_some(ROOM, is_good(argc, argv) ? 32 : ROOM);
	}
	self_close();
	return 0;
}
