/*
 * QUEUE-008: of every fourth message the buffer is not posted again.
 */
#include "tests/apps/self.h"

enum { ROOM = 32, MESSAGES = 96, DROPPED = 4 };

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

	self_open_with(2 * ROOM, ROOM, 0);
	for (uint64_t i = 0; i < ROOM; i++)
		MUST(self_receive(i));
	for (uint64_t i = 0; i < MESSAGES; i++) {
		self_send(i);
		self_poll(2);
		if (good || i % DROPPED)
			MUST(self_receive(i));
	}
	self_drain(good ? ROOM : ROOM - MESSAGES / DROPPED);
	self_close();
	return 0;
}
