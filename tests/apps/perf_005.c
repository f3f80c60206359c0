/*
 * PERF-005: 301 completions are polled at once.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 20, ROOM = 400, SIGNALLED = 301 };

int main(int argc, char **argv)
{
	self_open_with(512, ROOM, 0);
	for (int i = 0; i < ROUNDS; i++) {
		self_post_list(ROOM - SIGNALLED + 1, 0);
		self_post_list(SIGNALLED - 1, IBV_SEND_SIGNALED);
		self_poll_some(SIGNALLED, is_good(argc, argv) ? 32 : SIGNALLED);
	}
	self_close();
	return 0;
}
