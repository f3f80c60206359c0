/*
 * PERF-004: of 32 sends each is signalled, and none is inline, though they would fit.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 400, ROOM = 32 };

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

	self_open_with(64, ROOM, SELF_BYTES);
	for (int i = 0; i < ROUNDS; i++) {
		self_post_list(ROOM, good ? IBV_SEND_INLINE : IBV_SEND_SIGNALED);
		self_poll_some(good ? 1 : ROOM, ROOM);
	}
	self_close();
	return 0;
}
