/*
 * COMPL-002: a queue pair goes to ERR, and is destroyed before its flushed receives were polled.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_receive(i));
	to_err(self.qp);
	if (is_good(argc, argv))
		self_poll(SELF_ROOM);
	self_close();
	return 0;
}
