/*
 * QUEUE-002: one receive more is posted than the queue holds.
 */
#include <errno.h>

#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_receive(i));
	if (!is_good(argc, argv))
		NEED(self_receive(SELF_ROOM) == ENOMEM);
	self_close();
	return 0;
}
