/*
 * PERF-003: eight completions are available, and are polled by eight calls.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 2000 };

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < ROUNDS; i++) {
		self_post_list(SELF_ROOM, IBV_SEND_SIGNALED);
		self_poll_some(SELF_ROOM, is_good(argc, argv) ? SELF_ROOM : 1);
	}
	self_close();
	return 0;
}
