/*
 * QUEUE-003: 8 receives complete in a queue of 4 entries.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_open(is_good(argc, argv) ? SELF_ROOM : SELF_ROOM / 2);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_receive(i));
	self_close();
	return 0;
}
